"""Edit a model file in every way that an attacker may, and load what comes of it.

Run as a program, with the name of a ranker, it exits with an error if any edited file
is neither refused with a ValueError nor a model that predicts finite scores. It runs in
a process of its own, so that a crash of compiled code is a failure of the test.
"""

import copy
import io
import json
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone

import skrank.rankers
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model

X, Y, GROUPS = make_ranking(n_queries=8, n_features=4, n_informative=2, random_state=0)
SMALL = {"max_iter": 2, "n_estimators": 3, "random_state": 0, "n_jobs": 1}


def read(path: Path) -> tuple[dict, dict[str, bytes]]:
    """Return the JSON value and the other members of a model file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def write(path: Path, document, members) -> None:
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
        yield "large", np.full_like(array, np.iinfo(array.dtype).max)


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


def edited_files(document, members) -> Iterator[tuple[str, dict, dict[str, bytes]]]:
    """Yield contents of files in which one array or one attribute is another."""
    for name, content in members.items():
        array = np.load(io.BytesIO(content))
        for what, other in other_arrays(array):
            yield f"{name} {what}", document, {**members, name: npy(other)}
    for path in objects(document):
        for part in ("params", "state"):
            for name in at(document, path)[part]:
                for other in (
                    None,
                    "x",
                    -1,
                    0,
                    1.5,
                    True,
                    [],
                    ["x"],
                    {"type": "tuple", "items": []},
                ):
                    changed = copy.deepcopy(document)
                    at(changed, path)[part][name] = other
                    yield f"{path} {name} = {other!r}", changed, members
                changed = copy.deepcopy(document)
                del at(changed, path)[part][name]
                yield f"{path} without {name}", changed, members


def verdict(path: Path) -> str:
    """Return "" for a file that is refused or works, otherwise what is wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load_model(path)
            arguments = (X, GROUPS) if _takes_groups(model) else (X,)
            scores = model.predict(*arguments)
        except ValueError as error:
            return "" if len(str(error).split()) > 3 else f"no sentence: {error}"
        except Exception as error:
            return repr(error)
    return "" if np.isfinite(scores).all() else "scores that are not finite"


def _takes_groups(model):
    return "groups" in model.predict.__code__.co_varnames


def small_models(cls) -> Iterator:
    """Yield a small fitted ranker for every variant of a class."""
    for variant in cls._variants():
        known = cls._get_param_names()
        small = {k: v for k, v in SMALL.items() if k in known}
        ranker = clone(cls(**small | variant))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield ranker.fit(X, Y, GROUPS)


def main(name: str) -> int:
    """Report on every edited file of every variant of a ranker."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skrank"
        for ranker in small_models(getattr(skrank.rankers, name)):
            try:
                save_model(ranker, path)
            except TypeError as error:
                print("not saved", ranker, error, flush=True)
                continue
            document, members = read(path)
            assert not verdict(path), (ranker, verdict(path))
            for what, changed, content in edited_files(document, members):
                print("now", what, file=sys.stderr, flush=True)  # the last one crashed
                write(path, changed, content)
                problem = verdict(path)
                if problem:
                    wrong += 1
                    print(f"{ranker}, {what}: {problem}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
