"""The vector space model."""

import numpy as np

from skrank.text._base import BaseTextModel
from skrank.text._idf import IdfVariant, inverse_document_frequency
from skrank.text._segments import segment_reduce


class VectorSpace(BaseTextModel):
    r"""Vector space model: the cosine between TF-IDF vectors.

    .. math::
        s(q, d) = \frac{\sum_t x_t(q)\, x_t(d)}{\|x(q)\|\, \|x(d)\|}, \qquad
        x_t(d) = f(TF(t, d))\, IDF(t)

    where f is the identity or, with ``sublinear_tf``, :math:`f(n) = 1 + \log n` for
    :math:`n \ge 1`. A query or a document whose vector is zero scores 0.

    Parameters
    ----------
    sublinear_tf : bool, default=False
        Whether a repeated term counts by the logarithm of its frequency.
    idf : {"log", "smooth", "robertson"}, default="log"
        Formula of the inverse document frequency, see `inverse_document_frequency`.

    Attributes
    ----------
    idf_ : ndarray of shape (n_terms,)
        Inverse document frequency of each term.
    offsets_ : None
        The model has no offset per document.

    References
    ----------
    [Salton1975]_; [Liu2011]_, section 1.2.1.1.

    Examples
    --------
    >>> from skrank.text import VectorSpace
    >>> model = VectorSpace().fit(["sort an array", "invert a matrix", "sort a list"])
    >>> model.score(["array sort"]).round(3)
    array([[1.  , 0.  , 0.12]])
    """

    sublinear_tf: bool = False
    idf: IdfVariant = "log"

    @classmethod
    def _variants(cls):
        return [{}, {"sublinear_tf": True, "idf": "smooth"}, {"idf": "robertson"}]

    def _weigh_documents(self, postings):
        self.idf_ = inverse_document_frequency(
            postings.document_frequency, postings.collection_size, self.idf
        )
        vector = self._tf(postings.counts.data) * self.idf_[postings.term_of]
        document_of = postings.document_of
        # Weights are divided by the norms of documents once, so that scoring is a plain
        # product.
        squares = np.bincount(document_of, vector**2, minlength=postings.n_documents)
        return vector * _inverse_norm(squares)[document_of], None

    def _weigh_queries(self, counts):
        vector = self._tf(counts.data) * self.idf_[counts.indices]
        inverse = _inverse_norm(segment_reduce(np.add, vector**2, counts.indptr))
        return vector * np.repeat(inverse, np.diff(counts.indptr)), None

    def _tf(self, counts):
        # A term of a weighted query may count less than 1, where the identity goes on
        # with the value and the slope of the logarithm.
        return (
            np.where(counts < 1, counts, 1 + np.log(np.maximum(counts, 1)))
            if self.sublinear_tf
            else counts
        )


def _inverse_norm(squares):
    """Return 1 / sqrt(squares), and 0 where that has no value."""
    inverse = np.zeros_like(squares)
    positive = squares > 0
    inverse[positive] = 1 / np.sqrt(squares[positive])
    return inverse
