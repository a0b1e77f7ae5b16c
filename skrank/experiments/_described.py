"""The content of parameters and of code, by which a stored training is recognised."""

import contextlib
import copyreg
import functools
import hashlib
import inspect
import json
import os
import struct
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

import skrank
from skrank._core._messages import shown, words_of
from skrank._core._sparse import check_sparse
from skrank.metrics import BaseMeasure

# They change how long a training takes, and what it says of it, but not its result.
_WITHOUT_EFFECT = ("n_jobs", "verbose")
# What decides what a code does: all but its name and its place in a file.
_PARTS_OF_CODE = (
    *("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags"),
    "co_exceptiontable",
)
# Sources of numbers, whose state is another one after each use.
_RANDOM = np.random.Generator, np.random.BitGenerator, np.random.RandomState, Random
# Attributes of estimators that `sklearn.base.clone` keeps, besides the parameters.
_CLONED_TOO = "_metadata_request", "_sklearn_output_config"
# Where compiled functions may be found that do not say it.
_OF_FUNCTIONS = ("numpy", "scipy.special")
_CACHE = type(functools.lru_cache(abs))

# Parts of descriptions that are never long.
_SHORT = {"name", "source"}

_INSTALLED = {"site-packages", "dist-packages"}
_FOLDERS = *map(sysconfig.get_path, ("stdlib", "platstdlib")), *skrank.__path__

# What each module was imported by, and the digest of its file when first looked at.
_SOURCES: dict[str, tuple[Any, str]] = {}


class UntoldError(Exception):
    """What a value is cannot be told, so that its training must be repeated."""


def _start_of_process() -> float:
    """Return when this process began, or, where no file says it, the time of now."""
    now = time.time()
    with contextlib.suppress(OSError, AttributeError, ValueError, IndexError):
        # Behind the name of the program, which may hold anything, the 20th is the
        # time from the boot of the machine, in ticks.
        ticks = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19]
        started = int(ticks) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
        # Two ticks more, for a program that is run as soon as it has been written.
        return min(now, now - age + 2 / os.sysconf("SC_CLK_TCK"))
    return now


# Files that are younger may not be those that were imported, if nothing tells it.
_STARTED = _start_of_process()


def described(value: Any) -> Any:
    """Return a value as JSON that is the same for the same content in every process.

    Parameters
    ----------
    value : object
        A parameter. Estimators, losses and the like are described by their class and
        their parameters, or by all that they hold where `sklearn.base.clone` would keep
        it. Classes and functions of installed packages are described by their name, and
        others by the file that they come from, too, so that a change of the file is a
        change, and functions by their code and by what it has seen: closures, defaults
        and attributes.

    Returns
    -------
    object
        Of the kinds that JSON has.

    Raises
    ------
    UntoldError
        If content cannot be told: code without a file, as in a notebook, code whose
        file has changed since it was imported, sources of random numbers, and objects
        that hide what they hold or hold themselves.
    """
    try:
        return _Description().of(value, cloned=True)
    except UntoldError:
        raise
    except RecursionError:
        raise UntoldError(f"{_called(value)} is nested too deeply") from None
    except Exception as error:  # whatever a class raises that is asked for its parts
        words = f"{_called(value)} cannot be described ({words_of(error)})"
        raise UntoldError(words) from error


def _called(value: Any) -> str:
    """Return how messages call a value, whose own text may be without end."""
    has_short_text = inspect.isclass(value) or inspect.isroutine(value)
    return shown(value) if has_short_text else f"an object of {shown(type(value))}"


