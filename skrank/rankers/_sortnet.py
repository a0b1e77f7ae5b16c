"""SortNet."""

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import UnitPairs
from skrank._objective import Objective
from skrank.energies import BaseEnergy, ComparatorEnergy
from skrank.energies._comparator import Pairs
from skrank.losses import BaseLoss, SquareSquareLoss
from skrank.losses._pairs import PairSum, PairWeighting
from skrank.rankers._energy_ranker import BaseEnergyRanker, GroupedEnergiesMixin
from skrank.solvers import Adam, BaseSolver


class SortNet(GroupedEnergiesMixin, BaseEnergyRanker):
    r"""SortNet: a network that compares two documents, and the order that follows.

    .. math:: \ell_q = \sum_{u \succ v} \bigl(1 - P(u \succ v)\bigr)^2
              + P(u \prec v)^2

    with the two outputs of the symmetric network that `ComparatorEnergy` describes.
    This is `SquareSquareLoss` with a margin of 1 of the energies :math:`1 - P` of the
    two orders of a pair. Documents are ranked by the mean of :math:`P(u \succ v)` over
    the others of their query, or by sorting them with the network as comparison.

    The source adds the most informative pairs to its training set round by round; here
    all pairs count from the start.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``.

    Complexity: O(h) per preference pair and iteration for h pairs of hidden units, in
    blocks of pairs; to predict O(m² h) for a query of m documents by aggregation, and
    O(m log² m h) by sorting.

    Parameters
    ----------
    n_hidden : int, default=10
        Pairs of hidden units.
    ranking : {"aggregation", "sort"}, default="aggregation"
        How answers become an order. A sorting network compares few pairs; where the
        answers contradict each other its order depends on that of the rows.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation; None means `Adam` with 50 epochs.

    References
    ----------
    [Rigutini2008]_; [Liu2011]_, section 3.2.2, eq. 3.4–3.7.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SortNet
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = SortNet(n_hidden=4, max_iter=10, random_state=0).fit(X, y, groups)
    >>> ranker.predict(X, groups=groups).shape == y.shape
    True
    """

    approach = "pairwise"

    n_hidden: UnitPairs = field(default=10, kw_only=False)
    ranking: Literal["aggregation", "sort"] = "aggregation"

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        quick = {"max_iter": 20, "n_hidden": 4}
        return [quick, quick | {"ranking": "sort"}, {"max_iter": 5, "solver": "lbfgs"}]

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return Adam(max_iter=50)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        return ComparatorEnergy(self.n_hidden, n_jobs=self.n_jobs), SquareSquareLoss()

    def _objective(self, energy, loss, data, n_threads):
        return _Comparisons(energy, loss, data, self.alpha, n_threads=n_threads)

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        if self.ranking == "sort":
            return _sorted_scores(energy, params, X, ptr)
        return energy.scores(params, X, ptr)

    def compare(self, X: npt.ArrayLike, X_other: npt.ArrayLike) -> np.ndarray:
        """Return the probabilities that documents precede others.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_pairs, n_features)
            First document of each pair.
        X_other : array-like or CSR matrix of shape (n_pairs, n_features)
            Second document of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probability :math:`P(u > v)` that the first one is the better one.
        """
        check_is_fitted(self)
        rows = [
            self._check_rows(X, reset=False),
            self._check_rows(X_other, reset=False, name="X_other"),
        ]
        n = rows[0].shape[0]
        if rows[1].shape[0] != n:
            raise ValueError(
                f"X_other must have as many rows as X, {n}, got {rows[1].shape[0]}"
            )
        if any(map(sparse.issparse, rows)):
            both = sparse.vstack(rows, format="csr")
        else:
            both = np.vstack(rows)
        first = np.arange(n)
        params = self._fitting_params(both)
        return self.energy_.compare(params, both, first, n + first)[:, 0]


