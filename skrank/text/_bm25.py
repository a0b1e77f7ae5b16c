"""Okapi BM25."""

import numpy as np

from skrank.text._base import BaseTextModel, check_range
from skrank.text._idf import inverse_document_frequency
from skrank.text._tokenizer import Analyzer


class BM25(BaseTextModel):
    r"""Okapi BM25, the probabilistic relevance model.

    .. math::
        s(q, d) = \sum_{t \in q \cap d} IDF(t)
            \frac{(k_1 + 1)\, TF(t, d)}{TF(t, d) + k_1 (1 - b + b\, LEN(d) / avdl)}
            \cdot \frac{(k_3 + 1)\, TF(t, q)}{k_3 + TF(t, q)}

    Parameters
    ----------
    k1 : float, default=1.2
        How slowly repeated terms saturate; 0 only asks whether a term occurs.
    b : float, default=0.75
        How far the length of the document is discounted, from 0 to 1.
    k3 : float, default=inf
        The same as ``k1`` for terms repeated in the query; infinity makes the last
        factor TF(t, q).
    idf : {"smooth", "robertson", "log"}, default="smooth"
        Formula of the inverse document frequency, see `inverse_document_frequency`.
    field : str, default=None
        The field to score; None for whole documents.
    tokenizer : callable, default=None
        Used when `fit` gets texts; None is ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        The indexed documents.
    postings_ : Postings
        Counts of the scored field.
    weights_ : ndarray of shape (n_postings,)
        Weight of each posting.
    offsets_ : None
        BM25 has no offset per document.

    References
    ----------
    S. E. Robertson, S. Walker, S. Jones, M. M. Hancock-Beaulieu and M. Gatford, "Okapi
    at TREC-3", 1995. Liu 2011, eq. 1.2.

    Examples
    --------
    >>> from skrank.text import BM25
    >>> model = BM25().fit(["sort an array", "invert a matrix", "sort and sort again"])
    >>> model.score(["sort"]).round(3)
    array([[0.47 , 0.   , 0.646]])
    >>> documents, scores = model.retrieve(["sort"], k=2)
    >>> documents
    array([[2, 0]])
    """

    def __init__(
        self,
        *,
        k1: float = 1.2,
        b: float = 0.75,
        k3: float = float("inf"),
        idf: str = "smooth",
        field: str | None = None,
        tokenizer: Analyzer | None = None,
    ):
        self.k1 = k1
        self.b = b
        self.k3 = k3
        self.idf = idf
        self.field = field
        self.tokenizer = tokenizer

    def _weigh_documents(self, postings):
        check_range(self.k1, "k1", 0, float("inf"), "a number >= 0")
        check_range(self.b, "b", 0, 1, "a number from 0 to 1")
        idf = inverse_document_frequency(
            postings.document_frequency, postings.n_documents, self.idf
        )
        mean = postings.average_length or 1.0  # all documents empty: no postings
        norm = self.k1 * (1 - self.b + self.b * postings.lengths / mean)
        tf = postings.counts.data
        saturated = (self.k1 + 1) * tf / (tf + norm[postings.document_of])
        return idf[postings.term_of] * saturated, None

    def _weigh_queries(self, counts):
        check_range(self.k3, "k3", 0, float("inf"), "a number >= 0 or infinity")
        if np.isinf(self.k3):
            return counts.data, None
        return (self.k3 + 1) * counts.data / (self.k3 + counts.data), None
