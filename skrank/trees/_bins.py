"""Bins of features: thresholds from quantiles, and numbers of categories."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._exact import beyond_floats
from skrank._core._levels import categorical_mask, column_of, places_of_numbers
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import Interval, Parameters, PositiveInt, Seed
from skrank._core._queries import take_rows
from skrank._core._sparse import (
    canonical_csr,
    check_sparse,
    csr_parts,
    with_sparse_columns,
)
from skrank._core._validation import as_numbers, check_arguments
from skrank.trees import _binning

# One byte holds the number of a bin, and its last value stands for missing values.
_N_THRESHOLDS = 255
# An entry of sparse rows takes a byte for its bin, and four for its feature.
_BYTES_OF_ENTRY = 5


class SparseBins(NamedTuple):
    """Bins of sparse rows, in the form that `Grower` takes.

    Attributes
    ----------
    ptr : ndarray of shape (n_rows + 1,), dtype int64
        Start of each row among the entries, and the end of the last one.
    feature : ndarray of shape (n_entries,), dtype int32
        Feature of each entry, ascending within a row.
    place : ndarray of shape (n_entries,), dtype uint8
        Bin of each entry, or for missing values the number of bins of the feature.
    common : ndarray of shape (n_features,), dtype uint8
        Bin of the rows that have no entry of a feature, which is that of zero; 255 if
        zero is no known category.
    """

    ptr: np.ndarray
    feature: np.ndarray
    place: np.ndarray
    common: np.ndarray


@dataclass(frozen=True)
class _OfFeatures:
    """Words of an error message; which features there are depends on the data."""

    def __contains__(self, value) -> bool:
        return True

    def __str__(self) -> str:
        return "of indices or flags of features"


class BinMapper(Parameters, BaseEstimator):
    """Map the values of features to at most 255 bins, and one for missing values.

    A feature with few distinct values has one bin for each of them. Otherwise the bins
    hold about equal numbers of training rows, and a value that is so frequent that it
    would fill a bin has a bin of its own. Thresholds lie between values that occur.
    A CSR matrix, whose absent entries are zeros, has the bins of the same rows in dense
    form. Complexity: O(s d) for s sampled rows of d features in single precision, then
    O(n d log b) for n rows and b bins; for e entries of a CSR matrix O(d + e log e) and
    O(d + e log b), in memory O(d + e).

    Parameters
    ----------
    max_bins : int, default=255
        Maximum number of bins of a feature, from 2 to 255, without the bin of missing
        values.
    n_samples : int, default=200_000
        Maximum number of rows from which thresholds are found; of more rows, a sample
        is drawn.
    categorical_features : sequence of int or bool, default=None
        Features whose values are names rather than amounts, as indices or as a mask.
    random_state : int, RandomState or None, default=None
        Source of randomness of the sample.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_features, 255)
        Thresholds of each feature, ascending, followed by infinity; for a categorical
        feature, its categories. A value has bin ``b`` if exactly ``b`` thresholds lie
        below it. The table is made of ``cuts_`` whenever it is asked for.
    cuts_ : ndarray of shape (n_cuts,)
        The thresholds without infinity, one feature after the other.
    n_bins_ : ndarray of shape (n_features,)
        Number of bins of each feature, without the bin of missing values.
    is_categorical_ : ndarray of shape (n_features,), dtype bool
        Whether each feature is categorical.

    References
    ----------
    [Ke2017]_, section 2.1, for trees on histograms.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.trees import BinMapper
    >>> mapper = BinMapper().fit(np.array([[1.0], [2.0], [4.0]]))
    >>> mapper.thresholds_[0, :2]
    array([1.5, 3. ])
    """

    max_bins: Annotated[int, Interval(2, 255)] = 255
    n_samples: PositiveInt = 200_000
    categorical_features: Annotated[npt.ArrayLike, _OfFeatures()] | None = None
    random_state: Seed = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"max_bins": 4, "n_samples": 20, "random_state": 0},
            {"categorical_features": (0,)},
        ]

    def fit(
        self,
        X: npt.ArrayLike,
        y: Any = None,
        *,
        order: npt.ArrayLike | None = None,
        n_threads: PositiveInt = 1,
    ) -> Self:
        """Find the thresholds and the categories of the features.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
            Rows, float32 or float64; NaN is a missing value.
        y : None
            Ignored.
        order : array-like of shape (n_rows,), default=None
            All row numbers in the order in which the sample is drawn; None takes the
            rows as they are.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        BinMapper
            The mapper itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, one of ``categorical_features`` does not
            exist, or it has more than ``max_bins`` categories or some beyond 2^53.
        """
        self._check_parameters()
        check_arguments(BinMapper.fit, n_threads=n_threads)
        given, X = X, _as_rows(X)
        self.is_categorical_ = categorical_mask(self.categorical_features, X.shape[1])
        _check_digits(given, X, self.is_categorical_)
        find = self._cuts_of_sparse if sparse.issparse(X) else self._cuts_of_dense
        rows = self._sample(X.shape[0])
        if order is not None:
            rows = np.sort(_checked_order(order, X.shape[0])[rows]).astype(np.int32)
        counts, self.cuts_ = find(X, rows, n_threads)
        # k thresholds make k + 1 bins, k categories k.
        self.n_bins_ = counts + ~self.is_categorical_
        return self

    def _cuts_of_dense(self, X, rows, n_threads) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of cuts of each feature, and all of them."""
        table = np.full((X.shape[1], _N_THRESHOLDS), np.inf, dtype=X.dtype)
        counts = np.zeros(X.shape[1], dtype=np.int32)
        for j in np.flatnonzero(self.is_categorical_):
            known = self._categories(X[:, j], j)
            table[j, : len(known)] = known
            counts[j] = len(known)
        mask = self.is_categorical_.view(np.uint8)
        counts += _binning.find_thresholds(
            X, rows, self.max_bins, mask, table, n_threads
        )
        return counts, table[np.arange(_N_THRESHOLDS) < counts[:, None]]

    def _cuts_of_sparse(self, X, rows, n_threads) -> tuple[np.ndarray, np.ndarray]:
        """Return what `_cuts_of_dense` does, in memory of the entries."""
        mask = self.is_categorical_.view(np.uint8)
        counts, cuts = _binning.find_sparse_thresholds(
            *csr_parts(X), rows, self.max_bins, mask, n_threads
        )
        categorical = np.flatnonzero(self.is_categorical_)
        if not len(categorical):
            return counts, cuts
        columns, known = X[:, categorical].tocsc(), []
        for k, j in enumerate(categorical):
            stored = columns.data[slice(*columns.indptr[k : k + 2])]
            absent = [0.0] * (len(stored) < X.shape[0])
            known.append(self._categories(np.append(stored, absent), j))
        counts[categorical] = [len(values) for values in known]
        start = np.cumsum(np.where(self.is_categorical_, 0, counts))[categorical]
        places = np.repeat(start, counts[categorical])
        return counts, np.insert(cuts, places, np.concatenate(known))

    def _categories(self, column: np.ndarray, j: np.intp) -> np.ndarray:
        """Return the categories of feature j."""
        values = np.unique(column[~np.isnan(column)])
        if len(values) > self.max_bins:
            raise ValueError(
                f"categorical feature {j} has {len(values)} categories; at most "
                f"max_bins={self.max_bins} are possible, so merge rare ones or treat "
                "the feature as a number"
            )
        return values

    @property
    def _n_cuts(self) -> np.ndarray:
        return self.n_bins_ - ~self.is_categorical_

    @property
    def _starts(self) -> np.ndarray:
        """Return the place of the first cut of each feature, and the end."""
        return np.append(0, np.cumsum(self._n_cuts, dtype=np.int64))

    @property
    def thresholds_(self) -> np.ndarray:
        """Thresholds of each feature, (n_features, 255), followed by infinity."""
        check_is_fitted(self, "n_bins_")
        n_cuts = self._n_cuts
        table = np.full((len(n_cuts), _N_THRESHOLDS), np.inf, dtype=self.cuts_.dtype)
        table[np.arange(_N_THRESHOLDS) < n_cuts[:, None]] = self.cuts_
        return table

    @thresholds_.setter
    def thresholds_(self, table: np.ndarray) -> None:
        self.cuts_ = table[np.arange(table.shape[1]) < self._n_cuts[:, None]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Mappers that older versions pickled hold the table.
        table = state.get("thresholds_")
        super().__setstate__({k: v for k, v in state.items() if k != "thresholds_"})
        if table is not None:
            self.thresholds_ = table

    def _sample(self, n: int) -> np.ndarray:
        """Return the rows from which thresholds are found, ascending."""
        if n <= self.n_samples:
            return np.arange(n, dtype=np.int32)
        rng = check_random_state(self.random_state)
        rows = rng.choice(n, self.n_samples, replace=False)
        return np.sort(rows).astype(np.int32)

    def transform(
        self,
        X: npt.ArrayLike,
        *,
        order: npt.ArrayLike | None = None,
        n_threads: PositiveInt = 1,
    ) -> np.ndarray | SparseBins:
        """Map rows to bins in the layout that `Grower` takes.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
            Rows.
        order : array-like of shape (n_rows,), default=None
            All row numbers in the order in which the bins are wanted; None takes the
            rows as they are.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of dtype uint8
            Numbers of bins, flat, in blocks of features; 255 for missing values and
            unknown categories. Instead, `SparseBins` of a CSR matrix where they take
            less memory.

        Raises
        ------
        ValueError
            If X has another number of features than in `fit`, or ``order`` does not
            hold each row once.
        NotFittedError
            If `fit` has not been called.
        """
        check_arguments(BinMapper.transform, n_threads=n_threads)
        X = self._known_features(X)
        mask = self.is_categorical_.view(np.uint8)
        if order is not None:
            order = _checked_order(order, X.shape[0])
        if sparse.issparse(X):
            X = X if order is None else take_rows(X, order)
            return self._transform_sparse(X, mask, n_threads)
        X = np.ascontiguousarray(X, dtype=self.cuts_.dtype)
        return _binning.bin_matrix(X, self.thresholds_, mask, n_threads, order)

    def _transform_sparse(self, X, mask, n_threads) -> np.ndarray | SparseBins:
        ptr, features, values = csr_parts(X)
        values = values.astype(self.cuts_.dtype, copy=False)
        n_bins = self.n_bins_.astype(np.int32, copy=False)
        bins = SparseBins(
            *_binning.bin_entries(
                ptr, features, values, self.cuts_, self._starts, n_bins, mask, n_threads
            )
        )
        if X.shape[0] * X.shape[1] > _BYTES_OF_ENTRY * len(bins.feature):
            return bins
        return _binning.dense_bins(*bins, n_bins)

    def encode(self, X: npt.ArrayLike) -> np.ndarray:
        """Replace categories by their numbers, and unknown ones by missing values.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features)
            ``X`` itself if no feature is categorical, otherwise a copy.

        Raises
        ------
        ValueError
            If X has another number of features than in `fit`.
        """
        rows: Any = self._known_features(X)
        categorical = np.flatnonzero(self.is_categorical_)
        if not len(categorical):
            return rows
        if sparse.issparse(rows):
            return with_sparse_columns(rows, self._sparse_codes(rows, categorical))
        rows = np.array(rows)
        for j in categorical:
            rows[:, j] = self._codes(j, rows[:, j])
        return rows

    def _sparse_codes(self, X, categorical) -> Iterator[tuple[int, np.ndarray]]:
        columns = X[:, categorical].tocsc()
        for k, j in enumerate(categorical):
            column = np.zeros(X.shape[0], dtype=X.dtype)
            part = slice(*columns.indptr[k : k + 2])
            column[columns.indices[part]] = columns.data[part]
            yield int(j), self._codes(j, column)

    def _codes(self, j: np.intp, column: np.ndarray) -> np.ndarray:
        """Return the numbers of the categories of feature j, NaN where unknown."""
        known = categories_of(self, int(j))
        places = places_of_numbers(known, column)
        return np.where(places < 0, np.nan, places)

    def _known_features(self, X: npt.ArrayLike) -> Any:
        check_is_fitted(self, "n_bins_")
        X, d = _as_rows(X), len(self.n_bins_)
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} features, got {X.shape[1]}")
        return X


