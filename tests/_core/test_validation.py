"""What users may pass, and what they are told when it is wrong."""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from _damaged import DAMAGED, damaged
from scipy import sparse

import skrank
from skrank._core._parameters import Fraction, PositiveInt
from skrank._core._validation import (
    as_numbers,
    check_arguments,
    check_grades,
    check_groups,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.aggregation import join_runs
from skrank.datasets import RankingData
from skrank.experiments import Experiment, make_folds
from skrank.inspection import query_permutation_importance
from skrank.metrics import ndcg_score, winning_number
from skrank.model_selection import (
    QuerySubsample,
    query_learning_curve,
    train_test_query_split,
)
from skrank.online import PDGD
from skrank.preprocessing import QueryStandardScaler, QueryTargetEncoder
from skrank.rankers import MART, RankSVM
from skrank.selection import GAS, QueryRFE, SelectByMeasure
from skrank.text import LinkGraph, PageRank, SiteMap, propagate_site
from skrank.unbiased._counterfactual_measures import rank_weights


def test_group_sizes_get_a_hint():
    with pytest.raises(ValueError, match=r"3 ids for 6 rows.*look like group sizes"):
        check_groups([1, 2, 3], 6)


def test_wrong_length_without_hint():
    with pytest.raises(ValueError, match="2 ids for 6 rows") as caught:
        check_groups([1, 2], 6)
    assert "sizes" not in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1.0, np.nan, 2.0], "row 1 has none"),
        (["a", None, "b"], "row 1 has none"),
        (np.zeros((3, 2)), r"one-dimensional.*\(3, 2\)"),
        (np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[D]"), "row 1"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 3)


def test_sparse_and_unhashable_groups():
    with pytest.raises(TypeError, match="sparse"):
        check_groups(sparse.csr_matrix(np.ones((3, 1))), 3)
    unhashable = np.empty(2, dtype=object)
    unhashable[:] = [[1], [2]]
    with pytest.raises(TypeError, match="hashable"):
        check_groups(unhashable, 2)


def test_mixed_ids_stay_apart():
    ids = check_groups([1, "1", 1], 3)
    assert len(set(ids.tolist())) == 2


def test_tuples_are_ids():
    ids = check_groups([("a", 1), ("a", 2), ("a", 1)], 3)
    assert ids.shape == (3,)
    assert ids[0] == ids[2] != ids[1]


def test_missing_groups_name_both_ways():
    with pytest.raises(ValueError, match=r"RankSVM\.fit") as caught:
        resolve_groups(None, n_samples=3, caller="RankSVM.fit")
    message = str(caught.value)
    assert "enable_metadata_routing" in message
    assert "'qid'" in message
    assert "assume_single_query" in message


def test_single_query_only_inside_the_context():
    with skrank.config_context(assume_single_query=True):
        assert resolve_groups(None, n_samples=3, caller="x").tolist() == [0, 0, 0]
    assert skrank.get_config() == {
        "assume_single_query": False,
        "check_leakage": True,
    }


def test_qid_level_of_a_pandas_index():
    index = pd.MultiIndex.from_arrays(
        [["a", "a", "b"], [0, 1, 2]], names=["qid", "row"]
    )
    y = pd.Series([1, 0, 2], index=index)
    assert resolve_groups(None, y, n_samples=3, caller="x").tolist() == ["a", "a", "b"]
    X = pd.DataFrame({"f": [1.0, 2.0, 3.0]}, index=pd.Index([5, 5, 6], name="qid"))
    assert resolve_groups(None, [1, 0, 1], X, n_samples=3, caller="x").tolist() == [
        5,
        5,
        6,
    ]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, np.nan, 1], "contains NaN.*row 1, 1 in all"),
        ([0, np.inf, 1], "contains infinity"),
        ([0, -1, 1], "grades >= 0; row 1 has -1"),
        (["a", "b", "c"], "numeric"),
        ([], "empty"),
    ],
)
def test_bad_grades(y, message):
    with pytest.raises(ValueError, match=message):
        check_grades(y)


@pytest.mark.parametrize("y", [[0, 1, 40], [0.5, 2.25, 0.0], [True, False, True]])
def test_any_grade_from_zero(y):
    assert check_grades(y).dtype == np.float64
    np.testing.assert_array_equal(check_grades(y), np.asarray(y, dtype=float))


