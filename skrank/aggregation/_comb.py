"""The Comb family: minimum, maximum, median, sum and mean of the scores of the runs."""

from typing import Any, ClassVar

import numpy as np

from skrank.aggregation._base import BaseScoreAggregator, WeightedRunsMixin
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._sums import sum_of_runs


class _CombVariants(BaseScoreAggregator):
    """Combination of normalised scores, with the variants that tests try."""

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        normalizations = ("min-max-inverted", "max", "sum", "zmuv", "rank", "borda")
        variants: list[dict[str, Any]] = [{"normalization": None}]
        variants += [{"normalization": name} for name in normalizations]
        return [*variants, {"missing": "minimum"}, {"missing": 0.0}]


class CombMIN(_CombVariants):
    r"""Smallest of the normalised scores of a document.

    .. math::

       s(d) = \min_{r \ni d} s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Fox1993]_, table 1.

    Examples
    --------
    >>> from skrank.aggregation import CombMIN
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombMIN().aggregate(runs)
    {'q': {'a': 1.0, 'c': 0.0, 'b': 0.0}}
    """

    short_name: ClassVar[str] = "combmin"
    aliases: ClassVar[tuple[str, ...]] = ("min", "comb_min")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return np.fmin.reduce(self._normalized(joined), axis=0)


