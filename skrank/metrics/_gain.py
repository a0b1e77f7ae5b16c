"""Gains of grades and discounts of ranks."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from skrank._core._parameters import Numbers

#: What turns a grade into its gain.
Gain = Literal["exp2", "linear"] | Callable | Mapping | Numbers
GAINS = ("exp2", "linear")
DISCOUNTS = ("log2", "letor", "reciprocal")

# 2^1024 is the first power that a double cannot hold.
_LARGEST_EXP2_GRADE = 1023.0


def _table_gain(table, y):
    """Look up integer grades in an array."""
    table = np.asarray(table, dtype=np.float64)
    if table.ndim != 1:
        raise ValueError(f"gain as a table must be one-dimensional, got {table.ndim}D")
    index = y.astype(np.intp)
    if (index != y).any():
        raise ValueError(
            "gain as a table needs integer grades; use a callable for real grades "
            f"(found {y[index != y][0]:g})"
        )
    if len(y) and index.max() >= len(table):
        raise ValueError(
            f"gain has {len(table)} entries, for grades 0 to {len(table) - 1}, "
            f"but y holds grade {index.max()}"
        )
    return table[index]


def _mapped_gain(mapping, y):
    grades, codes = np.unique(y, return_inverse=True)
    missing = [grade for grade in grades.tolist() if grade not in mapping]
    if missing:
        raise ValueError(f"gain has no entry for the grades {missing} found in y")
    return np.array([mapping[g] for g in grades.tolist()], dtype=np.float64)[codes]


def _check_exp2(y):
    if len(y) and y.max() > _LARGEST_EXP2_GRADE:
        raise ValueError(
            f"gain='exp2' overflows for grade {y.max():g}; use gain='linear' or a "
            "callable"
        )


def is_monotone(gain) -> bool:
    """Whether the gain surely grows with the grade, so that ideal order is by grade."""
    return isinstance(gain, str)


def gain_of_grades(gain, y):
    """Gain of each grade.

    Parameters
    ----------
    gain : {"exp2", "linear"}, callable, mapping or array
        ``2^y - 1``; ``y``; a function of an array of grades; a mapping from grade to
        gain; or a table indexed by integer grades.
    y : ndarray of shape (n_documents,)
        Grades.

    Returns
    -------
    ndarray of shape (n_documents,), dtype float64

    Raises
    ------
    ValueError
        If a gain is unknown, negative or not finite.
    """
    check_gain(gain, y)
    if isinstance(gain, str):
        return np.exp2(y) - 1 if gain == "exp2" else y
    if isinstance(gain, Mapping):
        values = _mapped_gain(gain, y)
    elif callable(gain):
        values = np.asarray(gain(y), dtype=np.float64)
    else:
        values = _table_gain(gain, y)
    if values.shape != y.shape:
        raise ValueError(f"gain returned shape {values.shape} for grades of {y.shape}")
    if not np.isfinite(values).all() or (len(values) and values.min() < 0):
        raise ValueError("gain must be finite and not negative for every grade")
    return np.ascontiguousarray(values)


def check_gain(gain, y=()):
    """Raise an error if ``gain`` is of no known form or overflows."""
    if isinstance(gain, str):
        if gain not in GAINS:
            raise ValueError(
                "gain must be 'exp2', 'linear', a callable, a mapping or a table, "
                f"got {gain!r}"
            )
        if gain == "exp2":
            _check_exp2(y)
    elif not (isinstance(gain, (Mapping, Callable, list, tuple, np.ndarray))):
        raise TypeError(
            "gain must be 'exp2', 'linear', a callable, a mapping or a table, "
            f"got {type(gain).__name__}"
        )


def _letor_discount(ranks):
    """1 for ranks 1 and 2, then 1 / log2(rank)."""
    return 1.0 / np.log2(np.maximum(ranks, 2.0))


_DISCOUNTS = {
    "log2": lambda ranks: 1.0 / np.log2(1.0 + ranks),
    "letor": _letor_discount,
    "reciprocal": lambda ranks: 1.0 / ranks,
}


def discount_of_ranks(discount, n_ranks, k=None):
    """Discount of the ranks 1 to ``n_ranks``, 0 beyond ``k``.

    Parameters
    ----------
    discount : {"log2", "letor", "reciprocal"}, callable or array
        ``1 / log2(1 + j)``; 1 for the first two ranks and ``1 / log2(j)`` after; ``1 /
        j``; a function of an array of 1-based ranks; or a table, 0 beyond its end.
    n_ranks : int
        Length of the result.
    k : int, default=None
        Cut-off.

    Returns
    -------
    ndarray of shape (n_ranks,), dtype float64

    Raises
    ------
    ValueError
        If a discount is unknown, negative or not finite.
    """
    n = n_ranks if k is None else min(k, n_ranks)
    ranks = np.arange(1, n + 1, dtype=np.float64)
    values = np.zeros(n_ranks)
    if isinstance(discount, str):
        if discount not in _DISCOUNTS:
            known = ", ".join(repr(name) for name in _DISCOUNTS)
            raise ValueError(
                f"discount must be {known}, a callable or a table, got {discount!r}"
            )
        values[:n] = _DISCOUNTS[discount](ranks)
        return values
    if callable(discount):
        values[:n] = discount(ranks)
    else:
        table = np.asarray(discount, dtype=np.float64)
        if table.ndim != 1:
            raise ValueError(f"discount table must be 1D, got {table.ndim}D")
        n = min(n, len(table))
        values[:n] = table[:n]
    if not np.isfinite(values).all() or (len(values) and values.min() < 0):
        raise ValueError("discount must be finite and not negative for every rank")
    return values
