"""Measures as functions of grades, scores and queries.

One line of `_function` per measure: the function takes the options of the measure class
and the arguments that all functions share, and its documentation is put together from
both, so that neither signature nor text can drift apart from the class.
"""

import inspect
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from skrank.metrics._base import BaseMeasure
from skrank.metrics._binary_measures import AP, RR
from skrank.metrics._correlation_measures import (
    KendallTau,
    MeanSquaredError,
    PairwiseAccuracy,
    RankBiasedOverlap,
    SpearmanRho,
)
from skrank.metrics._evaluate import evaluate_for
from skrank.metrics._gain_measures import DCG, ERR, NDCG, MeanNDCG
from skrank.metrics._presets import preset_options
from skrank.metrics._set_measures import (
    RBP,
    Bpref,
    FMeasure,
    Precision,
    Recall,
    RPrecision,
    Success,
)

_DATA = """\
y_true : array-like of shape (n_documents,)
    Grades, finite and not negative; masked where nobody judged the document.
y_score : array-like of shape (n_documents,)
    Scores, higher is better; −inf for documents that were not retrieved.
groups : array-like of shape (n_documents,), default=None
    Query id of each row, in any row order. None reads a pandas index level "qid" of
    ``y_true``; without it, `config_context` decides whether all rows are one query.
"""

_SHARED = """\
sample_weight : array-like of shape (n_documents,), default=None
    Row weights; a query has the mean weight of its rows.
preset : str, default=None
    Conventions of another tool, a key of `PRESETS`, for the options that the call does
    not name.
docids : array-like of shape (n_documents,), default=None
    Document ids for ``ties="docid"``.
per_query : bool, default=False
    Whether to return one value per query, in ascending order of query id.
n_jobs : int, default=None
    Number of threads; None asks for all CPUs.

Returns
-------
float or ndarray of shape (n_queries,)
    Weighted mean over queries, or the value of each query.

Raises
------
ValueError
    If lengths differ, grades or scores are not valid, or groups are missing.

Warns
-----
UndefinedMetricWarning
    If no query carries information.

See Also
--------
{cls} : The same measure as an object.

Examples
--------
>>> from skrank.metrics import {name}
>>> query = ["q", "q", "q"]
>>> round({name}([1, 0, 1], [3, 2, 1], groups=query{options}), 4)
{result}
"""


def _sections(cls):
    """Text before the parameters of a class, and the parameters."""
    head, _, rest = inspect.cleandoc(cls.__doc__).partition("Parameters\n----------\n")
    lines = rest.splitlines()
    end = next(
        (i - 1 for i, line in enumerate(lines) if i and set(line) == {"-"}), len(lines)
    )
    return head, "\n".join(lines[:end]).strip() + "\n"


def _signature(cls):
    """Signature of the function: data, groups, options of the class, shared ones."""
    keyword = inspect.Parameter.KEYWORD_ONLY

    def option(name, default, annotation):
        return inspect.Parameter(name, keyword, default=default, annotation=annotation)

    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(name, positional, annotation=npt.ArrayLike)
        for name in ("y_true", "y_score")
    ]
    parameters.append(option("groups", None, npt.ArrayLike | None))
    parameters += [
        p.replace(kind=keyword) for p in inspect.signature(cls).parameters.values()
    ]
    parameters += [
        option("sample_weight", None, npt.ArrayLike | None),
        option("preset", None, str | None),
        option("docids", None, npt.ArrayLike | None),
        option("per_query", False, bool),
        option("n_jobs", None, int | None),
    ]
    return inspect.Signature(parameters, return_annotation=float | np.ndarray)


def _function(
    name: str, cls: type[BaseMeasure], result: float, **options
) -> Callable[..., float | np.ndarray]:
    """Make the function of a measure class; options and result are its example."""
    accepted = cls._get_param_names()

    def function(y_true, y_score, **arguments):
        unknown = [key for key in arguments if key not in keywords]
        if unknown:
            raise TypeError(
                f"{name} takes no {unknown[0]}; it takes {', '.join(keywords)}"
            )
        own = {key: arguments.pop(key) for key in accepted if key in arguments}
        conventions = preset_options(arguments.pop("preset", None), cls)
        measure = cls(**{**conventions, **own})
        return evaluate_for(name, measure, y_true, y_score, **arguments)

    signature = _signature(cls)
    keywords = list(signature.parameters)[2:]  # after the data
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = _documentation(name, cls, result, options)
    vars(function).update(__signature__=signature, measure_class=cls)
    return function


def _documentation(name, cls, result, options):
    if cls.__doc__ is None:  # python -OO keeps no docstrings
        return None
    head, parameters = _sections(cls)
    example = "".join(f", {key}={value!r}" for key, value in options.items())
    shared = _SHARED.format(cls=cls.__name__, name=name, options=example, result=result)
    return f"{head}Parameters\n----------\n{_DATA}{parameters}{shared}"


dcg_score = _function("dcg_score", DCG, 1.5)
ndcg_score = _function("ndcg_score", NDCG, 0.9197)
mean_ndcg_score = _function("mean_ndcg_score", MeanNDCG, 0.8443)
average_precision = _function("average_precision", AP, 0.8333)
reciprocal_rank = _function("reciprocal_rank", RR, 1.0)
err_score = _function("err_score", ERR, 0.5833, max_grade=1)
rbp_score = _function("rbp_score", RBP, 0.625, p=0.5)
precision_at_k = _function("precision_at_k", Precision, 0.5, k=2)
recall_at_k = _function("recall_at_k", Recall, 0.5, k=2)
f_at_k = _function("f_at_k", FMeasure, 0.6667, k=1)
success_at_k = _function("success_at_k", Success, 1.0, k=1)
r_precision = _function("r_precision", RPrecision, 0.5)
bpref_score = _function("bpref_score", Bpref, 0.5)
pairwise_accuracy = _function("pairwise_accuracy", PairwiseAccuracy, 0.5)
kendall_tau = _function("kendall_tau", KendallTau, 0.6667, variant="set")
spearman_rho = _function("spearman_rho", SpearmanRho, 0.0)
rank_biased_overlap = _function("rank_biased_overlap", RankBiasedOverlap, 0.625, p=0.5)
query_mean_squared_error = _function(
    "query_mean_squared_error", MeanSquaredError, 2.6667
)
