"""Linear algebra in steps, between which signals are answered.

One call of LAPACK or BLAS on large matrices takes seconds to minutes, in which Python
looks for no signals. Small problems are solved by one call; what has no steps is left
to another thread.
"""

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal, qr

# Up to this number of rows, one call of LAPACK ends within a fraction of a second.
_ONE_CALL = 500
# Products of numbers in one step: about a second where one processor has other work.
_STEP = 2e9
_WIDEST = 128
# Steps of Lanczos' method between two looks at what has been found.
_LOOK = 10
# Seconds between two looks for signals on systems where waiting answers none.
_PATIENCE = 0.2
_alone = threading.Lock()


def _renew_lock() -> None:
    """Forget a thread that does not live on in a forked process."""
    global _alone
    _alone = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
_EPSILON = float(np.finfo(np.float64).eps)


def answering_signals(function: Callable, *arguments: Any, **options: Any) -> Any:
    """Return what a function returns, and answer signals while it computes.

    The function runs on a thread of its own, which goes on to its end after Ctrl-C, and
    whose result is lost then. The next call waits for it, because libraries such as
    liblinear have one state for all threads. Only what leaves Python's lock to others
    can be interrupted, as the functions of NumPy do.

    Parameters
    ----------
    function : callable
        Function without side effects.
    *arguments, **options : object
        Its arguments.

    Returns
    -------
    object
        What it returns; errors are raised as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **options)  # signals are answered by the main one
    found, failed, context = [], [], copy_context()

    def run():
        try:
            with _alone:
                found.append(context.run(function, *arguments, **options))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="skrank", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_PATIENCE)
    if failed:
        raise failed[0]
    return found[0]


def gram_of(X: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    r"""Return the products of the columns of a matrix, with weights of the rows.

    .. math:: X^\top \mathrm{diag}(w) X

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Matrix.
    weight : ndarray of shape (n,), default=None
        Weights; None takes 1.

    Returns
    -------
    ndarray of shape (m, m)
        Products. Complexity: O(n m²).
    """
    n, m = X.shape
    product = np.zeros((m, m))
    width = max(16, int(_STEP / max(1, m * m)))
    for first in range(0, n, width):
        rows = X[first : first + width]
        left = rows if weight is None else rows * weight[first : first + width, None]
        product += left.T @ rows
    return product


def coordinates_of(X: np.ndarray) -> np.ndarray:
    r"""Return coordinates of the rows of a matrix in the space that they span.

    They have the inner products of the rows. Of a factorization :math:`X^\top = Q R`
    with orthonormal Q they are :math:`R^\top`. Beyond 500 rows, blocks of Householder's
    reflections are found and applied one after the other.

    Parameters
    ----------
    X : ndarray of shape (n, m), n <= m
        Matrix.

    Returns
    -------
    ndarray of shape (n, n)
        Lower triangular matrix. Complexity: O(n² m).
    """
    n, m = X.shape
    if n <= _ONE_CALL:
        return np.ascontiguousarray(np.linalg.qr(X.T, mode="r").T)
    found, X = np.zeros((n, n)), np.array(X)
    width = int(np.clip(_STEP / (4 * n * m), 8, _WIDEST))
    for first in range(0, n, width):
        last = min(first + width, n)
        panel, later = X[first:last, first:], X[last:, first:]
        parts: Any = qr(panel.T, mode="raw", check_finite=False)[0]
        reflections, scale = parts
        found[first:last, first:last] = np.triu(reflections[: last - first]).T
        vectors, mixed = _block_of(reflections, scale)
        later -= ((later @ vectors) @ mixed) @ vectors.T
        found[last:, first:last] = later[:, : last - first]
    return found


def _block_of(reflections, scale) -> tuple[np.ndarray, np.ndarray]:
    r"""Return V and T of the product :math:`I - V T V^\top` of reflections."""
    vectors = np.tril(reflections, -1)[:, : len(scale)]
    np.fill_diagonal(vectors, 1.0)
    mixed = np.diag(scale)
    for j in range(1, len(scale)):
        along = vectors[:, :j].T @ vectors[:, j]
        mixed[:j, j] = -scale[j] * (mixed[:j, :j] @ along)
    return vectors, mixed


def first_eigenvector(matrix: np.ndarray) -> np.ndarray:
    """Return an eigenvector of the largest eigenvalue of a matrix.

    Beyond 500 rows it is found by the method of Lanczos with full orthogonalization,
    until the residual is a rounding error of the eigenvalue.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric matrix without negative eigenvalues.

    Returns
    -------
    ndarray of shape (m,)
        Vector of length 1, of either sign. Complexity: O(m²) for each of at most m
        steps, of which there are about a hundred where the first eigenvalues differ.
    """
    m = len(matrix)
    if m <= _ONE_CALL:
        return np.linalg.eigh(matrix)[1][:, -1]
    # A fixed direction, to which no eigenvector happens to be orthogonal.
    vector = np.random.RandomState(0).standard_normal(m)
    vector /= np.linalg.norm(vector)
    basis, diagonal, beside = np.empty((_LOOK, m)), [], []
    while True:
        step = len(diagonal)
        if step == len(basis):
            basis = np.concatenate([basis, np.empty_like(basis)])
        basis[step], known = vector, basis[: step + 1]
        vector = matrix @ vector
        diagonal.append(float(vector @ basis[step]))
        for _ in range(2):
            vector -= (known @ vector) @ known
        length = float(np.linalg.norm(vector))
        is_last = length <= _EPSILON * max(diagonal) or step == m - 1
        if is_last or step % _LOOK == _LOOK - 1:
            value, weight = _largest(diagonal, beside)
            if is_last or length * abs(weight[-1]) <= _EPSILON * value:
                found = weight @ known
                return found / np.linalg.norm(found)
        beside.append(length)
        vector /= length


def _largest(diagonal, beside) -> tuple[float, np.ndarray]:
    """Return the largest eigenvalue of a tridiagonal matrix, and its eigenvector."""
    last = len(diagonal) - 1
    if last == 0:  # Old versions of SciPy refuse a matrix of one number.
        return diagonal[0], np.ones(1)
    values, vectors = eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(last, last)
    )
    return float(values[0]), vectors[:, 0]
