r"""What the smoothed language models share.

Documents are ranked by the query likelihood (Liu 2011, §1.2.1.1)

.. math:: \log p(q | d) = \sum_{t \in q} TF(t, q) \log p(t | d)

where terms that a document does not contain have :math:`p(t|d) = \alpha_d\, p(t|C)`.
Hence, with :math:`p_s` for terms seen in the document (Zhai & Lafferty 2004, eq. 2),

.. math::
    \log p(q|d) = \sum_{t \in q \cap d} TF(t, q)
        \log \frac{p_s(t|d)}{\alpha_d\, p(t|C)}
        + |q| \log \alpha_d + \sum_{t \in q} TF(t, q) \log p(t | C)

which only visits matching terms. A smoothing method says what the ratio in the first
sum and :math:`\alpha_d` are. Query terms that the collection does not contain have
probability 0 in every document and are left out.
"""

from abc import abstractmethod

import numpy as np

from skrank.text._base import BaseTextModel
from skrank.text._segments import segment_reduce


class BaseLanguageModel(BaseTextModel):
    """Query-likelihood model with smoothing by the collection."""

    @abstractmethod
    def _smooth(self, postings, background):
        """Return (seen ratio of each posting minus 1, alpha of each document).

        ``background`` is p(t|C) of each posting. An empty document has no terms of its
        own, so its alpha is 1: it is described by the collection alone.
        """

    def _weigh_documents(self, postings):
        frequency = postings.collection_frequency
        total = max(frequency.sum(), 1.0)
        self.background_ = frequency / total
        excess, alpha = self._smooth(postings, self.background_[postings.term_of])
        return np.log1p(excess), np.log(alpha)

    def _weigh_queries(self, counts):
        # a term that only other fields contain scores as 0 * log 0 := 0 here
        background = self.background_[counts.indices]
        known = background > 0
        terms = np.where(known, counts.data, 0.0)
        logs = np.log(background, where=known, out=np.zeros_like(background))
        return terms, segment_reduce(np.add, terms * logs, counts.indptr)


def divide_by_length(values, lengths):
    """Values per unit of document length; documents of length 0 keep 1."""
    return np.divide(values, lengths, out=np.ones_like(lengths), where=lengths > 0)
