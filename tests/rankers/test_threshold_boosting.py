"""RankBoost, FRank and p-norm push against plain loops over pairs and thresholds."""

import numpy as np
import pytest
from sklearn.base import clone

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import ExponentialLoss
from skrank.metrics import get_measure
from skrank.rankers import FRank, PNormPush, RankBoost, RankSVM
from skrank.rankers._threshold_boosting import rising_root

STEPS = ["binary", "search", "bound"]
RANKERS = [RankBoost(), RankBoost(step="binary"), FRank(), PNormPush()]


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=15, n_features=6, n_informative=3, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, y, groups


def pairs_of(y, groups):
    """Rows of the preferred and of the other document of all pairs."""
    better, worse = np.nonzero((groups[:, None] == groups) & (y[:, None] > y))
    return better, worse


def per_query(better, groups):
    """Weights under which the pairs of each query weigh 1 together."""
    _, query, counts = np.unique(
        groups[better], return_inverse=True, return_counts=True
    )
    return 1.0 / counts[query]


def ranks_of(ranker, t, X):
    """What weak ranker t says of the documents."""
    column = X[:, ranker.features_[t]]
    ranks = (column > ranker.lows_[t]).astype(float)
    return np.where(np.isnan(column), ranker.missing_ranks_[t], ranks)


def all_ranks(ranker, X):
    """Ranks by every feature, threshold and rank that missing values may have."""
    known = {"low": [0.0], "high": [1.0], "best": [0.0, 1.0]}[ranker.missing_rank]
    for j, column in enumerate(X.T):
        bounds = ranker.bin_mapper_.thresholds_[j, : ranker.bin_mapper_.n_bins_[j] - 1]
        missing = np.isnan(column)
        for bound in [-np.inf, *bounds, np.inf]:
            ranks = (column > bound).astype(float)
            for rank in known:
                yield np.where(missing, rank, ranks)


def pair_weights(ranker, margins, X, y, groups):
    """Minus the slopes of the loss at the margins of all pairs, as in the sources."""
    better, worse = pairs_of(y, groups)
    weight = np.ones(len(better))
    if ranker.normalization == "query":
        weight = per_query(better, groups)
    if isinstance(ranker, RankBoost):
        return weight * np.exp(-margins)
    if isinstance(ranker, FRank):
        p = 1.0 / (1.0 + np.exp(-margins))
        return 0.5 * weight * np.sqrt(p) * (1.0 - p)
    # The push: p times the (p - 1)-th power of the sum of the worse document.
    height = np.bincount(worse, np.exp(-margins), len(y))
    start = np.bincount(worse, minlength=len(y)).astype(float) ** ranker.p
    _, query = np.unique(groups, return_inverse=True)
    of_query = np.bincount(query, start)[query[worse]]
    slope = ranker.p * height[worse] ** (ranker.p - 1) * np.exp(-margins)
    return slope / of_query


@pytest.mark.parametrize("missing_rank", ["low", "high", "best"])
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_every_weak_ranker_is_the_best_of_all(ranker, missing_rank, data):
    X, y, groups = data
    ranker = clone(ranker).set_params(n_estimators=12, max_bins=20)
    ranker.set_params(missing_rank=missing_rank).fit(X, y, groups)
    better, worse = pairs_of(y, groups)
    tried = np.array(list(all_ranks(ranker, X)))
    steps = tried[:, better] - tried[:, worse]
    scores = np.zeros(len(y))
    for t in range(12):
        weights = pair_weights(ranker, scores[better] - scores[worse], *data)
        ranks = ranks_of(ranker, t, X)
        found = abs(weights @ (ranks[better] - ranks[worse]))
        assert found == pytest.approx(np.abs(steps @ weights).max(), rel=1e-11)
        scores += ranker.alphas_[t] * ranks
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=1e-13)


