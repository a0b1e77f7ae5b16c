"""What the docstrings of rankers promise for every member of a family."""

import inspect
import itertools

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank.base import BaseRanker
from skrank.datasets import make_ranking
from skrank.discovery import all_objects
from skrank.energies import KernelEnergy, LinearEnergy, NadarayaWatsonEnergy
from skrank.losses import HingeLoss, ListMLELoss, YetiRankLoss
from skrank.rankers import (
    MART,
    AdaRank,
    AssociationRuleRanker,
    BoostedRanker,
    EnergyRanker,
    LambdaMART,
    LambdaRank,
    NestedRanker,
    PRank,
    RankNet,
    RankSVM,
    SigmoidRanker,
    StructRank,
    SubsetRegression,
)
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.rankers._rounds import BaseAdditiveRanker
from skrank.solvers import LBFGS, Adam

RANKERS = all_objects("ranker")
ADDITIVE = {"iteration", "objective", "descends"}
ENERGY = ADDITIVE | {"params", "energy", "data"}
MEASURED = {"evals", "validation"}


def family(base):
    return [name for name, cls in RANKERS.items() if issubclass(cls, base)]


@pytest.fixture(scope="module")
def graded():
    return make_ranking(n_queries=12, n_features=6, n_informative=4, random_state=0)


def entries_told(name, data, **size):
    """Entries of the dicts that a callback gets, with validation queries."""
    seen = []
    X, y, groups = data
    params = RANKERS[name]._variants()[0] | size | {"callback": seen.append}
    ranker = RANKERS[name](**params, random_state=0)
    ranker.fit(X, y, groups, X_val=X, y_val=y, groups_val=groups)
    return {frozenset(info) for info in seen}


@pytest.mark.parametrize("name", family(BaseEnergyRanker))
@pytest.mark.filterwarnings("ignore")
def test_callbacks_of_energy_rankers(name, graded):
    assert entries_told(name, graded, max_iter=2) == {frozenset(ENERGY | MEASURED)}


@pytest.mark.parametrize("name", family(BaseAdditiveRanker))
def test_callbacks_of_additive_rankers(name, graded):
    told = entries_told(name, graded, n_estimators=2)
    assert told == {frozenset(ADDITIVE | MEASURED)}


@pytest.mark.parametrize("name", family(BaseEnergyRanker) + family(BaseAdditiveRanker))
def test_docstrings_name_what_callbacks_get(name):
    doc = " ".join(inspect.getdoc(RANKERS[name]).split())
    entry = doc[doc.index("callback : callable") :]
    entry = entry[: entry.index("training stops")]
    expected = ENERGY if name in family(BaseEnergyRanker) else ADDITIVE
    for key in expected | MEASURED:
        assert f"``{key}``" in entry


@pytest.mark.parametrize("name", RANKERS)
def test_docstrings_name_preferences(name):
    cls = RANKERS[name]
    takes = "preferences" in inspect.signature(cls.fit).parameters
    assert takes == cls._takes_preferences
    assert ("preferences=" in inspect.getdoc(cls)) == takes
    assert ("preferences :" in inspect.getdoc(cls.fit)) == takes


def test_shape_of_coefficients(graded):
    """A kernel has one coefficient per landmark, and no more landmarks than rows."""
    n_rows, n_features = graded[0].shape
    assert RankSVM().fit(*graded).coef_.shape == (n_features,)
    assert EnergyRanker(LinearEnergy()).fit(*graded).coef_.shape == (n_features,)
    for ranker in (
        RankSVM(kernel="rbf", n_components=9, random_state=0),
        EnergyRanker(KernelEnergy(n_components=9), HingeLoss(), solver="adam"),
    ):
        assert ranker.fit(*graded).coef_.shape == (9,)
        assert "(n_features,) or (n_components,)" in inspect.getdoc(type(ranker))
    all_rows = RankSVM(kernel="rbf", n_components=10 * n_rows, solver="adam")
    assert all_rows.fit(*graded).coef_.shape == (n_rows,)


