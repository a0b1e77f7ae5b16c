"""Selectors of documents to judge, against loops over pairs, sets and outcomes."""

import tracemalloc
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import norm, spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy
from skrank.losses import (
    ExponentialLoss,
    FidelityLoss,
    HingeLoss,
    LogLoss,
    SquaredHingeLoss,
)
from skrank.metrics import evaluate_measure
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    MART,
    EnergyRanker,
    ListNet,
    LogisticRanker,
    RankBoost,
    RankNet,
    RankSVM,
)
from skrank.selection import (
    ActiveExploration,
    ExpectedHypothesisChange,
    RandomSelection,
    SVMSelectiveSampling,
    active_learning,
    compare_selectors,
)
from skrank.selection._exploration import (
    after_preference,
    expected_loss,
    expected_loss_after,
)

SELECTORS = [
    RandomSelection(random_state=0),
    SVMSelectiveSampling(),
    SVMSelectiveSampling(size=3),
    ExpectedHypothesisChange(),
    ExpectedHypothesisChange(pairs="mean", loss="logistic"),
    *(
        ActiveExploration(strategy=name, n_members=3, random_state=0)
        for name in (
            "random",
            "largest_loss_pair",
            "one_step_lookahead",
            "largest_loss_documents",
        )
    ),
]
over_selectors = pytest.mark.parametrize("selector", SELECTORS, ids=repr)


