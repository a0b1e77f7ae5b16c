"""Probabilistic interleaving of two and of more rankings."""

import numpy as np

from skrank.online._base import BaseInterleaving, Lists, Softness
from skrank.online._interleaving import marginal_credit

_DECIMALS = 12


class BaseProbabilistic(BaseInterleaving):
    """Base class of interleavings that draw documents by their ranks.

    Parameters
    ----------
    tau : float, default=3.0
        Power of the rank by which the probability of a document falls.
    """

    _scheme = "probabilistic"

    tau: Softness = 3.0

    def _softness(self) -> float:
        return float(self.tau)

    def _credits(
        self, lists: Lists, clicked: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        assert lists.rankings is not None
        credit = marginal_credit(
            *lists.rankings.arguments(),
            lists.shown,
            lists.ptr,
            clicked,
            self._softness(),
            n_threads,
        )
        # Sums over the assignments round differently where credits are equal.
        return credit.reshape(-1, lists.rankings.n_rankings).round(_DECIMALS)


class ProbabilisticInterleaving(BaseProbabilistic):
    r"""Probabilistic interleaving of two rankings, with exact credits.

    For each place one of the rankings is drawn, and from it a document that is in the
    list not yet, with a probability that falls with its rank:

    .. math:: P_r(d) = \frac{\rho_r(d)^{-\tau}}{\sum_{d'} \rho_r(d')^{-\tau}}

    over the documents that are left. Every list is possible, so that which ranking a
    document was drawn from does not matter: the credit is the mean over all assignments
    that may have led to the list,

    .. math:: h_r = \sum_{t} c_t \frac{P_r(d_t)}{\sum_{r'} P_{r'}(d_t)},

    each :math:`P` over what was left at place t. This mean has less variance than the
    credit by the assignment that was drawn. The sum over assignments is computed
    exactly, because the places are independent given the list.

    Complexity: O(l n) for a list of l out of n documents.

    Parameters
    ----------
    tau : float, default=3.0
        Power of the rank by which the probability of a document falls; 0 draws all
        documents with the same one.
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.

    References
    ----------
    [Hofmann2011]_, with tau = 3 as there.

    Examples
    --------
    >>> from skrank.online import ProbabilisticInterleaving
    >>> rankings = [["a", "b", "c"], ["b", "a", "c"]]
    >>> mixed = ProbabilisticInterleaving().interleave(rankings, random_state=0)
    >>> mixed.documents.tolist()
    ['b', 'a', 'c']
    >>> mixed.credit([1, 0, 0]).round(3)  # shares of 1/8 to 1
    array([0.111, 0.889])
    """


class ProbabilisticMultileaving(BaseProbabilistic):
    r"""Probabilistic multileaving: any number of rankings in one list.

    As `ProbabilisticInterleaving`, with one of R rankings drawn for each place.

    .. math:: h_r = \sum_{t} c_t \frac{P_r(d_t)}{\sum_{r'} P_{r'}(d_t)}

    A click tells of all rankings, however many there are, where
    `TeamDraftMultileaving` tells only of those that contributed to the list. The sum
    over all assignments, which its authors sample, is computed exactly.

    Complexity: O((l + R) n) for a list of l out of n documents.

    Parameters
    ----------
    tau : float, default=3.0
        Power of the rank by which the probability of a document falls; 0 draws all
        documents with the same one.
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.

    References
    ----------
    [Schuth2015]_.

    Examples
    --------
    >>> from skrank.online import ProbabilisticMultileaving
    >>> rankings = [["a", "b", "c"], ["a", "c", "b"], ["c", "b", "a"]]
    >>> mixed = ProbabilisticMultileaving().interleave(rankings, random_state=0)
    >>> credit = mixed.credit(mixed.documents == "a")
    >>> bool(credit[2] < min(credit[:2]))
    True
    """

    _most_rankings = None
