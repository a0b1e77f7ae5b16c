"""Runs and judgements, and their conversions to what other libraries hold."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from skrank._core._id_arrays import id_array, id_list, id_objects
from skrank._core._levels import is_frame
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_arguments,
    check_hashable,
    check_no_missing_id,
)
from skrank.datasets._container import import_pandas, texts_of_ids

Names = Literal["ir_measures", "pyterrier", "ranx"]
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]

# Columns of query ids, document ids, scores and grades.
FRAMES: dict[str, tuple[str, str, str, str]] = {
    "ir_measures": ("query_id", "doc_id", "score", "relevance"),
    "pyterrier": ("qid", "docno", "score", "label"),
    "ranx": ("q_id", "doc_id", "score", "score"),
}

_ENTRIES = {
    "query": "query ids",
    "document": "document ids",
    "score": "scores",
    "grade": "grades",
}


class _Table:
    """What `Run` and `Qrels` share: one row per document of a query, with a number.

    A subclass states which attribute holds the numbers, and where they stand in
    `FRAMES`.
    """

    groups: np.ndarray
    docids: np.ndarray
    _field: ClassVar[str]
    _what: ClassVar[str]
    _column: ClassVar[int]

    def __post_init__(self):
        columns = self.groups, self.docids, self._numbers
        if all(isinstance(c, np.ndarray) and c.ndim == 1 for c in columns):
            return  # of a reader, which has checked them
        checked = self._checked(type(self).__name__, *columns, distinct=False)
        for name, column in zip(("groups", "docids", self._field), checked):
            object.__setattr__(self, name, column)

    @property
    def _numbers(self) -> np.ndarray:
        return getattr(self, self._field)

    def to_dict(self) -> dict[Any, dict[Any, float]]:
        """Convert to nested dictionaries.

        Returns
        -------
        dict of dict
            ``{query: {document: number}}``, in the order of the rows; the number is a
            score of a run, or a grade of judgements.

        Raises
        ------
        ValueError
            If a document occurs twice for a query.
        """
        table: dict = {}
        columns = id_list(self.groups), id_list(self.docids), self._numbers.tolist()
        for query, docid, number in zip(*columns):
            table.setdefault(query, {})[docid] = number
        self._refuse_duplicates(table)
        return table

    def _refuse_duplicates(self, table: dict) -> None:
        """Raise an error if nested dictionaries of the rows hold fewer documents."""
        if sum(map(len, table.values())) < len(self._numbers):
            name = type(self).__name__
            self._checked(name, self.groups, self.docids, self._numbers)

    def to_pandas(self, names: Names = "ir_measures") -> Any:
        """Convert to a data frame with one row per document.

        Parameters
        ----------
        names : {"ir_measures", "pyterrier", "ranx"}, default="ir_measures"
            Library whose names the columns have: ``query_id``, ``doc_id`` and
            ``score`` or ``relevance``; ``qid``, ``docno`` and ``score`` or ``label``;
            or ``q_id``, ``doc_id`` and ``score``.

        Returns
        -------
        DataFrame
            The rows in their order. Grades are whole numbers if all of them are whole.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        check_arguments(_Table.to_pandas, names=names)
        pd = import_pandas(f"{type(self).__name__}.to_pandas")
        query, document, *_ = columns = FRAMES[names]
        return pd.DataFrame(
            {
                # Strings of Arrow cannot hold the surrogates of bytes other than UTF-8.
                query: pd.Series(id_list(self.groups), dtype=object),
                document: pd.Series(id_list(self.docids), dtype=object),
                columns[self._column]: self._plain_numbers(),
            }
        )

    def to_ir_measures(self) -> list:
        """Convert to the records of ir_measures.

        Returns
        -------
        list of ScoredDoc or Qrel
            One record of ir_measures per row, in their order, with ids as text.

        Raises
        ------
        ImportError
            If ir_measures is not installed.
        ValueError
            If two ids have the same text.
        """
        ir_measures = _imported("ir_measures", f"{type(self).__name__}.to_ir_measures")
        make = ir_measures.ScoredDoc if self._field == "scores" else ir_measures.Qrel
        groups, docids = self._text_ids("to_ir_measures")
        rows = zip(groups, docids, self._plain_numbers().tolist())
        return [make(*row) for row in rows]

    def to_ranx(self) -> Any:
        """Convert to a ``Run`` or ``Qrels`` of ranx.

        Returns
        -------
        ranx.Run or ranx.Qrels
            The same ids, as text, and numbers; ranx sorts them anew.

        Raises
        ------
        ImportError
            If ranx is not installed.
        ValueError
            If there are no rows, a document occurs twice for a query, grades are not
            whole numbers, two ids have the same text, or an id ends in NUL or another
            character whose number is a multiple of 256, none of which ranx can hold.
        """
        caller = f"{type(self).__name__}.to_ranx"
        ranx = _imported("ranx", caller)
        numbers = self._plain_numbers()
        if not len(numbers):
            raise ValueError(f"{caller}: ranx holds no table without rows")
        if self._field == "y" and numbers.dtype.kind != "i":
            row = int(np.flatnonzero(self._numbers % 1)[0])
            raise ValueError(
                f"{caller}: ranx takes whole numbers as grades; row {row} has "
                f"{self._numbers[row]:g}"
            )
        groups, docids = self._text_ids("to_ranx")
        table: dict = {}
        for query, docid, number in zip(groups, docids, numbers.tolist()):
            # It keeps ids in arrays and strips bytes that are 0 off their ends.
            if docid and ord(docid[-1]) % 256 == 0:
                raise ValueError(
                    f"{caller}: ranx cannot hold the id {shown(docid)}, which ends in "
                    f"the character U+{ord(docid[-1]):04X}"
                )
            table.setdefault(query, {})[docid] = number
        self._refuse_duplicates(table)
        if self._field == "y":
            return ranx.Qrels(table)
        return ranx.Run(table, name=getattr(self, "tag", None))

    def _plain_numbers(self) -> np.ndarray:
        """Return the numbers; grades as integers if all of them are whole."""
        numbers = self._numbers
        is_whole = self._field == "y" and not (numbers % 1).any()
        return numbers.astype(np.int64) if is_whole else numbers

    def _text_ids(self, method: str) -> tuple[list[str], list[str]]:
        """Return the ids as text, as libraries hold them that know no other ids."""
        groups, docids = id_list(self.groups), id_list(self.docids)
        name = f"{type(self).__name__}.{method}"
        return texts_of_ids(groups, name), texts_of_ids(docids, name)

    @classmethod
    def _checked(
        cls, name: str, groups: Any, docids: Any, numbers: Any, *, distinct: bool = True
    ) -> Columns:
        """Check columns of queries, documents and numbers.

        Parameters
        ----------
        name : str
            Name of the argument that holds them, in error messages.
        groups, docids, numbers : array-like of shape (n,)
            Columns.
        distinct : bool, default=True
            Whether to look for documents that occur twice.

        Returns
        -------
        tuple of ndarray
            The columns, as the class has them.
        """
        queries, documents = as_ids(groups, name), as_ids(docids, name, "document id")
        values = as_numbers(numbers, name, f"numeric {cls._what}s")
        if values.ndim == 2 and values.shape[1] == 1:
            values = np.ascontiguousarray(values[:, 0])
        if values.ndim != 1:
            raise ValueError(
                f"{name} must hold one {cls._what} per row, got an array of shape "
                f"{values.shape}"
            )
        lengths = len(queries), len(documents), len(values)
        if len(set(lengths)) > 1:
            raise ValueError(
                f"{name} must hold as many queries as documents and {cls._what}s, got "
                f"{lengths[0]}, {lengths[1]} and {lengths[2]}"
            )
        for ids, what in ((queries, "query id"), (documents, "document id")):
            if ids.dtype != object or set(map(type, ids.tolist())) != {str}:
                check_no_missing_id(ids, name, what)
                check_hashable(ids, name)
        wrong = np.isnan(values) if cls._what == "score" else ~np.isfinite(values)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{name} must hold {cls._what}s; row {row} has {values[row]:g}"
            )
        documents = id_objects(documents).copy()
        duplicate = first_duplicate(queries, documents) if distinct else None
        if duplicate is not None:
            raise ValueError(
                f"{name} holds document {shown(documents[duplicate])} a second time "
                f"for query {shown(id_list(queries)[duplicate])}"
            )
        return queries, documents, values

    @classmethod
    def _columns_of_dict(cls, table: Any, name: str) -> Columns:
        """Return the columns of nested mappings."""
        if not isinstance(table, Mapping) or not all(
            isinstance(documents, Mapping) for documents in table.values()
        ):
            raise TypeError(
                f"{name} must be a mapping {{query: {{document: {cls._what}}}}}, got "
                f"{shown(table)}"
            )
        sizes = np.array([len(documents) for documents in table.values()], np.intp)
        queries = list(table)
        check_no_missing_id(as_ids(queries, name), name)
        docids = np.empty(int(sizes.sum()), dtype=object)
        docids[:] = list(itertools.chain.from_iterable(table.values()))
        numbers = [n for documents in table.values() for n in documents.values()]
        groups = id_array(queries, sizes)
        return cls._checked(name, groups, docids, numbers, distinct=False)

    @classmethod
    def _columns_of_frame(cls, frame: Any, name: str, given: dict[str, Any]) -> Columns:
        """Return the columns of a data frame, by the names given or known."""
        if not is_frame(frame) or not hasattr(frame, "shape"):
            raise TypeError(f"{name} must be a data frame, got {shown(frame)}")
        own = [str(column) for column in frame.columns]
        chosen = []
        for place, (what, column) in zip((0, 1, cls._column), given.items()):
            options = [known[place] for known in FRAMES.values()]
            options = list(dict.fromkeys(options)) if column is None else [column]
            found = [option for option in options if option in own]
            if len(found) != 1:
                problem = "no column" if not found else "several columns"
                raise ValueError(
                    f"{name} has {problem} of {_ENTRIES[what]} among {shown(own)}; it "
                    f"is called {' or '.join(map(repr, options))}, or named by {what}="
                )
            if own.count(found[0]) > 1:
                raise ValueError(f"{name} has two columns called {shown(found[0])}")
            chosen.append(frame[frame.columns[own.index(found[0])]])
        return cls._checked(name, *chosen)

    @classmethod
    def _columns_of_records(cls, records: Any, name: str) -> Columns:
        """Return the columns of records of ir_measures."""
        fields = [FRAMES["ir_measures"][place] for place in (0, 1, cls._column)]
        if is_frame(records):
            given = dict.fromkeys(("query", "document", cls._what))
            return cls._columns_of_frame(records, name, given)
        if isinstance(records, Mapping):
            return cls._columns_of_dict(records, name)
        has_rows = isinstance(records, Iterable) and not sparse.issparse(records)
        rows = list(records) if has_rows and getattr(records, "ndim", 1) else [records]
        for row in rows:
            if not all(hasattr(row, field) for field in fields):
                raise TypeError(
                    f"{name} must hold records of ir_measures with {', '.join(fields)}"
                    f", found {shown(row)}"
                )
        columns = [[getattr(row, field) for row in rows] for field in fields]
        return cls._checked(name, *columns)

    @classmethod
    def _columns_of_ranx(cls, table: Any, name: str) -> Columns:
        """Return the columns of an object of ranx."""
        if not is_of_ranx(table, cls.__name__):
            raise TypeError(
                f"{name} must be a {cls.__name__} of ranx, got {shown(table)}"
            )
        return cls._columns_of_dict(table.to_dict(), name)


