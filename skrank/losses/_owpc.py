"""Ordered weighted averages of the losses of each preferred document."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar, Literal, Self

import numpy as np

from skrank._core import _pair_losses, _segments
from skrank._core._parameters import NonNegative, NonNegativeInt, invalid_parameter
from skrank._core._validation import calling, check_arguments
from skrank.losses._base import BaseLoss
from skrank.losses._pairs import PairIndex, PreparedPairs, query_factor

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
    query of m documents with k grades costs O(m log m + m k).

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
                given = np.asarray(self.weights(places), dtype=np.float64)
            if given.shape not in ((), places.shape):
                raise ValueError(
                    "the function weights must give one number for each place, shape "
                    f"{places.shape}; got shape {given.shape}"
                )
            alpha = np.broadcast_to(given, places.shape)
        else:
            alpha = np.zeros_like(places)
            given = np.asarray(self.weights, dtype=np.float64)[: len(places)]
            alpha[: len(given)] = given
        falling = np.isfinite(alpha).all() and np.all(np.diff(alpha) <= 0)
        if not (falling and alpha[-1] >= 0 and alpha[0] > 0):
            accepted = "finite weights >= 0 that do not rise, the first one above 0"
            raise invalid_parameter(self, "weights", accepted, self.weights)
        return (alpha / alpha[0])[:n_places]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedOWPC(self, y, ptr, sample_weight, n_threads)


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
        sums = np.append(0.0, np.cumsum(self.alpha))[counts.astype(np.intp)]
        own = np.ones(self.n_documents) if self.weight is None else self.weight
        of_one = np.divide(own, sums, out=np.zeros_like(own), where=sums > 0)
        weight = of_one * counts
        if loss.normalization == "document":
            weight = of_one
            self.total_weight = float(own[counts > 0].sum())
        elif loss.normalization == "query":
            total = _segments.segment_sum(own * counts, self.ptr)
            factor = query_factor(total, self.weight, self.ptr)
            weight = weight * np.repeat(factor, sizes)
            self.total_weight = float(np.dot(factor, total))
        self.weight = weight

    def value_gradient(self, raw):
        raw = self._scores(raw)
        if self.squared or self.width == 0.0:
            return self._hinge(raw, self.margin, self.squared)
        # The squared hinges at the two ends of the parabola differ by a line beyond it.
        outer, outer_slope = self._hinge(raw, self.margin, True)
        inner, inner_slope = self._hinge(raw, self.margin - self.width, True)
        scale = 0.5 / self.width
        return scale * (outer - inner), scale * (outer_slope - inner_slope)

    def _hinge(self, raw, margin, squared):
        return _pair_losses.owa_hinge(
            raw,
            self.ptr,
            self.order,
            self.lower,
            self.weight,
            self.alpha,
            margin,
            squared,
            self.n_threads,
        )
