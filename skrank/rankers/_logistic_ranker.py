"""Logistic regression for ranking."""

from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank.energies import LinearEnergy
from skrank.losses import LogisticLoss
from skrank.rankers._energy_ranker import BaseEnergyRanker


class LogisticRanker(BaseEnergyRanker):
    r"""Logistic regression: documents ranked by their odds of relevance.

    .. math:: \log \frac{P(R \mid x)}{1 - P(R \mid x)} = w^T x + c

    Graded judgements are made binary by a threshold, or at every boundary between two
    grades, in which case the score is the sum of the probabilities
    :math:`\sum_k P(y \ge k \mid x)`.

    Parameters
    ----------
    threshold : float or "all", default=1.0
        Lowest grade that counts as relevant; "all" fits one model for each distinct
        grade above the lowest.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_thresholds,)
        Lowest relevant grade of each model.
    coef_ : ndarray of shape (n_features,) or (n_thresholds, n_features)
        Coefficients; one row for each model when ``threshold="all"``.
    intercept_ : float or ndarray of shape (n_thresholds,)
        Constants.

    References
    ----------
    Liu (2011), section 2.3.1, eq. 2.3-2.4; Gey (1994).

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

    def _parts(self):
        energy = LinearEnergy(fit_intercept=True, n_jobs=self.n_jobs)
        threshold = 1.0 if self.threshold == "all" else self.threshold
        return energy, LogisticLoss(threshold=threshold)

    def _fit(self, data, validation):
        if self.threshold != "all":
            super()._fit(data, validation)
            self.thresholds_ = np.array([float(self.threshold)])
            return
        rng = check_random_state(self.random_state)
        if validation is None and self.early_stopping:
            data, validation = self._hold_out(data, rng)
        self.thresholds_ = np.unique(data.y)[1:]
        if not len(self.thresholds_):
            raise ValueError(
                "threshold='all' needs at least two distinct grades in y, not one class"
            )
        coef, intercept = [], []
        for threshold in self.thresholds_:
            energy, loss = self._clone_parts()
            loss.set_params(threshold=threshold)
            self._store(*self._minimise(energy, loss, data, validation, rng))
            coef.append(self.coef_)
            intercept.append(self.intercept_)
        self.coef_, self.intercept_ = np.array(coef), np.array(intercept)

    def _log_odds(self, X):
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_

    def predict_odds(self, X):
        """Odds of relevance, or of at least each grade.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,) or (n_documents, n_thresholds)
            ``P / (1 - P)``; two-dimensional when ``threshold="all"``.
        """
        check_is_fitted(self)
        odds = np.exp(self._log_odds(self._check_rows(X, reset=False)))
        return odds if self.threshold == "all" else odds[:, 0]

    def _predict(self, X):
        if self.threshold == "all":
            return expit(self._log_odds(X)).sum(axis=1)
        return super()._predict(X)
