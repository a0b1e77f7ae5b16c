"""What every ranker promises."""

import pickle
import warnings
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._core._inner import needs_groups, parameters_of, scores_of
from skrank._core._messages import shown, words_of
from skrank._core._threads import effective_n_threads
from skrank.base import BaseRanker
from skrank.exceptions import TrainingDataWarning
from skrank.metrics import evaluate_measure
from skrank.testing._common import (
    Check,
    called,
    close,
    copies_of,
    read_only,
    require,
    same_bits,
    seeded,
)

# Rankers that were fitted for one check serve the others, as long as they live.
_FITTED: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def example_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of 22 queries, adjacent and in ascending order of their ids.

    Some queries have one document only, or documents of equal grades.

    Returns
    -------
    X : ndarray of shape (n_documents, 6)
        Features, of which two tell the grade.
    y : ndarray of shape (n_documents,)
        Grades 0 to 3.
    groups : ndarray of shape (n_documents,)
        Ids of the queries.
    """
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 13, 22)
    groups = np.repeat(np.arange(22), sizes)
    X = rng.normal(size=(len(groups), 6))
    utility = 1.5 * X[:, 0] - X[:, 2] + 0.2 * rng.normal(size=len(groups))
    cuts = np.quantile(utility, [0.4, 0.7, 0.9])
    return X, np.searchsorted(cuts, utility).astype(float), groups


def fit(ranker: Any, X: Any, y: Any, groups: Any, **params: Any) -> Any:
    """Return a seeded copy of a ranker that was fitted to rows."""
    copied = seeded(ranker).set_params(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", TrainingDataWarning)
        return copied.fit(X, y, groups)


def _fitted(ranker):
    if ranker not in _FITTED:
        _FITTED[ranker] = fit(ranker, *example_data())
    return _FITTED[ranker]


def _expected(ranker):
    X, _, groups = example_data()
    return scores_of(_fitted(ranker), X, groups)


def check_learning(ranker: BaseRanker) -> None:
    """Check that there is one finite score per row, and that something is learned."""
    X, y, groups = example_data()
    fitted = _fitted(ranker)
    takes_groups = "groups" in parameters_of(fitted.predict)
    scores = fitted.predict(X, groups) if takes_groups else fitted.predict(X)
    require(
        np.shape(scores) == (len(X),)
        and scores.dtype == np.float64
        and np.isfinite(scores).all(),
        ranker,
        "must predict one finite score of dtype float64 for each row, predicted "
        f"{shown(scores)}",
    )
    value = fitted.score(X, y, groups)
    require(
        value > _by_chance(),
        ranker,
        f"reaches NDCG@10 of {value:.3f} on its training data, and random scores "
        f"{_by_chance():.3f}",
    )


@cache
def _by_chance() -> float:
    """Return the NDCG@10 of random scores on the example data, in the mean."""
    _, y, groups = example_data()
    rng = np.random.default_rng(0)
    drawn = (rng.normal(size=len(y)) for _ in range(20))
    values = [
        float(evaluate_measure("ndcg@10", y, scores, groups=groups)) for scores in drawn
    ]
    return float(np.mean(values))


def check_fit(ranker: BaseRanker) -> None:
    """Check that fit returns the ranker and leaves parameters and inputs alone."""
    X, y, groups = example_data()
    copied = seeded(ranker)
    before = repr(copied.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            returned = copied.fit(read_only(X), read_only(y), read_only(groups))
        except ValueError as error:
            raise AssertionError(
                f"{called(ranker)} cannot learn from arrays that are read-only: {error}"
            ) from error
    require(returned is copied, ranker, "must return itself from fit")
    require(
        repr(copied.get_params()) == before,
        ranker,
        "changes its parameters in fit: what is learned belongs into attributes that "
        "end in an underscore",
    )
    require(
        same_bits(scores_of(copied, X, groups), _expected(ranker)),
        ranker,
        "has other scores after it was fitted with the same seed again",
    )


def check_order_of_queries(ranker: BaseRanker) -> None:
    """Check that the order of the queries does not change a bit."""
    X, y, groups = example_data()
    shuffled = np.random.default_rng(1).permutation(np.unique(groups))
    order = np.concatenate([np.flatnonzero(groups == q) for q in shuffled])
    moved = fit(ranker, X[order], y[order], groups[order])
    require(
        same_bits(scores_of(moved, X, groups), _expected(ranker)),
        ranker,
        "learns something else when the queries come in another order",
    )


def check_mixed_rows(ranker: BaseRanker) -> None:
    """Check that rows of different queries may be mixed."""
    X, y, groups = example_data()
    # Within a query the rows keep their order.
    position = np.concatenate([np.arange(c) for c in np.bincount(groups)])
    order = np.lexsort((groups, position))
    mixed = fit(ranker, X[order], y[order], groups[order])
    require(
        same_bits(scores_of(mixed, X, groups), _expected(ranker)),
        ranker,
        "learns something else when the rows of the queries are mixed",
    )


def check_ids(ranker: BaseRanker) -> None:
    """Check that query ids may be texts."""
    X, y, groups = example_data()
    texts = np.array([f"query {g:03d}" for g in groups])
    named = fit(ranker, X, y, texts)
    require(
        same_bits(scores_of(named, X, texts), _expected(ranker)),
        ranker,
        "learns something else when query ids are texts",
    )


def check_missing_groups(ranker: BaseRanker) -> None:
    """Check that there is no fit without groups."""
    X, y, _ = example_data()
    try:
        seeded(ranker).fit(X, y)
    except ValueError:
        return
    require(False, ranker, "takes rows without groups for a single query")


def check_routing(ranker: BaseRanker) -> None:
    """Check that scikit-learn's metadata routing hands on the groups."""
    request: Any = get_routing_for_object(ranker)
    for method in ("fit", "score"):
        require(
            getattr(request, method).requests.get("groups") is True,
            ranker,
            f"must ask for groups in {method}: __metadata_request__{method} = "
            '{"groups": True}',
        )


