"""Features as bins: thresholds from quantiles, codes of categories."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank.trees import _binning

_N_THRESHOLDS = 255


class BinMapper(BaseEstimator):
    """Bins of features, at most 255 and one more for missing values.

    A feature of few distinct values has one bin for each; otherwise bins hold about
    equal numbers of training rows, and a value so frequent that it would fill a bin has
    one of its own. Thresholds lie between values that occur. Complexity: O(s d) for s
    sampled rows of single precision, then O(n d log b).

    Parameters
    ----------
    max_bins : int, default=255
        Bins of a feature at most, from 2 to 255, without that of missing values.
    n_samples : int, default=200_000
        Rows from which thresholds are found; more are sampled down.
    categorical_features : sequence of int or bool, default=None
        Features whose values are names rather than amounts, as indices or as a mask.
    random_state : int, RandomState or None, default=None
        Chooses the sample.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_features, 255)
        Ascending, then infinity; of a categorical feature, its categories. A value
        ``v`` has bin ``b`` if exactly ``b`` thresholds lie below it.
    n_bins_ : ndarray of shape (n_features,)
        Bins of each feature, without that of missing values.
    is_categorical_ : ndarray of shape (n_features,), dtype bool
        Which features are categorical.

    References
    ----------
    Ke et al. (2017), LightGBM: A Highly Efficient Gradient Boosting Decision Tree,
    section 2.1, for trees on histograms.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.trees import BinMapper
    >>> mapper = BinMapper().fit(np.array([[1.0], [2.0], [4.0]]))
    >>> mapper.thresholds_[0, :2]
    array([1.5, 3. ])
    """

    def __init__(
        self,
        *,
        max_bins: int = 255,
        n_samples: int = 200_000,
        categorical_features=None,
        random_state=None,
    ):
        self.max_bins = max_bins
        self.n_samples = n_samples
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X, y=None, *, n_threads: int = 1):
        """Find thresholds.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, float32 or float64; NaN is a missing value.
        y : None
            Not used.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        BinMapper
            The mapper itself.

        Raises
        ------
        ValueError
            If ``max_bins`` is out of range, ``categorical_features`` do not exist or
            one of them has more than ``max_bins`` categories.
        """
        if not isinstance(self.max_bins, Integral) or not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins must be from 2 to 255, got {self.max_bins!r}")
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

    def _categorical_mask(self, d):
        mask = np.zeros(d, dtype=bool)
        if self.categorical_features is None:
            return mask
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
                f"got {self.categorical_features!r}"
            )
        mask[chosen] = True
        return mask

    def _categories(self, column, j):
        values = np.unique(column[~np.isnan(column)])
        if len(values) > self.max_bins:
            raise ValueError(
                f"categorical feature {j} has {len(values)} categories; at most "
                f"max_bins={self.max_bins} are possible, so merge rare ones or take it "
                "as a number"
            )
        self.thresholds_[j, : len(values)] = values
        return len(values)

    def _sample(self, n):
        if n <= self.n_samples:
            return np.arange(n, dtype=np.int32)
        rng = check_random_state(self.random_state)
        rows = rng.choice(n, self.n_samples, replace=False)
        return np.sort(rows).astype(np.int32)

    def transform(self, X, *, n_threads: int = 1):
        """Bins of rows, as `Grower` takes them.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of dtype uint8
            Flat, in blocks of features; 255 for missing values and unknown categories.
        """
        X = self._known_features(X)
        X = np.ascontiguousarray(X, dtype=self.thresholds_.dtype)
        return _binning.bin_matrix(
            X, self.thresholds_, self.is_categorical_.view(np.uint8), n_threads
        )

    def encode(self, X):
        """Rows with categories as their numbers; unknown ones are missing.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            ``X`` itself if no feature is categorical, otherwise a copy.
        """
        X = self._known_features(X)
        categorical = np.flatnonzero(self.is_categorical_)
        if not len(categorical):
            return X
        X = np.array(X)
        for j in categorical:
            X[:, j] = self._codes(j, X[:, j])
        return X

    def _codes(self, j, column):
        # Half precision of either side must not make a known category unknown.
        dtype = min(column.dtype, self.thresholds_.dtype, key=lambda t: t.itemsize)
        known = self.thresholds_[j, : self.n_bins_[j]].astype(dtype)
        column = column.astype(dtype)
        code = np.searchsorted(known, column)
        found = np.append(known, np.nan).astype(dtype)[code] == column
        return np.where(found, code, np.nan)

    def _known_features(self, X):
        X, d = _as_rows(X), len(self.n_bins_)
        if X.shape[1] != d:
            raise ValueError(f"X must have {d} features, got {X.shape[1]}")
        return X


def _as_rows(X):
    """Rows as an array that the compiled code takes; integers become float64."""
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and features, got shape {X.shape}")
    return np.ascontiguousarray(X)
