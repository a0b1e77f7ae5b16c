"""Positions of terms: their checks, and those of whole documents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skrank.text._postings import Lists
from skrank.text._segments import starts_of_segments

if TYPE_CHECKING:
    from skrank.text._index import Postings


def check_positions(
    positions: Any, counts: sparse.csc_array, lengths: np.ndarray
) -> None:
    """Refuse positions that do not number the terms of each document.

    Parameters
    ----------
    positions : object
        What is said to be positions.
    counts : csc_array of shape (n_documents, n_terms)
        Number of positions of each posting.
    lengths : ndarray of shape (n_documents,)
        Number of terms of each document.

    Raises
    ------
    TypeError
        If they are no array of int32.
    ValueError
        If they do not ascend within a posting, or are not each of 0 … LEN(d) − 1 once.
    """
    if not isinstance(positions, np.ndarray) or positions.dtype != np.int32:
        raise TypeError(
            f"positions must be an array of int32, got {type(positions).__name__}"
        )
    total = lengths.sum()
    if positions.ndim != 1 or len(positions) != total or np.any(counts.data % 1):
        raise ValueError(
            f"positions must be one for each of {total:g} terms, got an array of shape "
            f"{positions.shape}"
        )
    starts = starts_of_segments(counts.data)
    document = np.repeat(counts.indices, np.diff(starts))
    first = starts_of_segments(lengths)
    fits = bool(np.all((positions >= 0) & (positions < lengths[document])))
    descends = np.flatnonzero(positions[1:] <= positions[:-1]) + 1
    # Only where another posting begins may they descend.
    fits = fits and bool(np.isin(descends, starts).all())
    if fits:
        found = np.zeros(len(positions), dtype=bool)
        found[first[document] + positions] = True
        fits = bool(found.all())
    if not fits:
        raise ValueError("positions must number the terms of each document, ascending")


def join_positions(lists: Lists, parts: "Sequence[Postings]") -> np.ndarray:
    """Return the positions in documents whose fields follow each other.

    Parameters
    ----------
    lists : Lists
        Postings of whole documents.
    parts : sequence of Postings
        Postings of the fields, with positions.

    Returns
    -------
    ndarray of shape (n_occurrences,), dtype int32
        Positions in the order of the postings of whole documents.
    """
    posting, position = [], []
    before = np.zeros(parts[0].n_documents, dtype=np.int32)
    for part in parts:
        assert part.positions is not None
        sizes = np.diff(part.position_starts)
        documents = part.document_of.astype(np.intp)
        whole = lists.find(part.term_of.astype(np.intp), documents)
        posting.append(np.repeat(whole, sizes))
        position.append(part.positions + np.repeat(before[documents], sizes))
        before += part.lengths.astype(np.int32)
    # Stable: within a posting, a field stays behind the one before it.
    order = np.argsort(np.concatenate(posting), kind="stable")
    return np.concatenate(position)[order]
