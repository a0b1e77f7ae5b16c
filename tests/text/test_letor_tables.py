"""The rows of the LETOR tables against their formulas, in loops over terms."""

import os
import re
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from _tamper import edited_files, is_fitted, read, write
from fuzz._mutate import mutate
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skrank.datasets import load_letor
from skrank.export import load_model, save_model
from skrank.text import (
    BM25,
    HITS,
    HostRank,
    InvertedIndex,
    LetorFeatures,
    LinkGraph,
    LMAbsoluteDiscount,
    LMDirichlet,
    LMJelinekMercer,
    PageRank,
    PairFeatures,
    SiteMap,
    TextCollection,
    TopicalHITS,
    TopicalPageRank,
    letor_table,
    propagate_links,
    propagate_site,
)

DATA = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
URLS = ["a.org/", "a.org/x.html", "a.org/d/", "b.org/", "b.org/y"]
IDS = ["p", "q", "r", "s", "t"]
PAGES = {
    "body": ["a a c", "d e", "a", "", "b a c c"],
    "anchor": ["a", "", "c", "e e", "a b"],
    "title": ["a b", "c", "", "b b d", "a"],
    "url": URLS,
    "extracted_title": ["a", "c d", "", "b", "a"],
}
ARTICLES = {
    "title": ["a b", "c", "", "b b d", "a d"],
    "abstract": ["a a c", "d e", "a", "", "b a c c"],
}
QUERIES = ["a b", "c unknown", "unknown", "a a d", ""]
LINKS = np.array(
    [
        [0, 1, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 0, 0, 0, 2],
        [0, 0, 0, 1, 0],
    ],
    dtype=float,
)
TOPICS = np.array([[1, 0], [1, 1], [0, 1], [0, 2], [1, 3]], dtype=float)
PAIRS = tuple(part.ravel()[::-1] for part in np.indices((5, 5)))
MODELS = {
    "bm25": BM25(),
    "lmir.abs": LMAbsoluteDiscount(),
    "lmir.dir": LMDirichlet(),
    "lmir.jm": LMJelinekMercer(),
}


def gov(**options):
    features = LetorFeatures(feature_set="gov", tokenizer=str.split, **options)
    return features.fit(PAGES, links=LINKS, topics=TOPICS)


def quantities(index, field, query, document):
    """Return what the formulas of table 10.3 say, summed term by term."""
    postings = index.postings(None if field == "whole" else field)
    size, length = postings.n_documents, max(postings.lengths[document], 1)
    names = ("tf", "idf", "tfidf", "log_tf", "tf_norm", "log_tf_norm", "log_idf")
    sums = dict.fromkeys((*names, "log_icf", "log_tfidf_norm", "log_tf_icf_norm"), 0.0)
    for term in {t for t in query.split() if t in index.vocabulary_}:
        t = index.vocabulary_[term]
        tf = postings.counts[document, t]
        ratio = size / max(postings.document_frequency[t], 1)
        icf = size / max(postings.collection_frequency[t], 1)
        sums["tf"] += tf
        sums["idf"] += np.log(ratio)
        sums["tfidf"] += tf * np.log(ratio)
        sums["log_tf"] += np.log(tf + 1)
        sums["tf_norm"] += tf / length
        sums["log_tf_norm"] += np.log(tf / length + 1)
        sums["log_idf"] += np.log(np.log(ratio))
        sums["log_icf"] += np.log(icf + 1)
        sums["log_tfidf_norm"] += np.log(tf / length * np.log(ratio) + 1)
        sums["log_tf_icf_norm"] += np.log(tf / length * icf + 1)
    return {f"{name}.sum": value for name, value in sums.items()}


def text_columns(index, table):
    """Return the columns of features of fields, by loops and by models of their own."""
    columns = {}
    for name in table:
        field, feature = name.split(".", 1)
        of_index = None if field == "whole" else field
        if feature in MODELS:
            scores = type(MODELS[feature])(field=of_index).fit(index).score(QUERIES)
            columns[name] = [scores[q, d] for q, d in zip(*PAIRS)]
        elif feature == "length":
            columns[name] = index.postings(of_index).lengths[PAIRS[1]]
        else:
            columns[name] = [
                quantities(index, field, QUERIES[q], d)[feature] for q, d in zip(*PAIRS)
            ]
    return columns


