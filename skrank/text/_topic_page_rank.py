"""PageRank by topics."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from skrank._core._validation import as_numbers
from skrank.text._link_graph import as_graph
from skrank.text._page_rank import BasePageRank, Links, normalized_jumps


class TopicPageRank(BasePageRank):
    r"""Score documents for each topic by a surfer who jumps to its documents only.

    .. math::
        P_j = \alpha M P_j + (1 - \alpha) t_j, \qquad
        s(q, d) = \sum_j P(j \mid q)\, P_j(d)

    with M the chances of links and :math:`t_j` equal chances for the documents of topic
    j. From a node without links the surfer jumps in the same way.

    See Also
    --------
    PageRank : The same for jumps to all documents.
    TopicalPageRank : Surfers who change their topic on the way.

    References
    ----------
    [Haveliwala2002]_, sections 3.1 and 3.2.

    Examples
    --------
    >>> from skrank.text import LinkGraph, TopicPageRank
    >>> graph = LinkGraph.from_edges([0, 1, 2, 3], [1, 0, 3, 2])
    >>> model = TopicPageRank().fit(graph, [[1, 0], [0, 0], [0, 1], [0, 0]])
    >>> model.scores_.round(3)
    array([[0.541, 0.   ],
           [0.459, 0.   ],
           [0.   , 0.541],
           [0.   , 0.459]])
    >>> model.combine([[0.5, 0.5]]).round(3)
    array([[0.27, 0.23, 0.27, 0.23]])
    """

    _learned: ClassVar[dict[str, int]] = {"scores_": 2}

    def fit(self, links: Links, topics: npt.ArrayLike) -> "TopicPageRank":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        topics : array-like of shape (n_nodes, n_topics) or (n_nodes,)
            How much each node belongs to each topic, numbers >= 0, of which each topic
            needs one above 0.

        Returns
        -------
        TopicPageRank
            The model itself. Complexity: that of `PageRank` for each topic.

        Raises
        ------
        ValueError
            If a parameter, the links or the topics are not accepted.
        TypeError
            If the links are no matrix of numbers, or the topics are sparse.
        """
        self._check_parameters()
        graph = as_graph(links)
        jumps = normalized_jumps(topics, len(graph), "topics")
        self.scores_ = self._walk(graph.matrix, jumps)
        return self

    def combine(self, weights: npt.ArrayLike) -> np.ndarray:
        """Mix the scores of topics for queries.

        Parameters
        ----------
        weights : array-like of shape (n_queries, n_topics)
            Chance of each topic for each query; each row is divided by its sum.

        Returns
        -------
        ndarray of shape (n_queries, n_nodes), dtype float64
            Scores, which sum to 1 for each query.

        Raises
        ------
        ValueError
            If there is not one number for each topic, one is negative or not finite, or
            all of a query are 0.
        TypeError
            If the weights are a sparse matrix.
        """
        return mixed_topics(self, weights, "scores_")


def mixed_topics(model: Any, weights: npt.ArrayLike, name: str) -> np.ndarray:
    """Return scores of topics, an attribute of a model, mixed by weights of queries."""
    check_is_fitted(model, name)
    scores = getattr(model, name)
    rows = as_numbers(weights, "weights")
    n_topics = scores.shape[1]
    if rows.ndim != 2 or rows.shape[1] != n_topics:
        raise ValueError(
            f"weights must have shape (n_queries, {n_topics}), got {rows.shape}"
        )
    if not len(rows):
        return np.empty((0, len(scores)))
    return normalized_jumps(rows.T, n_topics, "weights", "row").T @ scores.T
