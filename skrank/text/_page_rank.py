"""Importance of documents by the links between them."""

import warnings
from abc import ABCMeta, abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import Interval, Parameters, Positive, PositiveInt
from skrank._core._validation import as_numbers
from skrank.text._link_graph import LinkGraph, as_graph, transitions

Links = LinkGraph | sparse.spmatrix | sparse.sparray | npt.ArrayLike


class BaseLinkModel(Parameters, BaseEstimator, metaclass=ABCMeta):
    """Base class of the models that score documents by their links.

    Parameters
    ----------
    tol : float, default=1e-10
        Iterations end when the scores, which sum to 1, change by no more in sum.
    max_iter : int, default=1000
        Largest number of iterations; a `ConvergenceWarning` says that they ended there.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.
    """

    tol: Positive = 1e-10
    max_iter: PositiveInt = 1000
    # Dimensions of what `fit` learns, for the check of model files.
    _learned: ClassVar[dict[str, int]] = {"scores_": 1}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @abstractmethod
    def fit(self, links: Links) -> "BaseLinkModel":
        """Score the documents."""

    def _restore_state(self) -> None:
        """Refuse scores of a model file that `fit` never makes."""
        state: dict[str, Any] = vars(self)
        known = {*self._learned, "n_iter_"}
        if not known & state.keys():
            return
        if not known <= state.keys():
            raise ValueError(f"{type(self).__name__} lacks a part of what fit learns")
        for name, n_dimensions in self._learned.items():
            value = state[name]
            if (
                not isinstance(value, np.ndarray)
                or value.dtype != np.float64
                or value.ndim != n_dimensions
                or not value.size
                or not (np.isfinite(value).all() and (value >= 0).all())
            ):
                raise ValueError(f"{name} must hold finite numbers >= 0")
        lengths = {len(state[name]) for name in self._learned}
        if len(lengths) > 1:
            raise ValueError("scores must be of equally many nodes")
        if type(self.n_iter_) is not int or self.n_iter_ < 1:
            raise ValueError("n_iter_ must be a whole number >= 1")

    def _warn(self) -> None:
        warnings.warn(
            f"{type(self).__name__} has not converged after {self.max_iter} "
            "iterations; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )


class BasePageRank(BaseLinkModel):
    """Base class of the surfers that follow a link or jump somewhere.

    Parameters
    ----------
    damping : float, default=0.85
        Chance α that the surfer follows a link, from 0 to 1.

    Attributes
    ----------
    scores_ : ndarray of shape (n_nodes,) or (n_nodes, n_topics)
        Chance to find the surfer at each node; it sums to 1.
    """

    damping: Annotated[float, Interval(0, 1)] = 0.85

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"damping": 0.5, "tol": 1e-6, "max_iter": 50}]

    def _walk(self, matrix: sparse.csr_array, jumps: np.ndarray) -> np.ndarray:
        """Return where surfers end up that jump to nodes by each column of chances."""
        chances, dangling = transitions(matrix)
        alpha = float(self.damping)
        found = np.empty_like(jumps)
        self.n_iter_, converged = 0, True
        for column in range(jumps.shape[1]):  # one topic after the other: memory
            jump = jumps[:, column]
            mass, done = jump, False
            for step in range(1, self.max_iter + 1):  # noqa: B007
                lost = mass[dangling].sum()
                new = alpha * (chances @ mass + lost * jump) + (1 - alpha) * jump
                new /= new.sum()  # what rounding lost
                change = np.abs(new - mass).sum()
                mass = new
                if change <= self.tol:
                    done = True
                    break
            self.n_iter_ = max(self.n_iter_, step)
            converged &= done
            found[:, column] = mass
        if not converged:
            self._warn()
        return found


def normalized_jumps(
    given: Any, n_nodes: int, name: str, each: str = "column"
) -> np.ndarray:
    """Return weights of nodes, one column for each distribution, that sum to 1."""
    weights = as_numbers(given, name)
    if weights.ndim not in (1, 2) or weights.shape[0] != n_nodes or not weights.size:
        raise ValueError(
            f"{name} must have a row for each of {n_nodes} nodes, got shape "
            f"{weights.shape}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"{name} must be finite and >= 0")
    weights = weights.reshape(n_nodes, -1)
    largest = weights.max(axis=0)
    if not largest.all():
        place = int(np.flatnonzero(largest == 0)[0])
        raise ValueError(f"{name} must not be all 0, as in {each} {place}")
    weights = weights / largest  # or a sum may overflow
    return weights / weights.sum(axis=0)


class PageRank(BasePageRank):
    r"""Score documents by how often a random surfer visits them.

    .. math::
        P(u) = \alpha \sum_{v \in B_u} \frac{P(v)}{U(v)} + \frac{1 - \alpha}{N}

    with :math:`B_u` the nodes that link to u and U(v) the number of links from v. From
    a node without links the surfer jumps to any node with equal chances. Where links
    have weights, one is followed with the share of its weight. With ``damping=1`` the
    surfer only jumps from such nodes, and may go round in circles for ever, which a
    `ConvergenceWarning` tells.

    See Also
    --------
    TopicPageRank : One score for each topic.
    TrustRank : Scores that spread from trusted documents.
    HITS : Authorities and hubs.

    References
    ----------
    [Page1999]_; [Liu2011]_, section 1.2.1.2, eqs. 1.4 and 1.5.

    Examples
    --------
    >>> from skrank.text import LinkGraph, PageRank
    >>> graph = LinkGraph.from_edges([0, 1, 2, 3], [2, 2, 0, 2])
    >>> PageRank().fit(graph).scores_.round(3)
    array([0.445, 0.038, 0.48 , 0.038])
    """

    def fit(self, links: Links, y: None = None) -> "PageRank":
        """Score the documents.

        Parameters
        ----------
        links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
            Entry (u, v) is the weight of the link from u to v.
        y : None
            Ignored.

        Returns
        -------
        PageRank
            The model itself. Complexity: O(E) for each iteration over E links.

        Raises
        ------
        ValueError
            If a parameter or the links are not accepted.
        TypeError
            If the links are no matrix of numbers.
        """
        self._check_parameters()
        graph = as_graph(links)
        uniform = np.full((len(graph), 1), 1 / len(graph))
        self.scores_ = self._walk(graph.matrix, uniform)[:, 0].copy()
        return self
