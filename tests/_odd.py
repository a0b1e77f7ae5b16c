"""Odd arguments: values that no call expects, and what an answer to one must be."""

import os
import re
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

#: Values by what they are; each is made anew, because some can be read only once.
ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "object": object,
    "[]": list,
    "{}": dict,
    "()": tuple,
    "empty text": str,
    "'a'": lambda: "a",
    "half a surrogate": lambda: "\ud800",
    "bytes": lambda: b"x",
    "-1": lambda: -1,
    "0": lambda: 0,
    ".5": lambda: 0.5,
    "nan": lambda: np.nan,
    "inf": lambda: np.inf,
    "True": lambda: True,
    "10**30": lambda: 10**30,
    "generator": lambda: (i for i in range(12)),
    "array without axes": lambda: np.array(3.0),
    "empty array": lambda: np.zeros(0),
    "cube": lambda: np.zeros((2, 2, 2)),
    "array of objects": lambda: np.array([object()] * 12),
    "ragged list": lambda: [[1], [2, 3]],
    "sparse matrix": lambda: sparse.csr_array(np.eye(12, 3)),
    "data frame": lambda: pd.DataFrame({"a": np.arange(12.0)}),
    "texts": lambda: ["a", "b"],
    "mapping of numbers": lambda: {0: 1},
    "set": lambda: {1, 2},
    "complex": lambda: 1j,
    "class": lambda: dict,
    "function": lambda: len,
}

# What Python, NumPy and pandas say of their own insides.
_INTERNAL = re.compile(
    r"has no attribute|unhashable|unsupported operand|not subscriptable|not supported "
    r"between|object is not|is not iterable|has no len|unsized|truth value|ufunc|"
    r"broadcast|out of bounds|inhomogeneous|cannot be interpreted|indices must|"
    r"unexpected keyword|must be real|\w(Error|Exception)\("
)

_ROWS = dict.fromkeys(("X", "y", "arrays", "order", "pairs"), ("rows", "documents"))
_ROWS |= {"sample_weight": ("rows",), "per_query": ("weights",)}
_ROWS |= {"groups": ("query", "queries", "rows", "pairs"), "desired": ("others",)}
# Functions that users give may fail as they like.
_CALLED = {
    *("g", "kernel", "schedule", "scoring", "tokenizer", "stemmer", "grade_weights"),
    *("position_weights", "learning_rate", "selection", "importance"),
}


@dataclass(frozen=True)
class Call:
    """A valid call, whose arguments can be replaced one at a time.

    Attributes
    ----------
    function : callable
        What is called.
    arguments : callable
        Returns the valid arguments by name, new ones each time.
    as_named : dict
        Other names by which messages may know an argument.
    """

    function: Callable[..., Any]
    arguments: Callable[[], dict[str, Any]] = dict
    as_named: dict[str, str] | None = None

    def names(self) -> list[str]:
        """Return the names of the arguments to replace."""
        return list(self.arguments())

    def run(self, **replaced: Any) -> None:
        """Call the function, and exhaust what it yields."""
        result = self.function(**{**self.arguments(), **replaced})
        if isinstance(result, types.GeneratorType):
            for _ in result:
                pass


def problem_of(call: Call, name: str, value: Any) -> str:
    """Return what is wrong with the answer to one odd argument, "" if nothing is."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call.run(**{name: value})
        except (ValueError, TypeError, OSError) as error:
            return problem_of_message(str(error), (call.as_named or {}).get(name, name))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def problem_of_message(message: str, name: str) -> str:
    """Return what is wrong with a message about an argument, "" if nothing is."""
    # "rows" is what X and y have, and one of several measures is a measure.
    known = "|".join((name, f"{name}s", name.removesuffix("s"), *_ROWS.get(name, ())))
    if not re.search(rf"(?<![A-Za-z0-9])({known})(?![A-Za-z0-9])", message):
        return f"does not name it: {message}"
    if "\n" in message:
        return f"more than one line: {message}"
    if _INTERNAL.search(message):
        return f"speaks of insides: {message}"
    return ""


def odd_answers(call: Call, names=None) -> Iterator[str]:
    """Yield a line for each odd argument that a call answers badly."""
    for name in call.names() if names is None else names:
        for what in _values_for(name):
            value = ODD[what]()
            if callable(value) and name in _CALLED:
                continue
            problem = problem_of(call, name, value)
            if problem:
                yield f"{name}={what}: {problem}"


def _values_for(name: str) -> list[str]:
    """Return every third of the odd values, another third for another argument.

    SKRANK_ODD_EVERY=1 in the environment takes all, which takes a minute.
    """
    every = int(os.environ.get("SKRANK_ODD_EVERY", "3"))
    return list(ODD)[zlib.crc32(name.encode()) % every :: every]


# What methods of users' classes return in place of n numbers, and what is said.
ODD_ANSWERS = {
    "shorter": (lambda n: np.zeros(n - 1), r"one number for each of \d+ rows"),
    "of two axes": (lambda n: np.zeros((n, 2)), r"one number for each of \d+ rows"),
    "one number": (lambda n: 1.0, r"one number for each of \d+ rows"),
    "nothing": (lambda n: None, r"one number for each of \d+ rows"),
    "complex": (lambda n: np.zeros(n, dtype=complex), "must hold numbers, got"),
    "dates": (lambda n: np.zeros(n, dtype="M8[s]"), "must hold numbers, got"),
    "text": (lambda n: np.array(["a"] * n), "must hold numbers, got"),
    "ragged": (lambda n: [[1], [1, 2]], "must hold numbers, got"),
}

# Numbers that are none, and what is said.
NOT_FINITE = {
    "NaN": (lambda n: np.full(n, np.nan), "became nan"),
    "infinite": (lambda n: np.full(n, np.inf), "became inf"),
    "masked": (lambda n: np.ma.masked_array(np.zeros(n), np.arange(n) > 0), "became"),
}
