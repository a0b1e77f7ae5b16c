"""Rank aggregation by the Plackett–Luce model."""

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._core._parameters import NonNegative, Positive, PositiveInt
from skrank._core._segments import segment_cumsum, segment_sum
from skrank.aggregation._base import BaseAggregator, WeightedRunsMixin
from skrank.aggregation._joined import JoinedRuns, made_equal
from skrank.aggregation._judgements import Judgements


class PlackettLuce(WeightedRunsMixin, BaseAggregator):
    r"""Worths of the documents under which the lists of the runs are most likely.

    A list is drawn without replacement, each document with a probability proportional
    to its worth :math:`\gamma_d`. For each query, this maximises

    .. math::

       \sum_r w_r \sum_t \Bigl[\log \gamma_{r(t)} - \log \sum_{d \in R_r(t)} \gamma_d
       \Bigr] + \alpha \sum_d (\log \gamma_d - \gamma_d)

    with :math:`r(t)` the document at rank t of run r, and :math:`R_r(t)` the documents
    that are left before it is drawn.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the gamma prior of the worths, whose mode is 1. With 0, a document
        that no run ranks above another has no finite estimate.
    missing : {"last", "skip"}, default="last"
        Documents that a run lacks: "last" takes it that they were left when the list
        ended, and "skip" that the run drew from its own documents only.
    tol : float, default=1e-6
        Largest relative change of a worth at which the worths of a query are final.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    worths_ : ndarray of shape (n_documents,)
        Worths of the documents that the runs of `fit` retrieved, of mean 1 for each
        query; in the order of the rows of an array, and of `join_runs` otherwise.
    log_likelihood_ : ndarray of shape (n_queries,)
        Weighted log-likelihood of the lists of each query, after `fit`.
    n_runs_ : int
        Number of runs, after `fit`.

    Notes
    -----
    The worths are found by minorisation and maximisation, which never lowers what is
    maximised. Scores are logarithms of worths.
    Complexity: O(n) for each iteration for n retrieved documents.

    References
    ----------
    [Hunter2004]_, section 5, eq. 30; the prior is that of [Caron2012]_. [Guiver2009]_
    and [Liu2011]_, section 4.3.1, for the model.

    Examples
    --------
    >>> from skrank.aggregation import PlackettLuce
    >>> runs = [{"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"b": 3, "a": 2, "c": 1}}]
    >>> runs += [{"q": {"a": 3, "c": 2, "b": 1}}]
    >>> list(PlackettLuce().aggregate(runs)["q"])
    ['a', 'b', 'c']
    """

    short_name: ClassVar[str] = "plackett_luce"

    alpha: NonNegative = 1.0
    missing: Literal["last", "skip"] = "last"
    tol: Positive = 1e-6
    max_iter: PositiveInt = 1000

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"missing": "skip"}, {"alpha": 0.3}]

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        stages = _Stages(joined, self._weights(joined), self.missing == "last")
        worths = self._worths(stages)
        self.log_likelihood_ = stages.log_likelihood(worths)
        index = joined._index
        self.worths_ = worths if index is None else index.restore(worths)

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        stages = _Stages(joined, self._weights(joined), self.missing == "last")
        worths = self._worths(stages)
        # A worth of 0, which alpha = 0 admits, still has to be ranked.
        return np.log(np.maximum(worths, np.finfo(np.float64).tiny))

    def _worths(self, stages: "_Stages") -> np.ndarray:
        """Return the worths of all documents, without differences of rounding."""
        return made_equal(self._solve(stages), stages.ptr)

    def _solve(self, stages: "_Stages") -> np.ndarray:
        """Return the worths of all documents."""
        worths = np.where(stages.found, 1.0, 0.0)
        active = np.ones(len(stages.ptr) - 1, dtype=bool)
        for _ in range(self.max_iter):
            new = self._improved(stages, worths)
            change = np.abs(new - worths) > self.tol * new
            # A query stops by itself: it must not depend on the other queries.
            worths = np.where(np.repeat(active, stages.n), new, worths)
            active &= segment_sum(change.astype(np.float64), stages.ptr) > 0
            if not active.any():
                return worths
        warnings.warn(
            f"{type(self).__name__}: the worths of {int(active.sum())} queries are not "
            f"final after {self.max_iter} iterations; raise max_iter, tol or alpha",
            ConvergenceWarning,
            stacklevel=6,
        )
        return worths

    def _improved(self, stages: "_Stages", worths: np.ndarray) -> np.ndarray:
        """Return the worths after one iteration."""
        inverse_tails = stages.inverse_tails(worths)
        denominator = self.alpha + inverse_tails
        denominator = np.where(denominator > 0, denominator, 1.0)
        new = np.empty_like(worths)
        np.divide(self.alpha + stages.drawn, denominator, out=new)
        new[~stages.found] = 0.0
        # The likelihood does not change with the scale, and the prior fixes it in the
        # end: without a prior, this is the choice; with one, the end comes sooner.
        if self.alpha == 0:
            total = segment_sum(new, stages.ptr)
            found = np.asarray(stages.found, dtype=np.float64)
            count = segment_sum(found, stages.ptr)
            new *= np.repeat(count / np.where(total > 0, total, 1.0), stages.n)
        return new


