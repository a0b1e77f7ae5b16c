"""Splitters: queries stay whole, folds balance, nothing depends on the row order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold
from sklearn.utils.metadata_routing import get_routing_for_object

import skrank
from skrank.model_selection import (
    LetorFolds,
    QueryKFold,
    QueryShuffleSplit,
    RepeatedQueryKFold,
    StratifiedQueryKFold,
    train_test_query_split,
)
from skrank.model_selection._base import BaseQuerySplitter
from skrank.model_selection._kfold import _strata

SPLITTERS = [
    QueryKFold(3),
    QueryKFold(3, shuffle=True, random_state=0),
    StratifiedQueryKFold(3),
    StratifiedQueryKFold(3, by="size", shuffle=True, random_state=1),
    StratifiedQueryKFold(3, by="relevant"),
    RepeatedQueryKFold(3, n_repeats=2, random_state=0),
    QueryShuffleSplit(4, test_size=0.4, random_state=0),
    QueryShuffleSplit(4, test_size=1, train_size=2, random_state=0),
    LetorFolds(3),
    LetorFolds(3, include_validation=True, shuffle=True, random_state=0),
]
all_splitters = pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
query_sizes = st.lists(st.integers(1, 6), min_size=3, max_size=12)


def data(sizes, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.zeros((len(groups), 1)), rng.integers(0, 3, len(groups)), groups


def queries_by_split(splitter, X, y, groups):
    """The sets of training and test queries of every split."""
    return [
        (set(groups[train]), set(groups[test]))
        for train, test in splitter.split(X, y, groups)
    ]


@all_splitters
@settings(deadline=None, max_examples=25)
@given(sizes=query_sizes, seed=st.integers(0, 3))
def test_no_query_is_split(splitter, sizes, seed):
    X, y, groups = data(sizes, seed)
    n_splits = 0
    for train, test in splitter.split(X, y, groups):
        n_splits += 1
        assert not set(groups[train]) & set(groups[test])
        for rows in (train, test):
            assert len(rows) == len(set(rows)) > 0
            assert len(rows) == np.isin(groups, groups[rows]).sum()  # whole queries
            assert np.all(np.diff(groups[rows]) >= 0)  # and query after query
    assert n_splits == splitter.get_n_splits(X, y, groups)


@all_splitters
def test_row_order_does_not_matter(splitter):
    X, y, groups = data([3, 1, 5, 2, 2, 4, 1])
    order = np.random.default_rng(5).permutation(len(groups))
    expected = queries_by_split(splitter, X, y, groups)
    assert queries_by_split(splitter, X, y[order], groups[order]) == expected


@all_splitters
@pytest.mark.parametrize(
    "name",
    [
        lambda i: f"query {i:03d}",
        lambda i: 10.5 * i - 30,
        lambda i: ("a", i),
        lambda i: np.datetime64("2020-01-01") + np.timedelta64(i, "D"),
    ],
    ids=["text", "float", "tuple", "date"],
)
def test_ids_of_any_type_give_the_same_rows(splitter, name):
    X, y, groups = data([3, 1, 5, 2, 2, 4, 1])
    renamed = [name(int(i)) for i in groups]
    for one, other in zip(splitter.split(X, y, groups), splitter.split(X, y, renamed)):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@all_splitters
def test_ids_that_do_not_compare_are_independent_of_the_row_order(splitter):
    X, y, groups = data([3, 1, 5, 2, 2, 4])
    names = np.empty(6, dtype=object)
    names[:] = [1, "a", (2, 3), 0.5, "b", frozenset([4])]
    mixed = names[groups]
    order = np.random.default_rng(5).permutation(len(groups))
    expected = queries_by_split(splitter, X, y, mixed)
    assert queries_by_split(splitter, X, y[order], mixed[order]) == expected


@all_splitters
@pytest.mark.parametrize("container", ["y", "X"])
def test_groups_come_from_the_index_of_pandas_objects(splitter, container):
    pd = pytest.importorskip("pandas")
    X, y, groups = data([3, 1, 5, 2, 2, 4])
    index = pd.MultiIndex.from_arrays(
        [groups, np.arange(len(groups))], names=["qid", "document"]
    )
    expected = list(splitter.split(X, y, groups))
    if container == "y":
        y = pd.Series(y, index=index)
    else:
        X = pd.DataFrame(X, index=index)
    for one, other in zip(expected, splitter.split(X, y), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@all_splitters
def test_groups_are_requested_without_set_split_request(splitter):
    request = get_routing_for_object(splitter)
    assert request.split.requests == {"groups": True}


@all_splitters
def test_missing_and_too_few_queries(splitter):
    X, y, groups = data([3, 2, 4])
    with pytest.raises(ValueError, match="needs to know the query of every row"):
        next(splitter.split(X, y))
    with pytest.raises(ValueError, match=r"found 3 ids for 9 rows.*group sizes"):
        next(splitter.split(X, y, [3, 2, 4]))
    if not isinstance(splitter, QueryShuffleSplit):
        with pytest.raises(ValueError, match=r"needs at least 3 queries.*holds 2"):
            next(splitter.split(X, y, groups > 0))
    with (
        skrank.config_context(assume_single_query=True),
        pytest.raises(ValueError, match="quer"),
    ):
        next(splitter.split(X, y))


def test_query_kfold_is_kfold_over_sorted_queries():
    X, y, groups = data([3, 1, 5, 2, 2, 4, 1, 6])
    got = queries_by_split(QueryKFold(3), X, y, groups)
    expected = [(set(a), set(b)) for a, b in KFold(3).split(np.arange(8))]
    assert got == expected


def test_test_folds_are_a_partition():
    X, y, groups = data([2] * 11)
    for splitter in (QueryKFold(4), StratifiedQueryKFold(4), LetorFolds(4)):
        tests = [test for _, test in splitter.split(X, y, groups)]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(22))
        sizes = [len(test) // 2 for test in tests]
        assert max(sizes) - min(sizes) <= 1


def test_shuffling_is_seeded():
    X, y, groups = data([1] * 30)
    for make in (
        lambda seed: QueryKFold(3, shuffle=True, random_state=seed),
        lambda seed: StratifiedQueryKFold(3, shuffle=True, random_state=seed),
        lambda seed: RepeatedQueryKFold(3, n_repeats=1, random_state=seed),
        lambda seed: QueryShuffleSplit(3, random_state=seed),
        lambda seed: LetorFolds(3, shuffle=True, random_state=seed),
    ):
        first = queries_by_split(make(0), X, y, groups)
        assert first == queries_by_split(make(0), X, y, groups)
        assert first != queries_by_split(make(1), X, y, groups)


def test_repeats_differ():
    X, y, groups = data([1] * 30)
    folds = queries_by_split(
        RepeatedQueryKFold(3, n_repeats=2, random_state=0), X, y, groups
    )
    assert len(folds) == 6
    assert folds[:3] != folds[3:]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("by", ["size", "relevant", "grades"])
def test_stratified_folds_hold_about_the_same(by, shuffle, rng):
    sizes = rng.geometric(0.05, size=200)
    groups = np.repeat(np.arange(200), sizes)
    rate = np.repeat(rng.beta(0.5, 2, size=200), sizes)  # differs between queries
    y = rng.binomial(3, rate)
    X = np.zeros((len(y), 1))
    stratified = StratifiedQueryKFold(5, by=by, shuffle=shuffle, random_state=0)
    plain = QueryKFold(5, shuffle=True, random_state=0)

    def unevenness(splitter):
        tests = [test for _, test in splitter.split(X, y, groups)]
        if by == "size":
            content = np.array([[len(test)] for test in tests])
        elif by == "relevant":
            content = np.array([[np.sum(y[test] > 0)] for test in tests])
        else:
            content = np.array([np.bincount(y[test], minlength=4) for test in tests])
        return np.max(np.ptp(content, axis=0) / content.mean(axis=0))

    assert unevenness(stratified) < 0.15
    assert unevenness(stratified) < 0.5 * unevenness(plain)


def test_stratified_takes_real_grades_and_queries_without_relevance(rng):
    groups = np.repeat(np.arange(30), 10)
    X = np.zeros((300, 1))
    folds = list(StratifiedQueryKFold(3).split(X, rng.uniform(size=300), groups))
    assert [len(test) for _, test in folds] == [100, 100, 100]
    for by in ("grades", "relevant"):
        folds = list(StratifiedQueryKFold(3, by=by).split(X, np.zeros(300), groups))
        assert [len(test) for _, test in folds] == [100, 100, 100]


def test_queries_without_relevance_are_dealt_whatever_their_size():
    groups = np.repeat(np.arange(6), np.arange(1, 7))
    X, y = np.zeros((len(groups), 1)), np.zeros(len(groups))
    folds = StratifiedQueryKFold(3, by="relevant").split(X, y, groups)
    assert [sorted(set(groups[test])) for _, test in folds] == [[0, 3], [1, 4], [2, 5]]


def test_letor_folds_rotate_as_published():
    # LETOR 4.0: fold 1 = (S1 S2 S3 | S4 | S5), fold 2 = (S2 S3 S4 | S5 | S1), ...
    groups = np.repeat(np.arange(10), 2)
    X, part = np.zeros((20, 1)), groups // 2 + 1
    sets = [
        tuple(sorted(set(part[rows])) for rows in fold)
        for fold in LetorFolds().split_with_validation(X, groups=groups)
    ]
    assert sets == [
        ([1, 2, 3], [4], [5]),
        ([2, 3, 4], [5], [1]),
        ([3, 4, 5], [1], [2]),
        ([1, 4, 5], [2], [3]),
        ([1, 2, 5], [3], [4]),
    ]


def test_letor_folds_with_given_parts():
    groups = np.array([7, 7, 5, 3, 3, 9])
    parts = np.array([2, 2, 1, 3, 3, 1])
    folds = list(
        LetorFolds(3, parts=parts).split_with_validation(groups, groups=groups)
    )
    assert [sorted(parts[test]) for _, _, test in folds] == [[3, 3], [1, 1], [2, 2]]
    with pytest.raises(ValueError, match="query 7 has rows in several parts"):
        next(LetorFolds(3, parts=[1, 2, 1, 3, 3, 1]).split(groups, groups=groups))
    with pytest.raises(ValueError, match="numbers 1 to 5"):
        next(LetorFolds(5, parts=parts).split(np.arange(6), groups=np.arange(6)))
    with pytest.raises(ValueError, match="shuffle must be False with given parts"):
        next(LetorFolds(3, parts=parts, shuffle=True).split(groups, groups=groups))
    with pytest.raises(ValueError, match="one number for each of 6 rows, got 3"):
        next(LetorFolds(3, parts=[1, 2, 3]).split(groups, groups=groups))


def test_shuffle_split_sizes():
    X, y, groups = data([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    for test_size, train_size, n_train, n_test in [
        (None, None, 8, 2),
        (0.25, None, 7, 3),  # shares of test queries are rounded up
        (None, 0.55, 5, 5),  # of training queries down
        (3, 4, 4, 3),
        (0.1, 0.5, 5, 1),
    ]:
        splitter = QueryShuffleSplit(2, test_size=test_size, train_size=train_size)
        for train, test in queries_by_split(splitter, X, y, groups):
            assert (len(train), len(test)) == (n_train, n_test)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"test_size": 1.5},
            ValueError,
            r"test_size must be a number in \(0, 1\), a wh",
        ),
        ({"test_size": 5}, ValueError, "between 1 and 4 for 5 queries, got 5"),
        ({"test_size": 0}, ValueError, "a whole number >= 1 or None, got 0"),
        ({"train_size": "half"}, TypeError, "train_size must be a number in"),
        ({"test_size": True}, TypeError, "test_size must be a number in"),
        ({"test_size": 3, "train_size": 3}, ValueError, "there are 5"),
        ({"test_size": 0.99}, ValueError, "each set needs at least one"),
    ],
)
def test_bad_sizes(options, error, message):
    X, y, groups = data([1, 2, 3, 4, 5])
    with pytest.raises(error, match=message):
        next(QueryShuffleSplit(**options).split(X, y, groups))
    with pytest.raises(error, match=message):
        train_test_query_split(X, groups=groups, **options)


@pytest.mark.parametrize(
    ("splitter", "error", "message"),
    [
        (
            QueryKFold(1),
            ValueError,
            "QueryKFold: n_splits must be a whole number >= 2, got 1",
        ),
        (QueryKFold("5"), TypeError, "n_splits must be a whole number >= 2, got '5'"),
        (QueryShuffleSplit(0), ValueError, "n_splits must be a whole number >= 1"),
        (LetorFolds(2), ValueError, "n_splits must be a whole number >= 3"),
        (LetorFolds(3, parts=1), TypeError, "parts must be array-like of one part num"),
        (
            RepeatedQueryKFold(2, n_repeats=0),
            ValueError,
            "n_repeats must be a whole number >= 1",
        ),
        (
            StratifiedQueryKFold(2, by="label"),
            ValueError,
            "by must be 'grades', 'relevant' or 'size', got 'label'",
        ),
        (QueryKFold(2, random_state="a"), TypeError, "random_state must be a whole nu"),
    ],
)
def test_bad_parameters(splitter, error, message):
    X, y, groups = data([1, 2, 3, 4, 5])
    with pytest.raises(error, match=message):
        next(splitter.split(X, y, groups))


def test_stratified_needs_grades():
    X, _, groups = data([1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="needs y, got None"):
        next(StratifiedQueryKFold(2).split(X, None, groups))
    next(StratifiedQueryKFold(2, by="size").split(X, None, groups))


def test_train_test_query_split_of_all_containers():
    pd = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    _, _, groups = data([3, 1, 5, 2, 2, 4])
    rows = np.arange(len(groups))
    parts = train_test_query_split(
        rows,
        pd.Series(rows),
        sparse.coo_array(rows[:, None]),
        rows.tolist(),
        groups=groups.tolist(),
        random_state=0,
    )
    assert len(parts) == 10
    for train, test in [
        (parts[2].to_numpy(), parts[3].to_numpy()),
        (parts[4].toarray().ravel(), parts[5].toarray().ravel()),
        (parts[6], parts[7]),
    ]:
        np.testing.assert_array_equal(train, parts[0])
        np.testing.assert_array_equal(test, parts[1])
    np.testing.assert_array_equal(parts[8], groups[parts[0]])
    assert not set(parts[8]) & set(parts[9])
    assert len(parts[0]) + len(parts[1]) == len(groups)


def test_train_test_query_split_reads_the_index_and_can_keep_the_order():
    pd = pytest.importorskip("pandas")
    X, y, groups = data([3, 1, 5, 2, 2, 4, 1, 1])
    y = pd.Series(y, index=pd.Index(groups, name="qid"))
    X_train, X_test, y_train, y_test = train_test_query_split(X, y, shuffle=False)
    assert set(y_test.index) == {6, 7}
    assert (len(X_train), len(X_test)) == (len(y_train), len(y_test))
    with pytest.raises(ValueError, match="same number of rows"):
        train_test_query_split(X, y[:3], groups=groups)
    with pytest.raises(ValueError, match="at least one array"):
        train_test_query_split(groups=groups)


def test_too_few_queries_are_told_in_one_line():
    for splitter in (QueryKFold, RepeatedQueryKFold):
        seed = {"shuffle": True} if splitter is QueryKFold else {}
        folds = splitter(2, random_state=np.random.RandomState(0), **seed)
        words = rf"^{splitter.__name__}\(n_splits=2\) needs at least 2 queries, .* 1$"
        with pytest.raises(ValueError, match=words):
            next(folds.split([[1]], [1], [0]))


def test_numbers_of_folds_may_have_any_type():
    splitter = RepeatedQueryKFold(np.uint8(16), n_repeats=np.uint8(16))
    assert splitter.get_n_splits() == 256


def test_strata_of_few_grades_are_the_grades():
    # Beyond so many, quantiles are taken in their place.
    y = np.append(np.zeros(1000), np.arange(32.0))
    assert len(np.unique(_strata(y, "grades"))) == 32
    assert _strata(np.array([0.0, 0.5, 1.0]), "relevant").tolist() == [0, 1, 1]


def test_which_fold_is_larger_is_drawn():
    sizes = set()
    for seed in range(20):
        splitter = StratifiedQueryKFold(2, shuffle=True, random_state=seed)
        _, first = next(splitter.split(np.zeros((3, 1)), np.ones(3), np.arange(3)))
        sizes.add(len(first))
    assert sizes == {1, 2}


def test_queries_of_one_block_are_shuffled():
    groups, found = np.repeat(np.arange(4), [9, 8, 2, 1]), set()
    for seed in range(60):
        splitter = StratifiedQueryKFold(2, by="size", shuffle=True, random_state=seed)
        _, first = next(splitter.split(np.zeros((20, 1)), groups=groups))
        found.add(tuple(np.unique(groups[first])))
    assert len(found) == 4


def test_equal_queries_are_dealt_in_their_order():
    groups = np.repeat(np.arange(60), np.where(np.arange(60) % 2, 3, 2))
    splitter = StratifiedQueryKFold(30, by="size")
    folds = splitter.split(np.zeros((len(groups), 1)), groups=groups)
    found = [np.unique(groups[test]).tolist() for _, test in folds]
    assert found == [[2 * i, 2 * i + 1] for i in range(30)]


@pytest.mark.parametrize("parts", [[1, 2, 3, 4, 5, 5], [1, 2, 3, 4]])
def test_there_is_a_part_for_each_row(parts):
    splitter = LetorFolds(parts=parts)
    message = f"parts must hold one number for each of 5 rows, got {len(parts)}"
    with pytest.raises(ValueError, match=message):
        next(splitter.split(np.zeros((5, 1)), groups=np.arange(5)))


@pytest.mark.parametrize(
    "part",
    [
        np.array([True, False, True]),
        [0.5, 1.0],
        [3],
        [-1],
        [[0], [1]],
        None,
        ["a"],
        np.ma.masked_array([0, 1], True).tolist(),
    ],
    ids=str,
)
def test_own_splitters_must_choose_numbers_of_queries(part):
    def splitter_of(*pair):
        class Own(BaseQuerySplitter):
            def _split_queries(self, queries, X, y):
                yield pair

        return Own(2)

    for own in (splitter_of(part, [0]), splitter_of([0], part)):
        splits = own.split(np.zeros((6, 1)), groups=[0, 0, 1, 1, 2, 2])
        with pytest.raises(ValueError, match=r"Own._split_queries must yield pairs of"):
            next(splits)


def test_own_splitters_may_choose_nothing():
    class Own(BaseQuerySplitter):
        def _split_queries(self, queries, X, y):
            yield [], [1, 0]

    ((train, test),) = Own(2).split(np.zeros((4, 1)), groups=[5, 5, 1, 1])
    assert len(train) == 0
    assert test.tolist() == [2, 3, 0, 1]


def test_own_splitters_may_repeat_queries_and_yield_pairs_alone():
    class Own(BaseQuerySplitter):
        def _split_queries(self, queries, X, y):
            yield [1, 0, 1], [2]
            yield [0], [1], [2]

    splits = Own(2).split(np.zeros((6, 1)), groups=[0, 0, 1, 1, 2, 2])
    assert next(splits)[0].tolist() == [0, 1, 2, 3, 2, 3]
    with pytest.raises(ValueError, match=r"Own._split_queries must yield pairs of"):
        next(splits)


def test_memory_views_are_split_as_arrays():
    X, groups = np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 2, 2]
    expected = train_test_query_split(X, groups=groups, random_state=0)
    found = train_test_query_split(memoryview(X), groups=groups, random_state=0)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


@all_splitters
@pytest.mark.parametrize("bad", ["", "3", -1, 0, 2.5, np.nan, None, [3], True])
def test_numbers_of_splits_are_checked(splitter, bad):
    name = type(splitter).__name__
    with pytest.raises(ValueError, match=rf"^{name}: n_splits must be"):
        type(splitter)(n_splits=bad).get_n_splits()
