"""What is said about numbers that are too large."""

import numpy as np
import pandas as pd
import pytest

from skrank._core._finite import unsafe_range
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score
from skrank.preprocessing import (
    QueryMinMaxScaler,
    QueryStandardScaler,
    QueryTargetEncoder,
)
from skrank.rankers import (
    MultipleHyperplaneRanker,
    NestedRanker,
    PreferenceOrdering,
    RankSVM,
)
from skrank.selection import GAS


@pytest.mark.parametrize("missing", [np.full((2, 3), np.nan), np.zeros((0, 3))])
def test_rows_without_numbers_are_no_cause_of_an_overflow(missing):
    assert unsafe_range("X", missing) is None


def test_missing_values_do_not_hide_large_numbers():
    message = unsafe_range("X", np.array([[np.nan, -1e300]]))
    assert message is not None
    assert message.startswith("X must hold numbers of at most 5.6e+102 in size")


def test_infinity_is_not_to_be_scaled():
    assert unsafe_range("X", np.array([[np.inf, 1.0]])) is None


def test_data_frames_are_looked_through():
    frame = pd.DataFrame({"name": ["a", "b"], "value": [1.0, -1e300]})
    assert "found 1e+300" in unsafe_range("X", frame)


def _opposite_infinities(values):
    values = np.array(values)
    values.flat[:2] = np.inf, -np.inf
    return values


_ROWS = make_ranking(n_queries=6, n_features=3, n_informative=2, random_state=0)


# Sums of them are NaN, of which NumPy warns, and warnings are errors here.
@pytest.mark.parametrize(
    "estimator",
    [
        QueryStandardScaler(),
        QueryMinMaxScaler(),
        QueryTargetEncoder(categorical_features=[]),
        GAS(2),
        RankSVM(),
        NestedRanker(RankSVM(), depths=(5,)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_opposite_infinities_are_refused_in_words_alone(estimator):
    X, y, groups = _ROWS
    with pytest.raises(ValueError, match="X contains infinity"):
        estimator.fit(_opposite_infinities(X), y, groups=groups)


@pytest.mark.parametrize(
    "ranker",
    [
        RankSVM(),
        NestedRanker(RankSVM(), depths=(5,)),
        MultipleHyperplaneRanker(),
        PreferenceOrdering(random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_opposite_infinities_get_no_scores(ranker):
    X, y, groups = _ROWS
    ranker.fit(X, y, groups)
    with pytest.raises(ValueError, match="X contains infinity"):
        ranker.predict(_opposite_infinities(X), groups=groups)


def test_opposite_infinities_are_no_weights():
    X, y, groups = _ROWS
    weight = _opposite_infinities(np.ones(len(y)))
    with pytest.raises(ValueError, match="sample_weight contains infinity"):
        RankSVM().fit(X, y, groups, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight contains infinity"):
        ndcg_score(y, X[:, 0], groups=groups, sample_weight=weight)
