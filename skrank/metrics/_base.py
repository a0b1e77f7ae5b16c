"""What every ranking measure shares.

A measure maps the grades and scores of a query to one number. Three things that other
tools leave implicit are arguments here: what happens to documents of equal score
(``ties``), to queries without information (``empty_query``), and which weight a query
has in the mean. Losses see a measure through `BaseMeasure.swap_deltas` or, compiled,
through `DeltaTerms`; whatever compares two values of a measure asks
`BaseMeasure.is_better` or multiplies with `BaseMeasure.sign`.
"""

import copy
import warnings
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning

from skrank._core._finite import at_most_one, quiet
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import (
    NThreads,
    NumberOrNaN,
    Parameters,
    PositiveInt,
    Seed,
)
from skrank._core._threads import effective_n_threads
from skrank._core._validation import as_numbers, check_arguments, check_ptr
from skrank.metrics._ranked_documents import RankedDocuments, Ties
from skrank.metrics._row_arguments import check_row_arguments
from skrank.metrics._swap_deltas import (
    DeltaKind,
    DeltaTerms,
    check_one_query,
    recomputed_deltas,
    signed_deltas,
)

EmptyQuery = Literal["skip", "raise"] | NumberOrNaN
#: What a query must hold so that a measure has a value for it.
Needed = Literal["relevant documents", "nonrelevant documents", "different grades"]


@overload
def query_weights(sample_weight: None, ptr: npt.ArrayLike) -> None: ...
@overload
def query_weights(sample_weight: npt.ArrayLike, ptr: npt.ArrayLike) -> np.ndarray: ...
@overload
def query_weights(
    sample_weight: npt.ArrayLike | None, ptr: npt.ArrayLike
) -> np.ndarray | None: ...
def query_weights(
    sample_weight: npt.ArrayLike | None, ptr: npt.ArrayLike
) -> np.ndarray | None:
    """Return the weight of each query, the mean of its row weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_documents,) or None
        Row weights, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_queries,) or None
        0 for a query without rows; None if there are no row weights.

    Raises
    ------
    ValueError
        If weights or their sum over a query are not finite, or the pointers do not end
        with the last of them.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import query_weights
    >>> query_weights(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3]))
    array([2., 5.])
    """
    if sample_weight is None:
        return None
    sample_weight = as_numbers(sample_weight, "sample_weight", "numeric weights")
    if sample_weight.ndim != 1:
        raise ValueError(
            "sample_weight must hold one weight per row, got an array of shape "
            f"{sample_weight.shape}"
        )
    _refuse_not_finite(sample_weight, "sample_weight")
    ptr = check_ptr(ptr, len(sample_weight))
    sizes = np.diff(ptr)
    held = sizes > 0
    weights = np.zeros(len(sizes))
    if held.any():
        with quiet():
            sums = np.add.reduceat(sample_weight, ptr[:-1][held])
        if not np.isfinite(sums).all():
            raise ValueError(
                "sample_weight must hold weights whose sum over a query is finite, "
                f"found weights up to {sample_weight.max():.2g}"
            )
        weights[held] = sums / sizes[held]
    return weights


def _refuse_not_finite(weights, name):
    bad = ~np.isfinite(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be finite, found {weights[row]:g} as number {row}"
        )


def _values_of_queries(values, name, n_queries=None) -> np.ndarray:
    values = as_numbers(values, name)
    if values.ndim != 1 or n_queries not in (None, len(values)):
        wanted = "one number per query" if n_queries is None else f"{n_queries} numbers"
        raise ValueError(f"{name} must hold {wanted}, got shape {values.shape}")
    return values


def _of_rows(values, name):
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        numbers = values  # a masked array keeps its mask
    else:
        numbers = as_numbers(values, name)
    if numbers.ndim != 1:
        raise ValueError(
            f"{name} must hold one number per document, got shape {numbers.shape}"
        )
    return numbers


def _refuse_nan(numbers, name):
    """Raise an error if a number is NaN: documents have no order by it."""
    with quiet():
        # The sum, which takes no memory, is NaN as well, or two infinities cancel.
        if np.isnan(numbers.sum()) and np.isnan(numbers).any():
            row = int(np.argmax(np.isnan(numbers)))
            raise ValueError(f"{name} must not hold NaN, found in row {row}")


