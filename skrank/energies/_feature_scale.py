"""Scale of features, learned without a copy of the data."""

import numpy as np
from scipy import sparse

from skrank._core._finite import NotFiniteError, quiet, unsafe_range

_BLOCK_ROWS = 2048


def feature_scale(X):
    """Return mean and standard deviation of each feature, summed in double precision.

    Rows are read twice in blocks, so single precision rows are never copied whole.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows. Absent values of a CSR matrix count as 0.

    Returns
    -------
    mean : ndarray of shape (n_features,)
        Means.
    scale : ndarray of shape (n_features,)
        Standard deviations (divisor n), 1 for constant features.

    Raises
    ------
    NotFiniteError
        If values of a feature are so large that their squares overflow.
    """
    with quiet():
        if sparse.issparse(X):
            mean, variance = _sparse_moments(X.tocsr())
        else:
            mean, variance = _dense_moments(X)
    overflowing = np.flatnonzero(~np.isfinite(variance))
    if len(overflowing):
        raise NotFiniteError(
            unsafe_range("X", X)
            or f"X: the variance of feature {overflowing[0]} overflows; scale it"
        )
    n = X.shape[0]
    eps = np.finfo(np.float64).eps
    # Rounding leaves constant features a variance of this order.
    constant = variance <= n * eps * variance + (n * mean * eps) ** 2
    return mean, np.where(constant, 1.0, np.sqrt(variance))


def _dense_moments(X):
    n, d = X.shape
    total, square = np.zeros(d), np.zeros(d)
    for i in range(0, n, _BLOCK_ROWS):
        total += X[i : i + _BLOCK_ROWS].sum(axis=0, dtype=np.float64)
    mean = total / n
    for i in range(0, n, _BLOCK_ROWS):
        centred = X[i : i + _BLOCK_ROWS] - mean
        square += np.einsum("ij,ij->j", centred, centred)
    return mean, square / n


def _sparse_moments(X):
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    n, d = X.shape
    step = 64 * _BLOCK_ROWS
    parts = [slice(i, i + step) for i in range(0, X.nnz, step)]
    total, square = np.zeros(d), np.zeros(d)
    for part in parts:
        total += np.bincount(X.indices[part], weights=X.data[part], minlength=d)
    mean = total / n
    for part in parts:
        columns = X.indices[part]
        centred = X.data[part] - mean[columns]
        square += np.bincount(columns, weights=centred * centred, minlength=d)
    absent = n - np.bincount(X.indices, minlength=d)
    return mean, (square + absent * mean**2) / n
