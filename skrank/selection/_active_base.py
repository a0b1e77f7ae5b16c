"""What all selectors of documents to judge share: the pool, and the draw from it."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._inner import check_predicts, scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Parameters, PositiveInt, Seed
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._sparse import check_sparse
from skrank._core._validation import check_arguments, n_rows, resolve_groups
from skrank.metrics._evaluate import check_judgements


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents of which some are judged, grouped by query.

    Attributes
    ----------
    ranker : estimator
        Fitted ranker.
    X : array-like of shape (n_documents, n_features)
        Rows in the order in which they were given.
    index : QueryIndex
        Their queries.
    judged : ndarray of shape (n_documents,), dtype bool
        Whether each document is judged, grouped by query.
    y : ndarray of shape (n_documents,)
        Grades of the judged documents, 0 for others, grouped by query.
    rng : RandomState
        Source of randomness.
    """

    ranker: Any
    X: Any
    index: QueryIndex
    judged: np.ndarray
    y: np.ndarray
    rng: np.random.RandomState

    @property
    def codes(self) -> np.ndarray:
        """Number of the query of each document."""
        return self.index.codes

    @property
    def open(self) -> np.ndarray:
        """Places of the documents that are not judged."""
        return np.flatnonzero(~self.judged)

    def scores(self) -> np.ndarray:
        """Return the scores of all documents, grouped by query."""
        ids = self.index.restore(self.index.ids[self.codes])
        return self.index.take(scores_of(self.ranker, self.X, ids))

    def rows(self) -> Any:
        """Return the rows, grouped by query."""
        if self.index.order is None:
            return self.X
        return take_rows(self.X, self.index.order)


@dataclass(frozen=True, eq=False)
class Offers:
    """Documents, or sets of documents of a query, that may be judged next.

    Attributes
    ----------
    places : ndarray of shape (n_offers, size), dtype intp
        Places of the documents of each offer; sets that overlap can be a view of fewer
        numbers.
    values : ndarray of shape (n_offers,)
        How informative each offer is; NaN where a set may not be offered.
    """

    places: np.ndarray
    values: np.ndarray


