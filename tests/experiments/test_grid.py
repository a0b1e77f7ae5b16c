"""Grids of rankers, seeds, and the keys of trainings."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.energies import MLPEnergy
from skrank.experiments import RankerGrid
from skrank.experiments._described import described
from skrank.experiments._grid import (
    draws_numbers,
    key_of,
    one_line,
    plain,
    seeded,
    takes_validation,
)
from skrank.losses import ListNetLoss
from skrank.metrics import AP
from skrank.rankers import EnergyRanker, LambdaRank, RankSVM, SubsetRegression


def test_all_choices_of_a_grid():
    grid = RankerGrid(RankSVM(margin=2.0), {"alpha": [1, 2], "hinge": ["linear"]})
    found = grid.configurations()
    assert [c.params for c in found] == [
        {"alpha": 1, "hinge": "linear"},
        {"alpha": 2, "hinge": "linear"},
    ]
    assert [c.estimator.alpha for c in found] == [1, 2]
    assert {c.estimator.margin for c in found} == {2.0}
    assert grid.estimator.alpha == RankSVM().alpha


def test_several_grids_and_none():
    grids = [{"alpha": [1.0]}, {"margin": [2.0, 3.0]}]
    found = RankerGrid(RankSVM(), grids).configurations()
    assert [c.params for c in found] == [{"alpha": 1}, {"margin": 2}, {"margin": 3}]
    assert [c.params for c in RankerGrid(RankSVM()).configurations()] == [{}]


def test_parts_and_their_parameters():
    grid = {"loss": [ListNetLoss()], "loss__gain": ["linear"], "energy": [MLPEnergy()]}
    (found,) = RankerGrid(EnergyRanker(), grid).configurations()
    assert found.estimator.loss.gain == "linear"
    assert grid["loss"][0].gain == ListNetLoss().gain


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (RankSVM(), {"alhpa": [1]}, "grid must be .*'alhpa'"),
        (
            RankSVM(),
            {"alpha": []},
            "grid must be .* at least one value.*'alpha'",
        ),
        (RankSVM(), {"alpha": 1.0}, "grid must be .* sequences .* unlike .* 'alpha'"),
        (RankSVM(), {"alpha": np.array(1)}, "grid must be .* unlike that of 'alpha'"),
        (RankSVM(), [{}, {"hinge": "linear"}], "grid must be .* unlike .* 'hinge'"),
        (RankSVM(), {"solver__max_iterations": [1]}, "grid: "),
        (RankSVM(), 3, "grid must be a mapping"),
        (RankSVM, None, "estimator must be an estimator with fit"),
        (StandardScaler(), None, "estimator must score documents"),
    ],
)
def test_mistakes_of_grids(estimator, grid, message):
    with pytest.raises((TypeError, ValueError), match=message):
        RankerGrid(estimator, grid).configurations()


def test_seeds_that_are_not_set():
    assert draws_numbers(LambdaRank())
    assert not draws_numbers(LambdaRank(random_state=3))
    assert not draws_numbers(SubsetRegression())
    assert seeded(LambdaRank(), 2).random_state == 2
    assert seeded(LambdaRank(random_state=3), 2).random_state == 3
    inside = make_pipeline(StandardScaler(), LambdaRank())
    assert seeded(inside, 2)[-1].random_state == 2


def test_who_takes_validation_queries():
    assert takes_validation(LambdaRank())
    assert takes_validation(make_pipeline(StandardScaler(), LambdaRank()))
    assert not takes_validation(Ridge())


def double(x):
    return 2 * x


def scaled(factor):
    return lambda x: factor * x


DIFFERENT = [
    RankSVM(),
    RankSVM(alpha=1),
    RankSVM(alpha=1.0 + 2**-50),
    LambdaRank(),
    EnergyRanker(),
    EnergyRanker(loss=ListNetLoss()),
    EnergyRanker(loss=ListNetLoss(gain="exp2")),
    make_pipeline(RankSVM()),
    1,
    1.5,
    True,
    "1",
    None,
    [1, 2],
    [2, 1],
    {"a": 1},
    {"a": 2},
    {1, 2},
    np.array([1, 2]),
    np.array([1.0, 2.0]),
    np.array([[1, 2]]),
    sparse.csr_array([[0, 1]]),
    sparse.csr_array([[1, 0]]),
    double,
    scaled(1),
    scaled(2),
    partial(double, 1),
    partial(double, 2),
    np.log1p,
    np.log2,
    RankSVM,
    float("nan"),
    float("inf"),
]


def test_different_content_has_different_keys():
    keys = [key_of({"estimator": value}) for value in DIFFERENT]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("value", DIFFERENT, ids=lambda value: repr(value)[:20])
def test_copies_have_the_same_key(value):
    import copy

    other = value if callable(value) else copy.deepcopy(value)
    assert key_of({"estimator": other}) == key_of({"estimator": value})


def test_threads_and_messages_do_not_change_the_key():
    assert described(RankSVM(n_jobs=2, verbose=1)) == described(RankSVM())


def test_the_key_is_the_same_in_another_process():
    code = (
        "from skrank.experiments._grid import key_of; from skrank.rankers import "
        "RankSVM; print(key_of({'a': RankSVM(), 'b': {'x', 'y', 'z'}}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert found.stdout.strip() == key_of({"a": RankSVM(), "b": {"x", "y", "z"}})


def test_parameters_in_reports():
    assert plain(np.float64(0.5)) == 0.5
    assert plain(np.int64(2)) == 2
    assert plain(float("inf")) == "inf"
    assert plain(RankSVM(alpha=1.0)) == "RankSVM(alpha=1.0)"
    assert one_line({"alpha": 0.1, "hinge": "linear"}) == "alpha=0.1 hinge=linear"


def test_what_a_measure_states_for_itself_decides_but_its_name():
    first, second = AP(), AP()
    assert described(first) == described(second)
    second.short_name = "mine"
    assert described(first) == described(second)
    second.greater_is_better = False
    assert described(first) != described(second)


@pytest.mark.parametrize("grid", [{1: [2]}, {None: [2]}, {("a", "b"): [1]}])
def test_parameters_of_grids_are_named_by_texts(grid):
    with pytest.raises(
        ValueError, match=r"^RankerGrid: grid must be .* names of param"
    ):
        RankerGrid(RankSVM(), grid).configurations()
