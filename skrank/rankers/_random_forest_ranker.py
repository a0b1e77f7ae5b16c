"""Random forests of ranking trees."""

from dataclasses import field

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._parameters import PositiveInt
from skrank._core._queries import rows_of_queries
from skrank._core._threads import effective_n_threads
from skrank._monitor import Monitor
from skrank.losses import BaseLoss, LogisticLoss, SquaredLoss
from skrank.rankers._rounds import draw_seed
from skrank.rankers._tree_ranker import BaseTreeRanker
from skrank.trees import TreeEnsemble


class RandomForestRanker(BaseTreeRanker):
    r"""Random forest: the mean of trees, each grown on queries drawn with replacement.

    .. math:: F(x) = \frac{1}{T} \sum_{t=1}^{T} T_t(x), \qquad T_t \approx
              \arg\min_T \sum_i g_i T(x_i) + \tfrac{1}{2} h_i T(x_i)^2

    with gradient and diagonal Hessian of the loss at constant scores; for the squared
    loss a leaf holds the mean grade of its documents. All documents of a query are
    drawn together, so that the queries left out are unseen. Complexity: O(n d) per tree
    level.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    loss : BaseLoss, default=None
        Any loss; None means `SquaredLoss`.
    bootstrap : bool, default=True
        Whether queries are drawn with replacement; otherwise each tree sees all.
    max_leaf_nodes : int, default=255
        Leaves of a tree; the leaf whose split gains most is split first.
    min_samples_leaf : int, default=5
        Documents of a leaf at least.
    max_features : float or int, default=0.3
        Features tried at each split, as a fraction or a number.

    References
    ----------
    Breiman (2001), Random forests; Liu (2011), section 20.3.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RandomForestRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RandomForestRanker(n_estimators=20, random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.8
    True
    """

    approach = "pointwise"

    n_estimators: PositiveInt = field(default=300, kw_only=False)
    loss: BaseLoss | None = None
    bootstrap: bool = True
    max_leaf_nodes = 255
    min_samples_leaf = 5
    max_features = 0.3

    @classmethod
    def _variants(cls):
        return [{}, {"bootstrap": False}, {"loss": LogisticLoss()}]

    def _fit(self, data, validation):
        rng = check_random_state(self.random_state)
        self.loss_ = SquaredLoss() if self.loss is None else clone(self.loss)
        if self.loss_.n_outputs != 1:
            raise ValueError("loss must have one score per document")
        gradient, hessian = self._derivatives(data)
        self._fit_bins(data.X, rng)
        grower = self._grower(data.X)
        options = self._tree_options(
            data.X.shape[1], learning_rate=1.0 / self.n_estimators
        )
        report = Monitor(report=self._reports(data))
        report.start(None)
        trees = []
        for iteration in range(self.n_estimators):
            rows, times = self._draw(data, rng)
            g, h = gradient, hessian
            if times is not None:
                g, h = gradient * times, hessian * times
            trees.append(grower.grow(g, h, rows, seed=draw_seed(rng), **options))
            report(None, iteration + 1, np.nan)
        self.ensemble_ = TreeEnsemble.empty().append(
            trees, [0] * len(trees), self.bin_mapper_.thresholds_
        )

    def _derivatives(self, data):
        prepared = self.loss_.prepare(
            data.y,
            data.ptr,
            data.sample_weight,
            n_threads=effective_n_threads(self.n_jobs),
        )
        zeros = np.zeros(len(data.y))
        if self.loss_.has_hessian:
            _, gradient, hessian = prepared.gradient_hessian(zeros)
            return gradient, hessian
        _, gradient = prepared.value_gradient(zeros)
        return gradient, np.ones(len(zeros))

    def _draw(self, data, rng):
        """Rows of the drawn queries, and how often each row was drawn."""
        if not self.bootstrap:
            return None, None
        n = data.n_queries
        times = np.bincount(rng.randint(n, size=n), minlength=n)
        rows, _ = rows_of_queries(data.ptr, np.flatnonzero(times))
        return rows.astype(np.int32), np.repeat(times, np.diff(data.ptr)).astype(float)

    def _predict(self, X):
        return self._add_trees(np.zeros((X.shape[0], 1)), X)[:, 0]
