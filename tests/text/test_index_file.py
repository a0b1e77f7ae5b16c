"""Files of indices: exact, mapped, and harmless if they were edited."""

import contextlib
import json
import struct
import zlib

import numpy as np
import pytest
from fuzz._mutate import mutate
from sklearn.exceptions import NotFittedError

from skrank.text import (
    BM25,
    BooleanModel,
    InvertedIndex,
    ProximityFeatures,
    TextCollection,
    Tokenizer,
    load_index,
    save_index,
)

FIELDS = {
    "title": ["sort rows", "", "tree of Ökonomie", "sort sort tree"],
    "body": ["the order of rows 中文", "invert a matrix", "", "row " * 300],
}
COLLECTION = TextCollection(["b", "", "Ö \ud800", "a"], FIELDS)
QUERIES = ["sort rows", "tree", "unknown"]
START = struct.Struct("<12sIQQ")


def content_of(index):
    """Everything that an index holds."""
    parts = []
    for field in (*index.fields_, None):
        postings = index.postings(field)
        arrays = [getattr(postings.counts, a) for a in ("data", "indices", "indptr")]
        parts += [(a.dtype.str, a.tolist()) for a in (*arrays, postings.lengths)]
        positions = postings.positions
        parts.append(None if positions is None else positions.tolist())
    ids = None if index.ids_ is None else index.ids_.tolist()
    return repr(index), list(index.vocabulary_.items()), index.n_documents_, ids, parts


