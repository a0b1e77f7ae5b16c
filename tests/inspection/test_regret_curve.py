"""Curves of online rankers: what is drawn is what the simulations measured."""

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.inspection import RegretCurveDisplay
from skrank.online import PDGD, DuelingBanditRanker, simulate_online

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

ROWS = make_ranking(n_queries=10, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def runs():
    options = {"n_impressions": 40, "checkpoints": [5, 20]}
    return {
        "PDGD": [
            simulate_online(PDGD(), *ROWS, **options, random_state=seed)
            for seed in range(3)
        ],
        "bandit": simulate_online(
            DuelingBanditRanker(), *ROWS, **options, random_state=0
        ),
    }


def test_lines_are_means_over_runs(runs):
    display = RegretCurveDisplay.from_runs(runs)
    lines = display.offline_lines_
    assert [line.get_label() for line in lines] == ["PDGD", "bandit"]
    np.testing.assert_array_equal(lines[0].get_xdata(), [0, 5, 20, 40])
    expected = np.mean([run.offline for run in runs["PDGD"]], axis=0)
    np.testing.assert_allclose(lines[0].get_ydata(), expected)
    np.testing.assert_allclose(lines[1].get_ydata(), runs["bandit"].offline)
    regret = display.regret_lines_[0]
    np.testing.assert_array_equal(regret.get_xdata(), np.arange(1, 41))
    expected = np.mean([run.cumulative_regret for run in runs["PDGD"]], axis=0)
    np.testing.assert_allclose(regret.get_ydata(), expected)
    assert regret.get_color() == lines[0].get_color()
    left, right = display.axes_
    assert len(left.collections) == len(right.collections) == 1
    assert left.get_ylabel() == "Offline ndcg@10"
    assert right.get_ylabel() == "Cumulative regret in ndcg@10"


def test_long_runs_are_thinned():
    run = simulate_online(PDGD(), *ROWS, n_impressions=1200, random_state=0)
    display = RegretCurveDisplay.from_runs({"PDGD": run})
    steps = display.regret_lines_[0].get_xdata()
    assert len(steps) == 500
    assert steps[0] == 1
    assert steps[-1] == 1200
    expected = run.cumulative_regret[steps.astype(int) - 1]
    np.testing.assert_array_equal(display.regret_lines_[0].get_ydata(), expected)


def test_axes_can_be_given(runs):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2)
    display = RegretCurveDisplay.from_runs(runs, axes=axes, linewidth=3)
    assert display.axes_.tolist() == axes.tolist()
    assert display.offline_lines_[0].get_linewidth() == 3
    with pytest.raises(TypeError, match="axes must be two matplotlib axes or None"):
        RegretCurveDisplay.from_runs(runs, axes=axes[0])


def test_wrong_runs_are_refused(runs):
    with pytest.raises(TypeError, match=r"ax must be matplotlib axes .* got \[1\]"):
        RegretCurveDisplay.from_runs(runs, axes=[[1], [2, 3]])
    other = simulate_online(PDGD(), *ROWS, n_impressions=9, random_state=0)
    with pytest.raises(ValueError, match=r"runs\['a'\] differ in their checkpoints"):
        RegretCurveDisplay.from_runs({"a": [*runs["PDGD"], other]})
    short = simulate_online(
        PDGD(), *ROWS, n_impressions=9, measure="mrr", random_state=0
    )
    with pytest.raises(ValueError, match="runs must have one measure, got"):
        RegretCurveDisplay.from_runs({"a": other, "b": short})
    with pytest.raises(TypeError, match="must be what simulate_online returned"):
        RegretCurveDisplay.from_runs({"a": 5})
    with pytest.raises(TypeError, match="runs must be a dict"):
        RegretCurveDisplay.from_runs([other])
    with pytest.raises(ValueError, match="runs is empty"):
        RegretCurveDisplay.from_runs({})
    none = simulate_online(PDGD(), *ROWS, n_impressions=9, callback=lambda now: True)
    with pytest.raises(ValueError, match=r"runs\['a'\] has no impression"):
        RegretCurveDisplay.from_runs({"a": none})


def test_arrays_that_do_not_fit_are_refused():
    data = {
        "impressions": {"a": [0, 5]},
        "offline": {"a": [[0.2, 0.4]]},
        "steps": {"a": [1, 2, 3]},
        "regret": {"a": [[0.1, 0.2, 0.3]]},
        "measure_name": "ndcg@10",
    }
    RegretCurveDisplay(**data).plot()
    with pytest.raises(ValueError, match=r"regret\['a'\] must be an array of shape"):
        RegretCurveDisplay(**data | {"regret": {"a": [[0.1, 0.2]]}}).plot()
    with pytest.raises(ValueError, match="regret must have the names of offline"):
        RegretCurveDisplay(**data | {"regret": {}}).plot()
    empty = {name: {} for name in ("impressions", "offline", "steps", "regret")}
    with pytest.raises(ValueError, match="offline is empty"):
        RegretCurveDisplay(**empty, measure_name="ndcg").plot()
