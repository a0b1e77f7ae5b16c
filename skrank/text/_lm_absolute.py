"""Language model smoothed by absolute discounting."""

from typing import Annotated

import numpy as np

from skrank._core._parameters import Interval
from skrank.text._language_model import BaseLanguageModel, divide_by_length


class LMAbsoluteDiscount(BaseLanguageModel):
    r"""Query likelihood with absolute discounting (LMIR.ABS).

    .. math::
        p(t | d) = \frac{\max(TF(t, d) - \delta, 0)}{LEN(d)}
            + \delta \frac{|d|_u}{LEN(d)} p(t | C)

    where :math:`|d|_u` is the number of different terms of the document. Scores are
    :math:`\log p(q | d)`.

    Parameters
    ----------
    delta : float, default=0.7
        Discount that is taken off each count, δ, above 0 and at most 1.

    References
    ----------
    [Zhai2004]_, table 1.

    Examples
    --------
    >>> from skrank.text import LMAbsoluteDiscount
    >>> model = LMAbsoluteDiscount(delta=0.5).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    delta: Annotated[float, Interval(0, 1, "right")] = 0.7

    @classmethod
    def _variants(cls):
        return [{}, {"delta": 1.0}]

    def _smooth(self, postings, background):
        left_over = self.delta * postings.n_distinct
        kept = np.maximum(postings.counts.data - self.delta, 0)
        excess = kept / (left_over[postings.document_of] * background)
        return excess, divide_by_length(left_over, postings.lengths)
