import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.tree import ExtraTreeRegressor

from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.export import load_model, save_model, to_ranklib
from skrank.metrics import evaluate_measure, get_measure
from skrank.rankers import AdaRank, RankSVM
from skrank.rankers._adarank import _Trap


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_features=8, n_informative=6, random_state=1)


def mean_of(name, data, scores):
    _, y, groups = data
    return evaluate_measure(name, y, scores, groups=groups)


@pytest.mark.parametrize("name", ["map", "ndcg@10", "ndcg", "mrr", "bpref"])
def test_the_training_measure_never_falls(data, name):
    ranker = AdaRank(name).fit(*data)
    stages = [mean_of(name, data, scores) for scores in ranker.staged_predict(data[0])]
    assert len(stages) > 1
    assert (np.diff(stages) > 0).all()
    assert_allclose(1 - ranker.loss_curve_[1:], stages[:-1])


@pytest.mark.parametrize("tol", [1e-9, 0.01])
def test_it_falls_by_less_than_the_tolerance_between_rounds(data, tol):
    ranker = AdaRank("map", tol=tol, when_falling="stop", n_estimators=50).fit(*data)
    losses = np.diff(ranker.loss_curve_[1:])
    assert (losses < tol).all()


def test_the_bound_of_theorem_1_holds(data):
    """Each round multiplies Σ exp(-E) by at most exp(-δ) sqrt(1 - φ²)."""
    X, y, groups = data
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    ptr = np.append(starts, len(groups))
    # Queries without relevant documents have a measure, too.
    measure = get_measure("map(empty_query=0.0)")
    ranker = AdaRank(measure, tol=0.5, when_falling="stop", n_estimators=30).fit(*data)
    total, before = np.zeros(len(y)), np.zeros(len(starts))
    for t, scores in enumerate(ranker.staged_predict(X)):
        alpha, weak = abs(ranker.alphas_[t]), scores - total
        values = measure.per_query(y, weak, ptr)
        # The first distribution is that of E(f_0) = 0.
        share = np.exp(-before) / np.exp(-before).sum()
        phi = share @ values
        assert_allclose(alpha, 0.5 * np.log((1 + phi) / (1 - phi)), rtol=1e-6)
        after = measure.per_query(y, scores, ptr)
        delta = (after - before - alpha * values).min()
        bound = np.exp(-delta) * np.sqrt(1 - phi**2)
        assert np.exp(-after).sum() <= np.exp(-before).sum() * bound * (1 + 1e-9)
        total, before = scores.copy(), after


