"""The cross-validation protocol of the LETOR data sets."""

from collections.abc import Iterator

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skrank._core._validation import n_rows
from skrank.model_selection._base import (
    BaseQuerySplitter,
    check_count,
    check_enough_queries,
    queries_of,
)


class LetorFolds(BaseQuerySplitter):
    r"""Rotation of training, validation and test parts as in LETOR.

    The queries form :math:`K` parts :math:`S_1, \dots, S_K`. In fold :math:`i`, counted
    from 1, the last but one part is for choosing parameters and the last for testing:

    .. math::
        \text{train} = S_i \cup \dots \cup S_{i+K-3},\quad
        \text{vali} = S_{i+K-2},\quad \text{test} = S_{i+K-1},

    with part numbers taken modulo :math:`K` (Qin, Liu, Xu & Li 2010, table 4:
    fold 1 trains on S1, S2, S3, validates on S4 and tests on S5). ``split`` yields
    (train, test) for scikit-learn's tools; `split_with_validation` yields all three.

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
        Whether to shuffle the queries before cutting; not with ``parts``.
    random_state : int, RandomState instance or None, default=None
        Source of the shuffle.

    References
    ----------
    Qin, T., Liu, T.-Y., Xu, J. & Li, H. (2010). LETOR: a benchmark collection for
    research on learning to rank for information retrieval. *Information Retrieval*
    13, 346-374.

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

    def __init__(
        self,
        n_splits: int = 5,
        *,
        parts=None,
        include_validation: bool = False,
        shuffle: bool = False,
        random_state=None,
    ):
        self.n_splits = n_splits
        self.parts = parts
        self.include_validation = include_validation
        self.shuffle = shuffle
        self.random_state = random_state

    def split_with_validation(
        self, X, y=None, groups=None
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
            If there are too few queries, or ``parts`` cuts a query.
        """
        queries = queries_of(X, y, groups, type(self).__name__)
        for sets in self._rotate(queries, X):
            yield tuple(queries.rows(chosen) for chosen in sets)

    def _split_queries(self, queries, X, y):
        for train, vali, test in self._rotate(queries, X):
            yield (np.r_[train, vali] if self.include_validation else train), test

    def _rotate(self, queries, X):
        check_count(self.n_splits, "n_splits", 3)
        check_enough_queries(len(queries), self.n_splits, type(self).__name__)
        parts = self._parts(queries, X)
        for fold in range(self.n_splits):
            turn = [parts[(fold + i) % self.n_splits] for i in range(self.n_splits)]
            yield np.concatenate(turn[:-2]), turn[-2], turn[-1]

    def _parts(self, queries, X):
        """Query numbers of every part."""
        if self.parts is not None:
            part_of = self._given_parts(queries, X)
            return [np.flatnonzero(part_of == i + 1) for i in range(self.n_splits)]
        order = np.arange(len(queries))
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        return np.array_split(order, self.n_splits)

    def _given_parts(self, queries, X):
        """Part of every query, checked against the parts of its rows."""
        if self.shuffle:
            raise ValueError("shuffle=True makes no sense with given parts")
        rows = column_or_1d(self.parts)
        check_consistent_length(rows, np.empty(n_rows(X)))
        if not np.array_equal(np.unique(rows), np.arange(1, self.n_splits + 1)):
            raise ValueError(
                f"parts must hold the numbers 1 to {self.n_splits} and all of them, "
                f"found {np.unique(rows).tolist()}"
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

    def __repr__(self):
        given = "" if self.parts is None else ", parts=given"
        return (
            f"LetorFolds(n_splits={self.n_splits}{given}, "
            f"include_validation={self.include_validation}, shuffle={self.shuffle}, "
            f"random_state={self.random_state})"
        )
