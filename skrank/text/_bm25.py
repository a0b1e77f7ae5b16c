"""Okapi BM25."""

from typing import Annotated

import numpy as np

from skrank._core._parameters import Interval, NonNegative
from skrank.text._base import BaseTextModel
from skrank.text._idf import IdfVariant, inverse_document_frequency

# The score of larger k1 and k3 is its limit, which products with them would overflow.
_INFINITE = 1e100


class BM25(BaseTextModel):
    r"""Okapi BM25, the probabilistic relevance model.

    .. math::
        s(q, d) = \sum_{t \in q \cap d} IDF(t)
            \frac{(k_1 + 1)\, TF(t, d)}{TF(t, d) + k_1 (1 - b + b\, LEN(d) / avdl)}
            \cdot \frac{(k_3 + 1)\, TF(t, q)}{k_3 + TF(t, q)}

    Parameters
    ----------
    k1 : float, default=1.2
        Saturation of the term frequency: the larger, the more do repetitions of a term
        in a document count. 0 only asks whether the term occurs.
    b : float, default=0.75
        Strength of the normalisation by document length, from 0 (none) to 1 (full).
    k3 : float, default=inf
        Saturation of the term frequency in the query; infinity makes the last factor
        TF(t, q).
    idf : {"smooth", "robertson", "log"}, default="smooth"
        Formula of the inverse document frequency, see `inverse_document_frequency`.

    Attributes
    ----------
    offsets_ : None
        BM25 has no offset per document.

    References
    ----------
    [Robertson1995]_; [Liu2011]_, section 1.2.1.1, eq. 1.2, without the last factor.

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

    k1: NonNegative = 1.2
    b: Annotated[float, Interval(0, 1)] = 0.75
    k3: Annotated[float, Interval(0, np.inf)] = np.inf
    idf: IdfVariant = "smooth"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"k1": 0.0, "b": 1.0, "k3": 8.0},
            {"idf": "robertson", "b": 0.0},
            {"idf": "log"},
        ]

    def _weigh_documents(self, postings):
        idf = inverse_document_frequency(
            postings.document_frequency, postings.collection_size, self.idf
        )
        mean = postings.average_length or 1.0  # 0 if all documents are empty
        k1 = float(min(self.k1, _INFINITE))
        norm = k1 * (1 - self.b + self.b * postings.lengths / mean)
        tf = postings.counts.data
        saturated = (k1 + 1) * tf / (tf + norm[postings.document_of])
        return idf[postings.term_of] * saturated, None

    def _weigh_queries(self, counts):
        if self.k3 >= _INFINITE:
            return counts.data, None
        k3 = float(self.k3)  # NumPy may not take a large int
        return (k3 + 1.0) * counts.data / (k3 + counts.data), None