@pytest.mark.parametrize("step", STEPS)
def test_rankboost_keeps_the_distribution_of_the_paper(step, data):
    """D is kept pair by pair as in the paper, and with it Z, W and r of every round."""
    X, y, groups = data
    ranker = RankBoost(step=step, n_estimators=15).fit(X, y, groups)
    better, worse = pairs_of(y, groups)
    weights = np.full(len(better), 1.0 / len(better))
    smooth, bound, product = 1e-4, 1.0, 1.0
    for t in range(15):
        np.testing.assert_allclose(ranker.loss_curve_[t], product, rtol=1e-10)
        ranks = ranks_of(ranker, t, X)
        gap = ranks[better] - ranks[worse]
        plus, minus = weights[gap > 0].sum() + smooth, weights[gap < 0].sum() + smooth
        r = weights @ gap
        room = 1 + 2 * smooth
        expected = 0.5 * np.log((room + r) / (room - r))
        if step != "bound":
            expected = 0.5 * np.log(plus / minus)
        np.testing.assert_allclose(ranker.alphas_[t], expected, rtol=1e-8)
        factor = weights @ np.exp(-ranker.alphas_[t] * gap)
        # Smoothing costs the step a little.
        most = np.sqrt(room**2 - r**2) - 2 * smooth
        assert factor <= most + 1e-12
        np.testing.assert_allclose(
            ranker.gains_[t], product * r * ranker.alphas_[t], rtol=1e-8
        )
        weights = weights * np.exp(-ranker.alphas_[t] * gap) / factor
        product *= factor
        bound *= most
    assert product <= bound + 1e-12


@pytest.mark.parametrize("smoothing", [1e-9, 1e-4, 0.01, 0.5])
@pytest.mark.parametrize("n_wrong", [0, 1])
@pytest.mark.parametrize("weak_rankers", ["threshold", "feature"])
@pytest.mark.parametrize("step", STEPS)
def test_smoothing_keeps_the_bound_of_the_loss(step, weak_rankers, n_wrong, smoothing):
    """A round multiplies the loss by sqrt((1 + 2 e)^2 - r^2) - 2 e at most."""
    if step == "binary" and weak_rankers == "feature":
        return
    X, y = np.tile([1.0, 0.0], 10)[:, None], np.tile([1, 0], 10)
    X[: 2 * n_wrong] = 1.0 - X[: 2 * n_wrong]
    ranker = RankBoost(
        step=step, smoothing=smoothing, weak_rankers=weak_rankers, n_estimators=2
    ).fit(X, y, np.repeat(np.arange(10), 2))
    r = 1.0 - 0.2 * n_wrong
    most = np.sqrt((1 + 2 * smoothing) ** 2 - r**2) - 2 * smoothing
    if ranker.n_iter_ == 2:
        assert ranker.loss_curve_[1] <= most + 1e-12
    assert most <= 1.0
    assert ranker.loss_curve_[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ranker", "most"),
    [(PNormPush(2), 2.1), (RankBoost(step="search"), 2.1), (RankBoost(), 1.9)],
    ids=repr,
)
def test_gains_lie_between_the_decrease_and_twice_it(ranker, most, data):
    """The slope falls along a step, to nothing at the minimum of a convex loss."""
    for weak_rankers in ("threshold", "feature"):
        ranker = clone(ranker).set_params(weak_rankers=weak_rankers, n_estimators=30)
        ranker.fit(*data)
        ratio = ranker.gains_[:-1] / -np.diff(ranker.loss_curve_)
        assert ratio.min() >= 1.0
        assert 1.0 <= np.median(ratio) <= most
        if most > 2.0:
            assert np.median(ratio) >= 1.9


def test_the_three_steps_order_as_the_paper_says(data):
    """Of the same weak ranker, the exact minimum is best, and the bound bounds."""
    X, y, groups = data
    better, worse = pairs_of(y, groups)
    fits = {s: RankBoost(step=s, n_estimators=1, smoothing=1e-9) for s in STEPS}
    value = {}
    for name, ranker in fits.items():
        ranker.fit(X, y, groups)
        scores = ranker.predict(X)
        value[name] = np.mean(np.exp(scores[worse] - scores[better]))
    ranks = ranks_of(ranker, 0, X)
    r = np.mean(ranks[better] - ranks[worse])
    assert value["search"] == pytest.approx(value["binary"], rel=1e-12)
    assert value["binary"] < value["bound"] < np.sqrt(1 - r**2) < 1.0
    alphas = {name: abs(ranker.alphas_[0]) for name, ranker in fits.items()}
    assert alphas["bound"] < alphas["binary"]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
@pytest.mark.parametrize("weak_rankers", ["threshold", "feature"])
def test_the_loss_never_rises(ranker, weak_rankers, data):
    if ranker.get_params().get("step") == "binary" and weak_rankers == "feature":
        return
    options = {"weak_rankers": weak_rankers, "n_estimators": 60}
    curve = type(ranker)(**options).fit(*data).loss_curve_
    assert (np.diff(curve) <= 1e-15).all()
    assert curve[-1] < 0.9 * curve[0]


