"""NDCG@10 and MAP: skrank beside scikit-learn, ranx, pytrec_eval and LightGBM.

All of them evaluate the same 6,000 queries (about 720,000 documents) in turn, several
rounds over, so that all of them meet the same noise. What a tool needs prepared, such
as dictionaries or compiled code, is prepared beforehand and not timed; skrank is timed
both from grouped arrays and from raw rows with validation. LightGBM's figure is that of
its own evaluation inside training. Ratios are to skrank from grouped arrays.

Run ``python -m benchmarks.metrics``; ``--help`` lists the options.
"""

import argparse
import statistics
import time
import warnings
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.metrics import ndcg_score as sklearn_ndcg_score

from benchmarks.data import make_kernel_data
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.metrics import evaluate_measure, get_measure

MEASURES = ("ndcg@10", "map")
UNIT = "skrank, grouped arrays"
SLOW_SECONDS = 3.0


@dataclass(frozen=True)
class Row:
    """Times of one tool for one measure."""

    measure: str
    tool: str
    seconds: float
    median: float
    cpu_seconds: float
    value: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Grouped grades and scores, with what other tools need of them."""

    y: np.ndarray
    scores: np.ndarray
    ptr: np.ndarray
    groups: np.ndarray

    def queries(self):
        """Slices of the queries."""
        return [slice(a, b) for a, b in zip(self.ptr[:-1], self.ptr[1:])]

    @cached_property
    def dictionaries(self):
        """Grades and scores as {query: {document: value}}."""
        names = [f"d{i}" for i in range(int(np.diff(self.ptr).max()))]
        grades, run = {}, {}
        for q, rows in enumerate(self.queries()):
            y = map(int, self.y[rows])
            grades[f"q{q}"] = dict(zip(names, y))
            run[f"q{q}"] = dict(zip(names, self.scores[rows].tolist()))
        return grades, run

    @cached_property
    def ranx_inputs(self):
        """The same as ranx's own types."""
        import ranx

        grades, run = self.dictionaries
        return ranx.Qrels(grades), ranx.Run(run)


def skrank_tools(sample, name, n_jobs):
    """The measure from grouped arrays and from raw rows."""
    measure = get_measure(name)

    def grouped():
        values = measure.per_query(
            sample.y, sample.scores, sample.ptr, n_threads=n_jobs
        )
        return measure.mean(values)

    def raw():
        return evaluate_measure(
            name, sample.y, sample.scores, groups=sample.groups, n_jobs=n_jobs
        )

    return {UNIT: grouped, "skrank, raw rows": raw}


def sklearn_tool(sample, name):
    """scikit-learn's function in a loop over queries that it accepts."""
    gain = 2**sample.y - 1
    rows = [r for r in sample.queries() if sample.y[r].any() and r.stop - r.start > 1]

    def ndcg():
        return np.mean(
            [
                sklearn_ndcg_score(gain[None, r], sample.scores[None, r], k=10)
                for r in rows
            ]
        )

    def ap():
        return np.mean(
            [average_precision_score(sample.y[r] > 0, sample.scores[r]) for r in rows]
        )

    return {"scikit-learn, loop": ndcg if name == "ndcg@10" else ap}


def ranx_tool(sample, name):
    """Evaluation by ranx of prepared runs, or nothing where it is not installed."""
    try:
        import ranx
    except ImportError:
        return {}
    qrels, run = sample.ranx_inputs
    theirs = {"ndcg@10": "ndcg_burges@10", "map": "map"}[name]
    ranx.evaluate(qrels, run, theirs)  # compiles
    return {"ranx, prepared": lambda: ranx.evaluate(qrels, run, theirs)}


def pytrec_tool(sample, name):
    """Evaluation by pytrec_eval of prepared runs, or nothing if not installed."""
    try:
        import pytrec_eval
    except ImportError:
        return {}
    qrels, run = sample.dictionaries
    asked, got = {
        "ndcg@10": ("ndcg_cut.10", "ndcg_cut_10"),
        "map": ("map", "map"),
    }[name]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {asked})

    def evaluate():
        return np.mean([values[got] for values in evaluator.evaluate(run).values()])

    return {"pytrec_eval, prepared": evaluate}


