"""Training on part of the queries."""

import numbers
from dataclasses import field
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import Interval, PositiveInt, Seed
from skrank.base import BaseMetaRanker


class QuerySubsample(BaseMetaRanker):
    """A ranker trained on a random part of the training queries.

    Successive halving with ``resource="n_samples"`` draws rows and leaves fragments of
    queries. With this wrapper ``resource="n_queries"`` draws whole queries instead.

    Parameters
    ----------
    estimator : ranker
        Its ``fit`` takes groups; it is cloned, never changed.
    n_queries : int, float or None, default=None
        Number (int) or share (float in (0, 1]) of the training queries. A number above
        what there is means all, as does None.
    random_state : int, RandomState instance or None, default=0
        Source of the draw. With the same seed a larger number contains the smaller.

    Attributes
    ----------
    estimator_ : ranker
        The fitted ranker.
    trained_ids_ : ndarray of shape (n_chosen,)
        Queries that were drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QuerySubsample
    >>> from skrank.rankers import SubsetRegression
    >>> groups = np.repeat(np.arange(20), 5)
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = (X[:, 0] > 0).astype(float)
    >>> ranker = QuerySubsample(SubsetRegression(), n_queries=4)
    >>> len(ranker.fit(X, y, groups=groups).trained_ids_)
    4
    """

    estimator: Any = field(kw_only=False)
    n_queries: PositiveInt | Annotated[float, Interval(0, 1, "right")] | None = None
    random_state: Seed = 0

    @property
    def approach(self):
        """That of the wrapped ranker."""
        return getattr(self.estimator, "approach", None)

    def _fit(self, data, validation):
        n_chosen = self._n_chosen(data.n_queries)
        order = check_random_state(self.random_state).permutation(data.n_queries)
        chosen = np.sort(order[:n_chosen])
        self.estimator_ = self._fit_inner(
            self.estimator, data.subset(chosen), validation
        )
        self.trained_ids_ = data.ids[chosen]

    def _n_chosen(self, n_available):
        n = self.n_queries
        if n is None:
            return n_available
        if isinstance(n, numbers.Integral):
            return min(int(n), n_available)
        return max(1, int(n * n_available))

    def _predict(self, X, groups=None):
        return self._inner_scores(self.estimator_, X, groups)
