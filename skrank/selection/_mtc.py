"""Documents whose grades tell systems apart."""

from skrank._core._choices import picks_by_difference
from skrank._core._parameters import Fraction
from skrank.selection._adaptive_base import BaseAdaptiveSelector


class MTCSelection(BaseAdaptiveSelector):
    r"""Select the documents that say most about differences between systems.

    .. math::
        \mathrm{SP}_s = \sum_{i \le j} \frac{x_i x_j}{\max(r_s(i), r_s(j))}, \qquad
        w_i = \sum_{s < t} \Bigl| \frac{\partial}{\partial x_i}
              \operatorname{E}[\mathrm{SP}_s - \mathrm{SP}_t] \Bigr|

    where :math:`x_i` tells whether document i is relevant, which holds with a
    probability of 0 or 1 once its grade is read, and with the prior before. A judgement
    of i changes the expected difference of the sum precision of s and t by the
    derivative, times what it changes of the probability. The document of the greatest
    weight is selected, its grade is read, and so on: a minimal test collection. A
    document that all systems have at the same rank tells of no difference at first, but
    may once others are known. Of equal weights, the document of the greatest mean
    reciprocal rank is selected.

    Complexity: O(n m :math:`\rho` S log S) for n documents, m in a query, and S
    systems.

    Parameters
    ----------
    prior : float, default=0.5
        Probability that a document is relevant before its grade is read, in (0, 1).

    See Also
    --------
    HedgePooling : Looks for relevant documents.

    References
    ----------
    [Carterette2006]_; [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import MTCSelection
    >>> scores = [[4, 4], [3, 1], [2, 3], [1, 2]]
    >>> MTCSelection(0.5).select(scores, [0] * 4, y=[1, 0, 0, 1]).rows.tolist()
    [1, 2]
    """

    prior: Fraction = 0.5

    def _picks(self, candidates, relevant, wanted, n_threads):
        ptr, prior = candidates.index.ptr, float(self.prior)
        return picks_by_difference(
            candidates.ranks, relevant, wanted, ptr, prior, n_threads
        )
