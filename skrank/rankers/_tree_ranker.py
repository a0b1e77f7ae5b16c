"""Rankers made of histogram trees."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Annotated

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Interval, NonNegative, PositiveInt
from skrank._core._threads import effective_n_threads
from skrank.rankers._iterations import BaseIterativeRanker
from skrank.trees import BinMapper
from skrank.trees._grower import Grower


class BaseTreeRanker(BaseIterativeRanker):
    """Rankers made of histogram trees.

    Parameters
    ----------
    max_leaf_nodes : int, default=31
        Number of leaves of a tree at most; the leaf whose split gains most is split
        first.
    max_depth : int, default=None
        Greatest depth of a tree; None sets no limit.
    min_samples_leaf : int, default=20
        Minimum number of documents in a leaf.
    min_hessian_leaf : float, default=1e-3
        Minimum sum of hessians in a leaf.
    l2_regularization : float, default=0.0
        Number that is added to the sum of hessians of a leaf.
    min_gain_to_split : float, default=0.0
        Gain below which a leaf is not split.
    max_bins : int, default=255
        Number of bins of a feature at most, not counting that of missing values.
    max_features : float or int, default=1.0
        Features tried at each split, as a fraction or a number.
    categorical_features : sequence of int, bool or str, default=None
        Features whose values are names, as indices, as a mask or, for data frames, by
        their own names. Unknown values are missing values.
    monotonic_cst : sequence of int, or dict of str to int, default=None
        Per feature 1 if scores must not fall with it, -1 if they must not rise, 0
        otherwise; a dict holds the features of a data frame that are constrained.
    stochastic_rounding : bool, default=True
        Whether gradients are rounded at random to their integers, which keeps sums
        unbiased, or to the nearest.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees.
    bin_mapper_ : BinMapper
        Bins of the features.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits on each feature, scaled to sum to 1.
    """

    _accepts_sparse = False
    _accepts_missing = True

    max_leaf_nodes: Annotated[int, Interval(2)] = 31
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

    def _n_tried_features(self, d):
        given = self.max_features
        if isinstance(given, Integral):
            return min(int(given), d)
        return max(1, int(np.ceil(given * d)))

    def _place(self, feature, parameter):
        """Return the index of a feature of a data frame."""
        names = list(getattr(self, "feature_names_in_", ()))
        if feature not in names:
            known = f"those of X are {', '.join(names)}" if names else "X has none"
            raise ValueError(f"{parameter}: no feature is named {feature!r}; {known}")
        return names.index(feature)

    def _monotonic(self, d):
        given = self.monotonic_cst
        if given is None:
            return np.zeros(d, dtype=np.int8)
        if isinstance(given, Mapping):
            constraints = np.zeros(d)
            for feature, sign in given.items():
                constraints[self._place(feature, "monotonic_cst")] = sign
        else:
            constraints = np.asarray(given)
        if constraints.shape != (d,) or not np.isin(constraints, (-1, 0, 1)).all():
            raise ValueError(
                f"monotonic_cst must hold -1, 0 or 1 for each of the {d} features, got "
                f"{given!r}"
            )
        return constraints.astype(np.int8)

    def _categorical(self):
        given = self.categorical_features
        if given is None or not all(isinstance(feature, str) for feature in given):
            return given
        return [self._place(feature, "categorical_features") for feature in given]

    def _fit_bins(self, X, rng):
        self.bin_mapper_ = BinMapper(
            max_bins=self.max_bins,
            categorical_features=self._categorical(),
            random_state=rng,
        ).fit(X, n_threads=effective_n_threads(self.n_jobs))
        self.bin_mapper_.random_state = None

    def _grower(self, X):
        """Return what grows trees on the bins of the rows."""
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

    def _tree_options(self, d, **more):
        return {
            "max_leaf_nodes": int(self.max_leaf_nodes),
            "max_depth": int(self.max_depth or 0),
            "min_samples_leaf": int(self.min_samples_leaf),
            "min_weight": float(self.min_hessian_leaf),
            "l2": float(self.l2_regularization),
            "min_gain": float(self.min_gain_to_split),
            "max_features": self._n_tried_features(d),
            "stochastic": bool(self.stochastic_rounding),
            "n_threads": effective_n_threads(self.n_jobs),
        } | more

    def _add_trees(self, raw, X):
        """Add all trees to scores of shape (n_documents, n_outputs), in place."""
        if self.ensemble_.n_trees:
            self.ensemble_.add_to(
                raw,
                self.bin_mapper_.encode(X),
                n_threads=effective_n_threads(self.n_jobs),
            )
        return raw

    @property
    def feature_importances_(self):
        """Total gain of the splits on each feature, scaled to sum to 1."""
        check_is_fitted(self)
        return self.ensemble_.feature_importances(self.n_features_in_)
