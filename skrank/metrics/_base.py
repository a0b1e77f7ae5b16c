"""What every ranking measure shares.

A measure maps the grades and scores of a query to one number. Three things that other
tools leave implicit are arguments here: what happens to documents of equal score
(``ties``), to queries without information (``empty_query``), and which weight a query
has in the mean. Losses see a measure through `BaseMeasure.swap_deltas` or, compiled,
through `DeltaTerms`.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning

from skrank._core._threads import effective_n_threads
from skrank.metrics._ranking import TIES, Ranker

_EMPTY = "'skip', 'raise', a number or nan"


@dataclass(frozen=True, eq=False)
class DeltaTerms:
    """The change of a measure when two documents swap ranks, ready for kernels.

    With ``d(i)`` the discount of the rank of document ``i`` and ``g`` the gain, the
    absolute change within query ``q`` is ``scale[q]`` times

    - ``"gain_discount"``: ``|g_i - g_j| · |d(i) - d(j)|``;
    - ``"average_precision"``: the change of ``Σ_i g_i · hits(i) · d(i)``, where ``g``
      is 0 or 1 and ``hits(i)`` counts the relevant documents up to the rank of ``i``;
    - ``"reciprocal_rank"``: the change of the discount of the first relevant rank;
    - ``"cascade"``: the change of ``Σ_i d(i) · g_i · Π (1 - g)`` over documents above.

    Parameters
    ----------
    kind : str
        One of the four forms.
    gain : ndarray of shape (n_documents,)
        Gain, 0/1 relevance or stop probability of each document.
    discount : ndarray of shape (n_ranks,)
        Discount of each rank, as long as the longest query; 0 beyond the cut-off.
    scale : ndarray of shape (n_queries,)
        Factor of each query; 0 for queries that carry no information.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import NDCG
    >>> terms = NDCG(k=2).delta_terms(np.array([2.0, 0.0, 1.0]), np.array([0, 3]))
    >>> terms.kind, terms.gain
    ('gain_discount', array([3., 0., 1.]))
    >>> terms.discount.round(4)
    array([1.    , 0.6309, 0.    ])
    """

    kind: str
    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray


def query_weights(sample_weight, ptr):
    """Return the weight of each query, the mean of its row weights.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_documents,) or None
        Row weights, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_queries,) or None
        None if there are no row weights.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import query_weights
    >>> query_weights(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3]))
    array([2., 5.])
    """
    if sample_weight is None:
        return None
    return np.add.reduceat(sample_weight, ptr[:-1]) / np.diff(ptr)


class BaseMeasure(BaseEstimator):
    """Base class of ranking measures.

    A subclass names itself in ``_name``, lists in ``_ties`` the treatments of equal
    scores it has, and implements ``_values(ranker)``, which returns one value per query
    and NaN where the query carries no information.

    Parameters
    ----------
    ties : {"average", "stable", "best", "worst", "docid", "random"}, default="average"
        Documents of equal score: expected value over their orders; in row order; most
        or least relevant first; by decreasing document id; in random order.
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without relevant documents; "skip" leaves it out of the mean.
    random_state : int, RandomState instance or None, default=None
        Used by ``ties="random"``.
    """

    _name = ""
    _ties = TIES
    k = None
    greater_is_better = True

    def __init__(self, *, ties="average", empty_query="skip", random_state=None):
        self.ties = ties
        self.empty_query = empty_query
        self.random_state = random_state

    @property
    def name(self) -> str:
        """Name of the measure with its cut-off, such as ``"ndcg@10"``."""
        options = self._name_options()
        inside = ",".join(f"{key}={value}" for key, value in options.items())
        return (
            self._name
            + (f"({inside})" if inside else "")
            + ("" if self.k is None else f"@{self.k}")
        )

    def _name_options(self):
        level = getattr(self, "relevance_level", None)
        return {} if level is None else {"rel": level}

    def __str__(self):
        return self.name

    def per_query(
        self, y, y_score, ptr, *, docids=None, retrieved=None, n_threads=None
    ):
        """Value of each query.

        Parameters
        ----------
        y : ndarray of shape (n_documents,), dtype float64
            Grades, grouped by query.
        y_score : ndarray of shape (n_documents,), dtype float64
            Scores, higher is better.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        docids : ndarray of shape (n_documents,), default=None
            Document ids, needed by ``ties="docid"``.
        retrieved : ndarray of shape (n_documents,), dtype bool, default=None
            False marks judged documents that the ranking does not contain: they count
            as relevant documents and in the ideal ranking only.
        n_threads : int, default=None
            Number of threads; None asks for all CPUs.

        Returns
        -------
        ndarray of shape (n_queries,)
            NaN for queries without information if ``empty_query`` is "skip".
        """
        self._check_options()
        ranker = Ranker(
            np.ascontiguousarray(y, dtype=np.float64),
            np.ascontiguousarray(y_score, dtype=np.float64),
            np.ascontiguousarray(ptr, dtype=np.intp),
            ties=self.ties,
            docids=docids,
            retrieved=retrieved,
            random_state=getattr(self, "random_state", None),
            n_threads=effective_n_threads(n_threads),
        )
        return self._fill_empty(np.asarray(self._values(ranker), dtype=np.float64))

    def mean(self, per_query, weights=None) -> float:
        """Weighted mean of the values of queries.

        Parameters
        ----------
        per_query : array-like of shape (n_queries,)
            As returned by `per_query`.
        weights : array-like of shape (n_queries,), default=None
            Weight of each query; None for equal weights.

        Returns
        -------
        float
            NaN, with a warning, if no query has a value.
        """
        values = np.asarray(per_query, dtype=np.float64)
        weights = np.ones(len(values)) if weights is None else np.asarray(weights)
        if isinstance(self.empty_query, str):
            keep = ~np.isnan(values)
            values, weights = values[keep], weights[keep]
        total = weights.sum()
        if total == 0:
            warnings.warn(
                f"{self.name} is undefined: no query carries information "
                "(empty_query='skip' leaves out queries without relevant documents)",
                UndefinedMetricWarning,
                stacklevel=2,
            )
            return float("nan")
        return float(np.dot(values, weights) / total)

    def swap_deltas(self, y, ranks):
        """Change of the measure when the documents of one query swap ranks pairwise.

        Parameters
        ----------
        y : array-like of shape (m,)
            Grades.
        ranks : array-like of shape (m,)
            1-based rank of each document, a permutation.

        Returns
        -------
        ndarray of shape (m, m)
            Entry (i, j) is the value after swapping ``i`` and ``j`` minus the value
            before; symmetric, 0 on the diagonal and where the value is undefined.
            Complexity: O(m²) where the measure has `DeltaTerms`, O(m³) otherwise.
        """
        y, ranks = _check_one_query(y, ranks)
        ptr = np.array([0, len(y)], dtype=np.intp)
        terms = self.delta_terms(y, ptr)
        if terms is not None:
            return signed_deltas(terms, ptr, 0, ranks)
        return self._recomputed_deltas(y, ranks, ptr)

    def delta_terms(self, y, ptr) -> DeltaTerms | None:
        """Compiled form of `swap_deltas` for losses.

        Parameters
        ----------
        y : ndarray of shape (n_documents,)
            Grades, grouped by query.
        ptr : ndarray of shape (n_queries + 1,)
            Pointer array.

        Returns
        -------
        DeltaTerms or None
            None if the measure has no such form.
        """
        return None

    def _recomputed_deltas(self, y, ranks, ptr):
        """Reference: evaluate all swaps, as one query each."""
        m = len(y)
        first, second = np.triu_indices(m, 1)
        scores = np.tile(-np.asarray(ranks, dtype=np.float64), (len(first) + 1, 1))
        rows = np.arange(len(first))
        scores[rows, first], scores[rows, second] = -ranks[second], -ranks[first]
        all_ptr = np.arange(len(first) + 2, dtype=np.intp) * m
        options = {**self.get_params(deep=False), "empty_query": 0.0}
        if "ties" in options:
            options["ties"] = "stable"  # a permutation has no ties
        values = type(self)(**options).per_query(
            np.tile(y, len(first) + 1), scores.ravel(), all_ptr
        )
        deltas = np.zeros((m, m))
        deltas[first, second] = values[:-1] - values[-1]
        return deltas + deltas.T

    def _values(self, ranker):
        raise NotImplementedError

    def _check_options(self):
        check_choice(self.ties, "ties", self._ties)
        check_cutoff(self.k)
        rule = self.empty_query
        if isinstance(rule, str) and rule not in ("skip", "raise"):
            raise ValueError(f"empty_query must be {_EMPTY}, got {rule!r}")
        if not isinstance(rule, str) and not np.isscalar(rule):
            raise TypeError(f"empty_query must be {_EMPTY}, got {rule!r}")

    def _fill_empty(self, values):
        empty = np.isnan(values)
        if self.empty_query == "skip" or not empty.any():
            return values
        if self.empty_query == "raise":
            raise ValueError(
                f"{self.name} is undefined for {int(empty.sum())} of {len(values)} "
                f"queries (first: query number {int(np.flatnonzero(empty)[0])}), "
                "which carry no information; set empty_query to 'skip' or a number"
            )
        return np.where(empty, float(self.empty_query), values)


class CutOffMixin:
    """Measures of the first ranks.

    Parameters
    ----------
    k : int, default=None
        Cut-off; None counts every rank.
    """

    def __init__(self, k=None, **shared):
        super().__init__(**shared)
        self.k = k


def check_choice(value, name, choices):
    """Raise a ValueError unless ``value`` is one of the strings ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}")


