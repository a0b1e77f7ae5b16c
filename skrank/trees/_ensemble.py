"""An ensemble of trees, stored in arrays over all nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skrank._core._learned import Learned
from skrank._core._messages import shown
from skrank._core._parameters import NonNegativeInt, Parameters, PositiveInt
from skrank._core._sparse import canonical_csr, check_sparse, csr_parts
from skrank._core._validation import check_arguments
from skrank.trees import _forest
from skrank.trees._bins import BinMapper, thresholds_at

# Names of the arrays that have one entry per node, besides the thresholds.
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


class TreeEnsemble(Learned, Parameters, BaseEstimator):
    r"""Sum of trees, stored in arrays over all nodes.

    .. math:: F_k(x) = \sum_{t : o_t = k} v_{\mathrm{leaf}_t(x)}

    where :math:`F_k` is the k-th score of a row, but for where it starts, and
    :math:`o_t` the score that tree t adds to. A row goes to the left child of a node if
    its value is at most the threshold of the node, and to the right child otherwise,
    which stands next to the left one in the arrays. Rankers make an ensemble by `empty`
    and `append`.

    Parameters
    ----------
    n_outputs : int, default=1
        Number of scores of a row.

    Attributes
    ----------
    roots_ : ndarray of shape (n_trees,)
        First node of each tree.
    output_ : ndarray of shape (n_trees,)
        Number of the score that each tree adds to.
    feature_ : ndarray of shape (n_nodes,)
        Feature of a node, -1 for a leaf.
    threshold_ : ndarray of shape (n_nodes,)
        Threshold of a node; infinity for leaves, for splits by category, and where all
        values go left and missing ones right.
    left_ : ndarray of shape (n_nodes,)
        Left child of a node, -1 for a leaf.
    missing_left_ : ndarray of shape (n_nodes,)
        Whether missing values go left.
    category_ : ndarray of shape (n_nodes,)
        Row of ``categories_`` for a split by category, otherwise -1.
    categories_ : ndarray of shape (n_sets, 4), dtype uint64
        Bit sets of the numbers of the categories that go left.
    value_ : ndarray of shape (n_nodes,)
        Value that a leaf adds to the score.
    gain_ : ndarray of shape (n_nodes,)
        Twice the decrease of the quadratic model of the loss by a split.
    weight_ : ndarray of shape (n_nodes,)
        Sum of the hessians of the training rows in a node.
    count_ : ndarray of shape (n_nodes,)
        Number of training rows in a node.
    term_start_ : ndarray of shape (n_nodes + 1,)
        Place of the first term of each node, and the end of the last one. Only where
        leaves hold linear functions; then the value of a leaf is its constant, to which
        the terms of the leaf are added for rows that miss none of their features.
    term_feature_ : ndarray of shape (n_terms,)
        Feature of each term.
    terms_ : ndarray of shape (4, n_terms)
        Coefficient of each term, the mean that is taken off the feature before, and the
        lowest and the highest value that it may have.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import MART
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> MART(n_estimators=5).fit(X, y, groups).ensemble_.n_trees
    5
    """

    n_outputs: PositiveInt = field(default=1, kw_only=False)

    _learned_by = "TreeEnsemble.empty()"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"n_outputs": 3}]

    @classmethod
    def empty(cls, n_outputs: int = 1) -> Self:
        """Make an ensemble without trees.

        Parameters
        ----------
        n_outputs : int, default=1
            Number of scores of a row.

        Returns
        -------
        TreeEnsemble
            A new ensemble.

        Raises
        ------
        ValueError
            If ``n_outputs`` is not a whole number >= 1.
        """
        ensemble = cls(n_outputs)
        ensemble._check_parameters()
        return ensemble._clear()

    def _clear(self) -> Self:
        """Set all arrays to those of no trees."""
        self.roots_ = np.zeros(0, dtype=np.int64)
        self.output_ = np.zeros(0, dtype=np.int32)
        self.categories_ = np.zeros((0, 4), dtype=np.uint64)
        self.feature_ = np.zeros(0, dtype=np.int32)
        self.left_ = np.zeros(0, dtype=np.int32)
        self.category_ = np.zeros(0, dtype=np.int32)
        self.missing_left_ = np.zeros(0, dtype=np.uint8)
        self.threshold_ = np.zeros(0)
        self.value_ = np.zeros(0)
        self.gain_ = np.zeros(0)
        self.weight_ = np.zeros(0)
        self.count_ = np.zeros(0, dtype=np.int64)
        return self

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots_)

    @property
    def is_linear(self) -> bool:
        """Whether leaves hold linear functions."""
        return hasattr(self, "terms_")

    def append(
        self,
        trees: Sequence[Mapping[str, np.ndarray]],
        outputs: Sequence[int],
        thresholds: np.ndarray | BinMapper,
    ) -> Self:
        """Add trees to the ensemble.

        Parameters
        ----------
        trees : list of dict
            Arrays over the nodes of each tree, as `Grower.grow` returns them.
        outputs : list of int
            Number of the score that each tree adds to.
        thresholds : BinMapper, or ndarray of shape (n_features, 255)
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
        if self.is_linear or any("terms" in tree for tree in trees):
            self._append_terms(trees)
        sets = len(self.categories_)
        moved = []
        for tree, start in zip(trees, first):
            inner = tree["feature"] >= 0
            threshold = np.full(len(inner), np.inf)
            numeric = inner & (tree["category"] < 0)
            features, bins = tree["feature"][numeric], tree["bin"][numeric]
            # A split after the last bin parts off missing values: it takes infinity.
            if isinstance(thresholds, BinMapper):
                threshold[numeric] = thresholds_at(thresholds, features, bins)
            else:
                bins = np.minimum(bins, thresholds.shape[1] - 1)
                threshold[numeric] = thresholds[features, bins]
            left = np.where(inner, tree["left"] + start, -1).astype(np.int32)
            category = tree["category"]
            category = np.where(category >= 0, category + sets, -1).astype(np.int32)
            sets += len(tree["categories"])
            changed = {"threshold": threshold, "left": left, "category": category}
            moved.append({**tree, **changed})
        for name in (*_NODE_FIELDS, "threshold", "categories"):
            parts = [getattr(self, f"{name}_"), *(tree[name] for tree in moved)]
            setattr(self, f"{name}_", np.concatenate(parts))
        self.roots_ = np.concatenate([self.roots_, first]).astype(np.int64)
        self.output_ = np.concatenate([self.output_, outputs]).astype(np.int32)
        return self

    def _append_terms(self, trees) -> None:
        """Add the terms of trees whose nodes have not been added yet."""
        starts = [np.zeros(len(self.feature_) + 1, dtype=np.int64)]
        features, terms = [np.zeros(0, dtype=np.int32)], [np.zeros((4, 0))]
        if self.is_linear:
            starts, features, terms = (
                [self.term_start_],
                [self.term_feature_],
                [self.terms_],
            )
        for tree in trees:
            own = np.zeros(len(tree["feature"]) + 1, dtype=np.int64)
            if "terms" in tree:
                own = tree["term_start"]
                features.append(tree["term_feature"])
                terms.append(tree["terms"])
            starts.append(starts[-1][-1] + own[1:])
        self.term_start_ = np.concatenate(starts)
        self.term_feature_ = np.concatenate(features)
        self.terms_ = np.concatenate(terms, axis=1)

    def truncated(self, n_trees: NonNegativeInt) -> "TreeEnsemble":
        """Return an ensemble of the first trees only.

        Parameters
        ----------
        n_trees : int
            Number of trees to keep.

        Returns
        -------
        TreeEnsemble
            A new ensemble, or the ensemble itself if it has no more trees.
        """
        check_arguments(TreeEnsemble.truncated, n_trees=n_trees)
        if n_trees >= self.n_trees:
            return self
        kept = TreeEnsemble(self.n_outputs)
        n_nodes = self.roots_[n_trees]
        for name in (*_NODE_FIELDS, "threshold"):
            setattr(kept, f"{name}_", getattr(self, f"{name}_")[:n_nodes])
        if self.is_linear:
            kept.term_start_ = self.term_start_[: n_nodes + 1]
            kept.term_feature_ = self.term_feature_[: kept.term_start_[-1]]
            kept.terms_ = np.ascontiguousarray(self.terms_[:, : kept.term_start_[-1]])
        used = kept.category_.max(initial=-1) + 1
        kept.categories_ = self.categories_[:used]
        kept.roots_, kept.output_ = self.roots_[:n_trees], self.output_[:n_trees]
        return kept

    def _selected(self, trees: np.ndarray) -> "TreeEnsemble":
        """Return an ensemble of some trees, whose leaves hold constants."""
        ends = np.append(self.roots_[1:], len(self.feature_))
        sizes = ends[trees] - self.roots_[trees]
        first = np.cumsum(sizes) - sizes
        moved = np.repeat(first - self.roots_[trees], sizes)
        nodes = np.arange(len(moved)) - moved
        chosen = TreeEnsemble(self.n_outputs)
        for name in (*_NODE_FIELDS, "threshold"):
            setattr(chosen, f"{name}_", getattr(self, f"{name}_")[nodes])
        left = np.where(chosen.feature_ >= 0, chosen.left_ + moved, -1)
        chosen.left_ = left.astype(np.int32)
        chosen.categories_ = self.categories_
        chosen.roots_, chosen.output_ = first, self.output_[trees]
        return chosen

    def add_to(
        self,
        scores: np.ndarray,
        X: Any,
        first: NonNegativeInt = 0,
        last: NonNegativeInt | None = None,
        *,
        n_threads: PositiveInt = 1,
    ) -> None:
        """Add the values of trees to scores, in place.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_outputs), float64
            Scores to add to.
        X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
            Rows, with the numbers of categories that `BinMapper.encode` gives them.
            Of a CSR matrix, only the features of the trees become dense, for few rows
            at a time.
        first : int, default=0
            Number of the first tree to add.
        last : int, default=None
            Number of the first tree not to add; None adds all from ``first`` on.
        n_threads : int, default=1
            Number of threads.
        """
        check_arguments(
            TreeEnsemble.add_to, first=first, last=last, n_threads=n_threads
        )
        _check_rows_and_scores(X, scores)
        last = self.n_trees if last is None else min(last, self.n_trees)
        if sparse.issparse(X):
            self._add_to_sparse(scores, X, first, last, n_threads)
            return
        X, nodes = np.ascontiguousarray(X), self.arrays()
        try:
            if not self.is_linear:
                _forest.add_trees(X, scores, *nodes, first, last, n_threads)
            elif first < last:
                terms = self.term_start_, self.term_feature_, self.terms_
                _forest.add_linear_trees(
                    X, scores, *nodes, *terms, first, last, n_threads
                )
        except ValueError:
            # The compiled code has found it; which one it is, is sought only now.
            _check_width(nodes[0].max(initial=-1), X.shape[1])
            if self.is_linear:
                _check_width(self.term_feature_.max(initial=-1), X.shape[1])
            raise

    def arrays(self):
        """Return the arrays of all trees, in the order of the compiled code."""
        return (
            self.feature_,
            self.threshold_,
            self.left_,
            self.missing_left_,
            self.category_,
            self.value_,
            self.roots_,
            self.output_,
            self.categories_,
        )

    def _add_to_sparse(self, scores, X, first, last, n_threads) -> None:
        check_sparse(X)
        if self.is_linear:
            raise ValueError(
                "linear functions in leaves need dense rows, got a sparse X"
            )
        if first >= last:
            return
        nodes = self.arrays()
        feature = nodes[0]
        begin = self.roots_[first]
        end = self.roots_[last] if last < self.n_trees else len(feature)
        # A place for leaves, whose feature is -1, stays -1 at the end.
        column_of = np.full(X.shape[1] + 1, -1, dtype=np.int32)
        used = np.unique(feature[begin:end])
        used = used[used >= 0]
        _check_width(used.max(initial=-1), X.shape[1])
        column_of[used] = np.arange(len(used))
        columns = np.full(len(feature), -1, dtype=np.int32)
        columns[begin:end] = column_of[feature[begin:end]]
        _forest.add_trees_to_sparse(
            *csr_parts(canonical_csr(X)),
            column_of[:-1],
            max(len(used), 1),
            scores,
            columns,
            *nodes[1:],
            first,
            last,
            n_threads,
        )

    def feature_importances(
        self, n_features: PositiveInt, kind: Literal["gain", "split"] = "gain"
    ) -> np.ndarray:
        """Measure the contribution of each feature, scaled to sum to 1.

        Parameters
        ----------
        n_features : int
            Number of features.
        kind : {"gain", "split"}, default="gain"
            Contribution of a feature: the total gain of its splits, or their number.

        Returns
        -------
        ndarray of shape (n_features,)
            Contributions; all zero if no tree has a split.

        Raises
        ------
        ValueError
            If ``kind`` is unknown.
        """
        check_arguments(self.feature_importances, n_features=n_features, kind=kind)
        inner = self.feature_ >= 0
        weights = self.gain_[inner] if kind == "gain" else None
        total = np.bincount(self.feature_[inner], weights, n_features).astype(float)
        return total / total.sum() if total.sum() > 0 else total


def _check_width(last: int, n_features: int) -> None:
    """Refuse rows without the last of the features that trees ask for."""
    if last >= n_features:
        raise ValueError(
            f"X must have the features of the trees, got {n_features}; they ask for "
            f"feature {last}"
        )


def _check_rows_and_scores(X, scores) -> None:
    """Refuse what the compiled code does not take."""
    floats = (np.float32, np.float64)
    is_rows = isinstance(X, np.ndarray) or sparse.issparse(X)
    if not is_rows or X.ndim != 2 or X.dtype not in floats:
        raise TypeError(
            f"X must be a matrix of dtype float32 or float64, got {shown(X)}"
        )
    is_matrix = isinstance(scores, np.ndarray) and scores.ndim == 2
    if not is_matrix or scores.dtype != np.float64:
        raise TypeError(
            f"scores must be a matrix of dtype float64, got {shown(scores)}"
        )
