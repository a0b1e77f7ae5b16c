"""Rankers of texts against the steps that they put together, done one by one."""

import pickle
from copy import deepcopy as copy_of

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from skrank.datasets import Qrels
from skrank.export import load_model, save_model
from skrank.metrics import (
    QueryLeakageWarning,
    evaluate_measure,
    make_ranking_scorer,
    ndcg_score,
)
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import LambdaMART, RankSVM
from skrank.retrieval import TextRanker, judged_pairs
from skrank.text import (
    BM25,
    LSI,
    RM3,
    InvertedIndex,
    LetorFeatures,
    LinkGraph,
    LMDirichlet,
    ProximityFeatures,
    TextCollection,
    VectorSpace,
)

N_DOCUMENTS, N_QUERIES = 60, 24


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(30)])
    p = 1 / np.arange(1, 31)

    def texts(n):
        drawn = [rng.choice(words, n, p=p / p.sum()) for _ in range(N_DOCUMENTS)]
        return [" ".join(row) for row in drawn]

    ids = [f"d{i}" for i in range(N_DOCUMENTS)]
    return TextCollection(ids, {"title": texts(3), "body": texts(20)})


@pytest.fixture(scope="module")
def task(documents):
    """Queries of two words; a document is the better the more it has of the second."""
    rng = np.random.default_rng(1)
    queries = {f"q{i:02}": f"w{i % 5} w{5 + i}" for i in range(N_QUERIES)}
    qrels = {}
    for query, text in queries.items():
        second = text.split()[1]
        judged = rng.choice(N_DOCUMENTS, 30, replace=False)
        qrels[query] = {
            f"d{d}": float(min(documents.fields["body"][d].split().count(second), 2))
            for d in judged
        }
    return queries, qrels


@pytest.fixture(scope="module")
def rows(task):
    return judged_pairs(*task)


@pytest.fixture(scope="module")
def index(documents):
    return InvertedIndex().fit(documents)


def by_hand(index, queries, qrels, depth, retriever, train_on):
    """The training rows of a ranker of texts, by loops."""
    found, _ = retriever.fit(index).retrieve(list(queries.values()), depth)
    query_of, document_of, grades = [], [], []
    for q, query in enumerate(sorted(queries)):
        documents = [d for d in found[q].tolist() if d >= 0]
        judged = {index.ids_.tolist().index(d): y for d, y in qrels[query].items()}
        if train_on == "judged":
            documents = sorted(judged)
        if train_on == "all":
            documents += sorted(judged.keys() - set(documents))
        for d in documents:
            query_of.append(q)
            document_of.append(d)
            grades.append(judged.get(d, 0.0))
    texts = [queries[query] for query in sorted(queries)]
    X = np.column_stack(
        [
            LetorFeatures().fit(index).extract(texts, query_of, document_of),
            retriever.score_pairs(texts, query_of, document_of),
        ]
    )
    return X, np.array(grades), np.array(query_of), np.array(document_of)


@pytest.mark.parametrize("train_on", ["candidates", "judged", "all"])
@pytest.mark.parametrize("retriever", [None, LMDirichlet(mu=10.0)], ids=["bm25", "lm"])
def test_it_is_the_steps_one_by_one(task, rows, index, train_on, retriever):
    pipeline = make_pipeline(QueryStandardScaler(), RankSVM())
    ranker = TextRanker(pipeline, retriever=retriever, depth=15, train_on=train_on)
    ranker.fit(*rows, documents=index)
    model = BM25() if retriever is None else clone(retriever)
    X, y, query_of, _ = by_hand(index, *task, 15, model, train_on)
    with sklearn.config_context(enable_metadata_routing=True):
        alone = clone(pipeline).fit(X, y, groups=np.array(sorted(task[0]))[query_of])
        X, _, query_of, document_of = by_hand(index, *task, 15, model, "candidates")
        expected = alone.predict(X, groups=query_of)
    run = ranker.rank(task[0])
    place = {
        (f"q{q:02}", f"d{d}"): i for i, (q, d) in enumerate(zip(query_of, document_of))
    }
    found = [place[pair] for pair in zip(run.groups.tolist(), run.docids.tolist())]
    assert sorted(found) == list(range(len(expected)))
    np.testing.assert_array_equal(run.scores, expected[found])
    assert np.all(np.diff(query_of[found]) >= 0)
    within = np.diff(query_of[found]) == 0
    assert np.all(np.diff(run.scores)[within] <= 0)


