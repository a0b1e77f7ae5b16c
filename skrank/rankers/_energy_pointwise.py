"""Energy-based pointwise ranking."""

from dataclasses import replace
from typing import Literal

import numpy as np

from skrank._core._parameters import NonNegative
from skrank._rows import GroupedRows
from skrank.energies import AbsoluteLabelEnergy, BaseEnergy
from skrank.losses import BaseLoss, SquareExponentialLoss
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.rankers._fang_liu import paper_solvers


class EnergyPointwise(BaseNetworkRanker):
    r"""Energy-based pointwise ranking: distances to grades, square-exponential loss.

    .. math:: \ell(x, y) = E(x, y)^2 + \gamma \, e^{-E(x, \bar y)}, \qquad
              E(x, r) = |f(x) - r|

    where :math:`\bar y` is the most offending label, the wrong one of lowest energy.
    Learning pulls the energy of the grade to zero and pushes that of the nearest wrong
    label up; :math:`\gamma = 0` is least squares. Documents are ranked by f. An
    evaluation costs O(n_documents · n_labels).

    The defaults are those of the paper except for the solver, which looks at all
    queries in each step. The model of the paper is ``EnergyPointwise(solver="sgd")``
    with

    ==================================  ==========  ==========
    Fang and Liu, table 4               MQ2007      MQ2008
    ==================================  ==========  ==========
    iterations ``max_iter``             20          20
    L2 regulariser ``alpha``            0.1         0.1
    learning rate (``solver``)          5e-4        5e-4
    :math:`\gamma` ``gamma``            0.001       0.001
    ==================================  ==========  ==========

    The text of the paper has :math:`\gamma = 0.1` for MQ2008 instead.
    ``solver="sgd"`` is ``SGD(learning_rate=5e-4, momentum=0.0, per_unit=True,
    batch_queries=1, max_iter=20)``: one step after each query, along the sum of the
    gradients of its documents, where the paper takes a step after each document. The
    gradient is that of the loss; the update rule printed in the paper drops a factor of
    2 and evaluates the exponential at the correct label. The number of grades must be
    small: real-valued targets are for `SubsetRegression`.

    Complexity: O(n (p + K)) per iteration for n documents, K grades and p parameters of
    the network.

    Parameters
    ----------
    gamma : float, default=0.001
        Weight of the exponential of the most offending label.
    class_weight : {"balanced"}, default=None
        "balanced" gives every grade the same total weight, so that the many irrelevant
        documents do not outvote the few relevant ones.
    alpha : float, default=0.1
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `LBFGS` for linear scores and `Adam`
        otherwise; "sgd" is the solver of the paper.

    References
    ----------
    [Fang2016]_, section 5.1, eq. 27, table 4.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import EnergyPointwise
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = EnergyPointwise().fit(X, y, groups)
    >>> bool(ranker.energies(X, labels=y).mean() < ranker.energies(X, labels=4).mean())
    True
    """

    approach = "pointwise"
    _solvers = paper_solvers(learning_rate=5e-4, max_iter=20)

    gamma: NonNegative = 0.001
    class_weight: Literal["balanced"] | None = None
    alpha = 0.1

    @classmethod
    def _variants(cls):
        return [{}, {"class_weight": "balanced"}, {"solver": "sgd"}]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if self.class_weight == "balanced":
            weight = _balanced(data.y, data.sample_weight)
            data = replace(data, sample_weight=weight)
        super()._fit(data, validation)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = SquareExponentialLoss(gamma=self.gamma, reading="pointwise")
        return AbsoluteLabelEnergy(self._energy()), loss


def _balanced(y, weight):
    """Return weights that sum to the same for every grade, and to the same in all."""
    grades, code = np.unique(y, return_inverse=True)
    weight = np.ones(len(y)) if weight is None else weight
    totals = np.bincount(code, weight)
    # Documents of one grade may all have weight 0.
    present = np.maximum(totals, np.finfo(float).tiny)
    return weight * (weight.sum() / (len(grades) * present))[code]
