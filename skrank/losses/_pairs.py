"""Preference pairs: documents of one query with different grades."""

import numpy as np

from skrank._core import _segments
from skrank.losses._base import PreparedLoss


class PreparedPairs(PreparedLoss):
    """Documents sorted by grade, from which every preference pair can be read.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array of the queries.
    sample_weight : array-like of shape (n_documents,) or None
        Row weights; a pair has the weight of its preferred document.
    n_threads : int
        Number of threads of the compiled code.

    Attributes
    ----------
    n_pairs : int
        Number of preference pairs.
    total_weight : float
        Sum of the weights of all preference pairs.
    """

    def __init__(self, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.order, self.lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        sizes = np.diff(self.ptr)
        worse = np.repeat(sizes, sizes) - self.lower  # per document, sorted by grade
        self.n_pairs = int(worse.sum())
        self.total_weight = float(self.n_pairs)
        if self.weight is not None:
            rows = self.order + np.repeat(self.ptr[:-1], sizes)
            self.total_weight = float(np.dot(self.weight[rows], worse))


class PairLossMixin:
    """Losses of preference pairs that know the loss of a single pair."""

    def pair_loss(self, better, worse):
        """Loss and slopes of single pairs.

        Parameters
        ----------
        better : ndarray of shape (n_pairs,)
            Score of the preferred document of each pair.
        worse : ndarray of shape (n_pairs,)
            Score of the other document.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Loss of each pair.
        slopes_better : ndarray of shape (n_pairs,)
            Derivative with respect to the score of the preferred document.
        slopes_worse : ndarray of shape (n_pairs,)
            Derivative with respect to the score of the other document.
        """
        values, slopes = self.margin_loss(better - worse)
        return values, slopes, -slopes


def single_pairs(loss, raw, better, worse, weight):
    """Weighted losses of given pairs, and the gradient of their sum.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss that offers ``pair_loss``.
    raw : ndarray of shape (n_documents,)
        Scores.
    better : ndarray of shape (n_pairs,)
        Row of the preferred document of each pair.
    worse : ndarray of shape (n_pairs,)
        Row of the other document.
    weight : ndarray of shape (n_pairs,) or None
        Weight of each pair.

    Returns
    -------
    values : ndarray of shape (n_pairs,)
        Loss of each pair times its weight.
    gradient : ndarray of shape (n_documents,)
        Gradient of ``values.sum()``.
    """
    values, up, down = loss.pair_loss(raw[better], raw[worse])
    if weight is not None:
        values, up, down = values * weight, up * weight, down * weight
    gradient = np.bincount(better, up, len(raw))
    gradient += np.bincount(worse, down, len(raw))
    return values, gradient
