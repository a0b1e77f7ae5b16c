"""``skrank index``, ``search`` and ``features``: texts in, runs and features out."""

import errno
import gzip
import io
import json
import os
import sys
import threading

import numpy as np
import pytest

from skrank.cli import main
from skrank.cli._text_options import _MODELS
from skrank.cli._texts import MODELS
from skrank.datasets import load_letor, load_run
from skrank.text import (
    BM25,
    RM3,
    InvertedIndex,
    LetorFeatures,
    LinkGraph,
    LMDirichlet,
    TextCollection,
    Tokenizer,
    load_index,
)

DOCUMENTS = TextCollection(
    ["d1", "d2", "d3", "d4"],
    {
        "title": ["Sorting", "Inverses", "Graphs", "Rows"],
        "text": [
            "Sort the rows of an array.",
            "Invert a matrix.",
            "Shortest paths of graphs.",
            "The rows of a matrix are sorted.",
        ],
    },
)
QUERIES = TextCollection(["q1", "q2"], {"text": ["sort rows", "matrix inverses"]})
QRELS = "q1 0 d1 2\nq1 0 d4 1\nq1 0 d3 -1\nq2 0 d2 2\n"


class Stdin:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def rows():
    return zip(DOCUMENTS.ids, DOCUMENTS.fields["title"], DOCUMENTS.fields["text"])


@pytest.fixture
def texts(tmp_path):
    """The same documents and queries in every format, and judgements."""
    contents = {
        "docs.jsonl": [
            json.dumps({"_id": name, "title": title, "text": text, "year": 1})
            for name, title, text in rows()
        ],
        "docs.trec": [
            f"<DOC><DOCNO> {name} </DOCNO>\n<TITLE>{title}</TITLE>\n"
            f"<TEXT>{text}</TEXT></DOC>"
            for name, title, text in rows()
        ],
        "docs.tsv": [f"{name}\t{title} {text}" for name, title, text in rows()],
        "queries.tsv": [f"{q}\t{t}" for q, t in zip(*of_queries())],
        "queries.jsonl": [
            json.dumps({"_id": q, "text": t}) for q, t in zip(*of_queries())
        ],
        "topics": [
            f"<top> <num> Number: {q} <title> {t} <desc> x </top>"
            for q, t in zip(*of_queries())
        ],
        "qrels": [QRELS.rstrip()],
    }
    for name, lines in contents.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def of_queries():
    return QUERIES.ids, QUERIES.fields["text"]


@pytest.fixture
def index(ok, texts):
    ok("index", texts / "docs.jsonl", "-o", texts / "index")
    return texts / "index"


def expected_run(model, queries=None, k=1000):
    """Lines of the run of a fitted model."""
    found, scores = model.retrieve(queries or QUERIES.fields["text"], k)
    return [
        (QUERIES.ids[q], DOCUMENTS.ids[d], rank, float(score))
        for q in range(len(QUERIES))
        for rank, (d, score) in enumerate(zip(found[q], scores[q]), 1)
        if d >= 0
    ]


def lines_of(text):
    fields = [line.split() for line in text.splitlines()]
    return [(f[0], f[2], int(f[3]), float(f[4])) for f in fields]


@pytest.mark.parametrize("name", ["docs.jsonl", "docs.trec", "docs.tsv"])
def test_formats_are_told_apart(ok, texts, name):
    ok("index", texts / name, "-o", texts / "index")
    index = load_index(texts / "index")
    assert index.ids_.tolist() == DOCUMENTS.ids.tolist()
    one_field = {"text": [f"{title} {text}" for _, title, text in rows()]}
    fields = one_field if name == "docs.tsv" else DOCUMENTS.fields
    expected = InvertedIndex().fit(fields)
    assert index.vocabulary_ == expected.vocabulary_
    for field in fields:
        np.testing.assert_array_equal(
            index.postings(field).counts.toarray(),
            expected.postings(field).counts.toarray(),
        )


