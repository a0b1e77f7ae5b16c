"""What is told of values that are no numbers."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from skrank._core._numbers import as_numbers
from skrank._core._validation import check_groups


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


def test_numbers_beyond_double_precision_are_infinite():
    long = np.array(["1e4000", "-1e4000", "2"], np.longdouble)
    if np.isinf(long[0]):
        pytest.skip("the long numbers of this machine are not longer")
    assert as_numbers(long, "y").tolist() == [np.inf, -np.inf, 2]


def test_a_signaling_nan_is_missing():
    values = [Decimal(1), Decimal("sNaN")]
    assert np.isnan(as_numbers(values, "y")).tolist() == [False, True]
    with pytest.raises(ValueError, match=r"groups .* row 1 has none"):
        check_groups(values, 2)


def test_a_lazy_frame_is_no_array_of_numbers():
    lazy = pl.DataFrame({"a": [1.0]}).lazy()
    with pytest.raises(ValueError, match="y must hold numbers, got <LazyFrame"):
        as_numbers(lazy, "y")


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
