"""Index files to start from, and changes of them whose checksums are right again.

Bytes that were changed at random do not get past the checksums. So most changes are
made to the numbers of an array, to the place where the header says that it stands, or
to other values of the header, and the checksums follow.
"""

import json
import struct
import tempfile
import zlib
from pathlib import Path

import numpy as np
from fuzz._mutate import mutate

from skrank.text import (
    BM25,
    BM25F,
    BooleanModel,
    InvertedIndex,
    LetorFeatures,
    LMAbsoluteDiscount,
    ProximityFeatures,
    TextCollection,
    Tokenizer,
    load_index,
    save_index,
)

_START = struct.Struct("<12sIQQ")
_ALIGNMENT = 64
_NUMBERS = (-1, 0, 1, 2, 3, 255, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63 - 1)
_FLOATS = (np.nan, np.inf, -np.inf, 0.5, 1e308, 1e-320, 2.0**53, 2.0**60)
_VALUES = (*_NUMBERS, None, True, "", "text", [], {}, [0, 0, 0], 0.5, 10**30, "\ud800")
_TEXTS = ["sort the rows of an array", "invert a matrix", "", "matrix rows, rows é"]
_QUERIES = ["rows of a matrix", "sort array", "nothing é", ""]


def _indices():
    ids = ["a", "b", "c", "d"]
    fields = {"title": _TEXTS[::-1], "text": _TEXTS}
    for texts, options in (
        (_TEXTS, {}),
        (TextCollection(ids, fields), {"with_positions": True}),
        (fields, {"tokenizer": Tokenizer(stemmer="porter", stop_words=["of"])}),
        (TextCollection(ids, {"text": _TEXTS}), {"with_positions": True}),
    ):
        yield InvertedIndex(**options).fit(texts)


class SavedIndices:
    """Small files of indices of several kinds."""

    def __init__(self):
        self.files = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index"
            for index in _indices():
                save_index(index, path)
                self.files.append(path.read_bytes())

    def changed(self, number: int, rng: np.random.Generator) -> bytes:
        """Return a file after a few changes."""
        content = self.files[number]
        if rng.random() < 0.1:
            return mutate(content, (b"skrank-index", b"\0" * 8, b"\xff" * 8), rng)
        header, data = _parts(content)
        for _ in range(int(rng.geometric(0.6))):
            change = _CHANGES[rng.integers(len(_CHANGES))]
            header, data = change(header, bytearray(data), rng)
        return _joined(header, data)

    def overwritten(self, number: int, rng: np.random.Generator) -> bytes:
        """Return a file of equal length, whose arrays alone have changed."""
        header, data = _parts(self.files[number])
        first = len(self.files[number]) - len(data)
        for _ in range(int(rng.geometric(0.4))):
            _, data = _changed_numbers(header, data, rng)
        return self.files[number][:first] + bytes(data)


def use(content: bytes, mapped: bool) -> None:
    """Load a file, and do with the index what is done with one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        path.write_bytes(content)
        index = load_index(path, memory_map=mapped)
        _search(index)
        save_index(index, path)  # puts another file in the place of the mapped one
        again = load_index(path)
        assert again.vocabulary_ == index.vocabulary_


def use_overwritten(before: bytes, after: bytes) -> None:
    """Search an index whose file changes while it is mapped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        path.write_bytes(before)
        index = load_index(path)
        models = [BM25().fit(index), LMAbsoluteDiscount().fit(index)]
        _search(index)
        with open(path, "r+b") as file:
            file.write(after)
        with np.errstate(all="ignore"):
            for model in models:
                documents, _ = model.retrieve(_QUERIES, 3)
                if documents.size and not -1 <= documents.min() <= documents.max() < 4:
                    raise AssertionError(f"documents {documents!r:.200}")
                model.score(_QUERIES)
                model.score_pairs(_QUERIES, [0, 1, 2], [0, 3, 1])


def _search(index: InvertedIndex) -> None:
    n = index.n_documents_
    pairs = np.arange(len(_QUERIES)), np.arange(len(_QUERIES)) % n
    for model in (BM25(), BM25F(), LMAbsoluteDiscount()):
        model.fit(index)
        documents, _ = model.retrieve(_QUERIES, 3)
        if documents.size and not -1 <= documents.min() <= documents.max() < n:
            raise AssertionError(f"documents {documents!r:.200}")
        if not np.isfinite(model.score_pairs(_QUERIES, *pairs)).all():
            raise AssertionError("scores that are not finite")
    X = LetorFeatures().fit(index).extract(_QUERIES, *pairs)
    if not np.isfinite(X).all():
        raise AssertionError("features that are not finite")
    if index.postings().positions is not None:
        ProximityFeatures().fit(index).extract(_QUERIES, *pairs)
        BooleanModel().fit(index).search(['"rows of a matrix"', "sort OR NOT rows"])


