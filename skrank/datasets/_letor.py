"""LETOR text: the format of LETOR 3 and 4, MSLR, Yahoo, Istella, RankLib and SVM-rank.

One document per line::

    grade qid:query index:value index:value ... # comment

Indices count from 1 and ascend; a feature that is not named is 0. ``NULL`` and ``nan``
are missing values.
"""

import os
import re
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from skrank._core._letor import (
    ParseError,
    format_dense,
    format_sparse,
    largest_index,
    parse_letor,
)
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_groups
from skrank.datasets._container import (
    RankingData,
    TextColumn,
    as_text_list,
    feature_names,
)
from skrank.datasets._source import open_for_writing, open_text, source_name

_BLOCK_ROWS = 2048  # rows written at a time
_INT32_MAX = np.iinfo(np.int32).max
_FEATURE = "a feature 'index:value'"

# What stood there is put into {found}, the given n_features into {limit}.
_MESSAGES = {
    "bad_label": "expected a finite grade at the start of the line, found {found}",
    "no_qid": (
        "expected 'qid:' and a query id after the grade, found {found}; files without "
        "query ids are read by sklearn.datasets.load_svmlight_file"
    ),
    "empty_qid": "expected a query id after 'qid:', found {found}",
    "bad_index": "expected " + _FEATURE + ", found {found}",
    "no_colon": "expected " + _FEATURE + ", found {found} without a colon",
    "index_below_one": "expected a feature index of at least 1, found {found}",
    "index_too_large": "expected a feature index of at most {limit}, found {found}",
    "not_ascending": (
        "expected ascending feature indices without repetition, found {found} after an "
        "index that is not smaller"
    ),
    "bad_value": "expected a number after the colon, found {found}",
    "not_finite": (
        "expected a finite value (or NULL or nan for a missing one), found {found}; "
        "clip=True takes the largest one instead"
    ),
    "float32_overflow": (
        "expected a value within the range of float32, found {found}; "
        "dtype=np.float64 can hold it, clip=True takes the largest one instead"
    ),
    "trailing": "expected the end of the line after a carriage return, found {found}",
}


def line_of(text, offset: int) -> int:
    """Number of the line, counted from 1, that holds byte ``offset`` of a text."""
    step = 1 << 24  # a slice of a mapped file is a copy
    return 1 + sum(
        text[start : min(start + step, offset)].count(b"\n")
        for start in range(0, offset, step)
    )


def _token_at(text, offset):
    """What a message shows of the text at ``offset``."""
    rest = bytes(text[offset : offset + 200])
    token = re.match(rb"[^\s]*", rest).group().decode("utf-8", errors="replace")
    if not token:
        return "the end of the line"
    return repr(token if len(token) <= 60 else token[:57] + "...")


def _explain(error, text, source, n_features):
    """The `ValueError` that tells where a LETOR text is malformed and how."""
    if error.reason == "index_too_large" and n_features is None:
        error = _fault_of_line(text, error)
    limit = _INT32_MAX if n_features is None else f"n_features={n_features}"
    found = _token_at(text, error.offset)
    message = _MESSAGES[error.reason].format(found=found, limit=limit)
    line = line_of(text, error.offset)
    return ValueError(f"{source_name(source)}, line {line}: {message}")


def _fault_of_line(text, error):
    """The first fault of a line for any number of features.

    The width is the largest last index of the lines, so an index beyond it stands
    before a smaller one or before something that is no feature at all.
    """
    start = text.rfind(b"\n", 0, error.offset) + 1
    end = text.find(b"\n", error.offset)
    try:
        parse_letor(text[start : end if end >= 0 else None], "f8", True, _INT32_MAX, 1)
    except ParseError as fault:
        return ParseError(fault.reason, start + fault.offset)
    return error


def _span_bytes(text, starts, lengths):
    return [text[a : a + n] for a, n in zip(starts.tolist(), lengths.tolist())]


def _query_ids(parsed, text):
    """int64 ids where every id is a decimal integer in its only spelling, else str."""
    if parsed.integer_qids:
        return parsed.qid
    ids = _span_bytes(text, parsed.qid_start, parsed.qid_length)
    return np.array([value.decode(errors="surrogateescape") for value in ids])


