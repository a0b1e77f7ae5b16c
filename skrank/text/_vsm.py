"""The vector space model."""

import numpy as np

from skrank.text._base import BaseTextModel
from skrank.text._idf import inverse_document_frequency
from skrank.text._segments import segment_reduce
from skrank.text._tokenizer import Analyzer


class VectorSpace(BaseTextModel):
    r"""Vector space model: the cosine between TF-IDF vectors.

    .. math::
        s(q, d) = \frac{\sum_t x_t(q)\, x_t(d)}{\|x(q)\|\, \|x(d)\|}, \qquad
        x_t(d) = f(TF(t, d))\, IDF(t)

    A query or a document without weight scores 0.

    Parameters
    ----------
    sublinear_tf : bool, default=False
        f(TF) = 1 + log TF instead of TF.
    idf : {"log", "smooth", "robertson"}, default="log"
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
        The model has no offset per document.

    References
    ----------
    G. Salton, A. Wong and C. S. Yang, "A vector space model for automatic indexing",
    Communications of the ACM 18(11), 1975. Liu 2011, §1.2.1.1.

    Examples
    --------
    >>> from skrank.text import VectorSpace
    >>> model = VectorSpace().fit(["sort an array", "invert a matrix", "sort a list"])
    >>> model.score(["array sort"]).round(3)
    array([[1.  , 0.  , 0.12]])
    """

    def __init__(
        self,
        *,
        sublinear_tf: bool = False,
        idf: str = "log",
        field: str | None = None,
        tokenizer: Analyzer | None = None,
    ):
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.field = field
        self.tokenizer = tokenizer

    def _weigh_documents(self, postings):
        self.idf_ = inverse_document_frequency(
            postings.document_frequency, postings.n_documents, self.idf
        )
        vector = self._tf(postings.counts.data) * self.idf_[postings.term_of]
        document_of = postings.document_of
        squares = np.bincount(document_of, vector**2, minlength=postings.n_documents)
        return vector * _inverse_norm(squares)[document_of], None

    def _weigh_queries(self, counts):
        vector = self._tf(counts.data) * self.idf_[counts.indices]
        inverse = _inverse_norm(segment_reduce(np.add, vector**2, counts.indptr))
        return vector * np.repeat(inverse, np.diff(counts.indptr)), None

    def _tf(self, counts):
        return 1 + np.log(counts) if self.sublinear_tf else counts


def _inverse_norm(squares):
    inverse = np.zeros_like(squares)
    positive = squares > 0
    inverse[positive] = 1 / np.sqrt(squares[positive])
    return inverse
