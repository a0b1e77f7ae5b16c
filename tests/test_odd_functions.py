"""Functions and estimators of the user's that cannot be called as such are named."""

import numpy as np
import pytest

from skrank.inspection import (
    EnergyTrainingDisplay,
    FeatureImportanceDisplay,
    GaussianEmbeddingDisplay,
    TrainingCurveDisplay,
)
from skrank.losses import BoltzmannLoss
from skrank.metrics import make_ranking_scorer
from skrank.rankers import RankNet, RankSVM
from skrank.text import InvertedIndex

Y, PTR = np.array([2.0, 0.0, 1.0]), np.array([0, 3])


@pytest.fixture
def rows(rng):
    return {"X": rng.random((6, 2)), "y": [1, 0, 2] * 2, "groups": [1] * 3 + [2] * 3}


def test_a_callback_that_does_not_take_the_report(rows):
    with pytest.raises(TypeError, match=r"^the function callback failed: int\(\) arg"):
        RankNet(callback=int, max_iter=2).fit(**rows)


def test_errors_within_a_callback_stay_as_they_are(rows):
    def failing(info):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        RankNet(callback=failing, max_iter=2).fit(**rows)


@pytest.mark.parametrize("found", [np.array(3), np.array("a"), np.full((2, 2), "a")])
def test_a_tokenizer_that_returns_an_array_without_terms(found):
    with pytest.raises(TypeError, match=r"^tokenizer must return lists of strings"):
        InvertedIndex(tokenizer=lambda text: found).fit(["a b"])


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (len, r"^the function g failed: len\(\) takes exactly one"),
        (lambda x, m: None, r"^the function g "),
        (lambda x, m: "a", r"^the function g failed: .* must hold numbers"),
        (lambda x, m: x[:1], r"^the function g must return one finite number for each"),
        (lambda x, m: x * np.nan, r"^the function g must return one finite number"),
    ],
)
def test_weights_of_ranks(g, message):
    with pytest.raises((TypeError, ValueError), match=message):
        BoltzmannLoss(g=g).prepare(Y, PTR)


@pytest.mark.parametrize("function", [len, int, lambda y, s: None, lambda y, s: "a"])
def test_measures_that_are_no_measures(function, rows):
    ranker = RankSVM().fit(**rows)
    message = r"^measure must be a name" if function is int else "^the function measure"
    with pytest.raises(TypeError, match=message):
        make_ranking_scorer(function)(ranker, **rows)


@pytest.mark.parametrize("estimator", [5, None, "a", RankSVM])
def test_displays_of_what_is_no_estimator(estimator, rows):
    for call in (
        lambda: EnergyTrainingDisplay.from_training(estimator, **rows),
        lambda: FeatureImportanceDisplay.from_estimator(estimator),
        lambda: GaussianEmbeddingDisplay.from_estimator(estimator, **rows),
        lambda: TrainingCurveDisplay.from_estimator(estimator),
    ):
        with pytest.raises(TypeError, match=r"^estimator must be an estimator, got"):
            call()