def test_grades_length():
    with pytest.raises(ValueError, match="y has 2 grades for 3 rows"):
        check_grades([0, 1], n_samples=3)


def test_bad_scores():
    with pytest.raises(ValueError, match=r"contains NaN: 1 of 2"):
        check_scores([0.0, np.nan], 2)
    with pytest.raises(ValueError, match="1 scores for 2 documents"):
        check_scores([0.0], 2)
    assert np.isinf(check_scores([np.inf, -np.inf], 2)).all()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "negative"),
        ([0.0, 0.0], "zero everywhere"),
        ([1.0, np.nan], "NaN"),
        ([1.0], "one weight per row"),
        ([[1.0], [2.0]], "1D array or scalar"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, 2)


@pytest.mark.parametrize(
    "weight",
    [np.complex64(1 + 1j), np.array(2j), np.timedelta64(1, "s"), "a", b"1", 10**400],
    ids=repr,
)
def test_single_weights_that_are_no_numbers(weight):
    with pytest.raises(ValueError, match=r"^sample_weight"):
        check_weights(weight, 2)


def test_scalar_weight():
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert check_weights(None, 3) is None


class Reader:
    def read(
        self, k: PositiveInt, kind: Literal["a", "b"], share: Fraction | None = None
    ):
        """Read."""


def test_arguments_are_checked_against_annotations():
    check_arguments(Reader.read, k=1, kind="b", share=None)
    check_arguments(Reader().read, k=np.int64(3), share=0.5)
    for error in (ValueError, TypeError):
        with pytest.raises(
            error, match=r"^read: k must be a whole number >= 1, got 0$"
        ):
            check_arguments(Reader().read, k=0)
    with pytest.raises(ValueError, match=r"k must be .* >= 1 and below 2\*\*31, got 2"):
        check_arguments(Reader.read, k=2**31)
    with pytest.raises(ValueError, match="read: kind must be 'a' or 'b', got 'c'"):
        check_arguments(Reader.read, kind="c")
    with pytest.raises(ValueError, match=r"share must be a number in \(0, 1\) or None"):
        check_arguments(Reader.read, share=1.0)


# Missing values -----------------------------------------------------------------------

NUMBERS_WITH_A_HOLE = {
    "None": [1, 0, None],
    "NaN": [1, 0, np.nan],
    "NA": [1, 0, pd.NA],
    "NaT": [1, 0, pd.NaT],
    "Decimal": [Decimal(1), Decimal(0), Decimal("NaN")],
    "object array": np.array([1, 0, pd.NA], dtype=object),
    "Int64": pd.array([1, 0, None], dtype="Int64"),
    "Float64": pd.array([1, 0, None], dtype="Float64"),
    "boolean": pd.Series([True, False, None], dtype="boolean"),
    "categorical": pd.Categorical([1, 0, None]),
}
IDS_WITH_A_HOLE = NUMBERS_WITH_A_HOLE | {
    "complex": np.array([1, 0, complex(0, np.nan)]),
    "str, NA": ["a", "b", pd.NA],
    "string": pd.Series(["a", "b", None], dtype="string"),
    "category": pd.Series(["a", "b", None], dtype="category"),
    "datetime": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", None])),
    "zoned": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", None], utc=True)),
    "period": pd.Series(pd.PeriodIndex(["2020-01", "2020-02", None], freq="M")),
}
WHOLE = {
    "Int64": pd.array([1, 0, 2], dtype="Int64"),
    "Float64": pd.Series([1, 0, 2], dtype="Float64"),
    "category": pd.Categorical([1, 0, 2]),
    "object": np.array([1, 0, 2.0], dtype=object),
    "decimal": [Decimal(1), Decimal(0), Decimal(2)],
}
TEXT = {
    "list": ["1", "0", "2"],
    "partly": [1, "0", 2],
    "bytes": [b"1", b"0", b"2"],
    "objects": np.array([1, "0", 2], dtype=object),
    "bytes in objects": np.array([1, b"0", 2], dtype=object),
    "array": np.array(["1", "0", "2"]),
    "array of bytes": np.array([b"1", b"0", b"2"]),
    "pandas": pd.Series(["1", "0", "2"]),
    "pandas, objects": pd.Series(["1", "0", "2"], dtype=object),
    "pandas, string": pd.Series(["1", "0", "2"], dtype="string"),
    "pandas, category": pd.Series(["1", "0", "2"], dtype="category"),
    "column": np.array([["1"], ["0"], ["2"]]),
}


