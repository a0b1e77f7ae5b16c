"""Learning curves: what is drawn is what the comparison says."""

import numpy as np
import pandas as pd
import pytest

from skrank.inspection import LearningCurveDisplay
from skrank.selection import SelectorComparison

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

RNG = np.random.default_rng(0)
COUNTS = np.array([10.0, 20, 40])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def comparison():
    runs = {name: RNG.random((2, 3, 9)) for name in ("change", "random")}
    return SelectorComparison(
        dict.fromkeys(runs, COUNTS),
        {name: run.mean(axis=2) for name, run in runs.items()},
        {name: run.mean(axis=0) for name, run in runs.items()},
        "ndcg@10",
        True,
    )


def bounds_of(band):
    """Lower and upper bounds of a band, by ascending place."""
    vertices = band.get_paths()[0].vertices
    return np.array(
        [[vertices[vertices[:, 0] == x][:, 1].min() for x in COUNTS]]
        + [[vertices[vertices[:, 0] == x][:, 1].max() for x in COUNTS]]
    )


def test_lines_are_curves_with_their_intervals(comparison):
    display = LearningCurveDisplay.from_comparison(comparison)
    assert [line.get_label() for line in display.lines_] == ["change", "random"]
    for line, band, name in zip(
        display.lines_, display.ax_.collections, ("change", "random"), strict=True
    ):
        np.testing.assert_array_equal(line.get_xdata(), COUNTS)
        expected = comparison.per_query[name].mean(axis=1)
        np.testing.assert_allclose(line.get_ydata(), expected)
        np.testing.assert_allclose(bounds_of(band), comparison.interval(name).T)
    assert display.ax_.get_ylabel() == "ndcg@10"
    assert display.figure_ is display.ax_.figure


def test_differences_have_paired_intervals(comparison):
    display = LearningCurveDisplay.from_comparison(
        comparison, reference="random", confidence=0.5, random_state=1
    )
    (line,), (band,) = display.lines_, display.ax_.collections
    gap = comparison.per_query["change"] - comparison.per_query["random"]
    np.testing.assert_allclose(line.get_ydata(), gap.mean(axis=1))
    _, interval = comparison.difference("change", confidence=0.5, random_state=1)
    np.testing.assert_allclose(bounds_of(band), interval.T)
    assert display.ax_.get_ylabel() == "ndcg@10, difference from random"


def test_bands_can_be_chosen(comparison):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = LearningCurveDisplay.from_comparison(
        comparison, bands=["random"], ax=ax, linewidth=3
    )
    assert display.ax_ is ax
    assert len(ax.collections) == 1
    assert display.lines_[0].get_linewidth() == 3
    with pytest.raises(ValueError, match=r"bands must hold names .* got 'other'"):
        LearningCurveDisplay.from_comparison(comparison, bands=["other"])


def test_wrong_data_are_refused(comparison):
    with pytest.raises(TypeError, match="comparison must be a SelectorComparison"):
        LearningCurveDisplay.from_comparison({"a": [1]})
    with pytest.raises(ValueError, match="reference must be one of 'change'"):
        LearningCurveDisplay.from_comparison(comparison, reference="other")
    curve = {"a": [0.1, 0.2]}
    with pytest.raises(ValueError, match="n_documents must have the names of values"):
        LearningCurveDisplay(n_documents={}, values=curve).plot()
    with pytest.raises(ValueError, match="values is empty"):
        LearningCurveDisplay(n_documents={}, values={}).plot()
    with pytest.raises(ValueError, match=r"n_documents\['a'\] must be an array of sha"):
        LearningCurveDisplay(n_documents={"a": [[1, 2]]}, values=curve).plot()
    with pytest.raises(ValueError, match=r"intervals must have names of values"):
        LearningCurveDisplay(
            n_documents=curve, values=curve, intervals={"b": [[0, 1]]}
        ).plot()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"intervals": {"a": [[0, 1]]}},
            r"intervals\['a'\] must be an array of shape \(2, 2\), got shape \(1, 2\)",
        ),
        (
            {"n_documents": {"a": [1, 2, 3]}},
            r"n_documents\['a'\] must be an array of shape \(2,\), got shape \(3,\)",
        ),
        (
            {"intervals": {"a": [[0.0, 1.0], [0.5, 0.25]]}},
            r"intervals\['a'\] must hold lower .* got 0.5 before 0.25",
        ),
        ({"n_documents": {"a": [1, -2]}}, r"n_documents\['a'\] must .* 0, got -2"),
        ({"n_documents": {"a": [np.nan, 2]}}, r"n_documents\['a'\] must .* got nan"),
        ({"n_documents": {"a": ["x", "y"]}}, r"n_documents\['a'\] must hold numbers"),
        ({"values": {"a": ["x", "y"]}}, r"values\['a'\] must hold numbers"),
    ],
)
def test_malformed_points_are_named(changed, message):
    data = {"n_documents": {"a": [1, 2]}, "values": {"a": [0.1, 0.2]}}
    LearningCurveDisplay(**data).plot()
    with pytest.raises(ValueError, match=message):
        LearningCurveDisplay(**(data | changed)).plot()


def test_undefined_values_are_gaps():
    display = LearningCurveDisplay(
        n_documents={"a": [0, 2.5]},
        values={"a": [np.nan, 0.2]},
        intervals={"a": [[np.nan, np.nan], [0.2, 0.2]]},
    ).plot()
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [np.nan, 0.2])


def test_curves_can_be_drawn_without_a_comparison():
    display = LearningCurveDisplay(
        n_documents={"a": [1, 2]},
        values={"a": [0.1, 0.2]},
        intervals={"a": [[0.0, 0.2], [0.1, 0.3]]},
    ).plot()
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [0.1, 0.2])
    assert len(display.ax_.collections) == 1


@pytest.mark.parametrize("name", [pd.NA, np.nan, None, 1])
def test_names_that_are_no_texts_are_refused(name):
    curves, named = {name: [1.0, 2.0], "a": [1.0, 2.0]}, {"a": [1.0, 2.0]}
    for values, counts in ((curves, curves), (named, curves)):
        with pytest.raises(TypeError, match="must have texts as names, got"):
            LearningCurveDisplay(n_documents=counts, values=values).plot()
