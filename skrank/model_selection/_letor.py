"""The cross-validation protocol of the LETOR data sets."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from skrank._core._parameters import Interval, invalid_parameter
from skrank._core._validation import as_numbers, n_rows, naming
from skrank.model_selection._base import (
    BaseQuerySplitter,
    Queries,
    QuerySplits,
    check_enough_queries,
    queries_of,
)


@dataclass(frozen=True)
class _PerRow:
    """Words of an error message; which numbers there may be depends on the data."""

    def __contains__(self, value) -> bool:
        return True

    def __str__(self) -> str:
        return "of one part number per row"


class LetorFolds(BaseQuerySplitter):
    r"""Rotation of training, validation and test parts as in LETOR.

    The queries form :math:`K` parts :math:`S_1, \dots, S_K`. Fold :math:`i`, counted
    from 1, starts at part i; its last part but one serves to choose parameters, and its
    last part to test:

    .. math::
        \text{train} = S_i \cup \dots \cup S_{i+K-3},\quad
        \text{vali} = S_{i+K-2},\quad \text{test} = S_{i+K-1},

    with part numbers taken modulo :math:`K`. In table 4 of [Qin2010]_, fold 1 trains on
    S1, S2 and S3, validates on S4 and tests on S5. ``split`` yields pairs (train, test)
    for scikit-learn's tools; `split_with_validation` yields all three.

    Parameters
    ----------
    n_splits : int, default=5
        Number of parts and of folds, at least 3.
    parts : array-like of shape (n_samples,), default=None
        Part of each row, numbered from 1, for data that come with their parts. All
        rows of a query must lie in one part. None cuts the queries into consecutive
        parts whose numbers of queries differ by at most one.
    include_validation : bool, default=False
        Whether the training rows of ``split`` contain the validation part, as for a
        final fit after the parameters are chosen.
    shuffle : bool, default=False
        Whether to shuffle the queries before they are cut into parts; not possible with
        given ``parts``.

    References
    ----------
    [Qin2010]_, table 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import LetorFolds
    >>> groups = np.arange(1, 6)
    >>> X = np.zeros((5, 1))
    >>> folds = LetorFolds().split_with_validation(X, groups=groups)
    >>> for train, vali, test in folds:
    ...     print(groups[train], groups[vali], groups[test])
    [1 2 3] [4] [5]
    [2 3 4] [5] [1]
    [3 4 5] [1] [2]
    [1 4 5] [2] [3]
    [1 2 5] [3] [4]
    """

    n_splits: Annotated[int, Interval(3, None)] = field(default=5, kw_only=False)
    parts: Annotated[npt.ArrayLike, _PerRow()] | None = None
    include_validation: bool = False
    shuffle: bool = False

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_splits": 3, "include_validation": True},
            {"shuffle": True, "random_state": 0},
        ]

    def split_with_validation(
        self, X: Any, y: Any = None, groups: npt.ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the rows of the three sets of every fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The documents; only their number is used.
        y : array-like of shape (n_samples,), default=None
            Relevance grades; a pandas index level ``qid`` may carry the queries.
        groups : array-like of shape (n_samples,), default=None
            One query id per row.

        Yields
        ------
        train : ndarray of shape (n_train,)
            Rows of the ``n_splits - 2`` training parts.
        vali : ndarray of shape (n_vali,)
            Rows of the validation part.
        test : ndarray of shape (n_test,)
            Rows of the test part.

        Raises
        ------
        ValueError
            If a parameter is not accepted, there are too few queries, or ``parts`` cuts
            a query.
        """
        self._check_parameters()
        queries = queries_of(X, y, groups, type(self).__name__)
        for train, vali, test in self._rotate(queries, X):
            yield queries.rows(train), queries.rows(vali), queries.rows(test)

    def _split_queries(self, queries: Queries, X: Any, y: Any) -> QuerySplits:
        for train, vali, test in self._rotate(queries, X):
            yield (np.r_[train, vali] if self.include_validation else train), test

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.shuffle and self.parts is not None:
            raise invalid_parameter(self, "shuffle", "False with given parts", True)

    def _rotate(
        self, queries: Queries, X: Any
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the numbers of the queries of the three sets of every fold."""
        check_enough_queries(len(queries), self)
        parts = self._parts(queries, X)
        for fold in range(self.n_splits):
            turn = [parts[(fold + i) % self.n_splits] for i in range(self.n_splits)]
            yield np.concatenate(turn[:-2]), turn[-2], turn[-1]

    def _parts(self, queries: Queries, X: Any) -> list[np.ndarray]:
        """Return the query numbers of every part."""
        if self.parts is not None:
            part_of = self._given_parts(queries, X)
            return [np.flatnonzero(part_of == i + 1) for i in range(self.n_splits)]
        order = np.arange(len(queries))
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        return np.array_split(order, self.n_splits)

    def _given_parts(self, queries: Queries, X: Any) -> np.ndarray:
        """Return the part of every query, which must be that of all its rows."""
        with naming("parts"):
            rows = column_or_1d(self.parts)
        if len(rows) != n_rows(X):
            raise ValueError(
                f"parts must hold one number for each of {n_rows(X)} rows, got "
                f"{len(rows)}"
            )
        rows = as_numbers(rows, "parts")
        if not np.array_equal(np.unique(rows), np.arange(1, self.n_splits + 1)):
            raise ValueError(
                f"parts must hold the numbers 1 to {self.n_splits}, all of them and no "
                f"others, found {np.unique(rows).tolist()}"
            )
        codes = queries.codes
        part_of = np.zeros(len(queries), dtype=np.intp)
        part_of[codes] = rows
        cut = np.flatnonzero(part_of[codes] != rows)
        if len(cut):
            raise ValueError(
                "parts must keep queries whole; query "
                f"{queries.ids.tolist()[codes[cut[0]]]!r} has rows in several parts"
            )
        return part_of
