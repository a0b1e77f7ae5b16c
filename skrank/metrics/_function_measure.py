"""Measures that are functions of one query."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from skrank._core._inner import parameters_of
from skrank._core._messages import shown
from skrank._core._parameters import PositiveInt, Seed, invalid_parameter
from skrank._core._validation import called
from skrank.metrics._base import BaseMeasure
from skrank.metrics._ranked_documents import RankedDocuments, TiesOrFunction
from skrank.metrics._row_arguments import RESERVED


@dataclass(frozen=True)
class _OfOneQuery:
    """Functions, as opposed to classes, which can be called as well."""

    def __contains__(self, value):
        return not isinstance(value, type)

    def __str__(self):
        return "f(y_true, y_score)"


#: A function that computes a measure.
MetricFunction = Annotated[Callable, _OfOneQuery()]


def _mean_of_top(y_true, y_score, k=1):
    """Mean grade of the first k documents, expected over ties, for `_variants`."""
    k = min(k, len(y_score))
    last = np.sort(y_score)[-k]
    above, tied = y_score > last, y_score == last
    rest = k - np.count_nonzero(above)
    return (y_true[above].sum() + rest * y_true[tied].mean()) / k


class FunctionMeasure(BaseMeasure):
    r"""A function of the grades and scores of one query, as a measure.

    .. math:: M = \frac{1}{\sum_q w_q} \sum_q w_q\, f(y_q, s_q)

    Wherever a measure is asked for, a function ``f(y_true, y_score)`` can be given
    instead, and becomes a measure of this class. Constructing it states what cannot be
    seen from a function: its direction, its bounds, its arguments. A query for which
    the function returns NaN carries no information, and is treated by ``empty_query``
    as by any other measure.

    Losses that need to know what swapping two documents changes evaluate the function
    at each swap: O(m²) calls for a query of m documents, or O(m t) for a loss truncated
    at rank t.

    Parameters
    ----------
    function : callable
        Called as ``function(y_true, y_score, **kwargs)`` with two arrays of shape (m,),
        the rows of one query; it returns a finite number, or NaN for a query without
        information. A function with a parameter ``groups`` gets it, and is called once
        with all rows where only the mean is asked for.
    kwargs : dict, default=None
        Further arguments of the function, the same for each query.
    row_arguments : sequence of str, default=None
        Arguments of the function with one entry per row, such as prices; it gets those
        of the query. Scorers, `evaluate_measure` and `compare` take them. None stands
        for the arguments without a default that nothing else fills.
    greater_is_better : bool, default=True
        Direction of the function.
    bounds : tuple of float, default=(-inf, inf)
        Least and greatest value of the function, where they are known.
    has_swap_deltas : bool, default=True
        Whether the function depends on scores by the ranking only, so that losses can
        be made from it. False for errors of the scores themselves.
    ties : str, default="function"
        Treatment of documents of equal score: what the function itself makes of them
        ("function"); or they are told apart before it sees them, in the order of the
        rows ("stable"), most or least relevant first ("best", "worst"), by decreasing
        document id ("docid"), or in "random" order. Searches for the best value of a
        measure take "worst" in place of "function".
    k : int, default=None
        Cut-off, passed to the function as its argument ``k`` if it is given.
    label : str, default=None
        Name of the measure; None takes that of the function.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import FunctionMeasure, evaluate_measure
    >>> def revenue(y_true, y_score, price):
    ...     if not y_true.any():
    ...         return np.nan
    ...     best = y_score.argmax()
    ...     return price[best] * (y_true[best] > 0)
    >>> measure = FunctionMeasure(revenue, bounds=(0, np.inf))
    >>> evaluate_measure(measure, [1, 0, 0, 1], [2, 1, 1, 2], groups=[1, 1, 2, 2],
    ...                  row_arguments={"price": [5.0, 3.0, 2.0, 9.0]})
    7.0
    """

    undefined_without = None

    function: MetricFunction = field(kw_only=False)
    kwargs: Mapping[str, Any] | None = None
    row_arguments: Sequence[str] | None = None
    greater_is_better: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    has_swap_deltas: bool = True
    ties: TiesOrFunction = "function"
    k: PositiveInt | None = None
    label: str | None = None
    random_state: Seed = None

    @classmethod
    def _variants(cls):
        given = {"function": _mean_of_top, "bounds": (0.0, 4.0)}
        return [
            given,
            given | {"ties": "worst", "k": 3},
            given | {"kwargs": {"k": 2}, "label": "two"},
        ]

    @property
    def name(self) -> str:
        """Name of the measure with the arguments of the function and the cut-off."""
        given = self.kwargs if isinstance(self.kwargs, Mapping) else {}
        options = ",".join(
            f"{name}={shown(value, 20)}" for name, value in given.items()
        )
        return (
            (self.label or _name_of(self.function))
            + (f"({options})" if options and not self.label else "")
            + ("" if self.k is None else f"@{self.k}")
        )

    @property
    def takes_cut_off(self) -> bool:
        """Whether the function has a parameter ``k``."""
        return self._accepts("k")

    @property
    def takes_groups(self) -> bool:
        """Whether the function has a parameter ``groups``."""
        return "groups" in parameters_of(self.function)

    def _of_all_rows(
        self,
        y: np.ndarray,
        y_score: np.ndarray,
        groups: np.ndarray,
        sample_weight: np.ndarray | None = None,
        row_arguments: Mapping[str, np.ndarray] | None = None,
    ) -> float:
        """Call a function that takes groups once, with all rows.

        Parameters
        ----------
        y, y_score : ndarray of shape (n_documents,)
            Grades and scores.
        groups : ndarray of shape (n_documents,)
            Query of each row.
        sample_weight : ndarray of shape (n_documents,), default=None
            Row weights, which the function gets if there are any.
        row_arguments : dict of str to ndarray, default=None
            Row-aligned arguments.

        Returns
        -------
        float
            What the function returns.
        """
        self._check_parameters()
        rows = self._check_row_arguments(row_arguments, len(y))
        extra: dict[str, Any] = {"groups": groups}
        if sample_weight is not None:
            extra["sample_weight"] = sample_weight
        return self._value(y, y_score, {**extra, **rows})

    def _check_parameters(self):
        super()._check_parameters()
        low, high = self.bounds
        if not low < high:
            accepted = "two numbers, the lower one first"
            raise invalid_parameter(self, "bounds", accepted, self.bounds)
        names = [] if self.row_arguments is None else list(self.row_arguments)
        arguments = dict(self.kwargs or {})
        for parameter, given in (("kwargs", arguments), ("row_arguments", names)):
            if not all(map(self._accepts, given)):
                accepted = f"arguments that {_name_of(self.function)} takes"
                raise invalid_parameter(self, parameter, accepted, given)
        taken = {*RESERVED, *arguments}
        if not taken.isdisjoint(names):
            accepted = f"names other than {', '.join(RESERVED)} and those of kwargs"
            raise invalid_parameter(self, "row_arguments", accepted, self.row_arguments)
        if self.k is not None and not self._accepts("k"):
            accepted = f"None, because {_name_of(self.function)} takes no k"
            raise invalid_parameter(self, "k", accepted, self.k)

    def _accepts(self, name):
        parameters = parameters_of(self.function)
        kinds = [p.kind for p in parameters.values()]
        hidden = not parameters or inspect.Parameter.VAR_KEYWORD in kinds
        return isinstance(name, str) and (name in parameters or hidden)

    def _row_names(self):
        self._check_parameters()
        if self.row_arguments is not None:
            return tuple(self.row_arguments)
        filled = {*RESERVED, *(self.kwargs or {})}
        # The first two, whatever they are called, are grades and scores.
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return tuple(
            p.name
            for place, p in enumerate(parameters_of(self.function).values())
            if p.default is p.empty
            and p.name not in filled
            and (p.kind is p.KEYWORD_ONLY or (p.kind is positional and place > 1))
        )

    def _values(self, documents: RankedDocuments) -> np.ndarray:
        scores = documents.y_score
        if self.ties != "function":
            # Relevance is good, even if the function is a cost.
            sign = 1.0 if self.greater_is_better else -1.0
            scores = documents.untied_scores(sign * documents.y)
        elif documents.retrieved is not None:
            scores = np.where(documents.retrieved, scores, -np.inf)
        values = [
            self._of_query(documents, scores, slice(first, stop))
            for first, stop in pairwise(documents.ptr)
        ]
        return np.array(values, dtype=np.float64)

    def _of_query(self, documents, scores, rows):
        # Copies, because functions may well sort what they are given in place.
        y = documents.y[rows].copy()
        extra = {name: v[rows].copy() for name, v in documents.row_arguments.items()}
        if self.takes_groups:
            extra["groups"] = np.zeros(len(y), dtype=np.intp)
        return self._value(y, scores[rows].copy(), extra)

    def _value(self, y, scores, extra) -> float:
        given = dict(self.kwargs or {})
        if self.k is not None:
            given["k"] = self.k
        found = called("measure", self.function, y, scores, **extra, **given)
        try:
            # NumPy would warn and leave out the imaginary part.
            value = math.inf if np.iscomplexobj(found) else float(found)
        except (TypeError, ValueError, OverflowError):
            value = math.inf
        if math.isinf(value):
            raise TypeError(
                f"the function measure, {_name_of(self.function)}, must return a "
                f"finite number, or NaN for a query without information, returned "
                f"{shown(found)}"
            )
        return value

    def _undefined_queries(self):
        return f"queries for which {_name_of(self.function)} returns NaN"

    def _lack(self):
        return f"for which {_name_of(self.function)} returns NaN"


def _name_of(function) -> str:
    """Return what a function is called, also one with arguments filled in."""
    inner = getattr(function, "func", function)  # of functools.partial
    name = getattr(inner, "__name__", None)
    return name if isinstance(name, str) else type(inner).__name__