def pool(seed=0, n_queries=12, share=0.4):
    """Rows, queries, masked grades and a ranker that learned from the judged ones."""
    X, y, groups = make_ranking(
        n_queries=n_queries, n_features=5, n_informative=3, random_state=seed
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y, groups = X[order], y[order], groups[order]
    judged = rng.random(len(y)) < share
    judged[groups == groups[0]] = False  # a query of which nothing is known
    ranker = RankSVM().fit(X[judged], y[judged], groups[judged])
    return X, groups, np.ma.masked_array(y, mask=~judged), ranker


@over_selectors
def test_documents_that_are_not_judged(selector):
    X, groups, y, ranker = pool()
    rows = selector.select(ranker, X, groups, 20, y=y)
    assert len(rows) == len(set(rows)) == 20
    assert y.mask[rows].all()
    every = selector.select(ranker, X, groups, y.mask.sum(), y=y)
    assert sorted(every) == np.flatnonzero(y.mask).tolist()
    np.testing.assert_array_equal(every[:20], rows)


@over_selectors
def test_whole_queries(selector):
    X, groups, y, ranker = pool()
    selector = clone(selector).set_params(unit="query")
    rows = selector.select(ranker, X, groups, 3, y=y)
    chosen = pd.unique(groups[rows])
    assert len(chosen) == 3
    expected = y.mask & np.isin(groups, chosen)
    assert sorted(rows) == np.flatnonzero(expected).tolist()
    selector.set_params(max_per_query=2)
    assert (np.bincount(groups[selector.select(ranker, X, groups, 3, y=y)]) <= 2).all()


@over_selectors
def test_limit_for_each_query(selector):
    X, groups, y, ranker = pool()
    selector = clone(selector).set_params(max_per_query=2)
    rows = selector.select(ranker, X, groups, 20, y=y)
    assert len(rows) == 20
    assert np.bincount(groups[rows]).max() == 2
    # No more can be had than two of each query.
    n_most = np.minimum(np.bincount(groups[y.mask]), 2).sum()
    assert len(selector.select(ranker, X, groups, 40, y=y)) == n_most < 40


@over_selectors
def test_order_of_queries_and_kind_of_ids(selector):
    X, groups, y, ranker = pool()
    expected = selector.select(ranker, X, groups, 15, y=y)
    order = np.argsort(groups, kind="stable")
    found = selector.select(ranker, X[order], groups[order], 15, y=y[order])
    np.testing.assert_array_equal(order[found], expected)
    text = np.array([f"q{g:03d}" for g in groups])
    np.testing.assert_array_equal(selector.select(ranker, X, text, 15, y=y), expected)
    frame = pd.DataFrame(X, index=pd.Index(groups, name="qid"))
    model = clone(ranker).fit(
        pd.DataFrame(X)[~y.mask], y.data[~y.mask], groups[~y.mask]
    )
    if "ExpectedHyp" not in repr(selector):
        found = selector.select(model, frame, n=15, y=y)
        np.testing.assert_array_equal(found, expected)


@over_selectors
def test_bad_input(selector):
    X, groups, y, ranker = pool()
    n_left = y.mask.sum()
    with pytest.raises(ValueError, match=f"not judged, {n_left}; got {n_left + 1}"):
        selector.select(ranker, X, groups, n_left + 1, y=y)
    with pytest.raises(ValueError, match="n must be"):
        selector.select(ranker, X, groups, 0, y=y)
    with pytest.raises(ValueError, match="all documents are judged"):
        selector.select(ranker, X, groups, 1, y=y.data)
    with pytest.raises(ValueError, match="needs to know the query"):
        selector.select(ranker, X, n=1, y=y)
    with pytest.raises(ValueError, match="grades for"):
        selector.select(ranker, X, groups, 1, y=y[:-1])
    by_query = clone(selector).set_params(unit="query")
    with pytest.raises(ValueError, match=r"at most the number of queries.* 12; got 13"):
        by_query.select(ranker, X, groups, 13, y=y)
    if not isinstance(selector, RandomSelection):
        with pytest.raises(TypeError, match="ranker must be a fitted estimator"):
            selector.select(None, X, groups, 1, y=y)
    if isinstance(selector, (ExpectedHypothesisChange, ActiveExploration)):
        with pytest.raises(ValueError, match="needs y with the grades of the judged"):
            selector.select(ranker, X, groups, 1)


def test_rows_that_are_no_table_are_named():
    X, groups, y, ranker = pool()
    explore = ActiveExploration(n_members=2, random_state=0)
    for method in (explore.select, explore.rank):
        with pytest.raises(ValueError, match=r"^X: Expected 2D array, got 1D array"):
            method(ranker, range(len(X)), groups, y=y)
    given = {"groups": groups, "X_test": X, "y_test": y.data, "groups_test": groups}
    ragged = [[1.0]] * (len(X) - 1) + [[1.0, 2.0]]
    for name in ("X", "X_test"):
        rows = {"X": X, "y": y.data, **given, name: ragged}
        with pytest.raises(ValueError, match=f"^{name} must hold rows of equal length"):
            active_learning(RankSVM(), **rows)


# SVM selective sampling.


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_closest_set_is_the_best_of_all_sets(size):
    X, groups, y, ranker = pool()
    scores = ranker.predict(X)
    rows = SVMSelectiveSampling(size=size).select(ranker, X, groups, size, y=y)

    def spread(chosen):
        gaps = [abs(scores[u] - scores[v]) for u, v in combinations(chosen, 2)]
        return np.mean(gaps)

    best = min(
        spread(chosen)
        for q in np.unique(groups)
        for chosen in combinations(np.flatnonzero((groups == q) & y.mask), size)
    )
    assert spread(rows) == pytest.approx(best, rel=1e-9)
    assert len(set(groups[rows])) == 1


def test_sets_share_no_document_and_single_documents_come_last():
    X = np.array([[0.0], [1.0], [1.1], [1.2], [9.0], [5.0]])
    groups = [0, 0, 0, 0, 0, 1]
    ranker = Ridge(alpha=0.0, fit_intercept=False).fit(X, X[:, 0])
    rows = SVMSelectiveSampling().select(ranker, X, groups, 6)
    assert sorted(rows[:2]) in ([1, 2], [2, 3])
    assert len(set(rows)) == 6
    assert rows[-1] == 5  # of a query of its own


@pytest.mark.parametrize("size", [2, 5, 40])
def test_sets_of_any_size_are_taken_in_the_order_of_their_spread(size):
    rng = np.random.default_rng(size)
    X, groups = rng.normal(size=(300, 1)), rng.integers(0, 3, 300)
    ranker = Ridge(alpha=0.0, fit_intercept=False).fit(X, X[:, 0])
    scores = ranker.predict(X)
    sets = []
    for q in range(3):
        rows = np.flatnonzero(groups == q)
        rows = rows[np.argsort(scores[rows])]
        for first in range(len(rows) - size + 1):
            members = rows[first : first + size]
            gaps = scores[members][:, None] - scores[members]
            sets.append((np.abs(gaps).sum(), members.tolist()))
    expected: list[int] = []
    for _, members in sorted(sets):
        if not set(members) & set(expected):
            expected += members
    n = len(expected) // 2
    rows = SVMSelectiveSampling(size=size).select(ranker, X, groups, n)
    assert rows.tolist() == expected[:n]


def test_large_sets_take_no_table_of_their_members():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    ranker = Ridge(alpha=0.0, fit_intercept=False).fit(X, X[:, 0])
    selector, groups = SVMSelectiveSampling(size=1000), np.zeros(len(X))
    tracemalloc.start()
    try:
        rows = selector.select(ranker, X, groups, n=10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(rows)) == 10_000
    assert peak < 10e6  # a table of the members of all sets has 152 megabytes


# Expected change of the hypothesis.


def added_loss(loss, w, phi, known, y, grade, margin):
    """Loss of the pairs of one document with the judged ones of its query."""
    total = 0.0
    for other, its_grade in zip(known, y):
        if its_grade == grade:
            continue
        sign = np.sign(grade - its_grade)
        m = sign * (w @ (phi - other))
        total += {
            "hinge": lambda m: max(0.0, margin - m),
            "squared_hinge": lambda m: max(0.0, margin - m) ** 2,
            "exponential": lambda m: np.exp(-m),
            "logistic": lambda m: np.log1p(np.exp(-m)),
        }[loss](m)
    return total


def slope(function, w, given, step=1e-5):
    """Gradient by central differences of the fourth order."""
    grad = np.zeros(len(w))
    for j in range(len(w)):
        e = step * (np.arange(len(w)) == j)
        near = function(w + e, *given) - function(w - e, *given)
        far = function(w + 2 * e, *given) - function(w - 2 * e, *given)
        grad[j] = (8 * near - far) / (12 * step)
    return grad


def normal_posterior(scores, y, groups):
    """Probability of each grade by normal distributions, document by document."""
    means = {q: scores[groups == q].mean() for q in set(groups)}
    z = scores - np.array([means[q] for q in groups])
    judged = ~y.mask
    grades = np.unique(y.compressed())
    centre = {g: z[judged & (y.data == g)].mean() for g in grades}
    residual = [z[i] - centre[y.data[i]] for i in np.flatnonzero(judged)]
    std = np.sqrt(np.mean(np.square(residual)))
    prior = np.array([(y.compressed() == g).sum() + 1 for g in grades], dtype=float)
    prior /= prior.sum()
    density = np.array([norm.pdf(z, centre[g], std) for g in grades]).T * prior
    return grades, density / density.sum(axis=1, keepdims=True)


def expected_changes(ranker, features, w, loss, X, groups, y, margin=1.0, mean=False):
    grades, posterior = normal_posterior(ranker.predict(X), y, groups)
    changes = {}
    for i in np.flatnonzero(y.mask):
        known = np.flatnonzero((groups == groups[i]) & ~y.mask)
        changes[i] = 0.0
        for grade, p in zip(grades, posterior[i]):
            given = (features[i], features[known], y.data[known], grade, margin)
            size = np.linalg.norm(slope(partial(added_loss, loss), w, given))
            if mean:
                size /= max(1, (y.data[known] != grade).sum())
            changes[i] += p * size
    return changes


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "exponential", "logistic"])
@pytest.mark.parametrize("mean", [False, True])
def test_expected_change_is_the_gradient_of_the_added_loss(loss, mean):
    X, groups, y, ranker = pool(n_queries=6)
    selector = ExpectedHypothesisChange(loss=loss, pairs="mean" if mean else "sum")
    ranker.set_params(margin=0.7).fit(X[~y.mask], y.data[~y.mask], groups[~y.mask])
    expected = expected_changes(
        ranker, X, ranker.coef_, loss, X, groups, y, margin=0.7, mean=mean
    )
    found = selector.select(ranker, X, groups, y.mask.sum(), y=y)
    values = np.array([expected[i] for i in found])
    # Descending, up to the error of differences.
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    # Those of a query of which nothing is known come last.
    n_unknown = (groups == groups[0]).sum()
    assert set(groups[found[-n_unknown:]]) == {groups[0]}
    assert values[0] > 2 * values[len(values) // 2]


def test_a_loss_of_pairs_beside_a_ranker_that_has_none():
    X, groups, y, _ = pool(n_queries=6)
    ranker = ListNet().fit(X[~y.mask], y.data[~y.mask], groups[~y.mask])
    expected = expected_changes(ranker, X, ranker.coef_, "hinge", X, groups, y)
    selector = ExpectedHypothesisChange(loss="hinge")
    found = selector.select(ranker, X, groups, y.mask.sum(), y=y)
    values = np.array([expected[i] for i in found])
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[0] > 2 * values[len(values) // 2]


@pytest.mark.parametrize(
    "loss",
    [
        LogLoss(sigma=10.0),
        HingeLoss(margin=0.7, width=5.0),
        SquaredHingeLoss(margin=3.0),
        ExponentialLoss(),
        FidelityLoss(),
    ],
    ids=str,
)
def test_the_loss_of_the_ranker_is_taken_with_its_parameters(loss):
    X, groups, y, _ = pool(n_queries=6)
    given = X[~y.mask], y.data[~y.mask], groups[~y.mask]
    ranker = EnergyRanker(LinearEnergy(), loss, alpha=0.1, max_iter=20).fit(*given)

    def added(w, phi, known, grades, grade, _):
        sign = np.sign(grade - grades)
        m = sign[sign != 0] * ((phi - known[sign != 0]) @ w)
        return loss.pair_loss(m, np.zeros(len(m)))[0].sum()

    grades, posterior = normal_posterior(ranker.predict(X), y, groups)
    expected = np.zeros(len(y))
    for i in np.flatnonzero(y.mask):
        known = np.flatnonzero((groups == groups[i]) & ~y.mask)
        for grade, p in zip(grades, posterior[i]):
            given = X[i], X[known], y.data[known], grade, None
            expected[i] += p * np.linalg.norm(slope(added, ranker.coef_, given))
    found = ExpectedHypothesisChange().select(ranker, X, groups, y.mask.sum(), y=y)
    values = expected[found]
    assert (np.diff(values) <= 1e-5 * values[0]).all()


def test_scalers_that_need_the_queries_hand_rows_on():
    X, groups, y, _ = pool()
    judged = ~y.mask
    pipe = make_pipeline(QueryStandardScaler(), RankSVM())
    scaled = QueryStandardScaler().fit_transform(X, groups=groups)
    pipe[0].fit(X, groups=groups)
    pipe[-1].fit(scaled[judged], y.data[judged], groups[judged])
    selector = ExpectedHypothesisChange()
    np.testing.assert_array_equal(
        selector.select(pipe, X, groups, 30, y=y),
        selector.select(pipe[-1], scaled, groups, 30, y=y),
    )


def test_expected_change_of_boosting():
    X, groups, y, _ = pool(n_queries=6)
    judged = ~y.mask
    ranker = RankBoost(n_estimators=12).fit(X[judged], y.data[judged], groups[judged])
    weak = X[:, ranker.features_] > ranker.lows_
    w = ranker.alphas_
    np.testing.assert_allclose(weak @ w, ranker.predict(X), rtol=1e-9)
    expected = expected_changes(
        ranker, weak.astype(float), w, "exponential", X, groups, y
    )
    rows = ExpectedHypothesisChange().select(ranker, X, groups, y.mask.sum(), y=y)
    values = np.array([expected[i] for i in rows])
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[0] > 1.5 * values[len(values) // 2]


def test_expected_change_goes_with_that_of_training_again():
    X, groups, y, ranker = pool(seed=3, n_queries=8)
    ranker.set_params(alpha=1.0, tol=1e-7)
    judged = ~y.mask
    w = ranker.fit(X[judged], y.data[judged], groups[judged]).coef_
    grades, posterior = normal_posterior(ranker.predict(X), y, groups)
    expected = expected_changes(ranker, X, w, "squared_hinge", X, groups, y)
    rows = np.flatnonzero(y.mask & (groups != groups[0]))[::3]
    moved = []
    for i in rows:
        known = np.append(np.flatnonzero(judged), i)
        sizes = []
        for grade in grades:
            again = clone(ranker).fit(
                X[known], np.append(y.data[judged], grade), groups[known]
            )
            sizes.append(np.linalg.norm(again.coef_ - w))
        moved.append(posterior[i] @ sizes)
    correlation = spearmanr([expected[i] for i in rows], moved).statistic
    assert correlation > 0.75


def test_hypotheses_of_kernels_pipelines_and_sparse_rows():
    X, groups, y, _ = pool()
    judged = ~y.mask
    given = X[judged], y.data[judged], groups[judged]
    selector = ExpectedHypothesisChange()
    linear = RankSVM().fit(*given)
    expected = selector.select(linear, X, groups, 30, y=y)
    thin = selector.select(linear, sparse.csr_matrix(X), groups, 30, y=y)
    np.testing.assert_array_equal(thin, expected)
    exact = RankSVM(kernel="linear", n_components=None).fit(*given)
    np.testing.assert_array_equal(selector.select(exact, X, groups, 30, y=y), expected)
    pipe = make_pipeline(StandardScaler().fit(X), RankSVM())
    pipe[-1].fit(pipe[0].transform(given[0]), *given[1:])
    scaled = pipe[0].transform(X)
    np.testing.assert_array_equal(
        selector.select(pipe, X, groups, 30, y=y),
        selector.select(pipe[-1], scaled, groups, 30, y=y),
    )
    # A polynomial kernel has features of its own.
    poly = RankSVM(kernel="poly", kernel_params={"degree": 2}, n_components=20)
    rows = selector.select(poly.fit(*given), X, groups, 30, y=y)
    assert y.mask[rows].all()


@pytest.mark.parametrize("power", [-600, 600])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_changes_of_features_of_any_size(power, kind):
    X, groups, y, _ = pool()
    ranker = LinearRegression().fit(X, y.data)
    selector = ExpectedHypothesisChange(loss="logistic")
    expected = selector.select(ranker, kind(X), groups, 30, y=y)
    ranker.coef_ = np.ldexp(ranker.coef_, -power)
    found = selector.select(ranker, kind(np.ldexp(X, power)), groups, 30, y=y)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", ["hinge", "exponential", "logistic", "squared_hinge"])
@pytest.mark.parametrize("judged", [True, False])
def test_one_document_of_any_size(loss, judged, kind):
    X, groups, y, _ = pool()
    ranker = LinearRegression().fit(X, y.data)
    selector, found = ExpectedHypothesisChange(loss=loss), []
    row = np.flatnonzero(y.mask != judged)[0]
    for size in (1e100, 1e152, 1e170, 1e300):
        rows = X.copy()
        rows[row, 1] = size
        found.append(selector.select(ranker, kind(rows), groups, 5, y=y))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_scores_far_beyond_those_judged():
    X, groups, y, _ = pool()
    ranker = LinearRegression().fit(X[:, :1], y.data)
    selector, found = ExpectedHypothesisChange(loss="hinge"), []
    far = np.flatnonzero(y.mask & (groups == groups[0]))[:2]
    for size in (1e10, 1e100, 1e149, 1e158):  # the last one leaves a few bits of others
        rows = X[:, :1] * 1e-155
        rows[far, 0] = size, -size  # whose mean is that of the others
        ranker.coef_, ranker.intercept_ = np.ones(1), 0.0
        found.append(selector.select(ranker, rows, groups, 5, y=y))
    for other in found[1:-1]:
        np.testing.assert_array_equal(other, found[0])
    assert y.mask[found[-1]].all()


def test_scores_whose_sum_overflows():
    X, groups, y, _ = pool()
    ranker = LinearRegression().fit(X, y.data)
    selector, found = ExpectedHypothesisChange(loss="hinge"), []
    ranker.coef_, ranker.intercept_ = np.zeros(X.shape[1]), 0.0
    for power in (900, 1021):
        ranker.coef_[0] = np.ldexp(1.0, power)
        found.append(selector.select(ranker, np.abs(X), groups, 30, y=y))
    np.testing.assert_array_equal(*found)


class Stated(BaseEstimator):
    """States what it is given as means and standard deviations."""

    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def predict(self, X, return_std=False):
        return (self.mean, self.std) if return_std else self.mean


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a * 1e200, r"what Stated.predict returns must hold .* at most 5.6e"),
        (lambda a: a * np.nan, r"what Stated.predict returns must hold numbers of at"),
        (lambda a: a[:-1], r"what Stated.predict returns must hold one number for"),
        (lambda a: a + 1j, r"what Stated.predict returns must hold numbers, got"),
    ],
)
def test_stated_beliefs_must_be_numbers(change, message):
    X, groups, *_ = pool()
    good = X[:, 0], np.abs(X[:, 1])
    explore = ActiveExploration()
    explore.select(Stated(*good), X, groups, 2)
    for given in ((change(good[0]), good[1]), (good[0], change(good[1]))):
        with pytest.raises(ValueError, match=message):
            explore.select(Stated(*given), X, groups, 2)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
