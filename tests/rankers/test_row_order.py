"""Trees do not depend on the order of their rows."""

import inspect

import numpy as np
import pytest
from scipy import sparse

from skrank import discovery
from skrank._rows import GroupedRows, Preferences
from skrank.datasets import make_ranking
from skrank.rankers import MART, BoostedRanker, GBRank, LambdaMART, YetiRank
from skrank.rankers._boosting import BaseBoostedRanker
from skrank.rankers._row_order import ordered_by_content
from skrank.rankers._tree_ranker import BaseTreeRanker
from skrank.trees import BinMapper, _binning

TREES = [
    (ranker, variant)
    for ranker in discovery.all_objects("ranker").values()
    if issubclass(ranker, BaseTreeRanker)
    for variant in (ranker._variants() if hasattr(ranker, "_variants") else [{}])
    # Other estimators begin from what depends on the order of their rows.
    if isinstance(variant.get("init"), BaseTreeRanker | None)
]


def case_id(case):
    ranker, variant = case
    return f"{ranker.__name__}-{variant}"


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=25, n_features=6, n_informative=4, random_state=0
    )
    # Repeated values make ties, and repeated rows documents that are alike.
    X = np.round(X, 1)
    X[::9] = X[0]
    return X, y, groups, 0.5 + np.random.default_rng(0).random(len(y))


def made(ranker, **options):
    known = inspect.signature(ranker).parameters
    options = {"n_estimators": 6, "min_samples_leaf": 3, "random_state": 0} | options
    return ranker(**{name: value for name, value in options.items() if name in known})


@pytest.mark.parametrize("case", TREES, ids=case_id)
def test_no_order_of_rows_changes_a_bit(case, data):
    ranker, variant = case
    X, y, groups, weight = data
    expected = made(ranker, **variant).fit(X, y, groups, sample_weight=weight)
    for seed in range(2):
        rows = np.random.default_rng(seed).permutation(len(y))
        found = made(ranker, **variant).fit(
            X[rows], y[rows], groups[rows], sample_weight=weight[rows]
        )
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.5, "sampling": "minimal_variance"},
        {"sampling": "bayesian"},
        {"dropout": 0.4, "learning_rate": 0.5},
        {"leaf_iterations": 3},
        {"max_leaf_nodes": 8, "stochastic_rounding": False},
        {"max_bins": 7, "max_features": 0.5},
        {"init": MART(n_estimators=2, min_samples_leaf=3, random_state=1)},
    ],
    ids=lambda options: "-".join(options),
)
def test_no_order_of_rows_changes_a_bit_with(options, early_stopping, data):
    X, y, groups, weight = data
    options = {**options, "early_stopping": early_stopping}
    start = np.sin(np.arange(len(y)))
    side = {"sample_weight": weight, "init_score": start}
    ranker = made(YetiRank, **options)
    expected = ranker.fit(X, y, groups, **side).predict(X)
    rows = np.random.default_rng(3).permutation(len(y))
    side = {name: values[rows] for name, values in side.items()}
    found = made(YetiRank, **options).fit(X[rows], y[rows], groups[rows], **side)
    np.testing.assert_array_equal(found.predict(X), expected)


def test_validation_rows_may_come_in_any_order(data):
    X, y, groups, _ = data
    held = groups < 8
    train = X[~held], y[~held], groups[~held]
    models = []
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(np.flatnonzero(held))
        models.append(
            made(LambdaMART, n_estimators=20).fit(
                *train, X_val=X[rows], y_val=y[rows], groups_val=groups[rows]
            )
        )
    for model in models[1:]:
        np.testing.assert_array_equal(
            model.validation_curve_, models[0].validation_curve_
        )
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))


