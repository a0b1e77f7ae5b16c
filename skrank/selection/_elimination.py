"""Elimination of the features that a ranker needs least, measured query by query."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import check_random_state

from skrank._core._inner import allows_missing, allows_sparse, scores_of
from skrank._core._messages import shown
from skrank._core._parameters import (
    Fraction,
    NThreads,
    PositiveInt,
    Seed,
    invalid_parameter,
)
from skrank._core._permutations import falls_by_permutation, shuffled_within
from skrank._core._pipelines import last_step, rows_of_last_step
from skrank._core._splits import splits_of
from skrank._core._validation import as_numbers
from skrank._meta import fit_on, in_parallel
from skrank._rows import GroupedRows, named_rows
from skrank.metrics import get_measure
from skrank.metrics._registry import MeasureLike
from skrank.rankers import RankSVM
from skrank.selection._feature_base import (
    BaseCountedSelector,
    BaseFeatureSelector,
    NumberOfFeatures,
    spreads,
    with_features,
)


class _BaseElimination(MetaEstimatorMixin, BaseFeatureSelector):
    """Base class of selectors that leave out features step by step.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Ranker, pipeline or scikit-learn estimator, of which clones are fitted. None
        means `RankSVM`.
    step : int or float, default=1
        Number of features to leave out at a time; a float in (0, 1) is a share of those
        that are left, of which at least one is left out.
    importance : {"permutation", "model"}, default="permutation"
        What a feature is worth to a fitted ranker. "permutation" is by how much the
        measure falls if the values of the feature change places within each query, so
        that a feature of the query alone is worth nothing. "model" is what the ranker
        has learned: ``feature_importances_``, or the absolute values of ``coef_`` times
        the standard deviation of the feature within queries, as the last step of a
        pipeline sees it.
    measure : measure, str or callable, default="ndcg@10"
        Measure of a ranking.
    n_repeats : int, default=5
        Number of permutations of each feature.
    random_state : int, RandomState or None, default=None
        Source of the permutations.
    n_jobs : int, default=None
        Number of fits at the same time.

    Attributes
    ----------
    ranking_ : ndarray of shape (`n_features_in_`,), dtype int64
        1 for the features that are kept, 2 for those that were left out last, and so
        on.
    estimator_ : estimator
        The ranker, fitted on the features that are kept.
    """

    estimator: Any = field(default=None, kw_only=False)
    step: Fraction | PositiveInt = 1
    importance: Literal["permutation", "model"] = "permutation"
    measure: MeasureLike = "ndcg@10"
    n_repeats: PositiveInt = 5
    random_state: Seed = None
    n_jobs: NThreads = None

    def _chosen_estimator(self) -> Any:
        return RankSVM() if self.estimator is None else self.estimator

    @property
    def _takes_missing(self):
        return allows_missing(self._chosen_estimator())

    @property
    def _takes_sparse(self):
        return allows_sparse(self._chosen_estimator())

    def _shrink(
        self,
        rows: GroupedRows,
        n_least: int,
        seed: int,
        see: Callable[[np.ndarray, Any], Any],
        held: Any = None,
    ) -> None:
        """Show ever fewer features, and the ranker that was fitted on them.

        This is no generator, in which Python would replace a StopIteration that a
        ranker or a measure of a user raises.

        Parameters
        ----------
        rows : GroupedRows
            Training rows.
        n_least : int
            Number of features to end with.
        seed : int
            Seed of the permutations.
        see : callable
            Called with the features and the ranker, at each step.
        held : sequence of (GroupedRows, GroupedRows) or None
            Training and validation queries to judge features by; None judges them by
            the training rows themselves.
        """
        rng = np.random.RandomState(seed)
        left = np.arange(rows.X.shape[1])
        while True:
            model = self._fitted(with_features(rows, left))
            see(left, model)
            if len(left) <= n_least:
                return
            values = self._importances(rows, model, left, rng, held)
            n_out = min(self._n_out(len(left)), len(left) - n_least)
            # Of equally important features, the last ones go first.
            worst = np.argsort(-values, kind="stable")[len(left) - n_out :]
            left = np.delete(left, worst)

    def _fitted(self, rows) -> Any:
        return fit_on(self._chosen_estimator(), rows)

    def _n_out(self, n_left) -> int:
        if isinstance(self.step, float | np.floating) and self.step < 1:
            return max(1, int(self.step * n_left))
        return int(self.step)

    def _importances(self, rows, model, left, rng, held) -> np.ndarray:
        """Return the importance of each feature that is left."""
        seed = int(rng.randint(np.iinfo(np.int32).max))
        if held is None:
            return self._importances_in(model, with_features(rows, left), seed)

        def judged(train, test):
            model = self._fitted(with_features(train, left))
            return self._importances_in(model, with_features(test, left), seed)

        return np.mean(in_parallel(judged, held, self.n_jobs), axis=0)

    def _importances_in(self, model, rows, seed) -> np.ndarray:
        if self.importance == "model":
            return _learned_importances(model, rows)
        rng = np.random.RandomState(seed)
        return permutation_importances(
            model, rows, get_measure(self.measure), self.n_repeats, rng
        )

    def _measured(self, model, rows) -> float:
        """Return the measure of a ranker on rows; greater is better."""
        measure = get_measure(self.measure)
        X = named_rows(rows.X, rows.feature_names)
        values = measure.per_query(rows.y, scores_of(model, X, rows.groups), rows.ptr)
        return np.nan if np.isnan(values).all() else measure.sign * measure.mean(values)

    def _keep(self, n: int, rows: GroupedRows, seed: int, held: Any = None) -> Any:
        """Note when each feature was left out, until n are left; return these."""
        sets = []

        def note(left, model):
            sets.append(left)
            self.estimator_ = model

        self._shrink(rows, n, seed, note, held)
        self.ranking_ = np.full(self.n_features_in_, len(sets), dtype=np.int64)
        for place, features in enumerate(sets[1:], start=1):
            self.ranking_[features] = len(sets) - place
        return sets[-1]

    def _seed(self) -> int:
        rng = check_random_state(self.random_state)
        return int(rng.randint(np.iinfo(np.int32).max))


class QueryRFE(_BaseElimination, BaseCountedSelector):
    """Leave out the features that a ranker needs least, some at a time.

    A ranker is fitted, the features are judged query by query, the worst ones are left
    out, and so on until few enough are left. scikit-learn's ``RFE`` compares
    coefficients of features on different scales, and counts those that tell queries
    apart instead of documents.

    Complexity: one fit per step, or one for each fold of ``cv`` and one in addition;
    "permutation" adds ``n_features * n_repeats`` predictions to each.

    Parameters
    ----------
    cv : int, splitter or None, default=None
        Folds of queries on whose validation parts features are judged, with rankers
        that were fitted on the training parts. An integer is a number of folds, such as
        `skrank.model_selection.QueryKFold` makes. None judges features by the training
        rows, which is cheaper, and flatters features that a ranker has learned by
        heart.

    See Also
    --------
    QueryRFECV : The number of features is chosen by validation queries.
    skrank.inspection.query_permutation_importance : The same importance, once.

    References
    ----------
    [Guyon2002]_, for classification; [Breiman2001]_, section 10, for permutations.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SubsetRegression
    >>> from skrank.selection import QueryRFE
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> selector = QueryRFE(SubsetRegression(), n_features_to_select=5, step=0.3,
    ...                     random_state=0).fit(X, y, groups)
    >>> selector.transform(X).shape == (len(X), 5)
    True
    """

    # Declared again, so that the estimator alone is given by its place.
    n_features_to_select: NumberOfFeatures = None
    cv: Any = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_features_to_select": 1, "step": 0.5, "importance": "model"},
            {"cv": 2, "n_repeats": 1, "random_state": 0, "measure": "ndcg"},
        ]

    def _selected(self, rows):
        n = self._n_wanted()
        held = None if self.cv is None else folds_of(self, rows, self.cv)
        return self._keep(n, rows, self._seed(), held)


class QueryRFECV(_BaseElimination):
    """Leave out features until validation queries say that a ranker needs the rest.

    On the training part of each fold of queries, features are left out as by
    `QueryRFE`, and the ranker of each number of features is measured on the validation
    part. The number of features with the best mean over folds is then taken, and
    features are left out once more, with all rows.

    Complexity: that of `QueryRFE`, once for each fold and once in addition.

    Parameters
    ----------
    min_features_to_select : int, float or None, default=1
        Smallest number of features to try; a float in (0, 1) is a share of all, and
        None means half of them.
    cv : int or splitter, default=5
        Folds of queries. An integer is a number of folds; a splitter, such as
        `skrank.model_selection.QueryKFold`, is given the groups.
    rule : {"best", "one_standard_error"}, default="best"
        Whether to take the number of features of the best mean, and of equal ones the
        smallest number, or the smallest number whose mean is within one standard error,
        over the folds, of the best one.

    Attributes
    ----------
    n_features_tried_ : ndarray of shape (n_sizes,), dtype int64
        Numbers of features that were tried, falling.
    validation_values_ : ndarray of shape (n_sizes, n_folds)
        Measure of the validation queries; measures of which less is better have the
        opposite sign.

    See Also
    --------
    QueryRFE : The number of features is given.

    References
    ----------
    [Guyon2002]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import SubsetRegression
    >>> from skrank.selection import QueryRFECV
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> selector = QueryRFECV(SubsetRegression(), step=0.5, cv=3, random_state=0)
    >>> selector.fit(X, y, groups).n_features_ <= X.shape[1]
    True
    """

    min_features_to_select: NumberOfFeatures = 1
    cv: Any = 5
    rule: Literal["best", "one_standard_error"] = "best"

    @classmethod
    def _variants(cls):
        return [
            {"cv": 2, "random_state": 1},
            {"cv": 2, "step": 0.5, "importance": "model", "rule": "one_standard_error"},
            {"cv": 3, "min_features_to_select": 2, "n_repeats": 1, "random_state": 0},
        ]

    def _selected(self, rows):
        least = self._n_of(self.min_features_to_select, "min_features_to_select")
        seed = self._seed()

        def measured(train, test):
            values = []

            def measure(left, model):
                value = self._measured(model, with_features(test, left))
                values.append((len(left), value))

            self._shrink(train, least, seed, measure)
            return values

        folds = in_parallel(measured, folds_of(self, rows, self.cv), self.n_jobs)
        self.n_features_tried_ = np.array([size for size, _ in folds[0]])
        self.validation_values_ = np.array(
            [[value for _, value in fold] for fold in folds]
        ).T
        return self._keep(self._n_by_rule(), rows, seed)

    def _n_by_rule(self) -> int:
        """Return the number of features by the validation values."""
        values = self.validation_values_
        values = values[:, ~np.isnan(values).any(axis=0)]
        if not values.size:
            raise ValueError(
                f"{type(self).__name__}: no validation query has a value of "
                f"{get_measure(self.measure).name}; take fewer folds, or another "
                "measure"
            )
        means = values.mean(axis=1)
        best = means.max()
        slack = 0.0
        if self.rule == "one_standard_error" and values.shape[1] > 1:
            of_best = values[int(np.argmax(means))]
            slack = of_best.std(ddof=1) / np.sqrt(len(of_best))
        return int(self.n_features_tried_[means >= best - slack].min())


def folds_of(
    owner: Any, rows: GroupedRows, cv: Any
) -> list[tuple[GroupedRows, GroupedRows]]:
    """Return training and validation queries of each fold.

    Parameters
    ----------
    owner : estimator
        Selector whose parameter ``cv`` it is, for messages.
    rows : GroupedRows
        All rows.
    cv : int or splitter
        Number of folds, or a splitter that is given the groups.
    """
    groups = rows.groups
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if not 2 <= cv <= rows.n_queries:
            accepted = f"2 to {rows.n_queries} folds, the number of queries"
            raise invalid_parameter(owner, "cv", accepted, cv)
        cv = GroupKFold(int(cv))
        groups = np.repeat(np.arange(rows.n_queries), rows.sizes)
    elif not hasattr(cv, "split") or isinstance(cv, type | str):
        raise invalid_parameter(owner, "cv", "a number of folds or a splitter", cv)
    found = splits_of(
        check_cv(cv),
        rows.X,
        rows.y,
        groups,
        rows.n_documents,
        lambda accepted: invalid_parameter(owner, "cv", accepted, cv),
    )
    return [
        (rows.where(_mask_of(train, rows)), rows.where(_mask_of(test, rows)))
        for train, test in found
    ]


def _mask_of(part: np.ndarray, rows: GroupedRows) -> np.ndarray:
    mask = np.zeros(rows.n_documents, dtype=bool)
    mask[part] = True
    return mask


def permutation_importances(
    model: Any, rows: GroupedRows, measure: Any, n_repeats: int, rng: Any
) -> np.ndarray:
    """Return by how much a measure falls if features change places within queries.

    Parameters
    ----------
    model : estimator
        Fitted on the features of the rows.
    rows : GroupedRows
        Rows, grouped by query.
    measure : BaseMeasure
        Measure.
    n_repeats : int
        Number of permutations, the same for all features.
    rng : RandomState
        Source of the permutations.

    Returns
    -------
    ndarray of shape (n_features,)
        Means over permutations and over queries, 0 where the measure has no value.
    """
    groups = rows.groups
    codes = np.repeat(np.arange(rows.n_queries), rows.sizes)

    def measured(X):
        scores = scores_of(model, named_rows(X, rows.feature_names), groups)
        values = measure.per_query(rows.y, scores, rows.ptr)
        return 0.0 if np.isnan(values).all() else measure.mean(values)

    _, falls = falls_by_permutation(
        rows.X, measured, n_repeats, lambda: shuffled_within(codes, rng)
    )
    return measure.sign * falls.mean(axis=1)


def _learned_importances(model, rows) -> np.ndarray:
    """Return what a model says of the importance of its features."""
    last, n_features = last_step(model), rows.X.shape[1]
    learned = _numbers_in(last, "feature_importances_")
    if not learned.size:
        learned = np.abs(_numbers_in(last, "coef_").ravel())
        if len(learned) == n_features:
            given = named_rows(rows.X, rows.feature_names)
            X = rows_of_last_step(model, given, rows.groups)
            X = X if sparse.issparse(X) else np.asarray(X)
            learned = learned * spreads(replace(rows, X=X))
    if np.shape(learned) != (n_features,):
        raise ValueError(
            "importance='model' needs an estimator that learns one number of "
            "feature_importances_ or coef_ for each feature, which "
            f"{type(last).__name__} does not; set importance='permutation'"
        )
    return learned


def _numbers_in(model, attribute) -> np.ndarray:
    """Return what an attribute of a model holds, nothing if it has none."""
    name = f"{attribute} of {type(model).__name__}"
    found = as_numbers(getattr(model, attribute, ()), name)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must hold finite numbers, got {shown(found)}")
    return found
