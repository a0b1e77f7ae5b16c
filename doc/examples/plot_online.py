"""
Learn to rank from clicks while users wait
==========================================

An online ranker has no judgements and no log: it shows lists and learns from the clicks
on them. What it shows to learn costs its users something, which is its regret. Here
three rankers learn from the same simulated users.
"""

# %%
# Users who look for one good document and leave soon, as most do. Nobody but them sees
# the grades. Each ranker learns three times, with other users and other draws.

import numpy as np

from skrank.click import SimulatedUser
from skrank.datasets import make_ranking
from skrank.inspection import RegretCurveDisplay
from skrank.online import (
    PDGD,
    DuelingBanditRanker,
    MultileaveRanker,
    compare_interleaved,
    simulate_online,
)
from skrank.rankers import ListNet

X, y, groups = make_ranking(n_queries=300, noise=0.3, random_state=0)
train, test = groups < 200, groups >= 200
rows = X[train], y[train], groups[train]
held_out = {"X_val": X[test], "y_val": y[test], "groups_val": groups[test]}
rankers = {
    "PDGD": PDGD(),
    "multileaving, 9 candidates": MultileaveRanker(learning_rate=0.03),
    "dueling bandit": DuelingBanditRanker(learning_rate=0.03),
}
runs = {
    name: [
        simulate_online(
            ranker,
            *rows,
            **held_out,
            user=SimulatedUser("navigational"),
            n_impressions=5000,
            random_state=seed,
        )
        for seed in range(3)
    ]
    for name, ranker in rankers.items()
}
RegretCurveDisplay.from_runs(runs)

# %%
# The regret of a ranker grows the less, the better it ranks. The dueling bandit learns
# one bit from a list, the other two more; PDGD also explores less, the surer it is. A
# ranker that was trained with the grades is the limit:

with_grades = ListNet().fit(*rows)
print(f"with grades: NDCG@10 {with_grades.score(X[test], y[test], groups[test]):.3f}")
for name, several in runs.items():
    print(f"{name}: NDCG@10 {np.mean([run.offline[-1] for run in several]):.3f}")

# %%
# Users can be asked, too. Their clicks on lists that mix both rankings say which of
# them they prefer; the test is over impressions.

learned = {"PDGD": runs["PDGD"][0].ranker, "bandit": runs["dueling bandit"][0].ranker}
print(
    compare_interleaved(
        learned,
        y[test],
        groups[test],
        X=X[test],
        method="probabilistic",
        user="navigational",
        n_impressions=3000,
        random_state=0,
    )
)
