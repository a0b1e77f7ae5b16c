"""Preference pairs from grades and total orders.

Within a query sorted by grade, the documents that a document is preferred to are a
prefix. Pairs are therefore numbered without being listed: document ``u`` of the sorted
query owns as many consecutive numbers as there are documents of lower grade, and a
number is decoded by a binary search. Sampling draws numbers.
"""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from skrank._core._queries import QueryIndex
from skrank._core._validation import check_grades, n_rows, resolve_groups
from skrank.preprocessing._judgements import order_to_grades


def grades_to_preferences(
    y, groups=None, *, max_pairs_per_query: int | None = None, random_state=None
) -> np.ndarray:
    r"""Convert relevance grades to preference pairs.

    Within each query, document u is preferred to document v if :math:`y_u > y_v`.
    Documents of equal grade form no pair.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``y``.
    max_pairs_per_query : int, default=None
        Queries with more pairs keep a uniform sample of this size, without repetition.
        None keeps all, which are O(m²) for a query of m documents.
    random_state : int, RandomState instance or None, default=None
        Draws the samples.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Row numbers (preferred, other), query after query. Complexity: O(n log n)
        plus the size of the result.

    Raises
    ------
    ValueError
        If a grade is not finite or negative, or the queries are not known.

    See Also
    --------
    preferences_to_grades : The way back.

    References
    ----------
    Liu 2011, §1.3.3.2.

    Examples
    --------
    >>> from skrank.preprocessing import grades_to_preferences
    >>> grades_to_preferences([2, 0, 1, 1], groups=["a", "a", "a", "b"])
    array([[2, 1],
           [0, 1],
           [0, 2]])
    """
    grades = check_grades(y)
    groups = resolve_groups(
        groups, y, n_samples=len(grades), caller="grades_to_preferences"
    )
    limit = _check_limit(max_pairs_per_query)
    rng = check_random_state(random_state)
    rows, ptr, n_lower = _sort_by_grade(grades, QueryIndex.from_groups(groups))
    end_of_row = np.cumsum(n_lower)
    first_pair = np.concatenate(([0], end_of_row))[ptr]
    numbers = _choose_pairs(first_pair, limit, rng)
    preferred = np.searchsorted(end_of_row, numbers, side="right")
    within_row = numbers - (end_of_row[preferred] - n_lower[preferred])
    query = np.searchsorted(ptr, preferred, side="right") - 1
    other = ptr[query] + within_row
    return np.column_stack([rows[preferred], rows[other]])


def order_to_preferences(
    order: ArrayLike,
    groups=None,
    *,
    max_pairs_per_query: int | None = None,
    random_state=None,
) -> np.ndarray:
    r"""Convert total orders to preference pairs.

    Document u is preferred to document v of the same query if :math:`\pi(u) < \pi(v)`.

    Parameters
    ----------
    order : array-like of shape (n_documents,)
        Position of each document in the order of its query: 1, 2, … without ties.
    groups : array-like of shape (n_documents,), default=None
        One query id per row; None reads the index of a pandas ``order``.
    max_pairs_per_query : int, default=None
        Largest number of pairs of a query, drawn uniformly; None keeps all.
    random_state : int, RandomState instance or None, default=None
        Draws the samples.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Row numbers (preferred, other), query after query.

    Raises
    ------
    ValueError
        If the positions of a query are not 1 to its number of documents.

    References
    ----------
    Liu 2011, §1.3.3.2.

    Examples
    --------
    >>> from skrank.preprocessing import order_to_preferences
    >>> order_to_preferences([2, 1, 1], groups=["a", "a", "b"])
    array([[1, 0]])
    """
    if groups is None:
        groups = resolve_groups(
            None, order, n_samples=n_rows(order), caller="order_to_preferences"
        )
    return grades_to_preferences(
        order_to_grades(order, groups),
        groups,
        max_pairs_per_query=max_pairs_per_query,
        random_state=random_state,
    )


def _check_limit(limit):
    if limit is not None and (limit != int(limit) or limit < 1):
        raise ValueError(
            f"max_pairs_per_query must be a positive integer or None, got {limit!r}"
        )
    return limit


def _sort_by_grade(grades, index):
    """Rows by query and ascending grade, and the number of lower grades for each."""
    codes = index.codes
    grouped = index.take(grades)
    by_grade = np.lexsort((grouped, codes))
    ordered = grouped[by_grade]
    position = np.arange(len(ordered))
    new_level = np.ones(len(ordered), dtype=bool)
    new_level[1:] = (ordered[1:] != ordered[:-1]) | (codes[1:] != codes[:-1])
    level_start = np.maximum.accumulate(np.where(new_level, position, 0))
    rows = by_grade if index.order is None else index.order[by_grade]
    return rows, index.ptr, level_start - index.ptr[codes]


def _choose_pairs(first_pair, limit, rng):
    """Numbers of the pairs to keep, ascending."""
    sizes = np.diff(first_pair)
    if limit is None or not (sizes > limit).any():
        return np.arange(first_pair[-1])
    chosen = [
        np.arange(first, first + size)
        if size <= limit
        else first + np.sort(_sample(size, limit, rng))
        for first, size in zip(first_pair[:-1], sizes)
    ]
    return np.concatenate(chosen)


def _sample(population, size, rng):
    return sample_without_replacement(population, size, random_state=rng)
