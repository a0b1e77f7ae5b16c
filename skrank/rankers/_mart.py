"""MART."""

from skrank.losses import BaseLoss, SquaredLoss
from skrank.rankers._boosting import BaseBoostedRanker


class MART(BaseBoostedRanker):
    r"""MART: boosted regression trees on the grades.

    .. math:: \ell_q = \sum_{d \in q} (y_d - F(x_d))^2

    Complexity: O(n d) per level of a tree for n documents with d features, from
    histograms of integers.

    References
    ----------
    [Friedman2001]_, section 4; [Liu2011]_, section 2.2.1, eq. 2.1, for the loss.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = MART(n_estimators=20, min_samples_leaf=5).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "pointwise"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"subsample": 0.5, "max_features": 0.5, "random_state": 0},
            {"max_depth": 2, "stochastic_rounding": False, "min_samples_leaf": 5},
            {"growth": "depth", "max_leaf_nodes": 12, "path_smoothing": 1.0},
            {"growth": "symmetric", "max_depth": 4, "min_samples_leaf": 5},
            {"linear_leaves": True, "linear_l2": 3.0, "min_samples_leaf": 5},
            {"sampling": "bayesian", "random_strength": 1.0},
            {"sampling": "minimal_variance", "subsample": 0.5, "growth": "symmetric"},
        ]

    def _loss(self) -> BaseLoss:
        return SquaredLoss()
