"""Synthetic ranking data with a known optimal ranking."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, overload

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._messages import shown
from skrank._core._parameters import Interval, PositiveInt, Seed
from skrank._core._validation import check_arguments

# Larger standard deviations would overflow, and leave nothing of the utility anyway.
_Spread = Annotated[float, Interval(0, 1e100)]

# Each grade is this many times as frequent as the grade below.
_GRADE_RATIO = 0.45
# Sums of larger weights could overflow.
_LARGEST_SHARE = 1e100
# Numbers that are drawn at a time.
_STEP = 2**22


@overload
def make_ranking(
    n_queries: PositiveInt = ...,
    docs_per_query: PositiveInt | tuple[PositiveInt, PositiveInt] = ...,
    n_features: PositiveInt = ...,
    *,
    n_informative: PositiveInt = ...,
    n_grades: Annotated[int, Interval(2, None)] = ...,
    grade_weights: Sequence[float] | np.ndarray | None = ...,
    noise: _Spread = ...,
    nonlinearity: Annotated[float, Interval(0, 1)] = ...,
    query_effect: _Spread = ...,
    missing: Annotated[float, Interval(0, 1, "left")] = ...,
    shuffle: bool = ...,
    return_utility: Literal[False] = ...,
    random_state: Seed = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...


@overload
def make_ranking(
    n_queries: PositiveInt = ...,
    docs_per_query: PositiveInt | tuple[PositiveInt, PositiveInt] = ...,
    n_features: PositiveInt = ...,
    *,
    n_informative: PositiveInt = ...,
    n_grades: Annotated[int, Interval(2, None)] = ...,
    grade_weights: Sequence[float] | np.ndarray | None = ...,
    noise: _Spread = ...,
    nonlinearity: Annotated[float, Interval(0, 1)] = ...,
    query_effect: _Spread = ...,
    missing: Annotated[float, Interval(0, 1, "left")] = ...,
    shuffle: bool = ...,
    return_utility: Literal[True],
    random_state: Seed = ...,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...


def make_ranking(
    n_queries: PositiveInt = 100,
    docs_per_query: PositiveInt | tuple[PositiveInt, PositiveInt] = (5, 40),
    n_features: PositiveInt = 20,
    *,
    n_informative: PositiveInt = 10,
    n_grades: Annotated[int, Interval(2, None)] = 5,
    grade_weights: Sequence[float] | np.ndarray | None = None,
    noise: _Spread = 0.5,
    nonlinearity: Annotated[float, Interval(0, 1)] = 0.0,
    query_effect: _Spread = 0.5,
    missing: Annotated[float, Interval(0, 1, "left")] = 0.0,
    shuffle: bool = False,
    return_utility: bool = False,
    random_state: Seed = None,
) -> tuple[np.ndarray, ...]:
    r"""Make synthetic queries with graded documents.

    With standard normal features :math:`x_{ij}` of document j of query i, of which the
    first s are informative, a unit vector w drawn once, and nonlinearity
    :math:`\lambda`,

    .. math::
        u_{ij} &\propto (1 - \lambda) \sum_{k=1}^{s} w_k x_{ijk}
            + \lambda\, s^{-1/2} \sum_{k=1}^{s} x_{ijk}\, x_{ij,(k \bmod s) + 1} \\
        t_{ij} &= u_{ij} + \tau b_i + \sigma \varepsilon_{ij}, \qquad
            b_i, \varepsilon_{ij} \sim N(0, 1)

    where the utility u is scaled to unit variance over the data. The grades come from
    t, cut at the quantiles that give each grade its share. By default a grade is 0.45
    times as frequent as the grade below, so that most documents have grade 0, as in
    judged collections.

    No ranking by the features is better than that by u, which is perfect if there is no
    noise. The query effect :math:`\tau` makes some queries rich and others poor in good
    documents, and the features do not show it. It changes no order within a query, but
    it disturbs methods that compare documents of different queries.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    docs_per_query : int or tuple (low, high), default=(5, 40)
        Number of documents of each query, either fixed or drawn uniformly from low to
        high.
    n_features : int, default=20
        Number of features, d.
    n_informative : int, default=10
        Number of features that the utility depends on, s. They are the first columns.
    n_grades : int, default=5
        Number of grades, which are 0 to ``n_grades - 1``.
    grade_weights : sequence of n_grades floats, default=None
        Share of each grade, starting with grade 0; the shares are scaled to sum 1. None
        takes powers of 0.45.
    noise : float, default=0.5
        Standard deviation of the judges' error, σ, where that of the utility is 1.
    nonlinearity : float, default=0.0
        Share of the products of features in the utility, λ, from 0 to 1.
    query_effect : float, default=0.5
        Standard deviation of the shift of a query, τ, where that of the utility is 1.
    missing : float, default=0.0
        Probability that a feature is NaN, from 0 to less than 1. The utility is that of
        the complete features.
    shuffle : bool, default=False
        Whether to mix the rows of different queries.
    return_utility : bool, default=False
        Whether to return the utility u, too.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Relevance grades, float64.
    groups : ndarray of shape (n_documents,)
        Query ids from 0 to ``n_queries - 1``.
    utility : ndarray of shape (n_documents,)
        Utility u of the documents; only if ``return_utility`` is True.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> X, y, groups = make_ranking(3, docs_per_query=4, random_state=0)
    >>> X.shape
    (12, 20)
    >>> groups
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    check_arguments(
        make_ranking,
        n_queries=n_queries,
        docs_per_query=docs_per_query,
        n_features=n_features,
        n_informative=n_informative,
        n_grades=n_grades,
        noise=noise,
        nonlinearity=nonlinearity,
        query_effect=query_effect,
        missing=missing,
        shuffle=shuffle,
        return_utility=return_utility,
        random_state=random_state,
    )
    if n_informative > n_features:
        raise ValueError(
            f"n_informative={n_informative} must not exceed n_features={n_features}"
        )
    low, high = _bounds(docs_per_query)
    shares = _shares(grade_weights, n_grades)

    rng = check_random_state(random_state)
    sizes = rng.randint(low, high + 1, size=n_queries)
    groups = np.repeat(np.arange(n_queries), sizes)
    X = np.empty((len(groups), n_features))
    for rows in _steps(X):
        X[rows] = rng.standard_normal(X[rows].shape)
    utility = _utility(X[:, :n_informative], nonlinearity, rng)
    latent = utility + query_effect * rng.standard_normal(n_queries)[groups]
    latent += noise * rng.standard_normal(len(groups))
    y = _cut(latent, shares)
    if missing:
        for rows in _steps(X):
            X[rows][rng.random_sample(X[rows].shape) < missing] = np.nan
    # Rows are mixed last, so that shuffle=True changes nothing but their order.
    data = (X, y, groups, utility) if return_utility else (X, y, groups)
    if shuffle:
        rows = rng.permutation(len(groups))
        data = tuple(array[rows] for array in data)
    return data


