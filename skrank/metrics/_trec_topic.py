"""trec_eval's measures of one topic.

A topic knows the judgement of every retrieved document in the order of the ranking and
the grades of all judged documents, retrieved or not. Each measure is a function of a
topic and of one parameter of its family.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

NOT_IN_POOL = -1.0
UNJUDGED = -2.0

# Constants of trec_eval, on which its fourth decimals depend.
_INFAP_EPSILON = 1e-5  # keeps the share of relevant documents defined without any
_RBP_RESIDUAL_P = 0.9  # fixed, whatever the parameter of "rbp"
_SMALLEST_COST = 1.0  # cost in G of a rank that could not have had any gain


class Topic:
    """One query of a run with its judgements.

    Parameters
    ----------
    ranked : ndarray of shape (n_retrieved,)
        Grade of each retrieved document in the order of ranks; `NOT_IN_POOL` or
        `UNJUDGED` where there is none.
    grades : ndarray of shape (n_judged,)
        Grades of all judged documents.
    relevance_level : float, default=1
        Grade from which a document is relevant.
    n_collection : int, default=0
        Number of documents in the collection, for the utility measure.
    """

    def __init__(
        self,
        ranked: np.ndarray,
        grades: np.ndarray,
        relevance_level: float = 1,
        n_collection: int = 0,
    ):
        self.ranked = ranked
        self.grades = grades
        self.relevance_level = relevance_level
        self.n_collection = n_collection
        self.n_retrieved = len(ranked)
        self.relevant = ranked >= relevance_level
        self.n_relevant = int((grades >= relevance_level).sum())
        self.n_hits = int(self.relevant.sum())

    @cached_property
    def hits(self) -> np.ndarray:
        """Number of relevant documents up to each rank."""
        return np.cumsum(self.relevant)

    @cached_property
    def precision(self) -> np.ndarray:
        """Precision at each rank."""
        return self.hits / np.arange(1, self.n_retrieved + 1)

    @cached_property
    def interpolated(self) -> np.ndarray:
        """Best precision at this rank or below."""
        return np.maximum.accumulate(self.precision[::-1])[::-1]

    @cached_property
    def nonrelevant(self) -> np.ndarray:
        """Which retrieved documents are judged not relevant."""
        return (self.ranked >= 0) & (self.ranked < self.relevance_level)

    def hits_at(self, k: int) -> int:
        """Count the relevant documents among the first ``k``."""
        return int(self.hits[min(k, self.n_retrieved) - 1]) if self.n_retrieved else 0

    def gains(self, table: Mapping[float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Return ranked gains, and positive gains of judged documents, best first."""
        ranked = np.where(self.ranked > 0, self.ranked, 0.0)
        ideal = self.grades.astype(np.float64)
        for grade, gain in table.items():
            ranked = np.where(self.ranked == grade, gain, ranked)
            ideal = np.where(self.grades == grade, gain, ideal)
        ideal = np.sort(ideal)[::-1]
        return ranked, ideal[ideal > 0]


def mean_over_groups(function: Callable) -> Callable:
    """Return a measure's mean over topics that differ in their judgements only.

    Parameters
    ----------
    function : callable
        Measure of one topic and a parameter.

    Returns
    -------
    callable
        Measure of a list of topics, one for each group of judgements, and a parameter.
    """

    def value(topics, parameter):
        return float(np.mean([function(topic, parameter) for topic in topics]))

    return value


def _ratio(numerator, denominator):
    return float(numerator / denominator) if denominator else 0.0


def _log_discounted(gains):
    return gains / np.log2(np.arange(2, len(gains) + 2))


def num_retrieved(topic: Topic, _: None) -> int:
    """Count the retrieved documents."""
    return topic.n_retrieved


def num_relevant(topic: Topic, _: None) -> int:
    """Count the relevant documents, retrieved or not."""
    return topic.n_relevant


def num_relevant_retrieved(topic: Topic, _: None) -> int:
    """Count the retrieved relevant documents."""
    return topic.n_hits


def num_nonrelevant_judged(topic: Topic, _: None) -> int:
    """Count the retrieved documents that are judged not relevant."""
    return int(topic.nonrelevant.sum())


def average_precision(topic: Topic, k: int | None) -> float:
    """Average precision at k (None: no cut), over all relevant documents."""
    hits = topic.relevant[:k]
    return _ratio(np.sum(topic.precision[:k] * hits), topic.n_relevant)


