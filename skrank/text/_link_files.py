"""Links from files of edges, and from the links that stand in pages."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urljoin

import numpy as np
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._reading import Source, open_lines, source_name
from skrank.text._site_map import split_url
from skrank.text._texts import as_texts

_FIELDS = (2, 3)
_COMMENT = b"#"
# Python would read more, such as 1_0 and digits of other scripts.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_edges(
    source: Source, max_bytes: int | None
) -> tuple[list[str], list[str], list[float]]:
    """Return sources, targets and weights of a file of edges.

    Parameters
    ----------
    source : str, path, file object or bytes
        Lines of two ids and, if wanted, a weight. Fields are separated by tabs where a
        line has one, by blanks otherwise.
    max_bytes : int or None
        Largest number of bytes of the text.

    Returns
    -------
    sources, targets : list of str
    weights : list of float

    Raises
    ------
    ValueError
        If a line has other fields, or is not in UTF-8.
    """
    name = source_name(source)
    sources, targets, weights = [], [], []
    for number, raw in open_lines(source, max_bytes):
        line = raw.removesuffix(b"\r")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip() or line.startswith(_COMMENT):
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{name}, line {number}: the line is no UTF-8") from None
        fields = text.split("\t") if "\t" in text else text.split()
        if len(fields) not in _FIELDS or not all(fields):
            raise ValueError(
                f"{name}, line {number}: expected 'source target' or 'source target "
                f"weight', got {shown(text)}"
            )
        sources.append(fields[0])
        targets.append(fields[1])
        weights.append(_weight(fields[2], name, number) if fields[2:] else 1.0)
    if not sources:
        raise ValueError(f"{name} has no lines 'source target'")
    return sources, targets, weights


def _weight(text: str, name: str, number: int) -> float:
    weight = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise ValueError(
            f"{name}, line {number}: the weight must be a finite number >= 0, got "
            f"{shown(text)}"
        )
    return weight


def numbered(names: list[str]) -> dict[str, int]:
    """Return the number of each name, the first one where it occurs again."""
    number_of: dict[str, int] = {}
    for number, name in enumerate(names):
        number_of.setdefault(name, number)
    return number_of


def matrix_of_edges(
    ends: tuple[list[int], list[int]],
    spoken: list[str],
    weights: Sequence[float],
    n_nodes: int,
    outside: str,
) -> sparse.csr_array:
    """Return the matrix of edges; of those of the same pair, the largest weight counts.

    Parameters
    ----------
    ends : pair of list of int
        Number of the node where each edge begins, and where it ends; -1 for no node.
    spoken : list of str
        For each edge the name of an end that may be no node, for the message.
    weights : sequence of float
        Weight of each edge.
    n_nodes : int
        Number of nodes.
    outside : {"error", "ignore"}
        What becomes of edges an end of which is no node.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)

    Raises
    ------
    ValueError
        If an end is no node, unless such edges are ignored.
    """
    rows, columns = (np.array(part, dtype=np.intp) for part in ends)
    inside = (rows >= 0) & (columns >= 0)
    if outside == "error" and not inside.all():
        place = int(np.flatnonzero(~inside)[0])
        raise ValueError(
            f"links must be between nodes, found {shown(spoken[place])}, which is "
            "none; outside='ignore' leaves such links out"
        )
    kept = np.asarray(weights, dtype=np.float64)[inside]
    rows, columns = rows[inside], columns[inside]
    order = np.lexsort((-kept, columns, rows))
    rows, columns, kept = rows[order], columns[order], kept[order]
    first = np.ones(len(kept), dtype=bool)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    entries: Any = (kept[first], (rows[first], columns[first]))
    return sparse.csr_array(entries, shape=(n_nodes, n_nodes))


def links_of_pages(
    urls: list[str], targets: Iterable[Iterable[str]]
) -> tuple[list[int], list[str], list[str]]:
    """Return where links of pages begin and end, with URLs of one form.

    Parameters
    ----------
    urls : list of str
        URL of each page.
    targets : iterable of iterable of str
        URLs that stand in each page, absolute or relative to it.

    Returns
    -------
    sources : list of int
        Number of the page where each link begins.
    ends : list of str
        URL where it ends.
    nodes : list of str
        URL of each page.

    Raises
    ------
    ValueError
        If there are not targets for each page.
    TypeError
        If targets are no strings.
    """
    try:
        listed = [] if isinstance(targets, str | bytes) else list(targets)
    except TypeError:
        listed = []
    if len(listed) != len(urls):
        raise ValueError(
            f"targets must hold a list of URLs for each of {len(urls)} pages, got "
            f"{shown(targets)}"
        )
    nodes = [_one_form(url) for url in urls]
    sources: list[int] = []
    ends: list[str] = []
    for page, (url, found) in enumerate(zip(urls, listed)):
        for target in as_texts(found, f"targets[{page}]"):
            sources.append(page)
            ends.append(_one_form(_joined(url, target)))
    return sources, ends, nodes


def _joined(url: str, target: str) -> str:
    base = url if "://" in url or url.startswith("//") else f"//{url}"
    try:
        return urljoin(base, target.strip())
    except ValueError:  # such as "http://[", which leads nowhere
        return target


def _one_form(url: str) -> str:
    """Return a URL without scheme, fragment and default port, the host in lower case.

    The default port is that of the scheme, or of http or https where there is none.
    Pages of http and https are the same ones, as a rule; other schemes, such as mailto,
    stay in front.
    """
    scheme, colon, rest = url.strip().partition(":")
    is_port = rest[:1].isdigit()
    if colon and scheme.isalpha() and not is_port and not rest.startswith("//"):
        return url.strip()
    host, path, query = split_url(url)
    return f"{host}{path or '/'}{query}"
