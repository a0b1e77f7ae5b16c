"""Language model smoothed by a Dirichlet prior."""

from skrank.text._base import check_range
from skrank.text._language_model import BaseLanguageModel
from skrank.text._tokenizer import Analyzer


class LMDirichlet(BaseLanguageModel):
    r"""Query likelihood with Dirichlet smoothing (LMIR.DIR).

    .. math:: p(t | d) = \frac{TF(t, d) + \mu\, p(t | C)}{LEN(d) + \mu}

    Scores are :math:`\log p(q | d)`.

    Parameters
    ----------
    mu : float, default=2000
        Pseudo-counts of the prior, μ > 0; about the length of a document is a good
        choice for short texts.
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
    >>> from skrank.text import LMDirichlet
    >>> model = LMDirichlet(mu=2).fit(["sort an array", "invert a matrix"])
    >>> model.score(["sort"]).round(3)
    array([[-0.981, -2.079]])
    """

    def __init__(
        self,
        *,
        mu: float = 2000.0,
        field: str | None = None,
        tokenizer: Analyzer | None = None,
    ):
        self.mu = mu
        self.field = field
        self.tokenizer = tokenizer

    def _smooth(self, postings, background):
        check_range(self.mu, "mu", 1e-12, 1e12, "a finite number > 0")
        excess = postings.counts.data / (self.mu * background)
        return excess, self.mu / (postings.lengths + self.mu)
