"""Splits by time within queries: against a loop over users, and in every tool."""

import datetime
import math
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._core._times import check_times
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import TemporalQuerySplit
from skrank.rankers import RankSVM

NDCG = make_ranking_scorer("ndcg@10")
SPLITTERS = [
    TemporalQuerySplit(),
    TemporalQuerySplit(test_size=1),
    TemporalQuerySplit(2, test_size=0.3),
    TemporalQuerySplit(3, test_size=2, min_train_size=2),
    TemporalQuerySplit(2, test_size=1, gap=1),
]
all_splitters = pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)


def data(sizes, seed=0):
    rng = np.random.default_rng(seed)
    users = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(users)
    return rng.normal(size=(n, 2)), rng.integers(0, 3, n), users, rng.permutation(n)


def by_hand(splitter, users, times):
    """The rows of every split, from one user after another."""
    for k in range(splitter.n_splits):
        train, test = [], []
        for user in sorted(set(users)):
            rows = sorted(np.flatnonzero(users == user), key=lambda row: times[row])
            held = splitter.test_size
            if isinstance(held, float):
                held = max(math.ceil(round(held * len(rows), 9)), 1)
            end = len(rows) - (splitter.n_splits - 1 - k) * held
            n_train = end - held - splitter.gap
            if n_train >= splitter.min_train_size:
                train += rows[:n_train]
                test += rows[end - held : end]
            else:
                train += rows[: max(end, 0)]
        yield train, test


@all_splitters
@settings(deadline=None, max_examples=25)
@given(sizes=st.lists(st.integers(1, 12), max_size=8), seed=st.integers(0, 3))
def test_rows_are_those_of_a_loop_over_users(splitter, sizes, seed):
    X, y, users, times = data([*sizes, 12], seed)
    splits = list(splitter.split(X, y, users, times))
    assert len(splits) == splitter.get_n_splits(X, y, users, times=times)
    for got, expected in zip(splits, by_hand(splitter, users, times), strict=True):
        assert [part.tolist() for part in got] == list(expected)
        train, test = got
        for user in set(users[test]):
            assert times[train][users[train] == user].max() < min(
                times[test][users[test] == user]
            )


@pytest.mark.parametrize(
    ("share", "size", "n_test"),
    [
        *((0.07, 100, 7), (0.28, 25, 7), (0.55, 20, 11), (0.07, 101, 8), (0.5, 3, 2)),
        (0.1000005, 10, 2),
    ],
)
def test_a_share_of_rows_is_rounded_up_from_its_decimal(share, size, n_test):
    splitter = TemporalQuerySplit(1, test_size=share)
    users, times = np.zeros(size, dtype=int), np.arange(size)
    ((train, test),) = splitter.split(np.zeros((size, 1)), None, users, times)
    assert (len(train), len(test)) == (size - n_test, n_test)


def test_windows_of_an_expanding_split():
    # One user of ten items: tests 4-5, 6-7 and 8-9, and a gap of one before each.
    users, times = np.zeros(10, dtype=int), np.arange(10)
    splitter = TemporalQuerySplit(3, test_size=2, gap=1)
    splits = [
        (train.tolist(), test.tolist())
        for train, test in splitter.split(times, groups=users, times=times)
    ]
    assert splits == [
        ([0, 1, 2], [4, 5]),
        ([0, 1, 2, 3, 4], [6, 7]),
        ([0, 1, 2, 3, 4, 5, 6], [8, 9]),
    ]


def test_users_with_few_items_stay_in_training():
    users = np.repeat(["few", "many"], [3, 6])
    times = np.r_[30, 10, 20, 1:7]
    splitter = TemporalQuerySplit(test_size=2, min_train_size=2)
    ((train, test),) = splitter.split(times, groups=users, times=times)
    assert train.tolist() == [1, 2, 0, 3, 4, 5, 6]
    assert test.tolist() == [7, 8]


@all_splitters
def test_row_order_matters_only_between_equal_times(splitter):
    X, y, users, times = data([8, 3, 9, 12])
    order = np.random.default_rng(5).permutation(len(users))
    expected = list(splitter.split(X, y, users, times))
    got = list(splitter.split(X[order], y[order], users[order], times[order]))
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(one[0], order[other[0]])
        np.testing.assert_array_equal(one[1], order[other[1]])
    equal = np.zeros(len(users))
    for train, test in splitter.split(X, y, users, equal):
        for user in set(users[test]):
            assert train[users[train] == user].max() < test[users[test] == user].min()