def test_features_as_weak_rankers(data):
    X, y, groups = data
    ranker = RankBoost(weak_rankers="feature", n_estimators=8, step="search")
    ranker.fit(X, y, groups)
    better, worse = pairs_of(y, groups)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    scaled = (X - low) / (high - low)
    tried = np.concatenate([np.nan_to_num(scaled, nan=q).T for q in (0.0, 1.0)])
    scores = np.zeros(len(y))
    for t in range(8):
        weights = np.exp(scores[worse] - scores[better])
        sums = np.abs((tried[:, better] - tried[:, worse]) @ weights)
        place = np.argmax(sums)
        assert ranker.features_[t] == place % X.shape[1]
        assert ranker.missing_ranks_[t] == place // X.shape[1]
        # The weight is a minimum of the loss: its slope vanishes, but for smoothing.
        scores += ranker.alphas_[t] * tried[place]
        gap = tried[place][better] - tried[place][worse]
        slope = gap @ np.exp(scores[worse] - scores[better]) / weights.sum()
        smooth = 2e-4 * np.sinh(ranker.alphas_[t])
        np.testing.assert_allclose(slope, smooth, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=1e-12)
    # Values beyond those of training have the ranks of its ends.
    far = ranker.predict(np.vstack([high, high + 5.0, low, low - 5.0]))
    assert far[0] == far[1]
    assert far[2] == far[3]


def test_with_power_1_the_push_is_rankboost(data):
    push = PNormPush(1, normalization="pair", n_estimators=30).fit(*data)
    boost = RankBoost(step="search", n_estimators=30).fit(*data)
    np.testing.assert_array_equal(push.features_, boost.features_)
    np.testing.assert_allclose(push.alphas_, boost.alphas_, rtol=1e-9)
    np.testing.assert_allclose(push.loss_curve_, boost.loss_curve_, rtol=1e-12)


def test_a_higher_power_pushes_the_highest_bad_document_down(data):
    """By the estimate that the loss is made of: better documents below it."""
    X, y, groups = data
    X = X[:, :2]  # few enough weak rankers for a minimum to be reached
    better, worse = pairs_of(y, groups)
    highest = []
    for p in (1, 2, 4, 8):
        ranker = PNormPush(
            p, n_estimators=500, max_bins=8, normalization="pair", smoothing=1e-9
        )
        scores = ranker.fit(X, y, groups).predict(X)
        heights = np.bincount(worse, np.exp(scores[worse] - scores[better]))
        highest.append(heights.max())
    assert highest == sorted(highest, reverse=True)


def test_frank_takes_the_step_of_the_paper(data):
    X, y, groups = data
    ranker = FRank(n_estimators=10, smoothing=1e-12).fit(X, y, groups)
    better, worse = pairs_of(y, groups)
    scores = np.zeros(len(y))
    for t in range(10):
        weights = pair_weights(ranker, scores[better] - scores[worse], *data)
        p = 1.0 / (1.0 + np.exp(scores[worse] - scores[better]))
        loss = per_query(better, groups) @ (1.0 - np.sqrt(p)) / 15
        np.testing.assert_allclose(ranker.loss_curve_[t], loss, rtol=1e-10)
        ranks = ranks_of(ranker, t, X)
        gap = ranks[better] - ranks[worse]
        alpha = 0.5 * np.log(weights[gap > 0].sum() / weights[gap < 0].sum())
        np.testing.assert_allclose(ranker.alphas_[t], alpha, rtol=1e-8)
        scores += alpha * ranks


def test_frank_shares_pairs_out_by_ranks_between_0_and_1(data):
    X, y, groups = data
    ranker = FRank(weak_rankers="feature", n_estimators=10, smoothing=1e-12)
    ranker.fit(X, y, groups)
    better, worse = pairs_of(y, groups)
    scores = np.zeros(len(y))
    for t in range(10):
        weights = pair_weights(ranker, scores[better] - scores[worse], *data)
        low, high = ranker.lows_[t], ranker.highs_[t]
        column = (X[:, ranker.features_[t]] - low) / (high - low)
        ranks = np.where(np.isnan(column), ranker.missing_ranks_[t], column)
        right = weights @ (ranks[better] * (1.0 - ranks[worse]))
        wrong = weights @ ((1.0 - ranks[better]) * ranks[worse])
        alpha = 0.5 * np.log(right / wrong)
        np.testing.assert_allclose(ranker.alphas_[t], alpha, rtol=1e-8)
        scores += alpha * ranks


