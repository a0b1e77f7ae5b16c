"""Values of pandas, which are compared by their index and not by their place."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skrank._core._messages import shown


def by_index(
    given: Mapping[str, Any], values: Mapping[str, np.ndarray], what: str
) -> dict[str, np.ndarray]:
    """Bring vectors into the order of the first one whose index has labels.

    The index that pandas makes up by itself, of whole numbers from 0 on, has no labels
    unless another one has the same numbers in another order. Vectors without labels are
    taken by place.

    Parameters
    ----------
    given : mapping of str to array-like
        Vectors as they came, by the words for each of them in messages.
    values : mapping of str to ndarray of shape (n,)
        Their values.
    what : str
        What a label stands for, in the singular and the plural, such as
        ``"query|queries"``.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        The values in one order.

    Raises
    ------
    ValueError
        If two indices have different labels, or one has a label twice and the other
        one another order.
    """
    indices: dict[str, Any] = {
        name: one.index
        for name, one in given.items()
        if hasattr(getattr(one, "index", None), "get_indexer")
    }
    first = next((name for name in indices if not _is_made_up(indices[name])), None)
    ordered = dict(values)
    if first is None:
        return ordered
    reference = indices[first]
    for name, index in indices.items():
        if index.equals(reference):
            continue
        if index.is_unique and reference.is_unique:
            places = index.get_indexer(reference)
            if (places >= 0).all():
                ordered[name] = values[name][places]
                continue
        if not _is_made_up(index):
            raise _different(first, name, indices, what)
    return ordered


def _is_made_up(index: Any) -> bool:
    """Whether an index is the one that pandas gives to values without any."""
    # Only a range has a start and a step.
    start, step = getattr(index, "start", None), getattr(index, "step", None)
    return (start, step, index.name) == (0, 1, None)


def _different(first, second, indices, what) -> ValueError:
    singular, plural = what.split("|")
    for name, other in ((first, second), (second, first)):
        alone = indices[name][~indices[name].isin(indices[other])]
        if len(alone):
            return ValueError(
                f"{first} and {second} name different {plural} in their indices, such "
                f"as {shown(alone[0])}, which only {name} has; give them the same "
                f"{plural}, or pass arrays, which are compared by place"
            )
    name = second if indices[first].is_unique else first
    twice = indices[name][indices[name].duplicated()]
    return ValueError(
        f"{name} names the {singular} {shown(twice[0])} more than once in its index, "
        f"so that {first} and {second} cannot be aligned; pass arrays, which are "
        "compared by place"
    )
