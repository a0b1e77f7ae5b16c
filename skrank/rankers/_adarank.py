"""AdaRank."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import allows_missing, allows_sparse, needs_groups, scores_of
from skrank._core._parameters import NonNegative, PositiveInt, invalid_parameter
from skrank._core._threads import effective_n_threads, n_threads_for
from skrank._meta import fit_on
from skrank._rows import named_rows
from skrank.metrics._registry import MeasureLike
from skrank.rankers._exact_measure import ExactMeasure, measure_to_maximise
from skrank.rankers._iterations import BaseIterativeRanker, ThreadsMixin
from skrank.rankers._rounds import AdditiveRun, BaseAdditiveRanker
from skrank.rankers._scaled_columns import ScaledColumns, column_of, power_of

# Keeps the weight of a weak ranker that makes no mistake finite.
_ROOM = 1e-10
# What rounding alone may change in a mean.
_NOTHING = 1e-12


class _AnyRows(BaseIterativeRanker):
    """Base class that the rules of `BaseAdditiveRanker` for ``init`` build on."""

    estimator: Any = None

    @property
    def _accepts_sparse(self) -> bool:
        return self.estimator is None or allows_sparse(self.estimator)

    @property
    def _accepts_missing(self) -> bool:
        return self.estimator is not None and allows_missing(self.estimator)


class AdaRank(ThreadsMixin, BaseAdditiveRanker, _AnyRows):
    r"""AdaRank: boosting of queries that a measure says are ranked badly.

    .. math:: f = \sum_t \alpha_t h_t, \qquad
              \alpha_t = \frac12 \log
              \frac{\sum_q D_t(q) (1 + E_q(h_t))}{\sum_q D_t(q) (1 - E_q(h_t))}, \qquad
              D_{t+1}(q) \propto w_q\, e^{-E_q(f_t)}

    where :math:`E_q` is the measure of query q. The weak ranker of a round is the one
    with the largest :math:`\sum_q D_t(q) E_q(h_t)` among the features (and their
    negatives), each in units of its spread within queries, to a power of two; or it is
    a clone of ``estimator``, fitted with documents that weigh what their queries do.

    A round after the first multiplies :math:`\sum_q w_q e^{-E_q(f_t)}` by at most

    .. math:: e^{-\delta_t} \sqrt{1 - \varphi_t^2}, \qquad
              \varphi_t = \sum_q D_t(q) E_q(h_t), \qquad
              \delta_t = \min_q E_q(f_t) - E_q(f_{t-1}) - \alpha_t E_q(h_t),

    so that it falls where the measure is near to being additive. Where it is not, the
    measure may fall; a weak ranker after which it would be lower by ``tol`` or more is
    refused, so that with ``tol=0`` each round makes it better. The next best feature
    then takes its place, which the validation queries of MQ2008 and OHSUMED prefer to
    the end of all rounds that the paper leaves open.

    A feature that is chosen twice in a row is a trap: a sum that it dominates ranks as
    it does, so that the weights of queries stay as they are, and it is chosen for ever.
    As in the implementation behind RankLib, such a feature waits in a queue until the
    others have made their sum; then the features of the queue may be chosen, too, one
    after the other from the last one on. From then on, a feature that is chosen
    ``max_repeats`` more times in a row without any change of the measure is set aside
    until another one is chosen.

    Complexity: O(n d log m) for queries of m documents once, and O(n log m + Q d) per
    round for n documents with d features in Q queries; with ``estimator``, the time of
    its fit per round.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure to optimise. It must depend on the ranking only and have bounds, which
        are mapped to 0 for the worst and 1 for the best value.
    estimator : estimator, default=None
        A ranker, a pipeline or a scikit-learn estimator that takes ``sample_weight``,
        as the weak ranker; its scores must not depend on other documents. None means
        single features.
    n_estimators : int, default=500
        Number of weak rankers at most.
    tol : float, default=0.0
        By how much the training measure must fall for a weak ranker to be refused; with
        0, it must rise. RankLib has 0.002.
    when_falling : {"next", "stop"}, default="next"
        Whether the next best feature takes the place of one that is refused, or rounds
        end, as in RankLib. With ``estimator`` they always end.
    max_repeats : int, default=5
        Number of times in a row that a feature, or the estimator, may be chosen again
        without any change of the training measure.
    n_iter_no_change : int, default=None
        Number of rounds without improvement on the validation queries after which
        training stops; None never stops, but the best number of rounds is kept.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_weak_rankers,)
        Weight of each weak ranker; negative where low values of a feature are good.
    features_ : ndarray of shape (n_weak_rankers,)
        Feature of each weak ranker; none with ``estimator``.
    scales_ : ndarray of shape (n_features,) or (n_weak_rankers,)
        Powers of two by which the features, or the scores of the weak rankers, are
        multiplied.
    coef_ : ndarray of shape (n_features,)
        Weights of the features in the sum; only without ``estimator`` and ``init``.
    intercept_ : float
        Constant of the scores, which is 0; only where there is ``coef_``.
    loss_curve_ : ndarray of shape (n_iterations,)
        What the measure, mapped to [0, 1], missed to 1 before each round.

    References
    ----------
    [Xu2007]_, figure 1 and theorem 1; [Liu2011]_, section 4.2.3.1, algorithm 1.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import AdaRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = AdaRank("map").fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "listwise"

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    estimator: Any = None
    n_estimators = 500
    tol: NonNegative = 0.0
    when_falling: Literal["next", "stop"] = "next"
    max_repeats: PositiveInt = 5
    n_iter_no_change = None

    @classmethod
    def _variants(cls):
        from skrank.rankers._rank_svm import RankSVM

        return [
            {},
            {"measure": "map", "tol": 0.002, "max_repeats": 1, "when_falling": "stop"},
            {"estimator": RankSVM(), "n_estimators": 3},
        ]

    def _learned_accepts(self) -> tuple[bool, bool]:
        models = self.weak_rankers_
        if len(self.features_):
            return True, False
        if not models:  # nothing was learned that could say
            return self._accepts_sparse, self._accepts_missing
        inner = models if self.init_ is None else [*models, self.init_]
        return all(map(allows_sparse, models)), all(map(allows_missing, inner))

    def _new_run(self, data, validation, rng) -> "_AdaRun":
        kind = _FeatureRun if self.estimator is None else _EstimatorRun
        return kind(self, data, validation, rng)

    def _n_weak(self) -> int:
        return len(self.alphas_)

    def _staged_raw(self, raw, X) -> Iterator[np.ndarray]:
        if self.weak_rankers_:
            rows = named_rows(X, getattr(self, "feature_names_in_", None))
            parts = zip(self.alphas_, self.scales_, self.weak_rankers_, strict=True)
            for alpha, scale, model in parts:
                scores = np.asarray(scores_of(model, rows), dtype=np.float64)
                raw[:, 0] += alpha * (scale * scores)
                yield raw
            return
        # A start for each column takes memory, of which a model without any needs none.
        by_column = sparse.issparse(X) and len(self.features_) > 0
        columns = X.tocsc() if by_column else X
        for alpha, j in zip(self.alphas_, self.features_, strict=True):
            raw[:, 0] += alpha * (self.scales_[j] * column_of(columns, j))
            yield raw

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from super()._learned()
        yield "alphas_", self.alphas_

    def _require_features(self, name):
        check_is_fitted(self)
        if self.weak_rankers_ or self.init_ is not None:
            raise AttributeError(
                f"AdaRank has no {name} where it adds up estimators or begins with init"
            )

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features in the sum."""
        self._require_features("coef_")
        weights = self.alphas_ * self.scales_[self.features_]
        return np.bincount(self.features_, weights, self.n_features_in_)

    @property
    def intercept_(self) -> float:
        """Constant of the scores, which have none."""
        self._require_features("intercept_")
        return 0.0


@dataclass(frozen=True)
class _Trap:
    """What guards against features that are chosen again and again.

    Attributes
    ----------
    queueing : bool
        Whether features that would be chosen twice in a row still go to the queue.
    queue, aside : tuple of int
        Candidates in the queue, and those that are set aside.
    last : int
        The last candidate that was chosen; -1 if there is none.
    repeats : int
        How often it was chosen again without any change of the measure.
    """

    queueing: bool = True
    queue: tuple[int, ...] = ()
    aside: tuple[int, ...] = ()
    last: int = -1
    repeats: int = 0

    def after(self, chosen: int, changed: bool, max_repeats: int) -> "_Trap":
        """Return the state after a candidate was chosen."""
        if chosen != self.last:
            return replace(self, last=chosen, aside=(), repeats=0)
        if changed or self.queueing:
            return replace(self, repeats=0)
        if self.repeats + 1 < max_repeats:
            return replace(self, repeats=self.repeats + 1)
        return replace(self, repeats=0, aside=(*self.aside, chosen))


class _Step(NamedTuple):
    """A round that may be made: the weak ranker's weight, and where it leads."""

    alpha: float
    scores: np.ndarray
    values: np.ndarray
    mean: float


