"""The order in which trees see the documents of a query: one of what the rows hold.

Random draws, ties and sums of floats follow the order of the rows. So that a model does
not depend on how its rows came, boosted trees and forests take the documents of each
query in an order that is found from what the query holds alone. It is as good as
random: it tells nothing of the grades, which the order of a file often does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._queries import take_rows
from skrank._core._segments import segment_order
from skrank._core._sparse import csr_parts
from skrank._rows import GroupedRows, Preferences
from skrank.trees import _binning

# An odd number, so that what rows hold besides features is no other feature.
_APART = np.uint64(0xD6E8FEB86659FD93)
# The last bits of a number are those by which only double precision tells rows apart.
_N_FINE, _N_COARSE = np.uint64(24), np.uint64(40)
_N_UNSORTED = np.uint64(11)  # bits that a float64, by which rows are sorted, lacks


@dataclass(frozen=True, eq=False)
class RowsInOrder:
    """Rows that stay where they are, and the order in which they are meant.

    A copy in that order would take as much memory as the rows.

    Attributes
    ----------
    given : ndarray or CSR matrix of shape (n_documents, n_features)
        The rows.
    order : ndarray of shape (n_documents,), dtype int64
        Number of the row that comes at each place.
    """

    given: Any
    order: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.given.shape

    def gathered(self) -> Any:
        """Return a copy of the rows in their order."""
        return take_rows(self.given, self.order)


def ordered_by_content(data: GroupedRows, n_threads: int = 1) -> GroupedRows:
    """Bring the documents of each query into an order that only their contents decide.

    Documents that are alike in everything may change places, which changes nothing.
    Complexity: O(n d + n log m) for n rows of d features, m in the longest query.

    Parameters
    ----------
    data : GroupedRows
        Rows of queries.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    GroupedRows
        The rows with ``X`` as `RowsInOrder`, and everything else in that order.
    """
    order = _order_of(data, n_threads)
    preferences = data.preferences
    if preferences is not None:
        preferences = _sorted(preferences.among(order, data.n_documents))

    def moved(values):
        return None if values is None else values[order]

    return replace(
        data,
        X=RowsInOrder(data.X, order),
        y=moved(data.y),
        sample_weight=moved(data.sample_weight),
        preferences=preferences,
        side={name: values[order] for name, values in data.side.items()},
    )


def _order_of(data: GroupedRows, n_threads: int) -> np.ndarray:
    """Return the numbers of the rows in the order in which they are taken."""
    starts = np.repeat(data.ptr[:-1], data.sizes)
    order = np.arange(data.n_documents)
    # What comes later counts more; equal numbers keep the order that there is.
    for numbers in _numbers_of(data, n_threads):
        keys = (numbers >> _N_UNSORTED).astype(np.float64)[order]
        order = order[segment_order(keys, data.ptr, n_threads) + starts]
    return order


def _numbers_of(data: GroupedRows, n_threads: int) -> Iterator[np.ndarray]:
    """Yield numbers of the rows, equal for rows of a query that hold the same.

    Weights and scores to start from come first: they only tell apart what is alike
    otherwise, so that a weight of 2 does what a repetition does, and scores what a
    ranker with them does. What the whole query holds is mixed in last: otherwise rows
    of equal features would come by their grades in each query alike, and ties would
    tell of the grades.
    """
    columns = [data.sample_weight, *(data.side[name] for name in sorted(data.side))]
    given = [column for column in columns if column is not None]
    if given:
        yield _hashes_of(given, n_threads)
    if sparse.issparse(data.X):
        numbers = _binning.hash_entries(*csr_parts(data.X), data.X.shape[1])
    else:
        numbers = _binning.hash_rows(np.ascontiguousarray(data.X), n_threads)
    fine = numbers << _N_COARSE
    if fine.any():
        yield fine
    coarse = numbers >> _N_FINE
    if data.preferences is None:
        coarse = coarse + _APART * _hashes_of([data.y], n_threads)
    else:
        coarse = _with_partners(coarse, data.preferences)
    queries = np.add.reduceat(coarse, data.ptr[:-1])
    yield _spread(coarse + np.repeat(queries, data.sizes))


def _with_partners(numbers: np.ndarray, preferences: Preferences) -> np.ndarray:
    """Mix into the numbers of rows those of the rows that they are compared with."""
    mixed = numbers.copy()
    weight = preferences.weight
    pairs = 0 if weight is None else _hashes_of([weight], 1)
    for side, other in ((0, 1), (1, 0)):
        partners = numbers[preferences.pairs[:, other]] + np.uint64(side) * _APART
        np.add.at(mixed, preferences.pairs[:, side], _spread(partners + pairs))
    return mixed


def _hashes_of(columns, n_threads: int) -> np.ndarray:
    """Return a number for what each row holds in some columns."""
    table = np.column_stack(columns).astype(np.float64)
    return _binning.hash_rows(table, n_threads)


def _spread(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of whole numbers, by the last steps of the generator splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _sorted(preferences: Preferences) -> Preferences:
    """Return pairs by their first documents, and by their second ones."""
    pairs, weight = preferences.pairs, preferences.weight
    keys = (pairs[:, 1], pairs[:, 0])
    order = np.lexsort(keys if weight is None else (weight, *keys))
    return Preferences(pairs[order], None if weight is None else weight[order])
