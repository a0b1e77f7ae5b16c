"""Readers of documents and queries: formats, damage, limits, and arbitrary bytes."""

import gzip
import io
import json
import re

import numpy as np
import pytest
from fuzz._mutate import mutate
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.datasets import (
    iter_jsonl_documents,
    iter_trec_documents,
    judge_run,
    load_cranfield,
    load_jsonl_documents,
    load_jsonl_queries,
    load_trec_documents,
    load_trec_topics,
    load_tsv_queries,
)
from skrank.text import BM25, InvertedIndex, TextCollection

TREC = b"""<?xml version="1.0"?>
<DOC>
<DOCNO> AP-1 </DOCNO>
<!-- a comment <TEXT>that is none</TEXT> -->
<HEAD>Sorting &amp; searching</HEAD>
<HEAD>in 1973</HEAD>
<TEXT>
<P>  Of   arrays,
and <F P=105>lists</F>.
</TEXT>
</DOC>
<doc><docno>AP-2</docno>loose <text>inner</text> ends</doc><DOC>
<DOCNO>AP-3</DOCNO></DOC>
"""
TOPICS = b"""<top>
<num> Number: 301
<title> International: crime

<desc> Description:
Who is <i>involved</i>?

<narr> Narrative:
As much as
possible.
</top>
<top><num>302</num><title>Topic: polio</title><narr>All: of it.</narr>
<smry> Summary: left out <fac>
<desc>b</desc></top>
"""
JSONL = b"""{"_id": "d1", "title": "Sort", "text": "of arrays", "metadata": {"y": 1}}

{"id": 7, "text": "of \\u4e2d", "url": null}
"""
TSV = b"q1\tsort rows\r\n\nq2\t\nq3\ta\tb\n"


def write_cranfield(folder, documents, queries, judgements):
    """Write the three files of the collection."""
    (folder / "cran.all.1400").write_bytes(documents)
    (folder / "cran.qry").write_bytes(queries)
    (folder / "cranqrel").write_bytes(judgements)
    return folder


CRANFIELD = (
    b".I 1\r\n.T\r\nlift .\r\n.A\r\na,b.\r\n.B\r\n.W\r\nlift .\r\n  of wings .\r\n"
    b".I 2\n.T\n.A\n.B\n.W\n.I 3\n.T\nheat\n.W\none\n.W\ntwo\n",
    b".I 001\n.W\nwhat lifts\na wing .\n.I 004\n.W\nheat ?\n",
    b"1 1 1\r\n1 3 4 \r\n2 3 2\n2 2 -1",
)


def test_trec_documents():
    documents = load_trec_documents(TREC)
    assert documents.ids.tolist() == ["AP-1", "AP-2", "AP-3"]
    assert documents.fields == {
        "head": ["Sorting & searching\nin 1973", "", ""],
        "text": ["Of arrays,\nand lists .", "loose\ninner\nends", ""],
    }
    chosen = load_trec_documents(
        TREC, fields={"title": ["HL", "Head"], "all": ("head", "TEXT"), "none": "X"}
    )
    assert chosen.fields["title"] == documents.fields["head"]
    assert chosen.fields["all"][0] == "\n".join(
        [documents.fields["head"][0], documents.fields["text"][0]]
    )
    assert chosen.fields["none"] == ["", "", ""]
    assert [r.line for r in iter_trec_documents(TREC)] == [2, 12, 12]


def test_trec_topics():
    topics = load_trec_topics(TOPICS)
    assert topics.ids.tolist() == ["301", "302"]
    assert topics.fields == {
        "title": ["International: crime", "polio"],
        "description": ["Who is involved ?", "b"],
        "narrative": ["As much as\npossible.", "All: of it."],
    }


