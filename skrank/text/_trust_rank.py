"""Trust that spreads from documents known to be good."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from skrank._core._parameters import PositiveInt
from skrank._core._validation import check_arguments
from skrank.text._link_graph import as_graph
from skrank.text._page_rank import BasePageRank, Links, PageRank, normalized_jumps


class TrustRank(BasePageRank):
    r"""Score documents by the trust that reaches them along links from good ones.

    .. math::
        t = \alpha M t + (1 - \alpha) d

    with M the chances of links and d equal chances for the good seeds. Seeds are the
    documents from which most others are reached: those with the largest PageRank in the
    graph whose links are turned around. A person judges them, and only those judged
    good pass trust on.

    Parameters
    ----------
    n_seeds : int, default=None
        Number of documents that are judged, the best by inverse PageRank; None takes
        all documents that are known to be good.

    Attributes
    ----------
    inverse_scores_ : ndarray of shape (n_nodes,)
        Inverse PageRank of each node.

    See Also
    --------
    PageRank : The same for jumps to all documents.

    References
    ----------
    [Gyongyi2004]_, sections 4.1 and 4.2, figure 5.

    Examples
    --------
    >>> from skrank.text import LinkGraph, TrustRank
    >>> graph = LinkGraph.from_edges([0, 0, 1, 3], [1, 2, 2, 4])
    >>> TrustRank().propose_seeds(graph, 2)
    array([0, 3])
    >>> TrustRank().fit(graph, [True, True, False, False, False]).scores_.round(3)
    array([0.246, 0.351, 0.403, 0.   , 0.   ])
    """

    n_seeds: PositiveInt | None = None
    _learned: ClassVar[dict[str, int]] = {"scores_": 1, "inverse_scores_": 1}

    @classmethod
    def _variants(cls):
        return [{}, {"n_seeds": 2, "damping": 0.5}]

    def propose_seeds(self, links: Links, k: PositiveInt) -> np.ndarray:
        """Find the documents that are worth judging.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        k : int
            Number of documents wanted.

        Returns
        -------
        ndarray of shape (min(k, n_nodes),), dtype intp
            Numbers of nodes, those with the largest inverse PageRank first; of equal
            ones, the lower number comes first.

        Raises
        ------
        ValueError
            If a parameter, k or the links are not accepted.
        TypeError
            If the links are no matrix of numbers.
        """
        self._check_parameters()
        check_arguments(self.propose_seeds, k=k)
        return np.argsort(-self._inverse(as_graph(links)), kind="stable")[:k]

    def fit(self, links: Links, trusted: npt.ArrayLike) -> "TrustRank":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        trusted : array-like of shape (n_nodes,)
            Judgement of each node: 0 or False where it is bad or unknown, more where it
            is good. With ``n_seeds``, only those of the seeds are looked at.

        Returns
        -------
        TrustRank
            The model itself.

        Raises
        ------
        ValueError
            If a parameter, the links or the judgements are not accepted, or no seed is
            good.
        TypeError
            If the links are no matrix of numbers, or the judgements are sparse.
        """
        self._check_parameters()
        graph = as_graph(links)
        weights = normalized_jumps(trusted, len(graph), "trusted")
        if weights.shape[1] != 1:
            raise ValueError("trusted must have one dimension")
        inverse = self._inverse(graph)
        if self.n_seeds is not None:
            others = np.argsort(-inverse, kind="stable")[self.n_seeds :]
            weights[others] = 0.0
            if not weights.any():
                raise ValueError(
                    f"trusted must name a good document among the {self.n_seeds} "
                    "seeds, found none; raise n_seeds"
                )
        jumps = normalized_jumps(weights, len(graph), "trusted")
        self.scores_ = self._walk(graph.matrix, jumps)[:, 0].copy()
        self.inverse_scores_ = inverse
        return self

    def _inverse(self, graph):
        """Return the PageRank of the graph with its links turned around."""
        model = PageRank(damping=self.damping, tol=self.tol, max_iter=self.max_iter)
        return model.fit(graph.matrix.T).scores_
