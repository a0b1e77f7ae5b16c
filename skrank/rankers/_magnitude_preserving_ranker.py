"""Magnitude-preserving ranking."""

from dataclasses import field
from typing import Literal

from skrank._core._parameters import NonNegative
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, MagnitudePreservingLoss
from skrank.losses._magnitude import Power
from skrank.rankers._kernel_ranker import BaseKernelRanker
from skrank.solvers import LBFGS, BaseSolver, RelaxedStart, SmoothingHomotopy


class MagnitudePreservingRanker(BaseKernelRanker):
    r"""Magnitude-preserving ranking: scores that differ as much as the grades do.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{P} \sum_q
              \sum_{u \succ v} L(f(x_u) - f(x_v), y_u - y_v)

    A pair costs by how far the difference of its scores is from that of its grades:
    always ("mp"), beyond a free zone ("svr"), or only where it is out of order ("hmp");
    see `MagnitudePreservingLoss` for the formulas. "mp" with a power of 2 is ridge
    regression on differences of rows, and costs O(n) per evaluation.

    Pairs without grades cannot take the place of ``y``: how much better the preferred
    document is, the target of the difference of scores, is known from grades alone.

    Complexity: O(n d) per iteration for n documents with d features and the default
    loss; see `MagnitudePreservingLoss` for the others.

    Parameters
    ----------
    kind : {"mp", "hmp", "svr"}, default="mp"
        Which of the losses. "hmp" is neither convex nor continuous; the default solver
        then starts from the minimum of "mp".
    beta : float, default=2.0
        Power :math:`\beta` of the error, from 1 to 100.
    epsilon : float, default=0.1
        Error :math:`\varepsilon` that costs nothing under "svr".
    normalization : {"pair", "query"}, default="pair"
        Whether every pair weighs the same, so that long queries decide, or every query.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `LBFGS`, `SmoothingHomotopy` for a power
        of 1, and `RelaxedStart` with `SmoothingHomotopy` for "hmp", whose
        gradient alone, which does not see the jumps, would shrink all scores.

    References
    ----------
    [Cortes2007]_; [Liu2011]_, section 3.3.2, eq. 3.21–3.23, the last of which must read
    :math:`(|\cdot| - \varepsilon)^\beta`.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import MagnitudePreservingRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MagnitudePreservingRanker("svr", epsilon=0.5).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"
    _why_grades = "a pair is the difference of its grades; RankSVM takes preferences"

    kind: Literal["mp", "hmp", "svr"] = field(default="mp", kw_only=False)
    beta: Power = 2.0
    epsilon: NonNegative = 0.1
    normalization: Literal["pair", "query"] = "pair"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"kind": "hmp", "max_iter": 30},
            {"kind": "svr", "beta": 1.0, "epsilon": 0.5},
            {"beta": 1.0, "normalization": "query"},
            {"beta": 3.0},
            {"kernel": "rbf", "n_components": 20},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = MagnitudePreservingLoss(
            self.kind,
            beta=self.beta,
            epsilon=self.epsilon,
            normalization=self.normalization,
        )
        return self._energy(), loss

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        if self.kind == "hmp":
            # Its stages start anew where a jump has ended a line search.
            return RelaxedStart(SmoothingHomotopy())
        return SmoothingHomotopy() if self.beta == 1.0 else LBFGS()
