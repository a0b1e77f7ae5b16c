"""Comparison of rankers by clicks on interleaved lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.utils import check_random_state

from skrank._core._inner import scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Fraction, NThreads, PositiveInt, Seed
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._threads import n_threads_for
from skrank._core._validation import (
    as_numbers,
    check_arguments,
    check_grades,
    check_options,
    check_scores,
    n_rows,
    resolve_groups,
)
from skrank.metrics import holm_correction
from skrank.metrics._compare import check_names_of_runs
from skrank.online._balanced import BalancedInterleaving
from skrank.online._base import BaseInterleaving
from skrank.online._interaction import Audience, User
from skrank.online._probabilistic import ProbabilisticMultileaving
from skrank.online._rankings import Rankings
from skrank.online._team_draft import TeamDraftMultileaving
from skrank.rankers._rounds import draw_seed

_Method = BaseInterleaving | Literal["balanced", "team_draft", "probabilistic"]

_METHODS = {
    "balanced": BalancedInterleaving,
    "team_draft": TeamDraftMultileaving,
    "probabilistic": ProbabilisticMultileaving,
}
# Impressions that are drawn together; what they take is freed before the next ones.
_CHUNK = 4096


@dataclass(frozen=True, eq=False, repr=False)
class InterleavingComparison:
    r"""Which of some rankers users prefer, by their clicks on interleaved lists.

    An impression prefers ranker i to ranker j if i has more credit. Among the
    impressions that prefer one of them, a coin would prefer i in half: the test of

    .. math:: H_0 : P(i \succ j) = P(j \succ i)

    is the exact sign test, and the interval of the win rate that of Clopper and
    Pearson.

    Attributes
    ----------
    names : tuple of str
        Names of the rankers.
    n_impressions : int
        Number of impressions.
    mean_credits : ndarray of shape (n_rankings,)
        Mean credit of each ranker.
    wins : ndarray of shape (n_rankings, n_rankings), dtype intp
        Number of impressions that prefer the ranker of the row to that of the column.
    win_rates : ndarray of shape (n_rankings, n_rankings)
        Share of these among the impressions that prefer either; NaN where none does.
    intervals : ndarray of shape (n_rankings, n_rankings, 2)
        Bounds of the confidence interval of each win rate.
    pvalues : ndarray of shape (n_rankings, n_rankings)
        P-values of the sign tests of all pairs, with Holm's correction; NaN on the
        diagonal.
    confidence : float
        Coverage of the intervals.
    """

    names: tuple[str, ...]
    n_impressions: int
    mean_credits: np.ndarray
    wins: np.ndarray
    win_rates: np.ndarray
    intervals: np.ndarray
    pvalues: np.ndarray
    confidence: float

    @classmethod
    def from_credits(
        cls,
        credits: npt.ArrayLike,
        names: Sequence[str] | None = None,
        *,
        confidence: Fraction = 0.95,
    ) -> Self:
        """Compare rankers by credits, such as those of a real experiment.

        Complexity: O(n R²) for n impressions and R rankers.

        Parameters
        ----------
        credits : array-like of shape (n_impressions, n_rankings)
            Credit of each ranker in each impression, as the method ``credit`` of an
            interleaved list returns it.
        names : sequence of str, default=None
            Names of the rankers; None numbers them.
        confidence : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        InterleavingComparison
            The comparison.

        Raises
        ------
        ValueError
            If there are fewer than two rankers or no impression, a credit is not
            finite, or there is not one name for each ranker.

        Examples
        --------
        >>> from skrank.online import InterleavingComparison
        >>> credits = [[1, 0], [2, 1], [0, 0], [1, 0], [0, 1], [3, 0], [1, 0]]
        >>> found = InterleavingComparison.from_credits(credits, ["new", "old"])
        >>> found.wins.tolist()
        [[0, 5], [1, 0]]
        >>> print(found)
        7 impressions, intervals of 0.95
        new > old  5 : 1  win rate 0.833 [0.359, 0.996]  p = 0.22
        """
        check_arguments(cls.from_credits, confidence=confidence)
        found = as_numbers(credits, "credits")
        if found.ndim != 2 or found.shape[1] < 2 or not len(found):
            raise ValueError(
                "credits must have a row for each impression and at least two columns, "
                f"one for each ranker, got shape {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError("credits must be finite")
        n = found.shape[1]
        names = _checked_names(names, n)
        # Column by column, because R² numbers for each impression would be many.
        wins = np.array([(found[:, [i]] > found).sum(axis=0) for i in range(n)])
        rates, intervals, pvalues = _tested(wins.astype(np.intp), confidence)
        return cls(
            names=names,
            n_impressions=len(found),
            mean_credits=found.mean(axis=0),
            wins=wins.astype(np.intp),
            win_rates=rates,
            intervals=intervals,
            pvalues=pvalues,
            confidence=float(confidence),
        )

    def __repr__(self):
        return f"{type(self).__name__}(names={self.names}, n={self.n_impressions})"

    def __str__(self):
        width = max(map(len, self.names))
        lines = [f"{self.n_impressions} impressions, intervals of {self.confidence:g}"]
        for i, j in combinations(range(len(self.names)), 2):
            low, high = self.intervals[i, j]
            lines.append(
                f"{self.names[i]:>{width}} > {self.names[j]:<{width}}  "
                f"{self.wins[i, j]} : {self.wins[j, i]}  win rate "
                f"{self.win_rates[i, j]:.3f} [{low:.3f}, {high:.3f}]  "
                f"p = {self.pvalues[i, j]:.2g}"
            )
        return "\n".join(lines)


def _checked_names(names: Any, n: int) -> tuple[str, ...]:
    """Return a name for each of n rankers."""
    if names is None:
        return tuple(f"ranker {i}" for i in range(n))
    is_array = isinstance(names, np.ndarray) and names.ndim > 0
    is_list = isinstance(names, Sequence) and not isinstance(names, str | bytes)
    found = tuple(map(str, names)) if is_array or is_list else ()
    if len(found) != n or len(set(found)) < n:
        raise ValueError(
            f"names must hold one name for each of the {n} rankers, got {shown(names)}"
        )
    return found


def _tested(wins, confidence):
    """Return win rates, their intervals, and p-values of all pairs."""
    n = len(wins)
    rates = np.full((n, n), np.nan)
    intervals, pvalues = np.full((n, n, 2), np.nan), np.full((n, n), np.nan)
    pairs = list(combinations(range(n), 2))
    single = []
    for i, j in pairs:
        won, decided = int(wins[i, j]), int(wins[i, j] + wins[j, i])
        if not decided:
            single.append(1.0)
            intervals[i, j] = intervals[j, i] = 0.0, 1.0
            continue
        test = stats.binomtest(won, decided)
        bounds = test.proportion_ci(confidence)
        single.append(test.pvalue)
        rates[i, j], rates[j, i] = won / decided, (decided - won) / decided
        intervals[i, j] = bounds.low, bounds.high
        intervals[j, i] = 1.0 - bounds.high, 1.0 - bounds.low
    for (i, j), pvalue in zip(pairs, holm_correction(np.array(single))):
        pvalues[i, j] = pvalues[j, i] = pvalue
    return rates, intervals, pvalues


def compare_interleaved(
    runs: Mapping[str, Any],
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    X: Any = None,
    method: _Method = "team_draft",
    user: User = "perfect",
    n_impressions: PositiveInt = 1000,
    confidence: Fraction = 0.95,
    random_state: Seed = None,
    n_jobs: NThreads = None,
) -> InterleavingComparison:
    """Compare rankers by the clicks of simulated users on interleaved lists.

    Each impression draws a query, mixes the rankings of all rankers into one list, and
    draws the clicks of a user on it. For clicks of real users there is
    `InterleavingComparison.from_credits`. Complexity: O(n R) for n documents in all
    impressions and R rankers, besides sorting.

    Parameters
    ----------
    runs : dict of str to array-like of shape (n_samples,), or to fitted ranker
        Scores of each ranker, higher is better; or a fitted estimator whose ``predict``
        gives the scores for ``X``. Equal scores are put in an order that is drawn.
    y : array-like of shape (n_samples,)
        Grades, which only the user sees.
    groups : array-like of shape (n_samples,), default=None
        Query of each row; None reads a pandas index level ``qid`` of ``y`` or ``X``.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Documents, needed if ``runs`` holds rankers.
    method : interleaving or {"balanced", "team_draft", "probabilistic"}, \
