"""The estimate of the time that trainings take."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from skrank.datasets import make_ranking
from skrank.experiments import Experiment, RankerGrid, make_folds
from skrank.experiments import _time_left as module
from skrank.experiments._time_left import TimeLeft
from skrank.rankers import RankSVM, SubsetRegression


@dataclass(frozen=True, eq=False)
class _Training:
    """What the estimate looks at of a training."""

    ranker: str
    params: dict


def training(ranker, **params):
    return _Training(ranker, params)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(module.time, "perf_counter", lambda: now.seconds)
    return now


def test_each_ranker_is_expected_to_take_what_it_took(clock):
    fast = [training("fast", alpha=a) for a in (1, 2)] * 3
    slow = [training("slow", depth=d) for d in (1, 2)] * 3
    left = TimeLeft([*fast, *slow])
    assert left.estimate() is None
    left.ended(fast[0], 1.0)
    clock.seconds = 1.0
    assert left.estimate() is None  # nothing is known of the slow one
    left.ended(slow[0], 100.0)
    clock.seconds = 101.0
    assert left.estimate() == pytest.approx(5 * 1.0 + 5 * 100.0)
    left.ended(slow[2], 100.0)
    left.ended(slow[1], 300.0)
    clock.seconds = 501.0
    assert left.estimate() == pytest.approx(5 * 1.0 + 1 * 100.0 + 2 * 300.0)


def test_what_is_not_fitting_and_several_at_a_time_count(clock):
    clock.seconds = 50.0
    left = TimeLeft([training("a")] * 4)
    left.ended(training("a"), 2.0)
    clock.seconds = 53.0  # reading the data has taken a second
    assert left.estimate() == pytest.approx(3 * 3.0)
    left.ended(training("a"), 2.0)  # at the same time
    assert left.estimate() == pytest.approx(2 * 1.5)


def test_trainings_of_earlier_runs_are_known(clock):
    left = TimeLeft([training("a", x=1)], {training("a", x=2): 7.0})
    assert left.estimate() == 7.0
    left.ended(training("a", x=1), 0.0)
    assert left.estimate() == 0.0


def test_an_experiment_tells_nothing_before_all_rankers_were_seen(tmp_path):
    folds = make_folds(*make_ranking(24, random_state=0), n_splits=3)
    rankers = {
        "a": RankerGrid(RankSVM(), {"alpha": [0.1, 1.0]}),
        "b": SubsetRegression(),
    }
    seen = []
    Experiment(rankers).run(folds, tmp_path, callback=seen.append)
    assert [p.seconds_left is None for p in seen] == [True, True] + [False] * 7
    assert seen[-1].seconds_left == 0
    seen.clear()
    rankers["a"].grid["alpha"].append(2.0)
    Experiment(rankers).run(folds, tmp_path, callback=seen.append)
    assert [p.total for p in seen] == [3] * 3
    assert seen[0].seconds_left > 0
