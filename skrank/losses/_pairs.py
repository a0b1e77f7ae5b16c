"""Preference pairs: documents of one query with different grades.

A sum over preference pairs has three parts: the loss of a pair, which its class states;
the weighting of the pairs (`PairWeighting`); and the way it is taken. Where the
weighting is by row, as it is by default, kernels that never visit most of the pairs
take the sum; `PairSum` takes any other, pair by pair and exactly, in blocks.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from sklearn.utils.metaestimators import available_if

from skrank._core import _segments
from skrank._core._inner import as_floats
from skrank._core._messages import shown
from skrank._core._queries import rows_of_queries
from skrank._core._validation import as_numbers, calling
from skrank.losses._base import PreparedLoss, weighted
from skrank.metrics._gain import numbers_of_function

# Pairs that are visited at a time: their arrays stay in the cache of a core.
BLOCK = 1 << 15
# Up to so many different grades, all pairs of grades are tried to find out whether
# their weight depends on the better one alone.
_MAX_TABLE = 64


class PreparedPairs(PreparedLoss):
    """Documents sorted by grade, from which every preference pair can be read.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array of the queries.
    sample_weight : array-like of shape (n_documents,) or None
        Row weights; a pair has the weight of its preferred document.
    n_threads : int
        Number of threads of the compiled code.
    weighting : PairWeighting, default=None
        What pairs weigh besides; None for nothing. It enters the row weights.

    Attributes
    ----------
    n_pairs : int
        Number of preference pairs.
    total_weight : float
        Sum of the weights of all preference pairs.
    """

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads, weighting=None):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.order, self.lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        self.n_pairs = self._count_pairs()
        self.total_weight = float(self.n_pairs)
        if weighting is not None:
            self.weight = weighting.row_weights(self, PairIndex(self))
        if self.weight is not None:
            sizes = np.diff(self.ptr)
            worse = np.repeat(sizes, sizes) - self.lower  # per document, by grade
            rows = self.order + np.repeat(self.ptr[:-1], sizes)
            self.total_weight = float(np.dot(self.weight[rows], worse))

    def _count_pairs(self):
        # Each document of a query has as many places as the query, less those from its
        # first place to that of the lower grades.
        sizes = np.diff(self.ptr)
        return int(sizes @ sizes - self.lower.sum())

    def _part(self, queries, by_row=(), by_query=()):
        part, rows = super()._part(queries, ["order", "lower", *by_row], by_query)
        part.n_pairs = part._count_pairs()
        return part, rows


class PairIndex:
    """Numbers the pairs of documents, query after query, so that any can be looked up.

    Parameters
    ----------
    pairs : PreparedPairs
        Documents sorted by grade.
    first : ndarray of shape (n_documents,), default=None
        For each document, by grade, the first position in its query of those that it is
        compared with, which are all from there on; None for those of lower grade.
    """

    def __init__(self, pairs, first=None):
        sizes = np.diff(pairs.ptr)
        self.start = np.repeat(pairs.ptr[:-1], sizes)
        self.stop = np.repeat(pairs.ptr[1:], sizes)
        self.rows = pairs.order + self.start
        self.first = pairs.lower.astype(np.intp) if first is None else first
        self.counts = np.repeat(sizes, sizes) - self.first
        self.ends = np.cumsum(self.counts)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def look_up(self, numbers):
        """Rows of the preferred and of the other document of numbered pairs."""
        u = np.searchsorted(self.ends, numbers, side="right")
        before = self.ends[u] - self.counts[u]
        v = self.start[u] + self.first[u] + numbers - before
        return self.rows[u], self.rows[v]

    def blocks(self):
        """Yield all pairs, a block at a time.

        Yields
        ------
        rows : slice
            Rows of the queries that the block touches.
        better, worse : ndarrays of shape (n_pairs_in_block,)
            Both documents of each pair, counted from the first of these rows.
        """
        for begin in range(0, self.n_pairs, BLOCK):
            numbers = np.arange(begin, min(begin + BLOCK, self.n_pairs))
            ends = np.searchsorted(self.ends, numbers[[0, -1]], side="right")
            rows = slice(int(self.start[ends[0]]), int(self.stop[ends[1]]))
            better, worse = self.look_up(numbers)
            yield rows, better - rows.start, worse - rows.start

    def counts_by_row(self):
        """Number of pairs in which each document is the preferred one, by row."""
        counts = np.empty(len(self.rows))
        counts[self.rows] = self.counts
        return counts


class PairWeighting:
    """What a preference pair weighs besides the weight of its preferred document.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades.
    normalization : {"pair", "query", "n_pairs"}
        Under "query" the pairs of each query together weigh the mean weight of its
        rows; under "n_pairs" they do so before they are weighed by their grades.
    grade_weights : callable, mapping or None
        Weight of a pair by its two grades.

    Attributes
    ----------
    by_row : bool
        Whether the weight of a pair depends on its preferred document alone.
    """

    def __init__(self, y, normalization, grade_weights):
        self.per_query = normalization != "pair"
        self.counts_alone = normalization == "n_pairs"
        self.of_grades = grade_weights
        if isinstance(grade_weights, Mapping):
            self.of_grades = _GradeTable(grade_weights)
        self._of_better = None if grade_weights is None else self._by_better(y)
        self.by_row = grade_weights is None or self._of_better is not None

    @classmethod
    def of(cls, loss, y):
        """Return the weighting that a loss asks for; None if every pair weighs 1."""
        normalization = getattr(loss, "normalization", "pair")
        grade_weights = getattr(loss, "grade_weights", None)
        if normalization == "pair" and grade_weights is None:
            return None
        return cls(y, normalization, grade_weights)

    def _by_better(self, y):
        """Grades and their weights as the better ones, if nothing else matters."""
        grades = np.unique(np.asarray(y, dtype=np.float64))
        if not 1 < len(grades) <= _MAX_TABLE or isinstance(self.of_grades, _GradeTable):
            return None
        better, worse = np.tril_indices(len(grades), -1)
        table = self.weights(grades[better], grades[worse])
        lowest = np.flatnonzero(worse == 0)  # each better grade once, ascending
        if np.any(table != table[lowest][better - 1]):
            return None
        return grades, np.append(0.0, table[lowest])

    def weights(self, better, worse):
        """Weights of pairs by their two grades, shape (n_pairs,)."""
        if isinstance(self.of_grades, _GradeTable):
            weights = self.of_grades(better, worse)
        else:
            with calling("grade_weights"):
                found = self.of_grades(better, worse)
            weights = numbers_of_function("grade_weights", found, len(better))
        if not np.all(np.isfinite(weights) & (weights >= 0)):
            wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0]
            raise ValueError(
                "grade_weights must give one finite weight >= 0 for every pair of "
                f"grades, got {weights[wrong]:g} for grade {better[wrong]:g} above "
                f"grade {worse[wrong]:g}"
            )
        return weights

    def row_weights(self, data, index):
        """Row weights that hold whatever of the weighting depends on the row.

        Parameters
        ----------
        data : PreparedLoss
            Grades, queries and row weights.
        index : PairIndex
            The pairs that are summed.

        Returns
        -------
        ndarray of shape (n_documents,) or None
            None for ones.
        """
        weight = data.weight
        if self._of_better is not None:
            grades, factors = self._of_better
            factor = factors[np.searchsorted(grades, data.y)]
            weight = factor if weight is None else weight * factor
        if not self.per_query:
            return weight
        weight = np.ones(data.n_documents) if weight is None else weight
        if self.counts_alone:
            own = 1.0 if data.weight is None else data.weight
            total = _segments.segment_sum(own * index.counts_by_row(), data.ptr)
        elif self.by_row:
            total = _segments.segment_sum(weight * index.counts_by_row(), data.ptr)
        else:
            total = _segments.segment_sum(
                self._preferred_weights(data.y, weight, index), data.ptr
            )
        factor = query_factor(total, data.weight, data.ptr)
        return weight * np.repeat(factor, np.diff(data.ptr))

    def totals(self, data, index):
        """Weight of the pairs in which each document is the preferred one, by row.

        The row weights of the data hold what depends on the row.
        """
        weight = np.ones(data.n_documents) if data.weight is None else data.weight
        return self._preferred_weights(data.y, weight, index)

    def _preferred_weights(self, y, weight, index):
        """Weight of the pairs in which each document is the preferred one."""
        total = np.zeros(len(y))
        for rows, better, worse in index.blocks():
            of_pair = self.weights(y[rows][better], y[rows][worse])
            total[rows] += np.bincount(better, of_pair, len(total[rows]))
        return weight * total


class _GradeTable:
    """Pair weights given as a mapping from (better, worse) to the weight."""

    def __init__(self, mapping: Mapping):
        if any(np.shape(pair) != (2,) for pair in mapping):
            raise ValueError(
                "grade_weights must be a mapping from pairs of grades (better, worse), "
                f"got {shown(mapping)}"
            )
        pairs = as_numbers([list(pair) for pair in mapping], "grade_weights")
        weights = as_numbers(list(mapping.values()), "grade_weights")
        self.grades = np.unique(pairs)
        n = len(self.grades)
        self.table = np.full((n + 1, n + 1), np.nan)
        for pair, weight in zip(pairs, weights, strict=True):
            row, column = np.searchsorted(self.grades, pair)
            self.table[row, column] = weight

    def __call__(self, better, worse):
        weights = self.table[self._place(better), self._place(worse)]
        missing = np.flatnonzero(np.isnan(weights))
        if len(missing):
            pair = (float(better[missing[0]]), float(worse[missing[0]]))
            raise ValueError(f"grade_weights has no weight for the grades {pair}")
        return weights

    def _place(self, y):
        """Row of each grade; the last one, which is empty, where it is unknown."""
        n = len(self.grades)
        place = np.searchsorted(self.grades, y)
        known = self.grades[np.minimum(place, n - 1)] == y if n else y != y
        return np.where(known, place, n)


def given_pairs_of_queries(ptr, better, queries):
    """Select pairs that are given one by one, by their queries.

    Parameters
    ----------
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of the queries.
    better : ndarray of shape (n_pairs,)
        Row of the preferred document of each pair, sorted.
    queries : ndarray of shape (n_chosen,)
        Numbers of the queries, in the order in which they are wanted.

    Returns
    -------
    ptr : ndarray of shape (n_chosen + 1,)
        Pointer array of these queries.
    pairs : ndarray of shape (n_chosen_pairs,)
        Numbers of their pairs.
    moved : ndarray of shape (n_chosen_pairs,)
        What to add to the rows of each of these pairs.
    """
    _, chosen_ptr = rows_of_queries(ptr, queries)
    pairs, pair_ptr = rows_of_queries(np.searchsorted(better, ptr), queries)
    moved = np.repeat(chosen_ptr[:-1] - ptr[queries], np.diff(pair_ptr))
    return chosen_ptr, pairs, moved


def query_factor(total, weight, ptr):
    """Factors under which the pairs of each query weigh its rows' mean weight.

    Parameters
    ----------
    total : ndarray of shape (n_queries,)
        What the pairs of each query weigh without the factor.
    weight : ndarray of shape (n_documents,) or None
        Row weights.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of the queries.

    Returns
    -------
    ndarray of shape (n_queries,)
        1 for queries without pairs.
    """
    sizes = np.diff(ptr)
    own = np.ones(int(ptr[-1])) if weight is None else weight
    mean = _segments.segment_sum(own, ptr) / np.maximum(sizes, 1)
    return np.divide(mean, total, out=np.ones_like(mean), where=total > 0)


def pair_sums(
    loss, raw, better, worse, weight, want_hessian=False
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Weighted losses of given pairs, and the derivatives of their sum.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss that offers ``pair_loss``, and ``margin_curvature`` where the
        Hessian is wanted.
    raw : ndarray of shape (n_documents,)
        Scores.
    better : ndarray of shape (n_pairs,)
        Row of the preferred document of each pair.
    worse : ndarray of shape (n_pairs,)
        Row of the other document.
    weight : ndarray of shape (n_pairs,) or None
        Weight of each pair.
    want_hessian : bool, default=False
        Whether to compute the diagonal of the Hessian.

    Returns
    -------
    values : ndarray of shape (n_pairs,)
        Loss of each pair times its weight.
    gradient : ndarray of shape (n_documents,)
        Gradient of ``values.sum()``.
    hessian : ndarray of shape (n_documents,) or None
        Diagonal of its Hessian.
    """
    n = len(raw)
    values, up, down = loss.pair_loss(raw[better], raw[worse])
    values, up, down = (weighted(part, weight) for part in (values, up, down))
    gradient = _sums_by_row(better, up, n)
    gradient += np.bincount(worse, down, n)
    if not want_hessian:
        return values, gradient, None
    curvature = weighted(curvature_of(loss, raw[better] - raw[worse]), weight)
    hessian = _sums_by_row(better, curvature, n)
    hessian += np.bincount(worse, curvature, n)
    return values, gradient, hessian


