"""Features by names of columns: as the extractor, in pipelines, of new documents."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import RankSVM
from skrank.text import (
    BM25,
    BM25F,
    InvertedIndex,
    LetorFeatures,
    LMAbsoluteDiscount,
    LMDirichlet,
    PairFeatures,
    VectorSpace,
)

FIELDS = {"title": ["sort", "", "tree of rows"], "body": ["sort rows", "a tree", "row"]}
QUERIES = ["sort rows", "tree", "unknown"]


def all_pairs(documents=FIELDS):
    """Rows of all queries with all documents, and their numbers."""
    n_documents = len(documents["title"])
    query_of, document_of = (a.ravel() for a in np.indices((3, n_documents)))
    rows = {name: [texts[d] for d in document_of] for name, texts in documents.items()}
    return {"query": [QUERIES[q] for q in query_of]} | rows, query_of, document_of


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, "polars"])
def test_rows_are_the_pairs_of_the_extractor(kind):
    if kind == "polars":
        kind = pytest.importorskip("polars").DataFrame
    rows, query_of, document_of = all_pairs()
    extractor = LetorFeatures().fit(FIELDS)
    expected = extractor.extract(QUERIES, query_of, document_of)
    features = PairFeatures()
    found = features.fit_transform(kind(rows))
    np.testing.assert_array_equal(found, expected)
    # A document that occurs in several rows is one document of the collection.
    assert features.index_.n_documents_ == 3
    assert features.get_feature_names_out().tolist() == extractor.feature_names_
    names = features.get_feature_names_out(["query", "title", "body"]).tolist()
    assert {"title.bm25", "body.lmir.dir", "whole.vsm"} < set(names)


def reference_of_others(field, new, models):
    """Scores of new texts by the formulas, with the statistics of the old ones."""
    old = [text.split() for text in FIELDS[field]]
    terms = sorted({t for row in old for t in row})
    df = {t: sum(t in row for row in old) for t in terms}
    cf = {t: sum(row.count(t) for row in old) for t in terms}
    n, total, mean = len(old), sum(map(len, old)), np.mean([len(row) for row in old])
    rows = []
    for query in QUERIES:
        asked = [t for t in query.split() if t in terms]
        for text in new:
            row = text.split()
            bm25, dirichlet, discount = 0.0, 0.0, 0.0
            for t in asked:
                tf, length = row.count(t), len(row)
                idf = np.log1p((n - df[t] + 0.5) / (df[t] + 0.5))
                norm = 1.2 * (0.25 + 0.75 * length / mean)
                bm25 += idf * 2.2 * tf / (tf + norm)
                dirichlet += np.log((tf + 9 * cf[t] / total) / (length + 9))
                left = 0.5 * len(set(row)) / length if length else 1.0
                seen = max(tf - 0.5, 0) / length if length else 0.0
                discount += np.log(seen + left * cf[t] / total)
            rows.append([bm25, dirichlet, discount])
    return np.array(rows)


def test_new_documents_are_measured_by_the_statistics_of_fit():
    models = {
        "bm25": BM25(),
        "dir": LMDirichlet(mu=9),
        "abs": LMAbsoluteDiscount(delta=0.5),
    }
    extractor = LetorFeatures(models=models, tokenizer=str.split).fit(FIELDS)
    new = {
        "title": ["sort sort new", "", "tree rows never seen", "sort"],
        "body": ["rows", "sort row other", "", "tree tree a"],
    }
    rows, query_of, document_of = all_pairs(new)
    X = extractor.extract(QUERIES, query_of, document_of, documents=new)
    names = extractor.feature_names_
    for field in FIELDS:
        chosen = [names.index(f"{field}.{model}") for model in models]
        expected = reference_of_others(field, new[field], models)
        np.testing.assert_allclose(X[:, chosen], expected, rtol=1e-12, atol=1e-12)
        lengths = np.array([len(text.split()) for text in new[field]])
        length = X[:, names.index(f"{field}.length")]
        np.testing.assert_array_equal(length, lengths[document_of])
    # "rows" is a word of the collection, but not of its titles.
    features = PairFeatures(models=models, tokenizer=str.split).fit(all_pairs()[0])
    np.testing.assert_array_equal(features.transform(rows), X)


@pytest.mark.parametrize("model", [VectorSpace(), BM25(idf="robertson"), LMDirichlet()])
def test_documents_of_fit_are_measured_alike_when_they_come_again(model):
    extractor = LetorFeatures(models={"m": model}).fit(FIELDS)
    _, query_of, document_of = all_pairs()
    weights = extractor.models_["title"]["m"].weights_.copy()
    again = extractor.extract(QUERIES, query_of, document_of, documents=FIELDS)
    np.testing.assert_array_equal(
        again, extractor.extract(QUERIES, query_of, document_of)
    )
    part = {name: texts[1:] for name, texts in FIELDS.items()}
    rows = document_of > 0
    found = extractor.extract(
        QUERIES, query_of[rows], document_of[rows] - 1, documents=part
    )
    np.testing.assert_array_equal(found, again[rows])
    np.testing.assert_array_equal(extractor.models_["title"]["m"].weights_, weights)


def test_fields_can_be_chosen():
    rows, *_ = all_pairs()
    names = PairFeatures(fields=["title"], models={}).fit(rows).get_feature_names_out()
    assert {name.split(".")[0] for name in names} == {"title"}
    whole = PairFeatures(fields=["whole"], models={}).fit(rows)
    assert whole.index_.fields_ == ("title", "body")
    with_others = pd.DataFrame(rows).assign(price=3.0)
    chosen = PairFeatures(fields=["title", "body"]).fit(with_others)
    assert chosen.index_.fields_ == ("title", "body")
    assert chosen.transform(with_others).shape == (9, 48)


def test_an_index_of_the_whole_collection():
    index = InvertedIndex().fit({k: [*v, "more rows"] for k, v in FIELDS.items()})
    rows, query_of, document_of = all_pairs()
    found = PairFeatures().fit(index).transform(rows)
    expected = LetorFeatures().fit(index).extract(QUERIES, query_of, document_of)
    np.testing.assert_array_equal(found, expected)


def test_pipelines_with_other_columns(rng):
    words = ["sort", "tree", "row", "matrix", "graph", "sum"]
    query = np.repeat(rng.choice(words, 12), 6)
    table = pd.DataFrame(
        {
            "query": query,
            "title": rng.choice(words, 72),
            "body": [" ".join(rng.choice(words, 5)) for _ in range(72)],
            "year": rng.integers(1990, 2020, 72),
        }
    )
    grades = (table["query"] == table["title"]).astype(float).to_numpy()
    groups = np.repeat(np.arange(12), 6)
    columns = ColumnTransformer(
        [
            ("text", PairFeatures(), ["query", "title", "body"]),
            ("number", "passthrough", ["year"]),
        ]
    )
    pipeline = make_pipeline(columns, QueryMinMaxScaler(), RankSVM())
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            pipeline, table, grades, cv=QueryKFold(3), params={"groups": groups}
        )
    # The grade says whether the title is the query, as the features do.
    assert scores.tolist() == [1.0, 1.0, 1.0]
    names = columns.fit(table).get_feature_names_out()
    assert names[0] == "text__title.covered"
    assert names[-1] == "number__year"
    frame = clone(columns).set_output(transform="pandas").fit_transform(table)
    assert list(frame.columns) == list(names)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ({"title": ["a"]}, ValueError, "X must have the column 'query', got .*'title'"),
        ({"query": ["a"]}, ValueError, "X must have columns of documents"),
        ({"query": ["a"], "t": ["a", "b"]}, ValueError, "mu|query_of|equal length"),
        ({"query": ["a"], "t": [None]}, TypeError, r"X\['t'\] must hold strings; item"),
        ({"query": [3], "t": ["a"]}, TypeError, r"X\['query'\] must hold strings; ite"),
        ({"query": [], "t": []}, ValueError, "documents is empty"),
        (np.array([["a", "b"]]), TypeError, "X must be a data frame or a mapping"),
        (["a"], TypeError, "X must be a data frame or a mapping"),
        (None, TypeError, "X must be a data frame or a mapping of names .* got None"),
        (
            pd.DataFrame([["a", "b"]], columns=["t", "t"]),
            ValueError,
            "X must have columns of different names",
        ),
    ],
)
def test_bad_rows_are_named(X, error, message):
    with pytest.raises(error, match=message):
        PairFeatures().fit_transform(X)


def test_missing_fields_are_named():
    features = PairFeatures().fit(all_pairs()[0])
    with pytest.raises(ValueError, match="X must have the column 'body'"):
        features.transform({"query": ["a"], "title": ["a"]})
    with pytest.raises(ValueError, match="X must have the column 'url'"):
        PairFeatures(fields=["url"]).fit(all_pairs()[0])
    with pytest.raises(ValueError, match=r"must have the fields \('title', 'body'\)"):
        features.extractor_.extract(["a"], [0], [0], documents={"title": ["a"]})
    assert features.transform({"query": [], "title": [], "body": []}).shape == (0, 72)


def test_models_of_all_fields_score_other_documents_as_those_of_the_index():
    models = {"bm25f": BM25F(weights={"title": 3.0}, b={"body": 0.4})}
    extractor = LetorFeatures(models=models, tokenizer=str.split).fit(FIELDS)
    pairs = [0, 1, 1, 2], [2, 2, 0, 1]
    expected = extractor.extract(QUERIES, *pairs)
    others = extractor.extract(QUERIES, *pairs, documents=FIELDS)
    column = extractor.feature_names_.index("whole.bm25f")
    np.testing.assert_allclose(others[:, column], expected[:, column], rtol=1e-12)
    np.testing.assert_allclose(others, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [pd.NA, np.nan, None, 1])
def test_names_of_columns_that_are_no_texts_are_refused(name):
    texts = ["a b", "c d"]
    with pytest.raises(TypeError, match="must name fields by strings, got"):
        PairFeatures().fit({name: texts, "query": texts, "title": texts})
