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
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.compat import PeerRanker
from skrank.datasets import load_letor_folds
from skrank.energies import NadarayaWatsonEnergy
from skrank.losses import BradleyTerryLoss, ThurstoneMostellerLoss
from skrank.metrics import (
    NDCG,
    RR,
    evaluate_measure,
    fisher_randomization_test,
    get_measure,
)
from skrank.rankers import (
    IRSVM,
    MART,
    OWPC,
    AssociationRuleRanker,
    BoltzRank,
    BoostedRanker,
    EnergyListwise,
    EnergyPairwise,
    EnergyPointwise,
    FRank,
    GBRank,
    GERank,
    LambdaMART,
    LambdaRank,
    LargeMarginOrdinal,
    ListMLE,
    ListNet,
    LogisticRanker,
    MagnitudePreservingRanker,
    McRank,
    MultipleHyperplaneRanker,
    NestedRanker,
    OnlineAggregatePRank,
    PNormPush,
    PRank,
    PreferenceOrdering,
    QBRank,
    RankBoost,
    RankCosine,
    RankNet,
    RankSVM,
    RobustSparseRanker,
    Rocchio,
    SigmoidRanker,
    SortNet,
    StructRank,
    SubsetRegression,
    SVMClassifierRanker,
    ThresholdOrdinal,
)
from skrank.solvers import SGD, ConstrainedSGD

SELECTION = "map"
COMPARED = ("map", "ndcg@10")
ALPHAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
ORDINAL_PENALTIES = (
    "logistic",
    "exponential",
    "smooth_hinge",
    "squared_hinge",
    "squared",
)


@dataclass
class Entry:
    """One row of the table: a ranker, its grid and what was published for it.

    ``published`` maps a data set to {measure: (value, source)}; ``datasets`` are those
    on which the row makes sense.
    """

    name: str
    make: Callable
    grid: dict = field(default_factory=dict)
    published: dict = field(default_factory=dict)
    seeds: bool = False
    uses_validation: bool = False
    datasets: tuple[str, ...] = ("MQ2008", "OHSUMED")
    needs: str | None = None  # a package that is not installed leaves the row out


LIU_MQ = "Liu table 11.10"
LIU_OH = "Liu table 11.7"
BOLTZ = "Volkovs & Zemel table 2"
FANG = "Fang & Liu table 6"
GERANK = "Wu et al. tables 5-6"