def test_score_measures_the_whole_search(task, rows, index):
    X, y, groups = rows
    ranker = TextRanker(RankSVM(), depth=10).fit(X, y, groups, documents=index)
    run, expected = ranker.rank(task[0]), []
    for query, judged in task[1].items():
        mine = run.groups == query
        scores = dict(zip(run.docids[mine], run.scores[mine]))
        pool = sorted(scores.keys() | judged.keys())
        grades = np.array([judged.get(d, 0.0) for d in pool])
        if grades.any():
            values = np.array([scores.get(d, -np.inf) for d in pool])
            found = evaluate_measure("ndcg@10", grades, values, groups=[0] * len(pool))
            expected.append(found)
    assert ranker.score(X, y, groups) == pytest.approx(np.mean(expected), rel=1e-12)
    # An error is a negative score, so that more is better in every case.
    assert ranker.score(X, y, groups, measure="map") > 0


def test_predict_scores_rows_as_the_search_does(task, rows, index):
    X, y, groups = rows
    ranker = TextRanker(RankSVM(), depth=10).fit(X, y, groups, documents=index)
    scores = ranker.predict(X[::-1])[::-1]
    run = ranker.rank(task[0])
    ranked = {
        pair: score
        for *pair, score in zip(run.groups.tolist(), run.docids.tolist(), run.scores)
        for pair in [tuple(pair)]
    }
    lowest = {q: min(v for (p, _), v in ranked.items() if p == q) for q in task[0]}
    missed = 0
    for query, docid, score in zip(groups.tolist(), X[:, 1], scores):
        if (query, docid) in ranked:
            assert score == ranked[query, docid]
        else:
            missed += 1
            assert score < lowest[query]
    assert missed
    grades = ndcg_score(y, scores, groups=groups, k=10)
    assert make_ranking_scorer("ndcg@10", gain="exp2")(ranker, X, y, groups) == (
        pytest.approx(grades)
    )


def test_the_order_of_rows_does_not_matter(rows, index):
    X, y, groups = rows
    ranker = TextRanker(
        LambdaMART(n_estimators=5, min_samples_leaf=2, random_state=0), depth=20
    )
    one = clone(ranker).fit(X, y, groups, documents=index)
    order = np.random.default_rng(0).permutation(len(y))
    other = clone(ranker).fit(X[order], y[order], groups[order], documents=index)
    queries = ["w1 w9", "w3"]
    assert one.rank(queries).scores.tobytes() == other.rank(queries).scores.tobytes()
    assert one.query_ids_.tolist() == other.query_ids_.tolist()
    assert one.query_sizes_.tolist() == [30] * N_QUERIES


def test_frames_lists_and_texts_are_told_apart_alike(rows, index, documents):
    X, y, groups = rows
    ranker = TextRanker(RankSVM(), depth=20)
    expected = clone(ranker).fit(X, y, groups, documents=index).rank(["w1 w9"]).scores
    frame = pd.DataFrame(X, columns=["query", "document"]).assign(other=1.0)
    level = pd.MultiIndex.from_arrays([groups], names=["qid"])
    for data, grades, more in (
        (frame[["document", "other", "query"]], y, {"groups": groups}),
        (X.tolist(), y.tolist(), {"groups": groups.tolist()}),
        (X, pd.Series(y, index=level), {}),
    ):
        found = clone(ranker).fit(data, grades, **more, documents=documents)
        np.testing.assert_array_equal(found.rank(["w1 w9"]).scores, expected)
    by_text = clone(ranker).fit(X, y, documents=index)
    assert by_text.query_ids_.tolist() == sorted(set(X[:, 0]))


