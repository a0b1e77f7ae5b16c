"""Grades and total orders from other kinds of judgements.

Judgements come as relevance grades, as preference pairs or as total orders
([Liu2011]_, section 1.2.2). Grades and orders have one entry per row, so that they can
be sliced with X; an order is the 1-based position of each document in its query, best
first. Pairs are row numbers (preferred, other). The docstring of each conversion tells
what it cannot keep.
"""

from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from skrank._core._missing import refuse_mask, unmasked
from skrank._core._parameters import Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_grades,
    check_groups,
    naming,
    resolve_groups,
)


def grades_to_order(
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    ties: Literal["stable", "random"] = "stable",
    random_state: Seed = None,
) -> np.ndarray:
    """Convert relevance grades to one total order that agrees with them.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``y``.
    ties : {"stable", "random"}, default="stable"
        Order of documents of equal grade: that of their rows, or a random one.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the order of ties.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Position of each document in its query, counted from 1. Complexity: O(n log n).

    Raises
    ------
    ValueError
        If an argument is not accepted, a grade is not finite or negative, or the
        queries are not known.

    Notes
    -----
    The distances between grades are lost, and so is the difference between equal and
    unequal grades.

    References
    ----------
    [Liu2011]_, section 1.3.3.3: every permutation that is consistent with the grades is
    a ground truth.

    Examples
    --------
    >>> from skrank.preprocessing import grades_to_order
    >>> grades_to_order([0, 2, 1, 1], groups=["a", "a", "b", "a"])
    array([3, 1, 1, 2])
    """
    check_arguments(grades_to_order, ties=ties, random_state=random_state)
    grades = check_grades(y)
    groups = resolve_groups(groups, y, n_samples=len(grades), caller="grades_to_order")
    if ties == "random":
        tie_breaker = check_random_state(random_state).permutation(len(grades))
    else:
        tie_breaker = np.arange(len(grades))
    return _positions((tie_breaker, -grades), QueryIndex.from_groups(groups))


def order_to_grades(
    order: npt.ArrayLike, groups: npt.ArrayLike | None = None
) -> np.ndarray:
    r"""Convert total orders to grades.

    The grade of a document is the number of documents of its query that come after it,
    :math:`y_u = m - \pi(u)` for a query of m documents. The conversion loses nothing.

    Parameters
    ----------
    order : array-like of shape (n_documents,)
        Position of each document in its query, counted from 1, without ties.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``order``.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64
        Grades, whole numbers from 0.

    Raises
    ------
    ValueError
        If the positions of a query are not 1 to its number of documents.

    References
    ----------
    [Liu2011]_, section 1.3.3.1.

    Examples
    --------
    >>> from skrank.preprocessing import order_to_grades
    >>> order_to_grades([2, 1, 3, 1], groups=["a", "a", "a", "b"])
    array([1., 2., 0., 0.])
    """
    with naming("order"):
        positions = column_or_1d(unmasked(order))
        if np.asarray(positions).dtype.kind not in "biuf":
            positions = as_numbers(positions, "order", "positions")
    groups = resolve_groups(
        groups, order, n_samples=len(positions), caller="order_to_grades"
    )
    index = QueryIndex.from_groups(groups)
    grouped = index.take(positions)
    _check_order(grouped, index)
    sizes = np.repeat(index.sizes, index.sizes)
    return index.restore((sizes - grouped).astype(np.float64))


def preferences_to_grades(
    pairs: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    method: Literal["levels", "wins"] = "levels",
) -> np.ndarray:
    """Convert preference pairs to grades.

    - ``"levels"``: a document that is preferred to no other has grade 0; any other
      document has one grade more than the best document that it is preferred to. These
      are the smallest whole grades that agree with all pairs. The preferences must not
      form a cycle.
    - ``"wins"``: the grade is the number of pairs in which the document is preferred
      ([Liu2011]_, section 1.3.3.1). All pairs are accepted, repeated pairs count
      repeatedly, and the grades need not agree with every pair.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Row numbers (preferred, other).
    groups : array-like of shape (n_documents,)
        One query id per row, in any order.
    method : {"levels", "wins"}, default="levels"
        Definition of the grades.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64
        Grades, whole numbers from 0. Complexity: O(n_pairs log n_pairs).

    Raises
    ------
    ValueError
        If an argument is not accepted, a row number is out of range, the rows of a pair
        belong to different queries, or, with ``"levels"``, preferences form a cycle.

    See Also
    --------
    grades_to_preferences : The opposite conversion.

    Examples
    --------
    >>> from skrank.preprocessing import preferences_to_grades
    >>> pairs = [[0, 1], [1, 2], [0, 2]]
    >>> preferences_to_grades(pairs, groups=["a", "a", "a", "a"])
    array([2., 1., 0., 0.])
    """
    check_arguments(preferences_to_grades, method=method)
    rows, ids = _check_pairs(pairs, groups)
    if method == "wins":
        return np.bincount(rows[:, 0], minlength=len(ids)).astype(np.float64)
    return _levels(rows, ids)


