"""Energies over the iterations: what is drawn is what the parameters say."""

import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.energies import AbsoluteLabelEnergy, LinearEnergy, MLPEnergy
from skrank.inspection import EnergyTrainingDisplay
from skrank.losses import ListwiseEnergyLoss, SquareExponentialLoss
from skrank.rankers import EnergyListwise, EnergyRanker, RankNet, SubsetRegression

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


class Keep:
    """A callback that keeps the parameters, of iteration 0 those of the start."""

    def __init__(self):
        self.params = []

    def __call__(self, info):
        self.params.append(np.array(info["params"]))

    def __deepcopy__(self, memo):
        return self  # shared by clones


def _pair_means(energies, y, groups):
    """Mean energies over all preference pairs, pair by pair."""
    pairs = [
        (energies[i], energies[j])
        for i in range(len(y))
        for j in range(len(y))
        if groups[i] == groups[j] and y[i] > y[j]
    ]
    return np.mean(pairs, axis=0)


@pytest.mark.parametrize("center", [False, True])
def test_curves_are_means_over_pairs_at_every_iteration(ragged, center):
    X, y, groups = ragged
    keep = Keep()
    ranker = EnergyRanker(solver="sgd", max_iter=3, random_state=0, callback=keep)
    display = EnergyTrainingDisplay.from_training(ranker, X, y, groups, center=center)
    assert len(keep.params) == 4
    np.testing.assert_array_equal(keep.params[0], np.zeros(X.shape[1]))
    for t, w in enumerate(keep.params):
        energies = -X @ w
        if center:
            for q in np.unique(groups):
                energies[groups == q] -= energies[groups == q].mean()
        expected = _pair_means(energies, y, groups)
        found = display.desired[t], display.others[t]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(display.desired_line_.get_xdata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(display.desired_line_.get_ydata(), display.desired)
    np.testing.assert_array_equal(display.others_line_.get_ydata(), display.others)


@pytest.mark.parametrize("normalization", ["list", "sublist"])
def test_listwise_terms_differ_by_the_energy_of_the_list(ragged, normalization):
    X, y, groups = ragged
    ranker = EnergyListwise(
        (4,), top_k=3, normalization=normalization, max_iter=4, random_state=0
    )
    display = EnergyTrainingDisplay.from_training(
        ranker, X, y, groups, reading="listwise", top_k=3, normalization=normalization
    )
    order = np.argsort(groups, kind="stable")
    ptr = np.searchsorted(groups[order], np.arange(21))
    loss = ListwiseEnergyLoss(top_k=3, normalization=normalization)
    prepared = loss.prepare(y[order], ptr)
    scores = display.estimator_.predict(X)[order]
    energy = prepared.list_energies(scores) @ prepared.query_weight
    assert display.desired[-1] - display.others[-1] == pytest.approx(
        energy / prepared.total_weight
    )
    assert display.desired_line_.get_label() == "desired: top 3"


def test_pointwise_reading_follows_labels(ragged):
    X, y, groups = ragged
    keep = Keep()
    ranker = EnergyRanker(
        AbsoluteLabelEnergy(LinearEnergy()),
        SquareExponentialLoss(reading="pointwise"),
        solver="sgd",
        max_iter=2,
        callback=keep,
        random_state=0,
    )
    display = EnergyTrainingDisplay.from_training(
        ranker, X, y, groups, reading="pointwise"
    )
    labels = np.unique(y)
    np.testing.assert_array_equal(keep.params[0], np.zeros(X.shape[1]))
    for t, w in enumerate(keep.params):
        energies = np.abs((X @ w)[:, None] - labels)
        own = labels == y[:, None]
        np.testing.assert_allclose(display.desired[t], energies[own].mean())
        np.testing.assert_allclose(display.others[t], energies[~own].mean())
    # Documents of such an energy are ranked by f, whose negative is then drawn.
    display = EnergyTrainingDisplay.from_training(ranker, X, y, groups)
    expected = _pair_means(-X @ keep.params[-1], y, groups)
    found = display.desired[-1], display.others[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("reading", ["pairwise", "listwise"])
def test_networks_in_pipelines_with_restarts_and_validation(ragged, reading):
    X, y, groups = ragged
    ranker = EnergyRanker(
        MLPEnergy((4,)), max_iter=8, early_stopping=True, n_restarts=2, random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), ranker)
    display = EnergyTrainingDisplay.from_training(
        pipeline, X, y, groups, reading=reading
    )
    fitted = display.estimator_[-1]
    assert len(display.desired) == len(fitted.loss_curve_) + 1
    assert display.best_iteration == fitted.best_iteration_
    assert set(display.best_line_.get_xdata()) == {fitted.best_iteration_}
    if reading == "pairwise":
        energies = -display.estimator_.predict(X)
        expected = _pair_means(energies, y, groups)
        t = fitted.best_iteration_
        found = display.desired[t], display.others[t]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_rows_may_come_in_any_order(ragged, rng):
    X, y, groups = ragged
    ranker = EnergyRanker(solver="sgd", max_iter=3, random_state=0)
    display = EnergyTrainingDisplay.from_training(ranker, X, y, groups)
    rows = np.argsort(-groups, kind="stable")  # queries in reverse, their rows in order
    other = EnergyTrainingDisplay.from_training(ranker, X[rows], y[rows], groups[rows])
    np.testing.assert_array_equal(display.desired, other.desired)
    np.testing.assert_array_equal(display.others, other.others)


def test_scales():
    display = EnergyTrainingDisplay(desired=[2.0, 1.0, -1.0], others=[-4.0, -4.0, -2.0])
    iterations, desired, others = display.curves("relative")
    assert iterations.tolist() == [0, 1, 2]
    assert desired.tolist() == [1.0, 0.5, -0.5]
    assert others.tolist() == [-1.0, -1.0, -0.5]
    iterations, desired, others = display.curves("rate")
    assert iterations.tolist() == [1, 2]
    assert desired.tolist() == [0.5, 2.0]
    assert others.tolist() == [0.0, -0.5]


def test_scales_of_energies_that_start_at_zero():
    display = EnergyTrainingDisplay(desired=[0.0, -2.0, -3.0], others=[0.0, 1.0, 1.0])
    iterations, desired, others = display.curves("relative")
    assert iterations.tolist() == [1, 2]
    assert desired.tolist() == [-1.0, -1.5]
    assert others.tolist() == [1.0, 1.0]
    _, desired, others = display.curves("rate")
    np.testing.assert_array_equal(desired, [np.nan, 0.5])
    np.testing.assert_array_equal(others, [np.nan, 0.0])
    with pytest.raises(ValueError, match="the energies stay zero"):
        EnergyTrainingDisplay(desired=[0.0], others=[1.0]).curves("relative")


@pytest.mark.parametrize("scale", ["energy", "relative", "rate"])
def test_labels_and_scales_of_the_picture(ragged, scale):
    display = EnergyTrainingDisplay.from_training(RankNet(), *ragged, scale=scale)
    assert display.ax_.get_xlabel() == "Iteration"
    assert display.ax_.get_title() == "RankNet"
    assert display.best_line_ is None
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["preferred documents", "other documents"]
    display.figure_.canvas.draw()
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert all(tick.endswith("%") == (scale != "energy") for tick in ticks)
    _, desired, _ = display.curves(scale)
    np.testing.assert_array_equal(display.desired_line_.get_ydata(), desired)


def test_plot_draws_on_given_axes_and_returns_the_display():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    display = EnergyTrainingDisplay(desired=[1.0, 0.0], others=[1.0, 2.0])
    assert display.plot(left, linewidth=3) is display
    assert display.ax_ is left
    assert display.figure_ is figure
    assert display.others_line_.get_linewidth() == 3
    assert display.plot(ax=right).ax_ is right


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reading": "setwise"},
            "reading must be 'pairwise', 'listwise' or 'pointwise', got",
        ),
        ({"scale": "log"}, "scale must be 'energy', 'relative' or 'rate', got"),
        ({"normalization": "none"}, "normalization must be 'list' or 'sublist', got"),
        ({"top_k": 0}, "top_k must be a whole number >= 1 or None"),
        ({"top_k": 1.5}, "top_k must be a whole number >= 1 or None"),
    ],
)
def test_bad_options_are_named_before_training(ragged, options, message):
    with pytest.raises(ValueError, match=message):
        EnergyTrainingDisplay.from_training(RankNet(), *ragged, **options)


def test_what_has_no_such_energies_is_refused(ragged):
    with pytest.raises(TypeError, match="EnergyTrainingDisplay needs an energy-based"):
        EnergyTrainingDisplay.from_training(SubsetRegression(), *ragged)
    with pytest.raises(TypeError, match="depends on the label"):
        EnergyTrainingDisplay.from_training(RankNet(), *ragged, reading="pointwise")
    with pytest.raises(
        ValueError, match="scale must be 'energy', 'relative' or 'rate', got"
    ):
        EnergyTrainingDisplay(desired=[1.0], others=[1.0]).curves("log")


def test_curves_need_no_matplotlib_and_drawing_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = EnergyTrainingDisplay(desired=[1.0, 0.5], others=[1.0, 2.0])
    assert display.curves()[1].tolist() == [1.0, 0.5]
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        display.plot()
