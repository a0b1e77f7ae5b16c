"""Preference pairs from grades and total orders.

Within a query sorted by ascending grade, the documents that a document is preferred to
are the first ones. Pairs are therefore numbered without being listed: document ``u`` of
the sorted query owns as many consecutive numbers as there are documents of lower grade,
and a number is decoded by a binary search. A sample of pairs is a sample of numbers.
"""

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from skrank._core._parameters import PositiveInt, Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    check_arguments,
    check_grades,
    n_rows,
    resolve_groups,
)
from skrank.preprocessing._judgements import order_to_grades

# Pairs in one step.
_STEP = 1 << 22


def grades_to_preferences(
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    max_pairs_per_query: PositiveInt | None = None,
    random_state: Seed = None,
) -> np.ndarray:
    r"""Convert relevance grades to preference pairs.

    Within each query, document u is preferred to document v if :math:`y_u > y_v`.
    Documents of equal grade form no pair, and the sizes of differences between grades
    are lost.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``y``.
    max_pairs_per_query : int, default=None
        Maximum number of pairs of a query; of more pairs, a uniform sample without
        repetition is kept. None keeps all pairs, O(m²) for a query of m documents.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the samples.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Row numbers (preferred, other), query after query. Complexity:
        O((n + n_pairs) log n) for n documents.

    Raises
    ------
    ValueError
        If an argument is not accepted, a grade is not finite or negative, or the
        queries are not known.

    See Also
    --------
    preferences_to_grades : The opposite conversion.

    References
    ----------
    [Liu2011]_, section 1.3.3.2.

    Examples
    --------
    >>> from skrank.preprocessing import grades_to_preferences
    >>> grades_to_preferences([2, 0, 1, 1], groups=["a", "a", "a", "b"])
    array([[2, 1],
           [0, 1],
           [0, 2]])
    """
    check_arguments(
        grades_to_preferences,
        max_pairs_per_query=max_pairs_per_query,
        random_state=random_state,
    )
    grades = check_grades(y)
    groups = resolve_groups(
        groups, y, n_samples=len(grades), caller="grades_to_preferences"
    )
    rng = check_random_state(random_state)
    rows, ptr, n_lower = _sort_by_grade(grades, QueryIndex.from_groups(groups))
    end_of_row = np.cumsum(n_lower)
    first_pair = np.concatenate(([0], end_of_row))[ptr]
    numbers = _choose_pairs(first_pair, max_pairs_per_query, rng)
    pairs = np.empty((len(numbers), 2), dtype=np.intp)
    # In steps, between which signals are answered.
    for first in range(0, len(numbers), _STEP):
        part = numbers[first : first + _STEP]
        # A number is decoded: the row that owns it, then the place within that.
        preferred = np.searchsorted(end_of_row, part, side="right")
        within_row = part - (end_of_row[preferred] - n_lower[preferred])
        query = np.searchsorted(ptr, preferred, side="right") - 1
        pairs[first : first + _STEP, 0] = rows[preferred]
        pairs[first : first + _STEP, 1] = rows[ptr[query] + within_row]
    return pairs


def order_to_preferences(
    order: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    max_pairs_per_query: PositiveInt | None = None,
    random_state: Seed = None,
) -> np.ndarray:
    r"""Convert total orders to preference pairs.

    Document u is preferred to document v of the same query if :math:`\pi(u) < \pi(v)`.

    Parameters
    ----------
    order : array-like of shape (n_documents,)
        Position of each document in its query, counted from 1, without ties.
    groups : array-like of shape (n_documents,), default=None
        One query id per row, in any order; None reads the index of a pandas ``order``.
    max_pairs_per_query : int, default=None
        Maximum number of pairs of a query; of more pairs, a uniform sample without
        repetition is kept. None keeps all pairs.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the samples.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Row numbers (preferred, other), query after query.

    Raises
    ------
    ValueError
        If an argument is not accepted, or the positions of a query are not 1 to its
        number of documents.

    References
    ----------
    [Liu2011]_, section 1.3.3.2.

    Examples
    --------
    >>> from skrank.preprocessing import order_to_preferences
    >>> order_to_preferences([2, 1, 1], groups=["a", "a", "b"])
    array([[1, 0]])
    """
    if groups is None:
        groups = resolve_groups(
            None, order, n_samples=n_rows(order, "order"), caller="order_to_preferences"
        )
    return grades_to_preferences(
        order_to_grades(order, groups),
        groups,
        max_pairs_per_query=max_pairs_per_query,
        random_state=random_state,
    )


def _sort_by_grade(
    grades: np.ndarray, index: QueryIndex
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort rows by query and ascending grade.

    Returns the rows, the pointers of the queries, and for each sorted row the number of
    documents of its query that have a lower grade.
    """
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


def _choose_pairs(
    first_pair: np.ndarray, limit: int | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return the numbers of the pairs to keep, ascending."""
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


def _sample(population: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    return sample_without_replacement(population, size, random_state=rng)
