"""What training data are worth, said before the fit; and what broke it, said after."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from skrank._core._finite import is_complaint, unsafe_range
from skrank._core._informative import (
    dwarfing_gap,
    same_documents,
    warn_of_data,
    without_features,
    without_preference,
)
from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError
from skrank._core._queries import QueryIndex
from skrank._rows import GroupedRows
from skrank._validation_sets import measures_of
from skrank.metrics import get_measure


def warn_of_training_data(ranker: Any, data: GroupedRows, index: QueryIndex) -> None:
    """Warn of grades, queries and features from which no order can be learned.

    Parameters
    ----------
    ranker : BaseRanker
        Ranker that is about to learn from the data.
    data : GroupedRows
        Training rows, with grades or preferences.
    index : QueryIndex
        How the rows came to be grouped.

    Warns
    -----
    TrainingDataWarning
        If y and groups look swapped, if no query prefers a document to another, if the
        documents of each query have the same features, or if one gain of a query
        dwarfs all others.
    """
    name = type(ranker).__name__
    if data.y is not None and _look_swapped(data, index):
        warn_of_data(
            f"{name}: y and groups look swapped: y holds {len(np.unique(data.y))} "
            "whole numbers, each in one block of adjacent rows, as query ids do, and "
            f"groups {data.n_queries} values that recur, as grades do. The order of "
            "the arguments is fit(X, y, groups)"
        )
    elif data.y is not None and not data.has_preference().any():
        # Pointwise rankers do learn scores from such data.
        why = without_preference(data.y, data.n_queries)
        warn_of_data(f"{name}: no query prefers a document to another, because {why}")
    elif same_documents(data.X, data.ptr):
        why = without_features(data.X, data.n_queries)
        warn_of_data(f"{name} learns no order of documents, because {why}")
    elif data.y is not None:
        _warn_of_dwarfing_gain(ranker, data)


def _warn_of_dwarfing_gain(ranker, data: GroupedRows) -> None:
    gap = dwarfing_gap(np.asarray(data.y), data.ptr)
    found = None if gap is None else _exponential_gain(ranker)
    if found is not None:
        gain, instead = found
        warn_of_data(
            f"{type(ranker).__name__}: {gain} takes 2 to the power of a grade as its "
            "gain, and in half of the queries the best grade exceeds the next by "
            f"{gap:g} or more, so that one document of a query hardly leaves any "
            "weight to the others. For amounts such as revenue use linear gain, "
            f"{instead}, or a mapping of grades to gains"
        )


def warn_of_validation_data(ranker: Any, validation: GroupedRows, given: bool) -> None:
    """Warn of validation queries whose measure is the same for all rankings.

    Parameters
    ----------
    ranker : BaseRanker
        Ranker that is about to learn, and has a ``validation_measure``.
    validation : GroupedRows
        Validation rows, with grades.
    given : bool
        Whether the user chose the rows, instead of ``early_stopping``.

    Warns
    -----
    TrainingDataWarning
        If no validation query of a set prefers a document to another.
    """
    measure = measures_of(ranker.validation_measure)[0]
    if not measure.greater_is_better:  # errors of scores need no preference
        return
    sets = validation.sets()
    for name, rows in sets.items():
        if rows.y is None or rows.has_preference().any():
            continue
        of_set = f" {name!r}" if len(sets) > 1 else ""
        if given:
            groups, y = "groups_val", "y_val"
        else:
            groups, y = "groups", "the grades held out by early_stopping"
        why = without_preference(rows.y, rows.n_queries, groups, y)
        warn_of_data(
            f"{type(ranker).__name__}: {measure.name} of the validation queries{of_set}"
            f" cannot tell one model from another, because {why}"
        )


_TRANSFORMED = (
    "If a pipeline transforms X, Pipeline(steps, transform_input=['X_val']) transforms "
    "X_val as well"
)
_MOST_ROWS = 5_000  # that are looked at, at equal distances
_FEWEST_QUERIES = 10  # whose features have a range worth the name


@contextmanager
def hinting_at_pipelines() -> Iterator[None]:
    """Say in errors about the features of validation rows how pipelines pass them on.

    Raises
    ------
    TypeError or ValueError
        The error, with the hint after its message.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{str(error).rstrip('.')}. {_TRANSFORMED}") from error


