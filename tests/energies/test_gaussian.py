"""GaussianEnergy against row-by-row NumPy, finite differences and its own limits."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import MinMaxScaler

from skrank.energies import GaussianEnergy, MLPEnergy

DIVERGENCES = ["kl", "reverse_kl", "jensen_shannon", "expected_likelihood"]
PTR = np.array([0, 5, 6, 14, 20], dtype=np.intp)


@pytest.fixture(name="X")
def rows_of_four_queries(rng):
    """Rows of four queries; features 1 and 4 belong to the query."""
    X = rng.normal(size=(20, 6)) * [1.0, 5.0, 0.1, 1.0, 1.0, 30.0]
    X[:, [1, 4]] = np.repeat(rng.normal(size=(4, 2)), np.diff(PTR), axis=0)
    return X


def made(X, rng, **params):
    """An energy set up on the rows, its rows and parameters of some size."""
    energy = GaussianEnergy(
        **({"hidden_layer_sizes": (5,), "n_components": 3} | params)
    )
    energy.setup(X, ptr=PTR)
    start = energy.init_params(X.shape[1], rng)
    return energy, energy.transform(X), start + 0.5 * rng.normal(size=len(start))


def test_scores_are_kl_of_a_shared_network_row_by_row(X, rng):
    energy, rows, params = made(X, rng)
    network = MLPEnergy((5,), n_outputs=6, standardize=False).setup(rows)
    scores = energy.scores(params, rows)
    for row, score in zip(rows, scores):
        query = np.where(np.isin(np.arange(6), [1, 4]), row, 0.0)
        d, q = network.scores(params, np.array([row, query]))
        v, w = (np.where(s[3:] < 0, np.exp(s[3:]), s[3:] + 1.0) for s in (d, q))
        terms = v / w + (d[:3] - q[:3]) ** 2 / w - 1 - np.log(v / w)
        assert_allclose(score, -0.5 * terms.sum(), rtol=1e-10)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
def test_vjp_is_the_derivative(X, rng, divergence, hidden):
    energy, rows, params = made(
        X, rng, divergence=divergence, hidden_layer_sizes=hidden, activation="tanh"
    )
    pull = rng.normal(size=len(rows))
    raw, vjp = energy.scores_and_vjp(params, rows)
    assert_allclose(raw, energy.scores(params, rows), rtol=1e-12)
    expected = np.empty_like(params)
    for i in range(len(params)):
        shift = np.zeros_like(params)
        shift[i] = 1e-4
        near = energy.scores(params + shift, rows) - energy.scores(params - shift, rows)
        far = energy.scores(params + 2 * shift, rows) - energy.scores(
            params - 2 * shift, rows
        )
        expected[i] = (8 * near - far) @ pull / 12e-4
    assert_allclose(vjp(pull), expected, rtol=1e-5, atol=1e-6)


def test_scores_do_not_depend_on_the_order_or_the_company_of_rows(X, rng):
    energy, rows, params = made(X, rng)
    scores = energy.scores(params, rows)
    assert_allclose(energy.scores(params, rows, PTR), scores, rtol=0)
    alone = [energy.scores(params, row[None])[0] for row in rows]
    assert_allclose(alone, scores, rtol=1e-12)
    order = rng.permutation(len(rows))
    assert_allclose(energy.scores(params, rows[order]), scores[order], rtol=1e-12)


def test_a_query_is_embedded_once(X, rng):
    energy, rows, _ = made(X, rng)
    queries, runs = energy.queries(rows)
    assert_array_equal(runs, PTR)
    assert_array_equal(queries[:, [0, 2, 3, 5]], 0.0)
    assert_array_equal(queries[:, [1, 4]], rows[PTR[:-1]][:, [1, 4]])


def test_no_rows_have_no_scores(X, rng):
    energy, rows, params = made(X, rng)
    assert energy.scores(params, rows[:0]).shape == (0,)


def test_features_are_scaled_as_by_min_max_scaler(X, rng):
    X[:, 3] = 0.1
    energy, rows, _ = made(X, rng)
    expected = MinMaxScaler().fit_transform(X)
    expected[:, 3] = 0.0  # constant
    assert_allclose(rows, expected, rtol=1e-12, atol=1e-15)
    assert energy.transform(X.astype(np.float32)).dtype == np.float32
    beyond = X.max(axis=0, keepdims=True) + np.ptp(X, axis=0)
    assert_allclose(energy.transform(beyond)[0], [1, 1, 1, 0, 1, 1])
    free, _, _ = made(X, rng, clip=False)
    assert_allclose(free.transform(beyond)[0], [2, 2, 2, 0, 2, 2], atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 45, 200])
@pytest.mark.parametrize("hidden", [(512,), (16,), (32, 16), ()])
def test_energies_start_at_a_useful_size(rng, hidden, n_components):
    X = rng.random((200, 20))
    X[:, :4] = np.repeat(rng.random((10, 4)), 20, axis=0)
    energy = GaussianEnergy(hidden, n_components=n_components)
    energy.setup(X, ptr=np.arange(0, 201, 20))
    starts = [
        -energy.scores(energy.init_params(20, np.random.RandomState(i)), X).mean()
        for i in range(10)
    ]
    # E^2 + exp(-E) pulls and pushes equally hard at 0.35.
    assert 0.35 / 4 < np.mean(starts) < 0.35 * 4


@pytest.mark.parametrize("n_components", [4, 45])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_energies_start_at_one_size_for_every_divergence(rng, divergence, n_components):
    # Uniform features have the mean square 1 / 3 where the energy supposes 0.2.
    X = np.sqrt(0.6) * rng.random((400, 20))
    X[:, :4] = np.repeat(rng.random((20, 4)), 20, axis=0)
    X[0], X[1, 4:] = 1.0, 0.0  # the range is [0, 1]
    X[:20, :4] = 1.0
    energy = GaussianEnergy((64,), n_components=n_components, divergence=divergence)
    energy.setup(X, ptr=np.arange(0, 401, 20))
    rows = energy.transform(X)
    starts = [
        -energy.scores(energy.init_params(20, np.random.RandomState(i)), rows).mean()
        for i in range(30)
    ]
    if divergence == "expected_likelihood":
        # The energy of equal Gaussians of variance 1; only differences from it count.
        assert abs(np.mean(starts) - 0.5 * n_components * np.log(4 * np.pi)) < 0.35
    else:
        assert 0.35 / 1.5 < np.mean(starts) < 0.35 * 1.5


def test_auto_takes_what_is_constant_within_every_query(X):
    energy = GaussianEnergy().setup(X, ptr=PTR)
    assert_array_equal(energy.query_features_, [1, 4])
    X[7, 4] += 1e-9  # now it varies within one query
    assert_array_equal(GaussianEnergy().setup(X, ptr=PTR).query_features_, [1])
    X[:, 4] = 2.0  # constant everywhere
    assert_array_equal(GaussianEnergy().setup(X, ptr=PTR).query_features_, [1])


def test_query_features_by_index(X, rng):
    energy, rows, params = made(X, rng, query_features=[4])
    assert_array_equal(energy.query_features_, [4])
    other, _, _ = made(X, rng)
    assert not np.allclose(energy.scores(params, rows), other.scores(params, rows))


@pytest.mark.parametrize(
    "ptr", [PTR, np.arange(21)], ids=["none", "one row per query says nothing"]
)
def test_no_query_feature_is_warned_about(X, ptr, rng):
    if len(ptr) == len(PTR):
        X = rng.normal(size=X.shape)
    with pytest.warns(UserWarning, match="Query-level normalisation erases"):
        energy = GaussianEnergy().setup(X, ptr=ptr)
    assert len(energy.query_features_) == 0


def test_a_constant_query_on_purpose_is_silent(X, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        energy, rows, params = made(X, rng, query_features=())
    queries, runs = energy.queries(rows)
    assert_array_equal(queries, np.zeros((1, 6)))
    assert_array_equal(runs, [0, len(X)])
    assert np.isfinite(energy.scores(params, rows)).all()


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"query_features": [0]}, ValueError, r"\[0\] take several values"),
        ({"query_features": [6]}, ValueError, r"indices from 0 to 5, got \[6\]"),
        ({"query_features": [-1]}, ValueError, r"whole number >= 0, got \[-1\]"),
        ({"query_features": ["bm25"]}, TypeError, r"got \['bm25'\]"),
        ({"query_features": [True]}, TypeError, r"got \[True\]"),
        ({"query_features": "idf"}, TypeError, "got 'idf'"),
        ({"query_features": None}, TypeError, "got None"),
        ({"divergence": "euclid"}, ValueError, "divergence must be 'kl', 'reverse_kl'"),
        (
            {"n_components": 0},
            ValueError,
            r"n_components must be a whole number in \[1",
        ),
        (
            {"n_components": 2.0},
            ValueError,
            r"n_components must be a whole number in \[1",
        ),
        ({"dropout": 1.0}, ValueError, "dropout"),
    ],
)
def test_bad_parameters_are_named(X, params, error, match):
    with pytest.raises(error, match=match):
        GaussianEnergy(**params).setup(X, ptr=PTR)


def test_setup_comes_first(X):
    with pytest.raises(NotFittedError, match="call setup"):
        GaussianEnergy().n_params(6)


def test_embeddings_give_the_scores(X, rng):
    energy, rows, params = made(X, rng, divergence="reverse_kl")
    queries, runs = energy.queries(rows)
    mean, v = energy.embed(params, rows)
    code = np.repeat(np.arange(len(queries)), np.diff(runs))
    query_mean, w = (part[code] for part in energy.embed(params, queries))
    terms = w / v + (mean - query_mean) ** 2 / v - 1 - np.log(w / v)
    assert_allclose(energy.scores(params, rows), -0.5 * terms.sum(axis=1), rtol=1e-10)


def test_dropout_draws_from_the_given_source(X, rng):
    energy, rows, params = made(X, rng, dropout=0.5)
    one, two, other = (
        energy.scores_and_vjp(params, rows, np.random.RandomState(seed))[0]
        for seed in (0, 0, 1)
    )
    assert_array_equal(one, two)
    assert not np.allclose(one, other)
    assert_array_equal(
        energy.scores_and_vjp(params, rows)[0], energy.scores(params, rows)
    )


def test_threads_do_not_change_a_bit(rng):
    X = rng.random((4000, 5))
    X[:, 0] = np.repeat(rng.random(200), 20)
    ptr = np.arange(0, 4001, 20)
    results = []
    for n_jobs in (1, 3):
        energy = GaussianEnergy((300,), n_components=20, n_jobs=n_jobs)
        energy.setup(X, ptr=ptr)
        params = energy.init_params(5, np.random.RandomState(0))
        raw, vjp = energy.scores_and_vjp(params, energy.transform(X))
        results.append((raw, vjp(np.ones(4000))))
    for one, other in zip(*results):
        assert_array_equal(one, other)
