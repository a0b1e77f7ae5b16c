"""Missing values of many kinds, and masks."""

import numpy as np
import pandas as pd
import pytest

from skrank._core._missing import is_missing, unmasked
from skrank._core._validation import (
    as_numbers,
    check_grades,
    check_scores,
    check_weights,
)
from skrank._rows import check_pairs
from skrank.datasets import make_ranking
from skrank.metrics import bpref_score, make_ranking_scorer, ndcg_score
from skrank.rankers import RankSVM


def test_what_is_missing():
    missing = [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
    assert all(map(is_missing, missing))
    assert not any(map(is_missing, [0, "", "nan", (), (1, None), np.array([np.nan])]))


def test_masked_numbers_are_missing():
    for values in ([1, 2, 3], [1.0, 2.0, 3.0], [True, False, True]):
        found = as_numbers(np.ma.masked_array(values, [0, 1, 0]), "a")
        assert np.isnan(found).tolist() == [False, True, False]
        assert not np.isnan(as_numbers(np.ma.masked_array(values), "a")).any()
    with pytest.raises(ValueError, match="y_score contains NaN: 1 of 3 scores, first"):
        check_scores(np.ma.masked_array([1, 2, 3], [0, 1, 0]), 3)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        check_weights(np.ma.masked_array([1, 2, 3], [0, 1, 0]), 3)
    with pytest.raises(ValueError, match=r"preferences must hold one pair .* row 1 is"):
        check_pairs(np.ma.masked_array([[0, 1], [1, 2]], [[0, 0], [0, 1]]), 3)
    assert check_grades(np.ma.masked_array([0, 1])).tolist() == [0.0, 1.0]


def test_masks_without_effect_change_nothing():
    X, y, groups = make_ranking(n_queries=5, n_features=4, n_informative=3)
    plain = RankSVM().fit(X, y, groups).coef_
    wrapped = RankSVM().fit(*map(np.ma.masked_array, (X, y, groups))).coef_
    assert (plain == wrapped).all()


@pytest.mark.filterwarnings("ignore::skrank.metrics.QueryLeakageWarning")
def test_scores_keep_the_mask_of_grades():
    X, y, groups = make_ranking(
        n_queries=8, n_features=4, n_informative=3, random_state=1
    )
    ranker = RankSVM().fit(X, y, groups)
    y = np.ma.masked_array(y, y == y.max())
    scores = ranker.predict(X)
    found = ranker.score(X, y, groups)
    assert found == ndcg_score(y, scores, groups=groups, k=10)
    assert found != ndcg_score(y.data, scores, groups=groups, k=10)
    for measure, name in ((bpref_score, "bpref"), (ndcg_score, "ndcg")):
        expected = measure(y, scores, groups=groups)
        for scored in (name, measure):
            scorer = make_ranking_scorer(scored)
            assert scorer(ranker, X, y, groups=groups) == expected


def columns_of_polars():
    """Pairs of a column of polars and what its values are."""
    polars = pytest.importorskip("polars")
    big = 2**53
    return [
        (polars.Series(["a", "a\0"]), ["a", "a\0"]),
        (polars.Series(["a", None]), ["a", None]),
        (polars.Series([1, 2], dtype=polars.UInt8), [1, 2]),
        (polars.Series([1, None]), [1.0, np.nan]),
        (polars.Series([big, big + 1, None]), [big, big + 1, None]),
        (polars.Series([1, 2], dtype=polars.Int128), [1, 2]),
        (polars.Series([1.5, None]), [1.5, np.nan]),
        (polars.Series([True, False]), [True, False]),
        (polars.Series([True, None]), [True, None]),
        (polars.Series([None, None]), [None, None]),
        (polars.Series(["u", "v"], dtype=polars.Categorical), ["u", "v"]),
    ]


def test_columns_of_polars_keep_what_they_hold():
    for column, expected in columns_of_polars():
        found = unmasked(column)
        assert isinstance(found, np.ndarray)
        for value, wanted in zip(found.tolist(), expected, strict=True):
            assert value == wanted or (value != value and wanted != wanted)
