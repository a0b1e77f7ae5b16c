"""Subset ranking with regression."""

import warnings
from dataclasses import field

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

from skrank._core._in_steps import answering_signals
from skrank._core._informative import warn_of_data
from skrank._core._inner import as_scores
from skrank._core._parameters import NonNegative, invalid_parameter
from skrank._core._threads import others_after_fork
from skrank._rows import GroupedRows
from skrank.base import BaseRanker
from skrank.metrics._gain import Gain, gain_of_grades

# Of conjugate gradients, relative; that of scikit-learn leaves four digits.
_TOLERANCE = 1e-12
_LARGEST_WEIGHT = 1e100  # as of the weights of rows


class SubsetRegression(BaseRanker):
    r"""Regression on relevance, with weights that focus on relevant documents.

    .. math:: \min_f \sum_{q} \sum_{j} w_j \bigl(g(y_j) - f(x_j)\bigr)^2, \qquad
              w_j = 1 + c \, \frac{g(y_j)}{\max_t g(y_t)}

    The square loss bounds the loss in DCG when g is the gain of the measure; the
    weights make errors count more on the documents that should be on top.

    Complexity: O(n d²) for n documents with d features and the default estimator, in
    one pass. CSR rows are solved by conjugate gradients instead, in up to 10 d passes
    over the stored numbers. The two agree to about nine digits where the scales of
    features differ by up to four powers of ten. Where they differ more, these passes
    may end far from the solution: scale such columns first, for instance by
    `MaxAbsScaler` of scikit-learn.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn regressor; it must take ``sample_weight`` if there are weights.
        None means ridge regression with ``alpha``.
    alpha : float, default=1.0
        Strength of the L2 penalty of the default regressor.
    gain : {"linear", "exp2"} or callable, default="linear"
        Function that turns a grade into the target :math:`g(y)`.
    importance : float, default=0.0
        Constant c: the extra weight of a document with the highest gain.

    Attributes
    ----------
    estimator_ : estimator
        Fitted regressor.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the regressor, where it has any.
    intercept_ : float
        Constant of the regressor, where it has coefficients.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries.
    n_queries_without_preference_ : int
        Number of training queries whose documents all have the same grade.

    References
    ----------
    [Liu2011]_, section 2.2.1, eq. 2.1; [Cossock2006]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SubsetRegression
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> SubsetRegression(gain="exp2").fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "pointwise"

    estimator: BaseEstimator | None = field(default=None, kw_only=False)
    alpha: NonNegative = 1.0
    gain: Gain = "linear"
    importance: NonNegative = 0.0

    @classmethod
    def _variants(cls):
        return [{}, {"gain": "exp2", "importance": 1.0}, {"estimator": Ridge(0.1)}]

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        model = self._ridge(data.X) if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise invalid_parameter(
                self, "estimator", "a regressor with fit and predict", self.estimator
            )
        target = gain_of_grades(self.gain, np.asarray(data.y))
        weight = self._weights(target, data.sample_weight)
        # Some regressors have no sample_weight, not even one that may be None.
        given = {} if weight is None else {"sample_weight": weight}
        with others_after_fork():
            self.estimator_ = self._fitted(model, self._exact(data.X), target, given)
        if hasattr(self.estimator_, "coef_"):
            self.coef_ = np.ravel(self.estimator_.coef_).astype(np.float64)
            self.intercept_ = float(np.ravel(self.estimator_.intercept_)[0])

    def _fitted(self, model, X, target, given):
        """Return the fitted regressor; name what makes the default one lose digits."""
        if self.estimator is not None:
            model.fit(X, target, **given)  # which need not return the model
            return model
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            try:
                return answering_signals(model.fit, X, target, **given)
            except LinAlgWarning:
                warnings.simplefilter("ignore", LinAlgWarning)
                answering_signals(model.fit, X, target, **given)
        warn_of_data(
            "SubsetRegression: coefficients lose digits, because the squares of some "
            "features in X are many orders of magnitude larger than those of others; "
            "scale the features, or look for outliers"
        )
        return model

    def _exact(self, X):
        """Return rows in double precision for the default regressor.

        Of single precision, it would make coefficients and scores of seven digits.
        """
        return X if self.estimator is not None else X.astype(np.float64, copy=False)

    def _ridge(self, X) -> Ridge:
        """Return the default regressor, whose tolerance only matters to CSR rows."""
        if sparse.issparse(X):
            return Ridge(self.alpha, tol=_TOLERANCE)
        return Ridge(self.alpha)

    def _weights(self, target, sample_weight):
        if not self.importance:
            return sample_weight
        highest = target.max()
        weight = 1.0 + self.importance * (target / highest if highest > 0 else target)
        weight = weight if sample_weight is None else weight * sample_weight
        if not weight.max() <= _LARGEST_WEIGHT:
            accepted = (
                f"a number with which no weight exceeds {_LARGEST_WEIGHT:g}, because "
                "sums of them would overflow"
            )
            raise invalid_parameter(self, "importance", accepted, self.importance)
        return weight

    def _predict(self, X) -> np.ndarray:
        with others_after_fork():
            response = self.estimator_.predict(self._exact(X))
        return as_scores(response, self.estimator_, X.shape[0])
