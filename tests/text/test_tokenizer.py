"""The tokeniser, its stop words and the plural stemmer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skrank.text import ENGLISH_STOP_WORDS, STOP_LISTS, Tokenizer, stem_plural, tokenize


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("queries", "query"),  # rule 1
        ("eyries", "eyry"),
        ("hoaies", "hoaies"),  # its exceptions
        ("indices", "indice"),  # rule 2
        ("indexes", "indexe"),
        ("oboes", "oboes"),
        ("arrays", "array"),  # rule 3
        ("class", "class"),
        ("status", "status"),
        ("gas", "gas"),  # too short
        ("sum", "sum"),
        ("", ""),
    ],
)
def test_rules_of_the_s_stemmer(word, stem):
    assert stem_plural(word) == stem


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("snake_case_name", ["snake", "case", "name"]),
        ("__init__", ["init"]),
        ("HTTPServer parseURL", ["http", "server", "parse", "url"]),
        ("log1p float32", ["log1p", "float32"]),
        ("don't stop", ["don", "t", "stop"]),
        ("Müller Ökonomie 中文 ærlig", ["müller", "ökonomie", "中文", "ærlig"]),
        ("the of and", []),
        ("", []),
        (" \n\t.,;", []),
    ],
)
def test_terms_of_a_text(text, terms):
    assert tokenize(text) == terms


def test_every_step_can_be_switched_off():
    text = "The RowsOf my_table"
    raw = Tokenizer(
        lowercase=False, split_identifiers=False, stop_words=None, stemmer=None
    )
    assert raw(text) == ["The", "RowsOf", "my_table"]
    assert clone(raw).set_params(lowercase=True)(text) == ["the", "rowsof", "my_table"]
    assert Tokenizer(stemmer=None)(text) == ["rows", "table"]
    assert Tokenizer(stop_words=["table"])(text) == ["the", "row", "of", "my"]
    assert Tokenizer(min_length=5)(text) == ["table"]
    assert Tokenizer(stemmer="porter")(text) == ["row", "tabl"]
    assert Tokenizer(stop_words=None, stemmer="porter")("as") == ["a"]
    assert Tokenizer(stop_words=None, stemmer="porter-revised")("as") == ["as"]
    assert Tokenizer(stemmer=lambda term: term[0])(text) == ["r", "t"]


def test_named_stop_lists():
    sizes = {name: len(words) for name, words in STOP_LISTS.items()}
    assert sizes == {"english-short": 41, "english": 119, "english-long": 385}
    short, medium, long = STOP_LISTS.values()
    assert short < medium < long
    assert medium is ENGLISH_STOP_WORDS
    for name, words in STOP_LISTS.items():
        assert all(word.isascii() and word.islower() for word in words)
        assert Tokenizer(stop_words=name)(" ".join(words)) == []
    # Every list keeps what the larger ones leave out.
    text = "the other side nevertheless"
    assert Tokenizer(stop_words="english-short")(text) == text.split()[1:]
    assert Tokenizer()(text) == ["side", "nevertheless"]
    assert Tokenizer(stop_words="english-long")(text) == ["side"]
    with pytest.raises(TypeError, match="does not support item assignment"):
        STOP_LISTS["german"] = frozenset()


def test_many_texts_are_the_single_texts():
    texts = ["Sort rows", "rows of rows", ""]
    tokenizer = Tokenizer()
    assert tokenizer.tokenize_all(texts) == [tokenizer(text) for text in texts]


@given(st.text(max_size=40))
def test_terms_are_never_empty_stop_words_or_split_again(text):
    plain = Tokenizer(stemmer=None)
    terms = plain(text)
    assert all(terms)
    assert not ENGLISH_STOP_WORDS.intersection(terms)
    assert plain(" ".join(terms)) == [t for term in terms for t in plain(term)]


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="got one string"):
        Tokenizer().tokenize_all("text")
    with pytest.raises(TypeError, match="texts must hold strings; item 1 is of type"):
        Tokenizer().tokenize_all(["text", 2.0])
    for function in (Tokenizer(), tokenize):
        with pytest.raises(TypeError, match="text must be a string, got None"):
            function(None)
    with pytest.raises(TypeError, match="word must be a string, got b'words'"):
        stem_plural(b"words")
    with pytest.raises(ValueError, match=r"stop_words must be .* a Collection"):
        Tokenizer(stop_words=["the", None])("text")
    with pytest.raises(ValueError, match=r"stop_words must be 'english'.*'german'"):
        Tokenizer(stop_words="german")("text")
    with pytest.raises(ValueError, match="stemmer must be 'plural', 'porter'"):
        Tokenizer(stemmer="snowball")("text")
