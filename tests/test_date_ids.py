"""Dates and durations of NumPy as ids: what is one id in days is one in nanoseconds."""

import enum
import warnings
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank._core._id_arrays import comparable_ids, id_objects
from skrank.aggregation import WeightedFusion, aggregate
from skrank.click import (
    ClickGraph,
    DependentClickModel,
    PositionBasedModel,
    Sessions,
    interaction_features,
    load_sessions,
    save_sessions,
    to_rows,
)
from skrank.datasets import Qrels, Run, dump_run, judge_run, load_run, make_ranking
from skrank.experiments import Experiment, make_folds
from skrank.metrics import (
    QueryLeakageWarning,
    compare_runs,
    evaluate,
    trec_measures,
)
from skrank.rankers import OnlineAggregatePRank, RankSVM, Rocchio
from skrank.retrieval import judged_pairs

DAYS = np.array(["2020-01-01", "2020-01-01", "2020-01-02"], dtype="M8[D]")
DOCUMENTS = np.array(["a", "b", "a"], dtype=object)
UNITS = ["M8[D]", "M8[s]", "M8[us]", "M8[ns]", "m8[us]", "m8[ns]"]


class Letter(str, enum.Enum):  # noqa: UP042, which has other names
    A = "a"
    B = "b"


def in_unit(days, unit):
    return (days - DAYS[0] if unit.startswith("m") else days).astype(unit)


def run_of(groups, docids=DOCUMENTS):
    return Run(groups, docids, np.array([3.0, 2.0, 1.0]), "run")


def qrels_of(groups, docids=DOCUMENTS):
    return Qrels(groups, docids, np.array([0.0, 1.0, 1.0]))


@pytest.fixture(params=UNITS)
def ids(request):
    return in_unit(DAYS, request.param)


@pytest.fixture(params=["D", "us", "ns", "python"])
def others(request, ids):
    """The same ids in another unit, or as objects of Python."""
    if request.param == "python":
        coarse = ids if ids.dtype == "M8[D]" else ids.astype(f"{ids.dtype.kind}8[us]")
        return coarse.astype(object)
    return ids.astype(f"{ids.dtype.kind}8[{request.param}]")


def test_judged_queries_are_the_dates_themselves(ids, others):
    judged = judge_run(qrels_of(others), run_of(ids))
    kind = others.dtype.kind
    assert judged.queries.dtype.kind == judged.groups.dtype.kind == kind
    assert (judged.groups.astype(ids.dtype) == ids).all()
    assert judged.y.tolist() == [0.0, 1.0, 1.0]


def test_judged_documents_are_the_dates_themselves(ids, others):
    queries = ["q", "p", "q"]
    judged = judge_run(qrels_of(queries, others), run_of(queries, ids))
    assert judged.y.tolist() == [1.0, 0.0, 1.0]
    assert (judged.docids.astype(ids.dtype) == ids[[1, 0, 2]]).all()


def test_numbers_are_no_dates(ids):
    numbers = ids.astype(np.int64)
    if ids.dtype.kind == "m" and {ids[2]} == {numbers[2]}:
        pytest.skip("this version of NumPy takes a duration for a number")
    with pytest.raises(ValueError, match="no query is both in the qrels and in the"):
        judge_run(qrels_of(ids), run_of(numbers))
    with pytest.raises(ValueError, match="no query in common"):
        trec_measures(qrels_of(ids), run_of(numbers))
    fused = aggregate([run_of(ids), run_of(numbers)], "combsum")
    assert len(fused.groups) == 6


def test_measures_of_dates(ids, others):
    assert evaluate(qrels_of(others), run_of(ids), "map").summary["map"] == 0.75
    assert trec_measures(qrels_of(ids), run_of(ids), "map").summary["map"] == 0.75
    runs = {"one": run_of(ids), "two": run_of(others)}
    table = compare_runs(qrels_of(ids), runs, "map")
    assert table.query_ids.dtype.kind == others.dtype.kind


