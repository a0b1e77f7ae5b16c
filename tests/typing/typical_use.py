"""What users write, for the type checker: nothing here may be reported.

This file is read by the type checker and never run; ``misuse.py`` holds mistakes that
it must report.
"""

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.energies import LinearEnergy, MLPEnergy
from skrank.losses import HingeLoss, ListNetLoss
from skrank.metrics import NDCG, make_ranking_scorer, ndcg_score, query_weights
from skrank.model_selection import QueryKFold
from skrank.rankers import BoostedRanker, EnergyRanker, LambdaMART, RankNet, RankSVM
from skrank.solvers import Adam

X, y, groups = make_ranking(n_queries=30, random_state=0)

svm = RankSVM(alpha=1e-3, hinge="linear", margin=0.5, random_state=0).fit(X, y, groups)
scores: np.ndarray = svm.predict(X)
ranks: np.ndarray = svm.rank(X, groups)
quality: float = svm.score(X, y, groups)
by_pairs = RankSVM().fit(X, preferences=[[0, 1]])

network = RankNet((16, 8), activation="tanh", solver=Adam(learning_rate=0.01))
network.fit(X, y, groups, X_val=X, y_val=y, groups_val=groups)

trees = LambdaMART("ndcg@10", n_estimators=50, validation_measure=NDCG(k=5))
trees.fit(X, y, groups, init_score=np.zeros(len(y)))
best = trees.top_documents(X, groups, k=3, early_exit=True)
stages = [stage.mean() for stage in trees.staged_predict(X)]
BoostedRanker(ListNetLoss(top_k=2), learning_rate=0.05, max_depth=None)

EnergyRanker(MLPEnergy(hidden_layer_sizes=(8,)), HingeLoss(2.0), solver="adam")
free = EnergyRanker(LinearEnergy(), loss=ListNetLoss(), n_restarts=2).fit(X, y, groups)
lowest = free.energies(X).min()

pipeline = make_pipeline(StandardScaler(), RankSVM())
search = GridSearchCV(
    pipeline,
    {"ranksvm__alpha": [1e-3, 1e-2]},
    cv=QueryKFold(5, shuffle=True, random_state=0),
    scoring=make_ranking_scorer("ndcg@10"),
).fit(X, y, groups=groups)
values = cross_val_score(svm, X, y, params={"groups": groups}, cv=QueryKFold(3))
print(ndcg_score(y, scores, groups=groups, k=10), values.mean(), search.best_params_)

utility: np.ndarray = make_ranking(n_queries=3, return_utility=True)[3]


def mean_ndcg(
    sample_weight: npt.ArrayLike | None, weights: np.ndarray | None, ptr: np.ndarray
) -> tuple[float, float]:
    """Weights of queries, from row weights that may be absent or of any kind."""
    per_query = NDCG().per_query(y, scores, ptr)
    by_query: np.ndarray | None = query_weights(weights, ptr)
    given = 0.0 if weights is None else query_weights(weights, ptr).sum()
    listed: np.ndarray = query_weights([1.0, 2.0], [0, 1, 2])
    print(by_query, given, listed)
    return NDCG().mean(per_query, query_weights(sample_weight, ptr)), given
