"""scikit-learn's own checks over every ranker, and those that only rankers need."""

import inspect
from itertools import pairwise
from typing import NamedTuple
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from _labels import label
from _public import public_objects
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    estimator_checks_generator,
    parametrize_with_checks,
)

import skrank
from skrank._core._inner import scores_of
from skrank.base import BaseRanker
from skrank.discovery import all_objects
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import AP
from skrank.solvers import SGD, Adam, ProjectedGradient
from skrank.testing import contract_checks

_ONE_QUERY = "a row's weight is not its repetition where rows are compared"
_REPEATED_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": _ONE_QUERY,
    "check_sample_weight_equivalence_on_sparse_data": _ONE_QUERY,
}
# Checks that cannot hold for a ranker, each with its reason. In pairs and lists a
# repeated document is also one more competitor; a weight is not.
EXPECTED_FAILURES: dict[str, dict[str, str]] = dict.fromkeys(
    (
        "ApproxAP",
        "ApproxNDCG",
        "BoltzRank",
        "DecisionTheoreticRanker",
        "AdaRank",
        "CoordinateAscent",
        "EnergyListwise",
        "EnergyPairwise",
        "EnergyRanker",
        "FRank",
        "GERank",
        "IRSVM",
        "LambdaRank",
        "ListMLE",
        "ListNet",
        "PNormPush",
        "PermuRank",
        "RankBoost",
        "GBRank",
        "QBRank",
        "MagnitudePreservingRanker",
        "OWPC",
        "RankCosine",
        "RankGP",
        "RankNet",
        "RankSVM",
        "RobustSparseRanker",
        "SVMMAP",
        "SVMMRR",
        "SVMNDCG",
        "SigmoidRanker",
        "SmoothRank",
        "SoftRank",
        "StructRank",
        "StructuredSVMRanker",
    ),
    _REPEATED_ROWS,
)
# Thresholds and min_samples_leaf of trees count rows, those of no weight included.
_COUNTED_ROWS = dict.fromkeys(_REPEATED_ROWS, "rows without weight have bins")
EXPECTED_FAILURES |= dict.fromkeys(
    (
        "MART",
        "BoostedRanker",
        "LambdaMART",
        "McRank",
        "RandomForestRanker",
        "YetiRank",
    ),
    _COUNTED_ROWS,
)
# Documents are placed by comparison with the others of their query.
_WHOLE_QUERY = {"check_methods_subset_invariance": "scores depend on the whole query"}
EXPECTED_FAILURES |= dict.fromkeys(
    (
        "MultipleHyperplaneRanker",
        "NestedRanker",
        "PreferenceOrdering",
        "SortNet",
    ),
    _REPEATED_ROWS | _WHOLE_QUERY,
)
EXPECTED_FAILURES["AssociationRuleRanker"] = _COUNTED_ROWS
_IN_CIRCLES = {
    "check_methods_sample_order_invariance": "preferences may run in circles, where "
    "sorting depends on where it begins",
}
# Steps of an online ranker follow each other.
STEPS = ("PRank", "OnlineAggregatePRank")
EXPECTED_FAILURES |= dict.fromkeys(
    STEPS, dict.fromkeys(_REPEATED_ROWS, "a step of double length is not two steps")
)
# Kinks are smoothed, by a thousandth in the end.
_KINKED = dict.fromkeys(_REPEATED_ROWS, "the minimum is not exact to 1e-7")
EXPECTED_FAILURES["LargeMarginOrdinal"] = _KINKED


class Case(NamedTuple):
    """A ranker with one choice of its options."""

    name: str
    variant: dict

    def __str__(self):
        options = "-".join(f"{key}={value!r}" for key, value in self.variant.items())
        return label(f"{self.name}-{options}" if options else self.name)