@dataclass(frozen=True, eq=False)
class Qrels(_Table):
    """Relevance judgements, one row per judged document.

    Attributes
    ----------
    groups : ndarray of shape (n,), dtype str or object
        Query id of each row.
    docids : ndarray of shape (n,), dtype object
        Document ids.
    y : ndarray of shape (n,), dtype float64
        Relevance grades; a negative grade means that the document was pooled but not
        judged.

    Examples
    --------
    >>> from skrank.datasets import Qrels
    >>> qrels = Qrels.from_dict({"q1": {"a": 2, "b": 0}})
    >>> qrels.to_pandas("pyterrier")
      qid docno  label
    0  q1     a      2
    1  q1     b      0
    """

    groups: np.ndarray
    docids: np.ndarray
    y: np.ndarray

    _field = "y"
    _what = "grade"
    _column = 3

    @classmethod
    def from_dict(cls, table: Mapping[Any, Mapping[Any, float]]) -> Self:
        """Make judgements of nested dictionaries.

        Parameters
        ----------
        table : mapping {query: {document: grade}}
            Judgements. A query without documents has none.

        Returns
        -------
        Qrels

        Raises
        ------
        ValueError
            If an id is missing or a grade is not a finite number.
        TypeError
            If ``table`` is no nested mapping.
        """
        return cls(*cls._columns_of_dict(table, "table"))

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        query: str | None = None,
        document: str | None = None,
        grade: str | None = None,
    ) -> Self:
        """Make judgements of a data frame of pandas or polars.

        Parameters
        ----------
        frame : DataFrame
            One row per judged document.
        query : str, default=None
            Column of the query ids; None takes the one called ``query_id``, ``qid`` or
            ``q_id``.
        document : str, default=None
            Column of the document ids; None takes ``doc_id`` or ``docno``.
        grade : str, default=None
            Column of the grades; None takes ``relevance`` or ``label``, or ``score``,
            as in frames of ranx.

        Returns
        -------
        Qrels
            The rows in their order.

        Raises
        ------
        ValueError
            If there is no such column, or several, a document is judged twice for a
            query, an id is missing or a grade is not a finite number.
        TypeError
            If ``frame`` is no data frame.
        """
        check_arguments(Qrels.from_pandas, query=query, document=document, grade=grade)
        given = {"query": query, "document": document, "grade": grade}
        return cls(*cls._columns_of_frame(frame, "frame", given))

    @classmethod
    def from_ranx(cls, qrels: Any) -> Self:
        """Make judgements of a ``Qrels`` of ranx.

        Parameters
        ----------
        qrels : ranx.Qrels
            Judgements.

        Returns
        -------
        Qrels

        Raises
        ------
        TypeError
            If ``qrels`` is something else.
        """
        return cls(*cls._columns_of_ranx(qrels, "qrels"))

    @classmethod
    def from_ir_measures(cls, records: Any) -> Self:
        """Make judgements of what ir_measures takes for them.

        Parameters
        ----------
        records : iterable of ir_measures.Qrel, data frame or mapping
            Judgements. The iteration of a record is not used.

        Returns
        -------
        Qrels

        Raises
        ------
        ValueError
            If a document is judged twice for a query, an id is missing or a grade is
            not a finite number.
        TypeError
            If a record has other fields.
        """
        return cls(*cls._columns_of_records(records, "records"))


