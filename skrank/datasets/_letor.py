"""LETOR text: the format of LETOR 3 and 4, MSLR, Yahoo, Istella, RankLib and SVM-rank.

One document per line::

    grade qid:query index:value index:value ... # comment

Indices count from 1 and ascend; a feature that a line does not name is 0. ``NULL`` and
``nan`` are missing values.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse as sp

from skrank._core._id_arrays import id_array, id_list
from skrank._core._letor import (
    ParseError,
    format_dense,
    format_sparse,
    join_spans,
    largest_index,
    parse_letor,
)
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import NBytes, NonNegativeInt
from skrank._core._reading import Source, open_text, source_name
from skrank._core._sparse import check_sparse
from skrank._core._threads import effective_n_threads
from skrank._core._validation import (
    as_numbers,
    check_arguments,
    check_groups,
    naming,
)
from skrank._core._writing import check_writable, packed_write
from skrank.datasets._container import (
    RankingData,
    TextColumn,
    as_text_list,
    entries_of,
    float_dtype,
    texts_of_ids,
)

_BLOCK_ROWS = 2048  # number of rows whose text is in memory at once
_INT32_MAX = np.iinfo(np.int32).max
# Without n_features, larger indices are mistakes or attacks: one line of 20 bytes would
# make models of billions of coefficients.
_MAX_INDEX = 1 << 24
# A dense matrix may have this many numbers, or this many times as many as the text has
# bytes, unless n_features asks for more.
_DENSE_NUMBERS, _NUMBERS_PER_BYTE = 1 << 24, 64
_FEATURE = "a feature 'index:value'"

# {found} becomes the text at the place of the fault, {index} the digits it begins with,
# and {limit} the given n_features.
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
    "index_beyond_cap": (
        f"expected a feature index of at most {_MAX_INDEX}, found {{found}}"
    ),
    "not_ascending": (
        "expected ascending feature indices without repetition, found {found} after an "
        "index that is not smaller"
    ),
    "bad_value": "expected a number after the colon, found {found}",
    "not_finite": (
        "expected a finite value (or NULL or nan for a missing one), found {found}"
    ),
    "float32_overflow": ("expected a value within the range of float32, found {found}"),
    "trailing": "expected the end of the line after a carriage return, found {found}",
}
# What to do about it, where that is an argument of `load_letor`.
_HINTS = {
    "index_beyond_cap": "n_features={index} or more accepts it",
    "not_finite": "clip=True takes the largest one instead",
    "float32_overflow": (
        "dtype=np.float64 can hold it, clip=True takes the largest one instead"
    ),
}


class LetorError(ValueError):
    """A LETOR text is refused.

    Parameters
    ----------
    problem : str
        What was found, and what is accepted.
    hint : str, default=""
        Which argument of `load_letor` helps.
    option : str, default=""
        Which option of the command line helps.

    Attributes
    ----------
    for_command : str
        The message of the command line, which has no arguments of Python.
    """

    def __init__(self, problem: str, hint: str = "", option: str = ""):
        super().__init__("; ".join(filter(None, (problem, hint))))
        self._parts = problem, hint, option
        problem = problem.replace("n_features=", "")
        self.for_command = "; ".join(filter(None, (problem, option)))

    def of(self, name: str) -> "LetorError":
        """Return the error with the name of the text before it."""
        problem, *hints = self._parts
        return LetorError(f"{name}: {problem}", *hints)


def line_of(text: Any, offset: int) -> int:
    """Return the number, counted from 1, of the line with byte ``offset`` of a text."""
    step = 1 << 24  # a slice is a copy, so the slices are kept small
    return 1 + sum(
        text[start : min(start + step, offset)].count(b"\n")
        for start in range(0, offset, step)
    )


def _token_at(text: Any, offset: int) -> str:
    """Return the text at ``offset`` as a message shows it."""
    rest = bytes(text[offset : offset + 200])
    token = re.split(rb"\s", rest, maxsplit=1)[0].decode("utf-8", errors="replace")
    if not token:
        return "the end of the line"
    return repr(token if len(token) <= 60 else token[:57] + "...")


def _explain(
    error: ParseError, text: Any, source: Any, n_features: int | None
) -> ValueError:
    """Return the error that tells where a LETOR text is malformed and how."""
    if error.reason == "index_too_large" and n_features is None:
        error = _fault_of_line(text, error)
    limit = _INT32_MAX if n_features is None else f"n_features={n_features}"
    found = _token_at(text, error.offset)
    index = found.strip("'").partition(":")[0].lstrip("0")
    values = {"found": found, "limit": limit, "index": index}
    message = _MESSAGES[error.reason].format(**values)
    hint = _HINTS.get(error.reason, "").format(**values)
    line = line_of(text, error.offset)
    return LetorError(f"{source_name(source)}, line {line}: {message}", hint)


def _fault_of_line(text: Any, error: ParseError) -> ParseError:
    """Return the first fault of a line that does not depend on the number of features.

    The number of features is found from the last index of every line. An index beyond
    it therefore stands before a smaller index, or before text that is no feature, and
    that is the fault to report. If there is none, the index is larger than files are
    trusted with.
    """
    start = text.rfind(b"\n", 0, error.offset) + 1
    end = text.find(b"\n", error.offset)
    try:
        parse_letor(text[start : end if end >= 0 else None], "f8", True, _INT32_MAX, 1)
    except ParseError as fault:
        return ParseError(fault.reason, start + fault.offset)
    return ParseError("index_beyond_cap", error.offset)


def _query_ids(parsed, text) -> np.ndarray:
    """Return the ids as int64 if each is a decimal integer in plain form, else as str.

    The ids 7 and 07 are different queries, which only strings tell apart.
    """
    if parsed.integer_qids:
        return parsed.qid
    # A text that was unpacked is a bytearray, whose slices are not hashable.
    spans = zip(parsed.qid_start.tolist(), parsed.qid_length.tolist())
    ids = [bytes(text[start : start + length]) for start, length in spans]
    # The rows of a query share one string.
    strings = {value: value.decode(errors="surrogateescape") for value in set(ids)}
    return id_array([strings[value] for value in ids])


def _check_inferred_size(text, n_rows: int, width: int, sparse: bool) -> None:
    """Refuse sizes that follow from single large indices of a text."""
    if width > _MAX_INDEX:
        # A smaller number of features makes the first larger index a fault.
        parse_letor(text, "f8", True, _MAX_INDEX, 1)
    limit = max(_DENSE_NUMBERS, _NUMBERS_PER_BYTE * len(text))
    if not sparse and n_rows * width > limit:
        raise LetorError(
            f"{_matrix(n_rows, width)} would be nearly all zeros",
            f"sparse=True stores the others only, and n_features={width} makes the "
            "matrix dense all the same",
            "--sparse stores the others only",
        )


def _matrix(n_rows: int, width: int) -> str:
    return f"the matrix of {n_rows} rows and {width} features"


def _comments(parsed, text) -> TextColumn | None:
    """Return the comments as one column, or None if no line has any."""
    if not parsed.comment_length.any():
        return None
    joined = join_spans(text, parsed.comment_start, parsed.comment_length)
    bounds = np.concatenate(([0], np.cumsum(parsed.comment_length, dtype=np.int64)))
    return TextColumn(joined, bounds)


def _features(parsed, n_features: int, sparse: bool) -> Any:
    if not sparse:
        return parsed.X
    shape = (parsed.n_rows, n_features)
    # scikit-learn's solvers take 32-bit indices only, so these are used where possible.
    if len(parsed.data) <= _INT32_MAX:
        parsed.indptr = parsed.indptr.astype(np.int32)
    X = sp.csr_matrix((parsed.data, parsed.indices, parsed.indptr), shape=shape)
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _check_arguments(
    dtype: npt.DTypeLike, n_features: int | None, **more: Any
) -> np.dtype:
    dtype = float_dtype(dtype)
    check_arguments(load_letor, n_features=n_features, **more)
    if n_features is not None and n_features > _INT32_MAX:
        raise ValueError(f"n_features must be at most {_INT32_MAX}, got {n_features}")
    return dtype


def _parse(text, source, dtype, sparse, n_features, n_jobs, clip):
    """Parse a text, and say where and why if that does not succeed."""
    size = (0, 0)

    def check_size(n_rows, width):
        nonlocal size
        size = n_rows, width
        if n_features is None:
            _check_inferred_size(text, n_rows, width, sparse)

    try:
        n_threads = effective_n_threads(n_jobs)
        return parse_letor(text, dtype, sparse, n_features, n_threads, clip, check_size)
    except ParseError as error:
        raise _explain(error, text, source, n_features) from None
    except (MemoryError, ValueError) as error:
        # NumPy's ValueError: more elements than an index can count.
        if isinstance(error, MemoryError) or "array is too big" in str(error):
            error = LetorError(
                f"there is not enough memory for {_matrix(*size)}",
                "" if sparse else "sparse=True stores no zeros",
            )
        if isinstance(error, LetorError):
            raise error.of(source_name(source)) from None
        raise ValueError(f"{source_name(source)}: {error}") from None


def load_letor(
    source: Source,
    *,
    dtype: npt.DTypeLike = np.float32,
    sparse: bool = False,
    n_features: NonNegativeInt | None = None,
    clip: bool = False,
    as_frame: bool = False,
    n_jobs: int | None = None,
    max_bytes: NBytes | None = None,
) -> RankingData:
    """Load LETOR text: features, grades, queries, document ids and comments.

    Each number becomes the double that is nearest to its text, which is then rounded to
    float32 if asked for. Blank lines and lines that start with ``#`` are passed over,
    ``\\r\\n`` ends a line like ``\\n``, and blanks at the end of a line mean nothing.

    Parameters
    ----------
    source : str, path, file object or bytes
        File or text to read. Compression by gzip, bzip2, xz or zip is recognised by the
        first bytes.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of the features.
    sparse : bool, default=False
        Whether ``X`` becomes a CSR matrix, in which zeros are not stored.
    n_features : int, default=None
        Number of columns of ``X``; None takes the largest index of the file, which must
        not exceed 2^24 = 16777216. A larger number adds columns of zeros, so that files
        of one data set fit together.
    clip : bool, default=False
        Whether values beyond the range of ``dtype`` become its largest or smallest
        number, rather than causing an error. Istella marks missing values by such
        numbers.
    as_frame : bool, default=False
        Whether ``X`` becomes a DataFrame and ``y`` a Series whose index has a level
        ``"qid"``. Needs pandas.
    n_jobs : int, default=None
        Number of threads that parse; None uses all CPUs. The result does not depend on
        it.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking. None sets no limit to
        plain files and 1 GiB to pipes and devices; packed text may be a hundred times
        as large as its file, and 256 MiB in any case.

    Returns
    -------
    RankingData
        Unpacks into ``X`` of shape (n_documents, n_features), ``y`` of shape
        (n_documents,), float64, and ``groups`` of shape (n_documents,), int64 if every
        query id is an integer and str otherwise; they are str objects where an array of
        fixed width would take much more memory than the ids. Its other attributes are
        ``docids``, ``comments`` and ``feature_names``.

    Raises
    ------
    ValueError
        If an argument is not accepted, a line is malformed (the message names the file
        and the line, and tells what was expected and what was found), an index exceeds
        ``n_features``, there is no document, the file is damaged or larger than
        ``max_bytes``, or a dense matrix does not fit into memory or, where
        ``n_features`` is not given, would be nearly all zeros.
    OSError
        If the file cannot be read.

    See Also
    --------
    dump_letor : Write LETOR text.
    load_letor_folds : Open the folds of a LETOR data set.

    Notes
    -----
    Complexity: O(n) for a text of n bytes. A file is read into memory, which its text
    takes until it is parsed, in two passes: the first one finds the size of the result.
    A dense result takes the memory of ``n_documents * n_features`` numbers, and nothing
    of that order beside it and the text.

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
    flags = {"sparse": sparse, "clip": clip, "as_frame": as_frame}
    dtype = _check_arguments(dtype, n_features, max_bytes=max_bytes, **flags)
    with open_text(source, max_bytes) as text:
        parsed = _parse(text, source, dtype, sparse, n_features, n_jobs, clip)
        if not parsed.n_rows:
            raise ValueError(f"{source_name(source)} has no documents")
        groups, comments = _query_ids(parsed, text), _comments(parsed, text)
    width = parsed.max_index if n_features is None else n_features
    X = _features(parsed, width, sparse)
    data = RankingData(X, parsed.y, groups, None, comments)
    return data.to_frame() if as_frame else data


