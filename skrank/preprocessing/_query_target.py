"""Categories replaced by what is known of the grades of their documents.

A level of a column with many levels, such as the site of a page, says little by itself;
that documents of this site were mostly preferred to the others of their queries says
much. Such a statistic must not contain the grades that a ranker then learns from: with
them, a level that occurs once would give away the grade of its document.
"""

from dataclasses import field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import NotFiniteError, checked_rows, quiet, unsafe_range
from skrank._core._levels import (
    FROM_DTYPE,
    CategoricalFeatures,
    categorical_columns,
    column_of,
    is_frame,
    levels_of,
    missing_in,
    n_columns,
    name_of_column,
    places_among,
    with_columns,
)
from skrank._core._missing import rows_with_nan
from skrank._core._parameters import NonNegative, Parameters, Seed
from skrank._core._queries import QueryIndex
from skrank._core._sparse import check_sparse
from skrank._core._tables import refuse_series
from skrank._core._validation import (
    check_grades,
    n_rows,
    naming,
    resolve_groups,
)


class QueryTargetEncoder(
    OneToOneFeatureMixin, TransformerMixin, Parameters, BaseEstimator
):
    r"""Replace levels by the mean grade of their documents, relative to the query.

    .. math:: e(c) = \frac{\sum_{i \in D_c} (y_i - \bar y_{q(i)})}{|D_c| + a}

    where :math:`D_c` are the documents of level c, :math:`\bar y_q` is the mean grade
    of query q and a is the weight of the prior, that a level says nothing. A ranking
    depends on differences within queries only, and so does this statistic: a level
    does not gain by occurring in queries with many good documents.

    `fit_transform` puts the queries into a random order, and encodes the documents of
    a query by those of earlier queries alone: neither the grade of a document nor
    any other of its query contributes to its features. `transform` takes all queries of
    `fit`, so that it is not what a ranker must be trained on: for the same rows,
    ``fit(...).transform(X)`` differs from ``fit_transform(...)``. Pipelines call the
    right one by themselves.

    Missing values are a level like others. A level that was not there in `fit` becomes
    0, the prior. Complexity: O(n log n) for n documents and each encoded column.

    Parameters
    ----------
    categorical_features : sequence of int, bool or str, default="from_dtype"
        Columns to encode: indices, a mask or the names of columns. "from_dtype" takes
        the columns of a data frame whose dtype is categorical or that of strings, and
        none of an array. Other columns stay as they are.
    smooth : float, default=10.0
        Weight a of the prior, in documents.
    random_state : int, RandomState or None, default=None
        Source of randomness of the order of the queries.

    Attributes
    ----------
    columns_ : ndarray of shape (n_encoded,), dtype int64
        Indices of the encoded columns.
    levels_ : list of ndarray
        Levels of each encoded column.
    encodings_ : list of ndarray
        Numbers that take the place of these levels; a last one for missing values.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen in `fit`, where X was a data frame.

    See Also
    --------
    sklearn.preprocessing.TargetEncoder : Means of a target, without queries.

    References
    ----------
    [Prokhorenkova2018]_, section 3.2, for ordered statistics, there of single rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.preprocessing import QueryTargetEncoder
    >>> X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
    >>> encoder = QueryTargetEncoder([0], smooth=0.0, random_state=0)
    >>> encoder.fit_transform(X, [2, 0, 1, 0], groups=[7, 7, 8, 8]).ravel()
    array([ 0.5, -0.5,  0. ,  0. ])
    >>> encoder.transform(X).ravel()
    array([ 0.75, -0.75,  0.75, -0.75])
    """

    __metadata_request__fit = {"groups": True}

    categorical_features: CategoricalFeatures = field(default=FROM_DTYPE, kw_only=False)
    smooth: NonNegative = 10.0
    random_state: Seed = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"categorical_features": (0,), "smooth": 0.5, "random_state": 0}]

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn the statistics of all levels.

        Parameters
        ----------
        X : data frame or array-like of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of y or X.

        Returns
        -------
        QueryTargetEncoder
            The encoder itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, X, y or groups are malformed, sums of grades
            overflow, or the queries are not known.
        """
        self._learn(X, y, groups, "fit")
        return self

    def fit_transform(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Any:
        """Learn the statistics, and encode each query by those of earlier queries.

        Parameters
        ----------
        X : data frame or array-like of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of y or X.

        Returns
        -------
        data frame or ndarray of shape (n_documents, n_features)
            Rows to train a ranker on.

        Raises
        ------
        ValueError
            As `fit`.
        """
        rows, order, sums = self._learn(X, y, groups, "fit_transform")
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        encoded = [of_column.over_earlier(place, self.smooth) for of_column in sums]
        return self._with_columns(rows, encoded)

    def transform(self, X: Any) -> Any:
        """Replace levels by the statistics of all queries of `fit`.

        Parameters
        ----------
        X : data frame or array-like of shape (n_documents, n_features)
            Rows of other queries than those of `fit`.

        Returns
        -------
        data frame or ndarray of shape (n_documents, n_features)
            Rows with numbers in the encoded columns: a data frame of the same library,
            or an array of numbers.

        Raises
        ------
        ValueError
            If X has other columns than in `fit`, or one of them holds strings where its
            levels are numbers, or the reverse.
        """
        check_is_fitted(self)
        self._check_parameters()
        table, rows = self._checked(X, reset=False)
        encoded = []
        for j, levels, encodings in zip(
            self.columns_.tolist(), self.levels_, self.encodings_
        ):
            column = column_of(table, j)
            with naming("X"):
                places = places_among(levels, column, name_of_column(table, j))
            found = np.append(encodings, 0.0)[places]
            found[missing_in(column)] = encodings[-1]
            encoded.append(found)
        return self._with_columns(rows, encoded)

    def _with_columns(self, rows: Any, encoded: list[np.ndarray]) -> Any:
        if not encoded:
            return rows
        return with_columns(rows, dict(zip(self.columns_.tolist(), encoded)))

    def _checked(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Return a table to take columns from, and rows to put others into.

        The rows are a data frame as it is, or an array of numbers, in which those of
        the encoded columns mean nothing.
        """
        check_sparse(X)
        refuse_series(X)
        table = X
        with naming("X", what="a table of numbers, the encoded columns apart"):
            encodes = len(self.columns_) > 0 and n_columns(X) is not None
            if is_frame(X) or encodes:
                checked_rows(self, X, reset=reset, skip_check_array=True)
            if is_frame(X):
                return X, X
            if encodes:
                table = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
                zeros = np.zeros(1)
                X = with_columns(table, dict.fromkeys(self.columns_.tolist(), zeros))
            return table, checked_rows(
                self, rows_with_nan(X), takes_missing=True, reset=reset
            )

    def _learn(self, X, y, groups, caller) -> tuple[Any, np.ndarray, list]:
        """Learn statistics; return the rows, an order of the queries, and sums."""
        self._check_parameters()
        self.columns_ = np.flatnonzero(
            categorical_columns(X, self.categorical_features)
        ).astype(np.int64)
        table, rows = self._checked(X, reset=True)
        if y is None:
            raise ValueError(
                f"{type(self).__name__}.{caller} requires y to be passed, but the "
                "target y is None; it learns from relevance grades"
            )
        n = n_rows(rows)
        grades = check_grades(y, n_samples=n)
        ids = resolve_groups(
            groups, y, X, n_samples=n, caller=f"{type(self).__name__}.{caller}"
        )
        # In the order of their ids, so that the order of rows does not matter.
        index = QueryIndex.from_groups(ids, canonical=True)
        queries = index.restore(index.codes)
        relative = _relative_grades(grades, queries, index.sizes)
        self.levels_, self.encodings_, sums = [], [], []
        for j in self.columns_.tolist():
            with naming("X"):
                levels, places = levels_of(
                    column_of(table, j), name_of_column(table, j)
                )
            slots = np.where(places < 0, len(levels), places)
            of_column = _SumsOfLevels(slots, len(levels) + 1, queries, relative)
            self.levels_.append(levels)
            self.encodings_.append(of_column.over_all(self.smooth))
            sums.append(of_column)
        rng = check_random_state(self.random_state)
        return rows, rng.permutation(index.n_queries), sums

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _relative_grades(grades, queries, sizes) -> np.ndarray:
    """Return the difference of each grade from the mean grade of its query."""
    # Rounding depends on the order of summands, which here is that of their size.
    order = np.lexsort((grades, queries))
    starts = np.cumsum(sizes) - sizes
    with quiet():
        relative = grades - (np.add.reduceat(grades[order], starts) / sizes)[queries]
        # No sum of some of them is larger in size than this one.
        finite = np.isfinite(np.abs(relative).sum())
    if not finite:
        why = unsafe_range("y", grades)
        raise NotFiniteError(f"sums of relative grades are not finite: {why}")
    return relative


