"""PermuRank."""

from dataclasses import field

from skrank._core._parameters import NonNegative, PositiveInt
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, PermutationHingeLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._structured_svm import BaseStructuredRanker
from skrank.solvers import BaseSolver, WorkingSet


class PermuRank(BaseStructuredRanker):
    r"""PermuRank: perfect rankings win against the imperfect ones met in training.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{Q} \sum_q
              \max_{\pi \in B_q} \, (M(\pi^*) - M(\pi)) \, [1 + F(f, \pi) -
              F(f, \pi^*)]_+

    with the measure M, a perfect ranking :math:`\pi^*` and the mean F over pairs of
    `PermutationHingeLoss`. Unlike with `StructuredSVMRanker`, the measure multiplies
    the hinge, and nothing is known that finds the worst of all rankings. So the problem
    is solved for working sets :math:`B_q`, which begin with the reverse of the perfect
    ranking; the rankings by the solution join them, until these no longer raise the
    objective. Then the objective bounds what the measure of the learned ranking falls
    short of its best value. Any measure of rankings will do, because it is only asked
    for the value of these.

    ``n_iter_`` counts the iterations of all problems, and ``gap_`` tells how far the
    last problem is from its minimum, over its working sets.

    Complexity: O(n d + n b) per iteration for n documents with d features and b
    rankings in the working set of each query.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="map"
        Any measure of rankings.
    max_rounds : int, default=20
        Largest number of problems.
    round_tol : float, default=1e-2
        The last rankings may raise the objective by this share of it.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of each problem. None means `CuttingPlane`, which needs an ``alpha``
        above 0, inside of `WorkingSet`.

    References
    ----------
    [Xu2008]_; [Liu2011]_, section 4.2.2.1, eq. 4.21.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import PermuRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> PermuRank("err").fit(X, y, groups).coef_.shape == (X.shape[1],)
    True
    """

    measure: MeasureLike = field(default="map", kw_only=False)
    max_rounds: PositiveInt = 20
    round_tol: NonNegative = 1e-2

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "ndcg@5", "max_rounds": 3, "round_tol": 0.0},
            {"kernel": "rbf", "n_components": 20},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), PermutationHingeLoss(self.measure)

    def _resolve_solver(self, energy: BaseEnergy) -> BaseSolver:
        inner = super()._resolve_solver(energy)
        if isinstance(inner, WorkingSet):
            return inner
        return WorkingSet(
            inner,
            max_rounds=self.max_rounds,
            round_tol=self.round_tol,
            max_iter=inner.max_iter,
            tol=None,
        )
