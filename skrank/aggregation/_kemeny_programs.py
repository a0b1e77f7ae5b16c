"""Exact solutions and bounds of Kemeny's problem for the votes of one query."""

from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

# Constraints that are added at a time: the solver is fast while there are few.
_MOST_CUTS = 2000
_SLACK = 1e-6


def best_order(votes: np.ndarray) -> np.ndarray:
    """Find the order with the least weight of votes against it, by dynamic programming.

    The best order of a set of documents that come first ends in one of them, behind the
    best order of the others.

    Parameters
    ----------
    votes : ndarray of shape (m, m)
        Weight of the runs that prefer the document of the row to that of the column.

    Returns
    -------
    ndarray of shape (m,), dtype intp
        Documents, the best first. Of several last documents, the one of the largest
        number is taken. Complexity: O(m 2ᵐ) in time and memory.
    """
    m = len(votes)
    size = 1 << m
    # behind[j, S]: votes against document j behind the set S.
    behind = np.zeros((m, size))
    for i in range(m):
        behind[:, 1 << i : 2 << i] = behind[:, : 1 << i] + votes[:, i, None]
    sets = np.arange(size)
    counts = np.zeros(size, dtype=np.int8)
    for i in range(m):
        counts[1 << i : 2 << i] = counts[: 1 << i] + 1
    least = np.zeros(size)
    last = np.zeros(size, dtype=np.int8)
    for n in range(1, m + 1):
        layer = sets[counts == n]
        values = np.full(len(layer), np.inf)
        chosen = np.zeros(len(layer), dtype=np.int8)
        for j in range(m):
            inside = (layer >> j) & 1 == 1
            rest = layer[inside] ^ (1 << j)
            value = least[rest] + behind[j, rest]
            better = value <= values[inside]
            values[inside] = np.where(better, value, values[inside])
            chosen[inside] = np.where(better, j, chosen[inside])
        least[layer], last[layer] = values, chosen
    order = np.empty(m, dtype=np.intp)
    remaining = size - 1
    for place in range(m - 1, -1, -1):
        order[place] = last[remaining]
        remaining ^= 1 << int(order[place])
    return order


def linear_order(votes: np.ndarray, *, integer: bool) -> tuple[np.ndarray, float]:
    """Solve Kemeny's problem, or its relaxation, as a linear program.

    A variable says for each pair whether the first document comes before the second,
    and no three documents go round in a circle. Only those circles are forbidden that
    a solution would have.

    Parameters
    ----------
    votes : ndarray of shape (m, m)
        Weight of the runs that prefer the document of the row to that of the column.
    integer : bool
        Whether variables must be 0 or 1, which makes the solution exact.

    Returns
    -------
    order : ndarray of shape (m,), dtype intp
        Documents by the number of those that they come before.
    value : float
        Value of the program: the least distance, or a lower bound of it.
    """
    m = len(votes)
    if m < 2:
        return np.arange(m), 0.0
    first, second = np.triu_indices(m, 1)
    # Votes for the second document count against a pair in its order.
    cost = votes[second, first] - votes[first, second]
    constant = float(votes[first, second].sum())
    cuts = sparse.csr_array((0, len(cost)))
    while True:
        constraints = []
        if cuts.nnz:
            constraints = [LinearConstraint(cuts, 0.0, 1.0)]
        found = milp(
            cost,
            integrality=np.full(len(cost), int(integer)),
            bounds=(0.0, 1.0),
            constraints=constraints,
        )
        if found.x is None:
            raise RuntimeError(f"the solver of scipy.optimize failed: {found.message}")
        before = np.zeros((m, m))
        before[first, second] = np.round(found.x) if integer else found.x
        before[second, first] = 1.0 - before[first, second]
        new = _circles(before)
        if not new.nnz:
            order = np.argsort(-before.sum(axis=1), kind="stable")
            return order, float(found.fun) + constant
        cuts = sparse.csr_array(sparse.vstack([cuts, new]))


def _circles(before: np.ndarray) -> sparse.csr_array:
    """Return the constraints 0 <= x_ij + x_jk - x_ik <= 1 that a solution breaks."""
    m = len(before)
    triples = np.array(list(combinations(range(m), 3)), dtype=np.intp).reshape(-1, 3)
    i, j, k = triples.T
    sums = before[i, j] + before[j, k] - before[i, k]
    excess = np.maximum(sums - 1.0, -sums)
    broken = np.flatnonzero(excess > _SLACK)
    broken = broken[np.argsort(-excess[broken], kind="stable")][:_MOST_CUTS]
    i, j, k = triples[broken].T
    rows = np.arange(len(broken))
    column = np.zeros((m, m), dtype=np.intp)
    column[np.triu_indices(m, 1)] = np.arange(m * (m - 1) // 2)
    data = np.repeat([1.0, 1.0, -1.0], len(broken))
    columns = np.concatenate([column[i, j], column[j, k], column[i, k]])
    shape = (len(broken), m * (m - 1) // 2)
    return sparse.csr_array((data, (np.tile(rows, 3), columns)), shape=shape)
