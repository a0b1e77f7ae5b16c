"""Rank-biased centroids."""

from typing import Any, ClassVar

import numpy as np

from skrank._core._parameters import Fraction
from skrank.aggregation._base import BaseAggregator, WeightedRunsMixin
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._sums import sum_by_rank


class RBC(WeightedRunsMixin, BaseAggregator):
    r"""Rank-biased centroids: sum of geometrically falling weights of ranks.

    .. math::

       s(d) = \sum_{r \ni d} w_r\, (1 - \phi)\, \phi^{\pi_r(d) - 1}

    with :math:`\pi_r(d)` the rank of document d in run r. A reader who goes on to the
    next document with probability :math:`\phi` looks at rank :math:`\pi` with this
    weight, as in rank-biased precision.

    Parameters
    ----------
    phi : float, default=0.95
        Persistence of the reader, between 0 and 1; the larger, the deeper ranks count.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Complexity: O(n log n) for n retrieved documents, for their ranks.

    References
    ----------
    [Bailey2017]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import RBC
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.5, "c": 0.25}}]
    >>> RBC(phi=0.5).aggregate(runs)
    {'q': {'b': 0.75, 'a': 0.5, 'c': 0.25}}
    """

    short_name: ClassVar[str] = "rbc"

    phi: Fraction = 0.95

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"phi": 0.5}]

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        weights = (1.0 - self.phi) * self._weights(joined)

        def value(weight, ranks):
            return weight * self.phi ** (ranks - 1.0)

        return sum_by_rank(joined, weights, value, self.n_jobs)
