"""Target statistics by query, against a plain loop over documents."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank.exceptions import NotFiniteError
from skrank.export import load_model, save_model
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import MART, RankSVM


def make_sites(n_queries=40, n_sites=12, seed=0, *, strength=1.0):
    """Documents of sites, some better than others; a few sites are missing."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.permutation(n_queries), rng.integers(2, 15, n_queries))
    sites = rng.integers(0, n_sites, len(groups))
    quality = rng.normal(size=n_sites)
    y = strength * quality[sites] + rng.normal(size=len(groups))
    y = np.round(np.clip(y + rng.normal(size=n_queries)[groups] + 2, 0, None), 1)
    names = np.array([f"s{k:03d}" for k in range(n_sites)], dtype=object)[sites]
    names[rng.random(len(groups)) < 0.1] = None
    frame = pd.DataFrame({"score": rng.normal(size=len(groups)), "site": names})
    return frame, y, groups


def loop(names, y, groups, smooth, known):
    """Encode each document by the documents of some queries."""
    mean = {query: y[groups == query].mean() for query in set(groups)}
    encoded = []
    for name, query in zip(names, groups):
        rows = [
            i
            for i, (other, its_query) in enumerate(zip(names, groups))
            if (other == name or (pd.isna(other) and pd.isna(name)))
            and its_query in known(query)
        ]
        total = sum(y[i] - mean[groups[i]] for i in rows)
        encoded.append(total / (len(rows) + smooth) if len(rows) + smooth else 0.0)
    return np.array(encoded)


@pytest.mark.parametrize("smooth", [0.0, 2.5])
def test_statistics_are_those_of_a_loop(smooth):
    frame, y, groups = make_sites()
    encoder = QueryTargetEncoder(smooth=smooth, random_state=3)
    found = encoder.fit_transform(frame, y, groups)
    order = np.random.RandomState(3).permutation(40).tolist()
    expected = loop(frame["site"], y, groups, smooth, lambda q: order[: order.index(q)])
    np.testing.assert_allclose(found["site"], expected, rtol=1e-9, atol=1e-12)
    assert (expected == 0).any()
    expected = loop(frame["site"], y, groups, smooth, lambda q: order)
    found = encoder.transform(frame)
    np.testing.assert_allclose(found["site"], expected, rtol=1e-9, atol=1e-12)
    pd.testing.assert_series_equal(found["score"], frame["score"])
    other = QueryTargetEncoder(smooth=smooth).fit(frame, y, groups)
    np.testing.assert_array_equal(other.transform(frame)["site"], found["site"])


@pytest.mark.parametrize("query", range(0, 40, 7))
def test_grades_of_a_query_do_not_change_its_features(query):
    frame, y, groups = make_sites()
    other = np.where(groups == query, np.random.default_rng(query).random(len(y)), y)
    encoder = QueryTargetEncoder(smooth=0.3, random_state=query)
    first = encoder.fit_transform(frame, y, groups)["site"].to_numpy()
    second = encoder.fit_transform(frame, other, groups)["site"].to_numpy()
    own = groups == query
    np.testing.assert_array_equal(first[own], second[own])  # to the bit
    if own.any() and (first[~own] != second[~own]).sum() == 0:
        assert np.random.RandomState(query).permutation(40)[-1] == query


def ndcg_of_trees(X, y, groups):
    ranker = MART(n_estimators=20, min_samples_leaf=5, random_state=0)
    return ndcg_score(y, ranker.fit(X, y, groups).predict(X), groups=groups, k=10)


def test_noise_teaches_nothing():
    frame, y, groups = make_sites(200, n_sites=600, strength=0.0)
    X = frame[["site"]]
    encoder = QueryTargetEncoder(smooth=1.0, random_state=0)
    honest = ndcg_of_trees(encoder.fit_transform(X, y, groups), y, groups)
    leaking = ndcg_of_trees(encoder.transform(X), y, groups)
    rng = np.random.default_rng(0)
    by_chance = [ndcg_of_trees(rng.normal(size=X.shape), y, groups) for _ in range(5)]
    assert honest < max(by_chance) + 2 * np.std(by_chance)
    assert leaking > max(by_chance) + 10 * np.std(by_chance)


