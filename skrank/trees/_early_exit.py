"""The best documents of each query, found without all trees for all documents."""

from typing import TYPE_CHECKING

import numpy as np

from skrank._core._segments import segment_ranks

if TYPE_CHECKING:
    from skrank.trees._ensemble import TreeEnsemble

# Bounds are compared after every so many trees: more often costs more than it saves.
_TREES_AT_ONCE = 10
# Bounds and scores are summed in different orders and differ by rounding errors, which
# must not make a document seem out of reach.
_SLACK = 1e-9


def scores_of_contenders(
    ensemble: "TreeEnsemble",
    X: np.ndarray,
    raw: np.ndarray,
    ptr: np.ndarray,
    k: int,
    *,
    n_threads: int = 1,
) -> tuple[np.ndarray, int]:
    """Score the documents that may be among the first k of their query.

    Trees are added a few at a time. The least and the greatest leaf of each remaining
    tree bound the score that a document can still gain. A document whose upper bound
    lies below the k-th best lower bound of its query is given up.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Trees with one output.
    X : ndarray of shape (n_documents, n_features)
        Rows in the form that `TreeEnsemble.add_to` takes, grouped by query.
    raw : ndarray of shape (n_documents,)
        Scores before the first tree.
    ptr : ndarray of shape (n_queries + 1,)
        Start of each query, and the end of the last one.
    k : int
        Number of documents wanted of each query.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    scores : ndarray of shape (n_documents,)
        Scores; minus infinity for documents that were given up.
    n_evaluated : int
        Number of trees evaluated, summed over the documents.
    """
    least, greatest = _remaining_bounds(ensemble)
    slack = _SLACK * (
        np.abs(least[0]) + np.abs(greatest[0]) + np.abs(raw).max(initial=0)
    )
    alive, scores = np.arange(len(raw)), np.array(raw, dtype=np.float64)
    n_evaluated = 0
    for first in range(0, ensemble.n_trees, _TREES_AT_ONCE):
        last = min(first + _TREES_AT_ONCE, ensemble.n_trees)
        part = scores[alive][:, None]
        ensemble.add_to(part, X[alive], first, last, n_threads=n_threads)
        scores[alive] = part[:, 0]
        n_evaluated += len(alive) * (last - first)
        if last == ensemble.n_trees:
            break
        keep = _contenders(part[:, 0], ptr, k, greatest[last] - least[last] + slack)
        scores[alive[~keep]] = -np.inf
        alive, ptr = alive[keep], _shrunk(ptr, keep)
    return scores, n_evaluated


def _remaining_bounds(ensemble: "TreeEnsemble") -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest sum of all trees from each one on."""
    ends = np.append(ensemble.roots_[1:], len(ensemble.feature_))
    tree = np.repeat(np.arange(ensemble.n_trees), ends - ensemble.roots_)
    leaf = ensemble.feature_ < 0
    least = np.full(ensemble.n_trees, np.inf)
    greatest = np.full(ensemble.n_trees, -np.inf)
    below, above = _ranges_of_terms(ensemble)
    np.minimum.at(least, tree[leaf], (ensemble.value_ + below)[leaf])
    np.maximum.at(greatest, tree[leaf], (ensemble.value_ + above)[leaf])
    least, greatest = (np.cumsum(v[::-1])[::-1] for v in (least, greatest))
    return np.append(least, 0.0), np.append(greatest, 0.0)


def _ranges_of_terms(ensemble: "TreeEnsemble") -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest sum of the terms of each node, about 0."""
    n_nodes = len(ensemble.feature_)
    if not ensemble.is_linear:
        return np.zeros(n_nodes), np.zeros(n_nodes)
    node = np.repeat(np.arange(n_nodes), np.diff(ensemble.term_start_))
    coef, center, low, high = ensemble.terms_
    ends = np.stack(
        [coef * (low - center), coef * (high - center), np.zeros(len(coef))]
    )
    return (
        np.bincount(node, ends.min(axis=0), n_nodes),
        np.bincount(node, ends.max(axis=0), n_nodes),
    )


def _contenders(
    scores: np.ndarray, ptr: np.ndarray, k: int, reach: float
) -> np.ndarray:
    """Return whether each document can still reach the k-th best of its query."""
    ranks = np.asarray(segment_ranks(scores, ptr))
    sizes = np.diff(ptr)
    # The k-th document sets the mark, or the last document of a shorter query.
    is_mark = ranks == np.minimum(np.repeat(sizes, sizes), k)
    return scores + reach >= np.repeat(scores[is_mark], sizes[sizes > 0])


def _shrunk(ptr: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return the pointer array of the documents that are left."""
    return np.append(0, np.cumsum(keep))[ptr]
