"""Row-aligned arguments: what a measure needs beside grades and scores.

A measure of revenue needs the price of each document. Such arguments hold one entry for
each row, go with the rows wherever they are grouped, and reach the measure query by
query.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank._core._sparse import is_mapping

if TYPE_CHECKING:
    from skrank.metrics._base import BaseMeasure

#: Arguments that have a meaning of their own wherever measures are evaluated.
RESERVED = ("y_true", "y_score", "groups", "sample_weight", "k")


def check_row_arguments(
    given: Mapping[str, Any] | None, n_samples: int
) -> dict[str, np.ndarray]:
    """Return row-aligned arguments as arrays, by name.

    Parameters
    ----------
    given : mapping of str to array-like, or None
        Arguments with one entry for each row; None holds nothing, and neither does an
        entry that is None.
    n_samples : int
        Number of rows.

    Returns
    -------
    dict of str to ndarray
        Arrays with ``n_samples`` entries.

    Raises
    ------
    TypeError
        If the arguments are no mapping of names.
    ValueError
        If an argument does not hold one entry for each row.
    """
    if given is None:
        return {}
    if not is_mapping(given) or not all(isinstance(k, str) for k in given):
        raise TypeError(
            "row_arguments must be a dict of names to arrays with one entry per row, "
            f"got {shown(given)}"
        )
    return {
        name: _rows_of(name, values, n_samples)
        for name, values in given.items()
        if values is not None
    }


def _rows_of(name, values, n_samples):
    try:
        array = np.asarray(values)
    except ValueError:  # entries of different lengths
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
    found = array.shape[0] if array.ndim else None
    if found != n_samples:
        raise ValueError(
            f"{name} must hold one entry for each of {n_samples} rows, got "
            f"{shown(values) if found is None else found}"
        )
    return array


def refuse_unused(names: Iterable[str], measures: Iterable["BaseMeasure"]) -> None:
    """Raise a TypeError if an argument was given that no measure takes."""
    taken = list(dict.fromkeys(n for m in measures for n in m._row_names()))
    unused = [name for name in names if name not in taken]
    if unused:
        what = f"they take {', '.join(taken)}" if taken else "they take none"
        raise TypeError(
            f"row_arguments: no measure takes {unused[0]} with one entry per row; "
            f"{what}"
        )


def rows_for(
    measure: "BaseMeasure", given: Mapping[str, np.ndarray], index: QueryIndex
) -> dict[str, Any]:
    """Return the keyword of `BaseMeasure.per_query` that a measure needs, if any.

    Parameters
    ----------
    measure : BaseMeasure
        Measure.
    given : mapping of str to ndarray
        Arguments as returned by `check_row_arguments`.
    index : QueryIndex
        How the rows are grouped.

    Returns
    -------
    dict
        Empty, so that measures which know nothing of such arguments can be called, or
        with the one key ``row_arguments``.
    """
    own = {
        name: index.take(given[name]) for name in measure._row_names() if name in given
    }
    return {"row_arguments": own} if own else {}
