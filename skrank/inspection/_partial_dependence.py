"""How scores depend on the values of features, and how far features interact."""

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state

from skrank._core._columns import column_of, n_columns, place_of, with_column
from skrank._core._exact import beyond_floats
from skrank._core._id_arrays import id_array
from skrank._core._inner import check_predicts, needs_groups, scores_of
from skrank._core._levels import levels_of
from skrank._core._messages import shown
from skrank._core._parameters import Interval, PositiveInt, Seed
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._validation import (
    as_numbers,
    check_options,
    n_rows,
    resolve_groups,
)
from skrank.inspection._categories import categorical_in
from skrank.inspection._columns import in_order

_GridSize = Annotated[int, Interval(2, 10_000)]
_LARGEST = 1e150


def query_partial_dependence(
    estimator: Any,
    X: Any,
    feature: Any,
    groups: npt.ArrayLike | None = None,
    *,
    grid: npt.ArrayLike | None = None,
    grid_resolution: _GridSize = 50,
    individual: bool = False,
) -> Bunch:
    r"""Mean score over the values of a feature, relative to the mean of each query.

    .. math:: g_i(v) = f(x_i^{j \leftarrow v}) - \frac{1}{m_q} \sum_{k \in q} f(x_k),
              \qquad
              \bar g(v) = \frac{1}{Q} \sum_q \frac{1}{m_q} \sum_{i \in q} g_i(v)

    where :math:`x_i^{j \leftarrow v}` is document i of query q with the value v of
    feature j. A constant that a ranker adds to the scores of a query changes no
    ranking; so scores are relative to the mean score of the query as it is, and all
    queries count the same. scikit-learn's ``partial_dependence`` refuses rankers.

    A score may depend on the other documents of the query, as that of
    `PreferenceOrdering` does, or of any ranker behind a `QueryStandardScaler`. The same
    value for all documents would then be scaled away. So one document at a time takes
    the value, among the others as they are, and is compared with their scores:

    .. math:: g_i(v) = f_i(X^{ij \leftarrow v}) - o_i(X^{ij \leftarrow v}) + o_i(X)
              - \frac{1}{m_q} \sum_{k \in q} f_k(X)

    .. math:: o_i(X) = \frac{1}{m_q - 1} \sum_{k \in q,\, k \ne i} f_k(X)

    which is the first equation where a score depends on nothing else. Complexity: a
    prediction of all documents for each value, or for each pair of values; where scores
    depend on the query, as many of them as the largest query has documents.

    Parameters
    ----------
    estimator : ranker, Pipeline or any object with ``predict``
        A fitted ranker; it is given the groups if it asks for them.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        One row per document.
    feature : int, str or pair of them
        Number or name of the feature; of two features, all pairs of values are tried.
    groups : array-like of shape (n_documents,), default=None
        The query of each row, in any order. If None, the ids are read from a level
        named "qid" of the pandas index of ``X``.
    grid : array-like of shape (n_values,), default=None
        Values of the feature; for two features a pair of arrays. None takes all values
        that occur. If more than ``grid_resolution`` occur, it takes the most frequent
        ones of a feature whose values are names, which may be numbers to the ranker
        (``categorical_features``), and numbers at equal distances between the 5th and
        the 95th percentile of any other.
    grid_resolution : int, default=50
        Largest number of values of a feature.
    individual : bool, default=False
        Whether to return the curve of each document as well.

    Returns
    -------
    Bunch
        ``grid_values``, a list of the values of each feature, ``average`` of shape
        (n_values,) or (n_values, n_values_2), and ``individual`` of shape
        (n_documents, ...) if asked for.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, there is no such feature, or a score
        exceeds 1e150.

    References
    ----------
    [Friedman2001]_, section 8.2; [Goldstein2015]_ for individual curves.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import query_partial_dependence
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> result = query_partial_dependence(ranker, X, 0, groups, grid=[0.0, 1.0])
    >>> slope = result.average[1] - result.average[0]
    >>> round(float(slope), 6) == round(float(ranker.coef_[0]), 6)
    True
    """
    check_options(query_partial_dependence, locals())
    check_predicts(estimator, "estimator")
    given = resolve_groups(
        groups, X, n_samples=n_rows(X), caller="query_partial_dependence"
    )
    X, index = in_order(X), QueryIndex.from_groups(given)
    places = _places(feature, X)
    categorical = categorical_in(estimator, n_columns(X))[places]
    columns = [column_of(X, j) for j in places]
    grids = _grids(grid, columns, categorical, grid_resolution)
    if index.order is not None:
        X, given = take_rows(X, index.order), given[index.order]
    curve_of = _AloneInQuery if needs_groups(estimator) else _AllAtOnce
    curve = curve_of(estimator, X, given, index)
    shape = tuple(len(values) for values in grids)
    average = np.empty(shape)
    curves = np.empty((index.n_documents, *shape)) if individual else None
    for at in np.ndindex(*shape):
        values = [values[k] for values, k in zip(grids, at)]
        scores = curve(places, values)
        average[at] = _query_means(scores, index).mean()
        if curves is not None:
            curves[:, *at] = index.restore(scores)
    result = Bunch(grid_values=grids, average=average)
    if curves is not None:
        result.individual = curves
    return result


