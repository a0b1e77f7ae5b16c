"""Propensities and scores that correct each other, by the dual learning algorithm."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from skrank._core import _segments
from skrank._core._parameters import Interval, invalid_parameter
from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, ListNetLoss
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.solvers import Adam, BaseSolver
from skrank.unbiased._positions import POSITIONS, Places, positions_of

# What exponents are kept below, so that weights neither overflow nor become infinite.
_STEEPEST = 50.0


class DualLearningRanker(BaseNetworkRanker):
    r"""Scores and propensities that are learned from clicks at the same time.

    Clicks tell of relevance once they are weighted by inverse propensities, and of
    propensities once they are weighted by inverse relevance. With scores f of documents
    and g of places, of which softmax functions over a list are the probabilities, both
    losses are cross entropies over the clicked documents of each list:

    .. math::
        L_f &= -\sum_{c_i = 1} \min\bigl(e^{g_1 - g_{k_i}}, w\bigr)
            \log \frac{e^{f(x_i)}}{\sum_j e^{f(x_j)}} \\
        L_g &= -\sum_{c_i = 1} \min\bigl(e^{f(x_1) - f(x_i)}, w\bigr)
            \log \frac{e^{g_{k_i}}}{\sum_j e^{g_{k_j}}}

    where document i was shown in place :math:`k_i`, and document 1 in the first of its
    list. The weights are held fixed in the gradients, so that no function is minimised,
    and the solver must be one that steps along gradients.

    Both losses know scores only within a list. Every list should be as it was shown,
    query by query; let ``groups`` be ids of sessions where a query was shown more than
    once.

    Complexity: O(n p) per epoch for n documents and p parameters of the network.

    Parameters
    ----------
    max_weight : float, default=50.0
        Largest weight w of a click.
    solver : Adam, SGD or {"adam", "sgd"}, default=None
        Solver; None means `Adam` with a learning rate of 0.01.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,)
        :math:`e^{g_k - g_1}`; on a straight line of the logarithm for places that no
        row has.

    References
    ----------
    [Ai2018]_, section 4 and algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.unbiased import DualLearningRanker
    >>> X, y, groups = make_ranking(n_queries=400, docs_per_query=5, random_state=0)
    >>> user = SimulatedUser(examination="position", max_grade=4)
    >>> clicks = user.click(y, np.arange(401) * 5, random_state=0)
    >>> ranker = DualLearningRanker(max_iter=20, random_state=0)
    >>> ranker = ranker.fit(X, clicks, groups, positions=[1, 2, 3, 4, 5] * 400)
    >>> ranker.score(X, y, groups) > 0.7, bool(ranker.propensities_[4] < 0.5)
    (True, True)
    """

    approach = "listwise"

    max_weight: Annotated[float, Interval(1, None)] = 50.0

    _side_data = (POSITIONS,)

    @classmethod
    def _variants(cls):
        return [{}, {"hidden_layer_sizes": (4,), "max_weight": 10.0}]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), ListNetLoss()

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return Adam(learning_rate=0.01)

    def _resolve_solver(self, energy: BaseEnergy) -> BaseSolver:
        solver = super()._resolve_solver(energy)
        if "batch" not in solver.requires:
            accepted = "one that steps along gradients of batches: Adam or SGD"
            raise invalid_parameter(self, "solver", accepted, self.solver)
        return solver

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        self._places = Places.of(positions_of(data, self))
        numbered = {**data.side, "positions": self._places.number + 1}
        data = replace(data, side=numbered)
        try:
            super()._fit(data, validation)
        finally:
            del self._places

    def _objective(self, energy, loss, data, n_threads):
        dual = DualObjective(energy, loss, data, self.alpha, n_threads=n_threads)
        dual.max_weight, dual.n_places = float(self.max_weight), len(self._places)
        return dual

    def _start(self, energy, n_features, rng):
        # Parameters of the network first, then the logarithms of propensities.
        params = super()._start(energy, n_features, rng)
        places = np.zeros(len(self._places))
        if self.warm_start and hasattr(self, "propensities_"):
            places = np.log(self._places.read(self.propensities_, 1.0))
        return np.append(params, places)

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        own = params[: energy.n_params(X.shape[1])]
        return super()._model_scores(energy, loss, own, X, ptr)

    def _store(self, energy, loss, result, monitor) -> None:
        best = monitor.best_state
        kept = result.params if best is None else best
        params, places = np.split(kept, [len(kept) - len(self._places)])
        result.params = params
        monitor.best_state = None if best is None else params
        super()._store(energy, loss, result, monitor)
        curve = np.exp(np.clip(places - places[0], -_STEEPEST, _STEEPEST))
        curve = self._places.curve(curve)
        self.propensities_ = curve / curve[0]  # not 1 if no row has the first place


class DualObjective(Objective):
    """Both losses of lists, as one function of network parameters and of places."""

    max_weight = 1.0
    n_places = 0

    @property
    def convex(self) -> bool:
        """Return False: each loss weighs the clicks by the scores of the other one."""
        return False

    def _bind(self, data, how):
        prepared: Any = _DualLists(data)
        return prepared

    def _batch(self, queries, rng):
        # The penalty is that of the whole, and finds its way there by itself.
        batch = super()._batch(queries, rng)
        batch.max_weight, batch.n_places = self.max_weight, self.n_places
        return batch

    def penalty_mask(self):
        """Return 1 for parameters that penalties count, and 0 for all others."""
        return np.append(super().penalty_mask(), np.zeros(self.n_places))

    def constraint(self):
        """Return no constraint: networks have none, and places need none."""
        return None

    def value_gradient(self, params):
        """Return the objective and the gradients of both losses, one after the other.

        The weights of the clicks are taken as fixed.
        """
        lists: Any = self.prepared
        own, by_place = np.split(params, [len(params) - self.n_places])
        data = self.data
        raw, vjp = self.energy.scores_and_vjp(own, data.X, self.rng, data.ptr)
        places = np.ascontiguousarray(by_place[lists.places])
        weight = lists.clicks * self._limited(by_place[0] - places)
        value, slope = lists.cross_entropy(raw, weight, self.n_threads)
        weight = lists.clicks * self._limited(raw[lists.top] - raw)
        of_places, slope_of_places = lists.cross_entropy(places, weight, self.n_threads)
        by_place = np.bincount(lists.places, slope_of_places, self.n_places)
        shrunk = self.penalty * params
        gradient = self._scale * np.append(vjp(slope), by_place) + shrunk
        return self._scale * (value + of_places) + 0.5 * float(
            shrunk @ params
        ), gradient

    def _limited(self, exponent):
        return np.minimum(np.exp(np.minimum(exponent, _STEEPEST)), self.max_weight)


class _DualLists:
    """Clicks on lists, the places of their documents, and the first of each list."""

    draws_anew = False

    def __init__(self, data):
        self.ptr, self.places = data.ptr, data.side["positions"] - 1
        clicks = np.asarray(data.y)
        weight = data.sample_weight
        self.clicks = clicks if weight is None else clicks * weight
        self.total_weight = float(self.clicks.sum())
        order = np.lexsort(
            (self.places, np.repeat(np.arange(data.n_queries), data.sizes))
        )
        held = data.sizes > 0
        self.top = np.repeat(order[data.ptr[:-1][held]], data.sizes[held])

    def cross_entropy(self, raw, weight, n_threads):
        """Return the weighted cross entropy of all lists, and its gradient."""
        raw = np.ascontiguousarray(raw, dtype=np.float64)
        chances, log_totals = _segments.segment_softmax(raw, self.ptr, n_threads)
        of_list = _segments.segment_sum(np.ascontiguousarray(weight), self.ptr)
        sizes = np.diff(self.ptr)
        value = float(of_list @ log_totals - weight @ raw)
        return value, np.repeat(of_list, sizes) * chances - weight
