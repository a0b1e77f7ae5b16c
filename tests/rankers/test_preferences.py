"""Explicit preferences in place of grades, under every kind of pairwise loss."""

import numpy as np
import pytest

from skrank.datasets import make_ranking
from skrank.energies import AbsoluteLabelEnergy
from skrank.losses import HingeLoss, ListNetLoss, LogLoss, PNormPushLoss
from skrank.rankers import (
    IRSVM,
    OWPC,
    BoostedRanker,
    EnergyRanker,
    FRank,
    GBRank,
    GERank,
    LambdaRank,
    MagnitudePreservingRanker,
    PNormPush,
    QBRank,
    RankBoost,
    RobustSparseRanker,
    SortNet,
)

TREES = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
# Rankers that compute the same for all pairs of grades and for all pairs, one by one.
RANKERS = [
    RankBoost(n_estimators=10),
    RankBoost(step="binary", n_estimators=10, normalization="query"),
    RankBoost(step="search", n_estimators=10, weak_rankers="feature"),
    FRank(n_estimators=10),
    FRank(normalization="pair", n_estimators=10, weak_rankers="feature"),
    PNormPush(n_estimators=10),
    PNormPush(2.5, normalization="pair", n_estimators=10),
    GBRank(**TREES),
    GBRank(targets="own", averaging="constant", **TREES),
    QBRank(**TREES),
    BoostedRanker(**TREES),
    BoostedRanker(PNormPushLoss(2.0, normalization="query"), **TREES),
    SortNet(3, max_iter=4, random_state=0),
    GERank((6,), n_components=2, max_iter=3, query_features=(), random_state=0),
    OWPC(alpha=0.1),
    OWPC(alpha=0.1, hinge="squared", weights="uniform", normalization="document"),
    EnergyRanker(loss=HingeLoss(width=0.5), alpha=0.01),
]


@pytest.fixture(scope="module")
def data():
    return make_ranking(12, n_features=4, n_informative=3, random_state=0)


def all_pairs(y, groups):
    """Return every pair of rows of one query with different grades, better first."""
    return np.argwhere((groups[:, None] == groups) & (y[:, None] > y))


def scores_of(ranker, X, groups):
    """Return the scores of a fitted ranker, which may need the queries."""
    ranks_queries = isinstance(ranker, SortNet)
    return ranker.predict(X, groups) if ranks_queries else ranker.predict(X)


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_all_pairs_are_as_good_as_grades(data, ranker):
    X, y, groups = data
    expected = scores_of(ranker.fit(X, y, groups), X, groups)
    loss = ranker.loss_curve_[-1]
    pairs = np.random.default_rng(0).permutation(all_pairs(y, groups))
    ranker.fit(X, groups=groups, preferences=pairs)
    np.testing.assert_allclose(ranker.loss_curve_[-1], loss, rtol=1e-4)
    found = scores_of(ranker, X, groups)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.ptp(expected))
    assert not hasattr(ranker.loss_, "pairs")


def test_weights_of_pairs_are_repetition(data):
    X, y, groups = data
    pairs = all_pairs(y, groups)[::5]
    weight = 1.0 + np.arange(len(pairs)) % 3
    repeated = np.repeat(pairs, weight.astype(int), axis=0)
    for ranker in (RankBoost(n_estimators=5), FRank(n_estimators=5), QBRank(**TREES)):
        scores = ranker.fit(X, preferences=pairs, sample_weight=weight).predict(X)
        again = ranker.fit(X, preferences=repeated).predict(X)
        np.testing.assert_allclose(scores, again, atol=1e-9)


# Preferences that no grades have: documents 0, 1 and 2 in a circle.
CIRCLE = np.array([[0, 1], [1, 2], [2, 0], [3, 0], [3, 4], [5, 4]])
WEIGHT = np.array([1.0, 0.5, 0.2, 2.0, 1.0, 0.7])


def _columns(rng):
    return rng.permutation(np.linspace(-1.0, 1.0, 18)).reshape(6, 3)


@pytest.mark.parametrize("step", ["bound", "binary"])
def test_rankboost_on_a_circle_against_all_thresholds(step, rng):
    X, raw, share = _columns(rng), np.zeros(6), WEIGHT / WEIGHT.sum()
    ranker = RankBoost(step=step, n_estimators=4, smoothing=1e-3)
    ranker.fit(X, preferences=CIRCLE, sample_weight=WEIGHT)
    u, v = CIRCLE.T
    for t in range(4):
        weight = share * np.exp(raw[v] - raw[u])
        np.testing.assert_allclose(ranker.loss_curve_[t], weight.sum())
        candidates = [
            X[:, j] > threshold for j in range(3) for threshold in np.sort(X[:, j])[:-1]
        ]
        r = [weight @ (h[u] * 1.0 - h[v]) / weight.sum() for h in candidates]
        best = int(np.argmax(np.abs(r)))
        h = candidates[best].astype(float)
        if step == "bound":
            odds = (1.0 + r[best] + 2e-3) / (1.0 - r[best] + 2e-3)
        else:
            right = weight @ (h[u] * (1 - h[v])) / weight.sum()
            wrong = weight @ (h[v] * (1 - h[u])) / weight.sum()
            odds = (right + 1e-3) / (wrong + 1e-3)
        np.testing.assert_allclose(ranker.alphas_[t], 0.5 * np.log(odds))
        raw += 0.5 * np.log(odds) * h
    np.testing.assert_allclose(ranker.predict(X), raw)


