# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Document ids: rows of equal ids in several lists, and the order of tied documents.

Ids are Python objects, so that everything here holds the interpreter. What is saved is
a dictionary, or a call of Python's sort, for each query or tie, which are small.
"""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length

cdef extern from "_ids.hpp" namespace "skrank":
    Py_hash_t hash_of_id(PyObject *id) except? -1
    int same_id(PyObject *a, PyObject *b) except -1
    int compare_strings(PyObject *a, PyObject *b)
    void prefetch_id(PyObject *id)
    void prefetch_count(PyObject *id)
    bint is_string(PyObject *id)
    bint is_exact_string(PyObject *id)

cdef enum:
    # Up to this many documents, insertion needs fewer steps than a sort has overhead.
    FEW = 16
    # Ids that the processor is asked for before the first of them is used.
    AHEAD = 16
    BLOCK = 256
    # A source holds the number of an entry in these bits, and that of its list above.
    ENTRY_BITS = 40


cdef PyObject **_objects(array) except? NULL:
    """Return the place of the objects of an array, which holds references to them."""
    cdef object[::1] ids = array  # of dtype object, and contiguous
    return <PyObject **><size_t>array.ctypes.data if ids.shape[0] else NULL


cdef inline int64_t _entry(int64_t source) noexcept:
    return source & ((<int64_t>1 << ENTRY_BITS) - 1)


cdef class IdTable:
    """Document ids of rows, each of which stands somewhere in one of several lists.

    The ids of joined lists need not be collected before it is known in which order they
    are wanted: every array of them costs a visit to all objects, to count references.

    Parameters
    ----------
    lists : list of ndarray of shape (n_entries,), dtype object
        Ids.
    sources : ndarray of shape (n_rows,), dtype int64, default=None
        Where the id of each row stands, as `join_ids` returns it. None stands for the
        entries of a single list in their order.
    """

    cdef list lists
    cdef vector[PyObject **] starts
    cdef const int64_t[::1] sources
    cdef Py_ssize_t n_rows

    def __init__(self, list lists, const int64_t[::1] sources=None):
        cdef Py_ssize_t i, place
        cdef bint fits = True
        cdef vector[Py_ssize_t] lengths
        if lists is None:
            raise ValueError("lists must be a list of arrays")
        if sources is None:
            check_length(len(lists), 1, "lists")
        self.lists = list(lists)
        self.sources = sources
        self.starts.clear()
        for array in self.lists:
            self.starts.push_back(_objects(array))
            lengths.push_back(len(array))
        self.n_rows = lengths[0] if sources is None else sources.shape[0]
        for i in range(0 if sources is None else self.n_rows):
            place = sources[i] >> ENTRY_BITS
            fits = 0 <= place < <Py_ssize_t>lengths.size()
            if not fits or _entry(sources[i]) >= lengths[place]:
                raise ValueError("sources must name entries of the lists")

    def __reduce__(self):
        sources = None if self.sources is None else np.asarray(self.sources)
        return IdTable, (self.lists, sources)

    cdef inline PyObject *id_of(self, Py_ssize_t row) noexcept:
        cdef int64_t source
        if self.sources is None:
            return self.starts[0][row]
        source = self.sources[row]
        return self.starts[source >> ENTRY_BITS][_entry(source)]

    cdef int check_rows(self, const Py_ssize_t[::1] rows) except -1:
        cdef Py_ssize_t i
        cdef bint fits = rows is not None
        if fits:
            for i in range(rows.shape[0]):
                fits &= 0 <= rows[i] < self.n_rows
        if not fits:
            raise ValueError(f"order must hold rows below {self.n_rows}, those with ids")
        return 0

    def take(self, const Py_ssize_t[::1] order):
        """Return the ids of some rows as an array.

        Parameters
        ----------
        order : ndarray of shape (n,), dtype intp
            Rows.

        Returns
        -------
        ndarray of shape (n,), dtype object
        """
        self.check_rows(order)
        cdef Py_ssize_t i, n = order.shape[0]
        taken = np.empty(n, dtype=object)
        cdef object[::1] out = taken
        for i in range(n):
            if i + AHEAD < n:
                prefetch_count(self.id_of(order[i + AHEAD]))
            out[i] = <object>self.id_of(order[i])
        return taken

    cdef int insert(self, Py_ssize_t[::1] order, Py_ssize_t start,
                    Py_ssize_t stop) except -1:
        cdef Py_ssize_t i, j, row
        for i in range(start + 1, stop):
            row = order[i]
            j = i
            while j > start and compare_strings(
                self.id_of(order[j - 1]), self.id_of(row)
            ) < 0:
                order[j] = order[j - 1]
                j -= 1
            order[j] = row
        return 0

    def sort_ties(self, Py_ssize_t[::1] order, const uint8_t[::1] tied):
        """Sort the rows of each tie by descending id, in place.

        Parameters
        ----------
        order : ndarray of shape (n,), dtype intp
            Rows in the order of their scores.
        tied : ndarray of shape (n,), dtype uint8
            Whether a row is tied with the one before it in ``order``.

        Raises
        ------
        TypeError
            If the id of a tied row is not a string.
        """
        self.check_rows(order)
        if tied is None:
            raise ValueError("tied must be an array")
        cdef Py_ssize_t i, start, n = order.shape[0], stop = 1, ahead = 1
        check_length(tied.shape[0], n, "tied")
        while stop < n:
            if stop >= ahead:
                for i in range(stop, min(stop + BLOCK, n)):
                    if tied[i]:
                        prefetch_id(self.id_of(order[i - 1]))
                        prefetch_id(self.id_of(order[i]))
                ahead = stop + BLOCK
            start, stop = stop - 1, stop + 1
            if not tied[start + 1]:
                continue
            while stop < n and tied[stop]:
                stop += 1
            for i in range(start, stop):
                if not is_string(self.id_of(order[i])):
                    value = <object>self.id_of(order[i])
                    raise TypeError(f"ids must be strings, found {value!r:.50}")
            if stop - start <= FEW:
                self.insert(order, start, stop)
                continue
            names = [<object>self.id_of(order[i]) for i in range(start, stop)]
            rows = [order[i] for i in range(start, stop)]
            by_name = sorted(range(len(rows)), key=names.__getitem__, reverse=True)
            for i, place in enumerate(by_name):
                order[start + i] = rows[place]


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


cdef Py_ssize_t _find(vector[uint64_t] &table, vector[PyObject *] &ids,
                      PyObject *value, uint64_t hash_mask) except -2:
    """Return the row of an id within its query, or -1 where it gets the next one.

    An entry of the table holds the row, counted from 1, above 32 bits of the hash.
    """
    cdef uint64_t mask = table.size() - 1
    cdef uint64_t code = <uint64_t>hash_of_id(value) & hash_mask
    cdef uint64_t place = code * <uint64_t>2654435769 & mask
    cdef Py_ssize_t row
    while table[place]:
        row = <Py_ssize_t>(table[place] >> 32) - 1
        if (table[place] & hash_mask) == code and same_id(ids[row], value):
            return row
        place = (place + 1) & mask
    table[place] = (<uint64_t>(ids.size() + 1) << 32) | code
    ids.push_back(value)
    return -1


cdef tuple _join(list lists, const Py_ssize_t[:, ::1] ptr, uint64_t hash_mask,
                 bint all_strings):
    """Do the work of `join_ids`; return None where an id is no string, but must be."""
    cdef Py_ssize_t n_queries = ptr.shape[1] - 1, n_lists = ptr.shape[0]
    cdef Py_ssize_t size = 16, q, run, i, row, n_rows = 0, first, total = 0
    while 2 * size < 3 * _most_entries(ptr):
        size *= 2
    cdef vector[uint64_t] table = vector[uint64_t](size)
    cdef vector[PyObject *] ids
    cdef vector[Py_ssize_t] last_list = vector[Py_ssize_t](size)
    cdef vector[PyObject **] starts
    cdef PyObject **entries
    cdef list rows = [np.empty(len(entry), np.intp) for entry in lists]
    for entry in lists:
        starts.push_back(_objects(entry))
        total += len(entry)
    all_sources, all_counts = np.empty(total, np.int64), np.empty(total, np.int32)
    joined_ptr = np.zeros(n_queries + 1, dtype=np.intp)
    cdef int64_t[::1] sources = all_sources
    cdef int[::1] counts = all_counts
    cdef Py_ssize_t[::1] out, bounds = joined_ptr
    duplicate = None
    for q in range(n_queries):
        first = n_rows
        table.assign(size, 0)
        ids.clear()
        for run in range(n_lists):
            entries, out = starts[run], rows[run]
            for i in range(ptr[run, q], ptr[run, q + 1]):
                if i + AHEAD < ptr[run, q + 1]:
                    prefetch_id(entries[i + AHEAD])
                if all_strings and not is_exact_string(entries[i]):
                    return None
                row = _find(table, ids, entries[i], hash_mask)
                if row < 0:
                    row = n_rows - first
                    sources[n_rows] = (<int64_t>run << ENTRY_BITS) | i
                    counts[n_rows] = 0
                    n_rows += 1
                elif last_list[row] == run and duplicate is None:
                    duplicate = run, i
                last_list[row] = run
                counts[first + row] += 1
                out[i] = first + row
        bounds[q + 1] = n_rows
    return rows, joined_ptr, all_sources[:n_rows], all_counts[:n_rows], duplicate


def join_ids(list lists, const Py_ssize_t[:, ::1] ptr, int hash_bits=32):
    """Number the different ids of each query over several lists of ids.

    Parameters
    ----------
    lists : list of ndarray of shape (n_entries,), dtype object
        Hashable ids of each list, grouped by query.
    ptr : ndarray of shape (n_lists, n_queries + 1), dtype intp
        Pointer array of each list.
    hash_bits : int, default=32
        Bits of the hashes that are used, at most 32. Tests take few of them, so that
        different ids have equal hashes.

    Returns
    -------
    rows : list of ndarray of shape (n_entries,), dtype intp
        Row of each entry. The rows of a query follow those of the query before, in the
        order in which their ids first occur.
    joined_ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array of the rows.
    sources : ndarray of shape (n_rows,), dtype int64
        The list and the entry in which the id of each row first occurs, as `IdTable`
        reads them.
    counts : ndarray of shape (n_rows,), dtype int32
        Number of lists that have the id.
    all_strings : bool
        Whether every id is a string, and of no class derived from it.
    duplicate : tuple of (int, int) or None
        A list, and an entry in it whose id its query has before in the same list.
    """
    if lists is None or ptr is None or not 0 <= hash_bits <= 32:
        raise ValueError("lists and ptr must be arrays, and hash_bits at most 32")
    lists = list(lists)
    _check_lists(lists, ptr)
    cdef uint64_t hash_mask = (<uint64_t>1 << hash_bits) - 1
    joined = _join(lists, ptr, hash_mask, True)
    all_strings = joined is not None
    if not all_strings:
        # Comparing such ids runs code of their classes, and that might change arrays:
        # copies keep the ids alive.
        joined = _join([entry.copy() for entry in lists], ptr, hash_mask, False)
    rows, joined_ptr, sources, counts, duplicate = joined
    return rows, joined_ptr, sources, counts, all_strings, duplicate
