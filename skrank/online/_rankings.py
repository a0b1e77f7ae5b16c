"""Rankings of the documents of some impressions, as compiled code takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_array, id_keys, id_list
from skrank._core._messages import shown
from skrank._core._validation import as_ids, check_hashable, check_no_missing_id
from skrank.online._interleaving import rank_by_columns


@dataclass(frozen=True, eq=False)
class Rankings:
    """Several rankings of the documents of each impression.

    Attributes
    ----------
    document : ndarray of shape (n_entries,), dtype int32
        Documents of each ranking, best first, numbered from 0 within an impression.
    lists : ndarray of shape (n_impressions * n_rankings + 1,), dtype intp
        Bounds of the rankings, those of an impression next to each other.
    n_rankings : int
        Number of rankings of each impression.
    ptr : ndarray of shape (n_impressions + 1,), dtype intp
        Bounds of the documents of each impression.
    """

    document: np.ndarray
    lists: np.ndarray
    n_rankings: int
    ptr: np.ndarray

    @classmethod
    def from_scores(
        cls, scores: np.ndarray, ptr: np.ndarray, seed: int, n_threads: int = 1
    ) -> "Rankings":
        """Rank documents by each column of scores, ties in an order that is drawn."""
        n_rankings = scores.shape[1]
        sizes = np.repeat(np.diff(ptr), n_rankings)
        lists = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        document = rank_by_columns(scores, ptr, seed, n_threads)
        return cls(document, lists, n_rankings, ptr)

    def shown_ptr(self, length: int | None) -> np.ndarray:
        """Return the bounds of lists of at most ``length`` documents."""
        return bounds_of_lists(self.ptr, length)

    def arguments(self) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Return the arguments of compiled functions, in their order."""
        return self.document, self.lists, self.n_rankings, self.ptr


def bounds_of_lists(ptr: np.ndarray, length: int | None) -> np.ndarray:
    """Return the bounds of lists of at most ``length`` documents of each impression."""
    sizes = np.diff(ptr)
    if length is not None:
        sizes = np.minimum(sizes, length)
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)


def rankings_of_ids(
    rankings: Sequence[npt.ArrayLike] | np.ndarray,
) -> tuple[Rankings, np.ndarray]:
    """Check rankings of one impression, and number their documents.

    Parameters
    ----------
    rankings : sequence of array-likes of shape (n_documents,)
        Ids of documents, best first; rankings need not hold the same documents.

    Returns
    -------
    rankings : Rankings
        One impression.
    ids : ndarray of shape (n_documents,)
        Id of each document.

    Raises
    ------
    ValueError
        If there are fewer than two rankings, one is empty, or a document is missing or
        occurs twice in one.
    """
    is_array = isinstance(rankings, np.ndarray) and rankings.ndim > 0
    is_list = isinstance(rankings, Sequence) and not isinstance(rankings, str | bytes)
    if not (is_array or is_list):
        raise TypeError(
            f"rankings must be a sequence of rankings of ids, got {shown(rankings)}"
        )
    if len(rankings) < 2:
        raise ValueError(f"rankings must be at least two, got {len(rankings)}")
    numbers: dict[Any, int] = {}
    known: list[Any] = []
    lists = []
    for place, ranking in enumerate(rankings):
        name = f"rankings[{place}]"
        ids = as_ids(ranking, name, "document id")
        check_no_missing_id(ids, name, "document id")
        check_hashable(ids, name)
        keys = id_keys(ids)
        if not keys:
            raise ValueError(f"{name} is empty")
        if len(set(keys)) < len(keys):
            raise ValueError(f"{name} must hold each document once, got {shown(ids)}")
        known += [one for one, key in zip(id_list(ids), keys) if key not in numbers]
        lists.append([numbers.setdefault(key, len(numbers)) for key in keys])
    ends = np.cumsum([0, *map(len, lists)]).astype(np.intp)
    document = np.concatenate(lists).astype(np.int32)
    ptr = np.array([0, len(numbers)], dtype=np.intp)
    return Rankings(document, ends, len(lists), ptr), id_array(known)
