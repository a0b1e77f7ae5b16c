"""Sums over runs that do not depend on the order of the runs.

Sums in the order of the runs would differ in the last digit when runs change places,
and break ties that are none; so the parts of a document are added from the smallest on.
"""

from collections.abc import Callable, Sequence

import numpy as np

from skrank._core._segments import sums_over_lists
from skrank._core._threads import n_threads_for
from skrank.aggregation._joined import JoinedRuns

# Documents that are summed at a time where there are no queries.
_BLOCK = 4096
# Nanoseconds in which one thread sorts and adds a part, roughly.
_ADDING = 3


def sum_of_runs(values: np.ndarray) -> np.ndarray:
    """Sum over runs, with missing parts left out and in no particular order of runs.

    Parameters
    ----------
    values : ndarray of shape (n_runs, n_documents)
        Contributions; NaN where there is none.

    Returns
    -------
    ndarray of shape (n_documents,)
        Sums; 0 where there is no part. Complexity: O(n_documents n_runs log n_runs).
    """
    n_documents = values.shape[1]
    ptr = np.append(np.arange(0, n_documents, _BLOCK), n_documents)
    parts = [np.ascontiguousarray(part, dtype=np.float64) for part in values]
    return sums_over_lists(parts, [None] * len(parts), ptr)


def sum_of_parts(
    joined: JoinedRuns,
    parts: Sequence[np.ndarray],
    fill: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Sum what the runs give to the documents that they have.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    parts : sequence of ndarray of shape (n_run,)
        What each run gives to its documents, in the order of `JoinedRuns.rows_of`; NaN
        stands for nothing.
    fill : ndarray of shape (n_queries, n_runs), default=None
        What each run gives to the documents of a query that it lacks; NaN or None
        stands for nothing.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Returns
    -------
    ndarray of shape (n_documents,)
        Sums; 0 where there is no part. Complexity: O(n_documents n_runs log n_runs).
    """
    entries = [joined.rows_of(run) for run in range(joined.n_runs)]
    threads = n_threads_for(_ADDING * joined.n_documents * joined.n_runs, n_jobs)
    if fill is not None:
        fill = np.ascontiguousarray(fill, dtype=np.float64)
    return sums_over_lists(list(parts), entries, joined.ptr, fill, threads)


def sum_by_rank(
    joined: JoinedRuns,
    weights: np.ndarray,
    value: Callable[[float, np.ndarray], np.ndarray],
    n_jobs: int | None = None,
) -> np.ndarray:
    """Sum what the runs give to their documents by the ranks alone.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    weights : ndarray of shape (n_runs,)
        Weight of each run.
    value : callable
        ``value(weight, ranks)`` returns what a run of this weight gives to documents at
        these ranks, an array of ascending numbers from 1.0.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Returns
    -------
    ndarray of shape (n_documents,)
        Sums. Complexity: O(n) for n retrieved documents, besides their ranks.
    """
    parts = []
    for weight, ranks in zip(weights, joined.own_ranks):
        # There are far fewer ranks than documents.
        place = ranks.astype(np.intp)
        table = value(weight, np.arange(1.0, place.max(initial=0) + 1))
        place -= 1
        parts.append(table[place])
    return sum_of_parts(joined, parts, n_jobs=n_jobs)
