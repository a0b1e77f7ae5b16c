"""The features of the LETOR data sets: which row of which table is which feature."""

from collections.abc import Iterable, Iterator
from typing import Literal

from skrank._core._messages import shown
from skrank._core._validation import check_arguments

# Name of whole documents, the concatenation of all fields.
WHOLE = "whole"
Table = Literal["gov", "ohsumed", "letor4"]

# What a page feature needs, by its name.
PAGE_FEATURES: dict[str, frozenset[str]] = {
    "sitemap.term_propagation": frozenset({"urls"}),
    "sitemap.score_propagation": frozenset({"urls"}),
    "links.score_propagation.weighted_in": frozenset({"links"}),
    "links.score_propagation.weighted_out": frozenset({"links"}),
    "links.score_propagation.uniform_out": frozenset({"links"}),
    "links.term_propagation.weighted_in": frozenset({"links"}),
    "links.term_propagation.weighted_out": frozenset({"links"}),
    "links.term_propagation.uniform_out": frozenset({"links"}),
    "page.hits.authority": frozenset({"links"}),
    "page.hits.hub": frozenset({"links"}),
    "page.pagerank": frozenset({"links"}),
    "page.hostrank": frozenset({"links", "urls"}),
    "page.topical_pagerank": frozenset({"links", "topics"}),
    "page.topical_hits.authority": frozenset({"links", "topics"}),
    "page.topical_hits.hub": frozenset({"links", "topics"}),
    "page.inlinks": frozenset({"links"}),
    "page.outlinks": frozenset({"links"}),
    "page.url_slashes": frozenset({"urls"}),
    "page.url_length": frozenset({"urls"}),
    "page.children": frozenset({"urls"}),
}

_WEB_FIELDS = ("body", "anchor", "title", "url", WHOLE)
_OF_WEB_FIELDS = (
    *("tf.sum", "idf.sum", "tfidf.sum", "length"),
    *("bm25", "lmir.abs", "lmir.dir", "lmir.jm"),
)
_OF_EXTRACTED_TITLES = _OF_WEB_FIELDS[4:]
_OF_ARTICLES = (
    *("tf.sum", "log_tf.sum", "tf_norm.sum", "log_tf_norm.sum", "idf.sum"),
    *("log_idf.sum", "log_icf.sum", "log_tfidf_norm.sum", "tfidf.sum"),
    *("log_tf_icf_norm.sum", "bm25", "log_bm25", "lmir.dir", "lmir.jm", "lmir.abs"),
)
_PAGES_OF_GOV2 = (
    *("page.pagerank", "page.inlinks", "page.outlinks"),
    *("page.url_slashes", "page.url_length", "page.children"),
)


def _rows(table: str) -> Iterator[str]:
    """Yield the names of the features of a table, row after row."""
    if table == "ohsumed":
        for field in ("title", "abstract", WHOLE):
            yield from (f"{field}.{feature}" for feature in _OF_ARTICLES)
        return
    for feature in _OF_WEB_FIELDS:
        yield from (f"{field}.{feature}" for field in _WEB_FIELDS)
    if table == "letor4":
        yield from _PAGES_OF_GOV2
        return
    yield from PAGE_FEATURES
    yield from (f"extracted_title.{feature}" for feature in _OF_EXTRACTED_TITLES)


TABLES: dict[str, tuple[str, ...]] = {
    table: tuple(_rows(table)) for table in ("gov", "ohsumed", "letor4")
}


def letor_table(
    table: Table,
    *,
    fields: Iterable[str] | None = None,
    links: bool = True,
    urls: bool = True,
    topics: bool = True,
) -> dict[int, str]:
    """Name the features of a table of the LETOR data sets.

    Parameters
    ----------
    table : {"gov", "ohsumed", "letor4"}
        Features of the Gov, OHSUMED and Gov2 collections.
    fields : iterable of str, default=None
        Names of the fields that documents have; rows of other fields are left out. None
        takes all fields of the table.
    links, urls, topics : bool, default=True
        Whether there are links between documents, URLs of documents and topics of
        documents; rows that need what is not there are left out.

    Returns
    -------
    dict of int to str
        Name of the feature of each row, by its number in the book. A list of the values
        is what `LetorFeatures` takes as ``feature_set``.

    Raises
    ------
    ValueError
        If there is no such table.
    TypeError
        If the fields are no names.

    See Also
    --------
    LetorFeatures : Computes the features.

    References
    ----------
    [Liu2011]_, tables 10.2 (Gov), 10.3 (OHSUMED) and 10.4 (Gov2).

    Examples
    --------
    >>> from skrank.text import letor_table
    >>> table = letor_table("gov")
    >>> len(table), table[1], table[6], table[43]
    (64, 'body.tf.sum', 'body.idf.sum', 'links.score_propagation.weighted_in')
    >>> letor_table("letor4", fields=["title"], links=False, urls=False)[23]
    'title.bm25'
    """
    check_arguments(letor_table, table=table, links=links, urls=urls, topics=topics)
    given = {"links": links, "urls": urls, "topics": topics}
    there = {name for name, is_there in given.items() if is_there}
    known = None if fields is None else {*_names(fields), WHOLE}
    return {
        number: name
        for number, name in enumerate(TABLES[table], start=1)
        if (
            PAGE_FEATURES[name] <= there
            if name in PAGE_FEATURES
            else known is None or name.split(".")[0] in known
        )
    }


def _names(fields: Iterable[str]) -> list[str]:
    try:
        listed = [] if isinstance(fields, str | bytes) else list(fields)
    except (TypeError, NotImplementedError):  # the latter of sparse matrices
        listed = []
    if not listed or not all(isinstance(name, str) for name in listed):
        raise TypeError(
            "fields must be a sequence of names, at least one, or None, got "
            f"{shown(fields)}"
        )
    return listed
