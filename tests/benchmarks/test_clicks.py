"""The benchmark of clicks: logs, intervals and the share of the gap."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks import clicks
from skrank.click import SimulatedUser
from skrank.datasets import make_ranking


@pytest.fixture(scope="module")
def log():
    train = make_ranking(n_queries=40, docs_per_query=(3, 20), random_state=0)
    user = SimulatedUser(examination="position", noise=0.5, max_grade=4)
    return clicks.make_log(train, user, 3, seed=0).sessions()


def test_every_list_is_shown_as_often_as_asked(log):
    sizes = np.bincount(log.groups)
    assert len(sizes) == 3 * 40
    assert_array_equal(sizes[:40], sizes[40:80])
    assert sizes.max() == clicks.SHOWN
    first = np.append(0, np.cumsum(sizes)[:-1])
    assert (log.positions[first] == 1).all()
    assert_array_equal(
        log.positions, np.arange(len(log.groups)) - first[log.groups] + 1
    )
    assert_array_equal(log.propensities, 1 / np.arange(1.0, 11.0))


def test_swaps_change_two_documents_of_a_list(log):
    moved = 0
    shown = log.swaps.document
    for s in range(40):
        rows = slice(log.swaps.ptr[s], log.swaps.ptr[s + 1])
        again = slice(log.swaps.ptr[s + 40], log.swaps.ptr[s + 41])
        assert set(shown[rows]) == set(shown[again])
        moved += int((shown[rows] != shown[again]).sum() in (2, 3, 4))
    assert moved > 10


def test_rates_are_means_over_sessions(log):
    train = make_ranking(n_queries=40, docs_per_query=(3, 20), random_state=0)
    user = SimulatedUser(examination="position", noise=0.5, max_grade=4)
    rates = clicks.make_log(train, user, 3, seed=0).rates()
    assert_allclose(rates.clicks, log.clicks.reshape(3, -1).mean(axis=0))
    assert_array_equal(np.tile(rates.grades, 3), log.grades)
    assert_array_equal(np.tile(rates.positions, 3), log.positions)


def test_the_gain_is_paired_and_the_gap_is_a_share():
    cell = {
        "RankSVM, naive": [0.5, 0.6],
        "RankSVM, true grades": [0.7, 0.8],
        "RankSVM, IPW, known": [0.59, 0.71],
    }
    gain, half, share = clicks.compared(cell, "RankSVM, IPW, known")
    assert_allclose([gain, share], [0.1, 0.5])
    assert_allclose(half, 12.706 * 0.01, rtol=1e-4)
    alone = clicks.compared({"UnbiasedLambdaMART": [0.5]}, "UnbiasedLambdaMART")
    assert np.isnan(alone).all()


@pytest.mark.parametrize(
    "name", ["RankSVM, IPW, swaps", "RankSVM, IPW, click by click"]
)
def test_contestants_learn_from_a_log(log, name):
    model = clicks.CONTESTANTS[name].train(log)
    assert np.isfinite(model.predict(log.X)).all()


def test_the_table_has_a_row_for_each_ranker():
    names = ["RankSVM, naive", "RankSVM, true grades"]
    cell = {name: [0.5, 0.7] for name in names}
    lines = clicks.table("MQ2008", {("MQ2008", "perfect", 0.1, 10): cell}, names)
    assert "perf.0.1×10" in lines
    assert [line.split(",")[1].split()[0] for line in lines.split("\n")[2:]] == [
        "naive",
        "true",
    ]
