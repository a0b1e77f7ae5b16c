"""Simulation of an online ranker that learns from users."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from skrank._core._best_first import best_first
from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt, Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_numbers,
    called,
    check_grades,
    check_options,
    n_rows,
    resolve_groups,
)
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike
from skrank.online._base_ranker import BaseClickRanker, Decay
from skrank.online._interaction import (
    Audience,
    Shown,
    User,
    interact,
    values_of_lists,
)

_N_CHECKPOINTS = 20

Callback = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, eq=False, repr=False)
class OnlineRun:
    r"""How an online ranker did while it learned from simulated users.

    The regret of an impression t is what the best list would have had more, by a
    measure M of the list :math:`R_t` that was shown for query :math:`q_t`; the best one
    :math:`R^*_t` is as long, with the documents of the best grades first. Over time it
    adds up to the cumulative regret; what users have had in all, later ones counting
    less by a factor :math:`\gamma`, is the online performance:

    .. math:: \text{regret}(T) = \sum_{t \le T} \bigl( M(q_t, R^*_t) - M(q_t, R_t)
              \bigr), \qquad
              \text{online}(T) = \sum_{t \le T} \gamma^{t - 1} M(q_t, R_t).

    Of a measure of which less is better, the regret has the opposite sign. Impressions
    of queries for which the measure has no value count in neither.

    Attributes
    ----------
    impressions : ndarray of shape (n_checkpoints,), dtype intp
        Numbers of impressions after which the ranker was measured, from 0 on.
    offline : ndarray of shape (n_checkpoints,)
        Mean measure of the ranking by scores, of the held-out queries if there are any.
    shown : ndarray of shape (n_impressions,)
        Measure of each list that was shown; NaN where it has no value.
    regret : ndarray of shape (n_impressions,)
        Regret of each list; NaN where the measure has no value.
    n_clicks : int
        Number of clicks.
    discount : float
        Factor :math:`\gamma` from one impression to the next.
    measure_name : str
        Name of the measure.
    ranker : BaseRanker
        The ranker, as it is after the last impression.

    References
    ----------
    [Hofmann2013]_ for the online performance; [Oosterhuis2018]_.
    """

    impressions: np.ndarray
    offline: np.ndarray
    shown: np.ndarray
    regret: np.ndarray
    n_clicks: int
    discount: float
    measure_name: str
    ranker: BaseClickRanker

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_impressions={len(self.shown)}, "
            f"offline={self.offline[-1]:.4f}, online={self.online[-1]:.4f}, "
            f"regret={self.cumulative_regret[-1]:.4f})"
        )

    @property
    def cumulative_regret(self) -> np.ndarray:
        """Sum of the regret up to each impression, shape (n_impressions,)."""
        return np.cumsum(np.nan_to_num(self.regret))

    @property
    def online(self) -> np.ndarray:
        """Discounted sum of the measure up to each impression."""
        weight = self.discount ** np.arange(len(self.shown), dtype=np.float64)
        return np.cumsum(weight * np.nan_to_num(self.shown))


def simulate_online(
    ranker: BaseClickRanker,
    X: ArrayOrCSR,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    user: User = "perfect",
    n_impressions: PositiveInt = 10_000,
    batch_size: PositiveInt = 1,
    X_val: ArrayOrCSR | None = None,
    y_val: npt.ArrayLike | None = None,
    groups_val: npt.ArrayLike | None = None,
    measure: MeasureLike = "ndcg@10",
    checkpoints: npt.ArrayLike | None = None,
    discount: Decay = 0.9995,
    callback: Callback | None = None,
    random_state: Seed = None,
) -> OnlineRun:
    """Let an online ranker learn from simulated users, and see how it does.

    Each impression draws a query, shows the list that the ranker proposes, and learns
    from the clicks of a user on it. The ranker that is passed is not changed: a copy
    goes on from what it has learned, if anything. Complexity: that of the ranker for
    each impression; none of it depends on the number of queries.

    Parameters
    ----------
    ranker : DuelingBanditRanker, MultileaveRanker or PDGD
        Ranker that learns from clicks.
    X : array-like or CSR matrix of shape (n_documents, n_features)
        One row per document.
    y : array-like of shape (n_documents,)
        Grades, which only the user sees.
    groups : array-like of shape (n_documents,), default=None
        The query of each row; None reads a pandas index level ``qid`` of ``y`` or
        ``X``.
    user : SimulatedUser or {"perfect", "navigational", "informational"}, \