def test_a_ranker_learns_from_many_levels():
    frame, y, groups = make_sites(400, n_sites=700, strength=2.0)
    train = groups < 300
    scores = []
    options = {"n_estimators": 30, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        for steps in ([QueryTargetEncoder(random_state=0)], []):
            model = make_pipeline(*steps, MART(**options))
            model.fit(frame[train], y[train], groups=groups[train])
            found = model.predict(frame[~train])
            scores.append(ndcg_score(y[~train], found, groups=groups[~train], k=10))
    assert scores[0] > scores[1] + 0.01


def test_unseen_and_missing_levels():
    frame, y, groups = make_sites()
    encoder = QueryTargetEncoder().fit(frame, y, groups)
    found = encoder.transform(frame.assign(site=[None, "new"] * (len(y) // 2)))["site"]
    assert found[0] == encoder.encodings_[0][-1] != 0
    assert found[1] == 0
    encoder.fit(frame.fillna({"site": "none"}), y, groups)
    assert encoder.encodings_[0][-1] == 0  # none was missing
    assert (encoder.transform(frame.assign(site=np.nan))["site"] == 0).all()


def test_the_order_of_rows_does_not_matter():
    frame, y, groups = make_sites()
    rows = np.random.default_rng(0).permutation(len(y))
    encoder = QueryTargetEncoder(random_state=0)
    first = encoder.fit_transform(frame, y, groups)["site"].to_numpy()
    of_all = encoder.encodings_[0]
    second = encoder.fit_transform(frame.iloc[rows], y[rows], groups[rows])["site"]
    np.testing.assert_array_equal(first[rows], second)
    np.testing.assert_array_equal(of_all, encoder.encodings_[0])


def test_arrays_become_numbers():
    frame, y, groups = make_sites()
    expected = QueryTargetEncoder(random_state=0).fit_transform(frame, y, groups)
    for X in (frame.to_numpy(dtype=object), frame.to_numpy(dtype=object).tolist()):
        encoder = QueryTargetEncoder([1], random_state=0)
        found = encoder.fit_transform(X, y, groups)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected.to_numpy(dtype=float))
        assert encoder.transform(X).dtype == np.float64
    codes = pd.factorize(frame["site"], sort=True)[0].astype(np.float32)
    codes[codes < 0] = np.nan
    X = np.column_stack([codes, frame["score"].astype(np.float32)])
    found = QueryTargetEncoder([0], random_state=0).fit_transform(X, y, groups)
    np.testing.assert_array_equal(found[:, 0], expected["site"].astype(np.float32))
    assert found.dtype == np.float32


def test_pipelines_train_on_ordered_statistics():
    frame, y, groups = make_sites()
    encoder = QueryTargetEncoder(random_state=0)
    ranker = RankSVM().fit(encoder.fit_transform(frame, y, groups), y, groups)
    expected = ranker.predict(encoder.transform(frame))
    pipeline = make_pipeline(encoder, RankSVM())
    with sklearn.config_context(enable_metadata_routing=True):
        found = sklearn.clone(pipeline).fit(frame, y, groups=groups).predict(frame)
        np.testing.assert_array_equal(found, expected)
        columns = make_column_transformer(
            (QueryTargetEncoder(random_state=0), ["site"]), ("passthrough", ["score"])
        )
        columns.fit_transform(frame, y, groups=groups)
        search = GridSearchCV(
            make_pipeline(columns, Ridge()),
            {"columntransformer__querytargetencoder__smooth": [1.0, 100.0]},
            scoring=make_ranking_scorer("ndcg@10"),
            cv=QueryKFold(3),
        )
        assert search.fit(frame, y, groups=groups).best_score_ > 0.5
    # Without routing, the index of y knows the queries.
    judged = pd.Series(y, index=pd.MultiIndex.from_arrays([groups], names=["qid"]))
    found = sklearn.clone(pipeline).fit(frame, judged).predict(frame)
    np.testing.assert_array_equal(found, expected)


def test_names_of_features():
    frame, y, groups = make_sites()
    encoder = QueryTargetEncoder().fit(frame, y, groups)
    assert encoder.get_feature_names_out().tolist() == ["score", "site"]
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(frame[["site", "score"]])


def test_model_files_hold_statistics(tmp_path):
    frame, y, groups = make_sites()
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(QueryTargetEncoder(random_state=0), RankSVM())
        model.fit(frame, y, groups=groups)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_bad_input_is_named():
    frame, y, groups = make_sites()
    encoder = QueryTargetEncoder()
    with pytest.raises(ValueError, match=r"\.fit needs to know the query"):
        encoder.fit(frame, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        encoder.fit(frame, groups=groups)
    with pytest.raises(ValueError, match="smooth must be a number >= 0"):
        QueryTargetEncoder(smooth=-1).fit(frame, y, groups)
    encoder.fit(frame, y, groups)
    with pytest.raises(ValueError, match="column 'site' holds numbers, but its"):
        encoder.transform(frame.assign(site=1))
    with pytest.raises(ValueError, match="no feature is named 'shop'"):
        QueryTargetEncoder(["shop"]).fit(frame, y, groups)
    X = frame.to_numpy(dtype=object)
    with pytest.raises(ValueError, match="X has 1 features"):
        QueryTargetEncoder([1]).fit(X, y, groups).transform(X[:, :1])
    with pytest.raises(ValueError, match="could not convert string to float"):
        QueryTargetEncoder([0]).fit(X, y, groups)


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
@pytest.mark.parametrize(
    "groups",
    [[1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 1, 2]],
    ids=["the sum of a query", "the sum of a level", "a difference"],
)
def test_grades_beyond_what_sums_can_hold_are_refused(method, groups):
    X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
    encoder = QueryTargetEncoder([0], random_state=0)
    message = r"y must hold numbers of at most 5\.6e\+102 in size.*found 1.7e\+308"
    with pytest.raises(NotFiniteError, match=message):
        getattr(encoder, method)(X, [1.7e308, 0, 1.7e308, 0], groups=groups)


def test_large_grades_whose_sums_are_finite_are_encoded():
    X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
    encoder = QueryTargetEncoder([0], smooth=0.0, random_state=0)
    encoder.fit(X, [1e200, 0, 1e200, 0], groups=[1, 1, 2, 2])
    np.testing.assert_allclose(encoder.encodings_[0][:2], [5e199, -5e199])


FAILED = {
    "check_dtype_object": "the error names the column and all kinds of levels",
    "check_transformer_data_not_an_array": "training rows have features of their own",
    "check_transformer_general": "training rows have features of their own",
}


# The checks split a column of amounts, no value of which is in both parts.
@pytest.mark.filterwarnings("ignore::skrank.exceptions.UnknownLevelsWarning")
@parametrize_with_checks(
    [QueryTargetEncoder(), QueryTargetEncoder([0], random_state=0)],
    expected_failed_checks=lambda encoder: (
        {} if encoder.categorical_features == "from_dtype" else FAILED
    ),
)
def test_scikit_learn_checks(estimator, check):
    with skrank.config_context(assume_single_query=True):
        check(estimator)
