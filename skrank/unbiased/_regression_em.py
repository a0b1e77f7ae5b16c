"""Propensities and relevance at once, by expectation and maximisation."""

import warnings
from dataclasses import field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skrank._core._inner import check_scores_documents
from skrank._core._parameters import NonNegative, PositiveInt, Seed
from skrank._core._queries import rows_of_queries
from skrank._meta import BaseMetaRanker
from skrank._rows import GroupedRows
from skrank.losses import SquaredLoss
from skrank.rankers import BoostedRanker
from skrank.unbiased._positions import POSITIONS, Places, positions_of

# Propensities and relevances stay this far from 0, and relevances from 1, where the
# likelihood of some clicks would vanish.
_LEAST = 1e-6


class RegressionEM(BaseMetaRanker):
    r"""Examination of places and relevance of documents, found at once from clicks.

    A document is clicked if it is looked at and relevant, which happen independently:
    the probability of a click on a document of features x in place k is
    :math:`\theta_k \gamma(x)`. The expectation step asks how likely either is, given
    the click c,

    .. math::
        P(E = 1) &= c + (1 - c)\, \frac{\theta_k (1 - \gamma)}{1 - \theta_k \gamma} \\
        P(R = 1) &= c + (1 - c)\, \frac{\gamma (1 - \theta_k)}{1 - \theta_k \gamma}

    and the maximisation step takes the mean of the first over each place for
    :math:`\theta_k`, and the regression of the second on the features for
    :math:`\gamma`. Features tell which documents are relevant without regard to where
    they were shown, so that no document need ever change its place. Where the clicks of
    users follow another model, or a place is told by the features, the estimate is
    biased. Clicks may be shares of clicks, with numbers of impressions as
    ``sample_weight``, which makes fewer rows of the same data.

    The scores of documents are :math:`\gamma(x)`. Complexity: that of the regression,
    on twice the rows for classifiers, in every iteration.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier that takes ``sample_weight``, or a regressor or ranker that
        predicts the probability of relevance, from 0 to 1; numbers beyond are cut. None
        means `BoostedRanker` of 50 trees with `SquaredLoss`.
    max_iter : int, default=30
        Largest number of iterations.
    tol : float, default=5e-3
        Stop when no propensity relative to the first changes by more.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the estimator, which has the same seeds in every
        iteration. None leaves those that it has, and draws anew for the default one.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,)
        :math:`\theta_k / \theta_1`; on a straight line of the logarithm for places that
        no row has.
    examination_ : ndarray of shape (n_positions,)
        :math:`\theta_k`, which clicks tell up to a common factor only.
    estimator_ : estimator
        Fitted model of relevance.
    n_iter_ : int
        Number of iterations, which are all kept: ``best_iteration_`` is the same.
    loss_curve_ : ndarray of shape (`n_iter_`,)
        Mean negative log-likelihood of the clicks after each iteration. It rises only
        where the regression fits worse than before.
    validation_curve_ : ndarray of shape (0,)
        Nothing is measured on validation queries, which the estimator may use.

    References
    ----------
    [Wang2018b]_, section 4, algorithm 1, there with relevance drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.unbiased import RegressionEM
    >>> X, y, groups = make_ranking(
    ...     n_queries=400, docs_per_query=5, noise=0, query_effect=0, random_state=0
    ... )
    >>> user = SimulatedUser(examination="position", max_grade=4)
    >>> clicks = user.click(y, np.arange(401) * 5, random_state=0)
    >>> model = RegressionEM(random_state=0)
    >>> model = model.fit(X, clicks, groups, positions=[1, 2, 3, 4, 5] * 400)
    >>> model.propensities_[0].item(), bool(model.propensities_[4] < 0.5)
    (1.0, True)
    """

    approach = "pointwise"

    estimator: Any = field(default=None, kw_only=False)
    max_iter: PositiveInt = 30
    tol: NonNegative = 5e-3
    random_state: Seed = None

    _side_data = (POSITIONS,)

    @classmethod
    def _variants(cls):
        return [{}]

    def _default_estimator(self) -> Any:
        return BoostedRanker(
            SquaredLoss(),
            n_estimators=50,
            learning_rate=0.1,
            min_samples_leaf=5,
            random_strength=0.0,
        )

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        positions = positions_of(data, self)
        check_scores_documents(self._chosen_estimator(), "estimator")
        clicks = np.asarray(data.y)
        _check_shares(clicks)
        weight = data.sample_weight
        weight = np.ones(len(clicks)) if weight is None else weight
        places = Places.of(positions, weight)
        rows = replace(data, side={}, sample_weight=None)
        seed = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
        run = _Run(self, rows, places, clicks, weight, validation, seed)
        run.start()
        change = np.inf
        while change > self.tol and len(run.curve) < self.max_iter:
            change = run.step()
        if change > self.tol:
            _warn_not_converged(self, change)
        self.n_iter_ = self.best_iteration_ = len(run.curve)
        self.loss_curve_, self.validation_curve_ = np.array(run.curve), np.zeros(0)
        self.estimator_, self.examination_ = run.model, places.curve(run.theta)
        self.propensities_ = self.examination_ / self.examination_[0]

    def _predict(self, X, groups=None) -> np.ndarray:
        return np.clip(self._inner_scores(self.estimator_, X, groups), 0.0, 1.0)


