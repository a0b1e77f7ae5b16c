"""Collections, queries, indices and text models of the command line."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from skrank._core._messages import on_one_line, shown
from skrank._core._reading import NamedText, open_lines
from skrank.cli import _names
from skrank.cli._errors import CommandError
from skrank.cli._io import source
from skrank.cli._options import STANDARD, STDOUT, refuse_unused
from skrank.cli._stdout import standard_output
from skrank.datasets import (
    load_cranfield,
    load_jsonl_documents,
    load_jsonl_queries,
    load_trec_documents,
    load_trec_topics,
    load_tsv_queries,
)
from skrank.text import (
    BM25,
    BM25F,
    LSI,
    RM3,
    BaseTextModel,
    InvertedIndex,
    LMAbsoluteDiscount,
    LMDirichlet,
    LMJelinekMercer,
    TextCollection,
    VectorSpace,
    load_index,
)

#: Models by the names that their scores have among the features.
MODELS: dict[str, type] = {
    "bm25": BM25,
    "bm25f": BM25F,
    "vsm": VectorSpace,
    "lsi": LSI,
    "lmir.dir": LMDirichlet,
    "lmir.jm": LMJelinekMercer,
    "lmir.abs": LMAbsoluteDiscount,
}
_ENDINGS = {".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl", ".tsv": "tsv"}
_PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_CRANFIELD = "cran.all.1400"


def name_list(text: str | None, option: str) -> list[str] | None:
    """Return the names of a text such as ``"title,body"``; None for no text."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise CommandError(f"{option} takes different names, as in a,b; got {text!r}")
    return names


def read_documents(args: Any) -> TextCollection:
    """Read the collection that the arguments name."""
    found, form = _source_and_format(args, args.collection)
    limit, fields = args.max_bytes, name_list(args.fields, "--fields")
    if form == "cranfield":
        documents = load_cranfield(found, max_bytes=limit).documents
    elif form == "jsonl":
        documents = load_jsonl_documents(found, fields=fields, max_bytes=limit)
    elif form == "trec":
        elements = None if fields is None else {name: name for name in fields}
        documents = load_trec_documents(
            found, fields=elements, encoding=args.encoding, max_bytes=limit
        )
    else:
        documents = load_tsv_queries(found, encoding=args.encoding, max_bytes=limit)
    if fields is None:
        return documents
    for field in fields:
        if field not in documents.fields:
            raise CommandError(
                f"{on_one_line(args.collection)} has the fields "
                f"{', '.join(documents.fields)}, and no {shown(field)}"
            )
        if not any(documents.fields[field]):
            raise CommandError(
                f"{on_one_line(args.collection)}: the field {shown(field)} is empty in "
                "all documents"
            )
    return TextCollection(documents.ids, {f: documents.fields[f] for f in fields})


def read_queries(args: Any) -> TextCollection:
    """Read the queries that the arguments name, in one field ``"text"``."""
    found, form = _source_and_format(args, args.queries)
    limit = args.max_bytes
    if form == "cranfield":
        queries = load_cranfield(found, max_bytes=limit).queries
    elif form == "jsonl":
        queries = load_jsonl_queries(found, max_bytes=limit)
    else:
        load = load_trec_topics if form == "trec" else load_tsv_queries
        queries = load(found, encoding=args.encoding, max_bytes=limit)
    # A topic may have empty elements, which are no choice.
    known = [name for name, texts in queries.fields.items() if any(texts)]
    field = args.query_field
    if field is None and len(known) > 1:
        raise CommandError(
            f"{on_one_line(args.queries)} has the fields {', '.join(known)}; choose "
            "one by --query-field"
        )
    if field is not None and field not in queries.fields:
        raise CommandError(
            f"{on_one_line(args.queries)} has the fields {', '.join(queries.fields)}, "
            f"and no {shown(field)}"
        )
    chosen = field or next(iter(known), next(iter(queries.fields)))
    return TextCollection(queries.ids, {"text": queries.fields[chosen]})


def _source_and_format(args, path) -> tuple[Any, str]:
    """Return what readers take for a path, and the format of its text."""
    found = path if os.path.isdir(path) else source(path, args.max_bytes)
    form = args.format
    if form == "auto":
        form = _format_of(found, path, args.max_bytes)
    if os.path.isdir(path) != (form == "cranfield"):
        raise CommandError(
            f"{on_one_line(path)} is a folder, which --format {form} does not read"
            if os.path.isdir(path)
            else f"--format cranfield takes a folder, got {on_one_line(path)}"
        )
    if form in ("jsonl", "cranfield"):
        refuse_unused(args, f"on {form}", ("encoding",))
    return found, form


