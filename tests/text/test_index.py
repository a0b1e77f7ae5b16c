"""Counts and statistics of the inverted index against plain Python counting."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.text import InvertedIndex

TITLES = ["sort rows", "", "rows rows"]
BODIES = ["the order of rows", "invert a matrix", ""]

collections = st.lists(
    st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=8
)


def words(text):
    return text.split()


@given(collections)
@settings(deadline=None, max_examples=50)
def test_statistics_are_those_of_a_count(documents):
    counters = [Counter(terms) for terms in documents]
    index = InvertedIndex(tokenizer=words).fit([" ".join(t) for t in documents])
    postings = index.postings()
    terms = sorted(set().union(*counters))
    assert list(index.vocabulary_) == terms
    dense = np.array([[c[t] for t in terms] for c in counters]).reshape(
        len(documents), len(terms)
    )
    np.testing.assert_array_equal(postings.counts.toarray(), dense)
    np.testing.assert_array_equal(postings.lengths, dense.sum(1))
    np.testing.assert_array_equal(postings.n_distinct, (dense > 0).sum(1))
    np.testing.assert_array_equal(postings.document_frequency, (dense > 0).sum(0))
    np.testing.assert_array_equal(postings.collection_frequency, dense.sum(0))
    assert postings.average_length == dense.sum(1).mean()
    assert postings.n_documents == len(documents)


@given(collections)
@settings(deadline=None, max_examples=50)
def test_every_term_of_every_document_is_found(documents):
    index = InvertedIndex(tokenizer=words).fit([" ".join(t) for t in documents])
    postings = index.postings()
    dense = postings.counts.toarray()
    document, term = (a.ravel() for a in np.indices(dense.shape))
    found = postings.find(term, document)
    np.testing.assert_array_equal(found >= 0, dense.ravel() > 0)
    np.testing.assert_array_equal(
        postings.counts.data[found[found >= 0]], dense.ravel()[found >= 0]
    )


def test_fields_share_a_vocabulary_and_add_up():
    index = InvertedIndex().fit({"title": TITLES, "body": BODIES})
    assert index.fields_ == ("title", "body")
    assert index.n_documents_ == 3
    whole = index.postings()
    np.testing.assert_array_equal(
        whole.counts.toarray(),
        index.postings("title").counts.toarray()
        + index.postings("body").counts.toarray(),
    )
    assert whole.counts.has_sorted_indices
    assert index.postings() is whole
    np.testing.assert_array_equal(whole.lengths, [4, 2, 2])


def test_queries_count_known_terms_only():
    index = InvertedIndex().fit(TITLES)
    counts = index.count_queries(["rows rows unknown", "unknown", ""])
    assert counts.shape == (3, 2)
    np.testing.assert_array_equal(counts.toarray(), [[2, 0], [0, 0], [0, 0]])


def test_bad_documents_are_named():
    with pytest.raises(ValueError, match="documents is empty"):
        InvertedIndex().fit([])
    with pytest.raises(TypeError, match="documents must be a sequence of strings"):
        InvertedIndex().fit("one text")
    with pytest.raises(TypeError, match=r"documents must be .* got <LazyFrame"):
        InvertedIndex().fit(pl.DataFrame({"a": ["x"]}).lazy())
    with pytest.raises(ValueError, match=r"every field, found \{'a': 1, 'b': 2\}"):
        InvertedIndex().fit({"a": ["x"], "b": ["x", "y"]})
    with pytest.raises(ValueError, match=r"field must be one of \('text',\), got 'b'"):
        InvertedIndex().fit(["x"]).postings("b")
    with pytest.raises(TypeError, match="queries must be a sequence of strings"):
        InvertedIndex().fit(["x"]).count_queries("x")
