"""Validation, early stopping and reports of progress after every iteration."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from skrank._core._validation import called
from skrank._validation_sets import TRAINING
from skrank.metrics import BaseMeasure

#: Values of measures by the names of the set of queries and of the measure.
Evaluations = dict[str, dict[str, float]]
#: Which of several validation sets decide.
ValidationRule = Literal["last", "mean", "worst"]
# How errors of measures name the grades.
_GRADES = re.compile(r"^y(?= )|(?<= in )y\b")


@contextmanager
def _naming_grades(sets: Mapping[str, Any]) -> Iterator[None]:
    """Let errors about grades of validation sets name the argument that holds them."""
    try:
        yield
    except ValueError as error:
        message = _GRADES.sub("y_val", str(error))
        if TRAINING in sets or message == str(error):
            raise
        raise ValueError(message) from error


class Evaluator:
    """Measures of some sets of queries at a state of the learner.

    Parameters
    ----------
    measures : sequence of BaseMeasure
        What is measured; the first one decides.
    scores_of : callable
        ``scores_of(state, rows)`` returns the scores of training or validation rows.
    training : GroupedRows or None, default=None
        Training rows, if they are measured.
    validation : GroupedRows or None, default=None
        Validation rows, of one set or of several.
    rule : {"last", "mean", "worst"}, default="last"
        Which of several validation sets decide: the last one, the mean over all of
        them, or in every iteration the one with the worst value.
    """

    def __init__(
        self,
        measures: Sequence[BaseMeasure],
        scores_of: Callable[[Any, Any], np.ndarray],
        *,
        training: Any = None,
        validation: Any = None,
        rule: ValidationRule = "last",
    ):
        self.measures, self.scores_of, self.rule = measures, scores_of, rule
        self.measured: list[tuple[Any, dict[str, Any]]] = []
        if training is not None:
            self.measured.append((training, {TRAINING: slice(None)}))
        if validation is not None:
            self.measured.append((validation, validation.queries_of_sets()))
        self.undefined: set[tuple[str, str]] = set()

    def __call__(self, state: Any) -> Evaluations:
        """Return the values at a state, set by set."""
        found: Evaluations = {}
        for rows, sets in self.measured:
            scores = self.scores_of(state, rows)
            for measure in self.measures:
                with _naming_grades(sets):
                    values = measure.per_query(rows.y, scores, rows.ptr)
                for name, queries in sets.items():
                    mean = self._mean(measure, values[queries], name)
                    found.setdefault(name, {})[measure.name] = mean
        return found

    def _mean(self, measure, values, name) -> float:
        key = name, measure.name
        undefined = bool(np.isnan(values).all())
        if undefined and key in self.undefined:  # one warning will do
            return np.nan
        if undefined:
            self.undefined.add(key)
        return float(measure.mean(values))

    def deciding(self, evaluations: Evaluations) -> float | None:
        """Return the value that early stopping goes by; None without validation."""
        values = [
            next(iter(of_set.values()))
            for name, of_set in evaluations.items()
            if name != TRAINING
        ]
        if not values:
            return None
        if self.rule == "last":
            return values[-1]
        # Sets for which the measure is not defined have no say.
        values = [value for value in values if not np.isnan(value)] or [np.nan]
        if self.rule == "mean":
            return float(np.mean(values))
        return min(values) if self.greater_is_better else max(values)

    @property
    def greater_is_better(self) -> bool:
        """Whether the best value is the highest."""
        return self.measures[0].greater_is_better


class Monitor:
    """Observer that measures queries, keeps the best state and reports.

    Parameters
    ----------
    evaluate : Evaluator or None, default=None
        Measures of validation queries, or of those of training, at the state of the
        learner.
    patience : int or None, default=None
        Number of iterations without improvement after which to stop; None never stops.
    report : sequence of callables, default=()
        Functions that are called with a dict of ``iteration``, ``objective``,
        ``descends``, the entries of ``context``, ``params`` if the learner hands over
        its state, ``evals`` if there is anything to measure, and, with validation
        queries, ``validation``, the value that decides. The first call has iteration 0
        and shows the start.
    context : mapping, default=None
        Further entries of every report.
    resumed : bool, default=False
        Whether the start is a model that was trained before, which is kept where no
        iteration improves on it.
    descends : bool, default=True
        Whether training lowers the objective.

    Attributes
    ----------
    curve : list of float
        Validation measure that decides, after every iteration.
    curves : dict of str to dict of str to list of float
        All measures after every iteration, by the names of the set and of the measure.
    best_state : object or None
        Copy of the state with the best validation measure.
    best_iteration : int
        Iteration of the best state, counted from 1; 0 for the start, and without
        validation queries.
    best : float
        Best validation measure, with a sign that makes higher values better.
    """

    def __init__(
        self,
        evaluate: Evaluator | None = None,
        patience: int | None = None,
        report: Sequence[Callable[[dict], Any]] = (),
        *,
        context: Mapping[str, Any] | None = None,
        resumed: bool = False,
        descends: bool = True,
    ):
        self.evaluate = evaluate
        self.patience = patience
        self.report = tuple(report)
        self.sign = -1.0 if evaluate and not evaluate.greater_is_better else 1.0
        self.context = {"descends": descends, **(context or {})}
        self.curve: list[float] = []
        self.curves: dict[str, dict[str, list[float]]] = {}
        self.best_state: Any = None
        self.best_iteration = 0
        self.resumed = resumed
        self.stopped = False
        self.best = -np.inf

    @property
    def needed(self) -> bool:
        """Whether there is anything to do after an iteration."""
        return self.evaluate is not None or bool(self.report)

    def start(self, state: Any, value: float = np.nan) -> None:
        """Report the state before the first iteration.

        It is a candidate for the best state only if it was trained before: a random
        start may well rank validation queries better than the first iterations do.
        """
        if not self.report and not self.resumed:
            return
        more = self._measured(state)
        if self.resumed and "validation" in more:
            self._keep_if_better(more["validation"], state, 0)
        self.stopped = self._tell(state, 0, value, more)

    def __call__(self, state: Any, n_iter: int, value: float) -> bool:
        """Note one iteration; return whether the learner should stop."""
        more = self._measured(state)
        stop = False
        for name, of_set in more.get("evals", {}).items():
            curves = self.curves.setdefault(name, {})
            for measure, mean in of_set.items():
                curves.setdefault(measure, []).append(mean)
        if "validation" in more:
            self.curve.append(more["validation"])
            self._keep_if_better(self.curve[-1], state, n_iter)
            waited = n_iter - self.best_iteration
            stop = self.patience is not None and waited >= self.patience
        return self._tell(state, n_iter, value, more) or stop or self.stopped

    def _measured(self, state) -> dict[str, Any]:
        """Return the entries of a report about measures."""
        if self.evaluate is None:
            return {}
        evaluations = self.evaluate(state)
        deciding = self.evaluate.deciding(evaluations)
        more: dict[str, Any] = {"evals": evaluations}
        return more if deciding is None else {**more, "validation": deciding}

    def _tell(self, state, n_iter, value, more) -> bool:
        info = {"iteration": n_iter, "objective": value, **self.context, **more}
        if state is not None:
            # A view: writing into it would change what the solver goes on with.
            info["params"] = np.asarray(state).view()
            info["params"].flags.writeable = False
        # A list, because any() alone would skip the reports after the first True.
        answers = [called("callback", report, info) for report in self.report]
        return any(isinstance(a, bool | np.bool_) and bool(a) for a in answers)

    def _keep_if_better(self, value, state, n_iter) -> None:
        if self.sign * value > self.best:
            self.best = self.sign * value
            self.best_iteration = n_iter
            # A copy: solvers change their parameters in place.
            self.best_state = None if state is None else np.array(state)


def figures_of(info: Mapping[str, Any]) -> list[str]:
    """Return what a report says of an iteration, as words that align from line to line.

    An objective that rises by design says little, so that the measure of the training
    queries takes its place where there is one.

    Parameters
    ----------
    info : mapping
        A report of `Monitor`.

    Returns
    -------
    list of str
        Such as "objective     0.693147" and "validation ndcg@10 0.7310".
    """
    words, evals = [], info.get("evals", {})
    replaced = TRAINING in evals and not info.get("descends", True)
    if not replaced and not np.isnan(info["objective"]):  # forests have none
        words.append(f"objective {info['objective']:12.6g}")
    # Training comes first, as the objective does.
    for name in sorted(evals, key=lambda name: name != TRAINING):
        values = (f"{measure} {v:.4f}" for measure, v in evals[name].items())
        words.append(" ".join([name, *values]))
    return words


class PrintProgress:
    """Report that prints one aligned line per iteration, or per some iterations.

    Parameters
    ----------
    name : str
        Name of the learner.
    verbose : int
        1 prints iterations 1, 2, 5, 10, 20, 50, …; 2 and more print all of them.
    """

    def __init__(self, name: str, verbose: int):
        self.name = name
        self.verbose = verbose

    def _is_due(self, iteration) -> bool:
        if iteration == 0:  # nothing has been learned yet
            return False
        if self.verbose > 1:
            return True
        digits = str(iteration)
        return digits[0] in "125" and not digits[1:].strip("0")

    def __call__(self, info: Mapping[str, Any]) -> None:
        """Print the line of an iteration if it is due."""
        if not self._is_due(info["iteration"]):
            return
        line = f"[{self.name}] iteration {info['iteration']:5d}"
        print("  ".join([line, *figures_of(info)]), flush=True)


class ReportToScikitLearn:
    """Report that forwards iterations to the callbacks set by ``set_callbacks``.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext
        Context of the running fit.
    estimator : BaseEstimator
        Estimator that is being fitted.
    data : GroupedRows
        Training rows.
    """

    def __init__(self, context: Any, estimator: Any, data: Any):
        self.context = context
        self.estimator = estimator
        self.data = data

    def __call__(self, info: Mapping[str, Any]) -> None:
        """Report one iteration as a task that began and ended."""
        if info["iteration"] == 0:
            return
        task = self.context.subcontext(task_name="iteration")
        arguments = {"estimator": self.estimator, "X": self.data.X, "y": self.data.y}
        task.call_on_fit_task_begin(**arguments)
        task.call_on_fit_task_end(**arguments)