class _AllAtOnce:
    """Relative scores of documents that all take the same values."""

    def __init__(self, estimator, X, groups, index):
        self.estimator, self.X, self.groups, self.index = estimator, X, groups, index
        self.scores = self.predicted(X, groups)
        self.means = _query_means(self.scores, index)

    def predicted(self, X, groups):
        return _predicted(self.estimator, X, groups)

    def __call__(self, places, values):
        changed = self.X
        for j, value in zip(places, values):
            changed = with_column(changed, j, value)
        centre = np.repeat(self.means, self.index.sizes)
        return self.predicted(changed, self.groups) - centre


class _AloneInQuery(_AllAtOnce):
    """Relative scores of documents that take values among the others as they are."""

    def __call__(self, places, values):
        sizes, ptr = self.index.sizes, self.index.ptr
        found = np.empty(len(self.scores))
        for number in range(sizes.max()):
            # The document of this number changes in all queries that have one.
            has_one = sizes > number
            rows = np.flatnonzero(np.repeat(has_one, sizes))
            own, m = ptr[:-1][has_one] + number, sizes[has_one]
            starts = np.cumsum(m) - m
            changed = take_rows(self.X, rows)
            for j, value in zip(places, values):
                column = _replaced(column_of(changed, j), starts + number, value)
                changed = with_column(changed, j, column)
            scores = self.predicted(changed, self.groups[rows])
            now = scores[starts + number]
            moved = now - _mean_of_others(scores, now, starts, m)
            before = _mean_of_others(self.scores[rows], self.scores[own], starts, m)
            found[own] = moved + before - self.means[has_one]
        return found


def _mean_of_others(scores, own, starts, sizes) -> np.ndarray:
    """Return the mean score of the other documents of each query; 0 if none are."""
    return (np.add.reduceat(scores, starts) - own) / np.maximum(sizes - 1, 1)


def _replaced(column, rows, value) -> np.ndarray:
    """Return a column with another value in some rows, of a type that holds it."""
    added = np.asarray(value)
    numbers = column.dtype.kind in "biuf" and added.dtype.kind in "biuf"
    dtype = np.result_type(column.dtype, added.dtype) if numbers else object
    changed = np.array(column, dtype=dtype)
    changed[rows] = value
    return changed


def interaction_strength(
    estimator: Any,
    X: Any,
    features: Sequence[Any] | None = None,
    *,
    n_samples: PositiveInt = 50,
    random_state: Seed = None,
) -> Bunch:
    r"""How much of the joint effect of two features is no sum of effects of each.

    .. math:: H_{jk}^2 = \frac{\sum_i \left[ F_{jk}(x_{ij}, x_{ik}) - F_j(x_{ij})
              - F_k(x_{ik}) \right]^2}{\sum_i F_{jk}^2(x_{ij}, x_{ik})}

    where the partial dependences :math:`F_j` and :math:`F_{jk}` are means of the score
    over the sampled documents, shifted to mean 0. :math:`H_{jk}` is 0 for a score that
    adds a function of one feature to one of the other, and 1 where all of the joint
    effect is interaction. A joint effect near 0 may have a large H by chance, so its
    amount is returned as well. Complexity: ``n_samples`` squared predictions for each
    feature and each pair.

    Parameters
    ----------
    estimator : ranker, Pipeline or any object with ``predict``
        A fitted ranker that scores each document by itself.
    X : array-like, DataFrame or CSR matrix of shape (n_documents, n_features)
        One row per document.
    features : sequence of int or str, default=None
        Numbers or names of the features; None takes all.
    n_samples : int, default=50
        Number of documents that are drawn.
    random_state : int, RandomState or None, default=None
        Source of the sample.

    Returns
    -------
    Bunch
        ``strength``, the symmetric matrix of :math:`H_{jk}`, and ``amount``, the square
        roots of the means of the squares in the numerator, in units of the score; both
        of shape (n_chosen, n_chosen), with 0 on the diagonal.

    Raises
    ------
    ValueError
        If there is no such feature, scores depend on the queries, or one exceeds 1e150.

    References
    ----------
    [Friedman2008]_, eq. 44.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import interaction_strength
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankSVM().fit(X, y, groups)
    >>> result = interaction_strength(ranker, X, [0, 1], random_state=0)
    >>> bool(result.strength.max() < 1e-6)
    True
    """
    check_options(interaction_strength, locals())
    check_predicts(estimator, "estimator")
    if needs_groups(estimator):
        raise ValueError(
            f"estimator: a score of {type(estimator).__name__} depends on the other "
            "documents of the query, so that documents cannot be sampled"
        )
    scores = _predicted(estimator, X)  # and checks the rows
    # Differences of means that are no more than rounding are none.
    least = (1e-12 * np.abs(scores).max(initial=0.0)) ** 2
    chosen = _chosen(features, X)
    rng = check_random_state(random_state)
    n = n_rows(X)
    rows = np.sort(rng.choice(n, min(n_samples, n), replace=False))
    sample = take_rows(in_order(X), rows)
    alone = [_centred_dependence(estimator, sample, [j]) for j in chosen]
    strength, amount = np.zeros((2, len(chosen), len(chosen)))
    for a, b in combinations(range(len(chosen)), 2):
        joint = _centred_dependence(estimator, sample, [chosen[a], chosen[b]])
        rest = np.mean((joint - alone[a] - alone[b]) ** 2)
        if rest <= least:
            continue
        total = np.mean(joint**2)
        amount[a, b] = amount[b, a] = np.sqrt(rest)
        if total > 0:
            # Effects of different signs may cancel in the joint one.
            strength[a, b] = strength[b, a] = np.sqrt(rest / total)
    return Bunch(strength=strength, amount=amount)