@pytest.mark.parametrize("ids", IDS_WITH_A_HOLE.values(), ids=list(IDS_WITH_A_HOLE))
def test_missing_ids_are_named(ids):
    with pytest.raises(
        ValueError, match=r"groups must hold one query id per row; row 2 has none \("
    ):
        check_groups(ids, 3)
    level = pd.Series([1.0, 0, 0], index=pd.Index(ids, name="qid"))
    with pytest.raises(ValueError, match="row 2 has none"):
        resolve_groups(None, level, n_samples=3, caller="ndcg_score")


@pytest.mark.parametrize(
    "values", NUMBERS_WITH_A_HOLE.values(), ids=list(NUMBERS_WITH_A_HOLE)
)
def test_missing_numbers_are_named(values):
    with pytest.raises(ValueError, match=r"Input y contains NaN \(first in row 2, 1"):
        check_grades(values)
    with pytest.raises(ValueError, match="y_score contains NaN: 1 of 3 scores, first"):
        check_scores(values, 3)
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        check_weights(values, 3)
    np.testing.assert_array_equal(as_numbers(values, "a"), [1, 0, np.nan])


@pytest.mark.parametrize("values", WHOLE.values(), ids=list(WHOLE))
def test_numbers_of_every_kind(values):
    expected = [1.0, 0.0, 2.0]
    np.testing.assert_array_equal(check_grades(values), expected)
    np.testing.assert_array_equal(check_scores(values, 3), expected)
    np.testing.assert_array_equal(check_weights(values, 3), expected)
    assert len(set(check_groups(values, 3).tolist())) == 3


