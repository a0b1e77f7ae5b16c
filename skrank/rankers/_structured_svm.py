"""Structured support vector machines for ranking measures."""

from collections.abc import Iterator

from skrank._core._messages import shown
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, StructuredHingeLoss
from skrank.losses._structured_hinge import PositionWeights
from skrank.metrics._registry import MeasureLike
from skrank.rankers._kernel_ranker import BaseKernelRanker
from skrank.solvers import BaseSolver, CuttingPlane


class BaseStructuredRanker(BaseKernelRanker):
    """Base class of rankers that minimise a structured hinge loss.

    Parameters
    ----------
    alpha : float, default=0.1
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `CuttingPlane`, which ends within
        ``tol``, by default 1e-3 of the objective, of the minimum, and says in ``gap_``
        how near it is. It needs an ``alpha`` above 0.
    """

    approach = "listwise"

    alpha = 0.1

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return CuttingPlane(tol=1e-3)

    def _why_equal_scores(self) -> Iterator[str]:
        yield from super()._why_equal_scores()
        weights = getattr(self, "weights", "pairs")
        if not (isinstance(weights, str) and weights == "pairs"):
            yield (
                f"with weights={shown(weights)} the objective may be least where all "
                "scores are equal, unlike with weights='pairs'"
            )


class StructuredSVMRanker(BaseStructuredRanker):
    r"""Structured SVM: the perfect ranking wins against every other by their measures.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{Q} \sum_q \max_\pi
              \left[ M(\pi^*) - M(\pi) + F(f, \pi) - F(f, \pi^*) \right]

    with Q queries, the measure M, a perfect ranking :math:`\pi^*` and the score F of a
    whole ranking, which is made of the scores :math:`f(x) = w^T x` of its documents;
    see `StructuredHingeLoss` for it. The usual C is :math:`1 / \alpha`. The objective
    is convex and bounds what the measure of the learned ranking falls short of its best
    value. Every iteration searches for the ranking of each query that violates most,
    exactly.

    Complexity: O(n d + n log m) per iteration for n documents with d features, m in a
    query; see `StructuredHingeLoss` for measures that take longer.

    Parameters
    ----------
    measure : str or BaseMeasure, default="map"
        Average precision, reciprocal rank, success, or a sum of gains times discounts
        that do not rise with the rank: NDCG, DCG, precision, recall, F or RBP.
    weights : {"pairs", "discount", "root"}, callable or sequence, default="pairs"
        Score of a ranking, for measures that are such sums: the mean over pairs, or
        weights of positions; see `StructuredHingeLoss`.

    References
    ----------
    [Liu2011]_, section 4.2.2.1, eq. 4.15–4.20; [Yue2007]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import StructuredSVMRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = StructuredSVMRanker(measure="mrr").fit(X, y, groups)
    >>> bool(ranker.gap_ <= 1e-3 * ranker.loss_curve_[-1])
    True
    """

    measure: MeasureLike = "map"
    weights: PositionWeights = "pairs"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "mrr"},
            {"measure": "ndcg@5", "weights": "discount"},
            {"kernel": "rbf", "n_components": 20},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), StructuredHingeLoss(self.measure, weights=self.weights)
