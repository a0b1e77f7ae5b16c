"""Kemeny's consensus: the order nearest to the runs by Kendall's distance."""

from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from skrank._core._choices import kendall_distance, local_kemeny
from skrank._core._components import components_in_order
from skrank._core._parameters import Interval, NonNegativeInt
from skrank.aggregation._joined import JoinedRuns, RunsLike, join_runs
from skrank.aggregation._judgements import Judgements
from skrank.aggregation._kemeny_programs import best_order, linear_order
from skrank.aggregation._votes import (
    BaseVotingAggregator,
    majorities,
    pair_votes,
    scores_of_order,
)

# The table of dynamic programming has an entry for every subset of the documents.
_LARGEST_TABLE = 20


class Kemeny(BaseVotingAggregator):
    r"""Order with the fewest disagreements with the runs.

    .. math::

       \min_\pi \sum_r w_r
       \bigl|\{(d, e) : \pi(d) < \pi(e),\ \pi_r(e) < \pi_r(d)\}\bigr|

    The problem is NP-hard, but it falls into parts: the documents of different strongly
    connected components of the majority graph stand as the majorities want them in the
    best order. Each component is solved exactly if it is small enough, by dynamic
    programming over its subsets or by integer programming, and by local Kemenisation of
    Borda's order otherwise.

    Parameters
    ----------
    dynamic_size : int, default=12
        Number of documents up to which a component is solved by dynamic programming, at
        most 20.
    linear_size : int, default=0
        Number of documents up to which a larger component is solved by linear and
        integer programming. A signal waits for the end of one call of the solver.

    Attributes
    ----------
    distance_ : ndarray of shape (n_queries,)
        Weighted number of disagreements of the order with the runs, after `fit`.
    lower_bound_ : ndarray of shape (n_queries,)
        Bound that no order can fall below, after `fit`.
    optimal_ : ndarray of shape (n_queries,), dtype bool
        Whether the order is known to be a best one, after `fit`.
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Scores are m, m − 1, … 1 for m documents. Among best orders of a component, the
    dynamic program takes the one that is nearest to Borda's, from the end.
    Complexity: O(n_runs m²) for m documents of a query, and O(c 2ᶜ) for a component of
    c documents by dynamic programming. Memory: about 1.25 m² bytes for the majorities
    of the largest query.

    References
    ----------
    [Dwork2001]_, sections 2 and 3; [Kemeny1959]_; [Conitzer2006]_ for the linear
    program.

    Examples
    --------
    >>> from skrank.aggregation import Kemeny
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "c": 2, "a": 1}}]
    >>> runs += [{"q": {"c": 3, "a": 2, "b": 1}}, {"q": {"a": 3, "b": 2, "c": 1}}]
    >>> kemeny = Kemeny().fit(runs)
    >>> kemeny.aggregate(runs)
    {'q': {'a': 3.0, 'b': 2.0, 'c': 1.0}}
    >>> kemeny.distance_.tolist(), kemeny.optimal_.tolist()
    ([4.0], [True])
    """

    short_name: ClassVar[str] = "kemeny"

    dynamic_size: Annotated[int, Interval(0, _LARGEST_TABLE)] = 12
    linear_size: NonNegativeInt = 0

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [
            *super()._variants(),
            {"dynamic_size": 0},
            {"dynamic_size": 3, "linear_size": 20},
        ]

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        joined = joined.retrieved_only()
        order, self.lower_bound_, self.optimal_ = self._solve(joined)
        self.distance_ = kendall_distance(*self._voters(joined), order, joined.ptr)

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return scores_of_order(self._solve(joined)[0], joined.ptr)

    def _solve(self, joined: JoinedRuns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an order, a lower bound of its distance, and whether it is a best."""
        places, weights = self._voters(joined)
        threads = self._threads(joined)
        order = self._borda_order(joined)
        order = local_kemeny(places, weights, order, joined.ptr, threads)
        bounds = np.zeros(joined.n_queries)
        optimal = np.ones(joined.n_queries, dtype=bool)
        for q, (a, b) in enumerate(zip(joined.ptr[:-1], joined.ptr[1:])):
            own = order[a:b]
            solved = self._solve_query(places[a:b][own], weights)
            found, bounds[q], optimal[q] = solved
            order[a:b] = own[found]
        # Components that were not solved may have neighbours in the wrong order.
        order = local_kemeny(places, weights, order, joined.ptr, threads)
        return order, bounds, optimal

    def _solve_query(
        self, places: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, float, bool]:
        """Order the documents of a query, given in an order that is locally best."""
        beats, bound = majorities(places, weights)
        optimal = True
        order = []
        for component in components_in_order(beats):
            if len(component) > max(self.dynamic_size, self.linear_size, 1):
                optimal = False
            elif len(component) > 1:
                votes = pair_votes(places[component], weights)
                best = self._best_order(votes)
                least = np.minimum(votes, votes.T).sum() / 2.0
                bound += distance_of(votes, best) - least
                component = component[best]
            order.append(component)
        return np.concatenate(order or [np.empty(0, np.intp)]), bound, optimal

    def _best_order(self, votes: np.ndarray) -> np.ndarray:
        """Return the best order of a component that is small enough for it."""
        if len(votes) <= self.dynamic_size:
            return best_order(votes)
        return linear_order(votes, integer=True)[0]

    def lower_bound(
        self,
        runs: RunsLike | JoinedRuns,
        groups: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Return a bound of the distance of every order by linear programming.

        Parameters
        ----------
        runs : runs, joined runs, or array-like of shape (n_documents, n_runs)
            Runs, as `join_runs` takes them.
        groups : array-like of shape (n_documents,), default=None
            Query id of each row of an array.

        Returns
        -------
        ndarray of shape (n_queries,)
            Value of the linear program in which each pair of documents is put in order
            in parts that sum to 1, and no three documents go round in a circle. It
            takes minutes for components of more than a hundred documents.
        """
        self._check_parameters()
        joined = join_runs(runs, groups)
        self._check_runs(joined)
        joined = joined.retrieved_only()
        places, weights = self._voters(joined)
        bounds = np.zeros(joined.n_queries)
        for q, (a, b) in enumerate(zip(joined.ptr[:-1], joined.ptr[1:])):
            beats, bounds[q] = majorities(places[a:b], weights)
            for component in components_in_order(beats):
                if len(component) > 2:
                    votes = pair_votes(places[a:b][component], weights)
                    least = np.minimum(votes, votes.T).sum() / 2.0
                    bounds[q] += linear_order(votes, integer=False)[1] - least
        return bounds


def distance_of(votes: np.ndarray, order: np.ndarray) -> float:
    """Return the weight of the votes against an order.

    Parameters
    ----------
    votes : ndarray of shape (m, m)
        Weight of the runs that prefer the document of the row to that of the column.
    order : ndarray of shape (m,), dtype intp
        Documents, the best first.

    Returns
    -------
    float
    """
    return float(np.tril(votes[np.ix_(order, order)], -1).sum())
