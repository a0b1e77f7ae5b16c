"""TREC documents and topics: text between tags in the manner of SGML.

The tags of a document are taken as they stand, not by a document type: elements that
are closed are fields, and tags within them, or that nothing closes, are markup to be
left out.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError, NBytes
from skrank._core._reading import Source, source_name
from skrank._core._validation import check_arguments
from skrank.datasets._corpora import (
    CorpusError,
    TextRecord,
    check_encoding,
    checked_id,
    collected,
    decoded_lines,
)
from skrank.text import TextCollection

# What follows the name does not begin like one, so that the search is linear.
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)(?:[^\w.:<>-][^<>]*)?>")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_LONGEST_RECORD = 2**26  # characters of one document
# Elements of topics, which older topics do not close, and the words that begin them.
_TOPIC_FIELDS = {"title": "title", "desc": "description", "narr": "narrative"}
_LABELS = {
    "num": "Number",
    "title": "Topic",
    "desc": "Description",
    "narr": "Narrative",
}


def _without_comments(text: str) -> str:
    """Return text without the comments of SGML, of which the last may have no end."""
    parts, place = [], 0
    while (start := text.find("<!--", place)) >= 0:
        parts.append(text[place:start])
        end = text.find("-->", start)
        if end < 0:
            return "".join(parts)
        place = end + 3
    return "".join([*parts, text[place:]])


def _plain(text: str) -> str:
    """Return text without tags, with characters in place of entities."""
    text = html.unescape(_TAG.sub(" ", text))
    lines = (_BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names, in lower case, and the content of the outermost elements.

    Text that stands in none of them belongs to the element ``"text"``.
    """
    tags = list(_TAG.finditer(text))
    closing: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        if tag[1]:
            closing.setdefault(tag[2].lower(), []).append(number)
    place = number = 0
    while number < len(tags):
        name = tags[number][2].lower()
        ends = closing.get(name, [])
        found = bisect_left(ends, number)
        if not tags[number][1] and found < len(ends):
            end = ends[found]
            yield "text", text[place : tags[number].start()]
            yield name, text[tags[number].end() : tags[end].start()]
            place, number = tags[end].end(), end
        number += 1
    yield "text", text[place:]


def _records(
    source: Source, element: str, max_bytes: int | None, encoding: str
) -> Iterator[tuple[int, str]]:
    """Yield the first line and the content of each element that stands for a record."""
    name = source_name(source)
    mark = re.compile(rf"<(/?){element}(?:\s[^<>]*)?>", re.IGNORECASE)
    begin, parts, length = 0, [], 0
    for number, line in decoded_lines(source, max_bytes, encoding):
        place = 0
        for tag in mark.finditer(line):
            before, place = line[place : tag.start()], tag.end()
            if bool(tag[1]) != bool(begin):
                problem = (
                    f"<{element}> within the one that begins in line {begin}"
                    if begin
                    else f"</{element}> without a <{element}> before it"
                )
                raise CorpusError(name, number, problem)
            if begin:
                yield begin, _without_comments("\n".join([*parts, before]))
                begin, parts, length = 0, [], 0
            else:
                _refuse_text(before, element, name, number)
                begin = number
        if not begin:
            _refuse_text(line[place:], element, name, number)
            continue
        parts.append(line[place:])
        length += len(line) + 1
        if length > _LONGEST_RECORD:
            raise CorpusError(
                name, begin, f"<{element}> is longer than {_LONGEST_RECORD} characters"
            )
    if begin:
        raise CorpusError(name, begin, f"<{element}> is never closed")


def _refuse_text(text: str, element: str, name: str, number: int) -> None:
    """Refuse text outside of records; tags around all of them may stand there."""
    rest = _TAG.sub("", text).strip()
    if rest and not rest.startswith(("<?", "<!")):
        raise CorpusError(name, number, f"expected <{element}>, found {shown(rest)}")


