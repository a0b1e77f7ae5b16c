"""The click chain model: users may leave at any document, sooner after good ones."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from skrank._core._parameters import (
    Interval,
    InvalidParameterError,
    Numbers,
    invalid_parameter,
)
from skrank.click._cells import Cells
from skrank.click._chain import BaseChainModel
from skrank.click._counting import BehaviourPriorMixin
from skrank.click._log import Log
from skrank.click._posterior import BasePosteriorModel

# Longer gaps and lists count as this many documents: what is left of the chance to have
# gone on so far is negligible.
HORIZON = 64
_SIDE = HORIZON + 1
# Slots: skips and clicks above the last click; last clicks by the documents below them;
# skips below the last click, and those of sessions without clicks, by the documents
# between that click, or the top, and the skip, and by those below the skip.
SKIP, CLICK, LAST = 0, 1, 2
BELOW = LAST + _SIDE
NONE = BELOW + _SIDE**2
N_SLOTS = NONE + _SIDE**2
# Far below every probability that matters; its inverse times a count is finite.
_TINY = 1e-200


class ClickChainModel(BaseChainModel, BasePosteriorModel, BehaviourPriorMixin):
    r"""Posterior distributions of relevance for users who may leave at any document.

    .. math::

       P(C_i = 1 \mid E_i = 1, R_i) &= R_i, \\
       P(E_{i+1} = 1 \mid E_i = 1, C_i = 0) &= \alpha_1, \\
       P(E_{i+1} = 1 \mid E_i = 1, C_i = 1, R_i) &= \alpha_2 (1 - R_i) + \alpha_3 R_i

    and the first document is examined. With the other documents of a session averaged
    over the prior, each impression multiplies the density of its pair by
    :math:`R^{C_i} (1 - \gamma R)`, where :math:`\gamma` depends on how it stands to the
    last click:

    ==========================  =======================================================
    impression                  :math:`\gamma`
    ==========================  =======================================================
    skip above the last click   1
    click above the last click  :math:`1 - \alpha_3 / \alpha_2`
    last click                  :math:`-(\alpha_2 - \alpha_3)(1 - B_n) /
                                (1 - \alpha_2 (1 - B_n))`
    skip below it               :math:`w Y / (1 - w (1 - X))`
    skip, no click at all       :math:`Y / X`
    ==========================  =======================================================

    Here :math:`n` documents follow, :math:`k` stand between the last click (or the top)
    and the skip, :math:`q` is the mean of :math:`1 - R` before the log,
    :math:`B_0 = 1`, :math:`B_n = q (1 - \alpha_1 + \alpha_1 B_{n-1})` the probability
    of no click on n documents whose first is examined,
    :math:`Y = (q \alpha_1)^k (1 - \alpha_1 + \alpha_1 B_n)`,
    :math:`X = Y + q (1 - \alpha_1) (1 - (q \alpha_1)^k) / (1 - q \alpha_1)`, and
    :math:`w` the mean probability to go on after a click.

    Parameters
    ----------
    alpha : sequence of 3 floats, default=None
        The probabilities :math:`\alpha_1, \alpha_2, \alpha_3` to go on. None fits
        :math:`\alpha_1` and :math:`w` by maximum likelihood, with relevance averaged
        over the prior.
    ratio : float, default=0.5
        Ratio :math:`\alpha_3 / \alpha_2`, which such a likelihood says nothing of; less
        than 1, since users who found a good document are more likely to leave.

    Attributes
    ----------
    alpha_ : ndarray of shape (3,)
        The probabilities to go on.

    Notes
    -----
    One pass over the log counts all that the model needs. For long lists and the
    uniform prior, the factors are those of the paper, which has lists without end. With
    :math:`\alpha = (1, 0, 0)` this is the cascade model. Gaps of more than 64 documents
    count as 64. Complexity: O(n) for n impressions, and O(f) for f pairs at the places
    where they were shown.

    References
    ----------
    [Guo2009b]_, table 2; [Liu2011]_, section 13.2.1.1.

    Examples
    --------
    >>> from skrank.click import ClickChainModel, Sessions
    >>> clicks = [[1, 0], [1, 0], [1, 1], [0, 0]]
    >>> sessions = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, clicks)
    >>> model = ClickChainModel().fit(sessions)
    >>> model.preference("q", "a", "b") > 0.5
    True
    """

    short_name: ClassVar[str] = "ccm"
    aliases: ClassVar[tuple[str, ...]] = ("click_chain",)

    alpha: Numbers | None = None
    ratio: Annotated[float, Interval(0, 1, "right")] = 0.5

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"alpha": (0.9, 0.6, 0.2)}]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.alpha is None:
            return
        accepted = "3 numbers from 0 to 1, of which the third is 0 if the second is"
        try:
            alpha = np.asarray(self.alpha, dtype=np.float64)
        except (TypeError, ValueError):
            alpha = np.empty(0)
        fits = alpha.shape == (3,) and alpha.min() >= 0 and alpha.max() <= 1
        if not fits or (alpha[1] == 0 < alpha[2]):
            error: InvalidParameterError
            error = invalid_parameter(self, "alpha", accepted, self.alpha)
            raise error

    def _slots(self, log: Log) -> np.ndarray:
        clicked, last = log.click != 0, log.last_of
        below = np.minimum(log.size - log.rank, HORIZON)
        gap = np.minimum(log.rank - last - 1, HORIZON)
        slots = np.where(clicked, CLICK, SKIP)
        slots = np.where(log.rank == last, LAST + below, slots)
        places = np.where(last > 0, BELOW, NONE) + gap * _SIDE + below
        return np.where(log.rank > last, places, slots)

    def _estimate(self, cells: Cells) -> None:
        if self.alpha is None:
            self.alpha_ = self._fit_alpha(cells)
        else:
            self.alpha_ = np.asarray(self.alpha, dtype=np.float64).copy()
        self._store_moments(cells)

    def _moments_ratio(self) -> float:
        """Return the mean relevance of a document before the log, after a click."""
        return (self.prior_clicks + 1) / (self.prior_clicks + self.prior_skips + 1)

    def _mean_after_click(self, alpha: np.ndarray) -> float:
        good = self._moments_ratio()
        return float(alpha[1] * (1 - good) + alpha[2] * good)

    def _factors(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        alpha = self.alpha_
        w = self._mean_after_click(alpha)
        return _factors(alpha, w, 1 - self._prior_mean())[cells.slot], cells.shown

    def _continuation(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        mean = self._of_pairs("relevance_", log.pair)
        variance = self._of_pairs("relevance_variance_", log.pair)
        # The mean relevance of a document that was clicked is E[R²] / E[R].
        good = np.minimum(mean + np.minimum(variance, mean) / mean, 1.0)
        skip, poor, rich = self.alpha_
        return np.full(len(mean), skip), poor * (1 - good) + rich * good

    def _fit_alpha(self, cells: Cells) -> np.ndarray:
        """Return the probabilities to go on, from counts of sessions alone."""
        counts = cells.by_slot(cells.shown, N_SLOTS)
        first = counts[NONE : NONE + _SIDE]  # the top skips of sessions without clicks
        steps = _Steps(
            int(counts[SKIP]),
            int(counts[CLICK]),
            counts[LAST:BELOW].astype(np.float64),
            first.astype(np.float64),
        )
        skip, w = _maximise(steps, 1 - self._prior_mean(), self.behaviour_prior)
        good = self._moments_ratio()
        poor = min(w / ((1 - good) + self.ratio * good), 1.0)
        rich = min(max((w - (1 - good) * poor) / good, 0.0), 1.0)
        return np.array([skip, poor, rich])


def _no_click(skip: float, q: float) -> np.ndarray:
    """Return the probability of no click on n documents whose first is examined."""
    none = np.ones(_SIDE)
    for n in range(1, _SIDE):
        none[n] = q * ((1 - skip) + skip * none[n - 1])
    return none


def _factors(alpha: np.ndarray, w: float, q: float) -> np.ndarray:
    """Return the factor of every slot."""
    skip, poor, rich = alpha
    none = _no_click(skip, q)
    factors = np.ones(N_SLOTS)
    factors[CLICK] = 1 - rich / poor if poor > 0 else 0.0
    # Nearly impossible sessions have tiny probabilities, which must not become 0. By
    # sums of what is not negative no factor exceeds 1, not even in rounding.
    leaving = np.maximum((1 - poor) + poor * none, _TINY)
    factors[LAST:BELOW] = (rich - poor) * (1 - none) / leaving
    power = (q * skip) ** np.arange(_SIDE)[:, None]
    y = power * ((1 - skip) + skip * none)
    x = y + q * (1 - skip) * (1 - power) / (1 - q * skip)
    factors[BELOW:NONE] = _share(w * y, (1 - w) + w * x).ravel()
    factors[NONE:] = _share(y, x).ravel()
    return factors


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return shares of probabilities; 1 where the whole is too small for a float.

    That happens only where users never stop, so that the part is the whole.
    """
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)


