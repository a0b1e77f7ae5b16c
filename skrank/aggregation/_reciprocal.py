"""Fusion by sums of reciprocal ranks: RRF, and variants of inverse square rank."""

from typing import Any, ClassVar

import numpy as np

from skrank._core._parameters import NonNegative
from skrank.aggregation._base import BaseAggregator, WeightedRunsMixin
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._sums import sum_by_rank


class RRF(WeightedRunsMixin, BaseAggregator):
    r"""Reciprocal rank fusion: sum of the reciprocals of shifted ranks.

    .. math::

       s(d) = \sum_{r \ni d} \frac{w_r}{k + \pi_r(d)}

    with :math:`\pi_r(d)` the rank of document d in run r. Scores are not used, so that
    nothing has to be normalised.

    Parameters
    ----------
    k : float, default=60.0
        Number added to ranks; the larger, the less the first ranks stand out. The
        default is that of the paper.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks. The result does
    not depend on the order of the runs, to the last digit.

    References
    ----------
    [Cormack2009]_, section 2.

    Examples
    --------
    >>> from skrank.aggregation import RRF
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> list(RRF().aggregate(runs)["q"])
    ['b', 'a', 'c']
    """

    short_name: ClassVar[str] = "rrf"

    k: NonNegative = 60.0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"k": 0.0}]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        def value(weight, ranks):
            return weight / (self.k + ranks)

        return sum_by_rank(joined, self._weights(joined), value, self.n_jobs)


class _InverseSquare(WeightedRunsMixin, BaseAggregator):
    """Sum of inverse square ranks, times a function of the number of runs."""

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        def value(weight, ranks):
            return weight / ranks**2

        total = sum_by_rank(joined, self._weights(joined), value, self.n_jobs)
        count = np.maximum(np.arange(joined.n_runs + 1.0), 1.0)
        total *= self._factor(count)[joined.n_finding]
        return total

    def _factor(self, count: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class ISR(_InverseSquare):
    r"""Inverse square rank: sum of inverse square ranks, times the number of runs.

    .. math::

       s(d) = N_d \sum_{r \ni d} \frac{w_r}{\pi_r(d)^2}

    with :math:`N_d` the number of runs that have document d, and :math:`\pi_r(d)` its
    rank in run r.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks.

    References
    ----------
    [Mourao2015]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import ISR
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> ISR().aggregate(runs)
    {'q': {'b': 2.5, 'a': 1.0, 'c': 0.25}}
    """

    short_name: ClassVar[str] = "isr"

    def _factor(self, count: np.ndarray) -> np.ndarray:
        return count


class LogISR(_InverseSquare):
    r"""Inverse square rank with the logarithm of the number of runs.

    .. math::

       s(d) = \log(N_d + \sigma) \sum_{r \ni d} \frac{w_r}{\pi_r(d)^2}

    with :math:`N_d` the number of runs that have document d, and :math:`\pi_r(d)` its
    rank in run r.

    Parameters
    ----------
    sigma : float, default=0.0
        Number added to the number of runs. With 0, documents of a single run have score
        0, whatever their rank.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks.

    References
    ----------
    [Mourao2015]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import LogISR
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> list(LogISR().aggregate(runs)["q"])
    ['b', 'c', 'a']
    """

    short_name: ClassVar[str] = "log_isr"

    sigma: NonNegative = 0.0

    def _factor(self, count: np.ndarray) -> np.ndarray:
        return np.log(count + self.sigma)


class LogNISR(LogISR):
    r"""Inverse square rank with the logarithm of slightly more than the number of runs.

    .. math::

       s(d) = \log(N_d + \sigma) \sum_{r \ni d} \frac{w_r}{\pi_r(d)^2}

    with a positive :math:`\sigma`, so that documents of a single run keep their order.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks.

    References
    ----------
    [Mourao2015]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import LogNISR
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> list(LogNISR().aggregate(runs)["q"])
    ['b', 'a', 'c']
    """

    short_name: ClassVar[str] = "logn_isr"

    sigma = 0.01
