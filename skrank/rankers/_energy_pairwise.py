"""Energy-based pairwise ranking."""

import numpy as np

from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, LVQ2Loss
from skrank.rankers._fang_liu import BaseLVQ2Ranker, paper_solvers


class EnergyPairwise(BaseLVQ2Ranker):
    r"""Energy-based pairwise ranking: energies of preference pairs under LVQ2.

    .. math:: \ell(x_u, x_v) = \min\bigl(M, \max(0, \mu + E(x_u) - E(x_v))\bigr),
              \qquad E = -f, \quad y_u > y_v

    Learning lowers the energy of the preferred document against the other one until
    it is lower by the margin :math:`\mu`. Pairs whose loss reaches M are given up,
    which makes the ranker robust to wrong judgements and the loss non-convex; with M
    infinite it is the Ranking SVM. No pair is ever built: a query of m documents costs
    O(m log m) per evaluation. In place of grades `fit` also takes pairs of row numbers,
    the preferred document first: ``fit(X, preferences=pairs)``.

    The defaults differ from the paper where other values ranked the validation queries
    of LETOR better: a margin, without which scores that are all zero are a minimum, and
    a full-batch solver that sharpens a smooth version of the loss step by step. The
    model of the paper is ``EnergyPairwise(cap=0.001, margin=0.0, alpha=0.1,
    solver="sgd")`` with

    ==================================  ==========  ==========
    Fang and Liu, table 4               MQ2007      MQ2008
    ==================================  ==========  ==========
    iterations ``max_iter``             10          10
    L2 regulariser ``alpha``            0.1         0.1
    learning rate (``solver``)          1e-4        1e-4
    M ``cap``                           1.0         0.1
    ==================================  ==========  ==========

    The text of the paper sets M = 0.001 instead, which ranks better here as well.
    ``solver="sgd"`` is ``SGD(learning_rate=1e-4, momentum=0.0, per_unit=True,
    batch_queries=1, max_iter=10)``: one step after each query, along the sum of the
    gradients of its pairs, where the paper takes a step after each pair. For a query
    with one pair this is the update rule of the paper to the letter.

    Complexity: O(n p + n log m) per iteration for n documents, m in a query, and p
    parameters of the network.

    Parameters
    ----------
    cap : float, default=2.0
        Largest loss M of a pair; ``numpy.inf`` for none.
    margin : float, default=1.0
        How much lower the energy of the preferred document must be. 0, as in the
        paper, is for ``solver="sgd"``, which follows the gradient of the kink at equal
        energies; a full-batch solver would stay there.
    alpha : float, default=0.01
        Strength of the L2 penalty, relative to the mean loss.

    References
    ----------
    [Fang2016]_, section 5.2, eq. 28, table 4.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import EnergyPairwise
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = EnergyPairwise().fit(X, y, groups)
    >>> bool(ranker.energies(X[y == 4]).mean() < ranker.energies(X[y == 0]).mean())
    True
    """

    approach = "pairwise"
    _solvers = paper_solvers(learning_rate=1e-4, max_iter=10)

    alpha = 0.01

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        paper = {"cap": 0.001, "margin": 0.0, "alpha": 0.1, "solver": "sgd"}
        return [{}, {"cap": np.inf}, paper]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = LVQ2Loss(cap=self.cap, margin=self.margin, reading="pairwise")
        return self._energy(), loss
