"""Active learning: judge documents, train, select the next ones, and so on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._inner import check_scores_documents, scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, NThreads, PositiveInt, Seed
from skrank._core._queries import QueryIndex
from skrank._core._sparse import check_sparse
from skrank._core._validation import (
    check_grades,
    check_options,
    n_rows,
    naming,
    resolve_groups,
)
from skrank._meta import fit_on, in_parallel
from skrank._rows import GroupedRows
from skrank.metrics import BaseMeasure, bootstrap_interval, get_measure
from skrank.metrics._registry import MeasureLike
from skrank.selection._active_base import BaseActiveSelector, RandomSelection

_MOST = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class ActiveLearningRun:
    """What was judged, and how well the rankers that learned from it rank.

    Attributes
    ----------
    n_judged : ndarray of shape (n_rounds + 1,), dtype int64
        Number of judged documents at each training, the first one before any selection.
    values : ndarray of shape (n_rounds + 1,)
        Mean of the measure over the test queries.
    per_query : ndarray of shape (n_rounds + 1, n_test_queries)
        Its values, by ascending query id; NaN for queries without information.
    rows : ndarray of shape (n_judged[-1],), dtype intp
        Numbers of the judged rows, in the order in which they were judged.
    ranker : estimator
        The last ranker.
    """

    n_judged: np.ndarray
    values: np.ndarray
    per_query: np.ndarray
    rows: np.ndarray
    ranker: Any


def active_learning(
    ranker: Any,
    X: Any,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    X_test: Any,
    y_test: Any,
    groups_test: Any = None,
    selector: BaseActiveSelector | None = None,
    n_initial: PositiveInt = 100,
    batch: PositiveInt = 50,
    n_rounds: PositiveInt = 10,
    measure: MeasureLike = "ndcg@10",
    random_state: Seed = 0,
) -> ActiveLearningRun:
    """Judge documents, train a ranker, select the next documents, and so on.

    The grades of all documents are known here, and are looked up when a document is
    selected: so a selector is tried before judges are paid. Test queries say how good
    the rankers are; nothing is selected by them.

    Parameters
    ----------
    ranker : estimator
        Ranker, pipeline or scikit-learn estimator, of which clones are fitted.
    X : array-like or CSR matrix of shape (n_documents, n_features)
        The pool, one row per document.
    y : array-like of shape (n_documents,)
        Grades.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the level ``"qid"`` of the pandas
        index of y or X.
    X_test : array-like or CSR matrix of shape (n_test_documents, n_features)
        Documents of the test queries.
    y_test : array-like of shape (n_test_documents,)
        Their grades.
    groups_test : array-like of shape (n_test_documents,), default=None
        Their queries; None reads a pandas index.
    selector : BaseActiveSelector, default=None
        Selector of the next documents; None means `RandomSelection`.
    n_initial : int, default=100
        Number of documents, or of queries where the selector selects these, that are
        judged at first. They are drawn at random, under the limit of the selector to
        the documents of a query.
    batch : int, default=50
        Number of documents, or queries, that are selected in a round.
    n_rounds : int, default=10
        Number of rounds. They end early when everything is judged.
    measure : measure, str or callable, default="ndcg@10"
        Measure of the rankings of test queries.
    random_state : int, RandomState or None, default=0
        Source of the first documents, and of the seeds of the selector.

    Returns
    -------
    ActiveLearningRun
        Numbers of judged documents, values of the measure, and the judged rows.

    Raises
    ------
    ValueError
        If an argument is malformed.

    See Also
    --------
    compare_selectors : Several selectors, repeated, with intervals.

    References
    ----------
    [Liu2011]_, section 13.3.1.2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.selection import SVMSelectiveSampling, active_learning
    >>> X, y, groups = make_ranking(n_queries=60, random_state=0)
    >>> pool, test = groups < 40, groups >= 40
    >>> run = active_learning(
    ...     RankSVM(), X[pool], y[pool], groups[pool], X_test=X[test], y_test=y[test],
    ...     groups_test=groups[test], selector=SVMSelectiveSampling(), n_rounds=3)
    >>> run.n_judged
    array([100, 150, 200, 250])
    """
    check_options(active_learning, locals())
    task = _Task(ranker, X, y, groups, (X_test, y_test, groups_test), measure)
    chosen = RandomSelection() if selector is None else selector
    rng = check_random_state(random_state)
    return task.run(chosen, int(n_initial), int(batch), int(n_rounds), rng)


def _rows_of(
    X, y, groups, caller: str, suffix: str = ""
) -> tuple[GroupedRows, QueryIndex]:
    """Return checked rows in the order of the ids of their queries, and that order."""
    name = f"X{suffix}"
    check_sparse(X, name)
    n = n_rows(X, name)
    with naming(name):  # lists may have different lengths
        rows = X if hasattr(X, "shape") else np.asarray(X)
    if len(rows.shape) != 2 or n == 0:
        raise ValueError(
            f"{name} must be a table of at least one document by features, got shape "
            f"{rows.shape}"
        )
    grades = check_grades(y, name=f"y{suffix}", n_samples=n)
    ids = resolve_groups(
        groups, y, X, n_samples=n, caller=caller, name=f"groups{suffix}"
    )
    index = QueryIndex.from_groups(ids, canonical=True)
    return GroupedRows.from_index(rows, grades, index), index


class _Task:
    """The pool with its hidden grades, and the test queries.

    Parameters
    ----------
    ranker : estimator
        Ranker of which clones are fitted.
    X, y, groups : array-like
        The pool.
    test : tuple
        Rows, grades and groups of the test queries.
    measure : measure, str or callable
        Measure of rankings.
    """

    def __init__(self, ranker, X, y, groups, test, measure):
        check_scores_documents(ranker, "ranker")
        self.ranker = ranker
        self.measure: BaseMeasure = get_measure(measure)
        self.pool, index = _rows_of(X, y, groups, "active_learning")
        order = np.arange(self.pool.n_documents) if index.order is None else index.order
        self.order = order
        X_test, y_test, groups_test = test
        self.test, _ = _rows_of(X_test, y_test, groups_test, "active_learning", "_test")
        d, found = self.pool.X.shape[1], self.test.X.shape[1]
        if found != d:
            raise ValueError(f"X_test must have the {d} columns of X, got {found}")

    def run(self, selector, n_initial, batch, n_rounds, rng) -> ActiveLearningRun:
        """Return the run of one selector."""
        selector._check_parameters()
        judged = np.zeros(self.pool.n_documents, dtype=bool)
        first = RandomSelection(
            selector.unit,
            max_per_query=selector.max_per_query,
            random_state=int(rng.randint(_MOST)),
        )
        chosen = self._selected(first, None, judged, n_initial)
        counts, values, sequence, model = [], [], [], None
        for _ in range(n_rounds + 1):
            judged[chosen] = True
            sequence.append(chosen)
            counts.append(int(judged.sum()))
            model = fit_on(self.ranker, self.pool.where(judged), owner="ranker")
            values.append(self._measured(model))
            if judged.all() or len(counts) > n_rounds:
                break
            seeded = clone(selector).set_params(random_state=int(rng.randint(_MOST)))
            chosen = self._selected(seeded, model, judged, batch)
        per_query = np.stack(values)
        return ActiveLearningRun(
            np.array(counts, dtype=np.int64),
            np.array([self._mean(each) for each in per_query]),
            per_query,
            self.order[np.concatenate(sequence)],
            model,
        )

    def _selected(self, selector, model, judged, n) -> np.ndarray:
        """Return the places of the next documents, or of those that are left."""
        left = np.flatnonzero(~judged)
        if selector.unit == "query":
            left = np.unique(self.pool.groups[left])
        grades = np.ma.masked_array(self.pool.y, mask=~judged)
        return selector.select(
            model, self.pool.X, self.pool.groups, min(n, len(left)), y=grades
        )

    def _measured(self, model) -> np.ndarray:
        test = self.test
        scores = scores_of(model, test.X, test.groups)
        return self.measure.per_query(np.asarray(test.y), scores, test.ptr)

    def _mean(self, values) -> float:
        return np.nan if np.isnan(values).all() else float(self.measure.mean(values))


@dataclass(frozen=True, eq=False)
class SelectorComparison:
    """Learning curves of selectors, with intervals.

    Attributes
    ----------
    n_judged : dict of str to ndarray of shape (n_points,)
        Number of judged documents at each point of the curve of a selector, the mean
        over repetitions.
    curves : dict of str to ndarray of shape (n_repeats, n_points)
        Mean of the measure over test queries, for each repetition.
    per_query : dict of str to ndarray of shape (n_points, n_queries)
        Values of the measure on the mean over repetitions; test queries without
        information are left out.
    measure_name : str
        Name of the measure.
    greater_is_better : bool
        Its direction.
    """

    n_judged: dict[str, np.ndarray]
    curves: dict[str, np.ndarray]
    per_query: dict[str, np.ndarray]
    measure_name: str
    greater_is_better: bool

    def mean(self, selector: str) -> np.ndarray:
        """Return the learning curve of a selector, the mean over repetitions."""
        return self.curves[self._known(selector, "selector")].mean(axis=0)

    def interval(
        self, selector: str, *, confidence: Fraction = 0.95, random_state: Seed = 0
    ) -> np.ndarray:
        """Return a bootstrap interval of each point of a learning curve.

        Parameters
        ----------
        selector : str
            Name of the selector.
        confidence : float, default=0.95
            Coverage of the interval.
        random_state : int, RandomState or None, default=0
            Source of the samples of test queries.

        Returns
        -------
        ndarray of shape (n_points, 2)
            Bounds, over samples of the test queries.

        Raises
        ------
        ValueError
            If there is no such selector.
        """
        values = self.per_query[self._known(selector, "selector")]
        check_options(SelectorComparison.interval, locals())
        return bootstrap_interval(
            values.T, confidence=confidence, random_state=random_state
        )

    def difference(
        self,
        selector: str,
        reference: str = "random",
        *,
        confidence: Fraction = 0.95,
        random_state: Seed = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what a selector is ahead of another one, with paired intervals.

        Parameters
        ----------
        selector : str
            Name of the selector.
        reference : str, default="random"
            Name of the selector that it is compared with.
        confidence : float, default=0.95
            Coverage of the intervals.
        random_state : int, RandomState or None, default=0
            Source of the samples of test queries.

        Returns
        -------
        difference : ndarray of shape (n_points,)
            Difference of the means, point by point.
        interval : ndarray of shape (n_points, 2)
            Bounds, over samples of the test queries, which both have in common.

        Raises
        ------
        ValueError
            If there are no such selectors, or their curves have other numbers of
            points.
        """
        check_options(SelectorComparison.difference, locals())
        own = self.per_query[self._known(selector, "selector")]
        other = self.per_query[self._known(reference, "reference")]
        if own.shape != other.shape:
            raise ValueError(
                f"the curves of {selector!r} and {reference!r} have {len(own)} and "
                f"{len(other)} points; compare selectors of the same unit"
            )
        gaps = (own - other).T
        interval = bootstrap_interval(
            gaps, confidence=confidence, random_state=random_state
        )
        return gaps.mean(axis=0), interval

    def _known(self, name, argument) -> str:
        if not isinstance(name, str) or name not in self.curves:
            raise ValueError(
                f"{argument} must be one of {', '.join(map(repr, self.curves))}, got "
                f"{shown(name)}"
            )
        return name


