"""Random forests of ranking trees."""

from dataclasses import field
from typing import Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._parameters import PositiveInt
from skrank._core._queries import rows_of_queries
from skrank._core._threads import effective_n_threads
from skrank._monitor import Monitor
from skrank._rows import GroupedRows
from skrank.losses import BaseLoss, LogisticLoss, SquaredLoss
from skrank.losses._base import with_seeds
from skrank.rankers._rounds import draw_seed
from skrank.rankers._row_order import ordered_by_content
from skrank.rankers._tree_ranker import CATEGORY_SMOOTHING, BaseTreeRanker
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
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree; None stands for 255. A symmetric tree has up
        to ``2 ** max_depth`` instead, and takes None only.
    min_samples_leaf : int, default=5
        Minimum number of documents in a leaf.
    max_features : float or int, default=0.3
        Features tried at each split, as a fraction or a number.
    splitter : {"best", "random"}, default="best"
        Which threshold of a feature is tried at a split: all of them, or one of those
        that the node has, drawn at random, as in extremely randomized trees.
    callback : callable or sequence of callables, default=None
        Function that is called before the first tree and after each one with a dict of
        ``iteration`` (0 before the first), ``objective``, which is NaN: trees of a
        forest are grown independently of each other, and ``descends``. What it returns
        is ignored. Of several functions all are called.

    Attributes
    ----------
    loss_ : BaseLoss
        Loss that the trees were fitted to.

    References
    ----------
    [Breiman2001]_; [Geurts2006]_, for random thresholds; [Liu2011]_, section 20.5, on
    ensembles of models that are learned from samples of the queries.

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
    _leaf_nodes = 255
    min_samples_leaf = 5
    max_features = 0.3
    splitter: Literal["best", "random"] = "best"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"bootstrap": False},
            {"loss": LogisticLoss()},
            {"growth": "symmetric", "max_depth": 8},
            {"splitter": "random", "path_smoothing": 2.0},
        ]

    def _loss(self) -> BaseLoss:
        return SquaredLoss() if self.loss is None else self.loss

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        rng = check_random_state(self.random_state)
        self.loss_ = with_seeds(clone(self._loss()), rng)
        if self.loss_.n_outputs != 1:
            raise ValueError("loss must have one score per document")
        given, data = data, ordered_by_content(data, effective_n_threads(self.n_jobs))
        prepared, gradient, hessian = self._derivatives(data)
        self._fit_bins(data.X, rng)
        grower = self._grower(data.X)
        options = self._tree_options(
            data.X.shape[1],
            learning_rate=1.0 / self.n_estimators,
            random_thresholds=self.splitter == "random",
            smoothing=CATEGORY_SMOOTHING * float(np.mean(hessian)),
        )
        monitor = Monitor(report=self._reports(given))
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
        self._warn_without_split(trees, given, prepared)
        self.ensemble_ = TreeEnsemble.empty().append(
            trees, [0] * len(trees), self.bin_mapper_
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
