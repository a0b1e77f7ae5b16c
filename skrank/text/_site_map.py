"""The tree of the pages of sites, as their URLs tell it."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skrank.text._texts import as_texts

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
# Without a scheme, either port may be the default one; any scheme may leave it empty.
_DEFAULT_PORTS = {
    "http": (":80", ":"),
    "https": (":443", ":"),
    "": (":80", ":443", ":"),
}
# Names of the pages that servers show for a directory.
_INDEX_PAGE = re.compile(r"(?:index|default|home|main|welcome)\.[a-z0-9]+", re.I)

_Directory = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SiteMap:
    """Parents and children of pages by the directories of their URLs.

    The index page of a directory is the parent of the other pages of the directory, and
    of the index pages below it; where a directory has no index page among the pages,
    the nearest one above it takes its place. A URL is that of an index page if its path
    is empty, ends in a slash, or ends in ``index``, ``default``, ``home``, ``main`` or
    ``welcome`` and a suffix, without a query after it. If a directory has several index
    pages, the first one is the parent of the others.

    Any string is a URL here: the scheme may be missing, the host and the path may be
    empty, and nothing is decoded. Letters of the scheme and of the host have no case,
    and what follows ``#`` does not count.

    Parameters
    ----------
    urls : sequence of str
        URL of each page.

    Attributes
    ----------
    urls : list of str
        URLs.
    hosts : ndarray of shape (n_pages,), dtype intp
        Number of the host of each page, in the order in which they first occur.
    depths : ndarray of shape (n_pages,), dtype intp
        Number of directories above each page, 0 at the root of its host.
    parents : ndarray of shape (n_pages,), dtype intp
        Parent of each page; -1 where there is none.
    n_children : ndarray of shape (n_pages,), dtype intp
        Number of pages whose parent each page is.
    n_slashes : ndarray of shape (n_pages,), dtype intp
        Number of slashes in each URL as it was given, those of ``https://`` included.
    lengths : ndarray of shape (n_pages,), dtype intp
        Number of characters of each URL as it was given.

    Raises
    ------
    ValueError
        If there are no URLs.
    TypeError
        If a URL is missing or no string.

    See Also
    --------
    propagate_site : Relevance that pages take from their children.

    References
    ----------
    [Qin2005]_; [Liu2011]_, table 10.2, rows 58 to 60.

    Examples
    --------
    >>> from skrank.text import SiteMap
    >>> site = SiteMap([
    ...     "http://example.org/", "http://example.org/papers/index.html",
    ...     "http://example.org/papers/ranking.pdf", "http://example.org/contact.html"])
    >>> site.parents.tolist(), site.n_children.tolist()
    ([-1, 0, 1, 0], [2, 1, 0, 0])
    """

    urls: Any

    def __post_init__(self):
        urls = as_texts(self.urls, "urls")
        if not urls:
            raise ValueError("urls is empty; at least one page is needed")
        object.__setattr__(self, "urls", urls)

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self.urls)

    def __repr__(self) -> str:
        n_hosts = int(self.hosts.max(initial=-1)) + 1
        return f"SiteMap({len(self)} pages, {n_hosts} hosts)"

    @cached_property
    def _places(self) -> list[tuple[_Directory, bool]]:
        """Host and directories of each page, and whether it is an index page."""
        return [_place_of(url) for url in self.urls]

    @cached_property
    def hosts(self) -> np.ndarray:
        """Number of the host of each page."""
        number_of: dict[str, int] = {}
        numbers = [number_of.setdefault(p[0], len(number_of)) for p, _ in self._places]
        return np.array(numbers, dtype=np.intp)

    @cached_property
    def depths(self) -> np.ndarray:
        """Number of directories above each page."""
        return np.array([len(place) - 1 for place, _ in self._places], dtype=np.intp)

    @cached_property
    def parents(self) -> np.ndarray:
        """Parent of each page, -1 where there is none."""
        tree = _Tree()
        nodes = [tree.node_of(place) for place, _ in self._places]
        for page, (node, (_, is_index)) in enumerate(zip(nodes, self._places)):
            if is_index and tree.index_page[node] < 0:
                tree.index_page[node] = page
        nearest = tree.nearest_index_pages()
        # Parents of index pages stand in shorter directories: there are no circles.
        parents = [
            nearest[tree.above[node] if tree.index_page[node] == page else node]
            for page, node in enumerate(nodes)
        ]
        return np.array(parents, dtype=np.intp)

    @cached_property
    def n_children(self) -> np.ndarray:
        """Number of pages whose parent each page is."""
        known = self.parents[self.parents >= 0]
        return np.bincount(known, minlength=len(self)).astype(np.intp)

    @cached_property
    def n_slashes(self) -> np.ndarray:
        """Number of slashes in each URL."""
        return np.array([url.count("/") for url in self.urls], dtype=np.intp)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of characters of each URL."""
        return np.array([len(url) for url in self.urls], dtype=np.intp)

    @cached_property
    def child_shares(self) -> sparse.csr_array:
        """Share of each child, a column, in the mean over the children of a row."""
        children = np.flatnonzero(self.parents >= 0)
        parents = self.parents[children]
        entries: Any = (1.0 / self.n_children[parents], (parents, children))
        return sparse.csr_array(entries, shape=(len(self), len(self)))


def split_url(url: str) -> tuple[str, str, str]:
    """Return host, path and query of any string that stands for a URL.

    ``urllib`` refuses some, such as ``http://[/``.
    """
    url = url.strip().partition("#")[0]
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url.removeprefix("//")
    rest, mark, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    ports = _DEFAULT_PORTS.get(scheme[1].lower() if scheme else "", (":",))
    host = host.removesuffix(next((p for p in ports if host.endswith(p)), ""))
    return host, slash + path, mark + query


def _place_of(url: str) -> tuple[_Directory, bool]:
    """Return the host and the directories of a page, and whether it is an index."""
    host, path, query = split_url(url)
    *directories, name = path.removeprefix("/").split("/")
    kept: list[str] = []
    for directory in directories:
        if directory == "..":
            del kept[-1:]
        elif directory not in ("", "."):
            kept.append(directory)
    is_index = not query.strip("?") and (not name or bool(_INDEX_PAGE.fullmatch(name)))
    return (host, *kept), is_index


class _Tree:
    """Hosts and directories as nodes of a tree, whose root, node 0, is above all hosts.

    A node is found from the one above it, so that a path of many directories takes as
    many steps as it has characters, and no part of it is hashed again.

    Attributes
    ----------
    above : list of int
        Node above each node, which has a lower number; the root is above itself.
    index_page : list of int
        Index page of each node; -1 where there is none.
    """

    def __init__(self):
        self.above, self.index_page = [0], [-1]
        self._below: dict[tuple[int, str], int] = {}

    def node_of(self, place: _Directory) -> int:
        """Return the node of a directory, after adding those that are missing."""
        node = 0
        for name in place:
            below = self._below.setdefault((node, name), len(self.above))
            if below == len(self.above):
                self.above.append(node)
                self.index_page.append(-1)
            node = below
        return node

    def nearest_index_pages(self) -> list[int]:
        """Return the index page of each node or else of the nearest one above it."""
        nearest: list[int] = []
        for above, page in zip(self.above, self.index_page):
            nearest.append(page if page >= 0 or not nearest else nearest[above])
        return nearest