def propagated(index, name):
    """Return scores of all documents for all queries, one query after the other."""
    postings, model = index.postings(), BM25().fit(index)
    site, rows = SiteMap(URLS), []
    group, kind, *rest = name.split(".")
    for query in QUERIES:
        relevance = model.score([query])[0]
        counts = postings.counts.toarray()

        def spread(values, relevance=relevance):
            if group == "sitemap":
                return propagate_site(values, site)
            return propagate_links(values, LINKS, rest[0], relevance=relevance)

        if kind == "score_propagation":
            rows.append(spread(relevance))
            continue
        tf, scores = spread(counts), np.zeros(5)
        for term in {t for t in query.split() if t in index.vocabulary_}:
            t = index.vocabulary_[term]
            df = postings.document_frequency[t]
            idf = np.log(1 + (5 - df + 0.5) / (df + 0.5))
            norm = 0.25 + 0.75 * postings.lengths / postings.lengths.mean()
            scores += (
                query.split().count(term)
                * idf
                * 2.2
                * tf[:, t]
                / (tf[:, t] + 1.2 * norm)
            )
        rows.append(scores)
    return np.array(rows)


def topics_of_queries(index):
    """Return P(topic | query) by naive Bayes with one more of each term."""
    shares = TOPICS / TOPICS.sum(axis=1, keepdims=True)
    counts = index.postings().counts.toarray()
    chances = np.empty((5, 2))
    for q, query in enumerate(QUERIES):
        for j in range(2):
            of_topic = shares[:, j] @ counts + 1
            chances[q, j] = shares[:, j].mean()
            for term in query.split():
                if term in index.vocabulary_:
                    chances[q, j] *= of_topic[index.vocabulary_[term]] / of_topic.sum()
    return chances / chances.sum(axis=1, keepdims=True)


def page_columns(index):
    """Return the columns of rows 41 to 60 of table 10.2."""
    site = SiteMap(URLS)
    of_pages = {
        "page.hits.authority": HITS().fit(LINKS).authorities_,
        "page.hits.hub": HITS().fit(LINKS).hubs_,
        "page.pagerank": PageRank().fit(LINKS).scores_,
        "page.hostrank": HostRank()
        .fit(LINKS, [0, 0, 0, 1, 1], depths=[0, 0, 1, 0, 0])
        .scores_,
        "page.inlinks": [3, 2, 1, 2, 1],
        "page.outlinks": [2, 1, 3, 2, 1],
        "page.url_slashes": [1, 1, 2, 1, 1],
        "page.url_length": [6, 12, 8, 6, 7],
        "page.children": [2, 0, 0, 1, 0],
    }
    columns = {name: np.array(v)[PAIRS[1]] for name, v in of_pages.items()}
    assert site.n_children.tolist() == of_pages["page.children"]
    chances = topics_of_queries(index)
    hits = TopicalHITS().fit(LINKS, TOPICS)
    for name, scores in (
        ("page.topical_pagerank", TopicalPageRank().fit(LINKS, TOPICS).scores_),
        ("page.topical_hits.authority", hits.authorities_),
        ("page.topical_hits.hub", hits.hubs_),
    ):
        columns[name] = (chances @ scores.T)[PAIRS]
    for name in letor_table("gov").values():
        if "propagation" in name:
            columns[name] = propagated(index, name)[PAIRS]
    return columns


def test_every_row_of_the_gov_table():
    extractor = gov()
    index = extractor.index_
    names = list(letor_table("gov").values())
    assert extractor.feature_names_ == names
    pages = page_columns(index)
    columns = text_columns(index, [n for n in names if n not in pages]) | pages
    assert len(columns) == 64
    X = extractor.extract(QUERIES, *PAIRS)
    for name, found in zip(names, X.T):
        assert np.allclose(found, columns[name], rtol=1e-9, atol=1e-9), name


