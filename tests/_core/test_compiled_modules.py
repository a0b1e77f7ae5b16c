"""Compiled modules have stubs for type checkers, and the stubs agree with them."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import skrank

PACKAGE = Path(skrank.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.pyx"))
PER_MODULE = pytest.mark.parametrize(
    "source", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)


def _module_of(source):
    parts = ("skrank", *source.relative_to(PACKAGE).with_suffix("").parts)
    return importlib.import_module(".".join(parts))


def _parameters(function):
    """Name, whether by name only, and default of the parameters of a function."""
    return [
        (p.name, p.kind is p.KEYWORD_ONLY, p.default)
        for p in inspect.signature(function).parameters.values()
    ]


def _stub_parameters(node):
    """The same of a function in a stub."""
    given = node.args.posonlyargs + node.args.args
    missing = [None] * (len(given) - len(node.args.defaults))
    by_place = [(a, False, d) for a, d in zip(given, missing + node.args.defaults)]
    by_name = [
        (a, True, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)
    ]
    return [
        (a.arg, only, inspect.Parameter.empty if d is None else ast.literal_eval(d))
        for a, only, d in by_place + by_name
    ]


def _defined_in(module, owner):
    """Public names of a module, or of one of its classes, that are defined there."""
    return {
        name: value
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        # Constants do not say where they come from.
        and getattr(value, "__module__", None) in (None, module.__name__)
    }


def _check_functions(found, nodes):
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    # Special methods of compiled classes have no signature.
    stubbed = {n.name: n for n in functions if not n.name.startswith("_")}
    assert set(stubbed) == {name for name, f in found.items() if inspect.isroutine(f)}
    for name, node in stubbed.items():
        assert _stub_parameters(node) == _parameters(found[name]), name


@PER_MODULE
def test_the_stub_agrees_with_the_module(source):
    stub = source.with_suffix(".pyi")
    assert stub.is_file(), f"{stub.name} is missing"
    nodes = ast.parse(stub.read_text(encoding="utf-8")).body
    module = _module_of(source)
    found = _defined_in(module, module)
    _check_functions(found, nodes)
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name, c in found.items() if inspect.isclass(c)}
    for name, node in classes.items():
        _check_functions(_defined_in(module, found[name]), node.body)
    constants = {n.target.id for n in nodes if isinstance(n, ast.AnnAssign)}
    assert constants == {name for name, value in found.items() if not callable(value)}


@PER_MODULE
def test_stubs_annotate_everything(source):
    tree = ast.parse(source.with_suffix(".pyi").read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    assert functions
    for node in functions:
        arguments = node.args.args + node.args.kwonlyargs
        bare = [a.arg for a in arguments if a.annotation is None and a.arg != "self"]
        assert node.returns is not None, node.name
        assert not bare, node.name