@pytest.mark.parametrize("routing", [False, True])
def test_searches_cut_by_query_and_share_the_index(rows, index, routing):
    X, y, groups = rows
    ranker = TextRanker(make_pipeline(QueryStandardScaler(), RankSVM()), depth=10)
    folds = QueryKFold(3)
    expected = []
    for train, test in folds.split(X, y, groups):
        fitted = clone(ranker).fit(X[train], y[train], groups[train], documents=index)
        expected.append(fitted.score(X[test], y[test], groups[test]))
    with sklearn.config_context(enable_metadata_routing=routing):
        more = {"params": {"documents": index}, "groups": groups}
        if routing:
            more = {"params": {"documents": index, "groups": groups}}
        found = cross_val_score(ranker, X, y, cv=folds, **more)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        judged = cross_val_score(
            ranker, X, y, cv=folds, scoring=make_ranking_scorer("ndcg@10"), **more
        )
        assert np.isfinite(judged).all()
        grid = {"depth": [3, 10], "estimator__ranksvm__alpha": [0.1, 1.0]}
        search = GridSearchCV(ranker, grid, cv=folds)
        search.fit(X, y, groups=groups, documents=index)
    best = search.best_estimator_
    assert best.index_ is index
    assert search.best_score_ >= np.mean(expected) - 1e-12
    assert best.rank(["w1 w9"], k=2).docids.shape == (2,)


def test_model_files_hold_the_index_and_the_ranker(rows, documents, tmp_path):
    X, y, groups = rows
    ranker = TextRanker(
        make_pipeline(QueryStandardScaler(), LambdaMART(n_estimators=3)),
        retriever=VectorSpace(sublinear_tf=True),
        expander=RM3(n_documents=3, n_terms=4),
        features=[LetorFeatures(fields=["whole"]), ProximityFeatures(fields=["body"])],
        depth=20,
    ).fit(X, y, groups, documents=documents)
    assert ranker.index_.with_positions
    save_model(ranker, tmp_path / "ranker.skrank")
    again = load_model(tmp_path / "ranker.skrank")
    queries = {"a": "w1 w9", "b": "w3", "c": "nothing"}
    one, other = ranker.rank(queries), again.rank(queries)
    assert one.docids.tolist() == other.docids.tolist()
    assert one.scores.tobytes() == other.scores.tobytes()
    assert again.feature_names_ == ranker.feature_names_
    assert again.query_ids_.tolist() == ranker.query_ids_.tolist()
    # The parameters of a file must be those that its parts follow from.
    ranker.set_params(expander=None)
    with pytest.raises(TypeError, match="expander_ is not what fit learns"):
        save_model(ranker, tmp_path / "other.skrank")


def test_links_and_urls_reach_the_features_and_the_file(rows, index, tmp_path):
    links = LinkGraph.from_edges([0, 1, 5], [1, 2, 2], n_nodes=N_DOCUMENTS)
    urls = [f"http://a.org/{'x' * i}/" for i in range(N_DOCUMENTS)]
    names = ["body.bm25", "page.inlinks", "page.url_length"]
    features = [LetorFeatures(feature_set=names), LetorFeatures(fields=["title"])]
    ranker = TextRanker(RankSVM(), features=features, depth=10)
    ranker.fit(*rows, documents=index, links=links, urls=urls)
    assert ranker.feature_names_[:3] == names
    pages = ranker.extractors_[0].extract(["w1"], [0, 0, 0], [2, 1, 0])[:, 1:]
    assert pages[:, 0].tolist() == [2.0, 1.0, 0.0]
    assert np.diff(pages[:, 1]).tolist() == [-1.0, -1.0]
    save_model(ranker, tmp_path / "ranker.skrank")
    again = load_model(tmp_path / "ranker.skrank")
    assert again.extractors_[0].index_ is again.index_
    one, other = ranker.rank(["w1 w9"]), again.rank(["w1 w9"])
    assert one.scores.tobytes() == other.scores.tobytes()
    with pytest.raises(ValueError, match="no extractor of features takes urls"):
        TextRanker(RankSVM(), features=[]).fit(*rows, documents=index, urls=urls)
    for given in ({"links": links}, {"urls": urls}, {"topics": np.ones(60)}):
        (name,) = given
        with pytest.raises(ValueError, match=f"{name} must be None, .* needs {name}"):
            TextRanker(RankSVM()).fit(*rows, documents=index, **given)
    ranker.extractors_[0].set_params(alpha=0.25)
    with pytest.raises(TypeError, match="extractors_ is not what fit learns"):
        save_model(ranker, tmp_path / "other.skrank")


