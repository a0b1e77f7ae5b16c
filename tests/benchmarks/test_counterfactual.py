"""The benchmark of counterfactual evaluation: logs, truths and figures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import counterfactual
from skrank.click import SimulatedUser
from skrank.datasets import make_ranking


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    def made(seed):
        X, y, groups = make_ranking(
            n_queries=60, docs_per_query=15, noise=0.2, random_state=seed
        )
        first = groups < 30
        return (X[first], y[first], groups[first]), (
            X[~first],
            y[~first],
            groups[~first],
        )

    monkeypatch.setitem(counterfactual.DATA, "see_also", made)


@pytest.fixture
def task():
    user = SimulatedUser("navigational", examination="position", max_grade=4)
    return counterfactual.make_task("see_also", user, 0)


def test_logs_show_the_best_places_of_drawn_lists(task):
    log = counterfactual.make_log(task, 3000, np.random.RandomState(0))
    assert (log.sizes == counterfactual.SHOWN).all()
    assert (task.groups[log.document] == log.query[log.session]).all()
    assert all(len(set(part)) == 10 for part in np.split(log.document, log.ptr[1:-1]))
    seen = np.bincount(log.document, counterfactual.PLACES[log.position - 1], 450)
    times = np.bincount(log.query, minlength=30)[task.groups]
    assert_allclose(seen / times, task.exposure, atol=0.2)
    clicks = np.bincount(log.document, log.click, 450).sum()
    assert_allclose(clicks, (seen * task.gamma).sum(), rtol=0.05)


def test_the_truth_is_the_mean_over_queries(task):
    truth, ratio = counterfactual.truths(task)
    order = np.argsort(-task.runs["new"].reshape(30, 15), axis=1)[:, :10]
    gains = np.take_along_axis(task.gamma.reshape(30, 15), order, axis=1)
    expected = (gains / np.log2(np.arange(2, 12))).sum(axis=1).mean()
    assert_allclose(truth[0], expected)
    assert_allclose(ratio[0], expected / (task.gamma.sum() / 30))


def test_figures_of_all_estimators_are_printed(capsys, tmp_path):
    arguments = ["--data", "see_also", "--seeds", "1", "--logs", "2", "--noise", "0"]
    file = tmp_path / "figures.json"
    counterfactual.main([*arguments, "--sessions", "200", "--json", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "see_also, navigational user, noise 0"
    names = [line[:16].strip() for line in lines[2:11]]
    assert names == list(counterfactual.CONTESTANTS)
    assert file.exists()


def test_bias_and_error_are_told_in_percent():
    rows = [(0.1, True, True), (-0.3, False, True)]
    found = counterfactual.summary(rows)
    expected = {"bias": -10, "RMSE": 100 * np.sqrt(0.05), "coverage": 50, "choice": 100}
    assert found == pytest.approx(expected)
