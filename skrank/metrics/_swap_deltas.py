"""What swapping two documents of a ranking changes in a measure.

Losses that are made from a measure weigh each pair of documents by the change of the
measure when the two swap ranks. Most measures are sums over ranks, so that all changes
of a query follow from a few vectors: `DeltaTerms` holds these vectors, for the kernels
of losses and for `signed_deltas`, which spells them out as a matrix. For other measures
`recomputed_deltas` evaluates every swap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt
from skrank._core._validation import as_numbers, check_arguments, check_ptr
from skrank.metrics._gain import Discount

if TYPE_CHECKING:
    from skrank.metrics._base import BaseMeasure

# Blocks of this size stay in the cache, at about 40 bytes per row, and are as fast as
# all swaps at once; starting threads for each of them would take longer than the work.
_ROWS_AT_ONCE = 2**14
# Changes that follow from vectors, in one block of a matrix of all pairs.
_PAIRS_AT_ONCE = 2**16

DeltaKind = Literal["gain_discount", "average_precision", "reciprocal_rank", "cascade"]


@dataclass(frozen=True, eq=False)
class DeltaTerms:
    """The change of a measure when two documents swap ranks, ready for kernels.

    With ``d(i)`` the discount of the rank of document ``i`` and ``g`` the gain, the
    absolute change within query ``q`` is ``scale[q]`` times

    - ``"gain_discount"``: ``|g_i - g_j| · |d(i) - d(j)|``;
    - ``"average_precision"``: the change of ``Σ_i g_i · hits(i) · d(i)``, where ``g``
      is 0 or 1 and ``hits(i)`` counts the relevant documents up to the rank of ``i``;
    - ``"reciprocal_rank"``: the change of the discount of the first relevant rank;
    - ``"cascade"``: the change of ``Σ_i d(i) · g_i · Π (1 - g)`` over documents above.

    Parameters
    ----------
    kind : {"gain_discount", "average_precision", "reciprocal_rank", "cascade"}
        Form of the measure, as listed above.
    gain : ndarray of shape (n_documents,)
        Gain, 0/1 relevance or stop probability of each document. It falls with the
        grade if the measure is better the smaller it is and counts what should not be
        found.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query; 0 beyond the cut-off.
    scale : ndarray of shape (n_queries,)
        Factor of each query; 0 for queries that carry no information.
    rule : str, callable or array
        What the discount of a rank is made from; see `skrank.metrics.DCG`. Measures are
        smoothed at ranks that are no integers.
    k : int or None, default=None
        Cut-off, beyond which ``discount`` is 0 and ``rule`` need not be.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import NDCG
    >>> terms = NDCG(k=2).delta_terms(np.array([2.0, 0.0, 1.0]), np.array([0, 3]))
    >>> terms.kind, terms.gain
    ('gain_discount', array([3., 0., 1.]))
    >>> terms.discount.round(4)
    array([1.    , 0.6309, 0.    ])
    """

    kind: DeltaKind
    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray
    rule: Discount
    k: int | None = None


def check_one_query(
    y: npt.ArrayLike, ranks: npt.ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Grades and ranks of one query as arrays; the ranks must be a permutation."""
    y, ranks = as_numbers(y, "y"), as_numbers(ranks, "ranks")
    if y.ndim != 1 or ranks.shape != y.shape:
        raise ValueError(
            f"y and ranks must be one-dimensional and of equal length, got shapes "
            f"{y.shape} and {ranks.shape}"
        )
    if np.isnan(y).any():
        row = int(np.argmax(np.isnan(y)))
        raise ValueError(f"y must not hold NaN, found in row {row}")
    return y, _check_ranks(ranks, len(y))


def _check_ranks(ranks, n_documents) -> np.ndarray:
    numbers = as_numbers(ranks, "ranks")
    expected = np.arange(1, n_documents + 1)
    if numbers.ndim != 1 or not np.array_equal(np.sort(numbers), expected):
        raise ValueError(
            f"ranks must be a permutation of 1..{n_documents}, got {shown(ranks)}"
        )
    return numbers.astype(np.intp)


