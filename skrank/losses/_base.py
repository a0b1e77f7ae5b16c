"""What a loss is.

A loss compares scores with relevance grades, query by query. It is pure: it sees
grades, scores, the pointer array of the queries and weights, never features, parameters
or an optimizer. `BaseLoss` holds hyper-parameters; `BaseLoss.prepare` binds it to the
grades of a data set and does once what need not be repeated (sorting by grade, counting
pairs), and the resulting `PreparedLoss` is what a solver evaluates.

The value of a query is the *sum* over its units (documents, preference pairs, or the
query itself); ``values.sum() / total_weight`` is the mean over the units.
"""

import functools
import inspect
import math
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from skrank._core import _segments
from skrank._core._finite import NotFiniteError, largest_safe, quiet
from skrank._core._informative import warn_of_data
from skrank._core._inner import is_of_user, names_of_seeds, numbers_of
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import Parameters, PositiveInt
from skrank._core._queries import rows_of_queries
from skrank._core._sparse import read_only
from skrank._core._threads import n_threads_for
from skrank._core._validation import (
    as_numbers,
    check_arguments,
    check_ptr,
    naming,
)

# Smaller scores differ in enough digits, whatever they have in common.
_LARGE = 2.0**20


class BaseLoss(Parameters, BaseEstimator):
    """A loss over queries, with its hyper-parameters.

    Subclasses declare their parameters, set the class attributes and implement
    ``_prepare(y, ptr, sample_weight, n_threads)``, which returns a `PreparedLoss`;
    those that read labels take them as a fifth argument.

    A prepared loss may offer more than values and gradients: ``gradient_hessian(raw)``
    exactly where ``has_hessian`` says so; ``subset(queries)``, the same loss of some
    queries, where it holds what was drawn or given for each query; and, for solvers
    that work with constraints or with a measure itself, ``most_violated(raw)``, which
    returns the value of each query's bound at the ranking that violates it most and the
    gradient of their sum, and ``measure(raw)``, the exact value of the measure of each
    query. Whatever is offered works: solvers ask by ``hasattr``.

    Attributes
    ----------
    short_name : str
        The name by which the loss can be chosen; abstract bases and losses that are
        made around another one have none.
    unit : {"document", "pair", "query"}
        What the mean of the loss is taken over.
    n_outputs : int
        Number of scores per document.
    weighs_scores : bool
        Whether raw scores may have one column for each of two weights of preferences,
        as from `skrank.energies.PreferenceWeightsEnergy`.
    shift_invariant : bool
        Whether adding a constant to all scores of a query leaves the loss unchanged.
    convex : bool
        Whether the loss is convex in the scores.
    descends : bool
        Whether training lowers the loss. One whose weights follow the current ranking
        may rise while the rankings get better.
    has_hessian : bool
        Whether prepared losses offer ``gradient_hessian``.
    reads_labels : bool
        Whether `prepare` takes ``labels``, so that raw scores may have one column per
        label: those of energies E(q, d, r) that depend on the label.
    compares_minima : bool
        Whether, of such energies, the minima over the labels of two documents are
        compared, so that documents are ranked by them, too.
    """

    short_name: ClassVar[str]
    unit = "document"
    n_outputs = 1
    weighs_scores = False
    shift_invariant = False
    convex = True
    descends = True
    has_hessian = False
    reads_labels = False
    compares_minima = False
    #: Whether there must be grades; given pairs of documents do without.
    _needs_grades = True

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing: every option value at least once."""
        return [{}]

    def prepare(
        self,
        y: npt.ArrayLike,
        ptr: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        labels: npt.ArrayLike | None = None,
        n_threads: PositiveInt = 1,
    ):
        """Bind the loss to the grades of a data set.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Relevance grades, grouped by query.
        ptr : array-like of shape (n_queries + 1,), dtype intp
            Documents of query ``q`` are rows ``ptr[q]:ptr[q + 1]``.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; None means ones.
        labels : array-like of shape (n_labels,), default=None
            Labels of the columns of the scores, ascending; None for scores that do not
            depend on the label.
        n_threads : int, default=1
            Number of threads of the compiled code. It does not change any result.

        Returns
        -------
        PreparedLoss
            The loss bound to these grades.

        Raises
        ------
        ValueError
            If a parameter of the loss is out of range, an array has another length
            than there are documents, a grade is not finite, a weight is negative or
            not finite, the sum of the weights times the number of documents is not
            finite, nor is that of what is compared, or labels are not distinct finite
            numbers that ascend.
        TypeError
            If a parameter is of the wrong type, or if there are labels and the loss
            does not read them.
        """
        self._check_parameters()
        check_arguments(BaseLoss.prepare, n_threads=n_threads)
        ptr = check_ptr(ptr)
        if y is not None or self._needs_grades:
            y = _rows(y, int(ptr[-1]), "y")
            _check_each(np.isfinite(y), y, "y must hold finite grades")
        if sample_weight is not None:
            sample_weight = _rows(sample_weight, int(ptr[-1]), "sample_weight")
            accepted = np.isfinite(sample_weight) & (sample_weight >= 0)
            rule = "sample_weight must hold finite numbers >= 0"
            _check_each(accepted, sample_weight, rule)
            with quiet():  # pairs and places weigh as much together, at most
                total = sample_weight.sum() * len(sample_weight)
            if not np.isfinite(total):
                raise ValueError(
                    "sample_weight must hold numbers whose sum, for each document, is "
                    f"finite, found {len(sample_weight)} numbers up to "
                    f"{sample_weight.max():.2g}"
                )
        if labels is not None:
            labels = _check_labels(labels)
        with quiet():
            prepared = self._bind(y, ptr, sample_weight, labels, n_threads)
        if not np.isfinite(prepared.total_weight):
            name = "y" if sample_weight is None else "sample_weight"
            given = y if sample_weight is None else sample_weight
            raise ValueError(
                f"{name} must hold numbers for which the weights that "
                f"{type(self).__name__} gives to what it compares have a finite sum, "
                f"found {len(given)} numbers up to {np.max(given, initial=0.0):.2g}"
            )
        self._check_bound(prepared)
        return prepared

    def _bind(self, y, ptr, sample_weight=None, labels=None, n_threads=1):
        """Do what `prepare` does without its checks, for batch after batch."""
        if labels is not None and not self.reads_labels:
            raise TypeError(
                f"{type(self).__name__} compares scores of documents, but there is one "
                "energy per label; use a loss functional such as HingeLoss, or an "
                "energy without labels"
            )
        rest = () if labels is None else (labels,)
        prepared = self._prepare(y, ptr, sample_weight, n_threads, *rest)
        prepared.loss_name = type(self).__name__
        return prepared

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        """Bind the loss, whose parameters have been checked.

        Losses that do not read labels leave the last argument out.
        """
        raise NotImplementedError

    def _check_bound(self, prepared):
        """Warn of data from which the loss cannot learn; called once, not per batch."""
        y = getattr(prepared, "y", None)
        weight = getattr(prepared, "weight", None)
        if prepared.total_weight > 0 or y is None:
            return
        if weight is not None and not weight.any():
            return
        # That grades are equal is said of the data, whatever the loss.
        if has_preference(y, prepared.ptr).any():
            self._warn_of_equal_documents()

    def _warn_of_equal_documents(self):
        warn_of_data(
            f"{type(self).__name__} tells no documents of a query apart, although "
            "grades differ, so that nothing is learned; check its relevance level, its "
            "gain and the weights"
        )

    def _with(self, **changes) -> Self:
        """Return the loss with some parameters changed and the others shared."""
        return type(self)(**{**self.get_params(deep=False), **changes})

    def value_gradient(
        self,
        y: npt.ArrayLike,
        raw: npt.ArrayLike,
        ptr: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        n_threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the loss once, without keeping what `prepare` computed.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Relevance grades, grouped by query.
        raw : array-like of shape (n_documents,)
            Scores.
        ptr : array-like of shape (n_queries + 1,), dtype intp
            Pointer array of the queries.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; None means ones.
        n_threads : int, default=1
            Number of threads of the compiled code.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Sum of the loss over the units of each query.
        gradient : ndarray of shape (n_documents,)
            Gradient of ``values.sum()`` with respect to ``raw``.

        Raises
        ------
        NotFiniteError
            If a score or the loss is infinite or NaN.
        ValueError
            If an array has another length than there are documents, a grade is not
            finite, or a weight is negative or not finite.
        """
        prepared = self.prepare(y, ptr, sample_weight, n_threads=n_threads)
        return prepared.value_gradient(raw)

    def to_scores(self, raw: npt.ArrayLike) -> np.ndarray:
        """Turn raw model output into scores by which documents are ranked.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Raw output.

        Returns
        -------
        ndarray of shape (n_documents,)
            Scores; higher is better.
        """
        with naming("raw"):
            return np.asarray(unmasked(raw))


