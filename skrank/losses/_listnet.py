"""ListNet: cross entropy of top-k probabilities."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _list_losses, _segments
from skrank._core._parameters import PositiveInt, Seed
from skrank._core._queries import rows_of_queries
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics._gain import gain_of_grades

# With n_samples="auto", lists of a query up to which their sum is exact, and the number
# that is drawn beyond. 5000 lists of three are those of 18 documents.
_FEW_LISTS = 5_000
_DEFAULT_SAMPLES = 32
# Lists up to which n_samples="exact" is not refused: their prefixes are enumerated.
_MOST_LISTS = 100_000


class ListNetLoss(BaseLoss):
    r"""Cross entropy of the top-k probabilities of grades and scores.

    Under the Plackett–Luce model the list g of k documents comes first with probability

    .. math:: P_f(g) = \prod_{j=1}^{k} \frac{e^{f(x_{g_j})}}
              {\sum_{u \notin \{g_1, \ldots, g_{j-1}\}} e^{f(x_u)}} .

    With target probabilities :math:`P_y` made in the same way from the gains of the
    grades,

    .. math:: L(f; \mathbf{x}, \mathbf{y}) = - \sum_{g} P_y(g) \log P_f(g) .

    It differs from the Kullback–Leibler divergence of the two by the entropy of the
    target, a constant. The unit is the query, with the mean weight of its rows; a query
    whose grades are all equal adds nothing.

    For ``top_k`` of 1 and 2 the sum over lists has a closed form. From 3 on a query of
    m documents has :math:`m! / (m - k)!` lists. By default their sum is exact for
    queries of up to 5000 lists and a **Monte Carlo estimate** beyond: the mean over 32
    lists that are drawn once from :math:`P_y`, with the seed ``random_state``.

    Complexity: O(n_documents) for ``top_k`` 1 and 2; beyond, for a query of m
    documents, O(n_samples m), or :math:`O(m^k / (k - 1)!)` for the exact sum, because
    lists that begin with the same documents in another order share a term.

    Parameters
    ----------
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Gain of a grade: the grade itself, ``2**y - 1``, or any other form that the
        measures take.
    top_k : int, default=1
        Length k of the lists.
    n_samples : int, "auto" or "exact", default="auto"
        How the sum is taken when ``top_k`` is 3 or more: as the mean over so many lists
        drawn for each query; exactly; or, under "auto", exactly for queries of up to
        5000 lists and over 32 drawn ones for others. "exact" is refused for queries of
        more than 100 000 lists.
    random_state : int, RandomState instance or None, default=0
        Seed of the lists that are drawn.

    References
    ----------
    [Liu2011]_, section 4.3.1, eq. 4.22–4.23 (the sum in the denominator of eq. 4.22
    runs from j to m); [Cao2007]_; [Luo2015]_, for the drawn lists.

    Examples
    --------
    >>> from skrank.losses import ListNetLoss
    >>> values, gradient = ListNetLoss().value_gradient([1, 0], [1, 0], [0, 2])
    >>> values.round(4).tolist(), abs(gradient).round(12).tolist()
    ([0.5822], [0.0, 0.0])
    """

    short_name: ClassVar[str] = "listnet"
    unit = "query"
    shift_invariant = True

    gain: (
        Literal["linear", "exp2"] | Callable | Mapping | Sequence[float] | np.ndarray
    ) = field(default="linear", kw_only=False)
    top_k: PositiveInt = field(default=1, kw_only=False)
    n_samples: PositiveInt | Literal["auto", "exact"] = field(
        default="auto", kw_only=False
    )
    random_state: Seed = field(default=0, kw_only=False)

    @property
    def has_hessian(self):
        """Whether prepared losses offer ``gradient_hessian``: for top-1 lists."""
        return self.top_k == 1

    @classmethod
    def _variants(cls):
        return [
            {},
            {"gain": "exp2"},
            {"gain": {0: 0.0, 1: 1.0, 2: 3.0, 3: 4.0}},
            {"top_k": 2},
            {"top_k": 3},
            {"top_k": 3, "n_samples": 4, "random_state": 1},
            {"top_k": 3, "n_samples": "exact"},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        if self.top_k == 1:
            return _PreparedListNet(y, ptr, sample_weight, n_threads, self.gain)
        if self.top_k == 2:
            return _PreparedTopTwo(y, ptr, sample_weight, n_threads, self.gain)
        if self.n_samples not in ("auto", "exact"):
            return _PreparedSamples(y, ptr, sample_weight, n_threads, self)
        return self._prepare_exact(y, ptr, sample_weight, n_threads)

    def _prepare_exact(self, y, ptr, sample_weight, n_threads):
        """Exact sums, and drawn lists for queries with too many of them."""
        exact = _PreparedLists(y, ptr, sample_weight, n_threads, self)
        if self.n_samples == "exact" or not exact.left_over.any():
            return exact
        rest = _PreparedSamples(y, ptr, sample_weight, n_threads, self)
        rest.query_weight = np.where(exact.left_over, rest.query_weight, 0.0)
        return _PreparedSum(exact, rest)


class _PreparedTargets(PreparedLoss):
    """Top-one probabilities of the grades, and their cross entropy."""

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads, gain):
        super().__init__(y, ptr, sample_weight, n_threads)
        gains = np.ascontiguousarray(gain_of_grades(gain, self.y))
        self.target, _ = _segments.segment_softmax(gains, self.ptr, self.n_threads)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def value_gradient(self, raw):
        return _list_losses.softmax_cross_entropy(
            self._scores(raw), self.ptr, self.target, self.query_weight, self.n_threads
        )


class _PreparedListNet(_PreparedTargets):
    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian, p (1 - p) for softmax p."""
        raw = self._scores(raw)
        values, gradient = self.value_gradient(raw)
        p, _ = _segments.segment_softmax(raw, self.ptr, self.n_threads)
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        return values, gradient, weight * p * (1.0 - p)


