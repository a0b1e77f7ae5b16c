"""Measures that are sums over documents, as weights of the ranks of a new ranking."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from skrank._core._messages import shown
from skrank._core._segments import segment_best_first, segment_sum
from skrank._core._validation import as_numbers, called, naming
from skrank.metrics import BaseMeasure, get_measure
from skrank.metrics._registry import NamedMeasure
from skrank.unbiased._counterfactual_log import LARGEST

#: A measure whose value is a sum of relevances times weights of ranks.
AdditiveMeasure = Literal["arp"] | NamedMeasure | Callable


class RankWeights(NamedTuple):
    r"""Weights :math:`\lambda` of ranks, and the scale of each query.

    Attributes
    ----------
    name : str
        Name of the measure.
    greater_is_better : bool
        Direction of the measure.
    table : ndarray of shape (n_ranks,)
        Weight of each rank, as many as the longest query has documents.
    scale : ndarray of shape (n_queries,)
        Factor of each query; 0 for queries without a value.
    counts_all : bool
        Whether a document that is not ranked has no weight to be given.
    normalized : bool
        Whether the scale follows from predicted relevance.
    """

    name: str
    greater_is_better: bool
    table: np.ndarray
    scale: np.ndarray
    counts_all: bool = False
    normalized: bool = False

    def of_rows(self, scores: np.ndarray, ptr: np.ndarray, name: str) -> np.ndarray:
        r"""Return the weight of each document by its rank, shape (n_documents,).

        Documents of equal score share the mean weight of their ranks; those of score
        −∞ are not ranked and weigh nothing.
        """
        order, tied = segment_best_first(scores, ptr)
        places = np.arange(len(order)) - np.repeat(ptr[:-1], np.diff(ptr))
        weights = self.table[places]
        ranked = scores[order] != -np.inf
        if self.counts_all and not ranked.all():
            raise ValueError(
                f"{name} must rank every document for measure={self.name!r}, which "
                "gives no weight to documents without a rank; "
                f"{int((~ranked).sum())} have the score -inf"
            )
        weights = np.where(ranked, weights, 0.0)
        starts = np.flatnonzero(tied == 0)
        bounds = np.append(starts, len(order)).astype(np.intp)
        means = segment_sum(weights, bounds) / np.diff(bounds)
        found = np.empty_like(weights)
        found[order] = np.repeat(means, np.diff(bounds))
        return found * np.repeat(self.scale, np.diff(ptr))


def rank_weights(
    measure: Any, ptr: np.ndarray, relevance: np.ndarray | None
) -> RankWeights:
    """Return the weights of ranks of a measure, after a check that it has such.

    Parameters
    ----------
    measure : str, BaseMeasure or callable
        Measure.
    ptr : ndarray of shape (n_queries + 1,)
        Bounds of the queries.
    relevance : ndarray of shape (n_documents,) or None
        Predicted relevance, of which NDCG takes the best ranking.

    Returns
    -------
    RankWeights

    Raises
    ------
    ValueError
        If the measure is no sum over documents, or lacks the predicted relevance.
    """
    n_ranks = int(np.diff(ptr).max(initial=0))
    ones = np.ones(len(ptr) - 1)
    if isinstance(measure, str) and measure == "arp":
        ranks = np.arange(1.0, n_ranks + 1.0)
        return RankWeights("arp", False, ranks, ones, counts_all=True)
    if callable(measure) and not isinstance(measure, BaseMeasure):
        name = getattr(measure, "__name__", type(measure).__name__)
        return RankWeights(name, True, _called(measure, n_ranks), ones)
    with naming("measure"):
        return _of_measure(get_measure(measure), ptr, relevance)


def _called(measure, n_ranks) -> np.ndarray:
    """Return the weights that a function of ranks gives."""
    ranks = np.arange(1.0, n_ranks + 1.0)
    found = as_numbers(called("measure", measure, ranks), "what measure returns")
    if found.shape != ranks.shape or not (np.abs(found) <= LARGEST).all():
        raise ValueError(
            "measure must be a function of an array of ranks, from 1 on, that returns "
            f"one weight from -{LARGEST:g} to {LARGEST:g} for each, got {shown(found)} "
            f"for {n_ranks} ranks"
        )
    return found


def _of_measure(measure, ptr, relevance) -> RankWeights:
    """Return the weights of a measure of the package."""
    if measure.rank_form != "gain_discount":
        raise ValueError(
            "measure must be a sum over documents of relevance times a weight of the "
            "rank, such as 'dcg@10', 'ndcg@10', 'p@10', 'rbp' or 'arp', got "
            f"{measure.name!r}"
        )
    if getattr(measure, "ties", "average") != "average":
        raise ValueError(
            f"measure must have ties='average', got ties={measure.ties!r}: what is "
            "relevant is not known"
        )
    if measure.k is None and measure.needs_cut_off:
        raise ValueError(
            f"measure {measure.name!r} is the same for all rankings unless it is cut "
            f"off, as in '{measure.name}@10'"
        )
    n = int(ptr[-1])
    terms = measure.delta_terms(np.ones(n), ptr)
    none = measure.delta_terms(np.zeros(n), ptr)
    gain = float(terms.gain[0]) if n else 1.0
    if n and none.gain[0]:
        raise ValueError(
            f"measure {measure.name!r} must give nothing for grade 0, got the gain "
            f"{none.gain[0]:g}: documents that nobody clicked are not told apart"
        )
    if not gain:
        raise ValueError(
            f"measure {measure.name!r} counts no document of grade 1, which is what a "
            "click stands for"
        )
    # Not by what the scale does for grades 0 and 1, of which that of NDCG@1 is free.
    graded = "gain" in measure.get_params(deep=False)
    normalized = graded and bool(np.isfinite(measure.bounds[1]))
    if normalized:
        scale = _normalizers(measure, ptr, relevance)
    else:
        scale = gain * terms.scale
        if not np.array_equal(terms.scale, _of_one_relevant(measure, ptr).scale):
            raise ValueError(
                f"measure {measure.name!r} is divided by what depends on relevance, "
                "which clicks do not tell; take 'dcg@10', 'p@10', 'rbp' or 'arp', or "
                "'ndcg@10' with predicted relevance"
            )
    return RankWeights(
        measure.name,
        measure.greater_is_better,
        terms.discount,
        scale,
        normalized=normalized,
    )


def _of_one_relevant(measure, ptr):
    """Return the terms of a measure where one document of each query is relevant."""
    grades = np.zeros(int(ptr[-1]))
    grades[ptr[:-1][np.diff(ptr) > 0]] = 1.0
    return measure.delta_terms(grades, ptr)


def _normalizers(measure, ptr, relevance) -> np.ndarray:
    """Return the inverse of the best value of each query by predicted relevance."""
    _check_left_out(measure)
    if relevance is None:
        raise ValueError(
            f"measure {measure.name!r} needs relevance, a prediction for every "
            "document, to find the best ranking of each query; 'dcg@10' does not"
        )
    if (relevance < 0).any():
        raise ValueError(
            f"relevance must not be negative for measure {measure.name!r}, got "
            f"{relevance.min():g}"
        )
    return measure._with(gain="linear").delta_terms(relevance, ptr).scale


def _check_left_out(measure) -> None:
    """Raise an error if queries have values that do not follow from clicks."""
    for option, needed in (("empty_query", "skip"), ("short_query", "keep")):
        found = getattr(measure, option, needed)
        if found != needed:
            raise ValueError(
                f"measure {measure.name!r} must have {option}={needed!r}, got {found!r}"
            )