def _parts(content):
    """Header and arrays of a file."""
    _, _, length, _ = _START.unpack(content[: _START.size])
    header = json.loads(content[_START.size : _START.size + length])
    return header, bytearray(content[_aligned(_START.size + length) :])


def _joined(header, data) -> bytes:
    """Return a file whose checksums are right, as far as the header makes sense."""
    arrays = header.get("arrays")
    for name, described in arrays.items() if isinstance(arrays, dict) else ():
        try:
            length, at, _ = described
            size = length * _type_of(name).itemsize
            arrays[name] = [length, at, zlib.crc32(bytes(data[at : at + size]))]
        except (TypeError, ValueError, OverflowError, MemoryError):
            continue
    text = json.dumps(header).encode()
    first = _aligned(_START.size + len(text))
    size = first + len(data)
    start = _START.pack(b"skrank-index", zlib.crc32(text), len(text), size)
    return (start + text).ljust(first, b"\0") + bytes(data)


def _aligned(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _type_of(name) -> np.dtype:
    kinds = {"lengths": "<f8", "counts": "<f8", "starts": "<i8"}
    kinds |= dict.fromkeys(("documents", "positions"), "<i4")
    kinds |= {"terms": "u1", "ids": "u1"}
    return np.dtype(kinds.get(name.rpartition(".")[2], "<u4"))


def _an_array(header, rng):
    """Name, length and place of one array, None where the header makes no sense."""
    arrays = header.get("arrays")
    if not isinstance(arrays, dict) or not arrays:
        return None
    name = list(arrays)[rng.integers(len(arrays))]
    described = arrays[name]
    is_plain = isinstance(described, list) and len(described) == 3
    if not is_plain or any(type(v) is not int for v in described):
        return None
    return name, described[0], described[1]


def _changed_numbers(header, data, rng):
    found = _an_array(header, rng)
    if found is None:
        return header, data
    name, length, at = found
    dtype = _type_of(name)
    if length < 1 or at < 0 or at + length * dtype.itemsize > len(data):
        return header, data
    numbers = np.frombuffer(
        bytes(data[at : at + length * dtype.itemsize]), dtype
    ).copy()
    place = int(rng.integers(length))
    with np.errstate(all="ignore"):
        if rng.random() < 0.3:  # by one, or like its neighbour
            other = numbers[int(rng.integers(length))]
            numbers[place] = (other, numbers[place] + 1)[rng.integers(2)]
        elif dtype.kind == "f":
            numbers[place] = _FLOATS[rng.integers(len(_FLOATS))]
        else:
            value = _NUMBERS[rng.integers(len(_NUMBERS))]
            numbers[place] = np.int64(value).astype(dtype)
    data[at : at + length * dtype.itemsize] = numbers.tobytes()
    return header, data


def _moved_array(header, data, rng):
    found = _an_array(header, rng)
    if found is None:
        return header, data
    name, length, at = found
    length += (-1, 0, 1, 64)[rng.integers(4)]
    at += (0, 0, 64, -64, 1)[rng.integers(5)]
    header["arrays"][name] = [length, at, 0]
    return header, data


def _other_array(header, data, rng):
    """Let one array stand where another one does, or have its name, or leave it out."""
    one, other = _an_array(header, rng), _an_array(header, rng)
    if one is None or other is None:
        return header, data
    arrays = header["arrays"]
    choice = rng.integers(3)
    if choice == 0:
        arrays[one[0]] = list(arrays[other[0]])
    elif choice == 1:
        del arrays[one[0]]
    else:
        arrays[f"{rng.integers(3)}.positions"] = arrays.pop(one[0])
    return header, data


def _changed_header(header, data, rng):
    value = _VALUES[rng.integers(len(_VALUES))]
    keys = [*header, "other"]
    key = keys[rng.integers(len(keys))]
    inner = header.get(key)
    if isinstance(inner, dict) and inner and rng.random() < 0.7:
        inner[list(inner)[rng.integers(len(inner))]] = value
    elif isinstance(inner, list) and inner and rng.random() < 0.7:
        inner[rng.integers(len(inner))] = value
    elif rng.random() < 0.2:
        header.pop(key, None)
    else:
        header[key] = value
    return header, data


def _cut(header, data, rng):
    return header, data[: rng.integers(len(data) + 1)]


_CHANGES = (
    *(_changed_numbers,) * 4,
    _moved_array,
    _moved_array,
    _other_array,
    _changed_header,
    _changed_header,
    _cut,
)
