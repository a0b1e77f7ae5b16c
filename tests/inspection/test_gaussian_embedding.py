"""Gaussians in two dimensions: ellipses are exact marginals of the embedding."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank.inspection import GaussianEmbeddingDisplay
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import GERank, RankNet

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def data(ragged):
    X, y, groups = ragged
    return np.column_stack([X, np.sin(groups)]), y, groups


def fitted(data, n_components=5):
    ranker = GERank((8,), n_components=n_components, max_iter=5, random_state=0)
    return ranker.fit(*data)


def test_centres_are_those_of_pca(data):
    X, y, groups = data
    ranker = fitted(data)
    query = np.bincount(groups).argmax()
    display = GaussianEmbeddingDisplay.from_estimator(ranker, X, y, groups, query=query)
    rows = np.flatnonzero(groups == query)
    mean, v = (part[rows] for part in ranker.embed(X))
    query_mean, w = (part[rows[0]] for part in ranker.embed(X, kind="query"))
    pca = PCA(2).fit(np.vstack([mean, query_mean]))
    plane = pca.components_
    signs = np.sign((display.document_means * pca.transform(mean)).sum(axis=0))
    plane = plane * signs[:, None]
    assert_allclose(display.document_means, (mean - pca.mean_) @ plane.T, atol=1e-10)
    assert_allclose(display.query_mean, plane @ (query_mean - pca.mean_), atol=1e-10)
    assert_allclose(display.query_covariance, plane @ np.diag(w) @ plane.T, rtol=1e-9)
    for covariance, row in zip(display.document_covariances, v):
        assert_allclose(covariance, plane @ np.diag(row) @ plane.T, rtol=1e-9)
    assert_allclose(display.explained, pca.explained_variance_ratio_.sum())
    assert_allclose(display.grades, y[rows])
    assert f"query {query}" in display.ax_.get_title()


def test_an_ellipse_is_a_contour_of_its_gaussian(rng):
    factor = rng.normal(size=(2, 2))
    covariance = factor @ factor.T
    display = GaussianEmbeddingDisplay(
        query_mean=[1.0, -2.0],
        query_covariance=covariance,
        document_means=np.zeros((1, 2)),
        document_covariances=np.eye(2)[None],
        grades=[0.0],
    )
    ellipse = display.plot(n_std=2.0).query_ellipse_
    angle, t = np.radians(ellipse.angle), np.linspace(0, 2 * np.pi, 17)
    rim = np.array([ellipse.width * np.cos(t), ellipse.height * np.sin(t)]) / 2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    offset = (turn @ rim).T
    # Mahalanobis distance from the centre: two standard deviations.
    distance = np.einsum("ia,ab,ib->i", offset, np.linalg.inv(covariance), offset)
    assert_allclose(distance, 4.0, rtol=1e-9)
    assert_allclose(ellipse.center, [1.0, -2.0])


def test_colours_stand_for_grades(data):
    X, y, groups = data
    query = max(np.unique(groups), key=lambda q: len(np.unique(y[groups == q])))
    display = GaussianEmbeddingDisplay.from_estimator(
        fitted(data), X, y, groups, query=query
    )
    grades = np.sort(y[groups == query])
    colours = [ellipse.get_edgecolor()[:3] for ellipse in display.document_ellipses_]
    assert len(set(colours)) == len(np.unique(grades))
    for colour, grade in zip(colours, grades):
        assert colour == colours[np.searchsorted(grades, grade)]
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [*(f"grade {g:g}" for g in np.unique(grades)), "query"]


@pytest.mark.parametrize("n_components", [1, 2])
def test_few_dimensions(data, n_components):
    X, y, groups = data
    ranker = fitted(data, n_components)
    display = GaussianEmbeddingDisplay.from_estimator(ranker, X, y, groups)
    assert display.explained == pytest.approx(1.0)
    assert np.isfinite(display.document_covariances).all()


def test_a_query_of_one_document(data):
    X, y, groups = data
    single = np.flatnonzero(np.bincount(groups) == 1)
    query = single[0] if len(single) else groups[0]
    keep = np.flatnonzero(groups == query)[:1]
    display = GaussianEmbeddingDisplay.from_estimator(
        fitted(data), X[keep], y[keep], groups[keep]
    )
    assert len(display.document_ellipses_) == 1


def test_plot_draws_on_given_axes_and_passes_on_style(data):
    import matplotlib.pyplot as plt

    X, y, groups = data
    _, ax = plt.subplots()
    display = GaussianEmbeddingDisplay.from_estimator(
        fitted(data), X, y, groups, ax=ax, linewidth=3
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.document_ellipses_[0].get_linewidth() == 3
    assert display.plot() is display


def test_a_pipeline_transforms_first(data):
    X, y, groups = data
    pipeline = make_pipeline(FunctionTransformer(lambda X: 2 * X), fitted(data))
    display = GaussianEmbeddingDisplay.from_estimator(pipeline, X / 2, y, groups)
    expected = GaussianEmbeddingDisplay.from_estimator(pipeline[-1], X, y, groups)
    assert_allclose(display.document_means, expected.document_means)


def test_errors(data):
    X, y, groups = data
    with pytest.raises(TypeError, match="RankNet has no method embed"):
        GaussianEmbeddingDisplay.from_estimator(RankNet().fit(*data), X, y, groups)
    with pytest.raises(ValueError, match="query=99 has no rows"):
        GaussianEmbeddingDisplay.from_estimator(fitted(data), X, y, groups, query=99)


def test_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = GaussianEmbeddingDisplay(
        query_mean=np.zeros(2),
        query_covariance=np.eye(2),
        document_means=np.zeros((1, 2)),
        document_covariances=np.eye(2)[None],
        grades=[0],
    )
    with pytest.raises(ImportError, match=r"skrank\[plot\]"):
        display.plot()


class AsksForGroups(QueryStandardScaler):
    """Leaves rows as they are, but only if it is told their queries."""

    def transform(self, X, groups=None):
        super().transform(X, groups=groups)
        return X


def test_steps_of_a_pipeline_are_given_the_groups(data):
    X, y, groups = data
    pipeline = make_pipeline(AsksForGroups().fit(X), fitted(data))
    display = GaussianEmbeddingDisplay.from_estimator(pipeline, X, y, groups)
    same = GaussianEmbeddingDisplay.from_estimator(fitted(data), X, y, groups)
    assert_allclose(display.document_means, same.document_means)
