"""What every aggregator has learned: kinds, types and shapes of its fitted attributes.

Letters stand for lengths: ``"r"`` is the number of runs, ``"s"`` that of the segments
into which an aggregator divides the ranks, and ``"q"`` that of the queries of `fit`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from skrank.aggregation import (
    BaseAggregator,
    BayesFuse,
    Kemeny,
    LearnedFusion,
    LocalKemeny,
    Mallows,
    MAPFuse,
    PlackettLuce,
    PosFuse,
    ProbFuse,
    SegFuse,
    WeightedFusion,
)
from skrank.export._energy_state import Array
from skrank.export._ranker_state import NUMBER, Scalar


class ArrayOfEachRun(NamedTuple):
    """A list that has an array for each run.

    Attributes
    ----------
    array : Array
        What each array must be.
    """

    array: Array


class Part(NamedTuple):
    """An estimator within an aggregator.

    Attributes
    ----------
    kind : type
        Accepted type.
    optional : bool
        Whether it may be missing.
    """

    kind: type
    optional: bool = False


Kind = Array | ArrayOfEachRun | Part | Scalar

_DISTANCE = Array("q", low=0.0)
_STATES: dict[type, dict[str, Kind]] = {
    BayesFuse: {"estimates_": ArrayOfEachRun(Array("s"))},
    Kemeny: {
        "distance_": _DISTANCE,
        "lower_bound_": Array("q"),
        "optimal_": Array("q", flags=True),
    },
    LearnedFusion: {"ranker_": Part(BaseEstimator)},
    LocalKemeny: {
        "distance_": _DISTANCE,
        "initial_": Part(BaseAggregator, optional=True),
    },
    MAPFuse: {"weights_": Array("r", low=0.0, high=1.0)},
    # The dispersion is infinite where all runs agree.
    Mallows: {
        "dispersion_": Array("q", finite=False, low=0.0),
        "log_likelihood_": Array("q"),
    },
    PlackettLuce: {
        "worths_": Array("n", low=0.0),
        "log_likelihood_": Array("q"),
    },
    PosFuse: {"estimates_": ArrayOfEachRun(Array("n", low=0.0, high=1.0))},
    ProbFuse: {"estimates_": ArrayOfEachRun(Array("s", low=0.0, high=1.0))},
    SegFuse: {"estimates_": ArrayOfEachRun(Array("s", low=0.0, high=1.0))},
    WeightedFusion: {
        "weights_": Array("r", low=0.0, high=1.0),
        "train_value_": NUMBER,
        "aggregator_": Part(BaseAggregator),
    },
}
_N_SEGMENTS: dict[type, Callable[[Any], int]] = {
    BayesFuse: lambda aggregator: len(aggregator._bounds) - 1,
    ProbFuse: lambda aggregator: aggregator.n_segments,
    SegFuse: lambda aggregator: len(aggregator._bounds) - 1,
}


def state_of_aggregator(aggregator: BaseAggregator) -> dict[str, Kind]:
    """Return what the attributes of a fitted aggregator must be, by name.

    Parameters
    ----------
    aggregator : BaseAggregator
        Any aggregator.

    Returns
    -------
    dict
        Those of its class and of the classes that it extends, without the number of
        runs, which every aggregator has.
    """
    return {
        name: kind
        for cls in reversed(type(aggregator).__mro__)
        for name, kind in _STATES.get(cls, {}).items()
    }


def lengths_of_aggregator(aggregator: BaseAggregator) -> dict[str, int]:
    """Return the lengths that follow from the runs and parameters of an aggregator.

    Parameters
    ----------
    aggregator : BaseAggregator
        A fitted aggregator.

    Returns
    -------
    dict
        Lengths by the letters that stand for them.
    """
    lengths = {"r": aggregator.n_runs_}
    n_segments = _N_SEGMENTS.get(type(aggregator))
    return lengths if n_segments is None else lengths | {"s": n_segments(aggregator)}
