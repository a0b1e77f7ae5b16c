"""Rankers that add one weak ranker at a time, whatever the weak rankers are.

The loop over rounds is written here: scores to start from, early stopping, curves, warm
starts and staged predictions. A family says how a weak ranker is found and what it adds
to the scores of rows; that of trees is in `skrank.rankers._boosting`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import NotFiniteError
from skrank._core._inner import (
    allows_missing,
    allows_sparse,
    needs_groups,
    scores_of,
)
from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt
from skrank._meta import fit_on
from skrank._rows import GroupedRows, SideData, named_rows
from skrank._validation_sets import TRAINING
from skrank.base import ArrayOrCSR, GroupsAtPredictMixin, check_start_scores
from skrank.rankers._iterations import BaseIterativeRanker, EarlyStoppingMixin


class BaseAdditiveRanker(GroupsAtPredictMixin, EarlyStoppingMixin, BaseIterativeRanker):
    """Base class of rankers whose scores are a sum over weak rankers.

    .. math:: F_t = F_{t-1} + h_t

    A subclass implements `_new_run`, `_n_weak`, `_staged_raw` and `_add_weak`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of weak rankers.
    init : estimator, default=None
        A ranker, pipeline or scikit-learn estimator that is fitted first. The weak
        rankers then improve on its scores, which predictions contain. If only the
        scores are known, `fit` takes them as ``init_score``.
    warm_start : bool, default=False
        Whether to add weak rankers to those of the last `fit`.
    callback : callable or sequence of callables, default=None
        Function that is called before the first round and after each one with a dict of
        ``iteration`` (0 before the first; a warm start counts from 0 again),
        ``objective`` (the mean loss before the round; NaN at iteration 0), ``descends``
        (False if the objective may rise by design, as that of LambdaMART) and, where
        there are validation queries or the objective may rise, ``evals`` (the value of
        each measure, by the names of the set and of the measure), and with validation
        queries ``validation`` (the value that decides). If it returns True, training
        stops. Of several functions all are called.

    Attributes
    ----------
    weak_rankers_ : list
        The weak rankers, where they are not kept in another form.
    init_ : estimator or None
        Fitted estimator whose scores the weak rankers improve on.
    n_iter_ : int
        Number of rounds.
    best_iteration_ : int
        Number of rounds that were kept.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean loss before each round.
    validation_curve_ : ndarray of shape (n_iterations,)
        Validation measure that decides after each round; empty without validation
        queries. After a warm start it is that of the last fit, and NaN in rounds in
        which it was not measured.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_iterations,)
        Measures after each round, by the names of the set of queries and of the
        measure, NaN in rounds of another fit (``warm_start``) that did not measure
        them; empty if nothing was measured.
    """

    n_estimators: PositiveInt = 100
    init: Any = None
    warm_start: bool = False

    _side_data = (
        SideData(
            "init_score",
            check_start_scores,
            "array-like of shape (n_documents,), default=None\n"
            "            Scores to start from. They are not part of the predictions.",
            for_validation=True,
        ),
    )

    def _new_run(self, data, validation, rng) -> "AdditiveRun":
        """Return the run that finds weak rankers for these rows."""
        raise NotImplementedError

    def _n_weak(self) -> int:
        """Return the number of rounds that the model consists of."""
        return len(self.weak_rankers_)

    def _staged_raw(self, raw, X) -> Iterator[np.ndarray]:
        """Yield the scores after each round, all in the same array (n, n_outputs)."""
        for weak in self.weak_rankers_:
            weak.add_to(raw, X)
            yield raw

    def _add_weak(self, raw, X) -> np.ndarray:
        """Add the scores of all weak rankers to an array, in place."""
        for _ in self._staged_raw(raw, X):
            pass
        return raw

    def _to_scores(self, raw) -> np.ndarray:
        """Turn raw scores of shape (n, n_outputs) into those that rank documents."""
        return raw[:, 0]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        rng = check_random_state(self.random_state)
        self._new_run(*self._hold_out(data, validation, rng), rng).run()

    @property
    def _accepts_missing(self) -> bool:
        # What `init` refuses, the ranker refuses with a sentence of its own.
        weak = super()._accepts_missing
        return weak and (self.init is None or allows_missing(self.init))

    def _learned_accepts(self) -> tuple[bool, bool]:
        init = self.init_ is None or allows_missing(self.init_)
        return self._accepts_sparse, super()._accepts_missing and init

    @property
    def _accepts_sparse(self) -> bool:
        return super()._accepts_sparse and (
            self.init is None or allows_sparse(self.init)
        )

    @property
    def _needs_groups(self) -> bool:
        return self.init_ is not None and needs_groups(self.init_)

    def _start_scores(self, X, ptr=None) -> np.ndarray:
        """Return the scores before the first weak ranker, shape (n, n_outputs)."""
        raw = np.tile(self.baseline_, (X.shape[0], 1))
        if self.init_ is not None:
            queries = None
            if ptr is not None:
                queries = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
            rows = named_rows(X, getattr(self, "feature_names_in_", None))
            raw += np.reshape(scores_of(self.init_, rows, queries), (len(raw), -1))
        return raw

    def _raw(self, X, ptr=None) -> np.ndarray:
        return self._add_weak(self._start_scores(X, ptr), X)

    def _predict(self, X, ptr=None) -> np.ndarray:
        return self._to_scores(self._raw(X, ptr))

    def staged_predict(
        self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Yield the scores after each round.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, for an ``init`` that needs it.

        Yields
        ------
        ndarray of shape (n_documents,)
            Scores with one more weak ranker for each output.
        """
        check_is_fitted(self)
        # ``init`` may need grouped rows; the weak rankers take rows in any order.
        raw = self._by_query(self._start_scores, X, groups, "staged_predict")
        for stage in self._staged_raw(raw, self._check_rows(X, reset=False)):
            yield self._to_scores(stage.copy())


