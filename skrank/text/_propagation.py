"""Relevance that spreads between pages, along links and from children to parents."""

import warnings
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._parameters import Interval, Positive, PositiveInt
from skrank._core._sparse import check_sparse
from skrank._core._validation import as_numbers, check_arguments
from skrank.text._link_graph import as_graph, transitions
from skrank.text._page_rank import Links
from skrank.text._site_map import SiteMap

Kind = Literal["weighted_in", "weighted_out", "uniform_in", "uniform_out"]
Share = Annotated[float, Interval(0, 1, "right")]


def propagate_links(
    values: npt.ArrayLike,
    links: Links,
    kind: Kind = "weighted_in",
    *,
    relevance: npt.ArrayLike | None = None,
    alpha: Share = 0.5,
    tol: Positive = 1e-10,
    max_iter: PositiveInt = 1000,
) -> np.ndarray:
    r"""Spread scores or frequencies of terms along links.

    .. math::
        h(p) = \alpha\, f(p) + (1 - \alpha) \sum_{p' \in N(p)} \omega(p', p)\, h(p')

    with the values f and the chances :math:`\omega(p', p)` that a reader of page p'
    goes on to page p. With the kinds ``"..._in"``, he follows a link, so that N(p) are
    the pages that link to p; with ``"..._out"``, he goes to a page that links to the
    one he is at, so that N(p) are the pages that p links to. With the kinds
    ``"uniform_..."``, he takes any of these links with equal chances, or with chances
    in proportion to their weights; with ``"weighted_..."``, chances are in proportion
    to the relevance of the page where he arrives, too:

    .. math::
        \omega(p', p) = \frac{\ell(p', p)\, S(p)}{\sum_u \ell(p', u)\, S(u)}

    with the weight :math:`\ell(p', p)` of the link that he takes and the relevance S.

    Parameters
    ----------
    values : array-like of shape (n_nodes,) or (n_nodes, n_columns)
        Values f of the pages: scores for a query, or counts of each of its terms.
    links : LinkGraph, sparse matrix or array-like of shape (n_nodes, n_nodes)
        Entry (u, v) is the weight of the link from u to v.
    kind : str, default="weighted_in"
        Chances and direction: ``"weighted_in"``, ``"weighted_out"``, ``"uniform_in"``
        or ``"uniform_out"``.
    relevance : array-like of shape (n_nodes,), default=None
        Relevance S of the pages, numbers >= 0, for the weighted kinds. None takes the
        values, which must then be of one dimension.
    alpha : float, default=0.5
        Share α of its own value that each page keeps, above 0 and at most 1.
    tol : float, default=1e-10
        Iterations end when no result changes by more than this share of the largest
        value.
    max_iter : int, default=1000
        Largest number of iterations; a `ConvergenceWarning` says that they ended there.

    Returns
    -------
    ndarray of the shape of the values, dtype float64
        Results h. Complexity: O(E) for each of about log(tol) / log(1 - alpha)
        iterations over E links and each column.

    Raises
    ------
    ValueError
        If values or relevance are no finite numbers, one or a row for each node, the
        links are not accepted, or alpha is out of range.
    TypeError
        If the links are no matrix of numbers, or the values are sparse.

    See Also
    --------
    propagate_site : Values that pages take from their children.

    References
    ----------
    [Shakery2006]_; [Qin2005]_; [Liu2011]_, table 10.2, rows 43 to 48.

    Examples
    --------
    >>> from skrank.text import LinkGraph, propagate_links
    >>> graph = LinkGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> propagate_links([4.0, 1.0, 1.0], graph).tolist()
    [2.0, 1.0, 1.5]
    >>> propagate_links([0.0, 1.0, 1.0], graph, "uniform_out").tolist()
    [0.4375, 0.625, 0.5]
    """
    check_arguments(propagate_links, kind=kind, alpha=alpha, tol=tol, max_iter=max_iter)
    matrix = as_graph(links).matrix
    start = _checked_values(values, matrix.shape[0], "values")
    if kind.endswith("out"):
        matrix = matrix.T.tocsr()
    if kind.startswith("weighted"):
        given = ("values", start) if relevance is None else ("relevance", relevance)
        matrix = _by_relevance(matrix, *given)
    chances, _ = transitions(matrix)
    limit = float(tol) * np.abs(start).max(initial=0.0)
    result = start
    for _ in range(max_iter):
        new = alpha * start + (1 - alpha) * (chances @ result)
        change = np.abs(new - result).max(initial=0.0)
        result = new
        if change <= limit:
            return result
    warnings.warn(
        f"propagate_links has not converged after {max_iter} iterations; raise "
        "max_iter, tol or alpha",
        ConvergenceWarning,
        stacklevel=2,
    )
    return result


