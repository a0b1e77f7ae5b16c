"""Rankers in pipelines of PyTerrier, and in the place of its learners."""

import importlib.util
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skrank.compat import PyTerrierLearner, pyterrier_ranker
from skrank.compat._pyterrier import fit_on_frames, scores_of_frame
from skrank.datasets import make_ranking
from skrank.metrics import evaluate
from skrank.preprocessing import QueryMinMaxScaler
from skrank.rankers import MART, LambdaMART, RankSVM

needs_pyterrier = pytest.mark.skipif(
    importlib.util.find_spec("pyterrier") is None, reason="PyTerrier is not installed"
)


@pytest.fixture(scope="module")
def frames():
    """Documents of queries whose rows are not adjacent, and judgements of most."""
    X, y, groups = make_ranking(20, n_features=4, n_informative=4, random_state=0)
    frame = pd.DataFrame(
        {
            "qid": [f"q{query}" for query in groups],
            "docno": [f"d{row}" for row in range(len(y))],
            "query": "words",
            "features": list(X),
        }
    )
    qrels = frame[["qid", "docno"]].assign(label=y.astype(int))
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    unjudged = np.arange(len(y)) % 7 == 3
    return shuffled, qrels[~unjudged]


def expected_rows(frame, qrels):
    """Rows of a frame by PyTerrier's own merge, and the ids of their queries."""
    merged = frame.merge(qrels, on=["qid", "docno"], how="left").fillna({"label": 0})
    return np.stack(merged["features"]), merged["label"], merged["qid"].to_numpy()


def test_a_ranker_learns_from_frames(frames):
    frame, qrels = frames
    X, y, groups = expected_rows(frame, qrels)
    ranker = fit_on_frames(RankSVM(), frame, qrels)
    expected = RankSVM().fit(X, y, groups=groups)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)
    np.testing.assert_array_equal(scores_of_frame(ranker, frame), expected.predict(X))


def test_negative_labels_were_not_judged(frames):
    frame, qrels = frames
    negative = qrels.assign(label=qrels["label"].where(qrels["label"] > 0, -1))
    one, other = (fit_on_frames(RankSVM(), frame, table) for table in (qrels, negative))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_validation_topics_stop_the_training(frames):
    frame, qrels = frames
    half = frame["qid"].isin([f"q{i}" for i in range(10)])
    ranker = LambdaMART(n_estimators=30, n_iter_no_change=2, random_state=0)
    stopped = fit_on_frames(ranker, frame[half], qrels, frame[~half], qrels)
    X, y, groups = expected_rows(frame[half], qrels)
    X_val, y_val, groups_val = expected_rows(frame[~half], qrels)
    expected = ranker.fit(
        X, y, groups=groups, X_val=X_val, y_val=y_val, groups_val=groups_val
    )
    assert stopped.n_iter_ == expected.n_iter_
    # A ranker that takes no validation queries is not given any.
    ridge = fit_on_frames(Ridge(), frame[half], qrels, frame[~half], qrels)
    np.testing.assert_array_equal(ridge.coef_, Ridge().fit(X, y).coef_)


def test_rankers_of_whole_queries_are_told_the_queries(frames):
    frame, qrels = frames
    X, y, groups = expected_rows(frame, qrels)
    pipeline = make_pipeline(QueryMinMaxScaler(), RankSVM())
    fitted = fit_on_frames(pipeline, frame, qrels)
    scaled = QueryMinMaxScaler().fit_transform(X, groups=groups)
    expected = RankSVM().fit(scaled, y, groups=groups)
    np.testing.assert_allclose(fitted[-1].coef_, expected.coef_)


