"""Five-fold LETOR protocol on MQ2008 and OHSUMED, beside the published figures.

For each fold a ranker is trained with every parameter setting of its grid, the setting
with the best MAP on the validation queries is kept, and its test queries are measured.
Printed are means over the five test folds, and their spread over seeds for rankers
that draw random numbers.

Run ``python -m benchmarks.letor``; ``--help`` lists the options. The data are found in
the folder named by SKRANK_DATA (default ``../shared/data``) and never part of this
project.
"""

import argparse
import os
import sys
import time
import warnings
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from benchmarks.letor_rankers import ENTRIES
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.datasets import load_letor_folds
from skrank.metrics import (
    NDCG,
    RR,
    evaluate_measure,
    fisher_randomization_test,
    get_measure,
)

SELECTION = "map"
COMPARED = ("map", "ndcg@10")


def letor(preset, *names):
    """Measures under the conventions of a LETOR release."""
    return {name: get_measure(name, preset=preset) for name in names}


# Fang & Liu measure with trec_eval's gain and discount; queries without any relevant
# document count as 0, as their means show.
COLUMNS = {
    "MQ2008": letor("letor4", "map", "p@1", "p@10", "ndcg@10")
    | {
        "mrr (trec)": RR(empty_query=0.0),
        "ndcg@5 (trec)": NDCG(k=5, gain="linear", empty_query=0.0),
        "ndcg@10 (trec)": NDCG(k=10, gain="linear", empty_query=0.0),
    },
    "OHSUMED": letor("letor3", "map", "p@10", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10"),
    # Not normalised per query, which would erase the features of queries.
    "OHSUMED-min": letor(
        "letor3", "map", "p@1", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10"
    ),
}


def measure_all(part, scores, columns, **options):
    """Every measure on one part of a fold, by default its mean over the queries."""
    return {
        name: evaluate_measure(measure, part.y, scores, groups=part.groups, **options)
        for name, measure in columns.items()
    }


def fit(entry, params, fold, seed):
    """One ranker, trained with one parameter setting."""
    ranker = entry.make(**params)
    if entry.seeds:
        ranker.set_params(random_state=seed)
    validation = {}
    if entry.uses_validation:
        ranker.set_params(validation_measure=SELECTION)
        validation = {
            "X_val": fold.vali.X,
            "y_val": fold.vali.y,
            "groups_val": fold.vali.groups,
        }
    return ranker.fit(fold.train.X, fold.train.y, fold.train.groups, **validation)


def predict(ranker, part):
    """Scores; rankers whose `predict` takes groups get them."""
    takes_groups = "groups" in signature(ranker.predict).parameters
    groups = {"groups": part.groups} if takes_groups else {}
    return ranker.predict(part.X, **groups)


def run_fold(entry, fold, columns, seed):
    """Choose on the validation queries, measure on the test queries."""
    best, chosen, searched = -np.inf, None, {}
    selection = {SELECTION: columns[SELECTION]}
    for params in ParameterGrid(entry.grid):
        ranker = fit(entry, params, fold, seed)
        scores = predict(ranker, fold.vali)
        value = measure_all(fold.vali, scores, selection)[SELECTION]
        searched[str(params)] = value
        if value > best:
            best, chosen = value, (ranker, params)
    ranker, params = chosen
    scores = predict(ranker, fold.test)
    compared = {name: columns[name] for name in COMPARED}
    return (
        measure_all(fold.test, scores, columns),
        measure_all(fold.test, scores, compared, per_query=True),
        params,
        searched,
    )


def run(entry, folds, columns, seeds):
    """All folds and seeds of one ranker."""
    begin = time.perf_counter()
    results, queries, choices, searches = [], [], [], []
    for seed in range(seeds if entry.seeds else 1):
        tests, of_folds = [], []
        for fold in folds:
            test, per_query, params, searched = run_fold(entry, fold, columns, seed)
            tests.append(test)
            of_folds.append(per_query)
            choices.append(params)
            searches.append(searched)
        queries.append({m: np.concatenate([f[m] for f in of_folds]) for m in COMPARED})
        results.append({m: float(np.mean([t[m] for t in tests])) for m in columns})
    return {
        "mean": {m: float(np.mean([r[m] for r in results])) for m in columns},
        "spread": {m: float(np.std([r[m] for r in results])) for m in columns},
        "n_seeds": len(results),
        "per_query": {m: np.mean([q[m] for q in queries], axis=0) for m in COMPARED},
        "chosen": choices,
        "validation": {
            params: float(np.mean([search[params] for search in searches]))
            for params in searches[0]
        },
        "seconds": time.perf_counter() - begin,
    }


def table(dataset, rows):
    """Aligned text: measured figures, and the published ones in parentheses."""
    columns = COLUMNS[dataset]
    width = max(len(name) for name, _, _ in rows) + 2
    head = f"{dataset:<{width}}" + "".join(f"{m:>18}" for m in columns) + f"{'s':>8}"
    lines = [head, "-" * len(head)]
    for name, result, published in rows:
        cells = []
        for m in columns:
            cell = f"{result['mean'][m]:.4f}"
            if result["n_seeds"] > 1:
                cell += f"±{result['spread'][m]:.4f}"
            if m in published:
                cell += f" ({published[m][0]:.4f})"
            cells.append(f"{cell:>18}")
        lines.append(f"{name:<{width}}" + "".join(cells) + f"{result['seconds']:8.1f}")
    sources = sorted({s for _, _, p in rows for _, s in p.values()})
    if sources:
        lines.append(f"In parentheses: {'; '.join(sources)}.")
    lines.append("± is the spread over seeds.")
    return "\n".join(lines)


def comparison(rows, reference):
    """Aligned text: differences from one ranker over all test queries, and p-values."""
    results = {name: result["per_query"] for name, result, _ in rows}
    width = max(map(len, results)) + 2
    title = f"minus {reference}"
    lines = [f"{title:<{width}}" + "".join(f"{m:>12}{'p':>8}" for m in COMPARED)]
    lines.append("-" * len(lines[0]))
    for name, values in results.items():
        if name == reference:
            continue
        cells = []
        for m in COMPARED:
            test = fisher_randomization_test(
                values[m], results[reference][m], random_state=0
            )
            cells.append(f"{test.statistic:>12.4f}{test.pvalue:>8.3f}")
        lines.append(f"{name:<{width}}" + "".join(cells))
    lines.append("Fisher's randomisation test, paired by query, means over seeds.")
    return "\n".join(lines)


def parse_arguments(argv):
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.letor", description=__doc__
    )
    names = [entry.name for entry in ENTRIES]
    parser.add_argument(
        "--data", nargs="+", default=list(COLUMNS), choices=list(COLUMNS)
    )
    parser.add_argument(
        "--rankers",
        nargs="+",
        metavar="NAME",
        choices=names,
        help="rows of the table, by default all of them: " + "; ".join(names),
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--against",
        metavar="NAME",
        choices=names,
        help="also test every ranker against this one, query by query",
    )
    add_outputs(parser)
    options = parser.parse_args(argv)
    if options.against and options.rankers and options.against not in options.rankers:
        parser.error(f"--rankers must list {options.against!r}, which is compared with")
    return options


