"""What all selectors of features share: the rows, the number of features, the mask."""

from dataclasses import field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import NotFiniteError, checked_rows, quiet
from skrank._core._missing import rows_with_nan
from skrank._core._parameters import Fraction, Parameters, PositiveInt
from skrank._core._queries import QueryIndex
from skrank._core._sparse import canonical_csr, check_sparse, read_only
from skrank._core._tables import naming_text, refuse_dates, refuse_series
from skrank._core._validation import (
    check_grades,
    n_rows,
    naming,
    resolve_groups,
)
from skrank._rows import GroupedRows
from skrank._training_data import warn_of_training_data

#: A number of features, a share of them, or None for half of them.
NumberOfFeatures = Fraction | PositiveInt | None

# Exponents of 2 up to here leave room for sums of squares.
_ORDINARY = 400


class BaseFeatureSelector(SelectorMixin, Parameters, BaseEstimator):
    """Base class of transformers that keep some features of documents.

    A subclass finds the features to keep in `_selected`. Groups reach `fit` through
    pipelines by scikit-learn's metadata routing, without a request, or by a level
    ``"qid"`` of the pandas index of y or X.

    Attributes
    ----------
    support_ : ndarray of shape (`n_features_in_`,), dtype bool
        Whether each feature is kept.
    n_features_ : int
        Number of features that are kept.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen in `fit`, where X was a data frame.
    """

    __metadata_request__fit = {"groups": True}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @property
    def _takes_missing(self) -> bool:
        return True

    @property
    def _takes_sparse(self) -> bool:
        return True

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Find the features to keep.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of y or X.

        Returns
        -------
        object
            The selector itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, more features are asked for than there are,
            the queries are not known, or X or y are malformed.
        """
        self._check_parameters()
        rows = self._training_rows(X, y, groups)
        kept = np.zeros(self.n_features_in_, dtype=bool)
        kept[self._selected(rows)] = True
        self.support_ = kept
        self.n_features_ = int(kept.sum())
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with the features that are kept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, `n_features_in_`)
            One row per document.

        Returns
        -------
        ndarray, CSR matrix or data frame of shape (n_documents, `n_features_`)
            Rows.

        Raises
        ------
        ValueError
            If X is malformed or has other features than the rows of `fit`.
        """
        check_sparse(X)
        with naming("X", only_where_silent=True), naming_text(X):
            return super().transform(rows_with_nan(X))

    def inverse_transform(self, X: Any) -> Any:
        """Return rows of the features that are kept with zeros for all others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, `n_features_`)
            What `transform` returns.

        Returns
        -------
        ndarray or CSC matrix of shape (n_documents, `n_features_in_`)
            Rows.

        Raises
        ------
        ValueError
            If X is malformed or has another number of features.
        """
        check_sparse(X)
        with naming("X", only_where_silent=True), naming_text(X):
            return super().inverse_transform(rows_with_nan(X))

    def _selected(self, rows: GroupedRows) -> np.ndarray:
        """Return the numbers of the features to keep."""
        raise NotImplementedError

    def _checked(self, X) -> Any:
        """Check the rows and note their features."""
        check_sparse(X)
        refuse_series(X)
        refuse_dates(X)
        with naming("X", only_where_silent=True), naming_text(X):
            return checked_rows(
                self,
                rows_with_nan(X),
                self._takes_sparse,
                self._takes_missing,
                reset=True,
            )

    def _training_rows(self, X, y, groups) -> GroupedRows:
        """Return the rows in the order of their queries, whatever the order given."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None; it selects features by relevance grades"
            )
        given = X
        X = self._checked(X)
        n = n_rows(X)
        grades = check_grades(y, n_samples=n, warn=True)
        caller = f"{type(self).__name__}.fit"
        ids = resolve_groups(groups, y, given, n_samples=n, caller=caller)
        index = QueryIndex.from_groups(ids, canonical=True)
        names = getattr(self, "feature_names_in_", None)
        rows = GroupedRows.from_index(X, grades, index, feature_names=names)
        warn_of_training_data(self, rows, index)
        return rows

    def _n_of(self, wanted: float | None, name: str) -> int:
        """Return a number of features, given by itself or by a share."""
        n = self.n_features_in_
        if wanted is None:
            return max(1, n // 2)
        if isinstance(wanted, float | np.floating) and wanted < 1:
            return max(1, int(wanted * n))
        if wanted > n:
            raise ValueError(
                f"{type(self).__name__}: {name}={wanted} is more than X has, "
                f"n_features={n}"
            )
        return int(wanted)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_missing
        return tags


class BaseCountedSelector(BaseFeatureSelector):
    """Base class of selectors that keep a given number of features.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep; a float in (0, 1) is a share of them, and None means
        half of them. A share is rounded down, and at least one feature is kept.
    """

    n_features_to_select: NumberOfFeatures = field(default=None, kw_only=False)

    @classmethod
    def _variants(cls):
        return [{}, {"n_features_to_select": 2}, {"n_features_to_select": 0.7}]

    def _n_wanted(self) -> int:
        """Return the number of features to keep."""
        return self._n_of(self.n_features_to_select, "n_features_to_select")


def with_features(rows: GroupedRows, features: np.ndarray) -> GroupedRows:
    """Return rows with some of their features, in the order given."""
    names = rows.feature_names
    return replace(
        rows,
        X=read_only(rows.X[:, features]),
        feature_names=None if names is None else names[features],
    )


def spreads(rows: GroupedRows) -> np.ndarray:
    """Return the standard deviation of each feature within queries.

    Parameters
    ----------
    rows : GroupedRows
        Rows without missing values, grouped by query.

    Returns
    -------
    ndarray of shape (n_features,)
        Root of the mean square of the differences from the mean of the query. Exactly
        0 for features that are equal for all documents of each query.

    Raises
    ------
    NotFiniteError
        If a spread is too large or too small for a float, or for one over it.
    """
    with quiet():
        X, exponents = _of_ordinary_size(rows.X)
        squares = _squares_within(replace(rows, X=X))
        found = np.ldexp(np.sqrt(squares / rows.n_documents), exponents)
        fits = np.isfinite(found) & np.isfinite(1.0 / found) | (squares == 0.0)
    if not fits.all():
        j = int(np.argmin(fits))
        raise NotFiniteError(
            "X must hold features whose spreads within queries, and one over them, are "
            f"finite; that of feature {j} is {found[j]:.2g}, so scale it"
        )
    return found


def _of_ordinary_size(X: Any) -> tuple[Any, np.ndarray]:
    """Return features over powers of two, and their exponents.

    All exponents are 0 but those of features whose squares would overflow or vanish.
    """
    ends = X.max(axis=0), X.min(axis=0)
    high, low = (e.toarray().ravel() if sparse.issparse(e) else e for e in ends)
    exponents = np.frexp(np.maximum(high, -low).astype(np.float64))[1]
    exponents[np.abs(exponents) <= _ORDINARY] = 0
    if not exponents.any():
        return X, exponents
    if sparse.issparse(X):
        X = X.copy()
        X.data = np.ldexp(X.data, -exponents[X.indices])
        return X, exponents
    return np.ldexp(X, -exponents), exponents


def _squares_within(rows) -> np.ndarray:
    """Return the sum over queries of squared differences from the mean of the query."""
    sizes = rows.sizes
    if sparse.issparse(rows.X):
        return _sparse_squares_within(canonical_csr(rows.X), sizes)
    inner = np.zeros(rows.X.shape[1])
    for j in range(rows.X.shape[1]):
        values = rows.X[:, j].astype(np.float64)
        centre = values[rows.ptr[:-1]]  # a shift without rounding for equal values
        values -= np.repeat(centre, sizes)
        values -= np.repeat(np.add.reduceat(values, rows.ptr[:-1]) / sizes, sizes)
        inner[j] = values @ values
    return inner


def _sparse_squares_within(X, sizes) -> np.ndarray:
    """Return what `_squares_within` does, of CSR rows in queries of these sizes."""
    n_features = X.shape[1]
    if not X.nnz:
        return np.zeros(n_features)
    query = np.repeat(np.repeat(np.arange(len(sizes)), sizes), np.diff(X.indptr))
    key = query.astype(np.int64) * n_features + X.indices
    order = np.argsort(key, kind="stable")
    key, values = key[order], X.data[order].astype(np.float64)
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    counts = np.diff(np.append(starts, len(key)))
    size = sizes[key[starts] // n_features]
    # A shift without rounding for equal values, which zeros beside them are not.
    values -= np.repeat(np.where(counts == size, values[starts], 0.0), counts)
    means = np.add.reduceat(values, starts) / size
    values -= np.repeat(means, counts)
    squares = np.add.reduceat(values * values, starts) + (size - counts) * means**2
    return np.bincount(key[starts] % n_features, squares, minlength=n_features)


def largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the n largest values, of equal ones the first."""
    return np.argsort(-values, kind="stable")[:n]
