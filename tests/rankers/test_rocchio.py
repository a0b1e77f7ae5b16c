"""Rocchio against eq. 2.17–2.19 of the book, query by query."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize

from skrank.datasets import make_ranking
from skrank.exceptions import NotFiniteError
from skrank.rankers import Rocchio


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=8, n_features=4, n_informative=3, random_state=0)


def parts(X, y, groups, query):
    rows = groups == query
    return X[rows & (y >= 1)], X[rows & (y < 1)]


def mean(rows):
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])


def loss(w, relevant, others, alpha, beta, gamma):
    """Eq. 2.19, summed over the documents; one kind alone has the whole ridge."""
    kinds = (len(relevant) > 0) + (len(others) > 0)
    ridge = (1 - alpha) / (2 * kinds) * (w @ w)
    total = sum(ridge - beta * (w @ x) for x in relevant) / max(len(relevant), 1)
    return total + sum(ridge + gamma * (w @ x) for x in others) / max(len(others), 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_vectors_and_scores(form, data):
    X, y, groups = data
    q = np.array([0.5, -1.0, 0.0, 2.0])
    ranker = Rocchio(alpha=0.8, beta=0.6, gamma=0.2, query=q).fit(form(X), y, groups)
    scores = ranker.predict(form(X), groups)
    for place, query in enumerate(np.unique(groups)):
        relevant, others = parts(X, y, groups, query)
        w = 0.8 * q + 0.6 * mean(relevant) - 0.2 * mean(others)
        np.testing.assert_allclose(ranker.vectors_[place], w)
        rows = groups == query
        np.testing.assert_allclose(scores[rows], X[rows] @ w)


def test_an_update_is_a_gradient_step_on_the_loss(data):
    """In queries of both kinds of documents, and of one kind alone."""
    X, y, groups = data
    y = np.select([groups == 0, groups == 1], [0, 2], y)
    q = np.array([0.5, -1.0, 0.0, 2.0])
    options = {"alpha": 0.8, "beta": 0.6, "gamma": 0.2}
    ranker = Rocchio(query=q, **options).fit(X, y, groups)
    of_queries = [parts(X, y, groups, query) for query in np.unique(groups)]
    assert [sum(map(bool, map(len, rows))) for rows in of_queries[:3]] == [1, 1, 2]
    mean_loss = np.mean([loss(q, *rows, **options) for rows in of_queries])
    np.testing.assert_allclose(ranker.loss_curve_, [mean_loss])
    for w, query in zip(ranker.vectors_, np.unique(groups)):
        rows = parts(X, y, groups, query)
        slopes = approx_fprime(q, lambda v, r=rows: loss(v, *r, **options), 1e-7)
        np.testing.assert_allclose(w, q - slopes, atol=1e-5)


def test_updates_tend_to_the_minimum_of_the_loss(data):
    X, y, groups = data
    options = {"alpha": 0.5, "beta": 0.6, "gamma": 0.2}
    ranker = Rocchio(n_updates=60, **options).fit(X, y, groups)
    values = []
    for w, query in zip(ranker.vectors_, np.unique(groups)):
        rows = parts(X, y, groups, query)
        if all(map(len, rows)):
            best = minimize(lambda v, r=rows: loss(v, *r, **options), np.zeros(4))
            np.testing.assert_allclose(w, best.x, atol=1e-5)
            values.append(best.fun)
    assert (np.diff(ranker.loss_curve_) <= 1e-12).all()
    if len(values) == 8:
        np.testing.assert_allclose(ranker.loss_curve_[-1], np.mean(values), rtol=1e-6)


def test_the_curve_is_that_of_single_updates(data):
    X, y, groups = data
    q = np.ones(4)
    whole = Rocchio(alpha=0.5, query=q, n_updates=3).fit(X, y, groups)
    one = Rocchio(alpha=0.5, query=q).fit(X, y, groups)
    assert whole.loss_curve_[0] == one.loss_curve_[0]
    moves = one.vectors_ - 0.5 * q
    again = 0.5 * (0.5 * one.vectors_ + moves) + moves
    np.testing.assert_allclose(whole.vectors_, again)


def test_unknown_queries_and_blind_feedback(data):
    X, y, groups = data
    new = groups + 100
    plain = Rocchio().fit(X, y, groups)
    np.testing.assert_allclose(plain.mean_vector_, plain.vectors_.mean(axis=0))
    np.testing.assert_allclose(plain.predict(X, new), X @ plain.mean_vector_)
    blind = Rocchio(alpha=0.7, n_blind=2).fit(X, y, groups)
    start, found = X @ blind.mean_vector_, blind.predict(X, new)
    for query in np.unique(new):
        rows = np.flatnonzero(new == query)
        order = rows[np.argsort(-start[rows], kind="stable")]
        w = 0.7 * blind.mean_vector_ + 0.75 * mean(X[order[:2]])
        w = w - 0.15 * mean(X[order[2:]])
        np.testing.assert_allclose(found[rows], X[rows] @ w)
    # Queries with feedback are ranked by it.
    both = blind.predict(X, np.where(groups < 4, groups, new))
    np.testing.assert_allclose(both[groups < 4], blind.predict(X, groups)[groups < 4])


def test_sparse_vectors_stay_sparse(data):
    X, y, groups = data
    ranker = Rocchio().fit(sparse.csr_matrix(X), y, groups)
    assert sparse.issparse(ranker.vectors_)
    dense = Rocchio().fit(X, y, groups)
    np.testing.assert_allclose(ranker.vectors_.toarray(), dense.vectors_)
    new = np.zeros(len(y)) - 1
    np.testing.assert_allclose(
        ranker.predict(sparse.csr_matrix(X), new), dense.predict(X, new)
    )


@pytest.mark.parametrize("query", [[1.0, 2.0], [np.nan] * 4])
def test_bad_queries(query, data):
    with pytest.raises(ValueError, match="query must be 4 finite numbers, one for"):
        Rocchio(query=query).fit(*data)


@pytest.mark.parametrize(
    "options",
    [
        {"beta": 1e300, "alpha": 0.5},
        {"query": [1e200] * 4, "alpha": 0.5},
        {"alpha": 1e300, "n_updates": 4, "query": [1.0] * 4},
    ],
)
def test_parameters_that_overflow_are_named(options, data):
    message = "Rocchio: the loss became .* choose smaller alpha, beta, gamma"
    with pytest.raises(NotFiniteError, match=message):
        Rocchio(**options).fit(*data)