def test_files_that_belong_to_no_ranker_are_refused(rows, documents, tmp_path):
    ranker = TextRanker(RankSVM(), features=[], depth=5)
    ranker.fit(*rows, documents=documents)
    assert ranker.feature_names_ == ["retrieval"]
    ranker.estimator_ = RankSVM().fit(np.eye(4), [0, 1, 0, 1], [0, 0, 1, 1])
    save_model(ranker, tmp_path / "wrong.skrank")
    with pytest.raises(ValueError, match="an estimator that was fitted to 1 features"):
        load_model(tmp_path / "wrong.skrank")


def test_expansion_and_other_estimators(task, rows, index):
    X, y, groups = rows
    expander = RM3(model=BM25(), n_documents=5, n_terms=5)
    ranker = TextRanker(LinearRegression(), expander=expander, features=[], depth=8)
    ranker.fit(X, y, groups, documents=index)
    weighted = clone(expander).fit(index).expand(["w1 w9"])
    found, scores = BM25().fit(index).retrieve(weighted, 8)
    run = ranker.rank(["w1 w9"])
    coefficient = float(ranker.estimator_.coef_[0])
    assert coefficient > 0
    assert run.docids.tolist() == [f"d{d}" for d in found[0]]
    expected = scores[0] * coefficient + ranker.estimator_.intercept_
    np.testing.assert_allclose(run.scores, expected, rtol=1e-9)


def test_queries_come_in_several_forms(rows, index):
    ranker = TextRanker(RankSVM(), depth=5).fit(*rows, documents=index)
    texts = ["w1 w9", "zzz", "w3"]
    listed = ranker.rank(texts)
    assert set(listed.groups.tolist()) == {0, 2}  # nothing is found for the other
    named = ranker.rank(dict(zip("xyz", texts)), k=2, tag="mine")
    assert named.groups.tolist() == ["x", "x", "z", "z"]
    assert named.tag == "mine"
    fields = {"title": texts, "narrative": ["", "", ""]}
    collection = TextCollection(["x", "y", "z"], fields)
    chosen = ranker.rank(collection, field="title")
    np.testing.assert_array_equal(chosen.scores, listed.scores)
    assert named.docids.tolist()[:2] == listed.docids.tolist()[:2]
    weighted = ranker.rank([{"w1": 1.0, "w9": 1.0}])
    np.testing.assert_array_equal(weighted.scores, listed.scores[listed.groups == 0])
    assert len(ranker.rank([]).scores) == len(ranker.rank(["zzz"]).scores) == 0
    with pytest.raises(ValueError, match="choose one by field="):
        ranker.rank(collection)
    with pytest.raises(ValueError, match=r"field must be one of .* got 'body'"):
        ranker.rank(collection, field="body")
    with pytest.raises(ValueError, match="got 'title' with a list"):
        ranker.rank(texts, field="title")