def _format_of(found: Any, path: str, max_bytes: int | None) -> str:
    """Return the format of a text by its name or its first line."""
    if os.path.isdir(path):
        if not os.path.exists(os.path.join(path, _CRANFIELD)):
            raise CommandError(
                f"{on_one_line(path)} is a folder without the files of the Cranfield "
                "collection"
            )
        return "cranfield"
    name = path.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    known = _ENDINGS.get(os.path.splitext(name)[1])
    if known is not None:
        return known
    lines = (line for _, line in open_lines(found, max_bytes))
    first = next(filter(None, map(bytes.strip, lines)), b"")
    return {b"{": "jsonl", b"<": "trec"}.get(first[:1], "tsv")


def read_index(path: str, max_bytes: int | None) -> InvertedIndex:
    """Read an index; one that comes through a pipe is put into a file first."""
    found = source(path, max_bytes)
    if not isinstance(found, NamedText):
        return _with_ids(load_index(found), path)
    with _temporary_folder(found.name) as folder:
        copy = os.path.join(folder, "index")
        with _copying(found.name), open(copy, "wb") as file:
            file.write(found.data)
        try:
            return _with_ids(load_index(copy, memory_map=False), found.name)
        except ValueError as error:
            raise CommandError(str(error).replace(copy, found.name)) from None


@contextmanager
def _copying(name: str) -> Iterator[None]:
    """Name the file of which there is a temporary copy where that has no room."""
    try:
        yield
    except OSError as error:
        # Nobody chose the copy, which is gone when the message is read.
        where = f"{error.strerror}, in the folder for temporary files"
        raise OSError(error.errno, where, name) from error


def _temporary_folder(name: str) -> tempfile.TemporaryDirectory:
    """Make a folder for a copy of a file that has a name."""
    with _copying(name):
        return tempfile.TemporaryDirectory()


def _with_ids(index: InvertedIndex, path: str) -> InvertedIndex:
    """Return an index, but refuse one whose documents have no names."""
    if index.ids_ is None:
        raise CommandError(
            f"{on_one_line(path)} has no ids of documents; index a collection that has "
            "some, as skrank index does"
        )
    return index


def write_by_name(write: Callable[[str], None], path: str | None) -> None:
    """Call a function that writes a file; print the content where there is none."""
    if path is not None and path != STANDARD:
        write(path)
        return
    with _temporary_folder(STDOUT) as folder:
        copy = os.path.join(folder, "output")
        with _copying(STDOUT):
            write(copy)
        with open(copy, "rb") as file, standard_output() as stream:
            stream.flush()
            shutil.copyfileobj(file, stream.buffer)


class Search(NamedTuple):
    """A fitted model with what it searches for.

    Attributes
    ----------
    model : BaseTextModel
        Fitted model.
    expander : RM3 or None
        Fitted expansion of queries.
    """

    model: BaseTextModel
    expander: RM3 | None

    def find(self, queries: TextCollection, k: int) -> tuple[np.ndarray, ...]:
        """Return number of the query, number of the document, and score of each."""
        texts: Any = queries.fields["text"]
        if self.expander is not None:
            texts = self.expander.expand(texts)
        found, scores = self.model.retrieve(texts, k)
        query_of, place = np.nonzero(found >= 0)
        warn_of_empty(queries, query_of)
        return query_of, found[query_of, place], scores[query_of, place]


def warn_of_empty(queries: TextCollection, query_of: np.ndarray) -> None:
    """Warn of queries that have no document."""
    empty = np.setdiff1d(np.arange(len(queries)), query_of)
    if len(empty):
        warnings.warn(
            f"{len(empty)} of {len(queries)} queries have no document, such as "
            f"{shown(queries.ids[empty[0]])}",
            stacklevel=2,
        )


def search_of(args: Any, index: InvertedIndex) -> Search:
    """Return the model that the arguments describe, fitted to an index."""
    if args.k < 1:
        raise CommandError(f"-k must be at least 1, got {args.k}")
    model = _names.configured(
        _names.make_object(args.model, MODELS, "model"), args.settings
    )
    if args.field is not None:
        if any(each.partition("=")[0].strip() == "field" for each in args.settings):
            raise CommandError("--field and --set field exclude each other")
        model.set_params(field=args.field)
    if not args.rm3:
        refuse_unused(args, "without --rm3", ("rm3_settings",))
        return Search(model.fit(index), None)
    expander = RM3(model=model, field=model.field)
    expander = _names.configured(expander, args.rm3_settings, "--rm3-set")
    return Search(model.fit(index), expander.fit(index))
