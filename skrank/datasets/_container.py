"""The container that readers return: features, grades, queries, names and comments."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import ModuleType
from typing import Any, Self

import numpy as np

from skrank._core._id_arrays import id_list, id_text
from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError
from skrank._core._sparse import check_sparse
from skrank._core._validation import QID_LEVEL, as_ids, check_no_missing_id

# Only blanks of ASCII separate fields: ids may hold others, such as U+00A0.
_DOCID = re.compile(r"docid\s*=\s*(\S+)", re.ASCII)
_ONE_WORD = re.compile(r"\s*(\S+)\s*", re.ASCII)


def import_pandas(caller: str) -> ModuleType:
    """Import pandas, or tell how to install it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            f"{caller} needs pandas; install it with: pip install 'skrank[pandas]'"
        ) from None
    return pandas


@dataclass(frozen=True)
class TextColumn:
    """One string per row, kept as the bytes of all rows and decoded on request.

    Most callers never look at comments, and decoding them costs more than parsing the
    features.

    Attributes
    ----------
    data : bytes
        Strings of all rows, one after another, in UTF-8.
    bounds : ndarray of shape (n_rows + 1,), dtype int64
        String ``i`` is ``data[bounds[i]:bounds[i + 1]]``.
    """

    data: bytes
    bounds: np.ndarray

    def decode(self) -> np.ndarray:
        """Return all strings as an object array of shape (n_rows,)."""
        strings = np.empty(len(self.bounds) - 1, dtype=object)
        bounds = self.bounds.tolist()
        text = self.data.decode("utf-8", errors="surrogateescape")
        if len(text) == len(self.data):  # ASCII: bytes and characters have one place
            strings[:] = [text[a:b] for a, b in pairwise(bounds)]
        else:
            strings[:] = [
                self.data[a:b].decode("utf-8", errors="surrogateescape")
                for a, b in pairwise(bounds)
            ]
        return strings


def _docid_of(comment: str) -> str:
    """Return the document id that a LETOR comment names, or ``""``."""
    named = _DOCID.search(comment) or _ONE_WORD.fullmatch(comment)
    return named.group(1) if named else ""


@dataclass(frozen=True, eq=False)
class RankingData:
    """Documents of queries: features, grades and query ids, one row per document.

    Unpacks into the three arrays that ``fit`` takes: ``X, y, groups = data``.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_documents, n_features), or DataFrame
        Features.
    y : ndarray of shape (n_documents,), or Series
        Relevance grades; None for tables without any.
    groups : ndarray of shape (n_documents,)
        Query id of each row: int64, or str if an id is not an integer; str objects
        where an array of fixed width would take much more memory than the ids. None
        for tables without any.
    feature_names : ndarray of shape (n_features,), dtype object
        Names of the features: ``"1"``, ``"2"``, … for LETOR text, the names of the
        columns for tables.
    comments : ndarray of shape (n_documents,), dtype object, or None
        Text after ``#`` on each line; None if no line had a comment.
    docids : ndarray of shape (n_documents,), dtype object, or None
        Document ids; ``""`` for a row that has none, None if no row has one.

    Examples
    --------
    >>> from skrank.datasets import load_letor
    >>> data = load_letor(b"2 qid:7 1:0.5 #docid = a\\n0 qid:7 2:1 #docid = b\\n")
    >>> X, y, groups = data
    >>> y.tolist(), groups.tolist(), data.docids.tolist()
    ([2.0, 0.0], [7, 7], ['a', 'b'])
    """

    X: Any
    y: Any
    groups: Any
    # None for those of LETOR text: its indices may reach far beyond what it names.
    _feature_names: np.ndarray | None = field(default=None, repr=False)
    _comments: TextColumn | None = field(default=None, repr=False)
    _docids: np.ndarray | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.groups))

    @property
    def data(self) -> Any:
        """Features, under the name that they have in scikit-learn's bunches."""
        return self.X

    @property
    def target(self) -> Any:
        """Grades, under the name that they have in scikit-learn's bunches."""
        return self.y

    @cached_property
    def feature_names(self) -> np.ndarray:
        """Names of the features."""
        if self._feature_names is not None:
            return self._feature_names
        names = np.empty(self.X.shape[1], dtype=object)
        names[:] = [str(i) for i in range(1, len(names) + 1)]
        return names

    @cached_property
    def comments(self) -> np.ndarray | None:
        """Text after ``#`` on each line, or None if no line had a comment."""
        return None if self._comments is None else self._comments.decode()

    @cached_property
    def docids(self) -> np.ndarray | None:
        """Document ids, or None if no row has one."""
        if self._docids is not None or self.comments is None:
            return self._docids
        docids = np.empty(len(self.comments), dtype=object)
        docids[:] = [_docid_of(comment) for comment in self.comments]
        return docids if docids.any() else None

    def to_frame(self) -> Self:
        """Convert the features to a DataFrame and the grades to a Series.

        Both have an index of two levels, ``qid`` and ``row``, in which all of skrank
        finds the queries, so that ``groups=`` is not needed; without queries there is
        ``row`` alone. The columns have the names of the features.

        Returns
        -------
        RankingData
            A copy; the columns of sparse features are sparse.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If the features are a sparse matrix whose arrays do not belong together.
        """
        check_sparse(self.X)
        pd = import_pandas("as_frame=True")
        index = self._index(pd)
        if hasattr(self.X, "tocsr"):
            X = pd.DataFrame.sparse.from_spmatrix(self.X, index, self.feature_names)
        else:
            X = pd.DataFrame(self.X, index, self.feature_names)
        y = None if self.y is None else pd.Series(self.y, index, name="grade")
        return replace(self, X=X, y=y)

    def _index(self, pd) -> Any:
        rows, names = np.arange(self.X.shape[0]), [QID_LEVEL, "row"]
        if self.groups is None:
            return pd.Index(rows, name="row")
        try:
            return pd.MultiIndex.from_arrays([self.groups, rows], names=names)
        except UnicodeEncodeError:
            # Strings of Arrow cannot hold the surrogates of bytes that are not UTF-8.
            qids = pd.Index(self.groups, dtype=object)
            return pd.MultiIndex.from_arrays([qids, rows], names=names)