def test_stated_beliefs_of_any_type(dtype):
    X, groups, *_ = pool()
    means, stds = np.round(X[:, 0]), np.round(20.0 * np.abs(X[:, 1]))
    explore = ActiveExploration()
    found = explore.select(
        Stated(means.astype(dtype), stds.astype(dtype)), X, groups, 4
    )
    expected = explore.select(Stated(means, stds), X, groups, 4)
    np.testing.assert_array_equal(found, expected)


def test_beliefs_are_means_and_deviations():
    class Three(Stated):
        def predict(self, X, return_std=False):
            return self.mean, self.std, self.std

    X, groups, *_ = pool()
    with pytest.raises(TypeError, match=r"Three.predict must return means and st"):
        ActiveExploration().select(Three(X[:, 0], X[:, 1]), X, groups, 4)


def test_rankers_without_a_hypothesis():
    X, groups, y, _ = pool()
    judged = ~y.mask
    given = X[judged], y.data[judged], groups[judged]
    selector = ExpectedHypothesisChange()
    trees = MART(n_estimators=2, min_samples_leaf=2).fit(*given)
    with pytest.raises(ValueError, match="ranker must be linear, such as RankSVM"):
        selector.select(trees, X, groups, 1, y=y)
    with pytest.raises(ValueError, match="loss='auto' takes the loss of pairs"):
        selector.select(ListNet().fit(*given), X, groups, 1, y=y)
    # The loss of documents has the name of one of pairs.
    with pytest.raises(ValueError, match="which LogisticRanker does not have; set"):
        selector.select(LogisticRanker().fit(*given), X, groups, 1, y=y)
    net = RankNet().fit(*given)
    assert net.loss_.short_name == LogLoss.short_name
    rows = selector.select(net, X, groups, 10, y=y)
    selector.set_params(loss="logistic")
    np.testing.assert_array_equal(selector.select(net, X, groups, 10, y=y), rows)


