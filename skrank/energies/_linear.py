"""The linear energy."""

from typing import Any

import numpy as np
from scipy import linalg, sparse

from skrank._core._energies import matvec, rmatvec
from skrank._core._finite import NotFiniteError, quiet, unsafe_range
from skrank._core._parameters import NThreads
from skrank._core._queries import rows_of_queries
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_ptr
from skrank.energies._base import BaseEnergy

# A whitening basis only has to be about right: this many rows per feature estimate the
# second moments well enough, and more features than this make a dense factor too dear.
_ROWS_PER_FEATURE = 50
_MAX_DENSE_FEATURES = 1000


class Whitening:
    r"""Coordinates :math:`v = R w` with :math:`R^T R \approx X^T X / n + \alpha I`.

    Parameters
    ----------
    factor : ndarray of shape (d, d) or (d,)
        Upper triangular factor, or the diagonal of a diagonal one.
    n_fixed : int, default=0
        Trailing parameters that keep their own coordinate (the intercept).
    """

    def __init__(self, factor, n_fixed=0):
        self.factor = factor
        self.n_fixed = n_fixed

    def _apply(self, vector, transpose, invert):
        d = len(self.factor)
        head = vector[:d]
        if self.factor.ndim == 1:
            head = head / self.factor if invert else head * self.factor
        elif invert:
            head = linalg.solve_triangular(
                self.factor, head, trans=int(transpose), check_finite=False
            )
        else:
            head = (self.factor.T if transpose else self.factor) @ head
        return np.concatenate([head, vector[d:]])

    def to_params(self, v):
        """Return the parameters of coordinates ``v``."""
        return self._apply(v, transpose=False, invert=True)

    def from_params(self, params):
        """Return the coordinates of parameters."""
        return self._apply(params, transpose=False, invert=False)

    def pull(self, gradient):
        """Return the gradient in the coordinates, given that in the parameters."""
        return self._apply(gradient, transpose=True, invert=True)


class UsedColumns:
    """Coordinates of the columns of a sparse matrix in which anything is stored.

    A penalty keeps the coefficients of all others at 0, so that a solver need not hold
    its many vectors for millions of columns that no row uses.

    Parameters
    ----------
    frame : Whitening
        Coordinates of the columns that are used.
    used : ndarray of shape (n_used,)
        Places of their parameters, and of those after the last column.
    n_params : int
        Number of all parameters.
    """

    def __init__(self, frame, used, n_params):
        self.frame = frame
        self.used = used
        self.n_params = n_params

    def to_params(self, v):
        """Return the parameters of coordinates ``v``."""
        params = np.zeros(self.n_params)
        params[self.used] = self.frame.to_params(v)
        return params

    def from_params(self, params):
        """Return the coordinates of parameters."""
        return self.frame.from_params(params[self.used])

    def pull(self, gradient):
        """Return the gradient in the coordinates, given that in the parameters."""
        return self.frame.pull(gradient[self.used])