def test_a_perfect_weak_ranker_has_a_finite_weight():
    X, y, groups = np.array([[0.0], [1.0], [2.0]]), [0, 1, 2], [1, 1, 1]
    for ranker in (RankBoost(), RankBoost(step="binary"), FRank(), PNormPush()):
        ranker.set_params(n_estimators=200).fit(X, y, groups)
        assert np.isfinite(ranker.predict(X)).all()
        assert ranker.score(X, y, groups) == 1.0
    first = RankBoost(step="binary", n_estimators=1, smoothing=0.25).fit(X, y, groups)
    # Two of three pairs in the right order, one not ordered.
    np.testing.assert_allclose(first.alphas_, [0.5 * np.log((2 / 3 + 0.25) / 0.25)])


def test_low_values_may_be_good_and_missing_values_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    groups = np.repeat(np.arange(6), 10)
    X = np.where(y == 1, np.nan, 1.0 + rng.random(60))[:, None]
    ranker = RankBoost(n_estimators=1).fit(X, y, groups)
    assert ranker.lows_[0] == -np.inf
    assert ranker.alphas_[0] < 0
    assert ranker.score(X, y, groups) == 1.0
    X = -y[:, None].astype(float)
    assert RankBoost(n_estimators=1).fit(X, y, groups).alphas_[0] < 0


