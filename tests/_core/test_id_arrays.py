"""Ids stay apart, and take no more memory than they have characters."""

import datetime
import enum
import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from skrank._core._id_arrays import (
    UnitError,
    _moments,
    id_array,
    id_keys,
    id_list,
    in_order,
    joined_ids,
    unmixed,
    where_among,
)
from skrank._core._validation import as_ids, check_groups
from skrank.datasets import (
    Qrels,
    Run,
    dump_letor,
    dump_run,
    judge_run,
    load_letor,
    load_qrels,
    load_run,
)
from skrank.metrics import compare, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import grades_to_preferences
from skrank.rankers import Rocchio

GRADES, SCORES = [1, 0, 0, 1], [1, 2, 1, 2]
TEXT = ["a", "a", "a\0", "a\0"]
LONG = "A" * 20_000
N = 2_000  # strings of this width, so often, take 160 MB


def as_objects(ids):
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


@pytest.fixture(
    params=[
        TEXT,
        tuple(TEXT),
        [value.encode() for value in TEXT],
        [[value] for value in TEXT],
        [1, 1, "1", "1"],
        [b"1", b"1", "1", "1"],
        [1, 1, b"1", b"1"],
    ],
    ids=repr,
)
def groups(request):
    return request.param


def test_ids_stay_apart(groups):
    apart = ["a", "a", "b", "b"]
    values = ndcg_score(GRADES, SCORES, groups=groups, per_query=True)
    np.testing.assert_array_equal(
        values, ndcg_score(GRADES, SCORES, groups=apart, per_query=True)
    )
    assert grades_to_preferences(GRADES, groups=groups).tolist() == [[0, 1], [3, 2]]
    folds = QueryKFold(2).split(np.zeros((4, 1)), GRADES, groups)
    assert sorted(test.tolist() for _, test in folds) == [[0, 1], [2, 3]]
    runs = {"s": SCORES, "t": SCORES[::-1]}
    table = compare(runs, GRADES, groups, measures=["ndcg"])
    assert len(table.query_ids) == 2


def test_document_ids_stay_apart(groups):
    if isinstance(groups[0], list):
        groups = [value for (value,) in groups]
    options = {"groups": [1] * 4, "ties": "docid"}
    expected = ndcg_score(GRADES, [1.0] * 4, docids=as_objects(groups), **options)
    assert ndcg_score(GRADES, [1.0] * 4, docids=groups, **options) == expected


def test_queries_of_mappings_stay_apart():
    for one, other in (("a", "a\0"), (b"a", b"a\0"), (1, "1"), (b"1", "1"), (1, 2)):
        judged = judge_run({one: {"x": 1}, other: {"y": 1}}, {one: {"x": 2}, other: {}})
        assert judged.queries.tolist() == [one]
        table = {one: {"x": 1}, other: {"y": 1, "y\0": 0}}
        judged = judge_run(table, table)
        assert set(judged.queries.tolist()) == {one, other}
        assert len(set(judged.docids)) == 3
        assert list(dict.fromkeys(judged.groups.tolist())) == judged.queries.tolist()


def test_queries_of_a_ranker_stay_apart():
    X = np.array([[1.0], [2.0], [1.5], [2.5]])
    ranker = Rocchio().fit(X, GRADES, groups=TEXT)
    assert ranker.query_ids_.tolist() == ["a", "a\0"]


def test_queries_of_a_run_stay_apart(tmp_path):
    path = tmp_path / "run"
    dump_run(TEXT, ["1", "2", "1", "2"], SCORES, path)
    assert load_run(path).groups.tolist() == ["a", "a", "a\0", "a\0"]


def test_one_long_query_id():
    run = {"q": {f"d{i}": i for i in range(N)}, LONG: {"x": 1.0}}
    qrels = {"q": {"d1": 1}, LONG: {"x": 1}}
    judged = judge_run(qrels, run)
    assert judged.groups.nbytes <= 8 * (N + 1)
    assert judged.queries.tolist() == [LONG, "q"]
    docids = as_objects([*run["q"], "x"])
    tables = (
        Qrels(np.array(["q", LONG]), as_objects(["d1", "x"]), np.ones(2)),
        Run(as_objects(["q"] * N + [LONG]), docids, np.arange(N + 1.0), "tag"),
    )
    again = judge_run(*tables)
    assert again.groups.nbytes <= 8 * (N + 1)
    assert again.docids.tolist() == judged.docids.tolist()


