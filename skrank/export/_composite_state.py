"""Pipelines and the like: whether what they keep about their parts agrees."""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from skrank._core._messages import problem_in
from skrank.export._attributes import attribute, error_of
from skrank.export._probe_rows import places_of

# What code raises that meets attributes of the wrong kind. Other errors may come from
# the rows that are tried.
STUMBLES = (AttributeError, IndexError, KeyError, OverflowError, TypeError)
# Parameters that hold the parts of estimators, and what each part has.
COMPOSITES = {
    Pipeline: ("steps", 2),
    FeatureUnion: ("transformer_list", 2),
    ColumnTransformer: ("transformers", 3),
}
_REST = "remainder"


def check_composite(composite: Any) -> None:
    """Check the parts of a pipeline or the like, which may be anything in a file."""
    name, length = COMPOSITES[type(composite)]
    _check_tuples(composite, name, getattr(composite, name), length)
    try:
        if isinstance(composite, Pipeline):
            composite._validate_steps()
            return
        composite._validate_transformers()
        if isinstance(composite, FeatureUnion):
            composite._validate_transformer_weights()
    except STUMBLES as error:
        raise ValueError(f"{type(composite).__name__}: {problem_in(error)}") from None
    if isinstance(composite, FeatureUnion):
        _check_union(composite)


def _check_tuples(owner, name: str, parts: Any, length: int) -> None:
    if not isinstance(parts, list) or any(
        not isinstance(part, (tuple, list)) or len(part) != length for part in parts
    ):
        accepted = f"a list of {'pairs' if length == 2 else 'triples'}"
        raise error_of(owner, name, accepted, parts)


def _check_union(union: FeatureUnion) -> None:
    """Check that all parts were fitted to the same columns."""
    parts = [part for _, part in union.transformer_list]
    fitted = [part for part in parts if _n_features(part) is not None]
    for part in fitted[1:]:
        n, names = _n_features(fitted[0]), _names(fitted[0])
        _check_fitted_to(part, n, None if names is None else names.tolist())


def check_columns(transformer: ColumnTransformer) -> None:
    """Check that a fitted transformer of columns agrees with itself about them.

    Where the columns of each part stand is in the file several times.

    Parameters
    ----------
    transformer : ColumnTransformer
        Fitted transformer of columns, whose names have been checked.

    Raises
    ------
    ValueError
        If an attribute is missing, is of the wrong kind, or says something else about
        the columns than ``transformers_`` does.
    """
    accepted = "a list of triples"
    parts = attribute(transformer, "transformers_", list, accepted)
    _check_tuples(transformer, "transformers_", parts, 3)
    n = attribute(transformer, "n_features_in_", int, "a whole number >= 1")
    accepted = "lists of places by the names of transformers"
    kept = attribute(transformer, "_transformer_to_input_indices", dict, accepted)
    if not all(isinstance(places, list) for places in kept.values()):
        raise error_of(transformer, "_transformer_to_input_indices", accepted, kept)
    # Every column is in one of them, so that n takes no more memory than the file does.
    if not 1 <= n <= sum(map(len, kept.values())):
        accepted = "the number of columns in _transformer_to_input_indices"
        raise error_of(transformer, "n_features_in_", accepted, n)
    names = _names(transformer)
    found: dict[Any, list[int]] = {}
    for name, part, columns in parts:
        if not isinstance(name, str):
            raise error_of(transformer, "transformers_", "triples with a name", name)
        found[name] = places_of(transformer, columns, n)
        its_names = None if names is None else names[found[name]].tolist()
        if not isinstance(part, str) and found[name]:
            _check_fitted_to(part, len(found[name]), its_names)
    used = {place for name in found if name != _REST for place in found[name]}
    rest = [place for place in range(n) if place not in used]
    if found.setdefault(_REST, rest) != rest or kept != found:
        accepted = f"the places of the columns in transformers_, {found}"
        raise error_of(transformer, "_transformer_to_input_indices", accepted, kept)
    _check_copies(transformer, list(found.values()), rest)
    _check_outputs(transformer, found)


def _check_copies(transformer: Any, places: list[list[int]], rest: list[int]) -> None:
    """Check the other attributes that say which columns the parts take."""
    n = transformer.n_features_in_
    columns = attribute(transformer, "_columns", list, "a list")
    if [places_of(transformer, each, n) for each in columns] != places[: len(columns)]:
        accepted = "the columns in transformers_"
        raise error_of(transformer, "_columns", accepted, columns)
    kept = attribute(transformer, "_remainder", (tuple, list), "a triple")
    if len(kept) != 3 or places_of(transformer, kept[2], n) != rest:
        accepted = f"a triple with the columns of no transformer, {rest}"
        raise error_of(transformer, "_remainder", accepted, kept)


def _check_outputs(transformer: Any, found: dict[Any, list[int]]) -> None:
    """Check that the columns after the transformer follow each other without gaps."""
    accepted = "slices by the names of transformers, each of which begins with the end "
    accepted += "of another one"
    slices = attribute(transformer, "output_indices_", dict, accepted)
    if slices.keys() != found.keys() or not all(map(_is_range, slices.values())):
        raise error_of(transformer, "output_indices_", accepted, slices)
    end = 0
    for start, stop in sorted((s.start, s.stop) for s in slices.values()):
        if start != stop and start != end:
            raise error_of(transformer, "output_indices_", accepted, slices)
        end = max(end, stop)


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, slice)
        and isinstance(value.start, int)
        and isinstance(value.stop, int)
        and 0 <= value.start <= value.stop
        and value.step is None
    )


def _check_fitted_to(part: Any, n: int | None, names: list[str] | None) -> None:
    """Check that a part was fitted to the columns that it is given."""
    n_fitted, fitted = _n_features(part), _names(part)
    if n_fitted not in (None, n):
        accepted = f"{n}, the number of columns that it is given"
        raise error_of(part, "n_features_in_", accepted, n_fitted)
    if fitted is not None and fitted.tolist() != names:
        accepted = "missing" if names is None else f"those of its columns, {names}"
        raise error_of(part, "feature_names_in_", accepted, fitted.tolist())


def _n_features(part: Any) -> int | None:
    return getattr(part, "n_features_in_", None)


def _names(part: Any) -> np.ndarray | None:
    return getattr(part, "feature_names_in_", None)