def test_every_row_of_the_gov2_table():
    features = LetorFeatures(feature_set="letor4", tokenizer=str.split)
    X = features.fit(PAGES, links=LINKS).extract(QUERIES, *PAIRS)
    table, others = letor_table("letor4"), letor_table("gov")
    assert len(table) == 46
    numbers = [*range(1, 41), 51, 56, 57, 58, 59, 60]
    assert list(table.values()) == [others[number] for number in numbers]
    expected = gov().extract(QUERIES, *PAIRS)[:, np.array(numbers) - 1]
    assert np.array_equal(X, expected)


def test_every_row_of_the_ohsumed_table():
    features = LetorFeatures(feature_set="ohsumed", tokenizer=str.split).fit(ARTICLES)
    index, table = features.index_, letor_table("ohsumed")
    X = features.extract(QUERIES, *PAIRS)
    names = list(table.values())
    assert features.feature_names_ == names
    assert len(names) == 45
    columns = text_columns(index, [n for n in names if not n.endswith("log_bm25")])
    for number in (12, 27, 42):
        scores, logs = X[:, number - 2], X[:, number - 1]
        assert np.allclose(logs[scores > 0], np.log(scores[scores > 0]))
        # Documents that match no term come after those that match one.
        assert (logs[scores == 0] <= logs[scores > 0].min()).all()
        assert len(set(logs[scores == 0])) == 1
        columns[table[number]] = logs
    for name, found in zip(names, X.T):
        assert np.allclose(found, columns[name], rtol=1e-9, atol=1e-9), name


def test_terms_of_all_documents_have_a_logarithm_of_a_logarithm():
    features = LetorFeatures(feature_set=["text.log_idf.sum"]).fit(["tree", "tree"])
    expected = np.log(np.log(2 / 1.5))
    assert features.extract(["tree"], [0], [0])[0, 0] == pytest.approx(expected)


@pytest.mark.skipif(
    not (DATA / "OHSUMED-min").is_dir(), reason="SKRANK_DATA has no OHSUMED-min"
)
@pytest.mark.parametrize("start", [0, 15, 30])
def test_the_published_features_of_ohsumed_obey_the_same_formulas(start):
    data = load_letor(DATA / "OHSUMED-min" / "Fold1" / "test.txt")
    row = dict(enumerate(np.asarray(data.X)[:, start : start + 15].T, start=1))
    # Where one term occurs, and once, its IDF and the length follow from two columns.
    once = (row[1] == 1) & (row[3] > 0)
    idf, length = row[9][once], 1 / row[3][once]
    assert once.sum() > 50
    assert np.allclose(row[2][once], np.log(2), atol=1e-5)
    assert np.allclose(row[4][once], np.log(1 / length + 1), atol=1e-5)
    assert np.allclose(row[8][once], np.log(idf / length + 1), atol=1e-4)
    positive = row[11] > 0
    assert np.allclose(row[12][positive], np.log(row[11][positive]), atol=1e-5)
    # Row 6 sums log(log(|C| IDF)) where row 5 sums log(|C| IDF).
    groups, agree = np.asarray(data.groups), 0
    for query in np.unique(groups):
        of_query = groups == query
        seen = np.unique(row[9][of_query & once].round(3))
        if abs(seen.sum() - row[5][of_query][0]) < 0.01:  # all terms were seen
            assert np.log(seen).sum() == pytest.approx(row[6][of_query][0], abs=0.01)
            agree += 1
    assert agree > 0


def test_rows_that_documents_have():
    table = letor_table("gov", fields=["title", "url"], links=False, topics=False)
    numbers = [n for n in range(1, 41) if n % 5 in (3, 4, 0)]
    assert list(table) == [*numbers, 41, 42, 58, 59, 60]
    features = LetorFeatures(feature_set=list(table.values()))
    documents = {name: PAGES[name] for name in ("title", "url")}
    assert features.fit(documents).extract(QUERIES, *PAIRS).shape == (25, 29)
    assert letor_table("ohsumed", fields=iter(["title"]))[31] == "whole.tf.sum"


