"""Rank aggregation by Markov chains: the four chains of Dwork and others.

The documents of a query are the states of a chain that moves to documents that the runs
rank higher. Its stationary distribution scores them. For the first three chains, the
mass that flows into all documents of a list is a running sum from its end, so that one
step takes linear time for all queries together; the fourth needs all pairs. The order
of runs and rows changes the last digits of a distribution, so that probabilities which
differ by no more than that are made equal.
"""

import warnings
from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import Interval, Positive, PositiveInt
from skrank._core._segments import segment_cumsum, segment_sum
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._joined import JoinedRuns, made_equal
from skrank.aggregation._linear_system import solve_dominant
from skrank.aggregation._votes import majorities


class BaseMarkovChain(BaseAggregator):
    """Base class of aggregators whose scores are a stationary distribution.

    Parameters
    ----------
    teleport : float, default=0.15
        Probability of moving to any document of the query instead, in [1e-9, 1]. It
        makes the stationary distribution unique; less would be lost in rounding.
    """

    teleport: Annotated[float, Interval(1e-9, 1)] = 0.15

    @abstractmethod
    def _stationary(self, joined: JoinedRuns) -> np.ndarray:
        """Return the stationary probability of each document."""

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return made_equal(self._stationary(joined), joined.ptr)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"teleport": 0.05}]


class _ListChain(BaseMarkovChain):
    """A chain whose steps are running sums over the lists.

    Parameters
    ----------
    tol : float, default=1e-12
        Change of the distribution of a query, summed over its documents, at which it
        counts as stationary.
    max_iter : int, default=10000
        Maximum number of steps.
    """

    tol: Positive = 1e-12
    max_iter: PositiveInt = 10000

    @abstractmethod
    def _outflow(self, lists: "_Lists", run: int) -> np.ndarray:
        """Return the part of its mass that a document sends to each one not below it.

        One number per entry of the list, the worst entry of a query first.
        """

    def _stays(self, lists: "_Lists") -> np.ndarray:
        """Return the part of its mass that each document keeps besides."""
        return np.zeros(lists.n_documents)

    def _stationary(self, joined: JoinedRuns) -> np.ndarray:
        lists = _Lists(joined)
        outflows = [self._outflow(lists, run) for run in range(joined.n_runs)]
        stays = self._stays(lists)
        uniform = lists.uniform
        mass = uniform
        active = np.ones(joined.n_queries, dtype=bool)
        for _ in range(self.max_iter):
            flow = stays * mass
            for run, outflow in enumerate(outflows):
                rows, ptr = lists.rows[run], lists.ptrs[run]
                flow[rows] += segment_cumsum(outflow * mass[rows], ptr)
            new = (1.0 - self.teleport) * flow + self.teleport * uniform
            change = segment_sum(np.abs(new - mass), joined.ptr)
            # A query stops by itself: its result must not depend on the other queries.
            mass = np.where(np.repeat(active, joined.sizes), new, mass)
            active &= change > self.tol
            if not active.any():
                return mass
        warnings.warn(
            f"{type(self).__name__}: {int(active.sum())} queries are not stationary "
            f"after {self.max_iter} steps; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=5,
        )
        return mass


class _Lists:
    """The lists of joined runs, the worst document of each query first.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    """

    def __init__(self, joined: JoinedRuns):
        self.n_documents = joined.n_documents
        self.rows, self.ptrs, self.ranks, self.sizes = [], [], [], []
        for run in range(joined.n_runs):
            rows, ptr = joined.rows_of(run)
            ranks = joined.ranks[rows, run]
            n = np.diff(ptr)
            ordered = np.empty_like(rows)
            ordered[(np.repeat(ptr[1:], n) - ranks).astype(np.intp)] = rows
            self.rows.append(ordered)
            self.ptrs.append(ptr)
            self.ranks.append(joined.ranks[ordered, run])
            self.sizes.append(np.repeat(n, n).astype(np.float64))
        # Documents that no run retrieved are no states.
        self.n_lists = np.count_nonzero(joined.retrieved, axis=1).astype(np.float64)
        states = (self.n_lists > 0).astype(np.float64)
        count = np.maximum(segment_sum(states, joined.ptr), 1.0)
        self.uniform = states / np.repeat(count, joined.sizes)


class MC1(_ListChain):
    r"""Markov chain that moves to any page ranked at least as high by some run.

    From document d, the next one is drawn uniformly from the multiset of all documents
    that the runs that have d rank at least as high as d:

    .. math::

       P(d \to e) = \frac{|\{r : \pi_r(e) \le \pi_r(d)\}|}{\sum_{r \ni d} \pi_r(d)}

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are stationary probabilities and sum to 1 over the documents of a query.
    Complexity: O(n) for each step for n retrieved documents; the number of steps is at
    most log(tol) / log(1 − teleport).

    References
    ----------
    [Dwork2001]_, section 3.3.

    Examples
    --------
    >>> from skrank.aggregation import MC1
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "c": 0.25}}]
    >>> list(MC1().aggregate(runs)["q"])
    ['a', 'c', 'b']
    """

    short_name: ClassVar[str] = "mc1"

    def _outflow(self, lists: _Lists, run: int) -> np.ndarray:
        total = np.zeros(lists.n_documents)
        for rows, ranks in zip(lists.rows, lists.ranks):
            total[rows] += ranks
        return 1.0 / total[lists.rows[run]]


