"""The rankers of the LETOR protocol: their grids, and what was published for them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from skrank.compat import PeerRanker
from skrank.energies import NadarayaWatsonEnergy
from skrank.losses import (
    BradleyTerryLoss,
    LambdaBoundLoss,
    ThurstoneMostellerLoss,
    YetiRankLoss,
)
from skrank.rankers import (
    IRSVM,
    MART,
    OWPC,
    SVMMAP,
    SVMMRR,
    SVMNDCG,
    AdaRank,
    ApproxAP,
    ApproxNDCG,
    AssociationRuleRanker,
    BoltzRank,
    BoostedRanker,
    CoordinateAscent,
    DecisionTheoreticRanker,
    EnergyListwise,
    EnergyPairwise,
    EnergyPointwise,
    EnergyRanker,
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
    PermuRank,
    PNormPush,
    PRank,
    PreferenceOrdering,
    QBRank,
    RankBoost,
    RankCosine,
    RankGP,
    RankNet,
    RankSVM,
    RobustSparseRanker,
    Rocchio,
    SigmoidRanker,
    SmoothRank,
    SoftRank,
    SortNet,
    StructRank,
    SubsetRegression,
    SVMClassifierRanker,
    ThresholdOrdinal,
    YetiRank,
)
from skrank.solvers import SGD, Adam, ConstrainedSGD

ALPHAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
LAMBDA_BOUNDS = ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")
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


# Splits as they are, for comparisons of equal settings and of published algorithms.
NO_NOISE = {"random_strength": [0.0]}


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
    leaves = {"n_estimators": [100], "max_leaf_nodes": [7, 15], **NO_NOISE}
    ties = {
        "Bradley-Terry": [BradleyTerryLoss(theta) for theta in (1.2, 3.0)],
        "Thurstone-Mosteller": [ThurstoneMostellerLoss(0.1)],
    }
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
        Entry("SortNet", SortNet, {"alpha": [1e-3, 1e-2]}, seeds=True),
        Entry("GBRank", GBRank, leaves | {"targets": ["other", "own"]}, seeds=True),
        Entry("QBRank", QBRank, leaves | {"learning_rate": [0.02, 0.05]}, seeds=True),
        *(
            Entry(
                f"BoostedRanker, {name}",
                BoostedRanker,
                {"max_leaf_nodes": [7], "learning_rate": [0.05], "loss": losses}
                | {"n_estimators": [100], **NO_NOISE},
                seeds=True,
            )
            for name, losses in ties.items()
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


def inverse_root(places):
    """Weights of OWPC that fall more slowly than 1 / t, and so ask for less."""
    return 1.0 / np.sqrt(places)


SVM_ALPHAS = [1e-4, 1e-3, 1e-2, 1e-1]
# Losses of pair margins, and the cosine.
PAIR_MARGINS = [
    Entry(
        "IRSVM",
        IRSVM,
        {"alpha": ALPHAS, "rank_pair_weights": [None, "ndcg@1", "ndcg@10"]},
    ),
    Entry("OWPC", OWPC, {"alpha": SVM_ALPHAS, "weights": ["reciprocal", "max"]}),
    Entry("OWPC, flat", OWPC, {"alpha": SVM_ALPHAS, "weights": [inverse_root]}),
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
        {"l1": [1e-4, 1e-3, 1e-2]},
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

# Likelihoods of orders, and pairs weighted by their ranks: linear scores and trees.
ORDERS = [
    *(
        Entry(
            f"ListMLE, {ties}",
            partial(ListMLE, ties=ties),
            {"alpha": ALPHAS, "top_k": [None, 5]},
        )
        for ties in ("average", "partition")
    ),
    Entry(
        "ListMLE, weighted",
        ListMLE,
        {"alpha": ALPHAS, "position_weights": ["p", "log2"]},
    ),
    Entry("ListNet, top 2 and 3", ListNet, {"alpha": ALPHAS, "top_k": [2, 3]}),
    *(
        entry
        for name, loss in {
            **{bound: LambdaBoundLoss(bound) for bound in LAMBDA_BOUNDS},
            "YetiRank": YetiRankLoss(),
        }.items()
        for entry in (
            Entry(
                f"{name}, linear",
                partial(EnergyRanker, loss=loss, solver=Adam(learning_rate=0.02)),
                {"alpha": [1e-4, 1e-2]},
                seeds=True,
                uses_validation=True,
            ),
            Entry(
                f"{name}, trees",
                partial(BoostedRanker, loss, learning_rate=0.05),
                {"max_leaf_nodes": [7, 15], "n_estimators": [50, 100], **NO_NOISE},
                seeds=True,
            ),
        )
    ),
]

STRUCTURED_ALPHAS = [1e-2, 1e-1, 1.0, 10.0]
# Convex bounds of measures over whole rankings.
STRUCTURED = [
    Entry(
        "SVMMAP",
        SVMMAP,
        {"alpha": STRUCTURED_ALPHAS},
        {
            "OHSUMED": {
                "map": (0.445, LIU_OH),
                "ndcg@1": (0.523, LIU_OH),
                "ndcg@3": (0.466, LIU_OH),
                "ndcg@10": (0.432, LIU_OH),
            }
        },
    ),
    Entry("SVMNDCG", SVMNDCG, {"alpha": STRUCTURED_ALPHAS}),
    Entry("SVMMRR", SVMMRR, {"alpha": STRUCTURED_ALPHAS}),
    Entry(
        "PermuRank",
        PermuRank,
        {"alpha": STRUCTURED_ALPHAS, "measure": ["map"]},
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
    Entry(
        "CoordinateAscent",
        CoordinateAscent,
        {"measure": ["map", "ndcg@10"], "start": ["uniform", "random"]},
        seeds=True,
        uses_validation=True,
    ),
    Entry(
        "AdaRank, MAP",
        partial(AdaRank, "map"),
        published={
            "MQ2008": {"map": (0.476, LIU_MQ)},
            "OHSUMED": {"map": (0.449, LIU_OH)},
        },
        uses_validation=True,
    ),
    Entry(
        "AdaRank, NDCG",
        AdaRank,
        {"measure": ["ndcg", "ndcg@10"]},
        {"OHSUMED": {"map": (0.450, LIU_OH)}},
        uses_validation=True,
    ),
    Entry(
        "RankGP",
        partial(RankGP, "map", n_iter_no_change=None),
        seeds=True,
        uses_validation=True,
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
                "n_estimators": [100],
                "max_leaf_nodes": [7],
                **NO_NOISE,
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
    *(
        Entry(
            " ".join((make.__name__, *options.values())).strip(),
            partial(make, **options),
            {"alpha": [1e-4, 1e-3, 1e-2]} | grid,
        )
        for make, options, grid in (
            (SoftRank, {"measure": "ndcg@10"}, {"sigma": [0.3, 1.0]}),
            (SoftRank, {"measure": "map"}, {"sigma": [0.3, 1.0]}),
            (DecisionTheoreticRanker, {}, {"width": [0.5, 1.0]}),
            (ApproxNDCG, {}, {"width": [0.3, 1.0], "k": [10, None]}),
            (ApproxAP, {}, {"width": [0.3, 1.0]}),
            (SmoothRank, {"measure": "ndcg@10"}, {"width": [0.1, 0.3]}),
            (SmoothRank, {"measure": "map"}, {"width": [0.1, 0.3]}),
        )
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
    *ORDERS,
    *STRUCTURED,
    *trees("LambdaMART", LambdaMART, NO_NOISE, seeds=True),
    *trees("BoostedRanker", BoostedRanker, NO_NOISE, seeds=True),
    *trees("MART", MART, NO_NOISE, seeds=True),
    *(
        Entry(f"{make.__name__}, defaults", make, {}, seeds=True)
        for make in (YetiRank, LambdaMART, BoostedRanker, MART)
    ),
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
