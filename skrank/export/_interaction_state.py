"""What click graphs and models of interaction have learned, and how it must fit."""

from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._finite import largest_safe
from skrank._core._messages import problem_in
from skrank._core._sparse import check_sparse
from skrank.click import ClickGraph, InteractionModel
from skrank.click._sessions_ids import distinct_ids, ids_of
from skrank.click._sessions_lookup import find_rows
from skrank.export._attributes import array_of, attribute, error_of

_KINDS = "fiuUSO"  # of arrays of ids


def check_click_graph(graph: ClickGraph) -> None:
    """Raise an error if learned attributes do not make a working click graph.

    Parameters
    ----------
    graph : ClickGraph
        Fitted graph that was read from a file.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind or of the wrong shape, or a weight
        is negative or not finite.
    """
    n_queries = len(_ids(graph, "query_ids_", distinct_ids))
    n_documents = len(_ids(graph, "document_ids_", distinct_ids))
    _check_weights(graph, "clicks_", (n_queries, n_documents))
    _check_weights(graph, "similarity_", (n_queries, n_queries))
    _check_weights(graph, "smoothed_", (n_queries, n_documents))


def check_interaction_model(model: InteractionModel) -> None:
    """Raise an error if learned attributes do not make a working model of interaction.

    Parameters
    ----------
    model : InteractionModel
        Fitted model that was read from a file; its ranker has been checked before.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind or of the wrong shape, or a number
        is not finite.
    """
    names = attribute(model, "names_", list, "a list of names")
    if not names or not all(isinstance(name, str) for name in names):
        raise error_of(model, "names_", "a list of names", names)
    for name in ("mean_", "scale_"):
        _check_finite(model, name, (len(names),))
        _check_size(model, name, vars(model)[name])
    if not (model.scale_ > 0).all():
        raise error_of(model, "scale_", "positive", model.scale_)
    background = attribute(model, "background_", dict, "a dictionary of arrays")
    for name, values in background.items():
        is_row = isinstance(values, np.ndarray) and values.ndim == 1 and len(values)
        if not isinstance(name, str) or not is_row or values.dtype != np.float64:
            raise error_of(model, "background_", "a dictionary of arrays", background)
        _check_size(model, "background_", values)
    n_pairs = len(_ids(model, "query_", ids_of))
    if len(_ids(model, "document_", ids_of)) != n_pairs:
        raise error_of(model, "document_", f"{n_pairs} ids", model.document_)
    _check_pairs(model)
    _check_finite(model, "relevance_", (n_pairs,))
    n_judged = attribute(model, "n_judged_", int, "a whole number >= 1")
    if not 1 <= n_judged <= n_pairs:
        raise error_of(model, "n_judged_", f"from 1 to {n_pairs}", n_judged)
    ranker: Any = attribute(model, "ranker_", object, "")
    if not callable(getattr(ranker, "predict", None)):
        raise error_of(model, "ranker_", "a fitted ranker", ranker)
    try:
        scores = ranker.predict(np.zeros((1, len(names))))
    except Exception as error:  # an estimator of another kind fails in any way
        raise ValueError(
            f"InteractionModel: ranker_ cannot score {len(names)} features: "
            f"{problem_in(error)}"
        ) from None
    if np.shape(scores) != (1,):
        raise error_of(model, "ranker_", "a ranker, with one score per row", ranker)


def _check_pairs(model: Any) -> None:
    """Refuse a pair that occurs twice, of which each occurrence has a relevance."""
    pairs = model.query_, model.document_
    try:
        find_rows(*pairs, *pairs)
    except ValueError:
        accepted = "ids that make each pair with those of document_ once"
        raise error_of(model, "query_", accepted, model.query_) from None


def _ids(owner: Any, name: str, check: Any) -> np.ndarray:
    ids = attribute(owner, name, np.ndarray, "an array of ids")
    if ids.ndim != 1 or ids.dtype.kind not in _KINDS:
        raise error_of(owner, name, "an array of ids", ids)
    try:
        return check(ids, name, "id")
    except TypeError as error:
        raise ValueError(f"{type(owner).__name__}: {problem_in(error)}") from None


def _check_size(owner: Any, name: str, values: np.ndarray) -> None:
    """Refuse numbers that a sum of products in a prediction may not survive."""
    limit = largest_safe(np.float64)
    if not (np.abs(values) <= limit).all():
        raise error_of(owner, name, f"finite, of sizes up to {limit:.2g}", values)


def _check_finite(owner: Any, name: str, shape: tuple) -> None:
    array = array_of(owner, name, [np.float64], shape)
    if not np.isfinite(array).all():
        raise error_of(owner, name, "finite", array)


def _check_weights(graph: ClickGraph, name: str, shape: tuple[int, int]) -> None:
    weights: Any = attribute(graph, name, object, "")
    accepted = f"a CSR array of shape {shape}"
    if not sparse.issparse(weights) or weights.format != "csr":
        raise error_of(graph, name, accepted, weights)
    if weights.shape != shape or weights.data.dtype != np.float64:
        raise error_of(graph, name, f"{accepted} and dtype float64", weights.shape)
    check_sparse(weights, name)
    rows = np.repeat(np.arange(shape[0]), np.diff(weights.indptr))
    keys = rows * max(shape[1], 1) + weights.indices
    if not (keys[1:] > keys[:-1]).all():
        raise error_of(
            graph, name, "with columns that ascend in each row", weights.shape
        )
    if not (np.isfinite(weights.data) & (weights.data >= 0)).all():
        raise error_of(graph, name, "finite and not negative", weights.data)