def n_features_of(
    source: Source,
    n_jobs: int | None = None,
    max_bytes: int | None = None,
    *,
    sparse: bool = False,
) -> int:
    """Find the largest feature index of a LETOR text without parsing the values."""
    with open_text(source, max_bytes) as text:
        n_rows, width = largest_index(text, effective_n_threads(n_jobs))
        try:
            _check_inferred_size(text, n_rows, width, sparse)
        except ParseError as error:
            raise _explain(error, text, source, None) from None
        except LetorError as error:
            raise error.of(source_name(source)) from None
        return width


def _check_features(X: Any) -> Any:
    """Return features as a C-contiguous float array or canonical CSR, not infinite."""
    if sp.issparse(X):
        check_sparse(X)
        X = sp.csr_matrix(X, copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        with naming("X"):
            X = np.asarray(unmasked(X))
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
        if X.dtype not in (np.float32, np.float64):
            X = as_numbers(X, "X", "numeric features")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "biuf":
            raise TypeError(f"X must hold numeric features, got dtype {X.dtype}")
        X = X.astype(np.float64)
    values: np.ndarray = X.data if sp.issparse(X) else X
    if np.isinf(values).any():
        raise ValueError("X must not contain infinity, which LETOR text cannot hold")
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def _check_labels(y: npt.ArrayLike, n_rows: int) -> np.ndarray:
    with naming("y"):
        y = np.ascontiguousarray(as_numbers(y, "y", "numeric grades"))
    if y.shape != (n_rows,):
        raise ValueError(
            f"y has shape {y.shape}, expected {(n_rows,)}: one grade per row of X"
        )
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite grades; it contains NaN or infinity")
    return y


def _check_query_ids(groups: npt.ArrayLike, n_rows: int) -> list[bytes]:
    groups = check_groups(groups, n_rows)
    values, wrong = id_list(groups), []
    if groups.dtype.kind not in "iuUT":
        kinds = str, int, np.integer
        wrong = [v for v in values if isinstance(v, bool) or not isinstance(v, kinds)]
    if wrong:
        raise TypeError(
            "groups must hold integers or strings to be written as text, got "
            f"{shown(wrong[0])}"
        )
    ids = as_text_list(texts_of_ids(values, "groups"), "groups", r"[\s#]")
    if b"" in ids:
        raise ValueError(f"groups must not be empty; row {ids.index(b'')} is ''")
    return ids


def _tails(
    docids: Sequence[str] | np.ndarray | None,
    comments: Sequence[str] | np.ndarray | None,
    n_rows: int,
) -> list[bytes]:
    """Return the text that follows the features of each row."""
    tails = [b""] * n_rows
    for values, name, forbidden, pattern in (
        (docids, "docids", r"\s|^$", b"docid = %b"),
        (comments, "comments", r"[\r\n]", b"%b"),
    ):
        if values is None:
            continue
        encoded = as_text_list(entries_of(values, name, n_rows), name, forbidden)
        tails = [
            tail + (b" " if tail else b" #") + pattern % value if value else tail
            for tail, value in zip(tails, encoded)
        ]
    return tails


def _blocks(
    X: Any, y: np.ndarray, ids: list[bytes], tails: list[bytes], skip_zeros: bool
) -> Iterator[bytes]:
    """Yield the text of the rows, some at a time."""
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
    X: Any,
    y: npt.ArrayLike,
    groups: npt.ArrayLike,
    path: str | os.PathLike,
    *,
    docids: Sequence[str] | np.ndarray | None = None,
    comments: Sequence[str] | np.ndarray | None = None,
    skip_zeros: bool = False,
) -> None:
    """Write documents as LETOR text, which `load_letor` reads back bit by bit.

    Each number is written with the fewest digits from which the same value of its type
    is read again. The file appears only when it is complete.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_features)
        Features; NaN is written as ``nan``, infinity is an error.
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,)
        Query ids, which are integers, or strings without blanks and ``#``.
    path : str or path
        File to write; compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    docids : array-like of shape (n_documents,), default=None
        Document ids without blanks, written as ``#docid = id``.
    comments : array-like of shape (n_documents,), default=None
        Text for the end of each line, ``""`` for none. The ``comments`` that
        `load_letor` returns already contain the document ids.
    skip_zeros : bool, default=False
        Whether to leave out the zeros of a dense ``X``, as is always done for a sparse
        one. The number of columns and the signs of zeros are not kept then.

    Raises
    ------
    ValueError
        If lengths differ, a feature is infinite, a grade is not finite, an id or a
        comment contains what separates fields or lines, or two query ids have the same
        text.
    TypeError
        If ``groups`` holds neither integers nor strings, or ``path`` is no path.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.datasets import dump_letor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> dump_letor([[0.5, 0.1]], [2], ["q1"], path, docids=["a"])
    >>> path.read_text()
    '2 qid:q1 1:0.5 2:0.1 #docid = a\\n'
    """
    check_arguments(dump_letor, skip_zeros=skip_zeros)
    check_writable(path)
    X = _check_features(X)
    n_rows = X.shape[0]
    y = _check_labels(y, n_rows)
    ids = _check_query_ids(groups, n_rows)
    tails = _tails(docids, comments, n_rows)
    with packed_write(path) as file:
        for block in _blocks(X, y, ids, tails, skip_zeros):
            file.write(block)
