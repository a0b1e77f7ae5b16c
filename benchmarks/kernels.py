"""Loss kernels: milliseconds per value and gradient, compiled against NumPy.

``python -m benchmarks.kernels`` prints the table; ``--json PATH`` writes it as well.
The data have 6,000 queries, about 720,000 documents and 33 million preference pairs.

One thread is measured in processor time, so that other work on the machine counts as
little as possible; two threads in elapsed time. Every round runs all contestants once,
in turn; a figure is the minimum over rounds, and the median stands in the JSON file.
The target of a kernel is 1.5 times what the best prototype took on the machine it was
measured on; on another machine only the ratio to NumPy means something.
"""

import argparse
import time
from dataclasses import asdict, dataclass, field

import numpy as np

from benchmarks.data import make_kernel_data
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank._core import (
    _list_losses,
    _pair_losses,
    _segments,
    _smooth_measures,
)

ALLOWANCE = 1.5


class Problem:
    """What the kernels take, and padded pairs for NumPy.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    """

    def __init__(self, n_queries):
        data, self.scores = make_kernel_data(n_queries)
        self.y, self.ptr = data.y, data.ptr
        self.sizes = np.diff(self.ptr)
        self.order, self.lower = _segments.label_order(self.y, self.ptr)
        self.n_pairs = int((np.repeat(self.sizes, self.sizes) - self.lower).sum())
        self.ones = np.ones(n_queries)
        self.target, _ = _segments.segment_softmax(self.y, self.ptr)
        self.gain = np.exp2(self.y) - 1.0
        self.discount = 1.0 / np.log2(np.arange(self.sizes.max()) + 2.0)
        self.query = np.repeat(np.arange(n_queries), self.sizes)
        self.rows = self.order + self.ptr[self.query]  # rows by query and grade
        ranks = np.arange(len(self.y)) - self.ptr[self.query]
        ideal = np.add.reduceat(
            self.gain[self.rows] * self.discount[ranks], self.ptr[:-1]
        )
        self.scale = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)

    def blocks(self, limit=200_000):
        """Queries of similar size as padded (rows, mask), within ``limit`` pairs."""
        by_size = np.argsort(-self.sizes, kind="stable")
        start = 0
        while start < len(by_size):
            width = int(self.sizes[by_size[start]])
            chosen = by_size[start : start + max(1, limit // width**2)]
            start += len(chosen)
            inside = np.arange(width) < self.sizes[chosen][:, None]
            rows = np.where(inside, self.ptr[chosen][:, None] + np.arange(width), 0)
            yield chosen, rows, inside


def numpy_pairs(problem, pair_terms):
    """Sum ``pair_terms(gap)`` -> (loss, slope) over padded blocks of all pairs."""
    total, gradient = 0.0, np.zeros_like(problem.scores)
    for _, rows, inside in problem.blocks():
        y, s = np.where(inside, problem.y[rows], np.inf), problem.scores[rows]
        pairs = (y[:, :, None] > y[:, None, :]) & inside[:, :, None]
        loss, slope = pair_terms(s[:, :, None] - s[:, None, :])
        total += np.sum(loss * pairs)
        slope = slope * pairs
        gradient[rows[inside]] = (slope.sum(axis=2) - slope.sum(axis=1))[inside]
    return total, gradient


def logistic_terms(gap):
    """Loss and slope of the logistic function of a gap of scores."""
    e = np.exp(-gap)
    return np.log1p(e), -e / (1.0 + e)


def squared_hinge_terms(gap):
    """Loss and slope of the squared hinge of a gap of scores."""
    slack = np.maximum(0.0, 1.0 - gap)
    return slack * slack, -2.0 * slack


def numpy_lambda(problem, truncation=None):
    """Gradient and Hessian of lambda-weighted pairs, in padded blocks."""
    gradient, hessian = np.zeros_like(problem.scores), np.zeros_like(problem.scores)
    for queries, rows, inside in problem.blocks():
        s = np.where(inside, problem.scores[rows], -np.inf)
        ranks = np.argsort(np.argsort(-s, axis=1, kind="stable"), axis=1)
        gain, discount = problem.gain[rows], problem.discount[ranks]
        weight = np.maximum(gain[:, :, None] - gain[:, None, :], 0.0)
        weight *= np.abs(discount[:, :, None] - discount[:, None, :])
        weight *= (inside[:, :, None] & inside[:, None, :]) * problem.scale[
            queries, None, None
        ]
        if truncation is not None:
            top = ranks < truncation
            weight *= top[:, :, None] | top[:, None, :]
        s = problem.scores[rows]
        wrong = 1.0 / (1.0 + np.exp(s[:, :, None] - s[:, None, :]))
        pull = weight * wrong
        curvature = pull * (1.0 - wrong)
        gradient[rows[inside]] = (pull.sum(axis=1) - pull.sum(axis=2))[inside]
        hessian[rows[inside]] = (curvature.sum(axis=1) + curvature.sum(axis=2))[inside]
    return gradient, hessian


def numpy_listnet(problem):
    """ListNet by reductions over segments."""
    starts, query, s = problem.ptr[:-1], problem.query, problem.scores
    gap = s - np.maximum.reduceat(s, starts)[query]
    e = np.exp(gap)
    total = np.add.reduceat(e, starts)
    loss = np.log(total) - np.add.reduceat(problem.target * gap, starts)
    return loss.sum(), e / total[query] - problem.target


def numpy_listmle(problem):
    """ListMLE by cumulative sums; loses digits that the kernel keeps."""
    starts, query = problem.ptr[:-1], problem.query
    x = problem.scores[problem.rows]
    gap = x - np.maximum.reduceat(x, starts)[query]
    e = np.exp(gap)
    tail = np.cumsum(e[::-1])[::-1]
    after = np.append(tail[problem.ptr[1:-1]], 0.0)
    tail = np.maximum(tail - after[query], 1e-300)
    inverse = np.cumsum(1.0 / tail)
    before = np.concatenate(([0.0], inverse[problem.ptr[1:-1] - 1]))
    gradient = np.empty_like(x)
    gradient[problem.rows] = e * (inverse - before[query]) - 1.0
    return np.sum(np.log(tail) - gap), gradient


def numpy_approx_ndcg(problem):
    """ApproxNDCG, in padded blocks."""
    total, gradient = 0.0, np.zeros_like(problem.scores)
    for queries, rows, inside in problem.blocks():
        s = problem.scores[rows]
        above = 1.0 / (1.0 + np.exp(s[:, :, None] - s[:, None, :]))
        above *= inside[:, None, :]
        logs = np.log2(1.5 + above.sum(axis=2))
        gain = problem.gain[rows] * inside * problem.scale[queries, None]
        total -= np.sum(gain / logs)
        pull = gain / (np.log(2.0) * np.exp2(logs) * logs**2)
        slope = pull[:, :, None] * above * (1.0 - above)
        gradient[rows[inside]] = (slope.sum(axis=1) - slope.sum(axis=2))[inside]
    return total, gradient


def run_approx_ndcg(p, n_threads):
    """ApproxNDCG of whole lists."""
    return _smooth_measures.sigmoid_ranks(
        p.scores,
        p.ptr,
        0,
        p.gain,
        -p.scale,
        p.discount,
        p.discount,
        0,
        0.0,
        1.0,
        1.0,
        n_threads,
    )


def run_ranknet(p, n_threads):
    """RankNet pairs."""
    return _pair_losses.logistic(
        p.scores, p.ptr, p.order, p.lower, None, 1.0, False, n_threads
    )


def run_hinge(p, n_threads):
    """Squared hinge pairs."""
    return _pair_losses.hinge(
        p.scores, p.ptr, p.order, p.lower, None, 1.0, True, np.inf, 0.0, n_threads
    )


def run_lambda(p, n_threads, truncation=0):
    """Lambda-weighted pairs with the NDCG of whole lists."""
    return _pair_losses.lambda_loss(
        p.scores,
        p.ptr,
        "gain_discount",
        p.gain,
        p.discount,
        p.scale,
        None,
        p.order,
        p.lower,
        1.0,
        truncation,
        False,
        0.0,
        n_threads,
    )


def run_listnet(p, n_threads):
    """ListNet."""
    return _list_losses.softmax_cross_entropy(
        p.scores, p.ptr, p.target, p.ones, n_threads
    )


def run_listmle(p, n_threads):
    """ListMLE with a fixed order."""
    return _list_losses.plackett_luce(
        p.scores, p.ptr, p.order, None, p.ones, 0, n_threads
    )


# name, NumPy, compiled, milliseconds of the best prototype
KERNELS = [
    ("RankNet, all pairs", lambda p: numpy_pairs(p, logistic_terms), run_ranknet, 25.0),
    ("LambdaRank, all pairs", numpy_lambda, run_lambda, 91.0),
    (
        "LambdaRank, truncation 30",
        lambda p: numpy_lambda(p, 30),
        lambda p, n_threads: run_lambda(p, n_threads, 30),
        45.0,
    ),
    (
        "squared hinge",
        lambda p: numpy_pairs(p, squared_hinge_terms),
        run_hinge,
        35.0,
    ),
    ("ListNet", numpy_listnet, run_listnet, 1.7),
    ("ListMLE", numpy_listmle, run_listmle, 3.3),
    ("ApproxNDCG", numpy_approx_ndcg, run_approx_ndcg, 49.0),
]


@dataclass
class Row:
    """One kernel's measurements, in milliseconds."""

    kernel: str
    target: float
    numpy: list[float] = field(default_factory=list)
    one_thread: list[float] = field(default_factory=list)
    two_threads: list[float] = field(default_factory=list)


def milliseconds(clock, function, *arguments):
    """Time one call."""
    start = clock()
    function(*arguments)
    return 1e3 * (clock() - start)


def measure(problem, repeats, numpy_repeats):
    """Run all contestants in turn, round after round."""
    rows = [Row(name, ALLOWANCE * best) for name, _, _, best in KERNELS]
    for repeat in range(repeats):
        for row, (_, reference, compiled, _) in zip(rows, KERNELS):
            if repeat < numpy_repeats:
                row.numpy.append(milliseconds(time.process_time, reference, problem))
            row.one_thread.append(milliseconds(time.process_time, compiled, problem, 1))
            row.two_threads.append(
                milliseconds(time.perf_counter, compiled, problem, 2)
            )
    return rows


def print_table(rows):
    """Print minima."""
    header = ("kernel", "NumPy", "1 thread", "2 threads", "speed-up", "target", "")
    print(f"{header[0]:26s}" + "".join(f"{title:>11s}" for title in header[1:]))
    for row in rows:
        reference, one, two = min(row.numpy), min(row.one_thread), min(row.two_threads)
        verdict = "pass" if one <= row.target else "FAIL"
        print(
            f"{row.kernel:26s}{reference:11.1f}{one:11.2f}{two:11.2f}"
            f"{reference / one:10.1f}x{row.target:11.2f}{verdict:>11s}"
        )


def main(argv=None):
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--numpy-repeats", type=int, default=3)
    add_outputs(parser)
    options = parser.parse_args(argv)
    problem = Problem(options.queries)
    print(
        f"{len(problem.y):,} documents, {options.queries:,} queries, "
        f"{problem.n_pairs:,} pairs; milliseconds, minima of {options.repeats} rounds"
    )
    rows = measure(problem, options.repeats, options.numpy_repeats)
    print_table(rows)
    record = [
        asdict(row)
        | {
            f"{name}_{statistic.__name__}": float(statistic(getattr(row, name)))
            for name in ("numpy", "one_thread", "two_threads")
            for statistic in (np.min, np.median)
        }
        for row in rows
    ]
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """Milliseconds of every kernel."""
    times = {"NumPy": "numpy", "1 thread": "one_thread", "2 threads": "two_threads"}
    return bar_figure(
        [
            Panel(f"{label}, ms", {row["kernel"]: row[f"{name}_min"] for row in record})
            for label, name in times.items()
        ]
    )


if __name__ == "__main__":
    main()
