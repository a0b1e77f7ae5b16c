"""Folds of data in memory, subsets of features, and digests of documents."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skrank.datasets import make_ranking
from skrank.experiments import make_folds
from skrank.experiments._folds import digest_of, feature_columns
from skrank.model_selection import LetorFolds


def test_the_parts_are_those_of_letor_folds(ranking, folds):
    X, y, groups = ranking
    splits = LetorFolds(3).split_with_validation(X, y, groups)
    for fold, rows in zip(folds, splits, strict=True):
        for part, own in zip((fold.train, fold.vali, fold.test), rows, strict=True):
            np.testing.assert_array_equal(part.X, X[own])
            np.testing.assert_array_equal(part.y, y[own])
            np.testing.assert_array_equal(part.groups, groups[own])
            assert part.docids.tolist() == [f"row{i}" for i in own]
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3"]


def test_each_query_is_tested_once(ranking):
    X, y, groups = ranking
    folds = make_folds(X, y, groups, n_splits=4, shuffle=True, random_state=1)
    tested = np.concatenate([np.unique(fold.test.groups) for fold in folds])
    assert sorted(tested) == sorted(set(groups.tolist()))


def test_frames_and_sparse_rows_stay_what_they_are(ranking):
    X, y, groups = ranking
    frame = pd.DataFrame(X, columns=list("abcde"))
    fold = make_folds(frame, y, groups, docids=np.arange(len(y)), n_splits=3)[0]
    assert list(fold.train.X.columns) == fold.train.feature_names.tolist()
    assert fold.test.docids[0] in range(len(y))
    fold = make_folds(sparse.csr_array(X), y, groups, n_splits=3)[0]
    assert sparse.issparse(fold.vali.X)


def test_mistakes_of_folds(ranking):
    X, y, groups = ranking
    with pytest.raises(ValueError, match="n_splits must be a whole number >= 3, got 2"):
        make_folds(X, y, groups, n_splits=2)
    with pytest.raises(ValueError, match="docids has 1 entries for"):
        make_folds(X, y, groups, docids=["a"])
    for missing in (None, pd.NA, np.nan, pd.NaT):
        with pytest.raises(ValueError, match="docids must hold one document id per"):
            make_folds(X, y, groups, docids=[missing] * len(y))
    with pytest.raises(ValueError, match="groups"):
        make_folds(X, y)


NAMES = ["1", "2", "3", "4", "10"]


@pytest.mark.parametrize(
    ("features", "columns"),
    [
        ("1-3", [0, 1, 2]),
        ("4, 2", [3, 1]),
        ([10, "1-2"], [4, 0, 1]),
        ("3-3", [2]),
    ],
)
def test_features_by_names_and_ranges(features, columns):
    assert feature_columns(features, NAMES).tolist() == columns


def test_a_name_that_looks_like_a_range_is_a_name():
    assert feature_columns("1-3", ["1-3", "1", "2", "3"]).tolist() == [0]
    assert feature_columns(None, NAMES) is None


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("5", "'5', which is no feature"),
        ("3-10", "'3-10', which is no feature"),
        ("3-1", "'3-1'"),
        ("1-99999999999999", "'1-99999999999999'"),
        ("", "''"),
        ("1-2,2", "names '2' twice"),
        ([], "no feature"),
    ],
)
def test_mistakes_of_features(features, message):
    with pytest.raises(ValueError, match=f"features names .*{message}|{message}"):
        feature_columns(features, NAMES)


def changed(fold, part, **fields):
    from dataclasses import replace

    return replace(fold, **{part: replace(getattr(fold, part), **fields)})


def test_the_digest_is_that_of_the_content(ranking, folds):
    fold = folds[0]
    again = make_folds(*ranking, n_splits=3)[0]
    assert digest_of(again) == digest_of(fold)
    others = [
        folds[1],
        changed(fold, "test", y=np.r_[fold.test.y[:-1], fold.test.y[-1] + 1]),
        changed(fold, "vali", X=fold.vali.X + 1e-12),
        changed(fold, "train", groups=fold.train.groups[::-1].copy()),
        changed(fold, "train", X=fold.train.X.astype(np.float32)),
        changed(fold, "train", X=sparse.csr_array(fold.train.X)),
        changed(fold, "train", X=pd.DataFrame(fold.train.X)),
        changed(fold, "train", _feature_names=np.array(list("abcde"))),
    ]
    digests = [digest_of(fold), *map(digest_of, others)]
    assert len(set(digests)) == len(digests)


def test_the_digest_of_sparse_rows_sees_the_columns():
    y, groups, eye = np.ones(6), np.arange(6), sparse.csr_matrix(np.eye(6))
    others = [eye[:, ::-1].tocsr(), 2.0 * eye, eye[::-1].tocsr()]
    digests = {
        digest_of(make_folds(X, y, groups, n_splits=3)[0]) for X in (eye, *others)
    }
    assert len(digests) == 3  # rows and columns upside down are one matrix


def test_the_digest_of_frames_sees_levels_and_text():
    X, y, groups = make_ranking(9, n_features=3, n_informative=2, random_state=0)
    frames = [pd.DataFrame(X, columns=list("abc")) for _ in range(5)]
    names = np.where(X[:, 0] > 0, "x", "y")
    frames[1]["a"] = pd.Categorical(names)
    frames[2]["a"] = pd.Categorical(np.where(X[:, 0] > 0, "x", "z"))
    # The codes are those of the second frame.
    swapped = np.where(X[:, 0] > 0, "y", "x")
    frames[3]["a"] = pd.Categorical(swapped, categories=["y", "x"])
    frames[4]["a"] = pd.Categorical(names, ordered=True)
    frames += [frames[0].assign(a=pd.Series(names, dtype=k)) for k in ("O", "string")]
    digests = {digest_of(make_folds(f, y, groups, n_splits=3)[0]) for f in frames}
    assert len(digests) == 7


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_digest_of_long_numbers(order):
    _, y, groups = make_ranking(9, n_features=3, n_informative=2, random_state=0)
    size = np.dtype(np.longdouble).itemsize
    X = np.ones((len(y), 3), f"{order}f{size}")
    others = [X.copy(), X.copy()]
    others[1][0] = np.nextafter(np.longdouble(1), np.longdouble(2))
    digests = [digest_of(make_folds(one, y, groups)[0]) for one in (X, *others)]
    assert digests[0] == digests[1] != digests[2]


def test_the_digest_of_dates_sees_the_time_of_the_day():
    X, y, groups = make_ranking(9, n_features=3, n_informative=2, random_state=0)
    times = np.datetime64("2020-01-01", "ns") + np.arange(9) * np.timedelta64(1, "h")
    digests = {
        digest_of(make_folds(X, y, (times + shift)[groups], n_splits=3)[0])
        for shift in (np.timedelta64(0, "h"), np.timedelta64(3, "m"))
    }
    assert len(digests) == 2
