"""Language model smoothed by absolute discounting."""

import numpy as np

from skrank.text._base import check_range
from skrank.text._language_model import BaseLanguageModel, divide_by_length
from skrank.text._tokenizer import Analyzer


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
        What each count is lowered by, δ, above 0 and at most 1.
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
    table 1.

    Examples
    --------
    >>> from skrank.text import LMAbsoluteDiscount
    >>> model = LMAbsoluteDiscount(delta=0.5).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    def __init__(
        self,
        *,
        delta: float = 0.7,
        field: str | None = None,
        tokenizer: Analyzer | None = None,
    ):
        self.delta = delta
        self.field = field
        self.tokenizer = tokenizer

    def _smooth(self, postings, background):
        check_range(self.delta, "delta", 1e-12, 1, "above 0 and at most 1")
        left_over = self.delta * postings.n_distinct
        kept = np.maximum(postings.counts.data - self.delta, 0)
        excess = kept / (left_over[postings.document_of] * background)
        return excess, divide_by_length(left_over, postings.lengths)
