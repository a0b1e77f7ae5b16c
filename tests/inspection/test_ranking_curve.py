"""Curves of a measure over its cut-off: what is drawn is what the measure says."""

import sys
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from skrank.inspection import RankingCurveDisplay
from skrank.metrics import AP, NDCG, QueryLeakageWarning, ndcg_score
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import BoltzRank, ListNet, SubsetRegression

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def scores(ragged, rng):
    _, y, _ = ragged
    return {"noise": rng.normal(size=len(y)), "good": y + rng.normal(size=len(y))}


def test_lines_show_the_mean_of_the_measure_at_each_cutoff(ragged, scores):
    _, y, groups = ragged
    display = RankingCurveDisplay.from_predictions(y, scores, groups, k=[1, 3, 10])
    assert [line.get_label() for line in display.lines_] == ["noise", "good"]
    for line, y_score in zip(display.lines_, scores.values()):
        np.testing.assert_array_equal(line.get_xdata(), [1, 3, 10])
        expected = [ndcg_score(y, y_score, groups=groups, k=k) for k in (1, 3, 10)]
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-12)


def test_from_estimators_draws_their_predictions(ragged):
    X, y, groups = ragged
    train = np.isin(groups, np.arange(10))
    rankers = {
        "regression": SubsetRegression().fit(X[train], y[train], groups[train]),
        "ListNet": ListNet().fit(X[train], y[train], groups[train]),
    }
    X, y, groups = X[~train], y[~train], groups[~train]
    display = RankingCurveDisplay.from_estimators(rankers, X, y, groups)
    same = RankingCurveDisplay.from_predictions(
        y, {name: ranker.predict(X) for name, ranker in rankers.items()}, groups
    )
    for line, expected in zip(display.lines_, same.lines_, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), expected.get_xydata())


def test_rankers_that_need_groups_and_pipelines_are_given_them(ragged):
    X, y, groups = ragged
    ranker = BoltzRank(
        pairwise_potential=True, n_samples=10, max_iter=2, random_state=0
    )
    pipeline = make_pipeline(QueryStandardScaler(), sklearn.base.clone(ranker))
    with sklearn.config_context(enable_metadata_routing=True):
        rankers = {
            "ranker": ranker.fit(X, y, groups=groups),
            "pipeline": pipeline.fit(X, y, groups=groups),
        }
        scores = {name: r.predict(X, groups=groups) for name, r in rankers.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryLeakageWarning)
        display = RankingCurveDisplay.from_estimators(rankers, X, y, groups)
    same = RankingCurveDisplay.from_predictions(y, scores, groups)
    for line, expected in zip(display.lines_, same.lines_, strict=True):
        np.testing.assert_allclose(line.get_xydata(), expected.get_xydata())


class Regret(NDCG):
    """What is missing to the best NDCG."""

    greater_is_better = False

    def per_query(self, *args, **kwargs):
        return 1.0 - super().per_query(*args, **kwargs)


def test_the_axis_says_if_lower_is_better(ragged, scores):
    _, y, groups = ragged
    display = RankingCurveDisplay.from_predictions(
        y, scores, groups, measure=Regret(), confidence=0.9, random_state=0
    )
    assert display.ax_.get_ylabel() == "Mean ndcg@k (lower is better)"
    noise, good = (line.get_ydata() for line in display.lines_)
    assert (good < noise).all()
    for name, curve in display.curves.items():
        low, high = display.intervals[name].T
        assert ((low <= curve) & (curve <= high)).all()


def test_a_ranker_drawn_on_part_of_its_training_queries_is_reported(ragged):
    X, y, groups = ragged
    ranker = SubsetRegression().fit(X, y, groups)
    with pytest.warns(QueryLeakageWarning):
        RankingCurveDisplay.from_estimators({"r": ranker}, X[5:], y[5:], groups[5:])


def test_labels_name_axes_and_rankers(ragged, scores):
    _, y, groups = ragged
    display = RankingCurveDisplay.from_predictions(y, scores, groups, measure="err")
    assert display.ax_.get_xlabel() == "Cut-off k"
    assert display.ax_.get_ylabel() == "Mean err@k"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["noise", "good"]


def test_plot_draws_on_given_axes_and_returns_the_display(ragged, scores):
    import matplotlib.pyplot as plt

    _, y, groups = ragged
    figure, (left, right) = plt.subplots(1, 2)
    display = RankingCurveDisplay.from_predictions(y, scores, groups, ax=left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert display.plot(ax=right, linestyle=":") is display
    assert display.ax_ is right
    assert {line.get_linestyle() for line in display.lines_} == {":"}


def test_band_holds_the_curve_and_grows_with_confidence(ragged, scores):
    _, y, groups = ragged
    widths = []
    for confidence in (0.5, 0.95):
        display = RankingCurveDisplay.from_predictions(
            y, scores, groups, confidence=confidence, random_state=0
        )
        low, high = display.intervals["good"].T
        assert (low <= display.curves["good"]).all()
        assert (display.curves["good"] <= high).all()
        assert len(display.ax_.collections) == len(scores)
        drawn = display.ax_.collections[1].get_paths()[0].vertices[:, 1]
        assert drawn.min() == low.min()
        assert drawn.max() == high.max()
        widths.append((high - low).mean())
    assert widths[0] < widths[1]


def test_queries_come_from_the_index_of_y_and_weights_count(ragged, scores):
    pd = pytest.importorskip("pandas")
    _, y, groups = ragged
    weight = np.where(groups < 10, 1.0, 3.0)
    index = pd.Index(groups, name="qid")
    display = RankingCurveDisplay.from_predictions(
        pd.Series(y, index=index), scores, k=[5], sample_weight=weight
    )
    expected = ndcg_score(y, scores["good"], groups=groups, k=5, sample_weight=weight)
    np.testing.assert_allclose(display.curves["good"], [expected])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "kendall"}, "no cut-off"),
        ({"measure": NDCG(k=5)}, "has a cut-off already"),
        ({"k": [3, 2]}, "increasing"),
        ({"k": [0, 1]}, "from 1 on"),
        ({"k": [0.5]}, "integers"),
        ({"confidence": 0.9, "sample_weight": 1.0}, "sample_weight"),
    ],
)
def test_bad_options_are_named(ragged, scores, options, message):
    _, y, groups = ragged
    with pytest.raises(ValueError, match=message):
        RankingCurveDisplay.from_predictions(y, scores, groups, **options)


def test_bad_scores_are_named(ragged):
    _, y, groups = ragged
    with pytest.raises(TypeError, match="y_scores must be a dict"):
        RankingCurveDisplay.from_predictions(y, y, groups)
    with pytest.raises(ValueError, match="y_scores is empty"):
        RankingCurveDisplay.from_predictions(y, {}, groups)
    with pytest.raises(ValueError, match=r"y_scores\['a'\]"):
        RankingCurveDisplay.from_predictions(y, {"a": y[1:]}, groups)


def test_a_measure_object_keeps_its_options(ragged, scores):
    _, y, groups = ragged
    measure = AP(relevance_level=2)
    display = RankingCurveDisplay.from_predictions(y, scores, groups, measure=measure)
    assert "rel=2" in display.measure_name
    assert measure.k is None


def test_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = RankingCurveDisplay(k=[1], curves={"a": [0.5]}, measure_name="ndcg")
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        display.plot()


def test_drawing_warns_of_nothing(ragged, scores):
    _, y, groups = ragged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = RankingCurveDisplay.from_predictions(y, scores, groups, k=[1])
        display.figure_.canvas.draw()
