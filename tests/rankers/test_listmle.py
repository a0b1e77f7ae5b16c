"""The posterior of ListMLE against integrals, formulas and invariances."""

import numpy as np
import pytest
from sklearn.base import clone

from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.losses import ListMLELoss
from skrank.rankers import ListMLE


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_features=2, n_informative=2, random_state=0)


def posterior(ranker, data, widths, n=21):
    """Mean and covariance of two coefficients by summing the density over a grid."""
    X, y, groups = data
    ptr = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(y))
    loss = ListMLELoss(ties=ranker.ties, prior=ranker.prior).prepare(y, ptr)
    axes = [c + w * np.linspace(-6, 6, n) for c, w in zip(ranker.coef_, widths)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    energy = [loss.value_gradient(X @ w)[0].sum() for w in grid]
    penalty = 0.5 * ranker.alpha * loss.total_weight * np.square(grid).sum(axis=1)
    log_density = -(np.array(energy) + penalty)
    p = np.exp(log_density - log_density.max())
    mean = p @ grid / p.sum()
    return mean, (grid - mean).T @ ((grid - mean) * p[:, None]) / p.sum()


@pytest.mark.parametrize("ties", ["stable", "partition"])
@pytest.mark.parametrize("prior", [None, (2.0, 1.0)])
def test_the_covariance_is_that_of_the_posterior(ties, prior, data):
    ranker = ListMLE(posterior=True, ties=ties, prior=prior, alpha=0.05)
    ranker.fit(*data)
    mean, covariance = posterior(ranker, data, np.sqrt(np.diag(ranker.covariance_)))
    widths = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(ranker.coef_, mean, atol=0.2 * widths.max())
    scale = np.outer(widths, widths)
    np.testing.assert_allclose(ranker.covariance_ / scale, covariance / scale, atol=0.1)


def test_four_times_the_queries_halve_the_deviations(data):
    X, y, groups = data
    four = np.tile(np.arange(len(y)), 4)
    copies = groups[four] + 1000 * np.repeat(np.arange(4), len(y))
    ranker = ListMLE(posterior=True, ties="partition", alpha=0.05)
    few = clone(ranker).fit(*data).predict_std(X, groups)
    many = clone(ranker).fit(X[four], y[four], copies).predict_std(X, groups)
    # The weight of the penalty grows with the data, too.
    np.testing.assert_allclose(many, 0.5 * few, rtol=1e-3)
    weighted = clone(ranker).fit(X, y, groups, sample_weight=np.full(len(y), 4.0))
    np.testing.assert_allclose(weighted.predict_std(X, groups), many, rtol=1e-3)


def test_deviations_follow_from_the_covariance(data):
    X, y, groups = data
    ranker = ListMLE(posterior=True, alpha=0.05).fit(X, y, groups)
    np.testing.assert_allclose(
        ranker.predict_std(X),
        np.sqrt(np.einsum("ij,jk,ik->i", X, ranker.covariance_, X)),
    )
    means = np.array([X[groups == g].mean(axis=0) for g in groups])
    expected = np.einsum("ij,jk,ik->i", X - means, ranker.covariance_, X - means)
    mixed = np.random.default_rng(0).permutation(len(y))
    found = ranker.predict_std(X[mixed], groups[mixed])
    np.testing.assert_allclose(found, np.sqrt(expected)[mixed], atol=1e-12)


def test_the_posterior_does_not_depend_on_the_units_of_features(data):
    X, y, groups = data
    units = np.array([1e-4, 1e5])
    ranker = ListMLE(posterior=True, alpha=0.0, ties="partition")
    plain = clone(ranker).fit(X, y, groups).predict_std(X, groups)
    scaled = clone(ranker).fit(X * units, y, groups).predict_std(X * units, groups)
    np.testing.assert_allclose(scaled, plain, rtol=1e-3)


def test_it_is_there_only_where_asked_for(data, tmp_path):
    ranker = ListMLE().fit(*data)
    assert not hasattr(ranker, "predict_std")
    assert not hasattr(ranker, "covariance_")
    ranker.set_params(posterior=True).fit(*data)
    assert ranker.covariance_.shape == (2, 2)
    save_model(ranker, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict_std(data[0]), ranker.predict_std(data[0])
    )
    ranker.set_params(posterior=False).fit(*data)
    assert not hasattr(ranker, "covariance_")


def test_what_has_no_posterior_is_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="posterior must be False where there are hid"):
        ListMLE((4,), posterior=True).fit(X, y, groups)
    wide = np.tile(X, (1, 501))[:, :1001]
    with pytest.raises(ValueError, match="takes up to 1000 features, X has 1001"):
        ListMLE(posterior=True).fit(wide, y, groups)


@pytest.mark.filterwarnings("ignore:.*no query prefers")
def test_without_preferences_there_are_no_deviations():
    X = np.random.RandomState(0).randn(6, 2)
    ranker = ListMLE(posterior=True, alpha=0.1).fit(X, [1] * 6, [0, 0, 0, 1, 1, 1])
    assert not hasattr(ranker, "covariance_")
    with pytest.raises(ValueError, match="scores have no deviations, because"):
        ranker.predict_std(X)
