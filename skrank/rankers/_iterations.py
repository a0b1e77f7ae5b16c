"""Progress and early stopping of rankers that learn in iterations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from skrank._core._parameters import (
    Fraction,
    NonNegativeInt,
    NThreads,
    Parameters,
    PositiveInt,
    Seed,
)
from skrank._monitor import (
    Evaluator,
    Monitor,
    PrintProgress,
    ReportToScikitLearn,
    ValidationRule,
)
from skrank._rows import GroupedRows
from skrank._training_data import warn_of_validation_data
from skrank._validation_sets import measures_of
from skrank.base import BaseRanker
from skrank.metrics._registry import MeasureLike

Callback = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class _NamesMeasures:
    """Sequences of measures, none of them twice."""

    def __contains__(self, value):
        try:
            measures = measures_of(value)
            for measure in measures:
                measure._check_parameters()
        except (TypeError, ValueError):
            return False
        return 0 < len({measure.name for measure in measures}) == len(measures)

    def __str__(self):
        return "of such measures, with names of their own"


#: A measure, or several of them, the first of which decides.
Measures = MeasureLike | Annotated[list | tuple, _NamesMeasures()]


class BaseIterativeRanker(BaseRanker):
    """Base class of rankers that learn in iterations and report their progress.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of all randomness. The same seed gives the same model to the bit, for any
        number of threads and any order of the queries with the same ids.
    verbose : int, default=0
        Amount of output: 1 prints some iterations, 2 prints all of them.
    callback : callable or sequence of callables, default=None
        Function that is called before the first iteration and after each one with a
        dict of ``iteration`` (0 before the first), ``objective``, ``descends`` (False
        if the objective may rise by design) and, where there are validation queries,
        ``evals`` (the value of each measure, by the names of the set and of the
        measure) and ``validation`` (the value that decides). If it returns True,
        training stops. Of several functions all are called.
    """

    random_state: Seed = None
    verbose: NonNegativeInt | bool = 0
    callback: Callback | Sequence[Callback] | None = None

    def _reports(self, data) -> list[Callable[[dict[str, Any]], Any]]:
        """Return the functions that are told about each iteration, for `Monitor`."""
        report = []
        if self.verbose:
            report.append(PrintProgress(type(self).__name__, self.verbose))
        report.extend(callbacks_of(self.callback))
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
    validation_measure : str, BaseMeasure, callable or list of them, default="ndcg@10"
        Measure of the validation queries. Whether high or low values are better, as for
        "mse", is known from the measure. Of several, the first decides when training
        stops, and all are kept in ``evals_result_``.
    validation_rule : {"last", "mean", "worst"}, default="last"
        Which of several sets of validation queries decide when training stops: the last
        one, the mean over all of them, or in each iteration the one with the worst
        value.
    evaluate_training : bool, default=False
        Whether the measures are also taken of the queries that are learned from, and
        kept in ``evals_result_`` as those of the set "training". Where the objective
        rises by design, as with the weights of LambdaMART, this is done for ``verbose``
        and ``callback`` in any case, and the measure is shown in its place.

    Attributes
    ----------
    evals_result_ : dict of str to dict of str to ndarray of shape (n_iterations,)
        Measures after each iteration, by the names of the set of queries and of the
        measure, as in ``evals_result_["validation"]["ndcg@10"]``; empty if nothing was
        measured.
    """

    early_stopping: bool = False
    validation_fraction: Fraction = 0.1
    n_iter_no_change: PositiveInt | None = 10
    validation_measure: Measures = "ndcg@10"
    validation_rule: ValidationRule = "last"
    evaluate_training: bool = False

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

    def _patience(self) -> int | None:
        """Return the number of iterations without improvement that end training."""
        return self.n_iter_no_change

    def _monitor(
        self,
        data,
        validation,
        scores_of,
        *,
        context=None,
        resumed=False,
        descends=True,
        reported=None,
    ) -> Monitor:
        """Return the monitor that measures ``scores_of(state, rows)``.

        Callbacks are told of the rows ``reported`` where ``data`` are not as they came.
        """
        training = data if self._evaluates_training(data, descends) else None
        evaluator = None
        if training is not None or validation is not None:
            evaluator = Evaluator(
                measures_of(self.validation_measure),
                scores_of,
                training=training,
                validation=validation,
                rule=self.validation_rule,
            )
        return Monitor(
            evaluator,
            self._patience(),
            self._reports(data if reported is None else reported),
            context=context,
            resumed=resumed,
            descends=descends,
        )

    def _evaluates_training(self, data, descends) -> bool:
        """Return whether the training queries are measured."""
        if self.evaluate_training and data.y is None:
            raise ValueError(
                "evaluate_training=True measures graded queries, which preferences do "
                "not have; leave it out"
            )
        seen = bool(self.verbose) or bool(callbacks_of(self.callback))
        return self.evaluate_training or (seen and not descends and data.y is not None)

    def _store_progress(self, monitor: Monitor, n_iter: int, history) -> None:
        """Set the attributes that say how training went."""
        self.n_iter_ = n_iter
        self.loss_curve_ = np.asarray(history, dtype=np.float64)
        self.validation_curve_ = np.asarray(monitor.curve)
        self.evals_result_ = {
            name: {measure: np.asarray(values) for measure, values in curves.items()}
            for name, curves in monitor.curves.items()
        }
        self.best_iteration_ = n_iter
        if monitor.best_state is not None:
            self.best_iteration_ = monitor.best_iteration


def callbacks_of(callback: Any) -> list[Callback]:
    """Return the functions that a parameter ``callback`` holds: none, one or several.

    Parameters
    ----------
    callback : callable, sequence of callables or None
        The parameter.

    Returns
    -------
    list of callable
    """
    if callback is None:
        return []
    return [callback] if callable(callback) else list(callback)