def _aligned(length):
    """Where the arrays begin after a header of a length."""
    return -(-(START.size + length) // 64) * 64


def as_edited(path, change):
    """Rewrite the header of a file by a function, with its checksum."""
    content = path.read_bytes()
    length = START.unpack(content[: START.size])[2]
    header = json.loads(content[START.size : START.size + length])
    arrays = content[_aligned(length) :]
    change(header)
    text = json.dumps(header).encode()
    first = _aligned(len(text))
    start = START.pack(
        b"skrank-index", zlib.crc32(text), len(text), first + len(arrays)
    )
    path.write_bytes((start + text).ljust(first, b"\0") + arrays)


@pytest.mark.parametrize("memory_map", [True, False])
@pytest.mark.parametrize(
    "index",
    [
        InvertedIndex(),
        InvertedIndex(Tokenizer(stop_words=("of", "the"), stemmer="porter")),
        InvertedIndex(Tokenizer(stop_words=None, stemmer=None, min_length=2)),
        InvertedIndex(with_positions=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("documents", [COLLECTION, FIELDS, [""]], ids=["ids", "", "0"])
def test_indices_round_trip_exactly(index, documents, memory_map, tmp_path):
    path = tmp_path / "a.index"
    index.fit(documents)
    save_index(index, path)
    loaded = load_index(path, memory_map=memory_map)
    words = getattr(index.tokenizer, "stop_words", None)
    if isinstance(words, tuple):  # JSON has lists only
        index.tokenizer.set_params(stop_words=list(words))
    assert content_of(loaded) == content_of(index)
    content = path.read_bytes()
    save_index(loaded, path)
    assert path.read_bytes() == content
    for field in index.fields_ if memory_map else ():
        counts = loaded.postings(field).counts
        mapped = [part.base is not None for part in (counts.data, counts.indices)]
        assert all(mapped) or not counts.nnz
        assert not counts.data.flags.writeable


def test_models_search_a_mapped_index(tmp_path):
    path = tmp_path / "a.index"
    index = InvertedIndex(with_positions=True).fit(COLLECTION)
    save_index(index, path)
    loaded = load_index(path)
    one, other = BM25().fit(index), BM25().fit(loaded)
    for left, right in zip(one.retrieve(QUERIES, 3), other.retrieve(QUERIES, 3)):
        assert left.tobytes() == right.tobytes()
    assert one.score(QUERIES).tobytes() == other.score(QUERIES).tobytes()
    assert BooleanModel().fit(loaded).search(['"sort rows"'])[0].tolist() == [0]
    pairs = ["sort tree"], [0, 0], [0, 3]
    np.testing.assert_array_equal(
        ProximityFeatures().fit(loaded).extract(*pairs),
        ProximityFeatures().fit(index).extract(*pairs),
    )
    # A new file takes the place of the old one, which stays where it is mapped.
    save_index(InvertedIndex().fit(["other"]), path)
    assert other.score(QUERIES).tobytes() == one.score(QUERIES).tobytes()


def test_what_cannot_be_saved_is_named(tmp_path):
    path = tmp_path / "a.index"
    with pytest.raises(TypeError, match="index must be an InvertedIndex, got BM25"):
        save_index(BM25().fit(["a"]), path)
    with pytest.raises(NotFittedError, match="InvertedIndex instance is not fitted"):
        save_index(InvertedIndex(), path)
    for tokenizer in (str.split, Tokenizer(stemmer=str.upper)):
        with pytest.raises(TypeError, match="its tokenizer must be None or a Tokeniz"):
            save_index(InvertedIndex(tokenizer).fit(["a"]), path)
    with pytest.raises(TypeError, match="path must be a path"):
        save_index(InvertedIndex().fit(["a"]), 3)
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match=r"a\.index"):
        load_index(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.index is empty, and no index file"):
        load_index(path)


EDITS = {
    "format_version": (lambda h: h.update(format_version=2), "version 2 is unknown"),
    "true version": (
        lambda h: h.update(format_version=True),
        "version True is unknown",
    ),
    "float version": (
        lambda h: h.update(format_version=1.0),
        "version 1.0 is unknown",
    ),
    "no version": (lambda h: h.pop("format_version"), "version None is unknown"),
    "fields": (lambda h: h.update(fields="tb"), "the fields must be a list, got 'tb'"),
    "one field": (lambda h: h["fields"].pop(), "an array of no use, '1.counts'"),
    "more fields": (lambda h: h["fields"].append("c"), "2.counts"),
    "same fields": (
        lambda h: h.update(fields=["a", "a"]),
        "fields_ must be different strings",
    ),
    "number": (lambda h: h.update(fields=[1, 2]), "fields_ must be different strings"),
    "arrays": (lambda h: h.update(arrays=[]), "arrays must be described by name"),
    "tokenizer": (lambda h: h.update(tokenizer={"a": 1}), "not of the kind"),
    "stemmer": (
        lambda h: h.update(tokenizer={"stemmer": "os.system"}),
        "stemmer must be",
    ),
    "positions": (lambda h: h.update(with_positions=3), "with_positions must be"),
    "no lengths": (lambda h: h["arrays"].pop("lengths"), "lengths"),
    "an ids": (lambda h: h["arrays"].pop("ids"), "must be stored in an array of uint8"),
    "place": (lambda h: h["arrays"]["terms"].__setitem__(1, 64), "checksum differs"),
    "odd place": (lambda h: h["arrays"]["terms"].__setitem__(1, 8), "not within"),
    "far place": (lambda h: h["arrays"]["terms"].__setitem__(1, 2**70), "not within"),
    "negative": (lambda h: h["arrays"]["terms"].__setitem__(1, -64), "is no number"),
    "text": (lambda h: h["arrays"]["terms"].__setitem__(0, "9"), "is no number"),
    "long": (lambda h: h["arrays"]["terms"].__setitem__(0, 10**9), "not within"),
    "half": (lambda h: h["arrays"].update(terms=[1, 2]), "not enough values"),
    "no positions": (
        lambda h: h["arrays"].pop("1.positions"),
        "must have positions for each of its fields",
    ),
    "swapped": (
        lambda h: h["arrays"].update({"0.counts": h["arrays"]["1.counts"]}),
        "",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_headers_are_refused(edit, tmp_path):
    change, message = EDITS[edit]
    path = tmp_path / "a.index"
    save_index(InvertedIndex(with_positions=True).fit(COLLECTION), path)
    as_edited(path, lambda header: None)
    load_index(path)
    as_edited(path, change)
    with pytest.raises(
        ValueError, match=r"a\.index is not a valid index file: .*" + message
    ):
        load_index(path)


def test_arrays_of_other_numbers_are_refused(tmp_path):
    # Written anew with right checksums: what is wrong are the numbers.
    path = tmp_path / "a.index"
    index = InvertedIndex(Tokenizer(stop_words=None)).fit(["a b", "b b"])
    save_index(index, path)
    content = path.read_bytes()
    length = START.unpack(content[: START.size])[2]
    header = json.loads(content[START.size : START.size + length])
    first = -(-(START.size + length) // 64) * 64
    wrong = {
        "0.documents": [np.int32([5, 0, 1]), np.int32([0, 1, 0]), np.int32([0, -1, 1])],
        "0.counts": [np.array([1.0, 0, 2]), np.array([1, np.nan, 2]), -np.ones(3)],
        "0.starts": [np.array([0, 4, 3]), np.array([1, 1, 3]), np.array([0, 1, 2])],
        "lengths": [np.array([2.0, 3.0]), np.array([np.nan, 2])],
        "term_lengths": [np.uint32([1, 2]), np.uint32([2**32 - 1, 3])],
        "terms": [np.uint8([98, 97]), np.uint8([255, 97])],
    }
    for name, arrays in wrong.items():
        for array in arrays:
            _, at, _ = header["arrays"][name]
            edited = bytearray(content)
            edited[first + at : first + at + array.nbytes] = array.tobytes()
            path.write_bytes(edited)

            def change(found, name=name, at=at, array=array):
                found["arrays"][name] = [len(array), at, zlib.crc32(array.tobytes())]

            as_edited(path, change)
            with pytest.raises(ValueError, match=r"is not a valid index file: .* .* "):
                load_index(path)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.index"
    save_index(InvertedIndex(with_positions=True).fit(COLLECTION), path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for length in (1, 5, START.size - 1, START.size, 60, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="is not a valid index file: it "):
            load_index(path)
    for _ in range(200):
        path.write_bytes(mutate(content, (), rng))
        with contextlib.suppress(ValueError):
            # What fills the gaps between arrays may change.
            BM25().fit(load_index(path)).retrieve(QUERIES, 2)
    nested = b'{"a":' + b"[" * 100_000
    start = START.pack(
        b"skrank-index", zlib.crc32(nested), len(nested), 32 + len(nested)
    )
    path.write_bytes(start + nested)
    with pytest.raises(ValueError, match="valid index file: "):
        load_index(path)


def test_headers_have_a_largest_length(tmp_path):
    path, most = tmp_path / "a.index", 2**24
    index = InvertedIndex().fit(COLLECTION)
    save_index(index, path)
    content = path.read_bytes()
    length = START.unpack(content[: START.size])[2]
    header, arrays = content[START.size :][:length], content[_aligned(length) :]
    for size in (most, most + 1):
        text = header.ljust(size)  # blanks mean nothing in JSON
        first = _aligned(size)
        start = START.pack(b"skrank-index", zlib.crc32(text), size, first + len(arrays))
        path.write_bytes((start + text).ljust(first, b"\0") + arrays)
        if size == most:
            assert content_of(load_index(path)) == content_of(index)
    with pytest.raises(ValueError, match=f"its header cannot have {most + 1} bytes"):
        load_index(path)
