"""Texts with ids and fields."""

import numpy as np
import pandas as pd
import pytest

from skrank.text import BM25, InvertedIndex, LetorFeatures, TextCollection

FIELDS = {"title": ["sort", "", "tree"], "body": ["sort rows", "a tree", "row"]}


def test_all_that_takes_documents_takes_a_collection():
    texts = TextCollection(ids=["x", "y", "z"], fields=FIELDS)
    index = InvertedIndex().fit(texts)
    assert index.ids_.tolist() == ["x", "y", "z"]
    assert index.fields_ == ("title", "body")
    assert InvertedIndex().fit(FIELDS).ids_ is None
    found, _ = BM25().fit(texts).retrieve(["tree"], k=3)
    assert texts.ids[found].tolist() == [["y", "z"]]
    np.testing.assert_array_equal(
        LetorFeatures().fit(texts).extract(["tree"], [0, 0], [0, 1]),
        LetorFeatures().fit(FIELDS).extract(["tree"], [0, 0], [0, 1]),
    )


def test_numbers_and_frames():
    columns = {name: pd.Series(texts) for name, texts in FIELDS.items()}
    texts = TextCollection(pd.Series(["x", "y", "z"]), columns)
    assert len(texts) == 3
    assert texts.find(["z", "unknown", "x"]).tolist() == [2, -1, 0]
    assert texts.find([]).dtype == np.intp
    frame = texts.to_frame()
    assert frame.index.tolist() == ["x", "y", "z"]
    assert frame.index.name == "id"
    assert frame["body"].tolist() == FIELDS["body"]
    assert repr(texts) == "TextCollection(3 texts, fields=['title', 'body'])"
    assert InvertedIndex().fit(frame).fields_ == ("title", "body")


@pytest.mark.parametrize(
    ("ids", "fields", "error", "message"),
    [
        (["a", "b", "a"], {"t": [""] * 3}, ValueError, "ids .* different, 'a' occurs"),
        ([1], {"t": [""]}, TypeError, "ids must hold strings; item 0 is of type int"),
        ("a", {"t": [""]}, TypeError, "ids must be a sequence of strings"),
        (["a"], {}, ValueError, "fields must hold at least one field"),
        (["a"], ["t"], TypeError, r"fields must be a mapping of names .* got \['t'\]"),
        (
            ["a"],
            {"t": []},
            ValueError,
            r"fields\['t'\] must hold one text for each of 1",
        ),
        (
            ["a"],
            {"t": [None]},
            TypeError,
            r"fields\['t'\] must hold strings; item 0 is",
        ),
        (["a"], {3: ["x"]}, TypeError, "fields must have strings as names, got 3"),
    ],
)
def test_what_is_no_collection_is_named(ids, fields, error, message):
    with pytest.raises(error, match=message):
        TextCollection(ids, fields)


def test_a_collection_is_no_list_of_queries():
    texts = TextCollection(["a"], {"t": ["x"]})
    with pytest.raises(TypeError, match=r"got TextCollection.*; pass one of its"):
        BM25().fit(texts).score(texts)