def test_fused_runs_of_dates(ids, others):
    fused = aggregate([run_of(ids), run_of(others)], "borda")
    assert (fused.groups.astype(ids.dtype) == ids).all()
    assert fused.docids.tolist() == DOCUMENTS.tolist()
    run = run_of(["q"] * 3, ids[[0, 2, 2]] + [0, 0, 1])
    fused = aggregate([run, Run(["q"], others[1:2], [1.0], "run")], "borda")
    assert len(fused.docids) == 3
    assert fused.docids.astype(ids.dtype)[0] == ids[0]


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.startswith("M")])
def test_written_dates_are_read_as_their_text(unit, tmp_path):
    ids = in_unit(DAYS, unit)
    texts = [str(one) for one in ids]
    sessions = Sessions.from_lists(ids[1:], [["a"], ["b"]], [[0], [1]])
    judged = judge_run(qrels_of(ids), run_of(ids))
    dump_run(judged.groups, judged.docids, judged.scores, tmp_path / "run")
    assert load_run(tmp_path / "run").groups.tolist() == texts
    save_sessions(sessions, tmp_path / "log.tsv")
    assert load_sessions(tmp_path / "log.tsv").query_ids.tolist() == texts[1:]
    pytest.importorskip("pyarrow")
    if ids.dtype != "M8[D]":  # which Parquet has as well, but in another unit
        save_sessions(sessions, tmp_path / "log.parquet")
        assert (load_sessions(tmp_path / "log.parquet").query_ids == ids[1:]).all()


def test_trained_queries_are_known_in_any_unit(ids, others):
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    apart = np.arange(6) * np.timedelta64(1, "D")
    of_rows = (ids[0] + apart)[groups]
    again = of_rows[groups < 3]
    if others.dtype == object:
        again = (
            again if ids.dtype == "M8[D]" else again.astype(f"{ids.dtype.kind}8[us]")
        )
    again = again.astype(others.dtype)
    ranker = RankSVM().fit(X, y, of_rows)
    with (
        skrank.config_context(check_leakage=True),
        pytest.warns(QueryLeakageWarning, match="3 "),
    ):
        ranker.score(X[groups < 3], y[groups < 3], again)
    scores = Rocchio().fit(X, y, of_rows).predict(X[groups < 3], groups=again)
    expected = Rocchio().fit(X, y, groups).predict(X, groups=groups)[groups < 3]
    np.testing.assert_array_equal(scores, expected)


def test_rows_of_a_log_are_found_by_dates(ids, others):
    sessions = Sessions.from_lists(ids[1:], [ids[:1], ids[2:]], [[1], [0]])
    X = np.array([[1.0], [0.0]])
    found = to_rows(sessions, X, others[[2, 1]], others[[2, 0]])
    assert found.X.ravel().tolist() == found.y.tolist()[::-1] == [0.0, 1.0]
    found = to_rows(sessions, X, others[[1, 2]], others[[0, 2]])
    assert found.X.ravel().tolist() == found.y.tolist() == [1.0, 0.0]


def test_fusion_learns_from_judgements_of_dates(ids, others):
    fusion = WeightedFusion().fit([run_of(ids), run_of(others)], qrels_of(others))
    texts = ["p", "p", "q"]
    expected = WeightedFusion().fit([run_of(texts)] * 2, qrels_of(texts))
    assert fusion.train_value_ == expected.train_value_ > 0
    run, queries = run_of(texts, ids[[0, 2, 2]]), ["p", "p"]
    one = Run(queries, others[[2, 0]], np.array([2.0, 1.0]), "run")
    judged = Qrels(queries, others[[2, 0]], np.array([1.0, 0.0]))
    assert WeightedFusion().fit([run, one], judged).train_value_ == 1.0


