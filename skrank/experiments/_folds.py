"""The folds of an experiment: their making, their features and their content."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._messages import shortened, shown
from skrank._core._missing import unmasked
from skrank._core._parameters import Interval, Seed
from skrank._core._queries import take_rows
from skrank._core._sparse import check_sparse
from skrank._core._validation import (
    check_grades,
    check_options,
    n_rows,
    naming,
    resolve_groups,
)
from skrank.datasets import RankingData
from skrank.datasets._container import entries_of
from skrank.experiments._described import parts_of_long
from skrank.model_selection import LetorFolds

PARTS = ("train", "vali", "test")
_RANGE = re.compile(r"(\d+)-(\d+)")


class AnyFold(Protocol):
    """What is used of a fold, which `LetorFold` and `Fold` have."""

    @property
    def name(self) -> str:
        """Name of the fold."""
        ...

    @property
    def train(self) -> RankingData:
        """Training documents."""
        ...

    @property
    def vali(self) -> RankingData:
        """Validation documents."""
        ...

    @property
    def test(self) -> RankingData:
        """Test documents."""
        ...


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a data set in memory.

    Attributes
    ----------
    name : str
        Name of the fold.
    train : RankingData
        Documents to fit rankers to.
    vali : RankingData
        Documents to choose parameters with.
    test : RankingData
        Documents to report results on.
    """

    name: str
    train: RankingData
    vali: RankingData
    test: RankingData


def make_folds(
    X: Any,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    docids: npt.ArrayLike | None = None,
    n_splits: Annotated[int, Interval(3, None)] = 5,
    shuffle: bool = False,
    random_state: Seed = None,
) -> list[Fold]:
    """Cut a data set into folds with training, validation and test queries.

    The queries form ``n_splits`` parts, which take turns as in LETOR; see
    `skrank.model_selection.LetorFolds`. Each query is a test query once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Documents, one per row; a data frame keeps the names of its columns.
    y : array-like of shape (n_samples,)
        Relevance grades.
    groups : array-like of shape (n_samples,), default=None
        Query of each row; None reads a pandas index level ``qid`` of ``y`` or ``X``.
    docids : array-like of shape (n_samples,), default=None
        Names of the documents in runs and judgements; None numbers the rows.
    n_splits : int, default=5
        Number of folds, at least 3.
    shuffle : bool, default=False
        Whether to shuffle the queries before they are cut into parts.
    random_state : int, RandomState instance or None, default=None
        Source of randomness of the shuffling.

    Returns
    -------
    list of Fold
        The folds, named ``Fold1``, ``Fold2``, …

    Raises
    ------
    ValueError
        If lengths differ, an option is not accepted, or there are fewer queries than
        folds.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.experiments import make_folds
    >>> X, y, groups = make_ranking(n_queries=10, random_state=0)
    >>> folds = make_folds(X, y, groups, n_splits=5)
    >>> [len(set(part.groups)) for part in (folds[0].train, folds[0].vali)]
    [6, 2]
    """
    options = {"n_splits": n_splits, "shuffle": shuffle, "random_state": random_state}
    check_options(make_folds, {**options, "docids": docids})
    check_sparse(X)
    n_samples = n_rows(X)
    grades = check_grades(y, n_samples=n_samples)
    ids = resolve_groups(groups, y, X, n_samples=n_samples, caller="make_folds")
    if not hasattr(X, "iloc") and not sparse.issparse(X):
        with naming("X"):
            X = np.asarray(unmasked(X))
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}")
    names = None
    if docids is not None:
        names = np.array(entries_of(docids, "docids", n_samples, "document id"), object)
    else:
        names = np.array([f"row{i}" for i in range(n_samples)], object)
    columns = np.array([str(c) for c in X.columns]) if hasattr(X, "columns") else None

    def part(rows):
        return RankingData(
            take_rows(X, rows), grades[rows], ids[rows], columns, _docids=names[rows]
        )

    splits = LetorFolds(**options).split_with_validation(X, grades, ids)
    return [
        Fold(f"Fold{number}", *map(part, rows)) for number, rows in enumerate(splits, 1)
    ]


