"""Scorers: ranking measures for scikit-learn's model selection.

scikit-learn's own scorers do not know queries. `RankingScorer` is an object with the
interface that scikit-learn asks of a scorer: it is called with (estimator, X, y) and
says through ``get_metadata_routing`` that it wants the groups.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy.typing as npt
from sklearn.utils.metadata_routing import (
    MetadataRequest,
)

from skrank._core._inner import RESPONSES, queries_in_rows, scores_of
from skrank._core._times import check_times, times_of_index
from skrank._core._validation import (
    check_arguments,
    check_scores,
    check_weights,
    n_rows,
    resolve_groups,
)
from skrank.metrics._base import BaseMeasure
from skrank.metrics._evaluate import check_judgements, mean_over_queries
from skrank.metrics._function_measure import FunctionMeasure
from skrank.metrics._leakage import check_query_leakage
from skrank.metrics._registry import get_measure, measure_of_function
from skrank.metrics._row_arguments import check_row_arguments

ResponseMethod = Literal["predict", "decision_function", "predict_proba"]


def _identity(measure):
    """Key by which two measures are the same."""
    stated = {**measure.get_params(deep=False), **measure._stated()}
    return type(measure), repr(sorted(stated.items()))


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
    check_leakage : bool, default=True
        Whether to warn of scored queries that were in the training data.
    """

    def __init__(
        self,
        measures: Mapping[str, Any],
        signs: Mapping[str, int],
        response_method: str | Sequence[str],
        single: bool,
        check_leakage: bool = True,
    ):
        self._measures = measures
        self._signs = signs
        self._response_method = response_method
        self._single = single
        self._check_leakage = check_leakage
        self._requests: dict[str, bool | str | None] = dict.fromkeys(
            ["groups", "sample_weight", "times", *self._row_names()], True
        )

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        times: npt.ArrayLike | None = None,
        **row_arguments: Any,
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
        times : array-like of shape (n_samples,), default=None
            Time of each row, for the check of leakage; None reads a pandas index level
            ``time`` of y or X.
        **row_arguments : array-like of shape (n_samples,)
            What else the measures need, with one entry per row, by name.

        Returns
        -------
        float or dict of str to float
            Value of the measure, or of each measure by name; higher is better.

        Raises
        ------
        ValueError
            If there are no groups or row arguments, or grades or scores are not
            finite.
        TypeError
            If no measure takes one of the row arguments.
        """
        n = n_rows(X)
        self._refuse_unknown(row_arguments)
        if groups is None:
            groups = queries_in_rows(estimator, X)
        groups = resolve_groups(groups, y, X, n_samples=n, caller=repr(self))
        grades = check_judgements(y, n_samples=n)
        weight = check_weights(sample_weight, n)
        if times is not None and "times" in self._row_names():
            row_arguments["times"] = times
        rows = check_row_arguments(row_arguments, n)
        if self._check_leakage:
            times = times_of_index(y, X) if times is None else check_times(times, n)
            check_query_leakage(estimator, groups, times=times)
        scores = scores_of(estimator, X, groups, response_method=self._response_method)
        scores = check_scores(scores, n, name="predicted scores")
        values = {
            name: self._signs[name]
            * mean_over_queries(measure, grades, scores, groups, weight, rows)
            for name, measure in self._measures.items()
        }
        return next(iter(values.values())) if self._single else values

    def _row_names(self) -> list[str]:
        """Return the names of the row arguments of the measures."""
        return [name for m in self._measures.values() for name in m._row_names()]

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the scorer asks of scikit-learn's metadata routing.

        Returns
        -------
        MetadataRequest
            ``groups``, ``sample_weight``, ``times`` and the row arguments of the
            measures for ``score``, unless changed by `set_score_request`.
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
            For ``groups``, ``sample_weight``, ``times`` and the row arguments of the
            measures: True takes it, False ignores it, None refuses it, and a string is
            the name under which it is passed.

        Returns
        -------
        RankingScorer
            The scorer itself.

        Raises
        ------
        TypeError
            If something is requested that the scorer does not take.
        """
        self._refuse_unknown(requests)
        self._requests = {**self._requests, **requests}
        return self

    def _refuse_unknown(self, given):
        unknown = sorted(set(given) - set(self._requests))
        if unknown:
            *names, last = self._requests
            raise TypeError(
                f"{self!r} takes {', '.join(names)} and {last}, not {unknown}"
            )

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
            self._check_leakage,
            tuple(sorted(self._requests.items())),
        )

    def __eq__(self, other):
        return isinstance(other, RankingScorer) and self._key() == other._key()

    def __hash__(self):
        return hash((tuple(self._measures), self._single))

    def __sklearn_clone__(self):
        clone = RankingScorer(
            self._measures,
            self._signs,
            self._response_method,
            self._single,
            self._check_leakage,
        )
        return clone.set_score_request(**self._requests)

    def __repr__(self):
        names = list(self._measures)
        shown = repr(names[0] if self._single else names)
        if self._response_method != "predict":
            shown += f", response_method={self._response_method!r}"
        if not self._check_leakage:
            shown += ", check_leakage=False"
        return f"make_ranking_scorer({shown})"


def _resolve_measure(measure, preset, row_arguments, kwargs):
    """A measure object for a name, an object or a function."""
    if callable(measure) and not isinstance(measure, BaseMeasure | type):
        resolved = measure_of_function(measure, preset, **kwargs)
        if row_arguments is not None and isinstance(resolved, FunctionMeasure):
            resolved.set_params(row_arguments=row_arguments)
        resolved._check_parameters()
        return resolved
    resolved = get_measure(measure, preset=preset)
    if not kwargs:
        return resolved
    unknown = set(kwargs) - set(resolved.get_params(deep=False))
    if unknown:
        raise TypeError(
            f"{resolved.name} has no parameters {sorted(unknown)}; it has "
            f"{sorted(resolved.get_params(deep=False))}"
        )
    return resolved._with(**kwargs)


def make_ranking_scorer(
    measure: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable],
    *,
    preset: str | None = None,
    response_method: ResponseMethod | Sequence[ResponseMethod] = "predict",
    greater_is_better: bool | None = None,
    row_arguments: Sequence[str] | None = None,
    check_leakage: bool = True,
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
        function ``f(y_true, y_score, **kwargs)``, called once for each query and
        averaged. A function with a parameter ``groups`` is called once with all rows,
        their groups and, where there is one, their ``sample_weight``. A sequence makes
        a scorer that predicts once and returns the values of all measures in a
        dictionary.
    preset : str, default=None
        Conventions of the measure, as in `get_measure`.
    response_method : str or sequence of str, default="predict"
        ``"predict"``, ``"decision_function"``, ``"predict_proba"`` (documents are
        ranked by the expected grade), or several, of which the first available counts.
    greater_is_better : bool, default=None
        Whether higher is better; if not, the value is negated. None asks the measure;
        functions other than those of this package then count as higher is better.
    row_arguments : sequence of str, default=None
        Arguments of functions with one entry per row, such as prices: the scorer
        requests them, too, and functions get those of the query. None stands for the
        arguments without a default that nothing else fills.
    check_leakage : bool, default=True
        Whether to warn of scored queries that were in the training data.
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
        row_arguments=row_arguments,
        check_leakage=check_leakage,
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
    resolved = [_resolve_measure(m, preset, row_arguments, kwargs) for m in given]
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
        bool(check_leakage),
    )
