"""Latent semantic indexing against a dense decomposition."""

import numpy as np
import pytest

from skrank.export import load_model, save_model
from skrank.text import LSI, RM3, InvertedIndex, LetorFeatures, VectorSpace

rng = np.random.default_rng(3)
P = 1 / np.arange(1, 31)
WORDS = [f"w{i}" for i in range(30)]
DOCUMENTS = [" ".join(rng.choice(WORDS, 12, p=P / P.sum())) for _ in range(25)] + [""]
QUERIES = ["w1 w2 w2", "w20", "w0 w29 w7", "unknown", ""]


def vectors(texts, index, **options):
    """Dense TF-IDF vectors of length 1 or 0."""
    model = VectorSpace(**options).fit(index)
    counts = index.count_queries(texts).toarray()
    tf = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    rows = (tf if options.get("sublinear_tf") else counts) * model.idf_
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def cosines(a, b):
    norms = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.divide(a @ b.T, norms, out=np.zeros(norms.shape), where=norms > 1e-9)


@pytest.mark.parametrize("k", [1, 3, 10, 24])
@pytest.mark.parametrize("options", [{}, {"sublinear_tf": True, "idf": "smooth"}])
def test_scores_are_cosines_in_the_space_of_a_dense_decomposition(k, options):
    index = InvertedIndex().fit(DOCUMENTS)
    X, Q = (vectors(texts, index, **options) for texts in (DOCUMENTS, QUERIES))
    U = np.linalg.svd(X)[2][:k].T
    model = LSI(n_components=k, **options).fit(index)
    expected = cosines(Q @ U, X @ U)
    np.testing.assert_allclose(model.score(QUERIES), expected, atol=1e-8)
    query_of, document_of = (a.ravel() for a in np.indices(expected.shape))
    pairs = model.score_pairs(QUERIES, query_of, document_of)
    np.testing.assert_allclose(pairs, expected.ravel(), atol=1e-8)
    np.testing.assert_allclose(np.abs(U.T @ model.components_), np.eye(k), atol=1e-6)
    largest = np.abs(model.components_).argmax(axis=0)
    assert np.all(model.components_[largest, np.arange(k)] > 0)


def test_with_all_components_the_order_is_that_of_the_vector_space():
    index = InvertedIndex().fit(DOCUMENTS)
    model = LSI(n_components=1000).fit(index)
    assert model.components_.shape[1] <= 25
    # A query loses what no document has, which divides all of its scores.
    queries = vectors(QUERIES, index)
    lengths = np.linalg.norm(queries @ model.components_, axis=1)
    cosine = VectorSpace().fit(index).score(QUERIES)
    np.testing.assert_allclose(
        model.score(QUERIES) * lengths[:, None], cosine, atol=1e-9
    )


def test_documents_without_a_term_of_the_query_are_found(monkeypatch):
    model = LSI(n_components=3).fit(DOCUMENTS)
    scores = model.score(QUERIES)
    documents, found = model.retrieve(QUERIES, 26)
    assert documents.shape == (5, 25)  # the last has no term at all
    for row, values, full in zip(documents[:3], found, scores):
        expected = sorted(range(25), key=lambda d: (-full[d], d))
        assert row.tolist() == expected
        np.testing.assert_array_equal(values, full[row])
    # Nothing speaks for any document where a query has no component.
    assert (documents[3:] == -1).all()
    assert np.isneginf(found[3:]).all()
    assert model.retrieve(["unknown", ""], 3)[0].shape == (2, 0)
    assert RM3(model=model).fit(DOCUMENTS).expand(["unknown"]) == [{}]
    monkeypatch.setattr("skrank.text._lsi._BLOCK_SCORES", 1)
    monkeypatch.setattr("skrank.text._lsi._BLOCK_PAIRS", 2)
    np.testing.assert_array_equal(model.retrieve(QUERIES, 26)[0], documents)
    pairs = model.score_pairs(QUERIES, [0, 1, 2], [5, 6, 7])
    np.testing.assert_array_equal(pairs, scores[[0, 1, 2], [5, 6, 7]])
    assert model.retrieve(QUERIES, 4)[0].shape == (5, 4)


def test_collections_without_terms_score_zero():
    for documents in (["", ""], ["the"]):
        model = LSI().fit(documents)
        assert model.components_.shape == (0, 0)
        np.testing.assert_array_equal(model.score(["a"]), 0)
    # Terms of all documents have an IDF of 0, so that there is nothing to decompose.
    model = LSI().fit(["x", "x"])
    np.testing.assert_array_equal(model.score(["x"]), 0)
    assert model.retrieve(["x"], 2)[0].shape == (1, 0)


def test_fits_do_not_depend_on_what_was_computed_before():
    # Of singular values that are equal, and of fewer than a Krylov space holds.
    texts = ["sort an array", "sorted arrays of sort", "matrix inverse", "word " * 200]
    texts += ["foo bar", "dont us", "singular values of a matrix", "unique terms here"]
    index = InvertedIndex().fit(texts)
    models = [LSI(n_components=3).fit(index) for _ in range(10)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)


@pytest.mark.parametrize("k", [1, 2, 100])
def test_terms_that_are_in_all_documents_make_no_component(k):
    # The logarithm of 1 is 0, and so is that of (2 - 1 + 0.5) / (1 + 0.5).
    same = LSI(n_components=k).fit(["sort array", "array sort"])
    half = LSI(n_components=k, idf="robertson").fit(["sort", "array"])
    for model in (same, half):
        assert model.components_.shape == (2, 0)
        assert not model.score(["sort", "array"]).any()


def test_it_is_a_feature_and_repeats_itself():
    one, other = (LSI(n_components=4).fit(DOCUMENTS) for _ in range(2))
    assert one.components_.tobytes() == other.components_.tobytes()
    features = LetorFeatures(models={"lsi": LSI(n_components=4)}).fit(DOCUMENTS)
    X = features.extract(QUERIES, [0, 1], [3, 4])
    np.testing.assert_array_equal(X[:, -1], one.score(QUERIES)[[0, 1], [3, 4]])
    others = features.extract(QUERIES, [0, 1], [0, 1], documents=DOCUMENTS[3:5])
    np.testing.assert_allclose(others[:, -1], X[:, -1], rtol=1e-12)


@pytest.mark.parametrize(
    "components",
    [None, [[1.0]], np.ones(30), np.full((30, 2), 2.0), np.full((30, 2), np.nan)],
    ids=["none", "list", "vector", "large", "nan"],
)
def test_components_of_a_file_are_checked(components, tmp_path):
    model = LSI(n_components=2, random_state=None).fit(DOCUMENTS)
    save_model(model, tmp_path / "lsi.skrank")
    loaded = load_model(tmp_path / "lsi.skrank")
    assert loaded.score(QUERIES).tobytes() == model.score(QUERIES).tobytes()
    broken = LSI()
    vars(broken).update(index_=model.index_, components_=components)
    with pytest.raises(ValueError, match="components_"):
        broken._restore_state()
