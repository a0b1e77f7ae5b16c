"""Linear functions in the leaves of boosted trees."""

from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank.trees import BinMapper, TreeEnsemble, _forest


def check_linear_leaves(ranker: Any, X: Any) -> None:
    """Refuse what linear leaves cannot be combined with.

    Parameters
    ----------
    ranker : BaseBoostedRanker
        A ranker with ``linear_leaves=True``.
    X : ndarray of shape (n_documents, n_features)
        Training rows.

    Raises
    ------
    ValueError
        If there are constraints or dropout.
    """
    if ranker._monotonic(X.shape[1]).any():
        raise ValueError(
            "linear_leaves=True: the slopes in the leaves know of no monotonic_cst; "
            "leave one of the two out"
        )
    if ranker.dropout > 0.0:
        raise ValueError(
            f"linear_leaves=True: dropout={ranker.dropout:g} adds values of leaves up "
            "exactly, which those of linear functions are not; leave one of the two out"
        )


class LinearLeaves:
    r"""Ridge regression, in each leaf, on the features of the path to it.

    .. math:: T(x) = v + \sum_j a_j (x_j - m_j), \qquad
              a = -(Z^\top H Z + \lambda I)^{-1} Z^\top g

    where v is the value that a leaf has anyway, m holds the means of the features in
    the leaf, weighted by the Hessian, and Z their differences from these in units of
    their standard deviations over the training rows. Values beyond those of training
    rows of the leaf count as the nearest of them, and rows that miss a feature of the
    path take no part and get v alone.

    Complexity: O(n p²) for n rows and p features on a path.

    Parameters
    ----------
    bins : BinMapper
        Bins of the features.
    X : ndarray of shape (n_documents, n_features)
        Training rows.
    n_threads : int
        Number of threads.

    Attributes
    ----------
    l2 : float
        The penalty on slopes; 0 until it is set.

    References
    ----------
    [Shi2019]_; here splits are found as for constants.
    """

    def __init__(self, bins: BinMapper, X: np.ndarray, n_threads: int):
        self.l2, self.n_threads = 0.0, n_threads
        self.bins = bins
        self.rows = np.ascontiguousarray(bins.encode(X))
        self.scale = _spreads(self.rows)

    def fitted(self, tree, gradient, hessian, rows, rate) -> dict[str, np.ndarray]:
        """Return a tree with linear functions in its leaves.

        Parameters
        ----------
        tree : dict
            Arrays over the nodes of the tree.
        gradient, hessian : ndarray of shape (n_documents,)
            Derivatives of the loss; the Hessian may be None, which stands for ones.
        rows : ndarray of int32 or None
            Rows that the tree was grown on; None stands for all.
        rate : float
            Factor of the slopes, the learning rate.

        Returns
        -------
        dict
            The arrays of the tree, and those of the terms.
        """
        nodes = TreeEnsemble.empty().append([tree], [0], self.bins)
        start, feature, terms = _forest.fit_linear_tree(
            self.rows,
            gradient,
            hessian,
            rows,
            self.scale,
            self.l2,
            *nodes.arrays(),
            self.n_threads,
        )
        terms[0] *= rate
        return {**tree, "term_start": start, "term_feature": feature, "terms": terms}


def _spreads(X) -> np.ndarray:
    """Return the standard deviation of each column, 0 where there is none."""
    found = np.zeros(X.shape[1])
    with quiet():
        for j in range(X.shape[1]):
            column = X[:, j].astype(np.float64)
            column = column[np.isfinite(column)]
            found[j] = np.std(column) if len(column) else 0.0
    return np.where(np.isfinite(found), found, 0.0)
