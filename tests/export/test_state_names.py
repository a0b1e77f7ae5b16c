"""Model files hold what a class learns, under the names that it gives to that."""

import ast
import inspect
import io
import textwrap

import numpy as np
import pytest
from _saved import ENERGY_X, X, Y, class_names, saved_of, score
from _tamper import read, write
from sklearn.base import clone
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skrank.aggregation import CombMNZ
from skrank.energies import EmbeddingEnergy, MLPEnergy
from skrank.export import load_model, save_model, to_json
from skrank.export._allowed import SKLEARN_CLASSES, class_of_name
from skrank.export._state_names import LISTED, check_state_name, is_learned_name
from skrank.rankers import RankSVM

# Names of scikit-learn that are there in a fit alone, that hold code of the user, or
# that every transformer may have.
_OTHERS = {
    "_callback_fit_ctx",
    "_skl_callbacks",
    "_skl_callbacks_to_teardown",
    "_sklearn_output_config",
}


def edited(model, change=None, **state):
    """Return the content of a model file with a changed state."""
    content = io.BytesIO()
    save_model(model, content)
    document, members = read(content)
    document["model"]["state"].update(state)
    if change is not None:
        change(document["model"])
    content = io.BytesIO()
    write(content, document, members)
    return content.getvalue()


def fitted(name):
    return next(saved_of(name)).model


@pytest.mark.parametrize("name", SKLEARN_CLASSES)
def test_the_names_that_scikit_learn_gives_are_listed(name):
    cls = class_of_name(name)
    assigned = set()
    for base in cls.__mro__:
        if base.__module__.startswith("sklearn."):
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            assigned |= {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            }
    odd = {n for n in assigned - {*cls._get_param_names()} if not is_learned_name(n)}
    assert odd - _OTHERS <= LISTED.get(cls, {}).keys()


@pytest.mark.parametrize("name", ["_metadata_request", "extra", "_extra", "_get_tags"])
@pytest.mark.parametrize("value", [5, "x", [], None])
@pytest.mark.parametrize("model", [RankSVM(), StandardScaler(), CombMNZ()], ids=str)
def test_other_names_are_refused(model, name, value):
    with pytest.raises(ValueError, match=f"learns no attribute '{name}'"):
        load_model(edited(model, **{name: value}))


# A measure of a function cannot be saved.
@pytest.mark.parametrize(
    "name", [n for n in class_names() if n != "skrank.metrics.FunctionMeasure"]
)
def test_every_class_refuses_names_that_it_does_not_learn(name):
    model = fitted(name)
    for odd in ("rank_by", "_estimator_type", "_metadata_request"):
        with pytest.raises(ValueError, match=f"'{odd}'"):
            load_model(edited(model, **{odd: True}))


def test_a_parameter_is_no_learned_attribute():
    with pytest.raises(ValueError, match="StandardScaler learns no attribute 'copy'"):
        load_model(edited(StandardScaler().fit(X), copy=False))


def test_attributes_of_the_user_are_refused_when_saving():
    model = RankSVM()
    model.note = "mine"
    with pytest.raises(
        TypeError, match=r"RankSVM\.note cannot be saved: RankSVM learns"
    ):
        save_model(model, io.BytesIO())


@pytest.mark.parametrize("name", ["feature_names_in_", "n_features_in_", "classes_"])
def test_what_a_pipeline_computes_is_refused(name):
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=f"'{name}' of Pipeline is computed"):
        load_model(edited(model, **{name: True}))


def test_properties_that_can_be_set_may_be_learned():
    class Settable:
        """A class that looks at what is learned when it is set."""

        @property
        def learned_(self):
            return 1

        @learned_.setter
        def learned_(self, value):
            pass

    check_state_name(Settable, "learned_")


@pytest.mark.parametrize("cls", [Pipeline, FeatureUnion])
def test_a_pipeline_learns_nothing_itself(cls):
    model = cls([("s", StandardScaler())]).fit(X)
    with pytest.raises(ValueError, match="learns no attribute 'other_'"):
        load_model(edited(model, other_=1))