# Exploration.


def test_expected_loss_is_the_mean_of_draws():
    rng = np.random.default_rng(0)
    for above, below, va, vb in [(1.0, 0.5, 0.3, 0.2), (0.0, 0.0, 1.0, 0.0)]:
        draws = rng.normal(below, np.sqrt(vb), 400_000) - rng.normal(
            above, np.sqrt(va), 400_000
        )
        expected = np.mean(np.maximum(draws, 0.0) ** 2)
        found = expected_loss(*map(np.array, ([above], [below], [va], [vb])))
        np.testing.assert_allclose(found, expected, rtol=0.02)
    certain = expected_loss(*map(np.array, ([1.0], [3.0], [0.0], [0.0])))
    assert certain == [4.0]


def test_moments_after_a_preference_are_those_of_draws():
    rng = np.random.default_rng(0)
    mu, other, var, other_var, noise = 0.2, 0.6, 0.5, 0.3, 0.4
    u = rng.normal(mu, np.sqrt(var), 600_000)
    v = rng.normal(other, np.sqrt(other_var), 600_000)
    kept = u - v + rng.normal(0, noise, 600_000) > 0
    arrays = [np.array([x]) for x in (mu, other, var, other_var)]
    p, *moments = (float(x[0]) for x in after_preference(*arrays, noise))
    assert p == pytest.approx(kept.mean(), abs=0.003)
    expected = [u[kept].mean(), v[kept].mean(), u[kept].var(), v[kept].var()]
    np.testing.assert_allclose(moments, expected, atol=0.005)
    # Both outcomes together leave the means where they are.
    q, lost, won, *_ = after_preference(*(arrays[k] for k in (1, 0, 3, 2)), noise)
    assert p + q[0] == pytest.approx(1.0)
    assert p * moments[0] + q[0] * won[0] == pytest.approx(mu)
    assert p * moments[1] + q[0] * lost[0] == pytest.approx(other)


