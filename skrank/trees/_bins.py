"""Bins of features: thresholds from quantiles, and numbers of categories."""

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, PositiveInt, Seed
from skrank._core._validation import as_numbers, check_arguments, naming
from skrank.trees import _binning

# One byte holds the number of a bin, and its last value stands for missing values.
_N_THRESHOLDS = 255


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
    Complexity: O(s d) for s sampled rows of d features in single precision, then
    O(n d log b) for n rows and b bins.

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
        below it.
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
        self, X: npt.ArrayLike, y: Any = None, *, n_threads: PositiveInt = 1
    ) -> Self:
        """Find the thresholds and the categories of the features.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, float32 or float64; NaN is a missing value.
        y : None
            Ignored.
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
            exist, or it has more than ``max_bins`` categories.
        """
        self._check_parameters()
        check_arguments(BinMapper.fit, n_threads=n_threads)
        X = _as_rows(X)
        self.is_categorical_ = self._categorical_mask(X.shape[1])
        self.thresholds_ = np.full((X.shape[1], _N_THRESHOLDS), np.inf, dtype=X.dtype)
        counts = np.zeros(X.shape[1], dtype=np.int32)
        for j in np.flatnonzero(self.is_categorical_):
            counts[j] = self._categories(X[:, j], j)
        counts += _binning.find_thresholds(
            X,
            self._sample(X.shape[0]),
            self.max_bins,
            self.is_categorical_.view(np.uint8),
            self.thresholds_,
            n_threads,
        )
        # k thresholds make k + 1 bins, k categories k.
        self.n_bins_ = counts + ~self.is_categorical_
        return self

    def _categorical_mask(self, d: int) -> np.ndarray:
        """Return which of d features are categorical."""
        mask = np.zeros(d, dtype=bool)
        if self.categorical_features is None:
            return mask
        with naming("categorical_features"):
            chosen = np.asarray(self.categorical_features)
        if chosen.size == 0:
            return mask
        if chosen.dtype == bool and chosen.shape != (d,):
            raise ValueError(
                f"categorical_features as a mask must have one entry per feature, "
                f"({d},), got shape {chosen.shape}"
            )
        if chosen.dtype != bool and (
            chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= d))
        ):
            raise ValueError(
                f"categorical_features must be a mask or indices from 0 to {d - 1}, "
                f"got {shown(self.categorical_features)}"
            )
        mask[chosen] = True
        return mask

    def _categories(self, column: np.ndarray, j: np.intp) -> int:
        """Store the categories of feature j, and return their number."""
        values = np.unique(column[~np.isnan(column)])
        if len(values) > self.max_bins:
            raise ValueError(
                f"categorical feature {j} has {len(values)} categories; at most "
                f"max_bins={self.max_bins} are possible, so merge rare ones or treat "
                "the feature as a number"
            )
        self.thresholds_[j, : len(values)] = values
        return len(values)

    def _sample(self, n: int) -> np.ndarray:
        """Return the rows from which thresholds are found, ascending."""
        if n <= self.n_samples:
            return np.arange(n, dtype=np.int32)
        rng = check_random_state(self.random_state)
        rows = rng.choice(n, self.n_samples, replace=False)
        return np.sort(rows).astype(np.int32)

    def transform(self, X: npt.ArrayLike, *, n_threads: PositiveInt = 1) -> np.ndarray:
        """Map rows to bins in the layout that `Grower` takes.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of dtype uint8
            Numbers of bins, flat, in blocks of features; 255 for missing values and
            unknown categories.

        Raises
        ------
        ValueError
            If X has another number of features than in `fit`.
        """
        check_arguments(BinMapper.transform, n_threads=n_threads)
        X = self._known_features(X)
        X = np.ascontiguousarray(X, dtype=self.thresholds_.dtype)
        return _binning.bin_matrix(
            X, self.thresholds_, self.is_categorical_.view(np.uint8), n_threads
        )

    def encode(self, X: npt.ArrayLike) -> np.ndarray:
        """Replace categories by their numbers, and unknown ones by missing values.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            ``X`` itself if no feature is categorical, otherwise a copy.

        Raises
        ------
        ValueError
            If X has another number of features than in `fit`.
        """
        X = self._known_features(X)
        categorical = np.flatnonzero(self.is_categorical_)
        if not len(categorical):
            return X
        X = np.array(X)
        for j in categorical:
            X[:, j] = self._codes(j, X[:, j])
        return X

    def _codes(self, j: np.intp, column: np.ndarray) -> np.ndarray:
        """Return the numbers of the categories of feature j, NaN where unknown."""
        # Both sides are compared in the lower of their precisions: 0.1 in single and in
        # double precision are the same category.
        dtype = min(column.dtype, self.thresholds_.dtype, key=lambda t: t.itemsize)
        known = self.thresholds_[j, : self.n_bins_[j]].astype(dtype)
        column = column.astype(dtype)
        code = np.searchsorted(known, column)
        found = np.append(known, np.nan).astype(dtype)[code] == column
        return np.where(found, code, np.nan)

    def _known_features(self, X: npt.ArrayLike) -> np.ndarray:
        X, d = _as_rows(X), len(self.n_bins_)
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} features, got {X.shape[1]}")
        return X


def _as_rows(X: npt.ArrayLike) -> np.ndarray:
    """Return rows as an array that the compiled code takes; integers become float64."""
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        X = as_numbers(X, "X")
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and features, got shape {X.shape}")
    return np.ascontiguousarray(X)
