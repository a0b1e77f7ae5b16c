"""The glue: energy + loss + data make an objective that a solver can minimise."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skrank._core._queries import QueryIndex, rows_of_queries
from skrank.losses._base import has_preference


@dataclass(frozen=True, eq=False)
class RankingData:
    """Validated rows, grouped by query.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows, those of a query next to each other.
    y : ndarray of shape (n_documents,)
        Grades.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.
    sample_weight : ndarray of shape (n_documents,) or None
        Row weights.
    init_score : ndarray of shape (n_documents,) or None
        Scores to start from, where a ranker takes them.
    """

    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    ptr: np.ndarray
    sample_weight: np.ndarray | None = None
    init_score: np.ndarray | None = None

    @classmethod
    def grouped(
        cls, X, y, index: QueryIndex, sample_weight=None, init_score=None
    ) -> "RankingData":
        """Bring rows into the order of a query index."""
        rows = [index.take(array) for array in (X, y, sample_weight, init_score)]
        return cls(*rows[:2], index.ptr, *rows[2:])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.ptr) - 1

    def subset(self, queries) -> "RankingData":
        """Rows of some queries, in the order given."""
        rows, ptr = rows_of_queries(self.ptr, queries)
        if len(queries) == 1:
            rows = slice(*self.ptr[queries[0] : queries[0] + 2])  # no copy
        weight, score = (
            None if array is None else array[rows]
            for array in (self.sample_weight, self.init_score)
        )
        return RankingData(self.X[rows], self.y[rows], ptr, weight, score)

    def hold_out(self, fraction, rng) -> tuple["RankingData", "RankingData"]:
        """Split the queries into training and validation queries.

        Parameters
        ----------
        fraction : float
            Share of the queries to hold out, rounded up.
        rng : RandomState
            Chooses them.

        Returns
        -------
        tuple of RankingData
            Training and validation queries.

        Raises
        ------
        ValueError
            If no query is left to train on.
        """
        n_held = int(np.ceil(fraction * self.n_queries))
        if n_held >= self.n_queries:
            raise ValueError(
                f"early_stopping needs queries to hold out: {self.n_queries} queries "
                f"and validation_fraction={fraction} leave none to train on; pass "
                "X_val, y_val and groups_val, or more queries"
            )
        held = rng.permutation(self.n_queries)[:n_held]
        chosen = np.zeros(self.n_queries, dtype=bool)
        chosen[held] = True
        return (
            self.subset(np.flatnonzero(~chosen)),
            self.subset(np.flatnonzero(chosen)),
        )

    def has_preference(self):
        """Whether the grades of each query differ, shape (n_queries,)."""
        return has_preference(self.y, self.ptr)


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
    data : RankingData
        Grouped rows.
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
        self, energy, loss, data, alpha, *, n_threads=1, rng=None, prepared=None
    ):
        self.energy = energy
        self.loss = loss
        self.data = data
        self.alpha = alpha
        self.n_threads = n_threads
        self.rng = rng
        self.prepared = self._prepare() if prepared is None else prepared
        self.total_weight = self.prepared.total_weight
        self.penalty = alpha * energy.penalty_mask(data.X.shape[1])
        self._single: dict[int, Objective] = {}

    def _prepare(self):
        data, labels = self.data, self.energy.labels_
        options = {"n_threads": self.n_threads}
        if labels is not None:
            if not self.loss.reads_labels:
                raise TypeError(
                    f"{type(self.loss).__name__} compares scores of documents, but "
                    f"{type(self.energy).__name__} has one energy per label; use a "
                    "loss functional such as HingeLoss, or an energy without labels"
                )
            options["labels"] = labels
        return self.loss.prepare(data.y, data.ptr, data.sample_weight, **options)

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
        prepared = None if subset is None else subset(queries)
        batch = Objective(
            self.energy, self.loss, data, self.alpha, rng=rng, prepared=prepared
        )
        batch.total_weight = self.total_weight * len(queries) / self.n_queries
        return batch

    def smoothed(self, width) -> "Objective":
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
        if not hasattr(self.loss, "smoothed"):
            raise TypeError(
                f"{type(self.loss).__name__} has no smooth version; use another solver"
            )
        return self._with_loss(self.loss.smoothed(width))

    def relaxed(self) -> "Objective":
        """Return the objective with its loss freed from a cap, on the same data."""
        if not hasattr(self.loss, "relaxed"):
            raise TypeError(
                f"{type(self.loss).__name__} has no cap to relax; use another solver"
            )
        return self._with_loss(self.loss.relaxed())

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