def finite_evaluation(function):
    """Have a method that evaluates a loss refuse scores and results not finite.

    Scores are looked at before, because kernels that search among them take for granted
    that they are ordered. `PreparedLoss` applies it to the methods of its subclasses.
    """

    of_user = is_of_user(function)

    @functools.wraps(function)
    def evaluate(self, raw):
        # Solvers pass arrays of numbers, for which nothing is to be done.
        if type(raw) is not np.ndarray or raw.dtype.kind not in "fiu":
            raw = as_numbers(raw, "raw", "scores")
        if of_user:
            raw = read_only(raw)  # of which a ranker may make its next step
        with quiet():
            if not _all_finite(raw):
                raise NotFiniteError(self._why_not_evaluated(raw))
            result = function(self, raw)
            if of_user:
                result = _checked_result(result, self, function, raw)
            total = result[0].sum()
            # Scores that overflow within a kernel may show in the gradient alone.
            for more in result[1:]:
                if math.isfinite(total) and not _all_finite(more):
                    total = more.sum()
        if not math.isfinite(total):
            raise NotFiniteError(self._why_not_finite(total, raw))
        return result

    return evaluate


def _checked_result(result, prepared, function, raw) -> tuple[np.ndarray, ...]:
    """Return what a loss of the user's has returned, after a check.

    Arrays of other lengths would be broadcast to rows without a word.
    """
    name = f"{type(prepared).__name__}.{function.__name__}"
    shapes = [(prepared.n_queries,), np.shape(raw)]
    if function.__name__ == "gradient_hessian":
        shapes.append(shapes[1])
    if not isinstance(result, tuple) or len(result) != len(shapes):
        raise TypeError(f"{name} must return {len(shapes)} arrays, got {shown(result)}")
    found = tuple(
        numbers_of(array, name).astype(np.float64, copy=False) for array in result
    )
    if [array.shape for array in found] != shapes:
        raise ValueError(
            f"{name} must return arrays of the shapes {', '.join(map(str, shapes))}, "
            f"got {', '.join(str(array.shape) for array in found)}"
        )
    return found