def compare_selectors(
    ranker: Any,
    X: Any,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    X_test: Any,
    y_test: Any,
    groups_test: Any = None,
    selectors: Mapping[str, BaseActiveSelector],
    n_initial: PositiveInt = 100,
    batch: PositiveInt = 50,
    n_rounds: PositiveInt = 10,
    n_repeats: PositiveInt = 5,
    measure: MeasureLike = "ndcg@10",
    random_state: Seed = 0,
    n_jobs: NThreads = None,
) -> SelectorComparison:
    """Compare selectors by their learning curves over several repetitions.

    In each repetition all selectors of a unit begin with the same documents. A
    selection at random, called "random", is added unless there is one of that name.

    Parameters
    ----------
    ranker : estimator
        Ranker, pipeline or scikit-learn estimator, of which clones are fitted.
    X : array-like or CSR matrix of shape (n_documents, n_features)
        The pool.
    y : array-like of shape (n_documents,)
        Its grades.
    groups : array-like of shape (n_documents,), default=None
        Its queries.
    X_test : array-like or CSR matrix of shape (n_test_documents, n_features)
        Documents of the test queries.
    y_test : array-like of shape (n_test_documents,)
        Their grades.
    groups_test : array-like of shape (n_test_documents,), default=None
        Their queries.
    selectors : dict of str to BaseActiveSelector
        Selectors by name.
    n_initial, batch, n_rounds : int
        As in `active_learning`.
    n_repeats : int, default=5
        Number of repetitions.
    measure : measure, str or callable, default="ndcg@10"
        Measure of the rankings of test queries.
    random_state : int, RandomState or None, default=0
        Source of the seed of each repetition.
    n_jobs : int, default=None
        Number of runs at the same time.

    Returns
    -------
    SelectorComparison
        Learning curves.

    Raises
    ------
    ValueError
        If an argument is malformed.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.selection import ExpectedHypothesisChange, compare_selectors
    >>> X, y, groups = make_ranking(n_queries=60, random_state=0)
    >>> pool, test = groups < 40, groups >= 40
    >>> comparison = compare_selectors(
    ...     RankSVM(), X[pool], y[pool], groups[pool], X_test=X[test], y_test=y[test],
    ...     groups_test=groups[test], n_rounds=2, n_repeats=2,
    ...     selectors={"change": ExpectedHypothesisChange(max_per_query=2)})
    >>> difference, interval = comparison.difference("change")
    >>> difference.shape, interval.shape
    ((3,), (3, 2))
    """
    check_options(compare_selectors, locals())
    task = _Task(ranker, X, y, groups, (X_test, y_test, groups_test), measure)
    named = dict(selectors)
    for name, selector in named.items():
        if not isinstance(selector, BaseActiveSelector):
            raise TypeError(
                f"selectors: {name!r} must be a selector of documents such as "
                f"RandomSelection(), got {shown(selector)}"
            )
    named.setdefault("random", RandomSelection())
    rng = check_random_state(random_state)
    seeds = [int(rng.randint(_MOST)) for _ in range(n_repeats)]

    def repeated(selector, seed):
        draws = np.random.RandomState(seed)
        return task.run(selector, int(n_initial), int(batch), int(n_rounds), draws)

    tasks = [(selector, seed) for selector in named.values() for seed in seeds]
    runs = in_parallel(repeated, tasks, n_jobs)
    curves, counts, per_query = {}, {}, {}
    for place, name in enumerate(named):
        # A number of NumPy in a small type would wrap around.
        own = runs[place * int(n_repeats) :][: int(n_repeats)]
        n_points = min(len(run.values) for run in own)
        curves[name] = np.stack([run.values[:n_points] for run in own])
        counts[name] = np.mean([run.n_judged[:n_points] for run in own], axis=0)
        values = np.mean([run.per_query[:n_points] for run in own], axis=0)
        per_query[name] = values[:, ~np.isnan(values).any(axis=0)]
    return SelectorComparison(
        counts, curves, per_query, task.measure.name, task.measure.greater_is_better
    )
