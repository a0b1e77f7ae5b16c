"""Rankers of other libraries behind skrank's interface.

LightGBM wants sizes of adjacent queries, XGBoost sorted numbers of queries and one
weight for each query, CatBoost adjacent query ids: none of which survives
cross-validation on its own. `PeerRanker` takes one id per row, in any order, and hands
the library what it wants.
"""

import inspect

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._queries import QueryIndex, take_rows
from skrank._core._validation import check_grades, check_weights, n_rows, resolve_groups
from skrank.base import BaseRanker
from skrank.metrics import query_weights

__all__ = ["PeerRanker"]


class _Rows:
    """Rows grouped by query in the order of the ids, as a library wants them."""

    def __init__(self, X, y, groups, sample_weight, caller, names):
        n = n_rows(X)
        grades = check_grades(y, n_samples=n, name=names[0])
        groups = resolve_groups(groups, y, X, n_samples=n, caller=caller, name=names[1])
        self.index = QueryIndex.from_groups(groups, canonical=True)
        order = self.index.order
        self.X = X if order is None else take_rows(X, order)
        self.y = self.index.take(grades)
        self.weight = self.index.take(check_weights(sample_weight, n))


def _by_sizes(train, validation, parameters):
    """LightGBM: sizes of the queries."""
    arguments = {"group": train.index.sizes, "sample_weight": train.weight}
    if validation is not None:
        arguments["eval_group"] = [validation.index.sizes]
        if "eval_X" in parameters:  # since 4.7, instead of eval_set
            arguments["eval_X"] = (validation.X,)
            arguments["eval_y"] = (validation.y,)
        else:
            arguments["eval_set"] = [(validation.X, validation.y)]
    return arguments


def _by_numbers(train, validation, parameters):
    """XGBoost: ascending query numbers, and one weight for each query."""
    weight = query_weights(train.weight, train.index.ptr)
    arguments = {"qid": train.index.codes, "sample_weight": weight}
    if validation is not None:
        arguments["eval_set"] = [(validation.X, validation.y)]
        arguments["eval_qid"] = [validation.index.codes]
    return arguments


def _by_ids(train, validation, parameters):
    """CatBoost: a query id for each row; validation rows in a pool of its own."""
    arguments = {"group_id": train.index.codes, "sample_weight": train.weight}
    if validation is not None:
        from catboost import Pool

        arguments["eval_set"] = Pool(
            validation.X, validation.y, group_id=validation.index.codes
        )
    return arguments


# Parameters of fit that tell what a library wants; XGBoost has the first two.
_WANTED = {"qid": _by_numbers, "group_id": _by_ids, "group": _by_sizes}


def _convention(estimator):
    """The function that makes the arguments of ``estimator.fit``."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise TypeError(f"estimator must have fit and predict, got {estimator!r}")
    parameters = inspect.signature(estimator.fit).parameters
    if "groups" in parameters:
        raise TypeError(f"{name}.fit takes groups as it is; it needs no PeerRanker")
    for parameter, convention in _WANTED.items():
        if parameter in parameters:
            return convention
    raise TypeError(
        f"{name}.fit has none of the parameters {', '.join(_WANTED)}, by which "
        "LightGBM's, XGBoost's and CatBoost's rankers take queries; it is not a ranker "
        "that PeerRanker can wrap"
    )


class PeerRanker(MetaEstimatorMixin, BaseRanker):
    """A ranker of LightGBM, XGBoost or CatBoost with skrank's interface.

    ``fit`` sorts the rows by query and passes what the library wants, recognised by the
    parameters of its ``fit``: ``qid`` (XGBoost), ``group_id`` (CatBoost) or ``group``
    (LightGBM). Row weights become query weights for XGBoost. X is handed on as it is,
    so data frames keep categorical columns. Groups are requested from scikit-learn's
    metadata routing, so cross-validation and searches work as with skrank's rankers.

    Parameters
    ----------
    estimator : estimator
        ``LGBMRanker``, ``XGBRanker``, ``CatBoostRanker`` or one with the same kind of
        ``fit``; it is cloned, never changed.

    Attributes
    ----------
    estimator_ : estimator
        The fitted ranker of the library.
    query_ids_ : ndarray of shape (n_queries,)
        Training queries.
    query_sizes_ : ndarray of shape (n_queries,)
        Number of training rows of each query.

    Examples
    --------
    >>> from lightgbm import LGBMRanker  # doctest: +SKIP
    >>> from skrank.compat import PeerRanker
    >>> PeerRanker(LGBMRanker()).fit(X, y, groups=groups)  # doctest: +SKIP
    PeerRanker(estimator=LGBMRanker())
    """

    _accepts_missing = True

    def __init__(self, estimator):
        self.estimator = estimator

    @property
    def approach(self):
        """Unknown: the library's objective decides."""
        return None

    def _checked_fit(self, X, y, groups, sample_weight, validation):
        convention = _convention(self.estimator)
        caller = f"{type(self).__name__}.fit"
        train = _Rows(X, y, groups, sample_weight, caller, ("y", "groups"))
        X_val, y_val, groups_val = validation
        held_out = None
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together")
        if X_val is not None:
            held_out = _Rows(
                X_val, y_val, groups_val, None, caller, ("y_val", "groups_val")
            )
        parameters = inspect.signature(self.estimator.fit).parameters
        arguments = {
            name: value
            for name, value in convention(train, held_out, parameters).items()
            if value is not None
        }
        for name in arguments:
            if name not in parameters:
                raise TypeError(f"{type(self.estimator).__name__}.fit takes no {name}")
        self.estimator_ = clone(self.estimator).fit(train.X, train.y, **arguments)
        self.query_ids_ = train.index.ids
        self.query_sizes_ = train.index.sizes
        if hasattr(X, "shape"):
            self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """Score documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            One row per document, as the library takes it.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @property
    def feature_importances_(self):
        """Importance of each feature, as the library computes it."""
        check_is_fitted(self)
        compute = getattr(self.estimator_, "get_feature_importance", None)
        if compute is not None:  # CatBoost's property is empty for ranking losses
            return compute(type="PredictionValuesChange")
        return self.estimator_.feature_importances_
