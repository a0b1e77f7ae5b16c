"""Program of `test_memory`: compiled functions where memory, or threads, run out.

They raise MemoryError or do with less; the program must not crash. Prints what raised
another error, and how many calls raised MemoryError.
"""

import resource
import sys

import numpy as np

from skrank._core import (
    _energies,
    _letor,
    _list_losses,
    _measures,
    _pair_losses,
    _segments,
)
from skrank.trees import _binning, _grower

MIB = 1 << 20
rng = np.random.default_rng(0)
N, D = 60_000, 24
PTR = np.array([0, 10, N // 2, N], dtype=np.intp)
Y = rng.integers(0, 3, N).astype(np.float64)
X = rng.normal(size=(N, D)).astype(np.float32)
ORDER, LOWER = _segments.label_order(Y, PTR)
SHORT = np.arange(0, N + 1, 40).astype(np.intp)
SHORT_ORDER, SHORT_LOWER = _segments.label_order(Y, SHORT)
NUMBER = np.zeros(D, dtype=np.uint8)
BOUNDS = np.full((D, 255), np.inf, dtype=np.float32)
N_BINS = (
    _binning.find_thresholds(X, np.arange(N, dtype=np.int32), 255, NUMBER, BOUNDS) + 1
)
BINS = _binning.bin_matrix(X, BOUNDS, NUMBER)
ENTRIES = (
    np.arange(N + 1) * 4,
    np.tile(np.arange(0, D, D // 4, dtype=np.int32), N),
    X[:, :4].ravel().copy(),
)
TEXT = np.frombuffer(b"1 qid:1 1:0.25 2:1e-3 7:3\n" * 50_000, dtype=np.uint8)
DISCOUNT = 1.0 / np.log2(np.arange(N) + 2.0)

# Scores so far apart that the edges are sorted, which takes memory.
EDGES = 1e3 * X[:, 0].astype(float), None, SHORT, SHORT_ORDER, SHORT_LOWER, None, False


def tree(n_threads):
    signs = np.zeros(D, dtype=np.int8)
    grower = _grower.Grower(BINS, N, N_BINS.astype(np.int32), NUMBER, signs)
    grower.grow(Y, max_leaf_nodes=200, n_threads=n_threads)
    grower.add_to(np.zeros((N, 1)))


def sparse_tree(n_threads):
    signs, n_bins = np.zeros(D, dtype=np.int8), np.full(D, 255, dtype=np.int32)
    place = np.arange(len(ENTRIES[1])).astype(np.uint8)
    bins = (*ENTRIES[:2], place, np.zeros(D, dtype=np.uint8))
    grower = _grower.Grower(bins, N, n_bins, NUMBER, signs)
    for growth in _grower.GROWTH:
        grower.grow(
            Y, growth=growth, max_leaf_nodes=200, max_depth=7, n_threads=n_threads
        )


def lambdas(n_threads):
    # Only the first few ranks count, because the queries are long.
    options = None, ORDER, LOWER, 1.0, 3, False, 0.0, n_threads
    scale, kind = np.ones(len(PTR) - 1), _pair_losses.KINDS[0]
    _pair_losses.lambda_loss(Y, PTR, kind, Y, DISCOUNT, scale, *options)


CASES = {
    "softmax": lambda n: _segments.segment_softmax(Y, PTR, n),
    "hinge": lambda n: _pair_losses.hinge(
        Y, PTR, ORDER, LOWER, None, 1.0, True, np.inf, 0.0, n
    ),
    "logistic": lambda n: _pair_losses.logistic(
        Y, SHORT, SHORT_ORDER, SHORT_LOWER, None, 1.0, True, n
    ),
    "lambda": lambdas,
    "edges": lambda n: _list_losses.edge_pairs(*EDGES, n),
    "potential": lambda n: _energies.potential_scores(
        np.ones((N, 8)), SHORT, np.ones(4), 0.0, False, n
    ),
    "ranking": lambda n: _measures.rank_rows(Y, None, PTR, n),
    "thresholds": lambda n: _binning.find_thresholds(
        X, np.arange(N, dtype=np.int32), 255, NUMBER, BOUNDS, n
    ),
    "bins": lambda n: _binning.bin_matrix(X, BOUNDS, NUMBER, n),
    "sparse thresholds": lambda n: _binning.find_sparse_thresholds(
        *ENTRIES, np.arange(N, dtype=np.int32), 255, NUMBER, n
    ),
    "tree": tree,
    "sparse tree": sparse_tree,
    "reader": lambda n: _letor.parse_letor(TEXT, np.float64, False, None, n),
    "sparse reader": lambda n: _letor.parse_letor(TEXT, np.float32, True, None, n),
    "writer": lambda n: _letor.format_dense(X, Y, [b"1"] * N, [b""] * N, False),
}


def address_space():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def run(case, room, n_threads):
    """Call with little room; return whether it raised MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + room, hard))
    try:
        CASES[case](n_threads)
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return False


if __name__ == "__main__":
    n_raised = 0
    for room in (0, MIB // 2, 2 * MIB, 9 * MIB):
        for case in CASES:
            for n_threads in (8, 1):
                if "-v" in sys.argv:
                    print(room / MIB, case, n_threads, flush=True)
                n_raised += run(case, room, n_threads)
    print(n_raised > 10)
