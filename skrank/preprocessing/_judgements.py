"""Grades and total orders from other kinds of judgements.

Judgements come as relevance grades, as preference pairs or as total orders
(Liu 2011, §1.2.2). Grades and orders are row-aligned, so that they can be sliced with
X; an order is the 1-based position of each document in its query, best first. Pairs are
row numbers (preferred, other). What a conversion cannot keep is said in its docstring.
"""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from skrank._core._queries import QueryIndex
from skrank._core._validation import check_grades, check_groups, resolve_groups


def grades_to_order(
    y, groups=None, *, ties: str = "stable", random_state=None
) -> np.ndarray:
    """Convert relevance grades to one total order that agrees with them.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``y``.
    ties : {"stable", "random"}, default="stable"
        Documents of equal grade keep the order of their rows, or are shuffled.
    random_state : int, RandomState instance or None, default=None
        Shuffles ties.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Position of each document in its query, from 1. Complexity: O(n log n).

    Raises
    ------
    ValueError
        If a grade is not finite or negative, or the queries are not known.

    References
    ----------
    Liu 2011, §1.3.3.3: any permutation consistent with the grades is a ground truth.

    Examples
    --------
    >>> from skrank.preprocessing import grades_to_order
    >>> grades_to_order([0, 2, 1, 1], groups=["a", "a", "b", "a"])
    array([3, 1, 1, 2])
    """
    grades = check_grades(y)
    groups = resolve_groups(groups, y, n_samples=len(grades), caller="grades_to_order")
    if ties not in ("stable", "random"):
        raise ValueError(f"ties must be 'stable' or 'random', got {ties!r}")
    if ties == "random":
        tie_breaker = check_random_state(random_state).permutation(len(grades))
    else:
        tie_breaker = np.arange(len(grades))
    return _positions((tie_breaker, -grades), QueryIndex.from_groups(groups))


def order_to_grades(order: ArrayLike, groups=None) -> np.ndarray:
    r"""Convert total orders to grades.

    The grade of a document is the number of documents of its query that stand below it,
    :math:`y_u = m - \pi(u)`; the conversion loses nothing.

    Parameters
    ----------
    order : array-like of shape (n_documents,)
        Position of each document in the order of its query: 1, 2, … without ties.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``order``.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64
        Grades from 0.

    Raises
    ------
    ValueError
        If the positions of a query are not 1 to its number of documents.

    References
    ----------
    Liu 2011, §1.3.3.1.

    Examples
    --------
    >>> from skrank.preprocessing import order_to_grades
    >>> order_to_grades([2, 1, 3, 1], groups=["a", "a", "a", "b"])
    array([1., 2., 0., 0.])
    """
    positions = column_or_1d(order)
    groups = resolve_groups(
        groups, order, n_samples=len(positions), caller="order_to_grades"
    )
    index = QueryIndex.from_groups(groups)
    grouped = index.take(positions)
    _check_order(grouped, index)
    sizes = np.repeat(index.sizes, index.sizes)
    return index.restore((sizes - grouped).astype(np.float64))


def preferences_to_grades(
    pairs: ArrayLike, groups, *, method: str = "levels"
) -> np.ndarray:
    """Convert preference pairs to grades.

    - ``"levels"``: a document that is preferred to no other has grade 0, every other
      one more than the highest grade among those that it is preferred to. These are the
      smallest whole grades that agree with all pairs; they need pairs without cycles.
    - ``"wins"``: the number of pairs in which the document is preferred (Liu 2011,
      §1.3.3.1). Any pairs are accepted, repeated ones count repeatedly, and the grades
      need not agree with every pair.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Row numbers (preferred, other).
    groups : array-like of shape (n_documents,)
        One query id per row, in any order.
    method : {"levels", "wins"}, default="levels"
        How grades are defined.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64
        Grades from 0. Complexity: O(n_pairs log n_pairs).

    Raises
    ------
    ValueError
        If a row number is out of range, the rows of a pair belong to different queries,
        or, with ``"levels"``, preferences form a cycle.

    See Also
    --------
    grades_to_preferences : The way back.

    Examples
    --------
    >>> from skrank.preprocessing import preferences_to_grades
    >>> pairs = [[0, 1], [1, 2], [0, 2]]
    >>> preferences_to_grades(pairs, groups=["a", "a", "a", "a"])
    array([2., 1., 0., 0.])
    """
    pairs, groups = _check_pairs(pairs, groups)
    if method == "wins":
        return np.bincount(pairs[:, 0], minlength=len(groups)).astype(np.float64)
    if method != "levels":
        raise ValueError(f"method must be 'levels' or 'wins', got {method!r}")
    return _levels(pairs, groups)


def preferences_to_order(pairs: ArrayLike, groups) -> np.ndarray:
    """Convert preference pairs to one total order that agrees with all of them.

    Documents are ordered by the levels of `preferences_to_grades`, then by row.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Row numbers (preferred, other).
    groups : array-like of shape (n_documents,)
        One query id per row, in any order.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Position of each document in its query, from 1.

    Raises
    ------
    ValueError
        As `preferences_to_grades`.

    References
    ----------
    Liu 2011, §1.3.3.3.

    Examples
    --------
    >>> from skrank.preprocessing import preferences_to_order
    >>> preferences_to_order([[2, 0]], groups=["a", "a", "a"])
    array([2, 3, 1])
    """
    return grades_to_order(preferences_to_grades(pairs, groups), groups)


def _positions(keys, index):
    """1-based position of each row when its query is sorted by keys, last key first."""
    keys = tuple(index.take(key) for key in keys)
    codes = index.codes
    order = np.lexsort((*keys, codes))
    positions = np.empty(len(order), dtype=np.intp)
    positions[order] = np.arange(1, len(order) + 1) - index.ptr[codes]
    return index.restore(positions)


def _check_order(grouped, index):
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


def _shown(query_id):
    """An id as the user wrote it, without the name of a NumPy type."""
    return repr(query_id.item() if isinstance(query_id, np.generic) else query_id)


def _check_pairs(pairs, groups):
    groups = check_groups(groups, len(groups))
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


def _levels(pairs, groups):
    """Longest chain of preferences below each document, layer by layer.

    Layer 0 is what is preferred to nothing. Taking a layer away leaves the next one:
    the documents that have lost all the documents which they are preferred to.
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


def _raise_cycle(preferred, other, unplaced, groups):
    """Walk down preferences between unplaced documents until one comes back."""
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