class AdditiveRun:
    """One fit of an additive ranker: scores of all rows, and the loop over rounds.

    A family implements `find`, which returns a weak ranker with a method
    ``add_to(scores, X)``; one that keeps its weak rankers in another form implements
    `add_round` and `keep` instead.

    Parameters
    ----------
    ranker : BaseAdditiveRanker
        The ranker that is fitted.
    data, validation : GroupedRows
        Training rows, and validation rows or None.
    rng : RandomState
        Source of all randomness.

    Attributes
    ----------
    given : tuple of GroupedRows
        Training rows, and validation rows or None, as they came.
    data, validation : GroupedRows
        The same as the family arranges them.
    scores : ndarray of shape (n_documents, n_outputs)
        Scores of the training rows.
    held_scores : ndarray of shape (n_val_documents, n_outputs)
        Scores of the validation rows, if there are any.
    seed : int
        Seed of the run. Random draws of a round depend on it and on the number of the
        round only, so that a warm start goes on as if training had never stopped.
    """

    n_outputs = 1

    def __init__(
        self,
        ranker: Any,
        data: GroupedRows,
        validation: GroupedRows | None,
        rng: np.random.RandomState,
    ):
        self.ranker, self.given = ranker, (data, validation)
        self.data = self.arrange(data)
        self.validation = None if validation is None else self.arrange(validation)
        self.seed = draw_seed(rng)
        self.bind()
        self.n_done = 0
        if ranker.warm_start and hasattr(ranker, "n_iter_"):
            self.n_done = ranker._n_weak()
            self.resume()
        else:
            self.begin(rng)
        self.found: list[Any] = []
        self.scores = self._scores_of(self.data)
        if self.validation is not None:
            self.held_scores = self._scores_of(self.validation)
        self.ready()

    def arrange(self, data: GroupedRows) -> GroupedRows:
        """Return the rows in the order in which this family learns from them."""
        return data

    def bind(self) -> None:
        """Prepare what is the same for a new model and for one that is resumed."""

    def begin(self, rng: np.random.RandomState) -> None:
        """Start a new model, at the scores of ``init`` where there is one."""
        ranker = self.ranker
        self.forget(rng)
        ranker.init_ = None
        if ranker.init is not None:
            # Scores to start from are added to those of `init`, not handed to it.
            data, held = self.given
            ranker.init_ = fit_on(
                ranker.init,
                replace(data, side={}),
                None if held is None else replace(held, side={}),
                "init",
            )
        ranker.baseline_ = np.zeros(self.n_outputs)

    def forget(self, rng: np.random.RandomState) -> None:
        """Empty the model of the last fit."""
        self.ranker.weak_rankers_ = []

    def resume(self) -> None:
        """Check that weak rankers can be added to the last model.

        That the rows have the features of the last fit has been checked. Subclasses
        extend this method.
        """
        given, fitted = self.ranker.init, self.ranker.init_
        if _described(given) != _described(fitted):
            raise ValueError(
                f"warm_start=True goes on from the model that began with init="
                f"{shown(fitted)}, got init={shown(given)}; keep init, or set "
                "warm_start=False"
            )

    def ready(self) -> None:
        """Prepare what depends on the scores before the first round."""

    def find(self, iteration: int) -> tuple[Any, float]:
        """Return the next weak ranker, or None, and the objective before it."""
        raise NotImplementedError

    def add_round(self, iteration: int) -> float | None:
        """Add a weak ranker to the scores; return the objective before it.

        None says that there is nothing left to learn, and ends the run.
        """
        weak, objective = self.find(iteration)
        if weak is None:
            return None
        self.found.append(weak)
        weak.add_to(self.scores, self.data.X)
        if self.validation is not None:
            weak.add_to(self.held_scores, self.validation.X)
        return objective

    def keep(self, n_rounds: int) -> None:
        """Store the first rounds of this run in the ranker."""
        # A new list: the old one is that of the ranker where the fit fails later on.
        self.ranker.weak_rankers_ = self.ranker.weak_rankers_ + self.found[:n_rounds]

    def start_of(self, data: GroupedRows) -> np.ndarray:
        """Return the scores of rows, as they are arranged, before the first round."""
        return self._started(data, self.ranker._start_scores(data.X, data.ptr))

    def _started(self, data, scores):
        """Add scores that were given to those of ``init``."""
        if not np.isfinite(scores).all():
            raise ValueError("init: its scores must be finite, but there are others")
        start = data.side.get("init_score")
        if start is not None:
            scores += start[:, None]
        return scores

    def add_earlier(self, scores: np.ndarray, data: GroupedRows) -> np.ndarray:
        """Add what earlier fits have found to scores of rows as they are arranged.

        Float sums depend on their order: what the run starts from comes first, and the
        weak rankers as they were found, so that a warm start goes on with the same
        bits.
        """
        return self.ranker._add_weak(scores, data.X)

    def _scores_of(self, data):
        return self.add_earlier(self.start_of(data), data)

    def run(self) -> None:
        """Add weak rankers until there are enough or validation stops improving.

        Raises
        ------
        ValueError
            If a warm start finds more rounds than ``n_estimators``.
        """
        ranker, done = self.ranker, self.n_done
        if ranker.n_estimators < done:
            raise ValueError(
                f"n_estimators={ranker.n_estimators} is below the {done} rounds there "
                "are; with warm_start=True it must grow"
            )

        def scores_of(_, rows):
            learned = rows is self.data
            return ranker._to_scores(self.scores if learned else self.held_scores)

        monitor = ranker._monitor(
            self.data,
            self.validation,
            scores_of,
            resumed=done > 0,
            descends=self.descends,
            reported=self.given[0],
        )
        monitor.start(None)
        curve = []
        for iteration in range(done, ranker.n_estimators):
            try:
                objective = self.add_round(iteration)
            except NotFiniteError as error:  # of the loss itself
                raise NotFiniteError(
                    f"{type(ranker).__name__}: {error} after {iteration} rounds; "
                    f"{self.remedy}"
                ) from error
            if objective is None:
                break
            curve.append(objective)
            self._require_progress(curve, done)
            if monitor.needed and monitor(None, iteration + 1 - done, objective):
                break
        if not np.isfinite(self.scores).all():
            raise self._diverged("scores are not finite", done + len(curve))
        self._store(monitor, curve)

    #: By what the objective may grow before training counts as diverged. Losses that
    #: follow a measure may well rise, but come back from a few times what they were.
    largest_growth = 1e6

    def _require_progress(self, curve, done):
        """Raise an error where the objective is not finite, or grows without bounds."""
        if not np.isfinite(curve[-1]):
            raise self._diverged(f"became {curve[-1]}", done + len(curve) - 1)
        # A loss that begins near 0, as at a kink, shows its size later.
        if curve[-1] > self.largest_growth * max(1.0, *map(abs, curve[:2])):
            what = f"grew from {curve[0]:.3g} to {curve[-1]:.3g}"
            raise self._diverged(what, done + len(curve) - 1)

    def _diverged(self, what: str, n_rounds: int) -> NotFiniteError:
        """Return the error that names the loss and says what helps."""
        return NotFiniteError(
            f"{type(self.ranker).__name__}: {self.loss_name} {what} after {n_rounds} "
            f"rounds; {self.remedy}"
        )

    #: Whether training lowers the objective.
    descends = True
    #: Name of the loss for error messages.
    loss_name = "the objective"
    remedy = "scale init_score and the grades, or check the loss"

    def _store(self, monitor, curve):
        ranker, done = self.ranker, self.n_done
        # Without a best value there were no validation queries.
        n_kept = monitor.best_iteration if np.isfinite(monitor.best) else len(curve)
        self.keep(n_kept)
        ranker.n_iter_ = done + len(curve)
        ranker.best_iteration_ = done + n_kept
        earlier = vars(ranker) if done else {}
        # Files of older versions have no logs.
        before, now = earlier.get("evals_result_", {}), monitor.curves
        logs = {
            name: {
                measure: self._joined(
                    before.get(name, {}).get(measure, ()),
                    now.get(name, {}).get(measure, ()),
                    len(curve),
                )
                for measure in {**before.get(name, {}), **now.get(name, {})}
            }
            for name in {**before, **now}
        }
        deciding = earlier.get("validation_curve_", ())
        if before and monitor.curve:
            deciding = self._deciding_before(monitor, before, logs)
        ranker.loss_curve_ = self._joined(
            earlier.get("loss_curve_", ()), curve, len(curve)
        )
        ranker.validation_curve_ = self._joined(deciding, monitor.curve, len(curve))
        ranker.evals_result_ = logs

    def _deciding_before(self, monitor, before, logs) -> list[float]:
        """Return what now decides, in the rounds of earlier fits that measured it."""
        measure = monitor.evaluate.measures[0].name
        sets = [name for name in monitor.curves if name != TRAINING]
        if any(measure not in before.get(name, {}) for name in sets):
            return []
        return [
            monitor.evaluate.deciding(
                {name: {measure: float(logs[name][measure][i])} for name in sets}
            )
            for i in range(self.n_done)
        ]

    def _joined(self, before, curve, n_new: int) -> np.ndarray:
        """Return the curve of all rounds, NaN in those that were not measured."""
        before = np.asarray(before[: self.n_done], dtype=np.float64)
        if not len(before) and not len(curve):  # never measured
            return before
        joined = np.full(self.n_done + n_new, np.nan)
        joined[: len(before)] = before
        joined[self.n_done : self.n_done + len(curve)] = curve
        return joined


def _described(estimator) -> str | None:
    """Return the class and the parameters of an estimator in words that compare."""
    return None if estimator is None else f"{type(estimator)} {estimator!r}"


def draw_seed(rng) -> int:
    """Return the seed of one run or one tree."""
    return int(rng.randint(np.iinfo(np.int32).max))
