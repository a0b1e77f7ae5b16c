"""
Which differences are significant?
==================================

Two rankers differ on every query. Whether their means differ by more than chance is a
question for a paired test, and with several rankers for a correction as well.
:func:`~skrank.metrics.compare` does both, aligned by query.
"""

# %%
# Three rankers and BM25 on the queries of a held-out half:

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import load_see_also
from skrank.metrics import bootstrap_interval, compare, ndcg_score
from skrank.model_selection import train_test_query_split
from skrank.rankers import ListNet, RankSVM, SubsetRegression

data = load_see_also(n_queries=800)
X, y, groups = data
X_train, X_test, y_train, y_test, groups_train, groups_test = train_test_query_split(
    X, y, groups=groups, test_size=0.5, random_state=0
)
runs = {"BM25": X_test[:, data.feature_names.tolist().index("whole.bm25")]}
with sklearn.config_context(enable_metadata_routing=True):
    for ranker in (SubsetRegression(), RankSVM(alpha=0.01), ListNet(alpha=0.01)):
        model = make_pipeline(StandardScaler(), ranker)
        model.fit(X_train, y_train, groups=groups_train)
        runs[type(ranker).__name__] = model.predict(X_test)

# %%
# Letters name the systems that a system is significantly better than (Fisher's
# randomisation test, p < 0.05 after Holm's correction).

table = compare(runs, y_test, groups_test, measures=["ndcg@10", "map", "mrr"])
print(table)

# %%
# The intervals of single systems overlap although their differences are significant:
# queries are hard or easy for all systems alike, and the difference on the same query
# does not suffer from that.

per_query = {
    name: ndcg_score(y_test, scores, groups=groups_test, k=10, per_query=True)
    for name, scores in runs.items()
}
defined = ~np.isnan(per_query["BM25"])
names = list(runs)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3), sharey=True, layout="constrained"
)
for row, name in enumerate(names):
    values = per_query[name][defined]
    gains = values - per_query["BM25"][defined]
    for ax, shown in ((left, values), (right, gains)):
        low, high = bootstrap_interval(shown, n_resamples=2000, random_state=0)
        ax.plot([low, high], [row, row], color="C0", linewidth=2)
        ax.plot(shown.mean(), row, "o", color="C0")
right.axvline(0.0, color="0.5", linestyle="--", linewidth=1)
for ax, title in ((left, "NDCG@10"), (right, "NDCG@10 minus that of BM25")):
    ax.set_xlabel(title)
left.set_yticks(range(len(names)), names)
left.margins(y=0.15)
left.invert_yaxis()
figure.suptitle("Mean and 95 % interval over queries")
