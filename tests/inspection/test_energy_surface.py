"""The energy surface before and after training, against energies computed by hand."""

import sys

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.energies import AbsoluteLabelEnergy, LinearEnergy
from skrank.inspection import EnergySurfaceDisplay
from skrank.losses import SquareExponentialLoss
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import BoltzRank, EnergyRanker, RankNet, SubsetRegression

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def by_label():
    return EnergyRanker(
        AbsoluteLabelEnergy(LinearEnergy()), SquareExponentialLoss(reading="pointwise")
    )


def _centered_means(energies, y, groups):
    energies = energies.copy()
    for q in np.unique(groups):
        energies[groups == q] -= energies[groups == q].mean()
    return [energies[y == grade].mean() for grade in np.unique(y)]


def test_energies_are_relative_to_their_query(ragged, rng):
    _, y, groups = ragged
    before, after = rng.normal(size=(2, len(y)))
    display = EnergySurfaceDisplay.from_energies(before, after, y, groups)
    names, *means = display.means()
    assert names == [f"{grade:g}" for grade in np.unique(y)]
    for found, energies in zip(means, (before, after)):
        np.testing.assert_allclose(found, _centered_means(energies, y, groups))
    shifted = EnergySurfaceDisplay.from_energies(before + groups, after, y, groups)
    np.testing.assert_allclose(shifted.before, display.before, atol=1e-12)


def test_without_centring_energies_stay_as_they_are(rng):
    before, after = rng.normal(size=(2, 5))
    display = EnergySurfaceDisplay.from_energies(
        before, after, [0, 1, 0, 1, 0], center=False
    )
    np.testing.assert_array_equal(display.before, before)
    np.testing.assert_array_equal(display.after, after)
    assert display.ax_.get_ylabel() == "Energy"