def _digest(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class _Description:
    """One description, with what it has told so far and what it is within."""

    def __init__(self):
        # By identity, with the objects themselves, which keeps them alive.
        self._told: dict[tuple[int, bool, bool], tuple[Any, Any]] = {}
        self._within: set[int] = set()
        self._fitted = 0  # number of estimators whose whole state is described

    def of(self, value: Any, *, cloned: bool = False) -> Any:
        """Return the description of a value, of which a training may get a clone."""
        own = type(value)
        if own in (str, np.str_):
            return str(value)
        if isinstance(value, np.generic):
            return self._of_scalar(value)
        if value is None or own is bool:
            return value
        if own is int:  # JSON has none of thousands of digits
            return value if value.bit_length() < 64 else {"int": hex(value)}
        if own is float:
            return {"float": value.hex()}
        if own is complex:
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if own is bytes:
            return {"bytes": _digest(value)}
        if type(value) is np.ndarray and value.dtype.kind in "biufcSUMm":
            if value.dtype.char in "gG":  # whose bytes are not all of the numbers
                parts = self._all(parts_of_long(value))
                return {"long": [value.dtype.str, list(value.shape), parts]}
            digest = _digest(value.tobytes())  # dates have no buffer
            return {"array": [value.dtype.str, list(value.shape), digest]}
        return self._once(value, cloned)

    def _of_scalar(self, value):
        """Describe a scalar of NumPy, which may overflow where Python's do not."""
        own, told = type(value), self.of(np.asarray(value))
        if own.__module__ == "numpy":
            return {"scalar": told}
        return {"scalar": [told, *self._all([own, getattr(value, "__dict__", None)])]}

    def _once(self, value, cloned):
        key = id(value), cloned, self._fitted > 0
        if key not in self._told:
            if id(value) in self._within:
                if inspect.isclass(value):  # of a method that calls `super`
                    return {"name": f"{value.__module__}:{value.__qualname__}"}
                raise UntoldError(f"{_called(value)} holds itself")
            self._within.add(id(value))
            told = self._of_parts(value, cloned)
            self._within.remove(id(value))
            if told.keys() - _SHORT:  # however often it is part of others
                content = _digest(json.dumps(told, sort_keys=True).encode())
                told = {k: v for k, v in told.items() if k in _SHORT}
                told["content"] = content
            self._told[key] = value, told
        return self._told[key][1]

    def _of_parts(self, value, cloned):
        if inspect.isclass(value):
            return self._of_class(value)
        if inspect.isfunction(value):
            return self._of_function(value)
        if cloned and _keeps_parameters_only(value):
            return self._of_estimator(value)
        own = type(value)
        is_plain = own.__module__.startswith("scipy.")
        if sparse.issparse(value) and is_plain and len(value.shape) < 3:
            check_sparse(value)
            rows = value.tocsr()
            parts = own, rows.shape, rows.data, rows.indices, rows.indptr
            # What a matrix of its class has, and what is kept of what the rows tell.
            usual = vars(own((1,) * len(value.shape))).keys()
            usual |= {"_has_sorted_indices", "_has_canonical_format"}
            added = {n: v for n, v in vars(value).items() if n not in usual}
            return {"rows": self._all([*parts, added])}
        if own is dict:
            items = value.items()
            return {"mapping": [self._all(pair, cloned) for pair in items]}
        if own in (list, tuple):
            return {own.__name__: self._all(value, cloned)}
        if isinstance(value, (set, frozenset)):
            is_cloned = cloned and own in (set, frozenset)
            parts = sorted(map(json.dumps, self._all(value, is_cloned)))
            found = {"frozenset" if isinstance(value, frozenset) else "set": parts}
            if own not in (set, frozenset):
                *_, state = value.__reduce_ex__(4)
                found |= {"class": self.of(own), "state": self.of(state)}
            return found
        if own is np.ndarray and value.dtype == object:
            return {"objects": [list(value.shape), self._all(value.ravel())]}
        if own is np.ndarray and value.dtype.names:  # with bytes in between
            fields = {n: self.of(value[n].copy()) for n in value.dtype.names}
            return {"fields": [str(value.dtype), fields]}
        if inspect.ismethod(value):
            return {"method": self._all([value.__func__, value.__self__])}
        return self._of_object(value)

    def _all(self, values, cloned=False):
        return [self.of(value, cloned=cloned) for value in values]

    def _of_estimator(self, value):
        is_installed = _is_installed(type(value).__module__)
        params = {
            name: self._of_choices(own)
            if is_installed and name == "param_distributions"
            else self.of(own, cloned=True)
            for name, own in sorted(value.get_params(deep=False).items())
            if name not in _WITHOUT_EFFECT
        }
        if isinstance(value, BaseMeasure):  # its name decides nothing
            stated = {k: v for k, v in value._stated().items() if k != "short_name"}
            params |= {name: self.of(own) for name, own in sorted(stated.items())}
        kept = {n: repr(getattr(value, n)) for n in _CLONED_TOO if hasattr(value, n)}
        return {"class": self.of(type(value)), "params": params, **kept}

    def _of_choices(self, value):
        """Describe what a search draws from, with a source of numbers of its own."""
        if type(value) in (list, tuple):
            return [self._of_choices(each) for each in value]
        if type(value) is not dict:
            return self.of(value, cloned=True)
        return {
            "choices": [
                [
                    self.of(name),
                    self._of_distribution(own, None)
                    if _is_distribution(own)
                    else self.of(own, cloned=True),
                ]
                for name, own in value.items()
            ]
        }

    def _of_distribution(self, value, seed):
        parts = {**value.dist._updated_ctor_param(), "seed": seed}
        own = {**vars(value), "dist": type(value.dist)}
        return {"distribution": self._all([own, parts])}

    def _of_class(self, value):
        if _found(value.__module__, value.__qualname__) is not value:
            raise UntoldError(
                f"{_called(value)} is not what its module has by its name"
            )
        found = _by_name(value, value.__module__, value.__qualname__)
        if "source" in found:
            found["bases"] = self._all([type(value), *value.__bases__])
            around = vars(sys.modules[value.__module__])
            found["methods"] = [
                self.of(own)
                for name, own in sorted(_functions_of(value))
                # Those of data classes are made, and have no file.
                if not name.startswith("__") or _is_of_another(own, around)
            ]
        return found

    def _of_function(self, value):
        is_known = _found(value.__module__, value.__qualname__) is value
        if is_known and _is_installed(value.__module__):
            return _by_name(value, value.__module__, value.__qualname__)
        # A function that stands for another one has its name, but other globals.
        module = value.__globals__.get("__name__")
        found = _by_name(value, module, value.__qualname__)
        if not _is_of(value.__code__, sys.modules[module]):
            raise UntoldError(f"{_called(value)} is not from the file of its module")
        closure = value.__closure__ or ()
        parts = value.__defaults__, value.__kwdefaults__, vars(value)
        found["parts"] = [self._of_code(value.__code__), *self._all(parts)]
        return {**found, "closure": list(map(self._of_cell, closure))}

    def _of_cell(self, cell):
        try:
            value = cell.cell_contents
        except ValueError:  # nothing is in it yet
            return {"cell": None}
        return self.of(value)

    def _of_code(self, code):
        parts = {name: getattr(code, name) for name in _PARTS_OF_CODE}
        constants = [
            self._of_code(each) if inspect.iscode(each) else self.of(each)
            for each in parts.pop("co_consts")
        ]
        return [constants, *self._all(parts.values())]

    def _of_object(self, value):
        """Describe any other object by how it would be copied."""
        if _is_distribution(value):
            return self._of_distribution(value, _seed_of(value))
        if isinstance(value, _RANDOM):
            if not self._fitted:
                raise UntoldError(f"{_called(value)} has another state after each use")
            return {"random": self.of(_state_of(value))}
        own = copyreg.dispatch_table.get(type(value))
        if _copies_itself(type(value)):
            raise UntoldError(f"{_called(value)} says itself what a copy of it holds")
        try:
            copied = value.__reduce_ex__(4) if own is None else own(value)
        except Exception:  # whatever a class raises that is not for copying
            raise UntoldError(f"{_called(value)} hides its content") from None
        if not isinstance(copied, str):
            parts = [list(e) if isinstance(e, Iterator) else e for e in copied]
            is_estimator = hasattr(value, "get_params")
            self._fitted += is_estimator
            told = {"object": self._all(parts)}
            self._fitted -= is_estimator
            return told
        # Compiled functions of NumPy 1 and SciPy do not say where they come from.
        module = getattr(value, "__module__", None) or type(value).__module__
        for room in (module, *_OF_FUNCTIONS):
            if _found(room, copied) is value:
                return _by_name(value, room, copied)
        if type(value) is _CACHE:
            return {"cache": self.of(value.__wrapped__)}
        raise UntoldError(f"{_called(value)} is not what its module has by its name")


def _found(module: str | None, name: str) -> Any:
    """Return what has a name with dots in a module, or None."""
    room = sys.modules.get(str(module))
    return functools.reduce(
        lambda o, part: getattr(o, part, None), name.split("."), room
    )


def parts_of_long(values: np.ndarray) -> list[np.ndarray]:
    """Return doubles and exponents that tell longer numbers apart.

    Their own bytes are not all of the numbers.
    """
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    rest, exponents = np.frexp(native.view(np.longdouble))
    parts = [np.where(np.isfinite(rest), exponents, 0)]
    with np.errstate(invalid="ignore"):  # infinity less infinity
        for _ in range(3):
            parts.append(rest.astype(np.float64))
            rest = rest - parts[-1]
    return parts


def _functions_of(cls: type) -> Iterator[tuple[str, FunctionType]]:
    """Yield the functions of a class by name, also behind properties and the like."""
    for name, member in vars(cls).items():
        for part in ("__func__", "fget", "func"):
            member = getattr(member, part, member)
        if inspect.isfunction(member):
            yield name, member


def _copies_itself(cls: type) -> bool:
    """Return whether copies are made by a method that no installed class has."""
    owners = (base for base in cls.__mro__ if "__deepcopy__" in vars(base))
    owner = next(owners, object)
    return not _is_installed(owner.__module__)


def _is_distribution(value: Any) -> bool:
    """Return whether a value is a distribution of SciPy with its arguments."""
    is_frozen = isinstance(value, stats.distributions.rv_frozen)
    return is_frozen and all(
        _is_installed(type(each).__module__) for each in (value, value.dist)
    )


def _seed_of(distribution: Any) -> Any:
    """Return the random state that a distribution has of its own, or None."""
    state = distribution.dist._random_state
    return None if state is check_random_state(None) else state


def _is_of_another(function: FunctionType, around: dict[str, Any]) -> bool:
    """Return whether a function is from another module, of no installed package."""
    name = function.__globals__.get("__name__", "")  # made up for named tuples
    is_known = name in sys.modules and not _is_installed(name)
    return is_known and function.__globals__ is not around


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


def _by_name(value: Any, module: str | None, name: str) -> dict[str, Any]:
    """Describe code by where it can be imported, and a user's own by its file."""
    found: dict[str, Any] = {"name": f"{module}:{name}"}
    room = sys.modules.get(str(module))
    if not _is_installed(str(module)):
        found["source"] = _source(value, room)
    return found


def _is_installed(module: str) -> bool:
    """Return whether a module belongs to Python, to skrank or to another package."""
    if module == "__main__":
        return False
    room = sys.modules.get(module)
    path = getattr(room, "__file__", None)
    if path is None:
        origin = getattr(getattr(room, "__spec__", None), "origin", None)
        return origin in ("built-in", "frozen")
    parents = Path(path).parents
    return any(one.name in _INSTALLED or str(one) in _FOLDERS for one in parents)


def _source(value: Any, room: Any) -> str:
    """Return the digest of the file that a module was imported from."""
    path: Any = getattr(room, "__file__", None)
    if room is sys.modules["__main__"] and hasattr(sys, "ps1"):
        path = None  # what was typed is not in the file that came before
    try:
        status, digest = os.stat(path), _digest(Path(path).read_bytes())
    except (OSError, TypeError):
        raise UntoldError(f"{_called(value)} has no file") from None
    # Each import, be it of the same module again, has a specification of its own.
    imported = room.__spec__ or room
    known, first = _SOURCES.get(room.__name__, (None, ""))
    if known is not imported:
        first = digest if _is_as_imported(room.__spec__, status) else ""
        _SOURCES[room.__name__] = imported, first
    if first != digest:
        raise UntoldError(
            f"the file of {_called(value)} may have changed since its import"
        )
    return digest


def _is_as_imported(spec: Any, status: os.stat_result) -> bool:
    """Return whether a file is what Python has compiled, or else is old enough."""
    with contextlib.suppress(OSError, TypeError, AttributeError, struct.error):
        with open(spec.cached, "rb") as file:
            found = struct.unpack("<8xII", file.read(16))
        return found == (int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return status.st_mtime <= _STARTED


def _is_of(code: CodeType, room: Any) -> bool:
    """Return whether a code is part of the file of a module."""
    with contextlib.suppress(OSError):
        return os.path.samefile(code.co_filename, room.__file__)
    return False
