"""Presets against the installed tools whose conventions they state."""

import os

import numpy as np
import pytest

from skrank.metrics import evaluate, evaluate_measure

N_QUERIES = 60


@pytest.fixture(scope="module", params=["no ties", "ties"])
def sample(request):
    """Ragged graded data; some queries are empty, of one grade or of one document."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, N_QUERIES)
    groups = np.repeat(np.arange(N_QUERIES), sizes)
    y = rng.integers(0, 5, len(groups)) * (rng.random(len(groups)) < 0.5)
    y[(groups == 3) | (groups == 7)] = 0
    y[groups == 8] = 2
    scores = rng.normal(size=len(groups)) + 0.3 * y
    if request.param == "ties":
        scores = np.round(scores)
    # float32 is what the boosting tools keep scores in
    return y.astype(float), scores.astype(np.float32).astype(float), groups, sizes


def bounds(sizes):
    ends = np.cumsum(sizes)
    return list(zip(ends - sizes, ends))


def without_empty(y, scores, groups):
    keep = np.isin(groups, np.unique(groups[y > 0]))
    return y[keep], scores[keep], groups[keep]


@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_sklearn_ndcg_and_dcg(sample, k):
    from sklearn.metrics import dcg_score, ndcg_score

    y, scores, groups, sizes = sample
    cut = "" if k is None else f"@{k}"
    for name, function in (("ndcg", ndcg_score), ("dcg", dcg_score)):
        ours = evaluate_measure(
            name + cut, y, scores, groups=groups, preset="sklearn", per_query=True
        )
        for value, (a, b) in zip(ours, bounds(sizes)):
            if b - a > 1:  # scikit-learn refuses one document
                theirs = function(y[None, a:b], scores[None, a:b], k=k)
                assert value == pytest.approx(theirs, abs=1e-12)


def test_sklearn_average_precision(sample):
    from sklearn.metrics import (
        average_precision_score,
        label_ranking_average_precision_score,
    )

    y, scores, groups, sizes = sample
    relevant = (y > 0).astype(int)
    ours = evaluate_measure(
        "map", y, scores, groups=groups, preset="sklearn", per_query=True
    )
    for value, (a, b) in zip(ours, bounds(sizes)):
        if b - a == 1 or not relevant[a:b].any():
            continue
        theirs = average_precision_score(relevant[a:b], scores[a:b])
        assert value == pytest.approx(theirs, abs=1e-12)
        theirs = label_ranking_average_precision_score(
            relevant[None, a:b], scores[None, a:b]
        )
        assert value == pytest.approx(theirs, abs=1e-12)


def test_sklearn_roc_auc_and_scipy_correlations(sample):
    from scipy.stats import kendalltau, spearmanr
    from sklearn.metrics import roc_auc_score

    y, scores, groups, sizes = sample

    def ours(name, y):
        return evaluate_measure(name, y, scores, groups=groups, per_query=True)

    binary = (y > 1).astype(float)
    auc, tau, rho = ours("auc", binary), ours("kendall", y), ours("spearman", y)
    for q, (a, b) in enumerate(bounds(sizes)):
        if binary[a:b].min() < binary[a:b].max():
            assert auc[q] == pytest.approx(roc_auc_score(binary[a:b], scores[a:b]))
        if y[a:b].min() < y[a:b].max() and scores[a:b].min() < scores[a:b].max():
            assert tau[q] == pytest.approx(kendalltau(y[a:b], scores[a:b]).statistic)
            assert rho[q] == pytest.approx(spearmanr(y[a:b], scores[a:b]).statistic)
        elif y[a:b].min() == y[a:b].max():
            assert np.isnan(tau[q])
            assert np.isnan(rho[q])


def lightgbm_eval(lightgbm, y, scores, sizes, metric, k, weight=None):
    params = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": [k],
        "verbose": -1,
        "num_threads": 1,
        "label_gain": [2**grade - 1 for grade in range(8)],
    }
    features = np.random.default_rng(0).random((len(y), 1))
    data = lightgbm.Dataset(
        features, y, group=sizes, init_score=scores, weight=weight, params=params
    )
    return lightgbm.Booster(params, data).eval_train()[0][2]


@pytest.mark.parametrize("metric", ["ndcg", "map"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_lightgbm(sample, metric, k):
    lightgbm = pytest.importorskip("lightgbm")
    y, scores, groups, sizes = sample
    theirs = lightgbm_eval(lightgbm, y, scores, sizes, metric, k)
    ours = evaluate_measure(
        f"{metric}@{k}", y, scores, groups=groups, preset="lightgbm"
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_lightgbm_weights(sample):
    lightgbm = pytest.importorskip("lightgbm")
    y, scores, groups = without_empty(*sample[:3])
    sizes = np.unique(groups, return_counts=True)[1]
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    theirs = lightgbm_eval(lightgbm, y, scores, sizes, "ndcg", 5, weight)
    ours = evaluate_measure(
        "ndcg@5", y, scores, groups=groups, sample_weight=weight, preset="lightgbm"
    )
    assert ours == pytest.approx(theirs, abs=1e-6)  # its weights are float32


def xgboost_eval(xgboost, y, scores, groups, metric, weight=None):
    data = xgboost.DMatrix(
        np.zeros((len(y), 1)), y, qid=groups, base_margin=scores, nthread=1
    )
    if weight is not None:
        data.set_weight(weight)
    objective = "rank:ndcg" if metric.startswith("ndcg") else "rank:map"
    params = {"objective": objective, "eval_metric": metric, "nthread": 1}
    return float(xgboost.train(params, data, 0).eval(data).split(":")[-1])


@pytest.mark.parametrize("metric", ["ndcg", "map"])
@pytest.mark.parametrize("cut", ["", "@1", "@3", "@10"])
def test_xgboost(sample, metric, cut):
    xgboost = pytest.importorskip("xgboost")
    y, scores, groups, _ = sample
    y = y if metric == "ndcg" else (y > 0).astype(float)
    theirs = xgboost_eval(xgboost, y, scores, groups, metric + cut)
    ours = evaluate_measure(metric + cut, y, scores, groups=groups, preset="xgboost")
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_xgboost_weights(sample):
    xgboost = pytest.importorskip("xgboost")
    y, scores, groups = without_empty(*sample[:3])
    sizes = np.unique(groups, return_counts=True)[1]
    query_weight = np.random.default_rng(1).random(len(sizes)) + 0.5
    theirs = xgboost_eval(xgboost, y, scores, groups, "ndcg@5", query_weight)
    ours = evaluate_measure(
        "ndcg@5",
        y,
        scores,
        groups=groups,
        sample_weight=np.repeat(query_weight, sizes),
        preset="xgboost",
    )
    assert ours == pytest.approx(theirs, abs=1e-6)


def as_dicts(y, scores, groups):
    """{query: {document: value}} of grades and of scores."""
    grades, run = {}, {}
    for i, (grade, score, q) in enumerate(zip(y, scores, groups)):
        grades.setdefault(f"q{q:03d}", {})[f"d{i:05d}"] = int(grade)
        run.setdefault(f"q{q:03d}", {})[f"d{i:05d}"] = float(score)
    return grades, run


PYTREC_NAMES = {
    "map": "map",
    "recip_rank": "mrr",
    "bpref": "bpref",
    "Rprec": "rprec",
    "P_5": "p@5",
    "recall_10": "recall@10",
    "ndcg": "ndcg",
    "ndcg_cut_10": "ndcg@10",
    "map_cut_10": "map@10",
    "success_5": "success@5",
}


def test_pytrec_eval(sample):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    y, scores, groups, _ = sample
    grades, run = as_dicts(y, scores, groups)
    docids = np.array([f"d{i:05d}" for i in range(len(y))])
    families = {"map", "recip_rank", "bpref", "Rprec", "P", "recall", "ndcg"}
    families |= {"ndcg_cut", "map_cut", "success"}
    theirs = pytrec_eval.RelevanceEvaluator(grades, families).evaluate(run)
    for name, measure in PYTREC_NAMES.items():
        ours = evaluate_measure(
            measure,
            y,
            scores,
            groups=groups,
            docids=docids,
            preset="trec_eval",
            per_query=True,
        )
        expected = [theirs[q][name] for q in sorted(theirs)]
        np.testing.assert_allclose(ours, expected, atol=1e-9, err_msg=name)


@pytest.mark.skipif(
    "SKRANK_SLOW_TESTS" not in os.environ,
    reason="ranx compiles for 45 s; set SKRANK_SLOW_TESTS to run it",
)
@pytest.mark.filterwarnings("ignore")  # numba warns about its own future
def test_ranx(sample, request):
    ranx = pytest.importorskip("ranx")
    if "no ties" not in request.node.name:
        pytest.skip("ranx leaves the order of equal scores open")
    y, scores, groups, _ = sample
    y, scores, groups = without_empty(y, scores, groups)
    grades, run = as_dicts(y, scores, groups)
    names = {"ndcg_burges@10": "ndcg@10", "map": "map", "mrr": "mrr"}
    theirs = ranx.evaluate(ranx.Qrels(grades), ranx.Run(run), list(names))
    for name, ours in names.items():
        value = evaluate_measure(ours, y, scores, groups=groups)
        assert value == pytest.approx(theirs[name], abs=1e-9), name


def test_ir_measures(sample, request):
    ir_measures = pytest.importorskip("ir_measures")
    if "no ties" not in request.node.name:
        pytest.skip("ir_measures mixes providers that break ties differently")
    y, scores, groups, _ = sample
    grades, run = as_dicts(y, scores, groups)
    names = ["nDCG@10", "AP", "AP@5", "RR", "P@5", "R@10", "P(rel=2)@5"]
    names += ["Rprec", "Bpref", "Success@3"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.calc_aggregate(measures, grades, run)
    for name, measure in zip(names, measures):
        ours = evaluate_measure(
            name,
            y,
            scores,
            groups=groups,
            docids=np.arange(len(y)),
            preset="trec_eval",
        )
        assert ours == pytest.approx(theirs[measure], abs=1e-9), name
    together = evaluate(grades, run, measures, complete=True)
    values = [theirs[measure] for measure in measures]
    assert list(together.summary.values()) == pytest.approx(values, abs=1e-9)