def checked_grades(
    y: npt.ArrayLike, ptr: npt.ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return grades of queries and their pointers as `BaseMeasure.delta_terms` does.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Grades, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    y : ndarray of shape (n_documents,), dtype float64
        Grades.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Raises
    ------
    ValueError
        If a grade is NaN or no number, or the pointers do not ascend from 0 to the
        number of grades.
    """
    grades = _of_rows(unmasked(y), "y")
    _refuse_nan(grades, "y")
    grades = np.ascontiguousarray(grades, dtype=np.float64)
    return grades, check_ptr(ptr, len(grades))


def _check_retrieved(retrieved, n_documents) -> np.ndarray:
    marks = as_numbers(retrieved, "retrieved")
    if marks.shape != (n_documents,):
        raise ValueError(
            f"retrieved must hold True or False for each of {n_documents} documents, "
            f"got shape {marks.shape}"
        )
    if np.isnan(marks).any():
        row = int(np.flatnonzero(np.isnan(marks))[0])
        raise ValueError(f"retrieved must hold True or False; row {row} has neither")
    return marks.astype(bool)


def _plain_number(number):
    """A number that Python compares: in NumPy's small types, large ones overflow."""
    return number.item() if isinstance(number, np.generic) else number


def _scaled_down(weights):
    """Weights whose sums neither overflow nor vanish, by an exact factor."""
    largest = weights.max(initial=0)
    if largest == 0 or 1e-250 < largest < 1e250:
        return weights
    return at_most_one(weights)


def _undo_rounding(values, low, high, n_terms):
    """Put values on a bound that rounding alone carried beyond it.

    Values farther outside are kept: they tell of a mistake.
    """
    outside = (values < low) | (values > high)
    if not outside.any():
        return values
    # Rounding changes a sum of n terms of one sign by less than n units in the last
    # place, and a quotient of two such sums by about twice that.
    slack = 4 * np.finfo(np.float64).eps * np.asarray(n_terms, dtype=np.float64)
    nearest = np.clip(values, low, high)
    rounded = outside & (np.abs(values - nearest) <= slack * np.abs(nearest))
    return np.where(rounded, nearest, values)


class BaseMeasure(Parameters, BaseEstimator):
    """Base class of ranking measures.

    A measure states its ``short_name`` and implements ``_values(documents)``, which
    takes `RankedDocuments` and returns one value per query, NaN where the query carries
    no information. What the common tests and the losses must know of a measure, its
    class states in the attributes below. Measures of ranked lists derive from
    `RankedMeasure`, which adds the treatment of equal scores.

    Parameters
    ----------
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without information, which is one without what
        ``undefined_without`` names; "skip" leaves it out of the mean, "raise" makes it
        an error.

    Attributes
    ----------
    short_name : str
        Name without cut-off and options, such as "ndcg".
    aliases : tuple of str
        Further names that `get_measure` understands.
    greater_is_better : bool
        Direction of the measure.
    bounds : tuple of float
        Least and greatest value that the measure can take, whatever its options.
        Values that rounding carries beyond a bound are put on it.
    undefined_without : str or None
        What a query must hold to have a value: "relevant documents", "nonrelevant
        documents" or "different grades"; None if every query has a value.
    needs_cut_off : bool
        Whether the measure has the same value for all rankings of a query unless it is
        cut off at some rank ``k``.
    has_swap_deltas : bool
        Whether the measure depends on the ranks of documents only, so that swapping two
        ranks changes it in a way that losses can use.
    rank_form : str or None
        The kind of `DeltaTerms` whose sum, times its scale, is the measure itself and
        not only its changes: "gain_discount", "average_precision", "reciprocal_rank" or
        "cascade"; None if there is none. Such a measure can be smoothed.
    row_arguments : tuple of str
        Names of what the measure needs beside grades and scores, with one entry per
        document, such as "price"; ``documents.row_arguments`` then holds them.
    """

    short_name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    greater_is_better: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    undefined_without: ClassVar[Needed | None] = "relevant documents"
    needs_cut_off: ClassVar[bool] = False
    has_swap_deltas: ClassVar[bool] = True
    rank_form: ClassVar[DeltaKind | None] = None
    row_arguments: ClassVar[tuple[str, ...]] = ()

    # Whoever sets or shows cut-offs may ask any measure for its own.
    k = None

    empty_query: EmptyQuery = "skip"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments that the common tests try."""
        return [{}]

    @property
    def sign(self) -> int:
        """1 if a greater value is better, -1 otherwise."""
        return 1 if self.greater_is_better else -1

    def is_better(self, value: NumberOrNaN, reference: NumberOrNaN) -> bool:
        """Whether a value of the measure is better than another one.

        Parameters
        ----------
        value : float
            Value of the measure. NaN, which stands for an undefined value, is not
            better than anything.
        reference : float
            Value to compare with. Everything but NaN is better than NaN.

        Returns
        -------
        bool

        Examples
        --------
        >>> from skrank.metrics import get_measure
        >>> get_measure("ndcg").is_better(0.5, 0.4), get_measure("mse").is_better(2, 1)
        (True, False)
        """
        check_arguments(BaseMeasure.is_better, value=value, reference=reference)
        value, reference = _plain_number(value), _plain_number(reference)
        if value != value or reference != reference:  # NaN
            return bool(reference != reference and value == value)
        return bool(value > reference if self.greater_is_better else value < reference)

    @property
    def name(self) -> str:
        """Name of the measure with its options and cut-off, such as ``"ndcg@10"``."""
        options = self._name_options()
        inside = ",".join(f"{key}={value}" for key, value in options.items())
        return (
            (self.short_name or type(self).__name__)
            + (f"({inside})" if inside else "")
            + ("" if self.k is None else f"@{self.k}")
        )

    def _name_options(self) -> dict[str, Any]:
        """Options that belong to the name because they change what is measured."""
        return {}

    def __str__(self):
        return self.name

    def _stated(self) -> dict[str, Any]:
        """What the object states in place of its class, such as a name of its own."""
        params = self._get_param_names()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in params and name in _STATEMENTS
        }

    def _with(self, **params: Any) -> Self:
        """Return a copy that has other parameters."""
        made = type(self)(**{**self.get_params(deep=False), **params})
        vars(made).update(self._stated())
        return made

    def _saved_state(self) -> dict[str, Any]:
        """What a model file holds beside the parameters; no name of the user's."""
        params = self._get_param_names()
        state = {k: v for k, v in vars(self).items() if k not in params}
        state.pop("short_name", None)
        return state

    def __sklearn_clone__(self):
        made = super().__sklearn_clone__()
        vars(made).update(copy.deepcopy(self._stated()))
        return made

    def per_query(
        self,
        y: np.ndarray,
        y_score: np.ndarray,
        ptr: np.ndarray,
        *,
        docids: np.ndarray | None = None,
        retrieved: np.ndarray | None = None,
        row_arguments: Mapping[str, Any] | None = None,
        n_threads: NThreads = None,
    ) -> np.ndarray:
        """Evaluate the measure on each query.

        Parameters
        ----------
        y : ndarray of shape (n_documents,), dtype float64
            Grades, grouped by query. In a masked array, masked documents were not
            judged: they are not relevant, and `Bpref` leaves them out.
        y_score : ndarray of shape (n_documents,), dtype float64
            Scores, higher is better; −inf means that the document is not retrieved.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        docids : ndarray of shape (n_documents,), default=None
            Document ids, needed by ``ties="docid"``.
        retrieved : ndarray of shape (n_documents,), dtype bool, default=None
            False marks judged documents that the ranking does not contain: they count
            as relevant documents and in the ideal ranking only. None takes those whose
            score is not −inf.
        row_arguments : dict of str to array-like, default=None
            What the attribute ``row_arguments`` names, with one entry per document.
        n_threads : int, default=None
            Number of threads; None asks for all CPUs.

        Returns
        -------
        ndarray of shape (n_queries,)
            NaN for queries without information, such as those without documents, if
            ``empty_query`` is "skip".

        Raises
        ------
        ValueError
            If a parameter is out of range, if a grade or a score is NaN, if a query
            carries no information and ``empty_query`` is "raise", or if document ids
            or row arguments are missing.
        """
        self._check_parameters()
        is_masked = np.ma.isMaskedArray(y)
        check_arguments(BaseMeasure.per_query, n_threads=n_threads)
        y, y_score = _of_rows(y, "y"), _of_rows(unmasked(y_score), "y_score")
        ptr = check_ptr(ptr, len(y))
        if len(y_score) != len(y):
            raise ValueError(
                f"y_score must hold one score for each of {len(y)} documents, got "
                f"{len(y_score)}"
            )
        _refuse_nan(y, "y")
        _refuse_nan(y_score, "y_score")
        # Sums over segments, as NumPy has them, take the first document of the next
        # query for one of an empty query.
        held = ptr[1:] > ptr[:-1]
        if retrieved is not None:
            retrieved = _check_retrieved(retrieved, len(y))
        rows = self._check_row_arguments(row_arguments, len(y))
        values = np.full(len(held), np.nan)
        if held.any():
            documents = RankedDocuments(
                np.ascontiguousarray(
                    np.ma.filled(y, 0.0) if is_masked else y, dtype=np.float64
                ),
                np.ascontiguousarray(y_score, dtype=np.float64),
                ptr if held.all() else np.append(ptr[0], ptr[1:][held]),
                ties=getattr(self, "ties", "average"),
                docids=docids,
                retrieved=retrieved,
                judged=~np.ma.getmaskarray(y) if is_masked else None,
                random_state=getattr(self, "random_state", None),
                greater_is_better=self.greater_is_better,
                n_threads=effective_n_threads(n_threads),
                row_arguments=rows,
            )
            values[held] = self._values_in_bounds(documents)
        return self._fill_empty(values)

    @classmethod
    def _evaluates_documents(cls) -> bool:
        """Whether the values of queries are those that `_of_documents` returns."""
        # Each class has a copy of the method, with a docstring of its own.
        own: Any = cls.per_query
        return getattr(own, "__code__", None) is BaseMeasure.per_query.__code__

    def _of_documents(self, documents: RankedDocuments) -> np.ndarray:
        """Return the values of queries, each of which has documents, as `per_query`."""
        self._check_parameters()
        self._check_row_arguments(None, len(documents.y))
        return self._fill_empty(self._values_in_bounds(documents))

    def mean(
        self, per_query: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> float:
        """Return the weighted mean of the values of queries.

        Parameters
        ----------
        per_query : array-like of shape (n_queries,)
            As returned by `per_query`.
        weights : array-like of shape (n_queries,), default=None
            Weight of each query; None for equal weights.

        Returns
        -------
        float
            NaN, with a warning, if no query has a value. Never outside of the range of
            the values.

        Raises
        ------
        ValueError
            If a weight of a query with a value is not finite, or lengths differ.
        """
        values = _values_of_queries(per_query, "per_query")
        weights = (
            np.ones(len(values))
            if weights is None
            else _values_of_queries(weights, "weights", len(values))
        )
        if isinstance(self.empty_query, str):
            keep = ~np.isnan(values)
            values, weights = values[keep], weights[keep]
        _refuse_not_finite(weights, "weights")
        weights = _scaled_down(weights)
        total = weights.sum()
        if total == 0:
            self._warn_undefined(stacklevel=3)
            return float("nan")
        with quiet():
            mean = np.dot(values, weights) / total
        if np.isinf(mean):
            mean = np.dot(values, weights / total)
        return float(_undo_rounding(mean, values.min(), values.max(), len(values)))

    def _warn_undefined(self, stacklevel):
        """Warn that not a single query has a value."""
        rule = self.empty_query
        treated = "leaves out" if rule == "skip" else "is the value of"
        kind = self._undefined_queries()
        left_out = f" (empty_query={rule!r} {treated} {kind})" if kind else ""
        warnings.warn(
            f"{self.name} is undefined: no query carries information{left_out}",
            UndefinedMetricWarning,
            stacklevel=stacklevel + 1,
        )

    def swap_deltas(self, y: npt.ArrayLike, ranks: npt.ArrayLike) -> np.ndarray:
        """Return what swapping the ranks of two documents changes, for all pairs.

        Parameters
        ----------
        y : array-like of shape (m,)
            Grades of the documents of one query.
        ranks : array-like of shape (m,)
            1-based rank of each document, a permutation.

        Returns
        -------
        ndarray of shape (m, m)
            Entry (i, j) is the value after swapping ``i`` and ``j`` minus the value
            before; symmetric, 0 on the diagonal and where the value is undefined.
            Complexity: O(m²) time where the measure has `DeltaTerms` (O(m³) for the
            kind "cascade"); otherwise all m (m - 1) / 2 swaps are evaluated, most often
            in O(m³ log m) time. Memory: O(m²).

        Raises
        ------
        ValueError
            If the measure has no swap deltas, a parameter is not accepted, or ``ranks``
            is no permutation.
        """
        self._check_parameters()
        self._check_has_swap_deltas()
        y, ranks = check_one_query(y, ranks)
        ptr = np.array([0, len(y)], dtype=np.intp)
        terms = self.delta_terms(y, ptr)
        if terms is not None:
            return signed_deltas(terms, ptr, 0, ranks)
        return recomputed_deltas(self, y, ranks)

    def _deltas_of_pairs(self, y, ranks, wanted):
        """Changes by the swaps that are marked, those of all others 0.

        Where every swap is evaluated, as for a function, it is for these alone.
        """
        own = type(self).swap_deltas.__code__ is not BaseMeasure.swap_deltas.__code__
        ptr = np.array([0, len(y)], dtype=np.intp)
        if own or self.delta_terms(y, ptr) is not None:
            return np.where(wanted, self.swap_deltas(y, ranks), 0.0)
        return recomputed_deltas(self, y, ranks, wanted)

    def delta_terms(self, y: np.ndarray, ptr: np.ndarray) -> DeltaTerms | None:
        """Return the form of `swap_deltas` that the kernels of losses take.

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

        Raises
        ------
        ValueError
            If the measure has no swap deltas at all, a grade is NaN or no number, or
            the pointers do not ascend from 0 to the number of grades.
        """
        self._check_has_swap_deltas()
        return None

    def _check_has_swap_deltas(self):
        if not self.has_swap_deltas:
            raise ValueError(
                f"measure {self.name!r} has no swap deltas: its value depends on the "
                "scores themselves, not on the order they give; choose a measure of "
                "rankings such as 'ndcg@10'"
            )

    def _values_in_bounds(self, documents):
        values = self._one_per_query(self._values(documents), len(documents.ptr) - 1)
        low, high = self.bounds
        if ((values >= low) & (values <= high)).all():  # none is NaN either
            return values
        return _undo_rounding(values, low, high, np.diff(documents.ptr))

    def _one_per_query(self, found, n_queries):
        """What ``_values`` of a class returned, as an array of numbers."""
        values = found if isinstance(found, np.ndarray) else _as_array(found)
        told = None
        if values.dtype.kind not in "biuf":
            told = shown(found)
        elif values.shape != (n_queries,):
            told = f"{shown(found)}, which has the shape {values.shape}"
        elif np.isinf(values).any():
            told = f"infinity for query number {int(np.isinf(values).argmax())}"
        if told is not None:
            raise TypeError(
                f"{type(self).__name__}._values must return one finite number, or NaN, "
                f"for each of {n_queries} queries, returned {told}"
            )
        return values.astype(np.float64, copy=False)

    def _values(self, documents: RankedDocuments) -> np.ndarray:
        raise NotImplementedError(
            f"{type(self).__name__} must define the method _values(documents), which "
            "returns one number for each query"
        )

    def _row_names(self) -> tuple[str, ...]:
        """Names of the row-aligned arguments that the measure needs."""
        return tuple(self.row_arguments)

    def _check_row_arguments(self, given, n_documents):
        arrays = check_row_arguments(given, n_documents)
        names = self._row_names()
        missing = [name for name in names if name not in arrays]
        if missing:
            raise ValueError(
                f"measure {self.name!r} needs {', '.join(missing)}, with one entry per "
                "row: scorers, evaluate_measure and compare take it as a row argument; "
                "rankers, which see grades and scores only, cannot use such a measure"
            )
        for name in arrays:
            if name not in names:
                raise TypeError(
                    f"row_arguments: measure {self.name!r} takes no {name} with one "
                    f"entry per row; it takes {', '.join(names) or 'none'}"
                )
        return arrays

    def _undefined_queries(self) -> str:
        """Which queries have no value, for a warning; nothing if all have one."""
        if self.undefined_without is None:
            return ""
        return f"queries without {self.undefined_without}"

    def _lack(self):
        """Why queries have no value, as the end of a sentence about them."""
        if self.undefined_without is None:
            return "which carry no information"
        return f"which are without {self.undefined_without}"

    def _fill_empty(self, values):
        empty = np.isnan(values)
        if self.empty_query == "skip" or not empty.any():
            return values
        if self.empty_query == "raise":
            raise ValueError(
                f"{self.name} is undefined for {int(empty.sum())} of {len(values)} "
                f"queries (first: query number {int(np.flatnonzero(empty)[0])}), "
                f"{self._lack()}; set empty_query to 'skip' or a number"
            )
        return np.where(empty, float(self.empty_query), values)


# What a class says of its measure, and an object of it may say differently.
_STATEMENTS = frozenset(BaseMeasure.__annotations__)


def _as_array(found):
    try:
        return np.asarray(found)
    except ValueError:  # lists of several lengths
        return np.array(None)


class RankedMeasure(BaseMeasure):
    """Base class of measures of ranked lists.

    Parameters
    ----------
    ties : {"average", "stable", "best", "worst", "docid", "random"}, default="average"
        Treatment of documents of equal score: the expected value over their orders; in
        the order of the rows; most relevant or least relevant first; by decreasing
        document id; in random order.
    empty_query : {"skip", "raise"} or float, default="skip"
        Value of a query without relevant documents, or without whatever
        ``undefined_without`` names; "skip" leaves it out of the mean, "raise" makes it
        an error.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``.
    """

    ties: Ties = "average"
    empty_query: EmptyQuery = "skip"
    random_state: Seed = None


class CutOffMixin(Parameters):
    """Parameter of measures that look at the first ranks only.

    Parameters
    ----------
    k : int, default=None
        Cut-off; None counts every rank.
    """

    k: PositiveInt | None = field(default=None, kw_only=False)