def precision(topic: Topic, k: int) -> float:
    """Precision at k."""
    return topic.hits_at(k) / k


def recall(topic: Topic, k: int) -> float:
    """Recall at k."""
    return _ratio(topic.hits_at(k), topic.n_relevant)


def relative_precision(topic: Topic, k: int) -> float:
    """Precision at k over the best possible one."""
    return _ratio(topic.hits_at(k), min(k, topic.n_relevant))


def success(topic: Topic, k: int) -> float:
    """Whether there is a relevant document among the first k."""
    return float(topic.hits_at(k) > 0)


def r_precision(topic: Topic, multiple: float) -> float:
    """Precision at a multiple of the number of relevant documents."""
    cut = int(multiple * topic.n_relevant + 0.9)
    return _ratio(topic.hits_at(cut), cut) if cut else 0.0


def reciprocal_rank(topic: Topic, _: None) -> float:
    """Reciprocal rank of the first relevant document."""
    first = np.flatnonzero(topic.relevant)
    return 1.0 / (first[0] + 1) if len(first) else 0.0


def interpolated_precision(topic: Topic, recall_level: float) -> float:
    """Best precision from the rank on where the recall level is reached."""
    needed = math.floor(recall_level * topic.n_relevant + 0.5)  # C's lround
    if needed > topic.n_hits or not topic.n_hits:
        return 0.0
    rank = np.searchsorted(topic.hits, needed) if needed else 0
    return float(topic.interpolated[rank])


def mean_interpolated_precision(topic: Topic, levels: Sequence[float]) -> float:
    """Mean of the interpolated precision over recall levels."""
    return float(np.mean([interpolated_precision(topic, level) for level in levels]))


def bpref(topic: Topic, _: None) -> float:
    """Binary preference."""
    n_nonrelevant = int(
        ((topic.grades >= 0) & (topic.grades < topic.relevance_level)).sum()
    )
    above = np.cumsum(topic.nonrelevant)[topic.relevant]
    most = min(n_nonrelevant, topic.n_relevant)
    lost = np.minimum(above, topic.n_relevant) / most if most else 0.0 * above
    return _ratio(np.sum(1 - lost), topic.n_relevant)


def inferred_ap(topic: Topic, _: None) -> float:
    """Estimate average precision from a sampled judgement pool, [Yilmaz2006]_."""
    above = np.flatnonzero(topic.relevant).astype(np.float64)  # documents above
    hits = np.arange(len(above), dtype=np.float64)
    others = np.cumsum(topic.nonrelevant)[topic.relevant]
    unjudged = np.cumsum(topic.ranked == UNJUDGED)[topic.relevant]
    in_pool = np.where(above > 0, (hits + others + unjudged) / np.maximum(above, 1), 0)
    chance = (hits + _INFAP_EPSILON) / (hits + others + 2 * _INFAP_EPSILON)
    value = (1 + above * in_pool * chance) / (above + 1)
    return _ratio(value.sum(), topic.n_relevant)


def utility(topic: Topic, weights: Sequence[float]) -> float:
    """Weighted sum of the contingency table of retrieved and relevant."""
    hits, retrieved, relevant = topic.n_hits, topic.n_retrieved, topic.n_relevant
    table = (
        hits,
        retrieved - hits,
        relevant - hits,
        topic.n_collection + hits - retrieved - relevant,
    )
    return float(np.dot(weights, table))


def binary_g(topic: Topic, _: None) -> float:
    """Mean over relevant documents of 1 / log2(2 + nonrelevant documents above)."""
    ranks = np.flatnonzero(topic.relevant)
    above = ranks - np.arange(len(ranks))
    return _ratio(np.sum(1 / np.log2(2 + above)), topic.n_relevant)


def graded_g(topic: Topic, table: Mapping[float, float]) -> float:
    """Gain over log2(2 + ideal gain so far - gain so far), normalised."""
    ranked, ideal = topic.gains(table)
    reachable = np.zeros(topic.n_retrieved)
    n = min(len(ideal), topic.n_retrieved)
    reachable[:n] = ideal[:n]
    cost = np.cumsum(np.maximum(reachable, _SMALLEST_COST))
    gained = ranked != 0
    terms = ranked[gained] / np.log2(2 + (cost - np.cumsum(ranked))[gained])
    return _ratio(terms.sum(), ideal.sum())


