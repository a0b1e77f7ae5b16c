"""Validation, early stopping and reports of progress after every iteration."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skrank._core._validation import called


class Monitor:
    """Observer that measures validation queries, keeps the best state and reports.

    Parameters
    ----------
    evaluate : callable or None, default=None
        ``evaluate(state)`` is the validation measure at the state of the learner.
    patience : int or None, default=None
        Number of iterations without improvement after which to stop; None never stops.
    report : sequence of callables, default=()
        Functions that are called with a dict of ``iteration``, ``objective``, the
        entries of ``context``, ``params`` if the learner hands over its state, and,
        with validation queries, ``validation``. The first call has iteration 0 and
        shows the start.
    greater_is_better : bool, default=True
        Whether the best validation measure is the highest.
    context : mapping, default=None
        Further entries of every report.
    resumed : bool, default=False
        Whether the start is a model that was trained before, which is kept where no
        iteration improves on it.

    Attributes
    ----------
    curve : list of float
        Validation measure after every iteration.
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
        evaluate: Callable[[Any], float] | None = None,
        patience: int | None = None,
        report: Sequence[Callable[[dict], Any]] = (),
        *,
        greater_is_better: bool = True,
        context: Mapping[str, Any] | None = None,
        resumed: bool = False,
    ):
        self.evaluate = evaluate
        self.patience = patience
        self.report = tuple(report)
        self.sign = 1.0 if greater_is_better else -1.0
        self.context = dict(context or {})
        self.curve: list[float] = []
        self.best_state = None
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
        more = {}
        if self.evaluate is not None:
            more["validation"] = float(self.evaluate(state))
            if self.resumed:
                self._keep_if_better(more["validation"], state, 0)
        self.stopped = self._tell(state, 0, value, more)

    def __call__(self, state: Any, n_iter: int, value: float) -> bool:
        """Note one iteration; return whether the learner should stop."""
        more = {}
        stop = False
        if self.evaluate is not None:
            more["validation"] = self._validate(self.evaluate(state), state, n_iter)
            waited = n_iter - self.best_iteration
            stop = self.patience is not None and waited >= self.patience
        return self._tell(state, n_iter, value, more) or stop or self.stopped

    def _tell(self, state, n_iter, value, more) -> bool:
        info = {"iteration": n_iter, "objective": value, **self.context, **more}
        if state is not None:
            info["params"] = state
        # A list, because any() alone would skip the reports after the first True.
        answers = [called("callback", report, info) for report in self.report]
        return any(isinstance(a, bool | np.bool_) and bool(a) for a in answers)

    def _validate(self, value, state, n_iter) -> float:
        self.curve.append(float(value))
        self._keep_if_better(self.curve[-1], state, n_iter)
        return self.curve[-1]

    def _keep_if_better(self, value, state, n_iter) -> None:
        if self.sign * value > self.best:
            self.best = self.sign * value
            self.best_iteration = n_iter
            # A copy: solvers change their parameters in place.
            self.best_state = None if state is None else np.array(state)


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
        if not np.isnan(info["objective"]):  # forests have none
            line += f"  objective {info['objective']:12.6g}"
        if "validation" in info:
            line += f"  validation {info['validation']:.4f}"
        print(line, flush=True)


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
