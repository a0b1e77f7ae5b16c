"""Language model smoothed by linear interpolation."""

import numpy as np

from skrank._core._parameters import Fraction
from skrank.text._language_model import BaseLanguageModel


class LMJelinekMercer(BaseLanguageModel):
    r"""Query likelihood with Jelinek–Mercer smoothing (LMIR.JM).

    .. math::
        p(t | d) = (1 - \lambda) \frac{TF(t, d)}{LEN(d)} + \lambda\, p(t | C)

    Scores are :math:`\log p(q | d)`.

    Parameters
    ----------
    smoothing : float, default=0.1
        Weight of the collection's model, λ, above 0 and below 1. Long queries want
        more of it than short ones.

    References
    ----------
    [Zhai2004]_, table 1; [Liu2011]_, section 1.2.1.1, eq. 1.3.

    Examples
    --------
    >>> from skrank.text import LMJelinekMercer
    >>> model = LMJelinekMercer(smoothing=0.5).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    smoothing: Fraction = 0.1

    @classmethod
    def _variants(cls):
        return [{}, {"smoothing": 0.9}]

    def _smooth(self, postings, background):
        share = postings.counts.data / postings.lengths[postings.document_of]
        excess = (1 - self.smoothing) * share / (self.smoothing * background)
        return excess, np.where(postings.lengths > 0, self.smoothing, 1.0)