def test_blocks_of_queries_change_nothing(rows, index, monkeypatch):
    ranker = TextRanker(RankSVM(), depth=5).fit(*rows, documents=index)
    texts = [f"w{i}" for i in range(12)] + ["zzz"]
    whole = ranker.rank(texts)
    monkeypatch.setattr("skrank.retrieval._first_stage._BLOCK", 7)
    parts = ranker.rank(texts)
    assert parts.docids.tolist() == whole.docids.tolist()
    assert parts.groups.tolist() == whole.groups.tolist()
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-12)


def test_documents_without_ids_are_named_by_numbers(documents, task):
    index = InvertedIndex().fit(documents.fields)
    pairs = [(text, d) for text in task[0].values() for d in range(20)]
    y = [d % 3 for _ in task[0] for d in range(20)]
    ranker = TextRanker(RankSVM(), retriever=LSI(n_components=4), depth=60)
    ranker.fit(pairs, y, documents=index)
    assert sorted(ranker.rank(["w1"]).docids.tolist()) == list(range(60))
    with pytest.raises(ValueError, match=r"from 0 to 59, .*the first 60 in row"):
        ranker.predict([("w1", 3), ("w1", 60)])


def test_scores_of_trained_queries_are_told(rows, index):
    X, y, groups = rows
    ranker = TextRanker(RankSVM(), depth=5).fit(X, y, groups, documents=index)
    ranker.score(X, y, groups)  # all of them: asked for on purpose
    part = groups < "q03"
    with pytest.warns(QueryLeakageWarning, match="3 "):
        ranker.score(X[part], y[part], groups[part])


def test_judged_pairs_are_the_judgements(documents):
    queries = TextCollection(["1", "2"], {"title": ["a b", "c"], "desc": ["", ""]})
    judged = Qrels.from_dict({"2": {"d1": 1, "d0": -1}, "1": {"d3": 0}})
    X, y, groups = judged_pairs(queries, judged, field="title")
    assert X.tolist() == [["c", "d1"], ["a b", "d3"]]
    assert (y.tolist(), groups.tolist()) == ([1.0, 0.0], ["2", "1"])
    with pytest.raises(ValueError, match=r"judge 1 queries .* such as '7'"):
        judged_pairs({"1": "a"}, {"1": {"d": 1}, "7": {"d": 1}})
    with pytest.raises(TypeError, match="queries must hold strings"):
        judged_pairs({"1": {"a": 1.0}}, {"1": {"d": 1}})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"documents": None}, "pass documents=, a TextCollection or an InvertedIndex"),
        ({"documents": ["a", "b"]}, "pass documents=, a TextCollection"),
        (
            {"X": [["a", "d0"], ["b", "dx"]]},
            "1 rows have others, the first 'dx' in row 1",
        ),
        ({"X": [["a", "d0"], ["a", "d0"]]}, "document 'd0' a second time for query 1"),
        ({"X": [["a", "d0"], ["b", "d1"]]}, "query 1 has 'a' and 'b'"),
        ({"X": [["a", "d0", 1], ["b", "d1", 1]]}, "found the row"),
        ({"X": np.zeros((2, 3))}, r"two columns.*shape \(2, 3\)"),
        ({"X": np.zeros((2, 2))}, "the queries of X must hold strings"),
        ({"X": pd.DataFrame({"query": ["a", "b"]})}, "the columns 'query' and 'docu"),
        ({"X": [["a", None], ["b", "d1"]]}, "one document id per row"),
        ({"X": {"query": ["a"]}}, "X must hold pairs"),
        ({"X": sparse.eye(2, format="csr")}, "X must hold pairs"),
        ({"X": [["a", ["a"]], ["b", "d1"]]}, r"X must hold hashable ids, got \['a'\]"),
        ({"X": [["a", ["a"]], ["b", ["b"]]]}, r"X must hold hashable ids, got \['a'\]"),
        ({"y": [-1, 0]}, "y must"),
        ({"y": [1]}, "y "),
        ({"groups": [1]}, "groups"),
        ({"X": [["zz", "d0"], ["zz", "d1"]]}, "finds no document for any"),
    ],
)
def test_bad_input_is_named(index, changed, message):
    given = {
        "X": [["w1", "d0"], ["w1", "d1"]],
        "y": [1, 0],
        "groups": [1, 1],
        "documents": index,
    }
    with pytest.raises((ValueError, TypeError), match=message):
        TextRanker(RankSVM()).fit(**{**given, **changed})


