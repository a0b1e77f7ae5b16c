"""Relevance models against loops over documents and terms, and by hand."""

from collections import Counter
from math import inf, log, sqrt

import numpy as np
import pytest
from sklearn.base import clone

from skrank.text import (
    BM25,
    InvertedIndex,
    LMAbsoluteDiscount,
    LMDirichlet,
    LMJelinekMercer,
    VectorSpace,
    inverse_document_frequency,
)


def words(text):
    return text.split()


def make_texts(n, low, seed):
    """Texts over a Zipf-like alphabet, one of them empty."""
    rng = np.random.default_rng(seed)
    alphabet = list("abcdefghijklmnop")
    p = 1 / np.arange(1, len(alphabet) + 1)
    sizes = rng.integers(low, 15, size=n)
    return [""] + [" ".join(rng.choice(alphabet, size=s, p=p / p.sum())) for s in sizes]


DOCUMENTS = make_texts(30, 1, seed=0)
QUERIES = [*make_texts(8, 1, seed=1), "a a b", "unknown", "a unknown"]


class Reference:
    """Statistics of a collection, and the formulas term by term."""

    def __init__(self, documents):
        self.tf = [Counter(words(d)) for d in documents]
        self.n = len(documents)
        self.df = Counter(t for c in self.tf for t in c)
        self.cf = Counter(t for d in documents for t in words(d))
        self.total = sum(self.cf.values())
        self.avdl = self.total / self.n

    def idf(self, term, variant):
        df = self.df[term]
        return {
            "log": log(self.n / df),
            "robertson": log((self.n - df + 0.5) / (df + 0.5)),
            "smooth": log(1 + (self.n - df + 0.5) / (df + 0.5)),
        }[variant]

    def query(self, query):
        return {t: n for t, n in Counter(words(query)).items() if t in self.df}

    def bm25(self, query, d, k1, b, k3, idf):
        score = 0.0
        length = sum(self.tf[d].values())
        for t, qtf in self.query(query).items():
            tf = self.tf[d][t]
            if tf:
                norm = k1 * (1 - b + b * length / self.avdl)
                q = qtf if k3 == inf else (k3 + 1) * qtf / (k3 + qtf)
                score += self.idf(t, idf) * tf * (k1 + 1) / (tf + norm) * q
        return score

    def cosine(self, query, d, idf, f):
        def vector(counts):
            return {t: f(n) * self.idf(t, idf) for t, n in counts.items()}

        q, x = vector(self.query(query)), vector(self.tf[d])
        norm = sqrt(sum(v * v for v in q.values()) * sum(v * v for v in x.values()))
        return sum(q[t] * x.get(t, 0) for t in q) / norm if norm else 0.0

    def likelihood(self, query, d, probability):
        length, unique = sum(self.tf[d].values()), len(self.tf[d])
        return sum(
            qtf
            * log(probability(self.tf[d][t], length, unique, self.cf[t] / self.total))
            for t, qtf in self.query(query).items()
        )


REFERENCE = Reference(DOCUMENTS)
MODELS = [
    BM25(),
    VectorSpace(),
    LMDirichlet(),
    LMJelinekMercer(),
    LMAbsoluteDiscount(),
]


def jelinek_mercer(smoothing):
    def probability(tf, length, unique, background):
        if not length:
            return background
        return (1 - smoothing) * tf / length + smoothing * background

    return lambda q, d: REFERENCE.likelihood(q, d, probability)


def dirichlet(mu):
    def probability(tf, length, unique, background):
        return (tf + mu * background) / (length + mu)

    return lambda q, d: REFERENCE.likelihood(q, d, probability)


def absolute(delta):
    def probability(tf, length, unique, background):
        if not length:
            return background
        kept = max(tf - delta, 0) / length
        return kept + delta * unique / length * background

    return lambda q, d: REFERENCE.likelihood(q, d, probability)


