"""Readers of texts: documents and queries in the formats of test collections.

Each format has a generator of records, which holds one record at a time in memory, and
a function that makes a `TextCollection` of all of them. What is damaged is refused with
the name of the file and the number of the line.
"""

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from skrank._core._messages import shown, surrogate_at
from skrank._core._parameters import InvalidParameterError, NBytes
from skrank._core._reading import Source, open_lines, source_name
from skrank._core._validation import check_arguments
from skrank.text import TextCollection

# Keys and elements that name a document or a query, in the order of preference.
_ID_KEYS = ("_id", "id", "docid", "docno", "qid")
_LONGEST_ID = 1000  # characters; more is no id but damage
# A collection has a place for each document in each field, so that documents which all
# have fields of their own would take memory of the square of their number.
_MOST_FIELDS = 256


class TextRecord(NamedTuple):
    """One document or query of a file.

    Attributes
    ----------
    id : str
        Id.
    fields : dict of str to str
        Texts by the name of their field, in the order of the file.
    line : int
        Number of the line where it begins, counted from 1.
    """

    id: str
    fields: dict[str, str]
    line: int


class CorpusError(ValueError):
    """A file of texts is refused; knows the name of the file and the line."""

    def __init__(self, name: str, line: int, problem: str):
        super().__init__(f"{name}, line {line}: {problem}")


