"""Support vector machines for ranking."""

from dataclasses import field
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.svm import LinearSVC

from skrank._core._finite import NotFiniteError
from skrank._core._in_steps import answering_signals
from skrank._core._informative import warn_of_data
from skrank._core._parameters import Positive, PositiveInt, Seed, invalid_parameter
from skrank._core._threads import others_after_fork
from skrank._rows import GroupedRows
from skrank.base import BaseRanker

# Fourth powers of features, and their sums, must be finite.
_LARGEST = 1e70
# Strongest penalty of an error, one over the weakest, and the strongest beside features
# that are larger than the last number: far from where the solver never ends.
_STRONGEST, _STRONGEST_BESIDE_LARGE, _LARGE = 1e30, 1e4, 1e40
# Vectors of coefficients that the solver has at a time, with those of scikit-learn.
_COPIES = 4


class SVMClassifierRanker(BaseRanker):
    r"""Support vector machine: documents are ranked by how surely they are relevant.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{n} \sum_{j=1}^{n}
              \max(0, 1 - z_j f(x_j))^p, \qquad f(x) = w^T x + c

    with :math:`p = 2` (squared hinge) or :math:`p = 1`, and :math:`z_j = 1` for
    documents whose grade reaches the threshold and −1 for others; :math:`\alpha` is
    :math:`1 / (\lambda n)` for the :math:`\lambda` of the book. The score is the
    decision function of scikit-learn's machine. Scale the features.

    Complexity: O(n d) per pass over n documents with d features, a few dozen of them
    for the squared hinge and up to thousands for the other.

    Parameters
    ----------
    estimator : estimator, default=None
        Any classifier of scikit-learn with a decision function, such as
        ``SVC(kernel="rbf")``; it must take ``sample_weight`` if there are weights. None
        means `sklearn.svm.LinearSVC` with the parameters below, whose constant c is
        part of the penalty, as if it were the coefficient of a feature that is 1.
    alpha : float, default=1e-4
        Strength of the L2 penalty of the default machine, relative to the mean loss.
        The largest weight of a document, divided by alpha and the sum of weights, must
        lie from 1e-30 to 1e30, or to 1e4 if there are features above 1e40 in size.
    hinge : {"squared", "linear"}, default="squared"
        Power of the hinge of the default machine. "linear" is that of the book;
        "squared", the default of scikit-learn, is smooth and faster.
    threshold : float, default=1.0
        Lowest grade that counts as relevant.
    max_iter : int, default=10000
        Largest number of passes of the default machine.
    tol : float, default=1e-4
        Tolerance of the default machine.
    random_state : int, RandomState or None, default=None
        Source of the order in which the default machine goes over the documents.

    Attributes
    ----------
    estimator_ : estimator or None
        Fitted classifier; None if all documents were relevant, or none, after which all
        scores are equal.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the classifier, where it has any.
    intercept_ : float
        Constant of the classifier, where it has coefficients.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries.
    n_queries_without_preference_ : int
        Number of training queries whose documents all have the same grade.

    References
    ----------
    [Liu2011]_, section 2.3.1, eq. 2.2; [Nallapati2004]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SVMClassifierRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = SVMClassifierRanker(alpha=0.01, random_state=0).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pointwise"

    estimator: BaseEstimator | None = field(default=None, kw_only=False)
    alpha: Positive = 1e-4
    hinge: Literal["squared", "linear"] = "squared"
    threshold: float = 1.0
    max_iter: PositiveInt = 10_000
    tol: Positive = 1e-4
    random_state: Seed = None

    @classmethod
    def _variants(cls):
        return [{}, {"hinge": "linear", "alpha": 1e-2, "threshold": 2.0}]

    def _machine(self, total_weight) -> Any:
        """Return the classifier to fit, whose strength is that of a sum."""
        if self.estimator is not None:
            return clone(self.estimator)
        squared = self.hinge == "squared"
        strength = 1.0 / (self.alpha * total_weight)
        dual: Any = "auto" if squared else True  # its types have text alone
        return LinearSVC(
            loss="squared_hinge" if squared else "hinge",
            C=strength,
            dual=dual,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        relevant = np.asarray(data.y) >= self.threshold
        weight = data.sample_weight
        counted = relevant if weight is None else relevant[weight > 0]
        model = self._machine(len(relevant) if weight is None else weight.sum())
        if not hasattr(model, "fit") or not hasattr(model, "decision_function"):
            accepted = "a classifier with fit and decision_function"
            raise invalid_parameter(self, "estimator", accepted, self.estimator)
        self.estimator_ = None
        for name in ("coef_", "intercept_"):
            vars(self).pop(name, None)
        if counted.all() or not counted.any():
            self._warn_of_one_class(data, "all" if counted.all() else "none")
            self.coef_, self.intercept_ = np.zeros(data.X.shape[1]), 0.0
            return
        if self.estimator is None:
            _require_width(data.X)
            self._require_strength(weight, len(relevant), _require_moderate(data.X))
        given = {} if weight is None else {"sample_weight": weight}
        with others_after_fork():
            rows = _with_short_indices(data.X), relevant.astype(np.intp)
            if self.estimator is None:
                self.estimator_ = answering_signals(model.fit, *rows, **given)
            else:
                self.estimator_ = model.fit(*rows, **given)
        if hasattr(self.estimator_, "coef_"):
            self.coef_ = np.ravel(self.estimator_.coef_).astype(np.float64)
            self.intercept_ = float(np.ravel(self.estimator_.intercept_)[0])

    def _require_strength(self, weight, n, largest) -> None:
        """Raise an error for an alpha with which `LinearSVC` never ends."""
        share = 1.0 / n if weight is None else weight.max() / weight.sum()
        strongest = _STRONGEST if largest <= _LARGE else _STRONGEST_BESIDE_LARGE
        low, high = share / strongest, share * _STRONGEST
        if not low <= self.alpha <= high:
            accepted = f"a number from {low:.2g} to {high:.2g} for these data"
            raise invalid_parameter(self, "alpha", accepted, self.alpha)

    def _warn_of_one_class(self, data, how_many) -> None:
        y = np.asarray(data.y)
        if y.min() < y.max() and data.has_preference().any():
            warn_of_data(
                f"{type(self).__name__}: {how_many} of the documents reach "
                f"threshold={self.threshold:g}, so that there is nothing to tell "
                f"apart; choose one above {y.min():g} and up to {y.max():g}"
            )

    def _predict(self, X) -> np.ndarray:
        if self.estimator_ is None:
            return np.zeros(X.shape[0])
        with others_after_fork():
            return np.asarray(self.estimator_.decision_function(X), dtype=np.float64)


def _with_short_indices(X) -> Any:
    """Return a sparse matrix with indices of 32 bits, the only ones liblinear takes."""
    if not sparse.issparse(X) or X.nnz > np.iinfo(np.int32).max:
        return X
    short = (X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32))
    return type(X)((X.data, *short), shape=X.shape)


def _require_width(X) -> None:
    """Refuse more features than liblinear, which adds a constant, has room for.

    It counts them in 32 bits, and writes to memory that it was not given.
    """
    most = np.iinfo(np.int32).max - 2
    if X.shape[1] > most:
        raise ValueError(
            f"X must have at most {most} features, because the solver counts them in "
            f"32 bits; found {X.shape[1]}"
        )
    try:
        np.empty(_COPIES * (X.shape[1] + 1))  # given back at once
    except MemoryError:
        raise MemoryError(
            f"X has {X.shape[1]} features, and there is no room for coefficients of "
            "so many; select features, or hash them into fewer"
        ) from None


def _require_moderate(X) -> float:
    """Return the largest feature; refuse one with which `LinearSVC` never ends."""
    values = X.data if sparse.issparse(X) else X
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > _LARGEST:
        raise NotFiniteError(
            f"X must hold numbers of at most {_LARGEST:g} in size, because products of "
            f"larger ones overflow in the solver; found {largest:.2g}, so scale them"
        )
    return float(largest)