def test_bad_parameters_are_named(rows, index):
    for parameters, message in (
        ({"features": 3}, "features must be extractors with fit, extract"),
        ({"features": [LetorFeatures]}, "features must be extractors"),
        ({"depth": 0}, "depth must be"),
        ({"retriever": "bm25"}, "retriever must be"),
        ({"train_on": "some"}, "train_on must be"),
        ({"estimator": QueryStandardScaler()}, "estimator must score documents"),
        ({"features": [LetorFeatures(), LetorFeatures()]}, "differ in their names"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            TextRanker(**parameters).fit(*rows, documents=index)
    ranker = TextRanker(RankSVM()).fit(*rows, documents=index)
    with pytest.raises(ValueError, match="k must be a whole number >= 1"):
        ranker.rank(["w1"], k=0)
    for tag in ("a b", "", "a\n", "a\x07"):
        with pytest.raises(ValueError, match="tag must be a word without blanks"):
            ranker.rank(["w1"], tag=tag)
    assert ranker.rank(["w1"], tag="a.b").tag == "a.b"


def test_a_ranker_must_be_fitted_first(rows):
    X, y, groups = rows
    for call in (
        lambda ranker: ranker.rank(["w1"]),
        lambda ranker: ranker.predict(X),
        lambda ranker: ranker.score(X, y, groups),
    ):
        with pytest.raises(NotFittedError, match="TextRanker instance is not fitted"):
            call(TextRanker(RankSVM()))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"retriever": LSI(n_components=3)},
        {"retriever": BM25(field="body"), "features": []},
    ],
)
def test_an_index_that_was_fitted_again_is_told(rows, documents, tmp_path, parameters):
    X, y, groups = rows
    index = InvertedIndex().fit(documents)
    ranker = TextRanker(RankSVM(), **parameters)
    ranker.fit(*rows, documents=index)
    expected = ranker.predict(X)
    for copy in (ranker, copy_of(ranker), pickle.loads(pickle.dumps(ranker))):
        assert copy.predict(X).tobytes() == expected.tobytes()
    # The bodies are the same ones, but a feature of the titles would be another.
    turned = {**documents.fields, "title": documents.fields["title"][::-1]}
    index.fit(TextCollection(documents.ids, turned))
    for call in (
        lambda: ranker.rank(["w1"]),
        lambda: ranker.predict(X),
        lambda: ranker.score(X, y, groups),
    ):
        with pytest.raises(ValueError, match="index_ was fitted again after the ranke"):
            call()
    with pytest.raises(TypeError, match=r"cannot be saved: \w+ is not what"):
        save_model(ranker, tmp_path / "ranker.skrank")
    again = ranker.fit(*rows, documents=index)
    assert len(again.rank(["w1"]).docids)


def test_no_queries_make_a_run_whose_ids_have_their_type(rows, index):
    ranker = TextRanker(RankSVM()).fit(*rows, documents=index)
    assert ranker.rank([]).groups.dtype == ranker.rank(["w1"]).groups.dtype
    assert ranker.rank({}).groups.dtype == object
    assert ranker.rank({"q": "unheard"}).groups.dtype.kind == "U"


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(rows, index):
    ranker = TextRanker(RankSVM(), depth=5).fit(*rows, documents=index)
    before = dict(vars(ranker))
    with pytest.raises(ValueError, match="finds no document"):
        ranker.fit([["zz", "d0"]], [1], documents=index)
    assert vars(ranker) == before
