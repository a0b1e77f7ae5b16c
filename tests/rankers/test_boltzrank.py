"""BoltzRank: its parts, and groups at prediction, alone and through pipelines."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.energies import MLPEnergy, PairwisePotentialEnergy
from skrank.energies._mlp import NetworkTooLargeError
from skrank.losses import BoltzmannLoss
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.rankers import BoltzRank, EnergyRanker
from skrank.solvers import Adam

pd = pytest.importorskip("pandas")

NDCG = make_ranking_scorer("ndcg@5")
CV = QueryKFold(3)


def fast(**params):
    return BoltzRank(
        **{"max_iter": 3, "n_samples": 20, "n_restarts": 1, "random_state": 0} | params
    )


@pytest.fixture
def task(rng):
    """Rows of queries not adjacent; the best documents exceed others of the query."""
    groups = rng.permutation(np.repeat(np.arange(15), rng.integers(5, 11, 15)))
    X = rng.normal(size=(len(groups), 3))
    y = np.digitize(X @ [2.0, 1.0, 0.0], [0.0, 2.0]).astype(float)
    return X, y, groups


@pytest.mark.parametrize("pairwise", [False, True])
def test_is_the_composition_of_its_parts(task, pairwise):
    X, y, groups = task
    ranker = fast(pairwise_potential=pairwise, mix=0.7, scale=2.0, n_pair_hidden=2)
    ranker.fit(X, y, groups)
    energy = MLPEnergy((5,), activation="scaled_tanh", output_activation="scaled_tanh")
    if pairwise:
        energy = PairwisePotentialEnergy(energy, 2)
    loss = BoltzmannLoss(n_samples=20, mix=0.7, scale=2.0, random_state=0)
    solver = ranker._default_solver(energy)
    composed = EnergyRanker(
        energy, loss, solver=solver, alpha=ranker.alpha, max_iter=3, random_state=0
    )
    composed.fit(X, y, groups)
    assert_array_equal(composed.params_, ranker.params_)
    found = ranker.predict(X, groups=groups)
    assert_array_equal(composed.predict(X, groups=groups), found)


@pytest.mark.parametrize("average", [True, False])
def test_pairs_are_averaged_or_summed(task, average):
    X, y, groups = task
    ranker = fast(pairwise_potential=True, average=average).fit(X, y, groups)
    energy, params = ranker.energy_, ranker.params_
    individual, units = energy.individual_, energy.units_
    first = individual.n_params(3)
    hidden = units.scores(params[first : first + units.n_params(3)], X)
    weight, bias = params[-6:-1], params[-1]
    expected = individual.scores(params[:first], X)
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        for j in rows:
            h = 1.7159 * np.tanh(2 / 3 * (hidden[j, :5] + hidden[rows, 5:]))
            pairs = 1.7159 * np.tanh(2 / 3 * (h @ weight + bias))
            share = 1.0 / (len(rows) - 1) if average else 1.0  # eq. 9 has no divisor
            expected[j] += share * pairs[rows != j].sum()
    assert_allclose(ranker.predict(X, groups=groups), expected, rtol=1e-9)


@pytest.mark.parametrize(("pairwise", "hidden"), [(False, (5,)), (True, (3,))])
def test_settings_of_the_paper(task, pairwise, hidden):
    X, y, groups = task
    held = groups >= 10
    parts = (X[~held], y[~held], groups[~held])
    validation = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    ranker = BoltzRank.paper(pairwise, n_restarts=2, max_iter=10, random_state=0)
    assert (ranker.pairwise_potential, ranker.hidden_layer_sizes) == (pairwise, hidden)
    assert (ranker.mix, ranker.scale, ranker.alpha) == (0.9, 1.0, 0.0)
    assert not ranker.average
    assert BoltzRank.paper(pairwise).n_restarts == 10
    ranker.fit(*parts, **validation)
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0]
    assert ranker.score(X[held], y[held], groups[held]) > 0.8


def test_prediction_needs_groups_only_for_pairs(task):
    X, y, groups = task
    ranker = fast().fit(X, y, groups)
    assert_array_equal(ranker.predict(X), ranker.predict(X, groups=groups))
    ranker = fast(pairwise_potential=True).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"BoltzRank.predict needs to know the query"):
        ranker.predict(X)
    scores = ranker.predict(X, groups=groups)
    assert_allclose(ranker.energies(X, groups=groups), -scores)
    others = np.where(groups == groups[0], groups[0], -1)
    assert np.abs(ranker.predict(X, groups=others) - scores).max() > 1e-6
    for query in np.unique(groups):
        rows = groups == query
        alone = ranker.predict(X[rows], groups=groups[rows])
        assert_allclose(alone, scores[rows], rtol=1e-9)
    ranks = ranker.rank(X, groups)
    best = [scores[groups == q].max() for q in groups[ranks == 1]]
    assert_array_equal(scores[ranks == 1], best)


def test_pairs_see_what_single_documents_cannot(rng):
    """Relevant is what lies near the middle of its query, wherever that is."""
    groups = np.repeat(np.arange(60), 8)
    within = rng.normal(size=len(groups))
    X = (within + 3.0 * rng.normal(size=60)[groups])[:, None]
    y = (np.abs(within) < 0.6).astype(float)
    scores = {}
    for pairwise in (False, True):
        ranker = BoltzRank(pairwise, measure="ndcg", scale=10.0, random_state=0)
        solver = Adam(learning_rate=0.1, batch_queries=40, max_iter=60)
        ranker.set_params(solver=solver, alpha=0.0)
        ranker.fit(X[groups < 40], y[groups < 40], groups[groups < 40])
        test = groups >= 40
        scores[pairwise] = ranker.score(X[test], y[test], groups[test])
    assert scores[True] > scores[False] + 0.1


@pytest.mark.parametrize("routing", [True, False], ids=["routing", "qid_index"])
@pytest.mark.parametrize("pairwise", [False, True])
def test_groups_reach_predict(task, routing, pairwise):
    X, y, groups = task
    ranker = fast(pairwise_potential=pairwise)
    folds = list(CV.split(X, y, groups))

    def by_hand(**params):
        values = []
        for train, test in folds:
            scaler = StandardScaler().fit(X[train])
            model = fast(pairwise_potential=pairwise, **params)
            model.fit(scaler.transform(X[train]), y[train], groups[train])
            found = model.predict(scaler.transform(X[test]), groups=groups[test])
            values.append(ndcg_score(y[test], found, groups=groups[test], k=5))
        return values

    with sklearn.config_context(enable_metadata_routing=routing):
        pipe = make_pipeline(StandardScaler(), ranker)
        if not routing and pairwise:
            return  # rows lose their index in the scaler, so predict cannot know
        target, options = y, {"params": {"groups": groups}}
        if not routing:
            target, options = pd.Series(y, index=pd.Index(groups, name="qid")), {}
        found = cross_val_score(
            pipe, X, target, cv=CV, scoring=NDCG, error_score="raise", **options
        )
        assert_allclose(found, by_hand())
        search = GridSearchCV(
            pipe,
            {"boltzrank__alpha": [1e-4, 10.0]},
            cv=CV,
            scoring=NDCG,
            error_score="raise",
        ).fit(X, target, **({"groups": groups} if routing else {}))
        means = search.cv_results_["mean_test_score"]
        assert_allclose(means, [np.mean(by_hand(alpha=a)) for a in (1e-4, 10.0)])
        if routing:
            best = search.best_estimator_.predict(X, groups=groups)
            expected = ndcg_score(y, best, groups=groups, k=5)
            assert search.score(X, y, groups=groups) == pytest.approx(expected)


def test_one_document_queries_at_prediction(task):
    X, y, groups = task
    ranker = fast(pairwise_potential=True).fit(X, y, groups)
    scores = ranker.predict(X, groups=np.arange(len(X)))
    individual = ranker.energy_.individual_
    alone = individual.scores(ranker.params_[: individual.n_params(3)], X)
    assert_allclose(scores, alone)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mix": 2.0}, r"mix must be a number in \[0, 1\], got 2.0"),
        ({"n_samples": 0}, "n_samples must be a whole number >= 2, got 0"),
        ({"scale": -1.0}, "scale must be a number > 0, got -1.0"),
        ({"hidden_layer_sizes": 0}, "hidden_layer_sizes must be a whole number >= 1"),
        ({"pairwise_potential": True, "n_pair_hidden": 0}, "n_pair_hidden must be"),
        ({"measure": "nothing"}, "nothing"),
    ],
)
def test_bad_hyper_parameters(task, params, message):
    X, y, groups = task
    with pytest.raises(ValueError, match=message):
        fast(**params).fit(X, y, groups)


def test_pairs_do_not_depend_on_threads_or_the_order_of_queries(task):
    X, y, groups = task
    order = np.argsort(groups, kind="stable")
    X, y, groups = X[order], y[order], groups[order]
    ranker = fast(pairwise_potential=True, n_jobs=1).fit(X, y, groups)
    expected = ranker.predict(X, groups=groups)
    for n_jobs in (2, 3):
        again = fast(pairwise_potential=True, n_jobs=n_jobs).fit(X, y, groups)
        assert_array_equal(again.predict(X, groups=groups), expected)
    shuffled = np.random.default_rng(1).permutation(np.unique(groups))
    order = np.concatenate([np.flatnonzero(groups == q) for q in shuffled])
    again = fast(pairwise_potential=True).fit(X[order], y[order], groups[order])
    assert_array_equal(again.predict(X, groups=groups), expected)
    moved = ranker.predict(X[order], groups=groups[order])
    assert_array_equal(moved, expected[order])


def test_a_network_that_is_too_large_has_the_name_of_the_parameter(task, monkeypatch):
    def too_large(energy, n_features, value):
        sizes = {"n_hidden": energy.n_hidden}
        raise NetworkTooLargeError(sizes, 10**12, n_features)

    monkeypatch.setattr(PairwisePotentialEnergy, "_filled_params", too_large)
    ranker = fast(pairwise_potential=True, n_pair_hidden=4)
    with pytest.raises(ValueError, match="n_pair_hidden=4 makes a network of 1e"):
        ranker.fit(*task)

    def wide(energy, n_features, value):
        raise NetworkTooLargeError({"hidden_layer_sizes": (9,)}, 10**12, n_features)

    monkeypatch.setattr(MLPEnergy, "_filled_params", wide)
    with pytest.raises(ValueError, match=r"hidden_layer_sizes=\(9,\) makes a network"):
        ranker.fit(*task)