def curvature_of(loss, margins: np.ndarray) -> np.ndarray:
    """Return the second derivatives that a loss, of the user's perhaps, states."""
    name = f"{type(loss).__name__}.margin_curvature"
    return as_floats(loss.margin_curvature(margins), name, len(margins), "margins")


def add_pairs(losses, gradient, better, worse, values, slopes, weight):
    """Add the losses of pairs, and their slopes in the margin, to those of the rows.

    Parameters
    ----------
    losses, gradient : ndarrays of shape (n_rows,)
        Sums by row, which are changed; a pair counts with its preferred document.
    better, worse : ndarrays of shape (n_pairs,)
        Rows of both documents of each pair.
    values, slopes : ndarrays of shape (n_pairs,)
        Loss of each pair, and its derivative with respect to the difference of scores.
    weight : ndarray of shape (n_pairs,) or None
        Weight of each pair.
    """
    n = len(losses)
    values, slopes = weighted(values, weight), weighted(slopes, weight)
    losses += np.bincount(better, values, n)
    gradient += np.bincount(better, slopes, n)
    gradient -= np.bincount(worse, slopes, n)


def _sums_by_row(rows, numbers, n):
    """Sum of the numbers of each row; without any, NumPy would count in integers."""
    return np.bincount(rows, numbers, n).astype(np.float64, copy=False)


