"""Strongly connected components of the graph of which document beats which."""

import heapq
from collections.abc import Iterator

import numpy as np

# Entries of a matrix that one call of NumPy takes: signals are answered in between.
_BLOCK = 1 << 22


def components_in_order(beats: np.ndarray) -> list[np.ndarray]:
    """Return the strongly connected components of a graph, winners first.

    Parameters
    ----------
    beats : ndarray of shape (m, m), dtype bool
        Whether the document of the row beats that of the column.

    Returns
    -------
    list of ndarray
        Documents of each component in ascending order. No document beats one of an
        earlier component; where that leaves a choice, the component with the smallest
        document comes first. Complexity: O(m²), and m² / 4 bytes.
    """
    # Sets of documents are whole numbers with a bit for each one.
    winners = list(_sets(beats.T))
    components = _components(_finished(list(_sets(beats))), winners)
    label = np.empty(len(beats), dtype=np.intp)
    rivals = np.empty(len(beats), dtype=np.int64)  # unplaced ones that beat a document
    held_up = []  # documents of each component that have such rivals
    for c, (documents, members) in enumerate(components):
        label[documents] = c
        for document in documents.tolist():
            rivals[document] = (winners[document] & ~members).bit_count()
        held_up.append(int(np.count_nonzero(rivals[documents])))
    first = [int(documents[0]) for documents, _ in components]
    ready = [(first[c], c) for c, number in enumerate(held_up) if not number]
    heapq.heapify(ready)
    ordered = []
    while ready:
        documents, _ = components[heapq.heappop(ready)[1]]
        ordered.append(documents)
        for document in documents.tolist():
            beaten = beats[document]
            rivals -= beaten
            for free in np.flatnonzero(beaten & (rivals == 0)).tolist():
                c = int(label[free])
                held_up[c] -= 1
                if not held_up[c]:
                    heapq.heappush(ready, (first[c], c))
    return ordered


def _sets(rows: np.ndarray) -> Iterator[int]:
    """Yield the set of the columns in which each row is True."""
    step = max(1, _BLOCK // max(len(rows), 1))
    for start in range(0, len(rows), step):
        packed = np.packbits(rows[start : start + step], axis=1, bitorder="little")
        for row in packed:
            yield int.from_bytes(row.tobytes(), "little")


def _smallest(documents: int) -> int:
    """Return the smallest document of a set."""
    return (documents & -documents).bit_length() - 1


def _finished(beaten: list[int]) -> list[int]:
    """Return the documents in the order in which a search in depth leaves them."""
    unseen = (1 << len(beaten)) - 1
    order = []
    while unseen:
        path = [_smallest(unseen)]
        unseen ^= 1 << path[0]
        while path:
            ahead = beaten[path[-1]] & unseen
            if ahead:
                path.append(_smallest(ahead))
                unseen ^= 1 << path[-1]
            else:
                order.append(path.pop())
    return order


def _components(
    finished: list[int], winners: list[int]
) -> list[tuple[np.ndarray, int]]:
    """Return the components in ascending order of documents, and as sets.

    By Kosaraju's algorithm: what reaches the document that was left last is a
    component, and so on for what remains.
    """
    unseen = (1 << len(winners)) - 1
    components = []
    for root in reversed(finished):
        if not unseen >> root & 1:
            continue
        members = 1 << root
        unseen ^= members
        documents = [root]
        for document in documents:  # grows
            new = winners[document] & unseen
            unseen ^= new
            members |= new
            while new:
                documents.append(_smallest(new))
                new &= new - 1
        components.append((np.array(sorted(documents), dtype=np.intp), members))
    return components
