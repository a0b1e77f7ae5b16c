"""Rankers of other libraries behind skrank's interface.

LightGBM takes sizes of adjacent queries, XGBoost sorted numbers of queries and one
weight for each query, CatBoost adjacent query ids. None of these survives
cross-validation on its own. `PeerRanker` takes one id per row, in any order, and passes
the arguments that the library takes.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._inner import as_scores, parameters_of
from skrank._core._messages import shown
from skrank._core._validation import n_rows
from skrank._meta import BaseMetaRanker
from skrank._rows import GroupedRows
from skrank.metrics import query_weights


def _numbers(rows) -> np.ndarray:
    """Return the number of the query of each row, in ascending order."""
    return np.repeat(np.arange(rows.n_queries), rows.sizes)


def _by_sizes(train, validation, parameters) -> dict[str, Any]:
    """Return arguments for LightGBM: sizes of the queries."""
    arguments = {"group": train.sizes, "sample_weight": train.sample_weight}
    if validation is not None:
        arguments["eval_group"] = [validation.sizes]
        if "eval_X" in parameters:  # since 4.7, instead of eval_set
            arguments["eval_X"] = (validation.X,)
            arguments["eval_y"] = (validation.y,)
        else:
            arguments["eval_set"] = [(validation.X, validation.y)]
    return arguments


def _by_numbers(train, validation, parameters) -> dict[str, Any]:
    """Return arguments for XGBoost: ascending query numbers, one weight per query."""
    weight = query_weights(train.sample_weight, train.ptr)
    arguments = {"qid": _numbers(train), "sample_weight": weight}
    if validation is not None:
        arguments["eval_set"] = [(validation.X, validation.y)]
        arguments["eval_qid"] = [_numbers(validation)]
    return arguments


def _by_ids(train, validation, parameters) -> dict[str, Any]:
    """Return arguments for CatBoost: a query id per row, validation rows in a pool."""
    arguments = {"group_id": _numbers(train), "sample_weight": train.sample_weight}
    if validation is not None:
        from catboost import Pool

        arguments["eval_set"] = Pool(
            validation.X, validation.y, group_id=_numbers(validation)
        )
    return arguments


# Parameters of fit by which libraries are told apart, in the order in which they are
# looked for: XGBoost has both ``qid`` and ``group``.
_WANTED = {"qid": _by_numbers, "group_id": _by_ids, "group": _by_sizes}


def _convention(estimator) -> Callable[..., dict[str, Any]]:
    """Return the function that makes the arguments of ``estimator.fit``."""
    name = type(estimator).__name__
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit") and hasattr(estimator, "predict")
    ):
        raise TypeError(f"estimator must have fit and predict, got {shown(estimator)}")
    parameters = parameters_of(estimator.fit)
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


class PeerRanker(BaseMetaRanker):
    """A ranker of LightGBM, XGBoost or CatBoost behind skrank's interface.

    `fit` sorts the rows by query and passes the queries in the form that the library
    takes, which is recognised by the parameters of its ``fit``: ``qid`` (XGBoost),
    ``group_id`` (CatBoost) or ``group`` (LightGBM). Row weights become query weights
    for XGBoost. X is handed on as it is, so that data frames keep categorical columns.
    Groups are requested from scikit-learn's metadata routing, so that cross-validation
    and searches work as with skrank's rankers.

    Parameters
    ----------
    estimator : estimator
        ``LGBMRanker``, ``XGBRanker``, ``CatBoostRanker`` or another estimator with the
        same kind of ``fit``; it is cloned, never changed.

    Attributes
    ----------
    estimator_ : estimator
        Fitted ranker of the library.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries.
    query_sizes_ : ndarray of shape (n_queries,)
        Number of training rows of each query.

    Examples
    --------
    >>> from lightgbm import LGBMRanker  # doctest: +SKIP
    >>> from skrank.compat import PeerRanker
    >>> PeerRanker(LGBMRanker()).fit(X, y, groups=groups)  # doctest: +SKIP
    PeerRanker(estimator=LGBMRanker())
    """

    estimator: Any = field(kw_only=False)

    @property
    def approach(self) -> None:
        """None, because the approach depends on the objective of the library."""
        return None

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        convention = _convention(self.estimator)
        parameters = parameters_of(self.estimator.fit)
        arguments = {
            name: value
            for name, value in convention(data, validation, parameters).items()
            if value is not None
        }
        for name in arguments:
            if name not in parameters:
                raise TypeError(f"{type(self.estimator).__name__}.fit takes no {name}")
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(data.X, data.y, **arguments)

    def _predict(self, X, groups=None) -> np.ndarray:
        return as_scores(self.estimator_.predict(X), self.estimator_, n_rows(X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature, as the library computes it."""
        check_is_fitted(self)
        compute = getattr(self.estimator_, "get_feature_importance", None)
        if compute is not None:  # CatBoost's property is empty for ranking losses
            return compute(type="PredictionValuesChange")
        return self.estimator_.feature_importances_
