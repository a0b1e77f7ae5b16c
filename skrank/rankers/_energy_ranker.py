"""Rankers made of an energy, a loss and a solver."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import as_answer
from skrank._core._parameters import NonNegative, PositiveInt, own_names
from skrank._core._registry import by_short_name
from skrank._core._threads import blas_threads, effective_n_threads
from skrank._core._validation import as_numbers
from skrank._monitor import Monitor
from skrank._objective import Objective, require_loss_of_pairs
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR, GroupsAtPredictMixin
from skrank.energies import (
    AbsoluteLabelEnergy,
    BaseEnergy,
    KernelEnergy,
    LinearEnergy,
    MLPEnergy,
    PreferenceWeightsEnergy,
)
from skrank.energies._mlp import Activation, Dropout, LayerSizes
from skrank.losses import BaseLoss, HingeLoss, ListNetLoss, LogLoss, SquaredLoss
from skrank.losses._base import with_seeds
from skrank.rankers._iterations import (
    BaseIterativeRanker,
    EarlyStoppingMixin,
    ThreadsMixin,
)
from skrank.solvers import LBFGS, SGD, Adam, BaseSolver, SolverResult


class BaseEnergyRanker(EarlyStoppingMixin, ThreadsMixin, BaseIterativeRanker):
    """Base class of rankers that minimise a loss of an energy's scores.

    A subclass names its energy and its loss in ``_parts``. The objective, the solver,
    early stopping on validation queries, restarts and warm starts are written here.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation; None means `LBFGS` for linear energies and `Adam`
        otherwise.
    max_iter : int, default=None
        Maximum number of iterations or epochs; None leaves the solver's own.
    tol : float, default=None
        Tolerance of the solver; None leaves the solver's own.
    n_restarts : int, default=1
        Number of minimisations from different random parameters. The result that is
        best on the validation queries is kept, or without them the one with the lowest
        objective. Restarts help where the objective is not convex.
    warm_start : bool, default=False
        Whether to start from the parameters of the last `fit`.
    callback : callable or sequence of callables, default=None
        Function that is called before the first iteration and after each one with a
        dict of ``iteration`` (0 before the first), ``objective``, ``descends`` (False
        if the objective may rise by design, as that of LambdaRank), ``params`` (the
        current parameters), ``energy`` (the energy that is trained), ``data`` (the
        training rows, grouped by query and transformed by the energy) and, where there
        are validation queries or the objective may rise, ``evals`` (the value of each
        measure, by the names of the set and of the measure), and with validation
        queries ``validation`` (the value that decides). If it returns True, training
        stops. Of several functions all are called.

    Attributes
    ----------
    params_ : ndarray of shape (n_params,)
        Learned parameters.
    coef_ : ndarray of shape (n_features,) or (n_components,)
        Coefficients, set only where the energy is linear: of shape (n_features,) for
        scores that are linear in the features of X, and of shape (n_components,) for
        kernels, whose scores are linear in the features of the kernel.
    intercept_ : float
        Constant, set only where the energy is linear; 0 if the energy has none.
    n_iter_ : int
        Number of iterations of the solver.
    converged_ : bool
        Whether the solver met its own criterion or was stopped early.
    gap_ : float
        How far the objective is above its minimum at most, set only where the solver
        knows it, as `CuttingPlane` does of its last parameters; not where those of an
        earlier iteration are kept because validation queries prefer them.
    loss_curve_ : ndarray of shape (n_iterations,)
        Objective after each iteration. Of stochastic solvers it is the mean over the
        batches of each epoch, each taken before its own step, with the noise that
        training adds; of solvers that smooth the loss it is the smoothed objective, as
        for ``RankSVM(hinge="linear")``, which may rise while the width of the parabolas
        falls. So it may where the loss itself changes on the way: with the working set
        of `PermuRank`, and with the weights of pairs of `RobustSparseRanker`.
    validation_curve_ : ndarray
        Validation measure that decides after each iteration, if there were validation
        queries.
    best_iteration_ : int
        Iteration whose parameters were kept.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries.
    n_queries_without_preference_ : int
        Number of training queries whose documents all have the same grade, or that
        have no pair where pairs replace grades; pairwise losses learn nothing from
        them.
    """

    alpha: NonNegative = 1e-4
    solver: BaseSolver | Literal["lbfgs", "sgd", "adam"] | None = None
    max_iter: PositiveInt | None = None
    tol: NonNegative | None = None
    n_restarts: PositiveInt = 1
    warm_start: bool = False

    #: Makers of the solvers that ``solver`` can name by a string.
    _solvers: ClassVar[dict[str, Callable[[], BaseSolver]]] = {
        **by_short_name((LBFGS, SGD, Adam), BaseSolver)
    }

    #: What the ranker calls parameters of its loss, where it calls them otherwise.
    _names_in_loss: ClassVar[dict[str, str]] = {}

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        """Return the energy and the loss of this ranker; never fitted ones."""
        raise NotImplementedError

    def _clone_parts(self) -> tuple[Any, Any]:
        energy, loss = self._parts()
        return clone(energy), clone(loss)

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return LBFGS() if energy.linear else Adam()

    def _resolve_solver(self, energy: BaseEnergy) -> BaseSolver:
        if self.solver is None:
            solver = self._default_solver(energy)
        elif isinstance(self.solver, str):
            solver = self._solvers[self.solver]()
        else:
            solver = clone(self.solver)
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        return solver.set_params(**{k: v for k, v in limits.items() if v is not None})

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        rng = check_random_state(self.random_state)
        data, validation = self._hold_out(data, validation, rng)
        energy, loss = self._clone_parts()
        loss = with_seeds(loss, rng)
        self._store(*self._minimise(energy, loss, data, validation, rng))

    def _minimise(self, energy, loss, data, validation, rng):
        """Fit an energy under a loss; return both, the solver's result, the monitor."""
        solver = self._resolve_solver(energy)
        _check_n_scores(energy, loss)
        energy.setup(data.X, rng, data.y, data.ptr)
        # Once per fit, and not in every evaluation: features of kernels are expensive.
        data = replace(data, X=energy.transform(data.X))
        if validation is not None:
            validation = replace(validation, X=energy.transform(validation.X))
        # Kernels and energies bring threads of their own; those of BLAS slow them down.
        with blas_threads(1):
            ended = self._restarts(solver, energy, loss, data, validation, rng)
        return energy, loss, *min(ended, key=_badness)

    def _restarts(self, solver, energy, loss, data, validation, rng):
        """Return the result of the solver and the monitor of every minimisation."""
        n_threads = effective_n_threads(self.n_jobs)
        with own_names(self, loss, self._names_in_loss):
            objective = self._objective(energy, loss, data, n_threads)
        _check_n_columns(energy, loss, getattr(objective, "prepared", None))

        def scores_of(params, rows):
            return self._model_scores(energy, loss, params, rows.X, rows.ptr)

        context = {"energy": energy, "data": data}
        ended: list[tuple[SolverResult, Monitor]] = []
        for _ in range(self.n_restarts):
            params = self._start(energy, data.X.shape[1], rng)
            monitor = self._monitor(
                data,
                validation,
                scores_of,
                context=context,
                resumed=self.warm_start and hasattr(self, "params_"),
                descends=loss.descends,
            )
            result = solver.solve(
                objective, params, rng, monitor if monitor.needed else None
            )
            name = f"{type(solver).__name__}.solve"
            found = as_answer(result.params, name, len(params), "parameters")
            # A solver of the user's may use one array for all of its results.
            ended.append((replace(result, params=found.copy()), monitor))
        return ended

    def _objective(self, energy, loss, data, n_threads):
        """Return what the solver minimises."""
        return Objective(energy, loss, data, self.alpha, n_threads=n_threads)

    def _n_params(self, energy, n_features) -> int:
        """Return the number of parameters of the model."""
        return energy.n_params(n_features)

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        """Return the parameters to start from."""
        return energy.init_params(n_features, rng)

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        """Return the scores that rank documents, as the loss saw them in training."""
        # Such a loss compares energies at the best label of each document (eq. 3 of
        # Fang & Liu), and not the scores that the energies were made from.
        if energy.labels_ is not None and loss.compares_minima:
            return energy.scores(params, X, ptr).max(axis=1)
        return loss.to_scores(energy.document_scores(params, X, ptr))

    def _start(self, energy, n_features, rng):
        if not (self.warm_start and hasattr(self, "params_")):
            return self._init_params(energy, n_features, rng)
        n_params = self._n_params(energy, n_features)
        if len(self.params_) == n_params:
            return self.params_
        raise ValueError(
            f"warm_start=True: the last fit has {len(self.params_)} parameters, this "
            f"one {n_params}; keep the features and the energy, or set warm_start=False"
        )

    def _store(self, energy, loss, result: SolverResult, monitor: Monitor) -> None:
        self.energy_ = energy
        self.loss_ = loss
        kept = monitor.best_state
        self.params_ = result.params if kept is None else kept
        self.converged_ = result.converged
        vars(self).pop("gap_", None)
        if result.gap is not None and np.array_equal(self.params_, result.params):
            self.gap_ = result.gap
        self._store_progress(monitor, result.n_iter, result.history)
        if energy.linear:
            self._store_coef(energy)

    def _has_warned_of_its_solver(self) -> bool:
        # Without a tolerance there is nothing to converge to.
        tol = getattr(self._resolve_solver(self.energy_), "tol", None)
        return not self.converged_ and tol is not None

    def _store_coef(self, energy):
        self.coef_, self.intercept_ = energy.coefficients(self.params_)

    def _predict(self, X, ptr=None):
        energy, loss = self.energy_, self.loss_
        rows = energy.transform(X)
        return self._model_scores(energy, loss, self._fitting_params(rows), rows, ptr)

    def _energies(self, X, ptr=None):
        energy = self.energy_
        rows = energy.transform(X)
        return -energy.scores(self._fitting_params(rows), rows, ptr)

    def _fitting_params(self, rows) -> np.ndarray:
        """Return the learned parameters, if the energy has as many of them.

        Compiled code reads as many parameters as the energy has, so that too few or too
        many, as a tampered file can hold, would make it read foreign memory.
        """
        n_params = self._n_params(self.energy_, rows.shape[1])
        if np.shape(self.params_) != (n_params,):
            raise ValueError(
                f"params_ must have shape ({n_params},) for this energy and "
                f"{rows.shape[1]} features, got {np.shape(self.params_)}"
            )
        return self.params_

    def energies(
        self,
        X: ArrayOrCSR,
        labels: float | npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        r"""Return the energies of documents; lower is better.

        .. math:: E(q, d) = \min_{r \in R} E(q, d, r)

        For energies that do not depend on the label r, this is the negative score.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        labels : float or array-like of shape (n_documents,), default=None
            If given, :math:`E(q, d, r)` at these labels instead of the minimum over all
            labels seen in training. Only for energies that depend on the label.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, for energies that look at all documents of a query.

        Returns
        -------
        ndarray of shape (n_documents,)
            Energies.

        Raises
        ------
        ValueError
            If ``labels`` are given to an energy that does not depend on them, or are
            not among those of training, or if groups are needed and missing.

        References
        ----------
        [Fang2016]_, section 4, eq. 3.
        """
        check_is_fitted(self)
        energies = self._by_query(self._energies, X, groups, "energies")
        return _at_labels(energies, self.energy_, labels)

    def predict_labels(self, X: ArrayOrCSR) -> np.ndarray:
        r"""Return the most compatible label of each document.

        .. math:: r^*(d) = \arg\min_{r \in R} E(q, d, r)

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Labels; among labels of equal energy, the lowest.

        Raises
        ------
        ValueError
            If the energy does not depend on the label.

        References
        ----------
        [Fang2016]_, section 3.1, eq. 1.
        """
        check_is_fitted(self)
        if self.energy_.labels_ is None:
            raise ValueError(_no_labels(self.energy_))
        energies = self._energies(self._check_rows(X, reset=False))
        return self.energy_.labels_[np.argmin(energies, axis=1)]


def _badness(end) -> float:
    """Return how badly a minimisation ended, on validation queries if there are any."""
    result, monitor = end
    return -monitor.best if monitor.curve else result.value


def _no_labels(energy):
    return (
        f"{type(energy).__name__} does not depend on the label; use a label-dependent "
        "energy such as AbsoluteLabelEnergy"
    )


def _check_n_scores(energy, loss) -> None:
    n_scores = energy.n_outputs if isinstance(energy, PreferenceWeightsEnergy) else 1
    if n_scores != 1 and not loss.weighs_scores:
        raise ValueError(
            f"energy gives {n_scores} scores for each document (n_weights={n_scores}), "
            f"but {type(loss).__name__} compares one; set n_weights=1, or the loss to "
            "CDNLoss()"
        )


def _check_n_columns(energy, loss, prepared) -> None:
    """Refuse an energy that makes another number of scores than the loss compares."""
    needed = getattr(prepared, "n_columns", None)
    if needed is None or energy.labels_ is not None:
        return
    accepted = (1, 2) if loss.weighs_scores else (needed,)
    if energy.n_outputs not in accepted:
        scores = "score" if energy.n_outputs == 1 else "scores"
        raise ValueError(
            f"energy and loss do not fit each other: {type(energy).__name__} makes "
            f"{energy.n_outputs} {scores} for each document, and {type(loss).__name__} "
            f"takes {' or '.join(map(str, accepted))} with these grades"
        )


def _at_labels(energies, energy, labels):
    """Return the energies at given labels, or their minimum over all labels."""
    known = energy.labels_
    if known is None:
        if labels is not None:
            raise ValueError(f"labels: {_no_labels(energy)}")
        return energies
    if labels is None:
        return energies.min(axis=1)
    labels = as_numbers(labels, "labels")
    if labels.shape not in ((), (len(energies),)):
        raise ValueError(
            f"labels must be one number, or one for each of {len(energies)} rows, got "
            f"shape {labels.shape}"
        )
    labels = np.broadcast_to(labels, len(energies))
    # Labels above all known ones have no column; the next line finds them out.
    columns = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    unknown = labels[known[columns] != labels]
    if len(unknown):
        raise ValueError(
            f"labels must be among those of training, {known.tolist()}; found "
            f"{unknown[0]:g}"
        )
    return energies[np.arange(len(energies)), columns]


class BaseNetworkRanker(BaseEnergyRanker):
    """Base class of rankers whose scores are linear or those of a network.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=()
        Number of units in each hidden layer of the scoring network; an empty sequence
        means linear scores.
    activation : {"relu", "tanh", "scaled_tanh", "sigmoid", "identity"}, default="relu"
        Function of the hidden units.
    dropout : float, default=0.0
        Fraction of hidden units left out in training.
    """

    hidden_layer_sizes: LayerSizes = field(default=(), kw_only=False)
    activation: Activation = "relu"
    dropout: Dropout = 0.0

    def _energy(self) -> BaseEnergy:
        """Return linear scores for no hidden layer, a network otherwise."""
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object))
        if not len(sizes):
            return LinearEnergy(n_jobs=self.n_jobs)
        return MLPEnergy(
            hidden_layer_sizes=tuple(sizes),
            activation=self.activation,
            dropout=self.dropout,
            n_jobs=self.n_jobs,
        )


