"""What is taken from the state of a saved ranker is missed by its name."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from _saved import GROUPS, X, Y, class_names, predict, saved_of
from _tamper import read, write
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from skrank.base import BaseRanker
from skrank.click import Sessions
from skrank.export import load_model, save_model
from skrank.export._allowed import class_of_name
from skrank.rankers import MART, GERank, QBRank, RandomForestRanker
from skrank.unbiased import InterventionPropensities, PropensityWeightedRanker

RANKERS = [
    name for name in class_names() if issubclass(class_of_name(name), BaseRanker)
]
# Words of NumPy about arrays that do not fit each other.
_OF_NUMPY = re.compile("broadcast|matmul|ufunc|out of bounds|reshape|concatenat")


def changed_states(document):
    """Yield the name of an attribute and the document with another state of it."""
    state = document["model"]["state"]
    for attribute in state:
        changed = copy.deepcopy(document)
        del changed["model"]["state"][attribute]
        yield attribute, changed
    for n in (state["n_features_in_"] - 1, state["n_features_in_"] + 1):
        changed = copy.deepcopy(document)
        changed["model"]["state"]["n_features_in_"] = n
        yield "", changed


def loaded_or_problem(path):
    """Return the model of a file, or None and why it was refused."""
    try:
        return load_model(path), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_states_are_refused_by_name_or_make_no_difference(name, tmp_path):
    path = tmp_path / "model"
    saved = next(saved_of(name))
    save_model(saved.model, path)
    document, members = read(path)
    expected = predict(saved.model).tobytes()
    for attribute, changed in changed_states(document):
        write(path, changed, members)
        model, problem = loaded_or_problem(path)
        if model is None:
            assert str(path) in problem
            assert attribute in problem
            assert not _OF_NUMPY.search(problem)
            continue
        if attribute:
            assert predict(model).tobytes() == expected, attribute
        else:
            with pytest.raises(ValueError, match="X has 4 features, but"):
                model.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_another_number_of_features_is_told_by_its_name(tmp_path):
    path = tmp_path / "model"
    save_model(
        GERank(query_features=(), max_iter=2, random_state=0).fit(X, Y, GROUPS), path
    )
    document, members = read(path)
    for n in (1, 3, 5):
        document["model"]["state"]["n_features_in_"] = n
        write(path, document, members)
        words = f"model is not .* GERank: n_features_in_ must be 4, the .* got {n}"
        with pytest.raises(ValueError, match=words) as caught:
            load_model(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cls", [QBRank, MART, RandomForestRanker])
def test_trees_of_categories_need_their_levels(cls, tmp_path):
    path = tmp_path / "model"
    rows = pd.DataFrame(X).assign(
        level=pd.Categorical(np.where(X[:, 0] > 0, "x", "y")),
    )
    rows.columns = rows.columns.astype(str)
    ranker = cls(n_estimators=2, random_state=0).fit(rows, Y, GROUPS)
    save_model(ranker, path)
    document, members = read(path)
    del document["model"]["state"]["encoder_"]
    write(path, document, members)
    words = f"{cls.__name__}: the attribute encoder_ is missing"
    with pytest.raises(ValueError, match=words):
        load_model(path)


def test_a_pipeline_predicts_no_infinity(tmp_path):
    path = tmp_path / "model"
    model = make_pipeline(PowerTransformer(), LinearRegression()).fit(X, Y)
    model[0]._scaler.mean_[:] = 1e308
    model[1].coef_[:] = 10.0
    save_model(model, path)
    with pytest.raises(ValueError, match="Pipeline makes numbers that are not finite"):
        load_model(path)


@pytest.mark.parametrize("name", ["background_", "mean_"])
def test_models_of_interaction_hold_no_number_that_overflows(name, tmp_path):
    path = tmp_path / "model"
    model = next(saved_of("skrank.click.InteractionModel")).model
    numbers = getattr(model, name)
    (numbers["click"] if name == "background_" else numbers)[:] = 1e308
    save_model(model, path)
    with pytest.raises(
        ValueError, match=f"InteractionModel: {name} must be finite, of"
    ):
        load_model(path)


PLACES = next(saved_of("skrank.unbiased.InterventionPropensities")).model


@pytest.mark.parametrize(
    ("name", "other", "told"),
    [
        ("propensities_", np.nan, "propensities_ must hold numbers from 1e-100 to"),
        ("propensities_", np.inf, "propensities_ must hold numbers from 1e-100 to"),
        ("propensities_", -1.0, "propensities_ must hold numbers from 1e-100 to"),
        ("propensities_", 0.0, "propensities_ must hold numbers from 1e-100 to"),
        ("propensities_", np.ones((2, 2)), "propensities_ must be an array of float64"),
        ("propensities_", np.ones(0), "propensities_ must hold one number for each"),
        ("propensities_", np.array([0.5, 1.0]), "propensities_ must be 1 for the fir"),
        ("propensities_", np.ones(2), "n_interventions_ must be an array of int32"),
        ("propensities_", "x", "propensities_ must be an array of float64"),
        ("propensities_", None, "propensities_ must be an array of float64"),
        ("propensities_", ..., "the attribute propensities_ is missing"),
        ("n_interventions_", -1, "n_interventions_ must be counts >= 0, the same for"),
        (
            "n_interventions_",
            np.triu(np.ones_like(PLACES.n_interventions_)),
            "n_interventions_ must be counts >= 0, the same for both orders of two",
        ),
        ("n_interventions_", "x", "n_interventions_ must be an array of int32"),
        ("n_interventions_", np.eye(1), "n_interventions_ must be an array of int32"),
        ("n_interventions_", ..., "the attribute n_interventions_ is missing"),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_within", [False, True])
def test_propensities_of_places_are_what_was_learned(
    name, other, told, is_within, tmp_path
):
    path, model = tmp_path / "model", copy.deepcopy(PLACES)
    if other is ...:
        delattr(model, name)
    elif isinstance(other, (int, float)):
        array = getattr(model, name)
        array[(-1,) * array.ndim] = other
    else:
        setattr(model, name, other)
    save_model(
        PropensityWeightedRanker(propensities=model) if is_within else model, path
    )
    with pytest.raises(ValueError, match=f"InterventionPropensities: .*{told}"):
        load_model(path)


@pytest.mark.parametrize("method", ["all_pairs", "pivot", "chain", "randomized"])
@pytest.mark.parametrize("n_positions", [1, 2])
def test_propensities_of_places_are_loaded(method, n_positions, tmp_path):
    sessions = Sessions.from_lists([0, 0, 1], [[0, 1], [1, 0], [0, 1]], [[1, 1]] * 3)
    model = InterventionPropensities(method, n_positions=n_positions).fit(sessions)
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model").propensities_
    np.testing.assert_array_equal(found, model.propensities_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [
        "DualLearningRanker",
        "PropensityWeightedRanker",
        "RegressionEM",
        "UnbiasedLambdaMART",
    ],
)
def test_rankers_of_clicks_have_no_negative_propensities(name, tmp_path):
    n_tried = 0
    for saved in saved_of(f"skrank.unbiased.{name}"):
        model = saved.model
        for attribute in ("propensities_", "examination_", "unclicked_ratios_"):
            if vars(model).get(attribute) is not None:
                changed = copy.deepcopy(model)
                setattr(changed, attribute, -vars(model)[attribute])
                save_model(changed, tmp_path / "model")
                told = f"{name}: {attribute} must be numbers >= 0"
                with pytest.raises(ValueError, match=told):
                    load_model(tmp_path / "model")
                n_tried += 1
    assert n_tried
