"""What is desired and what is not: two weighted means of energies.

All three readings of a ranking task are linear in the energies, so each is a pair of
arrays of weights, made once, and following them through training costs two inner
products per iteration.
"""

import numpy as np

from skrank._core import _segments
from skrank.losses._base import has_preference
from skrank.losses._energy_listwise import position_coefficients

_NO_PREFERENCE = (
    "there is no query with documents of different grades, so no document is preferred "
    "to another"
)


def pair_weights(y, ptr):
    """Weights of the preferred and of the other documents of all preference pairs.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents,)
        Share of the pairs in which a document is the preferred one, and the other one;
        each sums to 1. Complexity: O(n log n), no pair is built.
    """
    order, lower = _sorted_by_grade(y, ptr)
    worse = np.repeat(np.diff(ptr), np.diff(ptr)) - lower
    position = np.arange(len(y)) - np.repeat(ptr[:-1], np.diff(ptr))
    # The first of its run of equal grades has as many better ones as its position.
    first = _starts_of_runs(lower, ptr)
    better = position[np.flatnonzero(first)[np.cumsum(first) - 1]]
    n_pairs = worse.sum()
    if n_pairs == 0:
        raise ValueError(_NO_PREFERENCE)
    desired, others = np.empty(len(y)), np.empty(len(y))
    desired[order], others[order] = worse / n_pairs, better / n_pairs
    return desired, others


def list_weights(y, ptr, top_k, normalization):
    r"""Weights of the two terms of the energy of the ideal list.

    .. math:: \sum_{j=1}^{k} E(x_{\pi_j}), \qquad
              \sum_{j=1}^{k} \sum_{t=j}^{m} P(t) E(x_{\pi_t})

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.
    top_k : int or None
        Leading positions k; None for all.
    normalization : {"list", "sublist"}
        What P sums to one over, as in `ListwiseEnergyLoss`.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents,)
        Means over the queries that have a preference, and over all orders of documents
        of equal grade (Fang & Liu 2016, eq. 29-31).
    """
    order, lower = _sorted_by_grade(y, ptr)
    informative = has_preference(y, ptr)
    if not informative.any():
        raise ValueError(_NO_PREFERENCE)
    sizes = np.diff(ptr)
    top, net = np.zeros(len(y)), np.zeros(len(y))
    for size in np.unique(sizes[informative]):
        starts = ptr[:-1][informative & (sizes == size)]
        rows = starts[:, None] + np.arange(size)
        top[rows] = np.arange(size) < (size if top_k is None else top_k)
        net[rows] = position_coefficients(size, top_k, normalization)
    first = _starts_of_runs(lower, ptr)
    weights = []
    for by_position in (top, top - net):
        of_document = np.empty(len(y))
        of_document[order] = _mean_of_runs(by_position, first) / informative.sum()
        weights.append(of_document)
    return tuple(weights)


def label_weights(y, labels):
    """Weights of each document's own label and of all its other labels.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, all among the labels.
    labels : ndarray of shape (n_labels,)
        Labels, ascending.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents, n_labels)
        Each sums to 1.
    """
    if len(labels) < 2:
        raise ValueError(f"there is only one label, {labels[0]:g}, and no other")
    own = np.asarray(y)[:, None] == np.asarray(labels)
    return own / len(y), ~own / (len(y) * (len(labels) - 1))


def query_means(values, ptr):
    """Mean of each query, one entry per row.

    Parameters
    ----------
    values : ndarray of shape (n_documents,)
        Grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Where each query starts.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    sizes = np.diff(ptr)
    sums = _segments.segment_sum(np.ascontiguousarray(values, dtype=np.float64), ptr)
    return np.repeat(sums / np.maximum(sizes, 1), sizes)


def _sorted_by_grade(y, ptr):
    """Rows by falling grade, and how many of a query have at least a row's grade."""
    order, lower = _segments.label_order(np.ascontiguousarray(y, dtype=np.float64), ptr)
    return order + np.repeat(ptr[:-1], np.diff(ptr)), lower


def _starts_of_runs(lower, ptr):
    """Whether a row, sorted by grade, is the first of its grade in its query."""
    first = np.ones(len(lower), dtype=bool)
    first[1:] = lower[1:] != lower[:-1]
    first[ptr[:-1][np.diff(ptr) > 0]] = True
    return first


def _mean_of_runs(values, first):
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(values)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
