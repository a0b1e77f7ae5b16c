"""Language model smoothed by a Dirichlet prior."""

from skrank._core._parameters import Positive
from skrank.text._language_model import BaseLanguageModel


class LMDirichlet(BaseLanguageModel):
    r"""Query likelihood with Dirichlet smoothing (LMIR.DIR).

    .. math:: p(t | d) = \frac{TF(t, d) + \mu\, p(t | C)}{LEN(d) + \mu}

    Scores are :math:`\log p(q | d)`.

    Parameters
    ----------
    mu : float, default=2000
        Number of pseudo-counts of the prior, μ > 0. For short texts, the mean length
        of a document is a good choice.

    References
    ----------
    [Zhai2004]_, table 1.

    Examples
    --------
    >>> from skrank.text import LMDirichlet
    >>> model = LMDirichlet(mu=2).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    mu: Positive = 2000.0

    @classmethod
    def _variants(cls):
        return [{}, {"mu": 0.5}]

    def _smooth(self, postings, background):
        excess = postings.counts.data / (self.mu * background)
        return excess, self.mu / (postings.lengths + self.mu)