default="team_draft"
        How lists are drawn. A name stands for the method with lists of 10 documents;
        "balanced" takes two rankers.
    user : SimulatedUser or {"perfect", "navigational", "informational"}, \
default="perfect"
        Who clicks.
    n_impressions : int, default=1000
        Number of lists.
    confidence : float, default=0.95
        Coverage of the intervals.
    random_state : int, RandomState instance or None, default=None
        Seed of queries, lists and clicks.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs. Results do not depend on it.

    Returns
    -------
    InterleavingComparison
        Wins, win rates with intervals, and p-values; it prints as a table.

    Raises
    ------
    ValueError
        If there are fewer than two runs, or more than the method takes, lengths differ,
        an option is unknown, or X is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.online import compare_interleaved
    >>> rng = np.random.default_rng(0)
    >>> y, groups = rng.integers(0, 3, size=400), np.repeat(np.arange(40), 10)
    >>> runs = {"good": y + rng.normal(size=400), "random": rng.normal(size=400)}
    >>> found = compare_interleaved(runs, y, groups, random_state=0)
    >>> bool(found.win_rates[0, 1] > 0.6), bool(found.pvalues[0, 1] < 0.001)
    (True, True)
    """
    check_options(compare_interleaved, locals())
    check_names_of_runs(runs, None, "scores or fitted rankers")
    if len(runs) < 2:
        raise ValueError(f"runs must be at least two, got {len(runs)}")
    chosen = method if isinstance(method, BaseInterleaving) else _METHODS[method]()
    chosen._check_parameters()
    chosen._check_number(len(runs))
    n = n_rows(y, "y")
    ids = resolve_groups(groups, y, X, n_samples=n, caller="compare_interleaved")
    index = QueryIndex.from_groups(ids, canonical=True)
    grades = index.take(check_grades(y, n_samples=n))
    scores = np.column_stack(
        [index.take(_scores_of(name, run, X, ids, n)) for name, run in runs.items()]
    )
    rng = check_random_state(random_state)
    audience = Audience(user, grades)
    queries = rng.randint(index.n_queries, size=n_impressions)
    credits = [
        _credits_of(chosen, scores, index.ptr, part, audience, rng, n_jobs)
        for part in np.split(queries, range(_CHUNK, len(queries), _CHUNK))
    ]
    return InterleavingComparison.from_credits(
        np.concatenate(credits), list(runs), confidence=confidence
    )


def _credits_of(method, scores, ptr, queries, audience, rng, n_jobs) -> np.ndarray:
    """Return credits in some impressions."""
    rows, bounds = rows_of_queries(ptr, queries)
    # About 50 ns for each document of a ranking.
    n_threads = n_threads_for(50.0 * len(rows) * scores.shape[1], n_jobs)
    rankings = Rankings.from_scores(scores[rows], bounds, draw_seed(rng), n_threads)
    lists = method._deal(rankings, draw_seed(rng), n_threads)
    start = np.repeat(bounds[:-1], np.diff(lists.ptr))
    clicked = audience.click(rows[start + lists.shown], lists.ptr, rng)
    return method._credits(lists, clicked, n_threads)


def _scores_of(name, run, X, groups, n_samples) -> np.ndarray:
    """Return the scores of a run, or of a ranker's predictions for X."""
    if hasattr(run, "predict"):
        if X is None:
            raise ValueError(
                f"runs[{shown(name)}] is a ranker, which needs X to predict"
            )
        run = scores_of(run, X, groups, response_method="predict")
    return check_scores(run, n_samples, name=f"runs[{shown(name)}]")