def test_json_lines():
    documents = load_jsonl_documents(JSONL)
    assert documents.ids.tolist() == ["d1", "7"]
    assert documents.fields == {"title": ["Sort", ""], "text": ["of arrays", "of 中"]}
    chosen = load_jsonl_queries(JSONL, fields=["url", "text"])
    assert list(chosen.fields) == ["url", "text"]
    assert chosen.fields["url"] == ["", ""]
    assert load_jsonl_queries(b'{"a": "x", "_id": "y"}', id_key="a").ids == ["x"]
    pair = load_jsonl_documents(b'{"id": "\\ud83d\\ude00", "t": "\\ud83d\\ude01"}')
    assert pair.ids.tolist() == ["\U0001f600"]
    assert pair.fields == {"t": ["\U0001f601"]}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"id": "a\\ud800"}', r"the id .*'\\ud800', as character 2,"),
        (b'{"id": 1, "t": "\\udfff"}', r"the text of 't' .*'\\udfff', as character 1,"),
        (b'{"id": 1, "\\ud800": "b"}', r"the key '\\ud800' "),
    ],
)
def test_halves_of_surrogate_pairs_are_refused(line, what):
    """JSON can say them, and neither an index nor a run can be printed with them."""
    message = f"^<text>, line 2: {what}.* which UTF-8 cannot hold"
    for load in (load_jsonl_documents, load_jsonl_queries):
        with pytest.raises(ValueError, match=message):
            load(b'{"id": 0}\n' + line)
    # What is not read may be anything.
    unread = b'{"id": 1, "t": "\\ud800", "u": "b"}'
    assert load_jsonl_documents(unread, fields=["u"]).fields == {"u": ["b"]}


def test_encodings_may_hold_halves_of_surrogate_pairs():
    with pytest.raises(ValueError, match=r"line 2: the line has half of .*'\\ud800'"):
        load_tsv_queries(b"q\ta\nr\t+2AA-", encoding="utf-7")
    assert load_tsv_queries(b"r\t+2D3eAA-", encoding="UTF-7").fields == {"text": ["😀"]}


def test_tsv_queries():
    queries = load_tsv_queries(TSV)
    assert queries.ids.tolist() == ["q1", "q2", "q3"]
    assert queries.fields == {"text": ["sort rows", "", "a\tb"]}
    with pytest.raises(ValueError, match="has no lines of text"):
        load_tsv_queries(b"\n")
    assert load_tsv_queries(b"q\t\xe9", encoding="latin-1").fields == {"text": ["é"]}


def test_cranfield(tmp_path):
    data = load_cranfield(write_cranfield(tmp_path, *CRANFIELD))
    assert data.documents.ids.tolist() == ["1", "2", "3"]
    assert data.documents.fields == {
        "title": ["lift .", "", "heat"],
        "author": ["a,b.", "", ""],
        "source": ["", "", ""],
        "text": ["lift .\n  of wings .", "", "one\ntwo"],
    }
    # Queries have the number of their place, not that of the file.
    assert data.queries.ids.tolist() == ["1", "2"]
    assert data.queries.fields == {"text": ["what lifts\na wing .", "heat ?"]}
    assert data.qrels.groups.tolist() == ["1", "1", "2", "2"]
    assert data.qrels.docids.tolist() == ["1", "3", "3", "2"]
    assert data.qrels.y.tolist() == [4, 1, 3, -1]
    assert "1 documents have no text" in data.DESCR


def test_the_cranfield_collection(data_dir):
    data = load_cranfield(data_dir / "Cranfield")
    text = (data_dir / "Cranfield" / "cran.all.1400").read_text("ascii")
    assert len(data.documents) == 1400 == len(re.findall(r"(?m)^\.I \d+$", text))
    assert data.documents.ids.tolist() == [str(i) for i in range(1, 1401)]
    # Every word is in a field, and nothing but words of fields is.
    words = re.sub(r"(?m)^\.(I \d+|[TABW])$", "", text).split()
    rows = zip(*data.documents.fields.values())
    assert sorted(" ".join(" ".join(row) for row in rows).split()) == sorted(words)
    assert data.queries.ids.tolist() == [str(i) for i in range(1, 226)]
    lines = (data_dir / "Cranfield" / "cranqrel").read_text("ascii").split("\n")
    codes = [int(line.split()[2]) for line in lines if line.strip()]
    assert [-1 if code == -1 else 5 - code for code in codes] == data.qrels.y.tolist()
    # Documents of better grades are found earlier, and so are those of grade -1.
    ranks = (-BM25().fit(data.documents).score(data.queries.fields["text"])).argsort()
    rank = ranks.argsort()[
        data.queries.find(data.qrels.groups.tolist()),
        data.documents.find(data.qrels.docids.tolist()),
    ]
    medians = [np.median(rank[data.qrels.y == grade]) for grade in (-1, 4, 3, 2, 1)]
    assert medians == sorted(medians)


