"""What is said about numbers that are too large."""

import numpy as np
import pandas as pd
import pytest

from skrank._core._finite import unsafe_range


@pytest.mark.parametrize("missing", [np.full((2, 3), np.nan), np.zeros((0, 3))])
def test_rows_without_numbers_are_no_cause_of_an_overflow(missing):
    assert unsafe_range("X", missing) is None


def test_missing_values_do_not_hide_large_numbers():
    message = unsafe_range("X", np.array([[np.nan, -1e300]]))
    assert message is not None
    assert message.startswith("X must hold numbers of at most 5.6e+102 in size")


def test_infinity_is_not_to_be_scaled():
    assert unsafe_range("X", np.array([[np.inf, 1.0]])) is None


def test_data_frames_are_looked_through():
    frame = pd.DataFrame({"name": ["a", "b"], "value": [1.0, -1e300]})
    assert "found 1e+300" in unsafe_range("X", frame)
