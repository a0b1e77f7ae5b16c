"""SVM-mrr."""

from skrank._core._parameters import PositiveInt
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, StructuredHingeLoss
from skrank.metrics import RR
from skrank.rankers._structured_svm import BaseStructuredRanker


class SVMMRR(BaseStructuredRanker):
    r"""SVM-mrr: a structured SVM that bounds one minus the reciprocal rank.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{Q} \sum_q \max_\pi
              \left[ 1 - \frac{1}{r_1(\pi)} + F(f, \pi) - F(f, \pi^*) \right]

    with :math:`r_1` the rank of the first relevant document, and F the mean over pairs
    of `SVMMAP`. The most violated ranking is found by trying all :math:`r_1`. The usual
    C is :math:`1 / \alpha`.

    Complexity: O(n d + n log m) per iteration for n documents with d features, m in a
    query.

    Parameters
    ----------
    k : int, default=None
        Cut-off: the reciprocal rank is 0 beyond it.
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.

    References
    ----------
    [Chakrabarti2008]_; [Liu2011]_, section 4.2.2.1.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SVMMRR
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SVMMRR().fit(X, y, groups).coef_.shape == (X.shape[1],)
    True
    """

    k: PositiveInt | None = None
    relevance_level: float | None = None

    @classmethod
    def _variants(cls):
        return [{}, {"k": 3, "relevance_level": 2}]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        measure = RR(self.k, relevance_level=self.relevance_level)
        return self._energy(), StructuredHingeLoss(measure)
