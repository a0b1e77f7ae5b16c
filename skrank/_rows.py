"""Rows of queries: the one form in which data travel inside the package.

The `fit` of a ranker checks its arguments and brings them into this form. Everything
behind it (objectives, boosting, rankers inside rankers) reads, slices and holds out
queries here, so that nothing which came with the rows can be lost on the way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._id_arrays import joined_ids
from skrank._core._missing import refuse_mask
from skrank._core._queries import (
    Grouped,
    QueryIndex,
    distinct,
    rows_of_queries,
    take_rows,
)
from skrank._core._sparse import read_only
from skrank._core._validation import check_weights
from skrank.losses._base import has_preference


@dataclass(frozen=True)
class SideData:
    """An argument of `fit` that holds one entry for each row, besides the common ones.

    A ranker lists such arguments in its class attribute ``_side_data``.

    Attributes
    ----------
    name : str
        Name of the argument.
    check : callable
        ``check(values, n_rows, name)`` returns the array to keep, or raises an error
        that names the argument.
    doc : str
        Description of the argument for the docstring of `fit`.
    for_validation : bool
        Whether `fit` also takes the argument for validation rows, under the same name
        with ``_val`` at its end.
    """

    name: str
    check: Callable[[Any, int, str], np.ndarray]
    doc: str
    for_validation: bool = False


@dataclass(frozen=True, eq=False)
class Preferences:
    """Judgements that say which of two documents is the better one.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2), dtype intp
        Row numbers; the first document of a pair is preferred to the second.
    weight : ndarray of shape (n_pairs,) or None
        Weight of each pair.
    """

    pairs: np.ndarray
    weight: np.ndarray | None = None

    def among(self, rows: np.ndarray, n_documents: int) -> "Preferences":
        """Return the pairs of some rows out of all, numbered by their places there.

        Pairs with a row that is not among them are left out.
        """
        places = np.full(n_documents, -1, dtype=np.intp)
        places[rows] = np.arange(len(rows))
        pairs = places[self.pairs]
        kept = (pairs >= 0).all(axis=1)
        weight = None if self.weight is None else self.weight[kept]
        return Preferences(pairs[kept], weight)


@dataclass(frozen=True, eq=False)
class GroupedRows(Grouped):
    """Checked rows, grouped by query, with everything that came with them.

    Attributes
    ----------
    X : ndarray, CSR matrix or data frame of shape (n_documents, n_features)
        Rows of documents, those of a query next to each other.
    y : ndarray of shape (n_documents,) or None
        Relevance grades; None where judgements are preferences.
    ptr : ndarray of shape (n_queries + 1,)
        Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
    ids : ndarray of shape (n_queries,) or None
        Id of each query; None if queries are only numbered.
    sample_weight : ndarray of shape (n_documents,) or None
        Weight of each document.
    preferences : Preferences or None
        Judgements of pairs of documents.
    feature_names : ndarray of shape (n_features,) or None
        Names of the columns, where the rows came with any.
    side : mapping of str to ndarray
        Side data that the ranker declares, with one entry for each row.
    set_names : tuple of str
        Names of the sets that validation queries come from; () if they are one set
        without a name of its own.
    set_of_query : ndarray of shape (n_queries,) or None
        Place of the set of each query in ``set_names``; None if there is one set.
    """

    X: Any
    y: np.ndarray | None
    ptr: np.ndarray
    ids: np.ndarray | None = None
    sample_weight: np.ndarray | None = None
    preferences: Preferences | None = None
    feature_names: np.ndarray | None = None
    side: Mapping[str, np.ndarray] = field(default_factory=dict)
    set_names: tuple[str, ...] = ()
    set_of_query: np.ndarray | None = None

    @classmethod
    def joined(cls, sets: Mapping[str, "GroupedRows"]) -> "GroupedRows":
        """Put sets of queries together; queries of two sets stay two, whatever ids."""
        parts, names = list(sets.values()), tuple(sets)
        first = parts[0]
        if len(parts) == 1:
            return replace(first, set_names=names)
        ids = first.ids
        for part in parts[1:]:
            ids = None if ids is None or part.ids is None else joined_ids(ids, part.ids)
        sizes = np.concatenate([part.sizes for part in parts])
        return replace(
            first,
            X=read_only(_stacked([part.X for part in parts])),
            y=read_only(np.concatenate([np.asarray(part.y) for part in parts])),
            ptr=np.append(0, np.cumsum(sizes)).astype(np.intp),
            ids=ids,
            side={
                name: read_only(np.concatenate([part.side[name] for part in parts]))
                for name in first.side
            },
            set_names=names,
            set_of_query=np.repeat(
                np.arange(len(parts)), [part.n_queries for part in parts]
            ),
        )

    def queries_of_sets(self) -> dict[str, Any]:
        """Return the numbers of the queries of each set, or a slice, by its name."""
        names = self.set_names or ("validation",)
        if self.set_of_query is None:
            return {names[0]: slice(None)}
        return {
            name: np.flatnonzero(self.set_of_query == place)
            for place, name in enumerate(names)
        }

    def sets(self) -> dict[str, "GroupedRows"]:
        """Return the rows of each set that has any queries, by its name."""
        if self.set_of_query is None:
            return {(self.set_names or ("validation",))[0]: self}
        return {
            name: replace(self.subset(queries), set_names=(name,), set_of_query=None)
            for name, queries in self.queries_of_sets().items()
            if len(queries)
        }

    @classmethod
    def from_index(
        cls, X, y, index: QueryIndex, *, side=None, preferences=None, **rest
    ) -> "GroupedRows":
        """Bring rows from the order in which they were given into that of an index."""
        if preferences is not None and index.order is not None:
            preferences = preferences.among(index.order, index.n_documents)
        rows = X if index.order is None else take_rows(X, index.order)
        rest["sample_weight"] = read_only(index.take(rest.get("sample_weight")))
        sides: dict[str, Any] = {
            name: read_only(index.take(values)) for name, values in (side or {}).items()
        }
        return cls(
            read_only(rows),
            read_only(index.take(y)),
            index.ptr,
            index.ids,
            preferences=preferences,
            side=sides,
            **rest,
        )

    @property
    def groups(self) -> np.ndarray:
        """Query id of each row, shape (n_documents,)."""
        ids = np.arange(self.n_queries) if self.ids is None else self.ids
        return np.repeat(ids, self.sizes)

    def subset(self, queries) -> "GroupedRows":
        """Return the rows of some queries, in the order given."""
        rows: Any
        rows, ptr = rows_of_queries(self.ptr, queries)
        preferences = self.preferences
        if preferences is not None:
            preferences = preferences.among(rows, self.n_documents)
        if len(queries) == 1:
            # A slice copies nothing, which solvers that take one query at a time need.
            rows = slice(*self.ptr[queries[0] : queries[0] + 2])

        def chosen(array):
            return None if array is None else take_rows(array, rows)

        return replace(
            self,
            X=take_rows(self.X, rows),
            y=chosen(self.y),
            ptr=ptr,
            # A query that is drawn twice becomes two queries.
            ids=self.ids[queries]
            if self.ids is not None and distinct(queries)
            else None,
            sample_weight=chosen(self.sample_weight),
            preferences=preferences,
            side={name: values[rows] for name, values in self.side.items()},
            set_of_query=None
            if self.set_of_query is None
            else self.set_of_query[queries],
        )

    def where(self, kept: np.ndarray) -> "GroupedRows":
        """Return some rows, without the queries of which none is left.

        Parameters
        ----------
        kept : ndarray of shape (n_documents,), dtype bool
            Whether to keep each row.

        Returns
        -------
        GroupedRows
            The rows, in the same order.
        """
        codes = np.repeat(np.arange(self.n_queries), self.sizes)
        sizes = np.bincount(codes[kept], minlength=self.n_queries)
        left = np.flatnonzero(sizes)
        within = kept[rows_of_queries(self.ptr, left)[0]]
        part = self.subset(left) if len(left) < self.n_queries else self
        rows = np.flatnonzero(within)
        preferences = part.preferences
        if preferences is not None:
            preferences = preferences.among(rows, part.n_documents)
        weight = part.sample_weight
        return replace(
            part,
            X=take_rows(part.X, rows),
            y=None if part.y is None else part.y[rows],
            ptr=np.append(0, np.cumsum(sizes[left])).astype(np.intp),
            sample_weight=None if weight is None else weight[rows],
            preferences=preferences,
            side={name: values[rows] for name, values in part.side.items()},
        )

    def hold_out(
        self, fraction: float, rng: np.random.RandomState
    ) -> tuple["GroupedRows", "GroupedRows"]:
        """Split the queries into training and validation queries.

        Parameters
        ----------
        fraction : float
            Share of the queries to hold out, rounded up.
        rng : RandomState
            Generator by which the queries are chosen.

        Returns
        -------
        tuple of GroupedRows
            Training and validation queries.

        Raises
        ------
        ValueError
            If no query is left to train on, or judgements are preferences.
        """
        if self.y is None:
            raise ValueError(
                "early_stopping holds out graded queries, which preferences do not "
                "have; pass X_val, y_val and groups_val"
            )
        n_held = int(np.ceil(fraction * self.n_queries))
        if n_held >= self.n_queries:
            raise ValueError(
                f"early_stopping needs queries to hold out: {self.n_queries} queries "
                f"and validation_fraction={fraction} leave none to train on; pass "
                "X_val, y_val and groups_val, or more queries"
            )
        held = rng.permutation(self.n_queries)[:n_held]
        # A mask leaves the queries of both parts in their order.
        chosen = np.zeros(self.n_queries, dtype=bool)
        chosen[held] = True
        return (
            self.subset(np.flatnonzero(~chosen)),
            self.subset(np.flatnonzero(chosen)),
        )

    def has_preference(self) -> np.ndarray:
        """Whether each query prefers some document to another, shape (n_queries,)."""
        if self.preferences is None:
            return has_preference(self.y, self.ptr)
        preferring = np.zeros(self.n_queries, dtype=bool)
        first = self.preferences.pairs[:, 0]
        preferring[np.searchsorted(self.ptr, first, side="right") - 1] = True
        return preferring


def _stacked(parts: Sequence[Any]) -> Any:
    """Return rows of the same columns below one another."""
    if any(hasattr(part, "iloc") for part in parts):
        import pandas  # whose frames these are

        return pandas.concat(parts, ignore_index=True)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def check_pairs(preferences: npt.ArrayLike, n_samples: int) -> np.ndarray:
    """Check that preferences are pairs of row numbers of two different documents.

    Parameters
    ----------
    preferences : array-like of shape (n_pairs, 2)
        Row numbers; the first document of a pair is preferred to the second.
    n_samples : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_pairs, 2), dtype intp
        Preference pairs.

    Raises
    ------
    ValueError
        If there is no pair, or a pair does not name two different rows.
    """
    refuse_mask(preferences, "preferences", "pair of row numbers")
    pairs = np.asarray(preferences)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise ValueError(
            "preferences must have shape (n_pairs, 2) with at least one pair, got "
            f"{pairs.shape}"
        )
    if pairs.dtype.kind not in "iu":
        raise ValueError(f"preferences must hold row numbers, got dtype {pairs.dtype}")
    if pairs.min() < 0 or pairs.max() >= n_samples:
        raise ValueError(
            f"preferences must hold row numbers from 0 to {n_samples - 1}, found "
            f"{pairs.min()} to {pairs.max()}"
        )
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise ValueError(f"preferences: pair {same[0]} prefers a document to itself")
    return pairs.astype(np.intp)


def checked_preferences(preferences, weight, ids) -> Preferences:
    """Return pairs of rows that stay within their queries, with a weight for each."""
    pairs = check_pairs(preferences, len(ids))
    crossing = np.flatnonzero(ids[pairs[:, 0]] != ids[pairs[:, 1]])
    if len(crossing):
        raise ValueError(
            f"preferences must stay within a query; pair {crossing[0]} joins two"
        )
    return Preferences(pairs, _weights_of_pairs(weight, len(pairs)))


def _weights_of_pairs(weight, n_pairs) -> np.ndarray | None:
    shape = np.shape(weight)
    if len(shape) == 1 and shape != (n_pairs,):
        raise ValueError(
            f"sample_weight must hold one weight for each of the {n_pairs} "
            f"preferences, got {shape[0]} weights"
        )
    return check_weights(weight, n_pairs)


def named_rows(X: Any, names: np.ndarray | None) -> Any:
    """Return rows as a data frame where their columns have names, else as they are.

    A ranker or pipeline inside another one then sees the names that the user gave.
    """
    if names is None or sparse.issparse(X) or hasattr(X, "iloc"):
        return X
    try:
        import pandas
    except ImportError:  # the names came from another library's data frames
        return X
    return pandas.DataFrame(X, columns=list(names), copy=False)
