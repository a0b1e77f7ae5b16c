"""Which loss to minimise for which measure: the question of Liu, section 4.2.4.

Every loss is minimised over linear scores, with its parameters chosen by the measure in
question on validation queries, and every measure is taken on test queries: on the five
folds of MQ2008 and OHSUMED (read from the folder named by SKRANK_DATA) and, without any
download, on five folds of a quarter of `skrank.datasets.load_see_also`.

``python -m benchmarks.objectives`` prints one table for each collection: rows are what
is optimised, columns what is measured, and a star marks the best of a column.
``--plot`` draws the differences from the mean of the column.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler

from benchmarks.outputs import add_outputs, write_outputs
from skrank.datasets import load_letor_folds, load_see_also
from skrank.losses import LambdaBoundLoss, YetiRankLoss
from skrank.metrics import evaluate_measure, get_measure
from skrank.model_selection import QueryKFold
from skrank.rankers import (
    SVMMAP,
    SVMMRR,
    SVMNDCG,
    AdaRank,
    ApproxAP,
    ApproxNDCG,
    CoordinateAscent,
    EnergyRanker,
    LambdaRank,
    ListMLE,
    ListNet,
    RankNet,
    RankSVM,
    SmoothRank,
    SoftRank,
    SubsetRegression,
)
from skrank.solvers import Adam

ALPHAS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
MEASURES = ("map", "rr", "p@1", "p@10", "ndcg@1", "ndcg@10", "ndcg", "err@10")


@dataclass
class Objective:
    """One row of the tables: what is minimised, and its grid.

    ``optimises`` names the measure that the loss is made from, if any.
    """

    name: str
    make: Callable
    grid: dict = field(default_factory=lambda: {"alpha": ALPHAS})
    optimises: str | None = None


def steered(measure):
    """LambdaRank steered by a measure."""
    few = {"alpha": [1e-4, 1e-2]}
    make = partial(LambdaRank, measure, max_iter=40, random_state=0)
    return Objective(f"LambdaRank, {measure}", make, few, optimises=measure)


def by_ranks(name, loss):
    """A loss whose pairs are weighted by ranks, under Adam."""
    few = {"alpha": [1e-4, 1e-2]}
    solver = Adam(learning_rate=0.02, max_iter=40)
    make = partial(EnergyRanker, loss=loss, solver=solver, random_state=0)
    return Objective(name, make, few)


def smoothed(name, make, grid, measure):
    """A smooth measure, of some widths."""
    return Objective(f"{name}, {measure}", make, grid, optimises=measure)


def bounded(name, make, measure):
    """A convex bound of a measure over whole rankings."""
    return Objective(name, make, {"alpha": [1e-2, 1e-1, 1.0, 10.0]}, optimises=measure)


def searched(ranker, measure, grid, **options):
    """Search for the measure itself."""
    make = partial(ranker, measure, **options)
    return Objective(f"{ranker.__name__}, {measure}", make, grid, optimises=measure)


SIGMAS = {"sigma": [0.3, 1.0]}
WIDTHS = {"width": [0.3, 1.0]}
ROUNDS = {"n_estimators": [30, 100, 500]}
OBJECTIVES = [
    Objective(
        "squares", SubsetRegression, {"alpha": [0.1, 10.0], "gain": ["linear", "exp2"]}
    ),
    Objective("hinge pairs", RankSVM),
    Objective("logistic pairs", RankNet),
    Objective("ListNet", ListNet, {"alpha": ALPHAS, "gain": ["linear", "exp2"]}),
    *(
        Objective(f"ListMLE, {ties}", partial(ListMLE, ties=ties))
        for ties in ("best", "partition")
    ),
    Objective("ListMLE, top 5", partial(ListMLE, top_k=5)),
    *(by_ranks(name, LambdaBoundLoss(name)) for name in ("ndcg1", "ndcg2", "ndcg2++")),
    Objective("arp2", partial(EnergyRanker, loss=LambdaBoundLoss("arp2"))),
    by_ranks("YetiRank", YetiRankLoss()),
    *(steered(m) for m in ("map", "rr", "p@10", "ndcg@1", "ndcg@10", "ndcg", "err@10")),
    *(
        smoothed("SoftRank", partial(SoftRank, m), SIGMAS, m)
        for m in ("map", "ndcg@10")
    ),
    smoothed("ApproxAP", ApproxAP, WIDTHS, "map"),
    smoothed("ApproxNDCG", ApproxNDCG, WIDTHS, "ndcg@10"),
    *(
        smoothed("SmoothRank", partial(SmoothRank, m), {"alpha": [1e-3]}, m)
        for m in ("map", "ndcg@10")
    ),
    bounded("SVMMAP", SVMMAP, "map"),
    bounded("SVMNDCG", SVMNDCG, "ndcg"),
    bounded("SVMMRR", SVMMRR, "rr"),
    *(searched(AdaRank, m, ROUNDS) for m in ("map", "ndcg")),
    *(searched(CoordinateAscent, m, {}, random_state=0) for m in ("map", "ndcg@10")),
]


class Part(NamedTuple):
    """Rows of some queries."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


class Fold(NamedTuple):
    """Rows to train, to choose parameters and to measure on."""

    train: Part
    vali: Part
    test: Part


