"""Rank aggregation: skrank beside ranx, and the fusion of rankers on LETOR.

``python -m benchmarks.aggregation speed`` fuses 5 runs of 1,000 queries × 1,000
documents, of which each run draws its own from a pool of 3,000. Three contestants take
turns in one process, and the minimum over the rounds is shown:

- "skrank, runs": from a list of `skrank.datasets.Run`, which hold ids as strings in
  arrays, as `load_run` returns them. All that is done to the ids is counted, in every
  round: nothing is kept from one round to the next, except that Python strings know
  their hashes. So is all of the result, a `Run` whose queries, ids and scores are
  arrays, and the time to free it.
- "skrank, joined runs": the same from `join_runs`. Joining is not counted, and joined
  runs keep the ranks that the first round has computed.
- "ranx": from a list of its ``Run``, typed dictionaries of numba, in which ids are
  hashed and runs sorted when they are made; that is not counted, although it takes
  longer than to fuse, and neither is compiling. Its result is such a ``Run`` again.

Methods of ranx that take minutes are timed on fewer queries with ``--slow``.

``python -m benchmarks.aggregation files`` counts what surrounds fusion as well: "files"
loads two runs from TREC files, fuses them and writes the result to a file, and "judged"
fuses the runs in memory and evaluates the result by NDCG@10.

``python -m benchmarks.aggregation letor`` fuses five rankers of default parameters that
are trained on the training folds of MQ2008 and OHSUMED, and reports means over the five
test folds (read from the folder named by SKRANK_DATA). Methods that learn see the
validation folds.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.aggregation import CombSUM, aggregate, get_aggregator, join_runs
from skrank.datasets import (
    Qrels,
    Run,
    dump_run,
    judge_run,
    load_letor_folds,
    load_run,
)
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
    sizes = [
        size for size in sizes if not options.methods or size[0][0] in options.methods
    ]
    inputs = {
        n: Inputs(n, options.documents, options.runs, not options.no_ranx)
        for n in dict.fromkeys(n for _, n in sizes)
    }
    print(f"{'method':24}{'tool':22}{'seconds':>9}{'CPU':>9}{'ratio':>8}")
    for (method, normalization), n_queries in sizes:
        tools = inputs[n_queries].contestants(method, normalization)
        best = best_times(tools, options.rounds)
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


class Files:
    """Two runs as files, and judgements, for all that surrounds fusion.

    Parameters
    ----------
    folder : Path
        Folder for the files.
    options : argparse.Namespace
        Sizes.
    """

    def __init__(self, folder, options):
        runs = make_runs(options.queries, options.documents, 2)
        self.paths = [folder / f"{i}.trec" for i in range(2)]
        self.result = folder / "fused.trec"
        self.runs = [as_run(run, str(i)) for i, run in enumerate(runs)]
        for path, run in zip(self.paths, self.runs):
            dump_run(run.groups, run.docids, run.scores, path, tag=run.tag)
        grades = {q: dict.fromkeys(list(run)[::10], 1) for q, run in runs[0].items()}
        rows = [(q, d, g) for q, entry in grades.items() for d, g in entry.items()]
        groups, docids, y = zip(*rows)
        docids = np.array(docids, dtype=object)
        self.qrels = Qrels(np.array(groups), docids, np.array(y, dtype=float))
        self.ranx_runs, self.ranx_qrels = None, None
        if not options.no_ranx:
            import ranx

            self.ranx_runs = [ranx.Run(run) for run in runs]
            self.ranx_qrels = ranx.Qrels(grades)

    def from_files(self):
        """Load, fuse and write by skrank."""
        fused = aggregate([load_run(path) for path in self.paths], "rrf")
        dump_run(fused.groups, fused.docids, fused.scores, self.result)

    def judged(self):
        """Fuse and evaluate by skrank."""
        judged = judge_run(self.qrels, aggregate(self.runs, "rrf"))
        return evaluate_measure(
            "ndcg@10", judged.y, judged.scores, groups=judged.groups
        )

    def ranx_from_files(self):
        """Load, fuse and write by ranx."""
        import ranx

        runs = [ranx.Run.from_file(str(p), kind="trec") for p in self.paths]
        ranx.fuse(runs, norm=None, method="rrf").save(str(self.result), kind="trec")

    def ranx_judged(self):
        """Fuse and evaluate by ranx."""
        import ranx

        fused = ranx.fuse(self.ranx_runs, norm=None, method="rrf")
        return ranx.evaluate(self.ranx_qrels, fused, "ndcg@10", make_comparable=True)


def measure_files(options):
    """Print the times of fusion with what surrounds it; return them as records."""
    records = []
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder), options)
        for name in ("files", "judged"):
            tools = {"skrank": files.from_files if name == "files" else files.judged}
            if files.ranx_runs is not None:
                own = files.ranx_from_files if name == "files" else files.ranx_judged
                own()  # compiles
                tools["ranx"] = own
            for tool, (wall, cpu) in best_times(tools, options.rounds).items():
                print(f"{name:24}{tool:22}{wall:9.3f}{cpu:9.3f}", flush=True)
                records.append(
                    {"method": name, "tool": tool, "seconds": wall, "cpu_seconds": cpu}
                )
    return records


def best_times(tools, rounds):
    """Least wall and CPU time of each function, which take turns."""
    times = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool, function in tools.items():
            wall, cpu = time.perf_counter(), time.process_time()
            function()
            wall = time.perf_counter() - wall
            times[tool].append((wall, time.process_time() - cpu))
    return {tool: np.min(pairs, axis=0) for tool, pairs in times.items()}


RANKERS = {
    "SubsetRegression": SubsetRegression(),
    "RankSVM": RankSVM(),
    "ListNet": ListNet(),
    "LogisticRanker": LogisticRanker(),
    "LambdaMART": LambdaMART(random_state=0),
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
    parser.add_argument("what", choices=("speed", "files", "letor"))
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow", type=int, default=0, help="queries of slow methods")
    parser.add_argument("--no-ranx", action="store_true")
    parser.add_argument("--methods", nargs="*", help="those to compare")
    add_outputs(parser)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # numba warns about its own future
    measures = {"speed": measure_speed, "files": measure_files}
    records = measures.get(options.what, measure_quality)(options)
    write_outputs(options, records, lambda: draw(records))


if __name__ == "__main__":
    main()
