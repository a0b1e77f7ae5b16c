"""Logistic regression for ranking."""

from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import quiet, require_finite_scores
from skrank._core._grades import distinct_grades
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.losses import BaseLoss, LogisticLoss
from skrank.rankers._energy_ranker import BaseEnergyRanker


class LogisticRanker(BaseEnergyRanker):
    r"""Logistic regression: documents are ranked by their odds of relevance.

    .. math:: \log \frac{P(R \mid x)}{1 - P(R \mid x)} = w^T x + c

    Graded judgements are made binary by a threshold, or at every boundary between two
    grades, in which case the score is the sum of the probabilities
    :math:`\sum_k P(y \ge k \mid x)`.

    Complexity: O(n d) per iteration for n documents with d features, for each boundary.

    Parameters
    ----------
    threshold : float or "all", default=1.0
        Lowest grade that counts as relevant; "all" fits one model for each distinct
        grade above the lowest, all of them in one minimisation.

    Attributes
    ----------
    params_ : ndarray of shape (n_thresholds * (n_features + 1),)
        Coefficients and constant of one model after another.
    loss_curve_ : ndarray of shape (n_iterations,)
        Sum of the objectives of all models after each iteration.
    thresholds_ : ndarray of shape (n_thresholds,)
        Lowest relevant grade of each model.
    coef_ : ndarray of shape (n_features,) or (n_thresholds, n_features)
        Coefficients; one row for each model when ``threshold="all"``.
    intercept_ : float or ndarray of shape (n_thresholds,)
        Constant of each model.

    References
    ----------
    [Liu2011]_, section 2.3.1, eq. 2.3–2.4; [Gey1994]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import LogisticRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = LogisticRanker().fit(X, y, groups)
    >>> bool((ranker.predict_odds(X) > 0).all())
    True
    """

    approach = "pointwise"

    threshold: float | Literal["all"] = 1.0

    @classmethod
    def _variants(cls):
        return [{}, {"threshold": 2.0}, {"threshold": "all"}]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        energy = LinearEnergy(fit_intercept=True, n_jobs=self.n_jobs)
        threshold = 1.0 if self.threshold == "all" else self.threshold
        return energy, LogisticLoss(threshold=threshold)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        thresholds = [self.threshold]
        if self.threshold == "all":
            grades = distinct_grades(
                data.y, "because threshold='all' makes a model for each of them"
            )
            thresholds = grades[1:]
            if not len(thresholds):
                raise ValueError(
                    "threshold='all' needs at least two distinct grades in y, not one "
                    "class"
                )
        self.thresholds_ = np.array(thresholds, dtype=np.float64)
        super()._fit(data, validation)

    def _objective(self, energy, loss, data, n_threads):
        if self.threshold != "all":
            return super()._objective(energy, loss, data, n_threads)
        return _JointObjective(
            [
                # A comprehension is a scope of its own, in which super() fails.
                super(LogisticRanker, self)._objective(
                    energy, clone(loss).set_params(threshold=value), data, n_threads
                )
                for value in self.thresholds_
            ]
        )

    def _n_params(self, energy, n_features) -> int:
        return len(self.thresholds_) * super()._n_params(energy, n_features)

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        models = [super()._init_params(energy, n_features, rng)]
        return np.concatenate(models * len(self.thresholds_))

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        score = super()._model_scores
        if len(self.thresholds_) == 1:
            return score(energy, loss, params, X, ptr)
        models = np.split(params, len(self.thresholds_))
        return np.sum([expit(score(energy, loss, m, X, ptr)) for m in models], axis=0)

    def _energies(self, X, ptr=None) -> np.ndarray:
        return -self._predict(X, ptr)

    def _store_coef(self, energy):
        models = self.params_.reshape(len(self.thresholds_), -1)
        self.coef_, self.intercept_ = models[:, :-1], models[:, -1]
        if self.threshold != "all":
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def _log_odds(self, X):
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def predict_odds(self, X: ArrayOrCSR) -> np.ndarray:
        r"""Return the odds of relevance, or of at least each grade.

        .. math:: \frac{P(R \mid x)}{1 - P(R \mid x)} = e^{w^T x + c}

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,) or (n_documents, n_thresholds)
            Odds, at most the largest float; two-dimensional when ``threshold="all"``.

        Raises
        ------
        ValueError
            If X does not fit the training rows, or the logarithm of odds is not finite.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        with quiet():
            log_odds = require_finite_scores(self._log_odds(rows), rows)
        odds = np.exp(np.minimum(log_odds, np.log(np.finfo(np.float64).max)))
        return odds[:, 0] if np.ndim(self.coef_) == 1 else odds


class _JointObjective:
    """Sum of the objectives of several models, whose parameters follow each other.

    No parameter is shared, so that the sum is smallest where each objective is.
    """

    def __init__(self, objectives):
        self.objectives = objectives
        self.total_weight = objectives[0].total_weight
        self.n_queries = objectives[0].n_queries
        self.loss_name = objectives[0].loss_name
        self.alpha = objectives[0].alpha

    def value_gradient(self, params):
        models = np.split(params, len(self.objectives))
        parts = [o.value_gradient(m) for o, m in zip(self.objectives, models)]
        values, gradients = zip(*parts)
        return sum(values), np.concatenate(gradients)

    def batch(self, queries, rng=None):
        return _JointObjective([o.batch(queries, rng) for o in self.objectives])

    def coordinates(self):
        """Return the coordinates of one model, used for each: all see the same X."""
        frame = self.objectives[0].coordinates()
        return None if frame is None else _Blocks(frame, len(self.objectives))


class _Blocks:
    """One change of coordinates for the parameters of each of several models."""

    def __init__(self, frame, n_blocks):
        self.frame, self.n_blocks = frame, n_blocks

    def _each(self, function, vector):
        return np.concatenate([function(v) for v in np.split(vector, self.n_blocks)])

    def to_params(self, v):
        return self._each(self.frame.to_params, v)

    def from_params(self, params):
        return self._each(self.frame.from_params, params)

    def pull(self, gradient):
        return self._each(self.frame.pull, gradient)
