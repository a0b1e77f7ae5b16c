"""What happens after every iteration: validation, early stopping and progress."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


class Monitor:
    """Watches a learner: measures validation queries, keeps the best, reports.

    Parameters
    ----------
    evaluate : callable or None, default=None
        ``evaluate(state)`` is the validation measure at the state of the learner.
    patience : int or None, default=None
        Stop after this many iterations without improvement; None never stops.
    report : sequence of callables, default=()
        Each is called with a dict of ``iteration``, ``objective``, what ``context``
        holds, ``params`` if the learner hands over its state, and, with validation
        queries, ``validation``. The first call has iteration 0 and shows the start.
    greater_is_better : bool, default=True
        Direction of the validation measure.
    keep : callable, default=numpy.array
        What is kept of the best state, as ``keep(state)``.
    context : mapping, default=None
        Further entries of every report.

    Attributes
    ----------
    curve : list of float
        Validation measure after every iteration.
    best_state : object or None
        What was kept of the state with the best validation measure.
    best_iteration : int
        When that was, counted from 1; 0 without validation queries.
    """

    def __init__(
        self,
        evaluate: Callable[[Any], float] | None = None,
        patience: int | None = None,
        report: Sequence[Callable[[dict], Any]] = (),
        *,
        greater_is_better: bool = True,
        keep: Callable[[Any], Any] = np.array,
        context: Mapping[str, Any] | None = None,
    ):
        self.evaluate = evaluate
        self.patience = patience
        self.report = tuple(report)
        self.sign = 1.0 if greater_is_better else -1.0
        self.keep = keep
        self.context = dict(context or {})
        self.curve: list[float] = []
        self.best_state = None
        self.best_iteration = 0

    @property
    def needed(self) -> bool:
        """Whether there is anything to do after an iteration."""
        return self.evaluate is not None or bool(self.report)

    @property
    def best(self) -> float:
        """Best validation measure, signed so that higher is better."""
        if not self.best_iteration:
            return -np.inf
        return self.sign * self.curve[self.best_iteration - 1]

    def start(self, state, value: float = np.nan) -> None:
        """Report the state before the first iteration, which is never kept as best."""
        if not self.report:
            return
        more = {}
        if self.evaluate is not None:
            more["validation"] = float(self.evaluate(state))
        self._tell(state, 0, value, more)

    def __call__(self, state, n_iter: int, value: float) -> bool:
        """Note one iteration; True tells the learner to stop."""
        more = {}
        stop = False
        if self.evaluate is not None:
            more["validation"] = self._validate(self.evaluate(state), state, n_iter)
            waited = n_iter - self.best_iteration
            stop = self.patience is not None and waited >= self.patience
        return self._tell(state, n_iter, value, more) or stop

    def _tell(self, state, n_iter, value, more):
        info = {"iteration": n_iter, "objective": value, **self.context, **more}
        if state is not None:
            info["params"] = state
        # Every report is made, even if the first one says stop.
        answers = [report(info) for report in self.report]
        return any(answer is True for answer in answers)

    def _validate(self, value, state, n_iter):
        value = float(value)
        self.curve.append(value)
        if self.sign * value > self.best:
            self.best_state = None if state is None else self.keep(state)
            self.best_iteration = n_iter
        return value


class PrintProgress:
    """Print one aligned line per iteration, thinned out as iterations grow.

    Parameters
    ----------
    name : str
        What is being trained.
    verbose : int
        1 prints iterations 1, 2, 5, 10, 20, 50, …; 2 and more print all.
    """

    def __init__(self, name, verbose):
        self.name = name
        self.verbose = verbose

    def _is_due(self, iteration):
        if iteration == 0:  # nothing has been learned yet
            return False
        if self.verbose > 1:
            return True
        digits = str(iteration)
        return digits[0] in "125" and not digits[1:].strip("0")

    def __call__(self, info):
        """Print the line of an iteration if it is due."""
        if not self._is_due(info["iteration"]):
            return
        line = f"[{self.name}] iteration {info['iteration']:5d}"
        if not np.isnan(info["objective"]):  # forests have none
            line += f"  objective {info['objective']:12.6g}"
        if "validation" in info:
            line += f"  validation {info['validation']:.4f}"
        print(line, flush=True)


class ReportToScikitLearn:
    """Forward iterations to the callbacks set by ``set_callbacks``.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext
        Context of the running fit.
    estimator : BaseEstimator
        The estimator being fitted.
    data : GroupedRows
        Training rows.
    """

    def __init__(self, context, estimator, data):
        self.context = context
        self.estimator = estimator
        self.data = data

    def __call__(self, info):
        """Report one iteration as a task that began and ended."""
        if info["iteration"] == 0:
            return
        task = self.context.subcontext(task_name="iteration")
        arguments = {"estimator": self.estimator, "X": self.data.X, "y": self.data.y}
        task.call_on_fit_task_begin(**arguments)
        task.call_on_fit_task_end(**arguments)