def test_any_names_in_any_order_with_models_of_ones_own():
    names = ["whole.mine", "page.inlinks", "a.b.bm25", "a.tf.max", "whole.log_bm25"]
    documents = {"a.b": ["x y", "x"], "a": ["y y", "x"]}
    model = BM25(k1=0.5)
    features = LetorFeatures(feature_set=names, models={"mine": model})
    features.fit(documents, links=np.eye(2))
    X = features.extract(["y"], [0, 0], [1, 0])
    assert features.get_feature_names_out().tolist() == names
    index = features.index_
    assert np.array_equal(X[:, 0], model.fit(index).score(["y"])[0, ::-1])
    assert np.array_equal(X[:, 2], BM25(field="a.b").fit(index).score(["y"])[0, ::-1])
    assert X[:, 3].tolist() == [0, 2]
    assert features.extract([], [], []).shape == (0, 5)


def test_links_are_found_by_ids():
    order = [3, 0, 4, 2, 1]
    graph = LinkGraph(LINKS[np.ix_(order, order)], [IDS[i] for i in order])
    features = LetorFeatures(feature_set="gov", tokenizer=str.split)
    features.fit(TextCollection(IDS, PAGES), links=graph, topics=TOPICS)
    expected = gov().extract(QUERIES, *PAIRS)
    assert np.allclose(features.extract(QUERIES, *PAIRS), expected, atol=1e-9)
    with pytest.raises(ValueError, match="their ids lack 'p'"):
        features.fit(
            TextCollection(IDS, PAGES), links=LinkGraph(LINKS, list("abcde")), topics=1
        )


def test_propagation_takes_alpha():
    name = "links.score_propagation.uniform_out"
    features = LetorFeatures(feature_set=[name], alpha=0.9, tokenizer=str.split)
    X = features.fit(PAGES, links=LINKS).extract(["a b"], [0] * 5, range(5))
    relevance = BM25(tokenizer=str.split).fit(PAGES).score(["a b"])[0]
    expected = propagate_links(relevance, LINKS, "uniform_out", alpha=0.9)
    assert np.allclose(X[:, 0], expected)


def test_model_files_keep_links_urls_and_topics(tmp_path):
    path = tmp_path / "features.skrank"
    model = LetorFeatures(feature_set="gov").fit(PAGES, links=LINKS, topics=TOPICS)
    save_model(model, path)
    loaded = load_model(path)
    expected = model.extract(QUERIES, *PAIRS)
    assert loaded.extract(QUERIES, *PAIRS).tobytes() == expected.tobytes()
    assert vars(loaded).keys() == vars(model).keys()
    content = path.read_bytes()
    save_model(loaded, path)
    assert path.read_bytes() == content
    model.page_scores_["page.pagerank"] = np.zeros(5)
    with pytest.raises(TypeError, match="page_scores_ is not what fit learns"):
        save_model(model, path)


def test_tables_of_texts_have_text_features_only():
    rows = {"query": ["a b", "c"], "title": ["a", "c d"], "abstract": ["b", ""]}
    features = PairFeatures(feature_set="ohsumed", tokenizer=str.split)
    X = features.fit(rows).transform(rows)
    assert features.get_feature_names_out().tolist() == list(
        letor_table("ohsumed").values()
    )
    extractor = LetorFeatures(feature_set="ohsumed", tokenizer=str.split)
    documents = {name: rows[name] for name in ("title", "abstract")}
    expected = extractor.fit(documents).extract(rows["query"], [0, 1], [0, 1])
    assert np.array_equal(X, expected)
    for names, page in (("gov", "sitemap.term_"), (["page.children"], "page.children")):
        with pytest.raises(ValueError, match=f"features of fields, .* got '{page}"):
            PairFeatures(feature_set=names).fit(rows)