def ndcg(topic: Topic, table: Mapping[float, float]) -> float:
    """NDCG without cut-off; gains by grade, the grade itself by default."""
    ranked, ideal = topic.gains(table)
    return _ratio(_log_discounted(ranked).sum(), _log_discounted(ideal).sum())


def ndcg_cut(topic: Topic, k: int) -> float:
    """NDCG at k."""
    ranked, ideal = topic.gains({})
    return _ratio(_log_discounted(ranked[:k]).sum(), _log_discounted(ideal[:k]).sum())


def _cumulated(topic, table):
    """DCG at each rank and ideal DCG at each rank, ranks 0 to the longer list."""
    ranked, ideal = topic.gains(table)
    length = max(len(ranked), len(ideal))
    sums = []
    for gains in (ranked, ideal):
        padded = np.zeros(length)
        padded[: len(gains)] = gains
        sums.append(np.concatenate(([0.0], np.cumsum(_log_discounted(padded)))))
    return ranked, ideal, *sums


def ndcg_rel(topic: Topic, table: Mapping[float, float]) -> float:
    """NDCG averaged over the ranks of relevant documents."""
    ranked, ideal, dcg, best = _cumulated(topic, table)
    if not len(ideal):
        return 0.0
    ranks = np.flatnonzero(ranked > 0) + 1
    missing = len(ideal) - len(ranks)
    total = np.sum(dcg[ranks] / best[ranks]) + missing * dcg[-1] / best[-1]
    return float(total / len(ideal))


def r_ndcg(topic: Topic, table: Mapping[float, float]) -> float:
    """NDCG averaged over the ranks where the ideal gain changes."""
    ranked, ideal, dcg, best = _cumulated(topic, table)
    if not len(ideal) or not topic.n_relevant:
        return 0.0
    changes = np.append(np.flatnonzero(np.diff(ideal)) + 1, len(ideal))
    values = list(dcg[changes] / best[changes])
    if len(ranked) > len(ideal) + 1:
        values.append(dcg[-1] / best[-1])
    return float(np.mean(values))


def set_precision(topic: Topic, _: None) -> float:
    """Precision of the retrieved set."""
    return _ratio(topic.n_hits, topic.n_retrieved)


def set_recall(topic: Topic, _: None) -> float:
    """Recall of the retrieved set."""
    return _ratio(topic.n_hits, topic.n_relevant)


def set_relative_precision(topic: Topic, _: None) -> float:
    """Precision of the retrieved set over the best possible one."""
    return _ratio(topic.n_hits, min(topic.n_retrieved, topic.n_relevant))


def set_map(topic: Topic, _: None) -> float:
    """Precision times recall of the retrieved set."""
    return set_precision(topic, None) * set_recall(topic, None)


def set_f(topic: Topic, x: float) -> float:
    """F measure of the retrieved set, recall counting x times as much."""
    p, r = set_precision(topic, None), set_recall(topic, None)
    return _ratio((x + 1) * p * r, r + x * p)


def rbp(topic: Topic, p: float) -> float:
    """Rank-biased precision; grades above 1 are scaled by the topic's highest one."""
    highest = max(1.0, float(topic.grades.max(initial=0.0)))
    gains = np.where(topic.ranked > 0, topic.ranked, 0.0) / highest
    return float((1 - p) * np.sum(gains * p ** np.arange(topic.n_retrieved)))


def rbp_residual(topic: Topic, _: None) -> float:
    """What unjudged documents could add to rank-biased precision."""
    p = _RBP_RESIDUAL_P
    unjudged = topic.ranked < 0
    if not unjudged.any():
        return 0.0
    weights = p ** np.arange(topic.n_retrieved)
    return float(p**topic.n_retrieved + (1 - p) * weights[unjudged].sum())


def unjudged_share(topic: Topic, k: int) -> float:
    """Share of documents without judgement among the first k."""
    return float((topic.ranked[:k] < 0).sum() / k)


def relevance_string(topic: Topic, length: int) -> str:
    """Grades of the first documents as one character each, in quotes."""
    return "'" + "".join(_character(grade) for grade in topic.ranked[:length]) + "'"


def _character(grade):
    if grade == NOT_IN_POOL:
        return "-"
    if grade == UNJUDGED:
        return "."
    return ">" if grade > 9 else str(int(grade))
