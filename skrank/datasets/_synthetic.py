"""Synthetic ranking data with a known optimal ranking."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

_GRADE_RATIO = 0.45


def make_ranking(
    n_queries: int = 100,
    docs_per_query: int | tuple[int, int] = (5, 40),
    n_features: int = 20,
    *,
    n_informative: int = 10,
    n_grades: int = 5,
    grade_weights: Sequence[float] | None = None,
    noise: float = 0.5,
    nonlinearity: float = 0.0,
    query_effect: float = 0.5,
    missing: float = 0.0,
    shuffle: bool = False,
    return_utility: bool = False,
    random_state=None,
):
    r"""Make queries with graded documents.

    With standard normal features :math:`x_{ij}` of document j of query i, of which the
    first s are informative, a unit vector w drawn once, and nonlinearity
    :math:`\lambda`,

    .. math::
        u_{ij} &\propto (1 - \lambda) \sum_{k=1}^{s} w_k x_{ijk}
            + \lambda\, s^{-1/2} \sum_{k=1}^{s} x_{ijk}\, x_{ij,(k \bmod s) + 1} \\
        t_{ij} &= u_{ij} + \tau b_i + \sigma \varepsilon_{ij}, \qquad
            b_i, \varepsilon_{ij} \sim N(0, 1)

    where u is scaled to unit variance over the data. Grades cut t at the quantiles that
    give each grade its share. By default a grade is 0.45 times as frequent as the grade
    below, so that most documents are of grade 0, as in judged collections.

    Ranking by u is the best that features can do; without noise it is perfect. The
    query effect :math:`\tau` makes some queries rich and others poor in good documents
    and cannot be told from the features: it changes no order within a query, but
    disturbs whoever compares documents of different queries.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    docs_per_query : int or tuple (low, high), default=(5, 40)
        Number of documents of each query, fixed or uniform from low to high.
    n_features : int, default=20
        Number of features, d.
    n_informative : int, default=10
        Number of features that the utility depends on, s; the first columns.
    n_grades : int, default=5
        Number of grades; grades are 0 to ``n_grades - 1``.
    grade_weights : sequence of n_grades floats, default=None
        Share of each grade, from grade 0; scaled to sum 1. None takes powers of 0.45.
    noise : float, default=0.5
        Standard deviation of the judges' error, σ, in units of the utility's.
    nonlinearity : float, default=0.0
        Share of the products of features in the utility, λ, from 0 to 1.
    query_effect : float, default=0.5
        Standard deviation of the shift of a query, τ.
    missing : float, default=0.0
        Probability that a feature is NaN, from 0 to less than 1. The utility is that of
        the complete features.
    shuffle : bool, default=False
        Whether rows of different queries are mixed.
    return_utility : bool, default=False
        Whether to return u too.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Grades, float64.
    groups : ndarray of shape (n_documents,)
        Query ids from 0 to ``n_queries - 1``.
    utility : ndarray of shape (n_documents,)
        The utility u; only if ``return_utility`` is set.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> X, y, groups = make_ranking(3, docs_per_query=4, random_state=0)
    >>> X.shape
    (12, 20)
    >>> groups
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    _check_counts(n_queries, n_features, n_informative, n_grades)
    low, high = _check_docs_per_query(docs_per_query)
    shares = _check_shares(grade_weights, n_grades)
    _check_interval(noise, "noise", 0, np.inf)
    _check_interval(nonlinearity, "nonlinearity", 0, 1)
    _check_interval(query_effect, "query_effect", 0, np.inf)
    _check_interval(missing, "missing", 0, np.nextafter(1, 0))

    rng = check_random_state(random_state)
    sizes = rng.randint(low, high + 1, size=n_queries)
    groups = np.repeat(np.arange(n_queries), sizes)
    X = rng.standard_normal((len(groups), n_features))
    utility = _utility(X[:, :n_informative], nonlinearity, rng)
    latent = utility + query_effect * rng.standard_normal(n_queries)[groups]
    latent += noise * rng.standard_normal(len(groups))
    y = _cut(latent, shares)
    if missing:
        X[rng.random_sample(X.shape) < missing] = np.nan
    data = (X, y, groups, utility) if return_utility else (X, y, groups)
    if shuffle:
        rows = rng.permutation(len(groups))
        data = tuple(array[rows] for array in data)
    return data


def _utility(informative, nonlinearity, rng):
    """Utility of documents, scaled to unit variance."""
    n_informative = informative.shape[1]
    weights = rng.standard_normal(n_informative)
    weights /= np.linalg.norm(weights)
    utility = (1 - nonlinearity) * (informative @ weights)
    if nonlinearity:
        products = informative * np.roll(informative, -1, axis=1)
        utility += nonlinearity * products.sum(axis=1) / np.sqrt(n_informative)
    spread = utility.std()
    return utility / spread if spread > 0 else utility


def _cut(latent, shares):
    """Grades by the quantiles of the latent value that give each grade its share."""
    bounds = np.round(np.cumsum(shares)[:-1] * len(latent))
    rank = np.empty(len(latent), dtype=np.intp)
    rank[np.argsort(latent, kind="stable")] = np.arange(len(latent))
    return np.searchsorted(bounds, rank, side="right").astype(np.float64)


def _check_counts(n_queries, n_features, n_informative, n_grades):
    lowest = {"n_queries": 1, "n_features": 1, "n_informative": 1, "n_grades": 2}
    counts = (n_queries, n_features, n_informative, n_grades)
    for (name, least), value in zip(lowest.items(), counts):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    if n_informative > n_features:
        raise ValueError(
            f"n_informative={n_informative} must not exceed n_features={n_features}"
        )


def _check_docs_per_query(docs_per_query):
    bounds = docs_per_query
    if isinstance(bounds, Integral):
        bounds = (bounds, bounds)
    accepted = (
        isinstance(bounds, (tuple, list))
        and len(bounds) == 2
        and all(isinstance(bound, Integral) for bound in bounds)
        and 1 <= bounds[0] <= bounds[1]
    )
    if not accepted:
        raise ValueError(
            "docs_per_query must be a positive integer or a tuple (low, high) with "
            f"1 <= low <= high, got {docs_per_query!r}"
        )
    return bounds


def _check_shares(grade_weights, n_grades):
    if grade_weights is None:
        grade_weights = _GRADE_RATIO ** np.arange(n_grades)
    shares = np.asarray(grade_weights, dtype=np.float64)
    if shares.shape != (n_grades,) or not (shares.min() >= 0 and shares.sum() > 0):
        raise ValueError(
            f"grade_weights must hold {n_grades} numbers >= 0, not all zero, "
            f"got {grade_weights!r}"
        )
    return shares / shares.sum()


def _check_interval(value, name, low, high):
    if not isinstance(value, Real) or not low <= value <= high or np.isinf(value):
        bounds = f">= {low}, finite" if np.isinf(high) else f"from {low} to {high:g}"
        raise ValueError(f"{name} must be a number {bounds}, got {value!r}")