def test_units_of_which_none_holds_all_stay():
    days, months = np.array([1, 2], "m8[D]"), np.array([1], "m8[M]")
    old, fine = np.array(["-9999-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[ns]")
    for arrays in ((days, months), (old, fine), (fine, days), (fine, np.array(["a"]))):
        found = comparable_ids(*arrays)
        assert [a.dtype for a in found] == [a.dtype for a in arrays]
    text, *dates = comparable_ids(np.array(["a"]), old, fine.astype("M8[s]"))
    assert text.dtype.kind == "U"
    assert [a.dtype for a in dates] == ["M8[s]", "M8[s]"]
    assert [type(one) for one in id_objects(fine)] == [np.datetime64]


def test_beside_dates_of_python_dates_become_such():
    days = [date(2020, 1, 1), date(2020, 1, 2)]
    times = [datetime(2020, 1, 1, 7), datetime(2020, 1, 2)]
    spans = [timedelta(microseconds=3), timedelta(days=2)]
    for given, unit in (
        (days, "M8[D]"),
        (times, "M8[s]"),
        (times, "M8[ns]"),
        (spans, "m8[us]"),
        (spans, "m8[ns]"),
    ):
        beside = np.array([*given, "a"], dtype=object)
        found, same = comparable_ids(np.array(given, unit), beside)
        assert same is beside
        assert found.tolist() == given
        assert list(map(type, found)) == list(map(type, given))


@pytest.mark.parametrize(
    "lacked",
    [
        np.array(["2020-01-01T00:00:00.000000001", "NaT"], "M8[ns]"),
        np.array(["12000-01-01"], "M8[D]"),
        np.array([1001], "m8[ns]"),
        np.array([3], "m8[M]"),
    ],
    ids=str,
)
def test_dates_that_python_lacks_stay(lacked):
    python = np.array([date(2020, 1, 1)], dtype=object)
    found, _ = comparable_ids(lacked, python)
    assert found.dtype == object
    assert list(map(type, found)) == [lacked.dtype.type] * len(lacked)
    np.testing.assert_array_equal(found.astype(lacked.dtype), lacked)


def test_ids_of_data_frames_are_read_only():
    """As columns of text are since pandas 3."""
    queries, documents = np.array(["q", "q"]), np.array(["a", "b"], dtype=object)
    queries.flags.writeable = documents.flags.writeable = False
    run = Run(queries, documents, np.array([2.0, 1.0]), "run")
    qrels = Qrels(queries, documents, np.array([0.0, 1.0]))
    for one in (run, qrels):
        object.__setattr__(one, "docids", documents)
    assert judge_run(qrels, run).y.tolist() == [0.0, 1.0]
    assert aggregate([run, run], "borda").docids.tolist() == ["a", "b"]


def test_texts_of_documents_are_found_by_dates(ids, others):
    sessions = Sessions.from_lists(["sort rows"], [ids[1:]], [[1, 0]])
    texts = dict(zip(others[1:], ["sort an array", "rows"]))
    found = interaction_features(sessions, texts=texts)
    assert found.X[:, found.names.index("query_in_text")].tolist() == [0.5, 0.5]


def test_experiments_of_dates(ids, tmp_path):
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    of_rows = (ids[0] + np.arange(6) * np.timedelta64(1, "D"))[groups]
    if ids.dtype.kind == "m":
        pytest.skip("the text of a duration, '1 days', is no field of a run")
    experiment, found = Experiment(rankers={"svm": RankSVM()}), []
    for number, given in enumerate((of_rows, groups)):
        folds = make_folds(X, y, given, n_splits=3)
        result = experiment.run(folds, tmp_path / str(number))
        found.append(result.table.means)
    np.testing.assert_array_equal(*found)


FORMS = {
    "days": DAYS,
    "seconds": DAYS.astype("M8[s]"),
    "nanoseconds": DAYS.astype("M8[ns]"),
    "timestamps": np.array([pd.Timestamp(day) for day in DAYS], dtype=object),
    "moments": DAYS.astype("M8[us]").astype(object),
}


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("third", ["unrelated", "text", *FORMS])
def test_three_runs_of_the_same_moments_meet(first, second, third):
    other = FORMS.get(third)
    if other is None:
        own = date(1999, 1, 1) if third == "unrelated" else "a"
        other = np.array([own, "b", "c"], dtype=object)
    runs = [run_of(FORMS[first]), run_of(FORMS[second]), run_of(other)]
    n_others = 0 if third in FORMS else 3
    assert len(aggregate(runs, "combsum").groups) == 3 + n_others


def test_nanoseconds_of_pandas_meet_those_of_numpy():
    fine = DAYS.astype("M8[ns]") + np.timedelta64(1, "ns")
    objects = np.array([pd.Timestamp(one) for one in fine], dtype=object)
    assert len(aggregate([run_of(fine), run_of(objects)], "combsum").groups) == 3
    spans = np.array([1, 1, 3], dtype="m8[ns]")
    objects = np.array([pd.Timedelta(one) for one in spans], dtype=object)
    assert len(aggregate([run_of(spans), run_of(objects)], "combsum").groups) == 3


@pytest.mark.parametrize("units", [("M8[D]", "M8[ps]"), ("m8[h]", "m8[fs]")])
def test_units_far_apart_are_refused(units):
    first, second = np.array([1, 1, 2], units[0]), np.array([1, 1, 2], units[1])
    for call in (
        lambda: aggregate([run_of(first), run_of(second)], "combsum"),
        lambda: judge_run(qrels_of(first), run_of(second)),
    ):
        with pytest.raises(ValueError, match=r"^ids of .* have no unit in common"):
            call()


def test_logs_of_dates_and_of_timestamps_are_joined():
    for second in FORMS.values():
        logs = [
            Sessions.from_lists(ids[1:], [ids[:1], ids[2:]], [[1], [0]])
            for ids in (DAYS, second)
        ]
        joined = Sessions.concat(logs)
        assert len(joined.query_ids) == len(joined.document_ids) == 2


def test_texts_may_have_keys_of_several_kinds():
    sessions = Sessions.from_lists(["sort"], [["b"]], [[1]])
    texts = {DAYS[0]: "x", date(2020, 1, 1): "y", "b": "sort"}
    found = interaction_features(sessions, texts=texts)
    assert found.X[:, found.names.index("query_in_text")].tolist() == [1.0]


def test_online_rankers_know_dates_in_any_form():
    X, y, groups = make_ranking(n_queries=3, random_state=0)
    for second in FORMS.values():
        ranker = OnlineAggregatePRank(random_state=0)
        for form in (DAYS[[0, 2]], second[[0, 2]]):
            rows = groups < 2
            ranker.partial_fit(X[rows], y[rows], form[groups[rows]])
        assert len(ranker.query_ids_) == 2


@pytest.mark.parametrize("first", UNITS)
@pytest.mark.parametrize("second", ["D", "h", "us", "ns", "python"])
def test_dates_among_other_ids_meet(first, second):
    dates = in_unit(DAYS[1:], first)
    texts = np.array(["x", dates[1], dates[0]], dtype=object)
    if second == "python":
        coarse = dates if dates.dtype == "M8[D]" else dates.astype(f"{first[:2]}[us]")
        others = coarse.astype(object)
    else:
        others = dates.astype(f"{first[:2]}[{second}]")
    own, found = comparable_ids(texts, others)
    assert own[0] == "x"
    places = {one: place for place, one in enumerate(found.tolist())}
    assert [places[one] for one in own[1:].tolist()] == [1, 0]
    more = np.array([("y",), others[0]], dtype=object)
    same, again, last = comparable_ids(more, texts, dates)
    assert hash(same[1]) == hash(again[2]) == hash(last[0])
    assert same[1] == again[2] == last[0]


def test_months_are_their_first_days_but_durations_are_not():
    months, days = np.array(["2020-02"], "M8[M]"), np.array(["2020-02-01"], "M8[D]")
    beside = np.array([datetime(2020, 2, 1)], dtype=object)
    assert {*map(tuple, map(list, comparable_ids(months, days, beside)))} == {
        (datetime(2020, 2, 1),)
    }
    beside = np.array([timedelta(days=1)], dtype=object)
    month, day, one = comparable_ids(
        np.array([1], "m8[M]"), np.array([1], "m8[D]"), beside
    )
    assert day[0] is one[0] is beside[0]
    assert month[0] is not one[0]
    years, twelve, _ = comparable_ids(
        np.array([1], "m8[Y]"), np.array([12], "m8[M]"), beside
    )
    assert years[0] is twelve[0]


def in_form(dates, form):
    """The same dates as a list of another unit, or as objects of Python."""
    if form == "python":
        fine = dates.dtype != "M8[D]"
        return (dates.astype(f"{dates.dtype.kind}8[us]") if fine else dates).tolist()
    return list(dates.astype(f"{dates.dtype.kind}8[{form}]"))


@pytest.mark.parametrize("form", ["D", "us", "ns", "python"])
def test_dictionaries_of_dates(ids, form):
    first, last = ids[[0, 2]], in_form(ids[[0, 2]], form)
    for run, qrels in (
        ({"q": {first[0]: 1.0, first[1]: 2.0}}, {"q": {last[0]: 0, last[1]: 1}}),
        ({first[0]: {"a": 1.0, "b": 2.0}}, {last[0]: {"a": 0, "b": 1}}),
        ({"q": {first[0]: 1.0, "x": 2.0}}, {"q": {last[0]: 0, "x": 1}}),
    ):
        assert trec_measures(qrels, run, "map").summary["map"] == 1.0
        assert trec_measures(run, qrels, "map").summary["map"] > 0.0
        if not any("x" in inner for inner in run.values()):
            fused = WeightedFusion().fit([run, run], qrels)
            assert fused.train_value_ == 1.0
            assert len(next(iter(aggregate([run, qrels], "combsum").values()))) == 2


@pytest.mark.parametrize("form", ["D", "us", "ns", "python"])
@pytest.mark.parametrize("layout", ["qrels_jg", "qrels_prefs", "prefs"])
def test_judgements_of_groups_have_dates_too(ids, layout, form):
    first, last = ids[[0, 2]], in_form(ids[[0, 2]], form)
    measure = "map_avgjg" if layout == "qrels_jg" else "prefs_num_prefs_poss"
    found = []
    for days, others in ((first, last), ("ab", "ab")):
        graded = {others[0]: 1, others[1]: 0}
        groups = {"g": {"s": graded}} if layout == "prefs" else {"g": graded}
        run = {days[0]: {days[0]: 2.0, days[1]: 1.0}}
        qrels = {others[0]: groups}
        found.append(trec_measures(qrels, run, measure, judgement_format=layout))
    summaries = [{**each.summary, "num_q": 1} for each in found]
    np.testing.assert_equal(*summaries)


@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize("layout", ["qrels", "qrels_jg", "qrels_prefs", "prefs"])
def test_arrays_of_dates_are_judged_as_dictionaries_are(ids, layout, as_objects):
    first, last = ids[0], ids[2]
    measure = {"qrels": "map", "qrels_jg": "map_avgjg"}.get(
        layout, "prefs_num_prefs_poss"
    )
    n_groups = {"qrels": 0, "prefs": 2}.get(layout, 1)
    graded = {first: 1, last: 0}
    for _ in range(n_groups):
        graded = {"g": graded}
    run, qrels = {first: {first: 2.0, last: 1.0}}, {first: graded}
    queries, documents = ids[[0, 0]], ids[[0, 2]]
    if as_objects:
        queries, documents = id_objects(queries), id_objects(documents)
    as_arrays = (queries, *[["g", "g"]] * n_groups, documents, [1, 0])
    found = [
        trec_measures(judged, ranked, measure, judgement_format=layout).summary
        for judged in (qrels, as_arrays)
        for ranked in (run, (queries, documents, [2.0, 1.0]))
    ]
    assert found == [found[0]] * 4
    assert found[0][measure] == 1.0


def test_missing_dates_and_units_are_no_other_ids():
    missing = np.datetime64("NaT", "D")
    measured = trec_measures({"q": {missing: 1, "a": 1}}, {"q": {"a": 1.0}}, "map")
    assert measured.summary["map"] == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since NumPy 2.5
        own = np.array([3], dtype="m8")
    beside = np.array([timedelta(microseconds=3), timedelta(seconds=3)], dtype=object)
    assert comparable_ids(own, beside)[0][0] not in beside.tolist()


def test_ids_stay_what_they_are_where_nothing_is_joined():
    day = np.datetime64("2020-01-01")
    for run in ({day: {"a": 1.0}, "q": {"a": 1.0}}, {day: {"a": 1.0}}):
        assert list(map(type, aggregate([run, run], "combsum"))) == list(map(type, run))


def test_one_date_under_two_keys_is_refused():
    moment = datetime(2020, 1, 1)
    twice = {"q": {DAYS[0]: 1, moment: 0}}
    for qrels in (twice, {DAYS[0]: {"a": 1}, moment: {"a": 0}}):
        with pytest.raises(ValueError, match=r"^qrels holds one date twice"):
            trec_measures(qrels, {"q": {moment: 1.0}, moment: {"a": 1.0}}, "map")


@pytest.mark.parametrize("form", ["D", "us", "ns", "python"])
def test_pairs_of_judged_queries_of_dates(ids, form):
    queries = dict(zip(ids[[0, 2]], ["sort rows", "rows"]))
    judged = {key: {"d": 1} for key in in_form(ids[[0, 2]], form)}
    X, y, _ = judged_pairs(queries, judged)
    assert X.tolist() == [["sort rows", "d"], ["rows", "d"]]
    assert y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("form", ["D", "us", "ns", "python"])
def test_models_of_clicks_know_dates_in_any_form(ids, form):
    queries, documents = ids[1:], ids[[0, 2]]
    sessions = Sessions.from_lists(queries, [documents, documents], [[1, 0], [0, 1]])
    same = in_form(ids[[0, 2]], form)
    asked = np.array(same, dtype=object) if form == "python" else same
    for model in (ClickGraph(), PositionBasedModel(), DependentClickModel()):
        model.fit(sessions)
        expected = model.relevance(queries, documents)
        np.testing.assert_array_equal(model.relevance(asked, asked), expected)
    graph = ClickGraph().fit(sessions)
    assert graph.similar_queries(same[0]) == graph.similar_queries(queries[0])


def test_moments_of_a_day_zones_and_durations_are_no_dates():
    day = np.array(["2020-01-01"], dtype="M8[D]")
    for other in (
        datetime(2020, 1, 1, 7),
        datetime(2020, 1, 1, tzinfo=UTC),
        timedelta(days=int(day.astype(int)[0])),
        pd.Timestamp("2020-01-01", tz="UTC"),
        pd.Timestamp("2020-01-01") + pd.Timedelta(1, "ns"),
    ):
        own, given = comparable_ids(day, np.array([other], dtype=object))
        assert given[0] is other
        assert own.tolist() == [date(2020, 1, 1)]
    # Of a day and its first moment, the moment is taken, in any order.
    both = [date(2020, 1, 1), datetime(2020, 1, 1)]
    for objects in (both, both[::-1]):
        own, _ = comparable_ids(day, np.array(objects, dtype=object))
        assert own[0] is both[1]


@pytest.mark.parametrize("unit", ["ps", "fs", "as"])
def test_units_finer_than_those_of_python(unit):
    moments = np.array([0, 2, 1], dtype="M8[us]").astype(f"M8[{unit}]")
    moments[1] += np.timedelta64(1, unit)
    beside = np.array([datetime(1970, 1, 1)], dtype=object)
    own, _ = comparable_ids(moments, beside)
    assert own[0] is beside[0]
    assert own[1] == moments[1]
    assert own[2] == datetime(1970, 1, 1, microsecond=1)
    by_twos = np.array([1, 2], dtype="M8[2D]")
    days = np.array([datetime(1970, 1, 3)], dtype=object)
    assert comparable_ids(by_twos, days)[0].tolist() == [days[0], date(1970, 1, 5)]
    months, short = np.array([1], "m8[M]"), np.array([1], "m8[as]")
    assert comparable_ids(months, short, beside)[1][0] == short[0]


def test_members_of_enumerations_are_written_as_their_texts(tmp_path):
    members = np.array([Letter.A, 3], dtype=object)
    sessions = Sessions.from_lists(members, [members, members], [[1, 0], [0, 1]])
    save_sessions(sessions, tmp_path / "log.tsv")
    same = load_sessions(tmp_path / "log.tsv")
    assert set(same.query_ids) == set(same.document_ids) == {"a", "3"}


def test_ties_go_by_the_texts_of_members_of_enumerations():
    """The member is called "Letter.A" by Python, which comes before "Z"."""
    documents = np.array([Letter.A, "Z", 3], dtype=object)
    groups, scores = np.array(["q"] * 3, dtype=object), np.array([1.0, 1.0, 0.0])
    options = {"ties": "docid", "docids": documents}
    assert (
        skrank.metrics.reciprocal_rank([1, 0, 0], scores, groups=groups, **options)
        == 1.0
    )
    for run in (
        Run(groups, documents, scores, "r"),
        {"q": {"Z": 1.0, Letter.A: 1.0, 3: 0.0}},
    ):
        found = evaluate({"q": {"a": 1, "Z": 0}}, run, ["mrr"], preset="trec_eval")
        assert found["mrr"] == 1.0


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_texts_of_dates_beside_others(first, second):
    documents, keys = FORMS[first][1:], FORMS[second][1:]
    texts = {**dict(zip(keys, ["sort an array", "rows"])), "x": "sort"}
    sessions = Sessions.from_lists(["sort rows"], [list(documents)], [[1, 0]])
    found = interaction_features(sessions, texts=texts)
    assert found.X[:, found.names.index("query_in_text")].tolist() == [0.5, 0.5]
