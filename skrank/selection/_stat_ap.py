"""Sampling of documents by what average precision makes of their ranks."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._parameters import Positive
from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_cumsum
from skrank._core._validation import (
    check_grades,
    check_options,
    resolve_groups,
)
from skrank.selection._training_base import (
    BaseTrainingSelector,
    Chosen,
    SampledMixin,
    SharedMixin,
    TrainingSelection,
    check_queries_of,
    places_by,
    ranks_of_systems,
    table_of,
)


class StatAPSampling(SharedMixin, SampledMixin, BaseTrainingSelector):
    r"""Select documents at random, those at high ranks with greater probability.

    .. math::
        W_s(r) = \frac{1}{2 Z_s}
                 \Bigl(1 + \sum_{k=r}^{Z_s} \frac{1}{k}\Bigr), \qquad
        w_u \propto \sum_s W_s(r_s(u))

    is what rank r contributes to the sum precision of a system that retrieved
    :math:`Z_s` documents, if all ranks are equally likely to be relevant. The documents
    of a query are sorted by :math:`w_u` and cut into strata of as many documents as
    shall be selected, n; what is left over joins the last one. Strata are drawn n times
    with replacement, each by its share D of the prior, and as many documents of a
    stratum of M, all equally probable, as it was drawn:

    .. math::
        \pi_u = \frac{n D}{M}, \qquad
        \pi_{uv} = \frac{n (n - 1) D^2}{M (M - 1)} \text{ in one stratum}, \qquad
        \pi_{uv} = \frac{n (n - 1) D D'}{M M'} \text{ in two}

    so that n documents are selected of every query, and both probabilities are known,
    as `stat_ap` needs them. Beyond half of the documents, there is one stratum, and
    the sample is that of `InfAPSampling`.

    See Also
    --------
    stat_ap : Estimates average precision from the grades of the sample.
    InfAPSampling : All documents are equally probable.

    References
    ----------
    [Pavlu2007]_; [Stevens1958]_; [Liu2011]_, section 13.3.2.1.

    Examples
    --------
    >>> from skrank.selection import StatAPSampling
    >>> sampling = StatAPSampling(0.25, random_state=0)
    >>> chosen = sampling.select([4, 3, 2, 1, 4, 3, 2, 1], [0] * 4 + [1] * 4)
    >>> len(chosen.rows), chosen.query.tolist()
    (2, [0, 1])
    """

    def _chosen(self, candidates):
        index, retrieved = candidates.index, candidates.retrieved
        codes, sizes = index.codes, candidates.sizes
        wanted = self._n_wanted(sizes)
        prior = prior_of_average_precision(candidates.ranks, index)
        strata = _Strata.of(prior, retrieved, wanted, index)
        rng = self._rng()
        times = strata.times_drawn(wanted, rng)
        # Drawn documents of a stratum are those of the smallest random numbers.
        keys = np.where(retrieved, rng.random_sample(index.n_documents), 2.0)
        marks = retrieved & (strata.places(keys) < times[strata.number])
        mean = (strata.weight / np.maximum(strata.size, 1))[strata.number]
        # Rounding alone takes a share of the prior beyond 1.
        probability = np.minimum(wanted[codes] * mean, 1.0)
        stratum = strata.number - strata.ptr[codes]
        size = strata.size[strata.number]
        return Chosen(marks, retrieved, probability, stratum, size)


@dataclass(frozen=True, eq=False)
class _Strata:
    """Documents of each query, sorted by their prior and cut into strata.

    Attributes
    ----------
    number : ndarray of shape (n_documents,), dtype intp
        Stratum of each document, counted over all queries.
    ptr : ndarray of shape (n_queries + 1,), dtype intp
        Strata of query ``q`` are ``ptr[q]:ptr[q + 1]``.
    weight : ndarray of shape (n_strata,)
        Share of the prior of the query.
    size : ndarray of shape (n_strata,), dtype intp
        Number of documents that can be drawn.
    """

    number: np.ndarray
    ptr: np.ndarray
    weight: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, prior, retrieved, wanted, index) -> Self:
        """Return the strata, each of as many documents as are wanted, or more."""
        codes = index.codes
        sizes = np.bincount(codes[retrieved], minlength=index.n_queries)
        wanted = np.maximum(wanted, 1)
        n_strata = np.maximum(sizes // wanted, 1)
        ptr = np.append(0, np.cumsum(n_strata))
        # What was not retrieved has prior 0 and ends up in the last stratum.
        place = places_by(np.where(retrieved, -prior, 1.0), codes, index.ptr)
        own = np.minimum(place // wanted[codes], n_strata[codes] - 1)
        number = ptr[codes] + own
        weight = np.bincount(number, prior, minlength=ptr[-1])
        # A stratum that is alone is certain, to the last digit.
        weight[ptr[:-1][n_strata == 1]] = 1.0
        return cls(
            number, ptr, weight, np.bincount(number[retrieved], minlength=ptr[-1])
        )

    def times_drawn(self, wanted, rng) -> np.ndarray:
        """Draw strata of each query by their weights; return how often each came."""
        query = np.repeat(np.arange(len(wanted)), wanted)
        edges = np.cumsum(self.weight)
        first = np.append(0.0, edges)[self.ptr[:-1]]
        whole = edges[self.ptr[1:] - 1] - first
        point = first[query] + rng.random_sample(len(query)) * whole[query]
        drawn = np.searchsorted(edges, point, side="right")
        drawn = np.clip(drawn, self.ptr[query], self.ptr[query + 1] - 1)
        return np.bincount(drawn, minlength=self.ptr[-1])

    def places(self, keys) -> np.ndarray:
        """Return the place of each document in its stratum, by ascending key."""
        order = np.argsort(self.number, kind="stable")
        counts = np.bincount(self.number, minlength=self.ptr[-1])
        ptr = np.append(0, np.cumsum(counts))
        place = np.empty(len(keys), dtype=np.intp)
        place[order] = places_by(keys[order], self.number[order], ptr)
        return place


def prior_of_average_precision(ranks: np.ndarray, index: QueryIndex) -> np.ndarray:
    """Return the mean contribution of the ranks of each document to sum precision.

    Parameters
    ----------
    ranks : ndarray of shape (n_documents, n_systems)
        Ranks from 1 in the query; infinity for what a system did not retrieve.
    index : QueryIndex
        Queries of the documents.

    Returns
    -------
    ndarray of shape (n_documents,)
        Prior; its sum over a query of which anything was retrieved is 1.
    """
    codes, n_queries = index.codes, index.n_queries
    longest = int(index.sizes.max(initial=1))
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, longest + 1)))
    total = np.zeros(len(ranks))
    n_systems = np.zeros(n_queries)
    for own in ranks.T:
        found = np.isfinite(own)
        depth = np.bincount(codes[found], minlength=n_queries)
        n_systems += depth > 0
        depth = depth[codes[found]]
        tail = harmonic[depth] - harmonic[own[found].astype(np.intp) - 1]
        total[found] += (1.0 + tail) / (2.0 * depth)
    return total / np.maximum(n_systems, 1)[codes]


def stat_ap(
    selection: TrainingSelection,
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    relevance_level: Positive | None = None,
) -> np.ndarray:
    r"""Estimate average precision from the grades of documents that were drawn.

    .. math::
        \hat R = \sum_{u} \frac{x_u}{\pi_u}, \qquad
        \widehat{SP} = \sum_{u} \frac{x_u}{r_u} \Bigl( \frac{1}{\pi_u}
            + \sum_{v: r_v < r_u} \frac{x_v}{\pi_{uv}} \Bigr), \qquad
        \widehat{AP} = \frac{\widehat{SP}}{\hat R}

    with sums over the selected documents of a query, :math:`x_u` = 1 for relevant
    documents and 0 for others, and the rank :math:`r_u` among all documents that the
    system retrieved. The number of relevant documents and, if at least two documents of
    a query are selected, the sum precision are estimated without bias, by the
    probabilities of documents and of pairs; the bias of their ratio falls with the size
    of the sample. An estimate may be greater than 1. Where nothing is drawn, it is
    average precision, with documents that were not selected as not relevant.

    Parameters
    ----------
    selection : TrainingSelection
        What was selected, and how probable it was.
    y : array-like of shape (n_documents,)
        Grades of all rows, of which only those of selected rows are read.
    scores : array-like of shape (n_documents,) or (n_documents, n_systems)
        Scores of the systems to evaluate, as for `BaseTrainingSelector.select`. They
        need not be the systems from which documents were selected.
    groups : array-like of shape (n_documents,), default=None
        Queries of the rows, the same as in the selection.
    relevance_level : float, default=None
        Grade from which a document is relevant; None means every grade above 0.

    Returns
    -------
    ndarray of shape (n_queries,) or (n_queries, n_systems)
        Estimates by ascending query id; 0 without a relevant document in the sample, as
        infAP of trec_eval has it. Complexity: O(n S log m) for n documents, m in a
        query, and S systems.

    Raises
    ------
    ValueError
        If the rows are others than those that were selected from, or an argument is
        malformed.

    See Also
    --------
    StatAPSampling : Draws the documents.

    References
    ----------
    [Pavlu2007]_; [Horvitz1952]_.

    Examples
    --------
    >>> from skrank.selection import DepthPooling, stat_ap
    >>> scores = [4.0, 3.0, 2.0, 1.0]
    >>> selection = DepthPooling(3).select(scores, [0] * 4)
    >>> stat_ap(selection, [1, 0, 1, 0], scores, [0] * 4).round(4).tolist()
    [0.8333]
    """
    check_options(stat_ap, locals())
    if not isinstance(selection, TrainingSelection):
        raise TypeError(
            "selection must be a TrainingSelection, as select returns it, got "
            f"{shown(selection)}"
        )
    table = table_of(scores)
    grades = check_grades(y, n_samples=len(table))
    ids = resolve_groups(groups, scores, y, n_samples=len(table), caller="stat_ap")
    index = QueryIndex.from_groups(ids, canonical=True)
    check_queries_of(selection, index)
    ranks = ranks_of_systems(index.take(table), index.ptr)
    ranks = index.restore(ranks)[selection.rows]
    own = grades[selection.rows]
    relevant = own > 0 if relevance_level is None else own >= relevance_level
    number, precision = estimated_sums(selection, relevant, ranks, index.n_queries)
    values = np.zeros_like(precision)
    np.divide(precision, number[:, None], out=values, where=number[:, None] > 0)
    return values[:, 0] if np.ndim(scores) == 1 else values


def estimated_sums(
    selection: TrainingSelection,
    relevant: np.ndarray,
    ranks: np.ndarray,
    n_queries: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate numbers of relevant documents, and sum precisions.

    Parameters
    ----------
    selection : TrainingSelection
        What was selected.
    relevant : ndarray of shape (n_selected,), dtype bool
        Whether each selected document is relevant.
    ranks : ndarray of shape (n_selected, n_systems)
        Rank of each by each system; infinity for what a system did not retrieve.
    n_queries : int
        Number of queries.

    Returns
    -------
    number : ndarray of shape (n_queries,)
        Estimated number of relevant documents.
    precision : ndarray of shape (n_queries, n_systems)
        Estimated sum of the precisions at the ranks of relevant documents.
    """
    query, weight = selection.query, selection.weights
    number = np.bincount(query[relevant], weight[relevant], minlength=n_queries)
    precision = np.zeros((n_queries, ranks.shape[1]))
    n = selection.n_of_query
    # A pair takes two documents.
    ratio = np.where(n > 1, n / np.maximum(n - 1, 1), 0.0)
    for s, rank in enumerate(ranks.T):
        kept = np.flatnonzero(relevant & np.isfinite(rank))
        kept = kept[np.lexsort((rank[kept], query[kept]))]
        within = np.lexsort((selection.stratum[kept], query[kept]))
        above = _sum_before(weight[kept], query[kept])
        alike = np.empty(len(kept))
        own = kept[within]
        alike[within] = _sum_before(weight[own], query[own], selection.stratum[own])
        pairs = ratio[kept] * (above - alike / selection.stratum_size[kept])
        terms = weight[kept] * (1.0 + pairs) / rank[kept]
        precision[:, s] = np.bincount(query[kept], terms, minlength=n_queries)
    return number, precision


def _sum_before(values, *keys) -> np.ndarray:
    """Return the sum of the values before each one of the same keys."""
    if not len(values):
        return np.zeros(0)
    new = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    starts = np.flatnonzero(np.append(True, new))
    ptr = np.append(starts, len(values)).astype(np.intp)
    return segment_cumsum(values, ptr) - values
