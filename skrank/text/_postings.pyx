# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled parts of the inverted index: words, postings, searches and proximity.

The work is in the headers; here arrays are allocated and their lengths compared. Numbers
within posting lists need no check before a search: they may be those of a mapped file, so
that the loops look at each one before they use it.
"""

import numpy as np

from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from skrank._core._lengths cimport check_length

from skrank.text._segments import starts_of_segments

cdef extern from "_words.hpp" namespace "skrank" nogil:
    struct Text:
        pass
    Text text_of(PyObject *) except +
    cdef cppclass WordTable:
        Py_ssize_t size()
        const char *word(Py_ssize_t)
        Py_ssize_t length(Py_ssize_t)
    cdef cppclass WordScan:
        WordScan(uint64_t)
        WordTable words
        vector[Py_ssize_t] ptr
        void scan(const vector[Text] &, int, uint64_t) except +
        Py_ssize_t n_tokens()
        void numbers(int32_t *, int) except +

cdef extern from "_postings.hpp" namespace "skrank" nogil:
    struct Tokens:
        const int32_t *words
        const Py_ssize_t *ptr
        Py_ssize_t n_documents
        const int32_t *terms
        const Py_ssize_t *terms_ptr
        Py_ssize_t n_terms
    cdef cppclass PostingsBuilder:
        PostingsBuilder(Tokens, int) except +
        void count(Py_ssize_t *) except +
        void write(int32_t *, double *) except +
        void write_positions(const Py_ssize_t *, int32_t *) except +
    struct PostingLists:
        const Py_ssize_t *ptr
        const int32_t *documents
        Py_ssize_t n_terms
        Py_ssize_t n_postings
        Py_ssize_t n_documents
        bint has_list(Py_ssize_t)
    int fault_of(PostingLists, const double *, double)
    void find_postings(PostingLists, Py_ssize_t, const Py_ssize_t *, const Py_ssize_t *,
                       Py_ssize_t *, int) except +

cdef extern from "_search.hpp" namespace "skrank" nogil:
    struct WeighedQueries:
        const Py_ssize_t *ptr
        const int32_t *terms
        const double *weights
        const double *totals
        const double *constants
        Py_ssize_t count
    struct WeighedPostings:
        PostingLists lists
        const double *weights
        const double *offsets
    void search_all "skrank::search"(
        WeighedPostings, WeighedQueries, Py_ssize_t, Py_ssize_t *, double *,
        Py_ssize_t *, int) except +
    void score_rows "skrank::score_all"(
        WeighedPostings, WeighedQueries, double *, int) except +
    void best_of_rows(const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t *,
                      double *, int) except +

cdef extern from "_proximity.hpp" namespace "skrank" nogil:
    enum:
        N_PROXIMITIES
    struct PairLookups:
        const Py_ssize_t *ptr
        const Py_ssize_t *postings
        Py_ssize_t n_pairs
    struct PositionLists:
        const Py_ssize_t *ptr
        const int32_t *positions
        Py_ssize_t n_postings
        Py_ssize_t n_positions
    void proximities_of_pairs(PairLookups, PositionLists, double *, int) except +

cdef extern from "../_core/_glue.hpp":
    pass


# An empty array has no address.
cdef inline const double *_doubles(
    const double[::1] x, Py_ssize_t length, str name
) except? NULL:
    if x is None:
        raise ValueError(f"{name} must be an array")
    check_length(x.shape[0], length, name)
    return &x[0] if length else NULL


cdef inline const double *_doubles_or_none(
    const double[::1] x, Py_ssize_t length, str name
) except? NULL:
    if x is None:
        return NULL
    return _doubles(x, length, name)


cdef inline double *_out_doubles(double[::1] x):
    return &x[0] if x.shape[0] else NULL


cdef inline const int32_t *_numbers(const int32_t[::1] x):
    return &x[0] if x is not None and x.shape[0] else NULL


cdef inline const Py_ssize_t *_indices(const Py_ssize_t[::1] x):
    return &x[0] if x is not None and x.shape[0] else NULL


cdef inline Py_ssize_t *_out_indices(Py_ssize_t[::1] x):
    return &x[0] if x.shape[0] else NULL


cdef int _check_ptr(const Py_ssize_t[::1] ptr, Py_ssize_t last, str name) except -1:
    """Refuse pointer arrays that do not ascend from 0 to ``last``."""
    cdef Py_ssize_t i
    cdef bint fits = ptr is not None and ptr.shape[0] > 0
    if fits:
        fits = ptr[0] == 0 and ptr[ptr.shape[0] - 1] == last
        for i in range(ptr.shape[0] - 1):
            fits &= ptr[i] <= ptr[i + 1]
    if not fits:
        raise ValueError(f"{name} must ascend from 0 to {last}")
    return 0


cdef int _check_below(const int32_t[::1] x, Py_ssize_t bound, str name) except -1:
    cdef Py_ssize_t i
    cdef bint fits = x is not None
    if fits:
        for i in range(x.shape[0]):
            fits &= 0 <= x[i] < bound
    if not fits:
        raise ValueError(f"{name} must hold numbers from 0 to {bound - 1}")
    return 0


cdef list _words_of(WordTable &words):
    cdef Py_ssize_t i
    return [
        PyUnicode_DecodeUTF8(words.word(i), words.length(i), NULL)
        for i in range(words.size())
    ]


def scan_words(list texts, int n_threads=1):
    r"""Find the words of texts, as the pattern ``\w+`` does.

    Parameters
    ----------
    texts : list of str
        Texts.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    words : list of str
        The different words, in the order in which they first occur.
    numbers : ndarray of shape (n_tokens,), dtype int32
        The number of each word of all texts, one text after the other.
    ptr : ndarray of shape (n_texts + 1,), dtype intp
        Words of text ``i`` are ``ptr[i]:ptr[i + 1]``.
    """
    cdef vector[Text] found
    if texts is None:
        raise ValueError("texts must be a list of strings")
    texts = list(texts)  # nobody else removes a text from it while it is read
    for text in texts:
        if not isinstance(text, str):
            raise TypeError("texts must be a list of strings")
        found.push_back(text_of(<PyObject *>text))
    # Nobody can foresee the hashes: Python's own are salted.
    cdef uint64_t seed = <uint64_t><Py_hash_t>hash("words of texts")
    cdef WordScan *scan = new WordScan(seed)
    cdef int32_t[::1] out
    cdef Py_ssize_t i
    try:
        with nogil:
            scan.scan(found, n_threads, seed)
        numbers = np.empty(scan.n_tokens(), dtype=np.int32)
        out = numbers
        if scan.n_tokens():
            with nogil:
                scan.numbers(&out[0], n_threads)
        ptr = np.empty(len(texts) + 1, dtype=np.intp)
        for i in range(len(texts) + 1):
            ptr[i] = scan.ptr[i]
        return _words_of(scan.words), numbers, ptr
    finally:
        del scan


def build_postings(
    const int32_t[::1] words,
    const Py_ssize_t[::1] ptr,
    const int32_t[::1] terms,
    const Py_ssize_t[::1] terms_ptr,
    Py_ssize_t n_terms,
    bint with_positions=False,
    int n_threads=1,
):
    """Turn the words of documents into the documents of terms.

    Parameters
    ----------
    words : ndarray of shape (n_tokens,), dtype int32
        Number of each word, one document after the other.
    ptr : ndarray of shape (n_documents + 1,), dtype intp
        Words of document ``d`` are ``ptr[d]:ptr[d + 1]``.
    terms : ndarray of shape (n_entries,), dtype int32
        Terms that words stand for, one word after the other.
    terms_ptr : ndarray of shape (n_words + 1,), dtype intp
        Terms of word ``w`` are ``terms_ptr[w]:terms_ptr[w + 1]``.
    n_terms : int
        Number of different terms.
    with_positions : bool, default=False
        Whether to return the positions of terms in their documents.
    n_threads : int, default=1
        Number of threads; the memory grows by ``n_terms`` numbers for each.

    Returns
    -------
    indptr : ndarray of shape (n_terms + 1,), dtype intp
        Postings of term ``t`` are ``indptr[t]:indptr[t + 1]``.
    documents : ndarray of shape (n_postings,), dtype int32
        Document of each posting, ascending within a term.
    counts : ndarray of shape (n_postings,), dtype float64
        Number of times that the document contains the term.
    positions : ndarray of shape (n_occurrences,), dtype int32, or None
        Places of the terms among those of their documents, counted from 0 and grouped by
        posting.
    """
    if words is None or terms is None or n_terms < 0:
        raise ValueError("words and terms must be arrays, and n_terms at least 0")
    _check_ptr(ptr, words.shape[0], "ptr")
    _check_ptr(terms_ptr, terms.shape[0], "terms_ptr")
    _check_below(words, terms_ptr.shape[0] - 1, "words")
    _check_below(terms, n_terms, "terms")
    if ptr.shape[0] - 1 > 0x7fffffff:
        raise ValueError("an index holds at most 2**31 - 1 documents")
    cdef Tokens tokens = Tokens(
        _numbers(words), &ptr[0], ptr.shape[0] - 1, _numbers(terms), &terms_ptr[0], n_terms
    )
    indptr = np.empty(n_terms + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] starts = indptr
    cdef PostingsBuilder *builder = new PostingsBuilder(tokens, n_threads)
    cdef int32_t[::1] out
    cdef double[::1] out_counts
    cdef const Py_ssize_t[::1] positions_ptr
    positions = None
    try:
        with nogil:
            builder.count(&starts[0])
        documents = np.empty(indptr[n_terms], dtype=np.int32)
        counts = np.empty(indptr[n_terms])
        out, out_counts = documents, counts
        if out.shape[0]:
            with nogil:
                builder.write(&out[0], &out_counts[0])
        if with_positions:
            positions_ptr = starts_of_segments(counts)
            positions = np.empty(positions_ptr[out_counts.shape[0]], dtype=np.int32)
            out = positions
            if out.shape[0]:
                with nogil:
                    builder.write_positions(&positions_ptr[0], &out[0])
        return indptr, documents, counts, positions
    finally:
        del builder


cdef class Lists:
    """Posting lists, as the functions of this module take them.

    Parameters
    ----------
    ptr : ndarray of shape (n_terms + 1,), dtype intp
        Postings of term ``t`` are ``ptr[t]:ptr[t + 1]``.
    documents : ndarray of shape (n_postings,), dtype int32
        Document of each posting, ascending within a term.
    n_documents : int
        Number of documents.
    """

    cdef const Py_ssize_t[::1] ptr
    cdef const int32_t[::1] documents
    cdef PostingLists lists

    def __cinit__(self, const Py_ssize_t[::1] ptr, const int32_t[::1] documents,
                  Py_ssize_t n_documents):
        if ptr is None or ptr.shape[0] < 1 or documents is None:
            raise ValueError("ptr must hold at least one number, and documents be an array")
        if not 0 <= n_documents <= 0x7fffffff:
            raise ValueError("an index holds at most 2**31 - 1 documents")
        self.ptr = ptr
        self.documents = documents
        self.lists.ptr = &ptr[0]
        self.lists.documents = _numbers(documents)
        self.lists.n_terms = ptr.shape[0] - 1
        self.lists.n_postings = documents.shape[0]
        self.lists.n_documents = n_documents

    def __reduce__(self):
        parts = np.asarray(self.ptr), np.asarray(self.documents), self.lists.n_documents
        return Lists, parts

    def fault(self, const double[::1] counts, double most):
        """Say what is wrong with the postings.

        Parameters
        ----------
        counts : ndarray of shape (n_postings,)
            Counts of the postings.
        most : float
            Largest count that is accepted.

        Returns
        -------
        {0, 1, 2, 3}
            0 if nothing is, 1 if the starts of terms do not ascend to the number of
            postings, 2 if documents do not ascend within a term or do not exist, 3 if a
            count is not above 0 or is larger than ``most``.
        """
        cdef const double *values = _doubles(counts, self.documents.shape[0], "counts")
        cdef int found
        with nogil:
            found = fault_of(self.lists, values, most)
        return found

    def find(self, const Py_ssize_t[::1] terms, const Py_ssize_t[::1] documents,
             int n_threads=1):
        """Find the postings of (term, document) pairs by binary search.

        Parameters
        ----------
        terms, documents : ndarray of shape (n,), dtype intp
            Terms and documents; what does not exist is not found.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of shape (n,), dtype intp
            Place of each pair among the postings, -1 where there is none.
        """
        if terms is None or documents is None:
            raise ValueError("terms and documents must be arrays")
        check_length(documents.shape[0], terms.shape[0], "documents")
        found = np.empty(terms.shape[0], dtype=np.intp)
        cdef Py_ssize_t *out = _out_indices(found)
        cdef Py_ssize_t n = terms.shape[0]
        cdef const Py_ssize_t *term = _indices(terms)
        cdef const Py_ssize_t *document = _indices(documents)
        with nogil:
            find_postings(self.lists, n, term, document, out, n_threads)
        return found

    cdef WeighedPostings weighed(self, const double[::1] weights,
                                 const double[::1] offsets) except *:
        return WeighedPostings(
            self.lists,
            _doubles(weights, self.documents.shape[0], "weights"),
            _doubles_or_none(offsets, self.lists.n_documents, "offsets"),
        )

    cdef WeighedQueries queries(
        self, const Py_ssize_t[::1] ptr, const int32_t[::1] terms,
        const double[::1] weights, const double[::1] totals, const double[::1] constants,
        bint with_offsets,
    ) except *:
        cdef Py_ssize_t e, n = terms.shape[0] if terms is not None else 0
        _check_ptr(ptr, n, "query_ptr")
        for e in range(n):
            if not self.lists.has_list(terms[e]):
                raise ValueError(f"the index has no postings of a term {terms[e]}")
        if with_offsets and totals is None:
            raise ValueError("totals must be an array, for there are offsets")
        return WeighedQueries(
            &ptr[0],
            _numbers(terms),
            _doubles(weights, n, "query_weights"),
            _doubles_or_none(totals, ptr.shape[0] - 1, "totals"),
            _doubles_or_none(constants, ptr.shape[0] - 1, "constants"),
            ptr.shape[0] - 1,
        )

    def search(
        self,
        const double[::1] weights,
        const double[::1] offsets,
        const Py_ssize_t[::1] query_ptr,
        const int32_t[::1] query_terms,
        const double[::1] query_weights,
        const double[::1] totals,
        const double[::1] constants,
        Py_ssize_t k,
        int n_threads=1,
    ):
        """Find the k best documents that contain a term of each query.

        Parameters
        ----------
        weights : ndarray of shape (n_postings,)
            Weight of each posting.
        offsets : ndarray of shape (n_documents,), or None
            Offset of each document.
        query_ptr : ndarray of shape (n_queries + 1,), dtype intp
            Terms of query ``q`` are ``query_ptr[q]:query_ptr[q + 1]``.
        query_terms : ndarray of shape (n_entries,), dtype int32
            Terms of the queries.
        query_weights : ndarray of shape (n_entries,)
            Their weights.
        totals : ndarray of shape (n_queries,), or None
            What offsets are multiplied by.
        constants : ndarray of shape (n_queries,), or None
            What is added to the scores of each query.
        k : int
            Number of documents wanted for each query.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        documents : ndarray of shape (n_queries, k), dtype intp
            Documents, best first; of equal ones the lower number first. -1 fills rows.
        scores : ndarray of shape (n_queries, k)
            Their scores, -inf where there is none.
        n_found : ndarray of shape (n_queries,), dtype intp
            Number of documents in each row.
        """
        cdef WeighedPostings postings = self.weighed(weights, offsets)
        cdef WeighedQueries queries = self.queries(
            query_ptr, query_terms, query_weights, totals, constants, offsets is not None
        )
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        documents = np.full((queries.count, k), -1, dtype=np.intp)
        scores = np.full((queries.count, k), -np.inf)
        n_found = np.zeros(queries.count, dtype=np.intp)
        cdef Py_ssize_t *out = _out_indices(documents.reshape(-1))
        cdef double *out_scores = _out_doubles(scores.reshape(-1))
        cdef Py_ssize_t *out_found = _out_indices(n_found)
        with nogil:
            search_all(postings, queries, k, out, out_scores, out_found, n_threads)
        return documents, scores, n_found

    def score(
        self,
        const double[::1] weights,
        const double[::1] offsets,
        const Py_ssize_t[::1] query_ptr,
        const int32_t[::1] query_terms,
        const double[::1] query_weights,
        const double[::1] totals,
        const double[::1] constants,
        int n_threads=1,
    ):
        """Score all documents for each query.

        Parameters
        ----------
        weights, offsets, query_ptr, query_terms, query_weights, totals, constants
            As those of `search`.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of shape (n_queries, n_documents)
        """
        cdef WeighedPostings postings = self.weighed(weights, offsets)
        cdef WeighedQueries queries = self.queries(
            query_ptr, query_terms, query_weights, totals, constants, offsets is not None
        )
        scores = np.empty((queries.count, self.lists.n_documents))
        cdef double *out = _out_doubles(scores.reshape(-1))
        with nogil:
            score_rows(postings, queries, out, n_threads)
        return scores


def best_of_scores(const double[:, ::1] scores, Py_ssize_t k, int n_threads=1):
    """Find the k best documents of each row of scores.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_documents)
        Scores that are numbers.
    k : int
        Number of documents wanted, at least 1.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    documents : ndarray of shape (n_queries, k), dtype intp
        Documents, best first; of equal ones the lower number first.
    scores : ndarray of shape (n_queries, k)
        Their scores.
    """
    if scores is None or not 1 <= k <= scores.shape[1] <= 0x7fffffff:
        raise ValueError("k must be from 1 to the number of columns of scores")
    cdef Py_ssize_t n_rows = scores.shape[0], n = scores.shape[1]
    documents = np.full((n_rows, k), -1, dtype=np.intp)
    found = np.full((n_rows, k), -np.inf)
    cdef Py_ssize_t *out = _out_indices(documents.reshape(-1))
    cdef double *out_scores = _out_doubles(found.reshape(-1))
    cdef const double *values = &scores[0, 0] if n_rows else NULL
    with nogil:
        best_of_rows(values, n_rows, n, k, out, out_scores, n_threads)
    return documents, found


def proximities(
    const Py_ssize_t[::1] ptr,
    const Py_ssize_t[::1] postings,
    const Py_ssize_t[::1] positions_ptr,
    const int32_t[::1] positions,
    int n_threads=1,
):
    """Measure how close the terms of queries stand in documents.

    Parameters
    ----------
    ptr : ndarray of shape (n_pairs + 1,), dtype intp
        Look-ups of pair ``p`` are ``ptr[p]:ptr[p + 1]``.
    postings : ndarray of shape (n_lookups,), dtype intp
        Posting of each look-up; -1 where the document lacks the term.
    positions_ptr : ndarray of shape (n_postings + 1,), dtype intp
        Positions of posting ``i`` are ``positions_ptr[i]:positions_ptr[i + 1]``.
    positions : ndarray of shape (n_occurrences,), dtype int32
        Ascending positions of the term in the document.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_pairs, 7)
        Span, number of occurrences, shortest cover, number of matched terms, and minimum,
        mean and maximum of the distances of pairs of terms; these are infinite where the
        document contains fewer than two terms.
    """
    if postings is None or positions is None:
        raise ValueError("postings and positions must be arrays")
    _check_ptr(ptr, postings.shape[0], "ptr")
    _check_ptr(positions_ptr, positions.shape[0], "positions_ptr")
    cdef PairLookups lookups = PairLookups(&ptr[0], _indices(postings), ptr.shape[0] - 1)
    cdef PositionLists lists = PositionLists(
        &positions_ptr[0], _numbers(positions), positions_ptr.shape[0] - 1,
        positions.shape[0]
    )
    measured = np.empty((lookups.n_pairs, N_PROXIMITIES))
    cdef double *out = _out_doubles(measured.reshape(-1))
    with nogil:
        proximities_of_pairs(lookups, lists, out, n_threads)
    return measured
