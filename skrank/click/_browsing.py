"""Models in which a click takes an examined and an attractive document.

How likely a document is examined depends on its rank and, in some, on the distance to
the last click before it. Both are known, so that all that matters is how often each
pair of query and document was clicked and skipped at each place.
"""

import warnings
from typing import Annotated

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import Interval, PositiveInt
from skrank._core._threads import n_threads_for
from skrank.click._cells import Cells
from skrank.click._counting import BaseCountingModel, BehaviourPriorMixin
from skrank.click._log import Log
from skrank.click._models import browsing_examination, browsing_step, draw_browsing

# A share of the nanoseconds of a step for each cell: a team of threads is woken for
# every step, which does not pay for about a millisecond on a busy machine.
_WORK = 0.5


class BaseBrowsingModel(BaseCountingModel):
    """Base class of models with probabilities of examination by place.

    Subclasses return by ``_examination_table`` a row for each rank and a column for
    each distance to the last click before it.
    """

    def _examination_table(self) -> np.ndarray:
        return np.ones((1, 1))

    def _examined(self, log: Log) -> np.ndarray:
        """Return how likely each impression is examined, given the clicks before."""
        table = self._examination_table()
        row = np.minimum(log.rank, len(table))
        if table.shape[1] == 1:
            return table[row - 1, 0]
        distance = np.minimum(log.rank - log.before, np.minimum(row, table.shape[1]))
        return table[row - 1, distance - 1]

    def _conditional(self, log: Log) -> np.ndarray:
        return self._attraction(log) * self._examined(log)

    def _marginal_examination(self, log: Log) -> np.ndarray:
        table = self._examination_table()
        a = self._attraction(log)
        return browsing_examination(a, table, log.ptr, log.n_threads)

    def _draw(self, log: Log, uniform: np.ndarray) -> np.ndarray:
        table = self._examination_table()
        a = self._attraction(log)
        return draw_browsing(a, table, log.ptr, uniform, log.n_threads)


class PlacesMixin(BaseCountingModel):
    """Mixin of models whose slots are ranks and distances to the last click before.

    Parameters
    ----------
    max_rank : int, default=100
        Ranks below this one share its parameters.
    max_distance : int, default=None
        Greater distances share the parameters of this one; None tells all apart. The
        distance is the rank if there is no click before.
    """

    max_rank: PositiveInt = 100
    max_distance: PositiveInt | None = None

    def _slot_width(self) -> int:
        # Square tables of all ranks would take more memory than the log.
        return min(self.max_rank, self.max_distance or self.max_rank)

    def _slots(self, log: Log) -> np.ndarray:
        rank = np.minimum(log.rank, self.max_rank)
        width = self._slot_width()
        distance = np.minimum(log.rank - log.before, np.minimum(rank, width))
        return (rank - 1) * width + (distance - 1)

    def _table_of(self, values: np.ndarray, n_ranks: int) -> np.ndarray:
        """Return values by place as a table, 0 where the distance exceeds the rank."""
        return np.tril(values.reshape(n_ranks, -1))

    def _in_table(self, cells: Cells) -> tuple[np.ndarray, int, int]:
        """Return the place of each cell in a table, and its shape.

        Slots are numbered so that they do not depend on the log; no distance exceeds
        the largest rank that occurs, so that their table may be narrower.
        """
        row, column = np.divmod(cells.slot, self.slot_width_)
        n_ranks = int(row.max()) + 1
        width = min(self.slot_width_, n_ranks)
        return row * width + column, n_ranks, width


class BaseBrowsingEM(BaseBrowsingModel, BehaviourPriorMixin):
    r"""Base class of browsing models that are fitted by expectation maximisation.

    The parameters maximise the likelihood times the densities of the prior,

    .. math::

       \sum_{p,k} c_{p,k} \log(\alpha_p \gamma_k)
       + s_{p,k} \log(1 - \alpha_p \gamma_k)
       + \sum_p a \log \alpha_p + b \log(1 - \alpha_p)
       + g \sum_k \log \gamma_k (1 - \gamma_k)

    for :math:`c_{p,k}` clicks and :math:`s_{p,k}` skips of the pair :math:`p` in the
    slot :math:`k`, with :math:`a, b` and :math:`g` for ``prior_clicks``,
    ``prior_skips`` and ``behaviour_prior``. A step of EM never lowers it.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        The steps end when the objective per session gains less than this.

    Attributes
    ----------
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,)
        Negative logarithm of the objective above per session, after each step.
    """

    max_iter: PositiveInt = 100
    tol: Annotated[float, Interval(0, None)] = 1e-6

    def _maximise(self, cells: Cells, n_slots: int) -> np.ndarray:
        """Fit the relevance of pairs; return the examination of slots."""
        n_sessions = self.n_sessions_
        problem = _Problem(self, cells, n_slots)
        attraction = np.full(len(cells.table), 0.5)
        examination = np.full(n_slots, 0.5)
        curve: list[float] = []
        value = -np.inf
        while True:
            *new, reached = problem.step(attraction, examination)
            if value > -np.inf:
                curve.append(-reached / n_sessions)
            gain, value = (reached - value) / n_sessions, reached
            if gain <= self.tol or len(curve) == self.max_iter:
                break
            attraction, examination = new
        self.relevance_ = attraction
        self.n_iter_, self.loss_curve_ = len(curve), np.array(curve)
        warn_if_unfinished(self, gain)
        return examination


class _Problem:
    """What the steps of EM need of the counts."""

    def __init__(self, model: BaseBrowsingEM, cells: Cells, n_slots: int):
        self.ptr, self.slot = cells.ptr, cells.slot
        self.clicks = cells.clicks.astype(np.float64)
        self.skips = cells.skips.astype(np.float64)
        self.clicked = cells.by_slot(cells.clicks, n_slots).astype(np.float64)
        self.shown = cells.by_slot(cells.shown, n_slots).astype(np.float64)
        self.prior: tuple[float, float, float] = (
            model.prior_clicks,
            model.prior_skips,
            model.behaviour_prior,
        )
        self.n_threads = n_threads_for(_WORK * len(cells.slot), model.n_jobs)

    def step(self, attraction, examination) -> tuple[np.ndarray, np.ndarray, float]:
        """Return parameters after a step, and the objective before it."""
        *new, value = browsing_step(
            self.ptr,
            self.slot,
            self.clicks,
            self.skips,
            self.clicked,
            self.shown,
            attraction,
            examination,
            self.prior,
            self.n_threads,
        )
        a, b, g = self.prior
        value += log_prior(attraction, a, b) + log_prior(examination, g, g)
        return new[0], new[1], value


def log_prior(probability: np.ndarray, yes: float, no: float) -> float:
    """Return the logarithm of the density of a prior, up to a constant."""
    # Numbers so near to 0 and 1 are rounded to them, where the density is 0.
    limits = np.finfo(float)
    near = np.clip(probability, limits.tiny, 1.0 - limits.epsneg)
    value = 0.0
    if yes > 0:
        value += yes * float(np.log(near).sum())
    if no > 0:
        value += no * float(np.log1p(-near).sum())
    return value


def warn_if_unfinished(model, gain: float) -> None:
    """Warn that the last step of EM gained more than the tolerance."""
    if gain > model.tol:
        warnings.warn(
            f"{type(model).__name__} did not converge in max_iter={model.max_iter} "
            f"steps: the last one gained {gain:.2g} per session, more than "
            f"tol={model.tol:g}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
