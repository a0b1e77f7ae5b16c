"""The dynamic Bayesian network of clicks, by expectation maximisation."""

from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from skrank._core._parameters import Interval, PositiveInt
from skrank.click._browsing import log_prior, warn_if_unfinished
from skrank.click._counting import BehaviourPriorMixin
from skrank.click._log import Log, check_not_empty
from skrank.click._models import chain_posteriors, sums_by_code
from skrank.click._pair_table import PairTable
from skrank.click._satisfaction import BaseSatisfactionModel
from skrank.click._sessions import Sessions, check_sessions


class DynamicBayesianNetwork(BaseSatisfactionModel, BehaviourPriorMixin):
    r"""Users who go down the list, click what attracts them and leave satisfied.

    .. math::

       C_i = 1 &\Leftrightarrow E_i = 1, A_i = 1, \qquad P(A_i = 1) = a_u, \qquad
       P(S_i = 1 \mid C_i = 1) = s_u, \\
       P(E_{i+1} = 1 \mid E_i = 1, S_i = 0) &= \gamma, \qquad
       S_i = 1 \Rightarrow E_{i+1} = 0, \qquad E_i = 0 \Rightarrow E_{i+1} = 0

    for examination, attraction and satisfaction :math:`E, A, S` at rank i. The
    parameters maximise the likelihood times the densities of the prior; the steps of
    expectation maximisation, which never lower it, sum over all places where the user
    may have stopped behind the last click.

    Parameters
    ----------
    gamma : float, default=None
        Probability :math:`\gamma` to go on without satisfaction; None fits it to the
        sessions, too.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        The steps end when the objective per session gains less than this.

    Attributes
    ----------
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,)
        Negative logarithm of the objective per session, after each step.

    Notes
    -----
    Sums over sessions are taken as whole numbers, so that neither the number of threads
    nor the order of the sessions changes a bit. Complexity: O(n) in each step, for n
    impressions.

    References
    ----------
    [Chapelle2009b]_; [Liu2011]_, section 13.2.1.3, eq. 13.11.

    Examples
    --------
    >>> from skrank.click import DynamicBayesianNetwork, Sessions
    >>> clicks = [[1, 0], [0, 1], [1, 1], [0, 0]] * 5
    >>> sessions = Sessions.from_lists(["q"] * 20, [["a", "b"]] * 20, clicks)
    >>> model = DynamicBayesianNetwork(gamma=0.9).fit(sessions)
    >>> bool(model.relevance("q", "a") < model.relevance("q", "b"))
    True
    """

    short_name: ClassVar[str] = "dbn"
    aliases: ClassVar[tuple[str, ...]] = ("dynamic_bayesian_network",)

    gamma: Annotated[float, Interval(0, 1)] | None = None
    max_iter: PositiveInt = 100
    tol: Annotated[float, Interval(0, None)] = 1e-6

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"gamma": 0.9}]

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
        DynamicBayesianNetwork
            The model itself.

        Raises
        ------
        ValueError
            If a parameter is out of range, nothing was shown, or there are clicks below
            the first rank and ``gamma`` is 0.
        """
        self._check_parameters()
        sessions = check_sessions(sessions)
        check_not_empty(sessions, self)
        table, pair = PairTable.of(sessions)
        problem = _Problem(self, Log(sessions, pair, self.n_jobs), len(table))
        found = self._maximise(problem)
        self._store_pairs(table)
        self.attraction_, self.satisfaction_ = found.attraction, found.satisfaction
        self.relevance_ = found.attraction * found.satisfaction
        self.gamma_ = float(found.gamma)
        return self

    def _maximise(self, problem: "_Problem") -> "_Parameters":
        half = np.full(problem.n_pairs, 0.5)
        now = _Parameters(half, half, 0.5 if self.gamma is None else float(self.gamma))
        curve: list[float] = []
        value, n_sessions = -np.inf, len(problem.log.sessions)
        while True:
            new, reached = problem.step(now)
            if reached == -np.inf:
                raise ValueError(
                    f"gamma={self.gamma} makes sessions impossible: without going on, "
                    "nobody clicks below the first document; gamma must be above 0, or "
                    "None"
                )
            if value > -np.inf:
                curve.append(-reached / n_sessions)
            gain, value = (reached - value) / n_sessions, reached
            if gain <= self.tol or len(curve) == self.max_iter:
                break
            now = new
        self.n_iter_, self.loss_curve_ = len(curve), np.array(curve)
        warn_if_unfinished(self, gain)
        return now


class _Parameters(NamedTuple):
    attraction: np.ndarray
    satisfaction: np.ndarray
    gamma: float


class _Problem:
    """What the steps of EM need of the sessions.

    What the clicks leave open is what happened behind the last one. A click that stands
    last in its list tells nothing of satisfaction, and no continuation.
    """

    def __init__(self, model: DynamicBayesianNetwork, log: Log, n_pairs: int):
        self.model, self.log, self.n_pairs = model, log, n_pairs
        clicked = log.click != 0
        self.clicks = np.bincount(log.pair[clicked], minlength=n_pairs)
        # Rows of the last clicks that something stands below of.
        sizes = log.sessions.sizes
        open_end = (log.last > 0) & (log.last < sizes)
        self.last = log.ptr[:-1][open_end] + log.last[open_end] - 1
        self.last_pair = log.pair[self.last]
        closed = (log.last > 0) & (log.last == sizes)
        at_end = log.pair[log.ptr[1:][closed] - 1]
        self.told = self.clicks - np.bincount(at_end, minlength=n_pairs)
        self.is_first = (log.rank == 1).astype(np.intp)
        self.is_end = (log.rank == log.size).astype(np.intp)

    def step(self, now: _Parameters) -> tuple[_Parameters, float]:
        """Return parameters after a step, and the objective before it."""
        model, log = self.model, self.log
        on = now.gamma * (1.0 - now.satisfaction)
        examined, values = chain_posteriors(
            now.attraction[log.pair],
            np.full(len(log.pair), now.gamma),
            on[log.pair],
            log.click,
            log.last,
            log.ptr,
            log.n_threads,
        )
        seen = sums_by_code(examined, log.pair, self.n_pairs)
        satisfied = self._satisfied(now, on, examined)
        of_pair = sums_by_code(satisfied, self.last_pair, self.n_pairs)
        new = _Parameters(
            model._rate(self.clicks, seen),
            model._rate(of_pair, self.told),
            now.gamma if model.gamma is not None else self._gamma(examined, satisfied),
        )
        return new, self._objective(now, values)

    def _satisfied(self, now: _Parameters, on, examined) -> np.ndarray:
        """Return how likely each last click satisfied the user."""
        stopped = 1.0 - examined[self.last + 1]
        leaving = 1.0 - on[self.last_pair]
        share = np.zeros(len(self.last))
        np.divide(
            now.satisfaction[self.last_pair], leaving, out=share, where=leaving > 0
        )
        return np.minimum(stopped * share, 1.0)

    def _gamma(self, examined, satisfied) -> float:
        """Return the share of examinations below which users went on unsatisfied."""
        # Each examination of a document but the first follows a decision to go on.
        went_on = sums_by_code(examined, -self.is_first, 1)
        might = sums_by_code(examined, -self.is_end, 1)
        codes = np.zeros(len(satisfied), dtype=np.intp)
        might = might - sums_by_code(satisfied, codes, 1)
        return float(self.model._share(went_on, might)[0])

    def _objective(self, now: _Parameters, values: np.ndarray) -> float:
        model = self.model
        prior = (model.prior_clicks, model.prior_skips)
        value = float(np.sort(values).sum())  # in any order of the sessions the same
        value += log_prior(now.attraction, *prior) + log_prior(now.satisfaction, *prior)
        if model.gamma is None:
            share = model.behaviour_prior
            value += log_prior(np.array([now.gamma]), share, share)
        return value
