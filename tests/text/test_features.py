"""LETOR features against a loop over pairs and terms."""

import numpy as np
import pytest
from sklearn.base import clone

from skrank.text import BM25, InvertedIndex, LetorFeatures, LMDirichlet


def words(text):
    return text.split()


FIELDS = {
    "title": ["a b", "c", "", "b b d"],
    "body": ["a a c", "d e", "a", ""],
}
QUERIES = ["a b", "c unknown", "unknown", "a a d"]


def reference_term_features(postings, vocabulary, query, document):
    """The features of one pair from dense counts."""
    terms = sorted({t for t in words(query) if t in vocabulary})
    tf = np.array([postings.counts[document, vocabulary[t]] for t in terms])
    df = postings.document_frequency[[vocabulary[t] for t in terms]]
    idf = np.log(postings.n_documents / np.maximum(df, 1))
    length = postings.lengths[document]
    covered = (tf > 0).sum()
    features = [covered, covered / max(len(terms), 1), length, idf.sum()]
    for values in (tf, tf / max(length, 1), tf * idf):
        if not terms:
            features += [0] * 5
        else:
            features += [values.sum(), values.min(), values.max()]
            features += [values.mean(), values.var()]
    return features


def test_features_are_those_of_a_loop():
    index = InvertedIndex(tokenizer=words).fit(FIELDS)
    extractor = LetorFeatures(models={"bm25": BM25(), "dir": LMDirichlet(mu=3)})
    extractor.fit(index)
    query_of, document_of = (a.ravel()[::-1] for a in np.indices((4, 4)))
    X = extractor.extract(QUERIES, query_of, document_of)
    expected = []
    for q, d in zip(query_of, document_of):
        row = []
        for field in ("title", "body", None):
            postings = index.postings(field)
            row += reference_term_features(postings, index.vocabulary_, QUERIES[q], d)
            for model in (BM25(field=field), LMDirichlet(mu=3, field=field)):
                row.append(model.fit(index).score(QUERIES)[q, d])
        expected.append(row)
    np.testing.assert_allclose(X, expected, rtol=1e-12, atol=1e-12)


def test_names_belong_to_columns():
    extractor = LetorFeatures(tokenizer=words).fit(FIELDS)
    names = extractor.feature_names_
    assert names == extractor.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 3 * 24
    X = extractor.extract(QUERIES, [0], [0])
    assert X.shape == (1, len(names))
    column = dict(zip(names, X[0]))
    assert column["title.length"] == 2
    assert column["body.tf.max"] == 2  # "a" twice
    assert column["whole.tf.sum"] == 4  # "a" three times, "b" once
    assert column["whole.bm25"] == BM25().fit(extractor.index_).score(QUERIES)[0, 0]


def test_one_field_has_no_whole_and_fields_can_be_chosen():
    single = LetorFeatures().fit(["sort rows"])
    assert {name.split(".")[0] for name in single.feature_names_} == {"text"}
    chosen = LetorFeatures(fields=["whole", "title"], models={}).fit(FIELDS)
    assert [name.split(".")[0] for name in chosen.feature_names_[::19]] == [
        "whole",
        "title",
    ]


def test_dtype_no_pairs_and_clone():
    extractor = clone(LetorFeatures(tokenizer=words)).fit(FIELDS)
    assert extractor.extract(QUERIES, [0], [1], dtype=np.float32).dtype == np.float32
    assert extractor.extract(QUERIES, [], []).shape == (0, 72)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="fields must be names among"):
        LetorFeatures(fields=["url"]).fit(FIELDS)
    with pytest.raises(
        TypeError, match=r"models\['x'\] must be a model of skrank.text"
    ):
        LetorFeatures(models={"x": "bm25"}).fit(FIELDS)
    with pytest.raises(TypeError, match="models must be a mapping or None, got"):
        LetorFeatures(models=[BM25()]).fit(FIELDS)
    with pytest.raises(ValueError, match="query_of must hold numbers from 0 to 3"):
        LetorFeatures().fit(FIELDS).extract(QUERIES, [4], [0])


@pytest.mark.parametrize(
    ("feature_set", "given"),
    [
        (None, {"links": np.ones((2, 2))}),
        (["whole.bm25", "page.inlinks"], {"urls": ["a.org", "b.org"]}),
        (["page.url_length"], {"topics": [[1], [1]]}),
        ("ohsumed", {"links": np.ones((2, 2))}),
    ],
)
def test_what_no_feature_needs_is_refused(feature_set, given):
    (name,) = given
    needed = {"links": np.eye(2)} if name == "urls" else {}
    needed |= {"urls": ["a.org", "b.org"]} if name == "topics" else {}
    with pytest.raises(ValueError, match=f"{name} must be None, .* needs {name}"):
        LetorFeatures(feature_set=feature_set).fit(["a b", "b"], **needed, **given)


def test_fields_that_are_none_are_named():
    message = r"fields must be names among 'text', 'whole', got \['nope'\]"
    with pytest.raises(ValueError, match=message):
        LetorFeatures(fields=["nope"]).fit(["a b", "c"])
