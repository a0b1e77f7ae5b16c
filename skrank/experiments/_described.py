"""The content of parameters and of code, by which a stored training is recognised."""

import contextlib
import copyreg
import functools
import hashlib
import inspect
import json
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import CodeType, MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skrank._core._messages import shown
from skrank.metrics import BaseMeasure

# They change how long a training takes, and what it says of it, but not its result.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback")
# What decides what a code does: all but its name and its place in a file.
_PARTS_OF_CODE = (
    *("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags"),
    "co_exceptiontable",
)
# Sources of numbers, whose state is another one after each use.
_RANDOM = np.random.Generator, np.random.BitGenerator, np.random.RandomState, Random
# Containers that keep nothing alive, so that others hold what is in them.
_WEAK = weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet
# Attributes of estimators that it keeps, besides the parameters.
_CLONED_TOO = "_metadata_request", "_sklearn_output_config"
# Containers whose elements `sklearn.base.clone` clones.
_CLONED = list, tuple, set, frozenset, dict
# Where compiled functions may be found that do not say it.
_OF_FUNCTIONS = ("numpy", "scipy.special")


# Digests of files, and their classes as they were when they were first described.
_TOLD: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def described(value: Any) -> Any:
    """Return a value as JSON that is the same for the same content in every process.

    Parameters
    ----------
    value : object
        A parameter. Estimators, losses and the like are described by their class and
        their parameters, or by all that they hold where `sklearn.base.clone` would keep
        it. Classes and functions from outside of installed packages are also described
        by the file that they come from, so that a change of the code is a change, by
        their own code and by what it has seen: closures, defaults, attributes, the
        object of a method and, where there is no file, the global names of the code.

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
        return _Description().of(value, cloned=True)
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

    def __init__(self, *, of_a_class: bool = False):
        self._of_a_class = of_a_class
        self._depth: dict[int, int] = {}
        # Code that many others may use, kept alive with what is told of it.
        self._told: dict[int, tuple[Any, Any]] = {}
        self._fitted = 0  # number of estimators whose whole state is described

    def of(self, value: Any, *, cloned: bool = False) -> Any:
        """Return the description of a value, of which a training may get a clone."""
        own = type(value)
        if own in (str, np.str_):
            return str(value)
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = np.asarray(value)
        elif isinstance(value, np.generic):
            value = value.item()
            own = type(value)
            if isinstance(value, np.generic):  # longer than Python's numbers
                return {"scalar": [value.dtype.str, str(value)]}
        if value is None or own in (bool, int):
            return value
        if own is float:
            return {"float": value.hex()}
        if own is complex:
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if own is bytes:
            return {"bytes": _digest(value)}
        if type(value) is np.ndarray and value.dtype.kind in "biufcSUMm":
            digest = _digest(value.tobytes())  # dates have no buffer
            return {"array": [value.dtype.str, list(value.shape), digest]}
        if id(value) in self._depth:
            return {"within": len(self._depth) - self._depth[id(value)]}
        self._depth[id(value)] = len(self._depth)
        try:
            return self._of_parts(value, cloned)
        finally:
            del self._depth[id(value)]

    def _of_parts(self, value, cloned):
        if inspect.isclass(value) or inspect.isfunction(value):
            return self._of_known(value)
        if cloned and _keeps_parameters_only(value):
            return self._of_estimator(value)
        own = type(value)
        cloned = cloned and own in _CLONED
        if isinstance(value, _WEAK):
            return {"weak": own.__name__}
        if sparse.issparse(value):
            rows = value.tocsr()
            return self.of([rows.shape, rows.data, rows.indices, rows.indptr])
        if own in (dict, MappingProxyType):
            items = value.items()
            pairs = [[self.of(k), self.of(v, cloned=cloned)] for k, v in items]
            return {"mapping": pairs}
        if own in (list, tuple):
            return [self.of(each, cloned=cloned) for each in value]
        if own is np.ndarray and value.dtype == object:
            return {"objects": [list(value.shape), self.of(value.ravel().tolist())]}
        if isinstance(value, (set, frozenset)):
            parts = [self.of(each, cloned=cloned) for each in value]
            found = {"set": sorted(json.dumps(part) for part in parts)}
            more = {} if own in (set, frozenset) else self.of(own)
            return {**found, **more, "state": self.of(getattr(value, "__dict__", None))}
        if isinstance(value, functools.partial):
            return {"partial": self.of([value.func, value.args, value.keywords])}
        if inspect.ismethod(value):
            return {"method": self.of([value.__func__, value.__self__])}
        if inspect.ismodule(value):
            return _by_name(value, value.__name__, "")
        if inspect.iscode(value):
            return self._of_code(value)
        return self._of_object(value)

    def _of_estimator(self, value):
        params = {
            name: self.of(own, cloned=True)
            for name, own in sorted(value.get_params(deep=False).items())
            if name not in _WITHOUT_EFFECT
        }
        if isinstance(value, BaseMeasure):  # its name decides nothing
            stated = {k: v for k, v in value._stated().items() if k != "short_name"}
            params |= {name: self.of(own) for name, own in sorted(stated.items())}
        kept = {n: self.of(vars(value)[n]) for n in _CLONED_TOO if n in vars(value)}
        return {**self.of(type(value)), "params": params, **kept}

    def _of_known(self, value):
        """Describe a class or a function by its name or, once, by all that it is."""
        is_class, module = inspect.isclass(value), value.__module__
        is_known = _found(module, value.__qualname__) is value
        if not (is_class or is_known):
            # A function that stands for another one has its name, but other globals.
            module = value.__globals__.get("__name__")
        found = _by_name(value, module, value.__qualname__)
        if is_known and "source" not in found:
            return found
        has_file = is_known and found.get("source") is not None
        if is_class and has_file and not self._of_a_class:
            source, told = _TOLD.get(value, (None, None))
            if source != found["source"]:
                # By itself, so that it is the same wherever the class stands.
                told = _Description(of_a_class=True).of(value)
                _TOLD[value] = found["source"], told  # what it counts is no other class
            return told
        _, told = self._told.get(id(value), (None, None))
        if told is None:
            # What cannot be told of a class of a file is left to its file.
            if is_class:
                found |= self._of_class(value, has_file or "source" not in found)
            else:
                found |= self._of_function(value, found.get("source", ""))
            digest = _digest(json.dumps(found, sort_keys=True).encode())
            told = {"name": found["name"], "code": digest}
        self._told[id(value)] = value, told
        return told

    def _of_class(self, value, is_lenient):
        members = {
            name: self._of_seen(_behind(member), is_lenient)
            for name, member in sorted(vars(value).items())
            if _decides(name, member)
        }
        return {"bases": [self.of(b) for b in value.__bases__], "members": members}

    def _of_function(self, value, source):
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, vars(value)]
        found: dict[str, Any] = {"parts": [self.of(each) for each in parts]}
        if value.__closure__:  # what a function inside another one has seen
            found["closure"] = [self._of_cell(cell) for cell in value.__closure__]
        if source is None:  # no file says what stands around it
            around = value.__globals__
            names = sorted(_names(value.__code__) & around.keys())
            found["globals"] = {n: self._of_seen(around[n], True) for n in names}
        return found

    def _of_seen(self, value, is_lenient):
        try:
            return self.of(value)
        except TypeError:
            if not is_lenient:
                raise
            return {"kind": type(value).__qualname__}

    def _of_cell(self, cell):
        try:
            return self.of(cell.cell_contents)
        except ValueError:  # nothing is in it yet
            return {"cell": None}

    def _of_code(self, value):
        return self.of([getattr(value, name) for name in _PARTS_OF_CODE])

    def _of_object(self, value):
        """Describe any other object by how it would be copied."""
        if isinstance(value, _RANDOM):
            if not self._fitted:
                raise _untold(value)
            return {"random": self.of(_state_of(value))}
        own = copyreg.dispatch_table.get(type(value))
        try:
            copied = value.__reduce_ex__(4) if own is None else own(value)
        except Exception:  # whatever a class raises that is not for copying
            raise _untold(value) from None
        if not isinstance(copied, str):
            maker, args, *state = copied
            state = [list(e) if isinstance(e, Iterator) else e for e in state]
            is_estimator = hasattr(value, "get_params")
            self._fitted += is_estimator
            try:
                return {"object": self.of([maker, args, state])}
            finally:
                self._fitted -= is_estimator
        # Compiled functions of NumPy 1 and SciPy do not say where they come from.
        module = getattr(value, "__module__", None) or type(value).__module__
        wrapped = getattr(value, "__wrapped__", None)
        for room in (module, *_OF_FUNCTIONS):
            if _found(room, copied) is value and (
                wrapped is None or _is_installed(room)
            ):
                return _by_name(value, room, copied)
        if wrapped is None:
            raise _untold(value)
        return {**self.of(type(value)), "wrapped": self.of(wrapped)}  # such as a cache


def _found(module: str | None, name: str) -> Any:
    """Return what has a name with dots in a module, or None."""
    room = sys.modules.get(str(module))
    return functools.reduce(
        lambda o, part: getattr(o, part, None), name.split("."), room
    )


def _behind(member: Any) -> Any:
    """Return what a member of a class calls."""
    if isinstance(member, property):
        return [member.fget, member.fset, member.fdel]
    if isinstance(member, functools.cached_property):
        return member.func
    if isinstance(member, (classmethod, staticmethod)):
        return member.__func__
    return member


def _decides(name: str, member: Any) -> bool:
    """Return whether a member of a class may decide what its objects do."""
    is_of_python = name.startswith("__") and name.endswith("__")
    return name != "_abc_impl" and (not is_of_python or callable(_behind(member)))


def _names(code: CodeType) -> set[str]:
    """Return the names that a code and the functions in it look up."""
    inner = (each for each in code.co_consts if inspect.iscode(each))
    return set(code.co_names).union(*map(_names, inner))


def _keeps_parameters_only(value: Any) -> bool:
    """Return whether `sklearn.base.clone` forgets all but the parameters."""
    usual = BaseEstimator.__sklearn_clone__
    own = getattr(type(value), "__sklearn_clone__", usual)
    is_usual = own is usual or isinstance(value, BaseMeasure)
    return hasattr(value, "get_params") and is_usual


def _state_of(random: Any) -> Any:
    """Return the state of a source of numbers, the same in every process."""
    if isinstance(random, Random):
        return random.getstate()
    if isinstance(random, np.random.RandomState):
        return random.get_state(legacy=False)
    return getattr(random, "bit_generator", random).state


def _is_installed(module: str | None) -> bool:
    """Return whether code belongs to Python or to an installed package."""
    room = str(module).partition(".")[0]
    if room == "skrank" or (room in sys.stdlib_module_names and room != "__main__"):
        return True
    path = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return "site-packages" in path or "dist-packages" in path


def _by_name(value: Any, module: str | None, name: str) -> dict[str, Any]:
    """Describe code by where it can be imported, and a user's own by its file."""
    found: dict[str, Any] = {"name": f"{module}:{name}"}
    if _is_installed(module):
        return found
    path = getattr(sys.modules.get(str(module)), "__file__", None)
    found["source"] = None
    if path is not None:
        with contextlib.suppress(OSError):
            found["source"] = _digest(Path(path).read_bytes())
    has_code = inspect.isclass(value) or inspect.isfunction(value)
    if found["source"] is None and not has_code:
        raise _untold(value)
    return found
