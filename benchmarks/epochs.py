"""Seconds per epoch of the energy-based rankers, and how they grow with query length.

``python -m benchmarks.epochs`` trains each ranker for a few epochs on MQ2008 (15,211
documents of 784 queries, read from the folder named by SKRANK_DATA), on 1,000 queries
with about 120,000 documents and 136 features, and on 20,000 documents cut into queries
of 25, 50, 100, 200 and 400.

A figure is the median time between two calls of the callback, so it holds everything an
epoch (of a stochastic solver) or an iteration (of L-BFGS, which may evaluate the
objective more than once) needs, and nothing of reading, checking and sorting; those
stand in the column "prepare": the time to the end of the first epoch less one epoch.
The exponent is the slope of log time over log query length between the three longest.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.data import make_mslr_like
from benchmarks.outputs import add_outputs, line_figure, write_outputs
from skrank.datasets import load_letor
from skrank.rankers import (
    BoltzRank,
    EnergyListwise,
    EnergyPairwise,
    EnergyPointwise,
    GERank,
    RankNet,
    StructRank,
)
from skrank.solvers import Adam

LENGTHS = (25, 50, 100, 200, 400)
N_GROWTH = 20_000


@dataclass
class Contestant:
    """A ranker to time.

    ``longest`` leaves out data with longer queries, where an epoch takes minutes.
    """

    name: str
    make: Callable
    longest: int | None = None


def adam(make, **params):
    """With a mini-batch solver, so that an epoch is one pass over the data."""
    return lambda: make(solver=Adam(), **params)


CONTESTANTS = [
    Contestant("RankNet, 64 hidden", adam(RankNet, hidden_layer_sizes=(64,))),
    Contestant("EnergyPointwise", adam(EnergyPointwise)),
    Contestant("EnergyPointwise, L-BFGS", lambda: EnergyPointwise(solver="lbfgs")),
    Contestant("EnergyPointwise, paper's SGD", lambda: EnergyPointwise(solver="sgd")),
    Contestant("EnergyPairwise", adam(EnergyPairwise)),
    Contestant("EnergyPairwise, paper's SGD", lambda: EnergyPairwise(solver="sgd")),
    Contestant("EnergyListwise", adam(EnergyListwise)),
    Contestant("EnergyListwise, paper's SGD", lambda: EnergyListwise(solver="sgd")),
    Contestant("BoltzRank1", adam(BoltzRank)),
    Contestant("BoltzRank2", adam(BoltzRank, pairwise_potential=True)),
    Contestant("StructRank, disconnected", adam(StructRank, topology="disconnected")),
    Contestant("StructRank, random", adam(StructRank, topology="random")),
    Contestant("StructRank, full", adam(StructRank, topology="full")),
    Contestant("GERank", adam(GERank)),
]


def standardized(X):
    """Features with short tails, mean 0 and variance 1."""
    X = np.sign(X) * np.log1p(np.abs(X))
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)


def growth_data(length):
    """About the same rows, cut into queries of one length."""
    data = make_mslr_like(N_GROWTH // 100, seed=4)
    n = min(N_GROWTH, len(data.y)) // LENGTHS[-1] * LENGTHS[-1]
    return standardized(data.X[:n]), data.y[:n], np.arange(n) // length


def epoch_seconds(make, X, y, groups, n_epochs, n_jobs):
    """Seconds per epoch (median), and seconds before the first."""
    stamps = [time.perf_counter()]
    ranker = make().set_params(
        max_iter=n_epochs + 1,
        n_jobs=n_jobs,
        random_state=0,
        callback=lambda info: stamps.append(time.perf_counter()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, groups)
    steps = np.diff(stamps)
    epoch = float(np.median(steps[1:])) if len(steps) > 1 else float(steps[0])
    return epoch, max(0.0, float(steps[0]) - epoch)


def exponent(seconds):
    """Slope of log time over log length between the longest three."""
    lengths = [m for m in LENGTHS if m in seconds][-3:]
    if len(lengths) < 3:
        return float("nan")
    return float(
        np.polyfit(np.log(lengths), np.log([seconds[m] for m in lengths]), 1)[0]
    )


def problems(options):
    """Name and rows of each data set."""
    folder = Path(os.environ.get("SKRANK_DATA", "../shared/data")) / "MQ2008"
    if folder.is_dir():
        parts = [
            load_letor(folder / "Fold1" / f"{p}.txt") for p in ("train", "vali", "test")
        ]
        X = np.concatenate([part.X for part in parts])
        y = np.concatenate([part.y for part in parts])
        groups = np.concatenate([part.groups for part in parts])
        yield "MQ2008", X, y, groups
    else:
        print(f"no MQ2008 in {folder}; set SKRANK_DATA to include it")
    large = make_mslr_like(options.queries, seed=1)
    yield (
        f"{len(large.y) // 1000}k documents",
        standardized(large.X),
        large.y,
        large.groups,
    )
    for length in LENGTHS:
        yield f"m = {length}", *growth_data(length)


def table(names, columns, figures):
    """Aligned text: seconds per epoch, and the exponent of growth."""
    width = max(map(len, names)) + 2
    wide = [max(len(c), 9) + 2 for c in columns]
    head = f"{'seconds per epoch':<{width}}"
    head += "".join(f"{c:>{w}}" for c, w in zip(columns, wide)) + f"{'exponent':>10}"
    lines = [head, "-" * len(head)]
    for name in names:
        cells = "".join(
            f"{figures[name][c][0]:>{w}.4f}" if c in figures[name] else f"{'-':>{w}}"
            for c, w in zip(columns, wide)
        )
        grown = {
            m: figures[name][f"m = {m}"][0]
            for m in LENGTHS
            if f"m = {m}" in figures[name]
        }
        lines.append(f"{name:<{width}}{cells}{exponent(grown):>10.2f}")
    return "\n".join(lines)


def main(argv=None):
    """Time every ranker on every data set and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.epochs", description=__doc__
    )
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rankers", nargs="+", help="parts of names to keep")
    add_outputs(parser)
    options = parser.parse_args(argv)
    kept = [
        c
        for c in CONTESTANTS
        if not options.rankers or any(part in c.name for part in options.rankers)
    ]
    figures = {c.name: {} for c in kept}
    columns = []
    for column, X, y, groups in problems(options):
        columns.append(column)
        longest = np.unique(groups, return_counts=True)[1].max()
        for contestant in kept:
            if contestant.longest is not None and longest > contestant.longest:
                continue
            figures[contestant.name][column] = epoch_seconds(
                contestant.make, X, y, groups, options.epochs, options.jobs
            )
        print(
            f"  {column}: {len(y)} documents, {longest} in the longest query",
            flush=True,
        )
    print(table([c.name for c in kept], columns, figures))
    write_outputs(options, figures, lambda: draw(figures))


def draw(figures):
    """Seconds per epoch over the number of documents of a query."""
    lines = {
        name: {m: found[f"m = {m}"][0] for m in LENGTHS if f"m = {m}" in found}
        for name, found in figures.items()
    }
    return line_figure(lines, "documents of a query", "seconds per epoch")


if __name__ == "__main__":
    main()
