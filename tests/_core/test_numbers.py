"""What is told of values that are no numbers."""

import numpy as np
import pytest

from skrank._core._numbers import as_numbers


def test_an_empty_array_of_text_is_no_array_of_numbers():
    with pytest.raises(ValueError, match=r"^y must hold numbers, got dtype <U1$"):
        as_numbers(np.array([], dtype="<U1"), "y")


@pytest.mark.parametrize("value", ["7", 10**400, None, object, 2j])
def test_the_first_value_that_is_no_number_is_named(value):
    if value is None:
        assert np.isnan(as_numbers([1.0, value], "y")[1])
        return
    shown = {10**400: "1000000000"}.get(value, repr(value)[:10])
    with pytest.raises(ValueError, match=r"y must hold numbers, .* such as") as caught:
        as_numbers(np.array([1.0, value], dtype=object), "y")
    assert shown in str(caught.value).split("such as")[1]


@pytest.mark.parametrize(
    "other",
    [np.datetime64("2020-01-01"), np.timedelta64(3, "D"), "1", b"1", bytearray()],
)
def test_objects_that_numpy_would_turn_into_numbers_are_none(other):
    for values in ([other, 1.0], [1.0, other], [other, None]):
        objects = np.array(values, dtype=object)
        with pytest.raises(
            ValueError, match=r"^y must hold numbers, got dtype object, "
        ):
            as_numbers(objects, "y")
    assert (
        as_numbers(np.array([np.datetime64("NaT", "D"), 1], dtype=object), "y")[1]
        == 1.0
    )
