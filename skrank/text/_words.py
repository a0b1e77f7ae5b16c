"""Words of texts, each of which stands for some terms, and their turn into postings.

A collection repeats its words. So the texts are reduced to numbers of different words
by compiled code, each different word is turned into its terms once, by whatever Python
code does that, and compiled code counts the terms of documents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._threads import n_threads_for
from skrank._core._validation import called
from skrank.text._postings import build_postings, scan_words
from skrank.text._segments import starts_of_segments
from skrank.text._tokenizer import Analyzer, Tokenizer

# Nanoseconds for a character of a text, and for a word of a document.
_PER_CHARACTER = 3
_PER_WORD = 20


@dataclass(frozen=True, eq=False)
class Words:
    """The words of texts, and the terms that they stand for.

    Attributes
    ----------
    terms : list of list of str
        Terms of each different word.
    numbers : ndarray of shape (n_words,), dtype int32
        Number of each word of the texts, one text after the other.
    ptr : ndarray of shape (n_texts + 1,), dtype intp
        Words of text ``i`` are ``ptr[i]:ptr[i + 1]``.
    """

    terms: list[list[str]]
    numbers: np.ndarray
    ptr: np.ndarray

    def distinct_terms(self) -> set[str]:
        """Return the different terms.

        Raises
        ------
        TypeError
            If one of them is no string.
        """
        distinct: set[Any] = set()
        for terms in self.terms:
            try:
                distinct.update(terms)
            except TypeError:  # a term that cannot be hashed, such as a list
                raise _no_terms(terms) from None
        for term in distinct:
            if not isinstance(term, str):
                raise _no_terms(term)
        return distinct

    def count(
        self, vocabulary: Mapping[str, int], with_positions: bool
    ) -> tuple[sparse.csc_array, np.ndarray | None]:
        """Count the terms of each text, which the vocabulary numbers.

        Parameters
        ----------
        vocabulary : mapping of str to int
            Number of each term.
        with_positions : bool
            Whether to return where the terms stand, too.

        Returns
        -------
        counts : csc_array of shape (n_texts, n_terms), dtype float64
        positions : ndarray of shape (n_occurrences,), dtype int32, or None
            Ascending positions of terms in texts, for one posting after the other.
        """
        terms_ptr = starts_of_segments([len(terms) for terms in self.terms])
        numbers = [vocabulary[term] for terms in self.terms for term in terms]
        indptr, documents, counts, positions = build_postings(
            self.numbers,
            self.ptr,
            np.array(numbers, dtype=np.int32),
            terms_ptr,
            len(vocabulary),
            with_positions,
            n_threads_for(_PER_WORD * len(self.numbers)),
        )
        if len(documents) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)  # as SciPy itself would choose
        shape = (len(self.ptr) - 1, len(vocabulary))
        return sparse.csc_array((counts, documents, indptr), shape=shape), positions


def words_of(tokenizer: Analyzer | None, texts: list[str]) -> Words:
    """Split texts into words, and these into terms.

    Parameters
    ----------
    tokenizer : callable or None
        Maps a text to its list of terms; None takes ``Tokenizer()``. That of skrank is
        asked for the terms of different words; others for those of texts.
    texts : list of str
        Texts.

    Returns
    -------
    Words

    Raises
    ------
    TypeError, ValueError
        If the tokenizer does not return a list of strings for each text.
    """
    tokenizer = Tokenizer() if tokenizer is None else tokenizer
    # A class derived from it may split texts by rules of its own.
    if type(tokenizer) is Tokenizer:
        analyse: Callable[[str], list[str]] = tokenizer._checked_word_analyser()
        n_threads = n_threads_for(_PER_CHARACTER * sum(map(len, texts)))
        words, numbers, ptr = scan_words(texts, n_threads)
        return Words([analyse(word) for word in words], numbers, ptr)
    return _numbered(tokenize_all(tokenizer, texts))


def _numbered(rows: list[list[str]]) -> Words:
    """Return words that stand for themselves."""
    number_of: dict[str, int] = {}
    try:
        listed = [
            number_of.setdefault(term, len(number_of)) for row in rows for term in row
        ]
    except TypeError:  # a term that cannot be hashed, such as a list
        raise _no_terms(next(row for row in rows if not _hashable(row))) from None
    ptr = starts_of_segments([len(row) for row in rows])
    return Words([[term] for term in number_of], np.array(listed, dtype=np.int32), ptr)


def _hashable(row: list) -> bool:
    try:
        set(row)
    except TypeError:
        return False
    return True


def tokenize_all(tokenizer: Analyzer, texts: Sequence[str]) -> list[list[str]]:
    """Return the terms of each text.

    Parameters
    ----------
    tokenizer : callable
        Maps a text to its list of terms. If it has a method ``tokenize_all``, that is
        called once for all texts.
    texts : sequence of str
        Texts.

    Returns
    -------
    list of list of str

    Raises
    ------
    ValueError, TypeError
        If the tokenizer returns anything else.
    """
    of_all = getattr(tokenizer, "tokenize_all", None)
    if of_all is not None:
        rows = of_all(texts)
    else:
        rows = [called("tokenizer", tokenizer, text) for text in texts]
    return _as_rows(rows, len(texts))


def _as_rows(rows: Sequence[Any], n_texts: int) -> list[list[str]]:
    """Check what a tokenizer made of texts: a list of terms for each."""
    if len(rows) != n_texts:
        raise ValueError(
            f"tokenizer must return one list of terms for each of {n_texts} texts, "
            f"returned {len(rows)} lists"
        )
    # The letters of a string are no terms.
    for row in rows:
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise _no_terms(row)
        if isinstance(row, np.ndarray) and row.ndim != 1:
            raise _no_terms(row)
    return [row if isinstance(row, list) else list(row) for row in rows]


def _no_terms(found) -> TypeError:
    return TypeError(f"tokenizer must return lists of strings, returned {shown(found)}")


def count_terms(
    rows: list[list[str]],
    vocabulary: Mapping[str, int],
    weights: np.ndarray | None = None,
) -> sparse.csr_array:
    """Count known terms in a CSR array of texts × terms with sorted columns.

    Parameters
    ----------
    rows : list of list of str
        Terms of each text.
    vocabulary : mapping of str to int
        Number of each known term.
    weights : ndarray of shape (total number of terms,), default=None
        What each occurrence counts, at least 0; None counts each as 1.

    Returns
    -------
    csr_array of shape (n_texts, n_terms), dtype float64
    """
    number_of = vocabulary.get
    try:
        listed = [number_of(term, -1) for row in rows for term in row]
    except TypeError:  # a term that cannot be hashed
        raise _no_terms(rows) from None
    numbers = np.array(listed, dtype=np.int64)
    values = np.ones(len(numbers)) if weights is None else weights
    text_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    known = (numbers >= 0) & (values > 0)
    shape = (len(rows), len(vocabulary))
    coordinates = (text_of[known], numbers[known])
    counts = sparse.coo_array((values[known], coordinates), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts
