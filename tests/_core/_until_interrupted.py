"""Program of `test_interrupts`: compiled loops that only Ctrl-C ends in time.

Each would run for minutes. Prints the names of those from which no KeyboardInterrupt
came; a loop that does not answer keeps the program until the test gives up.
"""

import os
import signal
import sys
import threading
import time

import numpy as np
from numpy.testing import assert_array_equal

from skrank._core import (
    _choices,
    _energies,
    _letor,
    _list_losses,
    _measures,
    _pair_losses,
    _rank_perceptrons,
    _segments,
    _smooth_measures,
)
from skrank._core._in_steps import gram_of
from skrank.energies import KernelEnergy
from skrank.online import _interleaving
from skrank.rankers import RankNet
from skrank.trees import _binning, _forest, _grower

LONG = 400_000  # documents of a query with 10¹¹ pairs


def queries(sizes):
    """Grades, scores, pointer array, order and lower places."""
    rng = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    y = rng.integers(0, 5, ptr[-1]).astype(np.float64)
    return y, rng.normal(size=len(y)), ptr, *_segments.label_order(y, ptr)


def with_long(first):
    """Queries that two threads share: one is long, the first or the last."""
    sizes = [2] * 63
    return [LONG, *sizes] if first else [*sizes, LONG]


def logistic(n_threads, first=True):
    _, x, ptr, order, lower = queries(with_long(first))
    options = None, 1.0, True, n_threads
    return lambda: _pair_losses.logistic(x, ptr, order, lower, *options)


def sigmoid():
    _, x, ptr, order, lower = queries(with_long(True))
    return lambda: _pair_losses.sigmoid(x, ptr, order, lower, None, 1.0, 2)


def lambdas():
    y, x, ptr, order, lower = queries(with_long(False))
    discount = 1.0 / np.log2(np.arange(LONG) + 2.0)
    scale, kind = np.ones(len(ptr) - 1), _pair_losses.KINDS[0]
    return lambda: _pair_losses.lambda_loss(
        x, ptr, kind, y, discount, scale, None, order, lower, 1.0, 0, False, 0.0, 2
    )


def edges(n_documents, direct):
    _, x, ptr, order, lower = queries([n_documents])
    options = None, direct, 2
    return lambda: _list_losses.edge_pairs(x, None, ptr, order, lower, *options)


def smooth(form, by_sigmoids):
    """A measure in which every relevant document meets every other one."""
    _, x, ptr, _, _ = queries([LONG])
    whole = x, ptr, form, np.full(LONG, 0.5), np.ones(1), np.ones(LONG)
    if by_sigmoids:
        slope, rule = np.zeros(LONG), 1
        return lambda: _smooth_measures.sigmoid_ranks(
            *whole, slope, rule, 0.0, 1.0, 1.0, 2
        )
    x, ptr, form, gain, factor, discount = whole
    return lambda: _smooth_measures.noisy_scores(
        x, None, ptr, form, gain, factor, discount, False, 1.0, 2
    )


def cascade(share):
    """A block of equal scores, a share of which might stop a user, if hardly ever."""
    stop = np.zeros(LONG)
    stop[: int(share * LONG)] = 1e-9
    equal, ptr = np.zeros(LONG), np.array([0, LONG])
    return lambda: _measures.cascade(stop, equal, ptr, np.ones(LONG), 2)


def line(exact):
    """A line along which the documents of a long query change places."""
    _, x, ptr, order, _ = queries([20_000 if exact else LONG])
    direction = np.random.default_rng(1).normal(size=len(x))
    n, kind = len(x), _measures.KINDS.index("gain_discount")
    terms = ptr, kind, np.ones(n), np.ones(n), np.ones(1), np.ones(1), 2
    if exact:
        return lambda: _measures.best_on_line(x, direction, 0.0, *terms)
    order = np.argsort(-x).astype(np.int32)
    steps = np.array([-1.0, 0.0, 1.0])
    return lambda: _measures.exact_values_on_grid(x, direction, order, steps, 1, *terms)


def many_queries():
    sizes = [1000] * 500
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    rows = np.ones((ptr[-1], 100))
    return lambda: _energies.potential_scores(rows, ptr, np.ones(50), 0.0, False, 2)


def perceptron():
    """A stream that brings one long row again and again."""
    row, place = np.ones((1, 100_000)), np.zeros(1, dtype=np.int32)
    order, params = np.zeros(5_000_000, dtype=np.intp), np.zeros((1, row.size + 1))
    options = 1, 1.0, 0, 0, 1
    return lambda: _rank_perceptrons.learn_dense(
        row, place, None, order, params, *options
    )


def tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 100)).astype(np.float32)
    d = X.shape[1]
    number, bounds = np.zeros(d, dtype=np.uint8), np.full((d, 255), np.inf, np.float32)
    rows = np.arange(20_000, dtype=np.int32)
    n_bins = _binning.find_thresholds(X, rows, 255, number, bounds) + 1
    bins = _binning.bin_matrix(X, bounds, number)
    grower = _grower.Grower(
        bins, len(X), n_bins.astype(np.int32), number, np.zeros(d, dtype=np.int8)
    )
    gradient = rng.normal(size=len(X))
    options = {"max_leaf_nodes": 200_000, "min_samples_leaf": 1, "n_threads": 2}
    return lambda: grower.grow(gradient, **options)


def sparse_tree():
    """A tree that is interrupted leaves no sums to the next one."""
    rng, n, d, per_row = np.random.default_rng(0), 100_000, 6_000, 30
    feature = rng.integers(0, d // per_row, size=(n, per_row), dtype=np.int32)
    feature += np.arange(0, d, d // per_row, dtype=np.int32)
    place = rng.integers(1, 255, size=n * per_row, dtype=np.uint8)
    common, signs = np.zeros(d, dtype=np.uint8), np.zeros(d, dtype=np.int8)
    bins = np.arange(n + 1) * per_row, feature.ravel(), place, common
    gradient, few = rng.normal(size=n), np.arange(0, n, 2_000, dtype=np.int32)

    def new():
        return _grower.Grower(bins, n, np.full(d, 255, np.int32), common, signs)

    grower = new()

    def grow():
        try:
            options = {"max_leaf_nodes": n, "min_samples_leaf": 1, "n_threads": 2}
            grower.grow(gradient, **options)
        finally:
            pair = grower, new()
            trees = [g.grow(gradient, None, few, min_samples_leaf=1) for g in pair]
            assert len(trees[0]["feature"]) > 1
            for name, values in trees[0].items():
                assert_array_equal(values, trees[1][name])

    return grow


def stumps(n_background):
    """Shapley values of very many trees of one split."""
    n, X = 100_000, np.ones((200_000, 2))

    def nodes(root, leaf, dtype=None):
        return np.array([root, leaf, leaf] * n, dtype=dtype)

    left = nodes(1, -1, np.int32)
    left[::3] += 3 * np.arange(n, dtype=np.int32)
    arrays = [
        *(nodes(0, -1, np.int32), nodes(0.5, np.inf), left, nodes(1, 0, np.uint8)),
        *(nodes(-1, -1, np.int32), nodes(0.0, 1.0), 3 * np.arange(n)),
        *(np.zeros(n, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64)),
        *(nodes(2, 1), np.ones(n)),
    ]
    return lambda: _forest.contributions(X, X[:n_background], *arrays, 2)


def reader():
    line = b"1 qid:1 " + b" ".join(
        b"%d:0.123456789012345678" % k for k in range(1, 400)
    )
    text = np.frombuffer((line + b"\n") * 20_000, dtype=np.uint8)

    def read():
        while True:
            _letor.parse_letor(text, np.float64, False, None, 2)

    return read


def warm_ranker():
    """A fit that is interrupted leaves the ranker as the last fit did."""
    _, x, _, _, _ = queries([200])
    X, groups = x.reshape(-1, 2), np.repeat([0, 1], 50)
    ranker = RankNet(max_iter=30, tol=1e-3, warm_start=True, random_state=0)
    y = (X[:, 0] > 0).astype(float)
    ranker.fit(X, y, groups)
    before = {k: np.copy(v) for k, v in vars(ranker).items() if k[-1] == "_"}
    many = np.resize(X, (LONG, 2)), np.resize(y, LONG), np.zeros(LONG)

    def fit():
        try:
            ranker.fit(*many)
        finally:
            assert before.keys() == {k for k in vars(ranker) if k[-1] == "_"}
            for name in ("params_", "loss_curve_", "query_ids_", "n_iter_"):
                assert_array_equal(getattr(ranker, name), before[name])

    return fit


def gram():
    """Products of the columns of a matrix whose rows take no memory."""
    row = np.random.default_rng(0).normal(size=500)
    return lambda: gram_of(np.broadcast_to(row, (10**8, 500)))


def exact_kernel():
    """A factorisation that has no steps, of a kernel with as many landmarks as rows."""
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    energy = KernelEnergy(kernel="linear", n_components=None)
    return lambda: energy.setup(X, np.random.RandomState(0))


def correlations():
    """Rankings of a long query, whose batches of pairs are short."""
    values, ptr = np.random.default_rng(0).normal(size=(20, LONG)), np.array([0, LONG])
    return lambda: _choices.kendall_sums(values, ptr, False, 2)


def clicks_on(spread):
    """A long list, every second document of which is clicked."""
    n = 40_000
    ptr, shown = np.array([0, n]), np.arange(n, dtype=np.int32)
    scores = spread * np.random.default_rng(0).normal(size=n)
    clicks = (shown % 2).astype(np.uint8)
    return lambda: _interleaving.preference_gradient(scores, ptr, shown, ptr, clicks)


CASES = {
    "one thread": lambda: logistic(1),
    "long query first": lambda: logistic(2),
    "long query last": lambda: logistic(2, first=False),
    "sigmoid": sigmoid,
    "lambda": lambdas,
    "edges": lambda: edges(2_000, True),
    "series over edges": lambda: edges(LONG, False),
    "precision of sigmoids": lambda: smooth(1, True),
    "cascade of sigmoids": lambda: smooth(2, True),
    "cascade of equal scores": lambda: cascade(1.0),
    "cascade of few documents": lambda: cascade(0.4),
    "ranks of noisy scores": lambda: smooth(1, False),
    "line, exact": lambda: line(True),
    "line, on a grid": lambda: line(False),
    "many queries": many_queries,
    "perceptron": perceptron,
    "tree": tree,
    "sparse tree": sparse_tree,
    "stumps by covers": lambda: stumps(0),
    "stumps against rows": lambda: stumps(3),
    "reader": reader,
    "products of columns": gram,
    "rank correlations": correlations,
    "clicks on a long list": lambda: clicks_on(1.0),
    "clicks on scores far apart": lambda: clicks_on(1e3),
    "warm ranker": warm_ranker,
    "exact kernel": exact_kernel,  # the last one, for whose thread the program waits
}


def is_interrupted(prepare):
    function = prepare()

    def press():
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=press)
    try:
        presses.start()
        function()
    except KeyboardInterrupt:
        return True
    finally:
        presses.join()
    return False


if __name__ == "__main__":
    # A shell starts what runs in the background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failed = []
    for name, prepare in CASES.items():
        start = time.perf_counter()
        if not is_interrupted(prepare):
            failed.append(name)
        if "-v" in sys.argv:
            print(f"{name}: {time.perf_counter() - start:.2f} s", flush=True)
    print(*failed, sep="\n")
    sys.exit(bool(failed))
