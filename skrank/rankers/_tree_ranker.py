"""Rankers made of histogram trees."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import checked_rows
from skrank._core._informative import same_documents, warn_of_data
from skrank._core._levels import (
    FROM_DTYPE,
    CategoricalFeatures,
    column_of,
    is_frame,
    n_columns,
    name_of_column,
    place_of,
    warn_of_unknown_numbers,
)
from skrank._core._messages import shown
from skrank._core._parameters import Interval, NonNegative, PositiveInt
from skrank._core._sparse import check_sparse, is_mapping
from skrank._core._tables import refuse_series
from skrank._core._threads import effective_n_threads
from skrank._core._validation import as_numbers, naming
from skrank._rows import GroupedRows
from skrank.rankers._iterations import BaseIterativeRanker, ThreadsMixin
from skrank.rankers._row_order import RowsInOrder
from skrank.trees import BinMapper, CategoryEncoder
from skrank.trees._bins import thresholds_at
from skrank.trees._grower import Grower

#: Documents of mean Hessian, without gradient, that a category has beside its own where
#: categories are ordered; LightGBM's constant of this size is a sum of Hessians.
CATEGORY_SMOOTHING = 10.0
#: Depth of symmetric trees of which none is given: each level doubles their leaves.
_SYMMETRIC_DEPTH = 6


class BaseTreeRanker(ThreadsMixin, BaseIterativeRanker):
    """Base class of rankers made of histogram trees.

    Parameters
    ----------
    growth : {"leaf", "depth", "symmetric"}, default="leaf"
        Which leaf of a tree is split first: the one whose split gains most; or one of
        the lowest depth, of these the one that gains most; or all leaves of a depth at
        once and by the same split, the one that gains most in sum. A leaf that would
        become too small, break a constraint or gain nothing by it is left as it is.
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree; None stands for 31. A symmetric tree has up
        to ``2 ** max_depth`` instead, and takes None only.
    max_depth : int, default=None
        Maximum depth of a tree; None sets no limit, and one of 6 on symmetric trees.
    min_samples_leaf : int, default=20
        Minimum number k of documents in a leaf. When a node of n documents is split,
        each side must also hold k / n of its sum of Hessians, unless k is 1.
    min_hessian_leaf : float, default=1e-3
        Minimum sum of Hessians in a leaf.
    l2_regularization : float, default=0.0
        Number that is added to the sum of Hessians of a leaf.
    path_smoothing : float, default=0.0
        Penalty on the squared difference between the value of a node and that of its
        parent, in units of the sum of Hessians of a node: small leaves are drawn
        towards what the nodes above them say. It does not change the splits.
    min_gain_to_split : float, default=0.0
        Gain below which a leaf is not split.
    max_bins : int, default=255
        Maximum number of bins of a feature, not counting the bin of missing values.
    max_features : float or int, default=1.0
        Features tried at each split, as a fraction or a number; drawn anew for each
        node, and for each level of a symmetric tree.
    categorical_features : sequence of int, bool or str, default="from_dtype"
        Features whose values are names, given by their indices, by a mask or, for data
        frames, by the names of the columns. They hold numbers, strings, or categories
        of pandas or polars. "from_dtype" takes those columns of a data frame whose
        dtype is categorical or that of strings; None takes none. Values that were not
        seen in `fit` count as missing, with a warning if a column holds several values
        and no other. Of more than ``max_bins`` levels, the
        ``max_bins - 1`` most frequent ones are kept apart, and the others become one.
    one_hot_max_levels : int, default=0
        Number of levels up to which a categorical feature is split as if each level had
        a column of its own: one level on one side, the others on the other. Of more
        levels, any set may go to one side.
    monotonic_cst : sequence of int, or dict of str to int, default=None
        For each feature 1 if scores must not fall when it rises, -1 if they must not
        rise, 0 otherwise; a dict holds the constrained columns of a data frame.
    stochastic_rounding : bool, default=True
        Whether gradients are rounded up or down to integers at random, which keeps sums
        unbiased, or to the nearest integer.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        Trees of the ranker.
    bin_mapper_ : BinMapper
        Bins of the features.
    encoder_ : CategoryEncoder
        Levels of the categorical features, and the numbers that bins are made of.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits on each feature, scaled to sum to 1.
    """

    _accepts_missing = True
    _sums_features = False
    _leaf_nodes = 31  # where max_leaf_nodes is None

    growth: Literal["leaf", "depth", "symmetric"] = "leaf"
    max_leaf_nodes: Annotated[int, Interval(2, 2**31 - 1)] | None = None
    max_depth: PositiveInt | None = None
    min_samples_leaf: PositiveInt = 20
    min_hessian_leaf: NonNegative = 1e-3
    l2_regularization: NonNegative = 0.0
    path_smoothing: NonNegative = 0.0
    min_gain_to_split: NonNegative = 0.0
    max_bins: Annotated[int, Interval(2, 255)] = 255
    max_features: PositiveInt | Annotated[float, Interval(0, 1, "right")] = 1.0
    categorical_features: CategoricalFeatures = FROM_DTYPE
    one_hot_max_levels: Annotated[int, Interval(0, 255)] = 0
    monotonic_cst: Sequence[float] | np.ndarray | Mapping[str, int] | None = None
    stochastic_rounding: bool = True

    def _n_tried_features(self, d) -> int:
        given = self.max_features
        if isinstance(given, Integral):
            return min(int(given), d)
        return max(1, int(np.ceil(given * d)))

    def _monotonic(self, d) -> np.ndarray:
        """Return the sign of the constraint of each of the d features."""
        given: Any = self.monotonic_cst
        if given is None:
            return np.zeros(d, dtype=np.int8)
        if is_mapping(given):
            constraints = np.zeros(d)
            names = getattr(self, "feature_names_in_", ())
            for feature, sign in given.items():
                constraints[place_of(feature, names, "monotonic_cst")] = sign
        else:
            constraints = as_numbers(given, "monotonic_cst")
        if constraints.shape != (d,) or not np.isin(constraints, (-1, 0, 1)).all():
            raise ValueError(
                f"monotonic_cst must hold -1, 0 or 1 for each of the {d} features, got "
                f"{shown(given)}"
            )
        return constraints.astype(np.int8)

    def _check_rows(self, X, *, reset, needs_y=False, name="X", training=False) -> Any:
        refuse_series(X, name)
        given = X
        if not needs_y:
            X = self._numbered(X, reset, name)
        rest = {"needs_y": needs_y, "name": name, "training": training}
        rows = super()._check_rows(X, reset=reset, **rest)
        if reset:  # bins of an earlier fit are not those of its validation rows
            vars(self).pop("bin_mapper_", None)
        elif "bin_mapper_" in vars(self):
            self._warn_of_unknown_numbers(given, rows)
        return rows

    def _warn_of_unknown_numbers(self, X, rows) -> None:
        """Warn of categorical columns of numbers none of which has a bin."""
        mapper = self.bin_mapper_
        encoded = getattr(getattr(self, "encoder_", None), "columns_", ())
        plain = np.setdiff1d(np.flatnonzero(mapper.is_categorical_), encoded)
        for j in plain.tolist():
            numbers = np.arange(int(mapper.n_bins_[j]))
            levels = thresholds_at(mapper, np.full(len(numbers), j), numbers)
            column = column_of(rows, j)
            warn_of_unknown_numbers(levels, column, name_of_column(X, j))

    def _numbered(self, X, reset, name):
        """Return rows with numbers in place of the levels of categorical columns."""
        check_sparse(X, name)
        if reset:
            self.encoder_ = CategoryEncoder(
                categorical_features=self.categorical_features,
                max_levels=self.max_bins,
            ).fit(X)
        encoder = getattr(self, "encoder_", None)
        if encoder is None:  # in a model file of an older version
            return X
        with naming(name):
            other = is_frame(X) or n_columns(X) != len(encoder.is_categorical_)
            if not reset and len(encoder.columns_) and other:
                # Columns in another order are not compared with levels of others.
                checked_rows(self, X, reset=False, skip_check_array=True)
            return encoder.transform(X)

    def _fit_bins(self, X: RowsInOrder, rng) -> None:
        mask = self.encoder_.is_categorical_
        self.bin_mapper_ = BinMapper(
            max_bins=self.max_bins,
            categorical_features=mask if mask.any() else None,
            random_state=rng,
        ).fit(X.given, order=X.order, n_threads=effective_n_threads(self.n_jobs))
        # A generator would be pickled with the ranker, and has nothing left to draw.
        self.bin_mapper_.random_state = None

    def _grower(self, X: RowsInOrder) -> Grower:
        """Return the grower of trees on the bins of the rows."""
        n_threads = effective_n_threads(self.n_jobs)
        monotonic = self._monotonic(X.shape[1])
        categorical = self.bin_mapper_.is_categorical_
        both = np.flatnonzero(categorical & (monotonic != 0))
        if len(both):
            raise ValueError(
                f"monotonic_cst: feature {both[0]} is categorical and has no order"
            )
        n_bins = self.bin_mapper_.n_bins_
        alone = categorical & (n_bins <= self.one_hot_max_levels)
        return Grower(
            self.bin_mapper_.transform(X.given, order=X.order, n_threads=n_threads),
            X.shape[0],
            n_bins,
            categorical + alone.astype(np.uint8),
            monotonic,
        )

    def _growth(self) -> str:
        """Return how trees grow; "auto" leaves it to the limits that are given."""
        growth = self.growth
        if growth == "auto":
            return "symmetric" if self.max_leaf_nodes is None else "leaf"
        if growth == "symmetric" and self.max_leaf_nodes is not None:
            raise ValueError(
                f"max_leaf_nodes={self.max_leaf_nodes} limits leaf-wise and depth-wise "
                "trees; a symmetric one takes max_depth, or set growth='leaf'"
            )
        return growth

    def _tree_options(self, d, **more) -> dict[str, Any]:
        """Return the options of the grower for d features."""
        growth = self._growth()
        unlimited = _SYMMETRIC_DEPTH if growth == "symmetric" else 0
        return {
            "growth": growth,
            "max_leaf_nodes": int(self.max_leaf_nodes or self._leaf_nodes),
            "max_depth": int(self.max_depth or unlimited),  # 0 sets no limit
            "min_samples_leaf": int(self.min_samples_leaf),
            "min_weight": float(self.min_hessian_leaf),
            "l2": float(self.l2_regularization),
            "path_smoothing": float(self.path_smoothing),
            "min_gain": float(self.min_gain_to_split),
            "max_features": self._n_tried_features(d),
            "stochastic": bool(self.stochastic_rounding),
            "n_threads": effective_n_threads(self.n_jobs),
        } | more

    def _warn_without_split(self, trees, data: GroupedRows, prepared: Any) -> None:
        """Warn where none of the trees that were grown has a split, and say why."""
        if not trees or any((tree["feature"] >= 0).any() for tree in trees):
            return
        learns = getattr(prepared, "learns", None)
        if not data.has_preference().any() or (learns is not None and not learns()):
            return  # of which the ranker or its loss has warned before
        if same_documents(data.X, data.ptr):
            return  # of which the ranker has warned, too
        least, n = self.min_samples_leaf, data.n_documents
        if n < 2 * least:
            why = (
                f"a split needs {2 * least} documents, min_samples_leaf={least} for "
                f"each side, and there are {n}; lower min_samples_leaf"
            )
        elif (self.bin_mapper_.n_bins_ < 2).all():
            why = "every feature has the same value in all rows; check X"
        else:
            limits = [f"min_samples_leaf={least}"]
            for name in ("min_hessian_leaf", "min_gain_to_split"):
                if getattr(self, name) > 0:
                    limits.append(f"{name}={getattr(self, name):g}")
            why = (
                f"none is possible or gains enough under {', '.join(limits)}; lower "
                "these, or scale y if its grades are tiny"
            )
        warn_of_data(f"{type(self).__name__}: no tree has a split, because {why}")

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from super()._learned()
        yield "value_ of ensemble_", self.ensemble_.value_

    def _add_trees(self, raw, X) -> np.ndarray:
        """Add the values of all trees to scores, (n_documents, n_outputs), in place."""
        if self.ensemble_.n_trees:
            self.ensemble_.add_to(
                raw,
                self.bin_mapper_.encode(X),
                n_threads=effective_n_threads(self.n_jobs),
            )
        return raw

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of the splits on each feature, scaled to sum to 1."""
        check_is_fitted(self)
        return self.ensemble_.feature_importances(self.n_features_in_)
