"""What is said of fitted rankers that give all documents of a query the same score."""

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skrank._core._finite import quiet
from skrank._core._informative import is_inner_fit, same_documents, warn_of_data
from skrank._rows import GroupedRows

# Of this many rows the scores are looked at first, and of more where they are equal.
_FIRST_ROWS = 128
_TINY, _HUGE = 1e-6, 1e9
# Features in units of their standard deviations vary by more than 1.
_NARROW = 0.1


class EqualScoresMixin:
    """What rankers say about themselves where they have learned no order."""

    _needs_groups: Any
    _predicted: Any
    get_params: Any

    #: Parameters that hold scores back, and may keep them all equal.
    _penalties: ClassVar[tuple[str, ...]] = ("alpha", "l1", "l2_regularization")
    #: What gives equal scores.
    _giver = "it gives"
    #: Differences of scores that are rounding errors of the solver.
    _equal_within = 0.0

    def _scores_of_rows(self, data: GroupedRows) -> np.ndarray:
        """Return the scores of rows in the form in which a fit sees them."""
        if self._needs_groups:
            return self._predicted(data.X, data.ptr)
        return self._predicted(data.X)

    def _has_warned_of_its_solver(self) -> bool:
        """Return whether a ConvergenceWarning has told why little was learned."""
        return False

    def _why_equal_scores(self) -> Iterator[str]:
        """Yield clauses about parameters that may have made all scores equal."""
        strong = []
        for name, value in self.get_params(deep=True).items():
            is_penalty = name.rpartition("__")[2] in self._penalties
            if is_penalty and isinstance(value, Real) and float(value) > 0.0:
                strong.append(f"{name}={value:g}")
        if strong:
            are = "are" if len(strong) > 1 else "is"
            yield (
                f"{' and '.join(strong)} {are} stronger than what the features say of "
                "the order"
            )


def warn_of_equal_scores(ranker: Any, data: GroupedRows) -> None:
    """Warn if a ranker that has just learned tells no documents of a query apart.

    Parameters
    ----------
    ranker : BaseRanker
        Fitted ranker.
    data : GroupedRows
        Training rows. In general the scores of the first ones are enough to know.

    Warns
    -----
    TrainingDataWarning
        If the documents of each query get the same score, although some query prefers a
        document to another and their features differ.
    """
    if is_inner_fit() or ranker._has_warned_of_its_solver():
        return
    queries = np.flatnonzero(data.has_preference())
    ends, n_looked_at = np.cumsum(data.sizes[queries]), 0
    n_rows = _FIRST_ROWS
    while n_looked_at < len(queries):
        stop = max(n_looked_at + 1, int(np.searchsorted(ends, n_rows, side="right")))
        if _scores_differ(ranker, data.subset(queries[n_looked_at:stop])):
            return
        n_looked_at, n_rows = stop, 8 * n_rows
    part = data.subset(queries)
    if not len(queries) or same_documents(part.X, part.ptr):
        return  # of which there has been a warning, or equal scores are right
    judged = "their grades" if data.preferences is None else "the preferences"
    reasons = [*_extremes(data), *ranker._why_equal_scores()]
    if not reasons:
        reasons = ["the features say nothing of the order"]
    warn_of_data(
        f"{type(ranker).__name__} has learned no order: {ranker._giver} all documents "
        f"of a query the same score, although {judged} and features differ, possibly "
        f"because {', or because '.join(reasons)}"
    )


def _scores_differ(ranker, data: GroupedRows) -> bool:
    """Return whether some query has documents of different scores."""
    with quiet():
        try:
            scores = np.asarray(ranker._scores_of_rows(data), dtype=np.float64)
        except Exception:  # which is for those to see who ask for scores
            return True
        scores = scores + data.side.get("init_score", 0.0)
        high = np.maximum.reduceat(scores, data.ptr[:-1])
        low = np.minimum.reduceat(scores, data.ptr[:-1])
        rounding = 4.0 * np.finfo(np.float64).eps * np.maximum(np.abs(high), abs(low))
        # Scores that are not finite are left to those who ask for them.
        same = high - low <= np.maximum(rounding, ranker._equal_within)
    return not same.all()


def _extremes(data: GroupedRows) -> Iterator[str]:
    """Yield clauses about numbers so small, or so large, that nothing is learned."""
    yield from _extreme_features(data.X)
    if data.y is not None:
        y = np.asarray(data.y, dtype=np.float64)
        if np.ptp(y) < _TINY:
            yield f"no two grades in y differ by more than {np.ptp(y):.2g} (scale them)"
        elif y.max() > _HUGE:
            yield f"grades in y are as large as {y.max():.2g} (scale them)"
    weight = data.sample_weight
    if data.preferences is not None:
        weight = data.preferences.weight
    if weight is None:
        return
    if weight.max() < _TINY:
        yield f"sample_weight holds no number above {weight.max():.2g} (scale it)"
    elif data.y is not None and not data.where(weight > 0).has_preference().any():
        yield "only documents of equal grades in each query have a weight above 0"


def _extreme_features(X) -> Iterator[str]:
    if sparse.issparse(X):
        # Of a sparse matrix, this is a matrix of one row; of a sparse array, an array.
        high, low = (m.toarray().ravel() for m in (X.nanmax(axis=0), X.nanmin(axis=0)))
    elif isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        high, low = np.fmax.reduce(X, axis=0), np.fmin.reduce(X, axis=0)
    else:
        return
    with quiet():
        spread = high.astype(np.float64) - low
    widest = spread[~np.isnan(spread)].max(initial=0.0)
    if widest < _NARROW:
        yield (
            f"no feature in X varies by more than {widest:.2g} (StandardScaler is a "
            "remedy)"
        )
    elif widest > _HUGE:
        yield (
            f"features in X vary by as much as {widest:.2g} (StandardScaler is a "
            "remedy)"
        )