class GroupedEnergiesMixin(GroupsAtPredictMixin):
    """Mixin of rankers whose energy may look at all documents of a query."""

    @property
    def _needs_groups(self) -> bool:
        return self.energy_.needs_groups


class EnergyRanker(GroupedEnergiesMixin, BaseEnergyRanker):
    r"""Free composition of an energy, a loss and a solver.

    .. math:: \hat w = \arg\min_w \frac{1}{W} \sum_q \ell_q(f_w(x_q), y_q)
              + \frac{\alpha}{2} \lVert w \rVert^2, \qquad E(q, d) = -f_w(x)

    Every ranker of this package that fits the scheme is one choice of the three parts.
    The parts are estimators themselves, so that their parameters can be searched.

    Under a loss of pairs, `fit` also takes pairs of row numbers in place of grades, the
    preferred document first: ``fit(X, preferences=pairs)``.

    Complexity: that of the energy and of the loss in every iteration.

    Parameters
    ----------
    energy : BaseEnergy, default=None
        Family of scoring functions; None means `LinearEnergy`.
    loss : BaseLoss, default=None
        Loss of the scores; None means `LogLoss`.

    References
    ----------
    [Fang2016]_, section 4, eq. 2–4.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.energies import LinearEnergy
    >>> from skrank.losses import ListNetLoss
    >>> from skrank.rankers import EnergyRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = EnergyRanker(LinearEnergy(), ListNetLoss()).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "any"

    energy: BaseEnergy | None = field(default=None, kw_only=False)
    loss: BaseLoss | None = field(default=None, kw_only=False)

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        network = MLPEnergy(hidden_layer_sizes=(8,))
        by_label = HingeLoss(reading="pointwise")
        return [
            {},
            {"energy": network, "loss": ListNetLoss(), "n_restarts": 2},
            {"energy": AbsoluteLabelEnergy(), "loss": by_label, "solver": "adam"},
            {"energy": KernelEnergy(n_components=20), "loss": SquaredLoss()},
        ]

    @property
    def _accepts_sparse(self):
        # Also after a parameter has been set to something that only `fit` will refuse.
        return bool(getattr(self.energy, "accepts_sparse", True))

    def _learned_accepts(self):
        return self.energy_.accepts_sparse, self._accepts_missing

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if data.preferences is not None:
            require_loss_of_pairs(self, self._parts()[1])
        super()._fit(data, validation)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        energy = (
            LinearEnergy(n_jobs=self.n_jobs) if self.energy is None else self.energy
        )
        loss = LogLoss() if self.loss is None else self.loss
        return energy, loss
