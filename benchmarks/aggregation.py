"""Rank aggregation: skrank beside ranx, and the fusion of rankers on LETOR.

``python -m benchmarks.aggregation speed`` fuses 5 runs of 1,000 queries × 1,000
documents, of which each run draws its own from a pool of 3,000. Every tool fuses what
its readers return: skrank a list of `skrank.datasets.Run`, and ranx a list of its
``Run``, compiled beforehand. The joined runs of skrank are timed as well. Methods of
ranx that take minutes are timed on fewer queries with ``--slow``.

``python -m benchmarks.aggregation letor`` fuses five rankers of default parameters that
are trained on the training folds of MQ2008 and OHSUMED, and reports means over the five
test folds (read from the folder named by SKRANK_DATA). Methods that learn see the
validation folds.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.aggregation import CombSUM, aggregate, get_aggregator, join_runs
from skrank.datasets import Run, load_letor_folds
from skrank.metrics import evaluate_measure
from skrank.rankers import (
    LambdaMART,
    ListNet,
    LogisticRanker,
    RankSVM,
    SubsetRegression,
)

# Names that both tools know, and ranx's normalisation.
FAST = [("rrf", None), ("sum", "min-max"), ("mnz", "min-max"), ("max", "min-max")]
FAST += [("med", "min-max"), ("sum", "zmuv"), ("isr", None), ("rbc", None)]
SLOW = [("bordafuse", None), ("condorcet", None)]
PARAMS = {"rbc": {"phi": 0.8}}


def make_runs(n_queries, n_documents, n_runs, seed=0):
    """Runs as dictionaries, the best document first."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(n_runs):
        run = {}
        for q in range(n_queries):
            documents = rng.choice(3 * n_documents, n_documents, replace=False)
            scores = np.sort(rng.gamma(2.0, 5.0, n_documents))[::-1]
            names = [f"doc{d:07d}" for d in documents]
            run[f"q{q}"] = dict(zip(names, scores.tolist()))
        runs.append(run)
    return runs


def as_run(run, tag):
    """The same as `load_run` returns it."""
    groups = np.repeat(list(run), [len(entry) for entry in run.values()])
    docids = np.array([d for entry in run.values() for d in entry], dtype=object)
    scores = np.array([s for entry in run.values() for s in entry.values()])
    return Run(groups, docids, scores, tag)


class Inputs:
    """The same runs as every tool wants them.

    Parameters
    ----------
    n_queries, n_documents, n_runs : int
        Sizes.
    with_ranx : bool
        Whether ranx takes part.
    """

    def __init__(self, n_queries, n_documents, n_runs, with_ranx):
        runs = make_runs(n_queries, n_documents, n_runs)
        self.lists = [as_run(run, str(i)) for i, run in enumerate(runs)]
        self.joined = join_runs(self.lists)
        self.ranx, self.few = None, None
        if with_ranx:
            import ranx

            self.ranx = [ranx.Run(run, name=str(i)) for i, run in enumerate(runs)]
            few = [{q: run[q] for q in list(run)[:2]} for run in runs]
            self.few = [ranx.Run(run, name=str(i)) for i, run in enumerate(few)]

    def contestants(self, method, normalization):
        """Functions that fuse, by tool."""
        params = PARAMS.get(method, {})
        own = dict(params)
        if "normalization" in get_aggregator(method).get_params():
            own["normalization"] = normalization
        tools = {
            "skrank, runs": lambda: aggregate(self.lists, method, **own),
            "skrank, joined runs": lambda: aggregate(self.joined, method, **own),
        }
        if self.ranx is not None:
            import ranx

            def fuse(runs):
                return ranx.fuse(
                    runs, norm=normalization, method=method, params=dict(params)
                )

            fuse(self.few)  # compiles
            tools["ranx"] = lambda: fuse(self.ranx)
        return tools