class CombMAX(_CombVariants):
    r"""Largest of the normalised scores of a document.

    .. math::

       s(d) = \max_{r \ni d} s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Fox1993]_, table 1.

    Examples
    --------
    >>> from skrank.aggregation import CombMAX
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombMAX().aggregate(runs)
    {'q': {'a': 1.0, 'b': 0.5, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combmax"
    aliases: ClassVar[tuple[str, ...]] = ("max", "comb_max")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return np.fmax.reduce(self._normalized(joined), axis=0)


class CombMED(_CombVariants):
    r"""Median of the normalised scores of a document.

    .. math::

       s(d) = \operatorname{median}_{r \ni d} s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    The median of an even number of scores is the mean of the two in the middle.
    Complexity: O(n log n_runs) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Fox1993]_, table 1.

    Examples
    --------
    >>> from skrank.aggregation import CombMED
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombMED().aggregate(runs)
    {'q': {'a': 1.0, 'b': 0.25, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combmed"
    aliases: ClassVar[tuple[str, ...]] = ("med", "comb_med")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return median_of_runs(self._normalized(joined))


def median_of_runs(parts: np.ndarray) -> np.ndarray:
    """Median over runs of what is not NaN.

    Parameters
    ----------
    parts : ndarray of shape (n_runs, n_documents)
        Values; NaN where there is none.

    Returns
    -------
    ndarray of shape (n_documents,)
        Medians; NaN where there is no value.
    """
    # NumPy's nanmedian calls a Python function for every document; NaN sorts last.
    ordered = np.sort(parts, axis=0)
    count = np.count_nonzero(~np.isnan(parts), axis=0)
    last = np.maximum(count - 1, 0)
    columns = np.arange(parts.shape[1])
    low, high = ordered[last // 2, columns], ordered[(last + 1) // 2, columns]
    return low + (high - low) / 2.0


class CombSUM(WeightedRunsMixin, _CombVariants):
    r"""Weighted sum of the normalised scores of a document.

    .. math::

       s(d) = \sum_{r \ni d} w_r\, s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation. The result
    does not depend on the order of the runs, to the last digit.

    References
    ----------
    [Fox1993]_, table 1. With weights, this is the linear combination of [Vogt1999]_.

    Examples
    --------
    >>> from skrank.aggregation import CombSUM
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombSUM(weights=[1, 2]).aggregate(runs)
    {'q': {'a': 3.0, 'b': 1.0, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combsum"
    aliases: ClassVar[tuple[str, ...]] = ("sum", "wsum", "comb_sum")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return self._weighted_sum(joined, *self._parts(joined))


class CombANZ(WeightedRunsMixin, _CombVariants):
    r"""Mean of the normalised scores of a document over the runs that have it.

    .. math::

       s(d) = \frac{\sum_{r \ni d} w_r\, s_r(d)}{\sum_{r \ni d} w_r}

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation. A document
    that only runs of weight 0 have is scored 0.

    References
    ----------
    [Fox1993]_, table 1.

    Examples
    --------
    >>> from skrank.aggregation import CombANZ
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombANZ().aggregate(runs)
    {'q': {'a': 1.0, 'b': 0.25, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combanz"
    aliases: ClassVar[tuple[str, ...]] = ("anz", "comb_anz")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        parts = self._normalized(joined)
        weights = self._weights(joined)[:, None]
        total = sum_of_runs(np.where(np.isnan(parts), np.nan, weights))
        return sum_of_runs(weights * parts) / np.where(total > 0, total, 1.0)


class CombGMNZ(WeightedRunsMixin, _CombVariants):
    r"""Sum of the normalised scores, times a power of the number of runs that agree.

    .. math::

       s(d) = |\{r : d \in r\}|^\gamma \sum_{r \ni d} w_r\, s_r(d)

    Parameters
    ----------
    gamma : float, default=1.0
        Exponent of the number of runs that retrieved the document: 0 gives `CombSUM`,
        1 gives `CombMNZ`, and −1 gives `CombANZ`.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Lee1997]_, section 4.

    Examples
    --------
    >>> from skrank.aggregation import CombGMNZ
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombGMNZ(gamma=2).aggregate(runs)
    {'q': {'a': 8.0, 'b': 2.0, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combgmnz"
    aliases: ClassVar[tuple[str, ...]] = ("gmnz", "comb_gmnz")

    gamma: float = 1.0

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        total = self._weighted_sum(joined, *self._parts(joined))
        return total * _power(joined, self.gamma)


def _power(joined: JoinedRuns, gamma: float) -> np.ndarray:
    count = np.maximum(joined.n_finding, 1)
    return count.astype(np.float64) ** gamma


class CombMNZ(WeightedRunsMixin, _CombVariants):
    r"""Sum of the normalised scores, times the number of runs that agree.

    .. math::

       s(d) = |\{r : d \in r\}| \sum_{r \ni d} w_r\, s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Fox1993]_, table 1; [Lee1997]_.

    Examples
    --------
    >>> from skrank.aggregation import CombMNZ
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> CombMNZ().aggregate(runs)
    {'q': {'a': 4.0, 'b': 1.0, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "combmnz"
    aliases: ClassVar[tuple[str, ...]] = ("mnz", "comb_mnz")

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        total = self._weighted_sum(joined, *self._parts(joined))
        return total * _power(joined, 1.0)


class WMNZ(WeightedRunsMixin, _CombVariants):
    r"""Sum of the normalised scores, times the weight of the runs that agree.

    .. math::

       s(d) = \Bigl(\sum_{r \ni d} w_r\Bigr) \sum_{r \ni d} s_r(d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Wu2002]_.

    Examples
    --------
    >>> from skrank.aggregation import WMNZ
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "b": 0.25, "c": 0.0}}]
    >>> WMNZ(weights=[1, 3]).aggregate(runs)
    {'q': {'a': 8.0, 'b': 2.0, 'c': 0.0}}
    """

    short_name: ClassVar[str] = "wmnz"

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        weights = self._weights(joined)[:, None]
        agreeing = sum_of_runs(np.where(joined.retrieved.T, weights, np.nan))
        return sum_of_runs(self._normalized(joined)) * agreeing


class MixedFusion(WeightedRunsMixin, _CombVariants):
    r"""Weighted sum of the scores, times the root of the number of runs that agree.

    .. math::

       s(d) = \sqrt{|\{r : d \in r\}|} \sum_{r \ni d} w_r\, s_r(d)

    This stands between `CombSUM` and `CombMNZ`.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n) for n retrieved documents, beside the normalisation.

    References
    ----------
    [Wu2002]_.

    Examples
    --------
    >>> from skrank.aggregation import MixedFusion
    >>> runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"c": 0.5, "d": 0.25}}]
    >>> MixedFusion(weights=[2, 1]).aggregate(runs)
    {'q': {'a': 2.0, 'c': 1.0, 'd': 0.0, 'b': 0.0}}
    """

    short_name: ClassVar[str] = "mixed"

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        total = self._weighted_sum(joined, *self._parts(joined))
        return total * _power(joined, 0.5)
