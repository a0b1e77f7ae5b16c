"""Documents in the order of their scores, and ties in that of their ids."""

import numpy as np

from skrank._core._id_arrays import id_text, objects_of
from skrank._core._ids import IdTable
from skrank._core._segments import segment_best_first
from skrank._core._threads import n_threads_for

# Nanoseconds in which one thread sorts a document, roughly.
_SORTING = 50


def best_first(
    values: np.ndarray,
    ptr: np.ndarray,
    docids: np.ndarray | IdTable | None = None,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Order the documents of each query by descending value.

    Parameters
    ----------
    values : ndarray of shape (n_documents,)
        Scores without NaN.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    docids : ndarray of dtype object, or IdTable, default=None
        Ids that order equal values, the larger one first, as in trec_eval; without
        them, such documents stay in the order of the rows.
    rows : ndarray of shape (n_documents,), dtype intp, default=None
        Place of each document in ``docids``; None if they are in the same order.
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Rows, query after query. Complexity: O(n log n), and O(n) if the documents are
        in order.
    """
    threads = n_threads_for(_SORTING * len(values), n_jobs)
    order, tied = segment_best_first(np.ascontiguousarray(values), ptr, threads)
    if docids is None or not tied.any():
        return order
    ids = docids if isinstance(docids, IdTable) else IdTable([docids])
    if rows is not None:
        ids = IdTable([ids.take(rows)])
    try:
        ids.sort_ties(order, tied)
    except TypeError:  # numbers and the like are ordered by what files would hold
        all_ids = ids.take(np.arange(len(values))).tolist()
        IdTable([objects_of(map(id_text, all_ids))]).sort_ties(order, tied)
    return order