def test_looking_ahead_is_the_mean_over_outcomes():
    rng = np.random.default_rng(1)
    a, b = np.sort(rng.normal(size=(2, 30)), axis=0)[::-1]
    va, vb = rng.random((2, 30))
    found = expected_loss_after(a, b, va, vb, 0.5)
    for i in range(30):
        total = 0.0
        for x, y, vx, vy in [(a, b, va, vb), (b, a, vb, va)]:
            one = [np.array([each[i]]) for each in (x, y, vx, vy)]
            p, m, n, vm, vn = after_preference(*one, 0.5)
            ordered = (m, n, vm, vn) if m >= n else (n, m, vn, vm)
            total += p[0] * expected_loss(*ordered)[0]
        assert found[i] == pytest.approx(total, rel=1e-12)
    # Where the order is open, what users say helps; far out, no normal distribution has
    # the moments of what is left, and the estimate may rise a little.
    unsure = a - b < np.sqrt(va + vb)
    assert unsure.sum() > 5
    assert (found < expected_loss(a, b, va, vb))[unsure].all()


class Believer(Ridge):
    """Scores and standard deviations that stand in the rows."""

    def predict(self, X, return_std=False):
        return (X[:, 0], X[:, 1]) if return_std else X[:, 0]


def beliefs(n_queries=4, size=7):
    rng = np.random.default_rng(2)
    n = n_queries * size
    X = np.column_stack([rng.normal(size=n), rng.random(n) + 0.1])
    groups = rng.permutation(np.repeat(np.arange(n_queries), size))
    return Believer(), X, groups


