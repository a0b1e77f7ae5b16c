"""Files of an index that are mapped into memory instead of being read.

A file begins with the word ``skrank-index``, a checksum and the length of a header, 32
bytes in all. The header is JSON; it says of each array its type, its length, its place
and its checksum. The arrays follow in the byte order of nearly all machines, each at a
multiple of 64 bytes from the beginning. Nothing in a file is code, and no array is used
before all of its numbers have been looked at. Searches look at each number of a posting
list again, because a file may be changed while it is mapped.
"""

import json
import os
import struct
import zlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import problem_in, shown
from skrank._core._paths import checked_path, named_errors
from skrank._core._validation import check_arguments
from skrank._core._writing import atomic_write
from skrank._version import __version__
from skrank.text._index import InvertedIndex
from skrank.text._saving import join_terms
from skrank.text._tokenizer import Tokenizer

_MAGIC = b"skrank-index"
_FORMAT_VERSION = 1
# Magic word, checksum of the header, its length and the length of the file.
_START = struct.Struct("<12sIQQ")
_ALIGNMENT = 64
_MAX_HEADER = 2**24
_TYPES = {
    "terms": "u1",
    "term_lengths": "<u4",
    "ids": "u1",
    "id_lengths": "<u4",
    "lengths": "<f8",
}
_FIELD_TYPES = {
    "starts": "<i8",
    "documents": "<i4",
    "counts": "<f8",
    "positions": "<i4",
}
_OPTIONAL = ("ids", "id_lengths", "positions")


def save_index(index: InvertedIndex, path: str | os.PathLike) -> None:
    """Write an index to a file that `load_index` maps into memory.

    Unlike a file of :func:`skrank.export.save_model`, it is not packed: 12 bytes for
    each posting, and 4 for each position where the index has them. Equal indices make
    equal files.

    Parameters
    ----------
    index : InvertedIndex
        Fitted index, whose tokenizer is None or a `Tokenizer` without functions.
    path : str or path-like
        File to write; an existing one is replaced, unless saving fails.

    Raises
    ------
    TypeError
        If the index is none, or its tokenizer or stemmer is a function.
    OSError
        If the file cannot be written.

    See Also
    --------
    load_index : Read such a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.text import BM25, InvertedIndex, load_index, save_index
    >>> index = InvertedIndex().fit(["sort an array", "invert a matrix"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "documents.index")
    ...     save_index(index, path)
    ...     found, _ = BM25().fit(load_index(path)).retrieve(["matrix"], k=1)
    >>> found
    array([[1]])
    """
    if not isinstance(index, InvertedIndex):
        raise TypeError(f"index must be an InvertedIndex, got {shown(index)}")
    check_is_fitted(index, "vocabulary_")
    checked_path(path, purpose="write")
    arrays = _arrays_of(index)
    described, at = {}, 0
    for name, array in arrays.items():
        described[name] = [len(array), at, zlib.crc32(_bytes_of(array))]
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = json.dumps(
        {
            "format_version": _FORMAT_VERSION,
            "skrank": __version__,
            "tokenizer": _tokenizer_values(index.tokenizer),
            "with_positions": bool(index.with_positions),
            "fields": list(index.fields_),
            "arrays": described,
        }
    ).encode()
    first = _aligned(_START.size + len(header))
    start = _START.pack(_MAGIC, zlib.crc32(header), len(header), first + at)
    with atomic_write(path, "wb") as file:
        file.write((start + header).ljust(first, b"\0"))
        for array in arrays.values():
            file.write(_bytes_of(array))
            file.write(bytes(-array.nbytes % _ALIGNMENT))