class _SumsOfLevels:
    """Relative grades summed over the documents of each level in each query.

    Parameters
    ----------
    slots : ndarray of shape (n_documents,)
        Number of the level of each document.
    n_slots : int
        Number of levels.
    queries : ndarray of shape (n_documents,)
        Number of the query of each document.
    relative : ndarray of shape (n_documents,)
        Grade of each document, relative to its query.
    """

    def __init__(self, slots, n_slots, queries, relative):
        self.n_slots = n_slots
        order = np.lexsort((relative, queries, slots))
        slots, queries = slots[order], queries[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = (slots[1:] != slots[:-1]) | (queries[1:] != queries[:-1])
        starts = np.flatnonzero(begins)
        self.part = np.empty(len(order), dtype=np.intp)
        self.part[order] = np.cumsum(begins) - 1
        self.slot, self.query = slots[starts], queries[starts]
        self.sum = np.add.reduceat(relative[order], starts)
        self.count = np.diff(starts, append=len(order))

    def over_all(self, smooth: float) -> np.ndarray:
        """Return the statistic of each level over all queries, shape (n_slots,)."""
        totals = np.bincount(self.slot, self.sum, self.n_slots)
        return _mean(totals, np.bincount(self.slot, self.count, self.n_slots), smooth)

    def over_earlier(self, place: np.ndarray, smooth: float) -> np.ndarray:
        """Return for each document the statistic of its level over earlier queries.

        Parameters
        ----------
        place : ndarray of shape (n_queries,)
            Place of each query in their order.
        smooth : float
            Weight of the prior.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        order = np.lexsort((place[self.query], self.slot))
        slot, sums, counts = self.slot[order], self.sum[order], self.count[order]
        firsts = np.flatnonzero(np.append(True, slot[1:] != slot[:-1]))
        sizes = np.diff(firsts, append=len(slot))
        before, n_before = np.zeros(len(slot)), np.zeros(len(slot))
        # Level by level: in a difference of sums over all levels, rounding would let
        # the last digits of one grade into another.
        for first, size in zip(firsts[sizes > 1].tolist(), sizes[sizes > 1].tolist()):
            rest = slice(first + 1, first + size)
            before[rest] = np.cumsum(sums[first : first + size - 1])
            n_before[rest] = np.cumsum(counts[first : first + size - 1])
        statistic = np.empty(len(slot))
        statistic[order] = _mean(before, n_before, smooth)
        return statistic[self.part]


def _mean(sums, counts, smooth) -> np.ndarray:
    weight = counts + smooth
    return np.divide(sums, weight, out=np.zeros(len(sums)), where=weight > 0)
