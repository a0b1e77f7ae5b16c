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