def test_readers_feed_indices_and_measures(tmp_path):
    data = load_cranfield(write_cranfield(tmp_path, *CRANFIELD))
    model = BM25().fit(data.documents)
    assert model.index_.ids_.tolist() == ["1", "2", "3"]
    found, scores = model.retrieve(data.queries.fields["text"], k=3)
    run = {
        query: {model.index_.ids_[d]: s for d, s in zip(*row) if d >= 0}
        for query, row in zip(data.queries.ids, zip(found, scores))
    }
    judged = judge_run(data.qrels, run)
    assert judged.n_relevant().tolist() == [2, 1]


READERS = {
    load_trec_documents: TREC,
    load_trec_topics: TOPICS,
    load_jsonl_documents: JSONL,
    load_jsonl_queries: JSONL,
    load_tsv_queries: TSV,
}


@pytest.mark.parametrize("load", READERS)
def test_files_packed_or_not_are_one_text(load, tmp_path):
    text = READERS[load]
    expected = load(text)
    plain, packed = tmp_path / "a.txt", tmp_path / "a.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + text)
    packed.write_bytes(gzip.compress(text))
    for source in (plain, str(packed), io.BytesIO(text), text.replace(b"\n", b"\r\n")):
        found = load(source)
        assert found.ids.tolist() == expected.ids.tolist()
        assert found.fields == expected.fields


@pytest.mark.parametrize("load", READERS)
def test_limits_and_damaged_files_are_named(load, tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(READERS[load])[:-9])
    with pytest.raises(ValueError, match=r"a\.gz is damaged"):
        load(path)
    path.write_bytes(gzip.compress(READERS[load]))
    for source in (path, READERS[load], io.BytesIO(READERS[load])):
        with pytest.raises(ValueError, match="holds more than 20 bytes"):
            load(source, max_bytes=20)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.gz is empty"):
        load(path)
    with pytest.raises(ValueError, match="has no "):
        load(b"\n \n")
    with pytest.raises(ValueError, match=r"^<text> is UTF-16 text"):
        load(b"\xff\xfea\0")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