def _field_map(fields: Any) -> dict[str, tuple[str, ...]] | None:
    """Return the names of elements, in lower case, of each field."""
    if fields is None:
        return None
    items: dict[Any, Any] = {None: ()}
    if isinstance(fields, Mapping) and fields:
        items = {
            name: (tags,) if isinstance(tags, str) else tags
            for name, tags in fields.items()
        }
    for name, tags in items.items():
        if not (
            isinstance(name, str)
            and isinstance(tags, Sequence)
            and tags
            and all(isinstance(tag, str) for tag in tags)
        ):
            raise InvalidParameterError(
                "fields must be a mapping of names to elements, such as "
                f"{{'title': ['HEADLINE', 'TTL'], 'text': 'TEXT'}}, or None, got "
                f"{shown(fields)}"
            )
    return {name: tuple(tag.lower() for tag in tags) for name, tags in items.items()}


def iter_trec_documents(
    source: Source,
    *,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "utf-8",
    max_bytes: NBytes | None = None,
) -> Iterator[TextRecord]:
    """Iterate over the documents of a TREC file.

    Parameters
    ----------
    source : str, path, file object or bytes
        Documents ``<DOC> <DOCNO>id</DOCNO> ... </DOC>``, possibly compressed by gzip,
        bzip2, xz or zip.
    fields : mapping of str to str or sequence of str, default=None
        The elements that make up each field, in any case; elements that are not named
        are left out. None makes a field of every element, with its name in lower case,
        and of the text in none of them the field ``"text"``.
    encoding : str, default="utf-8"
        Encoding of the text; old collections are in ``"latin-1"``.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    iterator of TextRecord
        Id, fields and line of each document. Tags within a field and comments are left
        out, entities such as ``&amp;`` become the characters that they stand for, and
        elements of one name are joined. A plain file is read as it is used, so that one
        document at a time is in memory.

    Raises
    ------
    ValueError
        If there is text outside of the documents, or a document is not closed or has
        not one id (the message names the file and the line), or if the file is empty,
        damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import iter_trec_documents
    >>> text = b"<DOC><DOCNO> A-1 </DOCNO><HL>Sort</HL><TEXT><P>of arrays</TEXT></DOC>"
    >>> for record in iter_trec_documents(text):
    ...     print(record.id, record.fields)
    A-1 {'hl': 'Sort', 'text': 'of arrays'}
    """
    check_arguments(iter_trec_documents, max_bytes=max_bytes)
    return _documents(source, _field_map(fields), check_encoding(encoding), max_bytes)


def _documents(source, fields, encoding, max_bytes) -> Iterator[TextRecord]:
    name = source_name(source)
    for line, content in _records(source, "DOC", max_bytes, encoding):
        texts: dict[str, list[str]] = {}
        for element, text in _elements(content):
            if plain := _plain(text):
                texts.setdefault(element, []).append(plain)
        ids = texts.pop("docno", [])
        if len(ids) != 1:
            raise CorpusError(
                name, line, f"expected one <DOCNO> in the document, found {len(ids)}"
            )
        if fields is None:
            joined = {element: "\n".join(parts) for element, parts in texts.items()}
        else:
            joined = {
                field: "\n".join(part for tag in tags for part in texts.get(tag, []))
                for field, tags in fields.items()
            }
        yield TextRecord(checked_id(ids[0], name, line), joined, line)


def load_trec_documents(
    source: Source,
    *,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "utf-8",
    max_bytes: NBytes | None = None,
) -> TextCollection:
    """Load the documents of a TREC file.

    Parameters
    ----------
    source : str, path, file object or bytes
        Documents ``<DOC> <DOCNO>id</DOCNO> ... </DOC>``, possibly compressed by gzip,
        bzip2, xz or zip.
    fields : mapping of str to str or sequence of str, default=None
        The elements that make up each field, in any case; elements that are not named
        are left out. None makes a field of every element, with its name in lower case,
        and of the text in none of them the field ``"text"``.
    encoding : str, default="utf-8"
        Encoding of the text; old collections are in ``"latin-1"``.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    TextCollection
        Documents in the order of the file; a field that a document lacks is empty.

    Raises
    ------
    ValueError
        If there is text outside of the documents, or a document is not closed, or has
        not one id, or one that occurred before, or if ``fields`` is None and there are
        more than 256 different ones (the message names the file and the line), or if
        the file is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_trec_documents
    >>> text = b'''<DOC>
    ... <DOCNO>A-1</DOCNO> <HL>Sort</HL> <TEXT>of <B>arrays</B> &amp; lists</TEXT>
    ... </DOC>
    ... <DOC> <DOCNO>A-2</DOCNO> <TEXT>of graphs</TEXT> </DOC>'''
    >>> documents = load_trec_documents(text, fields={"title": "HL", "body": "TEXT"})
    >>> documents.fields
    {'title': ['Sort', ''], 'body': ['of arrays & lists', 'of graphs']}
    """
    records = iter_trec_documents(
        source, fields=fields, encoding=encoding, max_bytes=max_bytes
    )
    return collected(records, source, "documents <DOC>", chosen=fields is not None)


