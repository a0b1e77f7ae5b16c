"""SVM-ndcg."""

from skrank._core._parameters import PositiveInt
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, StructuredHingeLoss
from skrank.losses._structured_hinge import PositionWeights
from skrank.metrics import NDCG
from skrank.metrics._gain import Discount, Gain
from skrank.rankers._structured_svm import BaseStructuredRanker


class SVMNDCG(BaseStructuredRanker):
    r"""SVM-ndcg: a structured SVM that bounds one minus NDCG.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{Q} \sum_q \max_\pi
              \left[ 1 - \mathrm{NDCG}(\pi) + F(f, \pi) - F(f, \pi^*) \right]

    .. math:: F(f, \pi) = \frac{1}{P} \sum_{u, v: y_u > y_v} \pm w^T (x_u - x_v)

    with a plus where the document u is ranked above v, and a minus otherwise, over P
    pairs of different gain; or with weights of positions in place of pairs, with which
    the most violated ranking is a linear assignment. The usual C is :math:`1 / \alpha`.

    Complexity: O(n d) per iteration for n documents with d features, and for every
    query the product of the numbers of its documents of each gain, plus one, or O(m log
    m) for m documents of two gains and k=None; for
    weights of positions see `StructuredHingeLoss`.

    Parameters
    ----------
    k : int, default=None
        Cut-off of NDCG.
    gain : {"exp2", "linear"}, callable, mapping or array, default="exp2"
        Gain of grades, as in `skrank.metrics.NDCG`.
    discount : {"log2", "letor", "reciprocal"}, callable or array, default="log2"
        Discount of ranks, as in `skrank.metrics.NDCG`.
    weights : {"pairs", "discount", "root"}, callable or sequence, default="pairs"
        Score of a ranking: the mean over pairs, or weights of positions that do not
        rise, such as "discount" for those of NDCG; see `StructuredHingeLoss`.

    References
    ----------
    [Chakrabarti2008]_; [Le2007]_; [Liu2011]_, section 4.2.2.1.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SVMNDCG
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SVMNDCG(k=10).fit(X, y, groups).coef_.shape == (X.shape[1],)
    True
    """

    k: PositiveInt | None = None
    gain: Gain = "exp2"
    discount: Discount = "log2"
    weights: PositionWeights = "pairs"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"k": 3, "gain": "linear", "discount": "letor", "weights": "root"},
            {"weights": "discount"},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        measure = NDCG(self.k, gain=self.gain, discount=self.discount)
        return self._energy(), StructuredHingeLoss(measure, weights=self.weights)