@pytest.mark.parametrize(
    ("load", "text", "message"),
    [
        (load_trec_documents, b"\nhello", "line 2: expected <DOC>, found 'hello'"),
        (load_trec_documents, b"<DOC>\n<DOCNO>1", "line 1: <DOC> is never closed"),
        (load_trec_documents, b"\n</DOC>", "line 2: </DOC> without a <DOC> before it"),
        (
            load_trec_documents,
            b"<DOC>\n<DOC>",
            "line 2: <DOC> within the one .* line 1",
        ),
        (
            load_trec_documents,
            b"<DOC></DOC>",
            "line 1: expected one <DOCNO> .* found 0",
        ),
        (
            load_trec_documents,
            b"<DOC><DOCNO>1</DOCNO><DOCNO>2</DOCNO></DOC>",
            "line 1: expected one <DOCNO> in the document, found 2",
        ),
        (
            load_trec_documents,
            b"<DOC><DOCNO>1 2</DOCNO></DOC>",
            "line 1: expected the id of a document, one word, found '1 2'",
        ),
        (
            load_trec_documents,
            b"<DOC><DOCNO>1</DOCNO></DOC>\n" * 2,
            "line 2: the id '1' occurs a second time, first in line 1",
        ),
        (load_trec_documents, b"<DOC>\n\xff", "line 2: byte 0xff is no utf-8 text"),
        (load_trec_topics, b"<top>\n</top>", "line 1: expected one <num> .* found 0"),
        (load_trec_topics, b"<top><num> </top>", "line 1: expected the id of a topic"),
        (load_trec_topics, b"a", "line 1: expected <top>, found 'a'"),
        (load_jsonl_documents, b"\n{]", "line 2: no JSON: "),
        (load_jsonl_documents, b"[1]", r"line 1: expected a JSON object .* \[1\]"),
        (load_jsonl_documents, b"[" * 10**5, "line 1: the JSON is nested too deeply"),
        (load_jsonl_documents, b"1" * 5000, "line 1: no JSON: a number is too long"),
        (load_jsonl_documents, b"{}", "line 1: .* as '_id', found no such key"),
        (
            load_jsonl_documents,
            b'{"id": true}',
            "line 1: .* number as 'id', found True",
        ),
        (load_jsonl_documents, b'{"id": ""}', "line 1: expected the id of a document"),
        (load_jsonl_documents, b'{"id":1}\n{"id":"1"}', "line 2: the id '1' occurs a"),
        (load_jsonl_documents, b"\xe9", "line 1: byte 0xe9 is no utf-8 text"),
        (load_tsv_queries, b"a\tb\nc d", "line 2: expected an id, a tab .* 'c d'"),
        (load_tsv_queries, b"\tb", "line 1: expected the id of a query, one word, f"),
        (load_tsv_queries, b"a\tb\na\tc", "line 2: the id 'a' occurs a second time"),
    ],
)
def test_damage_is_named_with_its_line(load, text, message, tmp_path):
    path = tmp_path / "texts"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=rf"texts, {message}") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_fields_of_json_lines_must_be_strings():
    with pytest.raises(ValueError, match="line 1: expected a string as 'a', found 3"):
        load_jsonl_documents(b'{"id": 1, "a": 3}', fields=["a"])


def own_fields(n, load):
    """Return n documents in lines, of which each has a field that no other has."""
    if load is load_trec_documents:
        lines = [f"<DOC><DOCNO>{i}</DOCNO><a{i}>x</a{i}></DOC>" for i in range(n)]
    else:
        lines = [json.dumps({"id": i, f"a{i}": "x"}) for i in range(n)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("load", [load_trec_documents, load_jsonl_documents])
def test_fields_that_nobody_chose_are_limited(load):
    # A place for each document in each field would fill the memory.
    assert len(load(own_fields(256, load)).fields) == 256
    message = r"^<text>, line 257: .* more than 256 different fields; .* fields= \(--f"
    with pytest.raises(ValueError, match=message):
        load(own_fields(300, load))
    names = [f"a{i}" for i in range(300)]
    is_trec = load is load_trec_documents
    chosen = load(
        own_fields(300, load), fields=dict(zip(names, names)) if is_trec else names
    )
    assert list(chosen.fields) == names
    assert chosen.fields["a299"] == [""] * 299 + ["x"]


@pytest.mark.parametrize(
    ("place", "text", "message"),
    [
        (0, b"hello", r"cran\.all\.1400, line 1: expected '\.I' and an id, found 'hel"),
        (0, b".I 1\nhello", "line 2: expected a section such as '.W', found 'hello'"),
        (0, b".I 1\n.W\n.I 1\n.W\n", "line 3: the id '1' occurs a second time"),
        (1, b"\n", r"cran\.qry has no queries '\.I'"),
        (2, b"1 1", "cranqrel, line 1: expected 'query document code' .* found '1 1'"),
        (2, b"1 1 5", "cranqrel, line 1: .*a code from 1 to 4 or -1, found '1 1 5'"),
        (2, b"\n3 1 1", "cranqrel, line 2: there is no query '3'"),
        (2, b"1 9 1", "cranqrel, line 1: there is no document '9'"),
        (2, b"1 1 1\n1 1 2", "cranqrel, line 2: document '1' occurs a second time"),
        (2, b"\n", "cranqrel has no lines 'query document code'"),
    ],
)
def test_damage_of_cranfield_is_named(place, text, message, tmp_path):
    files = list(CRANFIELD)
    files[place] = text
    write_cranfield(tmp_path, *files)
    with pytest.raises(ValueError, match=message):
        load_cranfield(tmp_path)


def test_missing_files_of_cranfield(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cran\.all\.1400"):
        load_cranfield(tmp_path)


def test_records_come_one_by_one():
    records = iter_trec_documents(TREC + b"<DOC>")
    assert [next(records).id for _ in range(3)] == ["AP-1", "AP-2", "AP-3"]
    with pytest.raises(ValueError, match="is never closed"):
        next(records)
    record = next(iter_jsonl_documents(JSONL + b"damage"))
    assert record == ("d1", {"title": "Sort", "text": "of arrays"}, 1)


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=5
    )
)
@settings(deadline=None, max_examples=50)
def test_json_lines_come_back_as_they_were(rows):
    lines = [
        json.dumps({"_id": str(i), "title": title, "text": text})
        for i, (title, text) in enumerate(rows)
    ]
    documents = load_jsonl_documents("\n".join(lines).encode())
    assert list(zip(*documents.fields.values())) == rows


