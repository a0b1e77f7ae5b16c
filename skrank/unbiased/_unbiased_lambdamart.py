"""LambdaMART that finds out, round by round, what places do to pairs of clicks."""

from typing import Any

import numpy as np

from skrank._core._boosting_losses import debiased_lambda_loss
from skrank._core._parameters import NonNegative, invalid_parameter
from skrank.metrics import get_measure
from skrank.rankers import LambdaMART
from skrank.rankers._boosting import Boosting
from skrank.unbiased._positions import POSITIONS, Places, positions_of
from skrank.unbiased._weights import Clip


class UnbiasedLambdaMART(LambdaMART):
    r"""LambdaMART on clicks, with pairs weighted by the places of both documents.

    A click is likelier in a place that is looked at, by the ratio :math:`t^+`, and so
    is no click in one that is not, by the ratio :math:`t^-`, both relative to the first
    place. With :math:`\ell_{uv}` the loss of a pair in LambdaMART, of a clicked
    document u that was shown in place k(u) and one in place k(v) that was not clicked,

    .. math:: L = \sum_{c_u > c_v} \frac{\ell_{uv}}{t^+_{k(u)}\, t^-_{k(v)}} .

    Both ratios begin at 1, and are found anew after each tree from the losses at the
    current scores,

    .. math::
        t^+_k &= \left[\frac{\sum_{k(u) = k} \ell_{uv} / t^-_{k(v)}}
                 {\sum_{k(u) = 1} \ell_{uv} / t^-_{k(v)}}\right]^{1 / (p + 1)} \\
        t^-_k &= \left[\frac{\sum_{k(v) = k} \ell_{uv} / t^+_{k(u)}}
                 {\sum_{k(v) = 1} \ell_{uv} / t^+_{k(u)}}\right]^{1 / (p + 1)}

    with the ratios of the round before on the right. A ratio whose sum is 0 stays as it
    is. If all ratios are 1, this is `LambdaMART` to the bit.

    Every list should be as it was shown, so that ``groups`` are ids of sessions where a
    query was shown more than once. Complexity: that of `LambdaMART`, and once more O(m
    c) per round for a query of m documents, c of them clicked.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@30"
        NDCG, DCG or another measure whose swaps are a difference of gains times one of
        discounts.
    regularization : float, default=0.1
        The exponent p: 0 takes the ratios as they come, more draws them to 1, as may be
        good where a ranking is known to put relevant documents first.
    clip : float, default=None
        Least ratio that weights are made of; None for any.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,)
        Ratios :math:`t^+` of the round that was kept; on a straight line of the
        logarithm for places that no row has.
    unclicked_ratios_ : ndarray of shape (n_positions,)
        Ratios :math:`t^-` of that round.

    References
    ----------
    [Hu2019]_, section 4 and algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.unbiased import UnbiasedLambdaMART
    >>> X, y, groups = make_ranking(n_queries=200, docs_per_query=5, random_state=0)
    >>> user = SimulatedUser(examination="position", max_grade=4)
    >>> clicks = user.click(y, np.arange(201) * 5, random_state=0)
    >>> ranker = UnbiasedLambdaMART(n_estimators=20, random_state=0)
    >>> ranker = ranker.fit(X, clicks, groups, positions=[1, 2, 3, 4, 5] * 200)
    >>> bool(ranker.propensities_[4] < ranker.propensities_[0])
    True
    """

    regularization: NonNegative = 0.1
    clip: Clip = None

    _side_data = (*LambdaMART._side_data, POSITIONS)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"measure": "dcg@5", "truncation": 3, "regularization": 0.0, "clip": 0.1},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        measure, terms = get_measure(self.measure), None
        if measure.has_swap_deltas:
            terms = measure.delta_terms(np.ones(1), np.array([0, 1]))
        if terms is None or terms.kind != "gain_discount":
            accepted = (
                "a measure whose swaps are a difference of gains times one of "
                "discounts, such as 'ndcg@10' or 'dcg@10'"
            )
            raise invalid_parameter(self, "measure", accepted, self.measure)

    def _fit(self, data, validation) -> None:
        positions_of(data, self)
        super()._fit(data, validation)

    def _new_run(self, data, validation, rng) -> "_DebiasedBoosting":
        return _DebiasedBoosting(self, data, validation, rng)


