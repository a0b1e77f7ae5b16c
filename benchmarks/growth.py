"""Growth of smooth measures with the length of queries.

``python -m benchmarks.growth`` times one value with its gradient of every method of
`skrank.losses.SmoothMeasureLoss`, for whole lists and with a cut-off, on 8,000
documents cut into queries of 25, 50, 100, 200 and 400. A figure is the minimum over
rounds of the processor's milliseconds on one thread; every round runs all contestants
once, in turn. The exponent is the slope of log time over log query length between the
three longest, so 0 stands for a time that grows with the number of documents alone.
"""

import argparse
import time
from typing import get_args

import numpy as np

from benchmarks.data import make_kernel_data
from benchmarks.epochs import LENGTHS, exponent
from benchmarks.outputs import add_outputs, line_figure, write_outputs
from skrank.losses import smooth
from skrank.losses._smooth_measure import Method

N_DOCUMENTS = 8_000
MEASURES = ("ndcg", "ndcg@10", "map")


def contestants():
    """Grades and scores in queries of one length, bound to each loss, by row."""
    data, scores = make_kernel_data(N_DOCUMENTS // 100)
    y, scores = np.asarray(data.y)[:N_DOCUMENTS], scores[:N_DOCUMENTS]
    found = {}
    for method in get_args(Method):
        for measure in MEASURES:
            loss = smooth(measure, method)
            found[f"{method}, {measure}"] = {
                m: (loss.prepare(y, np.arange(0, len(y) + 1, m), n_threads=1), scores)
                for m in LENGTHS
            }
    return found


def seconds(prepared, scores):
    """Seconds of the processor for one value with its gradient."""
    start = time.process_time()
    prepared.value_gradient(scores)
    return time.process_time() - start


def table(figures):
    """Aligned text."""
    width = max(map(len, figures)) + 2
    titles = [f"m = {m}" for m in LENGTHS]
    head = f"{'milliseconds':<{width}}" + "".join(f"{t:>10}" for t in titles)
    lines = [f"{head}{'exponent':>10}"]
    for name, row in figures.items():
        cells = "".join(f"{1e3 * row[m]:>10.2f}" for m in LENGTHS)
        lines.append(f"{name:<{width}}{cells}{exponent(row):>10.2f}")
    return "\n".join(lines)


def main(argv=None):
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", help="parts of names to keep")
    add_outputs(parser)
    options = parser.parse_args(argv)
    rows = {
        name: row
        for name, row in contestants().items()
        if not options.methods or any(part in name for part in options.methods)
    }
    figures = {name: dict.fromkeys(LENGTHS, np.inf) for name in rows}
    for _ in range(options.rounds):
        for name, row in rows.items():
            for m, problem in row.items():
                figures[name][m] = min(figures[name][m], seconds(*problem))
    print(table(figures))
    write_outputs(
        options, figures, lambda: line_figure(figures, "documents of a query", "s")
    )


if __name__ == "__main__":
    main()