def lightgbm_tool(sample, name, n_jobs):
    """LightGBM's evaluation of given scores, or nothing if not installed."""
    try:
        import lightgbm
    except ImportError:
        return {}
    metric, _, k = name.partition("@")
    params = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": [int(k or 1000)],
        "verbose": -1,
        "num_threads": n_jobs or 0,
    }
    data = lightgbm.Dataset(
        np.random.default_rng(0).random((len(sample.y), 1)),
        sample.y,
        group=np.diff(sample.ptr),
        init_score=sample.scores,
        params=params,
    )
    booster = lightgbm.Booster(params, data)
    return {"LightGBM, inside": lambda: booster.eval_train()[0][2]}


def measure_tools(tools, rounds):
    """Wall and processor times of every tool, round by round, and its value.

    A tool that takes seconds is timed once: noise matters less there.
    """
    times = {tool: [] for tool in tools}
    values = {}
    for _ in range(rounds):
        for tool, evaluate in tools.items():
            if times[tool] and times[tool][0][0] > SLOW_SECONDS:
                continue
            start, cpu_start = time.perf_counter(), time.process_time()
            values[tool] = float(evaluate())
            elapsed = time.perf_counter() - start
            times[tool].append((elapsed, time.process_time() - cpu_start))
    return times, values


def compare(sample, name, rounds, n_jobs, with_ranx):
    """Rows of one measure."""
    tools = {
        **skrank_tools(sample, name, n_jobs),
        **lightgbm_tool(sample, name, n_jobs),
        **pytrec_tool(sample, name),
        **(ranx_tool(sample, name) if with_ranx else {}),
        **sklearn_tool(sample, name),
    }
    times, values = measure_tools(tools, rounds)
    rows = []
    for tool, pairs in times.items():
        wall, cpu = zip(*pairs)
        rows.append(
            Row(name, tool, min(wall), statistics.median(wall), min(cpu), values[tool])
        )
    return rows


def render(rows, n_documents, n_queries):
    """Aligned table."""
    lines = [f"{n_documents:,} documents, {n_queries:,} queries; times in ms"]
    head = f"{'measure':<8} {'tool':<23} {'min':>9} {'median':>9} {'processor':>9}"
    lines.append(head + f" {'x wall':>7} {'x proc.':>7} {'value':>7}")
    units = {row.measure: row for row in reversed(rows) if row.tool == UNIT}
    for row in rows:
        unit = units[row.measure]
        lines.append(
            f"{row.measure:<8} {row.tool:<23} {1e3 * row.seconds:>9.2f} "
            f"{1e3 * row.median:>9.2f} {1e3 * row.cpu_seconds:>9.2f} "
            f"{row.seconds / unit.seconds:>7.1f} "
            f"{row.cpu_seconds / unit.cpu_seconds:>7.1f} {row.value:>7.4f}"
        )
    lines.append("Values differ where tools do: pytrec_eval's gain is the grade;")
    lines.append("LightGBM and pytrec_eval count queries without relevant documents.")
    return "\n".join(lines)


def main(argv=None):
    """Run the comparison and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None, help="threads (default all)")
    parser.add_argument(
        "--no-ranx", action="store_true", help="it compiles for a minute"
    )
    add_outputs(parser)
    options = parser.parse_args(argv)
    data, scores = make_kernel_data(options.queries)
    sample = Sample(data.y, scores, data.ptr, data.groups)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba and scikit-learn warn about their own
        for name in MEASURES:
            rows += compare(
                sample, name, options.rounds, options.jobs, not options.no_ranx
            )
    print(render(rows, len(scores), len(data.ptr) - 1))
    write_outputs(options, [asdict(row) for row in rows], lambda: draw(rows))


def draw(rows):
    """Milliseconds of every tool for every measure."""
    times = {}
    for row in rows:
        times.setdefault(row.measure, {})[row.tool] = 1e3 * row.seconds
    return bar_figure([Panel(f"{m}, ms", found, "log") for m, found in times.items()])


if __name__ == "__main__":
    main()
