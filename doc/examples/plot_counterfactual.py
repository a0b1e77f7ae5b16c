"""
What would another ranker reach?
================================

A log of clicks on the lists of one ranker tells what another would reach, if clicks are
weighed by how likely documents were looked at. Here users are simulated, so that the
truth is known: estimates and their intervals close in on it as sessions come in, or on
something else.
"""

# %%
# A production ranker draws lists of six of ten documents: those with better scores come
# first more often, but everything is shown at times. A user looks at place k with
# probability 1 / k.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skrank.click import Sessions, SimulatedUser
from skrank.datasets import make_ranking
from skrank.unbiased import CounterfactualEvaluator, plackett_luce_exposure

N_QUERIES, SIZE, SHOWN = 100, 10, 6
X, y, groups = make_ranking(
    n_queries=N_QUERIES, docs_per_query=SIZE, noise=0.3, random_state=0
)
rng = np.random.RandomState(0)
user = SimulatedUser("navigational", examination="position", max_grade=4)
gamma = user.click_probability(y)  # of those who look
places = user.propensities(SHOWN)
production = 0.5 * y + rng.standard_normal(len(y))
new = y + 0.5 * rng.standard_normal(len(y))


def make_log(n):
    """Show lists to users."""
    query = rng.randint(N_QUERIES, size=n)
    drawn = production.reshape(-1, SIZE)[query] + rng.gumbel(size=(n, SIZE))
    within = np.argsort(-drawn, axis=1)[:, :SHOWN]
    rows = query[:, None] * SIZE + within
    clicks = user.click(y[rows.ravel()], np.arange(n + 1) * SHOWN, random_state=rng)
    return Sessions(
        query,
        rows.ravel(),
        clicks,
        np.arange(n + 1) * SHOWN,
        np.arange(N_QUERIES),
        np.arange(len(y)),
    )


# %%
# The truth is the measure with the gain that the user has of each document. Clicks as
# they are, of weight 1, favour what was shown first. Weights by the place forget what
# was not shown. Those by exposure are right, and a prediction, here one that is wrong
# by half, makes the doubly robust estimate vary less without making it wrong.

exposure = plackett_luce_exposure(production, groups, places, random_state=0)
prediction = 0.5 * gamma
ids = groups, np.arange(len(y))
common = {"measure": "dcg@5", "unit": "session"}
ways = {
    "clicks as they are": ("ips", np.ones(SHOWN), {}),
    "ips, by place": ("ips", places, {}),
    "ips, by exposure": ("ips", places, {"exposure": exposure}),
    "dr, by exposure": ("dr", places, {"exposure": exposure, "relevance": prediction}),
    "dm": ("dm", None, {"relevance": prediction}),
}
counts = [300, 1000, 3000, 10_000, 30_000]
log = make_log(counts[-1])
truth = CounterfactualEvaluator(**common, estimator="dm").evaluate(
    log, new, *ids, relevance=gamma
)["ranker"]

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
ax.axhline(truth, color="k", linewidth=3, alpha=0.4, label="truth")
for i, (name, (estimator, curve, given)) in enumerate(ways.items()):
    evaluator = CounterfactualEvaluator(
        **common, propensities=curve, estimator=estimator
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of documents that were not shown
        found = [evaluator.evaluate(log[:n], new, *ids, **given) for n in counts]
    middle = np.array([one["ranker"] for one in found])
    ends = np.array([one.intervals[0] for one in found])
    at = np.array(counts) * 1.06 ** (i - 2)
    ax.errorbar(at, middle, np.abs(ends.T - middle), fmt="o-", capsize=3, label=name)
ax.set(xscale="log", xlabel="sessions", ylabel="estimate of DCG@5 of the new ranker")
ax.legend(ncols=2, fontsize="small")

# %%
# What counts is which ranker is better. Both are estimated from the same sessions, and
# the difference has an interval of its own.

ranked = CounterfactualEvaluator(
    **common, propensities=places, estimator="dr"
).evaluate(
    log,
    {"production": production, "new": new},
    *ids,
    exposure=exposure,
    relevance=prediction,
)
print(ranked)
gap = ranked.difference("new", "production")
low, high = gap.interval
print(f"difference {gap.estimate:.3f}, from {low:.3f} to {high:.3f}")
