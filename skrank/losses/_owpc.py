"""Ordered weighted averages of the losses of each preferred document."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import field
from typing import ClassVar, Literal, Self

import numpy as np

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import NonNegative, NonNegativeInt, invalid_parameter
from skrank._core._validation import as_numbers, calling, check_arguments
from skrank.losses._base import BaseLoss, PreparedLoss, weighted
from skrank.losses._functional import hinge
from skrank.losses._pairs import (
    PairIndex,
    PreparedPairs,
    given_pairs_of_queries,
    query_factor,
)
from skrank.metrics._gain import numbers_of_function

Weights = Literal["uniform", "reciprocal", "max"] | Callable | Sequence[float]

_NAMED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "uniform": np.ones_like,
    "reciprocal": np.reciprocal,
    "max": lambda places: (places == 1.0).astype(np.float64),
}


class OWPCLoss(BaseLoss):
    r"""Ordered weighted average of the pair losses of each preferred document.

    .. math:: \ell_q = \sum_u c_u \sum_{t=1}^{n_u} \alpha_t \, s_{u,(t)}, \qquad
              s_{u,v} = \max(0, M - (f(x_u) - f(x_v)))^p, \quad y_u > y_v

    where :math:`s_{u,(1)} \ge s_{u,(2)} \ge \ldots` are the losses of the preferred
    document u against the :math:`n_u` worse documents of its query, the largest first,
    and the weights :math:`\alpha_t` do not rise. Worse documents at the top of the
    ranking have the largest losses, so that the weights say how much the top matters:
    all of them equal, the loss is that of `HingeLoss`; with the first one alone, only
    the highest-ranked worse document counts. The loss is convex; at equal scores of
    worse documents it has a kink, where they share the weights of their places.

    Losses have the order of the scores for every u, so that no pair is visited. A
    query of m documents with k grades costs O(m log m + m k), whatever the range of
    the scores.

    Over given pairs (`ExplicitPairsLoss`) the places of u are those of the documents
    that it is preferred to, in O(P log P) for P pairs. A pair of twice the weight has
    no place of its own, so that all pairs of u must weigh the same.

    Parameters
    ----------
    weights : str, callable or sequence of float, default="reciprocal"
        Weights :math:`\alpha_t`, up to a factor: "uniform", "reciprocal" (1 / t),
        "max" (1 and then 0), a function of the array of places 1, 2, …, or the weights
        of the first places, followed by zeros. Not negative, not rising, and not 0 for
        the first place.
    margin : float, default=1.0
        Margin M, 0 or more.
    hinge : {"linear", "squared"}, default="linear"
        Power p of the hinge: 1 or 2.
    normalization : {"pair", "query", "document"}, default="pair"
        Factors :math:`c_u`. With "document" the weights of each preferred document sum
        to 1, as in the paper; with "pair" they sum to :math:`n_u`, as in a sum over
        pairs; with "query" the latter are scaled so that all of a query together weigh
        the mean weight of its rows.
    width : float, default=0.0
        Length of the parabola that replaces the kink of a linear hinge; 0 keeps it.

    References
    ----------
    [Usunier2009]_, sections 2 and 3; [Liu2011]_, section 3.3.6, eq. 3.28–3.29.

    Examples
    --------
    >>> from skrank.losses import OWPCLoss
    >>> loss = OWPCLoss("max")
    >>> values, gradient = loss.value_gradient([1, 0, 0], [0.5, 0, 1], [0, 3])
    >>> values.tolist(), gradient.tolist()  # twice that of the worst pair
    ([3.0], [-2.0, 0.0, 2.0])
    """

    short_name: ClassVar[str] = "owpc"
    shift_invariant = True

    weights: Weights = field(default="reciprocal", kw_only=False)
    margin: NonNegative = 1.0
    hinge: Literal["linear", "squared"] = "linear"
    normalization: Literal["pair", "query", "document"] = "pair"
    width: NonNegative = 0.0

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return self.normalization

    @classmethod
    def _variants(cls):
        return [
            {},
            {"weights": "uniform", "normalization": "query"},
            {"weights": "max", "normalization": "document", "width": 0.4},
            {"weights": [1.0, 0.5, 0.5], "margin": 0.3, "hinge": "squared"},
            {"weights": _linear_in_place, "hinge": "squared"},
        ]

    def smoothed(self, width: float) -> Self:
        """Return the loss with a parabola in place of the kink of its hinges.

        Parameters
        ----------
        width : float
            Length of the parabola; a pair changes by ``width / 2`` at most.

        Returns
        -------
        OWPCLoss
            The loss itself if its hinge is squared. Where scores of worse documents
            are equal, the kinks remain.
        """
        return self if self.hinge == "squared" else self._with(width=width)

    def place_weights(self, n_places: NonNegativeInt) -> np.ndarray:
        r"""Return the weights of places.

        Parameters
        ----------
        n_places : int
            Number of places.

        Returns
        -------
        ndarray of shape (n_places,)
            Weights :math:`\alpha_1, \ldots`, the first one 1.

        Raises
        ------
        ValueError
            If a weight is negative or not finite, if one is larger than the one before,
            or if the first one is 0; if a function of the places fails, or gives more
            or fewer numbers; or if ``n_places`` is not a whole number >= 0.
        """
        check_arguments(OWPCLoss.place_weights, n_places=n_places)
        places = np.arange(1.0, max(n_places, 1) + 1.0)
        if isinstance(self.weights, str):
            alpha = _NAMED[self.weights](places)
        elif callable(self.weights):
            with calling("weights"):
                found = self.weights(places)
            alpha = numbers_of_function("weights", found, len(places))
        else:
            alpha = np.zeros_like(places)
            given = as_numbers(self.weights, "weights")
            if given.ndim == 1:
                given = given[: len(places)]
                alpha[: len(given)] = given
        falling = np.isfinite(alpha).all() and np.all(np.diff(alpha) <= 0)
        if not (falling and alpha[-1] >= 0 and alpha[0] > 0):
            accepted = "finite weights >= 0 that do not rise, the first one above 0"
            raise invalid_parameter(self, "weights", accepted, self.weights)
        return (alpha / alpha[0])[:n_places]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedOWPC(self, y, ptr, sample_weight, n_threads)

    def over_pairs(
        self, data: PreparedLoss, pairs: np.ndarray, pair_weight: np.ndarray
    ) -> PreparedLoss:
        """Bind the loss to pairs that are given one by one.

        Parameters
        ----------
        data : PreparedLoss
            Queries, and weights of their rows.
        pairs : ndarray of shape (n_pairs, 2)
            Rows of the preferred and of the other document.
        pair_weight : ndarray of shape (n_pairs,)
            Weight of each pair, the same for all pairs of a preferred document.

        Returns
        -------
        PreparedLoss
            The loss of these pairs.

        Raises
        ------
        ValueError
            If the pairs of a preferred document differ in weight.
        """
        return _OWPCOverPairs(self, data, pairs, pair_weight)


def _linear_in_place(places):
    """Weights that fall to 0 in a straight line, for `_variants`."""
    return np.maximum(0.0, 5.0 - places)


class _PreparedOWPC(PreparedPairs):
    """The factors of the preferred documents enter the weights of the rows."""

    def __init__(self, loss, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.margin = float(loss.margin)
        self.width = float(loss.width)
        self.squared = loss.hinge == "squared"
        sizes = np.diff(self.ptr)
        self.alpha = loss.place_weights(int(sizes.max(initial=0)))
        counts = PairIndex(self).counts_by_row()
        own = np.ones(self.n_documents) if self.weight is None else self.weight
        self.weight, total = _weights_of_rows(loss, self, self.alpha, own, counts)
        if loss.normalization != "pair":
            self.total_weight = total

    def value_gradient(self, raw):
        return _pair_losses.owa_hinge(
            self._scores(raw),
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.alpha,
            self.margin,
            self.width,
            self.squared,
            self.n_threads,
        )


def _weights_of_rows(loss, data, alpha, own, counts) -> tuple[np.ndarray, float]:
    """Return what multiplies the sum of each preferred document, and their weight.

    Parameters
    ----------
    loss : OWPCLoss
        The loss, with its normalization.
    data : PreparedLoss
        Queries, and weights of their rows.
    alpha : ndarray of shape (n_places,)
        Weights of places.
    own : ndarray of shape (n_documents,)
        Weight of each preferred document.
    counts : ndarray of shape (n_documents,)
        Number of documents that each one is preferred to.

    Returns
    -------
    weight : ndarray of shape (n_documents,)
        Factors of the rows.
    total : float
        Weight of all units.
    """
    sums = np.append(0.0, np.cumsum(alpha))[counts.astype(np.intp)]
    of_one = np.divide(own, sums, out=np.zeros_like(own), where=sums > 0)
    if loss.normalization == "document":
        return of_one, float(own[counts > 0].sum())
    weight = of_one * counts
    total = _segments.segment_sum(own * counts, data.ptr)
    if loss.normalization == "pair":
        return weight, float(total.sum())
    factor = query_factor(total, data.weight, data.ptr)
    return weight * np.repeat(factor, np.diff(data.ptr)), float(np.dot(factor, total))


class _OWPCOverPairs(PreparedLoss):
    """The losses of given pairs, those of a preferred document side by side."""

    n_columns = 1

    def __init__(self, loss, data, pairs, pair_weight):
        self.ptr = data.ptr
        self.loss = loss
        order = np.argsort(pairs[:, 0], kind="stable")
        self.better, self.worse = np.ascontiguousarray(pairs[order].T)
        pair_weight, n = pair_weight[order], data.n_documents
        counts = np.bincount(self.better, minlength=n)
        first = (np.cumsum(counts) - counts)[self.better]
        of_first = pair_weight[first]
        if np.any(pair_weight != of_first):
            pair = int(np.flatnonzero(pair_weight != of_first)[0])
            raise ValueError(
                "all pairs of a preferred document must have the same weight (the "
                "sample_weight of preferences), because OWPCLoss gives each pair one "
                f"place; document {self.better[pair]} has pairs of weight "
                f"{of_first[pair]:g} and {pair_weight[pair]:g}"
            )
        own = np.zeros(n)
        own[self.better] = pair_weight
        if data.weight is not None:
            own *= data.weight
        alpha = loss.place_weights(int(counts.max(initial=0)))
        weight, _ = _weights_of_rows(loss, data, alpha, own, counts)
        by_document = loss.normalization == "document"
        units = own * ((counts > 0) if by_document else counts)
        self.units = _segments.segment_sum(units, self.ptr)
        if loss.normalization == "query":
            self.units *= query_factor(self.units, data.weight, self.ptr)
        self.total_weight = float(self.units.sum())
        self.of_place = alpha[np.arange(len(pairs)) - first] * weight[self.better]

    def subset(self, queries):
        """Loss of the pairs of some queries."""
        part = copy(self)
        part.ptr, pairs, moved = given_pairs_of_queries(self.ptr, self.better, queries)
        part.better, part.worse = self.better[pairs] + moved, self.worse[pairs] + moved
        part.of_place, part.units = self.of_place[pairs], self.units[queries]
        part.total_weight = float(part.units.sum())
        return part

    def value_gradient(self, raw):
        """Evaluate the loss and its gradient; see `PreparedLoss.value_gradient`."""
        raw, n, loss = self._scores(raw), self.n_documents, self.loss
        if not len(self.better):
            return np.zeros(self.n_queries), np.zeros(n)
        # The largest loss is that of the highest score; the order within each
        # preferred document leaves the blocks of documents where they are.
        place = np.lexsort((-raw[self.worse], self.better))
        worse = self.worse[place]
        scores = raw[worse]
        # Equal scores share the weights of their places.
        same = (scores[1:] == scores[:-1]) & (self.better[1:] == self.better[:-1])
        runs = np.flatnonzero(np.append(True, ~same))
        sizes = np.diff(np.append(runs, len(place)))
        weight = np.repeat(np.add.reduceat(self.of_place, runs) / sizes, sizes)
        gap = loss.margin - (raw[self.better] - scores)
        if loss.hinge == "squared":
            short = np.maximum(0.0, gap)
            values, slopes = short * short, 2.0 * short
        else:
            values, slopes = hinge(gap, float(loss.width))
        values, slopes = weighted(values, weight), weighted(slopes, weight)
        gradient = np.bincount(worse, slopes, n) - np.bincount(self.better, slopes, n)
        values = np.bincount(self.better, values, n)
        return _segments.segment_sum(values, self.ptr), gradient
