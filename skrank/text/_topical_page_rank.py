"""PageRank of surfers with topics on their minds."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from skrank._core._parameters import Interval
from skrank._core._validation import as_numbers
from skrank.text._link_graph import as_graph, transitions
from skrank.text._page_rank import Links, normalized_jumps
from skrank.text._topic_page_rank import TopicPageRank

Share = Annotated[float, Interval(0, 1)]


class TopicalPageRank(TopicPageRank):
    r"""Score documents for each topic by surfers who keep or change their topic.

    .. math::
        A_i(u) = \alpha \sum_{v \to u}
            \frac{\beta A_i(v) + (1 - \beta) C_i(v) A(v)}{U(v)}
            + \frac{1 - \alpha}{N} C_i(u), \qquad A(v) = \sum_i A_i(v)

    with the share :math:`C_i(v)` of topic i in document v and the number of links U(v).
    A surfer who follows a link keeps his topic with the chance β, or takes one of the
    document that he leaves; after a jump, he takes one of the document where he
    arrives. The sum over the topics is the `PageRank`. `combine` mixes the scores of
    topics by their chances for a query.

    Parameters
    ----------
    stay : float, default=0.5
        Chance β that a surfer who follows a link keeps his topic, from 0 to 1.

    See Also
    --------
    TopicPageRank : Surfers of one topic each, who only jump to its documents.
    TopicalHITS : The same for authorities and hubs.

    References
    ----------
    [Nie2006]_, section 3; [Liu2011]_, table 10.2, row 53.

    Examples
    --------
    >>> from skrank.text import LinkGraph, TopicalPageRank
    >>> graph = LinkGraph.from_edges([0, 1, 2], [2, 2, 0])
    >>> model = TopicalPageRank().fit(graph, [[1, 0], [0, 1], [1, 1]])
    >>> model.scores_.round(3).tolist()
    [[0.302, 0.161], [0.0, 0.05], [0.35, 0.136]]
    """

    stay: Share = 0.5

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"stay": 1.0, "damping": 0.5, "tol": 1e-6}]

    def fit(self, links: Links, topics: npt.ArrayLike) -> "TopicalPageRank":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        topics : array-like of shape (n_nodes, n_topics) or (n_nodes,)
            How much each node belongs to each topic, numbers >= 0; each row is divided
            by its sum, and a row of zeros stands for equal shares. Each topic needs a
            number above 0.

        Returns
        -------
        TopicalPageRank
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
        shares = shares_of_topics(topics, len(graph))
        chances, dangling = transitions(graph.matrix)
        alpha, n_nodes = float(self.damping), len(graph)
        mass, converged = shares / n_nodes, False
        for step in range(1, self.max_iter + 1):  # noqa: B007
            lost = mass[dangling].sum()
            new = alpha * (chances @ turned(mass, shares, self.stay))
            new += ((alpha * lost + 1 - alpha) / n_nodes) * shares
            new /= new.sum()  # what rounding lost
            change = np.abs(new - mass).sum()
            mass = new
            if change <= self.tol:
                converged = True
                break
        self.n_iter_ = step
        self.scores_ = mass
        if not converged:
            self._warn()
        return self


def shares_of_topics(topics: Any, n_nodes: int) -> np.ndarray:
    """Return the share of each topic in each document, which sum to 1."""
    normalized_jumps(topics, n_nodes, "topics")  # which checks them
    weights = as_numbers(topics, "topics").reshape(n_nodes, -1)
    largest = weights.max(axis=1, keepdims=True)
    weights = np.where(largest > 0, weights / np.where(largest > 0, largest, 1), 1.0)
    return weights / weights.sum(axis=1, keepdims=True)


def turned(mass: np.ndarray, shares: np.ndarray, stay: float) -> np.ndarray:
    """Return the mass of topics after some surfers took a topic of their document."""
    total = mass.sum(axis=1, keepdims=True)
    return float(stay) * mass + (1 - float(stay)) * total * shares
