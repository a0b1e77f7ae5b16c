"""Preferences from clicks: by the posterior of a model, or by what users skipped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._validation import as_numbers, calling, check_arguments
from skrank.click._labels import ids_of_pairs, relevance_of
from skrank.click._labels_posteriors import PosteriorTables, preference_probability
from skrank.click._sessions import Sessions
from skrank.click._sessions_ids import coded
from skrank.click._sessions_lookup import Missing, find_rows
from skrank.datasets._container import import_pandas

PreferenceMethod = Literal[
    "posterior",
    "relevance",
    "click > skip above",
    "last click > skip above",
    "click > earlier click",
    "click > skip previous",
    "click > skip next",
]

_POINTS = 129  # of the table of a density
_PAIRS = 1 << 20  # pairs that are in memory at once
# What a preference must exceed if nothing else is asked for.
_LIMITS = {"posterior": 0.5, "relevance": 0.0}


@dataclass(frozen=True, eq=False)
class ClickPreferences:
    """Pairs of documents of which the first is preferred for a query.

    Attributes
    ----------
    groups : ndarray of shape (n_pairs,)
        Query id of each pair.
    preferred : ndarray of shape (n_pairs,)
        Id of the preferred document.
    other : ndarray of shape (n_pairs,)
        Id of the other one.
    weight : ndarray of shape (n_pairs,), dtype float64
        How sure the preference is: its probability, the difference of relevances, or
        the number of sessions that agree less those that contradict.

    Examples
    --------
    >>> from skrank.click import Sessions, to_preferences
    >>> sessions = Sessions.from_lists(["q"], [["a", "b", "c"]], [[0, 0, 1]])
    >>> found = to_preferences(sessions)
    >>> found.preferred.tolist(), found.other.tolist()
    (['c', 'c'], ['a', 'b'])
    >>> pairs, weight = found.rows(groups=["q", "q", "q"], docids=["a", "c", "b"])
    >>> pairs.tolist(), weight.tolist()
    ([[1, 0], [1, 2]], [1.0, 1.0])
    """

    groups: np.ndarray
    preferred: np.ndarray
    other: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    def rows(
        self,
        groups: npt.ArrayLike,
        docids: npt.ArrayLike,
        *,
        missing: Missing = "raise",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the preferences as numbers of rows, which pairwise rankers take.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
            Query id of each row of features.
        docids : array-like of shape (n_rows,)
            Document id of each row.
        missing : {"raise", "drop"}, default="raise"
            What to do with preferences between documents that have no row: raise an
            error, or leave them out.

        Returns
        -------
        pairs : ndarray of shape (n_pairs, 2), dtype intp
            Rows (preferred, other), for ``fit(X, preferences=pairs, groups=groups,
            sample_weight=weight)``.
        weight : ndarray of shape (n_pairs,)
            Weights of these pairs.

        Raises
        ------
        ValueError
            If a document has no row, or more than one row for a query.
        """
        check_arguments(ClickPreferences.rows, missing=missing)
        pairs = np.column_stack(
            [
                find_rows(self.groups, one, groups, docids, missing=missing)
                for one in (self.preferred, self.other)
            ]
        ).astype(np.intp)
        kept = (pairs >= 0).all(axis=1)
        return pairs[kept], self.weight[kept]

    def to_frame(self) -> Any:
        """Convert to a data frame of pandas with one row per pair.

        Returns
        -------
        DataFrame
            Columns ``query``, ``preferred``, ``other`` and ``weight``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = import_pandas("ClickPreferences.to_frame")
        columns = {
            "query": self.groups,
            "preferred": self.preferred,
            "other": self.other,
        }
        frame = {c: pd.Series(id_list(v), dtype=object) for c, v in columns.items()}
        return pd.DataFrame(frame | {"weight": self.weight})


def to_preferences(
    source: Any,
    pairs: Sessions | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    *,
    method: PreferenceMethod | None = None,
    threshold: float | None = None,
) -> ClickPreferences:
    r"""Find which documents users prefer to others for a query.

    From a model that knows how sure it is, by the probability

    .. math::

       p(d_j \succ d_i) = P(R_j > R_i)
       = \iint_{R_j > R_i} p_j(R_j)\, p_i(R_i)\, dR_j\, dR_i

    from any other model, by the difference of relevances, and from the log itself, by
    what users passed over: who clicks on a document and not on one above has seen both.

    Parameters
    ----------
    source : object with a method ``relevance``, array-like, or Sessions
        Fitted model of clicks, or the relevance of each pair, or a log.
    pairs : Sessions, or tuple of two array-likes of shape (n_pairs,), default=None
        Log whose distinct pairs are compared, or query ids and document ids, each pair
        once. Needed with a model and without use for a log.
    method : str, default=None
        - "posterior": by the probability above. The model must have the method
          ``relevance_density(queries, documents, n_points)``, which returns bounds and
          a table of densities, as `BayesianBrowsingModel` has.
        - "relevance": by the difference of relevances.
        - "click > skip above": a clicked document to those above without a click.
        - "last click > skip above": the same for the last click from the top only.
        - "click > earlier click": a clicked document to the clicked ones above.
        - "click > skip previous": a clicked document to the one just above, if that is
          not clicked.
        - "click > skip next": a clicked document to the one just below, if that is not
          clicked.

        None takes "posterior" if the model can, "relevance" for other models, and
        "click > skip above" for a log.
    threshold : float, default=None
        What the weight of a preference must exceed: its probability (0.5 if None), the
        difference of relevances (0), or the number of sessions that agree less that of
        those that contradict (0).

    Returns
    -------
    ClickPreferences
        Preferences, at most one for two documents of a query, in the order of the ids.
        Complexity: O(m²) for m documents of a query; for a log, O(m²) for m documents
        of a session, a million pairs at a time.

    Raises
    ------
    ValueError
        If an argument is not accepted, or the method needs another source.
    TypeError
        If ``source`` or ``pairs`` is of another kind.

    See Also
    --------
    to_labels : Grades instead of preferences.

    Notes
    -----
    A log does not hold the order of clicks in time. The rules take users to click from
    the top to the bottom.

    References
    ----------
    [Liu2011]_, eq. 13.10; [Joachims2002]_ and [Joachims2005]_ for the rules.

    Examples
    --------
    >>> from skrank.click import Sessions, to_preferences
    >>> lists = [["a", "b", "c"], ["b", "a", "c"]]
    >>> sessions = Sessions.from_lists(["q", "q"], lists, [[0, 1, 0], [0, 0, 1]])
    >>> to_preferences(sessions).to_frame()
      query preferred other  weight
    0     q         b     a     1.0
    1     q         c     a     1.0
    2     q         c     b     1.0
    >>> to_preferences([0.5, 0.9, 0.4], sessions, threshold=0.2).preferred.tolist()
    ['b', 'b']
    """
    check_arguments(to_preferences, method=method, threshold=threshold)
    is_log = isinstance(source, Sessions)
    if method is None:
        can = callable(getattr(source, "relevance_density", None))
        method = "posterior" if can else "relevance"
        method = "click > skip above" if is_log else method
    limit = _LIMITS.get(method, 0.0) if threshold is None else float(threshold)
    if is_log != (method not in _LIMITS):
        needed = "a model of clicks" if is_log else "Sessions"
        raise ValueError(f"source must be {needed} for method={method!r}")
    if is_log:
        if pairs is not None:
            raise ValueError("pairs must be None, because source is a log itself")
        return _by_rule(source, method, limit)
    if pairs is None:
        raise ValueError("pairs must be given, because source is a model")
    queries, documents = ids_of_pairs(pairs)
    if method == "posterior":
        tables = _tables(source, queries, documents)
        compare = _by_posterior(tables, limit)
    else:
        compare = _by_difference(
            relevance_of(source, queries, documents, name="source"), limit
        )
    return _compared(queries, documents, compare)


Compare = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _tables(model, queries, documents) -> PosteriorTables:
    if not callable(getattr(model, "relevance_density", None)):
        raise ValueError(
            "source must have a method relevance_density for method='posterior', as "
            f"BayesianBrowsingModel has, got {shown(model)}"
        )
    if hasattr(model, "_tables_of_ids"):  # more exact ones than of equal distances
        return model._tables_of_ids(queries, documents)
    with calling("relevance_density"):
        low, high, density = model.relevance_density(queries, documents, _POINTS)
    names = ("low", "high", "density")
    found = [as_numbers(a, name) for a, name in zip((low, high, density), names)]
    return PosteriorTables.of(*found)


def _by_posterior(tables: PosteriorTables, limit: float) -> Compare:
    def compare(first, second):
        probability = preference_probability(tables, first, second)
        return np.maximum(probability, 1.0 - probability), probability < 0.5

    return _above(compare, limit)


def _by_difference(relevance: np.ndarray, limit: float) -> Compare:
    def compare(first, second):
        difference = relevance[first] - relevance[second]
        return np.abs(difference), difference < 0

    return _above(compare, limit)


def _above(compare: Compare, limit: float) -> Compare:
    """Return a comparison whose weights are 0 where they do not exceed the limit."""

    def limited(first, second):
        weight, swapped = compare(first, second)
        return np.where(weight > limit, weight, 0.0), swapped

    return limited


def _compared(queries, documents, compare: Compare) -> ClickPreferences:
    """Compare all documents of each query with each other."""
    codes, _ = coded(queries)
    order = np.lexsort((coded(documents)[0], codes))
    codes = codes[order]
    ends = np.searchsorted(codes, codes, side="right")
    parts = [(order[:0], order[:0], np.empty(0))]
    for first, second in _pairs_within(ends):
        one, other = order[first], order[second]
        weight, swapped = compare(one, other)
        kept = weight > 0
        one, other = np.where(swapped, other, one), np.where(swapped, one, other)
        parts.append((one[kept], other[kept], weight[kept]))
    one, other, weight = map(np.concatenate, zip(*parts))
    return ClickPreferences(queries[one], documents[one], documents[other], weight)


def _pairs_within(ends: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the pairs of each row and the rows after it, up to its end, in parts."""
    counts = ends - np.arange(len(ends)) - 1
    for start, stop in _parts(counts):
        own = np.arange(start, stop)
        first = np.repeat(own, counts[own])
        yield first, first + 1 + _count_up(counts[own])


