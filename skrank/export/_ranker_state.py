"""What every ranker has learned: kinds, types and shapes of its fitted attributes.

What the score is computed from is mostly tried out; here stands what no prediction
reads, and what leads elsewhere astray: in exports, in further training, in displays.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skrank._core._messages import problem_in
from skrank.base import BaseRanker
from skrank.energies import KernelEnergy
from skrank.export._attributes import array_of, attribute, error_of
from skrank.export._energy_state import Array, state_of
from skrank.export._unbiased_state import UNBIASED_STATES
from skrank.online._base_ranker import BaseClickRanker
from skrank.rankers import (
    AdaRank,
    AssociationRuleRanker,
    GBRank,
    LogisticRanker,
    MultipleHyperplaneRanker,
    NestedRanker,
    OnlineAggregatePRank,
    PRank,
    PreferenceOrdering,
    RankGP,
    RobustSparseRanker,
    Rocchio,
    SVMClassifierRanker,
)
from skrank.rankers._energy_ranker import BaseEnergyRanker


class Scalar(NamedTuple):
    """An attribute that is no array.

    Attributes
    ----------
    kind : type or tuple of types
        Accepted types.
    accepted : str
        What is accepted, for the error message.
    """

    kind: Any
    accepted: str


_LARGEST = float(np.finfo(np.float64).max)
NUMBER = Scalar((float, int), "a finite number")
_COUNT = Scalar(int, "a whole number >= 0")
_FLAG = Scalar((bool, np.bool_), "True or False")
_LIST = Scalar(list, "a list")

_PROGRESS: dict[str, Array | Scalar] = {
    "n_iter_": _COUNT,
    "best_iteration_": _COUNT,
    "loss_curve_": Array("i"),
    # A measure may be defined for no validation query.
    "validation_curve_": Array("v", finite=False),
}
_ONLINE: dict[str, Array | Scalar] = {
    "grades_": Array("g"),
    "params_": Array("mp"),
    "n_documents_seen_": _COUNT,
    "query_grades_": Array("q2"),
}
_STATES: dict[type, Mapping[str, Array | Scalar]] = {
    AdaRank: {
        "alphas_": Array("h"),
        "features_": Array("f", below="d"),
        "scales_": Array("s"),
        "queue_": Array("w", whole=True),
        "set_aside_": Array("a", whole=True),
        "is_queueing_": _FLAG,
        "n_repeats_": _COUNT,
        "weak_rankers_": _LIST,
    },
    AssociationRuleRanker: {
        "grades_": Array("g"),
        "prior_": Array("g"),
    },
    BaseClickRanker: {
        "params_": Array("p"),
        "n_impressions_": _COUNT,
        "seed_": _COUNT,
        "query_grades_": Array("q2"),
    },
    GBRank: {"start_weight_": NUMBER, "stage_weights_": Array("k")},
    LogisticRanker: {"thresholds_": Array("t")},
    MultipleHyperplaneRanker: {
        "estimators_": _LIST,
        "pairs_": Array("h2"),
        "weights_": Array("h"),
    },
    NestedRanker: {"estimators_": _LIST},
    OnlineAggregatePRank: _ONLINE | {"seed_": _COUNT},
    PRank: _ONLINE,
    PreferenceOrdering: {
        "estimators_": _LIST,
        "losses_": Array("h"),
        "weights_": Array("h"),
    },
    RankGP: {"formula_": Scalar(str, "a formula")},
    RobustSparseRanker: {"first_coef_": Array("d")},
    Rocchio: {
        "vectors_": Array("qd", sparse=True),
        "mean_vector_": Array("d"),
    },
    SVMClassifierRanker: {"coef_": Array("d"), "intercept_": NUMBER},
    **UNBIASED_STATES,
}


_RULES: dict[str, Array | Scalar] = {
    "itemsets_": Array("rs", whole=True),
    "support_": Array("rg"),
    "confidence_": Array("rg"),
}
_ROWS: dict[str, Array | Scalar] = {
    "training_items_": Array("nd", whole=True),
    "training_codes_": Array("n", below="g"),
    "training_weight_": Array("n", optional=True, low=0.0),
}


def state_of_ranker(ranker: BaseRanker) -> dict[str, Array | Scalar]:
    """Return what the attributes of a fitted ranker must be, by name.

    Parameters
    ----------
    ranker : BaseRanker
        Any ranker.

    Returns
    -------
    dict
        Those that tell how training went, if there are any, and those of its class.
    """
    state: dict[str, Array | Scalar] = {}
    if "n_iter_" in vars(ranker) or "best_iteration_" in vars(ranker):
        state |= _PROGRESS
    for cls in reversed(type(ranker).__mro__):
        state |= _STATES.get(cls, {})
    if "energy_" not in vars(ranker) and "coef_" in vars(ranker):
        state |= {"coef_": Array("d"), "intercept_": NUMBER}
    known = vars(ranker)
    if isinstance(ranker, AssociationRuleRanker):
        # Without rules, they are sought in the rows of training when it predicts.
        has_rules = ranker.mining == "fit" or "itemsets_" in known
        state |= _ROWS if "training_items_" in known or not has_rules else _RULES
    if isinstance(ranker, AdaRank):
        # One for each weak ranker, or for each feature, even if none is in the sum.
        has_features = np.size(known.get("features_", ())) > 0
        by_feature = has_features or ranker.estimator is None
        state["scales_"] = Array("d" if by_feature else "h")
    state |= {k: v for k, v in _IF_THERE.items() if k in known and k not in state}
    return state


#: Attributes that several classes have, some of them only sometimes.
_IF_THERE: dict[str, Array | Scalar] = {
    "loss_curve_": Array("i"),
    "converged_": _FLAG,
    "covariance_": Array("dd"),
    "gap_": NUMBER,
    "grades_": Array("g"),
    "is_trained_": Array("h", flags=True),
}


def learns_energy(ranker: Any) -> bool:
    """Return whether the parameters of a ranker are those of an energy that it keeps.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker.

    Returns
    -------
    bool
    """
    if isinstance(ranker, BaseClickRanker):
        return not ranker._energy().linear
    return isinstance(ranker, BaseEnergyRanker)


def check_width(ranker: Any, n_features: int) -> None:
    """Check that the energy was set up with as many features as the ranker.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker with an energy, which has been checked before.
    n_features : int
        Number of features of the ranker.

    Raises
    ------
    ValueError
        If they differ.
    """
    energy = ranker.energy_
    widths = {
        name: vars(energy)[name].shape[kind.shape.index("d")]
        for name, kind in state_of(energy).items()
        if isinstance(kind, Array) and "d" in kind.shape
        if vars(energy).get(name) is not None
    }
    if isinstance(energy, KernelEnergy):
        widths["map_"] = energy.map_.n_features_in_
    for name, width in widths.items():
        if width != n_features:
            accepted = f"{width}, the number of features of {name} of energy_"
            raise error_of(ranker, "n_features_in_", accepted, n_features)


def check_logs(ranker: Any) -> None:
    """Check the measures of all iterations; older files have none.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker.

    Raises
    ------
    ValueError
        If they are not of the kind that training stores.
    """
    if "evals_result_" not in vars(ranker):
        return
    accepted = "measures by the names of sets, and arrays by the names of measures"
    logs = attribute(ranker, "evals_result_", dict, accepted)
    for name, of_set in logs.items():
        if not isinstance(name, str) or not isinstance(of_set, dict):
            raise error_of(ranker, "evals_result_", accepted, logs)
        for measure, values in of_set.items():
            is_curve = isinstance(values, np.ndarray) and values.dtype == np.float64
            if not isinstance(measure, str) or not is_curve or values.ndim != 1:
                raise error_of(ranker, "evals_result_", accepted, logs)


def check_queries(ranker: BaseRanker) -> None:
    """Check the record of the queries that a ranker was trained with.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker.

    Raises
    ------
    ValueError
        If a part of the record is missing, or of the wrong kind or shape.
    """
    check_query_ids(ranker)
    check_scalar(ranker, "n_queries_without_preference_", _COUNT)


def check_query_ids(owner: BaseEstimator) -> None:
    """Check the ids of training queries and their numbers of rows.

    Parameters
    ----------
    owner : BaseEstimator
        A fitted estimator.

    Raises
    ------
    ValueError
        If one of the two is missing, or of the wrong kind or shape.
    """
    ids = attribute(owner, "query_ids_", np.ndarray, "an array of query ids")
    if ids.ndim != 1:
        raise error_of(owner, "query_ids_", "an array of one dimension", ids)
    try:
        set(ids.tolist())
    except TypeError as error:
        raise error_of(
            owner, "query_ids_", f"ids that can be hashed ({problem_in(error)})", ids
        ) from None
    sizes = array_of(owner, "query_sizes_", [np.int32, np.int64], (len(ids),))
    if len(sizes) and sizes.min() < 0:
        raise error_of(owner, "query_sizes_", "numbers >= 0", sizes)


def check_scalar(owner: BaseEstimator, name: str, kind: Scalar) -> Any:
    """Return an attribute that is no array, after a check.

    Parameters
    ----------
    owner : BaseEstimator
        A fitted estimator.
    name : str
        Name of the attribute.
    kind : Scalar
        What it must be.

    Returns
    -------
    object
        The attribute.

    Raises
    ------
    ValueError
        If it is missing, of the wrong kind, negative or not finite.
    """
    value = attribute(owner, name, kind.kind, kind.accepted)
    if (kind is NUMBER and not abs(value) <= _LARGEST) or (
        kind is _COUNT and value < 0
    ):
        raise error_of(owner, name, kind.accepted, value)
    return value