class BaseActiveSelector(Parameters, BaseEstimator):
    """Base class of selectors of documents that are worth the work of a judge.

    A subclass says in `_offers` how informative documents, or sets of documents of a
    query, are. The most informative ones are selected: documents one by one, or whole
    queries by the mean of what their documents offer.

    Parameters
    ----------
    unit : {"document", "query"}, default="document"
        Whether `select` counts documents or queries. Of a selected query all documents
        that are not judged yet are returned.
    max_per_query : int or None, default=None
        Largest number of documents to select from a query at a time. Few documents of
        many queries teach more than many documents of few [Yilmaz2009]_.
    random_state : int, RandomState or None, default=None
        Source of randomness.
    """

    unit: Literal["document", "query"] = field(default="document", kw_only=False)
    max_per_query: PositiveInt | None = None
    random_state: Seed = None

    _needs_ranker = True
    _needs_judged = False

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"unit": "query", "random_state": 0}, {"max_per_query": 1}]

    @abstractmethod
    def _offers(self, pool: Pool) -> Offers:
        """Return what may be judged next; every document at most once in an offer."""

    def select(
        self,
        ranker: Any,
        X: Any,
        groups: npt.ArrayLike | None = None,
        n: PositiveInt = 1,
        *,
        y: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Return the documents to be judged next.

        Parameters
        ----------
        ranker : estimator
            Ranker that was fitted on what is judged so far.
        X : array-like or CSR matrix of shape (n_documents, n_features)
            All documents, judged or not.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            pandas index of y or X.
        n : int, default=1
            Number of documents, or of queries, to select.
        y : masked array of shape (n_documents,), default=None
            Grades, masked where nobody judged the document. None: no document is
            judged.

        Returns
        -------
        ndarray of shape (n_selected,), dtype intp
            Row numbers, the most informative first. There are fewer than asked for
            where ``max_per_query`` does not let more of them in.

        Raises
        ------
        ValueError
            If fewer documents, or queries, are left to judge, or an argument is
            malformed.
        """
        self._check_parameters()
        check_arguments(BaseActiveSelector.select, n=n)
        pool = self._pool(ranker, X, groups, y)
        offers = self._offers(pool)
        if self.unit == "query":
            places = self._of_queries(pool, offers, n)
        else:
            left = len(pool.open)
            if n > left:
                raise ValueError(
                    f"n must be at most the number of documents that are not judged, "
                    f"{left}; got {n}"
                )
            places = self._of_documents(pool, offers, n)
        order = pool.index.order
        return places if order is None else order[places]

    def _pool(self, ranker, X, groups, y) -> Pool:
        if self._needs_ranker:
            check_predicts(ranker, "ranker")
        check_sparse(X)
        n_documents = n_rows(X)
        grades = np.zeros(n_documents)
        judged = np.zeros(n_documents, dtype=bool)
        if y is not None:
            checked = check_judgements(y, n_samples=n_documents)
            judged = ~np.ma.getmaskarray(checked)
            grades = np.where(judged, np.ma.getdata(checked), 0.0)
        if judged.all():
            raise ValueError(
                "y must be masked where nobody judged the document, as in "
                "numpy.ma.masked_array(y, mask=~judged); all documents are judged"
            )
        if self._needs_judged and not judged.any():
            raise ValueError(
                f"{type(self).__name__}.select needs y with the grades of the judged "
                f"documents, got {shown(y)}"
            )
        caller = f"{type(self).__name__}.select"
        ids = resolve_groups(groups, y, X, n_samples=n_documents, caller=caller)
        index = QueryIndex.from_groups(ids, canonical=True)
        rng = check_random_state(self.random_state)
        return Pool(ranker, X, index, index.take(judged), index.take(grades), rng)

    def _of_documents(self, pool, offers, n) -> np.ndarray:
        """Return the documents of the best offers, none of them twice."""
        order = np.argsort(-offers.values, kind="stable")  # NaN comes last
        order = order[: np.count_nonzero(~np.isnan(offers.values))]
        # What no offer contains comes last, in the order of the rows.
        if offers.places.shape[1] == 1:
            places = offers.places[order]
            rest = np.setdiff1d(pool.open, places)
            return self._within_limit(pool, np.append(places, rest), n)
        taken = np.zeros(pool.index.n_documents, dtype=bool)
        chosen: list[int] = []
        for number in order.tolist():
            if len(chosen) >= n:
                break
            offer = offers.places[number]
            if not taken[offer].any():
                taken[offer] = True
                chosen += offer.tolist()
        rest = pool.open[~taken[pool.open]]
        return self._within_limit(pool, np.append(chosen, rest).astype(np.intp), n)

    def _within_limit(self, pool, places, n) -> np.ndarray:
        """Return the first documents, without those beyond the limit of their query."""
        if self.max_per_query is not None:
            codes = pool.codes[places]
            order = np.argsort(codes, kind="stable")
            firsts = np.searchsorted(codes[order], codes[order])
            number = np.empty(len(places), dtype=np.intp)
            number[order] = np.arange(len(places)) - firsts
            places = places[number < self.max_per_query]
        return places[:n].astype(np.intp)

    def _of_queries(self, pool, offers, n) -> np.ndarray:
        """Return what is left of the queries whose offers are best on the mean."""
        n_queries = pool.index.n_queries
        n_open = np.bincount(pool.codes[pool.open], minlength=n_queries)
        left = np.flatnonzero(n_open)
        if n > len(left):
            raise ValueError(
                "n must be at most the number of queries with documents that are not "
                f"judged, {len(left)}; got {n}"
            )
        offered = ~np.isnan(offers.values)
        codes = pool.codes[offers.places[offered, 0]]
        sums = np.bincount(codes, offers.values[offered], minlength=n_queries)
        count = np.bincount(codes, minlength=n_queries)
        values = np.full(n_queries, -np.inf)
        values[count > 0] = sums[count > 0] / count[count > 0]
        best = left[np.argsort(-values[left], kind="stable")][:n]
        # The documents of the best query come first, those of a query in their order.
        place_of = np.full(n_queries, n_queries)
        place_of[best] = np.arange(len(best))
        rows = pool.open[place_of[pool.codes[pool.open]] < n_queries]
        rows = rows[np.argsort(place_of[pool.codes[rows]], kind="stable")]
        return self._within_limit(pool, rows, len(rows))


class RandomSelection(BaseActiveSelector):
    """Documents, or queries, at random: what others have to beat.

    With ``unit="query"`` judgements are deep, with ``unit="document"`` shallow. For the
    same number of judged documents, many queries teach more than many documents of each
    query, down to about eight of them [Yilmaz2009]_.

    See Also
    --------
    active_learning : Judges documents, trains, and so on.

    References
    ----------
    [Liu2011]_, section 13.3.1.1; [Yilmaz2009]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.selection import RandomSelection
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> rows = RandomSelection(max_per_query=1, random_state=0).select(
    ...     None, X, groups, n=10)
    >>> len(set(groups[rows]))
    10
    """

    _needs_ranker = False

    def _offers(self, pool):
        places = pool.open
        if self.unit == "query":
            # One draw for each query: the mean of many would favour small queries.
            draws = pool.rng.random_sample(pool.index.n_queries)
            return Offers(places[:, None], draws[pool.codes[places]])
        return Offers(places[:, None], pool.rng.random_sample(len(places)))