def _all_finite(array):
    # A finite sum, which takes no memory, says that all numbers are finite. One by BLAS
    # would be quicker, but a fork may stop its threads.
    return math.isfinite(array.sum()) or np.isfinite(array).all()


class PreparedLoss:
    """A loss bound to the grades of a data set.

    Subclasses implement `value_gradient`. Scores that are not finite are refused with a
    `NotFiniteError`, which is a ValueError, and so is a loss of finite scores that is
    not finite itself, or whose gradient is not.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Relevance grades, grouped by query.
    ptr : array-like of shape (n_queries + 1,)
        Pointer array of the queries.
    sample_weight : array-like of shape (n_documents,) or None
        Row weights.
    n_threads : int
        Number of threads of the compiled code.

    Attributes
    ----------
    total_weight : float
        Sum of the weights of the units that carry information; 0 if there are none.
    draws_anew : bool
        Whether the loss drew random numbers that should not serve twice, so that every
        batch is prepared anew.
    """

    total_weight: float
    draws_anew = False
    # Absent where the judgements are preferences, which have no grades.
    y: np.ndarray
    weight: np.ndarray | None = None
    #: Number of scores of a document that the loss takes, or None for any.
    n_columns: int | None = None
    #: Name of the loss for error messages.
    loss_name = "The loss"

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in ("value_gradient", "gradient_hessian", "most_violated"):
            own: Any = vars(cls).get(name)
            if inspect.isfunction(own):
                setattr(cls, name, finite_evaluation(own))
            elif hasattr(own, "fn"):  # behind scikit-learn's available_if
                own.fn = finite_evaluation(own.fn)

    def __init__(self, y, ptr, sample_weight, n_threads):
        self.ptr = np.ascontiguousarray(ptr, dtype=np.intp)
        if y is not None:
            self.y = _rows(y, self.n_documents, "y")
        self.weight = None
        if sample_weight is not None:
            self.weight = _rows(sample_weight, self.n_documents, "sample_weight")
        # A document takes a kernel about 25 ns.
        self.n_threads = n_threads_for(25 * self.n_documents, n_threads)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.ptr) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents, over all queries."""
        return int(self.ptr[-1])

    def value_gradient(self, raw: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the loss and its gradient.

        Parameters
        ----------
        raw : array-like of shape (n_documents,)
            Scores.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Sum of the loss over the units of each query.
        gradient : ndarray of shape (n_documents,)
            Gradient of ``values.sum()``.
        """
        raise NotImplementedError

    def _why_not_evaluated(self, raw) -> str:
        """Return which of the scores is infinite or NaN."""
        raw = np.atleast_1d(raw)
        row, *column = np.argwhere(~np.isfinite(raw))[0].tolist()
        return (
            f"{self.loss_name} cannot be evaluated, because scores are not finite: raw "
            f"must hold finite numbers; found {raw[(row, *column)]} in row {row}"
        )

    def _why_not_finite(self, total, raw) -> str:
        """Return what makes the sum of the loss of finite scores infinite or NaN."""
        raw = np.asarray(raw, dtype=np.float64)
        arrays = (
            ("scores", raw),
            ("grades", getattr(self, "y", None)),
            ("weights", self.weight),
        )
        limit = largest_safe(np.float64)
        for name, values in arrays:
            largest = 0.0 if values is None else np.abs(values).max(initial=0.0)
            if largest > limit:
                return (
                    f"{self.loss_name} became {total}, because {name} reach "
                    f"{largest:.2g} in size; squares beyond {limit:.2g} overflow"
                )
        span = f"at scores from {raw.min():.3g} to {raw.max():.3g}"
        return f"{self.loss_name} became {total} {span}"

    def _part(self, queries, by_row=(), by_query=()):
        """Copy with what belongs to some queries, for losses that offer ``subset``.

        Parameters
        ----------
        queries : ndarray of shape (n_chosen,), dtype intp
            Numbers of the queries, in the order in which they are wanted.
        by_row, by_query : sequences of str
            Names of the attributes with one entry per document, or per query.

        Returns
        -------
        part : PreparedLoss
            The copy; all other attributes are shared.
        rows : ndarray of shape (n_rows,), dtype intp
            Rows of these queries.
        """
        rows, ptr = rows_of_queries(self.ptr, queries)
        part = copy(self)
        part.ptr = ptr
        part.n_threads = n_threads_for(25 * part.n_documents, self.n_threads)
        for name in ("y", "weight", *by_row):
            array = getattr(self, name)
            setattr(part, name, None if array is None else array[rows])
        for name in by_query:
            setattr(part, name, getattr(self, name)[queries])
        return part, rows

    def _scores(self, raw):
        """Scores as the kernels take them."""
        return _rows(raw, self.n_documents, "raw")

    def _centred_scores(self, raw):
        """Scores for a loss that does not change with the origin of each query.

        What large scores of a query have in common would cost the digits in which they
        differ. A score amid them is taken off: the median of three, for one of them may
        be an outlier.
        """
        scores = self._scores(raw)
        if np.abs(scores).max(initial=0.0) < _LARGE:
            return scores
        sizes = np.diff(self.ptr)
        starts, sizes = self.ptr[:-1][sizes > 0], sizes[sizes > 0]
        three = starts + (sizes - 1) * np.array([[0], [1], [2]]) // 2
        with quiet():
            return scores - np.repeat(np.median(scores[three], axis=0), sizes)


