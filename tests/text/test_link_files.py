"""Graphs from files of edges and from the URLs that stand in pages."""

import gzip
from typing import Any, cast

import numpy as np
import pytest

from skrank.text import LinkGraph

EDGES = b"# from to\na b\r\nb  c\n\nc a\na b\n"


def links_of(graph):
    rows, columns = graph.matrix.nonzero()
    return set(zip(graph.ids[rows].tolist(), graph.ids[columns].tolist()))


def test_edges_are_read_from_any_source(tmp_path):
    path = tmp_path / "links.txt"
    path.write_bytes(EDGES)
    (tmp_path / "links.gz").write_bytes(gzip.compress(EDGES))
    for source in (EDGES, path, str(path), tmp_path / "links.gz"):
        graph = LinkGraph.from_file(source)
        assert graph.ids.tolist() == ["a", "b", "c"]
        assert links_of(graph) == {("a", "b"), ("b", "c"), ("c", "a")}
        assert (graph.matrix.data == 1).all()


@pytest.mark.parametrize("weight", ["2", "+2.", "0.2e1", "20E-1", "00002.0"])
def test_weights_are_written_as_decimal_numbers(weight):
    graph = LinkGraph.from_file(f"a b {weight}\n".encode())
    assert graph.matrix.data.tolist() == [2.0]


def test_tsv_has_blanks_in_ids_and_weights_of_which_the_largest_counts():
    text = "\ufeffmy page\tYour Ö\t0.5\nmy page\tYour Ö\t2e0\nYour Ö\tmy page\t0.0\n"
    graph = LinkGraph.from_file(text.encode())
    assert graph.ids.tolist() == ["my page", "Your Ö"]
    assert graph.matrix.toarray().tolist() == [[0, 2], [0, 0]]


def test_nodes_that_are_given():
    graph = LinkGraph.from_file(EDGES, ids=["c", "d", "b", "a"])
    assert graph.ids.tolist() == ["c", "d", "b", "a"]
    assert links_of(graph) == {("a", "b"), ("b", "c"), ("c", "a")}
    with pytest.raises(ValueError, match="between nodes, found 'c', which is none"):
        LinkGraph.from_file(EDGES, ids=["a", "b"])
    some = LinkGraph.from_file(EDGES, ids=["a", "b"], outside="ignore")
    assert links_of(some) == {("a", "b")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a b\na\n", "<text>, line 2: expected 'source target'"),
        (b"a b c d", "line 1: expected 'source target'.*got 'a b c d'"),
        (b"a\t\n", "line 1: expected"),
        (b"a b x", "line 1: the weight must be a finite number >= 0, got 'x'"),
        (b"a b -1", "line 1: the weight must be"),
        (b"a b nan", "line 1: the weight must be"),
        (b"a b inf", "line 1: the weight must be"),
        (b"a b 1e999", "line 1: the weight must be"),
        (b"a b 1_0", "line 1: the weight must be"),
        (b"a\tb\t 1", "line 1: the weight must be"),
        ("a b \N{ARABIC-INDIC DIGIT ONE}".encode(), "line 1: the weight must be"),
        (b"a \xff", "line 1: the line is no UTF-8"),
        (b"# nothing\n", "<text> has no lines 'source target'"),
        (b"", "<text> is empty"),
    ],
)
def test_files_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        LinkGraph.from_file(text)


def test_urls_of_pages():
    urls = ["http://A.org/", "http://a.org/x/y.html", "b.org/z?q=1"]
    targets = [
        ["x/y.html#top", "https://a.org:443/x/y.html", "mailto:me@a.org", "//b.org/z"],
        ["..", "http://b.org/z?q=1", "http://[odd/", "javascript:void(0)"],
        ["?q=1", "/z", "http://a.org"],
    ]
    graph = LinkGraph.from_urls(urls, targets, outside="ignore")
    assert graph.ids.tolist() == urls
    expected = [[0, 1, 0], [1, 0, 1], [1, 0, 1]]
    assert graph.matrix.toarray().tolist() == expected
    with pytest.raises(ValueError, match=r"found 'mailto:me@a\.org', which is none"):
        LinkGraph.from_urls(urls, targets)


def test_links_lead_to_the_first_of_pages_with_the_same_url_and_begin_at_each():
    urls = ["a.org/", "http://a.org", "b.org/"]
    graph = LinkGraph.from_urls(urls, [[], ["//b.org/"], ["//a.org/"]])
    assert np.argwhere(graph.matrix.toarray()).tolist() == [[1, 2], [2, 0]]


def test_urls_that_are_none():
    with pytest.raises(ValueError, match="a list of URLs for each of 2 pages"):
        LinkGraph.from_urls(["a", "b"], [[]])
    with pytest.raises(TypeError, match=r"targets\[1\] must hold strings"):
        LinkGraph.from_urls(["a", "b"], cast(Any, [[], [None]]))
    with pytest.raises(TypeError, match=r"targets\[0\] must be a sequence of strings"):
        LinkGraph.from_urls(["a"], ["b"])
    with pytest.raises(ValueError, match="urls must be different"):
        LinkGraph.from_urls(["a", "a"], [[], []])


def test_only_the_default_port_of_the_scheme_is_left_out():
    urls = ["http://a.org:443/", "https://a.org/", "https://a.org:80/"]
    targets = [
        ["https://a.org:443/", "http://a.org:80/"],
        ["http://a.org:443/", "https://A.org:/"],
        ["HTTP://a.org:80/"],
    ]
    graph = LinkGraph.from_urls(urls, targets)
    assert graph.matrix.toarray().tolist() == [[0, 1, 0], [1, 1, 0], [0, 1, 0]]
    # Without a scheme, either port may be the default one.
    bare = LinkGraph.from_urls(
        ["a.org", "a.org:8080"], [["//a.org:443/"], ["//a.org:80"]]
    )
    assert bare.matrix.toarray().tolist() == [[1, 0], [1, 0]]


def test_the_unknown_end_of_a_link_is_named():
    for line, unknown in ((b"a zz\n", "zz"), (b"zz a\n", "zz"), (b"yy zz\n", "yy")):
        with pytest.raises(ValueError, match=f"found '{unknown}', which is none"):
            LinkGraph.from_file(line, ids=["a", "b"])
