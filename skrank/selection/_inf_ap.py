"""Uniform sampling of documents."""

import numpy as np

from skrank.selection._training_base import (
    BaseTrainingSelector,
    Chosen,
    SampledMixin,
    SharedMixin,
    places_by,
)


class InfAPSampling(SharedMixin, SampledMixin, BaseTrainingSelector):
    r"""Select a share of the documents of each query, all equally probable.

    .. math:: \pi_u = \frac{n_q}{m_q}, \qquad
              n_q = \max(1, \lfloor \rho m_q + \tfrac12 \rfloor)

    Of the :math:`m_q` documents that any system retrieved, :math:`n_q` are drawn
    without replacement. Weighted by :math:`1 / \pi_u`, sums over the selected documents
    are unbiased estimates of sums over all. `skrank.metrics.trec_measures` estimates
    average precision from such a sample under the name ``"infAP"``, for which
    `TrainingSelection.to_qrels` makes judgements.

    See Also
    --------
    StatAPSampling : Documents at high ranks are more probable.

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

    def _chosen(self, candidates):
        index, retrieved, sizes = (
            candidates.index,
            candidates.retrieved,
            candidates.sizes,
        )
        wanted = self._n_wanted(sizes)
        draws = self._rng().random_sample(index.n_documents)
        # What was not retrieved stands behind all that was.
        place = places_by(np.where(retrieved, draws, 2.0), index.codes, index.ptr)
        probability = (wanted / np.maximum(sizes, 1))[index.codes]
        marks = retrieved & (place < wanted[index.codes])
        stratum = np.zeros(index.n_documents, dtype=np.intp)
        return Chosen(marks, retrieved, probability, stratum, sizes[index.codes])
