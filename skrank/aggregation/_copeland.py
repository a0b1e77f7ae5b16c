"""Copeland's count of pairwise victories."""

from typing import ClassVar

import numpy as np

from skrank._core._choices import copeland
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._votes import BaseVotingAggregator


class Copeland(BaseVotingAggregator):
    r"""Number of documents that a document beats, less the number that beat it.

    .. math::

       s(d) = \bigl|\{e : d \succ e\}\bigr| - \bigl|\{e : e \succ d\}\bigr|

    where :math:`d \succ e` if the runs that place d before e weigh more than those that
    place e before d.

    Attributes
    ----------
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    Like `Condorcet`, this puts a document first that beats all others; but it counts
    all contests, so that circles of majorities end in ties.
    Complexity: O(n_runs m²) for m documents of a query.

    References
    ----------
    [Dwork2001]_, section 3.1; [Copeland1951]_.

    Examples
    --------
    >>> from skrank.aggregation import Copeland
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "a": 2, "c": 1}}]
    >>> runs += [{"q": {"a": 3, "c": 2, "b": 1}}]
    >>> Copeland().aggregate(runs)
    {'q': {'a': 2.0, 'b': 0.0, 'c': -2.0}}
    """

    short_name: ClassVar[str] = "copeland"

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return copeland(
            *self._voters(joined),
            joined.ptr,
            self._threads(joined),
        )