class PairSum(PreparedPairs):
    """Exact sum of any loss of pairs over all preference pairs, block by block.

    Complexity: O(number of pairs) per evaluation, with one evaluation of the loss for
    each pair, and O(n_documents) memory besides a block of pairs.

    Parameters
    ----------
    loss : BaseLoss
        A pairwise loss that offers ``pair_loss``.
    y, ptr, sample_weight, n_threads, weighting
        See `PreparedPairs`.
    """

    def __init__(self, loss, y, ptr, sample_weight, n_threads, weighting=None):
        super().__init__(y, ptr, sample_weight, n_threads, weighting)
        self.loss = loss
        self.index = PairIndex(self)
        self._of_grades: Callable | None = None
        if weighting is not None and not weighting.by_row:
            self._of_grades = weighting.weights
            self.total_weight = float(weighting.totals(self, self.index).sum())
        # One block, as small batches have, is looked up once and not in each step.
        self._kept = list(self._blocks()) if self.n_pairs <= BLOCK else None

    def blocks(self) -> Iterable[tuple]:
        """Return all pairs, a block at a time.

        Returns
        -------
        iterable of tuple
            What `PairIndex.blocks` yields, and the weight of each pair or None.
        """
        return self._blocks() if self._kept is None else self._kept

    def _blocks(self):
        for rows, better, worse in self.index.blocks():
            weight = None if self.weight is None else self.weight[rows][better]
            if self._of_grades is not None:
                y = self.y[rows]
                of_grades = self._of_grades(y[better], y[worse])
                weight = of_grades if weight is None else weight * of_grades
            yield rows, better, worse, weight

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        return self._evaluate(raw, False)[:2]

    @available_if(lambda self: self.loss.has_hessian)
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return self._evaluate(raw, True)

    def _evaluate(self, raw, want_hessian):
        raw = self._scores(raw)
        losses, gradient = np.zeros_like(raw), np.zeros_like(raw)
        hessian = np.zeros_like(raw) if want_hessian else None
        for rows, better, worse, weight in self.blocks():
            sums = pair_sums(self.loss, raw[rows], better, worse, weight, want_hessian)
            losses[rows] += np.bincount(better, sums[0], len(losses[rows]))
            gradient[rows] += sums[1]
            if hessian is not None and sums[2] is not None:
                hessian[rows] += sums[2]
        return _segments.segment_sum(losses, self.ptr), gradient, hessian