DATES = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(12)]
ZONE = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "convert",
    [
        lambda times: times.tolist(),
        lambda times: times.astype(np.float32),
        lambda times: np.array(DATES, dtype="datetime64[s]")[times],
        lambda times: [DATES[i] for i in times],
        lambda times: [DATES[i].date() for i in times],
        lambda times: [DATES[i].replace(tzinfo=ZONE) for i in times],
        lambda times: pytest.importorskip("pandas").Series([DATES[i] for i in times]),
        lambda times: pytest.importorskip("pandas").Series(times, dtype="Int64"),
        lambda times: pytest.importorskip("pandas").to_datetime(
            pytest.importorskip("pandas").Series([DATES[i] for i in times]), utc=True
        ),
        lambda times: pytest.importorskip("polars").Series([DATES[i] for i in times]),
        lambda times: times.astype("timedelta64[s]"),
    ],
    ids=[
        *("list", "float32", "numpy", "datetime", "date", "zone", "pandas", "nullable"),
        *("utc", "polars", "duration"),
    ],
)
def test_times_of_any_kind_give_the_same_rows(convert):
    X, y, users, times = data([5, 7])
    splitter = TemporalQuerySplit(2, test_size=2)
    expected = list(splitter.split(X, y, users, times))
    got = list(splitter.split(X, y, users, convert(times)))
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_dates_of_different_zones_compare_in_utc():
    noon = datetime.datetime(2020, 6, 1, 12)
    later, earlier = noon.replace(tzinfo=datetime.UTC), noon.replace(tzinfo=ZONE)
    later, earlier = check_times([later, earlier], 2)
    assert later - earlier == np.timedelta64(2, "h")


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        (None, ValueError, r"needs to know the time of every row: pass times= "),
        ([1, 2], ValueError, "times must hold one time per row: found 2 times for 5"),
        ([1, 2, 3, 4, np.nan], ValueError, "one time per row; row 4 has none"),
        ([1, 2, 3, 4, None], ValueError, "one time per row; row 4 has none"),
        (np.ones((5, 2)), ValueError, r"times must be one-dimensional"),
        (list("abcde"), TypeError, r"must hold numbers or dates, got .*'a'.*to_datet"),
        ([1, 2, 3, 4, DATES[0]], TypeError, "times must hold numbers or dates, got 1"),
        ([{}] * 5, TypeError, "times must hold numbers or dates, got {}"),
        (
            [*DATES[:4], DATES[4].replace(tzinfo=ZONE)],
            ValueError,
            "a time zone or none",
        ),
    ],
)
def test_bad_times(times, error, message):
    with pytest.raises(error, match=message):
        next(TemporalQuerySplit().split(np.zeros((5, 1)), None, [1] * 5, times))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_splits": 0}, ValueError, "n_splits must be a whole number >= 1, got 0"),
        ({"test_size": 1.0}, ValueError, r"test_size must be a number in \(0, 1\)"),
        (
            {"test_size": 5},
            ValueError,
            "no query with enough rows .* largest of 1 .* 5",
        ),
        ({"n_splits": 6, "test_size": 1}, ValueError, "in split 1 of 6; the largest"),
        ({"gap": 5}, ValueError, "no query with enough rows"),
        ({"gap": -1}, ValueError, "gap must be a whole number >= 0, got -1"),
        ({"min_train_size": 5}, ValueError, "no query with enough rows"),
        ({"time_column": "t"}, ValueError, "time_column: no column is named 't'"),
        ({"time_column": 3}, ValueError, "time_column must be from 0 to 0, got 3"),
        (
            {"time_column": 0.5},
            TypeError,
            "time_column must be a whole number, a string",
        ),
    ],
)
def test_bad_parameters(options, error, message):
    times = None if "time_column" in options else range(5)
    with pytest.raises(error, match=message):
        next(
            TemporalQuerySplit(**options).split(np.zeros((5, 1)), None, [1] * 5, times)
        )


def test_no_rows_are_an_error():
    with pytest.raises(ValueError, match="needs at least one row, got none"):
        next(TemporalQuerySplit().split(np.zeros((0, 1)), groups=[], times=[]))


def test_a_column_of_times_needs_rows():
    splitter = TemporalQuerySplit(time_column=0)
    with pytest.raises(ValueError, match="time_column=0 is a column of X, but X is N"):
        next(splitter.split(None, [0, 1, 2], groups=[1, 1, 1]))


