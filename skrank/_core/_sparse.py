"""Rows in sparse form, as compiled code takes them, and with other columns."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, TypeGuard
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

# Matrices that have been found to be in order.
_sound: WeakValueDictionary = WeakValueDictionary()


def is_mapping(value: Any) -> TypeGuard[Mapping]:
    """Return whether a value is a mapping of names, unlike a DOK matrix.

    SciPy derives these from dict, so that they are mappings of places to numbers, too.
    """
    return isinstance(value, Mapping) and not sparse.issparse(value)


def canonical_csr(X: Any) -> Any:
    """Return sparse rows in which each entry is stored once, by ascending columns.

    Parameters
    ----------
    X : sparse matrix of shape (n_rows, n_columns)
        Rows; they stay as they are.

    Returns
    -------
    CSR matrix of shape (n_rows, n_columns)
        The rows themselves where nothing is to be done, otherwise a copy.
    """
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def narrow_csr(X: Any) -> Any:
    """Return sparse rows as CSR with indices of 32 bits where these hold them.

    Some versions of scikit-learn compute kernels of no others.
    """
    X = X.tocsr()
    largest = max(*X.shape, X.nnz)
    if X.indices.dtype == np.int32 or largest > np.iinfo(np.int32).max:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)


def csr_parts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of canonical CSR rows with the types of compiled code.

    Parameters
    ----------
    X : CSR matrix of shape (n_rows, n_columns)
        Rows in canonical form.

    Returns
    -------
    ptr : ndarray of shape (n_rows + 1,), dtype int64
        Start of each row among the entries, and the end of the last one.
    columns : ndarray of shape (n_entries,), dtype int32
        Column of each entry.
    values : ndarray of shape (n_entries,)
        Value of each entry.

    Raises
    ------
    ValueError
        If there are more columns than such numbers.
    """
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X must have at most 2**31 - 1 columns, got {X.shape[1]}")
    n_entries = X.indptr[-1]
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices[:n_entries].astype(np.int32, copy=False),
        X.data[:n_entries],
    )


def with_sparse_columns(X: Any, columns: Iterable[tuple[int, np.ndarray]]) -> Any:
    """Return sparse rows with numbers in place of some columns; X stays as it is.

    Parameters
    ----------
    X : CSR matrix of shape (n_rows, n_columns)
        Rows in canonical form.
    columns : iterable of int and ndarray of shape (n_rows,)
        Index of a column and its numbers, of which those other than 0 are stored.

    Returns
    -------
    CSR matrix of shape (n_rows, n_columns)
    """
    dtype = X.dtype if X.dtype.kind == "f" else np.float64  # which have NaN
    replaced = np.zeros(X.shape[1], dtype=bool)
    rows, places, values = [], [], []
    for j, numbers in columns:
        replaced[j] = True
        stored = np.flatnonzero(numbers != 0)
        rows.append(stored)
        places.append(np.full(len(stored), j))
        values.append(np.asarray(numbers)[stored])
    kept = ~replaced[X.indices]
    rows.append(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[kept])
    places.append(X.indices[kept])
    values.append(X.data[kept])
    parts = [np.concatenate(part) for part in (values, rows, places)]
    entries = (parts[0].astype(dtype), (parts[1], parts[2]))
    return canonical_csr(sparse.csr_array(entries, shape=X.shape))


def read_only(array: Any) -> Any:
    """Return an array that shares memory with what a user passed and protects it.

    Callbacks, estimators inside others and losses that users write see the rows, and a
    mistake of theirs must not change the data of the caller.

    Parameters
    ----------
    array : ndarray, CSR matrix, data frame or None
        What was passed.

    Returns
    -------
    ndarray, CSR matrix, data frame or None
        A view that cannot be written to; of a CSR matrix whose columns are not in order
        a copy in which they are, with the sum of entries that stand in the same place,
        because libraries order them in place and take such entries for several. Data
        frames are returned as they are.
    """
    if isinstance(array, np.ndarray):
        view = array.view()
        view.flags.writeable = False
        return view
    if not (sparse.issparse(array) and array.format == "csr"):
        return array
    array = canonical_csr(array)
    parts = [read_only(part) for part in (array.data, array.indices, array.indptr)]
    view = type(array)(tuple(parts), shape=array.shape, copy=False)
    view.has_sorted_indices = view.has_canonical_format = True
    return view


def check_sparse(X: Any, name: str = "X", *, once: bool = False) -> None:
    """Refuse a sparse matrix with indices beyond its shape; pass over anything else.

    Libraries trust them, so that a wrong one would read foreign memory or write there.

    Parameters
    ----------
    X : object
        Argument that may be a sparse matrix.
    name : str, default="X"
        Name of the argument in the error message.
    once : bool, default=False
        Whether to pass over the very objects that have been found to be in order. The
        thousand steps of a solver take the same rows, whose check would take a tenth of
        the time of a sparse product.

    Raises
    ------
    ValueError
        If the arrays of the matrix do not belong together.
    """
    if not sparse.issparse(X) or (once and _sound.get(id(X)) is X):
        return
    try:
        fits = _fits(X)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            f"{name} must be a sparse matrix whose indices lie within its shape, "
            f"{X.shape}, and whose pointers ascend; those of this {X.format.upper()} "
            "matrix do not"
        )
    if once:
        _sound[id(X)] = X


def _fits(X: Any) -> bool:
    """Return whether indices lie within the shape, of formats that trust them."""
    if X.format == "coo":
        coords = getattr(X, "coords", None) or (X.row, X.col)  # before SciPy 1.13
        axes = zip(coords, X.shape)
        return all(len(at) == len(X.data) and _within(at, n) for at, n in axes)
    if X.format == "lil":
        lengths, indices = list(map(len, X.rows)), list(chain.from_iterable(X.rows))
        fits = len(lengths) == X.shape[0] and lengths == list(map(len, X.data))
        return fits and (not indices or 0 <= min(indices) <= max(indices) < X.shape[1])
    if X.format == "dia":
        return X.offsets.shape == (len(X.data),)
    if X.format not in ("csr", "csc", "bsr"):  # no others are trusted
        return True
    shape = X.shape if X.ndim == 2 else (1, *X.shape)  # one row may have no axis
    n_major, n_minor = shape if X.format != "csc" else shape[::-1]
    if X.format == "bsr":
        height, width = X.blocksize
        if n_major % height or n_minor % width:
            return False
        n_major, n_minor = n_major // height, n_minor // width
    bounds, n = X.indptr, min(len(X.indices), len(X.data))
    return (
        bounds.dtype.kind == X.indices.dtype.kind == "i"
        and len(bounds) == n_major + 1
        and bounds[0] == 0
        and bounds[-1] <= n
        and bool((bounds[1:] >= bounds[:-1]).all())
        and _within(X.indices[: bounds[-1]], n_minor)
    )


def _within(indices: np.ndarray, stop: int) -> bool:
    return not len(indices) or (indices.min() >= 0 and indices.max() < stop)
