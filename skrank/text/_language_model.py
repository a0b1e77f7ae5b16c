r"""Base class of the smoothed language models.

Documents are ranked by the query likelihood ([Liu2011]_, section 1.2.1.1)

.. math:: \log p(q | d) = \sum_{t \in q} TF(t, q) \log p(t | d)

where terms that a document does not contain have :math:`p(t|d) = \alpha_d\, p(t|C)`.
Hence, with :math:`p_s` for terms that the document contains ([Zhai2004]_, eq. 2),

.. math::
    \log p(q|d) = \sum_{t \in q \cap d} TF(t, q)
        \log \frac{p_s(t|d)}{\alpha_d\, p(t|C)}
        + |q| \log \alpha_d + \sum_{t \in q} TF(t, q) \log p(t | C)

where the first sum only visits the matching terms. A smoothing method states the ratio
in the first sum and :math:`\alpha_d`. Query terms that the collection does not contain
have probability 0 in every document and are left out.
"""

from abc import abstractmethod

import numpy as np

from skrank.text._base import BaseTextModel
from skrank.text._index import Postings
from skrank.text._segments import segment_reduce


class BaseLanguageModel(BaseTextModel):
    """Base class of the query-likelihood models, which smooth by the collection.

    Attributes
    ----------
    background_ : ndarray of shape (n_terms,)
        Language model of the collection, p(t|C).
    offsets_ : ndarray of shape (n_documents,)
        Logarithm of the mass that each document leaves to unseen terms.
    """

    @abstractmethod
    def _smooth(
        self, postings: Postings, background: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ratio of the first sum minus 1, per posting, and alpha.

        ``background`` is p(t|C) of each posting. The ratio minus 1 is what ``log1p``
        takes: it keeps its digits where the document hardly changes the collection's
        probability. An empty document has no terms of its own, so its alpha is 1: it is
        described by the collection alone.
        """

    def _weigh_documents(self, postings):
        frequency = postings.collection_frequency
        total = max(frequency.sum(), 1.0)
        self.background_ = frequency / total
        excess, alpha = self._smooth(postings, self.background_[postings.term_of])
        return np.log1p(excess), np.log(alpha)

    def _weigh_queries(self, counts):
        # A term that only other fields contain has p(t|C) = 0 here. It must not make
        # every document impossible, so it is left out like an unknown term.
        background = self.background_[counts.indices]
        known = background > 0
        terms = np.where(known, counts.data, 0.0)
        logs = np.log(background, where=known, out=np.zeros_like(background))
        return terms, segment_reduce(np.add, terms * logs, counts.indptr)


def divide_by_length(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return values divided by document lengths, and 1 for empty documents."""
    return np.divide(values, lengths, out=np.ones_like(lengths), where=lengths > 0)