WORDS = [
    *(b"<DOC>", b"</DOC>", b"<DOCNO>", b"</DOCNO>", b"<TEXT>", b"</TEXT>", b"<!--"),
    *(b"-->", b"<top>", b"</top>", b"<num>", b"<P", b"&#x110000;", b"&amp", b"\xff"),
    *(
        b'{"_id": "',
        b'"}',
        b"{",
        b"[",
        b'"\\ud800"',
        b"1e999",
        b"NaN",
        b"\t",
        b"\n.I 1",
    ),
    *(b"\n.W\n", b"\r", b"\0", b"\x1b[", "é".encode(), b"1 1 1\n", b".I ", b"<" * 50),
]


def outcome(load, *arguments):
    """Return "" if a reader reads or refuses in one line, otherwise what is wrong."""
    try:
        found = load(*arguments)
    except ValueError as error:
        message = str(error)
        fine = len(message.split()) > 2 and message.isprintable()
        return "" if fine and not isinstance(error, UnicodeError) else repr(error)
    texts = found if isinstance(found, TextCollection) else found.documents
    InvertedIndex().fit(texts)
    for column in texts.fields.values():
        "".join(column).encode()
    return ""


@pytest.mark.parametrize("load", READERS)
def test_arbitrary_bytes_are_read_or_refused(load):
    rng = np.random.default_rng(0)
    cases = [mutate(READERS[load], WORDS, rng) for _ in range(150)]
    assert [outcome(load, case) for case in cases] == [""] * len(cases)


def test_arbitrary_files_of_cranfield_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(40):
        files = [mutate(text, WORDS, rng) for text in CRANFIELD]
        for changed in range(3):
            mixed = [*CRANFIELD[:changed], files[changed], *CRANFIELD[changed + 1 :]]
            assert outcome(load_cranfield, write_cranfield(tmp_path, *mixed)) == ""


@pytest.mark.parametrize(
    "text",
    [
        b"<DOC><DOCNO>1</DOCNO>" + b"<!--" * 10**5 + b"</DOC>",
        b"<DOC><DOCNO>1</DOCNO>" + b"<P>" * 10**5 + b"</DOC>",
        b"<DOC><DOCNO>1</DOCNO><" + b"a" * 10**6 + b"</DOC>",
        b"<DOC><DOCNO>1</DOCNO>" + b"<a " * 10**5 + b"</DOC>",
    ],
    ids=["comments", "open", "long", "broken"],
)
def test_hostile_markup_takes_linear_time(text):
    # Quadratic time would take hours of a test that takes milliseconds.
    assert load_trec_documents(text).ids.tolist() == ["1"]


def test_documents_without_any_text_are_refused():
    lists = b'{"_id": "a", "body": ["the fox"]}\n{"_id": "b", "body": {"t": "a dog"}}\n'
    with pytest.raises(ValueError, match="none of the 2 documents has a text, which"):
        load_jsonl_documents(lists)
    with pytest.raises(ValueError, match="none of the 2 queries has a text, which"):
        load_jsonl_queries(lists)
    more = load_jsonl_documents(lists + b'{"_id": "c", "title": "x"}\n')
    assert more.fields == {"title": ["", "", "x"]}
