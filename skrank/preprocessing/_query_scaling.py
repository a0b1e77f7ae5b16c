"""Features normalised within each query.

Features of different queries are often not comparable: the BM25 score of a long query
is larger than that of a short one, whatever the documents. Rankers only compare
documents of the same query, so that each feature may be put on a common scale query by
query. Nothing is learned from the training data; `transform` needs the queries of the
rows that it is given.
"""

from abc import ABCMeta, abstractmethod
from dataclasses import field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import checked_rows, quiet
from skrank._core._informative import warn_of_data
from skrank._core._missing import rows_with_nan
from skrank._core._parameters import Parameters, invalid_parameter
from skrank._core._queries import QueryIndex
from skrank._core._tables import naming_text, refuse_series
from skrank._core._validation import (
    check_groups,
    n_rows,
    naming,
    qid_of_index,
    resolve_groups,
)

# As many values are scaled at once as let all temporaries stay in the cache.
_BLOCK_VALUES = 1 << 16
# Bounds of a range that float32, too, can hold with all differences.
_LARGEST_BOUND = 1e30


class _BaseQueryScaler(
    OneToOneFeatureMixin, TransformerMixin, Parameters, BaseEstimator, metaclass=ABCMeta
):
    """Affine map of every feature within every query.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen in `fit`, where X was a data frame.
    """

    __metadata_request__fit = {"groups": True}
    __metadata_request__transform = {"groups": True}

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}]

    @abstractmethod
    def _location_scale(
        self,
        X: np.ndarray,
        starts: np.ndarray,
        sizes: np.ndarray,
        bounds: np.ndarray,
        unit: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the subtrahend and the factor, each (n_queries, n_features).

        The array ``bounds`` is that of `_bounds`. Where there are units, X and bounds
        are measured in them, and values that keep their scale have to be multiplied by
        them.
        """

    def _bounds(self, X: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return bounds of the values of each feature in each query, low and high."""
        largest = np.fmax.reduceat(np.abs(X), starts, axis=0)
        return np.stack([-largest, largest])

    def fit(
        self, X: npt.ArrayLike, y: Any = None, groups: npt.ArrayLike | None = None
    ) -> Self:
        """Remember the features; nothing else is learned.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Features; NaN where missing.
        y : None
            Ignored.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, which is checked but not used.

        Returns
        -------
        object
            The scaler itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or X or groups are malformed.

        Warns
        -----
        TrainingDataWarning
            If groups hold another id for every row.
        """
        self._check_parameters()
        checked = self._validate(X, reset=True)
        if groups is not None:
            ids = check_groups(groups, n_rows(checked))
            n_queries = QueryIndex.from_groups(ids).n_queries
            if 1 < len(ids) == n_queries:
                warn_of_data(
                    f"every query has a single row, so that {type(self).__name__} "
                    "makes all values of a feature equal; groups must hold the id of "
                    "the query of each row, not of the row"
                )
        return self

    def transform(
        self, X: npt.ArrayLike, groups: npt.ArrayLike | None = None
    ) -> np.ndarray:
        """Normalise every feature within every query.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Features; NaN stays NaN and is left out of the statistics.
        groups : array-like of shape (n_documents,), default=None
            One query id per row, in any order; None reads the level ``"qid"`` of the
            index of a data frame.

        Returns
        -------
        ndarray of shape (n_documents, n_features)
            Normalised features, float32 if X is float32. Complexity: O(n d) for n
            documents of d features.

        Raises
        ------
        ValueError
            If a parameter is not accepted, the queries are not known, or X has other
            features than in `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        checked = self._validate(X, reset=False)
        index = QueryIndex.from_groups(self._queries_of(X, groups, n_rows(checked)))
        return index.restore(self._scale_grouped(index.take(checked), index.ptr))

    # The base class would hand the queries to fit only, and not to transform.
    def fit_transform(
        self, X: npt.ArrayLike, y: Any = None, groups: npt.ArrayLike | None = None
    ) -> np.ndarray:
        """Remember the features, then normalise them within every query.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Features; NaN stays NaN and is left out of the statistics.
        y : array-like of shape (n_documents,), default=None
            Relevance grades, of which only the level ``"qid"`` of a pandas index is
            used, where X has none.
        groups : array-like of shape (n_documents,), default=None
            One query id per row; None reads the pandas index of X or y.

        Returns
        -------
        ndarray of shape (n_documents, n_features)
            Normalised features.
        """
        if groups is None:
            groups = qid_of_index(X, y)
        self.fit(X, y, groups)
        return self.transform(X, groups=groups)

    def _validate(self, X: Any, reset: bool) -> Any:
        refuse_series(X)
        # Infinity is refused by name.
        named = naming("X", what="a table of numbers")
        with named, naming_text(X):
            return checked_rows(self, rows_with_nan(X), takes_missing=True, reset=reset)

    def _queries_of(self, X, groups, n: int) -> np.ndarray:
        """Return the query of each row; say what helps where rows are those of X_val.

        A pipeline with ``transform_input`` hands on the groups of its training rows.
        """
        caller = f"{type(self).__name__}.transform"
        try:
            return resolve_groups(groups, X, n_samples=n, caller=caller)
        except ValueError as error:
            if not np.iterable(groups) or n_rows(groups, "groups") == n:
                raise
            raise ValueError(
                f"{error} Where the rows are X_val of a pipeline, the groups are those "
                "of its training rows: skrank.compat.RankingRegressor(pipeline) takes "
                "X_val with groups_val, and scales it by its own queries"
            ) from None

    def _scale_grouped(self, X: np.ndarray, ptr: np.ndarray) -> np.ndarray:
        """Normalise rows grouped by query, block by block of whole queries."""
        scaled = np.empty_like(X)
        rows_per_block = max(1, _BLOCK_VALUES // X.shape[1])
        first = 0
        while first < len(ptr) - 1:
            # At least one query, even if it is larger than a block.
            last = np.searchsorted(ptr, ptr[first] + rows_per_block, side="right") - 1
            last = max(int(last), first + 1)
            rows = slice(ptr[first], ptr[last])
            sizes = np.diff(ptr[first : last + 1])
            starts = ptr[first:last] - ptr[first]
            block = X[rows]
            bounds = self._bounds(block, starts)
            shift = _shift_within_reach(bounds)
            unit = None
            if shift is not None:
                block = np.ldexp(block, np.repeat(-shift, sizes, axis=0))
                bounds = np.ldexp(bounds, -shift)
                unit = np.ldexp(1.0, shift)
            location, scale = self._location_scale(block, starts, sizes, bounds, unit)
            np.subtract(block, np.repeat(location, sizes, axis=0), out=scaled[rows])
            with quiet():  # where there are units
                scaled[rows] *= np.repeat(scale, sizes, axis=0)
            self._finish(scaled[rows])
            if unit is not None and np.isinf(scaled[rows]).any():
                raise ValueError(
                    "X holds values whose differences from their mean are beyond the "
                    f"range of {X.dtype}"
                )
            first = last
        return scaled

    def _finish(self, block: np.ndarray) -> None:
        """Change normalised rows in place."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class QueryMinMaxScaler(_BaseQueryScaler):
    r"""Scale every feature to a given range within each query.

    .. math:: x' = a + (b - a)\,
        \frac{x - \min_{i \in q} x_i}{\max_{i \in q} x_i - \min_{i \in q} x_i}

    as in the "query-level normalised" versions of the LETOR data sets. A feature that
    is constant within a query becomes :math:`a`.

    Parameters
    ----------
    feature_range : tuple (a, b), default=(0, 1)
        Smallest and largest value of a scaled feature, a < b, both within ±1e30.

    See Also
    --------
    QueryStandardScaler : Zero mean and unit variance within each query.

    References
    ----------
    [Qin2010]_.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.preprocessing import QueryMinMaxScaler
    >>> X = np.array([[1.0], [3.0], [2.0], [50.0], [50.0]])
    >>> QueryMinMaxScaler().fit_transform(X, groups=[7, 7, 7, 8, 8]).ravel()
    array([0. , 1. , 0.5, 0. , 0. ])
    """

    feature_range: tuple[float, float] = field(default=(0, 1), kw_only=False)

    @classmethod
    def _variants(cls):
        return [{}, {"feature_range": (-1.0, 2.0)}]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        low, high = self.feature_range
        if not (low < high and max(-low, high) <= _LARGEST_BOUND):
            accepted = f"(a, b) with a < b, both within ±{_LARGEST_BOUND:g}"
            raise invalid_parameter(self, "feature_range", accepted, self.feature_range)

    def _bounds(self, X, starts):
        # Unlike minimum and maximum, fmin and fmax pass over missing values.
        return np.stack([u.reduceat(X, starts, axis=0) for u in (np.fmin, np.fmax)])

    def _location_scale(self, X, starts, sizes, bounds, unit):
        low, high = bounds
        width = high - low
        return low, np.divide(1, width, out=np.zeros_like(width), where=width > 0)

    def _finish(self, block):
        # By rounding, x * (1 / x) may exceed 1 by one unit in the last place.
        np.minimum(block, 1, out=block)
        low, high = self.feature_range
        if (low, high) != (0, 1):
            block *= high - low
            block += low
            np.minimum(block, high, out=block)


class QueryStandardScaler(_BaseQueryScaler):
    r"""Scale every feature to zero mean and unit variance within each query.

    .. math:: x' = \frac{x - \mu_q}{\sigma_q}

    where :math:`\mu_q` is the mean and :math:`\sigma_q` the (biased) standard deviation
    over the documents of the query. A feature that is constant within a query becomes
    0, as does one whose :math:`\sigma_q` is within the rounding error of its mean.

    Parameters
    ----------
    with_mean : bool, default=True
        Whether to subtract the mean.
    with_std : bool, default=True
        Whether to divide by the standard deviation.

    See Also
    --------
    QueryMinMaxScaler : A range from 0 to 1 within each query, as in LETOR.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.preprocessing import QueryStandardScaler
    >>> X = np.array([[1.0], [3.0], [2.0], [4.0]])
    >>> QueryStandardScaler().fit_transform(X, groups=["a", "a", "b", "b"]).ravel()
    array([-1.,  1., -1.,  1.])
    """

    with_mean: bool = True
    with_std: bool = True

    @classmethod
    def _variants(cls):
        return [{}, {"with_mean": False}, {"with_std": False}]

    def _location_scale(self, X, starts, sizes, bounds, unit):
        missing = np.isnan(X)
        if missing.any():
            n_missing = np.add.reduceat(missing, starts, axis=0, dtype=np.intp)
            count = np.maximum(sizes[:, None] - n_missing, 1)
            values = np.where(missing, 0, X)
        else:
            missing, count, values = None, sizes[:, None], X
        mean = _segment_means(values, starts, count)
        location = mean if self.with_mean else np.zeros_like(mean)
        if not self.with_std:
            return location, np.ones_like(mean) if unit is None else unit
        centred = values - np.repeat(mean, sizes, axis=0)
        if missing is not None:
            centred[missing] = 0
        std = np.sqrt(_segment_means(centred**2, starts, count))
        # The deviations of a constant column are rounding errors of its mean rather
        # than exact zeros, and must not be blown up to unit variance.
        noise = 10 * np.finfo(X.dtype).eps * np.abs(mean)
        varies = std > noise
        scale = np.divide(1, std, out=np.zeros_like(std), where=varies)
        if not self.with_mean:
            scale[~varies] = 1 if unit is None else unit[~varies]
        return location, scale


def _segment_means(values, starts, count):
    return np.add.reduceat(values, starts, axis=0, dtype=np.float64) / count


def _shift_within_reach(bounds: np.ndarray) -> np.ndarray | None:
    """Return the exponents of units in which squares neither over- nor underflow.

    Units are powers of two, one for each feature of each query, so that nothing is
    rounded but what vanishes beside the largest value. There are none (None) in the
    usual case that all features can do without.
    """
    largest = np.maximum(-bounds[0], bounds[1])
    largest[np.isnan(largest)] = 0.0  # features without values
    _, exponent = np.frexp(largest)
    odd = np.abs(exponent) > 0.4 * np.finfo(bounds.dtype).maxexp
    return np.where(odd, exponent - 1, 0) if odd.any() else None