def test_p_norm_push_on_a_circle_stops_at_the_minimum_of_its_line(rng):
    X = _columns(rng)
    ranker = PNormPush(3.0, normalization="pair", n_estimators=3, smoothing=1e-9)
    ranker.fit(X, preferences=CIRCLE, sample_weight=WEIGHT)
    stages = [np.zeros(6), *ranker.staged_predict(X)]

    def loss(scores):
        inner = np.zeros(6)
        for (u, v), weight in zip(CIRCLE, WEIGHT):
            inner[v] += weight * np.exp(scores[v] - scores[u])
        return np.sum(inner**3) / WEIGHT.sum()

    for before, after, value in zip(stages, stages[1:], ranker.loss_curve_):
        np.testing.assert_allclose(value, loss(before))
        step = after - before
        assert loss(after) < min(loss(after + 0.01 * step), loss(after - 0.01 * step))


def test_a_pair_that_just_meets_the_margin_has_no_target():
    # The first tree puts the pair right by 2 tau, which halving makes tau.
    X = np.array([[1.0], [0.0]])
    settings = TREES | {"min_samples_leaf": 1, "n_estimators": 2}
    for targets in ("own", "other"):
        ranker = GBRank(targets=targets, averaging="constant", **settings)
        by_pair = ranker.fit(X, preferences=[[0, 1]]).predict(X)
        expected = ranker.fit(X, [1, 0], [0, 0]).predict(X)
        np.testing.assert_array_equal(by_pair, expected)
        np.testing.assert_allclose(by_pair, [0.25, -0.25])


def test_groups_validation_queries_and_warm_starts_work_with_preferences(data):
    X, y, groups = data
    pairs = all_pairs(y, groups)
    held = {"X_val": X, "y_val": y, "groups_val": groups}
    ranker = RankBoost(n_estimators=5, normalization="query", warm_start=True)
    ranker.fit(X, groups=groups, preferences=pairs, **held)
    assert len(ranker.validation_curve_) == 5
    assert len(ranker.query_ids_) == len(np.unique(groups))
    ranker.set_params(n_estimators=8).fit(X, groups=groups, preferences=pairs, **held)
    once = RankBoost(n_estimators=8, normalization="query")
    once.fit(X, groups=groups, preferences=pairs, **held)
    np.testing.assert_allclose(ranker.predict(X), once.predict(X))
    start = np.linspace(0.0, 1.0, len(X))
    moved = BoostedRanker(**TREES).fit(X, preferences=pairs, init_score=start)
    assert moved.query_ids_.shape == (0,)
    u, v = pairs.T
    first = np.logaddexp(0.0, start[v] - start[u]).mean()
    np.testing.assert_allclose(moved.loss_curve_[0], first)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (
            BoostedRanker(ListNetLoss()),
            "BoostedRanker: loss must be a loss that can be one of given pairs",
        ),
        (
            EnergyRanker(loss=ListNetLoss()),
            "EnergyRanker: loss must be a loss that can be one of given pairs",
        ),
        (
            BoostedRanker(LogLoss(grade_weights=np.subtract)),
            "loss must be .* without grade_weights",
        ),
        (
            EnergyRanker(loss=HingeLoss(reading="pointwise")),
            "loss must be a loss that can be one of given pairs",
        ),
        (
            EnergyRanker(AbsoluteLabelEnergy(), HingeLoss()),
            "setup needs the grades y where labels is None",
        ),
        (GERank(gain="exp2"), "GERank: gain must be None with preferences"),
        (GERank(n_triples=3), "GERank: n_triples must be None with preferences"),
    ],
)
def test_what_needs_grades_says_so(data, ranker, message):
    X, y, groups = data
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, groups=groups, preferences=all_pairs(y, groups))


def test_owpc_takes_weights_of_preferred_documents_only(data):
    X, y, groups = data
    pairs = all_pairs(y, groups)
    weight = 1.0 + pairs[:, 1]
    with pytest.raises(ValueError, match="must have the same weight"):
        OWPC().fit(X, preferences=pairs, sample_weight=weight)


@pytest.mark.parametrize(
    ("ranker", "reason"),
    [
        (MagnitudePreservingRanker(), "a pair is the difference of its grades"),
        (LambdaRank(), "its measure needs grades"),
        (RobustSparseRanker(), "its measure needs grades"),
    ],
)
def test_a_ranker_that_takes_no_preferences_gives_its_reason(data, ranker, reason):
    X, _, groups = data
    match = f"{type(ranker).__name__}.fit takes no preferences in place of grades"
    with pytest.raises(TypeError, match=f"{match}, because .*{reason}"):
        ranker.fit(X, groups=groups, preferences=[[0, 1]])


def test_queries_of_preferences_are_read_from_the_index(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(7, 2))
    groups = [0, 0, 1, 1, 1, 1, 1]
    index = pd.MultiIndex.from_arrays([groups, range(7)], names=["qid", "d"])
    frame = pd.DataFrame(X, index=index)
    pairs = [[0, 1], [2, 3], [2, 4], [5, 6]]
    expected = IRSVM(alpha=0.1).fit(X, preferences=pairs, groups=groups)
    found = IRSVM(alpha=0.1).fit(frame, preferences=pairs)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    assert found.query_ids_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="preferences must stay within a query"):
        IRSVM().fit(frame, preferences=[[0, 2]])
