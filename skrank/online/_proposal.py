"""What an online ranker proposes to show."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank.online._base import Lists


@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """Lists of documents to show, one for each query, as a ranker proposes them.

    Made by ``propose`` of an online ranker, which learns from it and the clicks on it
    by ``partial_fit``. It also holds what the ranker needs for that, such as the
    candidates that the documents come from.

    Attributes
    ----------
    rows : ndarray of shape (n_shown,), dtype intp
        Rows of ``X`` to show, list after list, each with its best place first.
    ptr : ndarray of shape (n_impressions + 1,), dtype intp
        The list of impression ``i`` is ``rows[ptr[i]:ptr[i + 1]]``.
    query_ids : ndarray of shape (n_impressions,)
        Query of each impression, in the order of their ids.
    n_rows : int
        Number of rows of ``X``.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.online import PDGD
    >>> X, y, groups = make_ranking(n_queries=3, random_state=0)
    >>> proposal = PDGD(length=2).propose(X, groups, random_state=0)
    >>> proposal
    Proposal(n_impressions=3, n_shown=6, n_rows=21)
    >>> groups[proposal.rows].tolist()
    [0, 0, 1, 1, 2, 2]
    """

    rows: np.ndarray
    ptr: np.ndarray
    query_ids: np.ndarray
    n_rows: int
    _lists: Lists = field(repr=False)

    def __len__(self):
        return len(self.query_ids)

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_impressions={len(self)}, "
            f"n_shown={len(self.rows)}, n_rows={self.n_rows})"
        )

    @classmethod
    def _of(cls, lists: Lists, index: QueryIndex) -> "Proposal":
        """Return lists of the queries of an index, by the rows that were given."""
        start = np.repeat(index.ptr[:-1], np.diff(lists.ptr))
        rows = start + lists.shown
        if index.order is not None:
            rows = index.order[rows]
        return cls(rows, lists.ptr, index.ids, int(index.ptr[-1]), lists)


def check_proposal(proposal: Any, n_rows: int, index: QueryIndex) -> Proposal:
    """Check that a proposal was made for these rows.

    Parameters
    ----------
    proposal : object
        What was passed.
    n_rows : int
        Number of rows.
    index : QueryIndex
        Their queries, in the order of their ids.

    Returns
    -------
    Proposal
        The proposal.

    Raises
    ------
    TypeError
        If it is none.
    ValueError
        If it was made for other rows or other queries.
    """
    if not isinstance(proposal, Proposal):
        raise TypeError(f"shown must be what propose returned, got {shown(proposal)}")
    if proposal.n_rows != n_rows or len(proposal) != index.n_queries:
        raise ValueError(
            f"shown was proposed for {proposal.n_rows} rows of {len(proposal)} "
            f"queries, got {n_rows} rows of {index.n_queries}; pass the same rows"
        )
    lists = proposal._lists
    expected = Proposal._of(lists, index) if _fit(lists, index) else None
    if expected is None or not np.array_equal(expected.rows, proposal.rows):
        raise ValueError(
            "shown was proposed for other queries; pass the same X and groups"
        )
    return proposal


def _fit(lists: Lists, index: QueryIndex) -> bool:
    """Return whether no list is longer than its query has documents."""
    return bool((np.diff(lists.ptr) <= index.sizes).all())
