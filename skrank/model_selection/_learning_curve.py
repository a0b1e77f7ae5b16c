"""Learning curves over numbers of training queries."""

import numbers
from typing import NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import check_random_state

from skrank._core._validation import n_rows, resolve_groups
from skrank.metrics import make_ranking_scorer
from skrank.model_selection._base import Queries
from skrank.model_selection._kfold import QueryKFold


class QueryLearningCurve(NamedTuple):
    """Scores for growing numbers of training queries.

    Attributes
    ----------
    train_sizes : ndarray of shape (n_sizes,)
        Numbers of training queries.
    train_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the queries trained on.
    test_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the test queries of the split.
    """

    train_sizes: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray


def _numbers_of_queries(train_sizes, n_available):
    """Numbers of queries from shares or numbers."""
    sizes = []
    for size in np.unique(train_sizes).tolist():
        is_number = isinstance(size, numbers.Integral)
        if not 0 < size <= (n_available if is_number else 1):
            raise ValueError(
                "train_sizes must hold shares in (0, 1] or numbers of queries from 1 "
                f"to {n_available}, the smallest training set; got {size!r}"
            )
        sizes.append(size if is_number else max(1, int(size * n_available)))
    return np.unique(sizes)


def query_learning_curve(
    estimator,
    X,
    y,
    groups=None,
    *,
    train_sizes=(0.1, 0.325, 0.55, 0.775, 1.0),
    cv=None,
    scoring="ndcg@10",
    random_state=0,
    n_jobs: int | None = None,
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
        Documents.
    y : array-like of shape (n_samples,)
        Grades.
    groups : array-like of shape (n_samples,), default=None
        Query of each row, needs metadata routing to be enabled; None reads a pandas
        index level ``qid`` of ``y`` or ``X``.
    train_sizes : array-like of shape (n_sizes,)
        Shares of the smallest training set, or numbers of queries.
    cv : splitter or int, default=None
        None is ``QueryKFold(5)``, an integer the number of its folds.
    scoring : str, measure or scorer, default="ndcg@10"
        Names and measures go through `make_ranking_scorer`.
    random_state : int, RandomState instance or None, default=0
        Order of the training queries.
    n_jobs : int, default=None
        Number of parallel jobs.

    Returns
    -------
    QueryLearningCurve
        ``train_sizes, train_scores, test_scores``.

    Raises
    ------
    ValueError
        If a size is out of range, or groups are given while routing is off.

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
    routed = get_config()["enable_metadata_routing"]
    if groups is not None and not routed:
        raise ValueError(
            "groups reach the estimator by metadata routing only: enable it "
            "(sklearn.set_config(enable_metadata_routing=True)), or keep the queries "
            "in a pandas index level 'qid' of y"
        )
    ids = resolve_groups(
        groups, y, X, n_samples=n_rows(X), caller="query_learning_curve"
    )
    if cv is None or isinstance(cv, numbers.Integral):
        cv = QueryKFold(5 if cv is None else int(cv))
    splits, sizes = _growing_splits(X, y, ids, check_cv(cv), train_sizes, random_state)
    results = cross_validate(
        estimator,
        X,
        y,
        cv=splits,
        scoring=scoring if _is_scorer(scoring) else make_ranking_scorer(scoring),
        params={"groups": ids} if groups is not None else None,
        return_train_score=True,
        error_score="raise",
        n_jobs=n_jobs,
    )
    shape = (len(sizes), -1)
    return QueryLearningCurve(
        sizes,
        results["train_score"].reshape(shape),
        results["test_score"].reshape(shape),
    )


def _is_scorer(scoring):
    return callable(scoring) and not hasattr(scoring, "per_query")


def _growing_splits(X, y, ids, cv, train_sizes, random_state):
    """Splits of all sizes, those of the smallest size first."""
    queries = Queries(ids)
    codes = queries.codes
    rng = check_random_state(random_state)
    folds = [
        (rng.permutation(np.unique(codes[train])), test)
        for train, test in cv.split(X, y, ids)
    ]
    sizes = _numbers_of_queries(train_sizes, min(len(train) for train, _ in folds))
    splits = [
        (queries.rows(train[:size]), test) for size in sizes for train, test in folds
    ]
    return splits, sizes
