"""Graphs of links between documents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._numbers import as_numbers
from skrank._core._parameters import NBytes, PositiveInt
from skrank._core._reading import Source
from skrank._core._sparse import check_sparse
from skrank._core._validation import check_arguments
from skrank.text._collection import as_ids_array
from skrank.text._link_files import (
    links_of_pages,
    matrix_of_edges,
    numbered,
    read_edges,
)
from skrank.text._texts import as_texts, check_numbers

Outside = Literal["error", "ignore"]
# Numbers of nodes that nobody gave: an id or a number that stands for no node, such as
# 2147483647, would make a graph of gigabytes.
_MOST_NODES = 10_000_000
_MOST_PER_LINK = 100


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Links between documents, as a sparse matrix.

    Parameters
    ----------
    matrix : sparse matrix or array-like of shape (n_nodes, n_nodes)
        Entry (u, v) is the weight of the link from u to v, a number >= 0; zeros are no
        links.
    ids : sequence of str, default=None
        Ids of the nodes, all different.

    Attributes
    ----------
    matrix : csr_array of shape (n_nodes, n_nodes), dtype float64
        Weights of the links, without zeros.
    ids : ndarray of shape (n_nodes,), dtype object, or None
        Ids.

    Raises
    ------
    ValueError
        If the matrix is not square, is empty, or holds a number that is negative or not
        finite, or if the ids are not one for each node.
    TypeError
        If the matrix holds no numbers, or an id is no string.

    See Also
    --------
    PageRank : Importance of the nodes.

    Examples
    --------
    >>> from skrank.text import LinkGraph
    >>> graph = LinkGraph.from_edges(
    ...     ["a", "a", "b"], ["b", "c", "c"], ids=["a", "b", "c"])
    >>> graph.in_degree, graph.out_degree
    (array([0, 1, 2]), array([2, 1, 0]))
    """

    matrix: Any
    ids: Any = None

    def __post_init__(self):
        matrix = _checked_matrix(self.matrix)
        object.__setattr__(self, "matrix", matrix)
        if self.ids is not None:
            ids = _checked_ids(self.ids)
            if len(ids) != matrix.shape[0]:
                raise ValueError(
                    f"ids must hold one id for each of {matrix.shape[0]} nodes, got "
                    f"{len(ids)}"
                )
            object.__setattr__(self, "ids", as_ids_array(ids))

    @classmethod
    def from_edges(
        cls,
        sources: npt.ArrayLike | Sequence[str],
        targets: npt.ArrayLike | Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        n_nodes: PositiveInt | None = None,
    ) -> "LinkGraph":
        """Make a graph of pairs of nodes.

        Parameters
        ----------
        sources, targets : sequence of shape (n_links,)
            Where each link begins and where it ends: ids if ``ids`` are given, numbers
            of nodes otherwise. A link that occurs again counts once.
        ids : sequence of str, default=None
            Ids of all nodes.
        n_nodes : int, default=None
            Number of nodes where they have no ids; None takes the largest number that
            occurs, and one, up to ten million or a hundred for each link, whichever is
            more.

        Returns
        -------
        LinkGraph
            The graph, with a weight of 1 for each link. Complexity: O(E log E) for E
            links.

        Raises
        ------
        ValueError
            If sources and targets differ in length, or one of them is no node, or
            their numbers are too large for ``n_nodes=None``.
        TypeError
            If an id is no string.
        """
        check_arguments(cls.from_edges, n_nodes=n_nodes)
        if ids is not None:
            if n_nodes is not None:
                raise ValueError("n_nodes must be None where ids are given")
            names = _checked_ids(ids)
            number_of = {name: number for number, name in enumerate(names)}
            ends = [
                _numbers_of_ids(texts, number_of, name)
                for name, texts in (("sources", sources), ("targets", targets))
            ]
            size = len(names)
        else:
            ends, size = _numbered_ends(sources, targets, n_nodes)
        if len(ends[0]) != len(ends[1]):
            raise ValueError(
                f"sources and targets must have the same length, got {len(ends[0])} "
                f"and {len(ends[1])}"
            )
        weights = np.ones(len(ends[0]))
        matrix: Any = sparse.coo_array(
            (weights, tuple(ends)), shape=(size, size)
        ).tocsr()
        matrix.data[:] = 1.0
        return cls(matrix, ids)

    @classmethod
    def from_file(
        cls,
        source: Source,
        *,
        ids: Sequence[str] | None = None,
        outside: Outside = "error",
        max_bytes: NBytes | None = None,
    ) -> "LinkGraph":
        """Read a graph from a file of edges.

        A line holds the ids of two nodes, where a link begins and where it ends, and
        possibly its weight. Fields are separated by tabs where the line has one, as in
        TSV files, and by blanks otherwise. Blank lines and lines whose first character
        is ``#`` are passed over. Of links that occur again, the largest weight counts.

        Parameters
        ----------
        source : str, path, file object or bytes
            File or text to read, in UTF-8, possibly compressed by gzip, bzip2, xz or
            zip.
        ids : sequence of str, default=None
            Ids of all nodes; None takes those of the file, in the order in which they
            first occur.
        outside : {"error", "ignore"}, default="error"
            What becomes of links that begin or end at none of the ``ids``.
        max_bytes : int, default=None
            Largest number of bytes of the text, after unpacking, see
            `skrank.datasets.load_letor`.

        Returns
        -------
        LinkGraph
            The graph, with a weight of 1 for each link without one. Complexity:
            O(E log E) for E links.

        Raises
        ------
        ValueError
            If a line has other fields (the message names the file and the line), a link
            is between no nodes, or the file is empty, damaged, or larger than
            ``max_bytes``.
        TypeError
            If an id is no string.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> from skrank.text import LinkGraph
        >>> graph = LinkGraph.from_file(b"a b\\nb c 0.5\\n")
        >>> graph.ids.tolist(), graph.matrix.toarray().tolist()
        (['a', 'b', 'c'], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
        """
        check_arguments(cls.from_file, outside=outside, max_bytes=max_bytes)
        names = None if ids is None else _checked_ids(ids)
        sources, targets, weights = read_edges(source, max_bytes)
        if names is None:
            pairs = zip(sources, targets)
            names = list(dict.fromkeys(name for pair in pairs for name in pair))
        number_of = numbered(names)
        rows = [number_of.get(name, -1) for name in sources]
        columns = [number_of.get(name, -1) for name in targets]
        spoken = [s if r < 0 else t for s, t, r in zip(sources, targets, rows)]
        ends = rows, columns
        matrix = matrix_of_edges(ends, spoken, weights, len(names), outside)
        return cls(matrix, names)

    @classmethod
    def from_urls(
        cls,
        urls: Sequence[str],
        targets: Iterable[Iterable[str]],
        *,
        outside: Outside = "error",
    ) -> "LinkGraph":
        """Make a graph of pages and the URLs that stand in them.

        URLs are compared without scheme, fragment and the default port of the scheme,
        and hosts without case. If several pages have the same URL, links lead to the
        first of them.

        Parameters
        ----------
        urls : sequence of str
            URL of each page, all different.
        targets : iterable of iterable of str
            For each page the URLs that it links to, absolute or relative to its own. A
            link that occurs again counts once.
        outside : {"error", "ignore"}, default="error"
            What becomes of links to URLs of no page.

        Returns
        -------
        LinkGraph
            The graph, with the URLs as ids and a weight of 1 for each link. Complexity:
            O(E log E) for E links.

        Raises
        ------
        ValueError
            If there is not one list of targets for each page, a URL occurs again, or a
            link leads to no page.
        TypeError
            If a URL is no string.

        Examples
        --------
        >>> from skrank.text import LinkGraph
        >>> graph = LinkGraph.from_urls(
        ...     ["http://a.org/", "http://a.org/x/y.html"],
        ...     [["x/y.html#top", "mailto:me@a.org"], ["../"]], outside="ignore")
        >>> graph.matrix.toarray().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        check_arguments(cls.from_urls, outside=outside)
        names = _checked_ids(urls, "urls")
        sources, ends, nodes = links_of_pages(names, targets)
        number_of = numbered(nodes)
        columns = [number_of.get(end, -1) for end in ends]
        matrix = matrix_of_edges(
            (sources, columns), ends, [1.0] * len(ends), len(nodes), outside
        )
        return cls(matrix, names)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return self.matrix.shape[0]

    def __repr__(self) -> str:
        return f"LinkGraph({len(self)} nodes, {self.matrix.nnz} links)"

    @property
    def in_degree(self) -> np.ndarray:
        """Number of links to each node, of shape (n_nodes,)."""
        return np.bincount(self.matrix.indices, minlength=len(self))

    @property
    def out_degree(self) -> np.ndarray:
        """Number of links from each node, of shape (n_nodes,)."""
        return np.diff(self.matrix.indptr).astype(np.intp)


def as_graph(links: Any) -> LinkGraph:
    """Return a graph as it is, and make one of a matrix."""
    return links if isinstance(links, LinkGraph) else LinkGraph(links)


def transitions(matrix: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the chance of each link, by the node where it ends, and the dead ends.

    Parameters
    ----------
    matrix : csr_array of shape (n_nodes, n_nodes)
        Weights of links.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
        Entry (v, u) is the share that the link to v has among those from u.
    ndarray of shape (n_nodes,), dtype bool
        Nodes without links from them.
    """
    # Divided by the largest first, for a sum of weights may overflow.
    largest = matrix.max(axis=1).toarray().ravel()
    dangling = largest == 0
    sizes = np.diff(matrix.indptr)
    shares = matrix.data / np.repeat(largest, sizes)
    sums = np.bincount(
        np.repeat(np.arange(len(sizes)), sizes), shares, minlength=len(sizes)
    )
    shares /= np.repeat(sums, sizes)
    parts = (shares, matrix.indices, matrix.indptr)
    return sparse.csr_array(parts, shape=matrix.shape).T.tocsr(), dangling