class MC2(_ListChain):
    r"""Markov chain that picks a run, and moves to a page that it ranks as high.

    From document d, one of the :math:`N_d` runs that have d is drawn, and the next
    document uniformly from those that it ranks at least as high as d:

    .. math::

       P(d \to e) = \frac{1}{N_d} \sum_{r : \pi_r(e) \le \pi_r(d)} \frac{1}{\pi_r(d)}

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are stationary probabilities and sum to 1 over the documents of a query.
    Complexity: O(n) for each step for n retrieved documents; the number of steps is at
    most log(tol) / log(1 − teleport).

    References
    ----------
    [Dwork2001]_, section 3.3.

    Examples
    --------
    >>> from skrank.aggregation import MC2
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "c": 0.25}}]
    >>> list(MC2().aggregate(runs)["q"])
    ['a', 'c', 'b']
    """

    short_name: ClassVar[str] = "mc2"

    def _outflow(self, lists: _Lists, run: int) -> np.ndarray:
        return 1.0 / (lists.n_lists[lists.rows[run]] * lists.ranks[run])


class MC3(_ListChain):
    r"""Markov chain that picks a run and a page, and moves there if the run says so.

    From document d, one of the :math:`N_d` runs that have d is drawn, and one of its
    :math:`m_r` documents. The chain moves there if the run ranks it higher than d, and
    stays at d otherwise:

    .. math::

       P(d \to e) = \frac{1}{N_d} \sum_{r : \pi_r(e) < \pi_r(d)} \frac{1}{m_r}
       \qquad (e \ne d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are stationary probabilities and sum to 1 over the documents of a query. The
    chain generalises Borda's count.
    Complexity: O(n) for each step for n retrieved documents; the number of steps is at
    most log(tol) / log(1 − teleport).

    References
    ----------
    [Dwork2001]_, section 3.3.

    Examples
    --------
    >>> from skrank.aggregation import MC3
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "c": 0.25}}]
    >>> list(MC3().aggregate(runs)["q"])
    ['a', 'c', 'b']
    """

    short_name: ClassVar[str] = "mc3"

    def _outflow(self, lists: _Lists, run: int) -> np.ndarray:
        return 1.0 / (lists.n_lists[lists.rows[run]] * lists.sizes[run])

    def _stays(self, lists: _Lists) -> np.ndarray:
        # Drawing the document itself is part of the flow.
        stays = np.zeros(lists.n_documents)
        for rows, ranks, sizes in zip(lists.rows, lists.ranks, lists.sizes):
            stays[rows] += (1.0 - ranks / sizes) / lists.n_lists[rows]
        return stays


class MC4(BaseMarkovChain):
    r"""Markov chain that moves to a page if most runs rank it higher.

    From document d, one of the m documents of the query is drawn, and the chain moves
    there if most of the runs that have both rank it higher than d:

    .. math::

       P(d \to e) = \frac{1}{m}
       \Bigl[|\{r : \pi_r(e) < \pi_r(d)\}| > |\{r : \pi_r(d) < \pi_r(e)\}|\Bigr]
       \qquad (e \ne d)

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are stationary probabilities and sum to 1 over the documents of a query. The
    chain generalises Copeland's count.
    Complexity: O(n_runs m² + m³) for m documents of a query, for the solution of a
    linear system. Memory: about 9 m² bytes for the largest query.

    References
    ----------
    [Dwork2001]_, section 3.3.

    Examples
    --------
    >>> from skrank.aggregation import MC4
    >>> runs = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.5, "c": 0.25}}]
    >>> list(MC4().aggregate(runs)["q"])
    ['a', 'c', 'b']
    """

    short_name: ClassVar[str] = "mc4"

    def _stationary(self, joined: JoinedRuns) -> np.ndarray:
        scores = np.zeros(joined.n_documents)
        weights = np.ones(joined.n_runs)
        found = joined.found
        for a, b in zip(joined.ptr[:-1], joined.ptr[1:]):
            rows = np.flatnonzero(found[a:b]) + a
            if len(rows):
                beats, _ = majorities(joined.ranks[rows], weights)
                scores[rows] = self._mass(beats)
        return scores

    def _mass(self, beats: np.ndarray) -> np.ndarray:
        """Return the stationary distribution, from which document beats which."""
        m = len(beats)
        system = beats / m  # transitions, from the column to the row
        np.fill_diagonal(system, 1.0 - system.sum(axis=0))
        # I − (1 − teleport) P takes the place of P, for there may be little room.
        system *= 1.0 - self.teleport
        np.subtract(0.0, system, out=system)
        system.flat[:: m + 1] += 1.0
        mass = solve_dominant(system, np.full(m, self.teleport / m))
        return mass / mass.sum()
