"""Training on part of the queries."""

import numbers

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._queries import take_rows
from skrank._core._validation import n_rows, resolve_groups
from skrank.base import BaseRanker
from skrank.model_selection._base import Queries


class QuerySubsample(MetaEstimatorMixin, BaseRanker):
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

    def __init__(self, estimator, *, n_queries: float | None = None, random_state=0):
        self.estimator = estimator
        self.n_queries = n_queries
        self.random_state = random_state

    @property
    def approach(self):
        """That of the wrapped ranker."""
        return getattr(self.estimator, "approach", None)

    def _checked_fit(self, X, y, groups, sample_weight, validation):
        ids = resolve_groups(
            groups, y, X, n_samples=n_rows(X), caller=f"{type(self).__name__}.fit"
        )
        queries = Queries(ids)
        n_chosen = self._n_chosen(len(queries))
        order = check_random_state(self.random_state).permutation(len(queries))
        rows = queries.rows(order[:n_chosen])
        extra = dict(zip(("X_val", "y_val", "groups_val"), validation))
        if sample_weight is not None:
            extra["sample_weight"] = take_rows(np.asarray(sample_weight), rows)
        self.estimator_ = clone(self.estimator).fit(
            take_rows(X, rows),
            take_rows(y, rows),
            groups=ids[rows],
            **{name: value for name, value in extra.items() if value is not None},
        )
        self.trained_ids_ = queries.ids[np.sort(order[:n_chosen])]
        self.query_ids_, self.query_sizes_ = queries.ids, queries.sizes
        return self

    def _n_chosen(self, n_available):
        n = self.n_queries
        if n is None:
            return n_available
        if isinstance(n, bool) or not isinstance(n, numbers.Real):
            raise TypeError(f"n_queries must be an int, a float or None, got {n!r}")
        if isinstance(n, numbers.Integral):
            if n < 1:
                raise ValueError(f"n_queries must be at least 1, got {n}")
            return min(int(n), n_available)
        if not 0 < n <= 1:
            raise ValueError(f"n_queries as a share must lie in (0, 1], got {n!r}")
        return max(1, int(n * n_available))

    def predict(self, X):
        """Score documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores of the wrapped ranker; higher is better.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @property
    def n_features_in_(self):
        """Number of features seen in fit."""
        check_is_fitted(self)
        return self.estimator_.n_features_in_
