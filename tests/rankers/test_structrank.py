"""StructRank: its parts, constraints, restarts and special cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.energies import MLPEnergy, NadarayaWatsonEnergy, PreferenceWeightsEnergy
from skrank.losses import CDNLoss
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import RankNet, StructRank
from skrank.solvers import Adam, ProjectedGradient

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TOPOLOGIES = ["full", "disconnected", "random", "star"]


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        n_queries=20, n_features=5, n_informative=3, random_state=0
    )
    return QueryMinMaxScaler().fit_transform(X, groups=groups), y, groups


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("energy", ["linear", "mlp", "nadaraya-watson"])
def test_learns_with_every_topology_and_energy(topology, energy, data):
    X, y, groups = data
    ranker = StructRank(topology, energy, max_iter=20, random_state=0)
    shuffled = np.random.default_rng(0).permutation(y)
    chance = StructRank(topology, "linear").fit(X, shuffled, groups)
    ranker.fit(X, y, groups)
    assert ranker.score(X, y, groups) > chance.score(X, y, groups) + 0.1
    assert ranker.loss_curve_[-1] < ranker.loss_curve_[0]


def test_disconnected_over_edges_is_ranknet(data):
    ranker = StructRank("disconnected", average="edge").fit(*data)
    expected = RankNet().fit(*data)
    assert_allclose(ranker.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("solver", ["sgd", "projected", "adam"])
@pytest.mark.parametrize("bound", [None, 3.0])
def test_parameters_keep_the_constraint(topology, solver, bound, data):
    ranker = StructRank(
        topology,
        "nadaraya-watson",
        solver=solver,
        max_iter=5,
        l1_bound=bound,
        random_state=0,
    ).fit(*data)
    n_weights = 2 if topology in ("full", "random") else 1
    assert len(ranker.params_) == 5 + n_weights
    assert ranker.params_.min() >= 0.0
    if bound is not None:
        assert ranker.params_.sum() <= bound * (1 + 1e-9)


def test_only_the_weights_of_linear_scores_are_constrained(data):
    X, y, groups = data
    ranker = StructRank(learn_weights=True, l1_bound=1.0, random_state=0)
    ranker.fit(-X, y, groups)
    assert ranker.params_[:5].min() < 0.0
    assert ranker.params_[5:].min() >= 0.0
    assert ranker.params_[5:].sum() <= 1.0 + 1e-9
    with pytest.raises(TypeError, match="LBFGS does not keep parameters"):
        ranker.set_params(solver="lbfgs").fit(X, y, groups)


def test_weights_of_local_averages_can_be_fixed(data):
    energy = NadarayaWatsonEnergy(max_landmarks=50)
    ranker = StructRank(energy=energy, learn_weights=False, l1_bound=2.0, max_iter=5)
    ranker.fit(*data)
    assert len(ranker.params_) == 5
    assert ranker.params_.sum() <= 2.0 + 1e-9
    assert energy.l1_bound is None  # the caller's energy is as it was
    assert ranker.energy_.landmarks_.shape == (50,)


def test_restarts_keep_the_best_on_validation_queries(data):
    X, y, groups = data
    held = groups >= 15
    parts = (X[~held], y[~held], groups[~held])
    validation = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
    params = {
        "energy": "nadaraya-watson",
        "solver": "sgd",
        "validation_measure": "map",
        "max_iter": 3,
        "random_state": 0,
    }
    once = StructRank(**params).fit(*parts, **validation)
    thrice = StructRank(n_restarts=3, **params).fit(*parts, **validation)
    assert max(thrice.validation_curve_) >= max(once.validation_curve_)
    assert_array_equal(
        StructRank(n_restarts=3, **params).fit(*parts, **validation).params_,
        thrice.params_,
    )


def test_random_networks_approach_the_full_one(data):
    full = StructRank(alpha=1e-2).fit(*data)
    some = StructRank("random", alpha=1e-2, n_edge_pairs=2000, random_state=0)
    distance = np.linalg.norm(some.fit(*data).coef_ - full.coef_)
    assert distance < 0.05 * np.linalg.norm(full.coef_)
    batches = StructRank(
        "random",
        alpha=1e-2,
        n_edge_pairs=20,
        solver=Adam(learning_rate=0.05, schedule="linear"),
        random_state=0,
    )
    distance = np.linalg.norm(batches.fit(*data).coef_ - full.coef_)
    assert distance < 0.2 * np.linalg.norm(full.coef_)


@pytest.mark.parametrize("energy", ["nadaraya-watson", MLPEnergy((4,))])
def test_threads_do_not_change_a_bit(energy, data):
    predictions = [
        StructRank("random", energy, max_iter=3, random_state=0, n_jobs=n)
        .fit(*data)
        .predict(data[0])
        for n in (1, 2)
    ]
    assert_array_equal(*predictions)


@pytest.mark.parametrize("topology", ["full", "disconnected"])
def test_the_sgd_of_the_paper_trains(topology, data):
    params = {"energy": "nadaraya-watson", "alpha": 0.0, "random_state": 0}
    full = StructRank(topology, solver="projected", **params).fit(*data)
    start = full.loss_curve_[0]
    for seed in range(3):
        sgd = StructRank(topology, solver="sgd", **params | {"random_state": seed})
        sgd.fit(*data)
        assert sgd.n_iter_ == 10
        # Ten epochs go most of the way that two hundred full steps go.
        assert start - sgd.loss_curve_[-1] > 0.8 * (start - full.loss_curve_[-1])


def test_projected_gradient_finds_the_minimum_from_every_start(data):
    # One start in five used to end where scales had been projected to 0, at which the
    # objective, which depends on their squares, has no slope.
    X, y, groups = data
    ptr = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [len(y)]])
    energy = PreferenceWeightsEnergy(NadarayaWatsonEnergy()).setup(X, None, y, ptr)
    rows = energy.transform(X)
    objective = Objective(energy, CDNLoss(), GroupedRows(rows, y, ptr), 1e-4)
    values = [
        ProjectedGradient(max_iter=100)
        .solve(objective, energy.init_params(rows.shape[1], rng), rng)
        .value
        for rng in map(np.random.RandomState, range(20))
    ]
    assert max(values) < min(values) + 0.01


def test_edge_pairs_weigh_as_in_equation_8(data):
    X, y, groups = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for given in (None, weight):
        ranker = StructRank(average="edge_pair", alpha=0.0, max_iter=3)
        ranker.fit(X, y, groups, sample_weight=given)
        scores = ranker.predict(X)
        own = np.ones(len(y)) if given is None else given
        total = mass = 0.0
        for query in np.unique(groups):
            rows = np.flatnonzero(groups == query)
            edges = [(i, j) for i in rows for j in rows if y[i] > y[j]]
            r = np.array([scores[i] - scores[j] for i, j in edges])
            w = np.array([own[i] for i, _ in edges])
            terms = np.log1p(np.exp(-r)[:, None] + np.exp(-r))
            if given is None:  # the plain sum over e and e' of eq. 8
                assert_allclose(w @ terms @ w, terms.sum())
            total += w @ terms @ w * len(edges) / w.sum()
            mass += len(edges) * w.sum()
        assert_allclose(ranker.loss_curve_[-1], total / mass, rtol=1e-6)


@pytest.mark.parametrize("topology", ["full", "disconnected", "star"])
def test_edge_pairs_of_weight_two_are_a_repeated_query(topology, data):
    X, y, groups = data
    twice = np.flatnonzero(groups < np.median(groups))
    ranker = StructRank(topology, average="edge_pair")
    weighted = np.where(groups < np.median(groups), 2.0, 1.0)
    value = ranker.fit(X, y, groups, sample_weight=weighted).loss_curve_[-1]
    rows = np.concatenate([np.arange(len(y)), twice])
    copies = np.concatenate([groups, groups[twice] + groups.max() + 1])
    ranker.fit(X[rows], y[rows], copies)
    assert_allclose(ranker.loss_curve_[-1], value, rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"energy": "tree"}, ValueError, "energy must be a BaseEnergy or 'linear'"),
        ({"energy": 3}, TypeError, "energy must be a BaseEnergy or 'linear'"),
        ({"topology": "ring"}, ValueError, "topology must be 'full', 'disconnected'"),
        ({"solver": "newton"}, ValueError, "solver must be a BaseSolver.* 'sgd'"),
        (
            {"energy": "nadaraya-watson", "l1_bound": -1.0},
            ValueError,
            "l1_bound must be a number > 0 or None",
        ),
        ({"l1_bound": -3}, ValueError, "l1_bound must be a number > 0 or None"),
        ({"l1_bound": 1.0}, ValueError, "LinearEnergy without .* no constrained"),
        ({"energy": "mlp", "l1_bound": 1.0}, ValueError, "MLPEnergy without learned"),
    ],
)
def test_bad_parameters(params, error, message, data):
    with pytest.raises(error, match=message):
        StructRank(**params).fit(*data)
