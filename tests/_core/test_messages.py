"""Values in messages: whole if short, and never megabytes or an error of their own."""

import numpy as np
import pytest

from skrank._core._messages import (
    has_control,
    on_one_line,
    problem_in,
    shortened,
    shown,
    surrogate_at,
    words_of,
)
from skrank._core._validation import check_scores
from skrank.metrics import ndcg_score
from skrank.rankers import RankSVM
from skrank.text import LetorFeatures


class Speechless:
    """An object without a representation."""

    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("value", ["a", 7, None, [1, 2], b"x" * 70])
def test_short_values_are_shown_whole(value):
    assert shown(value) == repr(value)


@pytest.mark.parametrize(
    "value", ["ab" * 10**6, b"ab" * 10**6, [0] * 10**5, "\ud800" * 10**5, 10**4000]
)
def test_long_values_keep_their_beginning_and_their_end(value):
    text = shown(value)
    assert len(text) == 80
    assert repr(value)[:20] == text[:20]
    assert repr(value)[-20:] == text[-20:]
    assert "…" in text


def test_a_value_without_representation_is_shown_by_its_type():
    assert shown(Speechless()) == "<Speechless>"
    # Python refuses to write integers of more than 4300 digits.
    assert shown(10**5000) == "<int>"


def test_the_length_is_the_given_one():
    assert [len(shortened("x" * 99, n)) for n in (5, 50, 98, 99)] == [5, 50, 98, 99]


def test_values_of_several_lines_are_shown_on_one():
    assert shown(np.eye(2)) == "array([[1., 0.],        [0., 1.]])"


class Unruly:
    """An object whose representation would take over a terminal."""

    def __repr__(self):
        return "a\x1b[31m\n\x85b\x00"


def test_control_characters_are_escaped():
    assert shown(Unruly()) == r"a\x1b[31m  b\x00"
    error = ValueError("Couldn't decode \x1b[2J\x00 this\r\nand that")
    assert words_of(error) == r"Couldn't decode \x1b[2J\x00 this and that"
    assert problem_in(error) == words_of(error)


@pytest.mark.parametrize("value", [Speechless(), Unruly(), np.eye(30), [Speechless()]])
def test_arguments_of_any_representation_are_refused_on_one_line(value):
    models = {value: 5} if type(value).__hash__ else value
    for call in (
        lambda: ndcg_score([1, 0], [1, 0], groups=[1, 1], per_query=value),
        lambda: ndcg_score([1, 0], [1, 0], groups=[1, 1], k=value),
        lambda: RankSVM(margin=value)._check_parameters(),
        lambda: LetorFeatures(models=models)._check_parameters(),
    ):
        with pytest.raises(ValueError, match="must") as caught:
            call()
        assert str(caught.value).isprintable()


def test_errors_of_libraries_are_told_on_one_line():
    class Odd:
        def __array__(self, *args, **kwargs):
            raise ValueError("bad \x1b[2J\nX")

    with pytest.raises(ValueError, match="bad") as caught:
        check_scores(Odd(), 2)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x1f\x7f\x80\x9f", r"\x00\x1f\x7f\x80\x9f"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\x1b[1m", r"\x1b[1m"),
    ],
)
def test_control_characters_become_escapes(text, expected):
    assert on_one_line(text) == expected
    assert has_control(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [("", -1), ("aé😀", -1), ("\ud800", 0), ("é😀\udfff", 2), ("\ude00\ud83d", 0)],
)
def test_halves_of_surrogate_pairs_are_found(text, place):
    assert surrogate_at(text) == place


@pytest.mark.parametrize("text", ["", "a b~", "\xa0é日…\udcff", r"a\nb"])
def test_other_characters_stay(text):
    assert on_one_line(text) == text
    assert not has_control(text)