class _Stages:
    """The lists of the runs as draws without replacement.

    Parameters
    ----------
    joined : JoinedRuns
        Runs.
    weights : ndarray of shape (n_runs,)
        Weights of the runs.
    last : bool
        Whether documents that a run lacks were left when its list ended.
    """

    def __init__(self, joined: JoinedRuns, weights: np.ndarray, last: bool):
        self.ptr, self.n = joined.ptr, joined.sizes
        self.found = joined.found
        self.weights, self.last = weights, last
        self.lists = []
        #: Weight of the runs that drew each document.
        self.drawn = np.zeros(joined.n_documents)
        for run in range(joined.n_runs):
            rows, ptr = joined.rows_of(run)
            ranks = joined.ranks[rows, run]
            n = np.diff(ptr)
            best_first = np.empty_like(rows)
            best_first[(np.repeat(ptr[:-1], n) + ranks - 1).astype(np.intp)] = rows
            worst_first = np.empty_like(rows)
            worst_first[(np.repeat(ptr[1:], n) - ranks).astype(np.intp)] = rows
            # Where each entry of one order stands in the other one.
            mirrored = (np.repeat(ptr[:-1] + ptr[1:] - 1, n)) - np.arange(len(rows))
            left = self.found & ~joined.retrieved[:, run]
            self.lists.append((best_first, worst_first, mirrored, ptr, left))
            self.drawn[rows] += weights[run]

    def _tails(self, worths: np.ndarray, entry) -> np.ndarray:
        """Return the worth of all documents that are left at each stage of a list."""
        _, worst_first, mirrored, ptr, left = entry
        tails = segment_cumsum(worths[worst_first], ptr)[mirrored]
        if self.last:
            rest = segment_sum(np.where(left, worths, 0.0), self.ptr)
            tails += np.repeat(rest, np.diff(ptr))
        return tails

    def inverse_tails(self, worths: np.ndarray) -> np.ndarray:
        """Return the sum of 1 / tail over the stages that each document is in."""
        total = np.zeros(len(worths))
        for entry, weight in zip(self.lists, self.weights):
            best_first, _, _, ptr, left = entry
            tails = self._tails(worths, entry)
            inverse = weight / np.where(tails > 0, tails, 1.0)
            total[best_first] += segment_cumsum(inverse, ptr)
            if self.last:
                sums = np.repeat(segment_sum(inverse, ptr), self.n)
                total += np.where(left, sums, 0.0)
        return total

    def log_likelihood(self, worths: np.ndarray) -> np.ndarray:
        """Return the weighted log-likelihood of the lists of each query."""
        total = np.zeros(len(self.ptr) - 1)
        safe = np.maximum(worths, np.finfo(np.float64).tiny)
        for entry, weight in zip(self.lists, self.weights):
            draws = np.log(safe[entry[0]] / self._tails(safe, entry))
            total += weight * segment_sum(np.asarray(draws), entry[3])
        return total
