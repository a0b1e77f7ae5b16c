"""Boosting of weak rankers that look at one feature each."""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Interval, Positive
from skrank._core._threads import effective_n_threads, n_threads_for
from skrank._objective import loss_of_judgements
from skrank.losses import BaseLoss
from skrank.losses._base import with_seeds
from skrank.rankers._iterations import BaseIterativeRanker, ThreadsMixin
from skrank.rankers._rounds import AdditiveRun, BaseAdditiveRanker
from skrank.trees import BinMapper
from skrank.trees._binning import ThresholdSearch, add_ranks, sum_ramps

# The arrays over weak rankers, by the names of the arguments of `add_ranks`.
_ARRAYS = {
    "feature": "features_",
    "low": "lows_",
    "high": "highs_",
    "missing": "missing_ranks_",
    "weight": "alphas_",
}
# What rounding alone may leave of a sum of potentials, relative to their sizes.
_NOTHING = 1e-12
# Mean loss below which all pairs are in order, and ratios would lose their digits.
_ALL_RIGHT = 1e-100
_TOLERANCE = 1e-6  # of steps of Newton's method, whose errors are their squares


class _MissingValuesTaken(BaseIterativeRanker):
    """Base class that the rule of `BaseAdditiveRanker` for ``init`` builds on."""

    _accepts_sparse = False
    _accepts_missing = True


