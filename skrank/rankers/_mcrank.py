"""McRank."""

from typing import Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR
from skrank.losses import BaseLoss, CategoricalLoss, ThresholdLoss
from skrank.metrics._gain import Gain, gain_of_grades
from skrank.rankers._boosting import BaseBoostedRanker
from skrank.rankers._graded import GradesMixin, ProbabilitiesMixin, probabilities


class McRank(ProbabilitiesMixin, GradesMixin, BaseBoostedRanker):
    r"""McRank: boosted trees classify documents into grades; the expected gain ranks.

    .. math:: f(x) = \sum_{k=1}^{K} g(k)\, P(\hat y = k)

    As multi-class classification there is a sum of trees :math:`F_k` for each of K
    grades, trained by the negative log-likelihood, with
    :math:`P(\hat y = k) = e^{F_k} / \sum_s e^{F_s}`. As ordinal classification there
    is one for each of the K − 1 questions whether the grade is above the k-th, trained
    by the logistic loss, with :math:`P(\hat y > k) = 1 / (1 + e^{-F_k})`; where the
    answers contradict each other, a higher grade is as probable as a lower one at most.

    Complexity: O(n d) per level of a tree for n documents with d features, and a tree
    for every grade or question in each round.

    Parameters
    ----------
    method : {"multiclass", "ordinal"}, default="multiclass"
        What the trees learn.
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Increasing function g that turns a grade into its gain.
    n_estimators : int, default=300
        Number of trees for each grade or question.
    warm_start : bool, default=False
        Whether to add trees to those of the last `fit`, with the same bins and grades.

    Attributes
    ----------
    grades_ : ndarray of shape (n_grades,)
        Grades of the training rows, ascending; they need not be consecutive.

    References
    ----------
    [Liu2011]_, section 2.3.2, eq. 2.6–2.8; [Li2007]_, sections 3 and 4.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import McRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = McRank(n_estimators=20, min_samples_leaf=5).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    >>> ranker.predict_proba(X[:1]).sum().round(6).tolist()
    1.0
    """

    approach = "pointwise"

    method: Literal["multiclass", "ordinal"] = "multiclass"
    gain: Gain = "linear"

    @classmethod
    def _variants(cls):
        return [{}, {"method": "ordinal"}, {"gain": "exp2", "subsample": 0.5}]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        self._learn_grades(data)
        gain_of_grades(self.gain, self.grades_)  # refused before a tree is grown
        super()._fit(data, validation)

    def _loss(self) -> BaseLoss:
        grades = self._grades_of_loss()
        if self.method == "ordinal":
            return ThresholdLoss(penalty="logistic", grades=grades)
        return CategoricalLoss(grades=grades)

    def _probabilities(self, raw) -> np.ndarray:
        """Return the probability of each grade, given the sums of the trees."""
        if isinstance(self.loss_, CategoricalLoss):
            found = softmax(raw, axis=1)
        else:
            found = probabilities(np.minimum.accumulate(expit(raw), axis=1))
        # A single grade that was learned from has all of the probability.
        return found if len(self.grades_) > 1 else np.ones((len(raw), 1))

    def _to_scores(self, raw) -> np.ndarray:
        gains = gain_of_grades(self.gain, self.grades_)
        # Sums whose order does not depend on the number of rows.
        return (self._probabilities(raw) * gains).sum(axis=1)

    def predict_proba(self, X: ArrayOrCSR) -> np.ndarray:
        """Return the probability of each grade.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents, n_grades)
            Probabilities of ``grades_``, rows of which sum to 1.
        """
        check_is_fitted(self)
        return self._by_query(self._graded, X, None, "predict_proba")

    def _graded(self, X, ptr=None) -> np.ndarray:
        return self._probabilities(self._raw(X, ptr))

    def predict_grades(self, X: ArrayOrCSR) -> np.ndarray:
        """Return the most probable grade of each document.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Grades, each one of ``grades_``; of equally probable ones the lowest.
        """
        highest = np.argmax(self.predict_proba(X), axis=1)
        return self.grades_[highest]
