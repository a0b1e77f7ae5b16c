"""Importance of documents by the links between their hosts."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._missing import refuse_mask
from skrank._core._parameters import Interval
from skrank.text._link_graph import as_graph
from skrank.text._page_rank import BasePageRank, Links


class HostRank(BasePageRank):
    r"""Score documents by the importance of their hosts, which their documents share.

    Links between documents of different hosts become one weighted link between the
    hosts, the weights of the hosts R follow by PageRank, and each host shares its own:

    .. math::
        P(u) = R(h) \frac{w(u)}{\sum_{v \in h} w(v)}, \qquad
        w(u) = \gamma^{depth(u)} (1 + in(u))

    with the host h of u, and in(u) the weight of all links to u. So documents that
    nobody links to yet are ranked by their hosts, and the root of a host gets the most.
    The shares are simpler than the tree of directories in the article, but as there,
    they fall with the depth and grow with the links.

    Parameters
    ----------
    decay : float, default=0.5
        Factor γ by which the share of a document falls for each directory above it,
        above 0 and at most 1.

    See Also
    --------
    PageRank : The same for links between documents.
    SiteMap : Hosts and depths by URLs.

    References
    ----------
    [Xue2005]_; [Liu2011]_, table 10.2, row 52.

    Examples
    --------
    >>> from skrank.text import HostRank, LinkGraph, SiteMap
    >>> site = SiteMap(["a.org/", "a.org/x/y", "b.org/"])
    >>> graph = LinkGraph.from_edges([0, 1], [1, 2])
    >>> model = HostRank().fit(graph, site.hosts, depths=site.depths)
    >>> model.scores_.round(3).tolist()
    [0.175, 0.175, 0.649]
    """

    decay: Annotated[float, Interval(0, 1, "right")] = 0.5

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"decay": 1.0, "damping": 0.5}]

    def fit(
        self,
        links: Links,
        hosts: npt.ArrayLike,
        *,
        depths: npt.ArrayLike | None = None,
    ) -> "HostRank":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        hosts : array-like of shape (n_nodes,), dtype int
            Number of the host of each document, as `SiteMap` has it.
        depths : array-like of shape (n_nodes,), dtype int, default=None
            Number of directories above each document; None takes 0.

        Returns
        -------
        HostRank
            The model itself. Complexity: O(E) for the links between documents and O(E')
            for each iteration over those between hosts.

        Raises
        ------
        ValueError
            If a parameter, the links, hosts or depths are not accepted.
        TypeError
            If the links are no matrix of numbers.
        """
        self._check_parameters()
        matrix = as_graph(links).matrix
        n_nodes = matrix.shape[0]
        hosts = _whole_numbers(hosts, n_nodes, "hosts")
        # Hosts without documents would take a part of the jumps.
        hosts = np.unique(hosts, return_inverse=True)[1].ravel()
        n_hosts = int(hosts.max()) + 1
        sources = np.repeat(hosts, np.diff(matrix.indptr))
        targets = hosts[matrix.indices]
        # Sums of weights may overflow, and only their proportions count.
        scale = _power_of_two(matrix.data.max(initial=0.0))
        weights = matrix.data / scale
        between = sources != targets
        # Beside the weights of other hosts, those of a host could vanish.
        exponents = np.full(n_hosts, np.iinfo(np.int16).min, dtype=np.int32)
        np.maximum.at(exponents, sources, np.frexp(matrix.data)[1])
        own = np.ldexp(matrix.data, -exponents[sources])[between]
        entries: Any = (own, (sources[between], targets[between]))
        graph: Any = sparse.coo_array(entries, shape=(n_hosts, n_hosts)).tocsr()
        uniform = np.full((n_hosts, 1), 1 / n_hosts)
        importance = self._walk(graph, uniform)[:, 0]
        shares = 1 / scale + np.bincount(matrix.indices, weights, minlength=n_nodes)
        # Shares of a host to which only small weights lead would be rounded.
        largest = np.zeros(n_hosts)
        np.maximum.at(largest, hosts, shares)
        shares /= largest[hosts]
        if depths is not None:
            above = _whole_numbers(depths, n_nodes, "depths")
            # Relative to the top of the host, so that not all shares become 0.
            top = np.full(n_hosts, np.iinfo(np.intp).max)
            np.minimum.at(top, hosts, above)
            shares *= float(self.decay) ** (above - top[hosts])
        total = np.bincount(hosts, shares, minlength=n_hosts)
        self.scores_ = importance[hosts] * (shares / total[hosts])
        return self


def _power_of_two(largest: float) -> float:
    """Return a power of two that is not above a weight, but at least 1.

    Division by it rounds nothing, as long as the results are no subnormal numbers.
    """
    return float(np.ldexp(1.0, max(int(np.frexp(largest)[1]) - 1, 0)))


def _whole_numbers(given: Any, n_nodes: int, name: str) -> np.ndarray:
    refuse_mask(given, name, "whole number")
    try:
        numbers = np.asarray(given)
    except ValueError:  # lists of different lengths
        numbers = np.empty(0, dtype=object)
    if (
        numbers.dtype.kind not in "iu"
        or numbers.shape != (n_nodes,)
        or (numbers < 0).any()
    ):
        raise ValueError(
            f"{name} must hold a whole number >= 0 for each of {n_nodes} nodes, got "
            f"{shown(given)}"
        )
    return numbers.astype(np.intp)