def propagate_site(
    values: npt.ArrayLike | sparse.sparray,
    site: SiteMap,
    *,
    alpha: Share = 0.5,
) -> Any:
    r"""Add to the scores or frequencies of pages the mean of their children.

    .. math::
        h(p) = (1 + \alpha)\, f(p)
            + \frac{1 - \alpha}{|Child(p)|} \sum_{c \in Child(p)} f(c)

    where the sum is 0 for pages without children. Only direct children count.

    Parameters
    ----------
    values : array-like or sparse array of shape (n_pages,) or (n_pages, n_columns)
        Values f of the pages: scores for a query, or counts of each of its terms.
    site : SiteMap
        Parents of the pages.
    alpha : float, default=0.5
        How much more a page counts than its children, above 0 and at most 1. With 1
        children do not count.

    Returns
    -------
    ndarray or sparse array of the shape of the values
        Results h. Complexity: O(n) for each column.

    Raises
    ------
    ValueError
        If the values are no finite numbers, one or a row for each page, or overflow, or
        alpha is out of range.
    TypeError
        If the site is no `SiteMap`.

    See Also
    --------
    propagate_links : Values that spread along links.

    References
    ----------
    [Qin2005]_; [Liu2011]_, table 10.2, rows 41 and 42.

    Examples
    --------
    >>> from skrank.text import SiteMap, propagate_site
    >>> site = SiteMap(["example.org/", "example.org/a.html", "example.org/b.html"])
    >>> propagate_site([2.0, 3.0, 1.0], site).tolist()
    [4.0, 4.5, 1.5]
    """
    check_arguments(propagate_site, alpha=alpha)
    if not isinstance(site, SiteMap):
        raise TypeError(f"site must be a SiteMap, got {shown(site)}")
    given: Any = values
    check_sparse(given, "values")
    if not sparse.issparse(given):
        given = _checked_values(given, len(site), "values")
    elif given.dtype.kind not in "biuf" or given.shape[0] != len(site):
        raise ValueError(
            f"values must hold numbers for each of {len(site)} pages, got an array of "
            f"shape {given.shape} and dtype {given.dtype}"
        )
    elif not np.isfinite(given.tocoo().data).all():
        raise ValueError("values must be finite")
    with quiet():
        spread = (1 + alpha) * given + (1 - alpha) * (site.child_shares @ given)
    if not np.isfinite(spread.data if sparse.issparse(spread) else spread).all():
        raise ValueError(
            "values are so large that their sums over pages overflow; scale them"
        )
    return spread


def _by_relevance(matrix: Any, name: str, relevance: Any) -> sparse.csr_array:
    """Return links weighted by the relevance of the page where they end."""
    weights = _checked_values(relevance, matrix.shape[0], name)
    if weights.ndim != 1:
        raise ValueError(
            "relevance must have one dimension, which values of several columns "
            f"need, got shape {weights.shape}"
        )
    if not (weights >= 0).all():
        raise ValueError(f"{name} must hold numbers >= 0, found {weights.min():g}")
    weights = weights / (weights.max(initial=0.0) or 1.0)  # products may overflow
    parts = (matrix.data / (matrix.data.max(initial=0.0) or 1.0),)
    data = parts[0] * weights[matrix.indices]
    weighted = sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
    weighted = weighted.copy()  # or zeros would be taken out of the graph itself
    weighted.eliminate_zeros()
    return weighted


def _checked_values(given: Any, n_nodes: int, name: str) -> np.ndarray:
    values = as_numbers(given, name)
    if values.ndim not in (1, 2) or values.shape[0] != n_nodes:
        raise ValueError(
            f"{name} must have a row for each of {n_nodes} nodes, got shape "
            f"{values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite")
    return values
