"""What happens after every iteration."""

from dataclasses import replace

import numpy as np
import pytest

from skrank._monitor import Evaluator, Monitor, PrintProgress, figures_of
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.metrics import get_measure
from skrank.rankers import MART, SVMMAP, CoordinateAscent, PermuRank, RankNet


class Measured(Evaluator):
    """Evaluator whose values are given, for one set and one measure."""

    def __init__(self, values):
        super().__init__([get_measure("map")], lambda state, rows: np.zeros(0))
        self.values = iter(values)

    def __call__(self, state):
        return {"validation": {"map": next(self.values)}}


def test_keeps_the_best_and_waits():
    values = [0.2, 0.5, 0.4, 0.5, 0.3]
    monitor = Monitor(Measured(values), patience=3)
    stops = [monitor(np.array([float(i)]), i, 0.0) for i in range(1, 6)]
    assert stops == [False, False, False, False, True]
    assert monitor.best_iteration == 2
    assert monitor.best_state.tolist() == [2.0]
    assert monitor.curve == values
    assert monitor.curves == {"validation": {"map": values}}


def test_best_state_are_a_copy():
    monitor = Monitor(Measured([1.0]))
    params = np.zeros(2)
    monitor(params, 1, 0.0)
    params += 5
    assert monitor.best_state.tolist() == [0.0, 0.0]


def test_nothing_to_do():
    assert not Monitor().needed
    assert not Monitor()(np.zeros(1), 1, 0.0)
    assert Monitor(report=[print]).needed


def test_every_report_hears_of_every_iteration():
    first, second = [], []

    def ask_to_stop(info):
        first.append(info["iteration"])
        return info["iteration"] == 1

    monitor = Monitor(
        Measured([0.5, 0.4, 0.3]),
        patience=2,
        report=[ask_to_stop, lambda info: second.append(info["iteration"])],
    )
    # The first stop is asked for by a report, the second comes from patience.
    stops = [monitor(np.zeros(1), i, 0.0) for i in (1, 2, 3)]
    assert stops == [True, False, True]
    assert first == second == [1, 2, 3]


def rows_of_two_sets():
    """Two sets: one query with grades (1, 0), and two queries with (0, 1)."""
    single = GroupedRows(np.zeros((2, 1)), np.array([1.0, 0.0]), np.array([0, 2]))
    double = GroupedRows(
        np.zeros((4, 1)), np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 2, 4])
    )
    return GroupedRows.joined({"a": single, "b": double})


@pytest.mark.parametrize(
    ("measure", "rule", "expected"),
    [
        # Documents rank in the order of their rows: the relevant one of set a is first,
        # those of set b are second, where the reciprocal rank is a half.
        ("mrr", "last", 0.5),
        ("mrr", "mean", 0.75),
        ("mrr", "worst", 0.5),
        # Squared errors of the scores (2, 1): (1 + 1) / 2 and (4 + 0) / 2.
        ("mse", "last", 2.0),
        ("mse", "mean", 1.5),
        ("mse", "worst", 2.0),
    ],
)
def test_which_set_decides(measure, rule, expected):
    rows = rows_of_two_sets()
    evaluate = Evaluator(
        [get_measure(measure)],
        lambda state, rows: np.tile([2.0, 1.0], 3),
        validation=rows,
        rule=rule,
    )
    found = evaluate(None)
    first = 1.0
    assert found["a"] == {measure: pytest.approx(first)}
    assert evaluate.deciding(found) == pytest.approx(expected)


