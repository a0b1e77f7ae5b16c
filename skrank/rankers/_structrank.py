"""StructRank."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._shared_parameters import shares_parameters
from skrank.energies import (
    LinearEnergy,
    MLPEnergy,
    NadarayaWatsonEnergy,
    PreferenceWeightsEnergy,
)
from skrank.losses import CDNLoss
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.solvers import LBFGS, Adam, ConstrainedSGD, ProjectedGradient

_ENERGIES = {
    "linear": LinearEnergy,
    "mlp": MLPEnergy,
    "nadaraya-watson": NadarayaWatsonEnergy,
}
_SOLVERS = {
    "sgd": ConstrainedSGD,
    "projected": ProjectedGradient,
    "adam": Adam,
    "lbfgs": LBFGS,
}


@shares_parameters
class StructRank(BaseEnergyRanker):
    r"""StructRank: joint probability of all preferences of a query.

    .. math:: \ell_q = -\log F(\{r_e\}) = \sum_e \frac{1}{|E|} \sum_{e'}
              \log\bigl(1 + e^{-w_1 r_e} + e^{-w_2 r_{e'}}\bigr), \qquad
              r_e = f(x_i) - f(x_j) \text{ for } e = (i \to j),\ y_i > y_j

    F is the distribution function of a cumulative distribution network over the
    preference edges of the query, here fully connected; other topologies join fewer
    edges. With linear scores and :math:`w_1 = w_2 = 1` the objective is convex and
    solved by L-BFGS. The paper's model has local averages as scores
    (``energy="nadaraya-watson"``), learned weights and
    :math:`\theta = (a, w_1, w_2) \ge 0`, :math:`\lVert \theta \rVert_1 \le t`; its
    protocol is ``solver="sgd"``, ``alpha=0``, ``n_restarts=3`` and
    ``validation_measure="map"`` on features scaled to [0, 1] within each query.

    An evaluation costs O(E) for the E edges of a query with "full", some hundred times
    what "disconnected" costs; see `CDNLoss`. Local averages cost O(n N d) for N
    training rows, which ``NadarayaWatsonEnergy(max_landmarks=...)`` reduces.

    Parameters
    ----------
    topology : {"full", "disconnected", "random", "star"}, default="full"
        Which preferences are joined; see `CDNLoss`.
    energy : {"linear", "mlp", "nadaraya-watson"} or BaseEnergy, default="linear"
        Family of scoring functions.
    learn_weights : bool, default=None
        Whether :math:`w_1, w_2 \ge 0` are learned and not 1; None learns them where
        the parameters of the scores are constrained, as with "nadaraya-watson", whose
        scores stay between the grades. The topologies "disconnected" and "star" have
        only :math:`w_1`.
    l1_bound : float, default=None
        Bound t of the sum of all constrained parameters: the scales of
        "nadaraya-watson" and the weights. None for no bound.
    average : {"edge", "query"}, default="edge"
        What the mean loss is taken over: with "query" all queries count the same, with
        "edge" they count by their edges, as in `RankNet`.
    n_edge_pairs : int, default=200
        With "random", pairs of edges in each network of a query.
    n_networks : int, default=5
        With "random", networks over which the mean is taken.
    solver : BaseSolver or str, default=None
        A solver, or "sgd" (`ConstrainedSGD`, that of the paper), "projected"
        (`ProjectedGradient`), "adam" or "lbfgs". None means `LBFGS` for
        linear scores without weights, `ProjectedGradient` where parameters are
        constrained and `Adam` otherwise.

    References
    ----------
    Huang & Frey (2008), sections 3-5, eq. 5-10.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import StructRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> StructRank().fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "listwise"

    def __init__(
        self,
        topology: str = "full",
        energy="linear",
        *,
        learn_weights: bool | None = None,
        l1_bound: float | None = None,
        average: str = "edge",
        n_edge_pairs: int = 200,
        n_networks: int = 5,
        solver=None,
        **shared,
    ):
        super().__init__(solver=solver, **shared)
        self.topology = topology
        self.energy = energy
        self.learn_weights = learn_weights
        self.l1_bound = l1_bound
        self.average = average
        self.n_edge_pairs = n_edge_pairs
        self.n_networks = n_networks

    def _parts(self):
        # Every batch draws new networks, all of them from the seed of the ranker.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        loss = CDNLoss(
            topology=self.topology,
            average=self.average,
            n_edge_pairs=self.n_edge_pairs,
            n_networks=self.n_networks,
            random_state=np.random.RandomState(seed),
        )
        return self._make_energy(), loss

    def _make_energy(self):
        energy, learn = self.energy, self.learn_weights
        if isinstance(energy, str):
            if energy not in _ENERGIES:
                raise ValueError(
                    f"energy must be an energy or one of {', '.join(_ENERGIES)}, got "
                    f"{energy!r}"
                )
            energy = _ENERGIES[energy](n_jobs=self.n_jobs)
        elif not hasattr(energy, "scores_and_vjp"):
            raise TypeError(
                f"energy must be an energy or one of {', '.join(_ENERGIES)}, got "
                f"{energy!r}"
            )
        energy = clone(energy)
        if learn or (learn is None and energy.constrained):
            both = self.topology in ("full", "random")
            return PreferenceWeightsEnergy(
                energy, n_weights=2 if both else 1, l1_bound=self.l1_bound
            )
        if self.l1_bound is not None and "l1_bound" in energy.get_params():
            energy.set_params(l1_bound=self.l1_bound)
        return energy

    def _default_solver(self, energy):
        if energy.linear:
            return LBFGS()
        return ProjectedGradient() if energy.constrained else Adam()

    def _named_solver(self, name):
        if name not in _SOLVERS:
            raise ValueError(
                f"solver must be a solver object or one of {', '.join(_SOLVERS)}, got "
                f"{name!r}"
            )
        return _SOLVERS[name]()