def test_the_output_that_was_set_is_kept():
    model = StandardScaler().set_output(transform="pandas").fit(X)
    loaded = load_model(edited(model))
    assert list(loaded.transform(X).columns) == ["x0", "x1", "x2", "x3"]
    for odd in (5, {"type": "dict", "items": [["transform", "x"]]}, None):
        with pytest.raises(ValueError, match="_sklearn_output_config must be a dict"):
            load_model(edited(model, _sklearn_output_config=odd))


@pytest.mark.parametrize("odd", [10**9, "x", None, 1])
def test_an_indicator_takes_masks_or_does_not(odd):
    model = MissingIndicator().fit(np.where(X > 0.5, np.nan, X))
    with pytest.raises(ValueError, match="_precomputed must be True or False, got"):
        load_model(edited(model, _precomputed=odd))


def test_an_indicator_knows_its_columns():
    model = MissingIndicator().fit(np.where(X > 0.5, np.nan, X))
    with pytest.raises(ValueError, match="_n_features must be 4, got 5"):
        load_model(edited(model, _n_features=5))


def test_the_indicator_of_an_imputer_takes_masks():
    rows = np.where(X > 0.5, np.nan, X)
    model = SimpleImputer(add_indicator=True).fit(rows)
    found = load_model(edited(model)).transform(rows)
    np.testing.assert_array_equal(found, model.transform(rows))

    def take_values(document):
        document["state"]["indicator_"]["state"]["_precomputed"] = False

    with pytest.raises(ValueError, match="indicator_ must be one that takes masks"):
        load_model(edited(model, take_values))
    with pytest.raises(ValueError, match="indicator_ must be a MissingIndicator"):
        load_model(edited(model, indicator_=5))


@pytest.mark.parametrize("cls", [Nystroem, RBFSampler])
@pytest.mark.parametrize("odd", [1e300, 4, None, True])
def test_the_columns_of_a_kernel_are_counted(cls, odd):
    model = cls(n_components=3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="_n_features_out must be"):
        load_model(edited(model, _n_features_out=odd))


def test_vectors_of_labels_are_as_long_as_those_of_documents():
    network = MLPEnergy((4,), n_outputs=2)
    model = EmbeddingEnergy(network).setup(X, np.random.RandomState(0), Y)
    assert score(load_model(edited(model))).shape == (len(ENERGY_X),)
    model.origin_ = np.zeros((len(model.labels_), 7))
    with pytest.raises(ValueError, match=r"origin_ must be an array of shape \(n, 2\)"):
        load_model(edited(model))


@pytest.mark.parametrize(
    "name", ["EmbeddingEnergy", "KernelEnergy", "NadarayaWatsonEnergy"]
)
@pytest.mark.parametrize("state", [{"items": []}, {"other_": 1}, {"member": "x"}])
def test_energies_lack_nothing_of_what_they_have_learned(name, state):
    model = fitted(f"skrank.energies.{name}")
    with pytest.raises(ValueError, match=r"learns no attribute|is missing"):
        load_model(edited(model, lambda document: document.update(state=state)))


def test_a_pair_has_one_relevance():
    model = fitted("skrank.click.InteractionModel")
    model.query_ = model.query_[::-1].copy()
    with pytest.raises(ValueError, match="query_ must be ids that make each pair"):
        load_model(edited(model))


@pytest.mark.parametrize("name", ["LMDirichlet", "BM25F", "LSI", "RM3", "BooleanModel"])
@pytest.mark.parametrize("odd", [["x"], "x", 5, {"type": "tuple", "items": ["x"]}])
def test_an_index_is_no_list_of_texts(name, odd):
    model = fitted(f"skrank.text.{name}")
    with pytest.raises(ValueError, match=f"{name}: index_ must be an InvertedIndex"):
        load_model(edited(model, index_=odd))


def test_weights_of_no_run_are_refused():
    def without_weights(document):
        document["params"]["weights"] = []

    with pytest.raises(ValueError, match="weights must hold one number per run"):
        load_model(edited(CombMNZ(), without_weights))


def test_an_export_names_the_step_that_has_not_been_fitted():
    model = make_pipeline(MinMaxScaler(), RankSVM())
    groups = np.zeros(len(X))
    model.fit(X, Y, ranksvm__groups=groups)
    model.steps[0] = ("minmaxscaler", clone(model[0]))
    with pytest.raises(ValueError, match="This MinMaxScaler instance is not fitted"):
        to_json(model)
