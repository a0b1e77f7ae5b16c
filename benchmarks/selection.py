"""Selection of documents to judge and of features, on LETOR collections.

``python -m benchmarks.selection active`` draws learning curves on the folds of MQ2008
and OHSUMED: a few judged documents, a ranker, the next documents by each selector, and
so on, with the difference from a selection at random and its paired interval over the
test queries of all folds. ``python -m benchmarks.selection features`` compares all
features with those of GAS, of a measure filter, of the path of the L1 penalty and of
elimination, where the number of features, and c of GAS, are chosen on the validation
queries of each fold. ``python -m benchmarks.selection kernel`` takes the time of
Kendall's similarities beside scipy.
"""

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from benchmarks.data import make_mslr_like
from benchmarks.outputs import add_outputs, write_outputs
from skrank._core._choices import kendall_sums
from skrank.datasets import load_letor
from skrank.metrics import bootstrap_interval, evaluate_measure
from skrank.rankers import LambdaMART, RankBoost, RankSVM
from skrank.selection import (
    GAS,
    ActiveExploration,
    ExpectedHypothesisChange,
    L1PathSelector,
    QueryRFE,
    RandomSelection,
    SelectByMeasure,
    SVMSelectiveSampling,
    compare_selectors,
)

DATA = Path(os.environ.get("SKRANK_DATA", "../shared/data"))
COLLECTIONS = ("MQ2008", "OHSUMED")
# Shares of the features to try.
SHARES = (0.1, 0.2, 0.35, 0.5, 0.75)


def read(collection, fold, part):
    """Rows, grades and queries of a part of a fold."""
    X, y, groups = load_letor(DATA / collection / f"Fold{fold}" / f"{part}.txt")
    return X, y, groups


RANKERS = {
    "RankSVM": lambda: RankSVM(alpha=0.01),
    "RankBoost": lambda: RankBoost(n_estimators=30),
}


def selectors(ranker, limit):
    """Selectors by name, all under the same limit to the documents of a query."""
    few = {"max_per_query": limit}
    found: dict[str, Any] = {
        "random": RandomSelection(**few),
        "expected change": ExpectedHypothesisChange(**few),
        "expected change, mean": ExpectedHypothesisChange(pairs="mean", **few),
    }
    if ranker == "RankBoost":
        return found
    found["SVM selective sampling"] = SVMSelectiveSampling(**few)
    for strategy in (
        "random",
        "largest_loss_pair",
        "one_step_lookahead",
        "largest_loss_documents",
    ):
        name = f"exploration, {strategy}"
        found[name] = ActiveExploration(strategy=strategy, n_members=5, **few)
    return found


def active(options):
    """Learning curves; the first documents are the same for all selectors."""
    record = {}
    for collection in options.collections:
        for name in options.rankers:
            parts = [
                _active_fold(collection, fold, name, options)
                for fold in range(1, options.folds + 1)
            ]
            record[f"{collection}, {name}"] = _report(collection, name, parts)
    return record


def _active_fold(collection, fold, name, options):
    X, y, groups = read(collection, fold, "train")
    X_test, y_test, groups_test = read(collection, fold, "test")
    n_queries = len(np.unique(groups))
    return compare_selectors(
        RANKERS[name](),
        X,
        y,
        groups,
        X_test=X_test,
        y_test=y_test,
        groups_test=groups_test,
        selectors=selectors(name, options.limit),
        n_initial=options.initial * n_queries,
        batch=n_queries // 2,
        n_rounds=options.rounds,
        n_repeats=options.repeats,
        measure="ndcg@10",
        n_jobs=2,
    )


def _report(collection, name, parts):
    """Print the mean curves, and their mean difference from random ones."""
    print(f"\n{collection}, {name}, NDCG@10 of {len(parts)} folds")
    counts = np.mean([part.n_judged["random"] for part in parts], axis=0)
    print(f"{'judged documents':38s}" + "".join(f"{n:8.0f}" for n in counts))
    record = {"n_judged": counts.tolist()}
    of_random = np.hstack([part.per_query["random"] for part in parts])
    for selector in parts[0].curves:
        values = np.hstack([part.per_query[selector] for part in parts])
        curve = values.mean(axis=1)
        gaps = (values - of_random)[1:].mean(axis=0)
        low, high = bootstrap_interval(gaps, random_state=0)
        print(
            f"{selector:38s}"
            + "".join(f"{value:8.4f}" for value in curve)
            + f"   {gaps.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
        )
        record[selector] = {
            "curve": curve.tolist(),
            "intervals": bootstrap_interval(values.T, random_state=0).tolist(),
            "difference": [gaps.mean(), low, high],
        }
    return record


def feature_selectors(share):
    """Selectors of this share of the features, by name."""
    ranker = RankSVM(alpha=0.01)
    rfe = {"n_features_to_select": share, "step": 0.2, "random_state": 0}
    return {
        "measure filter (MAP)": [SelectByMeasure(share, importance="map")],
        "GAS (MAP, tau)": [
            GAS(share, importance="map", c=c) for c in (0.001, 0.003, 0.01, 0.03, 0.1)
        ],
        "GAS (NDCG@10, tau)": [
            GAS(share, c=c) for c in (0.001, 0.003, 0.01, 0.03, 0.1)
        ],
        "L1 path": [L1PathSelector(share)],
        "elimination, permutations": [QueryRFE(ranker, n_repeats=2, **rfe)],
        "elimination, coefficients": [QueryRFE(ranker, importance="model", **rfe)],
    }