default="perfect"
        Who clicks.
    n_impressions : int, default=10_000
        Number of lists that are shown.
    batch_size : int, default=1
        Number of lists that are shown before the ranker learns from the clicks on them.
    X_val : array-like or CSR matrix of shape (n_val_documents, n_features), \
default=None
        Documents of held-out queries. None measures the ranker on those that it learns
        from.
    y_val : array-like of shape (n_val_documents,), default=None
        Grades of these.
    groups_val : array-like of shape (n_val_documents,), default=None
        Queries of these.
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure of rankings and of the lists that are shown.
    checkpoints : array-like of shape (n_checkpoints,), default=None
        Numbers of impressions, ascending, after which the ranker is measured; they are
        rounded up to whole batches. None takes 20 of them whose ratios are about equal.
        0 and the last impression are added.
    discount : float, default=0.9995
        Factor by which later impressions count less in ``online``.
    callback : callable, default=None
        Function that is called at every checkpoint with a dict of ``impressions``,
        ``offline`` and ``n_clicks``. If it returns True, the simulation ends there.
    random_state : int, RandomState or None, default=None
        Seed of queries, lists and clicks. The same seed gives the same run to the bit,
        for any number of threads and any order of the queries with the same ids.

    Returns
    -------
    OnlineRun
        Offline and online performance, regret, and the ranker that has learned.

    Raises
    ------
    TypeError
        If the ranker does not learn from clicks.
    ValueError
        If groups are missing, lengths differ, grades or features are not finite, or an
        option is out of range.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.online import PDGD, simulate_online
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> run = simulate_online(
    ...     PDGD(), X, y, groups, user="informational", n_impressions=500,
    ...     random_state=0,
    ... )
    >>> bool(run.offline[-1] > run.offline[0])
    True
    >>> len(run.cumulative_regret)
    500
    """
    check_options(simulate_online, locals())
    if not isinstance(ranker, BaseClickRanker):
        raise TypeError(
            "simulate_online: ranker must learn from clicks, as PDGD does, got "
            f"{shown(ranker)}"
        )
    learner = copy.deepcopy(ranker)
    learner._check_parameters()
    first = not hasattr(learner, "params_")
    data, index = _grouped(learner, X, y, groups, "", reset=first)
    # Numbers of NumPy in small types would wrap around.
    n_impressions, batch_size = int(n_impressions), int(batch_size)
    held = data
    if X_val is not None or y_val is not None or groups_val is not None:
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val must be given together")
        held, _ = _grouped(learner, X_val, y_val, groups_val, "_val", reset=False)
    sums = _Sums(learner, get_measure(measure), data, held, discount, callback)
    counts = _checked_counts(checkpoints, n_impressions, batch_size)
    rng = check_random_state(random_state)
    queries = rng.randint(data.n_queries, size=n_impressions)

    def method(rows, validation):
        if first:
            learner._begin(rows)
        sums.run(Audience(user, np.asarray(rows.y)), queries, counts, rng, batch_size)

    learner._train(method, data, None)
    learner._note_queries(data, index, first)
    return sums.result()


def _grouped(learner, X, y, groups, suffix, *, reset) -> tuple[GroupedRows, QueryIndex]:
    """Check rows, and group them in the order of the ids of their queries."""
    rows = learner._check_rows(X, reset=reset, name=f"X{suffix}", training=True)
    n = n_rows(rows)
    grades = check_grades(y, n_samples=n, name=f"y{suffix}")
    ids = resolve_groups(
        groups, y, X, n_samples=n, caller="simulate_online", name=f"groups{suffix}"
    )
    index = QueryIndex.from_groups(ids, canonical=True)
    return GroupedRows.from_index(rows, grades, index), index


def _checked_counts(checkpoints, n_impressions, batch_size) -> np.ndarray:
    """Return the numbers of impressions at which to look, from 0 to the last."""
    if checkpoints is None:
        counts = np.geomspace(1.0, n_impressions, _N_CHECKPOINTS)
    else:
        counts = as_numbers(checkpoints, "checkpoints")
        whole = counts.ndim == 1 and np.isfinite(counts).all()
        whole = whole and bool((counts == np.floor(counts)).all())
        within = whole and bool(((counts >= 0) & (counts <= n_impressions)).all())
        if not within or (np.diff(counts) <= 0).any():
            raise ValueError(
                "checkpoints must be ascending whole numbers from 0 to "
                f"n_impressions={n_impressions}, got {shown(checkpoints)}"
            )
    batches = np.ceil(counts / batch_size).astype(np.int64)
    ends = np.minimum(batches * batch_size, n_impressions)
    return np.unique(np.concatenate(([0], ends, [n_impressions])))


def _best_lists(data: GroupedRows, length: int | None) -> Shown:
    """Return a list for each query in which the documents of the best grades come."""
    rows = best_first(np.asarray(data.y, dtype=np.float64), data.ptr)
    sizes = data.sizes if length is None else np.minimum(data.sizes, int(length))
    places = np.arange(len(rows)) - np.repeat(data.ptr[:-1], data.sizes)
    rows = rows[places < np.repeat(sizes, data.sizes)]
    return Shown(np.arange(data.n_queries), rows, np.append(0, np.cumsum(sizes)), 0)


class _Sums:
    """What is measured while a ranker learns."""

    def __init__(self, learner, measure, data, held, discount, callback):
        self._learner, self._measure = learner, measure
        self._data, self._held = data, held
        self._discount, self._callback = float(discount), callback
        best = _best_lists(data, learner.length)
        self._best = values_of_lists(measure, data.y, data.ptr, best)
        self._counts: list[int] = []
        self._offline: list[float] = []
        self._shown: list[np.ndarray] = []
        self._regret: list[np.ndarray] = []
        self._n_clicks = 0

    def run(self, audience, queries, counts, rng, batch_size) -> None:
        """Go through all impressions, and look at the ranker on the way."""
        if self._look(0):
            return
        for start, stop in pairwise(counts):
            part = queries[start:stop]
            for shown_ in interact(
                self._learner, self._data, audience, part, rng, batch_size
            ):
                self._add(shown_)
            if self._look(int(stop)):
                return

    def _add(self, shown_) -> None:
        data = self._data
        values = values_of_lists(self._measure, data.y, data.ptr, shown_)
        regret = self._best[shown_.queries] - values
        self._shown.append(values)
        self._regret.append(regret if self._measure.greater_is_better else -regret)
        self._n_clicks += shown_.n_clicks

    def _look(self, count: int) -> bool:
        """Measure the ranker, and return whether the caller has had enough."""
        held = self._held
        scores = self._learner._scores_at(self._learner.params_, held.X)
        grades = np.asarray(held.y, dtype=np.float64)
        values = self._measure.per_query(grades, scores, held.ptr)
        self._counts.append(count)
        self._offline.append(self._measure.mean(values, None))
        if self._callback is None:
            return False
        told = {
            "impressions": count,
            "offline": self._offline[-1],
            "n_clicks": self._n_clicks,
        }
        return called("callback", self._callback, told) is True

    def result(self) -> OnlineRun:
        """Return what was measured."""
        none = [np.zeros(0)]
        return OnlineRun(
            impressions=np.array(self._counts, dtype=np.intp),
            offline=np.array(self._offline, dtype=np.float64),
            shown=np.concatenate(self._shown or none),
            regret=np.concatenate(self._regret or none),
            n_clicks=self._n_clicks,
            discount=self._discount,
            measure_name=self._measure.name,
            ranker=self._learner,
        )