def test_the_index_knows_how_terms_are_made(ok, texts):
    ok(
        *("index", texts / "docs.jsonl", "-o", texts / "a", "--fields", "text"),
        *("--stemmer", "porter", "--stop-words", "none", "--keep-case"),
        *("--keep-identifiers", "--positions"),
    )
    index = load_index(texts / "a")
    assert index.fields_ == ("text",)
    assert index.with_positions
    expected = {"stemmer": "porter", "stop_words": None, "lowercase": False}
    expected["split_identifiers"] = False
    assert index.tokenizer.get_params() == Tokenizer(**expected).get_params()


def test_fields_are_chosen_while_documents_are_read(ok, fails, texts):
    """All fields of some files are more than a collection may have."""
    records = [f"<DOC><DOCNO>{i}</DOCNO><a{i}>x</a{i}></DOC>" for i in range(300)]
    (texts / "many").write_text("\n".join(records))
    message = fails("index", texts / "many", "-o", texts / "a")
    assert "more than 256 different fields; name those to read in fields=" in message
    ok("index", texts / "many", "-o", texts / "a", "--fields", "a299,a7")
    assert load_index(texts / "a").fields_ == ("a299", "a7")


@pytest.mark.parametrize("name", ["queries.tsv", "queries.jsonl"])
def test_a_search_is_the_run_of_the_model(ok, index, texts, name):
    out = ok("search", index, texts / name)
    model = BM25().fit(DOCUMENTS)
    assert lines_of(out) == expected_run(model)
    assert {line.split()[5] for line in out.splitlines()} == {"bm25"}
    ok("search", index, texts / name, "-o", texts / "run")
    assert (texts / "run").read_text() == out
    assert load_run(texts / "run").tag == "bm25"


def test_models_and_their_parameters(ok, index, texts):
    queries = texts / "topics"
    base = ["search", index, queries, "--query-field", "title"]
    out = ok(*base, "--model", "LMIR.DIR", "--set", "mu=7", "--field", "text", "-k", 1)
    model = LMDirichlet(mu=7, field="text").fit(DOCUMENTS)
    assert lines_of(out) == expected_run(model, k=1)
    out = ok(*base, "--rm3", "--rm3-set", "n_terms=2", "--set", "k1=2", "--tag", "x")
    model = BM25(k1=2)
    expander = RM3(model=model, n_terms=2).fit(DOCUMENTS)
    queries = expander.expand(QUERIES.fields["text"])
    assert lines_of(out) == expected_run(model.fit(DOCUMENTS), queries)
    assert out.splitlines()[0].endswith(" x")
    assert tuple(MODELS) == _MODELS
    for name in _MODELS:
        found = {line[0] for line in lines_of(ok(*base, "--model", name))}
        assert found == {"q1", "q2"}


def test_features_are_those_of_the_extractor(ok, index, texts):
    out = texts / "letor.txt"
    base = ["features", index, texts / "queries.tsv", "--qrels", texts / "qrels"]
    ok(*base, "-o", out, "--names", texts / "names")
    found, _ = BM25().fit(DOCUMENTS).retrieve(QUERIES.fields["text"], 100)
    query_of, place = np.nonzero(found >= 0)
    documents = found[query_of, place]
    extractor = LetorFeatures().fit(DOCUMENTS)
    X = extractor.extract(QUERIES.fields["text"], query_of, documents)
    data = load_letor(out, dtype=np.float64)
    np.testing.assert_array_equal(data.X, X)
    assert data.docids.tolist() == DOCUMENTS.ids[documents].tolist()
    assert data.groups.tolist() == QUERIES.ids[query_of].tolist()
    judged = {("q1", "d1"): 2, ("q1", "d4"): 1, ("q2", "d2"): 2}
    pairs = zip(data.groups.tolist(), data.docids.tolist())
    assert data.y.tolist() == [judged.get(pair, 0) for pair in pairs]
    assert (texts / "names").read_text().splitlines() == extractor.feature_names_
    assert ok(*base) == out.read_text()
    ok(*base, "-o", texts / "packed.gz")
    assert gzip.decompress((texts / "packed.gz").read_bytes()) == out.read_bytes()


