"""Labels and propensities from models of clicks, for rankers to learn from."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError, PositiveInt
from skrank._core._validation import as_numbers, calling, check_arguments
from skrank.click._sessions import Sessions, check_sessions
from skrank.click._sessions_ids import coded, ids_of
from skrank.datasets import Qrels
from skrank.datasets._runs import first_duplicate

_TINY = 1e-6  # smallest propensity, before which a weight 1/p means nothing


def to_labels(
    model: Any,
    pairs: Sessions | tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    n_grades: PositiveInt = 5,
    method: Literal["quantile", "threshold"] = "quantile",
    thresholds: Sequence[float] | None = None,
    per_query: bool = False,
) -> Qrels:
    r"""Turn the relevance that a model found in clicks into grades.

    With :math:`n` pairs of query and document and :math:`G` grades, a pair of relevance
    :math:`r` has the grade

    .. math::

       y = \Big\lfloor \frac{G}{n}\, \big|\{ r' < r \}\big| \Big\rfloor
       \quad\text{(quantile)},\qquad
       y = \big|\{ k : t_k \le r \}\big| \quad\text{(threshold)}

    so that quantiles make grades of like size, apart from ties, which have one grade.

    A document in a place where few users look has about the relevance of the prior of
    the model. If that is larger than the relevance of most documents, what stands low
    gets good grades: fit models with ``prior_clicks`` and ``prior_skips`` whose mean is
    that of documents, such as 0.1 and 1.9 (:ref:`click_prior`).

    Parameters
    ----------
    model : object with a method ``relevance``, or array-like of shape (n_pairs,)
        Fitted model, whose ``relevance(queries, documents)`` returns one number for
        each pair; or these numbers.
    pairs : Sessions, or tuple of two array-likes of shape (n_pairs,)
        Log whose distinct pairs are labelled, or query ids and document ids, each pair
        once. The labels of rows of features are those of their ids:
        ``to_labels(model, (groups, docids)).y``.
    n_grades : int, default=5
        Number of grades, from 0 to ``n_grades - 1``.
    method : {"quantile", "threshold"}, default="quantile"
        How the numbers become grades.
    thresholds : sequence of n_grades - 1 floats, default=None
        Bounds :math:`t_k` in ascending order, for ``method="threshold"``. None divides
        the interval from 0 to 1 into equal parts.
    per_query : bool, default=False
        Whether quantiles are those of the documents of each query.

    Returns
    -------
    Qrels
        Judgements with one row per pair, in the order of the pairs. Complexity:
        O(n log n).

    Raises
    ------
    ValueError
        If an argument is not accepted, a pair comes twice, or a relevance is no finite
        number.
    TypeError
        If ``model`` or ``pairs`` is of another kind.

    See Also
    --------
    to_preferences : Preferences instead of grades.

    References
    ----------
    [Liu2011]_, section 13.2.

    Examples
    --------
    >>> from skrank.click import Sessions, to_labels
    >>> sessions = Sessions.from_lists(["q"], [["a", "b", "c", "d"]], [[0, 1, 0, 0]])
    >>> to_labels([0.1, 0.9, 0.1, 0.4], sessions, n_grades=4).y.tolist()
    [0.0, 3.0, 0.0, 2.0]
    >>> to_labels(
    ...     [0.1, 0.9, 0.1, 0.4], sessions, n_grades=3, method="threshold"
    ... ).y.tolist()
    [0.0, 2.0, 0.0, 1.0]
    """
    check_arguments(
        to_labels,
        n_grades=n_grades,
        method=method,
        thresholds=thresholds,
        per_query=per_query,
    )
    queries, documents = ids_of_pairs(pairs)
    relevance = relevance_of(model, queries, documents)
    if method == "threshold":
        bounds = _bounds(thresholds, n_grades)
        y = np.searchsorted(bounds, relevance, side="right")
    else:
        if thresholds is not None:
            raise ValueError("thresholds are for method='threshold'")
        codes = coded(queries)[0] if per_query else np.zeros(len(queries), np.intp)
        y = _quantiles(relevance, codes, n_grades)
    names = np.empty(len(documents), dtype=object)
    names[:] = id_list(documents)
    return Qrels(queries, names, y.astype(np.float64))


def _bounds(thresholds: Sequence[float] | None, n_grades: int) -> np.ndarray:
    if thresholds is None:
        return np.arange(1, n_grades) / n_grades
    bounds = np.asarray(thresholds, dtype=np.float64)
    if bounds.shape != (n_grades - 1,) or not (bounds[1:] > bounds[:-1]).all():
        raise ValueError(
            f"thresholds must hold {n_grades - 1} numbers in ascending order, one less "
            f"than n_grades, got {shown(thresholds)}"
        )
    return bounds


def _quantiles(relevance: np.ndarray, codes: np.ndarray, n_grades: int) -> np.ndarray:
    """Return the grade of each pair by the share of those with less relevance."""
    order = np.lexsort((relevance, codes))
    sizes = np.bincount(codes)
    starts = (np.cumsum(sizes) - sizes)[codes[order]]
    place = np.arange(len(order))
    values = relevance[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (values[1:] != values[:-1]) | (codes[order][1:] != codes[order][:-1])
    n_below = np.maximum.accumulate(np.where(new, place, 0)) - starts
    y = np.empty(len(order), dtype=np.intp)
    y[order] = n_grades * n_below // sizes[codes[order]]
    return y


def ids_of_pairs(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the query ids and document ids of an argument that names pairs."""
    if isinstance(pairs, Sessions):
        _, query, document = pairs.pairs()
        return pairs.query_ids[query], pairs.document_ids[document]
    if not isinstance(pairs, tuple) or len(pairs) != 2:
        raise TypeError(
            "pairs must be Sessions or a tuple of query ids and document ids, got "
            f"{shown(pairs)}"
        )
    queries = ids_of(pairs[0], "pairs", "query id")
    documents = ids_of(pairs[1], "pairs", "document id")
    if len(queries) != len(documents):
        raise ValueError(
            f"pairs must hold as many query ids as document ids, got {len(queries)} "
            f"and {len(documents)}"
        )
    twice = first_duplicate(queries, documents.astype(object))
    if twice is not None:
        one = shown(id_list(documents)[twice]), shown(id_list(queries)[twice])
        raise ValueError(f"pairs hold document {one[0]} twice for query {one[1]}")
    return queries, documents


def is_column(values: Any) -> bool:
    """Return whether these are entries one after another, such as numbers."""
    if isinstance(values, (str, bytes, dict, set, Sessions, type)):
        return False
    try:
        return np.ndim(values) == 1
    except ValueError:  # lists of different lengths
        return False


def relevance_of(
    model: Any, queries: np.ndarray, documents: np.ndarray, *, name: str = "model"
) -> np.ndarray:
    """Return the relevance that a model, or an array, gives to pairs."""
    look_up = getattr(model, "relevance", None)
    if callable(look_up) and not isinstance(model, type):
        with calling("relevance"):
            found: Any = look_up(queries, documents)
        words = f"the relevance of {name}"
    elif is_column(model):
        found, words = model, name
    else:
        raise TypeError(
            f"{name} must be a fitted model of clicks, which has a method relevance, "
            f"or hold one number for each pair, got {shown(model)}"
        )
    relevance = as_numbers(found, words, "numbers")
    if relevance.shape != (len(queries),):
        raise ValueError(
            f"{words} must hold one number for each of {len(queries)} pairs, got shape "
            f"{relevance.shape}"
        )
    if not np.isfinite(relevance).all():
        raise ValueError(f"{words} must hold finite numbers")
    return relevance


def to_propensities(
    model: Any, sessions: Sessions | None = None, *, clip: float = _TINY
) -> np.ndarray:
    r"""Return how likely each impression of a log was looked at.

    Models that say how likely an impression is examined are asked for that, by the
    place alone, :math:`p = \theta_k` in place :math:`k`, or by the method
    ``predict_examination`` of a model of clicks. Of all others, it is the probability
    of a click over that of a click on a document that is examined, its relevance,

    .. math:: p = \frac{P(C = 1)}{P(C = 1 \mid E = 1)} = \frac{P(C = 1)}{r}

    with marginal probabilities, which know of no click.

    Parameters
    ----------
    model : object, or array-like of shape (n_places,)
        - an estimator of propensities with an attribute ``propensities_``, one for each
          place;
        - a user with a method ``propensities``, such as `SimulatedUser`;
        - a fitted model of clicks with the method ``predict_examination``, or with
          ``predict_proba`` and ``relevance``;
        - propensities of the places, from the first one on;
        - `Sessions`, for a rough answer without a model: the rates of clicks by place,
          relative to the largest. It takes the documents of all places for equally
          relevant, which those that a good ranker puts first are not.
    sessions : Sessions, default=None
        Log whose impressions get propensities. None takes ``model`` if that is a log.
    clip : float, default=1e-6
        Smallest propensity; smaller ones are raised to it. Its inverse is the largest
        weight of an impression.

    Returns
    -------
    ndarray of shape (n_impressions,)
        Propensities, from ``clip`` to 1, in the order of ``sessions.document``.

    Raises
    ------
    ValueError
        If a place has no propensity, a propensity is not in [0, 1], or ``clip`` is not
        in (0, 1].
    TypeError
        If ``model`` is of another kind.

    References
    ----------
    [Joachims2017]_; [Liu2011]_, eq. 13.1, for examination and relevance.

    Examples
    --------
    >>> from skrank.click import Sessions, SimulatedUser, to_propensities
    >>> sessions = Sessions.from_lists(["q"], [["a", "b"]], [[1, 0]])
    >>> to_propensities(SimulatedUser(examination="position"), sessions).tolist()
    [1.0, 0.5]
    """
    check_arguments(to_propensities, clip=clip)
    if not 0 < clip <= 1:
        raise InvalidParameterError(
            f"to_propensities: clip must be above 0 and at most 1, got {clip!r}"
        )
    if sessions is None and isinstance(model, Sessions):
        sessions = model
    if sessions is None:
        raise ValueError("sessions must be given, unless the model is a log itself")
    sessions = check_sessions(sessions)
    n_places = int(sessions.position.max(initial=0))
    by_place = _of_places(model, n_places)
    if by_place is None:
        found = _examination(model, sessions)
    else:
        found = _checked_places(by_place, n_places)[sessions.position - 1]
    return np.clip(found, clip, 1.0)


def _of_places(model: Any, n_places: int) -> Any:
    """Return the propensities of places, or None if the model knows of none."""
    if isinstance(model, Sessions):
        shown_at = np.bincount(model.position, minlength=n_places + 1)[1:]
        clicked = np.bincount(
            model.position, weights=model.click, minlength=n_places + 1
        )[1:]
        rates = clicked / np.maximum(shown_at, 1)
        return rates / max(rates.max(initial=0.0), _TINY)
    if hasattr(model, "propensities_"):
        return model.propensities_
    if callable(getattr(model, "propensities", None)) and not isinstance(model, type):
        with calling("propensities"):
            return model.propensities(n_places)
    if hasattr(model, "predict_proba"):
        return None
    if is_column(model):
        return model
    raise TypeError(
        "model must be an estimator of propensities, a model of clicks, Sessions, or "
        f"hold one propensity for each place, got {shown(model)}"
    )


def _checked_places(by_place: Any, n_places: int) -> np.ndarray:
    places = as_numbers(by_place, "model", "propensities")
    if places.ndim != 1 or len(places) < n_places:
        raise ValueError(
            f"model must hold a propensity for each of {n_places} places, got shape "
            f"{places.shape}"
        )
    wrong = ~((places >= 0) & (places <= 1))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"model must hold propensities from 0 to 1; that of place {place + 1} is "
            f"{places[place]:g}"
        )
    return places


def _examination(model: Any, sessions: Sessions) -> np.ndarray:
    """Return the probability of examination that a model of clicks implies."""
    if callable(getattr(model, "predict_examination", None)):
        with calling("model"):
            examined = np.asarray(model.predict_examination(sessions), np.float64)
        return np.where(np.isfinite(examined), examined, 1.0)
    pair, query, document = sessions.pairs()
    queries, documents = sessions.query_ids[query], sessions.document_ids[document]
    relevance = relevance_of(model, queries, documents)[pair]
    with calling("model"):
        click = np.asarray(model.predict_proba(sessions, kind="marginal"))
    # A document that is never clicked tells nothing of examination; its propensity has
    # no use, because only what is clicked is weighted.
    examined = np.ones(len(click))
    np.divide(click, relevance, out=examined, where=relevance > 0)
    return np.clip(examined, 0.0, 1.0)