def _check_labels(labels):
    """Return labels as an array; they are the names of columns, in their order."""
    array = np.ascontiguousarray(as_numbers(labels, "labels"))
    ascending = array.ndim == 1 and array.size and (np.diff(array) > 0).all()
    if not (ascending and np.isfinite(array).all()):
        raise ValueError(
            "labels must hold distinct finite numbers in ascending order, got "
            f"{shown(labels)}"
        )
    return array


def _rows(array, n_documents, name):
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
        array = np.ascontiguousarray(unmasked(array), dtype=np.float64)
    else:
        array = as_numbers(array, name)
    if array.shape != (n_documents,):
        raise ValueError(
            f"{name} must have one number per document, shape ({n_documents},); "
            f"got shape {array.shape}"
        )
    return array


def _check_each(accepted, array, rule):
    """Raise an error that names the first number of an array that is not accepted."""
    if not accepted.all():
        place = int(np.argmin(accepted))
        raise ValueError(f"{rule}; found {array[place]} in row {place}")


def with_seeds(loss: Any, rng: np.random.RandomState) -> Any:
    """Give what a loss draws without a seed of its own the seed of its ranker.

    Parameters
    ----------
    loss : BaseLoss
        Loss, which is changed.
    rng : RandomState
        Source of the seeds.

    Returns
    -------
    BaseLoss
        The loss itself.
    """
    params = loss.get_params(deep=True)
    for name in names_of_seeds(loss):
        if params[name] is None:
            seed = rng.randint(np.iinfo(np.int32).max)
            loss.set_params(**{name: np.random.RandomState(seed)})
    return loss


