"""Language model smoothed by linear interpolation."""

import numpy as np

from skrank.text._base import check_range
from skrank.text._language_model import BaseLanguageModel
from skrank.text._tokenizer import Analyzer


class LMJelinekMercer(BaseLanguageModel):
    r"""Query likelihood with Jelinek–Mercer smoothing (LMIR.JM).

    .. math::
        p(t | d) = (1 - \lambda) \frac{TF(t, d)}{LEN(d)} + \lambda\, p(t | C)

    Scores are :math:`\log p(q | d)`.

    Parameters
    ----------
    smoothing : float, default=0.1
        Weight of the collection, λ, above 0 and below 1; long queries want more.
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
    background_ : ndarray of shape (n_terms,)
        The collection's language model, p(t|C).
    weights_ : ndarray of shape (n_postings,)
        Weight of each posting.
    offsets_ : ndarray of shape (n_documents,)
        Logarithm of the mass that each document leaves to unseen terms.

    References
    ----------
    C. Zhai and J. Lafferty, "A study of smoothing methods for language models applied
    to information retrieval", ACM Transactions on Information Systems 22(2), 2004,
    table 1; Liu 2011, eq. 1.3.

    Examples
    --------
    >>> from skrank.text import LMJelinekMercer
    >>> model = LMJelinekMercer(smoothing=0.5).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    def __init__(
        self,
        *,
        smoothing: float = 0.1,
        field: str | None = None,
        tokenizer: Analyzer | None = None,
    ):
        self.smoothing = smoothing
        self.field = field
        self.tokenizer = tokenizer

    def _smooth(self, postings, background):
        check_range(self.smoothing, "smoothing", 1e-12, 1 - 1e-12, "between 0 and 1")
        share = postings.counts.data / postings.lengths[postings.document_of]
        excess = (1 - self.smoothing) * share / (self.smoothing * background)
        return excess, np.where(postings.lengths > 0, self.smoothing, 1.0)
