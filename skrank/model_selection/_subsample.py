"""A ranker that is trained on part of the queries."""

import numbers
from dataclasses import field
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import Interval, PositiveInt, Seed
from skrank._meta import BaseMetaRanker

Share = Annotated[float, Interval(0, 1, "right")]


class QuerySubsample(BaseMetaRanker):
    """Train a ranker on a random part of the training queries.

    Successive halving with ``resource="n_samples"`` draws rows and leaves fragments of
    queries. With this wrapper ``resource="n_queries"`` draws whole queries instead.

    Parameters
    ----------
    estimator : ranker
        Ranker to train; it is cloned and never changed.
    n_queries : int, float or None, default=None
        Number (int) or share (float in (0, 1]) of the training queries to draw. None
        takes all queries, as does a number that is larger than theirs.
    random_state : int, RandomState instance or None, default=0
        Source of randomness of the draw. With the same seed, a larger number of queries
        contains those of a smaller one.

    Attributes
    ----------
    estimator_ : ranker
        Fitted ranker.
    trained_ids_ : ndarray of shape (n_chosen,)
        Ids of the queries that were drawn.

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
    n_queries: Share | PositiveInt | None = None
    random_state: Seed = 0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        from skrank.rankers import SubsetRegression

        return [
            {"estimator": SubsetRegression()},
            {"estimator": SubsetRegression(), "n_queries": 0.5, "random_state": 1},
            {"estimator": SubsetRegression(), "n_queries": 3},
        ]

    @property
    # A wrapper knows it only once it has a ranker, so not on the class.
    def approach(self) -> Any:
        """Approach of the wrapped ranker."""
        return getattr(self.estimator, "approach", None)

    def _fit(self, data, validation):
        # A prefix of one permutation, so that more queries contain the fewer ones.
        order = check_random_state(self.random_state).permutation(data.n_queries)
        chosen = np.sort(order[: self._n_chosen(data.n_queries)])
        self.estimator_ = self._fit_inner(
            self.estimator, data.subset(chosen), validation
        )
        self.trained_ids_ = chosen if data.ids is None else data.ids[chosen]

    def _n_chosen(self, n_available: int) -> int:
        n = n_available if self.n_queries is None else self.n_queries
        if isinstance(n, numbers.Integral):
            return min(int(n), n_available)
        return max(1, int(n * n_available * (1 + 1e-12)))

    def _predict(self, X, groups=None):
        return self._inner_scores(self.estimator_, X, groups)