class _AdaRun(AdditiveRun):
    """One run of AdaRank: measures of the sum, and weights of queries."""

    def bind(self):
        ranker, data = self.ranker, self.data
        measure = measure_to_maximise(ranker, ranker.measure)
        if not np.isfinite(measure.bounds).all():
            accepted = (
                "a measure with bounds, such as 'ndcg@10' in place of 'dcg@10', or a "
                "function whose bounds are stated, as in FunctionMeasure(f, "
                "bounds=(0, 1))"
            )
            raise invalid_parameter(ranker, "measure", accepted, ranker.measure)
        # Ranking a document takes about 10 ns.
        work = 10.0 * data.n_documents
        n_threads = n_threads_for(work, effective_n_threads(ranker.n_jobs))
        self.exact = ExactMeasure(measure, data, n_threads)
        self.prior = self.exact.weight
        self.loss_name, self.remedy = measure.name, "check init_score"

    def forget(self, rng):
        super().forget(rng)
        ranker = self.ranker
        ranker.alphas_, ranker.features_ = np.zeros(0), np.zeros(0, dtype=np.int32)
        ranker.scales_ = np.zeros(0)
        _store_trap(ranker, _Trap())

    def ready(self):
        self.columns: list[np.ndarray] = []
        scores = self.scores[:, 0]
        self.values = self.measured(scores)
        self.mean = float(self.prior @ self.values)
        fresh = not self.n_done and not scores.any()
        self.distribution = self.prior if fresh else self._distribution(self.values)
        # Whatever comes first is better than scores that are all equal.
        self.floor = -np.inf if fresh else self.mean

    def measured(self, scores) -> np.ndarray:
        """Return the measure of each query, mapped to [0, 1]."""
        low, high = self.exact.measure.bounds
        worst, best = (low, high) if self.exact.sign > 0 else (high, low)
        return (self.exact.values(scores) - worst) / (best - worst)

    def _distribution(self, values) -> np.ndarray:
        weight = self.prior * np.exp(-values)
        total = weight.sum()
        return weight / total if total > 0.0 else weight

    def _tried(self, column, share) -> _Step:
        """Return the step along a weak ranker whose weighted measure is known."""
        alpha = 0.5 * np.log((1.0 + share + _ROOM) / (1.0 - share + _ROOM))
        scores = self.scores[:, 0] + alpha * column
        values = self.measured(scores)
        return _Step(float(alpha), scores, values, float(self.prior @ values))

    def _is_refused(self, step) -> bool:
        return step.mean <= self.floor - self.ranker.tol + _NOTHING

    def _take(self, step) -> float:
        """Make a step; return the loss before it."""
        loss = 1.0 - self.mean
        self.scores[:, 0] = step.scores
        self.values, self.mean, self.floor = step.values, step.mean, step.mean
        self.distribution = self._distribution(step.values)
        return loss


