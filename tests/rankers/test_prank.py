"""PRank and its ensemble, against the algorithm of Crammer and Singer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from skrank._core._rank_perceptrons import learn_dense
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.rankers import OnlineAggregatePRank, PRank

BOTH = pytest.mark.parametrize(
    "ranker", [PRank(), OnlineAggregatePRank(n_estimators=7, random_state=0)], ids=repr
)


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=20, n_features=6, n_informative=4, random_state=0
    )
    return X, y.astype(float), groups


def by_hand(X, y, weight=None, learns=None):
    """Figure 2 of the paper, one threshold at a time."""
    grades = np.unique(y).tolist()
    w, b = np.zeros(X.shape[1]), np.zeros(len(grades) - 1)
    for i, (x, grade) in enumerate(zip(X, y)):
        if learns is not None and not learns[i]:
            continue
        tau = []
        for r in range(len(b)):
            z = 1 if grades.index(grade) > r else -1
            tau.append(z if z * (w @ x - b[r]) <= 0 else 0)
        step = 1.0 if weight is None else weight[i]
        w, b = w + step * sum(tau) * x, b - step * np.array(tau)
        assert weight is not None or np.all(np.diff(b) >= 0)
    return w, b


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_pass_is_that_of_the_paper(data, form, dtype):
    X, y, groups = data
    X = np.where(np.abs(X) > 0.5, X, 0.0).astype(dtype)
    ranker = PRank().partial_fit(form(X), y, groups)
    w, b = by_hand(X.astype(float), y)
    assert_allclose(ranker.coef_, w, atol=1e-9)
    assert_array_equal(ranker.thresholds_, b)
    assert_allclose(ranker.predict(form(X)), X @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_features", [8, 19])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_pass_over_long_rows_is_that_of_the_paper(form, n_features):
    """Products of rows are summed in several parts, eight features at a time."""
    X, y, groups = make_ranking(
        n_queries=20, n_features=n_features, n_informative=8, random_state=0
    )
    ranker = PRank().partial_fit(form(X), y, groups)
    w, b = by_hand(X, y)
    assert_allclose(ranker.coef_, w, atol=1e-9)
    assert_array_equal(ranker.thresholds_, b)


def test_weights_multiply_steps(data):
    X, y, groups = data
    two = (y > 2).astype(float)  # one threshold, which has no order to lose
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    ranker = PRank().partial_fit(X, two, groups, sample_weight=weight)
    w, b = by_hand(X, two, weight)
    assert_allclose(ranker.coef_, w)
    assert_allclose(ranker.thresholds_, b)


@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_stay_in_order_after_every_document(weighted):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, n_grades = 80, rng.integers(2, 8)
        X, y = rng.normal(size=(n, 3)), rng.integers(0, n_grades, n)
        weight = rng.exponential(size=n) * rng.integers(0, 2, n) if weighted else None
        params = np.zeros((1, 3 + n_grades - 1))
        for i in range(n):
            step = np.array([i])
            places = y.astype(np.int32)
            learn_dense(X, places, weight, step, params, n_grades - 1, 1.0, 0, i, 1)
            assert np.all(np.diff(params[0, 3:]) >= 0.0)


def test_thresholds_that_would_cross_move_to_the_nearest_in_order():
    """Weights 1 and then 5: thresholds 1 and -5 + 1 have the mean -1.5."""
    params = np.array([[0.0, 0.5, 1.0, 1.0]])
    X, place = np.array([[0.75]]), np.array([2], dtype=np.int32)
    params[0, 0] = 1.0  # a score of 0.75: above the first threshold alone
    learn_dense(X, place, np.array([5.0]), np.array([0]), params, 3, 1.0, 0, 0, 1)
    # The second threshold is moved by 5 to -4 and pooled with the first, 0.5.
    assert_allclose(params[0, 1:], [-1.75, -1.75, 1.0])
    assert_allclose(params[0, 0], 1.0 + 5.0 * 0.75)


def test_the_mistake_bound_holds_on_separable_data():
    """Theorem 2: sum of |ŷ - y| <= (K - 1) (R² + 1) / γ² for unit (w, b)."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        w, b = rng.normal(size=4), np.array([-1.2, 0.1, 0.9])
        length = np.linalg.norm(np.r_[w, b])
        w, b = w / length, b / length
        X = rng.normal(size=(4000, 4))
        X = X[np.abs((X @ w)[:, None] - b).min(axis=1) > 0.05]
        y = (X @ w >= b[:, None]).sum(axis=0)
        margin = np.abs((X @ w)[:, None] - b).min()
        bound = 3 * ((X**2).sum(axis=1).max() + 1) / margin**2
        ranker = PRank(max_iter=100, random_state=0).fit(X, y, np.zeros(len(X)))
        mistakes = ranker.loss_curve_.sum() * len(X)  # corrections, at least as many
        assert 0 < mistakes <= bound
        assert ranker.loss_curve_[-1] < ranker.loss_curve_[0]