def warn_of_other_ranges(
    ranker: Any, data: GroupedRows, validation: GroupedRows
) -> None:
    """Warn of validation rows that look as if they had missed a transformation.

    Parameters
    ----------
    ranker : BaseRanker
        Ranker that is about to learn from the data.
    data, validation : GroupedRows
        Training and validation rows; only dense numbers are compared.

    Warns
    -----
    TrainingDataWarning
        If most values of the validation rows are beyond those of the training rows.
    """
    few = data.n_queries < _FEWEST_QUERIES
    if few or not (_is_numeric(data.X) and _is_numeric(validation.X)):
        return
    known, rows = _some_rows(data.X), _some_rows(validation.X)
    # Missing values are passed over here, and beyond nothing below.
    low, high = np.fmin.reduce(known, axis=0), np.fmax.reduce(known, axis=0)
    share = float(np.mean((rows < low) | (rows > high)))
    if share > 0.5:
        warn_of_data(
            f"{type(ranker).__name__}: {share:.0%} of the values of X_val lie beyond "
            f"the lowest and highest values of their features in X. {_TRANSFORMED}"
        )


def _is_numeric(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind in "biuf"


def _some_rows(X: np.ndarray) -> np.ndarray:
    return X[:: max(1, len(X) // _MOST_ROWS)]


def _look_swapped(data: GroupedRows, index: QueryIndex) -> bool:
    """Tell whether grades look like query ids, and query ids like grades.

    So they do where each of many whole numbers stands in one block of adjacent rows of
    y, as ids do, while fewer values recur all over groups, as grades do.
    """
    y: Any = index.restore(np.asarray(data.y))
    n_blocks = 1 + int(np.count_nonzero(y[1:] != y[:-1]))
    # No blocks at all, or as many queries as blocks, as where they are told apart by y.
    if 2 * n_blocks > len(y) or n_blocks <= data.n_queries:
        return False
    codes = index.restore(index.codes)
    n_runs = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
    if n_runs <= n_blocks or n_runs < 2 * data.n_queries:
        return False
    values = np.unique(y)
    return len(values) == n_blocks and bool(np.all(values == np.floor(values)))


def _exponential_gain(ranker) -> tuple[str, str] | None:
    """Return the parameter by which a ranker takes powers of 2, and that to use."""
    for name, value in ranker.get_params(deep=True).items():
        last = name.rpartition("__")[2]
        if last == "gain" and isinstance(value, str) and value == "exp2":
            return f"{name}='exp2'", f"{name}='linear'"
        if (
            last in ("measure", "utility")
            and value is not None
            and getattr(get_measure(value), "gain", None) == "exp2"
        ):
            return f"{name}={shown(value)}", f"{name}={_with_linear_gain(value)}"
    return None


def _with_linear_gain(measure) -> str:
    """Return how a measure is written with linear gain."""
    if not isinstance(measure, str):
        return f"{type(measure).__name__}(gain='linear')"
    name, _, depth = measure.partition("@")
    depth = re.sub(r"\D.*", "", depth)
    name = re.sub(r"\W.*", "", name)
    return repr(f"{name}(gain=linear)" + (f"@{depth}" if depth else ""))


def overflow_in_data(
    error: Exception,
    data: GroupedRows,
    validation: GroupedRows | None,
    *,
    sums_features: bool,
) -> str | None:
    """Return a sentence about the argument whose numbers made a fit fail.

    Parameters
    ----------
    error : Exception
        What the fit raised.
    data : GroupedRows
        Training rows.
    validation : GroupedRows or None
        Validation rows.
    sums_features : bool
        Whether sums are taken of the features, which may overflow, too.

    Returns
    -------
    str or None
        What was found and what is accepted; None if the error has other causes.
    """
    if isinstance(error, InvalidParameterError) or not is_complaint(error):
        return None
    named: list[tuple[str, Any]] = [
        ("y", data.y),
        ("sample_weight", data.sample_weight),
    ]
    if data.preferences is not None:
        named.append(("sample_weight", data.preferences.weight))
    named += [*data.side.items()]
    if sums_features:
        named.append(("X", data.X))
    if validation is not None:
        named += [("y_val", validation.y)]
        named += [(f"{name}_val", held) for name, held in validation.side.items()]
        if sums_features:
            named.append(("X_val", validation.X))
    return next(filter(None, (unsafe_range(*pair) for pair in named)), None)