def recomputed_deltas(
    measure: "BaseMeasure",
    y: np.ndarray,
    ranks: np.ndarray,
    wanted: np.ndarray | None = None,
) -> np.ndarray:
    """Changes of any measure of rankings, each swap evaluated as a query of its own.

    Parameters
    ----------
    measure : BaseMeasure
        Measure of rankings.
    y, ranks : ndarray of shape (m,)
        Grades and 1-based ranks of the documents of a query.
    wanted : ndarray of shape (m, m), dtype bool, default=None
        Symmetric; True marks the pairs of interest, others have the change 0. None
        marks all of them.

    Returns
    -------
    ndarray of shape (m, m)
        Complexity: the time of an evaluation of a query of m documents for each of up
        to m (m - 1) / 2 pairs, for most measures O(m³ log m) in all; memory O(m²).
    """
    m = len(y)
    options: dict[str, Any] = {"empty_query": 0.0}
    if "ties" in measure.get_params(deep=False):
        options["ties"] = "stable"  # a permutation has no ties
    alone = measure._with(**options)
    scores = -np.asarray(ranks, dtype=np.float64)
    start = alone.per_query(y, scores, np.array([0, m], dtype=np.intp))[0]
    first, second = np.triu_indices(m, 1)
    if wanted is not None:
        kept = wanted[first, second]
        first, second = first[kept], second[kept]
    values = np.empty(len(first))
    # All swaps at once would hold m³ / 2 scores.
    step = max(1, _ROWS_AT_ONCE // max(m, 1))
    for a in range(0, len(first), step):
        i, j = first[a : a + step], second[a : a + step]
        values[a : a + step] = _values_of_swaps(alone, y, scores, i, j)
    deltas = np.zeros((m, m))
    deltas[first, second] = values - start
    return deltas + deltas.T


def _values_of_swaps(measure, y, scores, first, second):
    """Value of the measure after each swap of a first and a second document."""
    n, m = len(first), len(y)
    swapped = np.tile(scores, (n, 1))
    rows = np.arange(n)
    swapped[rows, first], swapped[rows, second] = scores[second], scores[first]
    ptr = np.arange(n + 1, dtype=np.intp) * m
    return measure.per_query(np.tile(y, n), swapped.ravel(), ptr, n_threads=1)


def signed_deltas(
    terms: DeltaTerms, ptr: np.ndarray, query: NonNegativeInt, ranks: np.ndarray
) -> np.ndarray:
    """Return the changes that `DeltaTerms` describe, for one query.

    Parameters
    ----------
    terms : DeltaTerms
        Terms of all queries.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.
    query : int
        Number of the query.
    ranks : ndarray of shape (m,)
        1-based ranks of the documents of the query.

    Returns
    -------
    ndarray of shape (m, m)
        Entry (i, j) is the value after swapping documents ``i`` and ``j`` minus the
        value before. Complexity: O(m²), or O(m³) for the kind "cascade".

    Raises
    ------
    ValueError
        If the terms, pointers, query and ranks do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import AP, signed_deltas
    >>> ptr = np.array([0, 2])
    >>> terms = AP().delta_terms(np.array([0.0, 1.0]), ptr)
    >>> signed_deltas(terms, ptr, 0, np.array([1, 2]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    check_arguments(signed_deltas, terms=terms, query=query)
    ptr = check_ptr(ptr, len(terms.gain))
    if query >= len(ptr) - 1:
        raise ValueError(
            f"query must be the number of one of {len(ptr) - 1} queries, got {query}"
        )
    gain = terms.gain[ptr[query] : ptr[query + 1]]
    ranks = _check_ranks(ranks, len(gain))
    at, m = ranks - 1, len(gain)
    by_rank = np.empty(m)
    by_rank[at] = gain
    change = _CHANGES[terms.kind](by_rank, terms.discount[:m])
    deltas, scale = np.empty((m, m)), terms.scale[query]
    step = max(1, _PAIRS_AT_ONCE // max(m, 1))
    for first in range(0, m, step):
        own = at[first : first + step, None]
        changes = change(np.minimum(own, at), np.maximum(own, at))
        deltas[first : first + step] = changes * scale
    return deltas


# A function that returns the changes when positions a <= b swap, given as arrays.
_Change = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _gain_discount_change(g, d) -> _Change:
    # Each position takes the gain of the other one: the rest of the sum stays.
    return lambda a, b: (g[b] - g[a]) * (d[a] - d[b])


def _average_precision_change(g, d) -> _Change:
    """Changes of Σ g · hits · d when positions a < b swap.

    The terms at ``a`` and ``b`` change, and so do the hits of all positions between
    them, by the same amount: hence the cumulative sum of ``g · d``.
    """
    hits = np.cumsum(g)
    until = np.cumsum(g * d)

    def change(a, b):
        own, other = g[a], g[b]
        above = hits[a] - own
        at_a = (other * (above + other) - own * hits[a]) * d[a]
        step = other - own  # what position a gains
        inner = until[b] - other * d[b] - until[a]  # Σ g d over positions in (a, b)
        return at_a + step * (inner - hits[b] * d[b])

    return change


def _reciprocal_rank_change(g, d) -> _Change:
    m = len(g)
    relevant = np.flatnonzero(g)
    first, second = np.append(relevant, [m, m])[:2]
    d = np.append(d, 0.0)

    def change(a, b):
        up = (a < first) & (g[b] > 0)
        down = (a == first) & (g[b] == 0)
        new = np.where(up, d[a], d[np.minimum(b, second)])
        return np.where(up | down, new - d[first], 0.0)

    return change


def _cascade_change(g, d) -> _Change:
    """Changes of Σ d · g · Π (1 - g) when two positions swap, in O(m³).

    There is a closed form in O(m²) that divides by ``1 - g``, which may be 0 for the
    highest grade; the kernels of losses treat that case apart, this reference does not.
    """
    m = len(g)

    def value(stop):
        reach = np.concatenate(([1.0], np.cumprod(1 - stop)[:-1]))
        return np.sum(d * reach * stop)

    start = value(g)
    changes = np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1, m):
            swapped = g.copy()
            swapped[[a, b]] = g[[b, a]]
            changes[a, b] = value(swapped) - start
    return lambda a, b: changes[a, b]


_CHANGES = {
    "gain_discount": _gain_discount_change,
    "average_precision": _average_precision_change,
    "reciprocal_rank": _reciprocal_rank_change,
    "cascade": _cascade_change,
}
