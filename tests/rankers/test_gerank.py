"""GERank: its loss, its weights, its embeddings and what it can learn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import losses
from skrank._objective import Objective
from skrank._rows import GroupedRows
from skrank.datasets import load_letor
from skrank.losses import HingeLoss
from skrank.metrics import ndcg_score
from skrank.rankers import GERank
from skrank.solvers import SGD, Adam

LOSSES = {
    "square_exponential": losses.SquareExponentialLoss,
    "square_square": losses.SquareSquareLoss,
    "hinge": losses.HingeLoss,
    "log": losses.LogLoss,
    "mce": losses.MCELoss,
    "lvq2": losses.LVQ2Loss,
}


# The parts of the paper, whose value is easily written down.
PAPER = {"divergence": "kl", "loss": "square_exponential"}


@pytest.fixture
def matching(rng):
    """Documents are relevant as far as they are close to a point of their query."""
    groups = np.repeat(np.arange(40), 12)
    query = np.repeat(rng.random((40, 2)), 12, axis=0)
    document = rng.random((480, 2))
    distance = np.linalg.norm(document - query, axis=1)
    y = np.digitize(-distance, [-0.5, -0.25]).astype(float)
    return np.column_stack([document, query]), y, groups


def make(**params):
    """A small and quick one."""
    small = {"hidden_layer_sizes": (24,), "n_components": 4, "random_state": 0}
    return GERank(**(small | {"max_iter": 3} | params))


def test_it_learns_what_suits_which_query(matching):
    X, y, groups = matching
    held = groups >= 30
    ranker = make(max_iter=60, solver=Adam(learning_rate=0.01))
    ranker.fit(X[~held], y[~held], groups[~held])
    # Without the query, the best that can be learned is to prefer the middle.
    middle = -np.linalg.norm(X[held, :2] - 0.5, axis=1)
    without = ndcg_score(y[held], middle, groups=groups[held], k=10)
    assert ranker.score(X[held], y[held], groups[held]) > without + 0.2


@pytest.mark.parametrize("name", LOSSES)
def test_losses_by_name(matching, name):
    ranker = make(loss=name, divergence="kl").fit(*matching)
    assert type(ranker.loss_) is LOSSES[name]
    as_object = make(loss=LOSSES[name](), divergence="kl").fit(*matching)
    assert_array_equal(ranker.params_, as_object.params_)


@pytest.mark.parametrize(
    "divergence", ["kl", "reverse_kl", "jensen_shannon", "expected_likelihood"]
)
def test_training_lowers_the_objective(matching, divergence):
    # The expected likelihood can be negative, so its square is no aim.
    loss = "hinge" if divergence == "expected_likelihood" else "square_exponential"
    ranker = make(divergence=divergence, loss=loss, max_iter=60).fit(*matching)
    assert ranker.loss_curve_[-1] < 0.9 * ranker.loss_curve_[0]
    assert ranker.score(*matching) > 0.8


def graded_queries(rng, sizes=(7, 1, 0, 12, 4, 30)):
    """Rows of ragged queries, the fifth of which has equal grades."""
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    X = rng.random((ptr[-1], 3))
    X[:, 2] = np.repeat(rng.random(len(sizes)), sizes)
    y = rng.integers(0, 3, len(X)).astype(float)
    y[ptr[4] : ptr[5]] = 1.0
    return X, y, ptr


@pytest.mark.parametrize("pair_weights", ["query", "pair"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gain", [None, "exp2"])
def test_weights_of_pairs(rng, pair_weights, weighted, gain):
    X, y, ptr = graded_queries(rng)
    weight = rng.random(len(y)) + 0.5 if weighted else np.ones(len(y))
    groups = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    ranker = make(
        **PAPER,
        pair_weights=pair_weights,
        gain=gain,
        alpha=0.0,
        max_iter=1,
        hidden_layer_sizes=(4,),
        # One step of gradient descent from known parameters.
        solver=SGD(learning_rate=1e-9, momentum=0.0, batch_queries=100),
    )
    ranker.fit(X, y, groups, sample_weight=weight if weighted else None)
    energies = ranker.energies(X)
    total, mass = 0.0, 0.0
    for rows in np.split(np.arange(len(y)), ptr[1:-1]):
        pairs = [(u, v) for u in rows for v in rows if y[u] > y[v]]
        if not pairs:
            continue
        w = np.array([weight[u] * (2 ** y[u] - 1 if gain else 1) for u, _ in pairs])
        values = [energies[u] ** 2 + np.exp(-energies[v]) for u, v in pairs]
        share = weight[rows].mean() / w.sum() if pair_weights == "query" else 1.0
        total += share * (w @ values)
        mass += share * w.sum()
    assert_allclose(ranker.loss_curve_[0], total / mass, rtol=1e-5)


def test_triples_estimate_the_loss_against_grade_zero(rng):
    X, y, ptr = graded_queries(rng)
    groups = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    ranker = make(
        **PAPER, n_triples=20000, alpha=0.0, max_iter=1, hidden_layer_sizes=(4,)
    )
    solver = SGD(learning_rate=1e-9, momentum=0.0, batch_queries=100)
    ranker.set_params(solver=solver).fit(X, y, groups)
    energies = ranker.energies(X)
    means = []
    for rows in np.split(np.arange(len(y)), ptr[1:-1]):
        good, bad = rows[y[rows] > 0], rows[y[rows] == 0]
        if len(good) and len(bad):
            squares, pushed = energies[good] ** 2, np.exp(-energies[bad])
            means.append(squares.mean() + pushed.mean())
    assert_allclose(ranker.loss_curve_[0], np.mean(means), rtol=0.02)


def test_triples_are_drawn_by_the_seed(matching):
    first, again, other = (
        make(n_triples=5, random_state=seed).fit(*matching).params_
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_objective_is_the_one_of_its_parts(matching):
    # Gradient of the whole: energy, loss and weights together.
    X, y, groups = matching
    ranker = make().fit(X, y, groups)
    ptr = np.arange(0, len(y) + 1, 12)
    rows = GroupedRows(ranker.energy_.transform(X), y, ptr)
    objective = Objective(ranker.energy_, ranker.loss_, rows, 1e-3)
    _, gradient = objective.value_gradient(ranker.params_)
    rng = np.random.default_rng(1)
    for _ in range(5):
        direction = rng.normal(size=len(gradient))
        ends = [
            objective.value_gradient(ranker.params_ + step * direction)[0]
            for step in (1e-6, -1e-6)
        ]
        assert_allclose(
            gradient @ direction, (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-6
        )


def test_embeddings_give_the_energies(matching):
    X, y, groups = matching
    ranker = make(**PAPER, max_iter=20).fit(X, y, groups)
    mean, v = ranker.embed(X)
    query_mean, w = ranker.embed(X, kind="query")
    assert mean.shape == v.shape == query_mean.shape == w.shape == (len(X), 4)
    assert v.min() > 0
    assert w.min() > 0
    for array in (query_mean, w):
        first = array[np.searchsorted(groups, groups)]
        assert_allclose(array, first, rtol=1e-12)
    terms = v / w + (mean - query_mean) ** 2 / w - 1 - np.log(v / w)
    assert_allclose(ranker.energies(X), 0.5 * terms.sum(axis=1), rtol=1e-9)
    assert_allclose(ranker.predict(X), -ranker.energies(X))
    with pytest.raises(ValueError, match="kind must be 'document' or 'query'"):
        ranker.embed(X, kind="term")


def test_query_features_by_name(matching):
    X, y, groups = matching
    frame = pd.DataFrame(X, columns=["a", "b", "idf", "length"])
    ranker = make(query_features=["length", "idf"]).fit(frame, y, groups)
    assert_array_equal(ranker.query_features_, [2, 3])
    by_index = make(query_features=[2, 3]).fit(X, y, groups)
    assert_array_equal(ranker.predict(frame), by_index.predict(X))
    with pytest.raises(ValueError, match=r"\['url'\], which are not columns"):
        make(query_features=["idf", "url"]).fit(frame, y, groups)
    with pytest.raises(ValueError, match="X has no column names"):
        make(query_features=["idf"]).fit(X, y, groups)


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        (
            {"loss": "squared"},
            ValueError,
            "loss must be a BaseLoss or 'square_exponential'",
        ),
        ({"pair_weights": "document"}, ValueError, "pair_weights must be 'query'"),
        ({"gain": "cubic"}, ValueError, "gain"),
        ({"n_triples": 0}, ValueError, "n_triples must be a whole number >= 1 or None"),
        ({"query_features": "idf"}, TypeError, "query_features must be 'auto'"),
        ({"n_components": 0}, ValueError, "n_components"),
        ({"divergence": "l2"}, ValueError, "divergence"),
    ],
)
def test_bad_parameters_are_named(matching, params, error, match):
    with pytest.raises(error, match=match):
        make(**params).fit(*matching)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_that_pull_energies_to_zero_need_energies_that_end_there(matching, name):
    ranker = make(loss=name, divergence="expected_likelihood", max_iter=1)
    if name.startswith("square"):
        with pytest.warns(UserWarning, match="can be negative, .* such as 'hinge'"):
            ranker.fit(*matching)
    else:
        ranker.fit(*matching)


def test_triples_without_a_grade_of_zero_are_refused(matching):
    X, y, groups = matching
    with pytest.raises(ValueError, match="n_triples must be None where no document"):
        make(n_triples=4).fit(X, y + 1.0, groups)
    make(n_triples=4).fit(X, y, groups)


def test_normalised_queries_are_warned_about(matching):
    X, y, groups = matching
    X = X - np.repeat(X.reshape(40, 12, 4).mean(axis=1), 12, axis=0)
    X[:, 2:] = 0.0
    with pytest.warns(UserWarning, match="Query-level normalisation"):
        ranker = make().fit(X, y, groups)
    assert np.isfinite(ranker.predict(X)).all()


def test_a_margin_is_set_by_an_object(matching):
    near, far = (
        make(loss=HingeLoss(margin=margin)).fit(*matching).params_
        for margin in (0.1, 5)
    )
    assert not np.array_equal(near, far)


def test_query_features_of_ohsumed(data_dir):
    X, y, groups = load_letor(data_dir / "OHSUMED-min" / "Fold1" / "vali.txt")
    ranker = make(max_iter=1).fit(X, y, groups)
    # 5-7, 20-22 and 35-37, counted from 1: sums of inverse document frequencies.
    assert_array_equal(ranker.query_features_, [4, 5, 6, 19, 20, 21, 34, 35, 36])
