"""QBRank."""

from skrank._core._parameters import Positive
from skrank.losses import BaseLoss, SquaredHingeLoss
from skrank.rankers._boosting import BaseBoostedRanker, Boosting


class QBRank(BaseBoostedRanker):
    r"""QBRank: trees on a quadratic upper bound of the loss of wrongly ordered pairs.

    .. math:: \ell_q = \sum_{u \succ v} r_{uv}^2, \qquad
              r_{uv} = \max(0, f(x_v) - f(x_u) + \tau)

    This is `SquaredHingeLoss`, twice the loss of the paper. A step :math:`g` changes a
    pair that misses the margin to at most :math:`(r_{uv} - g(x_u) + g(x_v))^2`, which
    does not exceed

    .. math:: 2 \bigl(g(x_u) - \tfrac{1}{2} r_{uv}\bigr)^2
              + 2 \bigl(g(x_v) + \tfrac{1}{2} r_{uv}\bigr)^2.

    Unlike the loss, the bound is a sum over documents: a tree is fitted to the targets
    :math:`\pm r_{uv} / 2` by regression, and :math:`f_t = f_{t-1} + \eta\, g_t`.

    Complexity: O(n d) per level of a tree for n documents with d features, and O(m log
    m) per round for a query of m documents, whose targets are summed by sorting.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``.

    Parameters
    ----------
    tau : float, default=1.0
        Margin :math:`\tau`. It sets the scale of the scores, and nothing else.

    References
    ----------
    [Zheng2008]_; [Liu2011]_, section 3.2.7.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import QBRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = QBRank(n_estimators=20, min_samples_leaf=5, random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    tau: Positive = 1.0

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [{}, {"tau": 0.1, "max_leaf_nodes": 7}]

    def _loss(self) -> BaseLoss:
        return SquaredHingeLoss(margin=self.tau)

    def _new_run(self, data, validation, rng) -> "_BoundBoosting":
        return _BoundBoosting(self, data, validation, rng)


class _BoundBoosting(Boosting):
    """Boosting of the sum of squares, on its upper bound."""

    def _derivatives(self):
        values, gradient, hessian = super()._derivatives()
        # The bound has the gradient of the loss and twice its diagonal; half the first
        # makes the same step, and keeps the Hessian of a leaf that of the loss.
        return values, 0.5 * gradient, hessian
