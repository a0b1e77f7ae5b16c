"""Uniform sampling of documents."""

from dataclasses import field
from typing import Annotated

import numpy as np

from skrank._core._parameters import Interval
from skrank.selection._training_base import BaseTrainingSelector, SampledMixin


class InfAPSampling(SampledMixin, BaseTrainingSelector):
    r"""Select a share of the documents of each query, all equally probable.

    .. math:: \pi_u = \frac{n_q}{m_q}, \qquad
              n_q = \max(1, \lfloor \rho m_q + \tfrac12 \rfloor)

    Of the :math:`m_q` documents that any system retrieved, :math:`n_q` are drawn
    without replacement. Weighted by :math:`1 / \pi_u`, sums over the selected documents
    are unbiased estimates of sums over all. `skrank.metrics.trec_measures` estimates
    average precision from such a sample under the name ``"infAP"``.

    Parameters
    ----------
    share : float, default=0.1
        Share :math:`\rho` of the documents to select, in (0, 1].

    References
    ----------
    [Yilmaz2006]_; [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import InfAPSampling
    >>> sampling = InfAPSampling(0.25, random_state=0)
    >>> sampling.select(range(8), [0] * 4 + [1] * 4).probability.tolist()
    [0.25, 0.25]
    """

    share: Annotated[float, Interval(0, 1, "right")] = field(default=0.1, kw_only=False)

    def _chosen(self, ranks, index):
        retrieved = np.isfinite(ranks).any(axis=1)
        codes = index.codes
        sizes = np.bincount(codes[retrieved], minlength=index.n_queries)
        wanted = np.maximum(1, np.floor(self.share * sizes + 0.5))
        draws = self._rng().random_sample(index.n_documents)
        # What was not retrieved stands behind all that was.
        order = np.lexsort((np.where(retrieved, draws, 2.0), codes))
        place = np.empty(index.n_documents, dtype=np.intp)
        place[order] = np.arange(index.n_documents) - index.ptr[codes]
        probability = (wanted / np.maximum(sizes, 1))[codes]
        return retrieved & (place < wanted[codes]), probability
