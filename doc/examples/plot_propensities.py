"""
Learn from clicks as if from judgements
=======================================

Users look at what stands first. Here their clicks are simulated, so that the propensity
of every place, the probability that it is looked at, is known: it is found again from
the clicks in four ways, and the rankers that use it come close to one that is trained
on the true grades.
"""

# %%
# A production ranker that knows one feature of five shows lists of ten documents, query
# by query. A user looks at place k with probability 1 / k and clicks by the grade, with
# some noise.

import matplotlib.pyplot as plt
import numpy as np

from skrank.click import Sessions, SimulatedUser
from skrank.datasets import make_ranking
from skrank.rankers import LambdaMART, RankSVM
from skrank.unbiased import (
    DualLearningRanker,
    InterventionPropensities,
    PropensityWeightedRanker,
    RegressionEM,
    UnbiasedLambdaMART,
)

N, SIZE = 3000, 10
X, y, groups = make_ranking(
    n_queries=N,
    docs_per_query=SIZE,
    n_features=5,
    n_informative=5,
    noise=0.3,
    query_effect=0.0,
    random_state=0,
)
rng = np.random.RandomState(0)
shown = np.lexsort((-(X[:, 0] + rng.standard_normal(len(X))), groups))
X, y, groups = X[shown], y[shown], groups[shown]
ptr, positions = np.arange(N + 1) * SIZE, np.tile(np.arange(1, SIZE + 1), N)
user = SimulatedUser("perfect", examination="position", noise=0.05, max_grade=4)
clicks = user.click(y, ptr, random_state=1)
train = groups < 2000
rows = X[train], clicks[train], groups[train]

# %%
# Click rates fall faster than propensities, because good documents come first. Three
# estimators separate the two by the features of the documents.

em = RegressionEM(random_state=0).fit(*rows, positions=positions[train])
dual = DualLearningRanker(max_iter=20, random_state=0)
dual.fit(*rows, positions=positions[train])
boosted = UnbiasedLambdaMART(n_estimators=50, random_state=0)
boosted.fit(*rows, positions=positions[train])

# %%
# Where documents change places, no features are needed: here, those in the first place
# and in one at random were swapped in some sessions.

row = np.arange(len(X)).reshape(N, SIZE)
sessions = np.arange(N)
other = rng.randint(SIZE, size=N)
row[sessions, 0], row[sessions, other] = row[sessions, other], row[sessions, 0]
log = Sessions.concat(
    [
        Sessions.from_lists(
            groups[::SIZE],
            row.tolist(),
            user.click(y[row.ravel()], ptr, random_state=seed).reshape(N, SIZE),
        )
        for seed in (2, 3)
    ]
    + [
        Sessions.from_lists(
            groups[::SIZE],
            np.arange(len(X)).reshape(N, SIZE).tolist(),
            user.click(y, ptr, random_state=seed).reshape(N, SIZE),
        )
        for seed in (4, 5)
    ]
)
swaps = InterventionPropensities("all_pairs").fit(log)

places = np.arange(1, SIZE + 1)
rates = clicks[train].reshape(-1, SIZE).mean(axis=0)
curves = {
    "click rates": (rates / rates[0], "C7--"),
    "InterventionPropensities": (swaps.propensities_, "C0o-"),
    "RegressionEM": (em.propensities_, "C1s-"),
    "DualLearningRanker": (dual.propensities_, "C2^-"),
    "UnbiasedLambdaMART": (boosted.propensities_, "C3v-"),
}
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot(places, user.propensities(SIZE), "k-", linewidth=3, alpha=0.4, label="true")
for name, (curve, style) in curves.items():
    ax.plot(places, curve, style, label=name)
ax.set(xlabel="place", ylabel="propensity relative to the first place", yscale="log")
ax.set_xticks(places)
ax.legend()

# %%
# Rankers on fresh queries, by their true grades. Any ranker learns from weighted
# clicks.

test = X[~train], y[~train], groups[~train]
given = {"positions": positions[train]}
models = {
    "RankSVM, clicks as they are": RankSVM().fit(*rows),
    "RankSVM, weighted": PropensityWeightedRanker(RankSVM(), swaps.propensities_).fit(
        *rows, **given
    ),
    "RankSVM, true grades": RankSVM().fit(X[train], y[train], groups[train]),
    "LambdaMART, clicks as they are": LambdaMART(n_estimators=50, random_state=0).fit(
        *rows
    ),
    "UnbiasedLambdaMART": boosted,
    "LambdaMART, true grades": LambdaMART(n_estimators=50, random_state=0).fit(
        X[train], y[train], groups[train]
    ),
    "DualLearningRanker": dual,
}
for name, model in models.items():
    print(f"{name:31} NDCG@10 {model.score(*test):.3f}")