def weighted(numbers, weight):
    """Multiply numbers by weights; what has no weight gives 0, even if it overflows.

    Parameters
    ----------
    numbers : ndarray of shape (n,) or (n, k)
        Losses or derivatives, infinite at most where they overflow.
    weight : ndarray of shape (n,) or None
        Weights, at least 0; None for ones.

    Returns
    -------
    ndarray, shaped like ``numbers``
    """
    if weight is None:
        return numbers
    product = numbers * weight.reshape(-1, *[1] * (numbers.ndim - 1))
    if not weight.all():
        product[weight == 0.0] = 0.0
    return product


def informative_query_weights(y, ptr, sample_weight):
    """Weights of queries as the units of a loss.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.
    sample_weight : ndarray of shape (n_documents,) or None
        Row weights.

    Returns
    -------
    ndarray of shape (n_queries,)
        The mean weight of the rows of a query; 0 for a query whose grades are all
        equal, because it holds no information about the order.
    """
    sizes = np.diff(ptr)
    weights = np.ones(len(sizes))
    if sample_weight is not None:
        weights = _segments.segment_sum(sample_weight, ptr) / np.maximum(sizes, 1)
    weights[~has_preference(y, ptr)] = 0.0
    return weights


def has_preference(y, ptr):
    """Whether a query has two documents of different grade.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Pointer array.

    Returns
    -------
    ndarray of shape (n_queries,), dtype bool
    """
    differs = np.zeros(len(y))
    differs[1:] = y[1:] != y[:-1]
    starts = ptr[:-1][np.diff(ptr) > 0]
    differs[starts] = 0.0  # a change of query is not a change of grade
    return _segments.segment_sum(differs, ptr) > 0
