"""Type checkers read the measure functions in a stub, which is written from them.

``python tests/metrics/test_function_stub.py`` writes it anew after a measure has
changed.
"""

import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path

import numpy as np

from skrank.metrics import _functions

STUB = Path(_functions.__file__).with_suffix(".pyi")
HEAD = """\
# Written by tests/metrics/test_function_stub.py from the functions themselves.
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
"""
ARRAYS = ("y_true", "y_score", "groups", "sample_weight", "docids")
RETURNS = {
    "Literal[False] = ...": "float",
    "Literal[True]": "np.ndarray",
    "bool": "float | np.ndarray",
}


def spelled(hint):
    """An annotation as source code."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(spelled, arguments)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]".replace("'", '"')
    if origin is Callable:
        return "Callable[..., Any]"
    if hint is np.ndarray or origin is np.ndarray:
        return "np.ndarray"
    if hint is np.random.RandomState:
        return "np.random.RandomState"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(spelled, arguments))}]"
    return "None" if hint is type(None) else hint.__name__


def lines_of(name, parameters, per_query):
    yield "@overload"
    yield f"def {name}("
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "    *,"
        if parameter.name == "per_query":
            yield f"    per_query: {per_query},"
            continue
        required = parameter.default is parameter.empty
        kind = spelled(parameter.annotation)
        if parameter.name in ARRAYS:
            kind = "npt.ArrayLike" if required else "npt.ArrayLike | None"
        yield f"    {parameter.name}: {kind}{'' if required else ' = ...'},"
    yield f") -> {RETURNS[per_query]}: ..."


def stub_text():
    lines = [HEAD]
    for name, function in vars(_functions).items():
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__ == _functions.__name__:
            parameters = list(inspect.signature(function).parameters.values())
            for per_query in RETURNS:
                lines += lines_of(name, parameters, per_query)
    return "\n".join(lines) + "\n"


def test_the_stub_says_what_the_functions_take():
    assert STUB.read_text(encoding="utf-8") == stub_text()


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