def test_a_name_of_two_columns_is_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.arange(10.0).reshape(5, 2), columns=["t", "t"])
    with pytest.raises(ValueError, match="2 columns are named 't'; give the number"):
        next(TemporalQuerySplit(time_column="t").split(frame, None, [1] * 5))
    splits = list(TemporalQuerySplit(time_column=1).split(frame, None, [1] * 5))
    assert splits[0][1].tolist() == [4]


@pytest.mark.parametrize("share", [1e-300, 1e-12, 0.01])
def test_small_shares_hold_out_one_row_of_each_query(share):
    users = np.repeat([0, 1], [4, 7])
    splitter = TemporalQuerySplit(test_size=share)
    ((train, test),) = splitter.split(users, groups=users, times=range(11))
    assert test.tolist() == [3, 10]
    assert len(train) == 9


def test_defaults_hold_out_a_fifth_where_one_row_is_left():
    """Users of one row stay in training; of two rows, the later one is tested."""
    users = np.repeat([0, 1, 2, 3], [1, 2, 10, 11])
    ((_, test),) = TemporalQuerySplit().split(users, groups=users, times=range(24))
    assert np.bincount(users[test], minlength=4).tolist() == [0, 1, 2, 3]


def test_times_and_groups_are_requested():
    request = get_routing_for_object(TemporalQuerySplit())
    assert request.split.requests == {"groups": True, "times": True}


def test_times_come_from_a_column_or_from_the_index():
    pd = pytest.importorskip("pandas")
    X, y, users, times = data([5, 7])
    expected = list(TemporalQuerySplit(test_size=2).split(X, y, users, times))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(when=np.array(DATES)[times])
    index = pd.MultiIndex.from_arrays([users, times], names=["qid", "time"])
    by_name = TemporalQuerySplit(test_size=2, time_column="when")
    by_number = TemporalQuerySplit(test_size=2, time_column=2)
    for splits in (
        by_name.split(frame, y, users),
        by_number.split(np.column_stack([X, times]), y, users),
        TemporalQuerySplit(test_size=2).split(X, pd.Series(y, index=index)),
        TemporalQuerySplit(test_size=2).split(frame.set_index(index), y),
    ):
        for one, other in zip(expected, splits, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
    # An argument is preferred to the column.
    reverse = list(by_name.split(frame, y, users, -times))
    assert reverse[0][1].tolist() != expected[0][1].tolist()


def expected_scores(ranker, X, y, users, times, splitter):
    scores = []
    for train, test in by_hand(splitter, users, times):
        model = clone(ranker)
        rows = X
        if hasattr(model, "steps"):
            rows = model[0].fit(X[train]).transform(X)
            model = model[-1]
        model.fit(rows[train], y[train], groups=users[train])
        found = model.predict(rows[test])
        scores.append(ndcg_score(y[test], found, groups=users[test], k=10))
    return scores


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("routing", [True, False], ids=["routing", "index"])
@pytest.mark.parametrize(
    "ranker", [RankSVM(), make_pipeline(StandardScaler(), RankSVM())], ids=type
)
def test_tools_of_scikit_learn_split_by_time(ranker, routing, n_jobs):
    """No warning is raised, since the scored rows are later than those of training."""
    X, y, users, times = data([9, 12, 7, 8, 2])
    splitter = TemporalQuerySplit(2, test_size=3)
    expected = expected_scores(ranker, X, y, users, times, splitter)
    target, params = y, {"groups": users, "times": times}
    if not routing:
        pd = pytest.importorskip("pandas")
        index = pd.MultiIndex.from_arrays([users, times], names=["qid", "time"])
        target, params = pd.Series(y, index=index), {}
    with sklearn.config_context(enable_metadata_routing=routing):
        more = {"params": params} if routing else {}
        for scoring in (None, NDCG):
            got = cross_val_score(
                ranker, X, target, cv=splitter, scoring=scoring, n_jobs=n_jobs, **more
            )
            np.testing.assert_allclose(got, expected)
        search = GridSearchCV(ranker, {}, cv=splitter, scoring=NDCG, n_jobs=n_jobs)
        search.fit(X, target, **params)
        assert search.best_score_ == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("bad", ["", "3", -1, 0, 2.5, np.nan, None, [3], True])
def test_numbers_of_splits_are_checked(bad):
    with pytest.raises(ValueError, match=r"^TemporalQuerySplit: n_splits must be"):
        TemporalQuerySplit(n_splits=bad).get_n_splits()
