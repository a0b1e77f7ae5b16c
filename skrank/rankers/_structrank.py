"""StructRank."""

from dataclasses import field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import Positive, PositiveInt, invalid_parameter
from skrank._core._registry import by_short_name
from skrank._rows import GroupedRows
from skrank.energies import (
    BaseEnergy,
    LinearEnergy,
    MLPEnergy,
    NadarayaWatsonEnergy,
    PreferenceWeightsEnergy,
)
from skrank.energies._base import unfitted
from skrank.losses import BaseLoss, CDNLoss
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.solvers import LBFGS, Adam, BaseSolver, ConstrainedSGD, ProjectedGradient

# Any: all of them take ``n_jobs``, which `BaseEnergy` does not promise.
_ENERGIES: dict[str, Any] = {
    **by_short_name((LinearEnergy, MLPEnergy, NadarayaWatsonEnergy), BaseEnergy)
}


class StructRank(BaseEnergyRanker):
    r"""StructRank: joint probability of all preferences of a query.

    .. math:: \ell_q = -\log F(\{r_e\}) = \sum_e \frac{1}{|E|} \sum_{e'}
              \log\bigl(1 + e^{-w_1 r_e} + e^{-w_2 r_{e'}}\bigr), \qquad
              r_e = f(x_i) - f(x_j) \text{ for } e = (i \to j),\ y_i > y_j

    F is the distribution function of a cumulative distribution network over the
    preference edges of the query, here fully connected; other topologies join fewer
    edges. With linear scores and :math:`w_1 = w_2 = 1` the objective is convex and
    minimised by L-BFGS.

    The paper sums over e and e' without the factor :math:`1 / |E|` (eq. 8), so that a
    query with twice as many edges counts four times as much. Here the factor makes
    queries count by their edges, and the objective is a mean, so that ``alpha`` and the
    learning rate of a solver mean the same for long and short queries. With
    ``average="edge_pair"`` queries count as in the paper, and the objective is its sum
    divided by the number of all pairs of edges. Weights of rows change this as if
    queries were repeated: a query whose rows all weigh 2 counts twice, and in general
    a query counts by its number of edges times the sum of the weights of its edges.

    The paper's model has local averages as scores (``energy="nadaraya-watson"``),
    learned weights and :math:`\theta = (a, w_1, w_2) \ge 0`, :math:`\lVert \theta
    \rVert_1 \le t`; its protocol is ``solver="sgd"``, ``alpha=0``, ``n_restarts=3`` and
    ``validation_measure="map"`` on features scaled to [0, 1] within each query.
    ``solver="sgd"`` is ``ConstrainedSGD(learning_rate=20.0)``, ten epochs of one step
    after each query, of the length that suits a mean over edges: the rate of 0.5 that
    the paper states is that of a sum, and moves a mean hardly at all.

    Complexity: O(n d + E) per iteration for n documents with d features and E edges,
    with "full" some hundred times what "disconnected" costs; see `CDNLoss`. Local
    averages cost O(n N d) for N training rows, which
    ``NadarayaWatsonEnergy(max_landmarks=...)`` reduces.

    Parameters
    ----------
    topology : {"full", "disconnected", "random", "star"}, default="full"
        Which preferences are joined; see `CDNLoss`.
    energy : {"linear", "mlp", "nadaraya-watson"} or BaseEnergy, default="linear"
        Family of scoring functions.
    learn_weights : bool or None, default=None
        Whether :math:`w_1, w_2 \ge 0` are learned instead of being 1. None learns them
        where the parameters of the scores are constrained, as with "nadaraya-watson",
        whose scores stay between the grades. The topologies "disconnected" and "star"
        have only :math:`w_1`.
    l1_bound : float or None, default=None
        Bound t of the sum of all constrained parameters: the scales of
        "nadaraya-watson" and the weights. None sets no bound. It is an error to give a
        bound where no parameter is constrained.
    average : {"edge", "edge_pair", "query"}, default="edge"
        Units over which the mean loss is taken. With "edge" queries count by their
        edges, as in `RankNet`, and under the topology "star" by their preferred
        documents; with "query" all queries count the same; with "edge_pair" queries
        count by their pairs of edges, as in eq. 8 of the paper, also under
        "disconnected", which joins no pairs. Under "star" they then count by their
        number of preferred documents times their number of edges.
    n_edge_pairs : int, default=200
        With "random", number of pairs of edges in each network of a query.
    n_networks : int, default=5
        With "random", number of networks over which the mean is taken.
    solver : BaseSolver or {"sgd", "projected", "adam", "lbfgs"}, default=None
        Solver of the minimisation: an object, or "sgd" (`ConstrainedSGD` as in the
        paper), "projected" (`ProjectedGradient`), "adam" or "lbfgs". None means `LBFGS`
        for linear scores without weights, `ProjectedGradient` where parameters are
        constrained and `Adam` otherwise.

    References
    ----------
    [Huang2008]_, sections 3–5, eq. 5–10; [Liu2011]_, section 4.3.3, eq. 4.27.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import StructRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> StructRank().fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "listwise"

    _solvers = {
        **by_short_name((ProjectedGradient, Adam, LBFGS), BaseSolver),
        "sgd": partial(ConstrainedSGD, learning_rate=20.0),
    }

    topology: Literal["full", "disconnected", "random", "star"] = field(
        default="full", kw_only=False
    )
    energy: BaseEnergy | Literal["linear", "mlp", "nadaraya-watson"] = field(
        default="linear", kw_only=False
    )
    learn_weights: bool | None = None
    l1_bound: Positive | None = None
    average: Literal["edge", "edge_pair", "query"] = "edge"
    n_edge_pairs: PositiveInt = 200
    n_networks: PositiveInt = 5
    solver: BaseSolver | Literal["sgd", "projected", "adam", "lbfgs"] | None = None

    @classmethod
    def _variants(cls):
        topologies = ["disconnected", "random", "star"]
        local = {"energy": "nadaraya-watson", "max_iter": 5}
        return [
            {},
            *({"topology": topology} for topology in topologies),
            {"average": "query"},
            {"average": "edge_pair"},
            {"energy": "mlp", "max_iter": 5},
            {"learn_weights": True, "l1_bound": 3.0},
            local,
            local | {"solver": "sgd", "l1_bound": 3.0},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        # Every batch draws new networks, all of them from the seed of the ranker.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        loss = CDNLoss(
            topology=self.topology,
            average="query" if self.average == "query" else "edge",
            n_edge_pairs=self.n_edge_pairs,
            n_networks=self.n_networks,
            random_state=np.random.RandomState(seed),
        )
        return self._make_energy(), loss

    @property
    def _accepts_sparse(self):
        energy = self.energy
        if isinstance(energy, str):
            energy = _ENERGIES.get(energy, LinearEnergy)
        # Also after a parameter has been set to something that only `fit` will refuse.
        return bool(getattr(energy, "accepts_sparse", True))

    def _learned_accepts(self):
        return self.energy_.accepts_sparse, self._accepts_missing

    def _make_energy(self) -> BaseEnergy:
        energy, learn = self.energy, self.learn_weights
        if isinstance(energy, str):
            energy = _ENERGIES[energy](n_jobs=self.n_jobs)
        energy = unfitted(energy)
        if learn or (learn is None and energy.constrained):
            both = self.topology in ("full", "random")
            return PreferenceWeightsEnergy(
                energy, n_weights=2 if both else 1, l1_bound=self.l1_bound
            )
        if self.l1_bound is None:
            return energy
        if "l1_bound" not in energy.get_params(deep=False):
            accepted = (
                f"None, because {type(energy).__name__} without learned weights has no "
                "constrained parameters to bound (set learn_weights=True, or take "
                "energy='nadaraya-watson')"
            )
            raise invalid_parameter(self, "l1_bound", accepted, self.l1_bound)
        return energy.set_params(l1_bound=self.l1_bound)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if self.average == "edge_pair":
            data = replace(data, sample_weight=_by_edges(data))
        super()._fit(data, validation)

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        if energy.linear:
            return LBFGS()
        return ProjectedGradient() if energy.constrained else Adam()


def _by_edges(data):
    """Return row weights that multiply each query by the number of its edges.

    The loss of a query is its sum over pairs of edges, divided by the number of edges,
    and the mean is taken over edges; both have these weights, which thus cancel the
    division. The edges are counted and not weighed, since the weights of rows are
    factors of the loss already: a weight of 2 then makes two queries of one, not four.
    """
    sizes = data.sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    cells, counts = np.unique([query, data.y], axis=1, return_counts=True)
    # Of all ordered pairs of documents, those of equal grades are no edges, and of the
    # others one direction is.
    ties = np.bincount(cells[0].astype(np.intp), counts**2, minlength=len(sizes))
    weight = np.repeat(0.5 * (sizes**2 - ties), sizes)
    return weight if data.sample_weight is None else weight * data.sample_weight
