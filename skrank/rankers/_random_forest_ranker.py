"""Random forests of ranking trees."""

from dataclasses import field

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._parameters import PositiveInt
from skrank._core._queries import rows_of_queries
from skrank._core._threads import effective_n_threads
from skrank._monitor import Monitor
from skrank._rows import GroupedRows
from skrank.losses import BaseLoss, LogisticLoss, SquaredLoss
from skrank.rankers._rounds import draw_seed
from skrank.rankers._tree_ranker import BaseTreeRanker
from skrank.trees import TreeEnsemble


class RandomForestRanker(BaseTreeRanker):
    r"""Random forest: mean of trees that are grown on queries drawn with replacement.

    .. math:: F(x) = \frac{1}{T} \sum_{t=1}^{T} T_t(x), \qquad T_t \approx
              \arg\min_T \sum_i g_i T(x_i) + \tfrac{1}{2} h_i T(x_i)^2

    with the gradient and the diagonal Hessian of the loss at scores that are all zero;
    for the squared loss a leaf holds the mean grade of its documents. All documents of
    a query are drawn together, so that a tree has seen nothing of the queries that it
    was not grown on.

    Complexity: O(n d) per level of a tree for n documents with d features.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    loss : BaseLoss, default=None
        Any loss of `skrank.losses` with one score for each document; None means
        `SquaredLoss`.
    bootstrap : bool, default=True
        Whether queries are drawn with replacement for each tree; otherwise each tree
        sees all of them.
    max_leaf_nodes : int, default=255
        Maximum number of leaves of a tree; the leaf whose split gains most is split
        first.
    min_samples_leaf : int, default=5
        Minimum number of documents in a leaf.
    max_features : float or int, default=0.3
        Features tried at each split, as a fraction or a number.
    callback : callable, default=None
        Function that is called before the first tree and after each one with a dict of
        ``iteration`` (0 before the first) and ``objective``, which is NaN: trees of a
        forest are grown independently of each other. What it returns is ignored.

    Attributes
    ----------
    loss_ : BaseLoss
        Loss that the trees were fitted to.

    References
    ----------
    [Breiman2001]_; [Liu2011]_, section 20.5, on ensembles of models that are learned
    from samples of the queries.

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

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        rng = check_random_state(self.random_state)
        self.loss_ = SquaredLoss() if self.loss is None else clone(self.loss)
        if self.loss_.n_outputs != 1:
            raise ValueError("loss must have one score per document")
        prepared, gradient, hessian = self._derivatives(data)
        self._fit_bins(data.X, rng)
        grower = self._grower(data.X)
        options = self._tree_options(
            data.X.shape[1], learning_rate=1.0 / self.n_estimators
        )
        monitor = Monitor(report=self._reports(data))
        monitor.start(None)
        trees = []
        for iteration in range(self.n_estimators):
            rows, times = self._draw(data, rng)
            # The grower takes each row once: a query drawn twice weighs twice as much.
            g, h = gradient, hessian
            if times is not None:
                g, h = gradient * times, hessian * times
            trees.append(grower.grow(g, h, rows, seed=draw_seed(rng), **options))
            monitor(None, iteration + 1, np.nan)
        self._warn_without_split(trees, data, prepared)
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
        # No tree sees the others, so that all of them start from the same scores.
        zeros = np.zeros(len(data.y))
        if self.loss_.has_hessian:
            _, gradient, hessian = prepared.gradient_hessian(zeros)
            return prepared, gradient, hessian
        _, gradient = prepared.value_gradient(zeros)
        return prepared, gradient, np.ones(len(zeros))

    def _draw(self, data, rng):
        """Return the rows of the drawn queries, and how often each row was drawn."""
        if not self.bootstrap:
            return None, None
        n = data.n_queries
        times = np.bincount(rng.randint(n, size=n), minlength=n)
        rows, _ = rows_of_queries(data.ptr, np.flatnonzero(times))
        return rows.astype(np.int32), np.repeat(times, data.sizes).astype(float)

    def _predict(self, X) -> np.ndarray:
        return self._add_trees(np.zeros((X.shape[0], 1)), X)[:, 0]
