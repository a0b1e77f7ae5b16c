"""The Cranfield collection, in the files of the SMART system."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from skrank._core._id_arrays import id_array
from skrank._core._messages import shown
from skrank._core._parameters import NBytes
from skrank._core._paths import checked_path
from skrank._core._reading import source_name
from skrank._core._validation import check_arguments
from skrank.datasets._corpora import (
    CorpusError,
    TextRecord,
    checked_id,
    collected,
    decoded_lines,
)
from skrank.datasets._runs import Qrels
from skrank.text import TextCollection

_DOCUMENTS, _QUERIES, _JUDGEMENTS = "cran.all.1400", "cran.qry", "cranqrel"
_RECORD = re.compile(r"\.I\s+(\S+)\s*")
_SECTION = re.compile(r"\.([A-Z])\s*")
_NAMES = {"T": "title", "A": "author", "B": "source", "W": "text"}
# Code of the judgement file for the document from which a question came.
_SOURCE_CODE = -1

_DESCRIPTION = """\
Cranfield 1400: abstracts on aerodynamics
-----------------------------------------

Documents:  {n_documents} abstracts, with title, author, source and text.
Queries:    {n_queries} questions, numbered 1, 2, ... in the order of the file.
Judgements: {n_judgements}
{grades}

The files have some peculiarities:
- The judgements number the questions by their place in the file; the numbers that the
  file of questions gives them are others.
- The codes of the judgements fall with relevance: 1 is a complete answer and 4 of
  minimum interest. They are turned over here, so that grade 4 is the best one.
- The code -1, with which the judgements of every question end, is not among those that
  are documented. It is kept as grade -1, which means that a document has not been
  judged: measures take it for not relevant.