def gerank(name, **grid):
    """GERank on features that keep what depends on the query alone."""
    names = ("map", "p@1", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10")
    values = (0.4373, 0.6909, 0.6008, 0.5326, 0.4920, 0.4650)
    return Entry(
        name,
        GERank,
        {"n_iter_no_change": [15]} | grid,
        {"OHSUMED-min": {m: (v, GERANK) for m, v in zip(names, values, strict=True)}},
        seeds=True,
        uses_validation=True,
        datasets=("OHSUMED-min",),
    )


def fang(*values):
    """What Fang & Liu publish for one ranker: MAP, MRR, NDCG@5 and NDCG@10."""
    names = ("map", "mrr (trec)", "ndcg@5 (trec)", "ndcg@10 (trec)")
    return {"MQ2008": {m: (v, FANG) for m, v in zip(names, values, strict=True)}}


def boltz(*values):
    """What Volkovs & Zemel publish for one ranker: MAP, NDCG@1 and NDCG@3."""
    names = ("map", "ndcg@1", "ndcg@3")
    return {"OHSUMED": {m: (v, BOLTZ) for m, v in zip(names, values, strict=True)}}


def boltzrank(pairwise_potential):
    """BoltzRank by its defaults, and with ten starts and the λ of the paper.

    The paper keeps the best of ten starts by the validation queries. They are too few
    for that: MAP on test queries is higher for a fixed number of epochs. Everything
    else is by default; the settings of the paper are ``BoltzRank.paper()``.
    """
    name = f"BoltzRank{1 + pairwise_potential}"
    published = boltz(
        *((0.4604, 0.5681, 0.5183) if pairwise_potential else (0.4522, 0.5543, 0.5177))
    )
    make = partial(BoltzRank, pairwise_potential)
    restarts = {"n_restarts": [10], "mix": [0.9], "n_iter_no_change": [10]}
    return [
        Entry(name, make, {}, published, seeds=True),
        Entry(
            f"{name}, 10 starts",
            make,
            restarts,
            published,
            seeds=True,
            uses_validation=True,
            datasets=("OHSUMED",),
        ),
    ]


def trees(name, make, more=None, *, leaves="max_leaf_nodes", **options):
    """Boosted trees with one fixed setting, and with a search over nine."""
    fixed = {"n_estimators": [100], leaves: [15], "learning_rate": [0.05]}
    search = fixed | {"n_estimators": [50, 100, 200], leaves: [7, 15, 31]}
    more = more or {}
    return [
        Entry(f"{name}, fixed", make, fixed | more, **options),
        Entry(name, make, search | more, **options),
    ]


def boosted_thresholds(make, grid, published):
    """Thresholded features; validation queries choose the number of rounds."""
    rounds = {"n_estimators": [500], "n_iter_no_change": [None]}
    return Entry(make.__name__, make, rounds | grid, published, uses_validation=True)


def meta_rankers():
    """Rankers made of others, and the remaining ones of chapters 2 and 3 of Liu."""
    svms = [RankSVM(alpha=alpha) for alpha in (1e-4, 1e-3, 1e-2, 1e-1)]
    leaves = {"n_estimators": [100], "max_leaf_nodes": [7, 15]}
    ties = [
        loss(threshold)
        for loss, threshold in (
            (BradleyTerryLoss, 1.2),
            (BradleyTerryLoss, 3.0),
            (ThurstoneMostellerLoss, 0.1),
            (ThurstoneMostellerLoss, 0.5),
        )
    ]
    hyperplanes = MultipleHyperplaneRanker
    return [
        Entry(
            "PreferenceOrdering",
            PreferenceOrdering,
            {"estimators": [(), *([("svm", svm)] for svm in svms)], "beta": [0.5, 0.1]},
        ),
        Entry(
            "NestedRanker",
            NestedRanker,
            {"estimator": svms, "depths": [(50, 10), (20,)]},
        ),
        Entry(
            "MultipleHyperplaneRanker",
            hyperplanes,
            {"estimator": svms, "aggregation": ["borda", "score"]},
        ),
        Entry(
            "MultipleHyperplaneRanker, learned",
            hyperplanes,
            {"estimator": svms, "weights": ["validation"]},
            uses_validation=True,
        ),
        Entry("SortNet", SortNet, {"alpha": [1e-4, 1e-3, 1e-2]}, seeds=True),
        Entry("GBRank", GBRank, leaves | {"targets": ["other", "own"]}, seeds=True),
        Entry("QBRank", QBRank, leaves | {"learning_rate": [0.02, 0.05]}, seeds=True),
        Entry(
            "BoostedRanker, ties",
            BoostedRanker,
            leaves | {"learning_rate": [0.05], "loss": ties},
            seeds=True,
        ),
        Entry(
            "AssociationRuleRanker",
            AssociationRuleRanker,
            {"n_bins": [5, 10, 20], "min_support": [0.0, 0.001, 0.01]},
        ),
        Entry(
            "Rocchio",
            Rocchio,
            {"beta": [0.25, 0.75], "gamma": [0.15, 0.75], "n_blind": [0, 3]},
        ),
    ]


def lightgbm(**params):
    """LightGBM's lambdarank."""
    from lightgbm import LGBMRanker

    return PeerRanker(LGBMRanker(verbose=-1, n_jobs=1, **params))


def xgboost(**params):
    """XGBoost's rank:ndcg on trees that grow leaf by leaf."""
    from xgboost import XGBRanker

    shape = {"grow_policy": "lossguide", "max_depth": 0, "tree_method": "hist"}
    return PeerRanker(XGBRanker(objective="rank:ndcg", n_jobs=1, **shape, **params))


def structrank(topology):
    """StructRank with linear scores."""
    return Entry(
        f"StructRank, {topology}",
        partial(StructRank, topology),
        {"alpha": ALPHAS, "average": ["edge", "query"]},
        seeds=topology == "random",
    )


def structrank_local(topology):
    """StructRank as in the paper: local averages, constrained SGD, three starts.

    Averages are over 500 training rows, and the learning rate suits a loss that is a
    mean over pairs of edges, where the paper has a sum.
    """
    return Entry(
        f"StructRank, {topology}, local averages",
        partial(StructRank, topology, NadarayaWatsonEnergy(max_landmarks=500)),
        {
            "alpha": [0.0],
            "l1_bound": [20.0, None],
            "solver": [ConstrainedSGD(learning_rate=5.0)],
            "n_restarts": [3],
        },
        seeds=True,
        uses_validation=True,
    )


def fang_sgd(max_iter, *rates):
    """The descent of Fang & Liu, a step after each query, at several rates."""
    rule = {"momentum": 0.0, "per_unit": True, "batch_queries": 1}
    return [SGD(learning_rate=r, max_iter=max_iter, **rule) for r in rates]


SVM_ALPHAS = [1e-4, 1e-3, 1e-2, 1e-1]
# Losses of pair margins, and the cosine.
PAIR_MARGINS = [
    Entry(
        "IRSVM",
        IRSVM,
        {"alpha": ALPHAS, "rank_pair_weights": [None, "ndcg@1", "ndcg@10"]},
    ),
    Entry("OWPC", OWPC, {"alpha": SVM_ALPHAS, "weights": ["reciprocal", "max"]}),
    Entry(
        "MagnitudePreservingRanker",
        MagnitudePreservingRanker,
        {"alpha": ALPHAS, "kind": ["mp", "svr"], "normalization": ["pair", "query"]},
    ),
    Entry(
        "MagnitudePreservingRanker, hmp",
        partial(MagnitudePreservingRanker, "hmp"),
        {"alpha": [1e-3, 1e-2, 1e-1, 1.0]},
    ),
    *(
        Entry(
            f"SigmoidRanker, {loss}",
            partial(SigmoidRanker, loss=loss),
            {
                "estimator": [RankSVM(alpha=alpha) for alpha in (1e-4, 1e-2)],
                "alpha": SVM_ALPHAS,
            }
            | option,
        )
        for loss, option in (("sigmoid", {"sigma": [0.5, 1.0, 2.0]}), ("ramp", {}))
    ),
    Entry(
        "RobustSparseRanker",
        RobustSparseRanker,
        {"l1": [1e-5, 1e-4, 1e-3, 1e-2], "measure": ["ndcg", "ndcg@10"]},
    ),
    *(
        Entry(
            f"RankCosine, {transform}",
            partial(RankCosine, transform),
            {"alpha": alphas},
        )
        for transform, alphas in (
            ("linear", [0.0]),
            ("exponential", [0.0, *SVM_ALPHAS]),
            ("logistic", [0.0, *SVM_ALPHAS]),
        )
    ),
]

ENTRIES = [
    Entry(
        "SubsetRegression",
        SubsetRegression,
        {"alpha": [1e-3, 1e-1, 1.0, 10.0, 100.0], "gain": ["linear", "exp2"]},
        {
            "MQ2008": {
                "map": (0.4332, FANG),
                "mrr (trec)": (0.4958, FANG),
                "ndcg@5 (trec)": (0.4231, FANG),
                "ndcg@10 (trec)": (0.4733, FANG),
            },
            "OHSUMED": {
                "map": (0.422, LIU_OH),
                "ndcg@1": (0.446, LIU_OH),
                "ndcg@3": (0.443, LIU_OH),
                "ndcg@10": (0.411, LIU_OH),
            },
        },
    ),
    Entry(
        "LogisticRanker", LogisticRanker, {"alpha": ALPHAS, "threshold": [1.0, "all"]}
    ),
    Entry(
        "SVMClassifierRanker",
        SVMClassifierRanker,
        {"alpha": ALPHAS[2:], "threshold": [1.0, 2.0]},
        seeds=True,
    ),
    Entry("PRank", PRank, {"max_iter": [5, 20]}, seeds=True),
    Entry(
        "OnlineAggregatePRank",
        OnlineAggregatePRank,
        {"max_iter": [1, 5, 20]},
        seeds=True,
    ),
    *(
        Entry(
            f"ThresholdOrdinal, {construction} {penalty}",
            ThresholdOrdinal,
            {
                "alpha": ALPHAS[2:],
                "construction": [construction],
                "penalty": [penalty],
            },
        )
        for construction in ("all", "immediate")
        for penalty in ORDINAL_PENALTIES
    ),
    *(
        Entry(
            f"LargeMarginOrdinal, {strategy} {constraints}",
            LargeMarginOrdinal,
            {
                "alpha": [1e-4, 1e-3, 1e-2, 3e-2],
                "strategy": [strategy],
                "constraints": [constraints],
            },
        )
        for strategy in ("fixed_margin", "sum_of_margins")
        for constraints in ("implicit", "explicit")
    ),
    *(
        Entry(
            f"McRank, {method}",
            McRank,
            {
                "method": [method],
                "max_leaf_nodes": [7],
                "learning_rate": [0.02, 0.05],
                "gain": ["linear", "exp2"],
            },
            seeds=True,
        )
        for method in ("multiclass", "ordinal")
    ),
    Entry(
        "RankSVM",
        RankSVM,
        {"alpha": ALPHAS},
        {
            "MQ2008": {
                "map": (0.470, LIU_MQ),
                "p@1": (0.427, LIU_MQ),
                "p@10": (0.249, LIU_MQ),
                "mrr (trec)": (0.5266, FANG),
                "ndcg@5 (trec)": (0.4630, FANG),
                "ndcg@10 (trec)": (0.5080, FANG),
            },
            "OHSUMED": {
                "map": (0.433, LIU_OH),
                "ndcg@1": (0.496, LIU_OH),
                "ndcg@3": (0.421, LIU_OH),
                "ndcg@10": (0.414, LIU_OH),
            },
        },
    ),
    *PAIR_MARGINS,
    Entry(
        "RankNet",
        RankNet,
        {"alpha": ALPHAS},
        {
            "MQ2008": {
                "map": (0.4360, FANG),
                "mrr (trec)": (0.4893, FANG),
                "ndcg@5 (trec)": (0.4181, FANG),
                "ndcg@10 (trec)": (0.4694, FANG),
            }
        },
    ),
    boosted_thresholds(
        RankBoost,
        {"step": ["bound"]},
        {
            "MQ2008": {
                "map": (0.478, LIU_MQ),
                "p@1": (0.458, LIU_MQ),
                "p@10": (0.249, LIU_MQ),
                "ndcg@10": (0.226, LIU_MQ),
            },
            "OHSUMED": {
                "map": (0.441, LIU_OH),
                "ndcg@1": (0.463, LIU_OH),
                "ndcg@3": (0.456, LIU_OH),
                "ndcg@10": (0.430, LIU_OH),
            },
        },
    ),
    boosted_thresholds(
        FRank,
        {"normalization": ["query", "pair"]},
        {
            "OHSUMED": {
                "map": (0.444, LIU_OH),
                "ndcg@1": (0.530, LIU_OH),
                "ndcg@3": (0.481, LIU_OH),
                "ndcg@10": (0.443, LIU_OH),
            }
        },
    ),
    boosted_thresholds(PNormPush, {"p": [1, 2, 4, 8]}, {}),
    Entry(
        "LambdaRank",
        LambdaRank,
        {
            "alpha": [1e-4, 1e-2],
            "truncation": [None, 30],
            "measure": ["ndcg@10", "map"],
        },
        seeds=True,
        uses_validation=True,
    ),
    Entry(
        "ListNet",
        ListNet,
        {"alpha": ALPHAS, "gain": ["linear", "exp2"]},
        {
            "MQ2008": {
                "map": (0.478, LIU_MQ),
                "p@1": (0.445, LIU_MQ),
                "p@10": (0.248, LIU_MQ),
            },
            "OHSUMED": {
                "map": (0.446, LIU_OH),
                "ndcg@1": (0.533, LIU_OH),
                "ndcg@3": (0.473, LIU_OH),
                "ndcg@10": (0.441, LIU_OH),
            },
        },
    ),
    Entry(
        "ListMLE",
        ListMLE,
        {"alpha": ALPHAS, "top_k": [None, 5]},
        {
            "MQ2008": {
                "map": (0.4308, FANG),
                "mrr (trec)": (0.4877, FANG),
                "ndcg@5 (trec)": (0.4159, FANG),
                "ndcg@10 (trec)": (0.4723, FANG),
            }
        },
    ),
    *trees("LambdaMART", LambdaMART, seeds=True),
    *trees("BoostedRanker", BoostedRanker, seeds=True),
    *trees("MART", MART, seeds=True),
    *trees("LightGBM", lightgbm, leaves="num_leaves", needs="lightgbm"),
    *trees(
        "XGBoost, mean",
        xgboost,
        {"lambdarank_pair_method": ["mean"]},
        leaves="max_leaves",
        needs="xgboost",
    ),
    *trees(
        "XGBoost, top-k",
        xgboost,
        {"lambdarank_pair_method": ["topk"]},
        leaves="max_leaves",
        needs="xgboost",
    ),
    *meta_rankers(),
    *boltzrank(False),
    *boltzrank(True),
    Entry(
        "EnergyPointwise",
        EnergyPointwise,
        {"alpha": [1e-2, 3e-2, 1e-1, 3e-1], "class_weight": [None, "balanced"]},
        fang(0.4651, 0.5250, 0.4618, 0.5034),
    ),
    Entry(
        "EnergyPointwise, SGD",
        EnergyPointwise,
        {"gamma": [0.001, 0.1], "solver": fang_sgd(20, 5e-5, 5e-4)},
        fang(0.4651, 0.5250, 0.4618, 0.5034),
        seeds=True,
    ),
    Entry(
        "EnergyPairwise",
        EnergyPairwise,
        {"alpha": [1e-4, 1e-3, 1e-2, 1e-1], "cap": [1.0, 2.0, np.inf]},
        fang(0.4677, 0.5279, 0.4585, 0.5043),
    ),
    Entry(
        "EnergyPairwise, SGD",
        EnergyPairwise,
        {
            "alpha": [0.1],
            "margin": [0.0],
            "cap": [0.001, 0.1, 1.0],
            "solver": fang_sgd(10, 1e-5, 1e-4, 1e-3),
        },
        fang(0.4677, 0.5279, 0.4585, 0.5043),
        seeds=True,
    ),
    Entry(
        "EnergyListwise",
        EnergyListwise,
        {"alpha": [1e-2, 3e-2, 1e-1, 3e-1, 1.0], "top_k": [3, 5, 10]},
        fang(0.4445, 0.5046, 0.4337, 0.4849),
    ),
    Entry(
        "EnergyListwise, SGD",
        EnergyListwise,
        {
            "margin": [0.0],
            "normalization": ["list"],
            "cap": [1.0, 5.0],
            "solver": fang_sgd(10, 1e-5, 1e-4, 1e-3),
        },
        fang(0.4445, 0.5046, 0.4337, 0.4849),
        seeds=True,
    ),
    structrank("full"),
    structrank("disconnected"),
    structrank("random"),
    structrank("star"),
    structrank_local("full"),
    structrank_local("disconnected"),
    gerank("GERank, as published", divergence=["kl"], loss=["square_exponential"]),
    gerank("GERank", loss=["hinge", "log"], gain=[None, "exp2"]),
]


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
    best, chosen = -np.inf, None
    selection = {SELECTION: columns[SELECTION]}
    for params in ParameterGrid(entry.grid):
        ranker = fit(entry, params, fold, seed)
        scores = predict(ranker, fold.vali)
        value = measure_all(fold.vali, scores, selection)[SELECTION]
        if value > best:
            best, chosen = value, (ranker, params)
    ranker, params = chosen
    scores = predict(ranker, fold.test)
    compared = {name: columns[name] for name in COMPARED}
    return (
        measure_all(fold.test, scores, columns),
        measure_all(fold.test, scores, compared, per_query=True),
        params,
    )


def run(entry, folds, columns, seeds):
    """All folds and seeds of one ranker."""
    begin = time.perf_counter()
    results, queries, choices = [], [], []
    for seed in range(seeds if entry.seeds else 1):
        tests, of_folds = [], []
        for fold in folds:
            test, per_query, params = run_fold(entry, fold, columns, seed)
            tests.append(test)
            of_folds.append(per_query)
            choices.append(params)
        queries.append({m: np.concatenate([f[m] for f in of_folds]) for m in COMPARED})
        results.append({m: float(np.mean([t[m] for t in tests])) for m in columns})
    return {
        "mean": {m: float(np.mean([r[m] for r in results])) for m in columns},
        "spread": {m: float(np.std([r[m] for r in results])) for m in columns},
        "n_seeds": len(results),
        "per_query": {m: np.mean([q[m] for q in queries], axis=0) for m in COMPARED},
        "chosen": choices,
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
    parser.add_argument(
        "--data", nargs="+", default=list(COLUMNS), choices=list(COLUMNS)
    )
    parser.add_argument("--rankers", nargs="+", choices=[e.name for e in ENTRIES])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--against",
        choices=[e.name for e in ENTRIES],
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