def test_preferences_may_come_in_any_order(data):
    X, _, groups, _ = data
    rng = np.random.default_rng(0)
    # Of equal documents, the pairs say which is which.
    X = X + 1e-3 * np.arange(len(X))[:, None]
    pairs = np.array(
        [rng.choice(np.flatnonzero(groups == q), 2, replace=False) for q in groups]
    )
    weight = 0.5 + rng.random(len(pairs))
    expected = made(GBRank).fit(
        X, groups=groups, preferences=pairs, sample_weight=weight
    )
    rows, order = rng.permutation(len(X)), rng.permutation(len(pairs))
    places = np.argsort(rows)
    found = made(GBRank).fit(
        X[rows],
        groups=groups[rows],
        preferences=places[pairs[order]],
        sample_weight=weight[order],
    )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_a_warm_start_goes_on_from_rows_in_another_order(data):
    X, y, groups, _ = data
    whole = made(MART, n_estimators=8).fit(X, y, groups)
    rows = np.random.default_rng(0).permutation(len(y))
    grown = made(MART, n_estimators=4, warm_start=True).fit(X, y, groups)
    grown.set_params(n_estimators=8).fit(X[rows], y[rows], groups[rows])
    np.testing.assert_array_equal(grown.predict(X), whole.predict(X))


