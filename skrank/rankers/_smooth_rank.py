"""SmoothRank."""

from dataclasses import field

from skrank._core._parameters import Fraction, Positive, invalid_parameter
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, SmoothMeasureLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._smooth_ranker import BaseSmoothRanker
from skrank.solvers import LBFGS, Adam, BaseSolver, SmoothingHomotopy
from skrank.solvers._homotopy import check_factor


class SmoothRank(BaseSmoothRanker):
    r"""SmoothRank: a measure of soft positions, under falling temperatures.

    .. math:: \ell_q = 1 - \frac{1}{Z} \sum_{u=1}^{m} \eta(u) \sum_j G(y_j) h_{ju},
              \qquad h_{ju} \propto e^{-(f(x_j) - f_{(u)})^2 / \tau^2}, \qquad
              \sum_j h_{ju} = 1,

    for NDCG, where :math:`f_{(u)}` is the score at rank u, and in the same way for
    other measures. Training begins at the temperature ``first_width``, ends at
    ``width``, and each temperature starts from the result of the one before.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    and O(m (log m + k)) for a query of m documents and a measure cut at k.

    Parameters
    ----------
    measure : str or BaseMeasure, default="ndcg@10"
        Any measure that `skrank.losses.smooth` takes, such as NDCG, MAP, MRR or ERR.
    width : float, default=0.1
        Last temperature :math:`\tau`, in units of the scores; the :math:`\sigma` of the
        paper is its square.
    first_width : float, default=1.0
        First temperature.
    factor : float, default=0.5
        Ratio of successive temperatures.
    alpha : float, default=1e-3
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `SmoothingHomotopy` over the
        temperatures, with `LBFGS` for linear scores and `Adam` for networks; another
        one works at the last temperature alone.

    References
    ----------
    [Chapelle2010b]_; [Liu2011]_, section 4.2.1.4, eq. 4.12–4.14. The gain in eq. 4.14
    must be that of document j; as printed, the sum does not depend on the scores.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SmoothRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SmoothRank("map").fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    width: Positive = 0.1
    first_width: Positive = 1.0
    factor: Fraction = 0.5
    alpha = 1e-3

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "map", "first_width": 3.0, "factor": 0.3, "max_iter": 5},
            {"measure": "mrr", "width": 0.5, "solver": "lbfgs"},
            {"hidden_layer_sizes": (8,), "max_iter": 3},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if self.first_width < self.width:
            accepted = f"at least width={self.width:g}"
            raise invalid_parameter(self, "first_width", accepted, self.first_width)
        check_factor(self, self.first_width, self.width)

    def _loss(self) -> BaseLoss:
        return SmoothMeasureLoss(self.measure, method="softmax", width=self.width)

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return SmoothingHomotopy(
            LBFGS() if energy.linear else Adam(max_iter=20),
            width=self.first_width,
            final_width=self.width,
            factor=self.factor,
            max_iter=100 if energy.linear else 20,
        )