@pytest.mark.parametrize(
    "strategy", ["largest_loss_pair", "one_step_lookahead", "largest_loss_documents"]
)
def test_strategies_choose_the_best_of_all_pairs(strategy):
    ranker, X, groups = beliefs()
    explore = ActiveExploration(strategy=strategy, noise=0.5)
    ranks = explore.rank(ranker, X, groups)

    def loss(u, v, place, after=False):
        one = [np.array([x]) for x in (X[u, 0], X[v, 0], X[u, 1] ** 2, X[v, 1] ** 2)]
        value = expected_loss_after(*one, 0.5) if after else expected_loss(*one)
        return np.exp(-place) * value[0]

    best_of_all = None
    for q in range(4):
        rows = np.flatnonzero(groups == q)
        rows = rows[np.argsort(-X[rows, 0])]
        pairs = list(combinations(range(7), 2))
        losses = {(i, j): loss(rows[i], rows[j], i) for i, j in pairs}
        if strategy == "one_step_lookahead":
            worth = {
                (i, j): losses[i, j] - loss(rows[i], rows[j], i, True) for i, j in pairs
            }
        elif strategy == "largest_loss_documents":
            total = [sum(x for p, x in losses.items() if i in p) for i in range(7)]
            worth = {(i, j): total[i] + total[j] for i, j in pairs}
        else:
            worth = losses
        best = max(worth, key=worth.__getitem__)
        if best_of_all is None or worth[best] > best_of_all[0]:
            best_of_all = worth[best], {rows[best[0]], rows[best[1]]}
        shown = rows[np.argsort(ranks[rows])]
        assert shown[:2].tolist() == [rows[i] for i in best]
        assert shown[2:].tolist() == [r for r in rows if r not in shown[:2]]
        assert sorted(ranks[rows]) == list(range(1, 8))
    assert set(explore.select(ranker, X, groups, 2)) == best_of_all[1]