def test_the_guide_lists_every_feature():
    guide = Path(__file__).parents[2] / "doc" / "letor_features.rst"
    listed = set(re.findall(r"``([a-zA-Z0-9_.]+)``", guide.read_text("utf-8")))
    for table in ("gov", "ohsumed", "letor4"):
        for name in letor_table(table).values():
            field, feature = name.split(".", 1)
            kind = f"{name.rpartition('.')[0]}.K"
            title = "extracted_title.M" if field == "extracted_title" else None
            assert listed & {name, f"F.{feature}", kind, title}, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_set": "msn"}, "feature_set must be one of 'gov', .* got 'msn'"),
        ({"feature_set": []}, "different names, or None, got"),
        ({"feature_set": ["title.bm25"] * 2}, "different names, or None, got"),
        ({"feature_set": ["title.nothing"]}, "got 'title.nothing'"),
        ({"feature_set": ["page.nothing"]}, "got 'page.nothing'"),
        ({"feature_set": "gov", "fields": ["title"]}, "fields must be None where"),
        ({"feature_set": "ohsumed"}, r"of the fields \('body', .* got 'abstract"),
        ({"feature_set": ["page.pagerank"]}, "that need links, which fit was not"),
        ({"feature_set": "gov"}, "need links and topics, .*links=False, topics=False"),
        ({"alpha": 0}, r"alpha must be a number in \(0, 1\]"),
        ({"models": {"log_tf.sum": BM25()}}, "name no other feature"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LetorFeatures(**options).fit(PAGES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"links": np.eye(2)}, "links must have a node for each of 5 documents, got 2"),
        ({"links": "x"}, "links must be"),
        ({"urls": ["a.org"]}, "urls must hold one URL for each of 5 documents, got 1"),
        ({"urls": "a.org"}, "urls must be a sequence of strings"),
        ({"topics": [[1.0]]}, "topics must have a row for each of 5 nodes"),
    ],
)
def test_what_is_not_of_the_documents_is_named(arguments, message):
    features = ["page.hostrank", "page.topical_pagerank"]  # which need all of these
    whole = {"links": np.eye(5), "urls": list("abcde"), "topics": np.ones(5)}
    with pytest.raises((ValueError, TypeError), match=message):
        LetorFeatures(feature_set=features).fit(PAGES, **(whole | arguments))


def test_links_are_not_weighed_by_negative_scores():
    name = "links.score_propagation.weighted_in"
    models = {"bm25": BM25(idf="robertson", tokenizer=str.split)}
    features = LetorFeatures(feature_set=[name], models=models, tokenizer=str.split)
    features.fit(PAGES, links=LINKS)
    with pytest.raises(ValueError, match=f"^{name} weighs links by scores of"):
        features.extract(["a b"], [0] * 5, range(5))


def test_an_index_has_no_urls_and_other_documents_have_no_pages():
    index = InvertedIndex().fit(PAGES)
    features = LetorFeatures(feature_set=["page.children"])
    with pytest.raises(ValueError, match="need urls, which fit was not given"):
        features.fit(index)
    assert features.fit(index, urls=URLS).extract(["a"], [0], [0])[0, 0] == 2
    with pytest.raises(ValueError, match=r"None for features of pages such as 'page\."):
        features.extract(["a"], [0], [0], documents=PAGES)


def test_bad_tables_are_named():
    with pytest.raises(ValueError, match="table must be"):
        letor_table(cast(Any, "msn"))
    for fields in ("title", sparse.bsr_array(np.eye(2)), sparse.csr_array(np.eye(2))):
        with pytest.raises(TypeError, match="fields must be a sequence of names"):
            letor_table("gov", fields=cast(Any, fields))


def answer(path):
    """Return "" for a file that is refused or works, otherwise what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the model was written by")
        # Edited links may form circles.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = load_model(path)
        except ValueError as error:
            return "" if len(str(error).split()) > 3 else f"no sentence: {error}"
        if not is_fitted(model):
            return ""
        try:
            X = model.extract(QUERIES, *PAIRS)
        except (ValueError, TypeError) as error:
            return "" if "must" in str(error) else repr(error)
    return "" if np.isfinite(X).all() else "features that are not finite"


def test_edited_and_damaged_files_are_refused_or_work(tmp_path):
    path = tmp_path / "features.skrank"
    model = LetorFeatures(feature_set="gov").fit(PAGES, links=LINKS, topics=TOPICS)
    save_model(model, path)
    assert not answer(path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    files = list(edited_files(*read(path)))
    pages = ("link_matrix", "url_text", "url_lengths", "topics")
    chosen = [f for f in files if f[0].rpartition(" = ")[0].endswith(pages)]
    chosen += [files[i] for i in rng.choice(len(files), size=150, replace=False)]
    wrong = []
    for what, document, members in chosen:
        write(path, document, members)
        wrong += [f"{what}: {problem}" for problem in [answer(path)] if problem]
    for _ in range(60):
        path.write_bytes(mutate(content, (), rng))
        wrong += [problem for problem in [answer(path)] if problem]
    assert not wrong
