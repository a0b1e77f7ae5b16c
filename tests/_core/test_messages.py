"""Values in messages: whole if short, and never megabytes or an error of their own."""

import numpy as np
import pytest

from skrank._core._messages import has_control, on_one_line, shortened, shown


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


@pytest.mark.parametrize("text", ["", "a b~", "\xa0é日…\udcff", r"a\nb"])
def test_other_characters_stay(text):
    assert on_one_line(text) == text
    assert not has_control(text)
