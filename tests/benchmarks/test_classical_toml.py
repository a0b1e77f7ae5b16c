"""The definition of the classical rankers says what the benchmark of LETOR does."""

import argparse
from pathlib import Path

import pytest
from sklearn.model_selection import ParameterGrid

pytest.importorskip("benchmarks", reason="the folder of benchmarks is not here")

from benchmarks.letor import SELECTION
from benchmarks.letor_rankers import ENTRIES
from skrank.cli._experiment_definition import definition_of

_FILE = Path(__file__).parents[2] / "benchmarks" / "classical.toml"
_ENTRIES = {entry.name: entry for entry in ENTRIES}


@pytest.fixture(scope="module")
def definition():
    args = argparse.Namespace(
        config=str(_FILE), max_bytes=None, rankers=[], grids=[], data=["MQ2008"]
    )
    return definition_of(args)


def test_every_row_has_the_grid_of_the_benchmark(definition):
    assert len(definition.rows) > 40
    for name, row in definition.rows.items():
        entry = _ENTRIES[name]
        rankers = [entry.make(**params) for params in ParameterGrid(entry.grid)]
        if entry.uses_validation:
            # By its own conventions, as benchmarks.letor has it, not by the preset.
            for ranker in rankers:
                ranker.set_params(validation_measure=SELECTION)
        expected = list(map(repr, rankers))
        assert [repr(c.estimator) for c in row.configurations()] == expected, name
        assert row.early_stopping == entry.uses_validation, name


def test_only_rankers_that_draw_numbers_have_several_seeds(definition):
    for name, row in definition.rows.items():
        is_random = "random_state" in row.estimator.get_params()
        assert (row.seeds is None and is_random) == _ENTRIES[name].seeds, name


def test_parameters_are_chosen_by_the_measure_of_the_benchmark(definition):
    assert definition.options["selection"] == SELECTION
    assert definition.options["preset"] == "letor4"