RANKERS = all_objects("ranker")
CASES = [
    Case(name, variant)
    for name, cls in RANKERS.items()
    for variant in ({}, *filter(None, cls._variants()))
]
# For what happens before a ranker comes to see its options.
DEFAULTS = [case for case in CASES if not case.variant]
NEEDS_ZERO = {"n_triples"}
# Settings that suit a small test, where a variant says nothing else.
SMALL = {"random_state": 0, "n_estimators": 30}
FAST: dict[str, dict] = {
    "BoltzRank": {
        "max_iter": 15,
        "solver": Adam(learning_rate=0.01),
        "n_samples": 50,
    },
    # The test data have no features of the query.
    "GERank": {
        "query_features": (),
        "hidden_layer_sizes": (16,),
        "n_components": 4,
        "max_iter": 60,
    },
    "LambdaRank": {"max_iter": 10},
    "RankGP": {"population_size": 40, "n_populations": 2, "max_iter": 6},
}


def make(case, **params):
    """A ranker of a case, by its name alone for the default one."""
    name, variant = (case, {}) if isinstance(case, str) else case
    ranker = RANKERS[name]()
    small = {name: value for name, value in SMALL.items() if name in vars(ranker)}
    return ranker.set_params(**(small | FAST.get(name, {}) | variant | params))


ALL = list(RANKERS)


def cases_with(parameter):
    return [case for case in CASES if parameter in make(case).get_params()]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=str)


ITERATIVE = cases_with("early_stopping")
TREES = [name for name in ALL if "max_leaf_nodes" in make(name).get_params()]
SPARSE = [case for case in CASES if make(case).__sklearn_tags__().input_tags.sparse]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def single_query():
    with skrank.config_context(assume_single_query=True):
        yield


# The scale of features matters to their scores, or where their quantiles are.
STANDARDIZED = ("AssociationRuleRanker", "BoltzRank", "SortNet")

# Weighted and repeated rows must agree to 1e-7: solve more exactly than by default.
CHECK_PARAMS = {
    "LogisticRanker": {"tol": 1e-10, "alpha": 1.0, "threshold": "all"},
    "EnergyPointwise": {"tol": 1e-10, "gamma": 0.0},
    "SVMClassifierRanker": {"tol": 1e-12, "alpha": 1.0},
    # That of L-BFGS ends where the objective does not fall any more.
    "ThresholdOrdinal": {"alpha": 1.0, "solver": ProjectedGradient(tol=1e-12)},
}
# Their minimum is of no interest, and takes thousands of iterations on a single row.
CHECK_PARAMS["LargeMarginOrdinal"] = {"max_iter": 50}
# The checks raise all grades above 0, where every document would be relevant.
CHECK_PARAMS |= {
    "PermuRank": {"measure": AP(relevance_level=2)},
    "StructuredSVMRanker": {"measure": AP(relevance_level=2)},
    "SVMMAP": {"relevance_level": 2},
    "SVMMRR": {"relevance_level": 2},
}
# Few rows must be enough to split.
CHECK_PARAMS |= {name: {"min_samples_leaf": 1, "n_estimators": 10} for name in TREES}


SILENT_ON_DATA = pytest.mark.filterwarnings(
    "ignore::skrank.exceptions.TrainingDataWarning"
)


def checked(cases):
    return [make(case, **CHECK_PARAMS.get(case.name, {})) for case in cases]


def expected_failures(estimator):
    of_the_ranker = EXPECTED_FAILURES.get(type(estimator).__name__, {})
    if getattr(estimator, "ranking", None) == "sort":
        of_the_ranker = of_the_ranker | _IN_CIRCLES
    if getattr(estimator, "pairwise_potential", False):
        return of_the_ranker | {
            "check_methods_subset_invariance": "scores depend on the whole query"
        }
    if getattr(estimator, "subsample", 1.0) < 1.0:
        return of_the_ranker | _REPEATED_ROWS
    sizes = getattr(estimator, "hidden_layer_sizes", ())
    if getattr(estimator, "penalty", None) == "hinge" or sizes:
        return of_the_ranker | _KINKED
    return of_the_ranker


