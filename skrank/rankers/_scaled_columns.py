"""Features, one at a time, in units of their spread within queries."""

from typing import Any

import numpy as np
from scipy import sparse

# Powers of two beyond which the scores of a model would overflow.
_LARGEST_POWER = 1000


class ScaledColumns:
    """Columns of rows, multiplied by powers of two such that their spreads are near 1.

    A multiplication by a power of two rounds nothing, so that a weight of a scaled
    column is one of the column itself to the bit. The spread is the mean distance of
    the values from their mean within queries.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Attributes
    ----------
    powers : ndarray of shape (n_features,)
        Exponents of the powers of two.
    used : ndarray of shape (n_features,), dtype bool
        Whether a feature differs between documents of some query.
    """

    def __init__(self, X: Any, ptr: np.ndarray):
        self.columns = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
        n_features = X.shape[1]
        self.powers = np.zeros(n_features, dtype=np.intp)
        self.used = np.zeros(n_features, dtype=bool)
        for j in range(n_features):
            power = power_of(self.unscaled(j), ptr)
            self.used[j] = power is not None
            self.powers[j] = power or 0

    def unscaled(self, j: int) -> np.ndarray:
        """Return a column as it is, in double precision."""
        return column_of(self.columns, j)

    def __getitem__(self, j: int) -> np.ndarray:
        return np.ldexp(self.unscaled(j), self.powers[j])


def column_of(X: Any, j: int) -> np.ndarray:
    """Return a column of rows, dense or sparse, in double precision.

    Parameters
    ----------
    X : ndarray, or CSC or CSR matrix, of shape (n_documents, n_features)
        Rows.
    j : int
        Number of the column.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    if sparse.issparse(X):
        return np.asarray(X[:, [j]].toarray(), dtype=np.float64).ravel()
    return np.ascontiguousarray(X[:, j], dtype=np.float64)


def power_of(column: np.ndarray, ptr: np.ndarray) -> int | None:
    """Return the exponent of the power of two that brings a spread near 1.

    Parameters
    ----------
    column : ndarray of shape (n_documents,)
        Finite values, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    int or None
        The spread is then in [1, 2); None if the values of each query are the same.
    """
    starts, sizes = ptr[:-1], np.diff(ptr)
    highest = np.maximum.reduceat(column, starts)
    if (highest == np.minimum.reduceat(column, starts)).all():
        return None
    # Sums of numbers of size 1 neither overflow nor vanish.
    power = -int(np.frexp(np.abs(column).max())[1])
    scaled = np.ldexp(column, power)
    means = np.add.reduceat(scaled, starts) / sizes
    distance = np.abs(scaled - np.repeat(means, sizes)).mean()
    if distance == 0.0:  # differences that are lost in the means
        return None
    power += 1 - int(np.frexp(distance)[1])
    return int(np.clip(power, -_LARGEST_POWER, _LARGEST_POWER))
