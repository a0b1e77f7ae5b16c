"""Levels of categorical columns, as numbers that bins can be made of."""

from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._exact import beyond_floats
from skrank._core._levels import (
    FROM_DTYPE,
    CategoricalFeatures,
    categorical_columns,
    categorical_mask,
    column_of,
    levels_of,
    n_columns,
    name_of_column,
    places_among,
    with_columns,
)
from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters
from skrank._core._sparse import canonical_csr, check_sparse, with_sparse_columns
from skrank._core._tables import refuse_series
from skrank._core._validation import naming

_NUMBERS = "biuf"


class CategoryEncoder(Parameters, BaseEstimator):
    """Number the levels of categorical columns, and join the rare ones.

    A categorical column is encoded if it holds names, more levels than ``max_levels``
    or whole numbers beyond 2^53, which floats cannot tell apart; other categorical
    columns hold numbers already, and `BinMapper` takes them as they are. Levels are
    numbered from 0 in their order: numbers first, then strings. If there are more than
    ``max_levels``, the ``max_levels - 1`` most frequent ones have numbers of their own,
    of equally frequent ones those that come first, and the others share the last
    number. Values that are missing, or that were not there in `fit`, become NaN.

    Parameters
    ----------
    categorical_features : sequence of int, bool or str, default="from_dtype"
        Columns whose values are names: indices, a mask or the names of columns.
        "from_dtype" takes the columns of a data frame whose dtype is categorical or
        that of strings, and none of an array.
    max_levels : int, default=255
        Maximum number of levels with numbers of their own, from 2 to 255.

    Attributes
    ----------
    is_categorical_ : ndarray of shape (n_features,), dtype bool
        Whether each column is categorical.
    columns_ : ndarray of shape (n_encoded,), dtype int64
        Indices of the columns that are encoded.
    levels_ : list of ndarray
        Levels of each encoded column.
    numbers_ : list of ndarray of dtype int64
        Number of each of these levels.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.trees import CategoryEncoder
    >>> X = np.array([["news", 1.5], ["shop", 2.5], [None, 0.5]], dtype=object)
    >>> encoder = CategoryEncoder(categorical_features=[0]).fit(X)
    >>> encoder.transform(X).astype(float)
    array([[0. , 1.5],
           [1. , 2.5],
           [nan, 0.5]])
    """

    categorical_features: CategoricalFeatures = FROM_DTYPE
    max_levels: Annotated[int, Interval(2, 255)] = 255

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"categorical_features": (0,), "max_levels": 2}]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the levels of the categorical columns.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        CategoryEncoder
            The encoder itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, X is no table, one of
            ``categorical_features`` does not exist, or it holds what is neither a
            string nor a number.
        """
        self._check_parameters()
        _width(X)
        self.is_categorical_ = _categorical(X, self.categorical_features)
        if self.is_categorical_.any():
            X = _with_columns_at_hand(X)
        encoded, self.levels_, self.numbers_ = [], [], []
        for j in np.flatnonzero(self.is_categorical_).tolist():
            column = column_of(X, j)
            with naming("X"):
                levels, places = levels_of(column, name_of_column(X, j))
            kind = getattr(getattr(column, "dtype", None), "kind", "")
            are_bins = kind and kind in _NUMBERS and len(levels) <= self.max_levels
            if are_bins and not _need_digits(levels):
                continue
            counts = np.bincount(places[places >= 0], minlength=len(levels))
            encoded.append(j)
            self.levels_.append(levels)
            self.numbers_.append(_numbers_by_frequency(counts, self.max_levels))
        self.columns_ = np.array(encoded, dtype=np.int64)
        return self

    def transform(self, X: Any) -> Any:
        """Replace levels by their numbers.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        data frame, ndarray or CSR matrix of shape (n_rows, n_features)
            ``X`` itself if no column is encoded, otherwise a copy: a data frame of the
            same library, a CSR matrix of a sparse one, or an array.

        Raises
        ------
        ValueError
            If X is no table, some columns are encoded and X has another number of them
            than in `fit`, or a column holds strings where its levels are numbers, or
            the reverse.
        """
        check_is_fitted(self)
        d = _width(X)
        if not len(self.columns_):
            return X
        if d != len(self.is_categorical_):
            raise ValueError(
                f"X must be a table of {len(self.is_categorical_)} columns, got {d}"
            )
        table, columns = _with_columns_at_hand(X), {}
        for j, levels, numbers in zip(
            self.columns_.tolist(), self.levels_, self.numbers_
        ):
            places = places_among(levels, column_of(table, j), name_of_column(X, j))
            # The last entry is that of places which are -1.
            columns[j] = np.append(numbers.astype(np.float64), np.nan)[places]
        if sparse.issparse(X):
            return with_sparse_columns(canonical_csr(X), columns.items())
        return with_columns(X if hasattr(X, "shape") else table, columns)


def _width(X: Any) -> int:
    """Return the number of columns; refuse what has no rows and columns."""
    refuse_series(X)
    check_sparse(X)
    if sparse.issparse(X):
        d = X.shape[1] if len(X.shape) == 2 else None
    else:
        d = n_columns(X)
    if d is None:
        raise ValueError(
            f"X: Expected 2D array, got {shown(X)} instead. Reshape your data: there "
            "must be one row per document and one column per feature"
        )
    return d


def _categorical(X, given) -> np.ndarray:
    """Return which columns are categorical; those of sparse rows have no dtypes."""
    if not sparse.issparse(X):
        return categorical_columns(X, given)
    return categorical_mask(None if isinstance(given, str) else given, X.shape[1], ())


def _with_columns_at_hand(X) -> Any:
    """Return a table whose columns can be taken one by one."""
    if sparse.issparse(X):
        return X.tocsc()
    return X if hasattr(X, "shape") else np.asarray(X, dtype=object)


def _need_digits(levels: np.ndarray) -> bool:
    """Return whether levels are whole numbers that could be one as floats."""
    return levels.dtype.kind != "f" and beyond_floats(levels)


def _numbers_by_frequency(counts: np.ndarray, most: int) -> np.ndarray:
    """Return the number of each level; the rarest share the last of ``most``."""
    if len(counts) <= most:
        return np.arange(len(counts), dtype=np.int64)
    numbers = np.full(len(counts), most - 1, dtype=np.int64)
    # A stable order, so that of equal counts the first levels are kept.
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    numbers[kept] = np.arange(most - 1)
    return numbers
