"""Docstrings: complete by numpydoc's rules, and their examples run as written.

The docstrings are those of the imported objects, because rankers complete theirs from
their base class when the package is imported.
"""

import doctest
import importlib
import inspect
import pkgutil
import sys
import tomllib
from pathlib import Path

import pytest
import sklearn
from _public import public_methods, public_objects

import skrank

validate = pytest.importorskip("numpydoc.validate").validate

# The configuration that `numpydoc lint` reads as well.
_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
_CONFIG = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))
CHECKS = set(_CONFIG["tool"]["numpydoc_validation"]["checks"])

OBJECTS = dict(public_objects())
MODULES = ["skrank"] + [
    info.name
    for info in pkgutil.walk_packages(skrank.__path__, "skrank.")
    if not info.name.endswith("__main__")
]


def _errors(name, checks=CHECKS):
    return [
        f"{code}: {text}" for code, text in validate(name)["errors"] if code in checks
    ]


def _is_documented_above(cls, name):
    """Whether a base class documents the method that ``cls`` overrides."""
    docs = [vars(base)[name].__doc__ for base in cls.__mro__[1:] if name in vars(base)]
    return any(doc and "-----" in doc for doc in docs)


def _method_checks(cls, name):
    """An override may refer to its base class in one line."""
    doc = inspect.getdoc(getattr(cls, name)) or ""
    if "\n" not in doc.strip() and _is_documented_above(cls, name):
        return {check for check in CHECKS if check[:2] in ("GL", "SS")}
    return CHECKS


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_is_complete(name):
    assert not _errors(name)


@pytest.mark.parametrize("name", OBJECTS)
def test_examples_are_shown(name):
    if name.endswith(("Warning", ".main")) or ".Base" in name:
        pytest.skip("nothing to run")
    assert not _errors(name, {"EX01"})


@pytest.mark.parametrize(
    "name", [name for name, member in OBJECTS.items() if inspect.isclass(member)]
)
def test_methods_are_documented(name):
    cls = OBJECTS[name]
    wrong = {
        method: errors
        for method in public_methods(cls)
        if (errors := _errors(f"{name}.{method}", _method_checks(cls, method)))
    }
    assert not wrong


def _doctests(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [test for test in finder.find(module, module.__name__) if test.examples]


@pytest.fixture
def clean_slate(tmp_path, monkeypatch):
    """Examples write elsewhere, draw without a display and leave no configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with sklearn.config_context():
        yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_as_written(name, clean_slate, capsys):
    runner = doctest.DocTestRunner()
    for test in _doctests(importlib.import_module(name)):
        runner.run(test)
    assert runner.failures == 0, capsys.readouterr().out
