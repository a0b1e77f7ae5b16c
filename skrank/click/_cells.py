"""Counts of clicks and skips by pair and slot, which add up over parts of a log."""

from dataclasses import dataclass

import numpy as np

from skrank.click._models import count_cells
from skrank.click._pair_table import PairTable
from skrank.click._sessions import Sessions


@dataclass(frozen=True, eq=False)
class Cells:
    """Whole numbers of clicks and skips, by pair of query and document and by slot.

    What a slot is, such as a rank, the model says. Cells that nothing was counted in
    are left out, so that memory does not exceed that of the log.

    Attributes
    ----------
    table : PairTable
        The pairs.
    pair, slot : ndarrays of shape (n_cells,), dtype intp
        Pair and slot of each cell, in ascending order.
    clicks, skips : ndarrays of shape (n_cells,), dtype int64
        Impressions with and without a click.
    """

    table: PairTable
    pair: np.ndarray
    slot: np.ndarray
    clicks: np.ndarray
    skips: np.ndarray

    @classmethod
    def of(
        cls, sessions: Sessions, table: PairTable, pair: np.ndarray, slot: np.ndarray
    ) -> "Cells":
        """Count impressions, those apart whose slot is −1."""
        n_slots = int(slot.max(initial=-1)) + 1
        slot = np.ascontiguousarray(slot, dtype=np.intp)
        return cls(table, *count_cells(pair, slot, sessions.click, len(table), n_slots))

    @property
    def shown(self) -> np.ndarray:
        """Impressions of each cell."""
        return self.clicks + self.skips

    @property
    def ptr(self) -> np.ndarray:
        """Bounds of the cells of each pair, shape (n_pairs + 1,)."""
        return np.searchsorted(self.pair, np.arange(len(self.table) + 1))

    def by_pair(self, counts: np.ndarray) -> np.ndarray:
        """Return sums of counts over the cells of each pair, shape (n_pairs,)."""
        return _sums(self.pair, counts, len(self.table))

    def by_slot(self, counts: np.ndarray, n_slots: int) -> np.ndarray:
        """Return sums of counts over the cells of each slot, shape (n_slots,)."""
        return _sums(self.slot, counts, n_slots)

    def only(self, held: np.ndarray) -> "Cells":
        """Return some of the cells."""
        parts = self.pair, self.slot, self.clicks, self.skips
        return Cells(self.table, *(part[held] for part in parts))

    def with_empty(self, pair: int, slot: int) -> "Cells":
        """Return the cells with an empty one, unless others have its slot or more."""
        if self.slot.max(initial=-1) >= slot:
            return self
        at = np.searchsorted(self.pair, pair, side="right")
        parts = (self.pair, pair), (self.slot, slot), (self.clicks, 0), (self.skips, 0)
        return Cells(self.table, *(np.insert(part, at, new) for part, new in parts))

    def union(self, other: "Cells") -> "Cells":
        """Return the sums of these counts and others."""
        table, own, others = self.table.union(other.table)
        pair = np.concatenate([own[self.pair], others[other.pair]])
        slot = np.concatenate([self.slot, other.slot])
        width = int(slot.max(initial=0)) + 1
        keys, place = np.unique(pair * width + slot, return_inverse=True)
        place = place.reshape(-1)
        clicks, skips = (
            _sums(place, np.concatenate(counts), len(keys))
            for counts in ((self.clicks, other.clicks), (self.skips, other.skips))
        )
        return Cells(table, keys // width, keys % width, clicks, skips)


def _sums(code: np.ndarray, counts: np.ndarray, n: int) -> np.ndarray:
    """Return sums of whole numbers by code, without a detour over floats."""
    sums = np.zeros(n, dtype=np.int64)
    np.add.at(sums, code, counts)
    return sums
