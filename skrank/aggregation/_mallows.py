"""Mallows' model: a consensus of the runs, and how far they scatter around it."""

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq

from skrank._core._finite import quiet
from skrank._core._parameters import InvalidParameterError
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import Judgements
from skrank.aggregation._kemeny import Kemeny
from skrank.aggregation._sums import sum_of_runs

_MOST = 700.0  # exp of more than this overflows


class Mallows(Kemeny):
    r"""Consensus and dispersion under which the lists of the runs are most likely.

    .. math::

       P(\pi) = \frac{1}{\psi(\theta)}\, e^{-\theta\, d(\pi, \pi_0)}

    with :math:`d` Kendall's distance. The most likely consensus :math:`\pi_0` is
    Kemeny's order, whatever the dispersion parameter :math:`\theta`; the latter then
    maximises the likelihood of the distances: 0 if the runs are scattered as if by
    chance, and infinite if they agree. A list that ends after k of m documents has the
    probability of all orders that begin with it,

    .. math::

       P(\pi) = \prod_{t=1}^k \frac{e^{-\theta V_t}}{\psi_{m - t + 1}(\theta)}, \qquad
       \psi_n(\theta) = \sum_{v=0}^{n-1} e^{-\theta v}

    where :math:`V_t` is the number of documents left before stage t that the consensus
    prefers to the one that is drawn.

    Parameters
    ----------
    missing : {"last"}, default="last"
        Documents that a run lacks were left at the end of its list. The "skip" of
        `Kemeny` is refused, since the probability of a list of some documents alone has
        no closed form.

    Attributes
    ----------
    dispersion_ : ndarray of shape (n_queries,)
        Parameter :math:`\theta` of each query, after `fit`.
    log_likelihood_ : ndarray of shape (n_queries,)
        Weighted log-likelihood of the lists of each query, after `fit`.

    Notes
    -----
    Scores are m, m − 1, … 1 for m documents.
    Complexity: that of `Kemeny`, in memory as well, and O(n) for each evaluation of the
    likelihood of n retrieved documents.

    References
    ----------
    [Mallows1957]_; [Fligner1986]_ for partial lists; [Liu2011]_, section 4.3.1.

    Examples
    --------
    >>> from skrank.aggregation import Mallows
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "a": 2, "c": 1}}]
    >>> runs += [{"q": {"a": 3, "b": 2, "c": 1}}]
    >>> mallows = Mallows().fit(runs)
    >>> mallows.aggregate(runs)
    {'q': {'a': 3.0, 'b': 2.0, 'c': 1.0}}
    >>> mallows.dispersion_.round(3)
    array([1.778])
    """

    short_name: ClassVar[str] = "mallows"

    missing: Literal["last"] = "last"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"dynamic_size": 0}]

    def _check_parameters(self) -> None:
        if str(self.missing) == "skip":
            raise InvalidParameterError(
                "Mallows: missing must be 'last', since the probability of a list of "
                f"some documents alone has no closed form, got {self.missing!r}"
            )
        super()._check_parameters()

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        joined = joined.retrieved_only()
        super()._learn(joined, judgements)
        weights = self._weights(joined)
        solved = [
            fitted_dispersion(distance, lengths, size, weights)
            for distance, lengths, size in zip(
                self.distance_, joined.n_retrieved, joined.sizes
            )
        ]
        self.dispersion_ = np.array([theta for theta, _ in solved])
        self.log_likelihood_ = np.array([value for _, value in solved])


def fitted_dispersion(
    distance: float, lengths: np.ndarray, size: int, weights: np.ndarray
) -> tuple[float, float]:
    """Fit the dispersion parameter of one query.

    Parameters
    ----------
    distance : float
        Weighted distance of the lists from the consensus.
    lengths : ndarray of shape (n_runs,)
        Number of documents of each list.
    size : int
        Number of documents of the query.
    weights : ndarray of shape (n_runs,)
        Weights of the lists.

    Returns
    -------
    theta : float
        Dispersion parameter, >= 0; infinity if the distance is 0.
    log_likelihood : float
        Weighted log-likelihood of the lists.
    """
    # Weight of the stages at which n documents are left, n = size, size - 1, … 1.
    left = np.arange(size, 0, -1.0)
    stages = sum_of_runs(weights[:, None] * (size - left < lengths[:, None]))

    def excess(theta):
        return distance - stages @ _expected(theta, left)

    if not size or excess(0.0) >= 0:
        return 0.0, float(-(stages @ np.log(left)))
    if distance == 0:
        return np.inf, 0.0
    theta: Any = brentq(excess, 0.0, _MOST, xtol=1e-12)
    return float(theta), float(-theta * distance - stages @ _log_sums(theta, left))


def _expected(theta: float, n: np.ndarray) -> np.ndarray:
    """Return the mean of v in {0, … n − 1} with probability proportional to e^−θv."""
    # The series avoids the difference of two numbers of the size 1 / theta.
    if theta * n.max(initial=1.0) < 1e-4:
        return (n - 1) / 2.0 - theta * (n**2 - 1) / 12.0
    with quiet():
        return 1.0 / np.expm1(theta) - n / np.expm1(np.minimum(theta * n, _MOST))


def _log_sums(theta: float, n: np.ndarray) -> np.ndarray:
    """Return the logarithms of the sums of e^−θv over v in {0, … n − 1}."""
    if theta == 0:
        return np.log(n)
    return np.log(-np.expm1(-theta * n)) - np.log(-np.expm1(-theta))
