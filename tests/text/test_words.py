"""Compiled words against the pattern of Python, and postings against counting."""

import re
import sys
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.text import InvertedIndex, Tokenizer
from skrank.text._postings import Lists, build_postings, scan_words

WORD = re.compile(r"\w+")

# Letters of all widths, digits that are no decimals, marks, separators and surrogates.
odd = st.text(
    st.one_of(
        st.sampled_from("aB_9 .-\0\n²½Ⅷéßıİ\u0301\u200d中𝒜𐒠\ud800\udfff𐍈٣"),
        st.characters(),
    ),
    max_size=30,
)


def expected_words(texts):
    """Words, numbers and pointers by Python."""
    number_of, numbers, ptr = {}, [], [0]
    for text in texts:
        for word in WORD.findall(text):
            numbers.append(number_of.setdefault(word, len(number_of)))
        ptr.append(len(numbers))
    return list(number_of), numbers, ptr


@given(st.lists(odd, max_size=6), st.integers(1, 4))
@settings(deadline=None, max_examples=200)
def test_words_are_those_of_the_pattern(texts, n_threads):
    words, numbers, ptr = scan_words(texts, n_threads)
    found = words, numbers.tolist(), ptr.tolist()
    assert found == expected_words(texts)


def test_every_character_is_taken_as_python_takes_it():
    characters = [chr(c) for c in range(sys.maxunicode + 1)]
    texts = [" ".join(characters[i : i + 4096]) for i in range(0, 0x110000, 4096)]
    words, numbers, ptr = scan_words(texts, 2)
    assert (words, numbers.tolist(), ptr.tolist()) == expected_words(texts)


def test_long_words_many_words_and_words_that_differ_late():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in rng.integers(0, 30_000, 5_000)) for _ in "ab"]
    texts += ["x" * 100_000 + " " + "x" * 99_999 + "y", "é" * 9 + " " + "é" * 8 + "ê"]
    # The same word in strings of one, two and four bytes for each character.
    texts += ["naïve", "naïve 中", "naïve 𝒜", "plain", "plain 中", "plain 𝒜"]
    expected = expected_words(texts)
    for n_threads in (1, 2, 3, 50):
        words, numbers, ptr = scan_words(texts, n_threads)
        assert (words, numbers.tolist(), ptr.tolist()) == expected


@given(
    st.lists(st.one_of(odd, st.just("The MinMaxScaler of column_values")), min_size=1),
    st.sampled_from(Tokenizer._variants()),
)
@settings(deadline=None, max_examples=100)
def test_the_index_is_that_of_the_tokenizer_in_python(texts, options):
    class Derived(Tokenizer):
        """Not known to be the original one, so that its rows are counted."""

    by_words = InvertedIndex(Tokenizer(**options), with_positions=True).fit(texts)
    by_rows = InvertedIndex(Derived(**options), with_positions=True).fit(texts)
    assert by_words.vocabulary_ == by_rows.vocabulary_
    one, other = by_words.postings(), by_rows.postings()
    for part in ("data", "indices", "indptr"):
        left, right = getattr(one.counts, part), getattr(other.counts, part)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.positions, other.positions)


def expected_postings(documents):
    """Documents, counts and positions of each term, by counting."""
    places = defaultdict(dict)
    for d, terms in enumerate(documents):
        for position, term in enumerate(terms):
            places[term].setdefault(d, []).append(position)
    return places


@given(st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=7), st.integers(1, 5))
@settings(deadline=None, max_examples=100)
def test_postings_are_counts_and_positions(documents, n_threads):
    # Word 5 stands for no term, word 4 for the terms 0 and 1, the others for one each.
    terms_of = [[0], [1], [2], [3], [0, 1], []]
    words = np.array([w for row in documents for w in row], dtype=np.int32)
    ptr = np.cumsum([0, *map(len, documents)])
    terms = np.array([0, 1, 2, 3, 0, 1], dtype=np.int32)
    terms_ptr = np.cumsum([0, *map(len, terms_of)])
    built = build_postings(words, ptr, terms, terms_ptr, 6, True, n_threads)
    indptr, found, counts, positions = built
    expected = expected_postings(
        [[t for w in row for t in terms_of[w]] for row in documents]
    )
    starts = np.cumsum([0, *counts.astype(int)])
    for term in range(6):
        places = range(indptr[term], indptr[term + 1])
        assert {
            found[p]: positions[starts[p] : starts[p + 1]].tolist() for p in places
        } == expected[term]
        assert list(found[places.start : places.stop]) == sorted(expected[term])
    assert starts[-1] == len(positions)
    without = build_postings(words, ptr, terms, terms_ptr, 6, False, n_threads)
    assert without[3] is None
    for one, other in zip(built[:3], without[:3]):
        np.testing.assert_array_equal(one, other)


def test_positions_of_whole_documents_follow_each_other():
    fields = {"title": ["a b", "", "b"], "body": ["b a b", "a", ""]}
    index = InvertedIndex(str.split, with_positions=True).fit(fields)
    whole = InvertedIndex(str.split, with_positions=True).fit(["a b b a b", "a", "b"])
    one, other = index.postings(), whole.postings()
    np.testing.assert_array_equal(one.counts.toarray(), other.counts.toarray())
    np.testing.assert_array_equal(one.positions, other.positions)
    assert dict(one.fields) == {f: index.postings(f) for f in fields}
    assert other.fields is None
    assert InvertedIndex().fit(fields).postings().positions is None


def brute_force(weights, offsets, queries, k):
    """The k best documents with a term, by a sort of all."""
    rows = []
    for terms, total, constant in queries:
        scores = {}
        for term, u in terms:
            for d, w in weights[term].items():
                scores[d] = scores.get(d, 0.0) + u * w
        shifted = {d: (s + total * offsets[d]) + constant for d, s in scores.items()}
        rows.append(sorted(shifted.items(), key=lambda item: (-item[1], item[0]))[:k])
    return rows


