"""Boolean expressions against sets of Python."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.text import BooleanModel, InvertedIndex

DOCUMENTS = ["a b c", "b c", "a a", "", "c b a", "d a b"]
ROWS = [set(text.split()) for text in DOCUMENTS]
MODEL = BooleanModel(tokenizer=str.split).fit(DOCUMENTS)

expressions = st.recursive(
    st.sampled_from("abcdx"),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["AND", "OR", " "]), inner, inner),
        st.tuples(st.just("NOT"), inner),
    ),
    max_leaves=8,
)


def written(tree):
    """The expression with all of its parentheses."""
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return f"(NOT {written(tree[1])})"
    return f"({written(tree[1])} {tree[0]} {written(tree[2])})"


def matched(tree, terms):
    if isinstance(tree, str):
        return tree in terms
    if tree[0] == "NOT":
        return not matched(tree[1], terms)
    sides = [matched(side, terms) for side in tree[1:]]
    return any(sides) if tree[0] == "OR" else all(sides)


@given(expressions)
@settings(deadline=None, max_examples=200)
def test_expressions_are_those_of_sets(tree):
    expected = [d for d, terms in enumerate(ROWS) if matched(tree, terms)]
    (found,) = MODEL.search([written(tree)])
    assert found.tolist() == expected
    assert found.dtype == np.intp


# With the operators of Python, which bind in the same order.
@given(
    st.lists(st.sampled_from(["AND", "OR", "AND NOT", "OR NOT", "NOT"]), max_size=6),
    st.lists(st.sampled_from("abcdx"), min_size=7, max_size=7),
    st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_operators_bind_as_those_of_python(operators, words, negated):
    query = "NOT " * negated + words[0]
    python = "not " * negated + f"'{words[0]}' in row"
    for operator, word in zip(operators, words[1:]):
        query += f" {operator} {word}"
        joined = "and not" if operator == "NOT" else operator.lower()
        python += f" {joined} '{word}' in row"
    expected = [d for d, row in enumerate(ROWS) if eval(python, {"row": row})]
    assert MODEL.search([query])[0].tolist() == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a b", [0, 4, 5]),
        ('"a b"', [0, 5]),
        ('"b c" OR "c b"', [0, 1, 4]),
        ('"a a"', [2]),
        ('"b a"', [4]),
        ('"a b" NOT "d a"', [0]),
        ('"c d"', []),
        ('"d a b" a', [5]),
        ('a"b"', [0, 4, 5]),
        ("(((a)))", [0, 2, 4, 5]),
        ("NOT NOT d", [5]),
        ("", []),
        ("and or not", []),  # words like others, in small letters
        ('""', []),
    ],
)
def test_phrases_and_queries_by_hand(query, expected):
    assert MODEL.search([query])[0].tolist() == expected


def test_words_without_terms_are_left_out_with_their_operator():
    model = BooleanModel().fit(["sort rows", "the order of rows", "matrix of order"])
    for query, expected in [
        ("the AND rows", [0, 1]),
        ("the OR rows", [0, 1]),
        ("rows AND NOT the", [0, 1]),
        ("the", []),
        ("NOT (the OR of)", []),
        ("NOT rows", [2]),
        ("SortRows", [0]),  # of two terms
        ('"order of rows"', [1]),  # whose function word is not there
        ('"rows"', [0, 1]),
    ]:
        assert model.search([query])[0].tolist() == expected


def test_scores_of_all_documents_and_of_pairs():
    queries = ["a NOT c", "x", "NOT x", "c OR d"]
    scores = MODEL.score(queries)
    for row, found in zip(scores, MODEL.search(queries)):
        assert np.flatnonzero(row).tolist() == found.tolist()
    assert set(np.unique(scores)) <= {0.0, 1.0}
    query_of, document_of = (a.ravel()[::-1] for a in np.indices(scores.shape))
    pairs = MODEL.score_pairs(queries, query_of, document_of)
    np.testing.assert_array_equal(pairs, scores[query_of, document_of])
    assert MODEL.score_pairs([], [], []).shape == (0,)


def test_fields_are_searched_alone_or_together():
    index = InvertedIndex(str.split).fit({"title": ["a", "b"], "body": ["b", "c"]})
    assert BooleanModel(field="title").fit(index).search(["b"])[0].tolist() == [1]
    assert BooleanModel().fit(index).search(["b"])[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="phrases need an index with positions"):
        BooleanModel().fit(index).search(['"a b"'])


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("AND a", "has nothing before AND"),
        ("a OR", "ends with OR"),
        ("a NOT", "ends with NOT"),
        ("a AND OR b", "has nothing before OR"),
        ("(a", "has a ( without )"),
        ("a)", "has a ) without ("),
        ("()", "has nothing before )"),
        ("(a OR)", "has nothing before )"),
        ('a "b c', "has a phrase without its second quote"),
        ("(", "ends with ("),
    ],
)
def test_expressions_that_cannot_be_read_are_named(query, problem):
    message = f"queries must hold Boolean expressions; item 1 {problem}: "
    with pytest.raises(ValueError, match=re.escape(message)):
        MODEL.search(["a", query])


def test_deep_and_long_expressions():
    deep = "(" * 20_000 + "a" + ")" * 20_000
    assert MODEL.search([deep, "NOT " * 20_000 + "a"])[1].tolist() == [0, 2, 4, 5]
    assert MODEL.search([" OR ".join(["x"] * 5_000 + ["d"])])[0].tolist() == [5]
    with pytest.raises(TypeError, match="queries must be a sequence of strings"):
        MODEL.search("a")
