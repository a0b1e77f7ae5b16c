"""What models of clicks have learned: kinds, shapes and ranges of their attributes."""

from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import problem_in
from skrank.click import BaseClickModel, ClickChainModel, DependentClickModel, Sessions
from skrank.click._browsing import PlacesMixin
from skrank.click._click_chain_model import N_SLOTS
from skrank.click._counting import BaseCountingModel
from skrank.click._pair_table import PairTable
from skrank.export._attributes import array_of, attribute, error_of

# Sums of counts must fit whole numbers of 64 bits, with room for further logs.
_MOST_COUNTS = 2.0**60
_ONE_SLOT = ("RandomClickModel", "DocumentClickModel", "CascadeModel")


def check_click_model(model: BaseClickModel) -> None:
    """Raise an error if learned attributes do not make a working model of clicks.

    Parameters
    ----------
    model : BaseClickModel
        Fitted model that was read from a file; its parameters have been checked.

    Raises
    ------
    ValueError
        If an attribute is missing, of the wrong kind, of the wrong shape or out of
        range.
    """
    n_pairs = _check_pairs(model)
    for name in dict.fromkeys((*model._unknown(), *model._columns.values())):
        high = 0.25 if name.endswith("variance_") else 1.0
        _check_shares(model, name, (n_pairs,), high)
    _check_behaviour(model)
    _check_steps(model)
    if isinstance(model, BaseCountingModel):
        _check_cells(model, n_pairs)
    _try(model)


def _check_pairs(model: Any) -> int:
    ids = _check_ids(model, "query_ids_"), _check_ids(model, "document_ids_")
    query = array_of(model, "pair_query_", [np.intp], (None,))
    if not len(query):
        raise error_of(model, "pair_query_", "at least one number", query)
    document = array_of(model, "pair_document_", [np.intp], (len(query),))
    for name, codes, known in zip(("query", "document"), (query, document), ids):
        if codes.min() < 0 or codes.max() >= len(known):
            raise error_of(model, f"pair_{name}_", f"below {len(known)}", codes)
    try:
        same = PairTable.of_ids(*ids, query, document)[0]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{type(model).__name__}: {problem_in(error)}") from None
    found = model._pairs()
    parts = ("query_ids", "document_ids", "query", "document")
    alike = all(_equal(getattr(same, p), getattr(found, p)) for p in parts)
    keys = query * len(ids[1]) + document
    if not alike or not (keys[1:] > keys[:-1]).all():
        raise error_of(model, "pair_query_", "pairs in ascending order", query)
    return len(query)


def _check_ids(model: Any, name: str) -> np.ndarray:
    ids = attribute(model, name, np.ndarray, "an array of ids")
    missing = ids.dtype.kind in "fc" and bool(np.isnan(ids).any())
    if ids.ndim != 1 or not len(ids) or missing:
        raise error_of(model, name, "a list of ids", ids)
    return ids


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and first.tolist() == second.tolist()


def _check_shares(model: Any, name: str, shape: Any, high: float = 1.0) -> np.ndarray:
    """Check an array of probabilities."""
    array = array_of(model, name, [np.float64], shape)
    if not (array.size and array.min() >= 0 and array.max() <= high):
        raise error_of(model, name, f"numbers from 0 to {high:g}", array)
    return array


def _check_share(model: Any, name: str) -> None:
    value = attribute(model, name, (int, float), "a number from 0 to 1")
    if not 0 <= value <= 1:
        raise error_of(model, name, "a number from 0 to 1", value)


def _check_behaviour(model: Any) -> None:
    """Check what a model has learned of users, whatever the query."""
    kind = type(model).__name__
    if isinstance(model, PlacesMixin):
        table = _check_shares(model, "examination_", (None, None))
        width = min(model._slot_width(), len(table))
        if table.shape[1] != width or len(table) > model.max_rank:
            accepted = f"a table of {width} distances and at most max_rank ranks"
            raise error_of(model, "examination_", accepted, table.shape)
    elif kind in ("RankClickModel", "PositionBasedModel"):
        _check_shares(model, "examination_", (None,))
    elif isinstance(model, DependentClickModel):
        _check_shares(model, "continuation_", (None,))
    elif isinstance(model, ClickChainModel):
        alpha = _check_shares(model, "alpha_", (3,))
        if alpha[1] == 0 < alpha[2]:
            raise error_of(model, "alpha_", "0 at the end, as before it", alpha)
        relevance: Any = model.relevance_  # by which a continuation is divided
        if not (relevance > 0).all():
            raise error_of(model, "relevance_", "probabilities > 0", relevance)
    elif kind == "RandomClickModel":
        _check_share(model, "click_rate_")
    elif kind in ("DynamicBayesianNetwork", "SimplifiedDynamicBayesianNetwork"):
        _check_share(model, "gamma_")


