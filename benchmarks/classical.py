"""The textbook's pointwise and pairwise rankers.

``python -m benchmarks.peers classical`` prints three tables, in which each figure is
the minimum over rounds that run all contestants in turn:

``speed``
    On 1,000 queries (about 120,000 documents): milliseconds per boosting round with 255
    thresholds of 136 features, seconds of a kernel RankSVM with 500 landmarks, and
    documents of 46 features that one thread of PRank learns from in a second.
``growth``
    Seconds over one to eight times as many queries, and over queries that are two to
    sixteen times as long with as many documents in all, which have as many times the
    preference pairs. Slopes of straight lines through the logarithms tell how the cost
    grows with documents and with pairs.
``small``
    RankNet (10 hidden units, 100 epochs) and RankBoost (300 rounds) on 500 queries of
    20 documents with 46 features, and their NDCG@10 on 500 other queries: a task that
    RankLib's users know, whose settings these are.
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import make_mslr_like
from benchmarks.linear import log_scaled
from benchmarks.outputs import (
    Panel,
    add_outputs,
    bar_figure,
    line_figure,
    write_outputs,
)
from skrank._rows import GroupedRows
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score
from skrank.rankers import FRank, PNormPush, PRank, RankBoost, RankNet, RankSVM
from skrank.solvers import Adam

FEW, MANY = 5, 55  # rounds, whose difference leaves out the preparations
KERNEL, STREAM = "RankSVM rbf, 500 landmarks", "PRank, one pass"
BOOSTERS = {"RankBoost": RankBoost, "FRank": FRank, "PNormPush p=4": PNormPush}


def groups_of(data):
    """Number of the query of each row."""
    return np.repeat(np.arange(data.n_queries), data.sizes)


def timed(function):
    """Wall-clock seconds of a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def seconds_of_rounds(maker, n_rounds, data, n_threads):
    """Seconds of a fit of so many boosting rounds."""
    ranker = maker(n_estimators=n_rounds, n_jobs=n_threads)
    return timed(lambda: ranker.fit(data.X, data.y, groups_of(data)))


def seconds_of_kernel(data, n_threads):
    """Seconds of a RankSVM with 500 landmarks of a Gaussian kernel."""
    X = StandardScaler().fit_transform(log_scaled(data.X))
    ranker = RankSVM(kernel="rbf", n_components=500, random_state=0, n_jobs=n_threads)
    return timed(lambda: ranker.fit(X, data.y, groups_of(data)))


def seconds_of_iteration(data, n_threads):
    """Seconds of one iteration of a linear RankSVM."""
    X = StandardScaler().fit_transform(log_scaled(data.X))
    ranker = RankSVM(n_jobs=n_threads)
    return timed(lambda: ranker.fit(X, data.y, groups_of(data))) / ranker.n_iter_


def seconds_of_stream(data):
    """Seconds in which PRank sees every document once, of 46 features."""
    X = StandardScaler().fit_transform(log_scaled(data.X[:, :46]))
    groups = groups_of(data)
    ranker = PRank().partial_fit(X[:1000], data.y[:1000], groups[:1000])
    return timed(lambda: ranker.partial_fit(X, data.y, groups))


def best(contestants, n_rounds):
    """Minimum of each contestant over rounds that run all of them in turn."""
    figures = {name: [] for name in contestants}
    for _ in range(n_rounds):
        for name, measure in contestants.items():
            figures[name].append(measure())
    return {name: min(values) for name, values in figures.items()}


def per_round(figures, name):
    """Seconds of one round, from the fits of few and of many rounds."""
    seconds = (figures[name, MANY] - figures[name, FEW]) / (MANY - FEW)
    return max(seconds, 1e-6)  # noise may hide the rounds of tiny data


def speed(options):
    """Measure on about 120,000 documents; return seconds by contestant."""
    data = make_mslr_like(options.queries, seed=1)
    contestants = {
        (name, n): partial(seconds_of_rounds, maker, n, data, options.threads)
        for name, maker in BOOSTERS.items()
        for n in (FEW, MANY)
    }
    contestants[KERNEL] = partial(seconds_of_kernel, data, options.threads)
    contestants[STREAM] = partial(seconds_of_stream, data)
    figures = best(contestants, options.rounds)
    figures = {name: per_round(figures, name) for name in BOOSTERS} | {
        name: figures[name] for name in (KERNEL, STREAM)
    }
    print(f"{data.n_documents:,} documents, {options.threads} threads (PRank: 1)")
    for name in BOOSTERS:
        print(f"{name:<30}{1e3 * figures[name]:>12.1f} ms per round")
    print(f"{KERNEL:<30}{figures[KERNEL]:>12.2f} s")
    rate = data.n_documents / figures[STREAM]
    print(f"{STREAM:<30}{rate / 1e6:>12.2f} million documents per second")
    return figures