class LinearEnergy(BaseEnergy):
    r"""Linear scores: the negative energy is an inner product.

    .. math:: -E(q, d) = f(x) = w^T x + b

    Complexity: O(n d) per evaluation. Dense rows are read once by threads of the
    package's own, whose sums do not depend on their number; CSR rows are never made
    dense.

    Parameters
    ----------
    fit_intercept : bool, default=False
        Whether to learn the constant ``b``. Rankings do not depend on it; pointwise
        losses do.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.

    References
    ----------
    [Fang2016]_, section 4, eq. 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import LinearEnergy
    >>> LinearEnergy().scores(np.array([2.0, -1.0]), np.array([[1.0, 0.5], [0.0, 3.0]]))
    array([ 1.5, -3. ])
    """

    short_name = "linear"
    accepts_sparse = True
    linear = True

    fit_intercept: bool = False
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"fit_intercept": True}]

    def n_params(self, n_features: int) -> int:
        """Return the number of parameters: the features, and the intercept if any."""
        return n_features + bool(self.fit_intercept)

    def init_params(self, n_features: int, rng):
        """Return zeros: the losses used with linear scores are convex."""
        return np.zeros(self.n_params(n_features))

    def penalty_mask(self, n_features: int):
        """Return one for every coefficient, zero for the intercept."""
        mask = np.ones(self.n_params(n_features))
        mask[n_features:] = 0.0
        return mask

    def coefficients(self, params) -> tuple[np.ndarray, float]:
        """Return the coefficients of the scores, and their constant.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.

        Returns
        -------
        coef : ndarray
            One coefficient for each column of ``transform(X)``.
        intercept : float
            Constant; 0 without ``fit_intercept``.
        """
        if self.fit_intercept:
            return params[:-1], float(params[-1])
        return params, 0.0

    def _threads(self, X):
        # About .4 ns for each entry.
        return n_threads_for(0.4 * X.size, self.n_jobs)

    def scores(self, params, X, ptr=None):
        """Return the scores ``X @ w + b``, shape (n_documents,), float64."""
        coef = np.ascontiguousarray(params[: X.shape[1]], dtype=np.float64)
        if sparse.issparse(X):
            raw = np.asarray(X @ coef, dtype=np.float64)
        else:
            raw = matvec(X, coef, self._threads(X))
        return raw + params[-1] if self.fit_intercept else raw

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores and the product of a gradient with the rows."""

        def vjp(gradient):
            gradient = np.ascontiguousarray(gradient, dtype=np.float64)
            if sparse.issparse(X):
                pulled = np.asarray(X.T @ gradient, dtype=np.float64)
            else:
                pulled = rmatvec(X, gradient, self._threads(X))
            return np.append(pulled, gradient.sum()) if self.fit_intercept else pulled

        return self.scores(params, X), vjp

    def coordinates(self, X, alpha: float = 0.0, ptr=None):
        """Return whitened coordinates, which save L-BFGS hundreds of steps.

        See `BaseEnergy.coordinates`.
        """
        d = X.shape[1]
        ridge = max(float(alpha), 0.0)
        if sparse.issparse(X) and d > max(_MAX_DENSE_FEATURES, 2 * X.nnz) and ridge:
            used = np.unique(X.indices)
            if len(used):
                frame = self.coordinates(X[:, used], alpha, ptr)
                after = np.arange(d, self.n_params(d))
                return UsedColumns(frame, np.append(used, after), self.n_params(d))
        with quiet():
            if d > _MAX_DENSE_FEATURES:
                square = X.multiply(X) if sparse.issparse(X) else np.square(X)
                moments = np.asarray(square.mean(axis=0), dtype=np.float64).ravel()
                return Whitening(np.sqrt(moments + ridge + _tiny(moments)))
            sample = _sample(X, ptr)
            gram = sample.T @ sample
            gram /= len(sample)
        if not np.isfinite(np.trace(gram)):
            raise NotFiniteError(
                unsafe_range("X", X) or "X: squares of features overflow; scale them"
            )
        gram[np.diag_indices(d)] += ridge + _tiny(np.diagonal(gram))
        return Whitening(linalg.cholesky(gram, check_finite=False))


def _sample(X, ptr):
    """Some rows in double precision; whole queries, centred, if ``ptr`` is given."""
    n_wanted = _ROWS_PER_FEATURE * X.shape[1]
    step = max(1, X.shape[0] // n_wanted)
    if ptr is None:
        return _dense(X[::step])
    ptr = np.unique(
        check_ptr(ptr, X.shape[0])
    )  # queries without documents tell nothing
    rows, starts = rows_of_queries(ptr, np.arange(0, len(ptr) - 1, step))
    sample = _dense(X[rows])
    sizes = np.diff(starts)
    means = np.add.reduceat(sample, starts[:-1], axis=0) / sizes[:, None]
    return sample - np.repeat(means, sizes, axis=0)


def _dense(rows) -> np.ndarray:
    # A sample of CSR rows with few features is small enough to be made dense; without
    # it, features of different scale or correlated ones would take hundreds of steps.
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return np.asarray(rows, dtype=np.float64)


def _tiny(moments):
    """A ridge that keeps constant and collinear features away from zero."""
    largest = float(np.max(moments, initial=0.0))
    return 1e-10 * largest if largest > 0 else 1.0