def _check_steps(model: Any) -> None:
    if not hasattr(model, "max_iter"):
        return
    n_iter = attribute(model, "n_iter_", int, "a whole number >= 1")
    curve = array_of(model, "loss_curve_", [np.float64], (None,))
    if n_iter < 1 or n_iter != len(curve):
        raise error_of(model, "n_iter_", f"{len(curve)}, at least 1", n_iter)
    if not np.isfinite(curve).all():
        raise error_of(model, "loss_curve_", "finite", curve)


def _n_slots(model: Any) -> int:
    """Return how many slots the counts may have, by what was learned from them."""
    if isinstance(model, PlacesMixin):
        return len(model.examination_) * model._slot_width()
    if isinstance(model, DependentClickModel):
        return 2 * len(model.continuation_)
    if isinstance(model, ClickChainModel):
        return N_SLOTS
    if type(model).__name__ in _ONE_SLOT:
        return 1
    return len(getattr(model, "examination_", (0, 0)))


def _check_cells(model: Any, n_pairs: int) -> None:
    """Check the counts, to which further sessions may be added."""
    n_sessions = attribute(model, "n_sessions_", int, "a whole number >= 1")
    if not 1 <= n_sessions < _MOST_COUNTS:
        raise error_of(model, "n_sessions_", "a whole number >= 1", n_sessions)
    width = attribute(model, "slot_width_", int, "a whole number")
    if width != model._slot_width():
        raise error_of(model, "slot_width_", str(model._slot_width()), width)
    pair = array_of(model, "cell_pair_", [np.intp], (None,))
    if not len(pair):  # the first document of every session is counted
        raise error_of(model, "cell_pair_", "at least one number", pair)
    slot = array_of(model, "cell_slot_", [np.intp], (len(pair),))
    n_slots = _n_slots(model)
    for name, codes, n in (
        ("cell_pair_", pair, n_pairs),
        ("cell_slot_", slot, n_slots),
    ):
        if codes.min() < 0 or codes.max() >= n:
            raise error_of(model, name, f"numbers below {n}", codes)
    if isinstance(model, PlacesMixin):
        rank, distance = np.divmod(slot, width)  # both from 0
        if (distance > rank).any():
            accepted = "places of which no distance exceeds its rank"
            raise error_of(model, "cell_slot_", accepted, slot)
    keys = pair * n_slots + slot
    if not (keys[1:] > keys[:-1]).all():
        raise error_of(model, "cell_slot_", "ascending within a pair", slot)
    for name in ("cell_clicks_", "cell_skips_"):
        counts = array_of(model, name, [np.int64], (len(pair),))
        if counts.min() < 0 or counts.sum(dtype=np.float64) > _MOST_COUNTS:
            raise error_of(model, name, "counts >= 0", counts)


def _try(model: Any) -> None:
    """Predict clicks on a few documents."""
    query = model.query_ids_[np.array([0, 0])]
    document = model.document_ids_[:1]
    sessions = Sessions(
        np.zeros(2, dtype=np.intp),
        np.zeros(4, dtype=np.intp),
        np.array([1, 0, 0, 1], dtype=np.uint8),
        np.array([0, 3, 4]),
        query[:1],
        document,
    )
    with quiet():
        for kind in ("conditional", "marginal"):
            found = model.predict_proba(sessions, kind=kind)
            if not ((found >= 0) & (found <= 1)).all():
                raise ValueError(
                    f"{type(model).__name__} predicts clicks with probabilities that "
                    "are not from 0 to 1"
                )