def lengthened(data, times):
    """The same documents in queries that are several times as long."""
    ends = np.append(data.ptr[:-1:times], data.ptr[-1])
    return GroupedRows(data.X, data.y, ends)


def growth(options):
    """Measure over numbers of documents and of pairs; return seconds by contestant."""
    n_queries = options.queries // 8
    steps = (1, 2, 4, 8)
    series = {}
    more = [make_mslr_like(n_queries * step, seed=2) for step in steps]
    longer = [lengthened(more[2], 2 * step) for step in steps]
    for kind, sizes in (("documents", more), ("pairs", longer)):
        for name, maker in BOOSTERS.items():
            contestants = {
                (step, n): partial(seconds_of_rounds, maker, n, data, options.threads)
                for step, data in zip(steps, sizes)
                for n in (FEW, MANY)
            }
            figures = best(contestants, options.rounds)
            series[f"{name}, {kind}"] = {s: per_round(figures, s) for s in steps}
        contestants = {
            step: partial(seconds_of_iteration, data, options.threads)
            for step, data in zip(steps, sizes)
        }
        series[f"RankSVM, {kind}"] = best(contestants, options.rounds)
    print(f"{'times':<26}" + "".join(f"{s:>10}" for s in steps) + f"{'exponent':>10}")
    for name, seconds in series.items():
        slope = np.polyfit(np.log(steps), np.log(list(seconds.values())), 1)[0]
        cells = "".join(f"{1e3 * s:>7.1f} ms" for s in seconds.values())
        print(f"{name:<26}{cells}{slope:>10.2f}")
    return series


def small(options):
    """Train on 500 short queries; return seconds and NDCG@10 by contestant."""
    X, y, groups = make_ranking(
        n_queries=1000, docs_per_query=20, n_features=46, n_grades=5, random_state=0
    )
    train = groups < 500
    makers = {
        "RankNet, 100 epochs": lambda: RankNet(
            hidden_layer_sizes=(10,),
            solver=Adam(max_iter=100),
            n_jobs=options.threads,
            random_state=0,
        ),
        "RankBoost, 300 rounds": lambda: RankBoost(
            n_estimators=300, n_jobs=options.threads
        ),
    }
    fitted = {}

    def fit(name):
        ranker = fitted[name] = makers[name]()
        return timed(lambda: ranker.fit(X[train], y[train], groups[train]))

    figures = {}
    seconds = best({name: partial(fit, name) for name in makers}, options.rounds)
    print(f"{'500 queries x 20 documents':<30}{'seconds':>12}{'NDCG@10':>10}")
    for name, ranker in fitted.items():
        scores = ranker.predict(X[~train])
        ndcg = ndcg_score(y[~train], scores, groups=groups[~train], k=10)
        figures[name] = {"seconds": seconds[name], "ndcg@10": ndcg}
        print(f"{name:<30}{seconds[name]:>12.3f}{ndcg:>10.4f}")
    return figures


TABLES = {"speed": speed, "growth": growth, "small": small}


def main(argv=None):
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers classical", description=__doc__
    )
    parser.add_argument("tables", nargs="*", default=[], metavar="TABLE")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    add_outputs(parser)
    options = parser.parse_args(argv)
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {unknown.pop()}; there are {', '.join(TABLES)}")
    record = {}
    for name in options.tables or TABLES:
        record[name] = TABLES[name](options)
        print(flush=True)
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """The growth of the cost if it was measured, or else the seconds."""
    if "growth" in record:
        return line_figure(record["growth"], "times as many", "seconds per round")
    panels = []
    if "speed" in record:
        panels.append(Panel("seconds", record["speed"], "log"))
    if "small" in record:
        small = record["small"].items()
        panels.append(Panel("seconds", {name: f["seconds"] for name, f in small}))
    return bar_figure(panels)


if __name__ == "__main__":
    main()