def measure_speed(options):
    """Print the table of times; return it as records."""
    records = []
    sizes = [(pair, options.queries) for pair in FAST]
    sizes += [(pair, options.slow) for pair in SLOW if options.slow]
    inputs = {
        n: Inputs(n, options.documents, options.runs, not options.no_ranx)
        for n in dict.fromkeys(n for _, n in sizes)
    }
    print(f"{'method':24}{'tool':22}{'seconds':>9}{'CPU':>9}{'ratio':>8}")
    for (method, normalization), n_queries in sizes:
        tools = inputs[n_queries].contestants(method, normalization)
        times = {tool: [] for tool in tools}
        for _ in range(options.rounds):
            for tool, fuse in tools.items():
                wall, cpu = time.perf_counter(), time.process_time()
                fuse()
                wall = time.perf_counter() - wall
                times[tool].append((wall, time.process_time() - cpu))
        best = {tool: np.min(pairs, axis=0) for tool, pairs in times.items()}
        unit = best["skrank, runs"][0]
        name = f"{method} {normalization or ''} ({n_queries})"
        for tool, (wall, cpu) in best.items():
            print(
                f"{name:24}{tool:22}{wall:9.3f}{cpu:9.3f}{wall / unit:8.1f}", flush=True
            )
            records.append(
                {"method": name, "tool": tool, "seconds": wall, "cpu_seconds": cpu}
            )
    return records


RANKERS = {
    "SubsetRegression": SubsetRegression(),
    "RankSVM": RankSVM(),
    "ListNet": ListNet(),
    "LogisticRanker": LogisticRanker(),
    "LambdaMART": LambdaMART(n_estimators=100, random_state=0),
}
METHODS = ["combsum", "combmnz", "combmed", "borda", "rrf", "median", "condorcet"]
METHODS += ["copeland", "mc2", "mc3", "mc4", "local_kemeny", "kemeny", "plackett_luce"]
METHODS += ["mapfuse", "posfuse", "probfuse", "weighted", "learned"]


def fused_scores(name, validation, test):
    """Scores of the test rows by one method, which learns from the validation rows."""
    params = {"normalization": "zmuv"} if name.startswith("comb") else {}
    if name == "weighted":
        params = {"measure": "map", "aggregator": CombSUM(normalization="zmuv")}
    elif name == "learned":
        params = {"ranker": RankSVM(), "normalization": "zmuv"}
    method = get_aggregator(name, **params)
    if method.learns:
        method.fit(*validation)
    return method.predict(test[0], test[2])


def measure_quality(options):
    """Print the table of measures; return it as records."""
    folder = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
    records = []
    for collection in ("MQ2008", "OHSUMED"):
        values = {}
        for fold in load_letor_folds(folder / collection):
            fitted = [
                ranker.fit(fold.train.X, fold.train.y, fold.train.groups)
                for ranker in RANKERS.values()
            ]
            validation, test = (
                (np.column_stack([r.predict(d.X) for r in fitted]), d.y, d.groups)
                for d in (fold.vali, fold.test)
            )
            scores = dict(zip(RANKERS, test[0].T))
            for name in options.methods or METHODS:
                scores[name] = fused_scores(name, validation, test)
            for name, found in scores.items():
                values.setdefault(name, []).append(
                    [
                        evaluate_measure(
                            measure, test[1], found, groups=test[2], preset="letor4"
                        )
                        for measure in ("map", "ndcg@10")
                    ]
                )
        print(f"{collection:20}{'map':>9}{'ndcg@10':>9}")
        for name, pairs in values.items():
            mean = np.mean(pairs, axis=0)
            print(f"{name:20}{mean[0]:9.4f}{mean[1]:9.4f}", flush=True)
            records.append(
                {"data": collection, "method": name, "map": mean[0], "ndcg": mean[1]}
            )
    return records


def draw(records):
    """Bars of the first quantity of the records."""
    key = "seconds" if "seconds" in records[0] else "map"
    label = ("method", "tool") if key == "seconds" else ("data", "method")
    values = {" ".join(str(r[part]) for part in label): r[key] for r in records}
    return bar_figure([Panel(key, values)])


def main(argv=None):
    """Run one of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("speed", "letor"))
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow", type=int, default=0, help="queries of slow methods")
    parser.add_argument("--no-ranx", action="store_true")
    parser.add_argument("--methods", nargs="*", help="of the comparison on LETOR")
    add_outputs(parser)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # numba warns about its own future
    measure = measure_speed if options.what == "speed" else measure_quality
    records = measure(options)
    write_outputs(options, records, lambda: draw(records))


if __name__ == "__main__":
    main()
