"""`score` of rankers, by a measure and a gain of one's choice."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank.datasets import make_ranking
from skrank.metrics import ERR, NDCG, evaluate_measure, ndcg_score
from skrank.rankers import BoltzRank, LambdaMART, RankSVM

RANKERS = {
    "linear": RankSVM(),
    "trees": LambdaMART(n_estimators=3, random_state=0),
    "whole_queries": BoltzRank(pairwise_potential=True, max_iter=2, random_state=0),
}
MEASURES = ["map", "ndcg@3", "ndcg(gain=linear)@5", "err", "p@5", ERR(k=3), NDCG(k=2)]


@pytest.fixture(params=RANKERS.values(), ids=list(RANKERS))
def fitted(request):
    X, y, groups = make_ranking(n_queries=15, random_state=0)
    ranker = sklearn.clone(request.param).fit(X, y, groups)
    scores = ranker.predict(X, groups=groups)
    return ranker, X, y, groups, scores


def test_default_is_ndcg_at_10(fitted):
    ranker, X, y, groups, scores = fitted
    expected = ndcg_score(y, scores, groups=groups, k=10)
    assert ranker.score(X, y, groups) == pytest.approx(expected)
    weight = np.random.default_rng(0).uniform(size=len(y))
    expected = ndcg_score(y, scores, groups=groups, k=10, sample_weight=weight)
    assert ranker.score(X, y, groups, weight) == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_any_measure(fitted, measure):
    ranker, X, y, groups, scores = fitted
    expected = evaluate_measure(measure, y, scores, groups=groups)
    assert ranker.score(X, y, groups, measure=measure) == pytest.approx(expected)


@pytest.mark.parametrize(
    "gain", ["linear", "exp2", np.sqrt, {g: g**2 for g in range(5)}, [0, 1, 1, 4, 9]]
)
def test_any_gain(fitted, gain):
    ranker, X, y, groups, scores = fitted
    for measure, k in (("ndcg@10", 10), ("ndcg@4", 4)):
        expected = ndcg_score(y, scores, groups=groups, k=k, gain=gain)
        got = ranker.score(X, y, groups, measure=measure, gain=gain)
        assert got == pytest.approx(expected)


def test_functions_are_measures(fitted):
    ranker, X, y, groups, scores = fitted

    def top_grade(y_true, y_score):
        return y_true[y_score.argmax()]

    expected = np.mean(
        [top_grade(y[groups == q], scores[groups == q]) for q in np.unique(groups)]
    )
    assert ranker.score(X, y, groups, measure=top_grade) == pytest.approx(expected)


def test_errors_are_negated(fitted):
    ranker, X, y, groups, scores = fitted
    expected = -evaluate_measure("mse", y, scores, groups=groups)
    assert expected < 0
    assert ranker.score(X, y, groups, measure="mse") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measure": "best"}, ValueError, r"RankSVM\.score: measure must be .*'best'"),
        ({"measure": 3}, TypeError, r"RankSVM\.score: measure must be .* got 3"),
        ({"measure": ["map"]}, TypeError, r"RankSVM\.score: measure must be"),
        ({"gain": "log"}, ValueError, r"RankSVM\.score: gain must be .*got 'log'"),
        ({"measure": "map", "gain": "linear"}, TypeError, "has no parameters .'gain'"),
    ],
)
def test_what_is_refused(options, error, message):
    X, y, groups = make_ranking(n_queries=5, random_state=0)
    ranker = RankSVM().fit(X, y, groups)
    with pytest.raises(error, match=message):
        ranker.score(X, y, groups, **options)


def test_pipelines_route_the_measure():
    X, y, groups = make_ranking(n_queries=15, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), RankSVM()).fit(X, y, groups=groups)
        got = pipe.score(X, y, groups=groups, measure="ndcg@3", gain="linear")
    expected = ndcg_score(y, pipe.predict(X), groups=groups, k=3, gain="linear")
    assert got == pytest.approx(expected)
    requests = get_routing_for_object(RankSVM()).score.requests
    assert set(requests) == {"groups", "sample_weight", "measure", "gain", "times"}
