"""
Search over energies and losses
===============================

:class:`~skrank.rankers.EnergyRanker` is made of an energy, a loss and a solver. They
are estimators, so a grid search can choose among them as among any parameters.

The data are synthetic: half of the utility of a document is a sum of products of
features, which no linear scoring function can express.
"""

# %%
# The grid: two families of scoring functions times four losses. One solver serves all.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV

from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy, MLPEnergy
from skrank.losses import LambdaLoss, ListNetLoss, LogLoss, SquaredLoss
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.rankers import EnergyRanker
from skrank.solvers import Adam

X, y, groups = make_ranking(
    n_queries=100,
    n_features=6,
    n_informative=6,
    nonlinearity=0.5,
    noise=0.3,
    random_state=0,
)
energies = {
    "linear": LinearEnergy(fit_intercept=True),
    "network": MLPEnergy(hidden_layer_sizes=(32,)),
}
losses = {
    "squared": SquaredLoss(),
    "RankNet": LogLoss(),
    "ListNet": ListNetLoss(),
    "lambda": LambdaLoss(),
}

# %%
# Groups reach the ranker, the scorer and the splitter by metadata routing.

with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        EnergyRanker(solver=Adam(), max_iter=40, random_state=0),
        {"energy": list(energies.values()), "loss": list(losses.values())},
        scoring=make_ranking_scorer("ndcg@10"),
        cv=QueryKFold(3),
    ).fit(X, y, groups=groups)
print(search.best_estimator_)

# %%
# One row per energy, one column per loss:

scores = np.reshape(search.cv_results_["mean_test_score"], (len(energies), len(losses)))
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
image = ax.imshow(scores, cmap="viridis", aspect="auto")
ax.set_xticks(range(len(losses)), losses)
ax.set_yticks(range(len(energies)), energies)
ax.set_xlabel("Loss")
ax.set_ylabel("Energy")
middle = (scores.min() + scores.max()) / 2
for (row, column), value in np.ndenumerate(scores):
    color = "white" if value < middle else "black"
    ax.text(column, row, f"{value:.3f}", ha="center", va="center", color=color)
figure.colorbar(image, label="Mean NDCG@10 of 3 folds")