def _chosen(features, X) -> list[int]:
    if features is None:
        return list(range(n_columns(X)))
    is_array = isinstance(features, np.ndarray) and features.ndim == 1
    is_list = isinstance(features, Sequence) and not isinstance(features, str | bytes)
    if not (is_array or is_list):
        raise TypeError(
            f"features must be a sequence of columns or None, got {shown(features)}"
        )
    places = [place_of(feature, X, "features") for feature in features]
    if len(set(places)) < len(places):
        raise ValueError("features must name each column once")
    return places


def _centred_dependence(estimator, sample, places) -> np.ndarray:
    """Return F at the values of each sampled document, shifted to mean 0."""
    columns = [column_of(sample, j) for j in places]
    found = np.empty(n_rows(sample))
    for i in range(len(found)):
        changed = sample
        for j, column in zip(places, columns):
            changed = with_column(changed, j, column[i])
        found[i] = np.mean(_predicted(estimator, changed))
    return found - found.mean()


def _predicted(estimator, X, groups=None) -> np.ndarray:
    """Return scores whose sums and squares are finite."""
    found = scores_of(estimator, X, groups, response_method="predict")
    scores = np.asarray(found, dtype=np.float64)
    too_large = np.abs(scores) > _LARGEST
    if too_large.any():
        raise ValueError(
            f"estimator must give scores from -{_LARGEST:g} to {_LARGEST:g}, whose "
            f"squares are finite, got {scores[too_large][0]:g}; scale X or the grid"
        )
    return scores


def _query_means(scores, index) -> np.ndarray:
    return np.add.reduceat(scores, index.ptr[:-1]) / index.sizes


def _places(feature, X) -> list[int]:
    several = isinstance(feature, tuple | list | np.ndarray)
    is_single = isinstance(feature, np.ndarray) and feature.ndim == 0
    if is_single or (several and len(feature) != 2):
        raise ValueError(
            f"feature must be a column or a pair of columns, got {shown(feature)}"
        )
    places = [place_of(f, X) for f in (feature if several else [feature])]
    if len(set(places)) < len(places):
        raise ValueError(f"feature must name two columns, got {shown(feature)}")
    return places


def _grids(grid, columns, categorical, resolution) -> list[np.ndarray]:
    """Return the values that each feature takes."""
    if grid is None:
        pairs = zip(columns, categorical)
        return [_grid_of(column, named, resolution) for column, named in pairs]
    parts = [grid] if len(columns) == 1 else grid
    is_array = isinstance(parts, np.ndarray) and parts.ndim > 0
    if not (is_array or isinstance(parts, Sequence)) or len(parts) != len(columns):
        raise ValueError(
            f"grid must hold one array for each of {len(columns)} features, got "
            f"{shown(grid)}"
        )
    found = [_given_grid(part, column) for part, column in zip(parts, columns)]
    for values in found:
        if values.ndim != 1 or not len(values):
            raise ValueError(
                f"grid must hold arrays of values, got shape {values.shape}"
            )
    return found


def _given_grid(part, column) -> np.ndarray:
    """Return values that the user has chosen; each name and number keeps its type."""
    if column.dtype.kind not in "OSU":
        numbers = as_numbers(part, "grid")
        exact = np.asarray(part)
        return exact if exact.dtype.kind in "iu" and beyond_floats(numbers) else numbers
    if isinstance(part, Sequence) and not isinstance(part, str | bytes):
        return id_array(part)
    return np.asarray(part)


def _grid_of(column, is_categorical, resolution) -> np.ndarray:
    known = column
    if column.dtype.kind in "OSU":
        values, places = levels_of(column, "feature")
        counts = np.bincount(places[places >= 0], minlength=len(values))
    else:
        known = column[column == column]  # without missing values
        values, counts = np.unique(known, return_counts=True)
    if len(values) == 0:
        raise ValueError("feature has no values in X; pass a grid")
    if len(values) <= resolution:
        return values
    if is_categorical or column.dtype.kind not in "biuf":
        # A stable order, so that of equal counts the first values are kept.
        return values[np.sort(np.argsort(-counts, kind="stable")[:resolution])]
    low, high = np.quantile(known.astype(np.float64), [0.05, 0.95])
    return np.linspace(low, high, resolution) if high > low else values[:resolution]