CASES = [
    (
        BM25(k1=k1, b=b, k3=k3, idf=idf),
        lambda q, d, a=(k1, b, k3, idf): REFERENCE.bm25(q, d, *a),
    )
    for k1, b, k3, idf in [
        (1.2, 0.75, inf, "smooth"),
        (2.0, 0.0, 7.0, "log"),
        (0.0, 1.0, 0.0, "robertson"),
    ]
]
CASES += [
    (VectorSpace(), lambda q, d: REFERENCE.cosine(q, d, "log", lambda n: n)),
    (
        VectorSpace(sublinear_tf=True, idf="smooth"),
        lambda q, d: REFERENCE.cosine(q, d, "smooth", lambda n: 1 + log(n)),
    ),
    (LMJelinekMercer(smoothing=0.1), jelinek_mercer(0.1)),
    (LMJelinekMercer(smoothing=0.7), jelinek_mercer(0.7)),
    (LMDirichlet(mu=5), dirichlet(5)),
    (LMDirichlet(), dirichlet(2000)),
    (LMAbsoluteDiscount(), absolute(0.7)),
    (LMAbsoluteDiscount(delta=1.0), absolute(1.0)),
]


@pytest.mark.parametrize(
    ("model", "reference"), CASES, ids=[str(model) for model, _ in CASES]
)
def test_all_three_ways_of_scoring_are_the_formula(model, reference):
    model = clone(model).set_params(tokenizer=words).fit(DOCUMENTS)
    expected = np.array(
        [[reference(q, d) for d in range(len(DOCUMENTS))] for q in QUERIES]
    )
    np.testing.assert_allclose(model.score(QUERIES), expected, rtol=1e-10, atol=1e-12)

    query_of, document_of = (a.ravel()[::-1] for a in np.indices(expected.shape))
    pairs = model.score_pairs(QUERIES, query_of, document_of)
    np.testing.assert_allclose(
        pairs, expected[query_of, document_of], rtol=1e-10, atol=1e-12
    )

    documents, scores = model.retrieve(QUERIES, k=7)
    for query, found, values, full in zip(
        QUERIES, documents, scores, model.score(QUERIES)
    ):
        terms = set(words(query))
        matching = [d for d, text in enumerate(DOCUMENTS) if terms & set(words(text))]
        best = sorted(matching, key=lambda d: (-full[d], d))[:7]
        n_absent = documents.shape[1] - len(best)
        assert found.tolist() == best + [-1] * n_absent
        assert values.tolist() == full[best].tolist() + [-inf] * n_absent


def test_bm25_by_hand():
    # N = 2, avdl = 2; "a" in one document: idf = log(1 + 1.5 / 1.5) = log 2.
    # d0: TF 1, LEN 1: K = 1.2 (0.25 + 0.75 / 2) = 0.75, so 2.2 / 1.75 log 2
    model = BM25(tokenizer=words).fit(["a", "b b c"])
    np.testing.assert_allclose(model.score(["a"]), [[2.2 / 1.75 * log(2), 0]])


def test_language_models_by_hand():
    # d0 = "a a b", d1 = "b": p(a|C) = 1/2, p(b|C) = 1/2; d0 holds a twice in 3 terms
    documents = ["a a b", "b"]
    for model, a_in_d0, a_in_d1 in [
        (LMJelinekMercer(smoothing=0.5), 0.5 * 2 / 3 + 0.25, 0.25),
        (LMDirichlet(mu=1), (2 + 0.5) / 4, 0.5 / 2),
        (LMAbsoluteDiscount(delta=0.5), 1.5 / 3 + 0.5 * 2 / 3 * 0.5, 0.5 * 0.5),
    ]:
        model.set_params(tokenizer=words).fit(documents)
        np.testing.assert_allclose(model.score(["a"]), [[log(a_in_d0), log(a_in_d1)]])


def test_probabilities_of_all_terms_sum_to_one():
    terms = sorted(set(" ".join(DOCUMENTS).split()))
    for model in (LMJelinekMercer(), LMDirichlet(mu=3), LMAbsoluteDiscount()):
        model.set_params(tokenizer=words).fit(DOCUMENTS)
        total = np.exp(model.score(terms)).sum(axis=0)
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_one_index_serves_several_models_and_fields():
    index = InvertedIndex(tokenizer=words).fit(
        {"title": ["a", "b"], "body": ["b", "a c"]}
    )
    title = BM25(field="title").fit(index)
    assert title.index_ is index
    np.testing.assert_array_equal(title.score(["b"]) > 0, [[False, True]])
    np.testing.assert_array_equal(BM25().fit(index).score(["b"]) > 0, [[True, True]])


