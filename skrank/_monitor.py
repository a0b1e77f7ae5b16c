"""What happens after every iteration: validation, early stopping and progress."""

import numpy as np


class Monitor:
    """Watches a solver: measures validation queries, keeps the best, reports.

    Parameters
    ----------
    evaluate : callable or None
        ``evaluate(params)`` is the validation measure, higher is better.
    patience : int or None
        Stop after this many iterations without improvement; None never stops.
    report : sequence of callables
        Each is called with a dict of ``iteration``, ``objective``, ``params`` and, with
        validation queries, ``validation``.

    Attributes
    ----------
    curve : list of float
        Validation measure after every iteration.
    best_params : ndarray or None
        Parameters with the best validation measure.
    best_iteration : int
        When that was, counted from 1.
    """

    def __init__(self, evaluate=None, patience=None, report=()):
        self.evaluate = evaluate
        self.patience = patience
        self.report = tuple(report)
        self.curve: list[float] = []
        self.best_params = None
        self.best_iteration = 0

    @property
    def needed(self) -> bool:
        """Whether there is anything to do after an iteration."""
        return self.evaluate is not None or bool(self.report)

    def __call__(self, params, n_iter, value) -> bool:
        """Note one iteration; True tells the solver to stop."""
        info = {"iteration": n_iter, "objective": value, "params": params}
        stop = False
        if self.evaluate is not None:
            info["validation"] = self._validate(params, n_iter)
            waited = n_iter - self.best_iteration
            stop = self.patience is not None and waited >= self.patience
        for report in self.report:
            report(info)
        return stop

    def _validate(self, params, n_iter):
        score = float(self.evaluate(params))
        self.curve.append(score)
        best = self.curve[self.best_iteration - 1] if self.best_iteration else -np.inf
        if score > best:
            self.best_params = np.array(params)
            self.best_iteration = n_iter
        return score


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
    data : RankingData
        Training rows.
    """

    def __init__(self, context, estimator, data):
        self.context = context
        self.estimator = estimator
        self.data = data

    def __call__(self, info):
        """Report one iteration as a task that began and ended."""
        task = self.context.subcontext(task_name="iteration")
        arguments = {"estimator": self.estimator, "X": self.data.X, "y": self.data.y}
        task.call_on_fit_task_begin(**arguments)
        task.call_on_fit_task_end(**arguments)