def _comments(parsed, text):
    """The comments as one column, or None if no line has any."""
    if not parsed.comment_length.any():
        return None
    strings = _span_bytes(text, parsed.comment_start, parsed.comment_length)
    bounds = np.concatenate(([0], np.cumsum(parsed.comment_length, dtype=np.int64)))
    return TextColumn(b"".join(strings), bounds)


def _features(parsed, n_features, sparse):
    if not sparse:
        return parsed.X
    shape = (parsed.n_rows, n_features)
    if len(parsed.data) <= _INT32_MAX:
        parsed.indptr = parsed.indptr.astype(np.int32)
    X = sp.csr_matrix((parsed.data, parsed.indices, parsed.indptr), shape=shape)
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _check_arguments(dtype, n_features):
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be np.float32 or np.float64, got {dtype}")
    if n_features is not None and not 0 <= n_features <= _INT32_MAX:
        raise ValueError(f"n_features must be None or at least 0, got {n_features}")
    return dtype


def load_letor(
    source: str | os.PathLike,
    *,
    dtype: np.dtype = np.float32,
    sparse: bool = False,
    n_features: int | None = None,
    clip: bool = False,
    as_frame: bool = False,
    n_jobs: int | None = None,
) -> RankingData:
    """Load a LETOR text: grades, queries, features, comments and document ids.

    Each number becomes the double nearest to its text, rounded once more for float32.
    Blank lines and lines that start with ``#`` are passed over, ``\\r\\n`` ends a line
    like ``\\n``, blanks at the end of a line mean nothing.

    Parameters
    ----------
    source : str, path, file object or bytes
        Where the text is. Compression by gzip or bzip2 is seen from its first bytes.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of the features.
    sparse : bool, default=False
        If True, ``X`` is a CSR matrix, which leaves zeros out.
    n_features : int, default=None
        Number of columns; None takes the largest index of the file. A larger number
        adds columns of zeros, so that files of one data set fit together.
    clip : bool, default=False
        If True, values beyond the range of ``dtype`` become its largest or smallest
        number; Istella marks missing values by such a number. If False, they are
        errors.
    as_frame : bool, default=False
        If True, ``X`` is a DataFrame and ``y`` a Series whose index has a level
        ``qid``. Needs pandas.
    n_jobs : int, default=None
        Threads to parse with; None uses all CPUs. The result does not depend on it.

    Returns
    -------
    RankingData
        Unpacks into ``X`` of shape (n_documents, n_features), ``y`` of shape
        (n_documents,), float64, and ``groups`` of shape (n_documents,), int64 if every
        query id is an integer and str otherwise. Has also ``docids``, ``comments``
        and ``feature_names``.

    Raises
    ------
    ValueError
        If a line is malformed (the message has file, line number, what was expected
        and what was found), an index exceeds ``n_features``, or there is no document.

    See Also
    --------
    dump_letor : Write such a text.
    load_letor_folds : The five folds of a LETOR data set.

    Notes
    -----
    Complexity: O(bytes). A file is mapped and read twice, first to find its size; a
    dense result takes ``n_documents * n_features`` numbers and nothing like it beside.

    Examples
    --------
    >>> from skrank.datasets import load_letor
    >>> text = b"2 qid:10 1:0.5 3:1 #docid = GX1\\n0 qid:10 2:0.25 #docid = GX2\\n"
    >>> X, y, groups = load_letor(text)
    >>> X
    array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]], dtype=float32)
    >>> y, groups
    (array([2., 0.]), array([10, 10]))
    """
    dtype = _check_arguments(dtype, n_features)
    with open_text(source) as text:
        try:
            n_threads = effective_n_threads(n_jobs)
            parsed = parse_letor(text, dtype, sparse, n_features, n_threads, clip)
        except ParseError as error:
            raise _explain(error, text, source, n_features) from None
        if not parsed.n_rows:
            raise ValueError(f"{source_name(source)} has no documents")
        groups, comments = _query_ids(parsed, text), _comments(parsed, text)
    width = parsed.max_index if n_features is None else n_features
    X = _features(parsed, width, sparse)
    data = RankingData(X, parsed.y, groups, feature_names(width), comments)
    return data.to_frame() if as_frame else data


def n_features_of(source, n_jobs=None) -> int:
    """Largest feature index of a LETOR text, found without parsing it."""
    with open_text(source) as text:
        return largest_index(text, effective_n_threads(n_jobs))[1]


