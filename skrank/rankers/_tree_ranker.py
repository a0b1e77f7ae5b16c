"""Rankers made of histogram trees."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._core._informative import same_documents, warn_of_data
from skrank._core._messages import shown
from skrank._core._parameters import Interval, NonNegative, PositiveInt
from skrank._core._threads import effective_n_threads
from skrank._core._validation import as_numbers
from skrank._rows import GroupedRows
from skrank.rankers._iterations import BaseIterativeRanker, ThreadsMixin
from skrank.trees import BinMapper
from skrank.trees._grower import Grower


class BaseTreeRanker(ThreadsMixin, BaseIterativeRanker):
    """Base class of rankers made of histogram trees.

    Parameters
    ----------
    max_leaf_nodes : int, default=31
        Maximum number of leaves of a tree; the leaf whose split gains most is split
        first.
    max_depth : int, default=None
        Maximum depth of a tree; None sets no limit.
    min_samples_leaf : int, default=20
        Minimum number k of documents in a leaf. When a node of n documents is split,
        each side must also hold k / n of its sum of Hessians.
    min_hessian_leaf : float, default=1e-3
        Minimum sum of Hessians in a leaf.
    l2_regularization : float, default=0.0
        Number that is added to the sum of Hessians of a leaf.
    min_gain_to_split : float, default=0.0
        Gain below which a leaf is not split.
    max_bins : int, default=255
        Maximum number of bins of a feature, not counting the bin of missing values.
    max_features : float or int, default=1.0
        Features tried at each split, as a fraction or a number.
    categorical_features : sequence of int, bool or str, default=None
        Features whose values are names, given by their indices, by a mask or, for data
        frames, by the names of the columns. Values that were not seen in `fit` count as
        missing.
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
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits on each feature, scaled to sum to 1.
    """

    _accepts_sparse = False
    _accepts_missing = True

    max_leaf_nodes: Annotated[int, Interval(2, 2**31 - 1)] = 31
    max_depth: PositiveInt | None = None
    min_samples_leaf: PositiveInt = 20
    min_hessian_leaf: NonNegative = 1e-3
    l2_regularization: NonNegative = 0.0
    min_gain_to_split: NonNegative = 0.0
    max_bins: Annotated[int, Interval(2, 255)] = 255
    max_features: PositiveInt | Annotated[float, Interval(0, 1, "right")] = 1.0
    categorical_features: (
        Sequence[int] | Sequence[bool] | Sequence[str] | np.ndarray | None
    ) = None
    monotonic_cst: Sequence[float] | np.ndarray | Mapping[str, int] | None = None
    stochastic_rounding: bool = True

    def _n_tried_features(self, d) -> int:
        given = self.max_features
        if isinstance(given, Integral):
            return min(int(given), d)
        return max(1, int(np.ceil(given * d)))

    def _place(self, feature, parameter) -> int:
        """Return the index of a feature of a data frame."""
        names = list(getattr(self, "feature_names_in_", ()))
        if feature not in names:
            known = f"those of X are {', '.join(names)}" if names else "X has none"
            raise ValueError(f"{parameter}: no feature is named {feature!r}; {known}")
        return names.index(feature)

    def _monotonic(self, d) -> np.ndarray:
        """Return the sign of the constraint of each of the d features."""
        given = self.monotonic_cst
        if given is None:
            return np.zeros(d, dtype=np.int8)
        if isinstance(given, Mapping):
            constraints = np.zeros(d)
            for feature, sign in given.items():
                constraints[self._place(feature, "monotonic_cst")] = sign
        else:
            constraints = as_numbers(given, "monotonic_cst")
        if constraints.shape != (d,) or not np.isin(constraints, (-1, 0, 1)).all():
            raise ValueError(
                f"monotonic_cst must hold -1, 0 or 1 for each of the {d} features, got "
                f"{shown(given)}"
            )
        return constraints.astype(np.int8)

    def _categorical(self):
        given = self.categorical_features
        if given is None or not all(isinstance(feature, str) for feature in given):
            return given
        return [self._place(feature, "categorical_features") for feature in given]

    def _fit_bins(self, X, rng) -> None:
        self.bin_mapper_ = BinMapper(
            max_bins=self.max_bins,
            categorical_features=self._categorical(),
            random_state=rng,
        ).fit(X, n_threads=effective_n_threads(self.n_jobs))
        # A generator would be pickled with the ranker, and has nothing left to draw.
        self.bin_mapper_.random_state = None

    def _grower(self, X) -> Grower:
        """Return the grower of trees on the bins of the rows."""
        n_threads = effective_n_threads(self.n_jobs)
        monotonic = self._monotonic(X.shape[1])
        categorical = self.bin_mapper_.is_categorical_
        both = np.flatnonzero(categorical & (monotonic != 0))
        if len(both):
            raise ValueError(
                f"monotonic_cst: feature {both[0]} is categorical and has no order"
            )
        return Grower(
            self.bin_mapper_.transform(X, n_threads=n_threads),
            X.shape[0],
            self.bin_mapper_.n_bins_,
            categorical.view(np.uint8),
            monotonic,
        )

    def _tree_options(self, d, **more) -> dict[str, Any]:
        """Return the options of the grower for d features."""
        return {
            "max_leaf_nodes": int(self.max_leaf_nodes),
            "max_depth": int(self.max_depth or 0),  # 0 sets no limit
            "min_samples_leaf": int(self.min_samples_leaf),
            "min_weight": float(self.min_hessian_leaf),
            "l2": float(self.l2_regularization),
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
            why = (
                f"none is possible or gains enough under min_samples_leaf={least}, "
                f"min_hessian_leaf={self.min_hessian_leaf:g} and min_gain_to_split="
                f"{self.min_gain_to_split:g}; lower them"
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