def reference(X, y, groups, n_rounds):
    """The rounds of the paper with the queue of RankLib, in plain loops."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    ptr = np.append(starts, len(groups))

    def measured(scores):
        return np.nan_to_num(get_measure("map").per_query(y, scores, ptr))

    columns = [X[:, j] for j in range(X.shape[1])]
    table = np.array([measured(c) for c in columns] + [measured(-c) for c in columns])
    prior = (np.add.reduceat(y, starts) > 0) / np.sum(np.add.reduceat(y, starts) > 0)
    weight, scores, last = prior, np.zeros(len(y)), -1
    queue, chosen = [], []

    def best(weight):
        shares = table @ weight
        shares[queue] = shares[[k + 8 for k in queue]] = 0
        return int(np.argmax(shares)), shares.max()

    while len(chosen) < n_rounds:
        k, share = best(weight)
        if share <= 0:
            return chosen
        alpha = 0.5 * np.log((1 + share) / (1 - share))
        moved = scores + (alpha if k < 8 else -alpha) * columns[k % 8]
        values = measured(moved)
        if prior @ values + 0.002 <= last:
            return chosen
        after = prior * np.exp(-values) / (prior @ np.exp(-values))
        if best(after)[0] == k:
            queue.append(k % 8)
            continue
        scores, weight, last = moved, after, prior @ values
        chosen.append(k % 8)
    return chosen


def test_chooses_as_the_plain_loops_do(data):
    X, y, groups = data
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(np.append(starts, len(groups)))
    means = np.repeat(np.add.reduceat(X, starts) / sizes[:, None], sizes, axis=0)
    # Spreads between 1 and 2, so that features count as they are.
    X = 1.5 * X / np.abs(X - means).mean(axis=0)
    expected = reference(X, y, groups, 20)
    ranker = AdaRank("map", tol=0.002, when_falling="stop").fit(X, y, groups)
    n = min(len(expected), 20)
    assert n > 1
    assert ranker.features_[:n].tolist() == expected[:n]


def test_a_dominating_feature_does_not_trap():
    X, y, groups = make_ranking(
        n_queries=40, n_features=3, n_informative=3, random_state=0
    )
    X = np.column_stack([y + 0.3 * X[:, 0], X])  # nearly the grades themselves
    ranker = AdaRank("map", n_estimators=30).fit(X, y, groups)
    repeated = np.diff(ranker.features_) == 0
    assert len(np.unique(ranker.features_)) > 1
    assert not repeated.all()


def test_states_of_the_trap():
    trap = _Trap(queueing=False)
    seen = []
    for _ in range(4):
        trap = trap.after(2, False, 3)
        seen.append((trap.repeats, trap.aside))
    # The first time is no repetition.
    assert seen == [(0, ()), (1, ()), (2, ()), (0, (2,))]
    assert trap.after(1, False, 3).aside == ()
    assert trap.after(2, True, 3).repeats == 0


@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize("max_repeats", [1, 3])
def test_what_changes_nothing_is_chosen_so_often_only(estimator, max_repeats):
    X, y = np.array([[2.0], [1.0], [0.0]] * 2), np.array([2.0, 1.0, 0.0] * 2)
    ranker = AdaRank(estimator=estimator, tol=0.01, max_repeats=max_repeats)
    ranker.fit(X, y, [0, 0, 0, 1, 1, 1])
    assert len(ranker.alphas_) == 1 + max_repeats
    # Its negative would undo it.
    assert (ranker.alphas_ > 0).all()
    # Without any tolerance the measure has to rise.
    ranker.set_params(tol=0.0).fit(X, y, [0, 0, 0, 1, 1, 1])
    assert len(ranker.alphas_) == 1


def test_features_leave_the_queue_from_the_last_one_on():
    y = np.array([2.0, 1.0, 0.0] * 2)
    # Both features rank perfectly, so that both would be chosen again.
    ranker = AdaRank(tol=0.01, max_repeats=2, n_estimators=7)
    ranker.fit(np.column_stack([y, y]), y, [0, 0, 0, 1, 1, 1])
    # Each is chosen two more times, and set aside until the other one is chosen.
    assert ranker.features_.tolist() == [1, 1, 1, 0, 0, 0, 1]


def test_repetitions_that_make_the_measure_better_do_not_count():
    n_repeated = 0
    for seed in range(4):
        data = make_ranking(
            n_queries=20, n_features=3, n_informative=2, random_state=seed
        )
        found, expected = (
            AdaRank("map", max_repeats=n, n_estimators=30).fit(*data).features_
            for n in (1, 100)
        )
        assert_array_equal(found, expected)
        n_repeated += np.count_nonzero(np.diff(found) == 0)
    assert n_repeated > 0


def test_scores_to_start_from_must_be_improved_on(data):
    X, y, groups = data
    ranker = AdaRank("map").fit(X, y, groups, init_score=y)
    assert len(ranker.alphas_) == 0
    # What ranks all documents alike is no start.
    ranker.fit(X, y, groups, init_score=np.zeros(len(y)))
    assert len(ranker.alphas_) > 0


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_validation_follows_the_sum(data, estimator):
    X, y, groups = data
    held = groups >= 30
    ranker = AdaRank("map", estimator=estimator, tol=0.01, validation_measure="map")
    ranker.set_params(n_estimators=8).fit(
        *(part[~held] for part in data),
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    values = [
        evaluate_measure("map", y[held], scores, groups=groups[held])
        for scores in ranker.staged_predict(X[held])
    ]
    assert len(values) == ranker.best_iteration_ >= 1
    assert_allclose(ranker.validation_curve_[: len(values)], values)
    assert ranker.validation_curve_.max() == pytest.approx(values[-1])


def test_a_model_cut_short_by_validation_is_that_of_fewer_rounds(data):
    X, y, groups = data
    held = groups < 5
    options = {"measure": "map", "tol": 0.01, "when_falling": "stop"}
    cut = AdaRank(**options, validation_measure="map").fit(
        *(part[~held] for part in data),
        X_val=X[held],
        y_val=y[held],
        groups_val=groups[held],
    )
    assert cut.best_iteration_ < cut.n_iter_
    short = AdaRank(**options, n_estimators=cut.best_iteration_)
    short.fit(*(part[~held] for part in data))
    assert_array_equal(cut.features_, short.features_)
    for name in ("queue_", "set_aside_", "is_queueing_", "n_repeats_"):
        assert_array_equal(getattr(cut, name), getattr(short, name))


def test_query_weights_count():
    X, y = np.array([[0.0], [1.0]] * 2), np.array([1.0, 0.0, 0.0, 1.0])
    for weight, sign in (([2.0, 2.0, 1.0, 1.0], -1), ([1.0, 1.0, 2.0, 2.0], 1)):
        ranker = AdaRank("map").fit(X, y, [0, 0, 1, 1], sample_weight=weight)
        assert np.sign(ranker.alphas_[0]) == sign


@pytest.mark.parametrize("estimator", [RankSVM(), Ridge()])
def test_estimators_as_weak_rankers(data, estimator):
    ranker = AdaRank("map", estimator=estimator, n_estimators=4).fit(*data)
    stages = [mean_of("map", data, s) for s in ranker.staged_predict(data[0])]
    assert (np.diff(stages) > 0).all()
    assert len(ranker.weak_rankers_) == len(ranker.alphas_) >= 1
    assert not hasattr(ranker, "coef_")


def test_queries_of_equal_weight_weigh_nothing_in_an_estimator(data):
    X, y, groups = data
    relevant = np.bincount(groups, y) > 0  # other queries have no measure
    expected = Ridge(alpha=30.0).fit(X, y, relevant[groups])
    for weight in (None, np.full(len(y), 3.0)):
        ranker = AdaRank("ndcg", estimator=Ridge(alpha=30.0), n_estimators=1)
        ranker.fit(X, y, groups, sample_weight=weight)
        assert_allclose(ranker.weak_rankers_[0].coef_, expected.coef_)
        assert_allclose(
            ranker.predict(X), ranker.alphas_ * ranker.scales_ * expected.predict(X)
        )


def test_weights_within_queries_reach_an_estimator(data):
    X, y, groups = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    means = np.bincount(groups, weight) / np.bincount(groups)
    relevant = np.bincount(groups, y) > 0
    ranker = AdaRank("ndcg", estimator=Ridge(alpha=30.0), n_estimators=1)
    ranker.fit(X, y, groups, sample_weight=weight)
    # A query weighs what its rows do on average.
    of_query = relevant * means / means[relevant].mean()
    expected = Ridge(alpha=30.0).fit(X, y, weight / means[groups] * of_query[groups])
    assert_allclose(ranker.weak_rankers_[0].coef_, expected.coef_)


def test_every_estimator_has_its_own_seed(data):
    ranker = AdaRank(estimator=ExtraTreeRegressor(max_depth=2), random_state=0)
    seeds = [m.random_state for m in ranker.fit(*data).weak_rankers_]
    assert len(set(seeds)) == len(seeds) > 1


def test_estimators_must_take_weights(data):
    from sklearn.neighbors import KNeighborsRegressor

    with pytest.raises(TypeError, match="sample_weight"):
        AdaRank(estimator=KNeighborsRegressor()).fit(*data)


def test_a_warm_start_goes_on_as_if_never_stopped(data):
    options = {"measure": "map", "tol": 0.01, "when_falling": "stop"}
    whole = AdaRank(**options, n_estimators=12).fit(*data)
    parts = AdaRank(**options, n_estimators=1, warm_start=True)
    for n in (1, 3, 7, 12):
        parts.set_params(n_estimators=n).fit(*data)
    assert_array_equal(parts.predict(data[0]), whole.predict(data[0]))
    assert_array_equal(parts.features_, whole.features_)
    assert_array_equal(parts.loss_curve_, whole.loss_curve_)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_warm_start_remembers_repetitions(sign):
    y, groups = np.array([2.0, 1.0, 0.0] * 2), [0, 0, 0, 1, 1, 1]
    X = sign * y[:, None]
    ranker = AdaRank(tol=0.01, max_repeats=3, warm_start=True)
    for n_estimators, n_rounds in ((2, 2), (3, 3), (20, 4)):
        ranker.set_params(n_estimators=n_estimators).fit(X, y, groups)
        assert (np.sign(ranker.alphas_) == sign).all()
        assert len(ranker.alphas_) == n_rounds


def test_the_sum_is_linear(data, tmp_path):
    X = data[0]
    ranker = AdaRank("map").fit(*data)
    assert_allclose(ranker.predict(X), X @ ranker.coef_)
    assert to_ranklib(ranker).startswith("## Linear")
    save_model(ranker, tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict(X), ranker.predict(X))
    with_init = AdaRank(init=RankSVM(), n_estimators=2).fit(*data)
    assert not hasattr(with_init, "coef_")


def test_sparse_rows_give_the_same_bits(data):
    X, y, groups = data
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = AdaRank("map").fit(X, y, groups)
    thin = AdaRank("map").fit(sparse.csr_matrix(X), y, groups)
    assert_array_equal(thin.predict(sparse.csr_matrix(X)), dense.predict(X))


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_extreme_features(data, size):
    X, y, groups = data
    factors = np.full(8, size)
    factors[1] = 1.0
    ranker = AdaRank("map").fit(X * factors, y, groups)
    assert ranker.score(X * factors, y, groups) > 0.8


@pytest.mark.filterwarnings("ignore::skrank.exceptions.TrainingDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("estimator", [None, Ridge()])
@pytest.mark.parametrize(
    ("y", "groups"),
    [
        ([0.0] * 6, [0, 0, 0, 1, 1, 1]),
        ([2.0] * 6, [0, 0, 0, 1, 1, 1]),
        ([0.0, 1, 2, 0, 1, 2], range(6)),
    ],
    ids=["no relevant document", "equal grades", "one document"],
)
def test_nothing_to_learn(estimator, y, groups):
    X = np.arange(12.0).reshape(6, 2) % 5
    ranker = AdaRank(estimator=estimator).fit(X, np.array(y), np.array(groups))
    assert np.isfinite(ranker.predict(X)).all()


def test_constant_features_are_never_chosen(data):
    X, y, groups = data
    X = np.column_stack([np.ones(len(y)), X, np.sin(groups)])
    ranker = AdaRank("map").fit(X, y, groups)
    assert not np.isin([0, 9], ranker.features_).any()


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("dcg@10", "measure must be a measure with bounds"),
        ("mse", "measure must be a measure of rankings"),
    ],
)
def test_measures_that_are_refused(data, measure, message):
    with pytest.raises(InvalidParameterError, match=message):
        AdaRank(measure).fit(*data)


def test_measures_with_other_bounds_are_mapped(data):
    ranker = AdaRank("tau").fit(*data)
    assert (ranker.loss_curve_ <= 1).all()
    assert (np.diff(ranker.loss_curve_) < 0).all()
