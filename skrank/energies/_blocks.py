"""Work on blocks of rows by threads, with results that do not depend on their number.

Matrix products of BLAS round differently for different numbers of threads. Here the
blocks are the same for any number of threads and each is computed by one of them, so
equal input gives equal bits.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._threads import blas_threads

# A multiple of the rows of a tile on all machines that OpenBLAS and MKL know, but for
# single precision with AVX2 alone, where OpenBLAS rounds by the place in a tile, too.
_TILE_ROWS = 32


def row_blocks(n_rows: int, n_block_rows: int) -> list[slice]:
    """Cut rows into slices of ``n_block_rows``, the last one possibly shorter."""
    starts = range(0, n_rows, n_block_rows)
    return [slice(start, min(start + n_block_rows, n_rows)) for start in starts]


def in_full_tiles(rows: Any) -> Any:
    """Return rows with zeros after them, up to a multiple of the rows of BLAS's tiles.

    A matrix product rounds rows in a tile that is not full in another way. With full
    tiles alone, in the rows of the result and in its columns, what a row gives does not
    depend on its place or on other rows, but for products so small that OpenBLAS has
    loops of their own for them.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    ndarray or CSR matrix of shape (n_padded_rows, n_features)
        The rows themselves if they fill their tiles.
    """
    n, d = rows.shape
    n_full = -(-n // _TILE_ROWS) * _TILE_ROWS
    if n == n_full:
        return rows
    if sparse.issparse(rows):
        padded = rows.copy()
        padded.resize(n_full, d)
        return padded
    padded = np.zeros((n_full, d), dtype=rows.dtype)
    padded[:n] = rows
    return padded


@cache
def _pool(n_threads):
    return ThreadPoolExecutor(n_threads, thread_name_prefix="skrank")


# The threads of a pool do not live on in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def map_blocks(function: Callable, *arguments, n_threads: int):
    """Yield ``function`` of each block's arguments in order; one BLAS thread each.

    Take them all, as by ``zip`` with ``strict=True``: a generator that is left before
    its end is closed by the garbage collector, which would swallow an interrupt.

    Parameters
    ----------
    function : callable
        Called with one item of each of ``arguments``.
    *arguments : list
        Lists of equal length, one item per block.
    n_threads : int
        Number of threads.

    Yields
    ------
    object
        What ``function`` returned, in the order of the blocks.
    """
    with blas_threads(1):
        if n_threads == 1 or len(arguments[0]) < 2:
            yield from map(function, *arguments)
            return
        # Each thread sees the caller's numpy error state.
        submit = _pool(n_threads).submit
        calls = zip(*arguments, strict=True)
        tasks = deque(submit(copy_context().run, function, *call) for call in calls)
        try:
            while tasks:
                yield tasks.popleft().result()
        finally:
            # After an error or an interrupt, nobody waits for the others.
            for task in tasks:
                task.cancel()