def test_features_of_a_run_in_its_order(ok, index, texts):
    run = "q2 Q0 d3 1 5 a\nq1 Q0 d2 1 4 a\nq2 Q0 d1 2 4 a\n"
    (texts / "run").write_text(run)
    out = ok(
        *("features", index, texts / "queries.jsonl", "--run", texts / "run"),
        *("--fields", "whole,title"),
    )
    data = load_letor(io.BytesIO(out.encode()), dtype=np.float64)
    assert data.docids.tolist() == ["d2", "d3", "d1"]
    assert data.y.tolist() == [0.0] * 3
    extractor = LetorFeatures(fields=["whole", "title"]).fit(DOCUMENTS)
    X = extractor.extract(QUERIES.fields["text"], [0, 1, 1], [1, 2, 0])
    np.testing.assert_array_equal(data.X, X)


def test_tables_of_features_with_links_and_urls(ok, index, texts):
    (texts / "links").write_text("d1 d2\nd3 d2\nd3 d1\nd3 d9\n")
    urls = [f"{name}\thttp://a.org/{'x/' * i}" for i, name in enumerate(DOCUMENTS.ids)]
    (texts / "urls").write_text("\n".join(urls[::-1]) + "\n")
    out = ok(
        *("features", index, texts / "queries.tsv", "--feature-set", "letor4"),
        *("--links", texts / "links", "--urls", texts / "urls", "--outside", "ignore"),
        *("--names", texts / "names"),
    )
    names = (texts / "names").read_text().splitlines()
    assert "title.bm25" in names
    assert "body.bm25" not in names  # there is no such field
    data = load_letor(io.BytesIO(out.encode()), dtype=np.float64)
    graph = LinkGraph.from_edges([0, 2, 2], [1, 1, 0], n_nodes=4)
    extractor = LetorFeatures(feature_set=names).fit(
        DOCUMENTS, links=graph, urls=[line.split("\t")[1] for line in urls]
    )
    query_of = [("q1", "q2").index(query) for query in data.groups.tolist()]
    documents = [DOCUMENTS.ids.tolist().index(name) for name in data.docids]
    X = extractor.extract(QUERIES.fields["text"], query_of, documents)
    np.testing.assert_array_equal(data.X, X)
    ok(
        *("features", index, texts / "queries.tsv", "--feature-set", "ohsumed"),
        *("--names", texts / "names", "-o", texts / "out"),
    )
    fields = {name.split(".")[0] for name in (texts / "names").read_text().split()}
    assert fields == {"title", "whole"}


def test_pipes_and_standard_streams(texts, monkeypatch, capsysbinary):
    def piped(content, *arguments):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        assert main([str(each) for each in arguments]) == 0
        return capsysbinary.readouterr().out

    content = (texts / "docs.jsonl").read_bytes()
    stored = piped(gzip.compress(content), "index", "-", "-o", "-")
    (texts / "index").write_bytes(stored)
    assert load_index(texts / "index").ids_.tolist() == DOCUMENTS.ids.tolist()
    from_file = piped(b"", "search", texts / "index", texts / "queries.tsv")
    assert piped(stored, "search", "-", texts / "queries.tsv") == from_file
    queries = (texts / "topics").read_bytes()
    asked = ("-", "--query-field", "title")
    assert piped(queries, "search", texts / "index", *asked) == from_file
    fifo = texts / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(stored,))
    writer.start()
    assert piped(b"", "search", fifo, texts / "queries.tsv") == from_file
    writer.join()


