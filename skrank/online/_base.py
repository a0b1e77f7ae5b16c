"""What all interleavings have in common: lists to show, and credits of rankings."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, PositiveInt, Seed
from skrank._core._validation import as_numbers, check_arguments
from skrank.online._interleaving import deal
from skrank.online._rankings import Rankings, rankings_of_ids
from skrank.rankers._rounds import draw_seed

#: Power of the rank by which the weights of documents fall; of the millionth, a weight
#: is then still a normal number.
Softness = Annotated[float, Interval(0, 50)]


class Lists(NamedTuple):
    """Lists that were drawn for some impressions.

    Attributes
    ----------
    shown : ndarray of shape (n_shown,), dtype int32
        Documents of each list, numbered from 0 within their impression.
    ptr : ndarray of shape (n_impressions + 1,), dtype intp
        Bounds of the lists.
    team : ndarray of shape (n_shown,), dtype int32, or None
        Ranking that each document was taken from.
    rankings : Rankings or None
        Rankings that the lists were drawn from.
    directions : ndarray of shape (n_impressions, n_candidates, n_params) or None
        Where the candidates of an online ranker lie from its parameters.
    method : BaseInterleaving or None
        What drew the lists from the rankings, with the parameters that it had then.
    """

    shown: np.ndarray
    ptr: np.ndarray
    team: np.ndarray | None = None
    rankings: Rankings | None = None
    directions: np.ndarray | None = None
    method: "BaseInterleaving | None" = None


@dataclass(frozen=True, eq=False, repr=False)
class InterleavedList:
    """A list that was drawn from several rankings, and where its documents come from.

    Made by the method ``interleave`` of an interleaving.

    Attributes
    ----------
    documents : ndarray of shape (n_shown,)
        Ids of the documents to show, best place first.
    teams : ndarray of shape (n_shown,), dtype intp
        Ranking that each document was taken from, counted from 0.
    n_rankings : int
        Number of rankings.

    Examples
    --------
    >>> from skrank.online import TeamDraftInterleaving
    >>> method = TeamDraftInterleaving()
    >>> mixed = method.interleave([["a", "b", "c"], ["b", "c", "d"]], random_state=0)
    >>> mixed.credit([1, 1, 0, 0])
    array([1., 1.])
    """

    documents: np.ndarray
    teams: np.ndarray
    n_rankings: int
    _lists: Lists = field(repr=False)

    def __len__(self):
        return len(self.documents)

    def __repr__(self):
        return (
            f"{type(self).__name__}(documents={self.documents.tolist()}, "
            f"teams={self.teams.tolist()}, n_rankings={self.n_rankings})"
        )

    def credit(self, clicks: npt.ArrayLike) -> np.ndarray:
        """Return what clicks on the list say of each ranking.

        Parameters
        ----------
        clicks : array-like of shape (n_shown,)
            1 for documents that were clicked, 0 for others, best place first.

        Returns
        -------
        ndarray of shape (n_rankings,)
            Credits; the ranking with the highest one is preferred by this user.

        Raises
        ------
        ValueError
            If there is not one number for each document, or it is neither 0 nor 1.
        """
        clicked = check_clicks(clicks, len(self))
        assert self._lists.method is not None
        return self._lists.method._credits(self._lists, clicked)[0]


def check_clicks(clicks: npt.ArrayLike, n_shown: int) -> np.ndarray:
    """Check clicks on the documents of some lists.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        1 for documents that were clicked, 0 for others.
    n_shown : int
        Number of documents that were shown.

    Returns
    -------
    ndarray of shape (n_shown,), dtype uint8
        The clicks.

    Raises
    ------
    ValueError
        If there is not one number for each document, or it is neither 0 nor 1.
    """
    found = as_numbers(clicks, "clicks")
    if found.shape != (n_shown,):
        raise ValueError(
            f"clicks must hold one number for each of the {n_shown} documents that "
            f"were shown, got shape {found.shape}"
        )
    wrong = np.flatnonzero((found != 0) & (found != 1))
    if len(wrong):
        raise ValueError(
            f"clicks must be 0 or 1, got {shown(found[wrong[0]].item())} in place "
            f"{wrong[0]}"
        )
    return found.astype(np.uint8)


class BaseInterleaving(Parameters, BaseEstimator):
    """Base class of interleavings: one list out of several rankings.

    Parameters
    ----------
    length : int or None, default=10
        Number of documents to show at most; None shows all that there are.
    """

    #: How compiled code draws the lists.
    _scheme: ClassVar[Literal["balanced", "team_draft", "probabilistic"]]
    #: Number of rankings at most.
    _most_rankings: ClassVar[int | None] = 2

    length: PositiveInt | None = 10

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Return the constructor arguments that the common tests run over."""
        return [{}, {"length": None}]

    def interleave(
        self,
        rankings: Sequence[npt.ArrayLike] | np.ndarray,
        random_state: Seed = None,
    ) -> InterleavedList:
        """Draw one list out of rankings of documents for the same query.

        Parameters
        ----------
        rankings : sequence of array-likes of shape (n_documents,)
            Ids of documents, best first, of any hashable kind. Rankings may differ in
            length, and need not hold the same documents.
        random_state : int, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        InterleavedList
            Documents to show, with the method ``credit`` for the clicks on them.

        Raises
        ------
        ValueError
            If there are fewer than two rankings, or more than the method takes, one is
            empty, or a document is missing or occurs twice in one.
        """
        self._check_parameters()
        check_arguments(BaseInterleaving.interleave, random_state=random_state)
        found, ids = rankings_of_ids(rankings)
        self._check_number(found.n_rankings)
        seed = draw_seed(check_random_state(random_state))
        lists = self._deal(found, seed)
        teams = np.asarray(lists.team, dtype=np.intp)
        return InterleavedList(ids[lists.shown], teams, found.n_rankings, lists)

    def _check_number(self, n_rankings: int) -> None:
        """Refuse more rankings than the method takes."""
        if self._most_rankings is not None and n_rankings > self._most_rankings:
            raise ValueError(
                f"{type(self).__name__} takes {self._most_rankings} rankings, got "
                f"{n_rankings}; a multileaving takes more"
            )

    def _softness(self) -> float:
        return 0.0  # only drawn documents have weights

    def _deal(self, rankings: Rankings, seed: int, n_threads: int = 1) -> Lists:
        """Draw the lists of some impressions."""
        ptr = rankings.shown_ptr(self.length)
        drawn, team = deal(
            self._scheme,
            *rankings.arguments(),
            ptr,
            seed,
            tau=self._softness(),
            n_threads=n_threads,
        )
        return Lists(drawn, ptr, team, rankings, method=copy(self))

    def _credits(
        self, lists: Lists, clicked: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        """Return credits of shape (n_impressions, n_rankings)."""
        raise NotImplementedError


class TeamCreditMixin:
    """Mixin of interleavings whose rankings get the clicks on what they contributed."""

    def _credits(
        self, lists: Lists, clicked: np.ndarray, n_threads: int = 1
    ) -> np.ndarray:
        assert lists.rankings is not None
        assert lists.team is not None
        n_impressions, n_rankings = len(lists.ptr) - 1, lists.rankings.n_rankings
        impression = np.repeat(np.arange(n_impressions), np.diff(lists.ptr))
        place = impression * n_rankings + lists.team
        counts = np.bincount(
            place, weights=clicked, minlength=n_impressions * n_rankings
        )
        return counts.reshape(n_impressions, n_rankings)
