"""scikit-learn's own checks over every ranker, and those that only rankers need."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank import rankers
from skrank.solvers import SGD, Adam

_ONE_QUERY = "a row's weight is not its repetition where rows are compared"
_REPEATED_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": _ONE_QUERY,
    "check_sample_weight_equivalence_on_sparse_data": _ONE_QUERY,
}
# Checks that cannot hold for a ranker, each with its reason. In pairs and lists a
# repeated document is also one more competitor; a weight is not.
EXPECTED_FAILURES: dict[str, dict[str, str]] = dict.fromkeys(
    (
        "BoltzRank",
        "EnergyListwise",
        "EnergyPairwise",
        "EnergyRanker",
        "GERank",
        "LambdaRank",
        "ListMLE",
        "ListNet",
        "RankNet",
        "RankSVM",
        "StructRank",
    ),
    _REPEATED_ROWS,
)
# Thresholds and min_samples_leaf of trees count rows, those of no weight included.
_COUNTED_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "rows without weight have bins"
}
EXPECTED_FAILURES |= dict.fromkeys(
    ("MART", "BoostedRanker", "LambdaMART", "RandomForestRanker"), _COUNTED_ROWS
)


def make(name, **params):
    """A ranker with settings that suit a small test."""
    ranker = getattr(rankers, name)()
    fast = {"max_iter": 10} if name == "LambdaRank" else {}
    if name == "BoltzRank":
        fast = {"max_iter": 15, "solver": Adam(learning_rate=0.01), "n_samples": 50}
    if name == "GERank":  # the test data have no features of the query
        fast = {"query_features": (), "hidden_layer_sizes": (16,), "n_components": 4}
    seed = {"random_state": 0} if "random_state" in ranker.get_params() else {}
    return ranker.set_params(**(fast | seed | params))


ALL = list(rankers.__all__)
THREADED = [name for name in ALL if "n_jobs" in make(name).get_params()]
ITERATIVE = [name for name in ALL if "early_stopping" in make(name).get_params()]
TREES = [name for name in ALL if "max_leaf_nodes" in make(name).get_params()]
SPARSE = [name for name in ALL if make(name).__sklearn_tags__().input_tags.sparse]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def single_query():
    with skrank.config_context(assume_single_query=True):
        yield


# Their scores are not linear, so the scale of features matters to them.
STANDARDIZED = ("BoltzRank",)

# Weighted and repeated rows must agree to 1e-7: solve more exactly than by default.
CHECK_PARAMS = {
    "LogisticRanker": {"tol": 1e-10, "alpha": 1.0, "threshold": "all"},
    "EnergyPointwise": {"tol": 1e-10, "gamma": 0.0},
}
# Few rows must be enough to split.
CHECK_PARAMS |= {name: {"min_samples_leaf": 1, "n_estimators": 10} for name in TREES}


@parametrize_with_checks(
    [make(name, **CHECK_PARAMS.get(name, {})) for name in ALL],
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
@pytest.mark.usefixtures("single_query")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def graded(ragged):
    """Like ``ragged``, with the rows of each query together and ids ascending."""
    X, y, groups = ragged
    order = np.argsort(groups, kind="stable")
    return X[order], y[order], groups[order]


@pytest.mark.parametrize("name", ALL)
def test_learns_something(name, graded):
    X, y, groups = graded
    ranker = make(name).fit(X, y, groups)
    assert ranker.score(X, y, groups) > 0.9
    assert ranker.predict(X).dtype == np.float64


@pytest.mark.parametrize("name", ALL)
def test_query_order_does_not_change_a_bit(name, graded):
    X, y, groups = graded
    expected = make(name).fit(X, y, groups).predict(X)
    shuffled = np.random.default_rng(1).permutation(np.unique(groups))
    order = np.concatenate([np.flatnonzero(groups == q) for q in shuffled])
    ranker = make(name).fit(X[order], y[order], groups[order])
    np.testing.assert_array_equal(ranker.predict(X), expected)


@pytest.mark.parametrize("name", ALL)
def test_interleaved_rows(name, graded):
    X, y, groups = graded
    expected = make(name).fit(X, y, groups).predict(X)
    # Rows of different queries are mixed; within a query they keep their order.
    position = np.concatenate([np.arange(c) for c in np.bincount(groups)])
    order = np.lexsort((groups, position))
    ranker = make(name).fit(X[order], y[order], groups[order])
    np.testing.assert_array_equal(ranker.predict(X), expected)


@pytest.mark.parametrize("name", THREADED)
def test_threads_do_not_change_a_bit(name, graded):
    X, y, groups = graded
    predictions = [make(name, n_jobs=n).fit(X, y, groups).predict(X) for n in (1, 2, 3)]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])


@pytest.mark.parametrize("name", ALL)
def test_ids_of_any_kind(name, graded):
    X, y, groups = graded
    expected = make(name).fit(X, y, groups).predict(X)
    as_text = np.array([f"query {g:03d}" for g in groups])
    np.testing.assert_array_equal(make(name).fit(X, y, as_text).predict(X), expected)


@pytest.mark.parametrize("name", ALL)
def test_groups_in_the_index_of_y(name, graded):
    X, y, groups = graded
    expected = make(name).fit(X, y, groups).predict(X)
    series = pd.Series(y, index=pd.Index(groups, name="qid"))
    np.testing.assert_array_equal(make(name).fit(X, series).predict(X), expected)


@pytest.mark.parametrize("name", ALL)
def test_missing_groups_raise_in_fit(name, graded):
    X, y, _ = graded
    with pytest.raises(ValueError, match=f"{name}.fit needs to know the query"):
        make(name).fit(X, y)


@pytest.mark.parametrize("name", ALL)
def test_group_sizes_get_the_hint(name, graded):
    X, y, groups = graded
    with pytest.raises(ValueError, match="look like group sizes"):
        make(name).fit(X, y, np.bincount(groups))


@pytest.mark.parametrize("name", sorted(set(ALL) - set(SPARSE)))
def test_sparse_rows_are_refused_where_they_do_not_fit(name, graded):
    X, y, groups = graded
    with pytest.raises(TypeError, match="dense data is required"):
        make(name).fit(sparse.csr_matrix(X), y, groups)
    ranker = make(name).fit(X, y, groups)
    with pytest.raises(TypeError, match="dense data is required"):
        ranker.predict(sparse.csr_matrix(X))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows(name, graded):
    X, y, groups = graded
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    params = {"ties": "stable"} if name == "ListMLE" else {}  # one minimum
    dense = make(name, **params).fit(X, y, groups)
    thin = make(name, **params).fit(sparse.csr_matrix(X), y, groups)
    np.testing.assert_allclose(
        thin.predict(sparse.csr_matrix(X)), dense.predict(X), rtol=0.01, atol=0.01
    )


@pytest.mark.parametrize("name", ALL)
def test_single_precision_rows(name, graded):
    X, y, groups = graded
    expected = make(name).fit(X, y, groups).predict(X)
    ranker = make(name).fit(X.astype(np.float32), y, groups)
    np.testing.assert_allclose(
        ranker.predict(X.astype(np.float32)), expected, rtol=1e-2, atol=1e-2
    )


@pytest.mark.parametrize("name", ALL)
def test_degenerate_queries(name):
    X = np.random.default_rng(0).normal(size=(7, 3))
    y = np.array([1.0, 0, 0, 2, 2, 1, 1])  # one document; equal grades
    groups = np.array([0, 1, 1, 2, 2, 3, 3])
    ranker = make(name).fit(X, y, groups)
    assert np.isfinite(ranker.predict(X)).all()
    assert ranker.n_queries_without_preference_ == 4


@pytest.mark.parametrize("name", ALL)
def test_rank_and_top_documents(name, ragged):
    X, y, groups = ragged
    ranker = make(name).fit(X, y, groups)
    ranks, scores = ranker.rank(X, groups), ranker.predict(X)
    best = ranker.top_documents(X, groups, k=2)
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        assert ranks[order].tolist() == list(range(1, len(rows) + 1))
        assert [row for row in best if groups[row] == query] == order[:2].tolist()
    with pytest.raises(ValueError, match="k must be at least 1"):
        ranker.top_documents(X, groups, k=0)


@pytest.mark.parametrize("name", ALL)
def test_pickle_and_clone(name, graded):
    X, y, groups = graded
    ranker = make(name).fit(X, y, groups)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(
        clone(ranker).fit(X, y, groups).predict(X), ranker.predict(X)
    )


def same_minimum(name):
    """Parameters with which fits to equivalent data must agree."""
    if name in ("GERank", "LambdaRank"):  # one update per epoch
        solver = SGD(learning_rate=0.1, momentum=0.0, batch_queries=1000)
        return {"alpha": 1e-2, "solver": solver}
    if name in TREES:  # large leaves, or rounding decides between equal splits
        params = {"stochastic_rounding": False, "min_samples_leaf": 1}
        forest = {"bootstrap": False} if name == "RandomForestRanker" else {}
        return params | {"max_leaf_nodes": 4, "n_estimators": 10} | forest
    return {"alpha": 1e-2} | ({"ties": "stable"} if name == "ListMLE" else {})


@pytest.mark.parametrize("name", ALL)
def test_query_weights_equal_repeated_queries(name, graded):
    if name in STANDARDIZED:
        pytest.skip("repeated rows, unlike weights, change the scale of features")
    X, y, groups = graded
    weight = np.where(groups < 8, 2.0, 1.0)
    twice = np.flatnonzero(groups < 8)
    rows = np.concatenate([np.arange(len(y)), twice])
    copies = np.concatenate([groups, groups[twice] + 100])
    params = same_minimum(name)
    weighted = make(name, **params).fit(X, y, groups, sample_weight=weight)
    repeated = make(name, **params).fit(X[rows], y[rows], copies)
    np.testing.assert_allclose(
        weighted.predict(X), repeated.predict(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ITERATIVE)
def test_validation_queries_choose_the_iteration(name, graded):
    X, y, groups = graded
    seen = []
    ranker = make(name, n_iter_no_change=3, callback=seen.append)
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
    told = [info["validation"] for info in seen if info["iteration"]]
    assert told == curve.tolist()
    assert set(ranker.query_ids_) == set(groups[~held])


@pytest.mark.parametrize("name", ITERATIVE)
def test_early_stopping_holds_out_queries(name, graded):
    X, y, groups = graded
    ranker = make(name, early_stopping=True, validation_fraction=0.2)
    ranker.fit(X, y, groups)
    assert len(ranker.validation_curve_) >= ranker.best_iteration_ >= 1
    with pytest.raises(ValueError, match="validation_fraction"):
        ranker.set_params(validation_fraction=0.99).fit(X, y, groups)


@pytest.mark.parametrize("name", ITERATIVE)
def test_verbose_prints_aligned_lines(name, graded, capsys):
    X, y, groups = graded
    make(name, verbose=2).fit(X, y, groups)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{name}] iteration") for line in lines)
    assert len({line.index("objective") for line in lines}) == 1


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
    ("stochastic_rounding", "up", TypeError),
    ("subsample", 0.0, ValueError),
    ("tol", "tight", TypeError),
    ("validation_fraction", 1.0, ValueError),
]


@pytest.mark.parametrize("name", sorted({*ITERATIVE, *TREES}))
def test_bad_parameters_are_named(name, graded):
    X, y, groups = graded
    known = make(name).get_params()
    for parameter, value, error in BAD_PARAMETERS:
        if parameter not in known:
            continue
        with pytest.raises(error, match=parameter):
            make(name, **{parameter: value}).fit(X, y, groups)
    with pytest.raises(ValueError, match="X_val and y_val must be given together"):
        make(name).fit(X, y, groups, X_val=X)
