"""What happens after every iteration."""

import numpy as np
import pytest

from skrank._monitor import Monitor, PrintProgress
from skrank.datasets import make_ranking
from skrank.rankers import RankNet


def test_keeps_the_best_and_waits():
    values = iter([0.2, 0.5, 0.4, 0.5, 0.3])
    monitor = Monitor(lambda params: next(values), patience=3)
    stops = [monitor(np.array([float(i)]), i, 0.0) for i in range(1, 6)]
    assert stops == [False, False, False, False, True]
    assert monitor.best_iteration == 2
    assert monitor.best_state.tolist() == [2.0]
    assert monitor.curve == [0.2, 0.5, 0.4, 0.5, 0.3]


def test_best_state_are_a_copy():
    monitor = Monitor(lambda params: 1.0)
    params = np.zeros(2)
    monitor(params, 1, 0.0)
    params += 5
    assert monitor.best_state.tolist() == [0.0, 0.0]


def test_nothing_to_do():
    assert not Monitor().needed
    assert not Monitor()(np.zeros(1), 1, 0.0)
    assert Monitor(report=[print]).needed


def test_every_report_hears_of_every_iteration():
    values, first, second = iter([0.5, 0.4, 0.3]), [], []

    def ask_to_stop(info):
        first.append(info["iteration"])
        return info["iteration"] == 1

    monitor = Monitor(
        lambda params: next(values),
        patience=2,
        report=[ask_to_stop, lambda info: second.append(info["iteration"])],
    )
    # The first stop is asked for by a report, the second comes from patience.
    stops = [monitor(np.zeros(1), i, 0.0) for i in (1, 2, 3)]
    assert stops == [True, False, True]
    assert first == second == [1, 2, 3]


def test_progress_thins_out(capsys):
    progress = PrintProgress("RankNet", 1)
    for iteration in range(1, 121):
        progress({"iteration": iteration, "objective": 0.5, "validation": 0.25})
    lines = capsys.readouterr().out.splitlines()
    shown = [int(line.split()[2]) for line in lines]
    assert shown == [1, 2, 5, 10, 20, 50, 100]
    assert all(line.endswith("validation 0.2500") for line in lines)


def test_callbacks_of_scikit_learn_see_iterations():
    callback = pytest.importorskip("sklearn.callback")

    class Count:
        def __init__(self):
            self.names = []

        def setup(self, estimator, context):
            self.names.append("setup")

        def teardown(self, estimator, context):
            self.names.append("teardown")

        def on_fit_task_begin(self, estimator, context, **kwargs):
            self.names.append("begin")

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.names.append("end")

    count = Count()
    assert isinstance(count, callback.FitCallback)
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    ranker = RankNet().set_callbacks(count).fit(X, y, groups)
    assert count.names[0] == "setup"
    assert count.names[-1] == "teardown"
    assert count.names.count("begin") >= ranker.n_iter_