def test_frames_that_lack_something(frames):
    frame, qrels = frames
    for wrong, message in (
        (frame.drop(columns="features"), "topics_or_res_tr .* it lacks features"),
        (frame[:0], "topics_or_res_tr must hold documents to train on, found none"),
        (5, "topics_or_res_tr must be a data frame .* lacks qid, docno, features"),
        (
            frame.assign(features=[[1.0]] + [[1.0, 2.0]] * (len(frame) - 1)),
            "features must have the same length in all rows, found 1 and 2",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            fit_on_frames(RankSVM(), wrong, qrels)
    with pytest.raises(TypeError, match="qrels_tr must be a data frame, got 5"):
        fit_on_frames(RankSVM(), frame, 5)
    with pytest.raises(ValueError, match="no column of grades among"):
        fit_on_frames(RankSVM(), frame, qrels.drop(columns="label"))
    with pytest.raises(
        TypeError, match="estimator must be an estimator with fit, got 5"
    ):
        pyterrier_ranker(5)


# Learners -----------------------------------------------------------------------------


def by_sizes(frame, qrels):
    """Rows sorted by query and the sizes of the queries, as PyTerrier passes them."""
    merged = frame.merge(qrels, on=["qid", "docno"], how="left").fillna({"label": 0})
    merged = merged.sort_values("qid")
    sizes = merged.groupby("qid", sort=False)["docno"].count().to_numpy()
    return np.stack(merged["features"]), merged["label"].to_numpy(), sizes


def test_a_learner_takes_sizes_of_queries(frames):
    X, y, sizes = by_sizes(*frames)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    learner = PyTerrierLearner(LambdaMART(n_estimators=5, random_state=0))
    learner.fit(X, y, group=sizes, eval_set=[(X, y)], eval_group=[sizes])
    expected = LambdaMART(n_estimators=5, random_state=0).fit(
        X, y, groups=groups, X_val=X, y_val=y, groups_val=groups
    )
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"group must hold the sizes .* got None; apply_learned_model passes them"),
        ({"group": [2, 3]}, "group must hold one size per query, 4 rows in all"),
        ({"group": [4], "eval_set": 5}, "eval_set must hold one entry, got 5"),
        (
            {"group": [4], "eval_set": [5], "eval_group": [[4]]},
            "eval_set must hold a p",
        ),
        (
            {"group": [4], "eval_set": [([[1.0]], [1])]},
            "eval_group must hold one entry, got None",
        ),
    ],
)
def test_sizes_that_do_not_fit(options, message):
    X, y = np.arange(8.0).reshape(4, 2), [1, 0, 2, 0]
    with pytest.raises(ValueError, match=message):
        PyTerrierLearner(RankSVM()).fit(X, y, **options)


# PyTerrier itself ---------------------------------------------------------------------


@needs_pyterrier
def test_a_pipeline_of_pyterrier(frames):
    import pyterrier as pt

    frame, qrels = frames
    X, y, groups = expected_rows(frame, qrels)
    features = pt.Transformer.from_df(frame)
    topics = frame[["qid", "query"]].drop_duplicates()
    pipeline = features >> pyterrier_ranker(RankSVM())
    pipeline.fit(topics, qrels)
    result = pipeline.transform(topics)
    expected = RankSVM().fit(X, y, groups=groups).predict(X)
    found = result.set_index("docno")["score"].reindex(frame["docno"])
    np.testing.assert_allclose(found, expected)
    for _, rows in result.groupby("qid"):
        assert rows.sort_values("rank")["score"].is_monotonic_decreasing
        assert sorted(rows["rank"]) == list(range(len(rows)))
    evaluated = pt.Evaluate(result, qrels, metrics=["map", "ndcg_cut_10"])
    own = evaluate(qrels, result, ["map", "ndcg_cut_10"])
    assert own.summary == pytest.approx(evaluated)


@needs_pyterrier
def test_the_transformer_of_pyterrier(frames):
    import pyterrier as pt

    frame, qrels = frames
    ranker = MART(n_estimators=3)
    transformer = pyterrier_ranker(ranker)
    assert transformer.fit(frame, qrels) is transformer
    assert not hasattr(ranker, "ensemble_")
    again = pickle.loads(pickle.dumps(transformer))
    result = transformer.transform(frame)
    pd.testing.assert_frame_equal(result, again.transform(frame))
    assert "score" not in frame
    assert transformer.transform_outputs(["qid"]) == ["qid", "score", "rank"]
    assert list(transformer(frame[:0]).columns) == list(result.columns)
    fitted = pyterrier_ranker(transformer.estimator_)
    pd.testing.assert_frame_equal(result, fitted.transform(frame))
    assert isinstance(fitted, pt.Estimator)


@needs_pyterrier
def test_learned_models_of_pyterrier(frames):
    import pyterrier as pt

    frame, qrels = frames
    model = pt.ltr.apply_learned_model(PyTerrierLearner(RankSVM()), form="ltr")
    model.fit(frame, qrels, frame, qrels)
    X, y, groups = expected_rows(frame, qrels)
    expected = RankSVM().fit(X, y, groups=groups, X_val=X, y_val=y, groups_val=groups)
    scores = model.transform(frame)["score"]
    np.testing.assert_allclose(scores, expected.predict(X), rtol=1e-6)
    regression = pt.ltr.apply_learned_model(PyTerrierLearner(RankSVM()))
    with pytest.raises(ValueError, match="passes them with form='ltr'"):
        regression.fit(frame, qrels)
