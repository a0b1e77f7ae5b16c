"""A ranker that is trained on part of the queries."""

import inspect
import numbers
from dataclasses import field
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Interval, Parameters, PositiveInt, Seed
from skrank._core._queries import take_rows
from skrank._core._validation import n_rows, resolve_groups
from skrank.base import BaseRanker
from skrank.model_selection._base import Queries

Share = Annotated[float, Interval(0, 1, "right")]


def fit_inner(estimator, X, y, *, groups, sample_weight=None, validation):
    """Fit a clone of a ranker with the arguments that are given."""
    given = {"groups": groups, "sample_weight": sample_weight, **validation}
    given = {name: value for name, value in given.items() if value is not None}
    copy: Any = clone(estimator)
    return copy.fit(X, y, **given)


def scores_of(estimator, X, groups=None):
    """Return the scores of a fitted ranker, which gets the groups if it takes them."""
    takes_groups = "groups" in inspect.signature(estimator.predict).parameters
    return estimator.predict(X, **({"groups": groups} if takes_groups else {}))


class QuerySubsample(MetaEstimatorMixin, BaseRanker, Parameters):
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

    __metadata_request__predict = {"groups": True}

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
    def approach(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Approach of the wrapped ranker."""
        return getattr(self.estimator, "approach", None)

    def fit(
        self,
        X: Any,
        y: Any,
        groups: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: npt.ArrayLike | None = None,
    ) -> Self:
        """Draw queries and fit the ranker to them; arguments as in `BaseRanker.fit`."""
        self._check_parameters()
        ids = resolve_groups(
            groups, y, X, n_samples=n_rows(X), caller=f"{type(self).__name__}.fit"
        )
        queries = Queries(ids)
        # A prefix of one permutation, so that more queries contain the fewer ones.
        order = check_random_state(self.random_state).permutation(len(queries))
        chosen = order[: self._n_chosen(len(queries))]
        rows = queries.rows(chosen)
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        self.estimator_ = fit_inner(
            self.estimator,
            take_rows(X, rows),
            take_rows(y, rows),
            groups=ids[rows],
            sample_weight=weight,
            validation={"X_val": X_val, "y_val": y_val, "groups_val": groups_val},
        )
        self.trained_ids_ = queries.ids[np.sort(chosen)]
        self.query_ids_, self.query_sizes_ = queries.ids, queries.sizes
        return self

    def _n_chosen(self, n_available: int) -> int:
        n = n_available if self.n_queries is None else self.n_queries
        if isinstance(n, numbers.Integral):
            return min(int(n), n_available)
        return max(1, int(n * n_available))

    def predict(self, X: Any, groups: npt.ArrayLike | None = None) -> np.ndarray:
        """Score documents.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            Query of each row, for rankers whose scores depend on the other documents of
            the query.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores of the wrapped ranker; higher is better.
        """
        check_is_fitted(self)
        return scores_of(self.estimator_, X, groups)

    def _scores(self, X: Any, groups: npt.ArrayLike | None) -> np.ndarray:
        return self.predict(X, groups)

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features seen in fit, where X was a data frame."""
        return self.estimator_.feature_names_in_