def test_damping_reaches_the_loss(graded):
    _, loss = LambdaRank(damping=0.25)._parts()
    assert loss.damping == LambdaMART(damping=0.25)._loss().damping == 0.25
    plain, damped = (
        LambdaRank(damping=damping, max_iter=5, random_state=0).fit(*graded).params_
        for damping in (None, 0.01)
    )
    assert not np.allclose(plain, damped)


def test_fit_names_the_argument_that_it_does_not_know(graded):
    with pytest.raises(TypeError, match=r"LambdaMART\.fit takes no side_data; it"):
        LambdaMART().fit(*graded, side_data=np.ones(3))
    with pytest.raises(TypeError, match=r"RankNet\.fit takes no X_train; it takes"):
        RankNet().fit(*graded, X_train=np.ones(3))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("group", "groups, with one query id per row"),
        ("qid", "groups, with one query id per row"),
        ("eval_set", "X_val, y_val and groups_val"),
    ],
)
@pytest.mark.parametrize("ranker", [RankNet(), RankSVM(), NestedRanker()])
def test_fit_knows_what_other_libraries_call_its_arguments(graded, ranker, name, meant):
    X, y, groups = graded
    stated = (
        rf"^{type(ranker).__name__}\.fit takes no {name}; did you mean {meant}\? It "
    )
    with pytest.raises(TypeError, match=stated + "takes X_val, groups, "):
        ranker.fit(X, y, **{name: groups})


@pytest.mark.parametrize("name", family(BaseEnergyRanker))
@pytest.mark.filterwarnings("ignore")
def test_documentation_names_the_default_solver(name):
    cls = RANKERS[name]
    variants = [{**given, "solver": None} for given in cls._variants()]
    for option, value in [("hidden_layer_sizes", (4,)), ("hinge", "linear")]:
        if option in cls().get_params():
            variants.append({option: value})
    entry = inspect.getdoc(cls).split("\nsolver : ")[1].split("\n")[1:]
    entry = itertools.takewhile(lambda line: line.startswith(" "), entry)
    entry = " ".join(line.strip() for line in entry)
    for given in variants:
        ranker = cls(**given)
        ranker.grades_ = np.arange(3.0)  # where thresholds lie between
        energy, _ = ranker._parts()
        if getattr(ranker, "margin", 1.0) == 0.0:
            continue  # has no default solver
        solver = ranker._resolve_solver(energy)
        named = f"`{type(solver).__name__}`"
        if "`LBFGS` for linear energies and `Adam` otherwise" in entry:
            plain = LBFGS() if energy.linear else Adam()
            plain.set_params(max_iter=solver.max_iter)
            assert repr(solver) == repr(plain), given
        assert named in entry, given


@pytest.mark.parametrize("name", RANKERS)
def test_every_predict_can_be_called_with_groups(name):
    """Either groups matter, and scikit-learn hands them on, or they are ignored."""
    cls = RANKERS[name]
    request = get_routing_for_object(cls()).predict.requests
    if "groups" in inspect.signature(cls.predict).parameters:
        assert request == {"groups": True}
    else:
        assert cls.predict.__code__ is BaseRanker.predict.__code__
        assert request == {}
        assert not hasattr(cls, "set_predict_request")


@pytest.mark.parametrize("ranker", [RankSVM(), PRank(), SubsetRegression()])
def test_groups_of_predict_change_nothing_where_scores_need_none(ranker, graded):
    X, y, groups = graded
    scores = ranker.fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(ranker.predict(X, groups), scores)
    np.testing.assert_array_equal(ranker.predict(X, groups=groups), scores)
    with pytest.raises(TypeError, match="unexpected keyword argument 'qid'"):
        ranker.predict(X, qid=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(ranker))
        pipeline.fit(X, y, groups=groups)
        assert get_routing_for_object(pipeline).consumes("predict", ["groups"]) == set()


