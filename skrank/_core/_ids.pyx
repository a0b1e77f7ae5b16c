# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Document ids: rows of equal ids in several lists, and the order of tied documents.

Ids are Python objects, so that everything here holds the interpreter. What is saved is
a dictionary, or a call of Python's sort, for each query or tie, which are small.
"""

import numpy as np

from cpython.object cimport PyObject_Hash, PyObject_RichCompareBool, Py_EQ
from cpython.unicode cimport PyUnicode_Check, PyUnicode_CheckExact, PyUnicode_Compare
from libc.stdint cimport uint32_t

from skrank._core._lengths cimport check_length

# Up to this many documents, insertion needs fewer steps than a sort has overhead.
cdef enum:
    FEW = 16


cdef int _insert(Py_ssize_t[::1] order, Py_ssize_t start, Py_ssize_t stop,
                 object[::1] ids) except -1:
    cdef Py_ssize_t i, j, row
    for i in range(start + 1, stop):
        row = order[i]
        j = i
        while j > start and PyUnicode_Compare(ids[order[j - 1]], ids[row]) < 0:
            order[j] = order[j - 1]
            j -= 1
        order[j] = row
    return 0


def sort_ties_by_id(Py_ssize_t[::1] order, const Py_ssize_t[::1] edges,
                    object[::1] ids):
    """Sort the rows of each tie by descending id, in place.

    Parameters
    ----------
    order : ndarray of shape (n,), dtype intp
        Rows in the order of their scores.
    edges : ndarray of shape (2 * n_ties,), dtype intp
        First place of each tie, and the place behind its last one, in turn.
    ids : ndarray of shape (n,), dtype object
        Id of each row, a string.
    """
    cdef Py_ssize_t i, k, start, stop, last = 0
    if order is None or edges is None or ids is None:
        raise ValueError("order, edges and ids must be arrays")
    cdef Py_ssize_t n = order.shape[0], n_edges = edges.shape[0]
    check_length(ids.shape[0], n, "ids")
    if n_edges % 2:
        raise ValueError(f"edges must come in pairs, got {n_edges}")
    for k in range(n_edges):
        if not last <= edges[k] <= n:
            raise ValueError(f"edges must ascend from 0 to the length of order, {n}")
        last = edges[k]
    for i in range(n):
        if not 0 <= order[i] < n:
            raise ValueError(f"order must hold rows below {n}, the number of ids")
    for k in range(0, n_edges, 2):
        start, stop = edges[k], edges[k + 1]
        for i in range(start, stop):
            if not PyUnicode_Check(ids[order[i]]):
                raise TypeError(f"ids must be strings, found {ids[order[i]]!r:.50}")
        if stop - start <= FEW:
            _insert(order, start, stop, ids)
            continue
        rows = sorted(order[start:stop], key=ids.__getitem__, reverse=True)
        for i in range(start, stop):
            order[i] = rows[i - start]


cdef Py_ssize_t _most_entries(const Py_ssize_t[:, ::1] ptr):
    """Entries of all lists in the longest query."""
    cdef Py_ssize_t q, run, total, most = 0
    for q in range(ptr.shape[1] - 1):
        total = 0
        for run in range(ptr.shape[0]):
            total += ptr[run, q + 1] - ptr[run, q]
        most = max(most, total)
    return most


cdef int _check_lists(list lists, const Py_ssize_t[:, ::1] ptr) except -1:
    cdef Py_ssize_t q, run
    check_length(ptr.shape[0], len(lists), "ptr")
    for run in range(ptr.shape[0]):
        if ptr.shape[1] < 1 or ptr[run, 0] != 0:
            raise ValueError("ptr must begin with 0")
        for q in range(ptr.shape[1] - 1):
            if ptr[run, q + 1] < ptr[run, q]:
                raise ValueError("ptr must ascend")
        check_length(len(lists[run]), ptr[run, ptr.shape[1] - 1], f"lists[{run}]")
    return 0


def join_ids(list lists, const Py_ssize_t[:, ::1] ptr):
    """Number the different ids of each query over several lists of ids.

    Parameters
    ----------
    lists : list of ndarray of shape (n_entries,), dtype object
        Hashable ids of each list, grouped by query.
    ptr : ndarray of shape (n_lists, n_queries + 1), dtype intp
        Pointer array of each list.

    Returns
    -------
    rows : list of ndarray of shape (n_entries,), dtype intp
        Row of each entry. The rows of a query follow those of the query before, in the
        order in which their ids first occur.
    joined_ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array of the rows.
    ids : ndarray of shape (n_rows,), dtype object
        Id of each row.
    all_strings : bool
        Whether every id is a string, and of no class derived from it.
    duplicate : tuple of (int, int) or None
        A list, and an entry in it whose id its query has before in the same list.
    """
    if ptr is None:
        raise ValueError("ptr must be an array")
    _check_lists(lists, ptr)
    cdef Py_ssize_t n_queries = ptr.shape[1] - 1, n_lists = ptr.shape[0]
    cdef Py_ssize_t size = 16, q, run, i, row, n_rows = 0, first
    while size < 2 * _most_entries(ptr):
        size *= 2
    cdef uint32_t mask = <uint32_t>(size - 1), code, place
    # An entry of the table holds the row, counted from 1, and the hash of its id.
    cdef int[::1] table = np.zeros(size, dtype=np.int32)
    cdef uint32_t[::1] codes = np.empty(size, dtype=np.uint32)
    cdef int[::1] last_list = np.empty(size, dtype=np.int32)
    cdef list rows = [np.empty(len(entry), np.intp) for entry in lists]
    all_ids = np.empty(sum(map(len, lists)), dtype=object)
    cdef object[::1] ids = all_ids
    cdef bint all_strings = True
    cdef Py_ssize_t[::1] out
    cdef object[::1] entries
    joined_ptr = np.zeros(n_queries + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] bounds = joined_ptr
    duplicate = None
    for q in range(n_queries):
        first = n_rows
        table[:] = 0
        for run in range(n_lists):
            entries, out = lists[run], rows[run]
            for i in range(ptr[run, q], ptr[run, q + 1]):
                value = entries[i]
                code = <uint32_t>PyObject_Hash(value)
                place = (code * <uint32_t>2654435769) & mask
                while table[place]:
                    if codes[place] == code and PyObject_RichCompareBool(
                        ids[first + table[place] - 1], value, Py_EQ
                    ):
                        break
                    place = (place + 1) & mask
                row = table[place] - 1
                if row < 0:
                    row = n_rows - first
                    table[place], codes[place] = <int>(row + 1), code
                    ids[n_rows] = value
                    all_strings = all_strings and PyUnicode_CheckExact(value)
                    n_rows += 1
                elif last_list[row] == run and duplicate is None:
                    duplicate = run, i
                last_list[row] = <int>run
                out[i] = first + row
        bounds[q + 1] = n_rows
    return rows, joined_ptr, all_ids[:n_rows].copy(), all_strings, duplicate