# Their data are not made for ranking: some grades never pass a threshold, for example.
@SILENT_ON_DATA
@parametrize_with_checks(
    checked(DEFAULTS),
    expected_failed_checks=expected_failures,
)
@pytest.mark.usefixtures("single_query")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def run_all(checks):
    """Run pairs of a part and a check, and raise everything that failed."""
    failed = []
    for part, check in checks:
        np.random.seed(0)  # noqa: NPY002, as before each test
        try:
            check(part)
        except SkipTest:
            continue
        except Exception as error:
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} checks failed", failed)


# One test, because hundreds of checks take longer to tell of than to run. Those that
# should fail for the ranker may hold for a variant: neither result says anything.
# Triples need a document of grade 0, which data made for other estimators have not.
# Their data are not made for ranking: some grades never pass a threshold, for example.
@SILENT_ON_DATA
@named([case for case in CASES if case.variant and NEEDS_ZERO.isdisjoint(case[1])])
@pytest.mark.usefixtures("single_query")
def test_scikit_learn_checks_of_variants(case):
    ranker = make(case, **CHECK_PARAMS.get(case.name, {}))
    run_all(
        estimator_checks_generator(
            ranker, expected_failed_checks=expected_failures(ranker), mark="skip"
        )
    )


@named(CASES)
def test_contract(case):
    run_all(contract_checks(make(case)))


@pytest.fixture
def graded(ragged):
    """Like ``ragged``, with the rows of each query together and ids ascending."""
    X, y, groups = ragged
    order = np.argsort(groups, kind="stable")
    return X[order], y[order], groups[order]


# Rankers by the identities of their cases, which live as long.
_FITTED: dict[int, BaseRanker] = {}


def fitted(case, graded):
    """A case fitted to ``graded``, once for all tests that leave it as it is."""
    if id(case) not in _FITTED:
        _FITTED[id(case)] = make(case).fit(*graded)
    return _FITTED[id(case)]


def expected_scores(case, graded):
    X, _, groups = graded
    return scores_of(fitted(case, graded), X, groups)


@named(CASES)
def test_learns_something(case, graded):
    X, y, groups = graded
    ranker = fitted(case, graded)
    # Variants may be cut short to be quick.
    assert ranker.score(X, y, groups) > (0.6 if case.variant else 0.9)
    assert scores_of(ranker, X, groups).dtype == np.float64


@named(DEFAULTS)
def test_groups_in_the_index_of_y(case, graded):
    X, y, groups = graded
    expected = expected_scores(case, graded)
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    found = scores_of(make(case).fit(X, series), X, groups)
    np.testing.assert_array_equal(found, expected)


@named(DEFAULTS)
def test_missing_groups_raise_in_fit(case, graded):
    X, y, _ = graded
    with pytest.raises(ValueError, match=f"{case.name}.fit needs to know the query"):
        make(case).fit(X, y)


@named(DEFAULTS)
def test_group_sizes_get_the_hint(case, graded):
    X, y, groups = graded
    with pytest.raises(ValueError, match="look like group sizes"):
        make(case).fit(X, y, np.bincount(groups))


@named([case for case in CASES if case not in SPARSE])
def test_sparse_rows_are_refused_where_they_do_not_fit(case, graded):
    X, y, groups = graded
    with pytest.raises(TypeError, match="dense data is required"):
        make(case).fit(sparse.csr_matrix(X), y, groups)
    ranker = fitted(case, graded)
    with pytest.raises(TypeError, match="dense data is required"):
        scores_of(ranker, sparse.csr_matrix(X), groups)


def closer(case):
    """Parameters with which cutting planes end where rounding makes no difference."""
    planes = ("OWPC", "PermuRank", "StructuredSVMRanker", "SVMMAP", "SVMMRR", "SVMNDCG")
    return {"tol": 1e-6} if case.name in planes else {}


