"""
Watch a network train, and stop in time
=======================================

A network fits its training queries better with every epoch, but from some point on it
only learns their noise. Early stopping measures validation queries after each epoch and
keeps the parameters of the best one.
"""

# %%
# A network that is large for 60 queries with noisy judgements. Validation queries are
# passed to ``fit``; ``early_stopping=True`` would hold out some of the training queries
# instead. Patience is switched off here so that the whole story can be seen.

import numpy as np

from skrank.datasets import make_ranking
from skrank.inspection import TrainingCurveDisplay
from skrank.rankers import LambdaMART, RankNet
from skrank.solvers import Adam

X, y, groups = make_ranking(n_queries=300, noise=0.8, nonlinearity=0.3, random_state=0)
train, validation, test = groups < 60, (groups >= 60) & (groups < 120), groups >= 120
options = {
    "hidden_layer_sizes": (64, 32),
    "solver": Adam(learning_rate=2e-3),
    "alpha": 0.0,
    "max_iter": 60,
    "random_state": 0,
}
ranker = RankNet(**options, n_iter_no_change=None).fit(
    X[train],
    y[train],
    groups[train],
    X_val=X[validation],
    y_val=y[validation],
    groups_val=groups[validation],
)
TrainingCurveDisplay.from_estimator(ranker)

# %%
# The objective falls all the time, while the validation measure soon falls too. The
# ranker kept the parameters of the epoch at the dashed line. On fresh queries they are
# better than those of the last epoch:

to_the_end = RankNet(**options).fit(X[train], y[train], groups[train])
for name, model in {"best epoch": ranker, "last epoch": to_the_end}.items():
    print(f"{name}: NDCG@10 {model.score(X[test], y[test], groups[test]):.3f}")

# %%
# Boosted trees, with two sets of validation queries and two measures. The objective of
# LambdaMART is weighted by what swaps would change in the current ranking, so that it
# may rise while the rankings get better; the measures of the training queries are drawn
# in its place. The learning rate falls from round to round.

sets = {"old": validation, "new": (groups >= 120) & (groups < 180)}
boosted = LambdaMART(
    n_estimators=100,
    learning_rate=np.geomspace(0.3, 0.03, 100),
    n_iter_no_change=None,
    evaluate_training=True,
    validation_measure=["ndcg@10", "map"],
    validation_rule="mean",
    random_state=0,
).fit(
    X[train],
    y[train],
    groups[train],
    X_val={name: X[rows] for name, rows in sets.items()},
    y_val={name: y[rows] for name, rows in sets.items()},
    groups_val={name: groups[rows] for name, rows in sets.items()},
)
TrainingCurveDisplay.from_estimator(boosted)
