"""The content of parameters and of code, by which a stored training is recognised."""

import copyreg
import functools
import hashlib
import inspect
import json
import numbers
import sys
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

from skrank._core._messages import shown
from skrank.metrics import BaseMeasure

# They change how long a training takes, and what it says of it, but not its result.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback")
# Attributes of a class that describe it.
_DATA = numbers.Number, str, bytes, np.ndarray, Mapping, list, tuple, set, frozenset
# Sources of numbers, whose state is another one after each use.
_RANDOM = np.random.Generator, np.random.BitGenerator, np.random.RandomState, Random
# Where compiled functions may be found that do not say it.
_OF_FUNCTIONS = ("numpy", "scipy.special")


def described(value: Any) -> Any:
    """Return a value as JSON that is the same for the same content in every process.

    Parameters
    ----------
    value : object
        A parameter. Estimators, losses and the like are described by their class and
        their parameters; classes and functions from outside of installed packages also
        by the file that they come from, so that a change of the code is a change, and
        functions by what they have seen: closures, defaults and the object of a method.

    Returns
    -------
    object
        Of the kinds that JSON has.

    Raises
    ------
    TypeError
        If the value is of a kind whose content cannot be told.
    """
    try:
        return _Description().of(value)
    except RecursionError:
        raise _untold(value) from None


def _untold(value: Any) -> TypeError:
    return TypeError(
        f"the content of {shown(value)} cannot be told, so that a stored training "
        "could not be recognised; give the parameter as a number, a text, a list or an "
        "object with get_params"
    )


def _digest(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class _Description:
    """One description; it knows the objects that it is within, which may hold it."""

    def __init__(self):
        self._depth: dict[int, int] = {}

    def of(self, value: Any) -> Any:
        """Return the description of a value."""
        if value is None or isinstance(value, (str, bool)):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = np.asarray(value)  # a duration would pass for an integer
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, numbers.Real):
            return {"float": float(value).hex()}
        if isinstance(value, numbers.Complex):
            return {"complex": [float(value.real).hex(), float(value.imag).hex()]}
        if isinstance(value, bytes):
            return {"bytes": _digest(value)}
        if isinstance(value, np.ndarray) and value.dtype != object:
            digest = _digest(value.tobytes())  # dates have no buffer
            return {"array": [value.dtype.str, list(value.shape), digest]}
        if id(value) in self._depth:
            return {"within": len(self._depth) - self._depth[id(value)]}
        self._depth[id(value)] = len(self._depth)
        try:
            return self._of_parts(value)
        finally:
            del self._depth[id(value)]

    def _of_parts(self, value):
        if sparse.issparse(value):
            rows = value.tocsr()
            return self.of([rows.shape, rows.data, rows.indices, rows.indptr])
        if isinstance(value, Mapping):
            pairs = [[self.of(k), self.of(v)] for k, v in value.items()]
            return {"mapping": pairs}
        if isinstance(value, (list, tuple, np.ndarray)):
            return [self.of(each) for each in value]
        if isinstance(value, (set, frozenset)):
            return {"set": sorted(json.dumps(self.of(each)) for each in value)}
        if inspect.isclass(value):
            return self._of_class(value)
        if hasattr(value, "get_params"):
            return self._of_estimator(value)
        if isinstance(value, functools.partial):
            return {"partial": self.of([value.func, value.args, value.keywords])}
        if inspect.ismethod(value):
            return {"method": self.of([value.__func__, value.__self__])}
        if inspect.isfunction(value):
            return self._of_function(value)
        if inspect.ismodule(value):
            return _by_name(value, value.__name__, "")
        if inspect.iscode(value):
            return self._of_code(value)
        return self._of_object(value)

    def _of_estimator(self, value):
        params = {
            name: self.of(own)
            for name, own in sorted(value.get_params(deep=False).items())
            if name not in _WITHOUT_EFFECT
        }
        if isinstance(value, BaseMeasure):  # its name decides nothing
            stated = {k: v for k, v in value._stated().items() if k != "short_name"}
            params |= {name: self.of(own) for name, own in sorted(stated.items())}
        return {**self.of(type(value)), "params": params}

    def _of_class(self, value):
        found = _by_name(value, value.__module__, value.__qualname__)
        if "source" not in found:
            return found
        found["bases"] = [self.of(base) for base in value.__bases__]
        if "<locals>" in value.__qualname__:  # whose methods have seen what is around
            seen = {k: _seen_by(k, member) for k, member in vars(value).items()}
            found["members"] = {k: self.of(each) for k, each in sorted(seen.items())}
        return found

    def _of_function(self, value):
        found = _by_name(value, value.__module__, value.__qualname__)
        if value.__closure__:  # what a function inside another one has seen
            found["closure"] = [self._of_cell(cell) for cell in value.__closure__]
        if "source" in found:
            seen = value.__code__, value.__defaults__, value.__kwdefaults__
            found["code"] = [self.of(each) for each in (*seen, vars(value))]
        return found

    def _of_cell(self, cell):
        try:
            return self.of(cell.cell_contents)
        except ValueError:  # nothing is in it yet
            return {"cell": None}

    def _of_code(self, value):
        """Describe what tells two functions of one line from each other."""
        return self.of([value.co_code, value.co_consts, value.co_names])

    def _of_object(self, value):
        """Describe any other object by how it would be copied."""
        if isinstance(value, _RANDOM):
            raise _untold(value)
        own = copyreg.dispatch_table.get(type(value))
        try:
            copied = value.__reduce_ex__(4) if own is None else own(value)
        except Exception:  # whatever a class raises that is not for copying
            raise _untold(value) from None
        if not isinstance(copied, str):
            maker, args, *state = copied
            state = [list(e) if isinstance(e, Iterator) else e for e in state]
            return {"object": self.of([maker, args, state])}
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # such as a cache
            return {**self.of(type(value)), "wrapped": self.of(wrapped)}
        # Compiled functions of NumPy 1 and SciPy do not say where they come from.
        module = getattr(value, "__module__", None) or type(value).__module__
        for room in (module, *_OF_FUNCTIONS):
            if _found(room, copied) is value:
                return _by_name(value, room, copied)
        raise _untold(value)


