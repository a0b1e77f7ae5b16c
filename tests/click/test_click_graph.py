"""Smoothing by the click graph, against dense matrices."""

import numpy as np
import pytest
from scipy import sparse

from skrank.click import ClickGraph, Sessions, to_labels
from skrank.click import _click_graph as click_graph


def log_of(seed=0, n_queries=7, n_documents=9, n=60):
    rng = np.random.RandomState(seed)
    return Sessions.from_lists(
        rng.randint(0, n_queries, n),
        [rng.permutation(n_documents)[:4].tolist() for _ in range(n)],
        (rng.rand(n, 4) < 0.3).astype(int).tolist(),
    )


def dense(log):
    """Return the matrix W by a loop over impressions."""
    W = np.zeros((len(log.query_ids), len(log.document_ids)))
    for s, d, c in zip(log.session, log.document, log.click):
        W[log.query[s], d] += c
    return W


def divided(W):
    totals = W.sum(axis=1, keepdims=True)
    return np.divide(W, totals, out=np.zeros_like(W), where=totals > 0)


@pytest.mark.parametrize("rows", [1, 3, 512])
@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_smoothed_clicks_are_those_of_dense_matrices(rows, n_steps, monkeypatch):
    monkeypatch.setattr(click_graph, "_ROWS", rows)
    log = log_of()
    W = dense(log)
    A, B = divided(W), divided(W.T)
    walk = np.linalg.matrix_power(A @ B, n_steps)
    graph = ClickGraph(mixing=0.3, n_steps=n_steps).fit(log)
    np.testing.assert_array_equal(graph.clicks_.toarray(), W)
    np.testing.assert_allclose(graph.similarity_.toarray(), walk, atol=1e-14)
    smoothed = 0.7 * W + 0.3 * walk @ W
    np.testing.assert_allclose(graph.smoothed_.toarray(), smoothed, atol=1e-13)
    queries, documents = map(np.ravel, np.indices(W.shape))
    found = graph.relevance(log.query_ids[queries], log.document_ids[documents])
    np.testing.assert_allclose(found, divided(smoothed).ravel(), atol=1e-14)


def test_similarities_are_probabilities():
    graph = ClickGraph(n_steps=2).fit(log_of(1))
    np.testing.assert_allclose(graph.similarity_.sum(axis=1), 1.0)


def test_small_similarities_are_left_out():
    log = log_of()
    whole = ClickGraph().fit(log).similarity_.toarray()
    pruned = ClickGraph(min_similarity=0.15).fit(log).similarity_.toarray()
    np.testing.assert_array_equal(pruned, np.where(whole >= 0.15, whole, 0.0))
    assert 0 < (pruned > 0).sum() < (whole > 0).sum()


def test_without_mixing_the_clicks_stay():
    log = log_of()
    graph = ClickGraph(mixing=0.0).fit(log)
    np.testing.assert_array_equal(graph.smoothed_.toarray(), dense(log))


def test_queries_without_clicks_and_unknown_ids():
    log = Sessions.from_lists(["q", "p"], [["a"], ["a", "b"]], [[0], [1, 0]])
    graph = ClickGraph().fit(log)
    found = graph.relevance(["q", "p", "p", "x", "p"], ["a", "a", "b", "a", "x"])
    assert found.tolist() == [0, 1, 0, 0, 0]
    assert graph.relevance("p", "a") == 1.0
    assert graph.relevance("p", ["a", "b"]).tolist() == [1, 0]
    assert graph.similar_queries("q") == []
    with pytest.raises(ValueError, match="query 'x' is none of the log"):
        graph.similar_queries("x")
    with pytest.raises(ValueError, match="as many ids, got 2 and 1"):
        graph.relevance(["q", "p"], ["a"])


def test_similar_queries_come_in_order():
    log = log_of()
    graph = ClickGraph().fit(log)
    row = graph.similarity_.toarray()[2]
    found = graph.similar_queries(2, k=3)
    others = [q for q in np.lexsort((np.arange(7), -row)) if q != 2 and row[q] > 0]
    assert found == [(q, row[q]) for q in others[:3]]


@pytest.mark.parametrize("log", [log_of(n=0), log_of(n=1)[:0], log_of()[:0]])
def test_empty_logs(log):
    graph = ClickGraph().fit(log)
    assert graph.smoothed_.nnz == 0
    assert graph.relevance(["q"], ["a"]).tolist() == [0.0]


def test_arrays_are_sorted_csr():
    graph = ClickGraph(n_steps=2).fit(log_of())
    for matrix in (graph.clicks_, graph.similarity_, graph.smoothed_):
        assert sparse.issparse(matrix)
        assert matrix.format == "csr"
        assert matrix.has_sorted_indices


def test_smoothing_labels_pairs_that_were_never_clicked():
    lists = [["guide", "maps"], ["maps", "hotels"]]
    log = Sessions.from_lists(["rome", "roma"], lists, [[1, 1], [1, 0]])
    pairs = ["roma", "roma"], ["guide", "hotels"]
    assert to_labels(ClickGraph().fit(log), pairs, n_grades=2).y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mixing": 1.5}, "mixing"),
        ({"n_steps": 0}, "n_steps"),
        ({"min_similarity": -1}, "min_s"),
    ],
)
def test_wrong_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        ClickGraph(**options).fit(log_of())


def test_wrong_sessions():
    with pytest.raises(TypeError, match="sessions must be Sessions"):
        ClickGraph().fit([[1]])
