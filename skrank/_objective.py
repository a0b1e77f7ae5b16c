"""The glue: energy + loss + data make an objective that a solver can minimise."""

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._rows import GroupedRows
from skrank.losses import ExplicitPairsLoss

# What an objective may lack, as its parts would say it.
_REASONS = {
    "smoothed": "{loss} has no smooth version",
    "relaxed": "{loss} has no cap to relax",
    "most_violated": "{loss} cannot name the most violated ranking",
    "measure": "{loss} is not an exact measure",
}


def _loss_has(name):
    return available_if(lambda objective: hasattr(objective.loss, name))


def _prepared_has(name):
    return available_if(lambda objective: hasattr(objective.prepared, name))


class Objective:
    r"""Mean loss of an energy's scores plus an L2 penalty.

    .. math:: J(w) = \frac{1}{W} \sum_q \ell_q(f_w(x_q), y_q)
              + \frac{\alpha}{2} \lVert w \rVert^2

    ``W`` is the number (with weights: the total weight) of the loss's units, be they
    documents, preference pairs or queries, so that ``alpha`` means the same for any
    amount of data.

    Parameters
    ----------
    energy : BaseEnergy
        After `setup`.
    loss : BaseLoss
        Hyper-parameters of the loss.
    data : GroupedRows
        Rows, grouped by query.
    alpha : float
        Strength of the penalty.
    n_threads : int, default=1
        Threads of the loss kernels.
    rng : RandomState, default=None
        Given while training with noise.
    prepared : PreparedLoss, default=None
        The loss bound to these rows already; None binds it here.
    """

    def __init__(
        self,
        energy,
        loss,
        data: GroupedRows,
        alpha: float,
        *,
        n_threads: int = 1,
        rng=None,
        prepared=None,
    ):
        self.energy = energy
        self.loss = loss
        self.data = data
        self.alpha = alpha
        self.n_threads = n_threads
        self.rng = rng
        self.prepared = self._bind(data, "prepare") if prepared is None else prepared
        self.total_weight = self.prepared.total_weight
        self.penalty = alpha * energy.penalty_mask(data.X.shape[1])
        self._single: dict[int, Objective] = {}

    def _bind(self, data, how: str):
        """Bind the loss to rows, with checks (``prepare``) or without (``_bind``)."""
        loss = self.loss
        if data.preferences is not None:
            given = data.preferences
            loss = ExplicitPairsLoss(
                loss=loss, pairs=given.pairs, pair_weight=given.weight
            )
        return getattr(loss, how)(
            data.y,
            data.ptr,
            data.sample_weight,
            labels=self.energy.labels_,
            n_threads=self.n_threads,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.data.n_queries

    def value_gradient(self, params):
        """Objective and its gradient with respect to the parameters."""
        data = self.data
        raw, vjp = self.energy.scores_and_vjp(params, data.X, self.rng, data.ptr)
        values, gradient = self.prepared.value_gradient(raw)
        # Data without any preference has no units and no gradient.
        scale = 1.0 / self.total_weight if self.total_weight else 0.0
        shrunk = self.penalty * params
        value = scale * float(np.sum(values)) + 0.5 * float(shrunk @ params)
        return value, vjp(scale * gradient) + shrunk

    def batch(self, queries, rng=None) -> "Objective":
        """Return the objective of some queries only.

        Its loss is divided by the share of the queries in the weight of all data, not
        by the weight that these queries happen to have, so that gradients of random
        batches average to the gradient of the whole.

        Objectives of single queries are kept: they come again in every epoch, and
        binding the loss to so few rows takes longer than evaluating it. Only a loss
        that is to draw anew for every batch is bound again.
        """
        if len(queries) != 1 or getattr(self.prepared, "draws_anew", False):
            return self._batch(queries, rng)
        query = int(queries[0])
        if query not in self._single:
            self._single[query] = self._batch(queries, rng)
        batch = self._single[query]
        batch.rng = rng
        return batch

    def _batch(self, queries, rng):
        data = self.data.subset(queries)
        # A loss that drew something for each query hands over what it drew.
        subset = getattr(self.prepared, "subset", None)
        prepared = self._bind(data, "_bind") if subset is None else subset(queries)
        batch = Objective(
            self.energy, self.loss, data, self.alpha, rng=rng, prepared=prepared
        )
        batch.total_weight = self.total_weight * len(queries) / self.n_queries
        return batch

    @_loss_has("smoothed")
    def smoothed(self, width: float) -> "Objective":
        """Return the objective with a smooth version of its loss.

        Parameters
        ----------
        width : float
            How far the smooth loss may be from the loss; see ``loss.smoothed``.

        Returns
        -------
        Objective
            On the same data.
        """
        return self._with_loss(self.loss.smoothed(width))

    @_loss_has("relaxed")
    def relaxed(self) -> "Objective":
        """Return the objective with its loss freed from a cap, on the same data."""
        return self._with_loss(self.loss.relaxed())

    @_prepared_has("most_violated")
    def most_violated(self, params):
        """Bound by the rankings that violate the margin most, and its subgradient.

        Both are means over the units, without the penalty: a cutting-plane solver adds
        them as one constraint and keeps the penalty itself.
        """
        raw, vjp = self.energy.scores_and_vjp(params, self.data.X, None, self.data.ptr)
        values, gradient = self.prepared.most_violated(raw)
        scale = 1.0 / self.total_weight if self.total_weight else 0.0
        return scale * float(np.sum(values)), vjp(scale * gradient)

    @_prepared_has("measure")
    def measure(self, params) -> float:
        """Exact mean of the ranking measure, for solvers that search directly."""
        raw = self.energy.document_scores(params, self.data.X, self.data.ptr)
        scale = 1.0 / self.total_weight if self.total_weight else 0.0
        return scale * float(np.sum(self.prepared.measure(raw)))

    def why_not(self, name: str) -> str:
        """Return the reason why a capability is missing, as a clause."""
        loss = type(self.loss).__name__
        reason = _REASONS.get(name, f"{{loss}} does not offer {name}")
        return reason.format(loss=loss)

    def _with_loss(self, loss):
        return Objective(
            self.energy,
            loss,
            self.data,
            self.alpha,
            n_threads=self.n_threads,
            rng=self.rng,
        )

    def constraint(self):
        """Set that parameters must stay in, or None; see `BaseEnergy.constraint`."""
        return self.energy.constraint(self.data.X.shape[1])

    def coordinates(self):
        """Coordinates in which a convex objective is well conditioned, or None."""
        ptr = self.data.ptr if self.loss.shift_invariant else None
        return self.energy.coordinates(self.data.X, self.alpha, ptr)
