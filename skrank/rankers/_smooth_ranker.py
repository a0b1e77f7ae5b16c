"""What rankers have in common that maximise a smooth ranking measure."""

from typing import Literal

import numpy as np

from skrank._core._threads import effective_n_threads
from skrank.energies import BaseEnergy
from skrank.energies._mlp import LayerSizes
from skrank.losses import BaseLoss, ListNetLoss
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.solvers import LBFGS, Adam


class BaseSmoothRanker(BaseNetworkRanker):
    """Base class of rankers that maximise a smooth ranking measure.

    A smooth measure is not convex, and nearly flat where scores are far apart or, with
    a cut-off, where all of them are equal: what training finds depends on where it
    starts. A subclass returns its loss from ``_loss``.

    Parameters
    ----------
    start : {"listnet", "energy"}, default="listnet"
        Where training starts: at a minimum of the loss of `ListNet`, or at the
        parameters that the energy begins with, zeros for linear scores and random
        numbers for a network.
    """

    approach = "listwise"

    start: Literal["listnet", "energy"] = "listnet"
    # Keyword-only, unlike in the base class: by place comes the measure.
    hidden_layer_sizes: LayerSizes = ()

    def _loss(self) -> BaseLoss:
        """Return the smooth measure as a loss."""
        raise NotImplementedError

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return self._energy(), self._loss()

    def _restarts(self, solver, energy, loss, data, validation, rng):
        self._rows = data
        try:
            return super()._restarts(solver, energy, loss, data, validation, rng)
        finally:
            del self._rows

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        params = super()._init_params(energy, n_features, rng)
        if self.start == "energy":
            return params
        n_threads = effective_n_threads(self.n_jobs)
        # Not that of a subclass, which may have more parameters.
        objective = BaseNetworkRanker._objective(
            self, energy, ListNetLoss(), self._rows, n_threads
        )
        solver = LBFGS() if energy.linear else Adam(max_iter=20)
        return solver.solve(objective, params, rng).params
