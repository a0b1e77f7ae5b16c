"""What all selectors of documents to train on share: the systems, and what is drawn."""

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._best_first import best_first
from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, Seed
from skrank._core._queries import QueryIndex
from skrank._core._validation import (
    as_ids,
    as_numbers,
    check_grades,
    check_hashable,
    check_no_missing_id,
    resolve_groups,
)
from skrank.datasets import Qrels
from skrank.datasets._runs import first_duplicate


@dataclass(frozen=True, eq=False)
class TrainingSelection:
    r"""Documents to train on, and how probable it was that each is among them.

    Attributes
    ----------
    rows : ndarray of shape (n_selected,), dtype intp
        Rows of the selected documents, in ascending order.
    probability : ndarray of shape (n_selected,)
        Probability of each to be selected, in (0, 1]; 1 where nothing is drawn.
    pool : ndarray of shape (n_pool,), dtype intp
        Rows of all documents that could have been selected, in ascending order.
    query : ndarray of shape (n_selected,), dtype intp
        Number of the query of each selected document, by ascending query id.
    stratum : ndarray of shape (n_selected,), dtype intp
        Number of the stratum of each, within its query. All documents of a stratum are
        equally probable.
    stratum_size : ndarray of shape (n_selected,), dtype intp
        Number of documents of the pool in the stratum of each.

    Examples
    --------
    >>> from skrank.selection import InfAPSampling
    >>> chosen = InfAPSampling(0.5, random_state=0).select([4, 3, 2, 1], [0] * 4)
    >>> chosen.probability.tolist(), chosen.weights.tolist()
    ([0.5, 0.5], [2.0, 2.0])
    """

    rows: np.ndarray
    probability: np.ndarray
    pool: np.ndarray
    query: np.ndarray
    stratum: np.ndarray
    stratum_size: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Inverse probabilities, for ``sample_weight``, shape (n_selected,)."""
        return 1.0 / self.probability

    @property
    def n_of_query(self) -> np.ndarray:
        """Number of selected documents of the query of each, shape (n_selected,)."""
        return np.bincount(self.query)[self.query] if len(self.query) else self.query

    def joint_probability(
        self, first: npt.ArrayLike, second: npt.ArrayLike
    ) -> np.ndarray:
        r"""Return how probable it was that two documents are both selected.

        .. math:: \pi_{uv} = \pi_u \pi_v \frac{n - 1}{n} \cdot
                  \begin{cases} \frac{M}{M - 1} & \text{in one stratum of } M \\
                  1 & \text{in two strata} \end{cases}

        for two of the n documents that were selected from a query; documents of
        different queries are independent.

        Parameters
        ----------
        first, second : array-like of shape (n_pairs,)
            Places of the documents in ``rows``.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probabilities; that of a document with itself is its own.

        Raises
        ------
        ValueError
            If a place is no whole number below the number of selected documents, or
            the lengths differ.
        """
        u, v = self._places(first, "first"), self._places(second, "second")
        if len(u) != len(v):
            raise ValueError(
                f"first and second must have one length, got {len(u)} and {len(v)}"
            )
        together = self.query[u] == self.query[v]
        within = together & (self.stratum[u] == self.stratum[v])
        n, size = self.n_of_query[u], self.stratum_size[u]
        share = np.where(together, (n - 1) / n, 1.0)
        # Two documents of one stratum tell that it has at least two.
        share = np.where(within, share * size / np.maximum(size - 1, 1), share)
        both = self.probability[u] * self.probability[v] * share
        return np.where(u == v, self.probability[u], both)

    def _places(self, places, name) -> np.ndarray:
        numbers = as_numbers(places, name)
        n = len(self.rows)
        if numbers.ndim != 1:
            raise ValueError(
                f"{name} must be one-dimensional, with a place in rows for each pair, "
                f"got {shown(places)}"
            )
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
        flags = np.asarray(places).dtype.kind == "b"
        if flags or not (whole & (numbers >= 0) & (numbers < n)).all():
            raise ValueError(
                f"{name} must hold whole numbers from 0 to {n - 1}, places in rows, "
                f"got {shown(places)}"
            )
        return numbers.astype(np.intp)

    def to_qrels(
        self, y: npt.ArrayLike, groups: npt.ArrayLike, docids: npt.ArrayLike
    ) -> Qrels:
        """Make judgements of the pool in which only selected documents are judged.

        Documents of the pool that are not selected have the grade −1, as in judgements
        that trec_eval's infAP takes, so that ``evaluate(qrels, run, "infAP")`` is the
        estimate of average precision where the documents were drawn uniformly.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Grades of all rows, of which only those of selected rows are read.
        groups : array-like of shape (n_documents,)
            Query id of each row, as it was when the documents were selected.
        docids : array-like of shape (n_documents,)
            Document id of each row, which no other row of its query has.

        Returns
        -------
        skrank.datasets.Qrels
            Judgements, in the order of the rows of the pool.

        Raises
        ------
        ValueError
            If lengths differ, there are fewer rows than were selected from, their
            queries are others, an id is missing, or a document occurs twice for a query
            of the pool.
        """
        grades = check_grades(y)
        least = int(self.pool[-1]) + 1 if len(self.pool) else 0
        if len(grades) < least:
            raise ValueError(
                f"y must hold the grades of all rows that were selected from, at least "
                f"{least}; got {len(grades)}"
            )
        ids = resolve_groups(groups, n_samples=len(grades), caller="to_qrels")
        index = QueryIndex.from_groups(ids, canonical=True)
        codes = check_queries_of(self, index)
        # Something is selected from every query, so that the others are none of its.
        strange = ~np.isin(codes[self.pool], self.query)
        if strange.any():
            row = self.pool[np.flatnonzero(strange)[0]]
            raise ValueError(
                f"groups must hold the queries of the rows that were selected from; "
                f"row {row} is of query {shown(id_list(ids)[row])}, from which nothing "
                "was selected"
            )
        documents = as_ids(docids, "docids", "document id")
        check_no_missing_id(documents, "docids", "document id")
        check_hashable(documents, "docids")
        if len(documents) != len(grades):
            raise ValueError(f"docids has {len(documents)} ids for {len(grades)} rows")
        judged = np.full(len(grades), -1.0)
        judged[self.rows] = grades[self.rows]
        groups, documents = ids[self.pool], documents[self.pool]
        duplicate = first_duplicate(groups, documents)
        if duplicate is not None:
            raise ValueError(
                f"docids must hold a document once per query; row "
                f"{self.pool[duplicate]} has {shown(id_list(documents)[duplicate])} a "
                f"second time for query {shown(id_list(groups)[duplicate])}"
            )
        return Qrels(groups, documents, judged[self.pool])


def check_queries_of(selection: TrainingSelection, index: QueryIndex) -> np.ndarray:
    """Check that rows have the queries of those that were selected from.

    Parameters
    ----------
    selection : TrainingSelection
        What was selected.
    index : QueryIndex
        Queries of the rows, numbered by ascending id.

    Returns
    -------
    ndarray of shape (n_documents,)
        Number of the query of each row.

    Raises
    ------
    ValueError
        If there are fewer rows, or selected ones have other queries.
    """
    codes = index.restore(index.codes)
    if len(selection.pool) and (
        selection.pool[-1] >= len(codes)
        or not np.array_equal(codes[selection.rows], selection.query)
    ):
        raise ValueError(
            "groups must hold the queries of the rows that were selected from, in "
            "their order; those of the selection are others"
        )
    return codes


@dataclass(frozen=True, eq=False)
class Candidates:
    """What selectors select from: rows grouped by query, and perhaps their grades.

    Attributes
    ----------
    values : ndarray of shape (n_documents, n_columns)
        Scores of systems, or features.
    index : QueryIndex
        Queries of the rows.
    y : ndarray of shape (n_documents,) or None
        Grades.
    """

    values: np.ndarray
    index: QueryIndex
    y: np.ndarray | None

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank of each document by each system; infinity if it is not retrieved."""
        return ranks_of_systems(self.values, self.index.ptr)

    @cached_property
    def retrieved(self) -> np.ndarray:
        """Whether any system retrieved each document, shape (n_documents,)."""
        return np.asarray(np.isfinite(self.ranks).any(axis=1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of documents of each query that any system retrieved."""
        codes = self.index.codes[self.retrieved]
        return np.bincount(codes, minlength=self.index.n_queries)


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is selected of candidates, and how it was drawn.

    Attributes
    ----------
    marks : ndarray of shape (n_documents,), dtype bool
        Whether each document is selected.
    pool : ndarray of shape (n_documents,), dtype bool
        Whether it could have been.
    probability : ndarray of shape (n_documents,) or None
        How probable it was; None means that nothing was drawn.
    stratum, stratum_size : ndarray of shape (n_documents,) or None
        Number of the stratum of each document in its query, and of the documents in it;
        None means that all selected documents are one stratum.
    """

    marks: np.ndarray
    pool: np.ndarray
    probability: np.ndarray | None = None
    stratum: np.ndarray | None = None
    stratum_size: np.ndarray | None = None


class BaseTrainingSelector(Parameters, BaseEstimator):
    """Base class of selectors of documents that are worth training on.

    A subclass says in `_chosen` which documents of each query are selected, and how
    probable that was, from the ranks that retrieval systems give to the documents, or
    from features.

    See Also
    --------
    skrank.aggregation.join_runs : Makes the array of scores of several runs.
    """

    #: Whether grades are read while documents are selected.
    _needs_grades = False

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @abstractmethod
    def _chosen(self, candidates: Candidates) -> Chosen:
        """Return what is selected."""

    def select(
        self,
        scores: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        y: npt.ArrayLike | None = None,
    ) -> TrainingSelection:
        """Select documents of every query.

        Parameters
        ----------
        scores : array-like of shape (n_documents,) or (n_documents, n_systems)
            Scores of one or several retrieval systems, higher is better; NaN or −inf
            where a system did not retrieve the document. Documents of equal score keep
            the order of their rows. Selectors that compare documents take features
            here, without missing values.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of ``scores`` or y.
        y : array-like of shape (n_documents,), default=None
            Grades. Selectors that ask for grades as they go read those of the documents
            that they select; others read none.

        Returns
        -------
        TrainingSelection
            Rows and their probabilities. Complexity, without what a selector adds: O(n
            S log m) for n documents, m in a query, and S systems.

        Raises
        ------
        ValueError
            If scores are no numbers, lengths differ, grades are needed and not given,
            or an argument is malformed.
        """
        candidates = self._candidates(scores, groups, y)
        index, chosen = candidates.index, self._chosen(candidates)
        rows = np.flatnonzero(index.restore(chosen.marks))

        def of_selected(values):
            return index.restore(values)[rows]

        query = of_selected(index.codes)
        if chosen.probability is None:
            probability = np.ones(len(rows))
        else:
            probability = of_selected(chosen.probability)
        if chosen.stratum is None or chosen.stratum_size is None:
            stratum = np.zeros(len(rows), dtype=np.intp)
            size = np.bincount(query, minlength=index.n_queries)[query]
        else:
            stratum = of_selected(chosen.stratum)
            size = of_selected(chosen.stratum_size)
        pool = np.flatnonzero(index.restore(chosen.pool))
        return TrainingSelection(rows, probability, pool, query, stratum, size)

    def _candidates(
        self, scores, groups, y, *, name="scores", caller="select"
    ) -> Candidates:
        """Check what is given, and group it by query."""
        self._check_parameters()
        caller = f"{type(self).__name__}.{caller}"
        table = table_of(scores, name)
        grades = None if y is None else check_grades(y, n_samples=len(table))
        if self._needs_grades and grades is None:
            raise ValueError(
                f"{caller} needs y with the grades of the documents, got None"
            )
        ids = resolve_groups(groups, scores, y, n_samples=len(table), caller=caller)
        index = QueryIndex.from_groups(ids, canonical=True)
        return Candidates(index.take(table), index, index.take(grades))


def table_of(scores: npt.ArrayLike, name: str = "scores") -> np.ndarray:
    """Check scores of one or several systems; return a column for each of them."""
    table = as_numbers(scores, name)
    if table.ndim not in (1, 2) or not table.size:
        raise ValueError(
            f"{name} must hold one row per document and one column per "
            f"{'feature' if name == 'X' else 'system'}, got shape {table.shape}"
        )
    return table.reshape(len(table), -1).astype(np.float64, copy=False)


def ranks_of_systems(scores: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return the rank of each document in its query by each system.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_systems)
        Scores, NaN or −inf for what a system did not retrieve.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.

    Returns
    -------
    ndarray of shape (n_documents, n_systems)
        Ranks from 1; infinity for what a system did not retrieve.
    """
    place = np.arange(len(scores)) - np.repeat(ptr[:-1], np.diff(ptr)) + 1.0
    ranks = np.empty(scores.shape)
    for j in range(scores.shape[1]):
        values = np.where(np.isnan(scores[:, j]), -np.inf, scores[:, j])
        ranks[best_first(values, ptr), j] = place
        ranks[values == -np.inf, j] = np.inf
    return ranks


def places_by(keys: np.ndarray, codes: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return the place of each document among those of its class by ascending key.

    Parameters
    ----------
    keys : ndarray of shape (n_documents,)
        Keys; documents of equal key keep their order.
    codes : ndarray of shape (n_documents,), dtype intp
        Class of each document, ascending.
    ptr : ndarray of shape (n_classes + 1,), dtype intp
        Pointer array of the classes.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Places from 0.
    """
    place = np.empty(len(keys), dtype=np.intp)
    place[np.lexsort((keys, codes))] = np.arange(len(keys)) - ptr[codes]
    return place


class SampledMixin(Parameters):
    """Selectors that draw documents at random.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of randomness.
    """

    random_state: Seed = None

    def _rng(self) -> np.random.RandomState:
        return check_random_state(self.random_state)


class SharedMixin(Parameters):
    r"""Selectors of a share of the documents of each query.

    .. math:: n_q = \max(1, \lfloor \rho m_q + \tfrac12 \rfloor)

    Of :math:`m_q` documents, :math:`n_q` are selected.

    Parameters
    ----------
    share : float, default=0.1
        Share :math:`\rho` of the documents to select, in (0, 1].
    """

    share: Annotated[float, Interval(0, 1, "right")] = field(default=0.1, kw_only=False)

    def _n_wanted(self, sizes: np.ndarray) -> np.ndarray:
        """Return the number of documents to select from queries of these sizes."""
        wanted = np.maximum(1, np.floor(self.share * sizes + 0.5))
        return np.minimum(wanted, sizes).astype(np.int32)
