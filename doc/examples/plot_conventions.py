"""
One ranking, several NDCGs
==========================

The same scores give different figures in different tools, because the tools disagree
on the gain of a grade, on documents of equal score and on queries without any relevant
document. :doc:`/metrics` explains the conventions; this page shows how much they
matter.
"""

# %%
# Scores rounded to one digit, as a small tree would give them, so that many are equal.
# Some queries have no relevant document.

import matplotlib.pyplot as plt
import numpy as np

from skrank.datasets import make_ranking
from skrank.metrics import PRESETS, ndcg_score

X, y, groups, utility = make_ranking(
    n_queries=200,
    docs_per_query=(2, 20),
    query_effect=1.5,
    return_utility=True,
    random_state=0,
)
rng = np.random.default_rng(0)
scores = np.round(utility + rng.normal(size=len(y)))
docids = np.array([f"d{row:05d}" for row in rng.permutation(len(y))])

# %%
# NDCG@5 under the conventions of each tool:

values = {
    preset: ndcg_score(y, scores, groups=groups, k=5, preset=preset, docids=docids)
    for preset in PRESETS
}
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bars = ax.barh(list(values), list(values.values()), color="C0")
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.invert_yaxis()
ax.set_xlim(0, 1)
ax.set_xlabel("Mean NDCG@5 of the same scores")

# %%
# With ties broken by the order of rows, reversing the rows changes the figure. The
# expected value over all orders, skrank's default, does not depend on them.

for ties in ("stable", "average"):
    values = [
        ndcg_score(y[rows], scores[rows], groups=groups[rows], k=5, ties=ties)
        for rows in (slice(None), slice(None, None, -1))
    ]
    print(f"ties={ties!r}: {values[0]:.4f}, with rows reversed {values[1]:.4f}")