def test_one_long_id_in_a_list():
    ids = [LONG if i == 7 else str(i) for i in range(N)]
    for values in (ids, tuple(ids), [value.encode() for value in ids]):
        assert as_ids(values).nbytes == 8 * N
        assert as_ids(values).tolist() == list(values)
    assert as_ids([[value] for value in ids]).nbytes == 8 * N


@pytest.mark.parametrize("n_rows", [1, 2, 8, 1000])
def test_strings_of_fixed_width_take_little_more_than_objects(n_rows):
    """Each of their characters takes four bytes, whatever the longest id is."""
    for width in (10, 100, 10**5, 10**7):
        ids = ["A" * width, *map(str, range(1, n_rows))]
        taken = sum(map(len, ids)) + 57 * n_rows
        assert id_array(ids).nbytes <= max(2**22, 3 * taken)
        assert id_array(ids).tolist() == ids


@pytest.mark.parametrize("line", [b"%s 0 d 1\n", b"q 0 %s 1\n"])
def test_judgements_take_little_more_memory_than_their_text(line):
    text = line % (b"a" * 2**25) + b"p 0 d 1\n"
    packed = gzip.compress(text)
    tracemalloc.start()
    try:
        load_qrels(packed)
        assert tracemalloc.get_traced_memory()[1] <= 4 * len(text)
    finally:
        tracemalloc.stop()


def test_ids_of_many_rows_keep_their_type():
    rows = range(50_000)
    for ids in (
        [f"{i:036x}" for i in rows],
        [f"{i:064x}" for i in rows],
        [str(i) for i in rows],
        [f"query-{i % 100}" for i in rows],
        ["the-only-one-with-a-longer-name", *map(str, rows)],
    ):
        assert id_array(ids).dtype == np.asarray(ids).dtype


def test_ordinary_ids_keep_their_type():
    for ids in (["q1", "q22"], [b"q1"], [1, 2], [1.5, 2], [True, False]):
        assert as_ids(ids).dtype == np.asarray(ids).dtype
    array = np.array(["q1", "q22"])
    assert as_ids(array) is array
    # One that is somewhat longer than the others takes little memory, too.
    assert as_ids(["q"] * 20 + ["q" * 200]).dtype == "<U200"
    assert id_array([]).tolist() == []
    assert id_array([(1, 2), (3, 4)]).tolist() == [(1, 2), (3, 4)]
    repeated = id_array(["a", "bc"], np.array([2, 1]))
    assert repeated.tolist() == ["a", "a", "bc"]
    assert repeated.dtype == "<U2"


def test_ids_of_another_type_are_not_among_them():
    """However many there are: of few, NumPy compares each with each."""
    numbers = np.arange(30)
    texts = numbers.astype(str)
    assert not where_among(numbers, texts).any()
    assert not where_among(texts, numbers).any()
    assert where_among(numbers, numbers[::2] * 1.0).tolist() == [True, False] * 15
    assert joined_ids(numbers, texts).tolist() == [*numbers.tolist(), *texts.tolist()]
    assert joined_ids(numbers, texts[:0]).dtype == numbers.dtype


def test_order_of_ids_that_do_not_compare():
    assert in_order(["b", 2, "a", 1]) == [1, 2, "a", "b"]


def test_document_ids_that_are_lists():
    docids = as_objects([[1, 2], "a"])
    with pytest.raises(TypeError, match=r"^docids must hold hashable ids"):
        ndcg_score([1, 0], [1, 1], groups=[1, 1], docids=docids, ties="docid")


def test_document_ids_in_two_dimensions(tmp_path):
    with pytest.raises(ValueError, match=r"docids must be .* one document id per row"):
        dump_run([1, 1], [["a", "b"], ["c", "d"]], [1, 2], tmp_path / "run")


@pytest.mark.parametrize("kind", [int, np.int64, np.uint64, type("Own", (int,), {})])
def test_whole_numbers_of_any_type_beside_floats(kind):
    whole = [kind(2**60), kind(2**60 + 1)]
    array = id_array([*whole, 0.5])
    assert array.dtype == object
    assert len(set(array)) == 3
    groups = [i for i in [*whole, 0.5] for _ in range(2)]
    assert len(ndcg_score([1, 0] * 3, [1, 2] * 3, groups=groups, per_query=True)) == 3
    assert id_array([kind(3), 0.5]).dtype == np.float64
    assert id_array([1e17, 0.5]).dtype == np.float64
    numbers = [np.uint64(2**63), np.int64(-1), np.uint64(2**63 + 1)]
    assert len(set(id_array(numbers))) == 3