class _FeatureRun(_AdaRun):
    """AdaRank whose weak rankers are features, upwards or downwards."""

    def forget(self, rng):
        super().forget(rng)
        ranker, data = self.ranker, self.data
        columns = ScaledColumns(data.X, data.ptr)
        ranker.scales_ = np.where(columns.used, np.ldexp(1.0, columns.powers), 1.0)

    def ready(self):
        super().ready()
        ranker, X = self.ranker, self.data.X
        self.rows = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
        self.trap = _stored_trap(ranker)
        self.traps: list[_Trap] = []
        columns = [self._column(j) for j in range(X.shape[1])]
        upwards = [self.measured(column) for column in columns]
        downwards = [self.measured(-column) for column in columns]
        # A row for each candidate.
        self.table = np.array([*upwards, *downwards])

    def _column(self, candidate) -> np.ndarray:
        j, d = candidate % self.data.X.shape[1], self.data.X.shape[1]
        column = self.ranker.scales_[j] * column_of(self.rows, j)
        return column if candidate < d else -column

    def _best(self, distribution, refused=()) -> tuple[int, float]:
        """Return the best candidate, or -1, and its weighted measure."""
        # Not by BLAS: its sums depend on the number of its threads.
        shares = np.einsum("ij,j->i", self.table, distribution)
        # A feature waits in both directions: its negative would undo it.
        d = self.data.X.shape[1]
        waiting = np.array([*self.trap.queue, *self.trap.aside], dtype=np.intp) % d
        shares[waiting] = shares[waiting + d] = 0.0
        shares[list(refused)] = 0.0
        best = int(np.argmax(shares))
        return (best, float(shares[best])) if shares[best] > 0.0 else (-1, 0.0)

    def add_round(self, iteration):
        found = self._choose()
        if found is None:
            return None
        candidate, step = found
        changed = abs(step.mean - self.mean) > _NOTHING
        self.trap = self.trap.after(candidate, changed, self.ranker.max_repeats)
        self.traps.append(self.trap)
        d = self.data.X.shape[1]
        feature = candidate % d
        alpha = step.alpha if candidate < d else -step.alpha
        self.found.append((feature, alpha))
        if self.validation is not None:
            column = column_of(self.validation.X, feature)
            self.held_scores[:, 0] += alpha * (self.ranker.scales_[feature] * column)
        return self._take(step)

    def _choose(self) -> tuple[int, _Step] | None:
        """Return the candidate of this round and its step; None ends the run."""
        refused: list[int] = []
        while True:
            candidate, share = self._best(self.distribution, refused)
            step = None
            if candidate >= 0:
                step = self._tried(self._column(candidate), share)
            if step is None or self._is_refused(step):
                if step is not None and self.ranker.when_falling == "next":
                    refused.append(candidate)
                # What is refused stays so, because the scores are the same.
                elif not self._release():
                    return None
            elif self.trap.queueing and self._comes_again(candidate, step):
                self.trap = replace(self.trap, queue=(*self.trap.queue, candidate))
            else:
                return candidate, step

    def _comes_again(self, candidate, step) -> bool:
        return self._best(self._distribution(step.values))[0] == candidate

    def _release(self) -> bool:
        """Let the last feature of the queue be chosen; return whether there is one."""
        if not self.trap.queue:
            return False
        self.trap = _Trap(queueing=False, queue=self.trap.queue[:-1])
        return True

    def keep(self, n_rounds):
        ranker = self.ranker
        kept = self.found[:n_rounds]
        features = np.array([j for j, _ in kept], dtype=np.int32)
        ranker.features_ = np.concatenate([ranker.features_, features])
        ranker.alphas_ = np.append(ranker.alphas_, [alpha for _, alpha in kept])
        if n_rounds:
            _store_trap(ranker, self.traps[n_rounds - 1])