def test_terms_of_other_fields_are_unknown_to_a_field():
    index = InvertedIndex(tokenizer=words).fit(
        {"title": ["a", "b"], "body": ["c", "a"]}
    )
    for model in (LMDirichlet(field="title"), BM25(field="title", idf="smooth")):
        model.fit(index)
        np.testing.assert_allclose(model.score(["a c"]), model.score(["a"]))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_searches_do_not_depend_on_threads_or_on_the_order_of_queries(model):
    model = clone(model).set_params(tokenizer=words).fit(DOCUMENTS)
    found, scores = model.retrieve(QUERIES, 5)
    again, others = model.retrieve(QUERIES[::-1], 5)
    np.testing.assert_array_equal(again[::-1], found)
    assert others[::-1].tobytes() == scores.tobytes()
    queries = model._compiled_queries(model.index_.count_queries(QUERIES))
    lists = model.postings_.lists
    for n_threads in (1, 2, 5):
        weighed = model.weights_, model.offsets_, *queries
        documents, values, _ = lists.search(*weighed, 5, n_threads)
        np.testing.assert_array_equal(documents, found)
        assert values.tobytes() == scores.tobytes()
        dense = lists.score(*weighed, n_threads)
        assert dense.tobytes() == model.score(QUERIES).tobytes()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_only_documents_with_a_term_of_the_query_are_found(model):
    model = clone(model).fit(["sort", "rows", "", "sort sort of rows"])
    for queries in (["zzz"], [""], ["of the"], ["zzz", "", "of"], []):
        documents, scores = model.retrieve(queries, k=3)
        assert documents.shape == scores.shape == (len(queries), 0)
    documents, scores = model.retrieve(["zzz", "rows"], k=10)
    assert documents.shape == (2, 2)
    assert documents[0].tolist() == [-1, -1]
    assert sorted(documents[1]) == [1, 3]
    np.testing.assert_array_equal(scores[0], -inf)
    np.testing.assert_array_equal(scores[1], model.score(["rows"])[0, documents[1]])
    assert model.retrieve(["rows"], k=1)[0].shape == (1, 1)


@pytest.mark.parametrize("query", ["a b", "b a"])
@pytest.mark.parametrize("place", [5, 9])
def test_equal_scores_go_by_the_document_whatever_term_comes_first(query, place):
    """So few postings are listed term by term, and not in the order of documents."""
    texts = ["c"] * 64
    texts[place], texts[14 - place] = "a", "b"
    model = BM25(tokenizer=words).fit(texts)
    for k, expected in ((1, [5]), (2, [5, 9])):
        documents, scores = model.retrieve([query], k)
        assert documents.tolist() == [expected]
        assert len(set(scores[0])) == 1


def test_documents_of_negative_and_of_zero_scores_are_found():
    # "a" is in two documents of three, so that its weight is log(1.5 / 2.5) < 0.
    model = BM25(idf="robertson", tokenizer=words).fit(["a", "b", "a a"])
    documents, scores = model.retrieve(["a"], k=3)
    assert documents.tolist() == [[0, 2]]
    assert (scores < 0).all()
    # A term that all documents contain has the weight log(3 / 3) = 0.
    model = VectorSpace(tokenizer=words).fit(["a", "a b", "a"])
    documents, scores = model.retrieve(["a"], k=2)
    assert documents.tolist() == [[0, 1]]
    assert scores.tolist() == [[0, 0]]


@pytest.mark.parametrize("model", [BM25(), LMDirichlet(), LMJelinekMercer()])
def test_searches_leave_nothing_to_the_next_query(model):
    documents = [f"common w{i}" for i in range(100)] + ["rare x"]
    found, _ = clone(model).fit(documents).retrieve(["rare"] * 200, k=2)
    assert set(np.asarray(found)[:, 0]) == {100}


def test_collections_without_a_term_find_nothing():
    for model in MODELS:
        documents, scores = clone(model).fit(["", "the"]).retrieve(["sort"], k=1)
        assert documents.shape == scores.shape == (1, 0)


def test_collections_without_a_term_score_zero():
    for model in (BM25(), VectorSpace()):
        np.testing.assert_array_equal(model.fit(["", "the"]).score(["sort"]), [[0, 0]])
    for model in (LMDirichlet(), LMJelinekMercer(), LMAbsoluteDiscount()):
        model.fit(["", "the"])
        np.testing.assert_array_equal(model.score(["sort"]), [[0, 0]])
        np.testing.assert_array_equal(model.score_pairs(["sort"], [0], [1]), [0])


