"""Authorities and hubs by topics."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from skrank.text._hits import reinforced
from skrank.text._link_graph import as_graph
from skrank.text._page_rank import BaseLinkModel, Links
from skrank.text._topic_page_rank import mixed_topics
from skrank.text._topical_page_rank import Share, shares_of_topics, turned


class TopicalHITS(BaseLinkModel):
    r"""Score documents as authorities and as hubs of each topic.

    .. math::
        A_i(u) \propto \sum_{v \to u} \beta H_i(v) + (1 - \beta) C_i(v) H(v), \qquad
        H_i(u) \propto \sum_{u \to v} \beta A_i(v) + (1 - \beta) C_i(v) A(v)

    with the share :math:`C_i(v)` of topic i in document v, and with A and H the sums
    over the topics, which are scaled to 1 for all documents and are those of `HITS`.
    Links count by their weights. With β = 1 each topic follows from its own hubs and
    authorities alone, in proportions that the first scores, the shares of the topics,
    have left.

    Parameters
    ----------
    stay : float, default=0.5
        Share β of a score that keeps its topic on the way along a link, from 0 to 1.

    Attributes
    ----------
    authorities_ : ndarray of shape (n_nodes, n_topics)
        Authority of each node for each topic; 0 for all if there are no links.
    hubs_ : ndarray of shape (n_nodes, n_topics)
        Hub score of each node for each topic; 0 for all if there are no links.

    See Also
    --------
    HITS : The same without topics.
    TopicalPageRank : One score for both.

    References
    ----------
    [Nie2006]_, section 3; [Liu2011]_, table 10.2, rows 54 and 55.

    Examples
    --------
    >>> from skrank.text import LinkGraph, TopicalHITS
    >>> graph = LinkGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> model = TopicalHITS().fit(graph, [[1, 0], [1, 0], [0, 1]])
    >>> model.authorities_.sum(axis=1).round(3).tolist()
    [0.0, 0.382, 0.618]
    >>> model.hubs_.round(3).tolist()
    [[0.354, 0.264], [0.143, 0.239], [0.0, 0.0]]
    """

    stay: Share = 0.5
    _learned: ClassVar[dict[str, int]] = {"authorities_": 2, "hubs_": 2}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"stay": 0.0, "tol": 1e-6, "max_iter": 200}]

    def fit(self, links: Links, topics: npt.ArrayLike) -> "TopicalHITS":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        topics : array-like of shape (n_nodes, n_topics) or (n_nodes,)
            How much each node belongs to each topic, as `TopicalPageRank.fit` takes it.

        Returns
        -------
        TopicalHITS
            The model itself. Complexity: that of `HITS` for each topic.

        Raises
        ------
        ValueError
            If a parameter, the links or the topics are not accepted.
        TypeError
            If the links are no matrix of numbers, or the topics are sparse.
        """
        self._check_parameters()
        matrix = as_graph(links).matrix
        shares = shares_of_topics(topics, matrix.shape[0])
        found = reinforced(
            matrix,
            shares / len(shares),
            self.tol,
            self.max_iter,
            lambda scores: turned(scores, shares, self.stay),
        )
        self.authorities_, self.hubs_, self.n_iter_, converged = found
        if not converged:
            self._warn()
        return self

    def combine(self, weights: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Mix the scores of topics for queries.

        Parameters
        ----------
        weights : array-like of shape (n_queries, n_topics)
            Chance of each topic for each query; each row is divided by its sum.

        Returns
        -------
        authorities, hubs : ndarray of shape (n_queries, n_nodes), dtype float64
            Scores of the documents for each query.

        Raises
        ------
        ValueError
            If there is not one weight for each topic, one is negative or not finite, or
            all of a query are 0.
        TypeError
            If the weights are a sparse matrix.
        """
        return (
            mixed_topics(self, weights, "authorities_"),
            mixed_topics(self, weights, "hubs_"),
        )
