"""Importances as bars: what is drawn is what the ranker says."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.inspection import FeatureImportanceDisplay, query_permutation_importance
from skrank.rankers import MART, ListNet

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def ranker(ragged):
    return MART(min_samples_leaf=3, random_state=0).fit(*ragged)


def drawn(display):
    """Width of each bar by the name beside it, from the bottom."""
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in display.bars_], strict=True))


@pytest.mark.parametrize("kind", ["gain", "split"])
def test_bars_are_the_importances_in_order(ranker, kind):
    display = FeatureImportanceDisplay.from_estimator(ranker, kind=kind)
    expected = ranker.ensemble_.feature_importances(6, kind)
    bars = drawn(display)
    np.testing.assert_array_equal([bars[str(j)] for j in range(6)], expected)
    assert list(bars.values()) == sorted(expected)


def test_names_come_from_the_data(ragged):
    X, y, groups = ragged
    frame = pd.DataFrame(X, columns=list("abcdef"))
    ranker = MART(min_samples_leaf=3).fit(frame, y, groups)
    display = FeatureImportanceDisplay.from_estimator(ranker)
    assert set(drawn(display)) == set("abcdef")
    named = FeatureImportanceDisplay.from_estimator(
        ranker, feature_names=list("uvwxyz")
    )
    assert set(drawn(named)) == set("uvwxyz")


def test_only_the_greatest_are_drawn():
    display = FeatureImportanceDisplay(importances=[1, 5, 3, 5], max_features=3).plot()
    assert list(drawn(display).items()) == [("2", 3), ("3", 5), ("1", 5)]


def test_permutations_have_whiskers(ragged, ranker):
    result = query_permutation_importance(ranker, *ragged, random_state=0)
    display = FeatureImportanceDisplay.from_permutations(result)
    bars = drawn(display)
    values = [bars[str(j)] for j in range(6)]
    np.testing.assert_array_equal(values, result.importances_mean)
    assert display.bars_.errorbar is not None
    assert display.ax_.get_xlabel() == "Loss of the measure when permuted"


def test_permutations_have_the_names_of_the_frame(ragged):
    X, y, groups = ragged
    frame = pd.DataFrame(X, columns=list("abcdef"))
    ranker = MART(min_samples_leaf=3).fit(frame, y, groups)
    result = query_permutation_importance(ranker, frame, y, groups, random_state=0)
    assert result.feature_names == list("abcdef")
    display = FeatureImportanceDisplay.from_permutations(result)
    bars = drawn(display)
    np.testing.assert_array_equal(
        [bars[name] for name in "abcdef"], result.importances_mean
    )
    named = FeatureImportanceDisplay.from_permutations(
        result, feature_names=list("uvwxyz")
    )
    assert set(drawn(named)) == set("uvwxyz")


def test_a_pipeline_shows_its_last_step(ragged):
    X, y, groups = ragged
    pipeline = make_pipeline(StandardScaler(), MART(min_samples_leaf=3))
    pipeline.fit(X, y, mart__groups=groups)
    display = FeatureImportanceDisplay.from_estimator(pipeline)
    assert max(drawn(display).values()) == pipeline[-1].feature_importances_.max()


def test_plot_draws_on_given_axes_and_returns_the_display(ranker):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = FeatureImportanceDisplay.from_estimator(ranker, ax=ax, color="C3")
    assert display.ax_ is ax
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure


def test_a_ranker_without_trees_is_refused(ragged):
    with pytest.raises(TypeError, match="ListNet has no trees"):
        FeatureImportanceDisplay.from_estimator(ListNet().fit(*ragged))


def test_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        FeatureImportanceDisplay(importances=[1.0]).plot()


@pytest.mark.parametrize("odd", [np.inf, -np.inf, 1e308])
def test_numbers_that_cannot_be_drawn_are_refused(odd):
    values = [odd, 1.0, 2.0, 0.0, 3.0]
    with pytest.raises(
        ValueError, match=r"importances must hold numbers of at most 1e"
    ):
        FeatureImportanceDisplay(importances=values).plot()
    with pytest.raises(ValueError, match=r"deviations must hold numbers"):
        FeatureImportanceDisplay(importances=[1.0], deviations=[-abs(odd)]).plot()
    with pytest.raises(ValueError, match=r"deviations must hold numbers >= 0, got -1"):
        FeatureImportanceDisplay(importances=[1.0], deviations=[-1.0]).plot()
