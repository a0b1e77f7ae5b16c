"""Texts with ids and named fields: the documents of a collection, or its queries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank.text._texts import as_texts


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Documents or queries: an id for each, and its text in each of some named fields.

    The readers of :mod:`skrank.datasets` return it, and all of :mod:`skrank.text` that
    takes documents takes it; the index keeps the ids.

    Parameters
    ----------
    ids : sequence of str
        Ids of the texts, all different.
    fields : mapping of str to sequence of str
        For each field one text per id; an empty string where there is none.

    Attributes
    ----------
    ids : ndarray of shape (n_texts,), dtype object
        Ids.
    fields : dict of str to list of str
        Texts of each field.

    Raises
    ------
    ValueError
        If an id occurs twice, there are no fields, or a field has not one text per id.
    TypeError
        If an id, a name or a text is no string.

    Examples
    --------
    >>> from skrank.text import BM25, TextCollection
    >>> documents = TextCollection(
    ...     ["d1", "d2"], {"title": ["Sorting", "Graphs"], "text": ["of arrays", ""]})
    >>> len(documents), documents.fields["title"]
    (2, ['Sorting', 'Graphs'])
    >>> found, _ = BM25().fit(documents).retrieve(["graphs"], k=1)
    >>> documents.ids[found]
    array([['d2']], dtype=object)
    """

    ids: Any
    fields: Any

    def __post_init__(self):
        ids = as_texts(self.ids, "ids")
        if len(set(ids)) < len(ids):
            seen: set = set()
            again = next(i for i in ids if i in seen or seen.add(i))
            raise ValueError(f"ids must be different, {shown(again)} occurs again")
        if not isinstance(self.fields, Mapping):
            raise TypeError(
                "fields must be a mapping of names to texts, got " + shown(self.fields)
            )
        fields = {
            name: as_texts(texts, f"fields[{shown(name)}]")
            for name, texts in self.fields.items()
        }
        if not fields:
            raise ValueError("fields must hold at least one field, got none")
        for name, texts in fields.items():
            if not isinstance(name, str):
                raise TypeError(f"fields must have strings as names, got {shown(name)}")
            if len(texts) != len(ids):
                raise ValueError(
                    f"fields[{shown(name)}] must hold one text for each of "
                    f"{len(ids)} ids, got {len(texts)}"
                )
        object.__setattr__(self, "ids", as_ids_array(ids))
        object.__setattr__(self, "fields", fields)

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"TextCollection({len(self)} texts, fields={shown(list(self.fields))})"

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.ids.tolist())}

    def find(self, ids: Iterable[str]) -> np.ndarray:
        """Find the numbers of texts by their ids.

        Parameters
        ----------
        ids : sequence of str
            Ids to look up.

        Returns
        -------
        ndarray of shape (n_ids,), dtype intp
            Number of each text, counted from 0; -1 where no text has the id.

        Raises
        ------
        TypeError
            If an id is no string.

        Examples
        --------
        >>> from skrank.text import TextCollection
        >>> TextCollection(["a", "b"], {"text": ["", ""]}).find(["b", "c"])
        array([ 1, -1])
        """
        numbers = [self._number_of.get(name, -1) for name in as_texts(ids, "ids")]
        return np.array(numbers, dtype=np.intp)

    def to_frame(self) -> Any:
        """Convert to a data frame of pandas.

        Returns
        -------
        DataFrame
            A column for each field, and the ids as index.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame needs pandas; install it with: pip install 'skrank[pandas]'"
            ) from None
        index = pd.Index(self.ids, dtype=object, name="id")
        columns = {k: np.array(v, dtype=object) for k, v in self.fields.items()}
        return pd.DataFrame(columns, index=index)


def as_ids_array(ids: list[str]) -> np.ndarray:
    """Return ids as an array of objects."""
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array