class _Comparisons(Objective):
    """Mean loss of the two outputs of the network over the preference pairs."""

    def _bind(self, data, how):
        if data.preferences is not None:
            return super()._bind(data, how)  # which hands out blocks of pairs, too
        if how == "prepare":
            self.loss._check_parameters()
        weighting = PairWeighting.of(self.loss, data.y)
        rows = data.y, data.ptr, data.sample_weight, self.n_threads
        return PairSum(self.loss, *rows, weighting)

    def value_gradient(self, params):
        """Return the objective and its gradient with respect to the parameters."""
        of_units, output = self.energy.parts(params)
        units, units_vjp = self.energy.units_.scores_and_vjp(of_units, self.data.X)
        of_output = np.zeros(len(params) - len(of_units))
        slopes = np.zeros_like(units)
        value, half = 0.0, units.shape[1] // 2
        for rows, better, worse, weight in self.prepared.blocks():
            pairs = Pairs(units[rows], better, worse, output)
            # Scores are energies with the opposite sign, and energies 1 - P.
            values, up, down = self.loss.pair_loss(
                pairs.forwards - 1.0, pairs.backwards - 1.0
            )
            if weight is not None:
                values, up, down = values * weight, up * weight, down * weight
            value += float(values.sum())
            of_hidden, of_mirror, more = pairs.pull(up, down)
            of_output += more
            n = rows.stop - rows.start
            to_better, to_worse = _gathering(better, n), _gathering(worse, n)
            slopes[rows, :half] += to_better @ of_hidden + to_worse @ of_mirror
            slopes[rows, half:] += to_worse @ of_hidden + to_better @ of_mirror
        scale = self._scale
        shrunk = self.penalty * params
        gradient = scale * np.concatenate([units_vjp(slopes), of_output]) + shrunk
        return scale * value + 0.5 * float(shrunk @ params), gradient


def _gathering(rows, n):
    """Return the matrix that adds what belongs to pairs up by row."""
    p = len(rows)
    return sparse.csc_matrix((np.ones(p), rows, np.arange(p + 1)), shape=(n, p))


def _sorted_scores(energy, params, X, ptr) -> np.ndarray:
    """Return how many documents of its query come after each one in sorted order.

    All queries are sorted at a time, by Batcher's network. It swaps two documents
    where the network of the energy says that they are in wrong order. Further merges
    would leave a sorted query alone only if the answers never contradicted each other,
    so a query takes no part in those that longer ones need.
    """
    of_units, output = energy.parts(params)
    units = energy.units_.scores(of_units, X)
    sizes = np.diff(ptr)
    rows = np.arange(len(units))
    for half, low, high in _sorting_network(int(sizes.max(initial=0))):
        merging = np.where(sizes > half, sizes, 0)
        queries, pairs = np.nonzero(high[None, :] < merging[:, None])
        first = ptr[queries] + low[pairs]
        second = ptr[queries] + high[pairs]
        found = Pairs(units, rows[first], rows[second], output)
        swapped = found.backwards > found.forwards
        first, second = first[swapped], second[swapped]
        rows[first], rows[second] = rows[second], rows[first]
    scores = np.empty(len(units))
    scores[rows] = np.repeat(ptr[1:], sizes) - 1 - np.arange(len(units))
    return scores


def _sorting_network(n: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the steps of Batcher's odd–even merge sort of n places.

    Yields
    ------
    half : int
        Length of the sorted blocks that the step merges two by two; m places are in
        order once all steps with ``half < m`` are done.
    low, high : ndarrays of shape (n_pairs,)
        Places that are compared, each in one pair at most.
    """
    half = 1
    while half < n:
        step = half
        while step >= 1:
            start = np.arange(step % half, n - step, 2 * step)
            low = (start[:, None] + np.arange(step)[None, :]).ravel()
            low = low[low + step < n]
            # Not across the blocks that are being merged.
            low = low[low // (2 * half) == (low + step) // (2 * half)]
            if len(low):
                yield half, low, low + step
            step //= 2
        half *= 2
