"""
Compare rankers at every cut-off
================================

A mean at one cut-off, such as NDCG@10, says little about the top of the list. The curve
over cut-offs shows where one ranker is ahead of another.

The task is :func:`~skrank.datasets.load_see_also`: given the first sentence of a
docstring, find the function it belongs to and those listed in its "See Also" section.
"""

# %%
# One feature is the score of BM25, the search that found the documents. It needs no
# training and is what the rankers have to beat.

import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import load_see_also
from skrank.inspection import RankingCurveDisplay
from skrank.model_selection import train_test_query_split
from skrank.rankers import LambdaRank, ListNet, RankSVM, SubsetRegression

data = load_see_also(n_queries=800)
X, y, groups = data
X_train, X_test, y_train, y_test, groups_train, groups_test = train_test_query_split(
    X, y, groups=groups, test_size=0.5, random_state=0
)
bm25 = X_test[:, data.feature_names.tolist().index("whole.bm25")]

# %%
# Rankers expect features of comparable size, so each is a pipeline. A pipeline passes
# the groups on when metadata routing is on.

rankers = {
    "SubsetRegression": SubsetRegression(alpha=100.0),
    "RankSVM": RankSVM(alpha=0.01),
    "ListNet": ListNet(alpha=0.01),
    "LambdaRank": LambdaRank(alpha=0.01, random_state=0),
}
scores = {"BM25": bm25}
with sklearn.config_context(enable_metadata_routing=True):
    for name, ranker in rankers.items():
        model = make_pipeline(StandardScaler(), ranker)
        model.fit(X_train, y_train, groups=groups_train)
        scores[name] = model.predict(X_test)

# %%
# The curves, on queries that no ranker has seen:

RankingCurveDisplay.from_predictions(y_test, scores, groups_test)

# %%
# How far do these means depend on the choice of queries? A bootstrap over queries gives
# an interval for each point.

two = {name: scores[name] for name in ("BM25", "ListNet")}
display = RankingCurveDisplay.from_predictions(
    y_test, two, groups_test, confidence=0.95, random_state=0
)
display.ax_.set_title("Mean and 95 % interval over queries")
