"""Ordered weighted pairwise classification."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import NonNegative
from skrank._core._threads import effective_n_threads
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, OWPCLoss
from skrank.losses._owpc import Weights
from skrank.rankers._kernel_ranker import BaseKernelRanker
from skrank.solvers import LBFGS, BaseSolver, CuttingPlane, SmoothingHomotopy

# Differences of scores, as shares of the margin, that are rounding errors.
_FLAT = 1e-9


class OWPC(BaseKernelRanker):
    r"""OWPC: Ranking SVM with most weight on the largest losses of each document.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{W} \sum_q \sum_u c_u
              \sum_{t=1}^{n_u} \alpha_t \, s_{u,(t)}, \qquad
              s_{u,v} = \max(0, M - w^T (x_u - x_v))^p

    The losses of a preferred document against the :math:`n_u` worse documents of its
    query are sorted, and the largest ones, those of the worse documents at the top of
    the ranking, weigh most: an ordered weighted average. Equal weights give `RankSVM`.
    Convex.

    Where the features cannot put the best documents above the best of the many worse
    ones, the minimum may be at scores that are all equal. `fit` warns of it; flatter
    weights, up to "uniform", ask for less.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``. A document's losses are then those against the
    documents that it is preferred to, and all of its pairs must weigh the same.

    Complexity: O(n d) per iteration for n documents with d features, and O(m log m + m
    K) for a query of m documents with K grades.

    Parameters
    ----------
    weights : str, callable or sequence of float, default="reciprocal"
        Weights :math:`\alpha_t` of the largest loss, the second largest and so on, up
        to a factor: "uniform", "reciprocal" (1 / t), "max" (the largest loss alone), a
        function of the array of places 1, 2, …, or the weights of the first places,
        followed by zeros. They must not rise.
    margin : float, default=1.0
        Margin M.
    hinge : {"linear", "squared"}, default="linear"
        Power of the hinge: 1, as in the paper, or 2. The objective has kinks where
        scores of worse documents are equal, and "linear" also where a margin is just
        met.
    normalization : {"query", "pair", "document"}, default="query"
        Whether every query, pair or preferred document has the same weight; see
        `OWPCLoss`. With two grades, "query" is the mean over the preferred documents of
        each query, as in the paper.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `CuttingPlane` for the linear hinge,
        which ends within its tolerance of the minimum, kinks or not. For the squared
        one, and where ``alpha`` is 0, it means `SmoothingHomotopy`, which smooths no
        kink of the order and ends near the minimum. Training starts at the minimum for
        equal weights.

    References
    ----------
    [Usunier2009]_; [Liu2011]_, section 3.3.6, eq. 3.28–3.29.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import OWPC
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> OWPC(alpha=1e-3).fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    weights: Weights = "reciprocal"
    margin: NonNegative = 1.0
    hinge: Literal["linear", "squared"] = "linear"
    normalization: Literal["query", "pair", "document"] = "query"

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [
            {},
            {"weights": "max", "normalization": "document"},
            {"weights": "uniform", "normalization": "pair", "hinge": "squared"},
            {"weights": [1.0, 0.5], "margin": 0.5, "solver": "adam"},
            {"kernel": "rbf", "n_components": 20},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = OWPCLoss(
            self.weights,
            margin=self.margin,
            hinge=self.hinge,
            normalization=self.normalization,
        )
        return self._energy(), loss

    @property
    def _equal_within(self) -> float:
        return _FLAT * self.margin

    def _why_equal_scores(self) -> Iterator[str]:
        yield from super()._why_equal_scores()
        if not (isinstance(self.weights, str) and self.weights == "uniform"):
            yield (
                "the features do not put the preferred documents above the best of the "
                f"worse ones, as weights={shown(self.weights)} ask for (flatter "
                "weights, such as weights='uniform', ask for less)"
            )

    def _restarts(self, solver, energy, loss, data, validation, rng):
        # Where all scores are equal, a subgradient need not be a direction of descent.
        # So training starts at the minimum for equal weights, which no kink of this
        # kind is near.
        self._equal = None
        if not (isinstance(loss.weights, str) and loss.weights == "uniform"):
            equal = loss._with(weights="uniform").smoothed(1.0)
            n_threads = effective_n_threads(self.n_jobs)
            objective = self._objective(energy, equal, data, n_threads)
            start = super()._init_params(energy, data.X.shape[1], rng)
            self._equal = LBFGS().solve(objective, start, rng).params
        try:
            return super()._restarts(solver, energy, loss, data, validation, rng)
        finally:
            del self._equal

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        if self._equal is None:
            return super()._init_params(energy, n_features, rng)
        return self._equal

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        if self.hinge == "linear" and self.alpha > 0:
            return CuttingPlane()
        return SmoothingHomotopy()
