"""SVM-map."""

from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, StructuredHingeLoss
from skrank.metrics import AP
from skrank.rankers._structured_svm import BaseStructuredRanker


class SVMMAP(BaseStructuredRanker):
    r"""SVM-map: a structured SVM that bounds one minus the average precision.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{Q} \sum_q \max_\pi
              \left[ 1 - \mathrm{AP}(\pi) + F(f, \pi) - F(f, \pi^*) \right]

    .. math:: F(f, \pi) = \frac{1}{R N} \sum_{u, v: y_u > y_v} \pm w^T (x_u - x_v)

    with a plus where the relevant document u is ranked above the other document v, of R
    and N, and a minus otherwise. The most violated ranking is found by interleaving the
    two sorted classes. The usual C is :math:`1 / \alpha`.

    Complexity: O(n d + n log m) per iteration for n documents with d features, m in a
    query.

    Parameters
    ----------
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.

    References
    ----------
    [Yue2007]_; [Liu2011]_, section 4.2.2.1, eq. 4.15–4.18.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SVMMAP
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SVMMAP().fit(X, y, groups).coef_.shape == (X.shape[1],)
    True
    """

    relevance_level: float | None = None

    @classmethod
    def _variants(cls):
        return [{}, {"relevance_level": 2}]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = StructuredHingeLoss(AP(relevance_level=self.relevance_level))
        return self._energy(), loss