def feature_columns(
    features: str | Sequence[str | int] | None, names: Sequence[str]
) -> np.ndarray | None:
    """Return the columns of the features that a text or a list names.

    Parameters
    ----------
    features : str, sequence of str and int, or None
        Names of features, and ranges of names that are numbers, such as
        ``"1-15,40"``; None for all.
    names : sequence of str
        Names of all features.

    Returns
    -------
    ndarray of intp or None
        Numbers of the columns, in the order of the names; None for all.

    Raises
    ------
    ValueError
        If a feature is unknown or named twice.
    """
    if features is None:
        return None
    if isinstance(features, str):
        features = features.split(",")
    place = {str(name): i for i, name in enumerate(names)}
    columns: list[int] = []
    for each in features:
        columns += [place[name] for name in _names_of(str(each).strip(), place)]
    if not columns:
        raise ValueError("features names no feature; None stands for all of them")
    if len(set(columns)) < len(columns):
        twice = next(c for i, c in enumerate(columns) if c in columns[:i])
        raise ValueError(f"features names {shown(str(names[twice]))} twice")
    return np.array(columns, dtype=np.intp)


def _names_of(text: str, place: dict[str, int]) -> Iterable[str]:
    """Return the features of a name or of a range."""
    if text in place:
        return [text]
    ends = _RANGE.fullmatch(text)
    if ends and int(ends[1]) <= int(ends[2]):
        last = int(ends[2])
        # The ends are looked at first: a range may be longer than memory holds.
        if ends[1] in place and str(last) in place:
            found = [str(i) for i in range(int(ends[1]), last + 1)]
            if all(name in place for name in found):
                return found
    known = shortened(", ".join(place), 200)
    raise ValueError(
        f"features names {shown(text)}, which is no feature and no range of features "
        f"such as 1-15; the data have {known}"
    )


def with_columns(data: RankingData, columns: np.ndarray | None) -> RankingData:
    """Return the same documents with some of their features."""
    if columns is None:
        return data
    X = data.X.iloc[:, columns] if hasattr(data.X, "iloc") else data.X[:, columns]
    return RankingData(X, data.y, data.groups, data.feature_names[columns])


def digest_of(fold: AnyFold) -> str:
    """Return a digest of all documents of a fold: features, grades and queries.

    Parameters
    ----------
    fold : AnyFold
        The fold.

    Returns
    -------
    str
        32 hexadecimal digits. Complexity: linear in the bytes of the features.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in PARTS:
        part = getattr(fold, name)
        digest.update(repr((name, list(map(str, part.feature_names)))).encode())
        _add_features(digest, part.X)
        _add_array(digest, np.asarray(part.y))
        _add_array(digest, np.asarray(part.groups))
    return digest.hexdigest()


def _add_features(digest, X) -> None:
    if sparse.issparse(X):
        rows = X.tocsr()
        for values in (rows.data, rows.indices, rows.indptr):
            _add_array(digest, values)
    elif hasattr(X, "iloc"):
        for i in range(X.shape[1]):
            column = X.iloc[:, i]
            kind = str(column.dtype), getattr(column.dtype, "ordered", None)
            digest.update(repr(kind).encode())
            levels = getattr(column.dtype, "categories", None)
            if levels is not None:
                digest.update(repr(list(levels)).encode(errors="surrogateescape"))
                column = column.cat.codes
            _add_array(digest, column.to_numpy())
    else:
        _add_array(digest, np.asarray(X))


def _add_array(digest, values: np.ndarray) -> None:
    digest.update(repr((values.dtype.str, values.shape)).encode())
    if values.dtype.kind in "mM":  # which have no buffer; their type has been added
        values = values.view(np.int64)
    if values.dtype.char in "gG":
        for part in parts_of_long(values):
            _add_array(digest, part)
    elif values.dtype == object:
        digest.update(repr(values.tolist()).encode(errors="surrogateescape"))
    else:
        digest.update(np.ascontiguousarray(values).data)
