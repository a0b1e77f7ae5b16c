"""A measure that a ranker cannot train for is refused by the name that the user wrote.

Rankers make losses of their measures, which users do not see.
"""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import skrank.rankers
from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.metrics._registry import measure_names
from skrank.rankers import RobustSparseRanker
from skrank.solvers import LBFGS
from skrank.unbiased import UnbiasedLambdaMART

SHORT = ("max_iter", "n_estimators", "max_rounds", "max_updates", "n_restarts")


def constant(y_true, y_score):
    """Return the same for every ranking."""
    return 0.5


MEASURES = [*sorted(measure_names().measures), constant]


def rankers_of_measures():
    """Yield classes of rankers with the name of the parameter that is a measure."""
    for name in skrank.rankers.__all__:
        cls = getattr(skrank.rankers, name)
        fields = getattr(cls, "__dataclass_fields__", {})
        names = ("measure", "utility", "rank_pair_weights")
        yield from ((cls, each) for each in names if each in fields)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=3, n_features=3, n_informative=2, random_state=0)


def problem_of(ranker, data):
    """Return what a fit says about a parameter, or nothing."""
    try:
        ranker.fit(*data)
    except InvalidParameterError as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore")  # few iterations, and a constant measure
@pytest.mark.parametrize(
    ("cls", "parameter"),
    list(rankers_of_measures()),
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_refused_measure_is_that_of_the_ranker(cls, parameter, data):
    few = {name: 1 for name in SHORT if name in cls.__dataclass_fields__}
    for measure in MEASURES:
        told = problem_of(cls(**few, **{parameter: measure}), data)
        value = re.escape(repr(measure)[:20])
        assert re.fullmatch(
            f"|{cls.__name__}: {parameter} must be .+, got {value}.*", told
        )


def test_swaps_of_what_is_no_ranking_have_no_weight(data):
    told = "UnbiasedLambdaMART: measure must be a measure whose swaps .+, got 'mse'"
    places = {"positions": np.ones(len(data[1]), dtype=int)}
    with pytest.raises(InvalidParameterError, match=told):
        UnbiasedLambdaMART("mse").fit(*data, **places)


def test_weights_that_are_held_need_sums_of_gains_times_discounts(data):
    with pytest.raises(InvalidParameterError, match="sum of gains times discounts"):
        RobustSparseRanker("map").fit(*data)
    # Other solvers take the weights anew with every step, whatever the measure.
    solver = LBFGS(max_iter=1)
    with pytest.warns(ConvergenceWarning):
        RobustSparseRanker("map", solver=solver).fit(*data)
