"""Expanded queries against the formulas, term by term."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skrank.text import (
    BM25,
    RM3,
    InvertedIndex,
    LetorFeatures,
    LMDirichlet,
    LMJelinekMercer,
    VectorSpace,
)

DOCUMENTS = ["a a b", "b c", "a d d e", "", "e e", "c a b b"]
SCORERS = [None, BM25(), LMJelinekMercer(smoothing=0.4), VectorSpace(sublinear_tf=True)]


def reference(expander, documents, query):
    """RM3 by loops over documents and terms."""
    counts = [Counter(text.split()) for text in documents]
    collection = sum(counts, Counter())
    total = collection.total()
    asked = Counter({t: n for t, n in query.items() if t in collection})
    if not asked:
        return {}
    model = expander.model or LMDirichlet(mu=expander.mu)
    model = clone(model).set_params(tokenizer=str.split).fit(documents)
    scores = model.score([dict(asked)])[0]
    matching = [d for d, count in enumerate(counts) if set(count) & set(asked)]
    best = sorted(matching, key=lambda d: (-scores[d], d))[: expander.n_documents]
    mu, relevance = expander.mu, Counter()
    for d in best:
        length = counts[d].total()
        log_p = sum(
            n * log((counts[d][t] + mu * collection[t] / total) / (length + mu))
            for t, n in asked.items()
        )
        for t, n in counts[d].items():
            relevance[t] += exp(log_p) * n / length
    chosen = sorted(relevance, key=lambda t: (-relevance[t], t))[: expander.n_terms]
    mass, weight = sum(relevance[t] for t in chosen), expander.original_weight
    mixed = Counter()
    for t, n in asked.items():
        mixed[t] += weight * n / sum(asked.values())
    for t in chosen:
        mixed[t] += (1 - weight) * relevance[t] / mass
    return {t: w for t, w in mixed.items() if w > 0}


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=7),
    st.dictionaries(
        st.sampled_from("abcdez"), st.sampled_from([1, 2, 0.5]), max_size=4
    ),
    st.sampled_from(SCORERS),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.5, 20.0]),
)
@settings(deadline=None, max_examples=150)
def test_expansion_is_that_of_the_formulas(
    documents, query, model, n_documents, n_terms, weight, mu
):
    texts = [" ".join(terms) for terms in documents]
    expander = RM3(
        model=model,
        n_documents=n_documents,
        n_terms=n_terms,
        original_weight=weight,
        mu=mu,
        tokenizer=str.split,
    ).fit(texts)
    (found,) = expander.expand([query])
    expected = reference(expander, texts, query)
    # Ties at the last place may fall either way in the last digit of a sum.
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()))
    if found:
        assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_terms_and_weights_of_a_small_collection():
    expander = RM3(n_documents=2, n_terms=2, mu=2.0, tokenizer=str.split).fit(DOCUMENTS)
    (found,) = expander.expand(["a b"])
    expected = reference(expander, DOCUMENTS, Counter("ab"))
    assert found == pytest.approx(expected)
    assert set(found) == {"a", "b"}
    # Texts and their counts are one query.
    assert expander.expand([{"b": 1, "a": 1}]) == [pytest.approx(found)]


def test_limits_of_the_mixture():
    texts = ["a a b", "b c", "a d d e"]
    query = {"a": 3.0, "b": 1.0}
    alone = RM3(original_weight=1.0, tokenizer=str.split).fit(texts)
    assert alone.expand([query]) == [{"a": 0.75, "b": 0.25}]
    model = RM3(original_weight=0.0, n_documents=1, tokenizer=str.split).fit(texts)
    # One document is the relevance model, whatever its weight.
    assert model.expand(["c"]) == [pytest.approx({"b": 0.5, "c": 0.5})]


def test_queries_without_known_terms_stay_empty():
    expander = RM3(tokenizer=str.split).fit(DOCUMENTS)
    assert expander.expand(["x y", "", {}, {"a": 0.0}]) == [{}, {}, {}, {}]
    assert expander.expand([]) == []
    found, _ = expander.model_.retrieve(expander.expand(["x", "a"]), k=2)
    assert found[0].tolist() == [-1, -1]
    assert found[1, 0] == 0


def test_queries_that_find_nothing_are_not_expanded():
    """The index knows the terms, but not in the field that is searched."""
    documents = {"title": ["a b", "c"], "body": ["d d", "e"]}
    expander = RM3(field="title", original_weight=0.3, tokenizer=str.split)
    expander.fit(documents)
    assert expander.expand([{"d": 3, "e": 1}]) == [{"d": 0.75, "e": 0.25}]


def test_terms_that_the_index_does_not_know_have_no_share_in_the_query():
    expander = RM3(original_weight=1.0, tokenizer=str.split).fit(DOCUMENTS)
    assert expander.expand(["a b x y"]) == [{"a": 0.5, "b": 0.5}]


def test_defaults_are_ten_documents_ten_terms_and_half_of_the_weight():
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(list("abcdefghijklmnop"), 9)) for _ in range(30)]
    expander = RM3(tokenizer=str.split).fit(documents)
    same = RM3(
        n_documents=10, n_terms=10, original_weight=0.5, mu=2000, tokenizer=str.split
    )
    (found,) = expander.expand(["a b"])
    assert found == same.fit(documents).expand(["a b"])[0]
    expected = reference(expander, documents, Counter("ab"))
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()))
    params = {name: expander.get_params()[name] for name in same.get_params()}
    assert (params["n_documents"], params["n_terms"]) == (10, 10)
    assert (params["original_weight"], params["mu"]) == (0.5, 2000.0)


def test_expand_before_fit_says_so():
    with pytest.raises(NotFittedError, match="RM3"):
        RM3().expand(["a"])


def test_a_generator_of_queries_is_read_once():
    expander = RM3(tokenizer=str.split).fit(DOCUMENTS)
    texts = ["a b", "e"]
    assert expander.expand(iter(texts)) == expander.expand(texts)


def test_long_queries_do_not_underflow():
    texts = ["a b c", "a a a", "c d"]
    expander = RM3(mu=0.01, original_weight=0.0, tokenizer=str.split).fit(texts)
    (found,) = expander.expand(["d " * 1000 + "a"])
    assert found == pytest.approx({"c": 0.5, "d": 0.5})


def test_fields_and_a_shared_index():
    index = InvertedIndex(str.split).fit({"title": ["a", "b"], "body": ["a c", "a b"]})
    expander = RM3(model=BM25(), field="body", original_weight=0.0, n_documents=1)
    assert expander.fit(index).index_ is index
    assert expander.model_.field == "body"
    assert expander.model is not expander.model_
    assert expander.expand(["c"]) == [pytest.approx({"a": 0.5, "c": 0.5})]


@pytest.mark.parametrize(
    "model", [BM25(), BM25(k3=2.0), LMDirichlet(), VectorSpace(sublinear_tf=True)]
)
def test_weighted_queries_that_repeat_terms_are_texts(model):
    model = model.set_params(tokenizer=str.split).fit(DOCUMENTS)
    text, weighted = ["a b a", "e"], [{"b": 1, "a": 2, "unknown": 5}, {"e": 1.0}]
    for method in (model.score, lambda q: model.retrieve(q, 2)[1]):
        np.testing.assert_array_equal(method(text), method(weighted))
    pairs = [0, 1], [5, 2]
    np.testing.assert_array_equal(
        model.score_pairs(text, *pairs), model.score_pairs(weighted, *pairs)
    )
    features = LetorFeatures(models={"m": model}).fit(model.index_)
    np.testing.assert_array_equal(
        features.extract(text, *pairs), features.extract(weighted, *pairs)
    )


def test_scores_are_linear_in_the_weights():
    model = BM25(tokenizer=str.split).fit(DOCUMENTS)
    one, other, both = model.score([{"a": 1.0}, {"b": 1.0}, {"a": 0.3, "b": 0.7}])
    np.testing.assert_allclose(both, 0.3 * one + 0.7 * other, rtol=1e-14)


def test_the_logarithm_goes_on_with_the_weight_itself():
    """Of documents with each term once, only the weights of the query tell."""
    model = VectorSpace(tokenizer=str.split).fit(["a c", "b c", "a b d", "d"])
    other = VectorSpace(sublinear_tf=True, tokenizer=str.split).fit(
        ["a c", "b c", "a b d", "d"]
    )
    query = [{"a": 0.2, "b": 0.9, "c": 1.0}]
    np.testing.assert_allclose(other.score(query), model.score(query), rtol=1e-12)


def test_small_weights_never_lose_their_sign():
    model = VectorSpace(sublinear_tf=True, tokenizer=str.split).fit(DOCUMENTS)
    assert (model.score([{"a": 0.01, "b": 0.2}]) >= 0).all()


@pytest.mark.parametrize(
    ("queries", "error", "message"),
    [
        ([{"a": -1.0}], ValueError, r"item 0 gives 'a' the weight -1\.0, expected"),
        ([{"a": np.nan}], ValueError, "item 0 gives 'a' the weight nan"),
        ([{"a": np.inf}], ValueError, "item 0 gives 'a' the weight inf"),
        ([{"a": 10**400}], ValueError, "item 0 gives 'a' the weight 1000"),
        (["a", {"a": "b"}], TypeError, "item 1 gives 'a' the weight 'b'"),
        ([{"a": True}], TypeError, "item 0 gives 'a' the weight True"),
        ([{3: 1.0}], TypeError, "item 0 has the term 3, expected a string"),
        ({"a": 1.0}, TypeError, "queries must be a sequence of strings, got a mapping"),
        ([3], TypeError, "queries must hold strings; item 0 is of type int"),
        ("a", TypeError, "queries must be a sequence of strings, got one string"),
        (3, TypeError, "queries must be a sequence of strings, got 3"),
    ],
)
def test_bad_queries_are_named(queries, error, message):
    expander = RM3(tokenizer=str.split).fit(DOCUMENTS)
    for method in (expander.expand, expander.model_.score):
        with pytest.raises(error, match=message):
            method(queries)


def test_bad_parameters_are_named():
    for name, value in [
        ("original_weight", 1.5),
        ("n_terms", 0),
        ("n_documents", 1.5),
        ("mu", 0),
        ("model", "bm25"),
        ("field", 3),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
            RM3(**{name: value}).fit(DOCUMENTS)