def load_index(path: str | os.PathLike, *, memory_map: bool = True) -> InvertedIndex:
    """Read an index that `save_index` wrote.

    The file is mapped into memory, so that processes which load it share its pages, and
    those that are not needed can be given up. All of it is checked before.

    Parameters
    ----------
    path : str or path-like
        File to read. As long as it is mapped, it must not be shortened, nor written to
        while it is loaded, which can end the process; `save_index` does neither,
        because it puts a new file in the place of the old one.
    memory_map : bool, default=True
        Whether to map the file; otherwise it is read.

    Returns
    -------
    InvertedIndex
        The index that was saved. Complexity: O(P) for P postings, less than a second
        for a gigabyte that is in memory already.

    Raises
    ------
    ValueError
        If the file is damaged, is no index, or has an unknown format version.
    TypeError
        If the path is none.
    OSError
        If the file cannot be read.

    See Also
    --------
    save_index : Write such a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.text import InvertedIndex, load_index, save_index
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "documents.index")
    ...     save_index(InvertedIndex().fit(["sort an array", "sort rows"]), path)
    ...     index = load_index(path)
    >>> list(index.vocabulary_)
    ['array', 'row', 'sort']
    """
    check_arguments(load_index, memory_map=memory_map)
    name = checked_path(path)
    with named_errors(name), open(name, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError(f"{name} is empty, and no index file")
        content: np.ndarray = (
            np.memmap(file, dtype=np.uint8, mode="r")
            if memory_map
            else np.frombuffer(file.read(), dtype=np.uint8)
        )
    try:
        return _index_of(content)
    except RecursionError:
        message = f"{name} is not a valid index file: it is nested too deeply"
        raise ValueError(message) from None
    except Exception as error:
        # Damaged files cause errors of every kind on the way.
        message = f"{name} is not a valid index file: {problem_in(error)}"
        raise ValueError(message) from None


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _arrays_of(index: InvertedIndex) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name, of their types and contiguous."""
    found: dict[str, Any] = {}
    found["terms"], found["term_lengths"] = join_terms(list(index.vocabulary_))
    if index.ids_ is not None:
        found["ids"], found["id_lengths"] = join_terms(index.ids_.tolist())
    found["lengths"] = index.postings().lengths
    for i, field in enumerate(index.fields_):
        postings = index.postings(field)
        found[f"{i}.starts"] = postings.counts.indptr
        found[f"{i}.documents"] = postings.counts.indices
        found[f"{i}.counts"] = postings.counts.data
        if postings.positions is not None:
            found[f"{i}.positions"] = postings.positions
    return {
        name: np.ascontiguousarray(array, dtype=_type_of(name))
        for name, array in found.items()
    }


def _type_of(name: str) -> str:
    return _TYPES[name] if name in _TYPES else _FIELD_TYPES[name.partition(".")[2]]


def _tokenizer_values(tokenizer: Any) -> dict[str, Any] | None:
    """Return the parameters of a tokenizer as plain values."""
    if tokenizer is None:
        return None
    if type(tokenizer) is not Tokenizer or callable(tokenizer.stemmer):
        code = tokenizer if type(tokenizer) is not Tokenizer else tokenizer.stemmer
        raise TypeError(
            "index cannot be saved: its tokenizer must be None or a Tokenizer whose "
            f"stemmer is no function, got {shown(code)}"
        )
    tokenizer._check_parameters()
    values = tokenizer.get_params(deep=False)
    words = values["stop_words"]
    if not isinstance(words, str | None):
        words = sorted(words) if isinstance(words, set | frozenset) else list(words)
    return {
        **{name: bool(values[name]) for name in ("lowercase", "split_identifiers")},
        "stop_words": words,
        "stemmer": values["stemmer"],
        "min_length": int(values["min_length"]),
    }


def _index_of(content: np.ndarray) -> InvertedIndex:
    """Return the index that the bytes of a file hold."""
    header, first = _header_of(content)
    fields = header["fields"]
    if not isinstance(fields, list):
        raise ValueError(f"the fields must be a list, got {shown(fields)}")
    if not isinstance(header["arrays"], dict):
        raise ValueError("the arrays must be described by name")
    arrays = _Arrays(content[first:], header["arrays"])
    values = header["tokenizer"]
    tokenizer = None if values is None else Tokenizer(**values)
    index = InvertedIndex(tokenizer, with_positions=header["with_positions"])
    index._check_parameters()
    if tokenizer is not None:
        tokenizer._check_parameters()
    state: dict[str, Any] = {name: arrays.take(name) for name in _TYPES}
    shape = (len(state["lengths"]), len(state["term_lengths"]))
    state = {name: array for name, array in state.items() if array is not None}
    state["fields_"] = tuple(fields)
    state["counts"] = [arrays.counts(i, shape) for i in range(len(fields))]
    positions = [arrays.take(f"{i}.positions") for i in range(len(fields))]
    kept = [part for part in positions if part is not None]
    if kept:
        state["positions"] = kept  # as many as fields, or they are refused
    arrays.check_all_taken()
    vars(index).update(state)
    index._restore_state()
    return index


def _header_of(content: np.ndarray) -> tuple[dict[str, Any], int]:
    """Return the header and the place of the first array."""
    if len(content) < _START.size:
        raise ValueError("it is too short for an index")
    start = content[: _START.size].tobytes()
    magic, checksum, length, size = _START.unpack(start)
    if magic != _MAGIC:
        raise ValueError("it does not begin like an index")
    if size != len(content):
        raise ValueError(f"it should have {size} bytes, but has {len(content)}")
    if length > min(_MAX_HEADER, size - _START.size):
        raise ValueError(f"its header cannot have {length} bytes")
    text = content[_START.size : _START.size + length].tobytes()
    if zlib.crc32(text) != checksum:
        raise ValueError("its header is damaged: the checksum differs")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    version = header.get("format_version")
    if type(version) is not int or version != _FORMAT_VERSION:
        raise ValueError(
            f"format version {shown(version)} is unknown; this version of skrank reads "
            f"version {_FORMAT_VERSION}"
        )
    return header, _aligned(_START.size + length)


class _Arrays:
    """The arrays of a file, checked when they are taken."""

    def __init__(self, content: np.ndarray, described: dict[str, Any]):
        self._content = content
        self._left = dict(described)

    def take(self, name: str) -> np.ndarray | None:
        """Return an array; None where the file lacks one that it may lack."""
        if name not in self._left and name.rpartition(".")[2] in _OPTIONAL:
            return None
        length, at, checksum = self._left.pop(name)
        dtype = np.dtype(_type_of(name))
        for value in (length, at, checksum):
            if type(value) is not int or value < 0:
                raise ValueError(f"the place of {name} is no number: {shown(value)}")
        size = length * dtype.itemsize
        if at % _ALIGNMENT or at + size > len(self._content):
            raise ValueError(f"{name} is not within the file")
        part = self._content[at : at + size]
        if zlib.crc32(_bytes_of(part)) != checksum:
            raise ValueError(f"{name} is damaged: the checksum differs")
        return part.view(dtype)

    def counts(self, field: int, shape: tuple[int, int]) -> sparse.csc_array:
        """Return the counts of a field."""
        names = ("counts", "documents", "starts")
        counts, documents, starts = (
            np.asarray(self.take(f"{field}.{name}")) for name in names
        )
        if np.any((starts < 0) | (starts > len(documents))):
            raise ValueError("the starts of terms are not within the postings")
        if len(documents) <= np.iinfo(np.int32).max:
            # Starts of the other type would make SciPy copy the documents.
            starts = starts.astype(np.int32)
        return sparse.csc_array((counts, documents, starts), shape=shape)

    def check_all_taken(self) -> None:
        """Refuse what no index has."""
        if self._left:
            raise ValueError(f"it has an array of no use, {shown(min(self._left))}")