class _PreparedTopTwo(_PreparedTargets):
    r"""Lists of two documents.

    The second place adds
    :math:`\sum_i p_i \log \sum_{u \ne i} e^{f_u} - \sum_j t_j f_j`, where :math:`p_i`
    is the target probability of document i in the first place and
    :math:`t_j = p_j \sum_{i \ne j} p_i / (1 - p_i)` that of j in the second.
    """

    def __init__(self, y, ptr, sample_weight, n_threads, gain):
        super().__init__(y, ptr, sample_weight, n_threads, gain)
        gains = np.ascontiguousarray(gain_of_grades(gain, self.y))
        self.second = self._two_places(gains).second(self.target)

    def _two_places(self, strength):
        return _TwoPlaces(strength, self.ptr, self.query_weight > 0, self.n_threads)

    def value_gradient(self, raw):
        raw = self._centred_scores(raw)
        values, gradient = super().value_gradient(raw)
        places = self._two_places(raw)
        added = self.target * places.log_rest - self.second * raw
        slope = places.second(self.target) - self.second
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        added, slope = (np.where(weight > 0, x, 0.0) for x in (added, slope))
        values = values + self.query_weight * _segments.segment_sum(added, self.ptr)
        return values, gradient + weight * slope


class _TwoPlaces:
    """Who comes second under a Plackett-Luce model.

    The strongest document of each query, the leader, may have a probability of nearly 1
    in the first place. So that no digit of the others is lost beside it, their
    probabilities after the leader are those of a model without it.

    Parameters
    ----------
    strength : ndarray of shape (n_documents,)
        Logarithms of the strengths.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array.
    counts : ndarray of shape (n_queries,), dtype bool
        Which queries count; they have two documents or more.
    n_threads : int
        Number of threads.

    Attributes
    ----------
    log_rest : ndarray of shape (n_documents,)
        Logarithm of the sum of the strengths of the others in the query.
    """

    def __init__(self, strength, ptr, counts, n_threads):
        self.ptr = ptr
        starts = ptr[:-1][counts]
        leads = np.zeros(len(strength), dtype=bool)
        if len(starts):
            filled = np.diff(ptr) > 0
            most = np.maximum.reduceat(strength, ptr[:-1][filled])
            # Scores that are not numbers are the most of their queries, too.
            best = np.flatnonzero(~(strength < np.repeat(most, np.diff(ptr)[filled])))
            leads[best[np.searchsorted(best, starts)]] = True
        self.leads = leads
        self.p, log_sum = _segments.segment_softmax(strength, ptr, n_threads)
        without = np.where(leads, -np.inf, strength)
        self.p_after, log_after = _segments.segment_softmax(without, ptr, n_threads)
        alone = self.leads | ~self._of_each(counts)
        self.p_others = np.where(alone, 1.0, 1.0 - self.p)
        log_others = self._of_each(log_sum) + np.log(self.p_others)
        self.log_rest = np.where(leads, self._of_each(log_after), log_others)

    def _of_each(self, values):
        return np.repeat(values, np.diff(self.ptr))

    def second(self, first):
        r"""Return :math:`\sum_{i \ne j} c_i p_j / (1 - p_i)` for every document j.

        Parameters
        ----------
        first : ndarray of shape (n_documents,)
            Numbers c; for probabilities to be first, these are those to be second.
        """
        ratio = np.where(self.leads, 0.0, first / self.p_others)
        total = self._of_each(_segments.segment_sum(ratio, self.ptr))
        of_leader = np.where(self.leads, first, 0.0)
        after = self._of_each(_segments.segment_sum(of_leader, self.ptr)) * self.p_after
        return self.p * (total - ratio) + after