def test_a_set_without_defined_values_has_no_say():
    rows = rows_of_two_sets()
    rows = replace(rows, y=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    evaluate = Evaluator(
        [get_measure("mrr")],
        lambda state, rows: np.tile([2.0, 1.0], 3),
        validation=rows,
        rule="mean",
    )
    with pytest.warns(UserWarning, match="mrr"):
        found = evaluate(None)
    assert np.isnan(found["b"]["mrr"])
    assert evaluate.deciding(found) == 1.0
    evaluate(None)  # one warning is enough


def test_an_objective_that_may_rise_gives_way_to_the_measure():
    evals = {"validation": {"map": 0.5}, "training": {"map": 0.75, "mrr": 1.0}}
    info = {"iteration": 3, "objective": 0.125, "evals": evals}
    measures = ["training map 0.7500 mrr 1.0000", "validation map 0.5000"]
    assert figures_of({**info, "descends": False}) == measures
    assert figures_of({**info, "descends": True}) == [
        "objective        0.125",
        *measures,
    ]


def test_progress_thins_out(capsys):
    progress = PrintProgress("RankNet", 1)
    for iteration in range(1, 121):
        evals = {"validation": {"map": 0.25}}
        progress({"iteration": iteration, "objective": 0.5, "evals": evals})
    lines = capsys.readouterr().out.splitlines()
    shown = [int(line.split()[2]) for line in lines]
    assert shown == [1, 2, 5, 10, 20, 50, 100]
    assert all(line.endswith("validation map 0.2500") for line in lines)


@pytest.mark.parametrize(
    "ranker", [RankNet(), MART(n_estimators=12), SVMMAP()], ids=str
)
def test_the_progress_bar_of_scikit_learn(ranker, capfd):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    ranker.set_callbacks(callback.ProgressBar()).fit(X, y, groups)
    shown, errors = capfd.readouterr()
    assert f"{type(ranker).__name__} - fit" in shown
    assert "100%" in shown
    assert not errors


@pytest.mark.parametrize("ranker", [RankNet(), MART(n_estimators=12)], ids=str)
def test_callbacks_of_scikit_learn_see_iterations(ranker):
    callback = pytest.importorskip("sklearn.callback")

    class Count:
        def __init__(self):
            self.names, self.rows = [], []

        def setup(self, estimator, context):
            self.names.append("setup")

        def teardown(self, estimator, context):
            self.names.append("teardown")

        def on_fit_task_begin(self, estimator, context, **kwargs):
            self.names.append("begin")

        def on_fit_task_end(self, estimator, context, *, X=None, y=None):
            self.names.append("end")
            if X is not None:
                self.rows.append((X, y))

    count = Count()
    assert isinstance(count, callback.FitCallback)
    X, y, groups = make_ranking(n_queries=20, random_state=0)
    ranker = ranker.set_callbacks(count).fit(X, y, groups)
    assert count.names[0] == "setup"
    assert count.names[-1] == "teardown"
    # The fit is a task that holds the iterations.
    assert count.names.count("begin") == ranker.n_iter_ + 1
    assert count.names[1:3] == ["begin", "begin"]
    assert len(count.rows) == ranker.n_iter_ + 1
    for rows, grades in count.rows:
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(grades, y)


@pytest.mark.parametrize("cls", [SVMMAP, PermuRank, CoordinateAscent, RankNet])
def test_callbacks_cannot_write_into_the_parameters(cls):
    X, y, groups = make_ranking(n_queries=12, random_state=0)
    seen = []

    def spoil(info):
        seen.append(info["params"].copy())
        info["params"][:] = np.nan

    with pytest.raises(ValueError, match="destination is read-only"):
        cls(callback=spoil, random_state=0).fit(X, y, groups)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("measure", "grade", "message"),
    [
        ("err(max_grade=1)", 9.0, "^y_val holds grade 9 above max_grade=1"),
        ("ndcg(gain=linear)@3", 1e308, "^gain must be .* grade in y_val, got 1e"),
    ],
)
def test_errors_about_validation_grades_name_y_val(measure, grade, message):
    X, y, groups = make_ranking(n_queries=4, random_state=0)
    held = np.where(y == y.max(), grade, y)
    validation = {"X_val": X, "y_val": held, "groups_val": groups}
    ranker = RankNet(max_iter=2, validation_measure=measure)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, groups, **validation)


def test_errors_about_training_grades_name_y():
    rows = GroupedRows(np.zeros((2, 1)), np.array([9.0, 0.0]), np.array([0, 2]))
    measures = [get_measure("err(max_grade=1)")]
    evaluate = Evaluator(measures, lambda state, rows: rows.X[:, 0], training=rows)
    with pytest.raises(ValueError, match=r"^y holds grade 9 above max_grade=1"):
        evaluate(None)