def preferences_to_order(pairs: npt.ArrayLike, groups: npt.ArrayLike) -> np.ndarray:
    """Convert preference pairs to one total order that agrees with all of them.

    Documents are ordered by the levels of `preferences_to_grades`; documents of the
    same level keep the order of their rows.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Row numbers (preferred, other).
    groups : array-like of shape (n_documents,)
        One query id per row, in any order.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Position of each document in its query, counted from 1.

    Raises
    ------
    ValueError
        If a row number is out of range, the rows of a pair belong to different queries,
        or preferences form a cycle.

    References
    ----------
    [Liu2011]_, section 1.3.3.3.

    Examples
    --------
    >>> from skrank.preprocessing import preferences_to_order
    >>> preferences_to_order([[2, 0]], groups=["a", "a", "a"])
    array([2, 3, 1])
    """
    return grades_to_order(preferences_to_grades(pairs, groups), groups)


def _positions(keys: tuple[np.ndarray, ...], index: QueryIndex) -> np.ndarray:
    """Return the 1-based position of each row in its query, sorted by keys.

    As for `numpy.lexsort`, the last key is the most important one.
    """
    keys = tuple(index.take(key) for key in keys)
    codes = index.codes
    order = np.lexsort((*keys, codes))
    positions = np.empty(len(order), dtype=np.intp)
    positions[order] = np.arange(1, len(order) + 1) - index.ptr[codes]
    return index.restore(positions)


def _check_order(grouped: np.ndarray, index: QueryIndex) -> None:
    codes = index.codes
    expected = np.arange(1, len(grouped) + 1) - index.ptr[codes]
    wrong = grouped[np.lexsort((grouped, codes))] != expected
    if wrong.any():
        query = codes[np.flatnonzero(wrong)[0]]
        found = grouped[index.ptr[query] : index.ptr[query + 1]].tolist()
        raise ValueError(
            f"order must hold the positions 1 to {len(found)} of query "
            f"{_shown(index.ids[query])}, each once; found {found[:10]}"
            f"{' …' if len(found) > 10 else ''}"
        )


def _shown(query_id: Any) -> str:
    """Return an id as the user wrote it, without the name of a NumPy type."""
    return repr(query_id.item() if isinstance(query_id, np.generic) else query_id)


def _check_pairs(
    pairs: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Check that pairs are numbers of rows of the same query."""
    ids = as_ids(groups)
    groups = check_groups(ids, len(ids))
    if len(groups) == 0:
        raise ValueError("groups must hold the query of at least one row, got none")
    refuse_mask(pairs, "pairs", "pair of row numbers")
    with naming("pairs"):
        pairs = np.asarray(pairs)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.intp), groups
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "pairs must be an integer array of shape (n_pairs, 2), got shape "
            f"{pairs.shape} and dtype {pairs.dtype}"
        )
    if pairs.min() < 0 or pairs.max() >= len(groups):
        raise ValueError(
            f"pairs must hold row numbers from 0 to {len(groups) - 1}, found "
            f"{pairs.min()} to {pairs.max()}"
        )
    apart = groups[pairs[:, 0]] != groups[pairs[:, 1]]
    if apart.any():
        u, v = pairs[np.flatnonzero(apart)[0]].tolist()
        raise ValueError(
            f"pairs must stay within a query: rows {u} and {v} belong to queries "
            f"{_shown(groups[u])} and {_shown(groups[v])}"
        )
    return pairs.astype(np.intp), groups


def _levels(pairs: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the length of the longest chain of preferences below each document.

    Layer 0 holds the documents that are preferred to no other. Once a layer is taken
    away, the next one holds the documents all of whose inferiors are gone. Layers are
    found one after another, each by array operations over its own pairs.
    """
    n = len(groups)
    preferred, other = pairs.T
    by_other = np.argsort(other, kind="stable")
    preferred_over = preferred[by_other]
    start = np.searchsorted(other[by_other], np.arange(n + 1))
    n_below = np.bincount(preferred, minlength=n)
    levels = np.zeros(n)
    layer = np.flatnonzero(n_below == 0)
    n_placed, level = 0, 0
    while len(layer):
        levels[layer] = level
        n_placed += len(layer)
        sizes = start[layer + 1] - start[layer]
        # Numbers of all pairs in which a document of the layer is the inferior one.
        edges = np.repeat(start[layer] - np.cumsum(sizes) + sizes, sizes)
        above, counts = np.unique(
            preferred_over[edges + np.arange(len(edges))], return_counts=True
        )
        n_below[above] -= counts
        layer = above[n_below[above] == 0]
        level += 1
    if n_placed < n:
        _raise_cycle(preferred, other, n_below > 0, groups)
    return levels


def _raise_cycle(
    preferred: np.ndarray, other: np.ndarray, unplaced: np.ndarray, groups: np.ndarray
) -> NoReturn:
    """Raise an error that names one cycle among the unplaced documents.

    Every unplaced document is preferred to another one, so that a walk down the
    preferences must come back to a document that it has seen.
    """
    among = unplaced[preferred] & unplaced[other]
    below = dict(zip(preferred[among].tolist(), other[among].tolist()))
    row = next(iter(below))
    seen: dict[int, int] = {}
    path = []
    while row not in seen:
        seen[row] = len(path)
        path.append(row)
        row = below[row]
    cycle = [*path[seen[row] :], row]
    shown = " > ".join(map(str, cycle[:10])) + (" > …" if len(cycle) > 10 else "")
    raise ValueError(
        f"pairs must not form a cycle; in query {_shown(groups[row])} rows {shown} do. "
        "method='wins' grades contradictory preferences by their number of wins."
    )