@pytest.mark.parametrize("missing_rank", ["low", "high", "best"])
@pytest.mark.parametrize("cls", [RankBoost, FRank, PNormPush])
def test_whether_a_value_is_missing_is_asked_under_every_rank(
    cls, missing_rank, tmp_path
):
    X = np.array([[1.0], [2.0], [3.0], [np.nan]] * 5)
    y, groups = np.array([0, 0, 0, 1] * 5), np.repeat(np.arange(5), 4)
    ranker = cls(n_estimators=1, missing_rank=missing_rank).fit(X, y, groups)
    rank = float(missing_rank == "high")
    assert ranker.missing_ranks_[0] == rank
    assert ranker.lows_[0] == ranker.highs_[0] == (np.inf if rank else -np.inf)
    ranks = np.where(np.isnan(X[:, 0]), rank, 1.0 - rank)
    scores = ranker.predict(np.vstack([X, [[1e300], [-1e300]]]))
    np.testing.assert_array_equal(scores[:20], ranker.alphas_[0] * ranks)
    assert (scores[20:] == scores[0]).all()  # values beyond those of training
    assert ranker.score(X, y, groups) == 1.0
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_threads_do_not_change_a_bit(ranker):
    X, y, groups = make_ranking(n_queries=150, n_features=30, random_state=0)
    fits = [
        type(ranker)(n_estimators=10, n_jobs=n).fit(X, y, groups) for n in (1, 2, 3)
    ]
    for other in fits[1:]:
        for name in ("features_", "lows_", "alphas_", "loss_curve_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(fits[0], name))


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
@pytest.mark.parametrize("weak_rankers", ["threshold", "feature"])
def test_rounds_are_those_of_boosted_trees(ranker, weak_rankers, data):
    """Stages, warm starts, starting scores and early stopping."""
    if ranker.get_params().get("step") == "binary" and weak_rankers == "feature":
        return
    X, y, groups = data

    def make(n, **options):
        return type(ranker)(n_estimators=n, weak_rankers=weak_rankers, **options)

    whole = make(9).fit(X, y, groups)
    stages = list(whole.staged_predict(X))
    assert len(stages) == whole.n_iter_ == 9
    np.testing.assert_array_equal(stages[-1], whole.predict(X))
    np.testing.assert_array_equal(stages[3], make(4).fit(X, y, groups).predict(X))
    parts = make(4, warm_start=True).fit(X, y, groups)
    parts.set_params(n_estimators=9).fit(X, y, groups)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    assert parts.loss_curve_.tolist() == whole.loss_curve_.tolist()
    rest = make(5).fit(X, y, groups, init_score=stages[3])
    np.testing.assert_array_equal(rest.alphas_, whole.alphas_[4:])
    first = make(5, init=make(4)).fit(X, y, groups)
    np.testing.assert_allclose(first.predict(X), whole.predict(X), rtol=1e-12)


def test_early_stopping_keeps_the_best_rounds(data):
    X, y, groups = data
    held = groups >= 10
    val = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    ranker = RankBoost(n_iter_no_change=4, validation_measure="map")
    ranker.fit(X[~held], y[~held], groups[~held], **val)
    assert ranker.n_iter_ < 300
    assert len(ranker.alphas_) == ranker.best_iteration_
    assert ranker.best_iteration_ == np.argmax(ranker.validation_curve_) + 1
    measure = get_measure("map")
    found = [
        measure.mean(measure.per_query(y[held], s, np.array([0, *_ends(groups[held])])))
        for s in ranker.staged_predict(X[held])
    ]
    np.testing.assert_allclose(
        found, ranker.validation_curve_[: ranker.best_iteration_], rtol=1e-12
    )


def _ends(groups):
    return np.append(np.flatnonzero(np.diff(groups)) + 1, len(groups))


def test_importances_are_total_gains(data):
    ranker = RankBoost(n_estimators=20).fit(*data)
    importances = ranker.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert (ranker.gains_ > 0).all()
    for j in range(6):
        share = ranker.gains_[ranker.features_ == j].sum() / ranker.gains_.sum()
        assert importances[j] == pytest.approx(share)


def test_nothing_to_learn_ends_the_run():
    X, groups = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    with pytest.warns(UserWarning, match="preference|differ"):
        ranker = RankBoost().fit(X, [1, 1, 1, 2, 2, 2], groups)
    assert ranker.n_iter_ == 0
    assert not ranker.predict(X).any()
    assert not ranker.feature_importances_.any()


def test_weights_of_documents_and_of_queries(data):
    X, y, groups = data
    weight = np.where(groups == 3, 3.0, 1.0)
    twice = np.concatenate([np.arange(len(y)), *[np.flatnonzero(groups == 3)] * 2])
    new = np.concatenate([groups, *[np.full(sum(groups == 3), 90 + k) for k in (0, 1)]])
    for ranker in RANKERS:
        weighted = type(ranker)(n_estimators=6).fit(X, y, groups, sample_weight=weight)
        repeated = type(ranker)(n_estimators=6).fit(X[twice], y[twice], new)
        for name in ("loss_curve_", "alphas_", "gains_"):
            np.testing.assert_allclose(
                getattr(weighted, name), getattr(repeated, name), rtol=1e-10
            )
    queries = RankBoost(normalization="query", n_estimators=1).fit(X, y, groups)
    assert queries.loss_curve_[0] == pytest.approx(1.0, rel=1e-12)


def test_bad_parameters(data):
    with pytest.raises(
        ValueError, match="step must be 'search' or 'bound' where weak_"
    ):
        RankBoost(weak_rankers="feature", step="binary").fit(*data)
    with pytest.raises(ValueError, match="p must be a number >= 1"):
        PNormPush(0.9).fit(*data)
    with pytest.raises(ValueError, match="smoothing must be"):
        FRank(smoothing=0.0).fit(*data)
    X, y, groups = data
    with pytest.raises(ValueError, match="lower p"):
        PNormPush(200, n_estimators=5).fit(X, y, groups, init_score=-9.0 * y)


@pytest.mark.parametrize("root", [1e-9, 0.3, 7.0, 40.0])
@pytest.mark.parametrize("bend", [0.1, 1.0, 5.0])
def test_roots_of_steep_and_flat_functions(root, bend):
    def function(x):
        power = np.exp(bend * (x - root))
        return power - 1.0, bend * power

    assert rising_root(function, 0.5) == pytest.approx(root, rel=1e-6)


def test_the_loss_is_the_bound_of_wrong_pairs(data):
    X, y, groups = data
    better, worse = pairs_of(y, groups)
    ranker = RankBoost(n_estimators=30).fit(X, y, groups)
    scores = ranker.predict(X)
    ptr = np.array([0, *_ends(groups)])
    values, _ = ExponentialLoss().value_gradient(y, scores, ptr)
    assert values.sum() >= np.sum(scores[better] <= scores[worse])


def test_what_the_first_ranker_refuses_is_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="RankBoost does not accept missing values"):
        RankBoost(init=RankSVM()).fit(X, y, groups)
