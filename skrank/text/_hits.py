"""Authorities and hubs."""

from typing import ClassVar

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
        # Scores do not depend on the scale of weights, but products may overflow.
        scale = matrix.data.max(initial=0.0) or 1.0
        parts = (matrix.data / scale, matrix.indices, matrix.indptr)
        outward = sparse.csr_array(parts, shape=matrix.shape)
        inward = outward.T.tocsr()
        authorities = hubs = np.full(n_nodes, 1 / n_nodes)
        converged = False
        for step in range(1, self.max_iter + 1):  # noqa: B007
            new = of_sum_one(inward @ hubs)
            back = of_sum_one(outward @ new)
            # Authorities may stand still for one step while hubs still change.
            change = np.abs(new - authorities).sum() + np.abs(back - hubs).sum()
            authorities, hubs = new, back
            if change <= self.tol or not matrix.nnz:
                converged = True
                break
        self.n_iter_ = step
        self.authorities_, self.hubs_ = authorities, hubs
        if not converged:
            self._warn()
        return self


def of_sum_one(scores: np.ndarray) -> np.ndarray:
    """Return scores divided by their sum, unless they are all 0."""
    total = scores.sum()
    return scores / total if total > 0 else scores
