"""Ranking data in tables: CSV, TSV and Parquet, through pandas."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._validation import check_groups
from skrank.datasets._container import RankingData, import_pandas, string_ids

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def _read(pd: ModuleType, path: str | os.PathLike) -> Any:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in (".parquet", ".pq"):
        return pd.read_parquet(path)
    if kind in (".csv", ".txt"):
        return pd.read_csv(path)
    if kind in (".tsv", ".tab"):
        return pd.read_csv(path, sep="\t")
    raise ValueError(
        f"{path}: expected a name that ends in .csv, .tsv or .parquet, possibly "
        f"compressed, found {kind!r}"
    )


def _check_columns(frame: Any, path: str | os.PathLike, wanted: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        columns = ", ".join(map(str, frame.columns[:20]))
        raise ValueError(
            f"{path} has no column {missing[0]!r}; its columns are: {columns}"
        )


def _check_numeric(frame: Any, path: str | os.PathLike, columns: Sequence[str]) -> None:
    for column in columns:
        if frame[column].dtype.kind not in "biuf":
            raise ValueError(
                f"{path}: column {column!r} must be numeric, found dtype "
                f"{frame[column].dtype}; name the columns to use in features="
            )


def load_table(
    path: str | os.PathLike,
    *,
    label: str,
    qid: str,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    dtype: npt.DTypeLike = np.float32,
    as_frame: bool = False,
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
        If a column is missing or not numeric, or a grade or a query id is missing.

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
    frame = _read(import_pandas("load_table"), path)
    named = [label, qid] + ([] if docid is None else [docid])
    columns = (
        list(features)
        if features is not None
        else [column for column in frame.columns if column not in named]
    )
    _check_columns(frame, path, named + columns)
    _check_numeric(frame, path, [label, *columns])
    if not len(frame):
        raise ValueError(f"{path} has no rows")
    y = frame[label].to_numpy(dtype=np.float64)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(f"{path}: column {label!r} has no finite grade in row {row}")
    groups = check_groups(_ids(frame[qid]), len(frame), name=f"column {qid!r}")
    names = np.array(columns, dtype=object)
    docids = None if docid is None else frame[docid].astype(str).to_numpy(dtype=object)
    X = frame[columns].to_numpy(dtype=dtype)
    data = RankingData(X, y, groups, names, None, docids)
    return data.to_frame() if as_frame else data


def _ids(column: Any) -> np.ndarray:
    """Return ids as an array, in which numbers stay numbers and text becomes str."""
    ids = column.to_numpy()
    if ids.dtype == object and all(isinstance(value, str) for value in ids):
        return string_ids(ids.tolist())
    return ids
