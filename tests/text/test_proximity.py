"""Proximity features against a search of all segments and pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.text import InvertedIndex, ProximityFeatures

NAMES = [
    "span",
    "span_norm",
    "cover",
    "cover_norm",
    "distance.min",
    "distance.mean",
    "distance.max",
    "proximity",
]


def reference(query, document, alpha):
    """The features of one pair, from their definitions."""
    places = {
        term: [i for i, word in enumerate(document) if word == term]
        for term in set(query)
        if term in document
    }
    found = sorted(i for where in places.values() for i in where)
    span = found[-1] - found[0] + 1 if found else 0
    segments = [
        j - i
        for i in range(len(document))
        for j in range(i + 1, len(document) + 1)
        if set(places) <= set(document[i:j])
    ]
    cover = min(segments) if places else 0
    distances = [
        min(abs(i - j) for i in places[s] for j in places[t])
        for s, t in combinations(places, 2)
    ] or [len(document)]
    return [
        span,
        span / max(len(found), 1),
        cover,
        cover / max(len(places), 1),
        min(distances),
        np.mean(distances),
        max(distances),
        np.log(alpha + np.exp(-min(distances))),
    ]


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=14), min_size=1, max_size=4),
    st.lists(st.sampled_from("abcxy"), max_size=6),
)
@settings(deadline=None, max_examples=150)
def test_features_are_their_definitions(documents, query):
    texts = [" ".join(row) for row in documents]
    extractor = ProximityFeatures(alpha=0.7, tokenizer=str.split).fit(texts)
    X = extractor.extract([" ".join(query)], [0] * len(texts), np.arange(len(texts)))
    expected = [reference(query, row, 0.7) for row in documents]
    np.testing.assert_allclose(X, expected, rtol=1e-14)


def test_the_example_of_the_paper():
    # [Tao2007], section 3: five terms, and two queries.
    document = "t1 t2 t1 t3 t5 t4 t2 t3 t4"
    extractor = ProximityFeatures(tokenizer=str.split).fit([document])
    X = extractor.extract(["t1 t2", "t1 t4 t5"], [0, 1], [0, 0])
    assert X[0, [0, 2]].tolist() == [7, 2]
    assert X[1, 4:7].tolist() == [1, 2, 3]
    assert extractor.feature_names_ == [f"text.{name}" for name in NAMES]


def test_positions_in_the_next_document_are_not_those_of_this_one():
    for texts in (["a x x b", "x x x a"], ["b x x a", "x x x b"]):
        extractor = ProximityFeatures(tokenizer=str.split).fit(texts)
        X = extractor.extract(["a b", "b a"], [0, 1], [0, 0])
        assert X[:, 4].tolist() == [3, 3]


def test_fields_and_threads():
    rng = np.random.default_rng(0)
    fields = {
        name: [" ".join(rng.choice(list("abcdefgh"), 30)) for _ in range(400)]
        for name in ("title", "body")
    }
    index = InvertedIndex(str.split, with_positions=True).fit(fields)
    extractor = ProximityFeatures().fit(index)
    assert extractor.get_feature_names_out()[8] == "body.span"
    assert extractor.get_feature_names_out()[-1] == "whole.proximity"
    queries = ["a b c", "d e f g"]
    query_of, document_of = rng.integers(0, 2, 3_000), rng.integers(0, 400, 3_000)
    X = extractor.extract(queries, query_of, document_of)
    one = ProximityFeatures(fields=["body"]).fit(index)
    np.testing.assert_array_equal(
        one.extract(queries, query_of, document_of), X[:, 8:16]
    )
    for i in range(100):
        words = (
            fields["title"][document_of[i]] + " " + fields["body"][document_of[i]]
        ).split()
        expected = reference(queries[query_of[i]].split(), words, 0.3)
        np.testing.assert_allclose(X[i, 16:], expected)
    assert extractor.extract(queries, [], []).shape == (0, 24)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="documents must be an index with positions"):
        ProximityFeatures().fit(InvertedIndex().fit(["a"]))
    with pytest.raises(ValueError, match="documents must have no field 'whole'"):
        ProximityFeatures().fit({"whole": ["a"]})
    with pytest.raises(ValueError, match=r"field must be one of \('text',\), got 'x'"):
        ProximityFeatures(fields=["x"]).fit(["a"])
    with pytest.raises(ValueError, match="fields must be different names, at least"):
        ProximityFeatures(fields=[]).fit(["a"])
    with pytest.raises(ValueError, match="document_of must hold numbers from 0 to 0"):
        ProximityFeatures().fit(["a"]).extract(["a"], [0], [1])