def test_rows_from_which_bins_are_sampled_may_come_in_any_order():
    X = np.random.default_rng(0).normal(size=(500, 2))
    order = np.random.default_rng(1).permutation(500)
    mapper = BinMapper(n_samples=60, random_state=0)
    expected = mapper.fit(X).cuts_
    rows = np.argsort(order)  # X[order][rows] is X
    np.testing.assert_array_equal(mapper.fit(X[order], order=rows).cuts_, expected)
    np.testing.assert_array_equal(
        mapper.transform(X[order], order=rows), mapper.transform(X)
    )
    S = sparse.csr_matrix(np.where(np.abs(X) < 1.5, 0.0, X))
    np.testing.assert_array_equal(
        mapper.fit(S[order], order=rows).cuts_, mapper.fit(S).cuts_
    )
    for ours, theirs in zip(
        mapper.transform(S[order], order=rows), mapper.transform(S)
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "order", [[0, 1], [0, 0, 1], [0, 1, 3], [-1, 0, 1], [0, 1, 1.5], [0, 1, np.nan]]
)
def test_an_order_names_each_row_once(order):
    X = np.array([[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="order must hold each row number from 0 to 2"):
        BinMapper().fit(X, order=order)
    with pytest.raises(ValueError, match="order must hold each row number from 0 to 2"):
        BinMapper().fit(X).transform(X, order=order)


# Numbers of rows ----------------------------------------------------------------------


def reference_number(row):
    """Return the number of a row by whole numbers of any size."""
    two64 = 2**64
    coarse = fine = 0

    def spread(bits, column):
        x = (bits + (column + 1) * 0x9E3779B97F4A7C15) % two64
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % two64
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % two64
        return x ^ (x >> 31)

    for j, value in enumerate(row):
        single = np.float32(value)
        if single != 0:
            missing = np.isnan(single)
            bits = 2**32 - 1 if missing else int(single.view(np.uint32))
            coarse += spread(bits, j)
        if row.dtype == np.float64 and not np.isnan(value) and float(single) != value:
            fine += spread(int(value.view(np.uint64)), j)
    return (coarse % two64) >> 24 << 24 | (fine % two64) >> 40


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_rows(dtype):
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(dtype)
    X[::3] = np.round(X[::3])
    X[1, 2] = np.nan
    found = _binning.hash_rows(X)
    assert found.tolist() == [reference_number(row) for row in X]
    S = sparse.csr_matrix(X)
    parts = S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data
    assert _binning.hash_entries(*parts, 5).tolist() == found.tolist()


def test_numbers_of_rows_tell_values_and_columns_apart():
    rows = np.array([[1.0, 2], [2, 1], [1, 2], [-0.0, 2], [0.0, 2], [1, 2 + 1e-12]])
    numbers = _binning.hash_rows(rows)
    assert numbers[0] == numbers[2]
    assert numbers[3] == numbers[4]
    assert len(set(numbers.tolist())) == 4
    nan = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64)
    assert len(set(_binning.hash_rows(nan.view(np.float64)[:, None]).tolist())) == 1


def test_rows_in_order(data):
    X, y, groups, weight = data
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    rows = GroupedRows(X, y, np.append(starts, len(y)), sample_weight=weight)
    arranged = ordered_by_content(rows)
    order = arranged.X.order
    assert arranged.X.shape == X.shape
    np.testing.assert_array_equal(groups[order], groups)  # queries stay
    np.testing.assert_array_equal(arranged.X.gathered(), X[order])
    np.testing.assert_array_equal(arranged.y, y[order])
    np.testing.assert_array_equal(arranged.sample_weight, weight[order])


def test_all_boosted_rankers_are_tried():
    rankers = {ranker for ranker, _ in TREES}
    assert {BoostedRanker, YetiRank, GBRank} < rankers
    assert sum(issubclass(ranker, BaseBoostedRanker) for ranker in rankers) >= 7


def test_the_order_tells_nothing_of_the_grades():
    # Two documents of equal features in each query, one of them relevant.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), np.tile([1.0, 0.0, 0.0], 1000)
    X[0::3] = X[1::3] = [1.0, 2.0]
    order = ordered_by_content(GroupedRows(X, y, np.arange(0, 3001, 3))).X.order
    places = np.argsort(order)
    assert 0.45 < np.mean(places[0::3] < places[1::3]) < 0.55


def test_scores_to_start_from_do_not_move_documents(data):
    X, y, groups, _ = data
    first = made(MART).fit(X, y, groups)
    inside = made(YetiRank, init=made(MART)).fit(X, y, groups)
    outside = made(YetiRank).fit(X, y, groups, init_score=first.predict(X))
    np.testing.assert_allclose(
        outside.predict(X) + first.predict(X), inside.predict(X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["seconds since 1970", "denormal"])
def test_rows_that_only_double_precision_tells_apart(kind):
    rng = np.random.default_rng(0)
    groups, x = np.repeat(np.arange(10), 200), rng.random(2000)
    X = (1.7e9 + 60 * x if kind.startswith("seconds") else 1e-310 * x)[:, None]
    y = ((x > 0.5) & (rng.random(2000) < 0.8)).astype(float)
    expected = made(YetiRank).fit(X, y, groups).predict(X)
    rows = rng.permutation(2000)
    found = made(YetiRank).fit(X[rows], y[rows], groups[rows])
    np.testing.assert_array_equal(found.predict(X), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_preferences_between_rows_that_are_alike(weighted):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(15), 8)
    X = rng.integers(0, 2, (120, 2)).astype(float)
    pairs = np.array([(i, i - i % 8 + (i + 3) % 8) for i in range(120)])
    worse = X[pairs[:, 0], 0] < X[pairs[:, 1], 0]
    pairs[worse] = pairs[worse, ::-1]
    weight = rng.random(120) if weighted else None
    expected = made(GBRank).fit(
        X, groups=groups, preferences=pairs, sample_weight=weight
    )
    rows = rng.permutation(120)
    found = made(GBRank).fit(
        X[rows],
        groups=groups[rows],
        preferences=np.argsort(rows)[pairs],
        sample_weight=weight,
    )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@pytest.mark.parametrize("ranker", [YetiRank, LambdaMART])
def test_rows_that_only_scores_to_start_from_tell_apart(ranker):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    X, y = rng.integers(0, 2, (120, 2)).astype(float), rng.integers(0, 2, 120)
    start = rng.normal(size=120)
    expected = made(ranker).fit(X, y, groups, init_score=start).predict(X)
    for seed in range(3):
        rows = np.random.default_rng(seed).permutation(120)
        found = made(ranker).fit(X[rows], y[rows], groups[rows], init_score=start[rows])
        np.testing.assert_array_equal(found.predict(X), expected)


def test_a_pair_that_is_listed_twice_comes_by_its_weights():
    X = np.random.default_rng(0).normal(size=(4, 2))
    pairs, weight = np.array([[0, 1], [2, 3], [0, 1]]), np.array([0.7, 1.0, 0.2])
    found = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        preferences = Preferences(pairs[order], weight[order])
        rows = GroupedRows(X, None, np.array([0, 4]), preferences=preferences)
        found.append(ordered_by_content(rows).preferences)
    for other in found[1:]:
        np.testing.assert_array_equal(other.pairs, found[0].pairs)
        np.testing.assert_array_equal(other.weight, found[0].weight)