- The text of a document begins with its title.
- {n_empty} documents have no text.
"""


@dataclass(frozen=True, eq=False)
class CranfieldData:
    """Test collection of `load_cranfield`.

    Attributes
    ----------
    documents : TextCollection
        Documents with the fields ``"title"``, ``"author"``, ``"source"`` and
        ``"text"``.
    queries : TextCollection
        Queries with the field ``"text"``.
    qrels : Qrels
        Judgements with grades from 1 to 4, the best, and -1 for documents that were not
        judged.
    DESCR : str
        Description of the data.
    """

    documents: TextCollection
    queries: TextCollection
    qrels: Qrels
    DESCR: str = field(default="", repr=False)


def load_cranfield(
    folder: str | os.PathLike, *, max_bytes: NBytes | None = None
) -> CranfieldData:
    """Load the Cranfield collection: 1,400 abstracts, 225 questions and judgements.

    Parameters
    ----------
    folder : str or path
        Folder of the files ``cran.all.1400``, ``cran.qry`` and ``cranqrel``, as the
        SMART system had them.
    max_bytes : int, default=None
        Largest number of bytes of each text, see `load_letor`.

    Returns
    -------
    CranfieldData
        Documents, queries and judgements. Queries are numbered by their place in the
        file, as the judgements have it, and grades rise with relevance: 4 where the
        file says 1, a complete answer, and 1 where it says 4, of minimum interest. The
        attribute ``DESCR`` tells more.

    Raises
    ------
    ValueError
        If a file is damaged or empty, or a judgement names no document or no query
        (the message names the file and the line).
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.datasets import load_cranfield
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "cran.all.1400").write_text(".I 1\\n.T\\nlift\\n.W\\nof wings\\n")
    >>> _ = (folder / "cran.qry").write_text(".I 004\\n.W\\nwhat lifts a wing .\\n")
    >>> _ = (folder / "cranqrel").write_text("1 1 2\\n")
    >>> data = load_cranfield(folder)
    >>> data.queries.ids, data.queries.fields
    (array(['1'], dtype=object), {'text': ['what lifts a wing .']})
    >>> data.qrels.groups, data.qrels.docids, data.qrels.y
    (array(['1'], dtype='<U1'), array(['1'], dtype=object), array([3.]))
    """
    check_arguments(load_cranfield, max_bytes=max_bytes)
    paths = [
        Path(checked_path(folder, "folder")) / name
        for name in (_DOCUMENTS, _QUERIES, _JUDGEMENTS)
    ]
    documents = collected(
        _smart_records(paths[0], max_bytes), paths[0], "documents '.I'"
    )
    numbered = (
        record._replace(id=str(place))
        for place, record in enumerate(_smart_records(paths[1], max_bytes), start=1)
    )
    queries = collected(numbered, paths[1], "queries '.I'")
    qrels = _judgements(paths[2], documents, queries, max_bytes)
    return CranfieldData(
        documents, queries, qrels, _described(documents, queries, qrels)
    )


def _smart_records(source: Path, max_bytes: int | None) -> Iterator[TextRecord]:
    """Yield the records of a file: ``.I``, an id, and sections named by a letter.

    Sections that occur twice, as some do, are joined.
    """
    name, first = source_name(source), 0
    identity, sections, lines = "", {}, None
    for number, line in decoded_lines(source, max_bytes, "latin-1"):
        begins, section = _RECORD.fullmatch(line), _SECTION.fullmatch(line)
        if begins:
            if first:
                yield _record(identity, sections, first)
            first, identity = number, checked_id(begins[1], name, number)
            sections, lines = {}, None
        elif first and section and section[1] != "I":
            key = _NAMES.get(section[1], section[1].lower())
            lines = sections.setdefault(key, [])
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            wanted = "a section such as '.W'" if first else "'.I' and an id"
            raise CorpusError(name, number, f"expected {wanted}, found {shown(line)}")
    if first:
        yield _record(identity, sections, first)


def _record(identity: str, sections: dict[str, list[str]], line: int) -> TextRecord:
    texts = {key: "\n".join(lines).strip() for key, lines in sections.items()}
    return TextRecord(identity, texts, line)


def _judgements(
    source: Path,
    documents: TextCollection,
    queries: TextCollection,
    max_bytes: int | None,
) -> Qrels:
    """Return the judgements, with grades that rise with relevance."""
    name, rows = source_name(source), {}
    known = set(queries.ids.tolist()), set(documents.ids.tolist())
    for number, line in decoded_lines(source, max_bytes, "latin-1"):
        words = line.split()
        if not words:
            continue
        if len(words) != 3 or words[2] not in ("1", "2", "3", "4", str(_SOURCE_CODE)):
            raise CorpusError(
                name,
                number,
                "expected 'query document code' with a code from 1 to 4 or -1, found "
                f"{shown(line)}",
            )
        for word, ids, what in zip(words, known, ("query", "document")):
            if word not in ids:
                raise CorpusError(name, number, f"there is no {what} {shown(word)}")
        pair, code = (words[0], words[1]), int(words[2])
        if pair in rows:
            raise CorpusError(
                name,
                number,
                f"document {shown(pair[1])} occurs a second time for query {pair[0]}",
            )
        rows[pair] = float(code if code == _SOURCE_CODE else 5 - code)
    if not rows:
        raise ValueError(f"{name} has no lines 'query document code'")
    docids = np.empty(len(rows), dtype=object)
    docids[:] = [document for _, document in rows]
    return Qrels(
        id_array([query for query, _ in rows]), docids, np.array([*rows.values()])
    )


def _described(documents: TextCollection, queries: TextCollection, qrels: Qrels) -> str:
    meanings = {
        4: "a complete answer",
        3: "of a high degree of relevance",
        2: "useful",
        1: "of minimum interest",
        -1: "not documented",
    }
    return _DESCRIPTION.format(
        n_documents=len(documents),
        n_queries=len(queries),
        n_judgements=len(qrels.y),
        grades="\n".join(
            f"    {grade:>2}  {meaning}: {np.sum(qrels.y == grade)}"
            for grade, meaning in meanings.items()
        ),
        n_empty=sum(not text for text in documents.fields.get("text", [])),
    )