def _check_features(X):
    """Features as a C-contiguous float array or canonical CSR, finite or NaN."""
    if sp.issparse(X):
        X = sp.csr_matrix(X, copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if np.isinf(X.data if sp.issparse(X) else X).any():
        raise ValueError("X must not contain infinity, which LETOR text cannot hold")
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def _check_labels(y, n_rows):
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.shape != (n_rows,):
        raise ValueError(
            f"y has shape {y.shape}, expected {(n_rows,)}: one per row of X"
        )
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite grades; it contains NaN or infinity")
    return y


def _check_query_ids(groups, n_rows):
    groups = check_groups(groups, n_rows)
    if groups.dtype.kind not in "iuUO":
        raise TypeError(
            "groups must hold integers or strings to be written as text, got dtype "
            f"{groups.dtype}"
        )
    ids = as_text_list(groups.tolist(), "groups", r"[\s#]")
    if b"" in ids:
        raise ValueError(f"groups must not be empty; row {ids.index(b'')} is ''")
    return ids


def _tails(docids, comments, n_rows):
    """What follows the features of each row."""
    tails = [b""] * n_rows
    for values, name, forbidden, pattern in (
        (docids, "docids", r"\s|^$", b"docid = %b"),
        (comments, "comments", r"[\r\n]", b"%b"),
    ):
        if values is None:
            continue
        if len(values) != n_rows:
            raise ValueError(f"{name} has {len(values)} entries for {n_rows} rows")
        encoded = as_text_list(values, name, forbidden)
        tails = [
            tail + (b" " if tail else b" #") + pattern % value if value else tail
            for tail, value in zip(tails, encoded)
        ]
    return tails


def _blocks(X, y, ids, tails, skip_zeros):
    """The text of the rows, some at a time."""
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        if not sp.issparse(X):
            yield format_dense(X[rows], y[rows], ids[rows], tails[rows], skip_zeros)
            continue
        bounds = X.indptr[start : start + _BLOCK_ROWS + 1].astype(np.int64)
        entries = slice(bounds[0], bounds[-1])
        yield format_sparse(
            X.data[entries],
            X.indices[entries].astype(np.int32, copy=False),
            bounds - bounds[0],
            y[rows],
            ids[rows],
            tails[rows],
        )


def dump_letor(
    X,
    y,
    groups,
    path: str | os.PathLike,
    *,
    docids=None,
    comments=None,
    skip_zeros: bool = False,
) -> None:
    """Write documents as LETOR text that `load_letor` reads back bit by bit.

    Each number is written with the fewest digits that give the same value of its type
    back. The file appears only when it is complete.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_features)
        Features; NaN is written as ``nan``, infinity is an error.
    y : array-like of shape (n_documents,)
        Grades.
    groups : array-like of shape (n_documents,)
        Query ids, integers or strings without blanks and ``#``.
    path : str or path
        File to write; a name that ends in ``.gz`` or ``.bz2`` is compressed.
    docids : array-like of shape (n_documents,), default=None
        Document ids without blanks, written as ``#docid = id``.
    comments : array-like of shape (n_documents,), default=None
        Text for the end of each line, ``""`` for none. The ``comments`` of
        `load_letor` contain the document ids already.
    skip_zeros : bool, default=False
        If True, zeros of a dense ``X`` are left out, as those of a sparse one always
        are; then the number of columns and the sign of zeros are not kept.

    Raises
    ------
    ValueError
        If lengths differ, a value is not finite, or an id or a comment contains what
        separates fields or lines.
    TypeError
        If ``groups`` holds neither integers nor strings.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.datasets import dump_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> dump_letor([[0.5, 0.1]], [2], ["q1"], path, docids=["a"])
    >>> path.read_text()
    '2 qid:q1 1:0.5 2:0.1 #docid = a\\n'
    """
    X = _check_features(X)
    n_rows = X.shape[0]
    y = _check_labels(y, n_rows)
    ids = _check_query_ids(groups, n_rows)
    tails = _tails(docids, comments, n_rows)
    path = Path(path)
    part = path.with_name(f".part-{os.getpid()}-{path.name}")  # keeps the suffix
    try:
        with open_for_writing(part) as file:
            for block in _blocks(X, y, ids, tails, skip_zeros):
                file.write(block)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
