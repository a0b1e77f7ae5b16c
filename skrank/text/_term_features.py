"""Features of one field from the counts of query terms."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from skrank.text._idf import inverse_document_frequency
from skrank.text._index import Postings
from skrank.text._matching import TermMatches

_STATISTICS = ("sum", "min", "max", "mean", "var")
# Quantities of a query term and a document, of which there are statistics.
_QUANTITIES = (
    "tf",
    "tf_norm",
    "tfidf",
    "idf",
    "log_tf",
    "log_tf_norm",
    "log_tfidf_norm",
    "log_tf_icf_norm",
    "log_idf",
    "log_icf",
)
_OF_DOCUMENTS = ("covered", "covered_ratio", "length")


def default_term_features() -> Iterator[str]:
    """Yield the names of the features that are computed unless others are named."""
    yield from (*_OF_DOCUMENTS, "idf.sum")
    for quantity in _QUANTITIES[:3]:
        for statistic in _STATISTICS:
            yield f"{quantity}.{statistic}"


TERM_FEATURES = frozenset(
    (*_OF_DOCUMENTS, *(f"{q}.{s}" for q in _QUANTITIES for s in _STATISTICS))
)


class TermFeatures:
    """The features of pairs in one field, each of which is computed when it is read.

    Parameters
    ----------
    counts : csr_array of shape (n_queries, n_terms)
        Term counts of the queries.
    postings : Postings
        Postings of the field.
    matches : TermMatches
        Look-ups of the query terms of all pairs.
    document_of : ndarray of shape (n_pairs,), dtype intp
        Document of each pair.
    """

    def __init__(
        self,
        counts: sparse.csr_array,
        postings: Postings,
        matches: TermMatches,
        document_of: np.ndarray,
    ):
        self._postings, self._matches = postings, matches
        self._terms = counts.indices[matches.entry]
        self._sizes = np.diff(matches.ptr)
        self._n_terms = self._sizes.astype(float)
        self._lengths = postings.lengths[document_of]
        self._sums: dict[str, np.ndarray] = {}

    def column(self, name: str) -> np.ndarray:
        """Return one of `TERM_FEATURES`, of shape (n_pairs,)."""
        if name == "length":
            return self._lengths
        if name in _OF_DOCUMENTS:
            n_terms = np.maximum(self._n_terms, 1)
            return self._covered if name == "covered" else self._covered / n_terms
        quantity, statistic = name.rsplit(".", 1)
        values = getattr(self, f"_{quantity}")
        reduce = self._matches.reduce
        if statistic in ("min", "max"):
            return reduce(np.minimum if statistic == "min" else np.maximum, values)
        if quantity not in self._sums:
            self._sums[quantity] = reduce(np.add, values)
        if statistic == "sum":
            return self._sums[quantity]
        n_terms = np.maximum(self._n_terms, 1)
        mean = self._sums[quantity] / n_terms
        if statistic == "mean":
            return mean
        # Two passes: the mean of squares minus the squared mean would lose digits.
        deviations = values - np.repeat(mean, self._sizes)
        return reduce(np.add, deviations**2) / n_terms

    @cached_property
    def _covered(self) -> np.ndarray:
        return self._matches.reduce(np.add, (self._tf > 0).astype(float))

    @cached_property
    def _tf(self) -> np.ndarray:
        return self._matches.of_postings(self._postings.counts.data)

    @cached_property
    def _tf_norm(self) -> np.ndarray:
        return self._tf / np.repeat(np.maximum(self._lengths, 1), self._sizes)

    @cached_property
    def _idf(self) -> np.ndarray:
        postings = self._postings
        frequency, size = postings.document_frequency, postings.collection_size
        return inverse_document_frequency(frequency, size, "log")[self._terms]

    @cached_property
    def _tfidf(self) -> np.ndarray:
        return self._tf * self._idf

    @property
    def _log_tf(self) -> np.ndarray:
        return np.log1p(self._tf)

    @property
    def _log_tf_norm(self) -> np.ndarray:
        return np.log1p(self._tf_norm)

    @property
    def _log_tfidf_norm(self) -> np.ndarray:
        return np.log1p(self._tf_norm * self._idf)

    @property
    def _log_tf_icf_norm(self) -> np.ndarray:
        return np.log1p(self._tf_norm * self._icf)

    @property
    def _log_icf(self) -> np.ndarray:
        return np.log1p(self._icf)

    @property
    def _log_idf(self) -> np.ndarray:
        # The logarithm of a logarithm has no value where all documents contain a term,
        # which therefore counts as if half a document lacked it.
        size = self._postings.collection_size
        frequency = self._postings.document_frequency[self._terms]
        frequency = np.minimum(np.maximum(frequency, 1.0), size - 0.5)
        return np.log(np.log(size / frequency))

    @property
    def _icf(self) -> np.ndarray:
        """|C| / TF(t, C), as if the term occurred once where it does not occur."""
        frequency = self._postings.collection_frequency[self._terms]
        return self._postings.collection_size / np.maximum(frequency, 1.0)