class _PreparedSamples(PreparedLoss):
    """Lists drawn from the target distribution, under the Plackett-Luce kernel."""

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads, loss):
        super().__init__(y, ptr, sample_weight, n_threads)
        gains = gain_of_grades(loss.gain, self.y)
        rng = check_random_state(loss.random_state)
        n_samples = loss.n_samples
        if isinstance(n_samples, str):
            n_samples = _DEFAULT_SAMPLES
        self.top_k = int(loss.top_k)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        # Sorting gains plus Gumbel noise draws rankings of the Plackett-Luce model.
        self.orders = [
            _segments.segment_order(
                gains + rng.gumbel(size=len(gains)), self.ptr, self.n_threads
            )
            for _ in range(n_samples)
        ]

    def subset(self, queries):
        """Loss of some queries, over the lists that were drawn for them."""
        part, rows = self._part(queries, by_query=["query_weight"])
        part.orders = [order[rows] for order in self.orders]
        part.total_weight = float(part.query_weight.sum())
        return part

    def value_gradient(self, raw):
        raw = self._centred_scores(raw)
        values, gradient = np.zeros(self.n_queries), np.zeros(self.n_documents)
        for order in self.orders:
            value, slope = _list_losses.plackett_luce(
                raw,
                self.ptr,
                order,
                None,
                self.query_weight,
                self.top_k,
                self.n_threads,
            )
            values += value
            gradient += slope
        return values / len(self.orders), gradient / len(self.orders)