@named(SPARSE)
def test_sparse_rows(case, graded):
    X, y, groups = graded
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    params = closer(case)
    if case.name == "ListMLE":
        params["ties"] = "stable"  # one minimum
    dense = make(case, **params).fit(X, y, groups)
    thin = make(case, **params).fit(sparse.csr_matrix(X), y, groups)
    np.testing.assert_allclose(
        scores_of(thin, sparse.csr_matrix(X), groups),
        scores_of(dense, X, groups),
        rtol=0.01,
        atol=0.01,
    )


@named(CASES)
def test_single_precision_rows(case, graded):
    X, y, groups = graded
    if "hidden_layer_sizes" in repr(case.variant):
        pytest.skip("networks that were trained from rounded rows may end elsewhere")
    if case.variant.get("kind") == "hmp":
        pytest.skip("a loss with jumps may end elsewhere after rounding")
    if case.name == "SmoothRank":
        pytest.skip("many minima: another may be found from rounded rows")
    ranker = make(case).fit(X.astype(np.float32), y, groups)
    np.testing.assert_allclose(
        scores_of(ranker, X.astype(np.float32), groups),
        expected_scores(case, graded),
        rtol=1e-2,
        atol=1e-2,
    )


@named([case for case in CASES if NEEDS_ZERO.isdisjoint(case.variant)])
def test_degenerate_queries(case):
    X = np.random.default_rng(0).normal(size=(7, 3))
    y = np.array([1.0, 0, 0, 2, 2, 1, 1])  # one document; equal grades
    groups = np.array([0, 1, 1, 2, 2, 3, 3])
    with pytest.warns(TrainingDataWarning, match="4 queries all have the same grade"):
        ranker = make(case).fit(X, y, groups)
    assert np.isfinite(scores_of(ranker, X, groups)).all()
    assert ranker.n_queries_without_preference_ == 4


@named(CASES)
def test_rank_and_top_documents(case, graded, ragged):
    X, _, groups = ragged
    ranker = fitted(case, graded)
    ranks, scores = ranker.rank(X, groups), scores_of(ranker, X, groups)
    best = ranker.top_documents(X, groups, k=2)
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        assert ranks[order].tolist() == list(range(1, len(rows) + 1))
        assert [row for row in best if groups[row] == query] == order[:2].tolist()
    with pytest.raises(ValueError, match="k must be at least 1"):
        ranker.top_documents(X, groups, k=0)


# What makes a fit to repeated queries another one than a fit to weighted queries.
DRAWN = {"subsample", "n_samples", "n_triples", "dropout", "kernel", "n_restarts"}
DRAWN |= {"sampling", "random_strength"}
STEPPED = ("sgd", "adam")


def draws(case):
    """Whether a variant draws at random, or steps query by query."""
    variant = case.variant
    random = "random" in (variant.get("ties"), variant.get("topology"))
    energy = variant.get("energy") not in (None, "linear")
    stepped = variant.get("solver") in STEPPED or "hidden_layer_sizes" in variant
    noise = case.name == "YetiRank" and variant.get("noise") != 0.0
    return random or energy or stepped or noise or not DRAWN.isdisjoint(variant)


def same_minimum(case):
    """Parameters with which fits to equivalent data must agree."""
    name = case.name
    if name in ("GERank", "LambdaRank"):  # one update per epoch
        solver = SGD(learning_rate=0.1, momentum=0.0, batch_queries=1000)
        return {"alpha": 1e-2, "solver": solver}
    if name in TREES:  # large leaves, or rounding decides between equal splits
        params = {"stochastic_rounding": False, "min_samples_leaf": 1, "max_depth": 2}
        if name == "RandomForestRanker":
            return params | {"bootstrap": False, "n_estimators": 10}
        # Rates, noise and the unit of the penalty depend on the number of rows.
        params |= {"random_strength": 0.0, "l2_regularization": 0.0}
        params |= {"min_gain_to_noise": 0.0}
        return params | {"learning_rate": 0.1, "n_estimators": 10}
    if "weak_rankers" in make(case).get_params():
        # A bin for each value, or bins follow the rows; and rounding soon decides
        # between equal weak rankers.
        return {"n_estimators": 3, "max_bins": 255}
    if "alpha" not in make(case).get_params(deep=False):
        return {}
    stable = {"ties": "stable"} if name == "ListMLE" else {}
    return {"alpha": 1e-2} | stable | closer(case)


