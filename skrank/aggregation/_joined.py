"""Several runs as one table: a row for every document that any of them retrieved.

Runs come as `skrank.datasets.Run`, as dictionaries, or as an array of scores. Whatever
they were, aggregators see a `JoinedRuns`: rows grouped by query, one column of scores
per run, and NaN where a run did not retrieve the document.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from skrank._core._best_first import best_first
from skrank._core._id_arrays import (
    UnitError,
    comparable_ids,
    id_array,
    id_list,
    id_objects,
    objects_of,
    unmixed,
)
from skrank._core._ids import IdTable, join_ids
from skrank._core._messages import shown
from skrank._core._missing import is_missing
from skrank._core._parameters import NonNegativeInt, PositiveInt
from skrank._core._queries import Grouped, QueryIndex, rows_of_queries
from skrank._core._segments import places_of_order
from skrank._core._sparse import is_mapping
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_groups,
    check_no_missing_id,
    check_scores,
    n_rows,
    resolve_groups,
)
from skrank.datasets import Run

RunLike = Run | Mapping[Any, Mapping[Any, float]]
RunsLike = Sequence[RunLike] | Mapping[Any, RunLike] | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class JoinedRuns(Grouped):
    """The documents that any of several runs retrieved, with the scores of all runs.

    Made by `join_runs`. It stands in for the runs wherever an aggregator takes them, so
    that several aggregators need not join the same runs again.

    Attributes
    ----------
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
    queries : ndarray of shape (n_queries,)
        Query ids, in the order in which they first appear in the runs.
    tags : tuple of str
        Names of the runs.
    """

    ptr: np.ndarray
    queries: np.ndarray
    tags: tuple[str, ...]
    _kind: Literal["run", "dict", "array"] = field(default="array", repr=False)
    _index: QueryIndex | None = field(default=None, repr=False)
    # Scores in an array; those of other runs are collected when they are wanted.
    _matrix: np.ndarray | None = field(default=None, repr=False)
    # Rows and pointers of each run in the order of its own documents, which are often
    # sorted already.
    _entries: tuple[tuple[np.ndarray, np.ndarray], ...] | None = field(
        default=None, repr=False
    )
    # Scores in the same order, and ids of the rows, both in arrays of the runs.
    _own_scores: tuple[np.ndarray, ...] | None = field(default=None, repr=False)
    _ids: IdTable | None = field(default=None, repr=False)

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each document in each run, shape (n_documents, n_runs).

        Higher is better; NaN means that the run did not retrieve the document.
        """
        if self._matrix is not None:
            return self._matrix
        assert self._own_scores is not None
        return self._spread(self._own_scores)

    @cached_property
    def docids(self) -> np.ndarray | None:
        """Document ids, dtype object; None if the runs came as an array."""
        if self._ids is None:
            return None
        return self._ids.take(np.arange(self.n_documents))

    @property
    def ids(self) -> IdTable | None:
        """Document ids that can be taken in any order; None as in `docids`."""
        if self._ids is None and self.docids is not None:
            return IdTable([self.docids])
        return self._ids

    def _spread(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return values of the entries of each run as a table of all rows."""
        table = np.full((self.n_documents, self.n_runs), np.nan, order="F")
        for run, own in enumerate(values):
            table[self.rows_of(run)[0], run] = own
        return table

    def settled(self) -> "JoinedRuns":
        """Return this table without references to the arrays of the runs.

        Their owners may change them, after which nothing that is collected from them
        later would fit what was joined.

        Returns
        -------
        JoinedRuns
            The table itself.
        """
        if self._own_scores is not None:
            vars(self).update(scores=self.scores, docids=self.docids)
            vars(self).update(_own_scores=None, _ids=None)
        return self

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.tags)

    @property
    def groups(self) -> np.ndarray:
        """Query id of each document, shape (n_documents,)."""
        return np.repeat(self.queries, self.sizes)

    @cached_property
    def retrieved(self) -> np.ndarray:
        """Whether each run has each document, shape (n_documents, n_runs)."""
        return ~np.isnan(self.scores)

    @cached_property
    def found(self) -> np.ndarray:
        """Whether any run has each document, shape (n_documents,).

        Only an array may have rows that no run retrieved.
        """
        if self._kind == "array":
            return np.asarray(self.retrieved.any(axis=1))
        return np.ones(self.n_documents, dtype=bool)

    def retrieved_only(self) -> "JoinedRuns":
        """Return the table of the documents that any run retrieved.

        Returns
        -------
        JoinedRuns
            The table itself, unless it has other rows, as only an array may.
        """
        if self.found.all():
            return self
        counts = np.append(0, np.cumsum(self.found, dtype=np.intp))
        scores = np.asfortranarray(self.scores[self.found])
        return replace(self, _matrix=scores, ptr=counts[self.ptr], _index=None)

    @cached_property
    def n_retrieved(self) -> np.ndarray:
        """Number of documents of each query and run, shape (n_queries, n_runs)."""
        sizes = [np.diff(self.rows_of(run)[1]) for run in range(self.n_runs)]
        return np.stack(sizes, axis=1)

    @cached_property
    def n_finding(self) -> np.ndarray:
        """Number of runs that have each document, shape (n_documents,)."""
        return np.count_nonzero(self.retrieved, axis=1)

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank of each document in each run, shape (n_documents, n_runs).

        The best document has rank 1.0; NaN means that the run lacks the document. Equal
        scores are ranked as trec_eval does, the larger document id first, and in the
        order of the rows where there are no ids.
        """
        return self._spread(self.own_ranks)

    @cached_property
    def own_ranks(self) -> tuple[np.ndarray, ...]:
        """For each run, the ranks of its documents in the order of `rows_of`."""
        found = []
        for run in range(self.n_runs):
            rows, ptr = self.rows_of(run)
            order = best_first(self.scores_of(run), ptr, self.ids, rows)
            found.append(places_of_order(order, ptr))
        return tuple(found)

    def scores_of(self, run: int) -> np.ndarray:
        """Return the scores of the documents of a run, in the order of `rows_of`.

        Parameters
        ----------
        run : int
            Number of the run.

        Returns
        -------
        ndarray of shape (n_run,)
        """
        if self._own_scores is not None:
            return self._own_scores[run]
        return self.scores[self.rows_of(run)[0], run]

    def rows_of(self, run: NonNegativeInt) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the documents of a run, and their pointer array.

        Parameters
        ----------
        run : int
            Number of the run.

        Returns
        -------
        rows : ndarray of shape (n_run,), dtype intp
            Rows of the documents that the run retrieved, in the order of the run.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Pointer array of ``rows``.

        Raises
        ------
        ValueError
            If there is no such run.
        """
        check_arguments(JoinedRuns.rows_of, run=run)
        if run >= self.n_runs:
            raise ValueError(
                f"rows_of: run must be less than the number of runs, {self.n_runs}, "
                f"got {run}"
            )
        if self._entries is not None:
            return self._entries[run]
        rows = np.flatnonzero(self.retrieved[:, run])
        return rows, np.searchsorted(rows, self.ptr).astype(np.intp)

    def top(self, depth: PositiveInt) -> "JoinedRuns":
        """Return the runs cut off at a rank.

        Parameters
        ----------
        depth : int
            Number of documents of each query that a run keeps.

        Returns
        -------
        JoinedRuns
            Table without the documents that no run keeps, unless the runs came as an
            array, whose rows stay.

        Raises
        ------
        ValueError
            If the depth is not a whole number above 0.
        """
        check_arguments(JoinedRuns.top, depth=depth)
        if self._kind == "array":
            kept = self.ranks <= depth
            scores = np.asfortranarray(np.where(kept, self.scores, np.nan))
            cut = replace(self, _matrix=scores)
            # Ranks of the documents above the cut do not change.
            ranks = np.asfortranarray(np.where(kept, self.ranks, np.nan))
            vars(cut)["ranks"] = ranks
            return cut
        kept = [ranks <= depth for ranks in self.own_ranks]
        finding = np.zeros(self.n_documents, dtype=np.int32)
        for run, own in enumerate(kept):
            finding[self.rows_of(run)[0][own]] += 1
        place = np.append(0, np.cumsum(finding > 0, dtype=np.intp))
        entries = []
        for run, own in enumerate(kept):
            rows, bounds = self.rows_of(run)
            counts = np.append(0, np.cumsum(own, dtype=np.intp))
            entries.append((place[rows[own]], counts[bounds]))
        assert self.docids is not None
        cut = replace(
            self,
            ptr=place[self.ptr],
            _entries=tuple(entries),
            _own_scores=tuple(self.scores_of(run)[own] for run, own in enumerate(kept)),
            _ids=IdTable([self.docids[finding > 0]]),
        )
        ranks = tuple(ranks[own] for ranks, own in zip(self.own_ranks, kept))
        vars(cut).update(own_ranks=ranks, n_finding=finding[finding > 0])
        return cut


def join_runs(
    runs: RunsLike | JoinedRuns,
    groups: npt.ArrayLike | None = None,
    *,
    depth: PositiveInt | None = None,
) -> JoinedRuns:
    """Join runs into one table of the documents that any of them retrieved.

    Parameters
    ----------
    runs : sequence or mapping of runs, or array-like of shape (n_documents, n_runs)
        Runs of `skrank.datasets.load_run`; or dictionaries ``{query: {document:
        score}}``; or scores in an array, NaN or −inf where a run did not retrieve a
        document. A mapping names the runs by its keys.
    groups : array-like of shape (n_documents,), default=None
        Query id of each row of an array. None reads a pandas index level "qid".
    depth : int, default=None
        Number of best documents of each query that are taken from a run; None takes
        all.

    Returns
    -------
    JoinedRuns
        Table of documents and scores. Complexity: O(n) for n retrieved documents, and
        O(n log n) with a ``depth``.

    Raises
    ------
    ValueError
        If there is no run, a run retrieves a document twice for a query, a score is not
        a finite number, lengths differ, or ids are missing.
    TypeError
        If runs are of several kinds or of none that is known.

    Examples
    --------
    >>> from skrank.aggregation import join_runs
    >>> bm25 = {"q1": {"a": 3.0, "b": 2.0}}
    >>> dense = {"q1": {"b": 0.9, "c": 0.8}}
    >>> joined = join_runs({"bm25": bm25, "dense": dense})
    >>> joined.docids.tolist(), joined.tags
    (['a', 'b', 'c'], ('bm25', 'dense'))
    >>> joined.scores
    array([[3. , nan],
           [2. , 0.9],
           [nan, 0.8]])
    """
    return join_for_now(runs, groups, depth).settled()


def join_for_now(runs: Any, groups: Any, depth: Any = None) -> JoinedRuns:
    """Join runs for one use: the table reads from the arrays of the runs.

    Parameters
    ----------
    runs : runs or joined runs
        Runs, as `join_runs` takes them.
    groups : array-like of shape (n_documents,) or None
        Query id of each row of an array.
    depth : int, default=None
        Number of best documents of each query that are taken from a run.

    Returns
    -------
    JoinedRuns
        Table of documents and scores, in which nothing is collected yet.
    """
    check_arguments(join_runs, depth=depth)
    if isinstance(runs, JoinedRuns):
        if groups is not None:
            raise ValueError("groups belongs to runs in an array; joined runs have it")
        joined = runs
    else:
        joined = join_new(runs, groups)
    return joined if depth is None else joined.top(depth)


def join_new(runs: Any, groups: Any, name: str = "runs") -> JoinedRuns:
    """Join runs of any kind but joined ones, for one use.

    Parameters
    ----------
    runs : sequence or mapping of runs, or array-like of shape (n_documents, n_runs)
        Runs, as `join_runs` takes them.
    groups : array-like of shape (n_documents,) or None
        Query id of each row of an array.
    name : str, default="runs"
        Name of the argument in error messages.

    Returns
    -------
    JoinedRuns
        Table of documents and scores.
    """
    if isinstance(runs, Run):
        raise TypeError(f"{name} must be several runs, got one Run; put it into a list")
    names = None
    if is_mapping(runs):
        names, runs = [str(name) for name in runs], list(runs.values())
    if isinstance(runs, Iterator):
        raise TypeError(
            f"{name} must be a sequence of runs, such as a list, got a "
            f"{type(runs).__name__}; pass list({name})"
        )
    if not isinstance(runs, list | tuple) or not any(map(_is_run, runs)):
        is_sequence = isinstance(runs, list | tuple)
        holds_mapping = is_sequence and any(is_mapping(run) for run in runs)
        if names is not None or holds_mapping or (is_sequence and not len(runs)):
            found = shown(runs[0]) if runs else "none"
            raise TypeError(
                f"{name} must be a sequence of Run objects or of dictionaries {{query: "
                f"{{document: score}}}}, or a mapping of names to them; found {found}"
            )
        return _from_array(runs, groups, name)
    if groups is not None:
        raise ValueError("groups belongs to runs in an array; these runs name queries")
    if len(set(map(type, runs))) > 1 or not _is_run(runs[0]):
        kinds = ", ".join(dict.fromkeys(type(run).__name__ for run in runs))
        raise TypeError(f"{name} must all be of one kind, got {kinds}")
    is_run = isinstance(runs[0], Run)
    names = names or [run.tag if is_run else f"run{i}" for i, run in enumerate(runs)]
    own = [f"{name}[{i}]" for i in range(len(runs))]
    if is_run:
        columns = [_columns_of_run(run, own[i]) for i, run in enumerate(runs)]
        queries, docids, scores = zip(*columns)
        parts = list(
            map(_part, comparable_ids(*queries), comparable_ids(*docids), scores)
        )
    else:
        columns = [_columns_of_dict(run, own[i]) for i, run in enumerate(runs)]
        queries, docids, pointers, scores = zip(*columns)
        known = map(id_list, comparable_ids(*queries))
        objects = map(id_objects, comparable_ids(*docids))
        parts = list(map(_Part, known, pointers, objects, scores))
    return _from_parts(parts, tuple(names), "run" if is_run else "dict")


def _is_run(run) -> bool:
    if isinstance(run, Run):
        return True
    # A mapping whose values are numbers is one query of a run, not a run.
    return is_mapping(run) and all(
        isinstance(value, Mapping) for value in list(run.values())[:1]
    )


class _Part(NamedTuple):
    """One run, grouped by query."""

    queries: list
    ptr: np.ndarray
    docids: np.ndarray
    scores: np.ndarray

    def ordered(self, queries: list) -> "_Part":
        """Return the run with exactly these queries, in their order."""
        if self.queries == queries:
            return self
        numbers = {query: i for i, query in enumerate(self.queries)}
        known = [numbers[query] for query in queries if query in numbers]
        chosen = np.array(known, dtype=np.intp)
        rows, _ = rows_of_queries(self.ptr, chosen)
        sizes = np.zeros(len(queries), dtype=np.intp)
        held = [query in numbers for query in queries]
        sizes[held] = np.diff(self.ptr)[chosen]
        ptr = np.append(0, np.cumsum(sizes))
        return _Part(queries, ptr, self.docids[rows], self.scores[rows])


def _check_finite(scores: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} must hold finite scores; it contains NaN or infinity")
    return scores


def _columns_of_run(run: Run, name: str) -> tuple:
    n = n_rows(run.groups)
    groups = check_groups(run.groups, n, name=f"{name}.groups")
    scores = check_scores(run.scores, n, name=f"{name}.scores")
    docids = as_ids(run.docids, f"{name}.docids", "document id")
    if len(docids) != n:
        raise ValueError(f"{name}.docids has {len(docids)} ids for {n} rows")
    return groups, docids, _check_finite(scores, f"{name}.scores")


def _part(groups: np.ndarray, docids: np.ndarray, scores: np.ndarray) -> _Part:
    """Return the rows of a run, grouped by query."""
    index = QueryIndex.from_groups(groups)
    docids = index.take(id_objects(docids))
    return _Part(id_list(index.ids), index.ptr, docids, index.take(scores))


def _columns_of_dict(run: Mapping, name: str) -> tuple:
    lists = list(run.values())
    for entry in lists:
        if not isinstance(entry, Mapping):
            raise TypeError(
                f"{name} must be {{query: {{document: score}}}}, found {shown(entry)} "
                "in place of {document: score}"
            )
    for query in run:
        if not isinstance(query, str) and is_missing(query):
            raise ValueError(
                f"{name} must name each query by an id, found {shown(query)}, which "
                "stands for a missing one"
            )
    ids = objects_of(chain.from_iterable(lists))
    docids = as_ids(ids, name, "document id")
    values = list(chain.from_iterable(entry.values() for entry in lists))
    scores = as_numbers(values, name, "numeric scores")
    if scores.ndim > 1:  # arrays in place of numbers
        raise ValueError(
            f"{name} must hold numeric scores, found an array of shape "
            f"{scores.shape[1:]} in place of one"
        )
    ptr = np.append(0, np.cumsum([len(entry) for entry in lists])).astype(np.intp)
    queries = objects_of(run)
    with contextlib.suppress(UnitError):  # of several kinds, which stay what they are
        queries = unmixed(queries)
    return queries, docids, ptr, _check_finite(scores, name)


def _from_parts(parts: list[_Part], tags, kind) -> JoinedRuns:
    """Join runs that name their documents."""
    queries = list(dict.fromkeys(chain.from_iterable(part.queries for part in parts)))
    parts = [part.ordered(queries) for part in parts]
    pointers = np.array([part.ptr for part in parts])
    lists = [part.docids for part in parts]
    rows, ptr, sources, finding, all_strings, duplicate = join_ids(lists, pointers)
    if not all_strings:  # strings are never missing
        for i, part in enumerate(parts):
            check_no_missing_id(part.docids, f"runs[{i}].docids", "document id")
    if duplicate is not None:
        run, entry = duplicate
        query = queries[int(np.searchsorted(parts[run].ptr, entry, "right")) - 1]
        raise ValueError(
            f"runs[{run}] retrieves document {shown(parts[run].docids[entry])} a "
            f"second time for query {shown(query)}"
        )
    joined = JoinedRuns(
        ptr,
        _objects(queries, kind),
        tuple(tags),
        kind,
        _entries=tuple((own, part.ptr) for own, part in zip(rows, parts)),
        _own_scores=tuple(part.scores for part in parts),
        _ids=IdTable(lists, sources),
    )
    vars(joined)["n_finding"] = finding
    return joined


def _objects(queries: list, kind) -> np.ndarray:
    """Return query ids as an array, as compact as the type of the ids allows."""
    if kind == "run" and all(isinstance(query, str) for query in queries):
        return id_array(queries)
    return objects_of(queries)


def _from_array(runs, groups, name) -> JoinedRuns:
    """Group the rows of an array of scores."""
    scores = as_numbers(runs, name, "numeric scores")
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise ValueError(
            f"{name} in an array must have the shape (n_documents, n_runs), got "
            f"{scores.shape}"
        )
    if len(scores) == 0:
        raise ValueError(f"{name} has no rows; at least one document is needed")
    if (scores == np.inf).any():
        raise ValueError(
            f"{name} must hold finite scores, or NaN where a run lacks a document; it "
            "contains infinity"
        )
    caller = f"aggregation of {name}"
    ids = resolve_groups(groups, runs, n_samples=len(scores), caller=caller)
    index = QueryIndex.from_groups(ids)
    grouped = np.array(index.take(scores), order="F")
    grouped[grouped == -np.inf] = np.nan  # not retrieved, as measures take it
    columns = getattr(runs, "columns", range(scores.shape[1]))
    tags = tuple(c if isinstance(c, str) else f"run{i}" for i, c in enumerate(columns))
    return JoinedRuns(index.ptr, index.ids, tags, "array", index, grouped)


def made_equal(
    values: np.ndarray, ptr: np.ndarray, tolerance: float = 1e-10
) -> np.ndarray:
    """Make numbers of a query equal that differ by no more than rounding does.

    Iterations and solutions of equations leave such differences between documents
    whose scores ought to be equal, and they change with the order of runs and rows.

    Parameters
    ----------
    values : ndarray of shape (n_documents,)
        Numbers >= 0.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    tolerance : float, default=1e-10
        Largest difference from the next larger number of the query, as a part of it,
        that is made 0.

    Returns
    -------
    ndarray of shape (n_documents,)
        Numbers, each of them the largest of those that it is made equal to.
        Complexity: O(n log n).
    """
    order = best_first(values, ptr)
    ranked = values[order]
    apart = np.ones(len(values), dtype=bool)
    apart[1:] = ranked[:-1] - ranked[1:] > tolerance * ranked[:-1]
    apart[ptr[:-1][np.diff(ptr) > 0]] = True
    first = np.maximum.accumulate(np.where(apart, np.arange(len(values)), 0))
    result = np.empty_like(values)
    result[order] = ranked[first]
    return result