@pytest.mark.parametrize("values", TEXT.values(), ids=list(TEXT))
def test_text_of_numbers_is_no_number(values):
    such = "got dtype .*, such as b?'[01]'"
    for call, what in [
        (lambda: check_grades(values), "y must hold numeric relevance grades"),
        (lambda: check_scores(values, 3), "y_score must hold numeric scores"),
        (lambda: check_weights(values, 3), "sample_weight must hold numeric weights"),
        (lambda: as_numbers(values, "discount"), "discount must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=f"{what}, {such}"):
            call()


@pytest.mark.parametrize(
    "values", [["a", "b"], np.array(["2020", "2021"], "M8[Y]"), [{}, {}]]
)
def test_what_is_no_number_is_named(values):
    with pytest.raises(ValueError, match="y must hold numeric relevance grades, got"):
        check_grades(values)
    with pytest.raises(ValueError, match="y_score must hold numeric scores, got dtype"):
        check_scores(values, 2)
    with pytest.raises(ValueError, match="sample_weight must hold numeric weights"):
        check_weights(values, 2)


@pytest.mark.parametrize(("kind", "format"), DAMAGED)
def test_whatever_takes_sparse_matrices_checks_them(kind, format):
    links = damaged(kind, format, n_columns=6)
    site = SiteMap([f"example.org/{i}" for i in range(6)])
    y, groups = [0, 1, 2] * 2, [0, 0, 0, 1, 1, 1]
    series = pd.Series(y, pd.Index(groups, name="qid"))
    ranker = RankSVM().fit(np.eye(6), y, groups)
    selector = SelectByMeasure(6).fit(np.eye(6), y, groups)
    ordinary = make_folds(np.eye(6), y, [0, 0, 1, 1, 2, 2], n_splits=3)
    fold = replace(ordinary[0], train=RankingData(links, y, np.array(groups)))
    experiment = Experiment({"svm": RankSVM()})
    for call in (
        lambda: selector.transform(links),
        lambda: selector.inverse_transform(links),
        lambda: RankingData(links, y, groups).to_frame(),
        lambda: experiment.run([fold], "unused"),
        lambda: LinkGraph(links),
        lambda: PageRank().fit(links),
        lambda: propagate_site(links, site),
        lambda: make_folds(links, y, groups, n_splits=3),
        lambda: train_test_query_split(links, groups=groups),
        lambda: query_learning_curve(ranker, links, series),
        lambda: query_permutation_importance(ranker, links, y, groups),
    ):
        with pytest.raises(ValueError, match="must be a sparse matrix whose indices"):
            call()


@pytest.mark.parametrize(("kind", "format"), DAMAGED)
def test_rankers_never_read_beyond_sparse_rows(kind, format):
    y, groups = [0, 1, 0, 1, 2, 0], [0, 0, 0, 1, 1, 1]
    X = sparse.random(6, 4, density=0.7, format="csr", random_state=0)
    for ranker in (RankSVM(), QuerySubsample(RankSVM())):
        with pytest.raises(ValueError, match="X must be a sparse matrix whose indices"):
            ranker.fit(damaged(kind, format), y, groups)
        ranker.fit(X, y, groups)
        with pytest.raises(ValueError, match="X must be a sparse matrix whose indices"):
            ranker.predict(damaged(kind, format))


def test_ragged_groups_and_integers_beyond_doubles():
    with pytest.raises(
        ValueError, match=r"groups must be one-dim.*got \[\[1\], \[2, 3"
    ):
        check_groups([[1], [2, 3]], 2)
    with pytest.raises(ValueError, match=r"X must hold numbers of at most 1\.8e308"):
        RankSVM().fit([[10**400], [1]], [0, 1], [0, 0])


@pytest.mark.parametrize("kind", [sparse.dok_matrix, sparse.dok_array])
def test_a_dictionary_of_keys_is_a_table_and_no_mapping_of_names(kind):
    X = kind(np.eye(6, 2))
    assert n_rows(X) == 6
    with pytest.raises(TypeError, match="X must have one row per document"):
        n_rows({"a": 1})
    with pytest.raises(TypeError, match="scores in an array, got a sparse matrix"):
        check_scores(X, 6)
    with pytest.raises(TypeError, match="monotonic_cst must hold numbers in an array"):
        MART(monotonic_cst=X).fit(np.eye(6, 2), [0, 1] * 3, [0, 0, 0, 1, 1, 1])
    with pytest.raises(TypeError, match=r"scores must hold .* got a sparse matrix"):
        winning_number(X)
    with pytest.raises(TypeError, match=r"runs must hold .* got a sparse matrix"):
        join_runs(X, groups=[0] * 6)


_NO_TABLES = {
    "GAS": lambda X: GAS(1).fit(X, [1], [1]),
    "PDGD": lambda X: PDGD().fit(X, [1], [1]),
    "QueryRFE": lambda X: QueryRFE(RankSVM()).fit(X, [1], [1]),
    "QueryStandardScaler": lambda X: QueryStandardScaler().fit(X, groups=[1]),
    "QueryTargetEncoder": lambda X: QueryTargetEncoder().fit(X, [1], [1]),
    "RankSVM": lambda X: RankSVM().fit(X, [1], [1]),
}


@pytest.mark.parametrize("fit", _NO_TABLES.values(), ids=list(_NO_TABLES))
@pytest.mark.parametrize("X", ["abc", b"ab", {}, {"a": [1]}, {1.0}, int], ids=repr)
def test_what_is_no_table_holds_no_numbers(fit, X):
    with pytest.raises(
        ValueError, match=f"^X must hold numbers, got {re.escape(repr(X))}"
    ):
        fit(X)


def test_types_that_take_no_arrays():
    message = "function {} failed: it takes single numbers, and is called with arrays"
    with pytest.raises(TypeError, match=message.format("gain")):
        ndcg_score([1, 0], [1, 0], groups=[1, 1], gain=int)
    with pytest.raises(TypeError, match=message.format("measure")):
        rank_weights(int, np.array([0, 4]), None)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("indices", [0, 1, 2]),
        ("indptr", np.array([0.0, 1.5, 2.0])),
        ("indptr", np.zeros((2, 2), dtype=int)),
        ("data", None),
        ("indptr", None),
        ("indices", np.array(["a", "b", "c"])),
        ("indices", np.array([0.0, 1.0, 2.0])),
        ("indptr", np.array([0.0, 1.0, 2.0, 3.0])),
    ],
)
def test_sparse_rows_whose_arrays_are_of_another_kind(attribute, value):
    X = sparse.csr_matrix(np.eye(3))
    setattr(X, attribute, value)
    with pytest.raises(ValueError, match="X must be a sparse matrix whose indices lie"):
        RankSVM().fit(X, [0, 1, 2], [0, 0, 0])
