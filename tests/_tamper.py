"""Edit a model file in every way that an attacker may, and load what comes of it.

Run as a program, with the name of a ranker or "all", it exits with an error if any
edited file is neither refused with a ValueError nor a model of finite scores. It runs
in a process of its own, so that a crash of compiled code fails the test.
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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank.rankers
from skrank.base import BaseRanker
from skrank.datasets import make_ranking
from skrank.export import load_model, save_model
from skrank.rankers import MART, BoltzRank, RankNet, RankSVM

X, Y, GROUPS = make_ranking(n_queries=8, n_features=4, n_informative=2, random_state=0)
SAMPLE = 30  # edited files of each variant that a quick run tries
SMALL = {"max_iter": 2, "n_estimators": 3, "random_state": 0, "n_jobs": 1}


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


def check_edits(ranker, path: Path, rng=None) -> Iterator[str]:
    """Yield what is wrong with edited files of a ranker, all of them or some."""
    save_model(ranker, path)
    document, members = read(path)
    assert not verdict(path), (ranker, verdict(path))
    files = list(edited_files(document, members))
    if rng is not None:
        chosen = rng.choice(len(files), size=min(SAMPLE, len(files)), replace=False)
        files = [files[i] for i in chosen]
    for what, changed, content in files:
        # If compiled code crashes, the last line tells by which file.
        print(type(ranker).__name__, what, file=sys.stderr, flush=True)
        write(path, changed, content)
        problem = verdict(path)
        if problem:
            yield f"{ranker}, {what}: {problem}"


def fuzzed(content: bytes, rng) -> tuple[str, bytes]:
    """Return a model file with one random damage, and what it is."""
    kind = rng.choice(["flip", "cut", "swap", "swap"])
    if kind == "flip":
        damaged = bytearray(content)
        for place in rng.choice(len(content), size=rng.integers(1, 4)):
            damaged[place] ^= 1 << rng.integers(8)
        return "flip", bytes(damaged)
    if kind == "cut":
        return "cut", content[: rng.integers(len(content))]
    buffer = io.BytesIO(content)
    document, members = read(buffer)
    places = list(_places(document))
    one, other = (places[i] for i in rng.choice(len(places), size=2, replace=False))
    values = at(document, one), at(document, other)
    if one != other[: len(one)] and other != one[: len(other)]:
        at(document, one[:-1])[one[-1]] = values[1]
        at(document, other[:-1])[other[-1]] = values[0]
    buffer = io.BytesIO()
    write(buffer, document, members)
    return f"swap {one} {other}", buffer.getvalue()


def _places(value, path=()):
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from _places(item, (*path, key))


def check_fuzzed(path: Path, rng, n_files: int) -> Iterator[str]:
    """Yield what is wrong with damaged files of five models."""
    models = (
        RankSVM(),
        make_pipeline(StandardScaler(), RankSVM()),
        MART(n_estimators=3),
        RankNet((3,), max_iter=2, random_state=0),
        BoltzRank(pairwise_potential=True, max_iter=2, random_state=0),
    )
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(model, Pipeline):
                model.fit(X, Y, ranksvm__groups=GROUPS)
            else:
                model.fit(X, Y, GROUPS)
        save_model(model, path)
        content = path.read_bytes()
        for _ in range(n_files):
            what, damaged = fuzzed(content, rng)
            print(type(model).__name__, what, file=sys.stderr, flush=True)
            path.write_bytes(damaged)
            problem = verdict(path)
            if problem:
                yield f"{model}, {what}: {problem}"


def main(name: str, seed: str | None = None) -> int:
    """Report on edited files of a ranker or of all, or on damaged files ("fuzz")."""
    rng = None if seed is None else np.random.default_rng(int(seed))
    names = [name]
    if name == "all":
        public = {n: getattr(skrank.rankers, n) for n in skrank.rankers.__all__}
        names = [n for n, cls in public.items() if issubclass(cls, BaseRanker)]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skrank"
        if name == "fuzz":
            wrong += check_fuzzed(path, rng or np.random.default_rng(), 60)
            names = []
        for cls in (getattr(skrank.rankers, name) for name in names):
            for ranker in small_models(cls):
                wrong += check_edits(ranker, path, rng)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