def document_names(data: Any) -> np.ndarray:
    """Return the document ids of a data set; lines stand in where there are none."""
    lines = np.array([f"line{i}" for i in range(1, len(data.groups) + 1)], dtype=object)
    if data.docids is None:
        return lines
    return np.where(data.docids == "", lines, data.docids)


def float_dtype(dtype: Any) -> np.dtype:
    """Return the type of features that an argument ``dtype`` names."""
    try:
        named = np.dtype(dtype)
    except Exception:  # errors of many kinds
        named = None
    if named is None or named not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidParameterError(
            f"dtype must be np.float32 or np.float64, got {shown(dtype)}"
        )
    return named


def entries_of(values: Any, name: str, n_rows: int, what: str = "entry") -> list:
    """Return an argument that must hold one entry per row as a list."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must hold one entry per row, got {shown(values)}")
    ids = as_ids(values, name, what)
    check_no_missing_id(ids, name, what)
    entries = id_list(ids)
    if len(entries) != n_rows:
        raise ValueError(f"{name} has {len(entries)} entries for {n_rows} rows")
    return entries


def texts_of_ids(ids: Sequence, name: str) -> list[str]:
    """Return ids as texts that are equal where the ids are, and nowhere else.

    Raises
    ------
    ValueError
        If two ids, such as 1 and "1", have the same text.
    """
    if all(type(one) is str for one in ids):
        return list(ids)
    text_of = {one: id_text(one) for one in reversed(ids)}  # True beside 1 is the first
    if len(set(text_of.values())) < len(text_of):
        raise ValueError(f"{name}: two ids have the same text, such as 1 and '1'")
    return [text_of[one] for one in ids]


def _encoded(text: str) -> bytes:
    """Return text as bytes of which readers make the same text again."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Surrogates that stand for bytes may come together to another character.
        encoded = text.encode(errors="surrogateescape")
        if encoded.decode(errors="surrogateescape") != text:
            raise
        return encoded


def as_text_list(values: Iterable, name: str, forbidden: str) -> list[bytes]:
    """Return one string or number per row as UTF-8, after a check for separators."""
    values = list(values)
    for row, value in enumerate(values):
        if isinstance(value, bytes):  # whose representation would be written
            raise TypeError(f"{name} must hold text; row {row} has {shown(value)}")
    encoded = []
    for row, value in enumerate(values):
        try:
            encoded.append(_encoded(id_text(value)))
        except UnicodeError:
            raise ValueError(
                f"{name} must be text that UTF-8 can hold; row {row} has {shown(value)}"
            ) from None
    pattern = re.compile(forbidden.encode())
    for row, value in enumerate(encoded):
        if pattern.search(value):
            raise ValueError(
                f"{name} must not contain what separates fields or lines; row {row} "
                f"has {shown(value.decode(errors='surrogateescape'))}"
            )
    return encoded
