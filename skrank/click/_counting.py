"""Models that follow from counts: parts of a log make the model of the whole."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import Interval
from skrank.click._base import BaseClickModel
from skrank.click._cells import Cells
from skrank.click._log import Log, check_not_empty
from skrank.click._pair_table import PairTable
from skrank.click._sessions import Sessions, check_sessions


@dataclass(frozen=True)
class _AtMost:
    """Numbers up to a bound."""

    high: float

    def __contains__(self, value):
        return float(value) <= self.high

    def __str__(self):
        return f"<= {self.high:.0e}".replace("e+0", "e")


# With more, the impressions of a log would get lost in rounding.
_BEARABLE = _AtMost(1e9)
PseudoCount = Annotated[float, Interval(0, None), _BEARABLE]
PosteriorCount = Annotated[float, Interval(1, None), _BEARABLE]


class BasePriorModel(BaseClickModel):
    """Base class of models with pseudo-counts of clicks and skips for each pair.

    Parameters
    ----------
    prior_clicks : float, default=1.0
        Clicks that each pair of query and document is taken to have had before the log,
        at most 1e9.
    prior_skips : float, default=1.0
        Impressions without a click that each pair is taken to have had, at most 1e9. A
        pair that was never shown has the relevance
        ``prior_clicks / (prior_clicks + prior_skips)``, or 0.5 if both are 0. Pairs in
        places where few users look stay close to it: choose a mean such as documents
        have, as by 0.1 and 1.9, where labels are made (:ref:`click_prior`).
    """

    prior_clicks: PseudoCount = 1.0
    prior_skips: PseudoCount = 1.0

    def _prior_mean(self) -> float:
        total = self.prior_clicks + self.prior_skips
        return self.prior_clicks / total if total > 0 else 0.5

    def _rate(self, clicks: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Return shares of clicks with the pseudo-counts of a pair."""
        total = shown + (self.prior_clicks + self.prior_skips)
        rates = np.full(len(total), self._prior_mean())
        return np.divide(clicks + self.prior_clicks, total, out=rates, where=total > 0)

    def _unknown(self) -> dict[str, float]:
        return {"relevance_": self._prior_mean()}

    def _attraction(self, log: Log) -> np.ndarray:
        return self._of_pairs("relevance_", log.pair)


class BehaviourPriorMixin(BasePriorModel):
    """Mixin of models with parameters of behaviour that all queries share.

    Parameters
    ----------
    behaviour_prior : float, default=1.0
        How often each of both outcomes of a parameter of behaviour, such as
        "examined" and "not examined" at a rank, is taken to have occurred before the
        log, at most 1e9.
    """

    behaviour_prior: PseudoCount = 1.0

    def _share(self, events: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return shares of events with the pseudo-counts of behaviour."""
        total = total + 2 * self.behaviour_prior
        shares = np.full(np.shape(total), 0.5)
        events = events + self.behaviour_prior
        return np.divide(events, total, out=shares, where=total > 0)


class BaseCountingModel(BasePriorModel):
    """Base class of models that follow from counts by pair and slot.

    The counts are whole numbers. A log that is read in parts, by `partial_fit` or by
    several models whose counts are put together by `merge`, makes the same model to
    the bit as the whole log, whatever the order of the parts and of the sessions.

    Attributes
    ----------
    n_sessions_ : int
        Number of sessions.
    slot_width_ : int
        What the numbers of slots depend on; models to merge must have the same.
    cell_pair_, cell_slot_ : ndarrays of shape (n_cells,)
        Pair of query and document, and slot, such as the rank, of each count.
    cell_clicks_, cell_skips_ : ndarrays of shape (n_cells,)
        Impressions with and without a click.
    """

    @abstractmethod
    def _slots(self, log: Log) -> np.ndarray:
        """Return the slot of each impression, −1 for those that say nothing."""

    @abstractmethod
    def _estimate(self, cells: Cells) -> None:
        """Store what follows from the counts."""

    def _slot_width(self) -> int:
        return 1

    def fit(self, sessions: Sessions, y: Any = None) -> Self:
        """Fit the model to sessions.

        Parameters
        ----------
        sessions : Sessions
            Sessions with their clicks, of any lengths.
        y : None
            Ignored; scikit-learn passes it.

        Returns
        -------
        BaseCountingModel
            The model itself.

        Raises
        ------
        ValueError
            If a parameter is out of range, or nothing was shown.
        """
        self._check_parameters()
        sessions = check_sessions(sessions)
        check_not_empty(sessions, self)
        self._take(self._count(sessions), len(sessions))
        return self

    def partial_fit(self, sessions: Sessions, y: Any = None) -> Self:
        """Add sessions to those that the model was fitted to.

        Parameters
        ----------
        sessions : Sessions
            Further sessions; ids of queries and documents need not have occurred.
        y : None
            Ignored.

        Returns
        -------
        BaseCountingModel
            The model itself, as `fit` would have made it from all sessions.

        Raises
        ------
        ValueError
            If a parameter is out of range or was changed since `fit` so that the
            counts do not fit together, or nothing was shown in any session so far.
        """
        if not hasattr(self, "cell_pair_"):
            return self.fit(sessions)
        self._check_parameters()
        sessions = check_sessions(sessions)
        cells = self._count(sessions)
        self._check_width(self._slot_width(), "sessions")
        self._take(self._cells().union(cells), self.n_sessions_ + len(sessions))
        return self

    def merge(self, other: "BaseCountingModel") -> Self:
        """Add the sessions that another model was fitted to.

        Parameters
        ----------
        other : click model
            Fitted model of the same class.

        Returns
        -------
        BaseCountingModel
            The model itself, as `fit` would have made it from the sessions of both.

        Raises
        ------
        TypeError
            If the other model is of another class.
        ValueError
            If it counts in other slots.
        sklearn.exceptions.NotFittedError
            If one of them is not fitted.
        """
        if type(other) is not type(self):
            raise TypeError(
                f"other must be a fitted {type(self).__name__}, got {shown(other)}"
            )
        check_is_fitted(self)
        check_is_fitted(other)
        self._check_parameters()
        self._check_width(other.slot_width_, "other")
        n_sessions = self.n_sessions_ + other.n_sessions_
        self._take(self._cells().union(other._cells()), n_sessions)
        return self

    def _check_width(self, found: int, name: str) -> None:
        if found != self.slot_width_ or self._slot_width() != self.slot_width_:
            raise ValueError(
                f"{type(self).__name__}: {name} cannot be added, because max_rank or "
                "max_distance differ from those of the counts so far"
            )

    def _count(self, sessions: Sessions) -> Cells:
        """Return the counts of sessions alone."""
        table, pair = PairTable.of(sessions)
        log = Log(sessions, pair, self.n_jobs)
        return Cells.of(sessions, table, pair, self._slots(log))

    def _cells(self) -> Cells:
        return Cells(
            self._pairs(),
            self.cell_pair_,
            self.cell_slot_,
            self.cell_clicks_,
            self.cell_skips_,
        )

    def _take(self, cells: Cells, n_sessions: int) -> None:
        """Store counts and what follows from them."""
        self._store_pairs(cells.table)
        self.cell_pair_, self.cell_slot_ = cells.pair, cells.slot
        self.cell_clicks_, self.cell_skips_ = cells.clicks, cells.skips
        self.n_sessions_ = n_sessions
        self.slot_width_ = self._slot_width()
        self._estimate(cells)
