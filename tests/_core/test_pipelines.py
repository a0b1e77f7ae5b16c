"""The last step of nested pipelines and searches, and the rows that reach it."""

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._pipelines import last_step, rows_of_last_step
from skrank.datasets import make_ranking
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import RankSVM

X, Y, GROUPS = make_ranking(n_queries=8, random_state=0)


def test_the_last_step_of_nested_pipelines_and_searches():
    inner = make_pipeline(QueryStandardScaler(), RankSVM())
    search = GridSearchCV(
        inner, {}, cv=QueryKFold(2), scoring=make_ranking_scorer("ndcg")
    )
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), search).fit(X, Y, groups=GROUPS)
    assert last_step(model) is search_winner(model)[-1]
    scaler = QueryStandardScaler()
    expected = scaler.fit_transform(StandardScaler().fit_transform(X), groups=GROUPS)
    np.testing.assert_allclose(rows_of_last_step(model, X, GROUPS), expected)
    assert last_step(make_pipeline(StandardScaler(), inner)) is inner[-1]
    alone = RankSVM()
    assert last_step(alone) is alone
    assert rows_of_last_step(alone, X, GROUPS) is X


def search_winner(model):
    return model[-1].best_estimator_
