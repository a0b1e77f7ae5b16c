"""Training observed: energies before, during and after it.

A ranker reports its parameters after every iteration, and those that it starts from as
iteration 0, but it keeps only the last. So a clone of the ranker is trained here with a
callback that keeps what is reported, and the energies are computed afterwards, from the
rows as the fitted clone sees them. Nothing of the training is repeated, imitated or
replaced: the clone is the ranker that `fit` would have made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import clone

from skrank._core._messages import shown
from skrank._core._pipelines import (
    check_is_estimator,
    last_step,
    rows_of_last_step,
)
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    check_grades,
    check_groups,
    naming,
    resolve_groups,
)
from skrank.rankers._iterations import callbacks_of


@dataclass
class _Run:
    """One minimisation; a ranker with restarts makes several."""

    start: np.ndarray
    objectives: list[float] = field(default_factory=list)
    params: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows as the ranker sees them, grouped by query.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows, after the other steps of a pipeline and checked by the ranker.
    y : ndarray of shape (n_documents,)
        Relevance grades.
    ptr : ndarray of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
    """

    X: Any
    y: np.ndarray
    ptr: np.ndarray

    @property
    def query_of_rows(self) -> np.ndarray:
        """Number of the query of each row."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))


_Record = Callable[[np.ndarray, TrainingRows, np.ndarray | None], Any]


class TrainingWatch:
    """Train a clone of an energy ranker and look at the energies of its training rows.

    Complexity: besides the training itself, the energies of all rows once per iteration
    if there is anything to ``record``, and twice otherwise. With ``record``, the
    parameters of every iteration are held in memory until the training has ended.

    Parameters
    ----------
    estimator : ranker or Pipeline
        An energy ranker, or a pipeline that ends in one; left unchanged.
    caller : str
        Name of the class that watches, for error messages.
    by_label : bool, default=None
        Whether energies are those of documents and labels, E(q, d, r), rather than
        those that documents are ranked by, E(q, d). None means the former if the energy
        depends on the label.
    record : callable, default=None
        ``record(energies, data, labels)`` returns what is kept of an iteration.

    Attributes
    ----------
    estimator : ranker or Pipeline
        The clone, fitted.
    ranker : BaseEnergyRanker
        The clone itself, or the last step of the pipeline.
    data : TrainingRows
        Training rows, those held out for validation among them.
    labels : ndarray of shape (n_labels,) or None
        Labels of the columns of the energies.
    records : list
        Records of the minimisation that was kept: one before training, then one after
        every iteration.
    """

    def __init__(
        self,
        estimator: Any,
        caller: str,
        *,
        by_label: bool | None = None,
        record: _Record | None = None,
    ):
        with naming("estimator"):
            self.estimator: Any = clone(check_is_estimator(estimator))
        self.ranker = last_step(self.estimator)
        if not hasattr(self.ranker, "energies"):
            raise TypeError(
                f"estimator: {caller} needs an energy-based ranker such as "
                "EnergyRanker, or a pipeline that ends in one, got "
                f"{type(self.ranker).__name__}"
            )
        self.caller = caller
        self.by_label = by_label
        self.record = record
        self.records: list[Any] = []
        self._runs: list[_Run] = []

    @property
    def name(self) -> str:
        """Name of the ranker."""
        return type(self.ranker).__name__

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> Self:
        """Train the clone.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        y : array-like of shape (n_documents,)
            Relevance grades.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order. If None, the ids are read from a level
            named "qid" of the pandas index of ``y`` or ``X``.
        fit_params : mapping, default=None
            Further arguments of `fit`.

        Returns
        -------
        TrainingWatch
            The watch itself.

        Raises
        ------
        TypeError
            If the ranker trains several models, if its solver does not report where it
            starts, or if it cannot be told which of several minimisations was kept.
        """
        if not all(isinstance(name, str) for name in fit_params or {}):
            raise TypeError(
                "fit_params must be a dict from names of arguments, got "
                f"{shown(fit_params)}"
            )
        arguments = dict(fit_params or {})
        if groups is not None:
            arguments["groups"] = groups
        callback = self.ranker.callback
        self.ranker.callback = [*callbacks_of(callback), self._after_iteration]
        try:
            # Pipelines pass groups on by routing and by nothing else.
            with sklearn.config_context(enable_metadata_routing=True):
                self.estimator.fit(X, y, **arguments)
        finally:
            self.ranker.callback = callback
        self._run = self._kept_run()
        self._runs.clear()
        self._keep_rows(X, y, groups)
        if self.record is not None:
            self.records = [
                self.record(self._energies(params), self.data, self.labels)
                for params in self._run.params
            ]
        return self

    def _after_iteration(self, info):
        self._note(**info)

    def _note(self, iteration, objective, params, **more):
        # Solvers may go on to write into the array that they report.
        params = np.array(params)
        if iteration == 0:
            self._runs.append(_Run(params))
        elif self._runs:
            self._runs[-1].objectives.append(objective)
        if self._runs and self.record is not None:
            self._runs[-1].params.append(params)

    def _kept_run(self) -> _Run:
        ranker = self.ranker
        if not self._runs:
            raise TypeError(
                f"{type(ranker.solver).__name__} does not report where it starts, so "
                "the energies before training are not known; let it call "
                "monitor.start(params, value)"
            )
        if len(self._runs) != ranker.n_restarts:
            raise TypeError(
                f"{self.name} trains several models one after the other; their "
                "energies cannot be shown as those of one"
            )
        curve = ranker.loss_curve_.tolist()
        kept = [run for run in self._runs if run.objectives == curve]
        if not kept:
            raise TypeError(
                f"{type(ranker.solver).__name__} reports other objectives than it "
                "returns, so it cannot be told which of the minimisations was kept"
            )
        return kept[0]

    def _keep_rows(self, X, y, groups):
        """Group the training rows as the ranker did and transform them as it does."""
        grades = check_grades(y)
        ids = resolve_groups(groups, y, X, n_samples=len(grades), caller=self.caller)
        ids = check_groups(ids, len(grades))
        rows = rows_of_last_step(self.estimator, X, ids)
        rows = self.ranker._check_rows(rows, reset=False)
        index = QueryIndex.from_groups(ids, canonical=True)
        self.data = TrainingRows(index.take(rows), index.take(grades), index.ptr)
        energy = self.ranker.energy_
        # Kernels and whitening transform all rows once, not in every iteration.
        self._inputs = energy.transform(self.data.X)
        by_label = energy.labels_ is not None and self.by_label in (None, True)
        self.labels = energy.labels_ if by_label else None

    def _energies(self, params) -> np.ndarray:
        energy, loss = self.ranker.energy_, self.ranker.loss_
        rows = params, self._inputs, self.data.ptr
        if self.labels is None:
            scores = self.ranker._model_scores(energy, loss, *rows)
        else:
            scores = energy.scores(*rows)
        return -np.asarray(scores, dtype=np.float64)

    def before(self) -> np.ndarray:
        """Return the energies at the start of the minimisation that was kept."""
        return self._energies(self._run.start)

    def after(self) -> np.ndarray:
        """Return the energies at the parameters that the ranker kept."""
        return self._energies(self.ranker.params_)
