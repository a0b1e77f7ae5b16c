"""Rankers of trees after searches of equal size, by validation queries only.

Every contestant is given the same number of configurations, drawn at random from a
space of its usual parameters. `RandomizedSearchCV` chooses by NDCG@10 on a quarter of
the training queries and trains the best again on all of them; it is measured on the
validation queries of the collections of `benchmarks.study_data`, as in
`benchmarks.defaults`, whose tables are printed.

``python -m benchmarks.searches --small --budget 12`` leaves out large collections.
"""

from functools import partial

from scipy.stats import loguniform, randint
from sklearn.model_selection import RandomizedSearchCV

from benchmarks.defaults import (
    Contestant,
    catboost,
    lightgbm,
    options_of_study,
    own,
    study,
    xgboost,
)
from skrank.losses import YetiRankLoss
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryShuffleSplit
from skrank.rankers import BoostedRanker, LambdaMART, YetiRank

RATES = loguniform(0.02, 0.2)
# Rates stay "auto", which follows from the data and the number of trees.
TREES = {
    "n_estimators": [200, 400],
    "min_gain_to_noise": [1.5, 3.0, 5.0],
    "min_samples_leaf": [5, 20, 50],
    "l2_regularization": [0.0, 10.0, 30.0, 100.0],
    "max_features": [0.5, 1.0],
}
LEAVES = {
    "estimator__n_estimators": [100, 200],
    "estimator__learning_rate": RATES,
    "estimator__reg_lambda": [0.0, 1.0, 10.0],
    "estimator__colsample_bytree": [0.5, 1.0],
}

# Those of a YetiRank and of a BoostedRanker: a choice of two, as in CatBoost's space.
LOSSES = [YetiRankLoss(YetiRank().n_rankings, decay=YetiRank().decay), None]

SPACES = [
    (Contestant("YetiRank", own(YetiRank)), TREES | {"gain": ["linear", "exp2"]}),
    (Contestant("BoostedRanker", own(BoostedRanker)), TREES | {"loss": LOSSES}),
    (
        Contestant("LambdaMART", own(LambdaMART)),
        TREES | {"measure": ["ndcg@10", "ndcg@30", "map"]},
    ),
    (
        Contestant("LightGBM", lightgbm, "lightgbm"),
        LEAVES
        | {
            "estimator__num_leaves": randint(7, 64),
            "estimator__min_child_samples": [5, 20, 50],
        },
    ),
    (
        Contestant("XGBoost", xgboost, "xgboost"),
        LEAVES
        | {
            "estimator__max_depth": randint(3, 7),
            "estimator__lambdarank_pair_method": ["mean", "topk"],
        },
    ),
    (
        Contestant("CatBoost", partial(catboost, iterations=300), "catboost"),
        {
            "estimator__learning_rate": RATES,
            "estimator__depth": randint(3, 7),
            "estimator__l2_leaf_reg": [1.0, 3.0, 10.0, 30.0],
            "estimator__random_strength": [0.5, 1.0, 2.0],
            "estimator__loss_function": ["YetiRank", "QueryRMSE"],
        },
    ),
]


def searched(contestant, space, budget):
    """The contestant within a search over ``budget`` configurations."""

    def make(seed):
        ranker = contestant.make(seed).set_fit_request(groups=True)
        return RandomizedSearchCV(
            ranker,
            space,
            n_iter=budget,
            scoring=make_ranking_scorer("ndcg@10"),
            cv=QueryShuffleSplit(1, test_size=0.25, random_state=seed),
            random_state=seed,
        )

    return contestant._replace(make=make)


def main(argv=None):
    """Run the study of searches."""
    names = [contestant.name for contestant, _ in SPACES]
    parser = options_of_study("python -m benchmarks.searches", __doc__, names)
    parser.add_argument("--budget", type=int, default=12, help="configurations of each")
    options = parser.parse_args(argv)
    study(options, [searched(c, space, options.budget) for c, space in SPACES])


if __name__ == "__main__":
    main()
