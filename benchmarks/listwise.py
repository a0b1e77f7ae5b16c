"""The textbook's listwise rankers on tasks that RankLib's users know.

``python -m benchmarks.peers listwise`` trains on 500 queries of 20 documents with 46
features and measures NDCG@10 on 500 other queries. A figure is the minimum over rounds
that run all contestants in turn, of wall-clock seconds and of the processor's.

``listnet``
    ListNet by its defaults and over lists of two; the loss and the steps of RankLib,
    which are 1500 epochs with a step of 1e-5 after every query, in one step per epoch;
    and so many steps that are of the length that suits the data.
``search``
    Rankers that search for the measure itself. "As RankLib" stands for the amount of
    search that RankLib makes by default: five starts, 25 steps to each side and
    tolerance 0.001, or 500 rounds with tolerance 0.002 that end when the measure falls.
"""

import argparse
import time
from functools import partial

import numpy as np

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score
from skrank.rankers import AdaRank, CoordinateAscent, ListNet, RankGP
from skrank.solvers import BaseSolver, SolverResult

RANKLIB_EPOCHS, RANKLIB_RATE = 1500, 1e-5


class Descent(BaseSolver):
    """Gradient descent with one step after every pass over all queries.

    Parameters
    ----------
    rate : float
        Length of a step, relative to the gradient of the mean loss.
    max_iter : int
        Number of steps.
    """

    short_name = "descent"

    rate: float = 1.0
    max_iter: int = RANKLIB_EPOCHS

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective."""
        params, value = np.array(params, dtype=float), np.nan
        for _ in range(self.max_iter):
            value, gradient = objective.value_gradient(params)
            params -= self.rate * gradient
        return SolverResult(params, self.max_iter, value, True, [])


def task():
    """Rows, grades and queries, and which rows train."""
    X, y, groups = make_ranking(
        n_queries=1000, docs_per_query=20, n_features=46, n_grades=5, random_state=0
    )
    return X, y, groups, groups < 500


def listnet(n_threads):
    """Makers of the contestants with ListNet's loss."""
    make = partial(ListNet, n_jobs=n_threads)
    epochs = f"{RANKLIB_EPOCHS} epochs"
    # A sum over the queries of steps that RankLib makes one after the other.
    steps = Descent(rate=500 * RANKLIB_RATE)
    return {
        "ListNet": make,
        "ListNet, top 2": partial(make, top_k=2),
        f"ListNet, {epochs}, RankLib's step": partial(make, solver=steps, alpha=0.0),
        f"ListNet, {epochs}": partial(make, solver=Descent(rate=1.0)),
    }


def search(n_threads):
    """Makers of the contestants that search for a measure directly."""
    ascent = partial(CoordinateAscent, n_jobs=n_threads, random_state=0)
    boosted = partial(AdaRank, n_jobs=n_threads)
    return {
        "CoordinateAscent, as RankLib": ascent,
        "CoordinateAscent, exact": partial(ascent, line_search="exact"),
        "AdaRank, as RankLib": partial(boosted, tol=0.002, when_falling="stop"),
        "AdaRank": boosted,
        "RankGP": partial(RankGP, n_jobs=n_threads, random_state=0),
    }


def measured(make, data):
    """Seconds of a fit, wall clock and processor, and the NDCG@10 of the ranker."""
    X, y, groups, train = data
    ranker = make()
    start, used = time.perf_counter(), time.process_time()
    ranker.fit(X[train], y[train], groups[train])
    wall, cpu = time.perf_counter() - start, time.process_time() - used
    scores = ranker.predict(X[~train])
    ndcg = ndcg_score(y[~train], scores, groups=groups[~train], k=10)
    return {"seconds": wall, "cpu": cpu, "ndcg@10": float(ndcg)}


def compare(contestants, options):
    """Measure contestants, all of them in each round, and print their table."""
    data, figures = task(), {}
    for _ in range(options.rounds):
        for name, make in contestants.items():
            found = measured(make, data)
            best = figures.setdefault(name, found)
            for key in ("seconds", "cpu"):
                best[key] = min(best[key], found[key])
    print(f"{'500 queries x 20 documents':<42}{'s':>9}{'s of CPU':>10}{'NDCG@10':>9}")
    for name, found in figures.items():
        cells = f"{found['seconds']:>9.3f}{found['cpu']:>10.3f}{found['ndcg@10']:>9.4f}"
        print(f"{name:<42}{cells}")
    return figures


TASKS = {"listnet": listnet, "search": search}


def main(argv=None):
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers listwise", description=__doc__
    )
    parser.add_argument("tasks", nargs="*", default=[], metavar="TASK")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    add_outputs(parser)
    options = parser.parse_args(argv)
    unknown = set(options.tasks) - set(TASKS)
    if unknown:
        parser.error(f"no task {unknown.pop()}; there are {', '.join(TASKS)}")
    record = {}
    for name in options.tasks or TASKS:
        record[name] = compare(TASKS[name](options.threads), options)
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """Seconds and quality of all contestants."""
    found = {name: f for figures in record.values() for name, f in figures.items()}
    seconds = {name: f["seconds"] for name, f in found.items()}
    quality = {name: f["ndcg@10"] for name, f in found.items()}
    return bar_figure(
        [Panel("seconds to train", seconds, "log"), Panel("NDCG@10", quality, "points")]
    )


if __name__ == "__main__":
    main()