@named(CASES)
def test_query_weights_equal_repeated_queries(case, graded):
    if case.name in STANDARDIZED or "linear_leaves" in case.variant:
        pytest.skip("repeated rows, unlike weights, change the scale of features")
    if case.name in STEPS:
        pytest.skip("a step of double length is not two steps")
    if case.variant.get("kind") == "hmp":
        pytest.skip("line searches end near the minimum, at other kinks after rounding")
    if case.variant.get("transformation") == "linear":
        pytest.skip("the length of the coefficients changes nothing, and is left open")
    if case.name == "SmoothRank":
        pytest.skip("repeated rows whiten otherwise: a way to another local minimum")
    if draws(case):
        pytest.skip("what is drawn depends on the number of queries")
    X, y, groups = graded
    weight = np.where(groups < 8, 2.0, 1.0)
    twice = np.flatnonzero(groups < 8)
    rows = np.concatenate([np.arange(len(y)), twice])
    copies = np.concatenate([groups, groups[twice] + 100])
    params = same_minimum(case)
    weighted = make(case, **params).fit(X, y, groups, sample_weight=weight)
    repeated = make(case, **params).fit(X[rows], y[rows], copies)
    np.testing.assert_allclose(
        scores_of(weighted, X, groups),
        scores_of(repeated, X, groups),
        rtol=1e-3,
        atol=1e-3,
    )


@named(ITERATIVE)
def test_validation_queries_choose_the_iteration(case, graded):
    X, y, groups = graded
    seen = []
    ranker = make(case, n_iter_no_change=3, callback=seen.append)
    held = groups >= 14
    ranker.fit(
        X[~held],
        y[~held],
        groups[~held],
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    curve = ranker.validation_curve_
    assert ranker.best_iteration_ == np.argmax(curve) + 1
    assert len(curve) - ranker.best_iteration_ <= 3
    np.testing.assert_allclose(ranker.score(X[held], y[held], groups[held]), max(curve))
    starts = [k for k, info in enumerate(seen) if info["iteration"] == 0]
    runs = [seen[a + 1 : b] for a, b in pairwise([*starts, None])]
    told = [[info["validation"] for info in run] for run in runs]
    assert len(runs) == ranker.get_params().get("n_restarts", 1)
    assert curve.tolist() in told
    assert set(ranker.query_ids_) == set(groups[~held])


@named(ITERATIVE)
def test_early_stopping_holds_out_queries(case, graded):
    X, y, groups = graded
    ranker = make(case, early_stopping=True, validation_fraction=0.2)
    ranker.fit(X, y, groups)
    assert len(ranker.validation_curve_) >= ranker.best_iteration_ >= 1
    with pytest.raises(ValueError, match="validation_fraction"):
        ranker.set_params(validation_fraction=0.99).fit(X, y, groups)


@named(ITERATIVE)
def test_verbose_prints_aligned_lines(case, graded, capsys):
    X, y, groups = graded
    make(case, verbose=2).fit(X, y, groups)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{case.name}] iteration") for line in lines)
    # The measure takes the place of an objective that may rise by design.
    words = ("objective", "training ndcg@10")
    places = {max(map(line.find, words)) for line in lines}
    assert len(places) == 1
    assert -1 not in places