def load_trec_topics(
    source: Source,
    *,
    encoding: str = "utf-8",
    max_bytes: NBytes | None = None,
) -> TextCollection:
    """Load TREC topics, whose titles or descriptions are queries.

    Parameters
    ----------
    source : str, path, file object or bytes
        Topics ``<top> <num> Number: 301 <title> ... <desc> Description: ... <narr>
        Narrative: ... </top>``, whose elements may be closed or not, possibly
        compressed by gzip, bzip2, xz or zip.
    encoding : str, default="utf-8"
        Encoding of the text.
    max_bytes : int, default=None
        Largest number of bytes of the text, after unpacking, see `load_letor`.

    Returns
    -------
    TextCollection
        Topics in the order of the file, with the fields ``"title"``, ``"description"``
        and ``"narrative"``; the words "Number:", "Topic:", "Description:" and
        "Narrative:" at the beginning of an element are left out.

    Raises
    ------
    ValueError
        If there is text outside of the topics, or a topic is not closed, or has not one
        number, or one that occurred before (the message names the file and the line),
        or if the file is empty, damaged, or larger than ``max_bytes``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from skrank.datasets import load_trec_topics
    >>> topics = load_trec_topics(
    ...     b"<top> <num> Number: 301 <title> sorting <desc> Description: "
    ...     b"How to sort arrays? </top>")
    >>> topics.ids.tolist(), topics.fields["title"], topics.fields["description"]
    (['301'], ['sorting'], ['How to sort arrays?'])
    """
    check_arguments(load_trec_topics, max_bytes=max_bytes)
    records = _topics(source, check_encoding(encoding), max_bytes)
    return collected(records, source, "topics <top>")


def _topics(source, encoding, max_bytes) -> Iterator[TextRecord]:
    name = source_name(source)
    for line, content in _records(source, "top", max_bytes, encoding):
        parts = _parts_of_topic(content)
        if len(parts["num"]) != 1:
            raise CorpusError(
                name,
                line,
                f"expected one <num> in the topic, found {len(parts['num'])}",
            )
        plain = {
            element: _plain("\n".join(_without_label(text, element) for text in texts))
            for element, texts in parts.items()
        }
        yield TextRecord(
            checked_id(plain["num"], name, line, "topic"),
            {field: plain[element] for element, field in _TOPIC_FIELDS.items()},
            line,
        )


def _parts_of_topic(content: str) -> dict[str, list[str]]:
    """Return the texts of each element that is read of a topic.

    An element ends where another one begins, whether it is closed or not. Elements that
    are not read, such as ``<smry>``, begin a line; other tags are markup.
    """
    parts: dict[str, list[str]] = {element: [] for element in _LABELS}
    current, place, end = None, 0, 0
    for tag in _TAG.finditer(content):
        name, before, end = tag[2].lower(), content[end : tag.start()], tag.end()
        begins_line = "\n" in before and not before.rpartition("\n")[2].strip()
        if name not in parts and (tag[1] or not begins_line):
            continue
        if current in parts:
            parts[current].append(content[place : tag.start()])
        current, place = None if tag[1] else name, tag.end()
    if current in parts:
        parts[current].append(content[place:])
    return parts


def _without_label(text: str, element: str) -> str:
    """Return the text of an element without the word that begins it."""
    word, colon, rest = text.partition(":")
    return rest if colon and word.strip().lower() == _LABELS[element].lower() else text
