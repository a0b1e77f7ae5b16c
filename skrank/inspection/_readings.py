"""Desired and other answers as two weighted means of energies.

All three readings of a ranking task are linear in the energies. So each is a pair of
arrays of weights that are made once, and following it through training costs two inner
products per iteration.
"""

from typing import Literal

import numpy as np

from skrank._core import _segments
from skrank.losses._base import has_preference
from skrank.losses._energy_listwise import position_coefficients

_Weights = tuple[np.ndarray, np.ndarray]

_NO_PREFERENCE = (
    "there is no query with documents of different grades, so no document is preferred "
    "to another"
)


def pair_weights(y: np.ndarray, ptr: np.ndarray) -> _Weights:
    """Return the weights of the preferred and of the other documents of all pairs.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents,)
        Share of the pairs in which a document is the preferred one, and share of those
        in which it is the other one; each sums to 1. Complexity: O(n log n), since no
        pair is built.

    Raises
    ------
    ValueError
        If no document is preferred to another.
    """
    order, lower = _sorted_by_grade(y, ptr)
    worse = np.repeat(np.diff(ptr), np.diff(ptr)) - lower
    position = np.arange(len(y)) - np.repeat(ptr[:-1], np.diff(ptr))
    # Where a run of equal grades begins, the position counts the better documents.
    first = _starts_of_runs(lower, ptr)
    better = position[np.flatnonzero(first)[np.cumsum(first) - 1]]
    n_pairs = worse.sum()
    if n_pairs == 0:
        raise ValueError(_NO_PREFERENCE)
    desired, others = np.empty(len(y)), np.empty(len(y))
    desired[order], others[order] = worse / n_pairs, better / n_pairs
    return desired, others


def list_weights(
    y: np.ndarray,
    ptr: np.ndarray,
    top_k: int | None,
    normalization: Literal["list", "sublist"],
) -> _Weights:
    r"""Return the weights of the two terms of the energy of the ideal list.

    .. math:: \sum_{j=1}^{k} E(x_{\pi_j}), \qquad
              \sum_{j=1}^{k} \sum_{t=j}^{m} P(t) E(x_{\pi_t})

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
    top_k : int or None
        Number k of leading positions; None means all positions.
    normalization : {"list", "sublist"}
        Positions over which P sums to one, as in `ListwiseEnergyLoss`.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents,)
        Means over the queries that have a preference, and over all orders of documents
        of equal grade.

    Raises
    ------
    ValueError
        If no document is preferred to another.

    References
    ----------
    [Fang2016]_, eq. 29-31.
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
    desired, others = np.empty(len(y)), np.empty(len(y))
    n_queries = informative.sum()
    # A document takes the mean over its run, which is the mean over all orders of ties.
    desired[order] = _mean_of_runs(top, first) / n_queries
    others[order] = _mean_of_runs(top - net, first) / n_queries
    return desired, others


def label_weights(y: np.ndarray, labels: np.ndarray) -> _Weights:
    """Return the weights of each document's own label and of all its other labels.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Relevance grades, all among the labels.
    labels : ndarray of shape (n_labels,)
        Labels, ascending.

    Returns
    -------
    desired, others : ndarrays of shape (n_documents, n_labels)
        Weights; each array sums to 1.

    Raises
    ------
    ValueError
        If there is only one label.
    """
    if len(labels) < 2:
        raise ValueError(f"there is only one label, {labels[0]:g}, and no other")
    own = np.asarray(y)[:, None] == np.asarray(labels)
    return own / len(y), ~own / (len(y) * (len(labels) - 1))


def query_means(values: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return the mean of the query of each row.

    Parameters
    ----------
    values : ndarray of shape (n_documents,)
        Values, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    sizes = np.diff(ptr)
    sums = _segments.segment_sum(np.ascontiguousarray(values, dtype=np.float64), ptr)
    return np.repeat(sums / np.maximum(sizes, 1), sizes)


def _sorted_by_grade(y, ptr):
    """Rows by falling grade, and how many rows of the query have that grade or more."""
    order, lower = _segments.label_order(np.ascontiguousarray(y, dtype=np.float64), ptr)
    return order + np.repeat(ptr[:-1], np.diff(ptr)), lower


def _starts_of_runs(lower, ptr):
    """Mask of the rows, sorted by grade, that are the first of their grade."""
    first = np.ones(len(lower), dtype=bool)
    first[1:] = lower[1:] != lower[:-1]
    first[ptr[:-1][np.diff(ptr) > 0]] = True
    return first


def _mean_of_runs(values, first):
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(values)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