def _checked_matrix(given: Any) -> Any:
    given = unmasked(given)
    check_sparse(given, "links")
    try:
        is_sparse = sparse.issparse(given)
        rows: Any = given if is_sparse else np.asarray(given)
        if rows.dtype.kind in "iuf":  # of any width and order of bytes
            if not is_sparse:
                rows = as_numbers(rows, "links")
            elif not rows.dtype.isnative:
                rows = rows.tocsr()
                parts = as_numbers(rows.data, "links"), rows.indices, rows.indptr
                rows = sparse.csr_array(parts, shape=rows.shape)
        # Some versions of SciPy take a single number for a matrix.
        matrix: Any = sparse.csr_array(rows) if rows.ndim != 0 else None
    except (TypeError, ValueError):
        matrix = None
    if matrix is None:
        raise TypeError(
            f"links must be a LinkGraph or a matrix of numbers, got {shown(given)}"
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"links must be numbers, got dtype {matrix.dtype}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ValueError(
            "links must be a square matrix with at least one node, got shape "
            f"{matrix.shape}"
        )
    matrix = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if not (np.isfinite(matrix.data).all() and (matrix.data >= 0).all()):
        bad = matrix.data[~(np.isfinite(matrix.data) & (matrix.data >= 0))]
        raise ValueError(
            f"links must be a matrix of finite weights >= 0, found {bad[0]:g}"
        )
    matrix.eliminate_zeros()
    return matrix


