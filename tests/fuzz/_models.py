"""Model files to start from, and random changes of their bytes and of their parts."""

import copy
import io
import json
import tempfile
from pathlib import Path

import numpy as np
from _saved import Saved, can_be_saved, class_names, pipelines, saved_of
from _tamper import OTHERS, at, edited_array, is_fitted, npy, objects, read, write
from fuzz._mutate import mutate

from skrank.export import load_model

_NUMBERS = (-1, 0, 1, 2, 255, 256, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 10**30, 1e308)
_WORDS = (b"\0", b"\xff\xff\xff\xff", b"PK\x03\x04", b"\x93NUMPY", b"'<f8'", b"(5,)")


class SavedModels:
    """One small file of every class that has arrays to be changed."""

    def __init__(self):
        self.models: list[Saved] = []
        self.files: list[bytes] = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            firsts = (next(saved_of(name)) for name in class_names())
            for saved in (*firsts, *pipelines()):
                if can_be_saved(saved, path) and read(path)[1]:
                    self.models.append(saved)
                    self.files.append(path.read_bytes())

    def use(self, index: int, file: io.BytesIO) -> None:
        """Load a file, and do with the model what is done with one of its class."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(file.getvalue())
            model = load_model(path)
        # Another class than that of the index may have come of a change.
        if is_fitted(model) and type(model) is type(self.models[index].model):
            self.models[index].use(model)

    def changed(self, index: int, rng: np.random.Generator) -> bytes:
        """Return a file after one or a few random changes."""
        content = self.files[index]
        if rng.random() < 0.1:
            return mutate(content, _WORDS, rng)
        document, members = read(io.BytesIO(content))
        for _ in range(rng.geometric(0.6)):
            change = _CHANGES[rng.integers(len(_CHANGES))]
            document, members = change(copy.deepcopy(document), dict(members), rng)
        file = io.BytesIO()
        write(file, document, members)
        return file.getvalue()


def _pick(values, rng):
    return values[rng.integers(len(values))]


def _array(document, members, rng):
    """An array becomes another one."""
    name = _pick(sorted(members), rng)
    try:
        array = np.load(io.BytesIO(members[name]))
    except Exception:  # changed before; the header causes errors of any kind
        return document, members
    members[name] = npy(edited_array(array, rng))
    return document, members


def _bytes(document, members, rng):
    """Bytes of an array change, those of its header among them."""
    name = _pick(sorted(members), rng)
    members[name] = mutate(members[name], _WORDS, rng)
    return document, members


def _exchange(document, members, rng):
    """An array takes the place of another one."""
    one, other = _pick(sorted(members), rng), _pick(sorted(members), rng)
    members[one], members[other] = members[other], members[one]
    return document, members


def _attribute(document, members, rng):
    """A parameter or an attribute becomes another value, or is left out."""
    owners = list(objects(document))
    if not owners:  # taken away by a change before
        return document, members
    owner = at(document, _pick(owners, rng))
    values = owner.get(_pick(("params", "state"), rng))
    if isinstance(values, dict) and values:
        name = _pick(sorted(values), rng)
        if rng.random() < 0.15:
            del values[name]
        else:
            values[name] = _pick((*OTHERS, *_NUMBERS), rng)
    return document, members


def _places(value, path=()):
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _swap(document, members, rng):
    """Two parts of the JSON value change places."""
    places = list(_places(document))
    one, other = _pick(places, rng), _pick(places, rng)
    if one != other[: len(one)] and other != one[: len(other)]:
        values = at(document, one), at(document, other)
        at(document, one[:-1])[one[-1]] = values[1]
        at(document, other[:-1])[other[-1]] = values[0]
    return document, members


def _number(document, members, rng):
    """A number or a word of the JSON value becomes another one."""
    leaves = [
        place
        for place in _places(document)
        if not isinstance(at(document, place), (dict, list))
    ]
    place = _pick(leaves, rng)
    known = [at(document, leaf) for leaf in leaves]
    at(document, place[:-1])[place[-1]] = _pick((*_NUMBERS, *known), rng)
    return document, members


def _text(document, members, rng):
    """Bytes of the JSON text change."""
    changed = mutate(
        json.dumps(document).encode(), (b"[]", b"{}", b"-1", b"1e999"), rng
    )
    try:
        value = json.loads(changed)
    except (ValueError, RecursionError):
        return document, members
    whole = isinstance(value, dict) and isinstance(value.get("model"), dict)
    return (value if whole else document), members


_CHANGES = (
    _array,
    _array,
    _array,
    _bytes,
    _exchange,
    _attribute,
    _swap,
    _number,
    _text,
)
