"""trec_eval's measures of preferences between documents.

The judgements of a topic fall into groups, one for each user, say; a group holds the
preferences of one information need. Within a group, documents have levels in one or
several subgroups: a document is preferred to all documents of the same subgroup that
have a lower level, and preferences of different subgroups are completed to their
transitive closure. Different groups may contradict each other.

A preference is fulfilled if the preferred document is retrieved above the other one, or
is retrieved and the other one is not.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from skrank._core._id_arrays import in_order

Scope = Literal["all", "implied", "retrieved"]


class Counts(NamedTuple):
    """How many preferences are fulfilled, of how many possible ones."""

    fulfilled: int
    possible: int


class Preferences:
    """The preferences of one group over the judged documents of its topic.

    Parameters
    ----------
    matrix : ndarray of shape (n_judged, n_judged), dtype bool
        Whether document ``i`` is preferred to document ``j``; retrieved documents come
        first, in the order of ranks.
    level : ndarray of shape (n_judged,)
        Level of each document in this group, NaN for documents of other groups.
    n_retrieved : int
        Number of judged documents that were retrieved.
    is_complete : bool
        Whether the group consists of one subgroup, so that its levels tell everything.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        level: np.ndarray,
        n_retrieved: int,
        is_complete: bool,
    ):
        self.matrix = matrix
        self.level = level
        self.n_retrieved = n_retrieved
        self.is_complete = is_complete

    def counts(self, scope: Scope, matrix: np.ndarray | None = None) -> Counts:
        """Count the preferences whose documents are in scope.

        Parameters
        ----------
        scope : {"all", "implied", "retrieved"}
            All preferences; those with at least one retrieved document; those with two.
        matrix : ndarray of shape (n_judged, n_judged), dtype bool, default=None
            Preferences to count instead of those of the group.

        Returns
        -------
        Counts
        """
        if matrix is None:
            matrix = self.matrix
        n = self.n_retrieved
        if scope == "retrieved":
            matrix = matrix[:n, :n]
        # Documents that were not retrieved have the last numbers, so that everything
        # above the diagonal in the rows of retrieved documents is fulfilled.
        fulfilled = int(np.triu(matrix[:n], 1).sum())
        possible = int(matrix.sum())
        if scope == "implied":
            possible -= int(matrix[n:, n:].sum())
        return Counts(fulfilled, possible)

    def balanced_counts(self, scope: Scope) -> Counts:
        """Count preferences as if there were as many nonrelevant documents as relevant.

        Missing nonrelevant documents are added as fulfilled preferences; of too many,
        only those that stand first in the ranking count.
        """
        within = slice(self.n_retrieved if scope == "retrieved" else None)
        relevant, nonrelevant = self.level > 0, self.level <= 0
        n_relevant = int(relevant[within].sum())
        n_nonrelevant = int(nonrelevant[within].sum())
        if n_relevant >= n_nonrelevant:
            fulfilled, possible = self.counts(scope)
            added = n_relevant - n_nonrelevant
            return Counts(
                fulfilled + int(relevant[: self.n_retrieved].sum()) * added,
                possible + int(relevant.sum()) * added,
            )
        matrix = self.matrix.copy()
        others = np.flatnonzero(nonrelevant)
        if self.is_complete:
            kept = others[:n_relevant]
            # trec_eval compares the last class of documents with the kept part of
            # itself, too; its figures can be had in no other way.
            matrix[np.ix_(others, kept)] = True
            matrix[:, others[n_relevant:]] = False
        else:
            left_out = others[int(relevant.sum()) :]
            matrix[:, left_out] = matrix[left_out] = False
        return self.counts(scope, matrix)