def test_dates_that_do_not_fit_the_unit_of_others():
    far, near = np.datetime64("2600-01-01"), np.datetime64("2015-06-13T00:25", "ns")
    days, moments = np.array([far, near], "M8[D]"), np.array([near], "M8[ns]")
    message = r"datetime64\[D\] does not fit into datetime64\[ns\], the type of others"
    # NumPy itself refuses them since version 2.5.
    told = f"^groups: (an id of type {message}|ids do not fit into one type: Overflow)"
    with pytest.raises(ValueError, match=told):
        as_ids([far, near], "groups")
    with pytest.raises(ValueError, match=message):
        joined_ids(days, moments)
    joined = joined_ids(days[1:], moments)
    assert (joined == np.array(["2015-06-13", near], "M8[ns]")).all()
    assert as_ids([near, near.astype("M8[D]")]).dtype == "M8[ns]"
    assert as_ids([far, far]).dtype == "M8[D]"
    # 2600-01-01 in nanoseconds would be this very moment.
    wrapped = np.array(["2015-06-13T00:25:26.290448384"], "M8[ns]")
    assert not where_among(days[:1], wrapped).any()
    assert not where_among(wrapped, days[:1]).any()
    midnight = np.array(["2015-06-13"], "M8[ns]")
    assert where_among(days, midnight).tolist() == [False, True]
    assert where_among(midnight, days).tolist() == [True]
    lengths = np.array([5], "m8[D]"), np.array([5 * 86400], "m8[s]")
    assert where_among(*lengths).tolist() == [True]
    with pytest.raises(ValueError, match="does not fit into timedelta64"):
        joined_ids(np.array([2**62], "m8[s]"), np.array([5], "m8[ms]"))


def test_durations_are_no_numbers():
    five = np.timedelta64(5, "ns")
    durations = np.array([5], "m8[ns]")
    assert type(id_list(durations)[0]) is np.timedelta64
    assert id_keys(durations) == [(np.timedelta64, five)]
    assert type(id_keys(durations)[0]) is tuple
    for ids in (np.array([5]), as_objects([5, "a"])):
        assert not where_among(ids, durations).any()
        assert not where_among(durations, ids).any()


@pytest.mark.parametrize(
    "ids",
    [
        [np.timedelta64(1, "D"), 1],
        [True, np.timedelta64(1, "D")],
        [np.timedelta64(1, "s"), np.datetime64("1970-01-01T00:00:01")],
        [("a",), np.datetime64("2020-01-01")],
    ],
    ids=repr,
)
def test_dates_stand_beside_nothing_else(ids):
    told = "^groups: dates and durations of NumPy must not stand beside ids of another"
    for given in (ids, as_objects(ids), pd.Series(as_objects(ids), dtype=object)):
        with pytest.raises(ValueError, match=told):
            as_ids(given)
    joined = joined_ids(*(id_array([one]) for one in ids))  # of two calls
    assert len(set(id_keys(joined))) == 2
    with pytest.raises(UnitError, match="must not stand beside"):
        unmixed(joined)
    missing = [ids[0] if isinstance(ids[0], np.generic) else ids[1], None]
    with pytest.raises(ValueError, match=r"groups must .* row 1 has none"):
        check_groups(missing, 2)


def test_dates_of_python_are_of_another_type_and_the_same_ids():
    ids = [np.datetime64("2020-01-01"), datetime.date(2020, 1, 1)]
    with pytest.raises(ValueError, match=r"^groups: dates and durations of NumPy must"):
        as_ids(ids)
    joined = joined_ids(*(id_array([one]) for one in ids))  # of two calls
    assert set(id_keys(joined)) == {ids[1]}
    assert where_among(id_array(ids[:1]), id_array(ids[1:])).all()


def test_days_and_months_have_no_unit_in_common():
    ids = [np.timedelta64(1, "D"), np.timedelta64(1, "M")]
    for given in (ids, as_objects(ids)):
        with pytest.raises(ValueError, match=r"^groups: ids in days and in months"):
            as_ids(given)
    days, months = (np.array([one]) for one in ids)
    with pytest.raises(UnitError, match="no unit in common"):
        joined_ids(days, months)
    assert not where_among(days, months).any()
    of_dates = as_objects([np.datetime64("2020-01-01"), np.datetime64("2020-01", "M")])
    assert as_ids(of_dates).dtype == "M8[D]"
    assert len(set(as_ids(of_dates))) == 1


