# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled reading and writing of LETOR text and of TREC's lines of fields.

The work is in `_letor_parse.hpp`; here arrays are allocated and faults become
`ParseError`, which knows the byte where the text went wrong but not the file.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cbool
from libc.string cimport memcpy
from libcpp.string cimport string
from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
)
from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from skrank._core._lengths cimport check_length

cdef extern from "_letor_parse.hpp" namespace "letor" nogil:
    struct Fault:
        int32_t code
        int64_t at

    struct Text:
        const char* start
        int64_t length
        int n_chunks
        int n_threads

    struct ChunkSize:
        int64_t lines
        int64_t max_index
        int64_t colons

    struct Rows:
        double* label
        int64_t* qid
        int64_t* qid_start
        int64_t* qid_length
        int64_t* comment_start
        int64_t* comment_length

    struct Rules:
        int64_t n_features
        cbool clip

    void measure_text(Text, cbool, ChunkSize*) except +
    Fault parse_dense(Text, const int64_t*, Rules, Rows, float*, int*) except +
    Fault parse_dense(Text, const int64_t*, Rules, Rows, double*, int*) except +
    Fault parse_sparse(Text, const int64_t*, const int64_t*, Rules, Rows, float*,
                       int32_t*, int64_t*, int*, int64_t*) except +
    Fault parse_sparse(Text, const int64_t*, const int64_t*, Rules, Rows, double*,
                       int32_t*, int64_t*, int*, int64_t*) except +
    Fault split_fields(const char*, int64_t, int, int64_t*, int64_t*,
                       int64_t*) except +
    int32_t parse_token(const char*, const char*, double*)
    void append_features(string&, const float*, const int32_t*, int64_t,
                         cbool) except +
    void append_features(string&, const double*, const int32_t*, int64_t,
                         cbool) except +
    char* write_number(char*, char*, double)

cdef extern from "_glue.hpp":
    pass

ctypedef fused real:
    float
    double

# The codes of letor::Error, in its order.
ERRORS = (
    "ok",
    "bad_label",
    "no_qid",
    "empty_qid",
    "bad_index",
    "no_colon",
    "index_below_one",
    "index_too_large",
    "not_ascending",
    "bad_value",
    "not_finite",
    "float32_overflow",
    "trailing",
    "too_few_fields",
)

cdef int64_t CHUNK_BYTES = 1 << 20


class ParseError(ValueError):
    """Where and why a text is malformed: ``reason`` of `ERRORS`, byte ``offset``."""

    def __init__(self, reason, offset):
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset


class ParsedText:
    """Arrays of a parsed LETOR text; spans are byte offsets and lengths in the text."""


cdef int _check(Fault fault) except -1:
    if fault.code:
        raise ParseError(ERRORS[fault.code], fault.at)
    return 0


cdef int _check_not_empty(int64_t length) except -1:
    if length == 0:
        raise ValueError("the text must have at least one byte")
    return 0