class PreferenceTopic:
    """One query of a run with its judged preferences.

    Parameters
    ----------
    documents : sequence of str
        Retrieved documents in the order of ranks.
    groups : mapping {group: {subgroup: {document: level}}}
        The judgements.

    Notes
    -----
    Memory O(m²) and time O(m²) for m judged documents, for each group; O(m³ log m) time
    for groups of several subgroups, because of their transitive closure.
    """

    def __init__(
        self,
        documents: Iterable,
        groups: Mapping[str, Mapping[str, Mapping[str, float]]],
    ):
        judged = {d for g in groups.values() for s in g.values() for d in s}
        retrieved = [d for d in documents if d in judged]
        self.n_retrieved = len(retrieved)
        order = retrieved + in_order(judged.difference(retrieved))
        number = {document: i for i, document in enumerate(order)}
        self.groups = [
            _preferences(groups[name], number, self.n_retrieved)
            for name in in_order(groups)
        ]

    @cached_property
    def votes(self) -> np.ndarray:
        """Number of groups that prefer document ``i`` to document ``j``."""
        return np.sum([group.matrix for group in self.groups], axis=0)


def _preferences(subgroups, number, n_retrieved):
    n = len(number)
    matrix, level = np.zeros((n, n), dtype=bool), np.full(n, np.nan)
    for name in in_order(subgroups):
        own = np.full(n, np.nan)
        own[[number[d] for d in subgroups[name]]] = list(subgroups[name].values())
        if np.any((own > 0) & (level == 0) | (own == 0) & (level > 0)):
            raise ValueError(
                "a document has level 0 and another level in the same group of "
                "preferences"
            )
        level = np.where(np.isnan(own), level, own)
        matrix |= own[:, None] > own[None, :]
    if len(subgroups) > 1:
        matrix = _transitive(matrix)
    return Preferences(matrix, level, n_retrieved, len(subgroups) == 1)


def _transitive(matrix):
    """Transitive closure, by squaring until nothing is added."""
    while True:
        steps = matrix.astype(np.float32)
        closed = matrix | (steps @ steps > 0)
        if (closed == matrix).all():
            break
        matrix = closed
    if np.diagonal(matrix).any():
        raise ValueError("the preferences of a group contradict each other")
    return matrix


def number(kind: Literal["fulfilled", "possible"], scope: Scope) -> Callable:
    """Return the measure that counts preferences over all groups."""
    return lambda topic, _: sum(getattr(g.counts(scope), kind) for g in topic.groups)


def simple(scope: Scope) -> Callable:
    """Return the share of fulfilled preferences among all of the topic."""

    def value(topic, _):
        counts = [group.counts(scope) for group in topic.groups]
        return _share(*np.sum(counts, axis=0))

    return value


def by_group(scope: Scope) -> Callable:
    """Return the mean over groups of the share of fulfilled preferences."""

    def value(topic, _):
        return float(np.mean([_share(*g.counts(scope)) for g in topic.groups]))

    return value


def by_group_balanced(scope: Scope) -> Callable:
    """Return `by_group` with as many nonrelevant documents as relevant ones."""

    def value(topic, _):
        counts = [group.balanced_counts(scope) for group in topic.groups]
        # A group without preferences makes the sum of trec_eval undefined, and an
        # undefined sum is reported as 0.
        if any(count.possible == 0 for count in counts):
            return 0.0
        return float(np.mean([_share(*count) for count in counts]))

    return value


def by_pair(scope: Scope) -> Callable:
    """Return the mean over pairs of documents of the share of groups that agree."""

    def value(topic, _):
        n, votes = topic.n_retrieved, topic.votes
        if scope == "retrieved":
            votes = votes[:n, :n]
        i, j = np.nonzero(np.triu(votes + votes.T, 1))
        if scope == "implied":
            i, j = i[i < n], j[i < n]
        if not len(i):
            return 0.0
        share = votes[i, j] / (votes[i, j] + votes[j, i])
        return float(share[i < n].sum() / len(i))

    return value


def _share(fulfilled, possible):
    return float(fulfilled / possible) if possible else 0.0
