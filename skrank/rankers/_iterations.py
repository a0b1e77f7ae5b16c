"""Progress and early stopping of rankers that learn in iterations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._core._parameters import (
    Fraction,
    NonNegativeInt,
    NThreads,
    Parameters,
    PositiveInt,
    Seed,
)
from skrank._monitor import Monitor, PrintProgress, ReportToScikitLearn
from skrank._rows import GroupedRows
from skrank._training_data import warn_of_validation_data
from skrank.base import BaseRanker
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike


class BaseIterativeRanker(BaseRanker):
    """Base class of rankers that learn in iterations and report their progress.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of all randomness. The same seed gives the same model to the bit, for any
        number of threads and any order of the queries with the same ids.
    verbose : int, default=0
        Amount of output: 1 prints some iterations, 2 prints all of them.
    callback : callable, default=None
        Function that is called before the first iteration and after each one with a
        dict of ``iteration`` (0 before the first), ``objective`` and, where there are
        validation queries, ``validation`` (their measure). If it returns True,
        training stops.
    """

    random_state: Seed = None
    verbose: NonNegativeInt | bool = 0
    callback: Callable[[dict[str, Any]], Any] | None = None

    def _reports(self, data) -> list[Callable[[dict[str, Any]], Any]]:
        """Return the functions that are told about each iteration, for `Monitor`."""
        report = []
        if self.verbose:
            report.append(PrintProgress(type(self).__name__, self.verbose))
        if self.callback is not None:
            report.append(self.callback)
        if self._callback_context is not None and hasattr(self, "_skl_callbacks"):
            report.append(ReportToScikitLearn(self._callback_context, self, data))
        return report


class ThreadsMixin(Parameters):
    """Mixin of rankers that compute on several threads.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on this number.
        A process that was forked after skrank was imported uses one thread.
    """

    n_jobs: NThreads = None


class EarlyStoppingMixin(Parameters):
    """Mixin of rankers that stop when a measure of validation queries stops improving.

    Parameters
    ----------
    early_stopping : bool, default=False
        Whether to hold out queries for validation when `fit` is given none.
    validation_fraction : float, default=0.1
        Fraction of the queries to hold out.
    n_iter_no_change : int, default=10
        Number of iterations without improvement on the validation queries after which
        training stops; None never stops.
    validation_measure : str or BaseMeasure, default="ndcg@10"
        Measure of the validation queries. Whether high or low values are better, as for
        "mse", is known from the measure.
    """

    early_stopping: bool = False
    validation_fraction: Fraction = 0.1
    n_iter_no_change: PositiveInt | None = 10
    validation_measure: MeasureLike = "ndcg@10"

    def _hold_out(
        self, data: GroupedRows, validation: GroupedRows | None, rng
    ) -> tuple[GroupedRows, GroupedRows | None]:
        """Return training and validation rows, the latter held out if wanted."""
        given = validation is not None
        if not given and self.early_stopping:
            data, validation = data.hold_out(self.validation_fraction, rng)
        if validation is not None:
            warn_of_validation_data(self, validation, given)
        return data, validation

    def _monitor(
        self, data, validation, scores_of, *, context=None, resumed=False
    ) -> Monitor:
        """Return the monitor that measures ``scores_of(state)`` on validation rows."""
        measure = get_measure(self.validation_measure)

        warned = False

        def evaluate(state):
            nonlocal warned
            values = measure.per_query(validation.y, scores_of(state), validation.ptr)
            undefined = bool(np.isnan(values).all())
            if undefined and warned:  # once is enough for all iterations
                return np.nan
            warned = undefined
            return measure.mean(values)

        return Monitor(
            None if validation is None else evaluate,
            self.n_iter_no_change,
            self._reports(data),
            greater_is_better=measure.greater_is_better,
            context=context,
            resumed=resumed,
        )

    def _store_progress(self, monitor: Monitor, n_iter: int, history) -> None:
        """Set the attributes that say how training went."""
        self.n_iter_ = n_iter
        self.loss_curve_ = np.asarray(history, dtype=np.float64)
        self.validation_curve_ = np.asarray(monitor.curve)
        self.best_iteration_ = n_iter
        if monitor.best_state is not None:
            self.best_iteration_ = monitor.best_iteration