def test_random_exploration_draws_any_pair():
    ranker, X, groups = beliefs(n_queries=1, size=4)
    pairs = set()
    for seed in range(60):
        explore = ActiveExploration(strategy="random", random_state=seed)
        ranks = explore.rank(ranker, X, groups)
        pairs.add(frozenset(np.flatnonzero(ranks <= 2)))
    assert len(pairs) == 6


def test_members_of_a_committee_score_on_a_common_scale():
    X, groups, y, _ = pool()
    X = np.column_stack([X, 10.0 * groups])  # the same for all documents of a query
    explore = ActiveExploration(n_members=4, random_state=0)
    mean, var = explore._beliefs(explore._pool(Ridge(), X, groups, y))
    rng, judged = np.random.RandomState(0), ~y.mask
    ids, known = np.unique(groups), np.unique(groups[judged])
    by_query = np.argsort(groups, kind="stable")
    members = []
    for _ in range(4):
        drawn = known[rng.randint(len(known), size=len(known))]
        rows = np.concatenate([np.flatnonzero(judged & (groups == q)) for q in drawn])
        scores = Ridge().fit(X[rows], y.data[rows]).predict(X)
        for q in ids:
            scores[groups == q] -= scores[groups == q].mean()
        members.append((scores / np.sqrt(np.mean(scores**2)))[by_query])
    np.testing.assert_allclose(mean, np.mean(members, axis=0), atol=1e-8)
    np.testing.assert_allclose(var, np.var(members, axis=0), atol=1e-8)


def test_a_committee_agrees_where_there_is_much_to_learn_from():
    X, groups, y, ranker = pool(n_queries=20, share=0.5)
    few = y.copy()
    few[groups > 3] = np.ma.masked
    explore = ActiveExploration(n_members=8, random_state=0)
    unsure, sure = (
        explore._beliefs(explore._pool(ranker, X, groups, grades))[1].mean()
        for grades in (few, y)
    )
    assert sure < unsure
    model = BayesianRidge().fit(X[~y.mask], y.data[~y.mask])
    assert len(explore.select(model, X, groups, 6)) == 6


# The loop.


def split(n_queries=40, seed=0):
    X, y, groups = make_ranking(
        n_queries=n_queries, n_features=5, n_informative=3, random_state=seed
    )
    train = groups < n_queries * 0.6
    test = {"X_test": X[~train], "y_test": y[~train], "groups_test": groups[~train]}
    return (X[train], y[train], groups[train]), test


@pytest.mark.parametrize("unit", ["document", "query"])
def test_the_loop_is_what_it_says(unit):
    (X, y, groups), test = split()
    n = {"n_initial": 40, "batch": 30}
    if unit == "query":
        n = {"n_initial": 3, "batch": 2}
    selector = ExpectedHypothesisChange(unit)
    run = active_learning(
        RankSVM(),
        X,
        y,
        groups,
        **test,
        selector=selector,
        n_rounds=3,
        **({"batch": 2} | n),
    )
    assert len(run.rows) == len(set(run.rows)) == run.n_judged[-1]
    if unit == "document":
        assert run.n_judged.tolist() == [40, 70, 100, 130]
    else:
        expected = [len(set(groups[run.rows[:k]])) for k in run.n_judged]
        assert expected == [3, 5, 7, 9]
    for k, value, each in zip(run.n_judged, run.values, run.per_query):
        rows = run.rows[:k]
        model = RankSVM().fit(X[rows], y[rows], groups[rows])
        expected = evaluate_measure(
            "ndcg@10",
            test["y_test"],
            model.predict(test["X_test"]),
            groups=test["groups_test"],
        )
        assert value == pytest.approx(expected, rel=1e-3)
        assert np.nanmean(each) == pytest.approx(value)
    # What is selected follows from what is known at that time.
    first = run.rows[: run.n_judged[0]]
    mask = ~np.isin(np.arange(len(y)), first)
    order = np.sort(first)
    model = RankSVM().fit(X[order], y[order], groups[order])
    found = selector.select(
        model, X, groups, n["batch"], y=np.ma.masked_array(y, mask=mask)
    )
    expected = run.rows[run.n_judged[0] : run.n_judged[1]]
    np.testing.assert_array_equal(found, expected)


