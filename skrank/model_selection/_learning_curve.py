"""Learning curves over numbers of training queries."""

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import check_random_state

from skrank._core._inner import check_scores_documents
from skrank._core._messages import shown
from skrank._core._missing import unmasked
from skrank._core._parameters import NThreads, Seed
from skrank._core._sparse import check_sparse
from skrank._core._splits import splits_of
from skrank._core._threads import jobs_for
from skrank._core._validation import (
    check_options,
    n_rows,
    naming,
    resolve_groups,
)
from skrank.metrics import make_ranking_scorer
from skrank.model_selection._base import Queries
from skrank.model_selection._kfold import QueryKFold


class QueryLearningCurve(NamedTuple):
    """Scores for growing numbers of training queries.

    Scores are those of scikit-learn's scorers: greater is better. Measures of which
    less is better, such as a mean squared error, appear with the opposite sign.

    Attributes
    ----------
    train_sizes : ndarray of shape (n_sizes,)
        Numbers of training queries.
    train_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the training queries of each split.
    test_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the test queries of each split.
    """

    train_sizes: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray


def _numbers_of_queries(train_sizes: npt.ArrayLike, n_available: int) -> np.ndarray:
    """Return the numbers of queries that shares or numbers ask for."""
    sizes = []
    given: list[Any] = np.unique(np.asarray(unmasked(train_sizes))).tolist()
    if not given:
        raise ValueError("train_sizes must hold at least one size, got none")
    for size in given:
        is_number = isinstance(size, numbers.Integral)
        limit = n_available if is_number else 1
        if not isinstance(size, int | float) or not 0 < size <= limit:
            raise ValueError(
                "train_sizes must hold shares in (0, 1] or numbers of queries from 1 "
                f"to {n_available}, the smallest training set; got {shown(size)}"
            )
        sizes.append(size if is_number else max(1, int(size * n_available)))
    return np.unique(sizes)


def query_learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    groups: npt.ArrayLike | None = None,
    *,
    train_sizes: Sequence[float] | np.ndarray = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    scoring: Any = "ndcg@10",
    random_state: Seed = 0,
    n_jobs: NThreads = None,
) -> QueryLearningCurve:
    """Score a ranker trained on growing numbers of whole queries.

    `sklearn.model_selection.learning_curve` counts rows and cuts through queries. Here
    the training queries of each split are shuffled once and taken from the front, so
    each training set contains the smaller ones.

    Parameters
    ----------
    estimator : estimator
        A ranker, or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Documents, one per row.
    y : array-like of shape (n_samples,)
        Relevance grades.
    groups : array-like of shape (n_samples,), default=None
        Query of each row; needs metadata routing to be enabled. None reads a level
        ``"qid"`` of the pandas index of ``y`` or ``X``.
    train_sizes : array-like of shape (n_sizes,)
        Sizes of the training sets: shares (floats in (0, 1]) of the smallest training
        set of all splits, or numbers of queries (integers).
    cv : splitter or int, default=None
        Splitter of the queries. An integer takes a `QueryKFold` with this number of
        folds, None takes ``QueryKFold(5)``.
    scoring : str, measure or scorer, default="ndcg@10"
        Measure to compute. Names and measures go through `make_ranking_scorer`, which
        turns errors into scores by the opposite sign.
    random_state : int, RandomState instance or None, default=0
        Source of randomness of the order in which training queries are added.
    n_jobs : int, default=None
        Number of fits at the same time.

    Returns
    -------
    QueryLearningCurve
        Tuple of ``train_sizes``, ``train_scores`` and ``test_scores``; greater scores
        are better.

    Raises
    ------
    ValueError
        If an argument is not accepted, a size is out of range, or groups are given
        while routing is off.

    Examples
    --------
    >>> import sklearn
    >>> import numpy as np
    >>> from skrank.model_selection import query_learning_curve
    >>> from skrank.rankers import SubsetRegression
    >>> groups = np.repeat(np.arange(20), 5)
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = (X[:, 0] > 0).astype(float)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     curve = query_learning_curve(
    ...         SubsetRegression(), X, y, groups, train_sizes=[4, 16])
    >>> curve.train_sizes, curve.test_scores.shape
    (array([ 4, 16]), (2, 5))
    """
    check_options(query_learning_curve, locals())
    check_scores_documents(estimator, "estimator")
    if not _is_scorer(scoring):
        with naming("scoring"):
            scoring = make_ranking_scorer(scoring)
    routed = get_config()["enable_metadata_routing"]
    if groups is not None and not routed:
        raise ValueError(
            "groups reach the estimator by metadata routing only: enable it "
            "(sklearn.set_config(enable_metadata_routing=True)), or keep the queries "
            "in a pandas index level 'qid' of y"
        )
    check_sparse(X)
    ids = resolve_groups(
        groups, y, X, n_samples=n_rows(X), caller="query_learning_curve"
    )
    if cv is None or isinstance(cv, numbers.Integral):
        cv = QueryKFold(5 if cv is None else int(cv))
    if getattr(cv, "shape", None) == ():
        raise TypeError(
            "cv must be a number of folds, a splitter, or pairs of arrays of row "
            f"numbers, got {shown(cv)}"
        )
    with naming("cv"):
        cv = check_cv(cv)
    splits, sizes = _growing_splits(X, y, ids, cv, train_sizes, random_state)
    results = cross_validate(
        estimator,
        X,
        y,
        cv=splits,
        scoring=scoring,
        params={"groups": ids} if groups is not None else None,
        return_train_score=True,
        error_score="raise",  # pyright: ignore[reportArgumentType] stated as float
        n_jobs=jobs_for(len(splits), n_jobs),
    )
    shape = (len(sizes), -1)
    return QueryLearningCurve(
        sizes,
        results["train_score"].reshape(shape),
        results["test_score"].reshape(shape),
    )


def _is_scorer(scoring: Any) -> bool:
    """Whether this is a scorer rather than a measure or its name."""
    return callable(scoring) and not hasattr(scoring, "per_query")


def _growing_splits(
    X: Any,
    y: Any,
    ids: np.ndarray,
    cv: Any,
    train_sizes: npt.ArrayLike,
    random_state: Seed,
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return splits of all sizes, those of the smallest size first, and the sizes."""
    queries = Queries(ids)
    codes = queries.codes
    rng = check_random_state(random_state)
    # Queries are permuted once per split, for all sizes: a smaller training set is then
    # part of a larger one, and the curve shows the effect of the size alone.
    splits = splits_of(
        cv, X, y, ids, len(ids), lambda accepted: ValueError(f"cv must be {accepted}")
    )
    folds = [(rng.permutation(np.unique(codes[a])), test) for a, test in splits]
    sizes = _numbers_of_queries(train_sizes, min(len(train) for train, _ in folds))
    splits = [
        (queries.rows(train[:size]), test) for size in sizes for train, test in folds
    ]
    return splits, sizes
