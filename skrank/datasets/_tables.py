"""Ranking data in tables: CSV, TSV and Parquet, through pandas."""

import codecs
import importlib
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._finite import quiet
from skrank._core._id_arrays import id_array
from skrank._core._levels import FROM_DTYPE, columns_of_names, levels_of
from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._parameters import InvalidParameterError, NBytes
from skrank._core._paths import checked_path
from skrank._core._reading import (
    LimitError,
    byte_limit,
    damage_named,
    open_text,
    source_name,
)
from skrank._core._validation import check_arguments, check_groups
from skrank.datasets._container import (
    RankingData,
    float_dtype,
    import_pandas,
)

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_PARQUET = (".parquet", ".pq")
_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
_BATCH_ROWS = 2**16
_BLOCK_BYTES = 2**20
_NO_NAME = re.compile(r"__index_level_\d+__")  # what pandas calls it in Parquet
_QUOTED = rb'"(?:[^"]++|"")*+"'
_NUMBER = re.compile(r" *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as int64 holds it


def kind_of_table(path: str | os.PathLike) -> str:
    """Return the end of the name of a file, without that of a packed one."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _read(
    pd: ModuleType,
    path: str | os.PathLike,
    max_bytes: int | None,
    of_names: list,
    label: str | None,
    qid: str | None,
    docid: str | None,
) -> tuple[Any, set[str]]:
    """Return a table, and which of its columns were the index of a data frame."""
    # Ids stand as they are, as names do: "01" and "1.0" are other queries than "1".
    as_text = [*of_names, *(column for column in (qid, docid) if column is not None)]
    kind, name = kind_of_table(path), source_name(path)
    with warnings.catch_warnings():
        # Of columns whose types change between blocks, which have one type below.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        if kind in _PARQUET:
            with open_text(path, max_bytes) as content:
                # A copy: what refers to the memory would keep it from being closed.
                convert = partial(_frame_of, pd, docid, of_names, as_text)
                return _read_parquet(bytes(content), name, max_bytes, convert)
        if kind in _SEPARATORS:
            separator = _SEPARATORS[kind]
            with open_text(path, max_bytes) as text:
                with _naming_lines(text, separator, name):
                    frame = _read_text(pd, text, separator, as_text)
                if label not in as_text:

                    def place_of(row):
                        return f"line {_line_of_row(text, separator.encode(), row)}"

                    _check_grades_are_numbers(frame, name, label, place_of)
                return frame, set()
    raise ValueError(
        f"{name}: expected a name that ends in .csv, .tsv or .parquet, possibly "
        f"compressed, found {shown(kind)}"
    )


def _read_text(pd: ModuleType, text: Any, separator: str, as_text: list) -> Any:
    # The names are read on their own, because pandas gives a second column of a name
    # another one without a word.
    options = {"sep": separator, "encoding": "utf-8"}
    head = pd.read_csv(
        io.BytesIO(text), header=None, nrows=1, dtype=str, na_filter=False, **options
    )
    # Not block by block: a column of ids must have one type.
    frame = pd.read_csv(io.BytesIO(text), low_memory=False, **options)
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError("the first row has more fields than the line of names")
    names = head.iloc[0].tolist()
    # Of a row that is too short, pandas says that its last fields are missing.
    last = frame.iloc[:, -1]
    may_be_short = last.isna().any() or (last == "").any()
    if may_be_short and _odd_row(text, separator.encode()) is not None:
        raise ValueError("a row has fewer fields than the line of names")
    if len(names) == frame.shape[1] and len(set(names)) < len(names):
        frame.columns = [name or own for name, own in zip(names, frame.columns)]
    # Beside whole numbers that take more than 64 bits, pandas keeps numbers as text.
    # Columns that are read as text anyway need not be searched for them.
    wide = [
        j
        for j, (column, dtype) in enumerate(zip(frame.columns, frame.dtypes))
        if dtype.kind not in "biuf" and column not in as_text
        if _has_number(frame.iloc[:, j])
    ]
    if wide:
        columns = pd.read_csv(io.BytesIO(text), usecols=wide, dtype=str, **options)
        for i, j in enumerate(wide):
            numbers = _as_numbers(columns.iloc[:, i])
            if numbers is not None:
                frame.isetitem(j, numbers)
    as_text = [c for c in as_text if list(frame.columns).count(c) == 1]
    if as_text:
        # "007" stays as it is, and so does "NA", which is a country, too.
        kept = {"usecols": as_text, "dtype": str, "na_filter": False}
        names_of_rows = pd.read_csv(io.BytesIO(text), **kept, **options)
        for column in as_text:
            values = names_of_rows[column]
            frame[column] = values.where(values != "", None)
    return frame


@contextmanager
def _naming_lines(text: Any, separator: str, name: str) -> Iterator[None]:
    """Say which line of a table is malformed, where pandas knows only that one is."""
    try:
        with damage_named(name):
            yield
    except ValueError:
        problem = _problem_of(text, separator.encode())
        if problem is None:
            raise
        raise ValueError(f"{name}{problem}") from None


def _problem_of(text: Any, separator: bytes) -> str | None:
    """Return why text is no table, as the end of a sentence; None if it is one."""
    at = _not_utf_8(text)
    if at is not None:
        return (
            f", line {_line_at(text, at)}: expected UTF-8, found the byte "
            f"0x{text[at]:02x}; save the table as UTF-8"
        )
    whole = rb'(?:(?:(?!")|%b)[^\r\n%b]*+[\r\n%b])*+' % (_QUOTED, separator, separator)
    found = re.match(whole + rb'(?=")(?!%b)' % _QUOTED, text)
    if found is not None:
        return (
            f", line {_line_at(text, found.end())}: expected a quote that ends the "
            "field, found the end of the file"
        )
    if not bytes(text[:_BLOCK_BYTES]).strip() and not bytes(text).strip():
        return ": expected a line of names of columns, found blanks"
    found = _odd_row(text, separator)
    if found is None:
        return None
    line, n, n_fields = found
    return f", line {line}: expected {n_fields} fields, as of names, found {n}"


def _not_utf_8(text: Any) -> int | None:
    """Return the place of the first byte that is no part of UTF-8."""
    start = 0
    while start < len(text):
        piece = bytes(text[start : start + _BLOCK_BYTES])
        is_last = start + len(piece) == len(text)
        try:
            start += codecs.utf_8_decode(piece, "strict", is_last)[1]
        except UnicodeDecodeError as error:
            return start + error.start
    return None


def _line_at(text: Any, place: int) -> int:
    return 1 + sum(1 for _ in re.finditer(rb"\r\n?|\n", text[:place]))


def _odd_row(text: Any, separator: bytes) -> tuple[int, int, int] | None:
    """Return the first row with more or fewer fields than there are names.

    Fields are told apart as pandas does: quotes count at the beginning of a field.

    Parameters
    ----------
    text : bytes-like
        Table, of which the first line that is not blank holds the names.
    separator : bytes
        What stands between fields.

    Returns
    -------
    line, n_fields, n_names : int
        The line of the row, the number of its fields, and that of the names; None
        instead of them if all rows have as many.
    """
    field = rb"(?:%b)?+[^\r\n%b]*+" % (_QUOTED, separator)
    more, end = rb"(?:%b%b)" % (separator, field), rb"(?:\r\n?|\n|\Z)"
    blanks, line = b" \t\r\n".replace(separator, b""), 1

    def n_fields_of(row: bytes) -> int:
        return 1 + len(re.findall(more, re.sub(field, b"", row, count=1)))

    rows = re.finditer(rb"%b%b*+%b" % (field, more, end), text)
    names = next((row[0] for row in rows if row[0].strip(blanks)), None)
    if names is None:
        return None
    n_names = n_fields_of(names)
    # The first group is there if the row has fields enough, and the second one is empty
    # if it has no more of them, which thus need not be counted.
    row = rb"%b(%b{%d})?+(%b*+)%b" % (field, more, n_names - 1, more, end)
    for match in re.finditer(row, text):
        if (match[1] is None or match[2]) and match[0].strip(blanks):
            return line, n_fields_of(match[0]), n_names
        line += len(match[0].splitlines())
    return None


def _line_of_row(text: Any, separator: bytes, row: int) -> int:
    """Return the line in which a row begins; the first one after the names is 0."""
    field = rb"(?:%b)?+[^\r\n%b]*+" % (_QUOTED, separator)
    blanks, line = b" \t\r\n".replace(separator, b""), 1
    rows = re.finditer(
        rb"%b(?:%b%b)*+(?:\r\n?|\n|\Z)" % (field, separator, field), text
    )
    n_before = row + 1  # the names stand before all rows
    for match in rows:
        if match[0].strip(blanks):
            if n_before == 0:
                break
            n_before -= 1
        line += len(match[0].splitlines())
    return line


def _has_number(column: Any) -> bool:
    """Whether a column that is not of numbers has some, as integers or as text."""
    return any(
        type(value) is int or (isinstance(value, str) and _NUMBER.fullmatch(value))
        for value in column.tolist()
    )


def _as_numbers(column: Any) -> np.ndarray | None:
    """Return a column of text as float64, or None if a value is no number."""
    present = column.notna().to_numpy()
    values = column[present].tolist()
    if not all(map(_NUMBER.fullmatch, values)):
        return None
    numbers = np.full(len(column), np.nan)
    numbers[present] = [float(value) for value in values]
    return numbers


def _read_parquet(
    content: bytes, name: str, max_bytes: int | None, convert: Callable
) -> tuple[Any, set[str]]:
    """Read a table of Arrow in batches, whose size is counted, and convert it.

    A column that repeats one value takes a few bytes of a file, whatever its length.
    """
    pa = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    limit = byte_limit(len(content), max_bytes)
    size, batches = 0, []
    with damage_named(name, pa.ArrowException, ArithmeticError, TypeError):
        file = parquet.ParquetFile(
            pa.BufferReader(content), page_checksum_verification=True
        )
        for batch in file.iter_batches(_BATCH_ROWS):
            size += batch.nbytes
            if size > limit:
                raise LimitError(name, limit)
            batches.append(batch)
        table = pa.Table.from_batches(batches, file.schema_arrow)
        table.validate(full=True)  # also that text is UTF-8
        return convert(table)


def _frame_of(
    pd: ModuleType, docid: str | None, of_names: list, as_text: list, table: Any
) -> tuple[Any, set[str]]:
    """Return a table of Arrow as a data frame, and the columns that were an index.

    The types of pandas that its metadata tell of are not followed: ids and names are
    converted in their own way.
    """
    pa = importlib.import_module("pyarrow")
    index = _columns_of_index(table.schema)
    names = table.schema.names
    table = table.replace_schema_metadata(None)
    table = table.select(
        [i for i, c in enumerate(names) if not (c in index and _NO_NAME.fullmatch(c))]
    )
    table = _without_decimals(pa, table, as_text)
    # Without a type of pandas, True beside a missing value becomes an object.
    # pandas asks for the types of columns by their names, which may be equal.
    numbered = table.rename_columns([str(i) for i in range(table.num_columns)])
    frame = numbered.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    frame.columns = table.column_names
    for i, kind in enumerate(frame.dtypes):
        if kind == np.float16:  # which pandas takes for no index and no categories
            frame.isetitem(i, frame.iloc[:, i].astype(np.float32))
    for column in {*of_names, docid}:
        if names.count(column) != 1 or column not in frame:
            continue
        values = table.column(column)
        if not pa.types.is_integer(values.type):
            continue
        # pandas would make them floats if one is missing.
        if column == docid:
            frame[column] = values.cast(pa.string()).to_pandas()
        elif values.null_count:
            frame[column] = values.to_pandas(integer_object_nulls=True)
    return frame, index


def _without_decimals(pa: ModuleType, table: Any, as_text: list) -> Any:
    """Return a table with floats in place of decimal numbers, and text of ids."""
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            kind = pa.string() if field.name in as_text else pa.float64()
            table = table.set_column(i, field.name, table.column(i).cast(kind))
    return table


def _columns_of_index(schema: Any) -> set[str]:
    """Return the names of the columns in which pandas has stored an index."""
    noted = schema.pandas_metadata
    columns = noted.get("index_columns") if isinstance(noted, dict) else None
    if not isinstance(columns, list):
        return set()
    return {column for column in columns if isinstance(column, str)}


def _names_of(columns: Any, argument: str, default: Any) -> Any:
    if columns is None:
        return default
    try:
        if isinstance(columns, (str, bytes)):
            raise TypeError
        return list(columns)
    except (TypeError, OSError):
        raise InvalidParameterError(
            f"load_table: {argument} must be a sequence of names of columns or None, "
            f"got {shown(columns)}"
        ) from None


def _check_once(columns: Sequence[str], argument: str) -> None:
    for column, count in Counter(columns).items():
        if count > 1:
            raise InvalidParameterError(
                f"load_table: {argument} must name each column once, got "
                f"{shown(column)} twice"
            )


def _check_columns(frame: Any, name: str, wanted: dict[str, Any]) -> None:
    columns = Counter(frame.columns)
    for argument, column in wanted.items():
        if not columns[column]:
            first = map(str, frame.columns[:20])
            found = shortened(on_one_line(", ".join(first)), 500)
            raise ValueError(
                f"{argument}: {name} has no column {shown(column)}; its columns are: "
                f"{found}"
            )
        if columns[column] > 1:
            raise ValueError(
                f"{argument}: {name} has more than one column {shown(column)}"
            )


def _check_grades_are_numbers(
    frame: Any, name: str, label: str | None, place_of: Callable[[int], str]
) -> None:
    """Check that the grades are numbers; `place_of` gives the words for a row."""
    if list(frame.columns).count(label) != 1 or frame[label].dtype.kind in "biuf":
        return
    column = frame[label]
    rows = np.flatnonzero(column.notna().to_numpy())
    if not len(rows):
        return  # which is an error of its own
    values = column.iloc[rows].tolist()
    # Beside a value that is no number, pandas keeps the numbers as text.
    bad = (i for i, value in enumerate(values) if not _NUMBER.fullmatch(str(value)))
    first = next(bad, 0)
    raise ValueError(
        f"{name}: grades of the label column {shown(label)} must be numbers, found "
        f"{shown(values[first])} in {place_of(int(rows[first]))}"
    )


def _check_types(
    frame: Any, name: str, columns: Sequence[str], of_names: Sequence[str] = ()
) -> None:
    for column in columns:
        if column in of_names:
            # Raises an error if a value cannot be a name.
            levels_of(frame[column], f"{name}: column {shown(column)}")
        elif frame[column].dtype.kind not in "biuf":
            raise ValueError(
                f"{name}: column {shown(column)} must be numeric, found dtype "
                f"{frame[column].dtype}; name the columns to use in features=, or "
                "those that hold names in categorical_features="
            )


def _features(frame: Any, name: str, columns: list, dtype: np.dtype) -> np.ndarray:
    with quiet():
        X = frame[columns].to_numpy(dtype=dtype, na_value=np.nan)
    for j, column in enumerate(columns):
        rows = np.flatnonzero(np.isinf(X[:, j]))
        if len(rows):
            raise ValueError(
                f"{name}: column {shown(column)} is not finite in row {rows[0]}, or "
                f"beyond the range of {dtype}"
            )
    return X


def load_table(
    path: str | os.PathLike,
    *,
    label: str | None,
    qid: str | None,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    categorical_features: Literal["from_dtype"] | Sequence[str] | None = None,
    dtype: npt.DTypeLike = np.float32,
    as_frame: bool = False,
    max_bytes: NBytes | None = None,
) -> RankingData:
    """Load ranking data from a CSV, TSV or Parquet table with one row per document.

    Parameters
    ----------
    path : str or path
        File whose name ends in ``.csv``, ``.tsv`` or ``.parquet``. Text may be
        compressed, as in ``.csv.gz``.
    label : str or None
        Name of the column of relevance grades. None is for documents that have none:
        ``y`` is then None.
    qid : str or None
        Name of the column of query ids. Of text, they are read as they stand: they are
        numbers if all of them are whole numbers of at most 18 digits, and strings if
        any is not, as "01". So are decimal numbers of Parquet. None is for documents
        that are scored without regard to queries: ``groups`` is then None.
    docid : str, default=None
        Name of the column of document ids, which are strings as they stand.
    features : sequence of str, default=None
        Names of the columns of features. None takes all remaining columns, but not
        those that were the index of a data frame written to Parquet.
    categorical_features : "from_dtype" or sequence of str, default=None
        Names of those features whose values are names. Of text, they are read as they
        stand, so that "007" and "NA" are names; an empty cell is missing. "from_dtype"
        takes the columns of strings, as pandas reads them, and the categorical ones of
        Parquet. They become categorical columns of a data frame, and need
        ``as_frame=True``. All other features must be numeric.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of the features. Empty cells become NaN. Whole numbers of more than 64 bits
        and decimal numbers of Parquet are rounded to float64 before.
    as_frame : bool, default=False
        Whether ``X`` becomes a DataFrame and ``y`` a Series whose index has a level
        ``"qid"``, if there are queries.
    max_bytes : int, default=None
        Largest number of bytes of the table, after unpacking. None sets no limit to
        plain files of text and 1 GiB to pipes and devices; a packed file or a Parquet
        file may unpack to a hundred times its size, and to 256 MiB in any case.

    Returns
    -------
    RankingData
        Unpacks into ``X, y, groups``. Its attributes ``feature_names`` and ``docids``
        hold the names of the columns and the document ids.

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If a column is missing, occurs twice or is not numeric, a grade or a query id is
        missing, a feature is infinite, a row of text has more or fewer fields than the
        line of names, names are to become an array, or the file is damaged or larger
        than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skrank.datasets import load_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "docs.csv"
    >>> _ = path.write_text("query,grade,bm25\\nq1,2,0.5\\nq1,0,0.25\\n")
    >>> X, y, groups = load_table(path, label="grade", qid="query")
    >>> X.ravel().tolist(), groups.tolist()
    ([0.5, 0.25], ['q1', 'q1'])
    """
    check_arguments(load_table, as_frame=as_frame, max_bytes=max_bytes)
    if isinstance(categorical_features, str) and categorical_features != FROM_DTYPE:
        _names_of(categorical_features, "categorical_features", None)  # which raises
    path, dtype = checked_path(path), float_dtype(dtype)
    named = {} if label is None else {"label": label}
    named |= {} if qid is None else {"qid": qid}
    named |= {} if docid is None else {"docid": docid}
    _check_names(named)
    features = _names_of(features, "features", None)
    by_dtype = isinstance(categorical_features, str)
    of_names = [] if by_dtype else categorical_features
    of_names = _names_of(of_names, "categorical_features", [])
    named |= _named_columns(features or [], of_names, label)
    if (of_names or by_dtype) and not as_frame:
        raise ValueError(
            "load_table: categorical_features need as_frame=True, because an array of "
            "numbers holds no names"
        )
    pd, name = import_pandas("load_table"), source_name(path)
    frame, index = _read(pd, path, max_bytes, of_names, label, qid, docid)
    if features is None:
        others = {label, qid, docid, *index.difference(of_names)}
        features = [column for column in frame.columns if column not in others]
    named |= {f"features[{i}]": column for i, column in enumerate(features)}
    _check_columns(frame, name, named)
    if by_dtype:
        of_names = list(compress(features, columns_of_names(frame[features])))
    for column in set(of_names) - set(features):
        raise ValueError(f"categorical_features: {shown(column)} is no feature")
    if not len(frame):
        raise ValueError(f"{name} has no rows")
    _check_grades_are_numbers(frame, name, label, "row {}".format)
    _check_types(frame, name, features, of_names)
    data = RankingData(
        _features(frame, name, [c for c in features if c not in of_names], dtype),
        None if label is None else _grades(frame, name, label),
        None if qid is None else _groups(frame, name, qid),
        np.array([c for c in features if c not in of_names], dtype=object),
        None,
        None if docid is None else _document_ids(frame, name, docid),
    )
    if not as_frame:
        return data
    data = data.to_frame()
    return _with_names(data, frame, features, of_names) if of_names else data


def _named_columns(features: Sequence, of_names: list, label: Any) -> dict[str, Any]:
    """Return the columns that the lists name, by the places where they stand there."""
    named = {f"features[{i}]": column for i, column in enumerate(features)}
    named |= {f"categorical_features[{i}]": c for i, c in enumerate(of_names)}
    _check_names(named)
    _check_once(features, "features")
    _check_once(of_names, "categorical_features")
    if label is not None and label in features:
        raise ValueError(
            f"load_table: features must not hold the label {shown(label)}, which a "
            "ranker would do nothing but copy"
        )
    return named


def _with_names(data: RankingData, frame: Any, features: Any, of_names: list) -> Any:
    """Return data with categorical columns at their places."""
    for j, column in enumerate(features):
        if column in of_names:
            values = frame[column].astype("category").set_axis(data.X.index)
            data.X.insert(j, column, values)
    return replace(data, _feature_names=np.array(features, dtype=object))


def _check_names(named: dict[str, Any]) -> None:
    for argument, column in named.items():
        if column is None or not _is_key(column):
            raise InvalidParameterError(
                f"load_table: {argument} must be the name of a column, got "
                f"{shown(column)}"
            )


def _is_key(column: Any) -> bool:
    """Return whether a value can be looked up, which pandas.NA and lists cannot."""
    try:
        hash(column)
        return bool(column == column or column != column)
    except (TypeError, ValueError):
        return False


def _groups(frame: Any, name: str, qid: str) -> np.ndarray:
    words = f"{name}: column {shown(qid)}"
    return check_groups(_ids(frame[qid]), len(frame), name=words)


def _grades(frame: Any, name: str, label: str) -> np.ndarray:
    y = frame[label].to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(
            f"{name}: column {shown(label)} has no finite grade in row {row}"
        )
    return y


def _document_ids(frame: Any, name: str, docid: str) -> np.ndarray:
    """Return ids as strings, ``""`` where a row has none."""
    column = frame[docid]
    try:
        ids = column.astype(str).to_numpy(dtype=object)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: column {shown(docid)} holds bytes that are no UTF-8: {error}"
        ) from None
    ids[column.isna().to_numpy()] = ""
    return ids


def _ids(column: Any) -> np.ndarray:
    """Return ids as an array: whole numbers if all of them are such, otherwise text.

    Text that a number would not be written as, such as "01", stays text.
    """
    ids = column.to_numpy()
    if ids.dtype != object or not all(isinstance(value, str) for value in ids):
        return ids
    if all(map(_WHOLE_NUMBER.fullmatch, ids)):
        return ids.astype(np.int64)
    return id_array(ids.tolist())
