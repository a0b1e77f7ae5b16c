"""Rows by which estimators are tried that were read from a file."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
)

from skrank._core._config import config_context
from skrank._core._missing import where_missing
from skrank.base import BaseRanker
from skrank.energies import KernelEnergy
from skrank.export._attributes import error_of
from skrank.export._level_state import levels_by_column
from skrank.text import PairFeatures
from skrank.trees import CategoryEncoder

# Numbers that are tried: both sides of most thresholds and units.
PROBE = (0.0, 1.0, -1.0)
_TEXT = "a text"  # that is tried where texts are read
# More features than this are tried as CSR rows, where they take no memory.
MANY_FEATURES = 100_000
# Encoders, which refuse what they have not learned, and what has encoders within.
_REFUSING = (
    Pipeline,
    FeatureUnion,
    ColumnTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    MissingIndicator,
)
# What to set for a trial in parts that refuse values otherwise.
_ACCEPTING: tuple[tuple[Any, Callable[[Any], dict[str, Any]]], ...] = (
    (OneHotEncoder, lambda part: _on_refusal(part, handle_unknown="ignore")),
    (
        OrdinalEncoder,
        lambda part: _on_refusal(
            part, handle_unknown="use_encoded_value", unknown_value=-1
        ),
    ),
    (MissingIndicator, lambda part: {"error_on_new": False}),
    # The kernels of histograms and this power are for numbers that are not negative.
    (
        (KernelEnergy, Nystroem),
        lambda part: {"kernel": "linear"} if part.kernel in _OF_HISTOGRAMS else {},
    ),
    (PowerTransformer, lambda part: {"method": "yeo-johnson"}),
)
_OF_HISTOGRAMS = ("chi2", "additive_chi2")


def _on_refusal(encoder: Any, **values: Any) -> dict[str, Any]:
    """Return what to set in an encoder that refuses what it has not learned."""
    return values if encoder.handle_unknown == "error" else {}


def probe_rows(estimator: Any, n_features: int) -> Any:
    """Return a few rows that an estimator takes, with names where it knows names.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator.
    n_features : int
        Number of its features.

    Returns
    -------
    ndarray, CSR matrix or DataFrame of shape (3, n_features)

    Raises
    ------
    ValueError
        If a part of the estimator takes columns that there are not.
    """
    if n_features > MANY_FEATURES and getattr(estimator, "_accepts_sparse", False):
        return sparse.csr_matrix((len(PROBE), n_features))
    if getattr(estimator, "_precomputed", False):  # an indicator of an imputer
        return np.zeros((len(PROBE), n_features), dtype=bool)
    rows = np.repeat(np.array(PROBE)[:, None], n_features, axis=1)
    known = _merged(_known_levels(estimator, n_features))
    if known:
        rows = rows.astype(object)
        for column, levels in known.items():
            rows[:, column] = [levels[row % len(levels)] for row in range(len(rows))]
    names = getattr(estimator, "feature_names_in_", None)
    # Rankers go by the places of the columns, unless others within go by the names.
    is_alone = isinstance(estimator, BaseRanker) and not _models_within(estimator)
    if names is None or is_alone:
        return rows
    try:
        import pandas as pd
    except ImportError:
        return rows
    frame = pd.DataFrame(rows, columns=cast(Any, names))
    return frame.infer_objects() if known else frame


def may_refuse(estimator: Any) -> bool:
    """Return whether rows may become values that a part rightly refuses.

    That is so in pipelines and the like, where numbers may overflow on the way.

    A pipeline within a ranker is tried like the ranker, unless it has encoders itself.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator.

    Returns
    -------
    bool
    """
    if isinstance(estimator, _REFUSING):
        return True
    parts = estimator.get_params(deep=True).values()
    return any(
        isinstance(part, _REFUSING) and not isinstance(part, Pipeline) for part in parts
    )


@contextmanager
def accepting(estimator: Any) -> Iterator[None]:
    """Have parts that refuse values, which rows to try cannot know, accept them.

    So whatever else is refused is what the model has learned. The rows are one query.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator; it is as before in the end.
    """
    before = []
    for part in _parts_within(estimator):
        for kind, values in _ACCEPTING:
            if isinstance(part, kind):
                before.append((part, dict(vars(part))))
                vars(part).update(values(part))
    try:
        with config_context(assume_single_query=True):
            yield
    finally:
        for part, attributes in before:
            vars(part).clear()
            vars(part).update(attributes)


def _parts_within(estimator: Any) -> Iterator[Any]:
    """Yield an estimator and all estimators that it holds or has learned."""
    if isinstance(estimator, BaseEstimator):
        yield estimator
        for value in vars(estimator).values():
            yield from _parts_within(value)
    elif isinstance(estimator, (list, tuple)):
        for value in estimator:
            yield from _parts_within(value)


def _merged(found: Iterator[tuple[int, list]]) -> dict[int, list]:
    """Return levels of each column that all who look them up know, as far as there are.

    Models within a meta ranker may have learned from different rows. Where they share
    no level, strings and numbers take turns: a column without any value of the kind
    that a model knows would be refused.
    """
    lists: dict[int, list[list]] = {}
    for column, levels in found:
        if len(levels):
            lists.setdefault(column, []).append(levels)
    merged = {}
    for column, several in lists.items():
        others = [set(levels) for levels in several[1:]]
        shared = [v for v in several[0] if all(v in other for other in others)]
        merged[column] = shared or _in_turns(chain.from_iterable(several))
    return merged


def _in_turns(levels: Iterable) -> list:
    """Return levels, strings and numbers in turns as long as there are both."""
    kinds: tuple[list, list] = [], []
    for level in levels:
        kinds[isinstance(level, str)].append(level)
    numbers, strings = kinds
    turns = list(chain.from_iterable(zip(numbers, strings)))
    both = len(turns) // 2
    return turns + numbers[both:] + strings[both:]


def _known_levels(estimator: Any, n_features: int) -> Iterator[tuple[int, list]]:
    """Yield columns whose values are looked up at any depth, with levels known there.

    Parameters
    ----------
    estimator : BaseEstimator
        Fitted estimator.
    n_features : int
        Number of its features.
    """
    if isinstance(estimator, ColumnTransformer):
        for _, part, columns in estimator.transformers_:
            places = places_of(estimator, columns, n_features)
            for at, levels in _known_levels(part, len(places)):
                yield places[at], levels
    elif isinstance(estimator, Pipeline):
        yield from _levels_of_steps(estimator, n_features)
    elif isinstance(estimator, FeatureUnion):
        for _, part in estimator.transformer_list:
            yield from _known_levels(part, n_features)
    elif isinstance(estimator, PairFeatures):
        for column in range(n_features):
            yield column, [_TEXT]
    else:
        categories = getattr(estimator, "categories_", ())
        for at, known in enumerate(categories[:n_features]):
            yield at, known.tolist()
        for at, levels in levels_by_column(estimator):
            yield at, levels.tolist()
        columns = np.arange(n_features)
        of_queries = _column_of_queries(estimator, n_features)
        if of_queries is not None:
            yield of_queries, [0.0]  # one query, as the rows are said to be elsewhere
            columns = np.delete(columns, of_queries)
        for model in _models_within(estimator):
            if getattr(model, "n_features_in_", len(columns)) == len(columns):
                for at, levels in _known_levels(model, len(columns)):
                    yield int(columns[at]), levels


def _levels_of_steps(pipeline: Pipeline, n_features: int) -> Iterator[tuple[int, list]]:
    """Yield columns whose values some step looks up as they entered the pipeline."""
    origins = np.arange(n_features)
    for _, step in pipeline.steps:
        if not (origins >= 0).any():
            return
        for at, levels in _known_levels(step, len(origins)):
            if origins[at] >= 0:
                yield int(origins[at]), levels
        origins = _after(step, origins)


def _after(step: Any, origins: np.ndarray) -> np.ndarray:
    """Return where the columns after a step come from, given it for those before."""
    if not len(origins):  # nothing is known of them
        return origins
    before = _origins(step, len(origins))
    return np.where(before >= 0, origins[before], -1)


def _origins(step: Any, n_features: int) -> np.ndarray:
    """Return the column in which each column after a step stands before it.

    Parameters
    ----------
    step : BaseEstimator, str or None
        Fitted step of a pipeline, or what says that there is none.
    n_features : int
        Number of its features.

    Returns
    -------
    ndarray of shape (n_features_out,), dtype int64
        Numbers of columns; -1 where the step may have made other values. Nothing at all
        where it is not known how the columns after the step are made.
    """
    if isinstance(step, Pipeline):
        origins = np.arange(n_features)
        for _, each in step.steps:
            origins = _after(each, origins)
        return origins
    if isinstance(step, ColumnTransformer):
        return _origins_of_parts(step, n_features)
    if isinstance(step, SelectorMixin):
        return np.flatnonzero(cast(Any, step).get_support())
    if not _keeps_columns(step):
        return np.empty(0, dtype=np.int64)
    origins = np.arange(n_features)
    for at, _ in _known_levels(step, n_features):
        origins[at] = -1  # numbers stand there now
    return origins


def _keeps_columns(step: Any) -> bool:
    """Return whether a step leaves each column in its place."""
    if isinstance(step, FunctionTransformer):
        return step.func is None
    if isinstance(step, SimpleImputer):
        is_dropped = where_missing(np.asarray(step.statistics_, dtype=object))
        return not step.add_indicator and not is_dropped.any()
    if step is None or step == "passthrough":
        return True
    return isinstance(step, (CategoryEncoder, OneToOneFeatureMixin))


def _origins_of_parts(columns: ColumnTransformer, n_features: int) -> np.ndarray:
    """Return where the columns after the transformers of columns come from."""
    slices: dict[str, slice] = columns.output_indices_
    origins = np.full(max(s.stop for s in slices.values()), -1)
    for name, part, given in columns.transformers_:
        places = np.array(places_of(columns, given, n_features), dtype=np.int64)
        before, here = _origins(part, len(places)), origins[slices[name]]
        if len(before) == len(here):
            here[before >= 0] = places[before[before >= 0]]
    return origins


def _models_within(estimator: Any) -> list[Any]:
    """Return the fitted models that a meta ranker or an adapter hands rows on to."""
    if hasattr(estimator, "_inner_models"):
        return list(estimator._inner_models())
    model = getattr(estimator, "estimator_", None)
    return [] if model is None else [model]


def _column_of_queries(estimator: Any, n_features: int) -> int | None:
    """Return the number of the column that holds the queries, if there is one."""
    column = getattr(estimator, "groups_column", None)
    if isinstance(column, str):
        names = np.asarray(getattr(estimator, "feature_names_in_", ()), dtype=object)
        places = np.flatnonzero(names == column)
        column = int(places[0]) if len(places) else None
    return column if column is not None and column < n_features else None


def places_of(estimator: Any, columns: Any, n_features: int) -> list[int]:
    """Return the numbers of columns that are given by number, by name or by a mask.

    Parameters
    ----------
    estimator : ColumnTransformer
        Transformer whose columns they are.
    columns : int, str, slice, or sequence of ints, strings or bools
        Columns as scikit-learn keeps them.
    n_features : int
        Number of columns that there are.

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        If there are no such columns.
    """
    names: list[Any] = list(getattr(estimator, "feature_names_in_", ()))
    try:
        if isinstance(columns, slice):
            start, stop = columns.start, columns.stop
            if isinstance(start, str):
                start = names.index(start)
            if isinstance(stop, str):  # which belongs to the slice
                stop = names.index(stop) + 1
            columns = slice(start, stop, columns.step)
        else:
            columns = np.atleast_1d(columns)
            if not columns.size:
                return []
            if columns.dtype.kind in "OU":
                columns = [names.index(name) for name in columns.tolist()]
        return np.arange(n_features)[columns].tolist()
    except (IndexError, TypeError, ValueError):
        accepted = "triples of a name, a transformer and columns that there are"
        raise error_of(estimator, "transformers_", accepted, columns) from None
