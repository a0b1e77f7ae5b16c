"""The check of leakage: queries, times, and how it is switched off."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank.metrics import (
    QueryLeakageWarning,
    check_query_leakage,
    make_ranking_scorer,
)
from skrank.rankers import PRank, RankSVM, SubsetRegression

DAYS = np.datetime64("2024-01-01") + np.arange(50)


@pytest.fixture
def data():
    """Ten users of five items each; times are in the order of the rows."""
    rng = np.random.default_rng(0)
    users = np.tile(np.arange(10), 5)
    return rng.normal(size=(50, 3)), rng.integers(0, 3, 50), users, np.arange(50.0)


def early_and_late(X, y, users, times):
    early = times < 20
    parts = [tuple(part[rows] for part in (X, y, users)) for rows in (early, ~early)]
    return parts, early


def silent(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", QueryLeakageWarning)
        return function(*args, **kwargs)


@pytest.mark.parametrize("convert", [np.asarray, lambda t: DAYS[t.astype(int)]])
@pytest.mark.parametrize(
    "ranker", [SubsetRegression(), make_pipeline(StandardScaler(), RankSVM())], ids=type
)
def test_later_rows_of_the_same_queries_are_no_leakage(data, ranker, convert):
    X, y, users, times = data
    (train, test), early = early_and_late(X, y, users, times)
    times = convert(times)
    scorer = make_ranking_scorer("ndcg@10")
    with sklearn.config_context(enable_metadata_routing=True):
        ranker.fit(train[0], train[1], groups=train[2], times=times[early])
        silent(ranker.score, *test[:2], groups=test[2], times=times[~early])
        silent(scorer, ranker, *test, times=times[~early])
        # The same rows as if they had been earlier, or at times that nobody knows:
        for options in ({"times": np.repeat(times[:1], 30)}, {}):
            with pytest.warns(QueryLeakageWarning, match="of the 10 scored queries"):
                ranker.score(*test[:2], groups=test[2], **options)


def test_single_rows_that_are_earlier_are_told(data):
    X, y, users, times = data
    (train, test), early = early_and_late(X, y, users, times)
    ranker = SubsetRegression().fit(*train, times=times[early])
    late = times[~early].copy()
    late[3] = -1.0
    with pytest.warns(QueryLeakageWarning, match=r"^1 of the 10 scored queries \(3\)"):
        check_query_leakage(ranker, test[2], times=late)


def test_equal_times_are_no_leakage(data):
    (train, test), _ = early_and_late(*data)
    ranker = SubsetRegression().fit(*train, times=np.full(20, 7))
    silent(check_query_leakage, ranker, test[2], times=np.full(30, 7))


def test_times_that_do_not_compare_say_nothing(data):
    X, y, users, times = data
    (train, test), early = early_and_late(X, y, users, times)
    ranker = SubsetRegression().fit(*train, times=DAYS[:20])
    with pytest.warns(QueryLeakageWarning):
        check_query_leakage(ranker, test[2], times=times[~early])
    ranker = SubsetRegression().fit(*train)
    assert not hasattr(ranker, "query_times_")
    with pytest.warns(QueryLeakageWarning):
        check_query_leakage(ranker, test[2], times=times[~early])


def test_later_rows_of_users_whose_ids_are_written_otherwise(data):
    """A date is the same user as the Python date that stands for it."""
    X, y, users, times = data
    (train, test), early = early_and_late(X, y, DAYS[users], times)
    ranker = SubsetRegression().fit(*train, times=times[early])
    ids = test[2].astype(object)
    silent(check_query_leakage, ranker, ids, times=times[~early])
    with pytest.warns(QueryLeakageWarning, match="10 of the 10 scored queries"):
        check_query_leakage(ranker, ids, times=np.full(30, -1))


def test_last_times_of_training_are_kept(data):
    X, y, users, times = data
    order = np.random.default_rng(1).permutation(50)
    ranker = SubsetRegression().fit(
        X[order], y[order], users[order], times=times[order]
    )
    np.testing.assert_array_equal(ranker.query_ids_, np.arange(10))
    np.testing.assert_array_equal(ranker.query_times_, np.arange(40.0, 50.0))
    ranker.fit(X, y, users)
    assert not hasattr(ranker, "query_times_")


def test_times_of_the_index(data):
    pd = pytest.importorskip("pandas")
    X, y, users, times = data
    index = pd.MultiIndex.from_arrays([users, times], names=["qid", "time"])
    y = pd.Series(y, index=index)
    ranker = SubsetRegression().fit(X[:20], y[:20])
    np.testing.assert_array_equal(ranker.query_times_, np.arange(10.0, 20.0))
    silent(ranker.score, X[20:], y[20:])


def test_a_stream_forgets_the_times_of_its_beginning(data):
    X, y, users, times = data
    ranker = PRank(random_state=0).fit(X[:20], y[:20], users[:20], times=times[:20])
    ranker.partial_fit(X[20:], y[20:], users[20:])
    assert not hasattr(ranker, "query_times_")


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        (np.arange(3), ValueError, "times must hold one time per row: found 3"),
        (list("abcdefghij") * 2, TypeError, "times must hold numbers or dates"),
    ],
)
def test_bad_times_are_refused(data, times, error, message):
    X, y, users, _ = data
    ranker = SubsetRegression()
    with pytest.raises(error, match=message):
        ranker.fit(X[:20], y[:20], users[:20], times=times)
    ranker.fit(X[:20], y[:20], users[:20])
    times = times if len(times) == 3 else times + times[:10]
    for call in (
        lambda: ranker.score(X[20:], y[20:], users[20:], times=times),
        lambda: check_query_leakage(ranker, users[20:], times=times),
    ):
        with pytest.raises(error, match=message):
            call()


def test_the_check_can_be_switched_off(data):
    X, y, users, _ = data
    ranker = SubsetRegression().fit(X[:20], y[:20], users[:20])
    loud = make_ranking_scorer("map")
    quiet = make_ranking_scorer("map", check_leakage=False)
    with pytest.warns(
        QueryLeakageWarning, match=r"config_context\(check_leakage=False"
    ):
        value = loud(ranker, X[20:], y[20:], users[20:])
    assert silent(quiet, ranker, X[20:], y[20:], users[20:]) == value
    with skrank.config_context(check_leakage=False):
        assert silent(loud, ranker, X[20:], y[20:], users[20:]) == value
        silent(ranker.score, X[20:], y[20:], users[20:])
        with skrank.config_context(assume_single_query=True):
            assert skrank.get_config()["check_leakage"] is False
    assert skrank.get_config()["check_leakage"] is True
    with pytest.raises(
        TypeError, match="config_context: check_leakage must be True, Fa"
    ):
        skrank.config_context(check_leakage="no").__enter__()


def test_such_scorers_are_told_apart_and_cloned():
    quiet = make_ranking_scorer("map", check_leakage=False)
    assert quiet != make_ranking_scorer("map")
    assert sklearn.clone(quiet) == quiet
    assert repr(quiet) == "make_ranking_scorer('map', check_leakage=False)"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_scorer_that_does_not_check_is_silent_in_workers(data, n_jobs):
    X, y, users, _ = data
    quiet = make_ranking_scorer("map", check_leakage=False)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            SubsetRegression(), {}, cv=KFold(2), scoring=quiet, n_jobs=n_jobs
        )
        silent(search.fit, X, y, groups=users)
        loud = make_ranking_scorer("map")
        with pytest.warns(QueryLeakageWarning):
            cross_val_score(
                SubsetRegression(),
                X,
                y,
                cv=KFold(2),
                scoring=loud,
                params={"groups": users},
            )
