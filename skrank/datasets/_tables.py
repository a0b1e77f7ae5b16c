"""Ranking data in tables: CSV, TSV and Parquet, through pandas."""

import importlib
import io
import os
import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_array
from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._parameters import InvalidParameterError, PositiveInt
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
_BATCH_ROWS = 2**16


def _read(pd: ModuleType, path: str | os.PathLike, max_bytes: int | None) -> Any:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    name = source_name(path)
    with warnings.catch_warnings():
        # Of columns whose types change between blocks, which have one type below.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        if kind in (".parquet", ".pq"):
            with open_text(path, max_bytes) as content:
                # A copy: what refers to a mapped file would keep it from being closed.
                return _read_parquet(bytes(content), name, max_bytes)
        if kind in (".csv", ".txt", ".tsv", ".tab"):
            separator = "\t" if kind in (".tsv", ".tab") else ","
            with open_text(path, max_bytes) as text, damage_named(name):
                return _read_text(pd, text, separator)
    raise ValueError(
        f"{name}: expected a name that ends in .csv, .tsv or .parquet, possibly "
        f"compressed, found {shown(kind)}"
    )


def _read_text(pd: ModuleType, text: Any, separator: str) -> Any:
    # The names are read on their own, because pandas gives a second column of a name
    # another one without a word.
    options = {"sep": separator, "encoding": "utf-8"}
    head = pd.read_csv(
        io.BytesIO(text), header=None, nrows=1, dtype=str, na_filter=False, **options
    )
    # Not block by block: a column of ids must have one type.
    frame = pd.read_csv(io.BytesIO(text), low_memory=False, **options)
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError("rows have more fields than the line of names")
    names = head.iloc[0].tolist()
    if len(names) == frame.shape[1] and len(set(names)) < len(names):
        frame.columns = [name or own for name, own in zip(names, frame.columns)]
    return frame


def _read_parquet(content: bytes, name: str, max_bytes: int | None) -> Any:
    """Read a table in batches, whose size is counted.

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
        return table.to_pandas()


def _names_of(features: Any) -> list:
    try:
        if isinstance(features, (str, bytes)):
            raise TypeError
        return list(features)
    except (TypeError, OSError):
        raise InvalidParameterError(
            "load_table: features must be a sequence of names of columns or None, got "
            f"{shown(features)}"
        ) from None


def _check_columns(frame: Any, name: str, wanted: dict[str, Any]) -> None:
    columns = list(frame.columns)
    for argument, column in wanted.items():
        if column not in columns:
            found = shortened(on_one_line(", ".join(map(str, columns[:20]))), 500)
            raise ValueError(
                f"{argument}: {name} has no column {shown(column)}; its columns are: "
                f"{found}"
            )
        if columns.count(column) > 1:
            raise ValueError(
                f"{argument}: {name} has more than one column {shown(column)}"
            )


def _check_numeric(frame: Any, name: str, columns: Sequence[str]) -> None:
    for column in columns:
        if frame[column].dtype.kind not in "biuf":
            raise ValueError(
                f"{name}: column {shown(column)} must be numeric, found dtype "
                f"{frame[column].dtype}; name the columns to use in features="
            )


def _features(frame: Any, name: str, columns: list, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore"):
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
    label: str,
    qid: str,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    dtype: npt.DTypeLike = np.float32,
    as_frame: bool = False,
    max_bytes: PositiveInt | None = None,
) -> RankingData:
    """Load ranking data from a CSV, TSV or Parquet table with one row per document.

    Parameters
    ----------
    path : str or path
        File whose name ends in ``.csv``, ``.tsv`` or ``.parquet``. Text may be
        compressed, as in ``.csv.gz``.
    label : str
        Name of the column of relevance grades.
    qid : str
        Name of the column of query ids.
    docid : str, default=None
        Name of the column of document ids.
    features : sequence of str, default=None
        Names of the columns of features. None takes all remaining columns, which must
        be numeric.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of the features. Empty cells become NaN.
    as_frame : bool, default=False
        Whether ``X`` becomes a DataFrame and ``y`` a Series whose index has a level
        ``"qid"``.
    max_bytes : int, default=None
        Largest number of bytes of the table, after unpacking. None sets no limit to
        plain files of text and 1 GiB to pipes and devices; a packed file or a
        Parquet file may unpack to a hundred times its size, and to 256 MiB in any case.

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
        missing, a feature is infinite, or the file is damaged or larger than
        ``max_bytes``.
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
    path, dtype = checked_path(path), float_dtype(dtype)
    named = {"label": label, "qid": qid} | ({} if docid is None else {"docid": docid})
    if features is not None:
        features = _names_of(features)
        named |= {f"features[{i}]": column for i, column in enumerate(features)}
    for argument, column in named.items():
        if column is None or not isinstance(column, Hashable):
            raise InvalidParameterError(
                f"load_table: {argument} must be the name of a column, got "
                f"{shown(column)}"
            )
    frame = _read(import_pandas("load_table"), path, max_bytes)
    name = source_name(path)
    columns = (
        features
        if features is not None
        else [column for column in frame.columns if column not in named.values()]
    )
    named |= {f"features[{i}]": column for i, column in enumerate(columns)}
    _check_columns(frame, name, named)
    _check_numeric(frame, name, [label, *columns])
    if not len(frame):
        raise ValueError(f"{name} has no rows")
    y = frame[label].to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(
            f"{name}: column {shown(label)} has no finite grade in row {row}"
        )
    groups = check_groups(
        _ids(frame[qid]), len(frame), name=f"{name}: column {shown(qid)}"
    )
    X = _features(frame, name, columns, dtype)
    docids = None if docid is None else _document_ids(frame[docid])
    data = RankingData(X, y, groups, np.array(columns, dtype=object), None, docids)
    return data.to_frame() if as_frame else data


def _document_ids(column: Any) -> np.ndarray:
    """Return ids as strings, ``""`` where a row has none."""
    ids = column.astype(str).to_numpy(dtype=object)
    ids[column.isna().to_numpy()] = ""
    return ids


def _ids(column: Any) -> np.ndarray:
    """Return ids as an array, in which numbers stay numbers and text becomes str."""
    ids = column.to_numpy()
    if ids.dtype == object and all(isinstance(value, str) for value in ids):
        return id_array(ids.tolist())
    return ids