def test_queries_without_documents_are_told(run, index, texts):
    (texts / "asked").write_text("q1\tsort\nq7\tunheard\n")
    code, out, err = run("search", index, texts / "asked")
    assert code == 0
    assert {line[0] for line in lines_of(out)} == {"q1"}
    warning = "skrank: warning: 1 of 2 queries have no document, such as 'q7'\n"
    assert err == warning
    code, _, err = run("features", index, texts / "asked", "--qrels", texts / "qrels")
    assert code == 0
    told = "skrank: warning: 1 of 2 queries have no judgements, such as 'q7'\n"
    assert err == told + warning
    (texts / "asked").write_text("q7\tunheard\n")
    assert run("search", index, texts / "asked")[:2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "absent", "-o", "out"], "absent: No such file or directory"),
        (["index", "docs.jsonl", "-o", "no/out"], "no/out"),
        (["index", "docs.jsonl", "--fields", "a", "-o", "out"], "field 'a' is empty"),
        (["index", "docs.trec", "--fields", "a", "-o", "out"], "field 'a' is empty"),
        (["index", "queries.tsv", "--fields", "a", "-o", "out"], "and no 'a'"),
        (["index", "docs.tsv", "--fields", "a,,b", "-o", "out"], "different names"),
        (["index", ".", "-o", "out"], "folder without the files of the Cranfield"),
        (["index", ".", "--format", "tsv", "-o", "out"], "is a folder, which"),
        (["index", "docs.tsv", "--format", "cranfield", "-o", "out"], "takes a folder"),
        (["index", "docs.jsonl", "--format", "trec", "-o", "out"], "line 1: "),
        (["index", "docs.trec", "--format", "jsonl", "-o", "out"], "line 1: no JSON"),
        (["index", "docs.jsonl", "--encoding", "ascii", "-o", "out"], "has no effect"),
        (
            ["index", "docs.tsv", "--encoding", "utf-99", "-o", "out"],
            "encoding must be",
        ),
        (["index", "docs.jsonl", "--max-bytes", "10", "-o", "out"], "10 bytes"),
        (["search", "docs.tsv", "queries.tsv"], "docs.tsv is not a valid index file"),
        (["search", "index", "topics"], "fields title, description; choose one by"),
        (["search", "index", "topics", "--query-field", "x"], "and no 'x'"),
        (["search", "index", "queries.tsv", "--model", "bm52"], "did you mean 'bm25'?"),
        (["search", "index", "queries.tsv", "--set", "k=1"], "no parameter 'k'"),
        (["search", "index", "queries.tsv", "--set", "k1=-1"], "k1 must be"),
        (["search", "index", "queries.tsv", "--field", "body"], "field must be one of"),
        (["search", "index", "queries.tsv", "-k", "0"], "-k must be at least 1"),
        (["search", "index", "queries.tsv", "--tag", "a b"], "--tag must be a word"),
        (
            ["search", "index", "queries.tsv", "--rm3", "--rm3-set", "n_terms"],
            "--rm3-set takes PARAM=VALUE",
        ),
        (
            ["search", "index", "queries.tsv", "--field", "text", "--set", "field=x"],
            "--field and --set field exclude each other",
        ),
        (
            ["features", "index", "queries.tsv", "--fields", "x"],
            "fields must be names among",
        ),
        (
            ["features", "index", "queries.tsv", "--feature-set", "x.y"],
            "feature_set must name features",
        ),
        (["features", "index", "queries.tsv", "--run", "run"], "has the query 'q9'"),
        (["features", "index", "queries.tsv", "--run", "run2"], "the document 'd9'"),
        (["features", "index", "queries.tsv", "--qrels", "qrels2"], "judges none"),
        (
            ["features", "index", "queries.tsv", "--urls", "u", "--feature-set", "gov"],
            "has no URL of 3 documents, such as 'd2'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_a_line(
    fails, index, texts, monkeypatch, arguments, message
):
    (texts / "run").write_text("q9 Q0 d1 1 1 a\n")
    (texts / "run2").write_text("q1 Q0 d9 1 1 a\n")
    (texts / "qrels2").write_text("q9 0 d1 1\n")
    (texts / "u").write_text("d1\thttp://a.org/\n")
    monkeypatch.chdir(texts)
    assert message in fails(*arguments)
    assert not (texts / "out").exists()


@pytest.mark.parametrize(
    ("option", "features"),
    [
        ("--links", "title.bm25"),
        ("--links", "title.bm25,page.url_length"),
        ("--urls", "title.bm25,page.inlinks"),
        ("--links", "ohsumed"),
        ("--urls", "ohsumed"),
    ],
)
def test_links_and_urls_that_no_feature_needs(fails, index, texts, option, features):
    (texts / "links").write_text("d1 d2\n")
    (texts / "urls").write_text("".join(f"d{i}\ta.org/{i}\n" for i in range(1, 5)))
    given = {"--links": texts / "links", "--urls": texts / "urls"}
    if "page." not in features:
        given = {option: given[option]}
    error = fails(
        *("features", index, texts / "queries.tsv", "--feature-set", features),
        *(part for pair in given.items() for part in pair),
    )
    assert f"{option} has no effect with these features" in error