@dataclass(frozen=True, eq=False)
class Run(_Table):
    """Retrieved documents of a system, one row each, in the order of the file.

    Attributes
    ----------
    groups : ndarray of shape (n,), dtype str or object
        Query id of each row.
    docids : ndarray of shape (n,), dtype object
        Document ids.
    scores : ndarray of shape (n,), dtype float64
        Scores, higher is better. They alone order the documents; ranks are ignored.
    tag : str
        Name of the run, taken from its first line.

    Examples
    --------
    >>> from skrank.datasets import Run
    >>> run = Run.from_dict({"q1": {"a": 0.5, "b": 2.0}}, tag="bm25")
    >>> run.to_pandas()
      query_id doc_id  score
    0       q1      a    0.5
    1       q1      b    2.0
    """

    groups: np.ndarray
    docids: np.ndarray
    scores: np.ndarray
    tag: str

    _field = "scores"
    _what = "score"
    _column = 2

    @classmethod
    def from_dict(
        cls, table: Mapping[Any, Mapping[Any, float]], *, tag: str = "skrank"
    ) -> Self:
        """Make a run of nested dictionaries.

        Parameters
        ----------
        table : mapping {query: {document: score}}
            Retrieved documents. A query without documents is not in the run.
        tag : str, default="skrank"
            Name of the run.

        Returns
        -------
        Run

        Raises
        ------
        ValueError
            If an id is missing or a score is not a number.
        TypeError
            If ``table`` is no nested mapping.
        """
        check_arguments(Run.from_dict, tag=tag)
        return cls(*cls._columns_of_dict(table, "table"), tag)

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        query: str | None = None,
        document: str | None = None,
        score: str | None = None,
        tag: str = "skrank",
    ) -> Self:
        """Make a run of a data frame of pandas or polars.

        Parameters
        ----------
        frame : DataFrame
            One row per retrieved document, such as what a pipeline of PyTerrier
            returns.
        query : str, default=None
            Column of the query ids; None takes the one called ``query_id``, ``qid`` or
            ``q_id``.
        document : str, default=None
            Column of the document ids; None takes ``doc_id`` or ``docno``.
        score : str, default=None
            Column of the scores; None takes ``score``.
        tag : str, default="skrank"
            Name of the run.

        Returns
        -------
        Run
            The rows in their order.

        Raises
        ------
        ValueError
            If there is no such column, or several, a document is retrieved twice for a
            query, an id is missing or a score is not a number.
        TypeError
            If ``frame`` is no data frame.
        """
        given = {"query": query, "document": document, "score": score}
        check_arguments(Run.from_pandas, **given, tag=tag)
        return cls(*cls._columns_of_frame(frame, "frame", given), tag)

    @classmethod
    def from_ranx(cls, run: Any) -> Self:
        """Make a run of a ``Run`` of ranx.

        Parameters
        ----------
        run : ranx.Run
            Retrieved documents; the name of the run becomes its tag.

        Returns
        -------
        Run

        Raises
        ------
        TypeError
            If ``run`` is something else.
        """
        columns = cls._columns_of_ranx(run, "run")
        return cls(*columns, "skrank" if run.name is None else str(run.name))

    @classmethod
    def from_ir_measures(cls, records: Any, *, tag: str = "skrank") -> Self:
        """Make a run of what ir_measures takes for one.

        Parameters
        ----------
        records : iterable of ir_measures.ScoredDoc, data frame or mapping
            Retrieved documents.
        tag : str, default="skrank"
            Name of the run.

        Returns
        -------
        Run

        Raises
        ------
        ValueError
            If a document is retrieved twice for a query, an id is missing or a score is
            not a number.
        TypeError
            If a record has other fields.
        """
        check_arguments(Run.from_ir_measures, tag=tag)
        return cls(*cls._columns_of_records(records, "records"), tag)


def is_of_ranx(table: Any, name: str) -> bool:
    """Return whether something is an object of ranx of a class with this name."""
    kind = type(table)
    return kind.__module__.partition(".")[0] == "ranx" and kind.__name__ == name


def first_duplicate(groups: np.ndarray, docids: np.ndarray) -> int | None:
    """Return the first row whose query and document occurred before, or None."""
    # The lines of a query need not be adjacent, and sets of whole queries are compared
    # first: a Python loop over rows is left to the queries that have a duplicate.
    index = QueryIndex.from_groups(groups)
    grouped, ptr = index.take(docids).tolist(), index.ptr.tolist()
    rows = []
    for a, b in itertools.pairwise(ptr):
        if len(set(grouped[a:b])) < b - a:
            seen: set = set()
            for i in range(a, b):
                if grouped[i] in seen:
                    rows.append(i if index.order is None else int(index.order[i]))
                    break
                seen.add(grouped[i])
    return min(rows, default=None)


def _imported(module: str, caller: str) -> Any:
    """Import another library, or tell how to install it."""
    try:
        return __import__(module)
    except ImportError:
        raise ImportError(
            f"{caller} needs {module}; install it with: pip install {module}"
        ) from None