def check_cutoff(k):
    """Raise an error unless ``k`` is None or a positive integer."""
    if k is None:
        return
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k must be a positive integer or None, got {k!r}")
    if k < 1:
        raise ValueError(f"k must be a positive integer or None, got {k}")


def _check_one_query(y, ranks):
    y = np.asarray(y, dtype=np.float64)
    ranks = np.asarray(ranks)
    if y.ndim != 1 or ranks.shape != y.shape:
        raise ValueError(
            f"y and ranks must be one-dimensional and of equal length, got shapes "
            f"{y.shape} and {ranks.shape}"
        )
    if not np.array_equal(np.sort(ranks), np.arange(1, len(y) + 1)):
        raise ValueError(f"ranks must be a permutation of 1..{len(y)}")
    return y, ranks.astype(np.intp)


def signed_deltas(terms, ptr, query, ranks):
    """Return the changes that `DeltaTerms` describe, for one query.

    Parameters
    ----------
    terms : DeltaTerms
        Terms of all queries.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.
    query : int
        Number of the query.
    ranks : ndarray of shape (m,)
        1-based ranks of its documents.

    Returns
    -------
    ndarray of shape (m, m)
        As from `BaseMeasure.swap_deltas`.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import AP, signed_deltas
    >>> ptr = np.array([0, 2])
    >>> terms = AP().delta_terms(np.array([0.0, 1.0]), ptr)
    >>> signed_deltas(terms, ptr, 0, np.array([1, 2]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    gain = terms.gain[ptr[query] : ptr[query + 1]]
    deltas = _DELTAS[terms.kind](gain, terms.discount, ranks)
    return deltas * terms.scale[query]


def _gain_discount_deltas(gain, discount, ranks):
    d = discount[ranks - 1]
    return (gain[None, :] - gain[:, None]) * (d[:, None] - d[None, :])


def _by_rank(changes_by_rank, ranks):
    """Symmetric matrix from the upper triangle given in the order of ranks."""
    full = np.triu(changes_by_rank, 1)
    full = full + full.T
    return full[np.ix_(ranks - 1, ranks - 1)]


def _average_precision_deltas(gain, discount, ranks):
    """Swap positions a < b: the terms at a and b and all hits between change."""
    m = len(gain)
    g = np.empty(m)
    g[ranks - 1] = gain
    d = discount[:m]
    hits = np.cumsum(g)
    between = np.concatenate(([0.0], np.cumsum(g * d)))
    step = g[None, :] - g[:, None]  # what position a gains
    before = (hits - g)[:, None]  # hits above a
    change_a = (g[None, :] * (before + g[None, :]) - (g * hits)[:, None]) * d[:, None]
    change_b = (g[:, None] - g[None, :]) * (hits * d)[None, :]
    inner = between[None, :-1] - between[1:, None]  # Σ g d over positions in (a, b)
    return _by_rank(change_a + change_b + step * inner, ranks)


def _reciprocal_rank_deltas(gain, discount, ranks):
    m = len(gain)
    g = np.empty(m)
    g[ranks - 1] = gain
    relevant = np.flatnonzero(g)
    if not len(relevant):
        return np.zeros((m, m))
    first = relevant[0]
    second = relevant[1] if len(relevant) > 1 else m
    a, b = np.indices((m, m))
    d = np.append(discount[:m], 0.0)
    change = np.zeros((m, m))
    up = (a < first) & (g[None, :] > 0)
    change[up] = d[a[up]] - d[first]
    down = (a == first) & (b > a) & (g[None, :] == 0)
    change[down] = d[np.minimum(b[down], second)] - d[first]
    return _by_rank(change, ranks)


def _cascade_deltas(gain, discount, ranks):
    """O(m³): each swap changes what happens at and between its two positions."""
    m = len(gain)
    g = np.empty(m)
    g[ranks - 1] = gain
    d = discount[:m]

    def value(stop):
        reach = np.concatenate(([1.0], np.cumprod(1 - stop)[:-1]))
        return np.sum(d * reach * stop)

    start = value(g)
    change = np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1, m):
            swapped = g.copy()
            swapped[[a, b]] = g[[b, a]]
            change[a, b] = value(swapped) - start
    return _by_rank(change, ranks)


_DELTAS = {
    "gain_discount": _gain_discount_deltas,
    "average_precision": _average_precision_deltas,
    "reciprocal_rank": _reciprocal_rank_deltas,
    "cascade": _cascade_deltas,
}