class _EstimatorRun(_AdaRun):
    """AdaRank whose weak rankers are clones of an estimator."""

    def ready(self):
        super().ready()
        self.repeats = 0

    def add_round(self, iteration):
        if self.repeats >= self.ranker.max_repeats or not self.distribution.any():
            return None
        rng = check_random_state((self.seed + iteration) % 2**32)
        model = fit_on(self.ranker.estimator, self._weighted(), None, "estimator", rng)
        if needs_groups(model):
            accepted = "an estimator whose scores do not depend on other documents"
            raise invalid_parameter(
                self.ranker, "estimator", accepted, self.ranker.estimator
            )
        column = self._scores_by(model, self.data)
        power = power_of(column, self.data.ptr)
        if power is None:  # it tells no two documents of a query apart
            return None
        scale = float(np.ldexp(1.0, power))
        share = float(self.distribution @ self.measured(column))
        step = self._tried(scale * column, share)
        if self._is_refused(step):
            return None
        unchanged = abs(step.mean - self.mean) <= _NOTHING
        self.repeats = self.repeats + 1 if unchanged else 0
        self.found.append((model, step.alpha, scale))
        if self.validation is not None:
            held = self._scores_by(model, self.validation)
            self.held_scores[:, 0] += step.alpha * (scale * held)
        return self._take(step)

    def _scores_by(self, model, data) -> np.ndarray:
        rows = named_rows(data.X, data.feature_names)
        return np.asarray(scores_of(model, rows), dtype=np.float64)

    def _weighted(self) -> Any:
        """Return the rows, each weighing what its query does now."""
        data = self.data
        of_query = self.distribution * np.count_nonzero(self.distribution)
        weight = np.repeat(of_query, data.sizes)
        if data.sample_weight is not None:
            # Of the given weights, those within a query are left.
            sums = np.add.reduceat(data.sample_weight, data.ptr[:-1])
            means = np.repeat(sums / data.sizes, data.sizes)
            weight = weight * data.sample_weight / np.where(means > 0.0, means, 1.0)
        return replace(data, sample_weight=weight, side={})

    def keep(self, n_rounds):
        ranker, kept = self.ranker, self.found[:n_rounds]
        ranker.weak_rankers_ = ranker.weak_rankers_ + [model for model, _, _ in kept]
        ranker.alphas_ = np.append(ranker.alphas_, [alpha for _, alpha, _ in kept])
        ranker.scales_ = np.append(ranker.scales_, [scale for _, _, scale in kept])


def _store_trap(ranker, trap: _Trap) -> None:
    """Keep with the model what a warm start must know."""
    ranker.queue_ = np.array(trap.queue, dtype=np.int32)
    ranker.set_aside_ = np.array(trap.aside, dtype=np.int32)
    ranker.is_queueing_, ranker.n_repeats_ = trap.queueing, trap.repeats


def _stored_trap(ranker) -> _Trap:
    last = -1
    if len(ranker.alphas_):
        downwards = bool(ranker.alphas_[-1] < 0.0)
        last = int(ranker.features_[-1]) + ranker.n_features_in_ * downwards
    queue, aside = ranker.queue_.tolist(), ranker.set_aside_.tolist()
    return _Trap(
        ranker.is_queueing_, tuple(queue), tuple(aside), last, ranker.n_repeats_
    )