class _DebiasedBoosting(Boosting):
    """Boosting on pairs whose weights are learned along with the trees."""

    prepared: Any

    def bind(self):
        super().bind()
        ranker = self.ranker
        self.places = Places.of(self.data.side["positions"])
        self.prepared = DebiasedPairs(
            self.prepared,
            self.places.number,
            float(ranker.regularization),
            ranker.clip,
        )
        self.ratios: list[tuple[np.ndarray, ...]] = []  # before and in each round
        self._note_ratios()

    def resume(self):
        super().resume()
        ranker = self.ranker
        for name in ("propensities_", "unclicked_ratios_"):
            own = self.prepared.ratios[name != "propensities_"]
            own[:] = self.places.read(getattr(ranker, name), 1.0)

    def add_round(self, iteration):
        if iteration > 0:  # there is no tree before that to find ratios by
            self.prepared.update(self.scores[:, 0])
        self._note_ratios()
        return super().add_round(iteration)

    def _note_ratios(self):
        self.ratios.append(tuple(ratio.copy() for ratio in self.prepared.ratios))

    def keep(self, n_rounds):
        super().keep(n_rounds)
        if not n_rounds and self.n_done:
            return  # an earlier fit has found the ratios that belong to its trees
        kept = self.ratios[n_rounds]
        self.ranker.propensities_ = self.places.curve(kept[0])
        self.ranker.unclicked_ratios_ = self.places.curve(kept[1])


class DebiasedPairs:
    """A prepared lambda loss whose pairs have a weight for each of both places.

    Parameters
    ----------
    plain : PreparedLoss
        The loss without these weights, of the kind "gain_discount".
    places : ndarray of shape (n_documents,), dtype intp
        Number of the place of each row, from 0 on; the first place has number 0.
    regularization : float
        The exponent p.
    clip : float or None
        Least ratio that weights are made of.

    Attributes
    ----------
    ratios : tuple of two ndarrays of shape (n_positions,)
        Ratios of clicked and of other documents, for each place.
    """

    def __init__(self, plain: Any, places, regularization, clip):
        self.plain, self.places = plain, places
        self.exponent = 1.0 / (1.0 + regularization)
        self.floor = 0.0 if clip is None else float(clip)
        n_places = int(places.max()) + 1
        self.ratios = np.ones(n_places), np.ones(n_places)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the queries."""
        return self.plain.total_weight

    def gradient_hessian(self, raw):
        """Value, gradient and diagonal of the Hessian."""
        if all((ratio == 1.0).all() for ratio in self.ratios):
            return self.plain.gradient_hessian(raw)
        return self.sums(raw)[:3]

    def sums(self, raw) -> tuple[np.ndarray, ...]:
        """Return what `debiased_lambda_loss` does, at the current ratios."""
        plain = self.plain
        preferred, other = (
            (1.0 / np.maximum(ratio, self.floor))[self.places] for ratio in self.ratios
        )
        return debiased_lambda_loss(
            np.ascontiguousarray(raw, dtype=np.float64),
            plain.ptr,
            plain.gain,
            plain.discount,
            plain.scale,
            plain.weight,
            preferred,
            other,
            plain.order,
            plain.lower,
            plain.sigma,
            plain.truncation,
            plain.normalize,
            plain.damping,
            plain.n_threads,
        )

    def update(self, raw) -> None:
        """Find the ratios anew from the losses of pairs at some scores."""
        for ratio, losses in zip(self.ratios, self.sums(raw)[3:], strict=True):
            totals = np.bincount(self.places, losses, len(ratio))
            if totals[0] > 0:
                found = totals > 0
                ratio[found] = (totals[found] / totals[0]) ** self.exponent

    def __getattr__(self, name):
        # What boosting asks of the loss besides is that of the plain one.
        if name == "plain":
            raise AttributeError(name)
        return getattr(self.plain, name)