def test_the_loop_ends_when_everything_is_judged():
    (X, y, groups), test = split(n_queries=10)
    n = len(y)
    run = active_learning(
        RankSVM(), X, y, groups, **test, n_initial=n // 2, batch=n // 3, n_rounds=9
    )
    assert run.n_judged.tolist() == [n // 2, n // 2 + n // 3, n]
    model = RankSVM().fit(X, y, groups)
    np.testing.assert_allclose(run.ranker.coef_, model.coef_, rtol=1e-6)
    again = active_learning(
        RankSVM(), X, y, groups, **test, n_initial=10**6, n_rounds=1
    )
    assert again.n_judged.tolist() == [n]


def test_comparisons_of_selectors():
    (X, y, groups), test = split()
    selectors = {
        "change": ExpectedHypothesisChange(max_per_query=3),
        "random": RandomSelection(max_per_query=3),
    }
    options = {"n_initial": 30, "batch": 30, "n_rounds": 2, "n_repeats": 3}
    first = compare_selectors(
        RankSVM(), X, y, groups, **test, selectors=selectors, **options
    )
    second = compare_selectors(
        RankSVM(), X, y, groups, **test, selectors=selectors, n_jobs=2, **options
    )
    for name in selectors:
        np.testing.assert_array_equal(first.curves[name], second.curves[name])
        assert first.curves[name].shape == (3, 3)
        low, high = first.interval(name).T
        mean = first.mean(name)
        assert ((low < mean) & (mean < high)).all()
        assert first.n_judged[name].tolist() == [30, 60, 90]
        np.testing.assert_allclose(first.per_query[name].mean(axis=1), mean)
    # The same documents to begin with.
    difference, interval = first.difference("change")
    assert difference[0] == 0
    np.testing.assert_allclose(
        difference, first.mean("change") - first.mean("random"), atol=1e-12
    )
    assert (interval[1:, 0] < difference[1:]).all()
    with pytest.raises(ValueError, match="selector must be one of 'change', 'random'"):
        first.mean("other")
    with pytest.raises(ValueError, match="reference must be one of"):
        first.difference("change", "other")


def test_choosing_documents_beats_chance():
    (X, y, groups), test = split(n_queries=120, seed=1)
    result = compare_selectors(
        RankSVM(alpha=0.1),
        X,
        y,
        groups,
        **test,
        selectors={"change": ExpectedHypothesisChange(max_per_query=2)},
        n_initial=40,
        batch=20,
        n_rounds=4,
        n_repeats=3,
    )
    difference, _ = result.difference("change")
    assert difference[1:].mean() > 0


def test_what_the_loop_refuses():
    (X, y, groups), test = split(n_queries=10)
    with pytest.raises(TypeError, match="ranker must be an estimator with fit"):
        active_learning(None, X, y, groups, **test)
    with pytest.raises(ValueError, match="batch must be"):
        active_learning(RankSVM(), X, y, groups, **test, batch=0)
    with pytest.raises(ValueError, match="selector must be"):
        active_learning(RankSVM(), X, y, groups, **test, selector="random")
    for unit in (np.array(["query", "document"]), pd.NA):
        wrong = RandomSelection(unit=unit)
        with pytest.raises(ValueError, match="RandomSelection: unit must be"):
            active_learning(RankSVM(), X, y, groups, **test, selector=wrong)
    for columns in ([1, 2, 3, 4], [0, 0, 1, 2, 3, 4]):
        other = {"X_test": test["X_test"][:, columns]}
        with pytest.raises(ValueError, match="X_test must have the 5 columns of X"):
            active_learning(RankSVM(), X, y, groups, **test | other)
    with pytest.raises(ValueError, match="y_test has"):
        active_learning(RankSVM(), X, y, groups, **test | {"y_test": y})
    with pytest.raises(TypeError, match="selectors: 'a' must be a selector"):
        compare_selectors(RankSVM(), X, y, groups, **test, selectors={"a": 1})
    with pytest.raises(ValueError, match="pass groups_test="):
        active_learning(RankSVM(), X, y, groups, **test | {"groups_test": None})


def test_a_number_of_repetitions_in_a_small_type_does_not_wrap_around():
    (X, y, groups), test = split(n_queries=40)
    options = {"n_initial": 30, "batch": 5, "n_rounds": 1}
    selectors = {"a": RandomSelection(), "b": RandomSelection(), "c": RandomSelection()}
    result = compare_selectors(
        RankSVM(tol=0.1),
        X,
        y,
        groups,
        **test,
        selectors=selectors,
        n_repeats=np.int8(50),
        **options,
    )
    assert {name: len(curve) for name, curve in result.curves.items()} == dict.fromkeys(
        (*selectors, "random"), 50
    )


def test_one_open_document_makes_no_pair():
    X, groups, y, _ = pool()
    ranker = RankSVM().fit(X, y.data, groups)
    grades = np.ma.masked_array(y.data, mask=np.arange(len(y)) == 3)
    found = SVMSelectiveSampling().select(ranker, X, groups, 1, y=grades)
    assert found.tolist() == [3]