@pytest.mark.parametrize("n", [40, 9_000], ids=["one block", "blocks"])
@pytest.mark.parametrize("kind", ["positive", "negative", "ties"])
def test_searches_are_exact(n, kind):
    rng = np.random.default_rng(len(kind) + n)
    sizes = [n, n // 2, 30, 5, 1, 0]
    chosen = [np.sort(rng.choice(n, min(s, n), replace=False)) for s in sizes]
    documents = np.concatenate(chosen).astype(np.int32)
    ptr = np.cumsum([0, *map(len, chosen)])
    weights = rng.integers(0, 3, len(documents)) / 4.0
    if kind != "ties":
        weights = rng.standard_normal(len(documents)) - 9.0 * (kind == "negative")
    offsets = rng.standard_normal(n) if kind == "negative" else np.zeros(n)
    term_weights = [
        dict(zip(d.tolist(), w)) for d, w in zip(chosen, np.split(weights, ptr[1:-1]))
    ]
    queries = [
        ([(t, float(u)) for t, u in zip(terms, rng.integers(1, 4, len(terms)))], t, c)
        for terms, t, c in [
            ([0, 1, 2, 3, 4, 5], 2.0, -1.5),
            ([2, 3], 0.5, 0.25),
            ([5], 1.0, 0.0),
            ([], 0.0, 3.0),
            ([1, 4], 0.0, 0.0),
            ([3], -1.0, 1.0),
        ]
    ]
    query_ptr = np.cumsum([0, *(len(q[0]) for q in queries)])
    query_terms = np.array([t for q in queries for t, _ in q[0]], dtype=np.int32)
    query_weights = np.array([u for q in queries for _, u in q[0]])
    totals, constants = (np.array([q[i] for q in queries]) for i in (1, 2))
    lists = Lists(ptr, documents, n)
    for k in (1, 7, n):
        expected = brute_force(term_weights, offsets, queries, k)
        for n_threads in (1, 3):
            found, scores, n_found = lists.search(
                weights,
                offsets,
                query_ptr,
                query_terms,
                query_weights,
                totals,
                constants,
                k,
                n_threads,
            )
            for row, values, m, hits in zip(found, scores, n_found, expected):
                assert m == len(hits)
                assert row[:m].tolist() == [d for d, _ in hits]
                assert values[:m].tolist() == [s for _, s in hits]
                assert np.all(row[m:] == -1)
                assert np.all(values[m:] == -np.inf)


def test_lists_that_a_file_has_lost_are_not_followed():
    # As if a mapped file had been changed after it was checked.
    rng = np.random.default_rng(0)
    ptr, n = np.array([0, 400, 800]), 5_000
    query = np.array([0, 2]), np.array([0, 1], dtype=np.int32), np.ones(2), None, None
    for _ in range(20):
        documents = rng.integers(-(2**31), 2**31, 800).astype(np.int32)
        documents[::3] %= n
        lists = Lists(ptr, documents, n)
        assert lists.fault(np.ones(800), 9.0) == 2
        found, _, _ = lists.search(np.ones(800), None, *query, k=n)
        assert found.max() < n
        assert lists.score(np.ones(800), None, *query).sum() <= 800
        lists.find(rng.integers(-9, 9, 50), rng.integers(-9, n + 9, 50))
    # So few postings that the documents are listed.
    few = np.array([3, 7, 100_000, 9], dtype=np.int32)
    lists = Lists(np.array([0, 4]), few, 100_000)
    query_of_one = np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1)
    found, _, n_found = lists.search(np.ones(4), None, *query_of_one, None, None, k=10)
    assert n_found.tolist() == [2]
    assert found[0, :2].tolist() == [3, 7]
    for broken in ([0, 900, 800], [-1, 0, 800], [0, 5, 3]):
        lists = Lists(np.array(broken), documents, n)
        assert lists.fault(np.ones(800), 9.0) == 1
        with pytest.raises(ValueError, match="the index has no postings of a term"):
            lists.search(np.ones(800), None, *query, k=3)
    terms, lists = np.array([0, 2], dtype=np.int32), Lists(ptr, documents, n)
    with pytest.raises(ValueError, match="no postings of a term 2"):
        lists.score(np.ones(800), None, query[0], terms, np.ones(2), None, None)


@pytest.mark.parametrize("n_documents", [3, 100_000], ids=["scanned", "listed"])
def test_products_too_small_for_a_number_are_found_once(n_documents):
    """What rounds to zero from below is zero, and no document without the term."""
    lists = Lists(np.array([0, 2, 4]), np.array([0, 2, 0, 2], np.int32), n_documents)
    terms, ptr = np.array([0, 1], dtype=np.int32), np.array([0, 2])
    weights, of_query = np.full(4, 1e-200), np.full(2, -1e-200)
    found, scores, n_found = lists.search(
        weights, None, ptr, terms, of_query, None, None, k=3
    )
    assert n_found.tolist() == [2]
    assert found[0, :2].tolist() == [0, 2]
    assert scores[0, :2].tolist() == [0.0, 0.0]


def test_terms_of_a_tokenizer_are_checked():
    def tokenizer(text):
        return [["no", "string"]]

    with pytest.raises(TypeError, match="must return lists of strings, returned"):
        InvertedIndex(tokenizer).fit(["a"])
    with pytest.raises(TypeError, match="must return lists of strings, returned 1"):
        InvertedIndex(lambda text: [1]).fit(["a"])
    with pytest.raises(TypeError, match="must return lists of strings, returned"):
        InvertedIndex(Tokenizer(stemmer=lambda word: 1)).fit(["x"])
