"""Training on what the first ranks of any system hold."""

from dataclasses import field

from skrank._core._parameters import NonNegativeInt, PositiveInt
from skrank.selection._training_base import BaseTrainingSelector, Chosen


class DepthPooling(BaseTrainingSelector):
    r"""Select the union of the first k documents of all systems.

    .. math:: S_q = \{ u : \min_s r_s(u) \le k \}

    with the rank :math:`r_s(u)` of document u by system s. What was pooled for judges
    in this way is what most collections hold.

    Parameters
    ----------
    depth : int, default=100
        Number k of first ranks of each system.

    See Also
    --------
    LetorSelection : The first ranks of one system.

    References
    ----------
    [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import DepthPooling
    >>> scores = [[3, 1], [2, 2], [1, 3]]
    >>> DepthPooling(1).select(scores, [0, 0, 0]).rows.tolist()
    [0, 2]
    """

    depth: PositiveInt = field(default=100, kw_only=False)

    def _chosen(self, candidates):
        marks = candidates.ranks.min(axis=1) <= self.depth
        return Chosen(marks, candidates.retrieved)


class LetorSelection(BaseTrainingSelector):
    """Select the first k documents of one system, as LETOR does by BM25.

    Parameters
    ----------
    depth : int, default=1000
        Number k of first ranks.
    system : int, default=0
        Column of the scores by which documents are ranked.

    See Also
    --------
    DepthPooling : The first ranks of all systems.

    References
    ----------
    [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import LetorSelection
    >>> LetorSelection(2).select([0.5, 2.0, 1.0], ["q", "q", "q"]).rows.tolist()
    [1, 2]
    """

    depth: PositiveInt = field(default=1000, kw_only=False)
    system: NonNegativeInt = 0

    def _chosen(self, candidates):
        ranks = candidates.ranks
        if self.system >= ranks.shape[1]:
            raise ValueError(
                f"system must be the number of a column of scores, below "
                f"{ranks.shape[1]}; got {self.system}"
            )
        return Chosen(ranks[:, self.system] <= self.depth, candidates.retrieved)