def test_whole_numbers_beside_complex_ones():
    assert len(set(id_array([2**53, 2**53 + 1, 1j]))) == 3
    assert id_array([3, 1j]).dtype == complex


def test_what_is_repeated_counts_as_often_as_it_is_repeated():
    # Long enough that these are not few bytes, whatever they would take as objects.
    array = id_array(["x" * 50, "y" * 50], np.array([15_000, 15_000]))
    assert array.dtype == "U50"
    assert (array[0], array[-1], len(array)) == ("x" * 50, "y" * 50, 30_000)
    # The long one is there once among thousands of short ones.
    assert id_array(["x" * 100, "y"], np.array([1, 15_000])).dtype == object
    assert id_array(["x" * 100, "y"], np.array([15_000, 1])).dtype == "U100"


class Name(str, enum.Enum):  # noqa: UP042, which has other names
    """Names as wide as those of the members."""

    FIRST = "Name.SECOND"
    SECOND = "second name"


class Letter(str, enum.Enum):  # noqa: UP042, which has other names
    A = "a"
    B = "b"


class Code(bytes, enum.Enum):
    FIRST = b"Code.LAST_"
    SECOND = b"other code"


@pytest.mark.parametrize("kind", [Name, Code])
def test_members_of_enumerations_are_their_texts(kind):
    members = [kind.FIRST, kind.SECOND, kind.FIRST]
    texts = [one.value for one in members]
    assert id_array(members).tolist() == id_array(texts).tolist() == texts
    assert id_array(members).dtype == id_array(texts).dtype
    assert len(set(as_ids([*members, *texts]).tolist())) == 2


@pytest.mark.parametrize("kind", [list, np.array])
def test_written_members_are_their_texts(kind, tmp_path):
    members = kind([Letter.A, Letter.B], **({} if kind is list else {"dtype": object}))
    dump_letor(np.eye(2), [1, 0], members, tmp_path / "letor")
    assert load_letor(tmp_path / "letor").groups.tolist() == ["a", "b"]
    dump_run(members, members, [1.0, 2.0], tmp_path / "run")
    assert load_run(tmp_path / "run").groups.tolist() == ["a", "b"]


@pytest.mark.skipif(
    not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no text of any width"
)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_texts_of_any_width_are_found(missing):
    kind = np.dtypes.StringDType(na_object=missing)
    for shape in ((4,), (4, 1)):
        ids = np.array(["a", "a", "b", missing], dtype=kind).reshape(shape)
        with pytest.raises(ValueError, match=r"groups must .* row 3 has none"):
            check_groups(ids, 4)
        with pytest.raises(ValueError, match="one query id per row; row 3 has none"):
            Run(ids, list("abcd"), np.zeros(4), "run")
        assert check_groups(ids[:3], 3).tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("odd", [{}, {1}, [[1], [2]]])
@pytest.mark.parametrize("role", ["groups", "docids"])
def test_ids_that_cannot_be_hashed_are_named_by_writers(odd, role, tmp_path):
    ids = {"groups": ["q", "p"], "docids": ["a", "b"]} | {role: [odd, "x"]}
    with pytest.raises(TypeError, match=f"^{role} must hold hashable ids"):
        dump_run(**ids, scores=[1.0, 2.0], path=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_do_not_fit_into_floats_are_ordered():
    ids = [10**400, np.float64(1.5)]
    assert sorted(map(str, in_order(ids))) == sorted(map(str, ids))


UNITS = ["as", "fs", "ps", "ns", "us", "ms", "s", "m", "h", "D", "W"]


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", UNITS)
def test_moments_are_equal_in_all_units(kind, unit):
    for finer in UNITS[: UNITS.index(unit) + 1][-2:]:
        ids = np.arange(-2, 3).astype(f"{kind}[{unit}]")
        assert _moments(ids) == _moments(ids.astype(f"{kind}[{finer}]"))
    months = np.arange(-2, 3).astype(f"{kind}[Y]")
    assert _moments(months) == _moments(months.astype(f"{kind}[M]"))
    assert not set(_moments(np.arange(3).astype("m8"))) & set(_moments(ids))
