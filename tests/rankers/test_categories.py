"""Categorical columns as users have them, in all rankers of trees."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from skrank.datasets import make_ranking
from skrank.exceptions import UnknownLevelsWarning
from skrank.export import load_model, save_model, to_json, to_ranklib
from skrank.inspection import (
    BeeswarmDisplay,
    DependenceDisplay,
    PreferenceDisplay,
    WaterfallDisplay,
    explain_preference,
    feature_variation,
    query_permutation_importance,
    shap_values,
)
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import (
    MART,
    BoostedRanker,
    GBRank,
    LambdaMART,
    McRank,
    QBRank,
    RandomForestRanker,
    RankSVM,
    YetiRank,
)

FAST = {"n_estimators": 5, "min_samples_leaf": 2, "random_state": 0}
SITES = ["blog", "forum", "news", "shop", "wiki"]


@pytest.fixture(scope="module")
def data():
    """A frame of two numbers and a name, which the grades depend on, and codes."""
    X, y, groups = make_ranking(
        n_queries=30, n_features=2, n_informative=2, random_state=0
    )
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(SITES), len(y)).astype(float)
    y = y + 2 * (codes % 2)
    codes[rng.random(len(y)) < 0.1] = np.nan
    names = np.array([*SITES, None], dtype=object)[
        np.nan_to_num(codes, nan=-1).astype(int)
    ]
    frame = pd.DataFrame({"a": X[:, 0], "site": names, "b": X[:, 1]})
    return frame, np.column_stack([X[:, 0], codes, X[:, 1]]), y, groups


FORMS = {
    "str": lambda frame: frame,
    "object": lambda frame: frame.astype({"site": object}),
    "category": lambda frame: frame.astype({"site": "category"}),
    "reversed": lambda frame: frame.assign(
        site=pd.Categorical(frame["site"], ["zoo", *SITES[::-1]])
    ),
    "array": lambda frame: frame.to_numpy(dtype=object),
    "list": lambda frame: frame.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_names_are_as_good_as_codes(form, data):
    frame, codes, y, groups = data
    X = FORMS[form](frame)
    given = "from_dtype" if hasattr(X, "columns") else [1]
    ranker = MART(categorical_features=given, **FAST).fit(X, y, groups)
    by_codes = MART(categorical_features=[1], **FAST).fit(codes, y, groups)
    assert (ranker.ensemble_.category_ >= 0).any()
    np.testing.assert_array_equal(ranker.predict(X), by_codes.predict(codes))
    assert ranker.encoder_.levels_[0].tolist() == SITES


@pytest.mark.parametrize(
    "ranker",
    [
        BoostedRanker(**FAST),
        GBRank(**FAST),
        LambdaMART(**FAST),
        LambdaMART(early_stopping=True, subsample=0.5, **FAST),
        MART(init=RankSVM(), **FAST),
        McRank(**FAST),
        QBRank(**FAST),
        RandomForestRanker(**FAST),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_all_rankers_of_trees_take_names(ranker, data):
    frame, codes, y, groups = data
    y = np.minimum(np.round(y), 3)
    if getattr(ranker, "init", None) is not None:
        frame, codes = frame.fillna({"site": "blog"}), np.nan_to_num(codes)
    scores = sklearn.clone(ranker).fit(frame, y, groups).predict(frame)
    ranker.set_params(categorical_features=[1]).fit(codes, y, groups)
    np.testing.assert_array_equal(scores, ranker.predict(codes))
    order = np.argsort(np.random.default_rng(0).permutation(30)[groups], kind="stable")
    ranker.set_params(categorical_features=["site"], n_jobs=2)
    ranker.fit(frame.iloc[order], y[order], groups[order])
    np.testing.assert_array_equal(scores, ranker.predict(frame))


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("cls", [LambdaMART, YetiRank, MART, RandomForestRanker])
def test_the_unit_of_weights_does_not_matter(cls, growth):
    # Most levels are rare, so that their order depends on what they are drawn to.
    rng = np.random.default_rng(0)
    X, y, groups = make_ranking(
        n_queries=60, n_features=3, n_informative=3, random_state=0
    )
    frequency = 1.0 / np.arange(1, 41)
    codes = rng.choice(40, size=len(y), p=frequency / frequency.sum())
    y = y + np.round(2 * rng.random(40))[codes]
    rows = np.column_stack([X, codes])
    ranker = cls(categorical_features=[3], growth=growth, **FAST)
    scores = [
        ranker.fit(rows, y, groups, sample_weight=np.full(len(y), w)).predict(rows)
        for w in (1.0, 1024.0)
    ]
    assert (ranker.ensemble_.category_ >= 0).any()
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("rest", [{}, {"sampling": "bayesian"}, {"signs": [1, -1]}])
def test_few_levels_may_be_split_as_columns_of_their_own(rest, missing, growth):
    rng = np.random.default_rng(1)
    X, y, groups = make_ranking(
        n_queries=40, n_features=2, n_informative=2, random_state=1
    )
    codes = rng.integers(0, 6, len(y)).astype(float)
    y = np.minimum(y + np.array([2, 0, 1, 0, 2, 0])[codes.astype(int)], 4)
    codes[rng.random(len(y)) < missing] = np.nan
    own = np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(6))
    # What is drawn for six columns and for one would differ.
    options = {"random_strength": 0.0, "stochastic_rounding": False, **FAST}
    options |= {"n_estimators": 8, "growth": growth, "max_depth": 4}
    signs = rest.get("signs", [0, 0])
    options |= {name: value for name, value in rest.items() if name != "signs"}
    columns = np.column_stack([own, X])
    other = BoostedRanker(monotonic_cst=[0] * 6 + signs, **options)
    expected = other.fit(columns, y, groups).predict(columns)
    rows = np.column_stack([codes, X])
    for form in (np.asarray, scipy.sparse.csr_array):
        ranker = BoostedRanker(
            categorical_features=[0],
            one_hot_max_levels=6,
            monotonic_cst=[0, *signs],
            **options,
        )
        ranker.fit(form(rows), y, groups)
        np.testing.assert_allclose(ranker.predict(form(rows)), expected, atol=1e-12)
    assert (ranker.ensemble_.category_ >= 0).any()
    # Of more levels than that, any set may go to one side; by default, of all.
    ranker.set_params(one_hot_max_levels=5).fit(rows, y, groups)
    any_sets = ranker.predict(rows)
    assert np.abs(any_sets - expected).max() > 1e-3
    options |= {"categorical_features": [0], "monotonic_cst": [0, *signs]}
    for ranker in (BoostedRanker(**options), MART(**options)):
        by_default = ranker.fit(rows, y, groups).predict(rows)
        ranker.set_params(one_hot_max_levels=0).fit(rows, y, groups)
        np.testing.assert_array_equal(by_default, ranker.predict(rows))
        if type(ranker) is BoostedRanker:
            np.testing.assert_array_equal(by_default, any_sets)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_an_absent_level_is_one_of_the_others(growth):
    # Level 0 is most of the rows on one side of x, where levels 2 and 4 do not occur.
    codes = np.repeat([0.0, 1, 3, 0, 1, 2, 3, 4], [50, 5, 5, 15, 15, 15, 15, 15])
    x = np.repeat([1.0, -1.0], [60, 75])
    y = np.where(x < 0, 0.0, np.where(codes == 0, 4.0, 2.0))
    options = {"n_estimators": 1, "min_samples_leaf": 1, "random_strength": 0.0}
    options |= {"max_depth": 2, "growth": growth, "stochastic_rounding": False}
    groups = np.zeros(len(y))
    ranker = MART(categorical_features=[1], one_hot_max_levels=5, **options)
    ranker.fit(np.column_stack([x, codes]), y, groups)
    own = codes[:, None] == np.arange(5)
    columns = MART(**options).fit(np.column_stack([x, own]), y, groups)
    found = ranker.predict(np.column_stack([np.ones(5), np.arange(5)]))
    expected = columns.predict(np.column_stack([np.ones(5), np.eye(5)]))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[0] > found[2] == found[4] == found[1]


def test_integers_have_names_by_the_name_of_their_column(data):
    frame, codes, y, groups = data
    frame = frame.assign(site=np.nan_to_num(codes[:, 1]).astype(int))
    by_name = MART(categorical_features=["site"], **FAST).fit(frame, y, groups)
    by_dtype = MART(**FAST).fit(frame.astype({"site": "category"}), y, groups)
    np.testing.assert_array_equal(by_name.predict(frame), by_dtype.predict(frame))
    assert by_name.bin_mapper_.is_categorical_.tolist() == [False, True, False]
    as_amount = MART(**FAST).fit(frame, y, groups)
    assert not as_amount.bin_mapper_.is_categorical_.any()


def test_unseen_levels_are_missing(data):
    frame, _, y, groups = data
    ranker = MART(**FAST).fit(frame.astype({"site": "category"}), y, groups)
    missing = ranker.predict(frame.assign(site=None))
    np.testing.assert_array_equal(ranker.predict(frame.assign(site="zoo")), missing)
    np.testing.assert_array_equal(ranker.predict(frame.assign(site=np.nan)), missing)


def test_more_levels_than_bins(data):
    frame, _, y, groups = data
    rng = np.random.default_rng(3)
    many = np.floor(rng.exponential(100, len(y)))
    counts = pd.Series(many).value_counts()
    kept = sorted(counts.index, key=lambda level: (-counts[level], level))[:15]
    joined = np.where(np.isin(many, kept), many, 1e6)
    options = FAST | {"max_bins": 16, "categorical_features": ["site"]}
    rankers, scores = [], []
    for column in (many, joined, pd.Series(many).map("n{:09.1f}".format)):
        X = frame.assign(site=column)
        rankers.append(MART(**options).fit(X, y, groups))
        scores.append(rankers[-1].predict(X))
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    X = np.column_stack([many, frame["a"]])
    by_place = MART(**options | {"categorical_features": [0]}).fit(X, y, groups)
    assert by_place.bin_mapper_.n_bins_[0] == 16


def test_validation_rows_and_warm_starts_keep_levels(data):
    frame, codes, y, groups = data
    held = groups % 3 == 0
    scores = []
    for X, given in ((frame, "from_dtype"), (codes, [1])):
        part = X[~held & ~pd.isna(codes[:, 1])]
        rows = ~held & ~pd.isna(codes[:, 1])
        ranker = MART(categorical_features=given, warm_start=True, **FAST)
        held_out = {"X_val": X[held], "y_val": y[held], "groups_val": groups[held]}
        ranker.fit(part, y[rows], groups[rows], **held_out)
        ranker.set_params(n_estimators=9).fit(X[held], y[held], groups[held])
        scores.append(ranker.predict(X))
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="X_val: column 'site' holds numbers, but its"):
        MART(**FAST).fit(frame, y, groups, **held_out | {"X_val": frame.assign(site=1)})


def test_columns_are_compared_by_name_first(data):
    frame, _, y, groups = data
    ranker = MART(**FAST).fit(frame, y, groups)
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(frame[["site", "a", "b"]])
    by_place = MART(categorical_features=[1], **FAST)
    by_place.fit(frame.to_numpy(dtype=object), y, groups)
    with pytest.raises(ValueError, match="X has 2 features, but MART is expecting 3"):
        by_place.predict(frame.to_numpy(dtype=object)[:, :2])


def test_what_is_not_said_to_be_categorical_is_refused(data):
    frame, _, y, groups = data
    with pytest.raises(ValueError, match="X: could not convert string to float"):
        MART(categorical_features=None).fit(frame, y, groups)
    with pytest.raises(ValueError, match="could not convert string to float"):
        MART().fit(frame.to_numpy(dtype=object), y, groups)
    with pytest.raises(ValueError, match="feature 1 is categorical and has no order"):
        MART(monotonic_cst={"site": 1}).fit(frame, y, groups)


def test_model_files_hold_levels(data, tmp_path):
    frame, _, y, groups = data
    frame = frame.assign(number=np.arange(len(y)), mixed=["a", 1] * (len(y) // 2))
    given = ["site", "number", "mixed"]
    ranker = LambdaMART(categorical_features=given, max_bins=50, **FAST)
    model = make_pipeline("passthrough", ranker)
    for fitted in (ranker.fit(frame, y, groups), model):
        save_model(fitted, tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))


@pytest.mark.parametrize("write", [to_json, to_ranklib])
def test_formats_without_names_refuse_them(write, data):
    frame, _, y, groups = data
    ranker = LambdaMART(**FAST).fit(frame, y, groups)
    with pytest.raises(
        ValueError, match="feature 'site' is categorical, and its levels"
    ):
        write(ranker)


def test_pipelines_and_searches_hand_names_on(data):
    frame, _, y, groups = data
    steps = make_column_transformer(
        (StandardScaler(), ["a", "b"]), ("passthrough", ["site"])
    ).set_output(transform="pandas")
    coded = make_column_transformer(
        (StandardScaler(), ["a", "b"]),
        (OrdinalEncoder(), ["site"]),
    )
    with sklearn.config_context(enable_metadata_routing=True):
        # What is missing has a code of its own there, hence rows another order of their
        # own, which moves the last bits of sums, and draws of their own.
        options = FAST | {"random_strength": 0.0}
        ranker = make_pipeline(steps, MART(**options)).fit(frame, y, groups=groups)
        other = make_pipeline(coded, MART(categorical_features=[2], **options))
        other.fit(frame, y, groups=groups)
        np.testing.assert_allclose(
            ranker.predict(frame), other.predict(frame), rtol=1e-12
        )
        search = GridSearchCV(
            MART(**FAST),
            {"categorical_features": ["from_dtype", ["site"]]},
            scoring=make_ranking_scorer("ndcg@10"),
            cv=QueryKFold(3),
        ).fit(frame, y, groups=groups)
    first, second = search.cv_results_["mean_test_score"]
    assert first == second


def test_what_names_contribute(data):
    frame, _, y, groups = data
    ranker = MART(**FAST).fit(frame, y, groups)
    found = query_permutation_importance(
        ranker, frame, y, groups, n_repeats=2, random_state=0
    )
    assert found.importances_mean.argmax() == ranker.feature_importances_.argmax() == 1
    best = ranker.top_documents(frame, groups, k=1, early_exit=True)
    np.testing.assert_array_equal(best, ranker.top_documents(frame, groups, k=1))
    *_, last = ranker.staged_predict(frame)
    np.testing.assert_array_equal(last, ranker.predict(frame))


@pytest.mark.parametrize("dtype", ["String", "Categorical", "Enum"])
def test_frames_of_polars(dtype, data):
    pl = pytest.importorskip("polars")
    frame, codes, y, groups = data
    dtype = pl.Enum(SITES) if dtype == "Enum" else getattr(pl, dtype)
    columns = {name: column.to_numpy() for name, column in frame.items()}
    names = [None if pd.isna(site) else site for site in frame["site"]]
    X = pl.DataFrame(columns | {"site": names}).with_columns(pl.col("site").cast(dtype))
    ranker = MART(**FAST).fit(X, y, groups)
    by_codes = MART(categorical_features=[1], **FAST).fit(codes, y, groups)
    np.testing.assert_array_equal(ranker.predict(X), by_codes.predict(codes))
    encoder = QueryTargetEncoder(random_state=0)
    encoded = encoder.fit_transform(X, y, groups)
    expected = encoder.fit_transform(frame, y, groups)
    assert isinstance(encoded, pl.DataFrame)
    np.testing.assert_array_equal(encoded["site"].to_numpy(), expected["site"])
    assert feature_variation(X, groups).share.tolist() == (
        feature_variation(frame, groups).share.tolist()
    )


@pytest.mark.parametrize("form", ["names", "numbers"])
def test_a_table_of_unknown_levels_is_told_once(form, data):
    frame, codes, y, groups = data
    if form == "numbers":
        frame = frame.assign(site=codes[:, 1])
    given = {"categorical_features": ["site"], **FAST}
    ranker = MART(**given).fit(frame, y, groups)
    other = frame.assign(site=frame["site"] + (" " if form == "names" else 90))
    message = "none of the 5 different values of column 'site' was a level in fit"
    for call in (ranker.predict, ranker.rank):
        with pytest.warns(UnknownLevelsWarning, match=message) as told:
            call(other, groups)
        assert len(told) == 1
        assert told[0].filename == __file__
    # A fit is not compared with the one before.
    validation = {"X_val": other, "y_val": y, "groups_val": groups}
    ranker.fit(other, y, groups, **validation)
    encoder = QueryTargetEncoder(["site"], random_state=0).fit(frame, y, groups)
    with pytest.warns(UnknownLevelsWarning, match=message):
        encoder.transform(other)


def test_contributions_show_levels_as_they_were_passed(data):
    frame, codes, y, groups = data
    rows = groups == 3
    names = [None if pd.isna(v) else v for v in frame["site"][rows].tolist()]
    ranker = MART(**FAST).fit(frame, y, groups)
    found = shap_values(ranker, frame[rows])
    assert found.display_data[:, 1].tolist() == names
    np.testing.assert_array_equal(
        found.display_data[:, [0, 2]].astype(float), found.data[:, [0, 2]]
    )
    pair = explain_preference(ranker, frame[rows], 0, 1)
    assert pair.display_data[:, 1].tolist() == names[:2]
    by_codes = MART(categorical_features=[1], **FAST).fit(codes, y, groups)
    found = shap_values(by_codes, codes[rows])
    whole = [None if np.isnan(v) else int(v) for v in codes[rows, 1]]
    assert found.display_data[:, 1].tolist() == whole
    assert list(map(type, found.display_data[:, 1])) == list(map(type, whole))
    encoder = QueryTargetEncoder(random_state=0)
    model = make_pipeline(encoder, StandardScaler(), RankSVM())
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(frame, y, groups=groups)
    found = shap_values(model, frame[rows], "query", groups[rows])
    assert found.display_data[:, 1].tolist() == names
    assert shap_values(RankSVM().fit(frame[["a", "b"]], y, groups), frame[["a", "b"]],
                       "query", groups).display_data is None  # fmt: skip


def test_pictures_show_levels_as_they_were_passed(data):
    pytest.importorskip("matplotlib").use("agg")
    frame, _, y, groups = data
    found = shap_values(MART(**FAST).fit(frame, y, groups), frame)
    display = WaterfallDisplay.from_explanation(found, 5)
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert f"site = {frame['site'][5]}" in texts
    pair = explain_preference(MART(**FAST).fit(frame, y, groups), frame, 5, 9)
    display = PreferenceDisplay.from_explanation(pair)
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert f"site = {frame['site'][5]} | {frame['site'][9]}" in texts
    swarm = BeeswarmDisplay.from_explanation(found)
    grey = dict(zip(swarm.ax_.get_yticklabels(), swarm.points_))
    for label, points in grey.items():
        is_grey = len(np.unique(points.get_facecolor(), axis=0)) == 1
        assert is_grey == (label.get_text() == "site")
    display = DependenceDisplay.from_explanation(found, "site")
    texts = {text.get_text() for text in display.ax_.get_xticklabels()}
    assert texts == set(SITES)
    with pytest.raises(ValueError, match=r"^display_data must be an array of shape"):
        WaterfallDisplay(
            contributions=[1.0], base_value=0, display_data=["a", "b"]
        ).plot()


@pytest.mark.parametrize("cls", [MART, YetiRank, RandomForestRanker])
@pytest.mark.parametrize("leaves", [None, 8])
def test_levels_that_are_new_have_scores_in_the_middle(cls, leaves):
    """Where no level was missing in training, the majority says where one goes."""
    rng = np.random.default_rng(0)
    sites, groups = rng.choice(list("abcde"), 1000), np.repeat(np.arange(50), 20)
    grades = np.array(["abcde".index(site) for site in sites])
    X = pd.DataFrame({"site": sites, "x": rng.random(1000)})
    ranker = cls(n_estimators=30, max_leaf_nodes=leaves, random_state=0)
    ranker.fit(X, grades, groups)
    rows = pd.DataFrame({"site": [*"abcde", "new", None], "x": 0.5})
    *known, new, missing = ranker.predict(rows)
    assert known == sorted(known)
    assert known[0] < new == missing < known[-1]
