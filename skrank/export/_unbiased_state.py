"""What rankers and estimators of clicks have learned besides their scores."""

from typing import Any

import numpy as np

from skrank.export._attributes import array_of, attribute, error_of
from skrank.export._energy_state import Array
from skrank.unbiased import (
    DualLearningRanker,
    InterventionPropensities,
    PropensityWeightedRanker,
    RegressionEM,
    UnbiasedLambdaMART,
)
from skrank.unbiased._positions import check_curve

_CURVE = Array("k", low=0.0)

#: Arrays by class: what no prediction reads, but further training and users do.
UNBIASED_STATES: dict[type, dict[str, Array]] = {
    DualLearningRanker: {"propensities_": _CURVE},
    PropensityWeightedRanker: {"propensities_": _CURVE._replace(optional=True)},
    RegressionEM: {"propensities_": _CURVE, "examination_": _CURVE},
    UnbiasedLambdaMART: {
        "propensities_": _CURVE,
        "unclicked_ratios_": _CURVE,
    },
}


def check_interventions(model: InterventionPropensities) -> None:
    """Check the propensities of places, and the counts that they come from.

    Parameters
    ----------
    model : InterventionPropensities
        Fitted model that was read from a file.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind, of the wrong shape or out of
        range.
    """
    curve: Any = array_of(model, "propensities_", [np.float64], (None,))
    check_curve(curve, f"{type(model).__name__}: propensities_")
    if curve[0] != 1:
        raise error_of(model, "propensities_", "1 for the first place", curve)
    if attribute(model, "n_interventions_", object, "") is None:
        return
    n = len(curve)
    counts = array_of(model, "n_interventions_", [np.int32, np.int64], (n, n))
    if counts.min() < 0 or (counts != counts.T).any():
        accepted = "counts >= 0, the same for both orders of two places"
        raise error_of(model, "n_interventions_", accepted, counts)