def _found(module: str, name: str) -> Any:
    """Return what has a name with dots in a module, or None."""
    room = sys.modules.get(module)
    return functools.reduce(
        lambda o, part: getattr(o, part, None), name.split("."), room
    )


def _seen_by(name: str, member: Any) -> Any:
    """Return what a member of a class may have seen; None if it has seen nothing."""
    if isinstance(member, property):
        return [member.fget, member.fset, member.fdel]
    if isinstance(member, functools.cached_property):
        return member.func
    if isinstance(member, (classmethod, staticmethod)):
        return member.__func__
    is_data = isinstance(member, _DATA) and not name.startswith("__")
    return member if is_data or inspect.isfunction(member) else None


def _by_name(value: Any, module: str, name: str) -> dict[str, Any]:
    """Describe code by where it can be imported, and its own code by its content."""
    return {"name": f"{module}:{name}", **_own_source(value, module)}


def _own_source(value, module) -> dict[str, str]:
    """Return the digest of code that no installed package vouches for."""
    room = module.partition(".")[0]
    if room == "skrank" or (room in sys.stdlib_module_names and room != "__main__"):
        return {}
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is not None and ("site-packages" in path or "dist-packages" in path):
        return {}
    try:
        if path is None:
            source = inspect.getsource(value).encode()
        else:
            with open(path, "rb") as file:
                source = file.read()
    except (OSError, TypeError):
        raise TypeError(
            f"the code of {shown(value)} cannot be read, so that a stored training "
            "could not be recognised; put it into a module"
        ) from None
    return {"source": hashlib.blake2b(source, digest_size=16).hexdigest()}