cdef class _Scan:
    """A text cut into chunks, with the size of each."""

    cdef Text text
    cdef readonly int64_t n_rows, max_index
    cdef int64_t[::1] first_rows, first_entries
    cdef int64_t n_colons

    def __init__(self, const unsigned char[::1] text, int n_threads, bint sparse):
        cdef int64_t length = text.shape[0]
        cdef int64_t n_chunks = max(1, min(length // CHUNK_BYTES, 16 * n_threads))
        cdef int64_t k
        cdef int64_t[:, ::1] sizes = np.zeros((n_chunks, 3), dtype=np.int64)
        _check_not_empty(length)
        self.text = Text(
            <const char*>&text[0], length, <int>n_chunks, min(n_threads, <int>n_chunks)
        )
        with nogil:
            measure_text(self.text, sparse, <ChunkSize*>&sizes[0, 0])
        self.first_rows = np.zeros(n_chunks + 1, dtype=np.int64)
        self.first_entries = np.zeros(n_chunks + 1, dtype=np.int64)
        for k in range(n_chunks):
            self.first_rows[k + 1] = self.first_rows[k] + sizes[k, 0]
            self.max_index = max(self.max_index, sizes[k, 1])
            self.first_entries[k + 1] = self.first_entries[k] + sizes[k, 2]
        self.n_rows = self.first_rows[n_chunks]
        self.n_colons = self.first_entries[n_chunks]


cdef Rows _allocate_rows(int64_t n, result):
    cdef double[::1] label = np.empty(n)
    # Lengths have 64 bits like starts: a field may be longer than 2 GiB.
    cdef int64_t[:, ::1] wide = np.empty((5, n), dtype=np.int64)
    result.y = np.asarray(label)
    result.qid, result.qid_start, result.qid_length = np.asarray(wide)[:3]
    result.comment_start, result.comment_length = np.asarray(wide)[3:]
    return Rows(
        &label[0], &wide[0, 0], &wide[1, 0], &wide[2, 0], &wide[3, 0], &wide[4, 0]
    )


cdef _fill_dense(_Scan scan, Rows rows, result, Rules rules, real[:, ::1] X):
    cdef int integer_qids
    cdef Fault fault
    cdef real* start = &X[0, 0] if X.shape[1] else NULL
    with nogil:
        fault = parse_dense(
            scan.text, &scan.first_rows[0], rules, rows, start, &integer_qids
        )
    _check(fault)
    result.integer_qids = bool(integer_qids)
    result.X = np.asarray(X)


cdef _fill_sparse(_Scan scan, Rows rows, result, Rules rules, real[::1] data):
    cdef int32_t[::1] indices = np.empty(data.shape[0], dtype=np.int32)
    cdef int64_t[::1] counts = np.empty(scan.n_rows, dtype=np.int64)
    cdef int integer_qids
    cdef int64_t n_entries
    cdef Fault fault
    with nogil:
        fault = parse_sparse(
            scan.text, &scan.first_rows[0], &scan.first_entries[0], rules, rows,
            &data[0], &indices[0], &counts[0], &integer_qids, &n_entries,
        )
    _check(fault)
    result.integer_qids = bool(integer_qids)
    indptr = np.zeros(scan.n_rows + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    result.data = np.asarray(data)[:n_entries].copy()
    result.indices = np.asarray(indices)[:n_entries].copy()
    result.indptr = indptr


def largest_index(const unsigned char[::1] text, int n_threads):
    """Number of rows and largest feature index of a LETOR text."""
    scan = _Scan(text, n_threads, False)
    return scan.n_rows, scan.max_index


def parse_letor(
    const unsigned char[::1] text, dtype, bint sparse, n_features, int n_threads,
    bint clip=False, check_size=None,
):
    """Parse LETOR text, which must have at least one byte.

    ``check_size``, if given, is called with the numbers of rows and of features before
    the features get any memory; it may raise an error.

    Returns
    -------
    ParsedText
        ``n_rows``, ``max_index`` and, if there are rows, ``y``, ``qid`` (valid where
        ``integer_qids``), ``X`` or ``data, indices, indptr``, and the spans of query
        ids and comments.
    """
    scan = _Scan(text, n_threads, sparse)
    result = ParsedText()
    result.n_rows, result.max_index = scan.n_rows, scan.max_index
    if not scan.n_rows:
        return result
    width = scan.max_index if n_features is None else n_features
    if not 0 <= width <= 0x7fffffff:
        raise ValueError(f"n_features must fit 31 bits, got {width}")
    if check_size is not None:
        check_size(scan.n_rows, width)
    rules = Rules(width, clip)
    rows = _allocate_rows(scan.n_rows, result)
    shape = (scan.n_colons,) if sparse else (scan.n_rows, width)
    array = np.empty(shape, dtype=dtype)
    if array.dtype == np.float32:
        if sparse:
            _fill_sparse[float](scan, rows, result, rules, array)
        else:
            _fill_dense[float](scan, rows, result, rules, array)
    elif sparse:
        _fill_sparse[double](scan, rows, result, rules, array)
    else:
        _fill_dense[double](scan, rows, result, rules, array)
    return result


def parse_fields(const unsigned char[::1] text, int n_fields):
    """Spans of the first fields of every line that is neither blank nor a comment.

    Returns
    -------
    starts : ndarray of shape (n_lines, n_fields), int64
    lengths : ndarray of shape (n_lines, n_fields), int64
    """
    cdef const char* start = <const char*>&text[0]
    cdef int64_t n_lines
    _check_not_empty(text.shape[0])
    if n_fields < 1:
        raise ValueError(f"n_fields must be at least 1, got {n_fields}")
    split_fields(start, text.shape[0], n_fields, NULL, NULL, &n_lines)
    starts = np.empty((n_lines, n_fields), dtype=np.int64)
    lengths = np.empty((n_lines, n_fields), dtype=np.int64)
    cdef int64_t[:, ::1] s = starts
    cdef int64_t[:, ::1] m = lengths
    if n_lines:
        _check(split_fields(
            start, text.shape[0], n_fields, &s[0, 0], &m[0, 0], &n_lines
        ))
    return starts, lengths


def parse_numbers(
    const unsigned char[::1] text, const int64_t[:] starts, const int64_t[:] lengths
):
    """The numbers at some spans of a text; NaN is refused."""
    values = np.empty(starts.shape[0])
    cdef double[::1] out = values
    cdef const char* p
    cdef int32_t error
    cdef Py_ssize_t i
    check_length(lengths.shape[0], starts.shape[0], "lengths")
    for i in range(starts.shape[0]):
        if i % 65536 == 0:
            PyErr_CheckSignals()
        if starts[i] < 0 or not 0 <= lengths[i] <= text.shape[0] - starts[i]:
            raise ValueError(f"span {i} is not within the text")
        p = <const char*>&text[starts[i]]
        error = parse_token(p, p + lengths[i], &out[i])
        if error or out[i] != out[i]:
            raise ParseError(ERRORS[error or 9], starts[i])
    return values


def join_spans(
    const unsigned char[::1] text, const int64_t[:] starts, const int64_t[:] lengths
):
    """The bytes at some spans of a text, one after another."""
    cdef int64_t total = 0
    cdef Py_ssize_t i
    check_length(lengths.shape[0], starts.shape[0], "lengths")
    for i in range(starts.shape[0]):
        if starts[i] < 0 or not 0 <= lengths[i] <= text.shape[0] - starts[i]:
            raise ValueError(f"span {i} is not within the text")
        if total > <int64_t>0x7fffffffffffffff - lengths[i]:
            raise ValueError("the spans have too many bytes")
        total += lengths[i]
    joined = PyBytes_FromStringAndSize(NULL, total)
    cdef char* out = PyBytes_AS_STRING(joined)
    for i in range(starts.shape[0]):
        if lengths[i]:
            memcpy(out, &text[starts[i]], lengths[i])
            out += lengths[i]
    return joined


cdef _append_bytes(string& out, bytes value):
    out.append(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


cdef _append_head(string& out, double label, bytes qid):
    cdef char buffer[32]
    cdef char* end = write_number(buffer, buffer + sizeof(buffer), label)
    out.append(buffer, end - buffer)
    out.append(b" qid:")
    _append_bytes(out, qid)


cdef int _check_lines(
    Py_ssize_t n, const double[::1] y, list qids, list tails
) except -1:
    check_length(y.shape[0], n, "y")
    check_length(len(qids), n, "qids")
    return check_length(len(tails), n, "tails")


def format_dense(
    const real[:, ::1] X, const double[::1] y, list qids, list tails, bint skip_zeros
):
    """LETOR lines of a block of dense rows, as bytes."""
    cdef string out
    cdef Py_ssize_t i
    _check_lines(X.shape[0], y, qids, tails)
    for i in range(X.shape[0]):
        _append_head(out, y[i], qids[i])
        append_features(out, &X[i, 0], NULL, X.shape[1], skip_zeros)
        _append_bytes(out, tails[i])
        out.append(b"\n")
    return <bytes>out


def format_sparse(
    const real[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr,
    const double[::1] y, list qids, list tails
):
    """LETOR lines of a block of CSR rows with sorted indices, as bytes."""
    cdef string out
    cdef Py_ssize_t i
    _check_lines(y.shape[0], y, qids, tails)
    check_length(indices.shape[0], data.shape[0], "indices")
    check_length(indptr.shape[0], y.shape[0] + 1, "indptr")
    for i in range(y.shape[0]):
        if not 0 <= indptr[i] <= indptr[i + 1] <= data.shape[0]:
            raise ValueError(f"the entries of row {i} are not within data")
        _append_head(out, y[i], qids[i])
        if indptr[i] < indptr[i + 1]:
            append_features(
                out, &data[indptr[i]], &indices[indptr[i]], indptr[i + 1] - indptr[i],
                True,
            )
        _append_bytes(out, tails[i])
        out.append(b"\n")
    return <bytes>out
