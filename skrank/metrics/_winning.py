"""Winning numbers over several data sets."""

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._sparse import is_mapping
from skrank._core._validation import as_numbers, check_options
from skrank.metrics._by_index import by_index

# Between two blocks of columns with about so many values, signals are answered.
_VALUES_AT_ONCE = 2**18

# Means of the same numbers in another order differ by less, relative to their size.
_ROUNDING = 1e-12


def _score_matrix(scores):
    """Names of the algorithms, and their scores as (n_algorithms, n_datasets)."""
    if is_mapping(scores):
        names = list(scores)
        rows = {name: as_numbers(row, "scores") for name, row in scores.items()}
        if any(row.ndim != 1 for row in rows.values()):
            raise ValueError(
                "scores must hold one value per data set for every algorithm, got "
                f"{shown(scores)}"
            )
        lengths = {len(row) for row in rows.values()}
        if len(lengths) > 1:
            raise ValueError(
                "scores must hold one value per data set for every algorithm; found "
                f"rows of lengths {sorted(lengths)}"
            )
        spoken = {name: f"scores[{shown(name)}]" for name in names}
        given = {spoken[name]: row for name, row in scores.items()}
        rows = {spoken[name]: row for name, row in rows.items()}
        matrix = np.array(list(by_index(given, rows, "data set|data sets").values()))
    elif hasattr(scores, "index") and hasattr(scores, "to_numpy"):
        names = list(scores.index)
        if not scores.index.is_unique:
            twice = scores.index[scores.index.duplicated()]
            raise ValueError(
                "scores must have one row for each algorithm, found the name "
                f"{shown(twice[0])} in its index more than once"
            )
        matrix = as_numbers(scores, "scores")
    else:
        names = None
        matrix = as_numbers(scores, "scores")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            "scores must be a table of algorithms (rows) by data sets (columns), got "
            f"shape {matrix.shape}"
        )
    if np.isinf(matrix).any():
        raise ValueError("scores must be finite, or NaN where a result is missing")
    return names, matrix


def _wins(matrix) -> np.ndarray:
    """Return in how many pairs of values of a column each row has the larger one."""
    n, n_columns = matrix.shape
    wins = np.zeros(n, dtype=np.int64)
    step = max(1, _VALUES_AT_ONCE // n)
    for first in range(0, n_columns, step):
        block = matrix[:, first : first + step]
        order = np.argsort(block, axis=0)  # NaN comes last
        ascending = np.take_along_axis(block, order, axis=0)
        # As many values are smaller as stand before the first one that is equal.
        smaller = np.broadcast_to(np.arange(n)[:, None], order.shape).copy()
        with quiet():  # differences of the largest numbers are infinite
            size = np.maximum(np.abs(ascending[1:]), np.abs(ascending[:-1]))
            equal = ascending[1:] - ascending[:-1] <= _ROUNDING * size
        smaller[1:][equal] = 0
        smaller = np.maximum.accumulate(smaller, axis=0)
        smaller[np.isnan(ascending)] = 0
        of_rows = np.empty_like(smaller)
        np.put_along_axis(of_rows, order, smaller, axis=0)
        wins += of_rows.sum(axis=1)
    return wins


@overload
def winning_number(
    scores: Mapping[str, Any], *, greater_is_better: bool = True
) -> dict[str, int]: ...
@overload
def winning_number(
    scores: Any, *, greater_is_better: bool = True
) -> np.ndarray | dict[str, int]: ...
def winning_number(
    scores: npt.ArrayLike | Mapping[str, Any], *, greater_is_better: bool = True
) -> np.ndarray | dict[str, int]:
    """Count how often each algorithm beats another one on a data set.

    ``S_i = Σ_j Σ_k [M_i(j) > M_k(j)]`` over data sets ``j`` and algorithms ``k``, with
    ``M_i(j)`` the measure of algorithm ``i`` on data set ``j``.

    Parameters
    ----------
    scores : array-like of shape (n_algorithms, n_datasets), mapping or DataFrame
        Values of one measure; a mapping has one row per name, a data frame one row per
        algorithm. Series in a mapping whose indices are labels, the data sets, are
        aligned by them; all else is by place. NaN marks a missing result, which neither
        wins nor loses, as of two values that differ by rounding alone (1e-12 of them).
    greater_is_better : bool, default=True
        Whether the larger of two values wins.

    Returns
    -------
    ndarray of shape (n_algorithms,) or dict
        Number of wins, at most ``(n_algorithms - 1) · n_datasets``; a dictionary by
        name for a mapping or data frame. Complexity: O(n log n) for each data set and
        n algorithms.

    Raises
    ------
    ValueError
        If the table is not two-dimensional, holds infinite values or names an algorithm
        twice, or if Series name different data sets.

    References
    ----------
    [Liu2011]_, section 11.2.

    Examples
    --------
    >>> from skrank.metrics import winning_number
    >>> winning_number({"RankNet": [0.61, 0.40], "ListNet": [0.63, 0.40]})
    {'RankNet': 0, 'ListNet': 1}
    """
    check_options(winning_number, locals())
    names, matrix = _score_matrix(scores)
    if not greater_is_better:
        matrix = -matrix
    wins = _wins(matrix)
    if names is None:
        return wins
    return dict(zip(names, wins.tolist(), strict=True))