class _Run:
    """One fit: the examination of places and the relevance of rows."""

    def __init__(self, owner, rows, places, clicks, weight, validation, seed):
        self.owner, self.rows, self.validation = owner, rows, validation
        self.places, self.clicks, self.weight = places, clicks, weight
        self.seed = seed
        self.total = np.bincount(places.number, weight, len(places))
        self.curve: list[float] = []

    def start(self):
        """Begin at click rates, as if all places had equally good documents."""
        rates = self._means(self.clicks)
        # A propensity of 1 would stay: it explains all that was not clicked.
        self._keep(0.5 * rates / max(rates.max(), _LEAST))
        self._regress(self.clicks)

    def step(self) -> float:
        """Make one iteration; return the largest change of a relative propensity."""
        theta, gamma, c = self.theta[self.places.number], self.gamma, self.clicks
        missed = (1.0 - c) / (1.0 - theta * gamma)
        examined = c + missed * theta * (1.0 - gamma)
        relevant = c + missed * gamma * (1.0 - theta)
        before = self.theta / self.theta[0]
        self._keep(self._means(examined))
        self._regress(relevant)
        self.curve.append(self._loss())
        return float(np.max(np.abs(self.theta / self.theta[0] - before)))

    def _means(self, numbers):
        weighted = self.weight * numbers
        sums = np.bincount(self.places.number, weighted, len(self.places))
        return sums / np.where(self.total > 0, self.total, 1.0)

    def _keep(self, theta):
        self.theta = self.places.filled(np.clip(theta, _LEAST, 1.0 - _LEAST))

    def _regress(self, relevant):
        """Fit relevance to the features."""
        estimator = self.owner._chosen_estimator()
        rows = replace(self.rows, y=relevant, sample_weight=self.weight)
        if is_classifier(estimator):
            rows = _as_classes(rows, relevant, self.weight)
        elif (self.weight == 1.0).all():
            rows = replace(rows, sample_weight=None)
        # The same seed, so that iterations differ only by what they learn from.
        rng = None if self.seed is None else np.random.RandomState(self.seed)
        self.model = self.owner._fit_inner(estimator, rows, self.validation, rng=rng)
        scores = self.owner._inner_scores(self.model, self.rows.X, self.rows.groups)
        self.gamma = np.clip(scores, _LEAST, 1.0 - _LEAST)

    def _loss(self) -> float:
        chance = self.theta[self.places.number] * self.gamma
        logs = self.clicks * np.log(chance) + (1 - self.clicks) * np.log1p(-chance)
        return -float(np.average(logs, weights=self.weight))


def _as_classes(rows, relevant, weight) -> GroupedRows:
    """Return every query twice: all relevant and none, by how likely either is."""
    queries = np.repeat(np.arange(rows.n_queries), 2)
    source, ptr = rows_of_queries(rows.ptr, queries)
    first = np.repeat(np.arange(len(queries)) % 2 == 0, np.diff(ptr))
    share = np.where(first, relevant[source], 1.0 - relevant[source])
    # Rows that cannot be of a class would only take time.
    doubled = replace(
        rows.subset(queries),
        y=first.astype(np.float64),
        sample_weight=weight[source] * share,
    )
    return doubled.where(share > 0)


def _check_shares(clicks):
    if clicks.max() > 1.0:
        raise ValueError(
            "y must hold clicks, 0 or 1, or shares of clicks from 0 to 1, got "
            f"{clicks.max():g}. Divide numbers of clicks by those of impressions, "
            "which sample_weight takes"
        )
    if not clicks.any():
        raise ValueError("y holds no clicks, from which propensities are found")


def _warn_not_converged(owner, change):
    warnings.warn(
        f"{type(owner).__name__} did not converge in max_iter={owner.max_iter} "
        f"iterations: a propensity still changed by {change:.2g}; increase max_iter "
        "or tol",
        ConvergenceWarning,
        stacklevel=2,
    )