def check_threads(ranker: BaseRanker) -> None:
    """Check that the number of threads does not change a bit."""
    if "n_jobs" not in ranker.get_params(deep=False):
        return
    X, y, groups = example_data()
    given: Any = ranker.get_params(deep=False)["n_jobs"]
    for n_jobs in {1, 2, 3} - {effective_n_threads(given)}:
        other = fit(ranker, X, y, groups, n_jobs=n_jobs)
        require(
            same_bits(scores_of(other, X, groups), _expected(ranker)),
            ranker,
            "changes with the number of threads",
        )


def check_sparse(ranker: BaseRanker) -> None:
    """Check that sparse rows are taken where the tags say so, and refused elsewhere."""
    X, y, groups = example_data()
    thin = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    takes = ranker.__sklearn_tags__().input_tags.sparse
    try:
        fitted = fit(ranker, thin, y, groups)
        scores = scores_of(fitted, thin, groups)
    except Exception as error:
        refused = isinstance(error, TypeError) and not takes
        require(
            refused,
            ranker,
            "fails with sparse rows, which its tags say that it takes "
            f"({type(error).__name__}: {words_of(error)}); a class that takes no "
            "sparse rows says so by _accepts_sparse = False",
        )
        return
    require(takes, ranker, "takes sparse rows, which its tags do not say")
    require(np.isfinite(scores).all(), ranker, "has scores of sparse rows not finite")


def check_uninformative_queries(ranker: BaseRanker) -> None:
    """Check that queries without preference are no obstacle."""
    X = np.random.default_rng(0).normal(size=(9, 6))
    y = np.array([1.0, 0, 0, 2, 2, 1, 1, 0, 3])  # one document; equal grades
    groups = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4])
    scores = scores_of(fit(ranker, X, y, groups), X, groups)
    require(
        np.isfinite(scores).all(),
        ranker,
        "has scores that are not finite where some queries have equal grades only",
    )


def check_ranks(ranker: BaseRanker) -> None:
    """Check that ranks and top documents follow the scores."""
    X, _, groups = example_data()
    fitted, scores = _fitted(ranker), _expected(ranker)
    ranks, best = fitted.rank(X, groups), fitted.top_documents(X, groups, k=2)
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        found = [row for row in best if groups[row] == query]
        require(
            ranks[order].tolist() == list(range(1, len(rows) + 1))
            and found == order[:2].tolist(),
            ranker,
            "has ranks or top documents that do not follow its scores",
        )


def check_rows_by_themselves(ranker: BaseRanker) -> None:
    """Check that rows have the same scores without those beside them.

    A ranker whose scores depend on the documents of a query takes groups in predict.
    """
    fitted = _fitted(ranker)
    if needs_groups(fitted):
        return
    X, _, _ = example_data()
    part = np.arange(0, len(X), 3)
    require(
        close(fitted.predict(X[part]), fitted.predict(X)[part], rtol=1e-6, atol=1e-9),
        ranker,
        "gives rows other scores when some of the rows beside them are left out; where "
        "a score depends on the other documents of the query, predict must take groups",
    )


def check_unfitted(ranker: BaseRanker) -> None:
    """Check that predict before fit says so."""
    X, _, groups = example_data()
    try:
        scores_of(clone(ranker), X, groups)
    except NotFittedError:
        return
    except Exception as error:
        raise AssertionError(
            f"{called(ranker)} must raise NotFittedError in predict before fit, raised "
            f"{type(error).__name__}: {error}"
        ) from error
    require(False, ranker, "predicts before it was fitted")


def check_copies(ranker: BaseRanker) -> None:
    """Check that clones and unpickled copies have the same scores."""
    X, _, groups = example_data()
    copies_of(ranker)
    cls = type(ranker)
    require(
        "<locals>" not in cls.__qualname__,
        ranker,
        f"cannot be pickled, because {cls.__name__} is defined within a function; "
        "define the class at the top of a module",
    )
    again = pickle.loads(pickle.dumps(_fitted(ranker)))
    require(
        same_bits(scores_of(again, X, groups), _expected(ranker)),
        ranker,
        "has other scores after it was fitted and pickled",
    )


def checks_of_rankers(ranker: BaseRanker) -> Iterator[Check]:
    """Yield the checks of a ranker."""
    yield from (
        check_routing,
        check_unfitted,
        check_fit,
        check_learning,
        check_copies,
        check_order_of_queries,
        check_mixed_rows,
        check_ids,
        check_missing_groups,
        check_uninformative_queries,
        check_ranks,
        check_rows_by_themselves,
        check_sparse,
        check_threads,
    )
