"""Ids of queries and documents as arrays in which different ids stay different."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# Strings of fixed width may take this many characters, or this many times as many as
# the strings have.
_FIXED_WIDTH, _WASTE = 1 << 24, 8


def id_array(ids: Sequence, sizes: np.ndarray | None = None) -> np.ndarray:
    """Return ids as an array in which each of them keeps apart from the others.

    NumPy gives every string the width of the longest, so that one long id among many
    rows would take all memory; it drops characters NUL at the end, so that two ids
    could become one; and it turns numbers next to strings into strings.

    Parameters
    ----------
    ids : sequence of objects
        Ids; tuples stay whole.
    sizes : ndarray of shape (n_ids,), default=None
        How often each id is repeated. None stands for once.

    Returns
    -------
    ndarray of shape (n_rows,)
        Of a type of numbers if all ids are numbers; of dtype str or bytes if all ids
        are of this kind, none ends in NUL and the longest id is not much longer than
        the others; of dtype object otherwise.
    """
    kinds = set(map(type, ids))
    if not any(issubclass(kind, (str, bytes, tuple, frozenset)) for kind in kinds):
        array = np.asarray(ids)
    else:
        array = _fixed_width(ids, kinds, sizes)
        if array is None:
            array = np.empty(len(ids), dtype=object)
            array[:] = ids
    return array if sizes is None else np.repeat(array, sizes)


def _fixed_width(ids: Sequence, kinds: set[type], sizes: Any) -> np.ndarray | None:
    """Return strings as an array of fixed width, or None if that does not fit them."""
    whole = (t for t in (str, bytes) if all(issubclass(kind, t) for kind in kinds))
    dtype = next(whole, None)
    if dtype is None:
        return None
    lengths = np.fromiter(map(len, ids), np.intp, len(ids))
    n_rows = len(ids) if sizes is None else int(np.sum(sizes))
    n_characters = int(lengths.sum() if sizes is None else lengths @ sizes)
    width = int(lengths.max(initial=0))
    if width * n_rows > max(_FIXED_WIDTH, _WASTE * n_characters):
        return None
    array = np.array(ids, dtype=dtype)
    if array.shape != lengths.shape or (np.char.str_len(array) != lengths).any():
        return None
    return array


def in_order(ids: Iterable) -> list:
    """Return ids in ascending order; those that do not compare, by type and text."""
    ids = list(ids)
    try:
        return sorted(ids)
    except TypeError:
        return sorted(ids, key=lambda value: (type(value).__name__, repr(value)))