def letor_folds(name):
    """The folds of a LETOR collection, or none where it is not there."""
    root = Path(os.environ.get("SKRANK_DATA", "../shared/data")) / name
    if not root.is_dir():
        print(f"no {root}; set SKRANK_DATA to include it", file=sys.stderr)
        return []
    return load_letor_folds(root, dtype=np.float64)


def embedded_folds(_name):
    """Folds of the docstrings: one fifth tests, and the next one chooses."""
    X, y, groups = load_see_also()
    # Every fourth query is enough for differences to show, and takes minutes.
    kept = np.isin(groups, np.unique(groups)[::4])
    data = Part(X[kept], y[kept], groups[kept])
    parts = [test for _, test in QueryKFold(5).split(data.X, data.y, data.groups)]
    folds = []
    for k in range(5):
        test, vali = parts[k], parts[(k + 1) % 5]
        train = np.setdiff1d(np.arange(len(data.y)), np.concatenate((test, vali)))
        scaler = StandardScaler().fit(data.X[train])
        folds.append(
            Fold(
                *(
                    Part(
                        np.asarray(scaler.transform(data.X[r])),
                        data.y[r],
                        data.groups[r],
                    )
                    for r in (train, vali, test)
                )
            )
        )
    return folds


COLLECTIONS = {
    "MQ2008": letor_folds,
    "OHSUMED": letor_folds,
    "docstrings": embedded_folds,
}


def values(part, scores, measures):
    """Mean of every measure over the queries of a part."""
    return np.array(
        [evaluate_measure(m, part.y, scores, groups=part.groups) for m in measures]
    )


def run_fold(objective, fold, measures):
    """Test values of the setting that is best on validation, measure by measure."""
    vali, test = [], []
    for params in ParameterGrid(objective.grid):
        ranker = objective.make(**params).fit(*fold.train)
        vali.append(values(fold.vali, ranker.predict(fold.vali.X), measures))
        test.append(values(fold.test, ranker.predict(fold.test.X), measures))
    chosen = np.argmax(vali, axis=0)
    return np.array(test)[chosen, np.arange(len(measures))]


def run(objective, folds, measures):
    """Means over the folds, by measure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [run_fold(objective, fold, measures) for fold in folds]
    return dict(zip(MEASURES, np.mean(found, axis=0).tolist(), strict=True))


def table(collection, figures):
    """Aligned text; a star marks the best of a column."""
    width = max(map(len, [collection, *figures])) + 2
    head = f"{collection:<{width}}" + "".join(f"{m:>10}" for m in MEASURES)
    best = {m: max(row[m] for row in figures.values()) for m in MEASURES}
    lines = [head, "-" * len(head)]
    for name, row in figures.items():
        cells = "".join(
            f"{row[m]:>9.4f}{'*' if row[m] == best[m] else ' '}" for m in MEASURES
        )
        lines.append(f"{name:<{width}}{cells}".rstrip())
    return "\n".join(lines)


def draw(record):
    """Differences from the mean of each column, in hundredths."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for f in record.values() for name in f))
    figure = Figure(
        figsize=(4 + 3.2 * len(record), 1.5 + 0.3 * len(names)), layout="constrained"
    )
    axes = figure.subplots(1, len(record), sharey=True, squeeze=False)[0]
    for ax, (collection, figures) in zip(axes, record.items(), strict=True):
        cells = np.array(
            [[figures[n].get(m, np.nan) for m in MEASURES] for n in figures]
        )
        cells = 100 * (cells - cells.mean(axis=0))
        limit = np.quantile(np.abs(cells), 0.95)
        ax.imshow(cells, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        for (i, j), cell in np.ndenumerate(cells):
            color = "white" if abs(cell) > 0.6 * limit else "black"  # on dark cells
            ax.text(
                j, i, f"{cell:+.1f}", ha="center", va="center", fontsize=7, color=color
            )
        ax.set_title(collection)
        ax.set_xticks(range(len(MEASURES)), MEASURES, rotation=45, ha="right")
        ax.set_yticks(range(len(figures)), figures)
        ax.set_xlabel("measured")
    axes[0].set_ylabel("optimised")
    return figure


def main(argv=None):
    """Run every objective on every collection and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.objectives", description=__doc__
    )
    parser.add_argument(
        "--data", nargs="+", default=list(COLLECTIONS), choices=list(COLLECTIONS)
    )
    parser.add_argument("--objectives", nargs="+", help="parts of names to keep")
    add_outputs(parser)
    options = parser.parse_args(argv)
    measures = [get_measure(name) for name in MEASURES]
    kept = [
        o
        for o in OBJECTIVES
        if not options.objectives or any(part in o.name for part in options.objectives)
    ]
    record = {}
    for collection in options.data:
        folds = COLLECTIONS[collection](collection)
        if not folds:
            continue
        record[collection] = {}
        for objective in kept:
            record[collection][objective.name] = run(objective, folds, measures)
            print(f"  {collection}: {objective.name}", file=sys.stderr, flush=True)
        print(table(collection, record[collection]), end="\n\n", flush=True)
    write_outputs(options, record, lambda: draw(record))


if __name__ == "__main__":
    main()
