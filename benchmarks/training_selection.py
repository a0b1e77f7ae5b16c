"""Rankers that learn from some of the documents, selected in several ways.

``python -m benchmarks.training_selection`` trains rankers on selections of several
sizes from the training queries of each fold and measures them on its test queries, with
the difference from a selection at random and its paired interval over these queries.
Systems are the features that are scores of BM25 and of language models. The embedded
collection needs no data; a quarter of its queries is taken. ``--pairs`` compares pairs
that are selected by their consistency with all pairs. ``--part validation`` measures on
validation queries, on which parameters may be chosen, such as those of ``--mu``.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.outputs import add_outputs, write_outputs
from benchmarks.study_data import Rows
from skrank.datasets import load_letor, load_see_also
from skrank.exceptions import TrainingDataWarning
from skrank.inspection import LearningCurveDisplay
from skrank.metrics import bootstrap_interval, evaluate_measure
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import LambdaMART, RankSVM
from skrank.selection import (
    DepthPooling,
    HedgePooling,
    InfAPSampling,
    LetorSelection,
    MTCSelection,
    PPCSelection,
    SelectorComparison,
    StatAPSampling,
)

DATA = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
MEASURE = "ndcg@10"
RANDOM = "random (infAP)"
# Columns of BM25 and of language models with three smoothings, of each field.
SYSTEMS = {
    "MQ2008": np.arange(20, 40),
    "OHSUMED": np.add.outer([0, 15, 30], [10, 12, 13, 14]).ravel(),
}
RANKERS = {
    "RankSVM": lambda: RankSVM(alpha=0.01),
    "LambdaMART": lambda: LambdaMART(n_estimators=50, random_state=0, n_jobs=1),
}


def folds_of(collection, options):
    """Training and held-out rows of each fold, and the columns that are systems."""
    count, validation = options.folds, options.part == "validation"
    if collection != "embedded":
        for fold in range(1, count + 1):
            folder = DATA / collection / f"Fold{fold}"
            held_out = "vali" if validation else "test"
            train, held = (
                Rows(*load_letor(folder / f"{part}.txt"))
                for part in ("train", held_out)
            )
            yield train, held, SYSTEMS[collection]
        return
    data = load_see_also()
    queries = np.unique(data.groups, return_inverse=True)[1]
    kept = queries % 4 == 0  # a quarter of the queries, so that it takes minutes
    y, groups = data.y[kept], data.groups[kept]
    X = QueryMinMaxScaler().fit_transform(data.X[kept], groups=groups)
    names = [str(name).lower() for name in data.feature_names]
    systems = [j for j, name in enumerate(names) if "bm25" in name or "lmir" in name]
    splits = list(QueryKFold(5).split(X, y, groups))
    for fold, (train, held) in enumerate(splits[:count]):
        if validation:  # the test queries of the next fold
            held = splits[(fold + 1) % 5][1]
            train = np.setdiff1d(train, held)
        yield (
            *(Rows(X[at], y[at], groups[at]) for at in (train, held)),
            np.array(systems),
        )


def pooled(scores, groups, n_wanted):
    """The pool whose number of documents is closest to what is wanted."""
    sizes = [
        (len(DepthPooling(depth).select(scores, groups).rows), depth)
        for depth in range(1, 2 + int(np.ceil(n_wanted / len(np.unique(groups)))))
    ]
    return DepthPooling(min(sizes, key=lambda one: abs(one[0] - n_wanted))[1])


def selections(train, systems, share, options):
    """Rows, and weights or None, of each selection by its name; several of draws."""
    seeds = options.seeds
    scores, per_query = train.X[:, systems], len(train.y) / len(np.unique(train.groups))
    y, depth = train.y, max(1, round(share * per_query))
    found = {}
    for name, sampling in ((RANDOM, InfAPSampling), ("statAP", StatAPSampling)):
        drawn = [
            sampling(share, random_state=seed).select(scores, train.groups)
            for seed in range(seeds)
        ]
        found[name] = [(chosen.rows, None) for chosen in drawn]
        if name == "statAP":
            found["statAP, weighted"] = [(one.rows, one.weights) for one in drawn]
    if options.mu:
        made = {f"PPC, mu={mu:g}": PPCSelection(share, mu=mu) for mu in options.mu}
        rows = {
            name: selector.select(train.X, train.groups, y=y).rows
            for name, selector in made.items()
        }
        return {
            RANDOM: found[RANDOM],
            **{name: [(r, None)] for name, r in rows.items()},
        }
    fixed = {
        "depth pooling": pooled(scores, train.groups, share * len(y)),
        "LETOR": LetorSelection(depth),
        "MTC": MTCSelection(share),
        "Hedge": HedgePooling(share),
    }
    for name, selector in fixed.items():
        chosen = selector.select(scores, train.groups, y=y)
        found[name] = [(chosen.rows, None)]
    chosen = PPCSelection(share).select(train.X, train.groups, y=y)
    found["PPC"] = [(chosen.rows, None)]
    return found


def values_of(make, train, test, rows, weights):
    """Measure of each test query by a ranker that learned from some rows."""
    X, y, groups = (column[rows] for column in train)
    ranker = make().fit(X, y, groups, sample_weight=weights)
    scores = ranker.predict(test.X)
    return evaluate_measure(MEASURE, test.y, scores, groups=test.groups, per_query=True)


def compared(collection, make, options):
    """The comparison of all selections, over the test queries of all folds."""
    counts, values, curves = {}, {}, {}
    for train, test, systems in folds_of(collection, options):
        whole = values_of(make, train, test, np.arange(len(train.y)), None)
        fold = {}
        for share in options.shares:
            some = selections(train, systems, share, options)
            for name, drawn in some.items():
                each = [values_of(make, train, test, *one) for one in drawn]
                size = np.mean([len(rows) for rows, _ in drawn])
                fold.setdefault(name, []).append((size, each))
        for name, points in fold.items():
            points.append((len(train.y), [whole] * len(points[0][1])))
            counts.setdefault(name, []).append([size for size, _ in points])
            each = np.array([np.array(point) for _, point in points])
            values.setdefault(name, []).append(each.mean(axis=1))
            curves.setdefault(name, []).append(np.nanmean(each, axis=2).T)
    known = {
        name: np.hstack(of_folds)[:, ~np.isnan(np.hstack(of_folds)).any(axis=0)]
        for name, of_folds in values.items()
    }
    return SelectorComparison(
        {name: np.mean(of_folds, axis=0) for name, of_folds in counts.items()},
        {name: np.mean(of_folds, axis=0) for name, of_folds in curves.items()},
        known,
        MEASURE,
        True,
    )


def report(title, comparison):
    """Print curves, and mean differences from a selection at random."""
    print(f"\n{title}, {comparison.measure_name}", flush=True)
    record = {}
    for name, counts in comparison.n_judged.items():
        curve = comparison.per_query[name].mean(axis=1)
        gaps, intervals = comparison.difference(name, RANDOM)
        own, other = comparison.per_query[name], comparison.per_query[RANDOM]
        # Pools cannot be made of any size: only those of about the same are compared.
        others = comparison.n_judged[RANDOM]
        alike = np.abs(counts - others) <= 0.1 * others
        alike[-1] = False  # all documents
        if alike.any():
            mean = (own - other)[alike].mean(axis=0)
            low, high = bootstrap_interval(mean, random_state=0)
        else:
            mean, low, high = np.array([np.nan]), np.nan, np.nan
        print(
            f"{name:20s}"
            + "".join(f"{n:8.0f} {v:.4f}" for n, v in zip(counts, curve))
            + f"   {mean.mean():+.4f} [{low:+.4f}, {high:+.4f}] of {alike.sum()}",
            flush=True,
        )
        record[name] = {
            "n": counts.tolist(),
            "curve": curve.tolist(),
            "spread over seeds": comparison.curves[name].std(axis=0).tolist(),
            "gaps": gaps.tolist(),
            "intervals": intervals.tolist(),
            "difference": [mean.mean(), low, high],
        }
    return record


def pairs(collection, options):
    """RankSVM that learns from all pairs, or from those that are consistent."""
    found = {}
    for train, test, _ in folds_of(collection, options):
        make, rows = RANKERS["RankSVM"], np.arange(len(train.y))
        whole = values_of(make, train, test, rows, None)
        found.setdefault("all pairs", []).append((np.nan, whole))
        for mu in options.mu or (0.0, 0.1, 0.5, 1.0, 2.0):
            kept = PPCSelection(mu=mu).select_pairs(train.X, train.groups, y=train.y)
            ranker = make().fit(train.X, preferences=kept, groups=train.groups)
            values = evaluate_measure(
                MEASURE,
                test.y,
                ranker.predict(test.X),
                groups=test.groups,
                per_query=True,
            )
            found.setdefault(f"PPC, mu={mu}", []).append((len(kept), values))
    record = {}
    base = np.concatenate([values for _, values in found["all pairs"]])
    print(f"\n{collection}, pairs, RankSVM")
    for name, parts in found.items():
        values = np.concatenate([each for _, each in parts])
        known = ~np.isnan(values)
        gaps = (values - base)[known]
        low, high = bootstrap_interval(gaps, random_state=0)
        n = np.mean([count for count, _ in parts])
        print(
            f"{name:20s}{n:10.0f} {values[known].mean():.4f}   {gaps.mean():+.4f} "
            f"[{low:+.4f}, {high:+.4f}]"
        )
        record[name] = [n, values[known].mean(), gaps.mean(), low, high]
    return record


def figure(comparisons):
    """Learning curves, one panel for each collection and ranker."""
    from matplotlib.figure import Figure

    n_rows = -(-len(comparisons) // 2)
    drawn = Figure(figsize=(11, 4 * n_rows), layout="constrained")
    axes = drawn.subplots(n_rows, 2, squeeze=False).ravel()
    for ax, (title, comparison) in zip(axes, comparisons.items()):
        LearningCurveDisplay.from_comparison(comparison, bands=[RANDOM], ax=ax)
        ax.set_title(title)
        ax.set_xscale("log")
        ax.set_xlabel("Documents to train on")
    for ax in axes[len(comparisons) :]:
        ax.remove()
    return drawn


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    collections = ("MQ2008", "OHSUMED", "embedded")
    parser.add_argument("--collections", nargs="+", default=collections)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--shares", nargs="+", type=float, default=[0.05, 0.1, 0.2, 0.4]
    )
    parser.add_argument("--part", choices=["test", "validation"], default="test")
    parser.add_argument("--mu", nargs="+", type=float, help="compare these with PPC")
    parser.add_argument("--pairs", action="store_true", help="compare pairs instead")
    add_outputs(parser)
    options = parser.parse_args(arguments)
    comparisons, record = {}, {}
    with warnings.catch_warnings():
        # Queries of which few documents are left may have no preference.
        warnings.simplefilter("ignore", TrainingDataWarning)
        for collection in options.collections:
            if options.pairs:
                record[collection] = pairs(collection, options)
                continue
            for name in options.rankers:
                title = f"{collection}, {name}"
                comparisons[title] = compared(collection, RANKERS[name], options)
                record[title] = report(title, comparisons[title])
    write_outputs(options, record, lambda: figure(comparisons))


if __name__ == "__main__":
    main()
