"""BM25F against its formula, term by term."""

from collections import Counter
from math import log

import numpy as np
import pytest

from skrank.text import BM25, BM25F, InvertedIndex, LetorFeatures

TITLES = ["a b", "", "b b c", "a", "c d"]
BODIES = ["b c c a", "a a", "", "d a b", "c c c"]
FIELDS = {"title": TITLES, "body": BODIES}
QUERIES = ["a b", "c c", "d unknown", "unknown"]
INDEX = InvertedIndex(str.split).fit(FIELDS)


def reference(query, d, k1, b, weights, k3=np.inf):
    """The score of one document."""
    score = 0.0
    for term, qtf in Counter(query.split()).items():
        df = sum(term in (t + " " + s).split() for t, s in zip(TITLES, BODIES))
        total = 0.0
        for field, texts in FIELDS.items():
            lengths = [len(text.split()) for text in texts]
            norm = 1 - b[field] + b[field] * lengths[d] / np.mean(lengths)
            tf = texts[d].split().count(term)
            total += weights[field] * tf / norm if tf else 0.0
        if total:
            idf = log(1 + (len(TITLES) - df + 0.5) / (df + 0.5))
            factor = qtf if k3 == np.inf else (k3 + 1) * qtf / (k3 + qtf)
            score += idf * (k1 + 1) * total / (k1 + total) * factor
    return score


@pytest.mark.parametrize(
    ("model", "full"),
    [
        (BM25F(), {"b": {"title": 0.75, "body": 0.75}}),
        (BM25F(b=0.2, k1=0.0), {"b": {"title": 0.2, "body": 0.2}, "k1": 0.0}),
        (BM25F(b={"title": 0.0}), {"b": {"title": 0.0, "body": 0.75}}),
        (BM25F(b={"body": 1}), {"b": {"title": 0.75, "body": 1.0}}),
        (
            BM25F(weights={"title": 3}, b=0.5, k3=2.0),
            {"w": {"title": 3, "body": 1}, "b": {"title": 0.5, "body": 0.5}, "k3": 2.0},
        ),
        (
            BM25F(weights={"title": 0, "body": 2.5}),
            {"w": {"title": 0, "body": 2.5}, "b": {"title": 0.75, "body": 0.75}},
        ),
    ],
    ids=str,
)
def test_scores_are_the_formula(model, full):
    model.fit(INDEX)
    rest = {"k1": full.get("k1", 1.2), "k3": full.get("k3", np.inf)}
    weights = full.get("w", {"title": 1, "body": 1})
    expected = np.array(
        [
            [reference(q, d, b=full["b"], weights=weights, **rest) for d in range(5)]
            for q in QUERIES
        ]
    )
    np.testing.assert_allclose(model.score(QUERIES), expected, rtol=1e-12, atol=1e-14)
    query_of, document_of = (a.ravel() for a in np.indices(expected.shape))
    pairs = model.score_pairs(QUERIES, query_of, document_of)
    np.testing.assert_allclose(pairs, expected.ravel(), rtol=1e-12, atol=1e-14)


def test_one_field_is_that_of_bm25():
    for options in ({}, {"k1": 0.4, "b": 0.3, "idf": "log"}, {"k1": 0.0}):
        one = BM25F(field="body", **options).fit(INDEX)
        other = BM25(field="body", **options).fit(INDEX)
        np.testing.assert_allclose(one.score(QUERIES), other.score(QUERIES))
        flat = BM25F(tokenizer=str.split, **options).fit(BODIES)
        np.testing.assert_allclose(flat.score(QUERIES), other.score(QUERIES))


def test_a_feature_of_each_field_and_of_whole_documents():
    features = LetorFeatures(models={"bm25f": BM25F(weights={"title": 2})}).fit(INDEX)
    X = features.extract(QUERIES, [0, 1, 1], [0, 0, 4])
    column = features.feature_names_.index("whole.bm25f")
    model = BM25F(weights={"title": 2}).fit(INDEX)
    expected = model.score_pairs(QUERIES, [0, 1, 1], [0, 0, 4])
    np.testing.assert_array_equal(X[:, column], expected)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BM25F(b=1.5), r"b must be a number in \[0, 1\] or a mapping, got 1\.5"),
        (BM25F(b={"body": 2}), r"b\['body'\] must be a number from 0 to 1, got 2"),
        (BM25F(b={"body": True}), r"b\['body'\] must be a number .*, got True"),
        (BM25F(weights={"body": -1}), r"weights\['body'\] must be .*, got -1"),
        (BM25F(weights={"body": "2"}), r"weights\['body'\] must be .*, got '2'"),
        (BM25F(weights={"body": np.nan}), r"weights\['body'\] must be .*, got nan"),
        (BM25F(weights={"url": 1}), r"must name fields of the documents, \('title'"),
        (BM25F(b={"url": 1}), r"must name fields .*'body'\), got 'url'"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(INDEX)
