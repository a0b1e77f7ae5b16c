"""YetiRank: pairs of neighbours in rankings by perturbed scores."""

from copy import copy
from dataclasses import field
from numbers import Integral
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from skrank._core import _pair_losses
from skrank._core._parameters import Interval, NonNegative, Seed
from skrank.losses._base import BaseLoss, PreparedLoss, informative_query_weights
from skrank.metrics._gain import Gain, gain_of_grades


class YetiRankLoss(BaseLoss):
    r"""Logistic loss of neighbours in rankings by perturbed scores.

    The documents of a query are ranked T times by
    :math:`f(x_u) + \tau \log \frac{r_u}{1 - r_u}` with :math:`r_u` uniform in (0, 1).
    The loss is

    .. math::

        L(f; \mathbf{x}, \mathbf{y}) = \sum_{y_u > y_v} w_{uv}
        \log(1 + e^{-(f(x_u) - f(x_v))}), \qquad
        w_{uv} = \frac{|g(y_u) - g(y_v)|}{T} \sum_{t} \frac{1}{R_t(u, v)},

    where the sum is over the rankings in which u and v are neighbours and
    :math:`R_t(u, v)` is the rank of the upper one. What the scores leave open is so
    learned at the top first, and what they have settled hardly counts. The gradient is
    taken with the rankings held fixed; the loss jumps where they change.

    The noise is drawn when the loss is bound to data. A stochastic solver draws it anew
    for every batch, unless ``random_state`` is an int: its batches then share the noise
    of the whole. Boosting draws anew for every tree, in a way that an int makes
    repeatable. The unit is the query: the mean of the loss is over queries with
    different grades. A pair has the weight of its preferred document.

    Complexity: O(n_rankings m log m) for a query of m documents; the noise takes 8
    bytes for each document in each ranking.

    Parameters
    ----------
    n_rankings : int, default=10
        Number T of rankings; the paper has 100.
    noise : float, default=1.0
        Factor :math:`\tau` of the noise. With 0 all rankings are that by the scores.
    decay : "reciprocal" or float in (0, 1], default="reciprocal"
        What a pair counts by the rank R of its upper document: 1 / R, or
        :math:`\text{decay}^{R - 1}`.
    gain : {"linear", "exp2"}, callable, mapping or array, default="linear"
        Gain g of a grade.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise.

    References
    ----------
    [Gulin2011]_, section 3, for the perturbed rankings and the weights 1 / R; the
    geometric decay is that of CatBoost.

    Examples
    --------
    >>> from skrank.losses import YetiRankLoss
    >>> loss = YetiRankLoss(random_state=0)
    >>> values, gradient = loss.value_gradient([1, 0], [0, 0], [0, 2])
    >>> values.round(4).tolist(), gradient.round(4).tolist()  # the two are neighbours
    ([0.6931], [-0.5, 0.5])
    """

    short_name: ClassVar[str] = "yetirank"
    unit = "query"
    shift_invariant = True
    convex = False
    descends = False
    has_hessian = True

    n_rankings: Annotated[int, Interval(1, 10_000)] = field(default=10, kw_only=False)
    noise: NonNegative = 1.0
    decay: Literal["reciprocal"] | Annotated[float, Interval(0, 1, "right")] = (
        "reciprocal"
    )
    gain: Gain = "linear"
    random_state: Seed = None

    @classmethod
    def _variants(cls):
        return [
            {"random_state": 0},
            {"n_rankings": 3, "decay": 0.85, "random_state": 1},
            {"noise": 0.0, "gain": "exp2", "random_state": 0},
        ]

    def _prepare(self, y, ptr, sample_weight, n_threads):
        return _PreparedPerturbed(self, y, ptr, sample_weight, n_threads)

    def _by_rank(self, longest):
        """Weight of a pair by the rank of its upper document."""
        ranks = np.arange(1.0, longest + 1.0)
        if self.decay == "reciprocal":
            return 1.0 / ranks
        return self.decay ** (ranks - 1.0)


class _PreparedPerturbed(PreparedLoss):
    n_columns = 1

    def __init__(self, loss, y, ptr, sample_weight, n_threads):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.gain = np.ascontiguousarray(gain_of_grades(loss.gain, self.y), dtype=float)
        self.by_rank = loss._by_rank(int(np.max(np.diff(self.ptr), initial=0)))
        self.query_weight = informative_query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())
        # One number is drawn whatever the data: batches then use up a generator alike.
        self.seed = check_random_state(loss.random_state).randint(2**31 - 1)
        self.draws_anew = not isinstance(loss.random_state, Integral)
        self.n_rankings = loss.n_rankings if loss.noise else 1
        self.scale = float(loss.noise)
        self._draw(0)

    def _draw(self, number):
        shape = (self.n_rankings, self.n_documents)
        # From half a raw number each: many times as fast as ``Generator.logistic``.
        raw = np.random.PCG64([self.seed, number]).random_raw((np.prod(shape) + 1) // 2)
        bits = raw.view(np.uint32)[: np.prod(shape)].reshape(shape)
        self.noise = _pair_losses.logistic_noise(bits, self.scale, self.n_threads)

    def drawn_anew(self, number: int):
        """Return the same loss with other draws, those of this number.

        Parameters
        ----------
        number : int
            Number of the draws; the loss is bound with those of number 0.

        Returns
        -------
        PreparedLoss
            The loss, on the same data.
        """
        other = copy(self)
        other._draw(number)
        return other

    @available_if(lambda self: not self.draws_anew)
    def subset(self, queries):
        """Loss of some queries, with the noise that was drawn for them."""
        part, rows = self._part(queries, ["gain"], ["query_weight"])
        part.total_weight = float(part.query_weight.sum())
        part.noise = np.ascontiguousarray(self.noise[:, rows])
        return part

    def value_gradient(self, raw):
        return self.gradient_hessian(raw)[:2]

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        return _pair_losses.neighbour_pairs(
            self._centred_scores(raw),
            self.ptr,
            self.y,
            self.gain,
            self.noise,
            self.by_rank,
            (self.query_weight > 0).astype(np.float64),
            self.weight,
            self.n_threads,
        )