def categories_of(mapper: BinMapper, j: int) -> np.ndarray:
    """Return the categories of a categorical feature.

    Parameters
    ----------
    mapper : BinMapper
        Fitted bins.
    j : int
        Number of the feature.

    Returns
    -------
    ndarray of shape (n_categories,)
        Categories, ascending.
    """
    first = mapper._starts[j]
    return mapper.cuts_[first : first + mapper.n_bins_[j]]


def thresholds_at(
    mapper: BinMapper, features: np.ndarray, bins: np.ndarray
) -> np.ndarray:
    """Return the upper bounds of bins of some features.

    Parameters
    ----------
    mapper : BinMapper
        Fitted bins.
    features : ndarray of shape (n,), dtype int
        Numbers of features.
    bins : ndarray of shape (n,), dtype int
        Number of a bin of each.

    Returns
    -------
    ndarray of shape (n,)
        Thresholds; infinity from the last bin on.
    """
    features, bins = np.asarray(features), np.asarray(bins)
    bounds = np.full(len(features), np.inf, dtype=mapper.cuts_.dtype)
    inner = bins < mapper._n_cuts[features]
    bounds[inner] = mapper.cuts_[mapper._starts[features[inner]] + bins[inner]]
    return bounds


def _check_digits(given: Any, X: Any, is_categorical: np.ndarray) -> None:
    """Refuse categories that were whole numbers and could be one as floats."""
    if hasattr(given, "dtype") and given.dtype == X.dtype:
        return
    given = given if sparse.issparse(given) else np.asarray(given)
    for j in np.flatnonzero(is_categorical).tolist():
        if given.dtype.kind != "f" and beyond_floats(column_of(X, j)):
            raise ValueError(
                f"categorical feature {j} holds whole numbers beyond 2^53, which "
                "floats cannot tell apart; replace them by the numbers of "
                "CategoryEncoder"
            )


def _checked_order(order: npt.ArrayLike, n: int) -> np.ndarray:
    """Return row numbers that name each of n rows once."""
    numbers, seen = as_numbers(order, "order", "row numbers"), np.zeros(n, dtype=bool)
    whole = numbers.shape == (n,) and bool(np.all(numbers == np.floor(numbers)))
    if whole and 0 <= numbers.min() <= numbers.max() < n:
        seen[numbers.astype(np.int64)] = True
    if not seen.all():
        raise ValueError(
            f"order must hold each row number from 0 to {n - 1} once, got "
            f"{shown(order)}"
        )
    return numbers.astype(np.int64)


def _as_rows(X: Any) -> Any:
    """Return rows as the compiled code takes them; integers become float64."""
    if sparse.issparse(X):
        check_sparse(X)
        if len(X.shape) != 2 or 0 in X.shape:
            raise ValueError(f"X must have rows and features, got shape {X.shape}")
        X = canonical_csr(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = unmasked(X)
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        X = as_numbers(X, "X")
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and features, got shape {X.shape}")
    return np.ascontiguousarray(X)
