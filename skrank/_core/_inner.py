"""Estimators inside others: what they accept, how they are fitted, how they score.

Meta rankers, scorers, displays and the command line hold estimators that the user
chose. They call the functions here, so that groups, weights and validation queries
reach a ranker, a pipeline, a search and a plain scikit-learn estimator alike.
"""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from skrank._core._finite import NotFiniteError
from skrank._core._messages import shown
from skrank._core._sparse import is_mapping
from skrank._core._threads import others_after_fork
from skrank._core._validation import as_numbers, n_rows

#: Methods that score documents, in the order in which they are looked for.
RESPONSES = ("predict", "decision_function", "predict_proba")


def parameters_of(function) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function; none where it hides its signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def accepts(estimator, method: str, name: str) -> bool:
    """Return whether a method of an estimator takes an argument, or a part of it does.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline, a search or any other estimator.
    method : str
        Name of the method, such as "fit".
    name : str
        Name of the argument, such as "groups".

    Returns
    -------
    bool
        Whether the method takes the argument; for estimators that hand arguments on,
        whether one of their parts asks for it in scikit-learn's metadata routing.
        Routing that cannot be asked hands on nothing.
    """
    known = parameters_of(getattr(estimator, method, None))
    if name in known:
        return True
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return False
    routing = _routing_of(estimator)
    if not isinstance(routing, MetadataRouter):
        return False
    return bool(routing.consumes(method, [name]))


def needs_groups(estimator) -> bool:
    """Return whether the scores of a fitted estimator depend on the queries."""
    own = getattr(estimator, "_needs_groups", None)
    if own is not None:
        return own
    chosen = getattr(estimator, "best_estimator_", None)
    if chosen is not None:
        return needs_groups(chosen)
    steps = getattr(estimator, "steps", None)
    if steps:
        scales = any(accepts(step, "transform", "groups") for _, step in steps[:-1])
        return scales or needs_groups(steps[-1][1])
    return accepts(estimator, "predict", "groups")


def queries_in_rows(estimator, X) -> Any:
    """Return the queries that a fitted estimator finds in a column of X, or None."""
    find = getattr(without_searches(estimator), "_queries_in", None)
    return None if find is None else find(X)


def allows_missing(estimator) -> bool:
    """Return whether an estimator takes missing values, as far as it says."""
    if not _has_tags(estimator):
        return True  # libraries without tags check for themselves
    return bool(get_tags(estimator).input_tags.allow_nan)


def allows_sparse(estimator) -> bool:
    """Return whether an estimator takes sparse rows, as far as it says."""
    if not _has_tags(estimator):
        return True
    return bool(get_tags(estimator).input_tags.sparse)


def _has_tags(estimator) -> bool:
    # A class given in place of an estimator is reported when it is to be fitted.
    return hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)


def check_scores_documents(estimator, owner: str) -> None:
    """Raise an error unless an estimator can be fitted and can score documents.

    Parameters
    ----------
    estimator : object
        What the user gave as an estimator.
    owner : str
        Name of the parameter that holds it, for error messages.

    Raises
    ------
    TypeError
        If it has no ``fit``, or none of the methods that score documents.
    """
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(
            f"{owner} must be an estimator with fit, got {shown(estimator)}"
        )
    if not any(hasattr(estimator, method) for method in RESPONSES):
        raise TypeError(
            f"{owner} must score documents by one of {', '.join(RESPONSES)}, which "
            f"{shown(estimator)} does not have; a transformer goes before a ranker, as "
            "in make_pipeline(transformer, ranker)"
        )


