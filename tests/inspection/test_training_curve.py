"""Training curves: what is drawn is what the ranker kept."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.inspection import TrainingCurveDisplay
from skrank.metrics import NDCG
from skrank.rankers import LambdaMART, RankNet, SubsetRegression

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def stopped(ragged):
    ranker = RankNet((4,), max_iter=15, early_stopping=True, random_state=0)
    return ranker.fit(*ragged)


def test_curves_are_those_of_the_ranker(stopped):
    display = TrainingCurveDisplay.from_estimator(stopped)
    iterations = np.arange(1, stopped.n_iter_ + 1)
    np.testing.assert_array_equal(display.loss_line_.get_xdata(), iterations)
    np.testing.assert_array_equal(display.loss_line_.get_ydata(), stopped.loss_curve_)
    np.testing.assert_array_equal(
        display.validation_line_.get_ydata(), stopped.validation_curve_
    )
    assert set(display.best_line_.get_xdata()) == {stopped.best_iteration_}


def test_labels(stopped):
    display = TrainingCurveDisplay.from_estimator(stopped)
    assert display.ax_.get_ylabel() == "Objective"
    assert display.validation_ax_.get_ylabel() == "validation ndcg@10"
    assert display.ax_.get_title() == "RankNet"
    legend = display.validation_ax_.get_legend().get_texts()
    assert [text.get_text() for text in legend] == [
        "objective",
        "validation ndcg@10",
        f"best iteration ({stopped.best_iteration_})",
    ]


def test_a_measure_object_is_named(ragged):
    ranker = RankNet(early_stopping=True, validation_measure=NDCG(k=3), random_state=0)
    display = TrainingCurveDisplay.from_estimator(ranker.fit(*ragged))
    assert display.validation_name == "validation ndcg@3"


def test_the_axis_says_if_lower_is_better(ragged):
    ranker = RankNet(
        (4,),
        max_iter=15,
        early_stopping=True,
        validation_measure="mse",
        random_state=0,
    ).fit(*ragged)
    display = TrainingCurveDisplay.from_estimator(ranker)
    assert display.validation_name == "validation mse (lower is better)"
    # The best iteration is the lowest point of the curve, not the highest.
    curve = display.validation_line_.get_ydata()
    (best,) = set(display.best_line_.get_xdata())
    assert curve[best - 1] == curve.min() < curve.max()


def test_without_validation_there_is_one_curve(ragged):
    display = TrainingCurveDisplay.from_estimator(RankNet().fit(*ragged))
    assert display.validation_ax_ is None
    assert display.best_line_ is None
    assert len(display.figure_.axes) == 1


@pytest.fixture
def two_sets(ragged):
    """Arguments of `fit`: training queries and two sets of validation queries."""
    X, y, groups = ragged
    parts = [np.isin(groups, np.unique(groups)[k::3]) for k in range(3)]
    (X, A, B), (y, a, b), (groups, g, h) = (
        [rows[part] for part in parts] for rows in ragged
    )
    sets = {"X_val": {"old": A, "new": B}, "y_val": {"old": a, "new": b}}
    return {
        "X": X,
        "y": y,
        "groups": groups,
        **sets,
        "groups_val": {"old": g, "new": h},
    }


def test_all_measures_of_all_sets_are_drawn(two_sets):
    ranker = RankNet(
        (4,),
        max_iter=6,
        validation_measure=["map", "mrr"],
        evaluate_training=True,
        random_state=0,
    ).fit(**two_sets)
    display = TrainingCurveDisplay.from_estimator(ranker)
    logs = ranker.evals_result_
    assert display.validation_name == "new map"
    np.testing.assert_array_equal(
        display.validation_line_.get_ydata(), logs["new"]["map"]
    )
    drawn = {line.get_label(): line.get_ydata() for line in display.other_lines_}
    names = [(s, m) for s in ("training", "old", "new") for m in ("map", "mrr")]
    assert list(drawn) == [f"{s} {m}" for s, m in names if (s, m) != ("new", "map")]
    for label, values in drawn.items():
        of_set, measure = label.split()
        np.testing.assert_array_equal(values, logs[of_set][measure])
    assert len({line.get_color() for line in display.other_lines_}) == len(drawn)


def test_the_rule_is_named(two_sets):
    ranker = RankNet((4,), max_iter=4, validation_rule="mean", random_state=0)
    display = TrainingCurveDisplay.from_estimator(ranker.fit(**two_sets))
    assert display.validation_name == "mean of the validation sets, ndcg@10"
    labels = [line.get_label() for line in display.other_lines_]
    assert labels == ["old ndcg@10", "new ndcg@10"]
    means = np.mean([line.get_ydata() for line in display.other_lines_], axis=0)
    np.testing.assert_allclose(display.validation_line_.get_ydata(), means)


def test_an_objective_that_may_rise_is_shown_as_the_measure(ragged):
    ranker = LambdaMART(n_estimators=4, evaluate_training=True, random_state=0)
    display = TrainingCurveDisplay.from_estimator(ranker.fit(*ragged))
    assert display.loss_line_ is None
    assert display.validation_ax_ is display.ax_
    (line,) = display.other_lines_
    assert line.get_label() == "training ndcg@10"
    np.testing.assert_array_equal(
        line.get_ydata(), ranker.evals_result_["training"]["ndcg@10"]
    )


def test_an_objective_that_may_rise_is_labelled_where_nothing_was_measured(ragged):
    ranker = LambdaMART(n_estimators=4, random_state=0).fit(*ragged)
    display = TrainingCurveDisplay.from_estimator(ranker)
    assert display.ax_.get_ylabel() == "Objective, which may rise"
    np.testing.assert_array_equal(display.loss_line_.get_ydata(), ranker.loss_curve_)


def test_curves_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="there is nothing to draw; pass loss_curve"):
        TrainingCurveDisplay().plot()
    with pytest.raises(ValueError, match=r"other_curves\['a'\] must be an array"):
        TrainingCurveDisplay(other_curves={"a": [[1.0]]}).plot()
    given: dict[str, Any] = {"loss_curve": ["a"], "validation_curve": ["a"]}
    for name, curve in (given | {"other_curves": {"more": ["a"]}}).items():
        with pytest.raises(ValueError, match=rf"^{name}\S* must hold numbers"):
            TrainingCurveDisplay(**{name: curve}).plot()
    odd: Any = {1: [1.0]}
    with pytest.raises(TypeError, match="strings as labels, got 1"):
        TrainingCurveDisplay(other_curves=odd).plot()


def test_a_pipeline_shows_its_last_step(ragged):
    import sklearn

    X, y, groups = ragged
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankNet())
        pipeline.fit(X, y, groups=groups)
    display = TrainingCurveDisplay.from_estimator(pipeline)
    expected = pipeline[-1].loss_curve_
    np.testing.assert_array_equal(display.loss_line_.get_ydata(), expected)


def test_plot_draws_on_given_axes_and_returns_the_display(stopped):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = TrainingCurveDisplay.from_estimator(stopped, ax=ax, linewidth=3)
    assert display.ax_ is ax
    assert display.plot() is display
    assert display.ax_ is not ax


def test_a_ranker_without_curve_is_refused(ragged):
    with pytest.raises(TypeError, match="SubsetRegression keeps no loss_curve_"):
        TrainingCurveDisplay.from_estimator(SubsetRegression().fit(*ragged))


def test_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        TrainingCurveDisplay(loss_curve=[1.0]).plot()


def test_numbers_that_cannot_be_drawn_are_named():
    display = TrainingCurveDisplay(loss_curve=[1e308, -1e308])
    with pytest.raises(ValueError, match=r"loss_curve must hold numbers of at most"):
        display.plot()
    display = TrainingCurveDisplay(validation_curve=[1.0, "a"])
    with pytest.raises(ValueError, match=r"validation_curve must hold numbers"):
        display.plot()


def test_missing_numbers_of_any_kind_are_gaps():
    display = TrainingCurveDisplay(loss_curve=[3, pd.NA, 1.0]).plot()
    np.testing.assert_array_equal(display.loss_line_.get_ydata(), [3.0, np.nan, 1.0])