def test_a_full_folder_for_temporary_files_is_told_by_the_output(
    fails, index, texts, monkeypatch
):
    def no_space(*args, **kwargs):
        path = next(a for a in args if isinstance(a, str) and a.endswith("output"))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr("skrank.cli._features.dump_letor", no_space)
    monkeypatch.setattr("skrank.cli._index.save_index", no_space)
    for arguments in (
        ("features", index, texts / "queries.tsv"),
        ("index", texts / "docs.jsonl", "-o", "-"),
    ):
        assert fails(*arguments) == (
            "<stdout>: No space left on device, in the folder for temporary files"
        )


def test_a_full_folder_for_temporary_files_is_told_by_the_input(
    fails, index, texts, monkeypatch
):
    """A copy of what comes through a pipe may have no room, nor a folder for it."""
    full = "<stdin>: No space left on device, in the folder for temporary files"

    class Full(io.BytesIO):
        def write(self, _):  # of a file, it names none
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(path, *args, **kwargs):
        is_copy = str(path).endswith(f"{os.sep}index") and "w" in str(args)
        return Full() if is_copy else open(path, *args, **kwargs)

    def no_folder(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/tmpxyz")

    content = index.read_bytes()
    monkeypatch.setattr("skrank.cli._texts.open", opened, raising=False)
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    assert fails("search", "-", texts / "queries.tsv") == full
    monkeypatch.setattr("skrank.cli._texts.open", open)
    monkeypatch.setattr("skrank.cli._texts.tempfile.TemporaryDirectory", no_folder)
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    assert fails("search", "-", texts / "queries.tsv") == full
    told = fails("index", texts / "docs.jsonl", "-o", "-")
    assert told == full.replace("<stdin>", "<stdout>")


def test_all_files_are_read_before_the_search(fails, index, texts, monkeypatch):
    def search(*given):
        raise AssertionError("the search has begun")

    monkeypatch.setattr("skrank.cli._texts.Search.find", search)
    (texts / "damaged").write_text("q1 0\n")
    base = ["features", index, texts / "queries.tsv", "--qrels"]
    assert "absent: No such file" in fails(*base, texts / "absent")
    assert "damaged, line 1: " in fails(*base, texts / "damaged")


@pytest.mark.parametrize("command", ["search", "features"])
def test_results_are_packed_by_their_names(ok, index, texts, command):
    for name in ("out", "out.gz"):
        ok(command, index, texts / "queries.tsv", "-o", texts / name)
    packed = (texts / "out.gz").read_bytes()
    assert gzip.decompress(packed) == (texts / "out").read_bytes()


def test_an_index_needs_ids(fails, texts):
    from skrank.text import save_index

    save_index(InvertedIndex().fit(["a", "b"]), texts / "bare")
    assert "has no ids of documents" in fails(
        "search", texts / "bare", texts / "queries.tsv"
    )


def test_files_of_a_folder_that_is_read_are_not_written(fails, tmp_path):
    folder = tmp_path / "data"
    (folder / "more").mkdir(parents=True)
    for path in (folder / "cran.all.1400", folder / "more" / "text"):
        path.write_text("mine")
        message = fails("index", folder, "-o", path)
        assert message == f"{path} is read; a command cannot write to it as well"
        assert path.read_text() == "mine"


def test_the_cranfield_collection_from_files_to_a_trained_ranker(
    ok, data_dir, tmp_path
):
    folder = data_dir / "Cranfield"
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}")
    ok("index", folder, "--fields", "title,text", "-o", tmp_path / "index")
    out = ok("search", tmp_path / "index", folder, "-k", 5)
    assert len(out.splitlines()) == 5 * 225
    ok(
        *("features", tmp_path / "index", folder, "-k", 5),
        *("-o", tmp_path / "letor.txt"),
    )
    assert load_letor(tmp_path / "letor.txt").X.shape == (1125, 72)
