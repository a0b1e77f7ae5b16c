"""Rows in an order that nothing changes."""

from typing import Any

import numpy as np

from skrank._core._missing import unmasked
from skrank._core._sparse import check_sparse, read_only
from skrank._core._validation import naming


def in_order(X: Any) -> Any:
    """Return sparse rows in the order that SciPy would bring them into in place.

    Nested lists become arrays, and what a mask hides becomes missing; other rows are
    returned as they are.
    """
    check_sparse(X)
    if hasattr(X, "tocsr"):
        return read_only(X.tocsr())
    if hasattr(X, "shape"):
        return unmasked(X)
    with naming("X"):  # lists may have different lengths
        array = np.asarray(X)
    # NumPy turns numbers next to strings into strings.
    return np.asarray(X, dtype=object) if array.dtype.kind in "SU" else array
