"""Edit a model file in every way that an attacker may, and load what comes of it.

Run as a program, with the name of a class or "all", it exits with an error if any
edited file is neither refused with a ValueError nor a model that works. It runs in a
process of its own, so that a crash of compiled code fails the test.
"""

import copy
import io
import json
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _saved import GROUPS, Saved, X, Y, can_be_saved, class_names, saved_of
from sklearn.pipeline import Pipeline

from skrank.export import load_model
from skrank.export._energy_state import state_of

__all__ = ["GROUPS", "X", "Y"]
SAMPLE = 6  # edited files of each variant that a quick run tries
# Scalars and containers in place of an attribute or a parameter.
OTHERS = (
    *(None, "x", -1, 0, 1.5, True, [], ["x"], 10**9, 10**30),
    {"type": "tuple", "items": []},
)


# The same for what is deeper within them.
INNER = (None, "e", -1, 10**9, [], ["x"])


def read(path: Path | io.BytesIO) -> tuple[dict, dict[str, bytes]]:
    """Return the JSON value and the other members of a model file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def write(path: Path | io.BytesIO, document, members) -> None:
    """Write a model file of a JSON value and other members."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(document))
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array: np.ndarray) -> bytes:
    """Return an array in the .npy format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def other_arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays that may stand in place of an array, and what is odd about each."""
    flat = array.ravel()
    yield "empty", flat[:0]
    yield "shorter", array[:-1] if array.ndim else array
    yield "longer by one", np.concatenate([array, array[-1:]]) if array.ndim else flat
    yield "much longer", np.zeros(max(200, 3 * flat.size), dtype=array.dtype)
    yield "more dimensions", array[None]
    yield "flat", flat if array.ndim != 1 else array.reshape(-1, 1)
    yield "single precision", _cast(array, np.float32)
    yield "whole numbers", _cast(array, np.int64)
    yield "short whole numbers", _cast(array, np.int16)
    yield "complex", _cast(array, np.complex128)
    yield "text", np.full(array.shape, "x")
    if array.dtype.kind == "f" and array.size:
        for value in (np.nan, np.inf):
            odd = array.copy()
            odd.flat[-1] = value
            yield f"one {value}", odd
            yield f"all {value}", np.full_like(array, value)
    if array.dtype.kind in "iu":
        yield "negative", np.full_like(array, -7 if array.dtype.kind == "i" else 1)
        for value in (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min):
            yield f"all {value}", np.full_like(array, value)
            if array.size:
                odd = array.copy()
                odd.flat[array.size // 2] = value
                yield f"one {value}", odd
    if array.dtype.kind == "f" and array.size:
        yield "huge", np.full_like(array, np.finfo(array.dtype).max)
        yield "negated", -array
    if array.ndim:
        yield "reversed", array[::-1].copy()
        yield "transposed", np.asfortranarray(array)
        yield "of the other byte order", array.astype(array.dtype.newbyteorder())


def edited_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one random array to stand in place of an array."""
    others = [other for _, other in other_arrays(array)]
    if array.size and array.dtype.kind in "iuf":
        limits = np.iinfo if array.dtype.kind in "iu" else np.finfo
        low, high = limits(array.dtype).min, limits(array.dtype).max
        for value in (low, high, array.flat[0], 0, 1, len(array.flat)):
            changed = array.copy()
            changed.flat[rng.integers(array.size)] = value
            others.append(changed)
        others.append(rng.permutation(array.ravel()).reshape(array.shape))
    return others[rng.integers(len(others))]


def _cast(array, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            np.zeros(array.shape, dtype)
            if array.dtype.kind in "US"
            else (array.astype(dtype))
        )


def objects(value, path=()) -> Iterator[tuple]:
    """Yield the places of all estimators within a JSON value."""
    if isinstance(value, dict):
        if value.get("type") == "estimator":
            yield path
        for key, item in value.items():
            yield from objects(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from objects(item, (*path, i))


def at(value, path):
    """Return what stands at a place within a JSON value."""
    for key in path:
        value = value[key]
    return value


def copied_along(document, path) -> tuple[dict, Any]:
    """Copy a document along a path; return the copy and what is at the end."""
    changed = part = copy.copy(document)
    for key in path:
        part[key] = copy.copy(part[key])
        part = part[key]
    return changed, part


def edited_files(document, members) -> Iterator[tuple[str, dict, dict[str, bytes]]]:
    """Yield contents of files in which one array or one attribute is another."""
    for name, content in members.items():
        array = np.load(io.BytesIO(content))
        for what, other in other_arrays(array):
            yield f"{name} {what}", document, {**members, name: npy(other)}
    for path in objects(document):
        for what, changed in edited_object(document, path):
            yield what, changed, members


def edited_object(document, path) -> Iterator[tuple[str, dict]]:
    """Yield documents in which something of the estimator at a place is another."""
    for part in ("params", "state"):
        for name, value in at(document, path)[part].items():
            place = (*path, part, name)
            yield from _edited(document, place, OTHERS, f"{path} {name}")
            for inner in _inner(value):
                yield from _edited(document, (*place, *inner), INNER, f"{place}{inner}")
                several = at(value, inner)
                if isinstance(several, list) and several:
                    changed, owner = copied_along(document, (*place, *inner))
                    del owner[-1]
                    yield f"{place}{inner} is shorter", changed


def _edited(document, place, others, name):
    *path, key = place
    for other in others:
        changed, owner = copied_along(document, path)
        owner[key] = other
        yield f"{name} = {other!r}", changed
    changed, owner = copied_along(document, path)
    del owner[key]
    yield f"without {name}", changed


def _inner(value, path=()) -> Iterator[tuple]:
    """Yield the places within a value, but for those within estimators."""
    items: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict) and value.get("type") != "estimator":
        items = ((key, item) for key, item in value.items() if key != "type")
    for key, item in items:
        yield (*path, key)
        yield from _inner(item, (*path, key))


def is_fitted(model) -> bool:
    """Return whether a model has learned anything, or has nothing to learn."""
    has_learned = any(name.endswith("_") for name in vars(model))
    learns = hasattr(model, "fit") or bool(state_of(model))
    return has_learned or not learns or isinstance(model, Pipeline)


def verdict(path: Path, use: Callable[[Any], Any]) -> str:
    """Return "" for a file that is refused or works, otherwise what is wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load_model(path)
            if is_fitted(model):
                use(model)
        except ValueError as error:
            return "" if len(str(error).split()) > 2 else f"no sentence: {error}"
        except Exception as error:
            return repr(error)
    return ""


def check_edits(saved: Saved, path: Path, rng=None) -> Iterator[str]:
    """Yield what is wrong with edited files of a model, all of them or some."""
    document, members = read(path)
    assert not verdict(path, saved.use), (saved, verdict(path, saved.use))
    files = list(edited_files(document, members))
    if rng is not None:
        chosen = rng.choice(len(files), size=min(SAMPLE, len(files)), replace=False)
        files = [files[i] for i in chosen]
    for what, changed, content in files:
        # If compiled code crashes, the last line tells by which file.
        print(type(saved.model).__name__, what, file=sys.stderr, flush=True)
        write(path, changed, content)
        problem = verdict(path, saved.use)
        if problem:
            yield f"{saved}, {what}: {problem}"


def main(name: str, seed: str | None = None) -> int:
    """Report on edited files of a class, or of all."""
    rng = None if seed is None else np.random.default_rng(int(seed))
    names = class_names() if name == "all" else [name]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skrank"
        for name in names:
            for saved in saved_of(name):
                if can_be_saved(saved, path):
                    wrong += check_edits(saved, path, rng)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
