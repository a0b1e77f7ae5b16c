"""Legends hide no curve, of whichever axes."""

import numpy as np
import pytest

from skrank.inspection import RankingCurveDisplay, TrainingCurveDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


T = np.arange(60)
SETS = {f"set {j} ndcg@10": np.sin(T / 4 + j) for j in range(4)}
MANY = {f"set {j} ndcg@10": np.sin(T / 4 + j) for j in range(40)}


def hidden(figure):
    """Names of the lines of which a legend hides a point."""
    figure.draw_without_rendering()
    (legend,) = [a.get_legend() for a in figure.axes if a.get_legend() is not None]
    box, found = legend.get_window_extent(), []
    for line in (line for ax in figure.axes for line in ax.get_lines()):
        # Many points along each piece, so that no piece passes between two of them.
        x, y = line.get_transform().transform(line.get_xydata()).T
        places = np.linspace(0, len(x) - 1, 50 * len(x))
        x, y = (np.interp(places, np.arange(len(x)), each) for each in (x, y))
        if box.count_contains(np.column_stack([x, y])):
            found.append(line.get_label())
    return found


@pytest.mark.parametrize(
    ("loss", "validation", "others"),
    [
        (1 / np.sqrt(T + 1.0), -np.exp(-T / 9), None),
        (1.0 - T, 1.0 * T, None),
        (np.cos(T / 3), np.sin(T / 3), SETS),
        (np.cos(T / 3), np.sin(T / 3), MANY),
        (1.0 - T, None, None),
    ],
)
def test_the_legend_of_training_hides_no_curve(loss, validation, others):
    display = TrainingCurveDisplay(
        loss_curve=loss,
        validation_curve=validation,
        best_iteration=None if validation is None else 40,
        other_curves=others,
        name="RankNet",
    ).plot()
    assert hidden(display.figure_) == []
    assert display.ax_.get_position().height > 0.4
    box = display.figure_.get_tightbbox()
    assert box.y0 >= 0
    assert box.x0 >= 0


def test_a_legend_stays_inside_where_a_place_is_free():
    flat = np.concatenate([[5.0], np.ones(59)])
    display = TrainingCurveDisplay(loss_curve=flat, validation_curve=2 * flat).plot()
    assert hidden(display.figure_) == []
    legend = display.validation_ax_.get_legend().get_window_extent()
    inside = display.ax_.bbox
    assert inside.x0 < legend.x0 < legend.x1 < inside.x1
    assert inside.y0 < legend.y0 < legend.y1 < inside.y1


def test_a_legend_is_inside_axes_that_no_layout_moves():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = TrainingCurveDisplay(loss_curve=T, other_curves=SETS).plot(ax)
    legend = display.validation_ax_.get_legend().get_window_extent()
    assert ax.bbox.y0 < legend.y0 < legend.y1 < ax.bbox.y1


def test_legends_of_parts_of_a_figure():
    import matplotlib.pyplot as plt

    figure = plt.figure(layout="constrained", figsize=(9, 5))
    left, right = figure.subfigures(1, 2)
    left.subplots().plot([0, 1])
    display = TrainingCurveDisplay(loss_curve=T, other_curves=SETS)
    display.plot(right.subplots())
    assert hidden(figure) == []


def test_curves_that_fill_their_axes_have_the_legend_below():
    display = RankingCurveDisplay(k=T + 1, curves=SETS, measure_name="ndcg").plot()
    assert hidden(display.figure_) == []
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y1 < display.ax_.xaxis.label.get_window_extent().y0


def test_curves_may_have_numbers_for_names():
    display = RankingCurveDisplay(
        k=[1, 2], curves={10: [0.1, 0.2], "_b": [0.2, 0.1]}, measure_name="ndcg"
    ).plot()
    names = [line.get_label() for line in display.ax_.get_lines()]
    assert names == ["10", " _b"]
