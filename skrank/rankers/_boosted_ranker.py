"""Boosted trees on any loss."""

from dataclasses import field

from skrank._objective import require_loss_of_pairs
from skrank.losses import BaseLoss, ListNetLoss, LogisticLoss, LogLoss
from skrank.rankers._boosting import BaseBoostedRanker


class BoostedRanker(BaseBoostedRanker):
    r"""Boosted trees: each tree is a step down the gradient of any loss.

    .. math:: F_t = F_{t-1} + \eta\, T_t, \qquad T_t \approx
              \arg\min_T \sum_i g_i T(x_i) + \tfrac{1}{2} h_i T(x_i)^2

    with the gradient :math:`g` and the diagonal Hessian :math:`h` of the loss at
    :math:`F_{t-1}`; for a loss without a Hessian all :math:`h_i` are 1, so that a step
    is a mean gradient times the learning rate. A loss of pairs sums over the pairs of a
    document: where it is strongly curved, as squares are, such steps overshoot and
    training diverges, which is an error. ``normalization="query"`` of the loss, or a
    smaller learning rate, keeps them short.

    Under a loss of pairs, `fit` also takes pairs of row numbers in place of grades, the
    preferred document first: ``fit(X, preferences=pairs)``.

    Complexity: O(n d) per level of a tree for n documents with d features, from
    histograms of integers, and the loss once per round.

    Parameters
    ----------
    loss : BaseLoss, default=None
        Any loss of `skrank.losses`; None means `LogLoss`.

    References
    ----------
    [Friedman2001]_, sections 3 and 4; [Burges2010]_, section 5; [Liu2011]_, section
    3.2.7, for boosted trees on preference pairs.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.losses import ListNetLoss
    >>> from skrank.rankers import BoostedRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BoostedRanker(ListNetLoss(), n_estimators=20, min_samples_leaf=5)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "any"

    loss: BaseLoss | None = field(default=None, kw_only=False)

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [
            {},
            {"loss": ListNetLoss()},
            {"loss": LogisticLoss(), "leaf_iterations": 3},
        ]

    def _fit(self, data, validation) -> None:
        if data.preferences is not None:
            require_loss_of_pairs(self, self._loss())
        super()._fit(data, validation)

    def _loss(self) -> BaseLoss:
        return LogLoss() if self.loss is None else self.loss
