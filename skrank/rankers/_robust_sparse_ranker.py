"""The robust sparse ranker."""

from dataclasses import field

import numpy as np

from skrank._core._parameters import (
    NonNegative,
    Positive,
    PositiveInt,
    invalid_parameter,
)
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.losses import BaseLoss, LambdaLoss, LogLoss
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.solvers import BaseSolver, IteratedWeights, SparseLBFGS


class RobustSparseRanker(BaseEnergyRanker):
    r"""Robust sparse ranker: pairs weighted by NDCG, an L1 penalty, iterated weights.

    .. math:: w_{t+1} = \arg\min_w \frac{1}{Q} \sum_q \sum_{u \succ v}
              \omega_{uv}(w_t) \log\bigl(1 + e^{-\sigma w^T (x_u - x_v)}\bigr)
              + \lambda \lVert w \rVert_1, \qquad
              \omega_{uv} = \frac{1}{Z_q} \bigl|(G(y_u) - G(y_v))
              (\eta(\pi_t(u)) - \eta(\pi_t(v)))\bigr|

    Ranking is reduced to the classification of pairs, each with the weight of what it
    changes in the measure: gains G, discounts :math:`\eta` of the places in the current
    ranking :math:`\pi_t` and the best value :math:`Z_q`. The errors of the classifier
    (eq. 3.32) are replaced by their logistic bound. Weights depend on the classifier
    that is sought: so they are held while it is learned, and taken anew from its
    ranking until nothing changes. The first classifier is that of equal weights.

    Pairs without grades cannot take the place of ``y``, because the measure weighs a
    pair by the grades of its documents and of all others.

    Each problem is convex, and has a sparse solution. The source minimises by truncated
    gradient descent; here each problem is solved to its end.

    Complexity: O(n d) per iteration for n documents with d features, and one division
    per pair. There are up to ``max_updates`` problems of up to 500 iterations each, and
    the weaker the L1 penalty, the more of them it takes: training by the defaults takes
    a hundred times as long as `RankSVM` or more, and a larger ``l1`` shortens it.

    Parameters
    ----------
    measure : str or BaseMeasure, default="ndcg"
        Measure whose gains and discounts weigh pairs: NDCG, DCG, RBP or another one
        that is a sum of gain times discount. Pairs below its cut-off count nothing.
    l1 : float, default=1e-4
        Strength :math:`\lambda` of the L1 penalty, relative to the mean loss.
    sigma : float, default=1.0
        Steepness of the logistic function.
    max_updates : int, default=10
        Largest number of times that the weights are taken.
    alpha : float, default=0.0
        Strength of an L2 penalty in addition, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `IteratedWeights` over `SparseLBFGS`.
        Other solvers know nothing of ``l1`` and ``max_updates``; those that do not hold
        weights take them anew with every step.

    Attributes
    ----------
    first_coef_ : ndarray of shape (n_features,)
        Coefficients of the first classifier.

    References
    ----------
    [Sun2009]_; [Liu2011]_, section 3.3.8, eq. 3.32–3.37.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RobustSparseRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RobustSparseRanker(l1=0.02).fit(X, y, groups)
    >>> bool((ranker.coef_ == 0.0).any()), ranker.score(X, y, groups) > 0.7
    (True, True)
    """

    approach = "pairwise"
    _why_grades = "its measure needs grades; RankSVM takes preferences"

    measure: MeasureLike = field(default="ndcg", kw_only=False)
    l1: NonNegative = 1e-4
    sigma: Positive = 1.0
    max_updates: PositiveInt = 10
    alpha = 0.0

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "dcg@10", "l1": 0.01, "sigma": 2.0},
            {"max_updates": 1, "alpha": 1e-3},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        solver = self.solver
        holds = solver is None or "held_at" in getattr(solver, "requires", ())
        if holds and get_measure(self.measure).rank_form != "gain_discount":
            accepted = (
                "a sum of gains times discounts of ranks, as 'ndcg@k', 'dcg@k', 'p@k', "
                "'recall@k', 'f@k' and 'rbp' are, so that pairs can be weighed while "
                "the ranking is held"
            )
            raise invalid_parameter(self, "measure", accepted, self.measure)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = LambdaLoss(measure=get_measure(self.measure), sigma=self.sigma)
        return LinearEnergy(n_jobs=self.n_jobs), loss

    def _sparse(self) -> BaseSolver:
        return SparseLBFGS(l1=self.l1)

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return IteratedWeights(self._sparse(), max_updates=self.max_updates)

    def _minimise(self, energy, loss, data, validation, rng):
        n_features = data.X.shape[1]
        equal = LogLoss(self.sigma, normalization="query")
        objective = self._objective(
            energy.setup(data.X, rng, data.y, data.ptr), equal, data, 1
        )
        start = np.zeros(energy.n_params(n_features))
        self.first_coef_ = self._sparse().solve(objective, start, rng).params
        return super()._minimise(energy, loss, data, validation, rng)

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        return self.first_coef_