def test_training_starts_flat_and_ends_at_the_energies_of_the_ranker(ragged):
    X, y, groups = ragged
    display = EnergySurfaceDisplay.from_training(RankNet(), X, y, groups)
    ranker = RankNet().fit(X, y, groups)
    _, before, after = display.means()
    assert not before.any()
    expected = _centered_means(ranker.energies(X), y, groups)
    np.testing.assert_allclose(after, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(display.estimator_.params_, ranker.params_)


def test_energies_of_labels_are_means_by_grade(ragged, by_label):
    X, y, groups = ragged
    display = EnergySurfaceDisplay.from_training(by_label, X, y, groups)
    w = by_label.fit(X, y, groups).params_
    labels = np.unique(y)
    np.testing.assert_array_equal(display.labels, labels)
    _, *means = display.means()
    for found, params in zip(means, (np.zeros_like(w), w)):
        energies = np.abs((X @ params)[:, None] - labels)
        expected = [energies[y == grade].mean(axis=0) for grade in labels]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    for line, expected in zip(display.artists_, np.concatenate(means)):
        np.testing.assert_array_equal(line.get_ydata(), expected)


def test_the_ring_marks_the_own_label(rng):
    labels = np.array([0.0, 1.0, 2.0])
    y = np.array([0.0, 2.0, 2.0, 0.0])
    before, after = rng.normal(size=(2, 4, 3))
    display = EnergySurfaceDisplay.from_energies(before, after, y, labels=labels)
    rings = [line for line in display.ax_.lines if line.get_markersize() == 11]
    _, *means = display.means()
    expected = [
        mean[grade, label] for mean in means for grade, label in [(0, 0), (1, 2)]
    ]
    assert [float(ring.get_ydata()[0]) for ring in rings] == pytest.approx(expected)
    shift = display.artists_[2].get_xdata() - labels
    np.testing.assert_allclose(shift, shift[0])
    assert shift[0] > 2.0


def test_both_surfaces_share_their_scale_and_name_what_they_are(ragged, rng):
    _, y, groups = ragged
    before, after = rng.normal(size=(2, len(y)))
    display = EnergySurfaceDisplay.from_energies(
        before, after, y, groups, name="some ranker"
    )
    assert len(display.figure_.axes) == 1
    assert {text.get_text() for text in display.ax_.texts} == {
        "before training",
        "after training",
    }
    assert display.ax_.get_title() == "some ranker"
    assert display.ax_.get_xlabel() == "Grade of the document"
    grades = [f"{grade:g}" for grade in np.unique(y)]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == grades * 2
    assert len(display.artists_) == 2 * len(grades)
    display.figure_.canvas.draw()


def test_many_grades_are_joined_to_ranges(rng):
    y = np.arange(70.0)
    display = EnergySurfaceDisplay.from_energies(y, -y, y, np.zeros(70))
    names, before, after = display.means()
    assert len(names) == 7
    assert names[0].startswith("0 to ")
    assert names[-1].endswith(" to 69")
    assert (np.diff(before) > 0).all()
    np.testing.assert_allclose(before, -after)


def test_a_pipeline_is_trained_whole(ragged):
    X, y, groups = ragged
    pipeline = make_pipeline(
        StandardScaler(), RankNet((4,), max_iter=5, random_state=0)
    )
    display = EnergySurfaceDisplay.from_training(pipeline, X, y, groups)
    expected = _centered_means(-display.estimator_.predict(X), y, groups)
    np.testing.assert_allclose(display.means()[2], expected, rtol=1e-6)


def test_rows_may_come_in_any_order(ragged):
    X, y, groups = ragged
    ranker = RankNet((4,), max_iter=5, random_state=0)
    display = EnergySurfaceDisplay.from_training(ranker, X, y, groups)
    rows = np.argsort(-groups, kind="stable")  # queries in reverse, their rows in order
    other = EnergySurfaceDisplay.from_training(ranker, X[rows], y[rows], groups[rows])
    np.testing.assert_array_equal(display.before, other.before)
    np.testing.assert_array_equal(display.after, other.after)


def test_plot_draws_on_given_axes_and_returns_the_display(ragged):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    display = EnergySurfaceDisplay.from_training(RankNet(), *ragged, ax=left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert display.plot(right, cmap="cividis") is display
    assert display.ax_ is right


def test_queries_come_from_the_index_of_y(ragged, rng):
    pd = pytest.importorskip("pandas")
    _, y, groups = ragged
    before, after = rng.normal(size=(2, len(y)))
    y_index = pd.Series(y, index=pd.Index(groups, name="qid"))
    display = EnergySurfaceDisplay.from_energies(before, after, y_index)
    same = EnergySurfaceDisplay.from_energies(before, after, y, groups)
    np.testing.assert_array_equal(display.after, same.after)


def test_bad_input_is_named(ragged):
    _, y, groups = ragged
    zeros = np.zeros(len(y))
    draw = EnergySurfaceDisplay.from_energies
    with pytest.raises(ValueError, match="before must have shape"):
        draw(zeros[1:], zeros, y, groups)
    with pytest.raises(
        ValueError, match=r"after must have shape .* document and label"
    ):
        draw(np.zeros((len(y), 2)), zeros, y, groups, labels=[0, 1])
    with pytest.raises(ValueError, match="after must hold finite"):
        draw(zeros, np.full(len(y), np.nan), y, groups)
    with pytest.raises(TypeError, match="EnergySurfaceDisplay needs an energy-based"):
        EnergySurfaceDisplay.from_training(SubsetRegression(), *ragged)


def test_means_need_no_matplotlib_and_drawing_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = EnergySurfaceDisplay(before=[0.0, 0.0], after=[-1.0, 1.0], y=[1, 0])
    assert display.means()[2].tolist() == [1.0, -1.0]
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        display.plot()


def test_a_pipeline_whose_parts_need_groups_is_shown(ragged):
    X, y, groups = ragged
    ranker = BoltzRank(
        pairwise_potential=True, n_samples=10, max_iter=2, random_state=0
    )
    pipeline = make_pipeline(QueryStandardScaler(), ranker)
    display = EnergySurfaceDisplay.from_training(pipeline, X, y, groups, center=False)
    fitted = display.estimator_
    with sklearn.config_context(enable_metadata_routing=True):
        scores = fitted.predict(X, groups=groups)
    order = np.argsort(groups, kind="stable")
    np.testing.assert_allclose(display.after, -scores[order], atol=1e-12)
