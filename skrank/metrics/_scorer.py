"""Scorers: ranking measures for scikit-learn's model selection.

scikit-learn's own scorers do not know queries. `RankingScorer` is an object with the
interface that scikit-learn asks of a scorer: it is called with (estimator, X, y) and
says through ``get_metadata_routing`` that it wants the groups.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metadata_routing import (
    MetadataRequest,
)

from skrank._core._inner import RESPONSES, parameters_of, scores_of
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    called,
    check_arguments,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.metrics._base import BaseMeasure, query_weights
from skrank.metrics._evaluate import check_judgements, values_of_queries
from skrank.metrics._leakage import check_query_leakage
from skrank.metrics._registry import get_measure

ResponseMethod = Literal["predict", "decision_function", "predict_proba"]


def _has_parameter(function, name):
    return name in parameters_of(function)


class _FunctionMeasure:
    """A metric function with the interface that scorers ask of a measure."""

    def __init__(self, function, kwargs):
        self.function = function
        self.kwargs = kwargs

    @property
    def name(self):
        return getattr(self.function, "__name__", repr(self.function))

    @property
    def greater_is_better(self):
        """Direction, which only the functions of this package tell."""
        cls = getattr(self.function, "measure_class", None)
        return getattr(cls, "greater_is_better", True)

    def evaluate(self, y, scores, groups, sample_weight):
        if _has_parameter(self.function, "groups"):
            extra = {"groups": groups}
            if sample_weight is not None:
                extra["sample_weight"] = sample_weight
            return self._value(y, scores, extra)
        return self._mean_over_queries(y, scores, groups, sample_weight)

    def _value(self, y, scores, extra) -> float:
        found = called("measure", self.function, y, scores, **extra, **self.kwargs)
        try:
            return float(found)
        except (TypeError, ValueError):
            raise TypeError(
                f"the function measure, {self.name}, must return a number, returned "
                f"{shown(found)}"
            ) from None

    def _mean_over_queries(self, y, scores, groups, sample_weight):
        index = QueryIndex.from_groups(groups)
        y, scores = index.take(y), index.take(scores)
        values = [
            self._value(y[start:stop], scores[start:stop], {})
            for start, stop in zip(index.ptr[:-1], index.ptr[1:])
        ]
        weights = query_weights(index.take(sample_weight), index.ptr)
        return float(np.average(values, weights=weights))

    def __eq__(self, other):
        return isinstance(other, _FunctionMeasure) and (
            (self.function, self.kwargs) == (other.function, other.kwargs)
        )

    def __hash__(self):
        return hash(self.function)


def _evaluate(measure, y, scores, groups, sample_weight):
    """Mean over queries, before it gets its sign."""
    if isinstance(measure, _FunctionMeasure):
        return measure.evaluate(y, scores, groups, sample_weight)
    index = QueryIndex.from_groups(groups)
    values = values_of_queries(measure, index.take(y), index.take(scores), index.ptr)
    return measure.mean(values, query_weights(index.take(sample_weight), index.ptr))


def _identity(measure):
    """Key by which two measures are the same."""
    if isinstance(measure, _FunctionMeasure):
        return measure
    return type(measure), repr(sorted(measure.get_params(deep=False).items()))


class RankingScorer:
    """A scorer that evaluates rankings; made by `make_ranking_scorer`.

    Parameters
    ----------
    measures : dict of str to measure
        Measures to evaluate, by name.
    signs : dict of str to int
        Factor of each measure: 1, or -1 where a smaller value is better.
    response_method : str or sequence of str
        Method of the estimator that gives scores, or several, of which the first that
        the estimator has counts.
    single : bool
        Whether a call returns one number (True) or a dictionary.
    """

    def __init__(
        self,
        measures: Mapping[str, Any],
        signs: Mapping[str, int],
        response_method: str | Sequence[str],
        single: bool,
    ):
        self._measures = measures
        self._signs = signs
        self._response_method = response_method
        self._single = single
        self._requests = {"groups": True, "sample_weight": True}

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float | dict[str, float]:
        """Score an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator that has the response method.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the documents.
        y : array-like of shape (n_samples,)
            Grades of the documents; masked where nobody judged the document.
        groups : array-like of shape (n_samples,), default=None
            Query of each row; None reads a pandas index level ``qid`` of y or X.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; a query weighs as much as its rows on average.

        Returns
        -------
        float or dict of str to float
            Value of the measure, or of each measure by name; higher is better.

        Raises
        ------
        ValueError
            If there are no groups, or grades or scores are not finite.
        """
        n = n_rows(X)
        groups = resolve_groups(groups, y, X, n_samples=n, caller=repr(self))
        grades = check_judgements(y, n_samples=n)
        weight = check_weights(sample_weight, n)
        check_query_leakage(estimator, groups)
        scores = scores_of(estimator, X, groups, response_method=self._response_method)
        scores = check_scores(scores, n, name="predicted scores")
        values = {
            name: self._signs[name] * _evaluate(measure, grades, scores, groups, weight)
            for name, measure in self._measures.items()
        }
        return next(iter(values.values())) if self._single else values

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the scorer asks of scikit-learn's metadata routing.

        Returns
        -------
        MetadataRequest
            ``groups`` and ``sample_weight`` for ``score``, unless changed by
            `set_score_request`.
        """
        request = MetadataRequest(owner=self)
        for param, alias in self._requests.items():
            request.score.add_request(param=param, alias=alias)
        return request

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Change what the scorer requests; the usual names need no change.

        Parameters
        ----------
        **requests : bool, str or None
            For ``groups`` and ``sample_weight``: True takes it, False ignores it, None
            refuses it, and a string is the name under which it is passed.

        Returns
        -------
        RankingScorer
            The scorer itself.

        Raises
        ------
        TypeError
            If something other than ``groups`` or ``sample_weight`` is requested.
        """
        unknown = set(requests) - set(self._requests)
        if unknown:
            raise TypeError(
                "a ranking scorer takes groups and sample_weight, not "
                f"{sorted(unknown)}"
            )
        self._requests = {**self._requests, **requests}
        return self

    def _accept_sample_weight(self):
        """Tell scikit-learn's searches, which ask this while routing is off."""
        return True

    def _routing_repr(self):
        return repr(self)

    def _key(self):
        return (
            tuple((name, _identity(m)) for name, m in self._measures.items()),
            tuple(self._signs.items()),
            self._response_method,
            self._single,
            tuple(sorted(self._requests.items())),
        )

    def __eq__(self, other):
        return isinstance(other, RankingScorer) and self._key() == other._key()

    def __hash__(self):
        return hash((tuple(self._measures), self._single))

    def __sklearn_clone__(self):
        clone = RankingScorer(
            self._measures, self._signs, self._response_method, self._single
        )
        return clone.set_score_request(**self._requests)

    def __repr__(self):
        names = list(self._measures)
        shown = repr(names[0] if self._single else names)
        if self._response_method != "predict":
            shown += f", response_method={self._response_method!r}"
        return f"make_ranking_scorer({shown})"