def _parts(counts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cut rows into parts with about as many pairs as may be in memory at once."""
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        before = total[start] - counts[start]
        stop = int(np.searchsorted(total, before + _PAIRS, side="right"))
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def _count_up(sizes: np.ndarray) -> np.ndarray:
    """Return the numbers from 0 to each size, one list after another."""
    starts = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)


def _by_rule(sessions: Sessions, method: str, limit: float) -> ClickPreferences:
    pair, pair_query, pair_document = sessions.pairs()
    n_pairs = max(len(pair_query), 1)
    keys, votes = np.empty(0, np.int64), np.empty(0, np.int64)
    for better, worse in _RULES[method](sessions):
        one, other = pair[better], pair[worse]
        differ = one != other  # a document may stand in a list twice
        one, other = one[differ], other[differ]
        sign = np.where(one < other, 1, -1)
        new = np.minimum(one, other) * n_pairs + np.maximum(one, other)
        # Votes for and against a pair have one key, and add up as numbers with signs.
        keys, places = np.unique(np.concatenate([keys, new]), return_inverse=True)
        sums = np.bincount(
            places.ravel(), weights=np.concatenate([votes, sign]), minlength=len(keys)
        )
        votes = sums.astype(np.int64)
    kept = np.abs(votes) > max(limit, 0.0)
    keys, votes = keys[kept], votes[kept]
    low, high = keys // n_pairs, keys % n_pairs
    better, worse = np.where(votes > 0, low, high), np.where(votes > 0, high, low)
    return ClickPreferences(
        sessions.query_ids[pair_query[better]],
        sessions.document_ids[pair_document[better]],
        sessions.document_ids[pair_document[worse]],
        np.abs(votes).astype(np.float64),
    )


Rule = Callable[[Sessions], Iterator[tuple[np.ndarray, np.ndarray]]]


def _above_the_clicks(clicked: bool, last: bool = False) -> Rule:
    """Return the rule of clicks over what stands above them, clicked or not."""

    def rule(sessions):
        click, session, ptr = sessions.click, sessions.session, sessions.ptr
        rows = np.flatnonzero(click)
        if last:
            # Of several entries for one session the last one stays.
            lowest = np.full(len(sessions), -1, dtype=np.intp)
            lowest[session[rows]] = rows
            rows = lowest[lowest >= 0]
        chosen = np.flatnonzero(click if clicked else 1 - click)
        start = np.searchsorted(chosen, ptr[session[rows]])
        counts = np.searchsorted(chosen, rows) - start
        for first, stop in _parts(counts):
            part = slice(first, stop)
            places = np.repeat(start[part], counts[part]) + _count_up(counts[part])
            yield np.repeat(rows[part], counts[part]), chosen[places]

    return rule


def _beside_the_clicks(step: int) -> Rule:
    """Return the rule of clicks over the document just above or below, if skipped."""

    def rule(sessions):
        rows = np.flatnonzero(sessions.click)
        beside = rows + step
        inside = (beside >= 0) & (beside < sessions.n_impressions)
        rows, beside = rows[inside], beside[inside]
        session = sessions.session
        kept = (session[rows] == session[beside]) & (sessions.click[beside] == 0)
        yield rows[kept], beside[kept]

    return rule


_RULES: dict[str, Rule] = {
    "click > skip above": _above_the_clicks(clicked=False),
    "last click > skip above": _above_the_clicks(clicked=False, last=True),
    "click > earlier click": _above_the_clicks(clicked=True),
    "click > skip previous": _beside_the_clicks(-1),
    "click > skip next": _beside_the_clicks(1),
}