def _steps(X: np.ndarray) -> Iterator[slice]:
    """Yield the rows, some at a time, for signals are answered between draws."""
    n = max(1, _STEP // X.shape[1])
    return (slice(start, start + n) for start in range(0, len(X), n))


def _utility(
    informative: np.ndarray, nonlinearity: float, rng: np.random.RandomState
) -> np.ndarray:
    """Return the utility of documents, scaled to unit variance."""
    n_informative = informative.shape[1]
    weights = rng.standard_normal(n_informative)
    weights /= np.linalg.norm(weights)
    utility = (1 - nonlinearity) * (informative @ weights)
    if nonlinearity:
        products = informative * np.roll(informative, -1, axis=1)
        utility += nonlinearity * products.sum(axis=1) / np.sqrt(n_informative)
    spread = utility.std()
    return utility / spread if spread > 0 else utility


def _cut(latent: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return grades by the quantiles that give each grade its share."""
    # Ranks rather than values are cut, so that every grade gets its number of documents
    # even where latent values are equal.
    bounds = np.round(np.cumsum(shares)[:-1] * len(latent))
    rank = np.empty(len(latent), dtype=np.intp)
    rank[np.argsort(latent, kind="stable")] = np.arange(len(latent))
    return np.searchsorted(bounds, rank, side="right").astype(np.float64)


def _bounds(docs_per_query: int | tuple[int, int]) -> tuple[int, int]:
    """Return the smallest and the largest number of documents of a query."""
    low, high = np.broadcast_to(docs_per_query, 2).tolist()
    if low > high:
        raise ValueError(
            f"docs_per_query must be (low, high) with low <= high, got {docs_per_query}"
        )
    return low, high


def _shares(
    grade_weights: Sequence[float] | np.ndarray | None, n_grades: int
) -> np.ndarray:
    """Return the share of each grade, scaled to sum 1."""
    if grade_weights is None:
        grade_weights = _GRADE_RATIO ** np.arange(n_grades)
    try:
        shares = np.asarray(grade_weights)
        numeric = shares.dtype.kind in "biuf" and shares.shape == (n_grades,)
    except ValueError:  # lists of different lengths
        numeric = False
    if not numeric or not (shares.min() >= 0 and 0 < shares.max() < np.inf):
        raise ValueError(
            f"grade_weights must hold {n_grades} numbers >= 0, not all zero, "
            f"got {shown(grade_weights)}"
        )
    shares = shares.astype(np.float64)
    if shares.max() > _LARGEST_SHARE:
        shares /= shares.max()
    return shares / shares.sum()