def check_predicts(estimator, name: str) -> None:
    """Raise a TypeError unless an argument is an estimator that predicts."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise TypeError(
            f"{name} must be a fitted estimator with predict, got {shown(estimator)}"
        )


def protected(estimator, values: Any) -> Any:
    """Return data that an estimator may hold, but cannot change for their owner.

    The estimators of this package never write into what they are given; of others,
    some do, such as a scaler with ``copy=False``. Arrays become read-only views, of
    which scikit-learn makes copies where it writes; data frames and sparse matrices,
    whose parts can be written to in many ways, are copied.
    """
    if type(estimator).__module__.startswith("skrank."):
        return values
    if is_mapping(values):
        return {name: protected(estimator, each) for name, each in values.items()}
    if isinstance(values, np.ndarray):
        view = values.view()
        view.flags.writeable = False
        return view
    if sparse.issparse(values) or hasattr(values, "iloc"):
        return values.copy()
    return values


def fit_inner(
    estimator,
    X,
    y,
    *,
    groups=None,
    given: Mapping[str, Any] | None = None,
    validation: Mapping[str, Any] | None = None,
    owner: str = "estimator",
    rng: np.random.RandomState | None = None,
) -> Any:
    """Return a fitted clone of an estimator, given all the arguments that it takes.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline or a scikit-learn estimator; left unchanged.
    X : array-like of shape (n_documents, n_features)
        One row per document.
    y : array-like of shape (n_documents,)
        Relevance grades.
    groups : array-like of shape (n_documents,), default=None
        Query ids; an estimator that does not know queries is not given them.
    given : mapping, default=None
        Other arguments of `fit`, such as ``sample_weight``, which the estimator has to
        take; those that are None are left out.
    validation : mapping, default=None
        Validation queries as arguments of `fit`, such as ``X_val``; those that the
        estimator does not take are left out.
    owner : str, default="estimator"
        Name of the parameter that holds the estimator, for error messages.
    rng : RandomState, default=None
        Source of the seeds of the clone; None leaves its own.

    Returns
    -------
    estimator
        Fitted clone.

    Raises
    ------
    TypeError
        If the estimator cannot be fitted or does not score documents, or something is
        given that it does not take.
    """
    check_scores_documents(estimator, owner)
    model = clone(estimator)
    X, y, groups = protected(model, X), protected(model, y), protected(model, groups)
    if rng is not None:
        _seed(model, rng)
    given = {name: value for name, value in (given or {}).items() if value is not None}
    if "sample_weight" in given:
        _ask_for_weights(model)
    for name in given:
        if not accepts(model, "fit", name):
            raise TypeError(
                f"{owner}: {name_of(model)}.fit takes no {name}; leave it out, or "
                "choose an estimator that takes it"
            )
    if groups is not None:
        given["groups"] = groups
    given = {name: protected(model, value) for name, value in given.items()}
    held_out = {
        name: protected(model, value)
        for name, value in (validation or {}).items()
        if value is not None
    }
    return _fit(model, X, y, given, held_out)


def _fit(model, X, y, given, held_out) -> Any:
    """Fit an estimator in place; validation rows go through a pipeline by themselves.

    A pipeline can transform validation rows on its own, but with the groups of the
    training rows, by which query scalers would scale them.
    """
    last = model.steps[-1][1] if getattr(model, "steps", None) else None
    if "X_val" not in held_out or not hasattr(last, "fit"):
        offered = {**given, **held_out}
        taken = {name: offered[name] for name in offered if accepts(model, "fit", name)}
        _call(model, "fit", X, y, **taken)
        return model
    if len(model.steps) > 1:
        head = model[:-1]
        X = _call(head, "fit_transform", X, y, **_groups_for(head, "fit", given))
        X_val, groups_val = held_out["X_val"], held_out.get("groups_val")
        if is_mapping(X_val):  # several sets, by their names
            groups_of = groups_val or {}
            X_val = {
                name: _transformed(head, rows, groups_of.get(name))
                for name, rows in X_val.items()
            }
        else:
            X_val = _transformed(head, X_val, groups_val)
        held_out = {**held_out, "X_val": X_val}
        model.steps[:-1] = head.steps  # with a memory, the fitted steps are copies
    _fit(last, X, y, given, held_out)
    return model


def _transformed(head, X, groups) -> Any:
    """Return rows after the steps before the last one of a pipeline."""
    given = _groups_for(head, "transform", {"groups": groups})
    return _call(head, "transform", X, **given)


def _groups_for(estimator, method, known) -> dict[str, Any]:
    """Return the groups as an argument of a method, if there are any and it asks."""
    groups = known.get("groups")
    asked = groups is not None and accepts(estimator, method, "groups")
    return {"groups": groups} if asked else {}


def _seed(model, rng):
    """Set the seeds of an estimator and of its parts."""
    names = names_of_seeds(model)
    model.set_params(**{n: int(rng.randint(np.iinfo(np.int32).max)) for n in names})


def names_of_seeds(model) -> list[str]:
    """Return the names of the seeds of a model and of its parts."""
    names = sorted(model.get_params(deep=True))
    return [name for name in names if name.rpartition("__")[2] == "random_state"]


def scores_of(
    estimator, X, groups=None, *, response_method: str | Sequence[str] | None = None
) -> np.ndarray:
    """Return the scores that a fitted estimator gives to documents.

    Parameters
    ----------
    estimator : estimator
        Any estimator that has one of the response methods.
    X : array-like of shape (n_documents, n_features)
        One row per document.
    groups : array-like of shape (n_documents,), default=None
        Query ids, handed on where they are asked for.
    response_method : str or sequence of str, default=None
        Methods to look for, in this order; None looks for ``predict``, or for
        probabilities and the decision function first where the estimator is a
        classifier.

    Returns
    -------
    ndarray of shape (n_documents,)
        Scores, higher is better; class probabilities become the expected grade.

    Raises
    ------
    AttributeError
        If the estimator has none of the methods.
    ValueError
        If probabilities belong to classes that are no grades, or a score is no number.
    """
    if response_method is None:
        # Rankers of others need not have the tags of scikit-learn.
        tagged = hasattr(estimator, "__sklearn_tags__")
        by_class = tagged and is_classifier(estimator)
        response_method = RESPONSES[::-1] if by_class else RESPONSES
    names = (response_method,) if isinstance(response_method, str) else response_method
    method = next((name for name in names if hasattr(estimator, name)), None)
    if method is None:
        raise AttributeError(
            f"{type(estimator).__name__} has none of the response methods "
            f"{', '.join(names)}"
        )
    if groups is not None and needs_groups(estimator):
        # A search scores by its best estimator, but has no way to pass the groups on.
        estimator = without_searches(estimator)
    known = groups is not None and accepts(estimator, method, "groups")
    given = {"groups": protected(estimator, groups)} if known else {}
    response = _call(estimator, method, protected(estimator, X), **given)
    if method == "predict_proba":
        response = np.asarray(response) @ _numeric_classes(estimator)
    return as_scores(response, estimator, n_rows(X), method)


def is_of_user(function: Any) -> bool:
    """Return whether a function is none of this package, and may answer anything."""
    return (function.__module__ or "").partition(".")[0] != "skrank"


def numbers_of(answer: Any, method: str) -> np.ndarray:
    """Return what a method, of a class of the user's perhaps, returned, as numbers.

    Raises
    ------
    ValueError
        If it holds anything but numbers; a masked entry is NaN.
    """
    if type(answer) is np.ndarray and answer.dtype.kind in "biuf":
        return answer
    return as_numbers(answer, f"what {method} returns")


def as_answer(answer: Any, method: str, n: int, what: str = "rows") -> np.ndarray:
    """Return what a method, of a class of the user's perhaps, says of rows.

    Parameters
    ----------
    answer : array-like
        What the method has returned.
    method : str
        Its name in error messages.
    n : int
        Number of rows.
    what : str, default="rows"
        What they are.

    Returns
    -------
    ndarray of shape (n,)
        The same array where it is one of numbers.

    Raises
    ------
    ValueError
        If it holds anything but one number for each row.
    """
    answer = numbers_of(answer, method)
    if answer.shape != (n,):
        raise ValueError(
            f"what {method} returns must hold one number for each of {n} {what}, got "
            f"an array of shape {answer.shape}"
        )
    return answer


def as_floats(answer: Any, method: str, n: int, what: str = "rows") -> np.ndarray:
    """Return what `as_answer` does in the precision and the order of compiled code."""
    return np.ascontiguousarray(as_answer(answer, method, n, what), dtype=np.float64)


def as_scores(
    response: Any, estimator: Any, n_documents: int, method: str = "predict"
) -> np.ndarray:
    """Return what an estimator predicted as scores.

    Parameters
    ----------
    response : array-like of shape (n_documents,) or (n_documents, 1)
        What the method returned.
    estimator : estimator
        Estimator, for error messages.
    n_documents : int
        Number of documents that were to be scored.
    method : str, default="predict"
        Name of the method.

    Returns
    -------
    ndarray of shape (n_documents,)

    Raises
    ------
    ValueError
        If it is no array of one number per document, or a number is NaN: documents
        cannot be ordered by it.
    """
    name = f"the result of {type(estimator).__name__}.{method}"
    scores = as_numbers(response, name, "scores")
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (n_documents,):
        raise ValueError(
            f"{name} must hold one score for each of {n_documents} documents, got an "
            f"array of shape {scores.shape}"
        )
    if np.isnan(scores).any():
        row = int(np.argmax(np.isnan(scores)))
        raise NotFiniteError(f"{name} must not hold NaN, found in row {row}")
    return np.ascontiguousarray(scores)


def without_searches(estimator) -> Any:
    """Return a fitted estimator in which the winner of a search stands for the search.

    Parameters
    ----------
    estimator : estimator
        Fitted; a search, or a pipeline that ends in one, at any depth.

    Returns
    -------
    estimator
        One that gives the same scores; the estimator itself if it holds no search.
    """
    chosen = getattr(estimator, "best_estimator_", None)
    if chosen is not None:
        return without_searches(chosen)
    steps = getattr(estimator, "steps", None)
    if not steps:
        return estimator
    name, last = steps[-1]
    opened = without_searches(last)
    if opened is last:
        return estimator
    estimator = copy.copy(estimator)
    estimator.steps = [*steps[:-1], (name, opened)]
    return estimator


def name_of(estimator) -> str:
    """Return the name of the estimator that does the ranking, inside others or not."""
    steps = getattr(estimator, "steps", None)
    if steps:
        return name_of(steps[-1][1])
    for inner in ("best_estimator_", "estimator", "regressor"):  # searches, wrappers
        held = getattr(estimator, inner, None)
        if held is not None and hasattr(held, "fit"):
            return name_of(held)
    return type(estimator).__name__


def _routing_of(estimator) -> Any:
    """Return what an estimator says about metadata routing; None if it cannot say.

    Some estimators of scikit-learn know no routing and say so by an error. `RidgeCV`
    asks its scorer, which asks `RidgeCV` again; so does all that holds one, such as a
    `StackingRegressor` by its default. Routing would fail in the same way there, so
    that nothing can be handed on but what the signature of a method names.
    """
    try:
        return get_routing_for_object(estimator)
    except (NotImplementedError, RecursionError):
        return None


def _call(estimator, method, *args, **metadata) -> Any:
    """Call a method, with routing if arguments are meant for parts of the estimator."""
    function = getattr(estimator, method)
    with others_after_fork():
        if set(metadata) <= set(parameters_of(function)):
            return function(*args, **metadata)
        with sklearn.config_context(enable_metadata_routing=True):
            return function(*args, **metadata)


def _ask_for_weights(model):
    """Have the predictors inside a model ask for weights, and transformers decline.

    scikit-learn refuses to guess which of the steps that could take weights should get
    them. Weights of a model are meant for its loss, which is that of its predictor.
    """
    if not isinstance(_routing_of(model), MetadataRouter):
        return
    with sklearn.config_context(enable_metadata_routing=True):
        for part in _parts(model):
            fit = getattr(_routing_of(part), "fit", None)
            # None stands for an argument that has been neither requested nor declined.
            if getattr(fit, "requests", {}).get("sample_weight", ...) is None:
                part.set_fit_request(sample_weight=hasattr(part, "predict"))


def _parts(model) -> Iterator[Any]:
    """Yield the estimators among the parameters of an estimator, at any depth."""
    for value in model.get_params(deep=True).values():
        if hasattr(value, "set_fit_request"):
            yield value


def _numeric_classes(estimator) -> np.ndarray:
    grades = np.asarray(estimator.classes_)
    if grades.dtype.kind not in "biuf":
        raise ValueError(
            "response_method='predict_proba' ranks by the expected grade and needs "
            f"numeric classes, got {grades.tolist()}"
        )
    return grades.astype(np.float64)