class _PreparedLists(PreparedLoss):
    r"""Exact sum over all lists of k documents.

    The j-th factor of :math:`P_f(g)` depends on the *set* A of the documents before it
    only, so that

    .. math::

        L = \sum_{|A| < k} P_y(A) \log \sum_{u \notin A} e^{f_u} - \sum_u t_u f_u,

    where :math:`P_y(A)` is the probability that A comes first, in any order, and
    :math:`t_u` that document u is among the first k. Queries of too many lists are left
    over: they have to be summed otherwise.
    """

    n_columns = 1

    def __init__(self, y, ptr, sample_weight, n_threads, loss):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        k = int(loss.top_k)
        self.left_over = self._left_over(k, loss.n_samples)
        gains = gain_of_grades(loss.gain, self.y)
        #: Probability t of each document.
        self.inside = np.zeros(self.n_documents)
        left, sizes, probability, query = [], [], [], []
        for q in np.flatnonzero((self.query_weight > 0) & ~self.left_over):
            start, stop = self.ptr[q : q + 2]
            sets = leading_sets(gains[start:stop], k)
            for outside, p_outside, following in sets:
                left.append(np.nonzero(outside)[1] + start)
                sizes.append(outside.sum(axis=1))
                probability.append(self.query_weight[q] * p_outside)
                query.append(np.full(len(outside), q))
                self.inside[start:stop] += self.query_weight[q] * following
        #: Documents that are left after each set, set after set, and P(A) of the sets.
        self.left = np.concatenate([np.empty(0, dtype=np.intp), *left])
        self.sets = np.concatenate([[0], *sizes]).cumsum().astype(np.intp)
        self.probability = np.concatenate([np.empty(0), *probability])
        counts = np.bincount(
            np.concatenate([np.empty(0, dtype=np.intp), *query]),
            minlength=self.n_queries,
        )
        self.sets_of_query = np.append(0, counts.cumsum()).astype(np.intp)

    def _left_over(self, k, n_samples):
        """Whether a query has too many lists."""
        sizes, which = np.unique(np.diff(self.ptr), return_inverse=True)
        # There may be more lists than a double can count.
        n_lists = np.array(
            [float(min(math.perm(m, min(k, m)), 10**300)) for m in sizes.tolist()]
        )
        n_lists = np.where(self.query_weight > 0, n_lists[which], 0.0)
        if n_samples == "auto":
            return n_lists > _FEW_LISTS
        if n_lists.max(initial=0.0) > _MOST_LISTS:
            worst = int(np.argmax(n_lists))
            raise ValueError(
                f"n_samples='exact' sums at most {_MOST_LISTS:,} lists per query; "
                f"query {worst} of {np.diff(self.ptr)[worst]} documents has "
                f"{int(n_lists[worst]):,} lists of top_k={k}; use 'auto', or a number "
                "of lists to draw"
            )
        return np.zeros(self.n_queries, dtype=bool)

    def subset(self, queries):
        """Loss of some queries."""
        by_query = ["query_weight", "left_over"]
        part, _ = self._part(queries, ["inside"], by_query)
        part.total_weight = float(part.query_weight.sum())
        chosen, part.sets_of_query = rows_of_queries(self.sets_of_query, queries)
        places, part.sets = rows_of_queries(self.sets, chosen)
        part.probability = self.probability[chosen]
        moved = np.repeat(
            part.ptr[:-1] - self.ptr[queries], np.diff(part.sets_of_query)
        )
        part.left = self.left[places] + np.repeat(moved, np.diff(part.sets))
        return part

    def value_gradient(self, raw):
        raw = self._centred_scores(raw)
        p, log_sums = _segments.segment_softmax(
            raw[self.left], self.sets, self.n_threads
        )
        values = _segments.segment_sum(self.probability * log_sums, self.sets_of_query)
        values -= _segments.segment_sum(self.inside * raw, self.ptr)
        slopes = np.repeat(self.probability, np.diff(self.sets)) * p
        gradient = np.bincount(self.left, slopes, self.n_documents) - self.inside
        return values, gradient


def leading_sets(gains, k):
    """Sets of documents that may come first, in all sizes below k.

    Parameters
    ----------
    gains : ndarray of shape (m,)
        Logarithms of the strengths of the documents under the Plackett-Luce model.
    k : int
        Length of the lists.

    Returns
    -------
    list of tuple
        For each size, which documents are outside of each set (n_sets, m), the
        probabilities of the sets (n_sets,), and the probability of each document to be
        next after a set of this size (m,).
    """
    m = len(gains)
    members = np.empty((1, 0), dtype=np.intp)
    probability = np.ones(1)
    sets = []
    while len(sets) < min(k, m):
        outside = np.ones((len(members), m), dtype=bool)
        np.put_along_axis(outside, members, False, axis=1)
        # Not differences from 1, which would cancel under steep gains.
        strength = np.where(outside, gains, -np.inf)
        strength = np.exp(strength - strength.max(axis=1, keepdims=True))
        chosen = probability[:, None] * strength
        chosen /= strength.sum(axis=1, keepdims=True)
        sets.append((outside, probability, chosen.sum(axis=0)))
        if len(sets) < min(k, m):
            members, probability = _with_next(members, chosen, outside)
    return sets


def _with_next(members, chosen, outside):
    """Sets of one document more, and their probabilities over all orders."""
    before, added = np.nonzero(outside)
    longer = np.sort(np.column_stack([members[before], added]), axis=1)
    # One number per set: much faster to compare than rows. There are few documents
    # where lists are long, so that it does not overflow.
    number = longer @ outside.shape[1] ** np.arange(longer.shape[1])
    _, first, same = np.unique(number, return_index=True, return_inverse=True)
    return longer[first], np.bincount(same, chosen[before, added])


class _PreparedSum:
    """Sum of two losses over different queries."""

    draws_anew = False

    def __init__(self, first, second):
        self.parts = first, second
        self.total_weight = first.total_weight

    def subset(self, queries):
        """Loss of some queries, over the lists that were drawn for them."""
        return _PreparedSum(*(part.subset(queries) for part in self.parts))

    def value_gradient(self, raw):
        (values, gradient), (more, slopes) = (
            part.value_gradient(raw) for part in self.parts
        )
        return values + more, gradient + slopes