def test_what_can_be_separated_is_learned_and_ends_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X = X[np.abs(np.abs(X[:, 0]) - 0.7) > 0.3]
    y = 1.0 + 2.0 * (X[:, 0] > -0.7) + 4.0 * (X[:, 0] > 0.7)
    ranker = PRank(max_iter=1000, random_state=0).fit(X, y, np.arange(len(X)) // 9)
    assert ranker.loss_curve_[-1] == 0.0
    assert ranker.n_iter_ < 1000
    assert_array_equal(ranker.grades_, [1.0, 3.0, 7.0])
    assert_array_equal(ranker.predict_grades(X), y)


@BOTH
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_one_pass_of_fit_is_that_of_partial_fit(ranker, form, data):
    X, y, groups = (part[:70] for part in data)
    X = form(X)
    whole = clone(ranker).set_params(shuffle=False, max_iter=1).fit(X, y, groups)
    at_once = clone(ranker).partial_fit(X, y, groups)
    by_query = clone(ranker).set_params(grades=np.unique(y))
    by_row = clone(by_query)
    for query in np.unique(groups):
        rows = groups == query
        by_query.partial_fit(X[rows], y[rows], groups[rows])
    for i in range(len(y)):
        by_row.partial_fit(X[[i]], y[[i]], groups[[i]])
    for other in (at_once, by_query, by_row):
        assert_array_equal(other.params_, whole.params_)
        assert other.n_documents_seen_ == len(y)
        assert_array_equal(other.query_sizes_, whole.query_sizes_)
    assert_array_equal(by_row.thresholds_, whole.thresholds_)


@BOTH
def test_fit_begins_anew_and_partial_fit_goes_on(ranker, data):
    X, y, groups = data
    val = {"X_val": X, "y_val": y, "groups_val": groups}
    ranker = clone(ranker).set_params(random_state=0, n_iter_no_change=None)
    first = ranker.fit(X, y, groups, **val).params_.copy()
    assert ranker.best_iteration_ == np.argmax(ranker.validation_curve_) + 1
    again = clone(ranker).fit(X, y, groups, **val)
    assert_array_equal(ranker.fit(X, y, groups, **val).params_, first)
    assert_array_equal(again.params_, first)
    # From the parameters that were kept, not from those of the last pass.
    expected = first.copy()
    if isinstance(ranker, PRank):
        places = y.astype(np.int32)
        order = np.arange(len(y))
        learn_dense(X, places, None, order, expected, 4, 1.0, 0, 0, 1)
        assert_array_equal(again.partial_fit(X, y, groups).params_, expected)


def test_members_of_an_ensemble_see_their_share(data):
    X, y, groups = data
    ranker = OnlineAggregatePRank(n_estimators=5, random_state=3, subsample=0.4)
    ranker.partial_fit(X, y, groups)
    assert_allclose(ranker.coef_, ranker.params_[:, :6].mean(axis=0))
    assert_allclose(ranker.predict(X), X @ ranker.coef_)
    assert len({tuple(row) for row in ranker.params_}) == 5

    def mixed(x):
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    for j, params in enumerate(ranker.params_):
        key = mixed((ranker.seed_ + j * 0xD1342543DE82EF95) % 2**64)
        draws = np.array([(mixed(key ^ t) >> 11) / 2**53 for t in range(len(y))])
        w, b = by_hand(X, y, learns=draws < 0.4)
        assert abs(np.mean(draws < 0.4) - 0.4) < 0.1
        assert_allclose(params, np.r_[w, b], atol=1e-9)


def test_the_ensemble_is_steadier_than_its_members(data):
    X, y, groups = data
    many = OnlineAggregatePRank(n_estimators=50)
    rankers = [
        clone(many).set_params(random_state=s).fit(X, y, groups) for s in range(3)
    ]
    singles = [PRank(random_state=s).fit(X, y, groups) for s in range(10)]
    scores = [ranker.score(X, y, groups) for ranker in rankers]
    assert min(scores) > np.mean([single.score(X, y, groups) for single in singles])
    for ranker in rankers:
        assert np.all(np.diff(ranker.thresholds_) >= 0)


@BOTH
def test_grades_that_were_not_named_are_refused(ranker, data):
    X, y, groups = data
    ranker = clone(ranker).partial_fit(X, np.minimum(y, 2.0), groups)
    before = ranker.params_.copy()
    message = r"y holds grade 3, .* \[0.0, 1.0, 2.0\]; name all grades by \w+\(grades="
    with pytest.raises(ValueError, match=message):
        ranker.partial_fit(X, np.minimum(y, 3.0), groups)
    assert_array_equal(ranker.params_, before)
    with pytest.raises(ValueError, match="grades must be a sequence of finite numbers"):
        clone(ranker).set_params(grades=(0, np.nan)).fit(X, y, groups)
    named = clone(ranker).set_params(grades=(4, 3, 1, 0, 2, 9)).fit(X, y, groups)
    assert_array_equal(named.grades_, [0, 1, 2, 3, 4, 9])


def test_a_stream_takes_constant_memory():
    rng = np.random.default_rng(0)
    ranker = PRank(grades=(0, 1, 2))
    ranker._n_remembered = 10
    for start in range(0, 80, 4):
        X, y = rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
        ranker.partial_fit(X, y, np.repeat(np.arange(start, start + 4), 3))
    assert_array_equal(ranker.query_ids_, np.arange(70, 80))
    assert_array_equal(ranker.query_sizes_, np.full(10, 3))
    ranker.partial_fit(X, y, np.repeat([7, 79, 78, 8], 3))
    assert_array_equal(ranker.query_ids_, [*range(72, 80), 7, 8])
    assert_array_equal(ranker.query_sizes_[-5:], [3, 6, 6, 3, 3])
    assert ranker.n_documents_seen_ == 252
    assert PRank._n_remembered == 10_000


@BOTH
def test_a_saved_stream_goes_on(ranker, data, tmp_path):
    X, y, groups = data
    ranker = clone(ranker).partial_fit(X, y, groups)
    save_model(ranker, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert_array_equal(again.predict_grades(X), ranker.predict_grades(X))
    for model in (ranker, again):
        model.partial_fit(X[::-1], y[::-1], groups[::-1])
    assert_array_equal(again.params_, ranker.params_)


def test_a_stream_keeps_its_instances_and_its_grades():
    X, y, groups = np.eye(3), [0.0, 1, 2], [1, 1, 1]
    ranker = OnlineAggregatePRank(n_estimators=3, grades=(2, 1, 0), random_state=0)
    ranker.partial_fit(X, y, groups).set_params(n_estimators=4)
    before = ranker.params_.copy()
    with pytest.raises(ValueError, match=r"n_estimators must be 3 as in .* got 4"):
        ranker.partial_fit(X, y, groups)
    ranker.set_params(n_estimators=3, grades=(0, 1))
    with pytest.raises(ValueError, match=r"grades must be \[0.0, 1.0, 2.0\] as in"):
        ranker.partial_fit(X, y, groups)
    assert_array_equal(ranker.params_, before)
    ranker.set_params(grades=(0, 0, 1, 2), subsample=1.0).partial_fit(X, y, groups)
    assert ranker.n_documents_seen_ == 6
    assert ranker.set_params(n_estimators=4).fit(X, y, groups).params_.shape == (4, 5)


@BOTH
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_do_not_depend_on_the_rows_beside(ranker, dtype):
    X, y, groups = make_ranking(n_queries=20, n_features=37, random_state=0)
    X = X.astype(dtype)
    scores = clone(ranker).set_params(max_iter=2).fit(X, y, groups).predict
    expected = scores(X)
    assert_array_equal([scores(X[i : i + 1])[0] for i in range(60)], expected[:60])
    assert_array_equal(scores(X[3:50]), expected[3:50])