def test_rankers_that_users_write_keep_their_own_predict(graded):
    class Negative(RankSVM):
        def predict(self, X):
            return -super().predict(X)

    X, y, groups = graded
    ranker = Negative().fit(X, y, groups)
    assert get_routing_for_object(ranker).predict.requests == {}
    np.testing.assert_array_equal(-ranker.predict(X), RankSVM.predict(ranker, X))
    assert 0.0 <= ranker.score(X, y, groups) <= 1.0


# Parameters that say how predictions are put together out of what was learned.
AT_PREDICTION = {"aggregation", "depths", "gain", "n_jobs", "ranking"}
AT_PREDICTION |= {"strong_components"}
AT_PREDICTION |= {"max_size", "min_confidence", "min_support"}  # of rules on demand


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore")
def test_parameters_that_are_set_after_fit_wait_for_the_next(name, graded):
    X, y, groups = graded
    cls = RANKERS[name]
    variants = cls._variants()
    for first in variants:
        ranker = cls(**first)
        if "random_state" in ranker.get_params():
            ranker.set_params(random_state=0)
        scores = ranker.fit(X, y, groups).predict(X, groups)
        for later in variants:
            own = ranker.get_params(deep=False)
            ranker.set_params(
                **{k: v for k, v in later.items() if k not in AT_PREDICTION}
            )
            np.testing.assert_array_equal(ranker.predict(X, groups), scores)
            ranker.set_params(**own)


@pytest.mark.parametrize(
    "make",
    [
        lambda: EnergyRanker(loss=YetiRankLoss(), solver="adam", max_iter=3),
        lambda: EnergyRanker(loss=ListMLELoss(ties="random")),
        lambda: BoostedRanker(YetiRankLoss(), n_estimators=3),
    ],
    ids=["network", "order", "trees"],
)
def test_losses_without_a_seed_draw_by_that_of_the_ranker(make, graded):
    first, second, other = (make().set_params(random_state=s) for s in (0, 0, 1))
    scores = [
        ranker.fit(*graded).predict(graded[0]) for ranker in (first, second, other)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


@pytest.mark.parametrize(
    ("make", "name", "later"),
    [
        (EnergyRanker, "energy", NadarayaWatsonEnergy()),
        (StructRank, "energy", NadarayaWatsonEnergy()),
        (StructRank, "energy", 1),
        (AdaRank, "estimator", HistGradientBoostingRegressor()),
        (SigmoidRanker, "estimator", HistGradientBoostingRegressor()),
    ],
)
def test_models_keep_taking_the_rows_that_they_learned_to_take(
    make, name, later, graded
):
    X, y, groups = graded
    rows = sparse.csr_matrix(X)
    dense, missing = np.array(X), np.array(X)
    missing[0, 0] = np.nan
    learned = make().fit(rows, y, groups).set_params(**{name: later})
    np.testing.assert_allclose(learned.predict(rows), learned.predict(dense))
    with pytest.raises(ValueError, match="NaN"):
        learned.predict(missing)
    with pytest.raises(TypeError, match=f"{name} must be|dense data is required"):
        learned.fit(rows, y, groups)


@pytest.mark.parametrize(("make", "name"), [(AdaRank, "estimator"), (MART, "init")])
def test_models_keep_taking_the_missing_values_that_they_learned_to_take(
    make, name, graded
):
    X, y, groups = graded
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    learned = make(**{name: tree}, n_estimators=2).fit(X, y, groups)
    learned.set_params(**{name: RankSVM()})
    missing = np.array(X)
    missing[0, 0] = np.nan
    assert np.isfinite(learned.predict(missing)).all()


def test_parameters_that_prediction_reads_are_checked_there(graded):
    X, y, groups = graded
    nested = NestedRanker(SubsetRegression(), depths=(5, 3)).fit(X, y, groups)
    for depths, accepted in [((5,), "2 depths"), ((3, 5), "whole numbers >= 1")]:
        with pytest.raises(ValueError, match=f"depths must be {accepted}"):
            nested.set_params(depths=depths).predict(X, groups)
    rules = AssociationRuleRanker(mining="predict").fit(X, y, groups)
    with pytest.raises(ValueError, match="min_support must be a number"):
        rules.set_params(min_support="high").predict(X)