def test_idf_variants_by_hand():
    frequency = np.array([1.0, 8.0])
    for variant, expected in {
        "log": [log(8), 0],
        "robertson": [log(7.5 / 1.5), log(0.5 / 8.5)],
        "smooth": [log(1 + 7.5 / 1.5), log(1 + 0.5 / 8.5)],
    }.items():
        np.testing.assert_allclose(
            inverse_document_frequency(frequency, 8, variant), expected
        )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BM25(k1=-1), "BM25: k1 must be a number >= 0, got -1"),
        (BM25(b=1.5), r"BM25: b must be a number in \[0, 1\], got 1.5"),
        (BM25(k3=-2), "BM25: k3 must be a number >= 0, or infinity, got -2"),
        (BM25(idf="bm25"), "idf must be 'log', 'robertson' or 'smooth', got 'bm25'"),
        (BM25(field="title"), "field must be one of"),
        (BM25(field=3), "BM25: field must be a string or None, got 3"),
        (LMJelinekMercer(smoothing=0), r"smoothing must be a number in \(0, 1\)"),
        (LMDirichlet(mu=0), "LMDirichlet: mu must be a number > 0, got 0"),
        (LMAbsoluteDiscount(delta=2), r"delta must be a number in \(0, 1\], got 2"),
        (VectorSpace(tokenizer="words"), "tokenizer must be a function or None"),
    ],
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(["sort rows"])


def test_extreme_parameters_give_the_limit_or_an_error():
    documents, query = ["a b", "b b c c c c"], ["b b a"]
    limits = (
        (BM25(k1=1e300), BM25(k1=1e30)),
        (BM25(k3=1e308), BM25()),
        (BM25(k1=1e-320), BM25(k1=0.0)),
    )
    for model, other in limits:
        np.testing.assert_allclose(
            model.set_params(tokenizer=words).fit(documents).score(query),
            other.set_params(tokenizer=words).fit(documents).score(query),
        )
    for model in (LMDirichlet(mu=5e-324), LMAbsoluteDiscount(delta=5e-324)):
        with pytest.raises(ValueError, match="gives weights beyond the range of num"):
            model.fit(documents)


@pytest.mark.parametrize(
    ("frequency", "n", "message"),
    [
        (["a"], 3, r"document_frequency must hold numbers, got \['a'\]"),
        ([[1], [1, 2]], 3, "document_frequency must hold numbers, got"),
        ([1j], 3, "document_frequency must hold numbers, got"),
        ([4.0], 3, "document_frequency must hold numbers from 0 to n_documents=3"),
        ([-1], 3, "document_frequency must hold numbers from 0 to n_documents=3"),
        ([np.nan], 3, "document_frequency must hold numbers from 0 to n_documents=3"),
        ([0], 0, "n_documents must be a whole number >= 1, got 0"),
        ([1], 2.5, "n_documents must be a whole number >= 1, got 2.5"),
    ],
)
def test_bad_frequencies_are_named(frequency, n, message):
    with pytest.raises(ValueError, match=message):
        inverse_document_frequency(frequency, n)


def test_bad_calls_are_named():
    model = BM25().fit(["sort", "rows"])
    with pytest.raises(ValueError, match="document_of must hold numbers from 0 to 1"):
        model.score_pairs(["rows"], [0], [2])
    with pytest.raises(ValueError, match="query_of must be a one-dimensional array of"):
        model.score_pairs(["rows"], [0.5], [1])
    with pytest.raises(ValueError, match="query_of must be a one-dimensional array of"):
        model.score_pairs(["rows"], [[0], [0, 1]], [1])
    with pytest.raises(ValueError, match="query_of must hold nothing: no queries, fou"):
        model.score_pairs([], [0], [1])
    with pytest.raises(ValueError, match="got 2 queries and 1 documents"):
        model.score_pairs(["rows"], [0, 0], [1])
    with pytest.raises(ValueError, match="retrieve: k must be a whole number >= 1, go"):
        model.retrieve(["rows"], 0)
    with pytest.raises(ValueError, match="variant must be 'log', 'robertson' or 'smoo"):
        inverse_document_frequency([1.0], 2, "bm25")
