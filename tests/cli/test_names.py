"""Rankers and their parts by the names that a user writes."""

from typing import Literal

import pytest
from sklearn.linear_model import Ridge

from skrank.cli import _names
from skrank.cli._errors import CommandError
from skrank.cli._io import Progress
from skrank.energies import BaseEnergy, MLPEnergy
from skrank.export import load_model
from skrank.losses import BaseLoss, ListNetLoss
from skrank.rankers import AdaRank, EnergyRanker, RankSVM, SubsetRegression
from skrank.solvers import SGD, Adam, BaseSolver


@pytest.mark.parametrize(
    ("kind", "base"),
    [("energy", BaseEnergy), ("loss", BaseLoss), ("solver", BaseSolver)],
)
def test_objects_of_a_kind_are_concrete_and_sorted(kind, base):
    found = _names.all_objects(kind)
    assert list(found) == sorted(found)
    assert found
    assert all(issubclass(cls, base) and cls is not base for cls in found.values())


def test_blanks_around_names_and_values_mean_nothing():
    settings = (" solver = Adam ", "solver__max_iter = 7", " loss =listnet")
    ranker = _names.make_ranker("EnergyRanker", settings)
    assert type(ranker.solver) is Adam
    assert ranker.solver.max_iter == 7
    assert type(ranker.loss) is ListNetLoss


def test_parts_are_constructed_by_name():
    settings = (
        "energy=mlpenergy",
        "energy__hidden_layer_sizes=(4,)",
        "loss=ListNetLoss",
        "solver=adam",
        "solver__learning_rate=0.5",
    )
    ranker = _names.make_ranker("energyranker", settings)
    assert type(ranker) is EnergyRanker
    assert type(ranker.energy) is MLPEnergy
    assert ranker.energy.hidden_layer_sizes == (4,)
    assert type(ranker.loss) is ListNetLoss
    assert type(ranker.solver) is Adam
    assert ranker.solver.learning_rate == 0.5


def test_regressors_are_constructed_by_name():
    ranker = _names.make_ranker(
        "SubsetRegression", ["estimator=Ridge", "estimator__alpha=2.0"]
    )
    assert type(ranker) is SubsetRegression
    assert type(ranker.estimator) is Ridge
    assert ranker.estimator.alpha == 2.0


class SteepLoss:
    """A class that has a short name."""

    short_name = "steep"
    aliases = ("abrupt",)


class OtherLoss(SteepLoss):
    """A class that has none of its own."""


KNOWN = {"SteepLoss": SteepLoss, "OtherLoss": OtherLoss}


@pytest.mark.parametrize("name", ["SteepLoss", "steeploss", "steep", "STEEP", "abrupt"])
def test_short_names_stand_for_their_class(name):
    assert _names.find(name, KNOWN, "loss") is SteepLoss


def test_unknown_names_come_with_a_suggestion():
    with pytest.raises(CommandError, match="unknown loss 'OterLoss'; did you mean 'Ot"):
        _names.find("OterLoss", KNOWN, "loss")


class Chooser:
    """Has a parameter of its own choices, one of which is the name of a solver too."""

    solver: BaseSolver | Literal["sgd", "paper"] | None = None

    def get_params(self, deep=False):
        return {"solver": self.solver}

    def set_params(self, **params):
        for name, value in params.items():
            if "__" not in name:
                self.solver = value


def test_choices_of_a_ranker_come_before_parts_of_that_name():
    ranker = Chooser()
    for name in ("sgd", "paper"):
        _names._set_params(ranker, {"solver": _names._Word(name)})
        assert type(ranker.solver) is str
        assert ranker.solver == name
    _names._set_params(ranker, {"solver": _names._Word("adam")})
    assert type(ranker.solver) is Adam


def test_a_part_that_has_settings_is_an_object():
    ranker = Chooser()
    params = {"solver": _names._Word("sgd"), "solver__momentum": 0.5}
    _names._set_params(ranker, params)
    assert type(ranker.solver) is SGD


def test_progress_begins_with_the_first_iteration(capsys):
    show = Progress(verbose=True).iteration("RankNet")
    for number in range(4):
        show({"iteration": number, "objective": float("nan") if not number else 1.0})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["skrank:", "RankNet:", "iteration", "1"],
        ["skrank:", "RankNet:", "iteration", "2"],
    ]


def test_progress_without_an_objective_shows_none(capsys):
    show = Progress(verbose=True).iteration("RandomForestRanker")
    evals = {"validation": {"ndcg@10": 0.5}}
    show({"iteration": 1, "objective": float("nan"), "evals": evals})
    line = "skrank: RandomForestRanker: iteration     1  validation ndcg@10 0.5000\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("normalize", ["none", "query-standard"])
def test_rankers_that_need_groups_are_given_them(ok, letor, tmp_path, normalize):
    model, data = tmp_path / "model", letor / "test.txt"
    ok(
        "fit", letor / "train.txt", "--ranker", "BoltzRank", "--save", model,
        "--set", "pairwise_potential=True", "--set", "n_samples=10",
        "--set", "max_iter=2", "--set", "solver=SGD", "--seed", "0",
        "--normalize", normalize,
    )  # fmt: skip
    scores = ok("predict", model, data).split()
    ranker = load_model(model)
    assert hasattr(ranker, "steps") == (normalize != "none")
    assert len(set(scores)) > 1


def test_settings_may_be_written_as_in_json():
    settings = ["a=true", "b=false", "c=null", "d=[1, 2]", "e=True"]
    expected = {"a": True, "b": False, "c": None, "d": [1, 2], "e": True}
    assert _names._parse_settings(settings) == expected


def test_a_ranker_inside_another_one_has_its_name():
    ranker = AdaRank()
    _names._set_params(ranker, {"estimator": _names._Word("RankSVM")})
    assert type(ranker.estimator) is RankSVM
