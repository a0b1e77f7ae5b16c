"""An ensemble of trees as arrays."""

import numpy as np
from sklearn.base import BaseEstimator

from skrank.trees import _forest

# Arrays with one entry per node.
_NODE_FIELDS = (
    "feature",
    "left",
    "category",
    "missing_left",
    "value",
    "gain",
    "weight",
    "count",
)


class TreeEnsemble(BaseEstimator):
    r"""Sum of trees, in arrays over all nodes.

    .. math:: F_k(x) = b_k + \sum_{t : o_t = k} v_{\mathrm{leaf}_t(x)}

    A value goes to the left child if it is at most the threshold of the node, and the
    right child is the next node. Made by the boosted rankers; grows by `append`.

    Parameters
    ----------
    n_outputs : int, default=1
        Number of scores of a row.

    Attributes
    ----------
    roots_ : ndarray of shape (n_trees,)
        First node of each tree.
    output_ : ndarray of shape (n_trees,)
        Which score the tree adds to.
    feature_ : ndarray of shape (n_nodes,)
        Feature of a node, -1 for a leaf.
    threshold_ : ndarray of shape (n_nodes,)
        Threshold of a node; infinity where every value goes left and missing ones
        right, and for leaves and categories.
    left_ : ndarray of shape (n_nodes,)
        Left child, -1 for a leaf.
    missing_left_ : ndarray of shape (n_nodes,)
        Whether missing values go left.
    category_ : ndarray of shape (n_nodes,)
        Row of ``categories_`` for a split by category, otherwise -1.
    categories_ : ndarray of shape (n_sets, 4), dtype uint64
        Bit sets of the numbers of categories that go left.
    value_ : ndarray of shape (n_nodes,)
        What a leaf adds to the score.
    gain_ : ndarray of shape (n_nodes,)
        Decrease of the quadratic model of the loss by a split, twice.
    weight_ : ndarray of shape (n_nodes,)
        Sum of hessians of training rows.
    count_ : ndarray of shape (n_nodes,)
        Number of training rows.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> MART(n_estimators=5).fit(X, y, groups).ensemble_.n_trees
    5
    """

    def __init__(self, n_outputs: int = 1):
        self.n_outputs = n_outputs

    @classmethod
    def empty(cls, n_outputs: int = 1) -> "TreeEnsemble":
        """An ensemble without trees.

        Parameters
        ----------
        n_outputs : int, default=1
            Number of scores of a row.

        Returns
        -------
        TreeEnsemble
            A new ensemble.
        """
        ensemble = cls(n_outputs)
        ensemble.roots_ = np.zeros(0, dtype=np.int64)
        ensemble.output_ = np.zeros(0, dtype=np.int32)
        ensemble.categories_ = np.zeros((0, 4), dtype=np.uint64)
        for name in ("feature", "left", "category"):
            setattr(ensemble, f"{name}_", np.zeros(0, dtype=np.int32))
        ensemble.missing_left_ = np.zeros(0, dtype=np.uint8)
        for name in ("threshold", "value", "gain", "weight"):
            setattr(ensemble, f"{name}_", np.zeros(0))
        ensemble.count_ = np.zeros(0, dtype=np.int64)
        return ensemble

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots_)

    def append(self, trees, outputs, thresholds):
        """Add trees.

        Parameters
        ----------
        trees : list of dict
            Nodes, as `Grower.grow` returns them.
        outputs : list of int
            Which score each tree adds to.
        thresholds : ndarray of shape (n_features, 255)
            Thresholds of the bins.

        Returns
        -------
        TreeEnsemble
            The ensemble itself.
        """
        if not trees:
            return self
        sizes = [len(tree["feature"]) for tree in trees]
        first = len(self.feature_) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        sets = len(self.categories_)
        moved = []
        for tree, start in zip(trees, first):
            inner = tree["feature"] >= 0
            threshold = np.full(len(inner), np.inf)
            numeric = inner & (tree["category"] < 0)
            bins = np.minimum(tree["bin"], thresholds.shape[1] - 1)
            threshold[numeric] = thresholds[tree["feature"], bins][numeric]
            left = np.where(inner, tree["left"] + start, -1).astype(np.int32)
            category = tree["category"]
            category = np.where(category >= 0, category + sets, -1).astype(np.int32)
            sets += len(tree["categories"])
            changed = {"threshold": threshold, "left": left, "category": category}
            moved.append(tree | changed)
        for name in (*_NODE_FIELDS, "threshold", "categories"):
            parts = [getattr(self, f"{name}_"), *(tree[name] for tree in moved)]
            setattr(self, f"{name}_", np.concatenate(parts))
        self.roots_ = np.concatenate([self.roots_, first]).astype(np.int64)
        self.output_ = np.concatenate([self.output_, outputs]).astype(np.int32)
        return self

    def truncated(self, n_trees: int) -> "TreeEnsemble":
        """The first trees only.

        Parameters
        ----------
        n_trees : int
            How many to keep.

        Returns
        -------
        TreeEnsemble
            A new ensemble.
        """
        if n_trees >= self.n_trees:
            return self
        kept = TreeEnsemble(self.n_outputs)
        n_nodes = self.roots_[n_trees]
        for name in (*_NODE_FIELDS, "threshold"):
            setattr(kept, f"{name}_", getattr(self, f"{name}_")[:n_nodes])
        used = kept.category_.max(initial=-1) + 1
        kept.categories_ = self.categories_[:used]
        kept.roots_, kept.output_ = self.roots_[:n_trees], self.output_[:n_trees]
        return kept

    def add_to(
        self, scores, X, first: int = 0, last: int | None = None, *, n_threads=1
    ):
        """Add trees to scores, in place.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_outputs), float64
            What to add to.
        X : ndarray of shape (n_rows, n_features), float32 or float64
            Rows, with numbers of categories as `BinMapper.encode` gives them.
        first : int, default=0
            First tree.
        last : int, default=None
            One after the last tree; None takes all.
        n_threads : int, default=1
            Number of threads.
        """
        last = self.n_trees if last is None else min(last, self.n_trees)
        _forest.add_trees(
            np.ascontiguousarray(X),
            scores,
            self.feature_,
            self.threshold_,
            self.left_,
            self.missing_left_,
            self.category_,
            self.value_,
            self.roots_,
            self.output_,
            self.categories_,
            first,
            last,
            n_threads,
        )

    def feature_importances(self, n_features: int, kind: str = "gain"):
        """What each feature contributes, scaled to sum to 1.

        Parameters
        ----------
        n_features : int
            Number of features.
        kind : {"gain", "split"}, default="gain"
            Total gain of the splits on a feature, or their number.

        Returns
        -------
        ndarray of shape (n_features,)
            Zeros if no tree has a split.

        Raises
        ------
        ValueError
            If ``kind`` is unknown.
        """
        if kind not in ("gain", "split"):
            raise ValueError(f"kind must be 'gain' or 'split', got {kind!r}")
        inner = self.feature_ >= 0
        weights = self.gain_[inner] if kind == "gain" else None
        total = np.bincount(self.feature_[inner], weights, n_features).astype(float)
        return total / total.sum() if total.sum() > 0 else total
