"""Condorcet-fuse: sorting documents by majority votes."""

from typing import ClassVar

import numpy as np

from skrank._core._choices import sort_by_majority
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._votes import BaseVotingAggregator, scores_of_order


class Condorcet(BaseVotingAggregator):
    r"""Order in which a majority prefers no document to the one before it.

    A document :math:`d` beats :math:`e` if the runs that place it before :math:`e`
    weigh more,

    .. math::

       \sum_{r : \pi_r(d) < \pi_r(e)} w_r > \sum_{r : \pi_r(e) < \pi_r(d)} w_r .

    Documents are sorted by this comparison, which gives a Hamiltonian path of the
    majority graph: a document that beats all others comes first, and if every document
    of a set beats every one outside of it, the set comes first.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Majorities may go round in circles, in which case there are several such paths. The
    one that is found by a merge sort of Borda's order is taken, so that the result does
    not depend on the order of runs. Documents with equal points of Borda start with the
    larger id, and in an array, which has no ids, in the order of the rows. The scores
    are m, m − 1, … 1 for m documents.
    Complexity: O(n_runs m log m) for m documents of a query.

    References
    ----------
    [Montague2002]_, section 3.

    Examples
    --------
    >>> from skrank.aggregation import Condorcet
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "a": 2, "c": 1}}]
    >>> runs += [{"q": {"a": 3, "c": 2, "b": 1}}]
    >>> Condorcet().aggregate(runs)
    {'q': {'a': 3.0, 'b': 2.0, 'c': 1.0}}
    """

    short_name: ClassVar[str] = "condorcet"
    aliases: ClassVar[tuple[str, ...]] = ("w_condorcet",)

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        order = sort_by_majority(
            *self._voters(joined),
            self._borda_order(joined),
            joined.ptr,
            self._threads(joined),
        )
        return scores_of_order(order, joined.ptr)