class BaseThresholdBooster(ThreadsMixin, BaseAdditiveRanker, _MissingValuesTaken):
    r"""Base class of rankers that add up thresholded features.

    .. math:: f(x) = \sum_t \alpha_t h_t(x), \qquad h_t(x) = [x_{j_t} > \theta_t]

    In each round, the weak ranker is the one along which the loss falls fastest, among
    all features, all thresholds and both signs. The potential of a document, the
    negative derivative of the loss by its score, says all about it: one histogram of
    potentials over the bins of the features finds the best one. A subclass names its
    loss in `_loss` and the weight of a weak ranker in `_alpha`. In place of grades
    `fit` also takes pairs of row numbers: ``fit(X, preferences=pairs)``.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of weak rankers.
    weak_rankers : {"threshold", "feature"}, default="threshold"
        Whether a weak ranker is a feature above a threshold, which gives ranks of 0 and
        1, or a feature itself, scaled so that its training values lie between 0 and 1.
    max_bins : int, default=255
        Maximum number of bins of a feature, not counting that of missing values;
        thresholds lie between them.
    missing_rank : {"best", "low", "high"}, default="best"
        Rank that a weak ranker gives to missing values: 0 ("low"), 1 ("high"), or
        whichever of both is better for it.
    smoothing : float, default=1e-4
        Weight of two imaginary pairs, one in the right and one in the wrong order,
        relative to that of all pairs. It keeps the weight of a weak ranker that makes
        no mistake finite.

    Attributes
    ----------
    loss_ : BaseLoss
        Loss that was minimised.
    features_ : ndarray of shape (n_weak_rankers,)
        Feature of each weak ranker.
    lows_, highs_ : ndarray of shape (n_weak_rankers,)
        Values up to which the rank is 0, and from which on it is 1. For a threshold
        they are equal, and higher values have rank 1; infinities part missing values
        from all others.
    missing_ranks_ : ndarray of shape (n_weak_rankers,)
        Rank of missing values.
    alphas_ : ndarray of shape (n_weak_rankers,)
        Weight of each weak ranker; negative where low values are good.
    gains_ : ndarray of shape (n_weak_rankers,)
        Slope of the falling mean loss along each weak ranker, times its weight. That is
        about twice the decrease of the loss where the weight is that of the minimum,
        and less for shorter steps, down to the decrease itself for very short ones.
    bin_mapper_ : BinMapper
        Bins of the features.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the weak rankers on each feature, scaled to sum to 1.
    """

    n_estimators = 300
    weak_rankers: Literal["threshold", "feature"] = "threshold"
    max_bins: Annotated[int, Interval(2, 255)] = 255
    missing_rank: Literal["best", "low", "high"] = "best"
    smoothing: Positive = 1e-4

    _takes_preferences = True
    _remedy = "check init_score and sample_weight"

    def _loss(self) -> BaseLoss:
        """Return the loss of this ranker; never a prepared one."""
        raise NotImplementedError

    def _alpha(self, line: "Line") -> float:
        """Return the weight of the weak ranker that was found."""
        raise NotImplementedError

    def _new_run(self, data, validation, rng) -> "_ThresholdRun":
        return _ThresholdRun(self, data, validation, rng)

    def _n_weak(self) -> int:
        return len(self.alphas_)

    def _weak_arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, field) for name, field in _ARRAYS.items()}

    def _add_weak(self, raw, X) -> np.ndarray:
        add_weak(raw, X, self._weak_arrays(), self.n_jobs)
        return raw

    def _staged_raw(self, raw, X) -> Iterator[np.ndarray]:
        for weak in range(self._n_weak()):
            add_weak(raw, X, self._weak_arrays(), self.n_jobs, weak)
            yield raw

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from super()._learned()
        yield "alphas_", self.alphas_

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of the weak rankers on each feature, scaled to sum to 1."""
        check_is_fitted(self)
        gains = np.bincount(self.features_, self.gains_, self.n_features_in_)
        total = gains.sum()
        return gains / total if total > 0 else gains


def add_weak(raw, X, arrays, n_jobs, number=None) -> None:
    """Add weak rankers, or the one of this number, to scores of shape (n, 1)."""
    first, last = (0, len(arrays["weight"])) if number is None else (number, number + 1)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    X = np.ascontiguousarray(X)
    # A rank takes about 3 ns.
    work = 3 * len(X) * (last - first)
    n_threads = n_threads_for(work, effective_n_threads(n_jobs))
    add_ranks(X, raw[:, 0], **arrays, first=first, last=last, n_threads=n_threads)


class Line:
    """The loss along a weak ranker, scaled so that the slopes of all pairs sum to 1.

    Parameters
    ----------
    prepared : PreparedLoss
        The loss.
    scores : ndarray of shape (n_documents,)
        Scores before the weak ranker is added.
    ranks : ndarray of shape (n_documents,)
        What the weak ranker says of each document, in [0, 1].
    value : float
        Sum of the loss.
    decrease : float
        Slope of the falling loss along the ranks; negative where low ranks are good.
    smoothing : float
        Weight of two imaginary pairs, one in the right and one in the wrong order.
    """

    def __init__(self, prepared, scores, ranks, value, decrease, smoothing):
        self.prepared, self.scores, self.ranks = prepared, scores, ranks
        self.value, self.decrease = value, decrease
        self.smoothing = float(smoothing)

    def by_agreement(self) -> float:
        r"""Half the log ratio of the pairs in the right and in the wrong order.

        .. math:: \alpha = \frac12 \log \frac{W_+ + \epsilon}{W_- + \epsilon}
        """
        right, wrong, total = self.prepared.agreement(self.scores, self.ranks)
        ratio = right / total + self.smoothing, wrong / total + self.smoothing
        return float(0.5 * np.log(ratio[0] / ratio[1]))

    def by_mean(self) -> float:
        r"""Minimum of a bound by the mean difference of the ranks of a pair.

        .. math:: \alpha = \frac12 \log \frac{1 + r + 2\epsilon}{1 - r + 2\epsilon}
        """
        mean = self.decrease / self.value
        room = 1.0 + 2.0 * self.smoothing
        return float(0.5 * np.log((room + mean) / (room - mean)))

    def by_search(self) -> float:
        """Minimum of the loss itself, which must be convex, found numerically.

        The imaginary pairs are added to the loss, so that there is a minimum.
        """
        sign = 1.0 if self.decrease > 0 else -1.0

        def slope(size):
            raw = self.scores + (sign * size) * self.ranks
            _, first, second = self.prepared.along(raw, self.ranks)
            return (
                sign * first / self.value + 2.0 * self.smoothing * np.sinh(size),
                second / self.value + 2.0 * self.smoothing * np.cosh(size),
            )

        return sign * rising_root(slope, min(abs(self.decrease) / self.value, 1.0))


def rising_root(function, start: float) -> float:
    """Return the root of a rising function that is negative at 0, by Newton's method.

    Parameters
    ----------
    function : callable
        Function of a number that returns its value and its slope.
    start : float
        First guess, above 0.

    Returns
    -------
    float
        The root, with an error far below ``1e-8``.
    """
    low, high, x = 0.0, np.inf, start
    while True:
        value, slope = function(x)
        low, high = (x, high) if value < 0.0 else (low, x)
        step = -value / slope
        if abs(step) <= _TOLERANCE * max(x, 1.0) or high - low <= _TOLERANCE * x:
            return x + step if low <= x + step <= high else x
        # A step that leaves the bracket, or more than doubles x, is cut.
        x = min(x + step, 2.0 * x)
        if not low < x < high:
            x = 0.5 * (low + high)


class _ThresholdRun(AdditiveRun):
    """One run of boosting on thresholded features."""

    def bind(self):
        ranker, data = self.ranker, self.data
        self.n_threads = effective_n_threads(ranker.n_jobs)
        rng = check_random_state(ranker.random_state)
        self.loss = with_seeds(clone(ranker._loss()), rng)
        self.prepared = loss_of_judgements(self.loss, data).prepare(
            data.y, data.ptr, data.sample_weight, n_threads=self.n_threads
        )
        self.loss_name = type(self.loss).__name__
        self.remedy = ranker._remedy

    def forget(self, rng):
        ranker = self.ranker
        ranker.bin_mapper_ = BinMapper(max_bins=ranker.max_bins, random_state=rng).fit(
            self.data.X, n_threads=self.n_threads
        )
        # A generator would be pickled with the ranker, and has nothing left to draw.
        ranker.bin_mapper_.random_state = None
        for name, field in _ARRAYS.items():
            setattr(
                ranker, field, np.zeros(0, np.int32 if name == "feature" else float)
            )
        ranker.gains_ = np.zeros(0)

    def ready(self):
        ranker, X = self.ranker, self.data.X
        ranker.loss_ = self.loss
        kind = _Thresholds if ranker.weak_rankers == "threshold" else _Features
        # A rank of one feature takes about a nanosecond.
        n_threads = n_threads_for(X.size, self.n_threads)
        self.family = kind(X, ranker.bin_mapper_, ranker.missing_rank, n_threads)
        self.columns: dict[str, list] = {name: [] for name in [*_ARRAYS, "gain"]}

    def add_round(self, iteration):
        scores = self.scores[:, 0]
        values, gradient = self.prepared.value_gradient(scores)
        value, sizes = float(values.sum()), float(np.abs(gradient).sum())
        total = self.prepared.total_weight
        if value <= _ALL_RIGHT * total or sizes == 0.0:
            return None
        weak, decrease = self.family.best(-gradient)
        if weak is None or abs(decrease) <= _NOTHING * sizes:
            return None
        ranks = np.zeros((len(scores), 1))
        self._add(ranks, self.data.X, weak | {"weight": 1.0})
        smoothing = self.ranker.smoothing
        line = Line(self.prepared, scores, ranks[:, 0], value, decrease, smoothing)
        alpha = self.ranker._alpha(line)
        weak |= {"weight": alpha}
        for name, number in (weak | {"gain": decrease * alpha / total}).items():
            self.columns[name].append(number)
        self.scores += alpha * ranks
        if self.validation is not None:
            self._add(self.held_scores, self.validation.X, weak)
        return value / total

    def _add(self, raw, X, weak):
        """Add one weak ranker to scores of shape (n, 1)."""
        arrays = {
            name: np.array([number], _dtype(name)) for name, number in weak.items()
        }
        add_weak(raw, X, arrays, self.ranker.n_jobs)

    def keep(self, n_rounds):
        ranker = self.ranker
        for name, field in (_ARRAYS | {"gain": "gains_"}).items():
            before = getattr(ranker, field)
            more = np.asarray(self.columns[name][:n_rounds], dtype=before.dtype)
            setattr(ranker, field, np.concatenate([before, more]))


def _dtype(name) -> type:
    """Return the type of the numbers of an array over weak rankers."""
    return np.int32 if name == "feature" else np.float64


class _Thresholds:
    """Weak rankers that are features above a threshold."""

    def __init__(self, X, mapper, missing_rank, n_threads):
        self.thresholds, self.n_threads = mapper.thresholds_, n_threads
        self.low, self.high = missing_rank != "high", missing_rank != "low"
        self.search = ThresholdSearch(
            mapper.transform(X, n_threads=n_threads), len(X), mapper.n_bins_
        )

    def best(self, potentials):
        """Return the weak ranker of the largest sum of potentials, and that sum."""
        feature, place, missing, total = self.search.best(
            potentials, self.low, self.high, self.n_threads
        )
        if feature < 0:
            return None, 0.0
        bound = float(self.thresholds[feature, place]) if place >= 0 else -np.inf
        ends = {"low": bound, "high": bound}
        return {"feature": feature, **ends, "missing": float(missing)}, total


class _Features:
    """Weak rankers that are features themselves, scaled to [0, 1]."""

    def __init__(self, X, mapper, missing_rank, n_threads):
        self.X, self.n_threads = np.ascontiguousarray(X), n_threads
        self.missing_rank = missing_rank
        # A feature without any value has no bounds, and says nothing.
        known = ~np.isnan(self.X).all(axis=0)
        self.low, self.high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self.low[known] = np.nanmin(self.X[:, known], axis=0)
        self.high[known] = np.nanmax(self.X[:, known], axis=0)

    def best(self, potentials):
        """Return the weak ranker of the largest sum of potentials, and that sum."""
        sums, missing = sum_ramps(
            self.X, self.low, self.high, potentials, self.n_threads
        )
        with_missing = sums + missing
        above = np.abs(with_missing) > np.abs(sums)
        if self.missing_rank != "best":
            above[:] = self.missing_rank == "high"
        totals = np.where(above, with_missing, sums)
        totals[self.low == self.high] = 0.0
        j = int(np.argmax(np.abs(totals)))
        ends = {"low": float(self.low[j]), "high": float(self.high[j])}
        weak = {"feature": j, **ends, "missing": float(above[j])}
        return (weak if totals[j] else None), float(totals[j])