def _resolve_measure(measure, preset, kwargs):
    """A measure object for a name, an object or a function."""
    if callable(measure) and not isinstance(measure, BaseMeasure):
        if preset is not None:
            raise ValueError(
                f"preset={preset!r} needs a measure by name, got a function; pass the "
                "conventions to the function as keyword arguments"
            )
        return _FunctionMeasure(measure, kwargs)
    resolved = get_measure(measure, preset=preset)
    if not kwargs:
        return resolved
    unknown = set(kwargs) - set(resolved.get_params(deep=False))
    if unknown:
        raise TypeError(
            f"{resolved.name} has no parameters {sorted(unknown)}; it has "
            f"{sorted(resolved.get_params(deep=False))}"
        )
    return type(resolved)(**{**resolved.get_params(deep=False), **kwargs})


def make_ranking_scorer(
    measure: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable],
    *,
    preset: str | None = None,
    response_method: ResponseMethod | Sequence[ResponseMethod] = "predict",
    greater_is_better: bool | None = None,
    **kwargs: Any,
) -> RankingScorer:
    """Make a scorer for scikit-learn's tools from a ranking measure.

    The scorer requests ``groups`` and ``sample_weight`` by default, so with metadata
    routing no ``set_score_request`` is needed. Without routing it reads the queries
    from a pandas index level ``qid`` of ``y`` or ``X``. It works with any estimator
    that has the response method, skrank's or not, and warns with `QueryLeakageWarning`
    when a skrank ranker is scored on queries it was trained on (see
    `check_query_leakage`).

    Parameters
    ----------
    measure : str, measure, callable, or sequence of these
        A name such as ``"ndcg@10"``, ``"map"``, ``"err@20"``; a measure object; or a
        function ``f(y_true, y_score, *, groups, sample_weight, **kwargs)``. A function
        without a ``groups`` parameter is called once for each query and averaged. A
        sequence makes a scorer that predicts once and returns the values of all
        measures in a dictionary.
    preset : str, default=None
        Conventions of the measure, as in `get_measure`.
    response_method : str or sequence of str, default="predict"
        ``"predict"``, ``"decision_function"``, ``"predict_proba"`` (documents are
        ranked by the expected grade), or several, of which the first available counts.
    greater_is_better : bool, default=None
        Whether higher is better; if not, the value is negated. None asks the measure;
        functions other than those of this package then count as higher is better.
    **kwargs : dict
        Parameters of the measure or of the function.

    Returns
    -------
    RankingScorer
        Callable as ``scorer(estimator, X, y, groups=None, sample_weight=None)``.

    Raises
    ------
    ValueError
        If the measure, the preset or the response method is unknown.
    TypeError
        If the measure lacks one of the parameters in ``kwargs``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skrank.metrics import make_ranking_scorer
    >>> X, y, groups = [[3], [1], [2], [0]], [1, 0, 2, 0], [1, 1, 2, 2]
    >>> scorer = make_ranking_scorer("ndcg@10")
    >>> scorer
    make_ranking_scorer('ndcg@10')
    >>> scorer(LinearRegression().fit(X, y), X, y, groups=groups)
    1.0
    """
    check_arguments(
        make_ranking_scorer,
        measure=measure,
        preset=preset,
        response_method=response_method,
        greater_is_better=greater_is_better,
    )
    methods = (
        (response_method,)
        if isinstance(response_method, str)
        else tuple(response_method)
    )
    unknown = [method for method in methods if method not in RESPONSES]
    if unknown or not methods:
        raise ValueError(
            f"response_method must be one of {RESPONSES} or several of them, got "
            f"{response_method!r}"
        )
    if isinstance(measure, str | BaseMeasure) or callable(measure):
        given, single = [measure], True
    else:
        given, single = list(measure), False
    resolved = [_resolve_measure(m, preset, kwargs) for m in given]
    names = [m.name for m in resolved]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"measures must be given once each and at least one: {names}")
    directions = [
        m.greater_is_better if greater_is_better is None else greater_is_better
        for m in resolved
    ]
    signs = {name: 1 if up else -1 for name, up in zip(names, directions)}
    return RankingScorer(
        dict(zip(names, resolved)),
        signs,
        methods[0] if len(methods) == 1 else methods,
        single,
    )
