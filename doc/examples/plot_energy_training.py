"""
Energies over the iterations
============================

The energy surface before and after training shows what changed;
:class:`~skrank.inspection.EnergyTrainingDisplay` shows when. It follows two means
through the training: the energy of what is desired, and that of what is not.
"""

# %%
# The task is to find the function that a sentence describes, and those that its
# documentation lists under "See Also". Features are brought to [0, 1] within each
# query, as in the LETOR collections.

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from skrank.datasets import load_see_also
from skrank.inspection import EnergyTrainingDisplay
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import EnergyListwise, RankNet
from skrank.solvers import SGD

X, y, groups = load_see_also(n_queries=300)

# %%
# Preferred and other documents
# -----------------------------
#
# The mean energies of the two documents of all preference pairs, while RankNet trains a
# small network. Iteration 0 lies before training. RankNet sees only differences of
# energies within a query, so both are shown relative to the mean of their query.

network = make_pipeline(
    QueryMinMaxScaler(),
    RankNet((16,), max_iter=60, early_stopping=True, random_state=0),
)
EnergyTrainingDisplay.from_training(network, X, y, groups, center=True)

# %%
# One goes down and the other up. The preferred documents have the longer way to go,
# since they are few in each query and the mean lies near the others. Neither is at rest
# when training stops, because the log loss never stops pushing; it is the validation
# queries that say when to stop, at the dotted line.
#
# Desired and contrastive terms of a list
# ---------------------------------------
#
# The energy-based listwise model has an energy for the whole ideal list: the sum of the
# energies of its first five documents, minus a contrastive term, which gathers the
# energies from each of these positions down to the bottom. Figure 9 of [Fang2016]_
# follows both terms through 30 rounds of stochastic gradient descent on MQ2008.
# The same model here, with a network, as it is given in the paper: no margin, and
# weights that sum to one over the whole list.

listwise = EnergyListwise(
    (10,),
    cap=5.0,
    margin=0.0,
    normalization="list",
    solver=SGD(learning_rate=1e-4, momentum=0.0, per_unit=True, batch_queries=1),
    max_iter=30,
    random_state=0,
)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
display = EnergyTrainingDisplay.from_training(
    make_pipeline(QueryMinMaxScaler(), listwise),
    X,
    y,
    groups,
    reading="listwise",
    ax=axes[0],
)
display.plot(axes[1], scale="rate")

# %%
# The energies of the desired documents fall fast. Those of the contrastive term fall
# too: with weights that sum to one over the whole list it weighs less than the first
# term, so that pushing everything down lowers the energy of the list as well. On the
# right is what the paper plots, the decrease in each iteration as a share of the energy
# before it. It exceeds 100 % where an energy passes zero, and fades to a few percent:
# the loss of a list is zero as soon as its energy is negative, so list after list stops
# pushing.
#
# With a linear scoring function this would not be a story of 30 rounds. Linear scores
# start at zero, where the energy of every list is zero, and without a margin the first
# small step is enough to satisfy them all. That is why the margin of
# :class:`~skrank.rankers.EnergyListwise` is 1 by default.
