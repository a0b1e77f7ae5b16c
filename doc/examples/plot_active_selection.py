"""
Which documents to judge next
=============================

Judges are paid by the document. This example plays a project that begins with a few
judged documents of each query and asks, batch by batch, which ones to judge next:
chosen at random, or by what the ranker of the day can learn from them. See
:doc:`../active_selection` for the selectors and for figures on real collections.
"""

# %%
# The pool has 150 queries, of which the grades are hidden; 150 others measure rankings.

import matplotlib.pyplot as plt

from skrank.datasets import make_ranking
from skrank.rankers import RankSVM
from skrank.selection import (
    ActiveExploration,
    ExpectedHypothesisChange,
    RandomSelection,
    SVMSelectiveSampling,
    compare_selectors,
)

X, y, groups = make_ranking(n_queries=300, noise=0.5, random_state=0)
pool, test = groups < 150, groups >= 150

# %%
# All selectors begin with the same documents, and may take two of a query in a round.

few = {"max_per_query": 2}
comparison = compare_selectors(
    RankSVM(alpha=0.1),
    X[pool],
    y[pool],
    groups[pool],
    X_test=X[test],
    y_test=y[test],
    groups_test=groups[test],
    selectors={
        "random": RandomSelection(**few),
        "SVM selective sampling": SVMSelectiveSampling(**few),
        "expected change": ExpectedHypothesisChange(**few),
        "exploration": ActiveExploration(
            strategy="largest_loss_documents", n_members=5, **few
        ),
    },
    n_initial=150,
    batch=50,
    n_rounds=8,
    n_repeats=5,
)

# %%
# On the left the learning curves, on the right what each selector is ahead of chance,
# with intervals over the test queries: these are paired, and so much narrower than
# those of the curves themselves.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for number, name in enumerate(comparison.curves):
    n_judged, color = comparison.n_judged[name], f"C{number}"
    left.plot(n_judged, comparison.mean(name), label=name, color=color, marker=".")
    if name == "random":
        continue
    difference, interval = comparison.difference(name)
    right.plot(n_judged, difference, label=name, color=color, marker=".")
    right.fill_between(n_judged, *interval.T, color=color, alpha=0.15, linewidth=0)
left.set_ylabel(f"Mean {comparison.measure_name} of test queries")
right.set_ylabel("Difference from random")
right.axhline(0.0, color="C0")
for ax in (left, right):
    ax.set_xlabel("Judged documents")
left.legend()
plt.show()