class _Steps(NamedTuple):
    """Counts that the likelihood of sessions depends on."""

    skips: int  # above the last click
    clicks: int  # above it
    last: np.ndarray  # last clicks, by the documents below
    none: np.ndarray  # sessions without clicks, by the documents below the first


def _maximise(steps: _Steps, q: float, prior: float) -> tuple[float, float]:
    """Return the probabilities to go on after skips and clicks, by EM."""
    skip = w = 0.5
    for _ in range(1000):
        none = _no_click(skip, q)
        on, might = _tail(skip, none)
        # Sessions whose last click stands at the end tell nothing of what comes next.
        share = _share(w * none, (1 - w) + w * none)
        went = steps.last[1:] @ share[1:]
        new_w = (
            (steps.clicks + went + prior)
            / (steps.clicks + steps.last[1:].sum() + 2 * prior)
            if steps.clicks + steps.last[1:].sum() + prior > 0
            else 0.5
        )
        tails = np.zeros(_SIDE)
        tails[1:] += steps.last[1:] * share[1:]
        tails[1:] += steps.none[:-1]
        tails[-1] += steps.none[-1]
        total = steps.skips + tails @ might + 2 * prior
        new_skip = (steps.skips + tails @ on + prior) / total if total > 0 else 0.5
        change = abs(new_w - w) + abs(new_skip - skip)
        skip, w = float(new_skip), float(new_w)
        if change < 1e-12:
            break
    return skip, w


def _tail(skip: float, none: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how often a user goes on, and might, in n documents without a click."""
    on, might = np.zeros(_SIDE), np.zeros(_SIDE)
    chance = _share(skip * none, (1 - skip) + skip * none)
    for n in range(2, _SIDE):
        on[n] = chance[n - 1] * (1 + on[n - 1])
        might[n] = 1 + chance[n - 1] * might[n - 1]
    return on, might
