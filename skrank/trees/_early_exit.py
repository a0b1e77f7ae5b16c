"""The best documents of each query without all trees for all documents."""

import numpy as np

from skrank._core._segments import segment_ranks

_TREES_AT_ONCE = 10
# Bounds are sums in another order than scores: what lies closer is not told apart.
_SLACK = 1e-9


def scores_of_contenders(ensemble, X, raw, ptr, k: int, *, n_threads: int = 1):
    """Scores of documents that may be among the first k of their query.

    Trees are added a few at a time. The least and the greatest leaf of each remaining
    tree bound what a document can still gain; one whose upper bound lies below the k-th
    best lower bound of its query is given up.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Of one output.
    X : ndarray of shape (n_documents, n_features)
        Rows as `TreeEnsemble.add_to` takes them, grouped by query.
    raw : ndarray of shape (n_documents,)
        Scores before the first tree.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.
    k : int
        Documents wanted of each query.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    scores : ndarray of shape (n_documents,)
        Minus infinity for documents that were given up.
    n_evaluated : int
        Trees evaluated, summed over documents.
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


def _remaining_bounds(ensemble):
    """Least and greatest sums of all trees from each one on."""
    ends = np.append(ensemble.roots_[1:], len(ensemble.feature_))
    tree = np.repeat(np.arange(ensemble.n_trees), ends - ensemble.roots_)
    leaf = ensemble.feature_ < 0
    least = np.full(ensemble.n_trees, np.inf)
    greatest = np.full(ensemble.n_trees, -np.inf)
    np.minimum.at(least, tree[leaf], ensemble.value_[leaf])
    np.maximum.at(greatest, tree[leaf], ensemble.value_[leaf])
    return tuple(
        np.append(np.cumsum(values[::-1])[::-1], 0.0) for values in (least, greatest)
    )


def _contenders(scores, ptr, k, reach):
    """Whether a document can still come up to the k-th best of its query."""
    ranks = np.asarray(segment_ranks(scores, ptr))
    sizes = np.diff(ptr)
    # The last document that counts: the k-th, or the last of a shorter query.
    is_mark = ranks == np.minimum(np.repeat(sizes, sizes), k)
    return scores + reach >= np.repeat(scores[is_mark], sizes[sizes > 0])


def _shrunk(ptr, keep):
    """Pointer array of the documents that are left."""
    return np.append(0, np.cumsum(keep))[ptr]