def decoded_lines(
    source: Source, max_bytes: int | None, encoding: str
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, without its end.

    Raises
    ------
    ValueError
        If a line is not text of this encoding, or one that UTF-8 cannot hold.
    """
    name, is_utf8 = source_name(source), codecs.lookup(encoding).name == "utf-8"
    for number, raw in open_lines(source, max_bytes):
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise CorpusError(
                name,
                number,
                f"byte {raw[error.start]:#04x} is no {encoding} text; encoding="
                "'latin-1' reads every byte",
            ) from None
        if not is_utf8:
            refuse_surrogates(line, "the line", name, number)
        yield number, line.removesuffix("\r")


def refuse_surrogates(text: str, what: str, name: str, line: int) -> None:
    """Refuse text with half of a surrogate pair, which could not be written again."""
    place = surrogate_at(text)
    if place >= 0:
        raise CorpusError(
            name,
            line,
            f"{what} has half of a surrogate pair, {shown(text[place])}, as character "
            f"{place + 1}, which UTF-8 cannot hold",
        )


def check_encoding(encoding: Any) -> str:
    """Return the name of an encoding, or tell that there is no such one."""
    try:
        "".encode(encoding)
        b"\n \x00".decode(encoding)
        ascii_compatible = "<DOC>\n".encode(encoding) == b"<DOC>\n"
    except (TypeError, LookupError, ValueError):
        ascii_compatible = False
    if not ascii_compatible:
        raise InvalidParameterError(
            "encoding must be the name of an encoding that extends ASCII, such as "
            f"'utf-8' or 'latin-1', got {shown(encoding)}"
        )
    return encoding


def checked_id(found: str, name: str, line: int, what: str = "document") -> str:
    """Return an id without blanks around it, which is neither empty nor endless."""
    found = found.strip()
    if not found or len(found) > _LONGEST_ID or len(found.split()) > 1:
        raise CorpusError(
            name, line, f"expected the id of a {what}, one word, found {shown(found)}"
        )
    return found


def collected(
    records: Iterable[TextRecord],
    source: Source,
    what: str,
    *,
    chosen: bool = True,
    needs_text: bool = False,
) -> TextCollection:
    """Return all records of a file; a field that a record lacks is empty.

    Parameters
    ----------
    records : iterable of TextRecord
        Records of the file.
    source : str, path, file object, bytes or NamedText
        The file, for messages.
    what : str
        What the records are, for messages.
    chosen : bool, default=True
        Whether the names of the fields were chosen; those of the file are limited.
    needs_text : bool, default=False
        Whether a file of which no record has a field is refused.

    Returns
    -------
    TextCollection

    Raises
    ------
    ValueError
        If there are none, none has a text, an id occurs twice, or a file has too many
        fields.
    """
    name, line_of, columns = source_name(source), {}, {}
    for record in records:
        if record.id in line_of:
            raise CorpusError(
                name,
                record.line,
                f"the id {shown(record.id)} occurs a second time, first in line "
                f"{line_of[record.id]}",
            )
        for field, text in record.fields.items():
            column = columns.setdefault(field, [])
            column.extend([""] * (len(line_of) - len(column)))
            column.append(text)
        if len(columns) > _MOST_FIELDS and not chosen:
            raise CorpusError(
                name,
                record.line,
                f"up to here there are more than {_MOST_FIELDS} different fields; name "
                "those to read in fields= (--fields of skrank index)",
            )
        line_of[record.id] = record.line
    if not line_of:
        raise ValueError(f"{name} has no {what}")
    if not columns and needs_text:
        raise ValueError(
            f"{name}: none of the {len(line_of)} {what} has a text, which is a string "
            "under a key other than that of the id"
        )
    for column in columns.values():
        column.extend([""] * (len(line_of) - len(column)))
    return TextCollection(list(line_of), columns or {"text": [""] * len(line_of)})


def iter_jsonl_documents(
    source: Source,
    *,
    id_key: str | None = None,
    fields: Sequence[str] | None = None,
    max_bytes: NBytes | None = None,
) -> Iterator[TextRecord]:
    """Iterate over the documents of a file of JSON lines.

    Parameters
    ----------
    source : str, path, file object or bytes
        One JSON object a line, in UTF-8, possibly compressed by gzip, bzip2, xz or zip.
    id_key : str, default=None
        Key of the id, a string or a whole number; None takes the first of ``_id``,
        ``id``, ``docid``, ``docno`` and ``qid`` that an object has.
    fields : sequence of str, default=None
        Keys of the fields. None takes all keys whose value is a string, but the id. A
        key that an object lacks, or whose value is null, is an empty field.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    iterator of TextRecord
        Id, fields and line of each document. A plain file is read as it is used, so
        that one record at a time is in memory.

    Raises
    ------
    ValueError
        If a line is no JSON object, has no id, a field that is no string, or half of a
        surrogate pair, such as ``"\\ud800"`` (the message names the file and the line),
        or if the file is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import iter_jsonl_documents
    >>> text = b'{"_id": "d1", "title": "Sort", "text": "of arrays", "year": 1962}'
    >>> for record in iter_jsonl_documents(text):
    ...     print(record.id, record.fields)
    d1 {'title': 'Sort', 'text': 'of arrays'}
    """
    check_arguments(iter_jsonl_documents, id_key=id_key, max_bytes=max_bytes)
    chosen = None if fields is None else _names(fields)
    return _jsonl(source, id_key, chosen, max_bytes)


def _names(fields: Any) -> list[str]:
    """Return names of fields as a list."""
    try:
        listed = [] if isinstance(fields, str | bytes) else list(fields)
    except TypeError:
        listed = []
    if not listed or not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError(
            f"fields must be a sequence of names, at least one, or None, got "
            f"{shown(fields)}"
        )
    return listed


def _jsonl(source, id_key, fields, max_bytes) -> Iterator[TextRecord]:
    name = source_name(source)
    for number, line in decoded_lines(source, max_bytes, "utf-8"):
        if not line.strip():
            continue
        record = _parsed(line, name, number)
        key = id_key or next((k for k in _ID_KEYS if k in record), _ID_KEYS[0])
        found = record.get(key)
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise CorpusError(
                name,
                number,
                f"expected a string or a whole number as {shown(key)}, found "
                f"{shown(found) if key in record else 'no such key'}",
            )
        refuse_surrogates(str(found), "the id", name, number)
        yield TextRecord(
            checked_id(str(found), name, number),
            _strings_of(record, key, fields, name, number),
            number,
        )


def _parsed(line: str, name: str, number: int) -> dict[str, Any]:
    """Return the object of one line."""
    try:
        record = json.loads(line)
    except RecursionError:
        raise CorpusError(name, number, "the JSON is nested too deeply") from None
    except ValueError as error:
        problem = getattr(error, "msg", None) or "a number is too long"
        raise CorpusError(name, number, f"no JSON: {problem}") from None
    if not isinstance(record, dict):
        raise CorpusError(
            name, number, f"expected a JSON object {{...}}, found {shown(record)}"
        )
    return record


def _strings_of(record, key, fields, name, number) -> dict[str, str]:
    """Return the fields of one object."""
    if fields is None:
        texts = {k: v for k, v in record.items() if isinstance(v, str) and k != key}
    else:
        texts = {k: "" if record.get(k) is None else record[k] for k in fields}
    for field, text in texts.items():
        if not isinstance(text, str):
            raise CorpusError(
                name,
                number,
                f"expected a string as {shown(field)}, found {shown(text)}",
            )
        refuse_surrogates(field, f"the key {shown(field)}", name, number)
        refuse_surrogates(text, f"the text of {shown(field)}", name, number)
    return texts


def load_jsonl_documents(
    source: Source,
    *,
    id_key: str | None = None,
    fields: Sequence[str] | None = None,
    max_bytes: NBytes | None = None,
) -> TextCollection:
    """Load the documents of a file of JSON lines, as BEIR and Anserini have them.

    Parameters
    ----------
    source : str, path, file object or bytes
        One JSON object a line, in UTF-8, possibly compressed by gzip, bzip2, xz or zip.
    id_key : str, default=None
        Key of the id, a string or a whole number; None takes the first of ``_id``,
        ``id``, ``docid``, ``docno`` and ``qid`` that an object has.
    fields : sequence of str, default=None
        Keys of the fields. None takes all keys whose value is a string, but the id. A
        key that an object lacks, or whose value is null, is an empty field.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    TextCollection
        Documents in the order of the file.

    Raises
    ------
    ValueError
        If a line is no JSON object, has no id or one that occurred before, a field that
        is no string, or half of a surrogate pair, such as ``"\\ud800"``, or if
        ``fields`` is None and there are more than 256 different ones (the message names
        the file and the line), or none at all, or if the file is empty, damaged, or
        larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    See Also
    --------
    load_jsonl_queries : Queries in the same format.

    Examples
    --------
    >>> from skrank.datasets import load_jsonl_documents
    >>> documents = load_jsonl_documents(
    ...     b'{"_id": "d1", "title": "Sort", "text": "of arrays"}\\n'
    ...     b'{"_id": "d2", "text": "of graphs", "metadata": {}}\\n')
    >>> documents.ids.tolist(), documents.fields
    (['d1', 'd2'], {'title': ['Sort', ''], 'text': ['of arrays', 'of graphs']})
    """
    records = iter_jsonl_documents(
        source, id_key=id_key, fields=fields, max_bytes=max_bytes
    )
    return collected(
        records,
        source,
        "documents",
        chosen=fields is not None,
        needs_text=fields is None,
    )


def load_jsonl_queries(
    source: Source,
    *,
    id_key: str | None = None,
    fields: Sequence[str] | None = None,
    max_bytes: NBytes | None = None,
) -> TextCollection:
    """Load the queries of a file of JSON lines, as BEIR has them.

    Parameters
    ----------
    source : str, path, file object or bytes
        One JSON object a line, in UTF-8, possibly compressed by gzip, bzip2, xz or zip.
    id_key : str, default=None
        Key of the id, see `load_jsonl_documents`.
    fields : sequence of str, default=None
        Keys of the fields, see `load_jsonl_documents`.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    TextCollection
        Queries in the order of the file.

    Raises
    ------
    ValueError
        As `load_jsonl_documents` does.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_jsonl_queries
    >>> queries = load_jsonl_queries(b'{"_id": "q1", "text": "sorting"}')
    >>> queries.ids.tolist(), queries.fields["text"]
    (['q1'], ['sorting'])
    """
    records = iter_jsonl_documents(
        source, id_key=id_key, fields=fields, max_bytes=max_bytes
    )
    return collected(
        records,
        source,
        "queries",
        chosen=fields is not None,
        needs_text=fields is None,
    )


def load_tsv_queries(
    source: Source,
    *,
    encoding: str = "utf-8",
    max_bytes: NBytes | None = None,
) -> TextCollection:
    """Load queries from lines of an id, a tab and a text, as MS MARCO has them.

    Parameters
    ----------
    source : str, path, file object or bytes
        One query a line, possibly compressed by gzip, bzip2, xz or zip. Blank lines are
        passed over; further tabs belong to the text.
    encoding : str, default="utf-8"
        Encoding of the text.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    TextCollection
        Queries in the order of the file, with the field ``"text"``.

    Raises
    ------
    ValueError
        If a line has no tab or an id that occurred before (the message names the file
        and the line), or if the file is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_tsv_queries
    >>> load_tsv_queries(b"q1\\tsorting\\nq2\\tshortest paths\\n").fields
    {'text': ['sorting', 'shortest paths']}
    """
    check_arguments(load_tsv_queries, max_bytes=max_bytes)
    return collected(
        _tsv(source, check_encoding(encoding), max_bytes), source, "lines of text"
    )


def _tsv(source, encoding, max_bytes) -> Iterator[TextRecord]:
    name = source_name(source)
    for number, line in decoded_lines(source, max_bytes, encoding):
        if not line.strip():
            continue
        query, tab, text = line.partition("\t")
        if not tab:
            raise CorpusError(
                name, number, f"expected an id, a tab and a text, found {shown(line)}"
            )
        query = checked_id(query, name, number, "query")
        yield TextRecord(query, {"text": text.strip()}, number)