def _checked_ids(ids: Any, name: str = "ids") -> list[str]:
    names = as_texts(ids, name)
    if not names:
        raise ValueError(f"{name} is empty; at least one node is needed")
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must be different")
    return names


def _numbered_ends(
    sources: Any, targets: Any, n_nodes: int | None
) -> tuple[list[np.ndarray], int]:
    """Return numbers of nodes where links begin and end, and the number of nodes."""
    bound = np.iinfo(np.int32).max if n_nodes is None else int(n_nodes)
    pairs = (("sources", sources), ("targets", targets))
    ends = [check_numbers(numbers, bound, name, "nodes") for name, numbers in pairs]
    if n_nodes is not None:
        return ends, bound
    most = max((int(e.max(initial=-1)) for e in ends), default=-1)
    allowed = max(_MOST_NODES, _MOST_PER_LINK * len(ends[0]))
    if most >= allowed:
        raise ValueError(
            f"sources and targets must hold numbers below {allowed} where n_nodes is "
            f"None, found {most}; set n_nodes, or pass ids"
        )
    return ends, most + 1


def _numbers_of_ids(texts: Any, number_of: dict[str, int], name: str) -> np.ndarray:
    try:
        found = [number_of[text] for text in as_texts(texts, name)]
    except KeyError as error:
        raise ValueError(
            f"{name} must hold ids of nodes, found {shown(error.args[0])}"
        ) from None
    return np.array(found, dtype=np.intp)
