"""Team-draft interleaving of two and of more rankings."""

from skrank.online._base import BaseInterleaving, TeamCreditMixin


class TeamDraftInterleaving(TeamCreditMixin, BaseInterleaving):
    r"""Team-draft interleaving: two rankings choose documents as captains do players.

    In every round the ranking that chooses first is drawn; each takes the best of its
    documents that is in the list not yet. The credit of a ranking is the number of
    clicks on the documents that it has contributed:

    .. math:: h_r = \sum_{t} c_t \, [a_t = r]

    for clicks :math:`c_t` and assignments :math:`a_t`. Clicks at random favour neither.

    Complexity: O(n) for n documents.

    Parameters
    ----------
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.

    References
    ----------
    [Radlinski2008]_, algorithm 2.

    Examples
    --------
    >>> from skrank.online import TeamDraftInterleaving
    >>> rankings = [["a", "b", "c"], ["b", "d", "a"]]
    >>> mixed = TeamDraftInterleaving(length=2).interleave(rankings, random_state=0)
    >>> sorted(mixed.documents.tolist()), sorted(mixed.teams.tolist())
    (['a', 'b'], [0, 1])
    """

    _scheme = "team_draft"


class TeamDraftMultileaving(TeamCreditMixin, BaseInterleaving):
    r"""Team-draft multileaving: any number of rankings in one list.

    As `TeamDraftInterleaving`, but in each round all rankings choose, in an order that
    is drawn anew. With more rankings than places, those that come last in the order do
    not contribute.

    .. math:: h_r = \sum_{t} c_t \, [a_t = r]

    Complexity: O(R + n) for n documents in all of R rankings.

    Parameters
    ----------
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.

    References
    ----------
    [Schuth2014]_.

    Examples
    --------
    >>> from skrank.online import TeamDraftMultileaving
    >>> rankings = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    >>> mixed = TeamDraftMultileaving().interleave(rankings, random_state=0)
    >>> sorted(mixed.teams.tolist())
    [0, 1, 2]
    """

    _scheme = "team_draft"
    _most_rankings = None
