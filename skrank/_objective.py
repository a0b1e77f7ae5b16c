"""The objective that a solver minimises, made of an energy, a loss and data."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._core._finite import largest_safe
from skrank._core._parameters import invalid_parameter
from skrank._rows import GroupedRows
from skrank.losses import ExplicitPairsLoss

# Capabilities that an objective may lack, with the reasons as clauses.
_REASONS = {
    "smoothed": "{loss} has no smooth version",
    "relaxed": "{loss} has no cap to relax",
    "held_at": "{loss} has no weights to hold at a ranking",
    "extended": "{loss} has no working set of rankings",
    "most_violated": "{loss} cannot name the most violated ranking",
    "measure": "{loss} is not an exact measure",
}


def _loss_has(name):
    return available_if(lambda objective: hasattr(objective.loss, name))


def _prepared_has(name):
    return available_if(lambda objective: hasattr(objective.prepared, name))


def loss_of_judgements(loss: Any, data: GroupedRows) -> Any:
    """Return the loss of grades, or that of the preferences that replace them.

    Parameters
    ----------
    loss : BaseLoss
        Loss of grades; where there are preferences, one of pairs.
    data : GroupedRows
        Rows, with grades or preferences.

    Returns
    -------
    BaseLoss
        The loss to bind to these rows.
    """
    if data.preferences is None:
        return loss
    given = data.preferences
    return ExplicitPairsLoss(loss, given.pairs, given.weight)


def require_loss_of_pairs(ranker: Any, loss: Any) -> None:
    """Raise an error unless a loss that a user chose can be one of given pairs.

    Parameters
    ----------
    ranker : BaseRanker
        Ranker with the parameter ``loss``.
    loss : BaseLoss
        The loss.

    Raises
    ------
    InvalidParameterError
        If the loss is not one of pairs, or weighs pairs by their grades.
    """
    of_pairs = hasattr(loss, "pair_loss") or hasattr(loss, "over_pairs")
    if not of_pairs or getattr(loss, "grade_weights", None) is not None:
        accepted = (
            "a loss that can be one of given pairs, such as LogLoss(), without "
            "grade_weights, where fit takes preferences in place of grades"
        )
        raise invalid_parameter(ranker, "loss", accepted, loss)


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
        Energy after `setup`.
    loss : BaseLoss
        Loss of the scores.
    data : GroupedRows
        Rows, grouped by query.
    alpha : float
        Strength of the penalty.
    n_threads : int, default=1
        Number of threads of the loss kernels.
    rng : RandomState, default=None
        Generator of the noise of training, such as dropout; None for no noise.
    prepared : PreparedLoss, default=None
        The loss, already bound to these rows; None binds it here.
    """

    def __init__(
        self,
        energy: Any,
        loss: Any,
        data: GroupedRows,
        alpha: float,
        *,
        n_threads: int = 1,
        rng: np.random.RandomState | None = None,
        prepared: Any = None,
    ):
        self.energy = energy
        self.loss = loss
        self.data = data
        self.alpha = alpha
        self.n_threads = n_threads
        self.rng = rng
        self.prepared = self._bind(data, "prepare") if prepared is None else prepared
        self.total_weight = self.prepared.total_weight
        self._single: dict[int, Objective] = {}

    def _bind(self, data, how: str):
        """Bind the loss to rows, with checks (``prepare``) or without (``_bind``)."""
        return getattr(loss_of_judgements(self.loss, data), how)(
            data.y,
            data.ptr,
            data.sample_weight,
            labels=self.energy.labels_,
            n_threads=self.n_threads,
        )

    @cached_property
    def penalty(self) -> np.ndarray:
        """Strength of the penalty of each parameter, shape (n_params,)."""
        return self.alpha * self.penalty_mask()

    @property
    def excessive(self) -> str | None:
        """The parameters of the loss, in words, whose size alone makes it overflow."""
        limit = largest_safe(np.float64)
        found = [
            f"{name} of {self.loss_name}, which is {value:g}"
            for name, value in self.loss.get_params(deep=False).items()
            if isinstance(value, float) and limit < abs(value) < math.inf
        ]
        return ", ".join(found) or None

    @property
    def convex(self) -> bool:
        """Whether it is convex in the parameters."""
        return bool(self.energy.linear and self.loss.convex)

    @property
    def loss_name(self) -> str:
        """Name of the loss for error messages."""
        loss = self.loss
        return type(loss).__name__

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.data.n_queries

    @property
    def _scale(self) -> float:
        """Factor that turns sums over units into means."""
        # Data without any preference have no units and no gradient.
        return 1.0 / self.total_weight if self.total_weight else 0.0

    def value_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient with respect to the parameters."""
        data = self.data
        raw, vjp = self.energy.scores_and_vjp(params, data.X, self.rng, data.ptr)
        values, gradient = self.prepared.value_gradient(raw)
        scale = self._scale
        shrunk = self.penalty * params
        value = scale * float(values.sum()) + 0.5 * float(shrunk @ params)
        return value, vjp(scale * gradient) + shrunk

    def batch(
        self, queries: np.ndarray, rng: np.random.RandomState | None = None
    ) -> "Objective":
        """Return the objective of some queries only.

        The loss is divided by the share of the queries in the weight of all data, not
        by the weight that these queries happen to have, so that gradients of random
        batches average to the gradient of the whole.

        Objectives of single queries are kept: they come again in every epoch, and
        binding the loss to so few rows takes longer than evaluating it. Only a loss
        that draws anew for every batch is bound again.
        """
        if len(queries) != 1 or self.prepared.draws_anew:
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
        batch = type(self)(
            self.energy, self.loss, data, self.alpha, rng=rng, prepared=prepared
        )
        batch.penalty = self.penalty
        batch.total_weight = self.total_weight * len(queries) / self.n_queries
        return batch

    @_loss_has("smoothed")
    def smoothed(self, width: float) -> "Objective":
        """Return the objective with a smooth version of its loss.

        Parameters
        ----------
        width : float
            Width of the smoothing; see ``loss.smoothed``.

        Returns
        -------
        Objective
            Smooth objective on the same data.
        """
        return self._with_loss(self.loss.smoothed(width))

    @_loss_has("relaxed")
    def relaxed(self) -> "Objective":
        """Return the objective with its loss freed from a cap, on the same data."""
        return self._with_loss(self.loss.relaxed())

    @_prepared_has("held_at")
    def held_at(self, params: np.ndarray) -> "Objective":
        """Return the objective with the weights of its loss held at some parameters.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters at whose ranking pairs are weighed.

        Returns
        -------
        Objective
            Objective on the same data.
        """
        return self._with_prepared(self.prepared.held_at(self._scores(params)))

    @_prepared_has("extended")
    def extended(self, params: np.ndarray) -> "Objective":
        """Return the objective with the rankings by some parameters in its working set.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters whose rankings are added.

        Returns
        -------
        Objective
            Objective on the same data.
        """
        return self._with_prepared(self.prepared.extended(self._scores(params)))

    def _scores(self, params):
        return self.energy.document_scores(params, self.data.X, self.data.ptr)

    def _with_prepared(self, prepared):
        return Objective(
            self.energy,
            self.loss,
            self.data,
            self.alpha,
            n_threads=self.n_threads,
            rng=self.rng,
            prepared=prepared,
        )

    def penalty_mask(self) -> np.ndarray:
        """Return 1 for parameters that penalties count, and 0 for all others."""
        return self.energy.penalty_mask(self.data.X.shape[1])

    @_prepared_has("most_violated")
    def most_violated(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the bound by the most violated rankings, and its subgradient.

        Both are means over the units, without the penalty: a cutting-plane solver adds
        them as one constraint and keeps the penalty itself.
        """
        raw, vjp = self.energy.scores_and_vjp(params, self.data.X, None, self.data.ptr)
        values, gradient = self.prepared.most_violated(raw)
        return self._scale * float(np.sum(values)), vjp(self._scale * gradient)

    @_prepared_has("measure")
    def measure(self, params: np.ndarray) -> float:
        """Return the exact mean of the measure, for solvers that search directly."""
        raw = self.energy.document_scores(params, self.data.X, self.data.ptr)
        return self._scale * float(np.sum(self.prepared.measure(raw)))

    def why_not(self, name: str) -> str:
        """Return the reason why a capability is missing, as a clause."""
        loss = type(self.loss).__name__
        reason = _REASONS.get(name, f"{{loss}} does not offer {name}")
        return reason.format(loss=loss)

    def _with_loss(self, loss) -> "Objective":
        return type(self)(
            self.energy,
            loss,
            self.data,
            self.alpha,
            n_threads=self.n_threads,
            rng=self.rng,
        )

    def constraint(self) -> Any:
        """Return the set of admissible parameters; see `BaseEnergy.constraint`."""
        return self.energy.constraint(self.data.X.shape[1])

    def coordinates(self) -> Any:
        """Return coordinates in which the objective is well conditioned, or None."""
        # Shifts of the scores of a query cancel in such a loss, so that only the
        # differences of rows within a query count.
        ptr = self.data.ptr if self.loss.shift_invariant else None
        return self.energy.coordinates(self.data.X, self.alpha, ptr)