def main(argv=None):
    """Run the protocol and print one table per data set."""
    options = parse_arguments(argv)
    root = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
    if not root.is_dir():
        sys.exit(f"no data in {root}; set SKRANK_DATA to the folder of MQ2008, OHSUMED")
    record = {}
    for dataset in options.data:
        folds = load_letor_folds(root / dataset, dtype=np.float64)
        rows = []
        for entry in ENTRIES:
            if options.rankers and entry.name not in options.rankers:
                continue
            if entry.needs and find_spec(entry.needs) is None:
                print(f"  {entry.name}: {entry.needs} is missing", file=sys.stderr)
                continue
            if dataset not in entry.datasets:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = run(entry, folds, COLUMNS[dataset], options.seeds)
            published = entry.published.get(dataset, {})
            rows.append((entry.name, result, published))
            kept = {key: value for key, value in result.items() if key != "per_query"}
            kept["published"] = published
            record.setdefault(dataset, {})[entry.name] = kept
            print(
                f"  {dataset} {entry.name}: {result['seconds']:.1f} s", file=sys.stderr
            )
        if not rows:
            continue
        print(table(dataset, rows), end="\n\n")
        if options.against in [name for name, _, _ in rows]:
            print(comparison(rows, options.against), end="\n\n")
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """What is compared, on every data set."""
    return bar_figure(
        [
            Panel(
                f"{dataset}, {m}",
                {name: (r["mean"][m], r["spread"][m]) for name, r in found.items()},
                "points",
            )
            for dataset, found in record.items()
            for m in COMPARED
        ]
    )


if __name__ == "__main__":
    main()