def features(options):
    """Subsets of the features beside all of them, chosen on validation queries."""
    record = {}
    makers = {"RankSVM": lambda: RankSVM(alpha=0.01)}
    if options.trees:
        makers["LambdaMART"] = lambda: LambdaMART(n_estimators=100, random_state=0)
    for collection in options.collections:
        for name, make in makers.items():
            folds = [
                _feature_fold(collection, fold, make, options)
                for fold in range(1, options.folds + 1)
            ]
            record[f"{collection}, {name}"] = _feature_report(collection, name, folds)
    return record


def _feature_fold(collection, fold, make, options):
    """Values of the test queries, and the chosen number of features and c."""
    train, vali, test = (read(collection, fold, p) for p in ("train", "vali", "test"))

    def measured(part, kept, model, **more):
        scores = model.predict(part[0][:, kept])
        return evaluate_measure("map", part[1], scores, groups=part[2], **more)

    def trained(kept):
        return make().fit(train[0][:, kept], *train[1:])

    n_features = train[0].shape[1]
    whole = np.arange(n_features)
    model = trained(whole)
    found = {"all features": (measured(test, whole, model, per_query=True), n_features)}
    candidates = {}
    for share in SHARES:
        for name, some in feature_selectors(share).items():
            for selector in some:
                kept = np.flatnonzero(selector.fit(*train).get_support())
                model = trained(kept)
                value = measured(vali, kept, model)
                candidates.setdefault(name, []).append((value, kept, model, selector))
    for name, tried in candidates.items():
        _, kept, model, selector = max(tried, key=lambda one: one[0])
        values = measured(test, kept, model, per_query=True)
        found[name] = (values, len(kept), getattr(selector, "c", None))
    return found


def _feature_report(collection, name, folds):
    print(f"\n{collection}, {name}, MAP of {len(folds)} folds")
    record = {}
    base = np.concatenate([fold["all features"][0] for fold in folds])
    known = ~np.isnan(base)
    for selector in folds[0]:
        values = np.concatenate([fold[selector][0] for fold in folds])
        gaps = (values - base)[known]
        low, high = bootstrap_interval(gaps, random_state=0)
        number = np.mean([fold[selector][1] for fold in folds])
        cs = [fold[selector][2] for fold in folds if len(fold[selector]) > 2]
        cs = [c for c in cs if c is not None]
        print(
            f"{selector:30s}{number:6.1f} features  {values[known].mean():.4f}  "
            f"{gaps.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
            + (f"  c {cs}" if cs else "")
        )
        record[selector] = [number, values[known].mean(), gaps.mean(), low, high, cs]
    return record


def kernel(options):
    """Time of the similarities of 136 features, side by side with scipy's."""
    data = make_mslr_like(200)
    values = np.ascontiguousarray(data.X.T, dtype=np.float64)
    start = time.perf_counter()
    kendall_sums(values, data.ptr, False, 1)
    own = time.perf_counter() - start
    start = time.perf_counter()
    pairs = [(0, 1), (0, 2), (1, 2), (70, 71), (100, 130)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, j in pairs:
            for first, last in zip(data.ptr[:-1], data.ptr[1:]):
                kendalltau(values[i, first:last], values[j, first:last])
    n_pairs = len(values) * (len(values) + 1) // 2
    peer = (time.perf_counter() - start) * n_pairs / len(pairs)
    print(
        f"{n_pairs} pairs of features, {data.n_queries} queries, {data.n_documents} "
        f"documents: {own:.2f} s, scipy.stats.kendalltau {peer:.0f} s (from "
        f"{len(pairs)} pairs), ratio {peer / own:.0f}"
    )
    return {"own": own, "scipy": peer}


def figure(record):
    """Learning curves with intervals, one panel for each collection and ranker."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6 * len(record), 4.5), layout="constrained")
    for ax, (title, found) in zip(
        drawn.subplots(1, len(record), squeeze=False)[0], record.items(), strict=True
    ):
        for name, one in found.items():
            if name == "n_judged":
                continue
            (line,) = ax.plot(found["n_judged"], one["curve"], label=name)
            low, high = np.array(one["intervals"]).T
            if name == "random":
                ax.fill_between(found["n_judged"], low, high, alpha=0.1, color="C0")
            line.set_linewidth(2 if name == "random" else 1.2)
        ax.set_title(title)
        ax.set_xlabel("Judged documents")
        ax.set_ylabel("NDCG@10 of test queries")
        ax.legend(fontsize=7)
    return drawn


def main(arguments=None):
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("active", "features", "kernel"))
    parser.add_argument("--collections", nargs="+", default=COLLECTIONS)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--initial", type=int, default=2, help="documents per query")
    parser.add_argument("--limit", type=int, default=2, help="of a query in a round")
    parser.add_argument("--trees", action="store_true", help="also LambdaMART")
    add_outputs(parser)
    options = parser.parse_args(arguments)
    record = {"active": active, "features": features, "kernel": kernel}[options.what](
        options
    )
    write_outputs(options, record, lambda: figure(record))


if __name__ == "__main__":
    main()
