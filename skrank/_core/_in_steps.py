"""Linear algebra in steps, between which signals are answered.

One call of LAPACK or BLAS on large matrices takes seconds to minutes, in which Python
looks for no signals. Small problems are solved by one call; what has no steps is left
to another thread.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
from scipy.linalg import qr

from skrank._core._threads import is_forked

# Up to this number of rows, one call of LAPACK ends within a fraction of a second.
_ONE_CALL = 500
# Products of numbers in one step: about a second where one processor has other work.
_STEP = 2e9
_WIDEST = 128
# Vectors that the method of Lanczos keeps at least, and restarts that it takes at most.
_FEWEST, _MOST_RESTARTS = 20, 1000
# What is left of a vector, relative to its length, that may be nothing but rounding.
_ROUNDING = 1e-14
# Eigenvalues that differ by less of the largest one are the same.
_SAME = 1e-12
_EPSILON = float(np.finfo(np.float64).eps)
# Seconds between two looks for signals on systems where waiting answers none.
_PATIENCE = 0.2
_alone = threading.Lock()
# Of threads that compute: each is set where its thread ends.
_computing: set[threading.Event] = set()


if hasattr(os, "register_at_fork"):
    # The threads do not live on in a forked process.
    os.register_at_fork(after_in_child=_computing.clear)


def still_computes() -> bool:
    """Return whether a function computes for `answering_signals`."""
    return bool(_computing)


@atexit.register
def _wait_at_exit() -> None:
    """Wait for threads that compute, unless the process does not get to its exit.

    OpenBLAS frees its memory there, so that a product of matrices on another thread
    would crash, or hang. After a KeyboardInterrupt that nobody caught, Python ends by
    the signal instead.
    """
    at_prompt = hasattr(sys, "ps1")
    if getattr(sys, "last_type", None) is KeyboardInterrupt and not at_prompt:
        return
    left = list(_computing)
    if left and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the next Ctrl-C ends it at once
    for ended in left:
        ended.wait()


def answering_signals(function: Callable, *arguments: Any, **options: Any) -> Any:
    """Return what a function returns, and answer signals while it computes.

    The function runs on a thread of its own, which goes on to its end after Ctrl-C, and
    whose result is lost then. The next call waits for it, because libraries such as
    liblinear have one state for all threads, and so does the end of the process. Only
    what leaves Python's lock to others can be interrupted, as NumPy's functions do. A
    forked process has no thread to spare, and answers at the end.

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
    in_main_thread = threading.current_thread() is threading.main_thread()
    if is_forked() or not in_main_thread:  # which alone answers signals
        return function(*arguments, **options)
    found, failed, context, wanted = [], [], copy_context(), True
    # Before NumPy 2.0, every thread has an error state of its own.
    error_state = {**np.geterr(), "call": np.geterrcall()}
    ended = threading.Event()  # an interrupted join takes a thread for ended

    def run():
        _computing.add(ended)
        try:
            with _alone, np.errstate(**error_state):
                if wanted:
                    found.append(context.run(function, *arguments, **options))
        except BaseException as error:
            failed.append(error)
        finally:
            _computing.discard(ended)
            ended.set()

    try:
        threading.Thread(target=run, name="skrank", daemon=True).start()
        while not ended.wait(_PATIENCE):
            pass
    except BaseException:
        wanted = False
        raise
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

    Beyond 500 rows it is found by `leading_eigenvectors`.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Symmetric matrix without negative eigenvalues.

    Returns
    -------
    ndarray of shape (m,)
        Vector of length 1, of either sign. Complexity: O(m²) for each of the steps, of
        which there are about a hundred where the first eigenvalues differ.
    """
    m = len(matrix)
    if m <= _ONE_CALL:
        return np.linalg.eigh(matrix)[1][:, -1]
    # A fixed direction, to which no eigenvector happens to be orthogonal.
    rng = np.random.RandomState(0)
    return leading_eigenvectors(matrix.__matmul__, m, 1, rng.standard_normal)[:, 0]


def leading_eigenvectors(
    times: Callable[[np.ndarray], np.ndarray], m: int, k: int, draw: Callable
) -> np.ndarray:
    """Return eigenvectors of the largest eigenvalues of a matrix that is multiplied.

    The method of Lanczos with full orthogonalization and thick restarts [Wu2000]_,
    until the residuals are rounding errors of the largest eigenvalue. One start can
    miss copies of eigenvalues that are equal, so that it goes on in a new direction
    until this brings nothing larger.

    ARPACK, where it has exhausted a space, as that of equal eigenvalues, goes on with
    numbers drawn from a state of the process; here they depend on the arguments alone.

    Parameters
    ----------
    times : callable
        Returns the product of the matrix and a vector of shape (m,). The matrix is
        symmetric without negative eigenvalues.
    m : int
        Number of rows.
    k : int
        Number of eigenvectors, less than m.
    draw : callable
        Returns a number of random numbers, the directions to start with.

    Returns
    -------
    ndarray of shape (m, k)
        Orthonormal vectors by ascending eigenvalue, of either sign. Complexity: O(m s)
        for each step besides the products, with s = max(2 k + 1, 20) vectors in memory.
    """
    size = min(m, max(2 * k + 1, _FEWEST))
    basis, projected = np.zeros((size + 1, m)), np.zeros((size, size))
    basis[0] = draw(m)
    basis[0] /= np.linalg.norm(basis[0])
    first, settled = 0, np.zeros(k)
    for _ in range(_MOST_RESTARTS):
        left = 0.0
        for step in range(first, size):
            known = basis[: step + 1]
            product = times(basis[step])
            along = projected[step, : step + 1] = known @ product
            basis[step + 1], left = _beside(known, product, along, draw)
        values, weights = np.linalg.eigh(projected)  # reads the lower triangle
        # Go on with half of what is not needed, too.
        first = k + (size - k) // 2
        kept = weights[:, -first:].T @ basis[:size]
        if left * np.abs(weights[-1, -k:]).max() > _EPSILON * values[-1]:
            basis[first] = basis[size]
        else:
            risen = (values[-k:] - settled).max() > _SAME * values[-1]
            if size == m or not risen:
                return kept[-k:].T
            # The others are no eigenvectors yet: their products leave what is kept.
            first, kept = k, kept[-k:]
            settled, start = values[-k:], draw(m)
            basis[first] = _beside(kept, start, kept @ start, draw)[0]
        basis[:first], projected[:] = kept, 0.0
        np.fill_diagonal(projected[:first, :first], values[-first:])
    return kept[-k:].T


def _beside(known, vector, along, draw) -> tuple[np.ndarray, float]:
    """Return the direction of a vector beside known ones, and its length there.

    ``along`` holds its components along these. Where nothing but rounding is left, it
    is another direction, and the length is 0.
    """
    rest = _without(known, vector, along)
    left = float(np.linalg.norm(rest))
    if left > _ROUNDING * float(np.linalg.norm(vector)):
        return rest / left, left
    if len(known) == vector.size:  # they span the whole space
        return np.zeros_like(vector), 0.0
    other = draw(vector.size)
    rest = _without(known, other, known @ other)
    return rest / np.linalg.norm(rest), 0.0


def _without(known, vector, along) -> np.ndarray:
    """Return a vector without its components, taken off twice because of rounding."""
    rest = vector - along @ known
    return rest - (known @ rest) @ known
