"""What every measure promises."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank.metrics import BaseMeasure, FunctionMeasure
from skrank.testing._common import (
    Check,
    called,
    close,
    copies_of,
    read_only,
    require,
    same_bits,
)

# Treatments of equal scores that do not look at the order of the rows.
_WITHOUT_ROW_ORDER = ("average", "best", "worst", "docid", "threshold")
# Whether a query has what a measure may need, by its grades 0 and 4.
_HOLDS = {
    "relevant documents": lambda y: 4 in y,
    "nonrelevant documents": lambda y: 0 in y,
    "different grades": lambda y: len(set(y)) > 1,
}


class _Queries:
    """Queries of several lengths, with what a measure may ask for."""

    def __init__(self, measure, *, tied=False):
        rng = np.random.default_rng(0)
        sizes = [1, 7, 12, 2, 40, 5, 1]
        self.ptr = np.r_[0, np.cumsum(sizes)]
        n = self.ptr[-1]
        y = rng.integers(0, 5, n).astype(float)
        y[self.ptr[2] : self.ptr[3]] = 0.0
        y[self.ptr[3] : self.ptr[4]] = [1.0, 0.0]
        y[-1] = 3.0
        self.y = y
        scores = rng.normal(size=n)
        self.scores = np.round(scores) if tied else scores
        self.rows = {
            "docids": rng.permutation(n).astype(str),
            "row_arguments": {
                name: rng.uniform(1.0, 2.0, n) for name in measure._row_names()
            },
        }

    def values(self, measure, rows=None, ptr=None, **changes):
        """Values of a measure, of some rows or with other scores."""
        rows = slice(None) if rows is None else rows
        scores = changes.pop("scores", self.scores)
        extra = self.rows["row_arguments"]
        given: dict[str, Any] = {"docids": self.rows["docids"][rows]}
        if extra:
            given["row_arguments"] = {name: v[rows] for name, v in extra.items()}
        return np.asarray(
            measure.per_query(
                self.y[rows],
                scores[rows],
                self.ptr if ptr is None else ptr,
                **given,
                **changes,
            )
        )


def _breaks_ties_by_rows(measure):
    return getattr(measure, "ties", "rows") not in _WITHOUT_ROW_ORDER


def check_values(measure: BaseMeasure) -> None:
    """Check that there is one value for each query, within the bounds."""
    queries = _Queries(measure)
    values = queries.values(measure)
    n = len(queries.ptr) - 1
    require(
        values.shape == (n,),
        measure,
        f"returns an array of shape {values.shape} for {n} queries",
    )
    defined = values[~np.isnan(values)]
    require(len(defined), measure, "has no value for any query of the check")
    low, high = measure.bounds
    outside = defined[(defined < low) | (defined > high)]
    require(
        not len(outside),
        measure,
        f"has the value {next(iter(outside), 0.0):g}, outside of its bounds "
        f"{tuple(measure.bounds)}",
    )


def check_queries_are_independent(measure: BaseMeasure) -> None:
    """Check that a query has the same value whatever stands beside it."""
    queries = _Queries(measure, tied=not _breaks_ties_by_rows(measure))
    together = queries.values(measure)
    if getattr(measure, "ties", None) == "random":
        return
    alone = [
        queries.values(measure, slice(a, b), np.array([0, b - a]))[0]
        for a, b in pairwise(queries.ptr)
    ]
    require(
        same_bits(together, alone),
        measure,
        "gives a query another value among others than alone",
    )


def check_order_of_rows(measure: BaseMeasure) -> None:
    """Check that the rows of a query may come in any order."""
    queries = _Queries(measure, tied=not _breaks_ties_by_rows(measure))
    rng = np.random.default_rng(1)
    spans = pairwise(queries.ptr)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in spans])
    require(
        close(queries.values(measure, order), queries.values(measure)),
        measure,
        "changes with the order of the rows of a query, whose scores differ"
        if _breaks_ties_by_rows(measure)
        else "changes with the order of the rows of a query",
    )


def check_direction(measure: BaseMeasure) -> None:
    """Check that ranking by grade is no worse than ranking against it."""
    queries = _Queries(measure)
    good = np.nanmean(queries.values(measure, scores=queries.y))
    bad = np.nanmean(queries.values(measure, scores=-queries.y))
    require(
        measure.sign * (good - bad) >= -1e-12,
        measure,
        f"says greater_is_better={measure.greater_is_better}, but is {good:.4g} where "
        f"documents are ranked by grade and {bad:.4g} where they are ranked against it",
    )


def check_undefined_queries(measure: BaseMeasure) -> None:
    """Check that values are missing where the class says so, and follow the rule."""
    lists = ([0.0], [4.0], [0.0, 0.0, 0.0], [4.0, 4.0], [0.0, 4.0, 0.0])
    queries = _Queries(measure)
    queries.y = np.concatenate(lists)
    queries.ptr = np.r_[0, np.cumsum([len(y) for y in lists])]
    rows = slice(0, len(queries.y))
    queries.scores = np.arange(len(queries.scores), dtype=float)
    skipping = clone(measure).set_params(empty_query="skip")
    values = queries.values(skipping, rows)
    if not isinstance(measure, FunctionMeasure):
        holds = _HOLDS.get(str(measure.undefined_without), lambda y: True)
        expected = [not holds(y) for y in lists]
        require(
            np.isnan(values).tolist() == expected,
            measure,
            f"says undefined_without={measure.undefined_without!r}, but for grades "
            f"{lists} its values are {values.tolist()}",
        )
    filled = queries.values(clone(measure).set_params(empty_query=-7.0), rows)
    require(
        same_bits(filled, np.where(np.isnan(values), -7.0, values)),
        measure,
        "does not replace NaN by the number empty_query",
    )
    if np.isnan(values).any():
        strict = clone(measure).set_params(empty_query="raise")
        try:
            queries.values(strict, rows)
        except ValueError:
            return
        require(False, measure, "returns NaN although empty_query is 'raise'")


def check_swap_deltas(measure: BaseMeasure) -> None:
    """Check the changes by swaps against the values before and after each one."""
    if measure._row_names():
        return  # losses, which ask for them, have no row arguments
    if not measure.has_swap_deltas:
        try:
            measure.swap_deltas([1.0, 0.0], [1, 2])
        except ValueError:
            return
        require(False, measure, "has swap deltas although has_swap_deltas is False")
    rng = np.random.default_rng(2)
    queries = _Queries(measure)
    cubed = queries.values(measure, scores=queries.scores**3)
    require(
        close(cubed, queries.values(measure)),
        measure,
        "says has_swap_deltas=True, but depends on the scores and not on their order "
        "alone",
    )
    filled = clone(measure).set_params(empty_query=0.0)
    for m in (1, 2, 6):
        y, ranks = rng.integers(0, 5, m).astype(float), rng.permutation(m) + 1
        expected = np.zeros((m, m))
        value = _value_of_ranks(filled, y, ranks)
        for i, j in np.ndindex(m, m):
            swapped = ranks.copy()
            swapped[[i, j]] = ranks[[j, i]]
            expected[i, j] = _value_of_ranks(filled, y, swapped) - value
        require(
            close(measure.swap_deltas(y, ranks), expected),
            measure,
            "has swap deltas that are not the changes of its value",
        )


def _value_of_ranks(measure, y, ranks):
    # Ranks have no ties left that document ids could break.
    options = {"docids": np.arange(len(y))}
    return measure.per_query(y, -ranks.astype(float), np.array([0, len(y)]), **options)[
        0
    ]


def check_purity(measure: BaseMeasure) -> None:
    """Check that inputs stay as they are, and that the result is the same again."""
    queries = _Queries(measure)
    if getattr(measure, "ties", None) == "random" and measure.random_state is None:
        return
    first = queries.values(measure)
    queries.y, queries.scores = read_only(queries.y), read_only(queries.scores)
    try:
        again = queries.values(measure)
    except ValueError as error:
        raise AssertionError(
            f"{called(measure)} cannot evaluate arrays that are read-only: {error}"
        ) from error
    require(same_bits(again, first), measure, "has other values the second time")


def check_threads(measure: BaseMeasure) -> None:
    """Check that the number of threads changes nothing."""
    queries = _Queries(measure)
    if getattr(measure, "ties", None) == "random":
        return
    one, two = (queries.values(measure, n_threads=n) for n in (1, 2))
    require(same_bits(two, one), measure, "changes with the number of threads")


def check_copies(measure: BaseMeasure) -> None:
    """Check that clones and unpickled copies have the same parameters and values."""
    queries = _Queries(measure)
    if getattr(measure, "ties", None) == "random":
        return
    expected = queries.values(measure)
    for copied in copies_of(measure):
        require(
            same_bits(queries.values(copied), expected),
            measure,
            "has other values after it was cloned or pickled",
        )


def checks_of_measures(measure: BaseMeasure) -> Iterator[Check]:
    """Yield the checks of a measure."""
    yield from (
        check_copies,
        check_values,
        check_purity,
        check_queries_are_independent,
        check_order_of_rows,
        check_direction,
        check_undefined_queries,
        check_swap_deltas,
        check_threads,
    )
