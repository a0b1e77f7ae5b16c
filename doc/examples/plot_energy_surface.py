"""
Training shapes the energy surface
==================================

An energy-based ranker gives every document an energy, and ranks by ascending energy.
Before training, the energies say nothing about grades. Learning digs holes under the
documents, or the labels, that are desired, and builds hills under the others: figures 1
and 2 of [Fang2016]_, here drawn from real fits.
"""

# %%
# Synthetic queries with grades 0 to 3. Nothing is held out: the pictures show what
# training does to the documents that it sees.

import matplotlib.pyplot as plt

from skrank.datasets import make_ranking
from skrank.energies import EmbeddingEnergy, MLPEnergy
from skrank.inspection import EnergySurfaceDisplay
from skrank.losses import NLLLoss
from skrank.rankers import (
    EnergyListwise,
    EnergyPairwise,
    EnergyPointwise,
    EnergyRanker,
)

X, y, groups = make_ranking(n_queries=150, n_grades=4, random_state=0)

# %%
# Energies of documents
# ---------------------
#
# A pairwise loss compares the energies of two documents of a query. The display trains
# a clone of the ranker and shows the energies of its training documents, by grade, at
# the parameters that the training started from and at those it ended with. Energies
# mean something only within a query, so they are shown relative to the query's mean.
#
# A network starts from random weights. Its energies differ before training already, but
# not by grade:

ranker = EnergyPairwise((16,), max_iter=40, random_state=0)
EnergySurfaceDisplay.from_training(ranker, X, y, groups)

# %%
# A linear ranker starts from a flat surface. Both scales are the same, so that what
# training has done can be read off:

display = EnergySurfaceDisplay.from_training(EnergyListwise(), X, y, groups)
names, before, after = display.means()
for name, mean in zip(names, after):
    print(f"grade {name}: mean energy {mean:+.2f}")

# %%
# The distributions overlap. Some of that is noise in the grades, and some is that a
# loss looks at the order within each query, where less overlaps than in this picture of
# all queries at once.
#
# Energies of labels
# ------------------
#
# A pointwise loss compares the energies of the labels of one document, with an energy
# E(q, d, r) that depends on the label. Each line shows the energies of all labels, as
# the mean over the documents of one grade; the ring marks their own label, whose energy
# training should lower against the others.
#
# In the energy-based pointwise model, E is the distance between a score f(x) and the
# label, so that every line is a valley. Training can only move the valleys: one score
# per document is all it has.

figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
EnergySurfaceDisplay.from_training(
    EnergyPointwise(alpha=1e-3), X, y, groups, ax=axes[0]
)

# An embedding of the document and one of each label leave more freedom.
energy = EmbeddingEnergy(MLPEnergy((16,), n_outputs=4))
loss = NLLLoss(reading="pointwise")
ranker = EnergyRanker(energy, loss, max_iter=40, random_state=0)
EnergySurfaceDisplay.from_training(ranker, X, y, groups, ax=axes[1])
axes[1].set_title("EmbeddingEnergy and NLLLoss", pad=22)

# %%
# On the right, where the document and the label each have a vector of their own, the
# own label of every grade ends up lowest or nearly so, and wrong labels mostly rise the
# higher the further they are from the right one. Nobody told the model that labels have
# an order; it learned that from the documents. The height of a whole line means nothing
# here, since the negative log-likelihood compares the labels of one document only.
