"""Displays of contributions: what is drawn is what the explanation holds."""

import sys

import numpy as np
import pytest

from skrank.inspection import (
    BeeswarmDisplay,
    DependenceDisplay,
    Explanation,
    PreferenceDisplay,
    PreferenceExplanation,
    WaterfallDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


VALUES = np.array([[0.5, -2.0, 0.25, 1.0], [1.0, 1.0, 0.0, -4.0], [0.0, 0.5, 0.1, 2.0]])
DATA = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, np.nan, 3.0, 1.0], [0.0, 1.0, 3.0, 8.0]])
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def explanation():
    return Explanation(VALUES, np.array([1.0, 1.0, 2.0]), DATA, NAMES)


def labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_a_waterfall_leads_from_the_base_to_the_score(explanation):
    display = WaterfallDisplay.from_explanation(explanation, 0, max_features=2)
    assert labels(display) == ["2 others", "d = 4", "b = 2"]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, [0.75, 1.0, -2.0])
    starts = [bar.get_x() for bar in display.bars_]
    np.testing.assert_allclose(starts, [1.0, 1.75, 2.75])
    assert starts[-1] + widths[-1] == pytest.approx(explanation.scores[0])
    assert display.ax_.get_xlabel() == "Score, from 1 to 0.75"


def test_a_waterfall_of_all_features_has_no_others(explanation):
    display = WaterfallDisplay.from_explanation(explanation, -1)
    assert labels(display) == ["a = 0", "c = 3", "b = 1", "d = 8"]
    one = WaterfallDisplay.from_explanation(explanation, 1, max_features=3)
    assert labels(one)[0] == "1 other"
    assert "b = missing" in labels(one)


def test_a_preference_has_bars_to_either_side():
    pair = PreferenceExplanation(
        VALUES[0], np.array([1.0, 1.25]), DATA[:2], NAMES, (3, 7)
    )
    display = PreferenceDisplay.from_explanation(pair, max_features=3)
    assert labels(display) == ["1 other", "a = 1 | 2", "d = 4 | 1", "b = 2 | missing"]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, [0.25, 0.5, 1.0, -2.0])
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[1] == colors[2] != colors[3]
    text = display.ax_.get_xlabel()
    assert text.index("for row 7") < text.index("-0.25") < text.index("for row 3")
    named = PreferenceDisplay.from_explanation(pair, documents=["x", "y"])
    assert "for x" in named.ax_.get_xlabel()


def test_a_swarm_has_a_point_for_each_document(explanation):
    display = BeeswarmDisplay.from_explanation(explanation, max_features=3)
    assert labels(display) == ["a", "b", "d"]  # by mean absolute contribution
    for points, j in zip(display.points_, [0, 1, 3], strict=True):
        np.testing.assert_array_equal(points.get_offsets()[:, 0], VALUES[:, j])
    lines = [points.get_offsets()[:, 1].round() for points in display.points_]
    np.testing.assert_array_equal(lines, [[0] * 3, [1] * 3, [2] * 3])
    by_value = display.points_[2].get_facecolors()[np.argsort(DATA[:, 3])]
    ends = matplotlib.colormaps["viridis"]([0.0, 0.5, 1.0])
    np.testing.assert_allclose(by_value, ends)
    grey = matplotlib.colors.to_rgba("0.7")
    np.testing.assert_allclose(display.points_[1].get_facecolors()[1], grey)


def test_points_of_a_swarm_that_are_alike_stand_side_by_side():
    display = BeeswarmDisplay(contributions=np.ones((50, 1)), data=np.ones((50, 1)))
    heights = display.plot().points_[0].get_offsets()[:, 1]
    assert len(np.unique(heights)) == 50
    assert np.abs(heights).max() <= 0.4


def test_dependence_of_one_feature(explanation):
    for feature in (1, "b", -3):
        display = DependenceDisplay.from_explanation(explanation, feature)
        assert display.ax_.get_xlabel() == "b"
        points = display.points_.get_offsets()
        np.testing.assert_array_equal(points, [[2.0, -2.0], [1.0, 0.5]])
        ((x, y),) = display.missing_.get_offsets()
        assert x < 1.0
        assert y == VALUES[1, 1]
    assert DependenceDisplay.from_explanation(explanation, "a").missing_ is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda e: WaterfallDisplay.from_explanation(e, 3),
            r"^document must be one of 3",
        ),
        (
            lambda e: WaterfallDisplay.from_explanation(5),
            r"^explanation must be what sh",
        ),
        (
            lambda e: PreferenceDisplay.from_explanation(e),
            r"what explain_preference ret",
        ),
        (
            lambda e: BeeswarmDisplay.from_explanation(e, cmap="no"),
            r"^cmap must be the n",
        ),
        (
            lambda e: DependenceDisplay.from_explanation(e, "z"),
            r"one of a, b, c, d, got",
        ),
        (
            lambda e: WaterfallDisplay(
                contributions=[1.0], base_value=0.0, data=[1.0, 2.0]
            ).plot(),
            r"^data must be an array of shape \(1,\)",
        ),
        (
            lambda e: PreferenceDisplay(contributions=[1.0], documents="ab").plot(),
            r"^documents",
        ),
    ],
)
def test_bad_arguments_are_named(explanation, make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(explanation)


def test_without_matplotlib(explanation, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"WaterfallDisplay.plot needs matplotlib"):
        WaterfallDisplay.from_explanation(explanation)
