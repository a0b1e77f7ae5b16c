"""What rankers that learn in iterations share: progress and early stopping."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_scalar

from skrank._monitor import Monitor, PrintProgress, ReportToScikitLearn
from skrank.base import BaseRanker
from skrank.metrics import get_measure


class BaseIterativeRanker(BaseRanker):
    """Rankers that learn in iterations and say how far they are.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of all randomness.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.
    verbose : int, default=0
        1 prints some iterations, 2 all.
    callback : callable, default=None
        Called after each iteration with a dict of what happened.
    """

    def __init__(
        self,
        *,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback=None,
    ):
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _reports(self, data):
        """Return what is told about each iteration, as `Monitor` takes it."""
        report = []
        if self.verbose:
            report.append(PrintProgress(type(self).__name__, self.verbose))
        if self.callback is not None:
            report.append(self.callback)
        if self._callback_context is not None and hasattr(self, "_skl_callbacks"):
            report.append(ReportToScikitLearn(self._callback_context, self, data))
        return report


class EarlyStoppingMixin:
    """Iterations that end when a measure on validation queries stops improving.

    Parameters
    ----------
    early_stopping : bool, default=False
        Whether to hold out queries for validation when `fit` is given none.
    validation_fraction : float, default=0.1
        Fraction of the queries to hold out.
    n_iter_no_change : int, default=10
        With validation queries, stop after so many iterations without improvement;
        None never stops.
    validation_measure : str or BaseMeasure, default="ndcg@10"
        What is measured on validation queries.
    """

    def __init__(
        self,
        *,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 10,
        validation_measure="ndcg@10",
        **shared,
    ):
        super().__init__(**shared)
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.validation_measure = validation_measure

    def _check_early_stopping(self):
        check_scalar(self.early_stopping, "early_stopping", (bool, np.bool_))
        check_scalar(
            self.validation_fraction,
            "validation_fraction",
            Real,
            min_val=0,
            max_val=1,
            include_boundaries="neither",
        )
        if self.n_iter_no_change is not None:
            check_scalar(self.n_iter_no_change, "n_iter_no_change", Integral, min_val=1)

    def _hold_out(self, data, validation, rng):
        """Return training and validation data, the latter held out if wanted."""
        if validation is None and self.early_stopping:
            return data.hold_out(self.validation_fraction, rng)
        return data, validation

    def _monitor(self, data, validation, scores_of):
        """Return what measures ``scores_of(params)`` on validation data."""
        evaluate = None
        if validation is not None:
            measure = get_measure(self.validation_measure)

            def evaluate(params):
                per_query = measure.per_query(
                    validation.y, scores_of(params), validation.ptr
                )
                return measure.mean(per_query)

        return Monitor(evaluate, self.n_iter_no_change, self._reports(data))