BAD_PARAMETERS = [
    ("alpha", -1.0, ValueError),
    ("alpha", "strong", TypeError),
    ("bootstrap", "yes", TypeError),
    ("categorical_features", [6], ValueError),
    ("early_stopping", "yes", TypeError),
    ("l2_regularization", -1.0, ValueError),
    ("max_bins", 1, ValueError),
    ("max_bins", 256, ValueError),
    ("max_depth", 0, ValueError),
    ("max_features", 0, ValueError),
    ("max_features", 1.5, ValueError),
    ("max_iter", 0, ValueError),
    ("max_leaf_nodes", 1, ValueError),
    ("min_gain_to_split", "some", TypeError),
    ("min_samples_leaf", 0, ValueError),
    ("monotonic_cst", [1], ValueError),
    ("n_estimators", 0, ValueError),
    ("n_iter_no_change", 1.5, TypeError),
    ("n_jobs", 0, ValueError),
    ("one_hot_max_levels", 256, ValueError),
    ("one_hot_max_levels", "few", TypeError),
    ("stochastic_rounding", "up", TypeError),
    ("subsample", 0.0, ValueError),
    ("tol", "tight", TypeError),
    ("validation_fraction", 1.0, ValueError),
]


@named([*ITERATIVE, *(Case(name, {}) for name in TREES)])
def test_bad_parameters_are_named(case, graded):
    X, y, groups = graded
    known = make(case).get_params()
    for parameter, value, error in BAD_PARAMETERS:
        if parameter not in known:
            continue
        with pytest.raises(error, match=parameter):
            make(case, **{parameter: value}).fit(X, y, groups)
    with pytest.raises(ValueError, match="X_val and y_val must be given together"):
        make(case).fit(X, y, groups, X_val=X)


def _estimators():
    """Public estimators with `fit` that their variants, or defaults, can make."""
    for _, cls in public_objects():
        is_base = cls.__name__.startswith("Base")
        if hasattr(cls, "fit") and issubclass(cls, BaseEstimator) and not is_base:
            variants = getattr(cls, "_variants", lambda: [{}])() or [{}]
            needed = inspect.signature(cls).parameters.values()
            if all(p.name in variants[0] or p.default is not p.empty for p in needed):
                yield cls, variants[0]


ESTIMATORS = {cls.__name__: (cls, variant) for cls, variant in _estimators()}
ANYTHING = [
    np.array([1, 2]),
    np.array(["a", "b"]),
    object(),
    "x",
    [1],
    {},
    float("nan"),
    pd.NA,
    pd.Series([1, 2]),
]


@pytest.mark.parametrize(("cls", "variant"), ESTIMATORS.values(), ids=ESTIMATORS)
def test_nothing_fails_before_parameters_are_checked(cls, variant):
    """Tools look at tags, texts and methods of estimators that were never fitted."""
    names = [name for name in dir(cls) if not name.startswith("_")]
    for parameter in cls(**variant).get_params(deep=False):
        for value in ANYTHING:
            estimator = cls(**variant).set_params(**{parameter: value})
            get_tags(estimator)
            repr(estimator)
            for name in names:
                hasattr(estimator, name)


def _refuses(ranker, message, *args, **kwargs):
    with pytest.raises(ValueError, match=message):
        clone(ranker).fit(*args, **kwargs)


@named(DEFAULTS)
def test_nothing_under_a_mask_is_learned_from(case, graded):
    X, y, groups = graded
    ranker, hidden = make(case), np.arange(len(y)) == 2
    masked = {
        name: np.ma.masked_array(values, hidden)
        for name, values in (("y", y), ("groups", groups), ("weight", np.ones(len(y))))
    }
    why = r" must hold one grade per row; row 2 is masked, 1 in all; drop the rows that"
    _refuses(ranker, "^y" + why, X, masked["y"], groups)
    _refuses(
        ranker, "groups must hold one query id per row; row 2", X, y, masked["groups"]
    )
    if not ranker.__sklearn_tags__().input_tags.allow_nan:
        features = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
        features[2, 0] = np.ma.masked
        _refuses(ranker, "Input X contains NaN", features, y, groups)
    parameters = inspect.signature(ranker.fit).parameters
    if "sample_weight" in parameters:
        weight = masked["weight"]
        _refuses(ranker, "sample_weight", X, y, groups, sample_weight=weight)
    if "y_val" in parameters:
        held = {"X_val": X, "y_val": masked["y"], "groups_val": groups}
        _refuses(ranker, "^y_val" + why, X, y, groups, **held)
