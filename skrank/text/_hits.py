"""Authorities and hubs."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skrank.text._link_graph import as_graph
from skrank.text._page_rank import BaseLinkModel, Links


class HITS(BaseLinkModel):
    r"""Score documents as authorities, to which hubs link, and as hubs.

    .. math::
        a \propto L^\top h, \qquad h \propto L a

    with L the weights of links. Both are scaled to a sum of 1. Where several solutions
    exist, the one is found that iterations from equal scores lead to.

    Attributes
    ----------
    authorities_ : ndarray of shape (n_nodes,)
        Authority of each node; 0 for all if there are no links.
    hubs_ : ndarray of shape (n_nodes,)
        Hub score of each node; 0 for all if there are no links.

    See Also
    --------
    PageRank : One score for both.
    TopicalHITS : Scores by topics.

    References
    ----------
    [Kleinberg1999]_, section 3.

    Examples
    --------
    >>> from skrank.text import HITS, LinkGraph
    >>> graph = LinkGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> model = HITS().fit(graph)
    >>> model.authorities_.round(3), model.hubs_.round(3)
    (array([0.   , 0.382, 0.618]), array([0.618, 0.382, 0.   ]))
    """

    _learned: ClassVar[dict[str, int]] = {"authorities_": 1, "hubs_": 1}

    @classmethod
    def _variants(cls):
        return [{}, {"tol": 1e-6, "max_iter": 200}]

    def fit(self, links: Links, y: None = None) -> "HITS":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        y : None
            Ignored.

        Returns
        -------
        HITS
            The model itself. Complexity: O(E) for each iteration over E links.

        Raises
        ------
        ValueError
            If a parameter or the links are not accepted.
        TypeError
            If the links are no matrix of numbers.
        """
        self._check_parameters()
        matrix = as_graph(links).matrix
        n_nodes = matrix.shape[0]
        first = np.full(n_nodes, 1 / n_nodes)
        found = reinforced(matrix, first, self.tol, self.max_iter)
        self.authorities_, self.hubs_, self.n_iter_, converged = found
        if not converged:
            self._warn()
        return self


def reinforced(
    matrix: Any,
    first: np.ndarray,
    tol: float,
    max_iter: int,
    on_the_way: Callable[[np.ndarray], np.ndarray] = lambda scores: scores,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Return authorities and hubs that follow from each other.

    Parameters
    ----------
    matrix : csr_array of shape (n_nodes, n_nodes)
        Weights of links.
    first : ndarray of shape (n_nodes,) or (n_nodes, n_topics)
        Scores before the first step.
    tol : float
        Change of all scores in a step from which on the steps end.
    max_iter : int
        Largest number of steps.
    on_the_way : callable, optional
        What becomes of scores before they follow the links; they stay by default.

    Returns
    -------
    tuple of (ndarray, ndarray, int, bool)
        Authorities, hubs, the number of steps, and whether they have converged.
    """
    # Scores do not depend on the scale of weights, but products may overflow.
    scale = matrix.data.max(initial=0.0) or 1.0
    parts = (matrix.data / scale, matrix.indices, matrix.indptr)
    outward = sparse.csr_array(parts, shape=matrix.shape)
    inward = outward.T.tocsr()
    authorities = hubs = first
    for step in range(1, max_iter + 1):
        new = of_sum_one(inward @ on_the_way(hubs))
        back = of_sum_one(outward @ on_the_way(new))
        # Authorities may stand still for one step while hubs still change.
        change = np.abs(new - authorities).sum() + np.abs(back - hubs).sum()
        authorities, hubs = new, back
        if change <= tol or not matrix.nnz:
            return authorities, hubs, step, True
    return authorities, hubs, max_iter, False


def of_sum_one(scores: np.ndarray) -> np.ndarray:
    """Return scores divided by their sum, unless they are all 0."""
    total = scores.sum()
    return scores / total if total > 0 else scores
