"""Docstrings: complete by numpydoc's rules, and their examples run as written.

The docstrings are those of the imported objects, because rankers complete theirs from
their base class when the package is imported.
"""

import dataclasses
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
from numpydoc.validate import validate

import skrank
from skrank._core._parameters import Parameters

_ROOT = Path(__file__).parents[1]
# The configuration that `numpydoc lint` reads as well.
_CONFIG = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHECKS = set(_CONFIG["tool"]["numpydoc_validation"]["checks"])

PAGES = sorted((_ROOT / "doc").glob("*.rst"))
OBJECTS = dict(public_objects())
NO_EXAMPLE = {
    "skrank.cli.main": "the command line has its own help",
    "skrank.datasets.LetorFold": "made by load_letor_folds",
    "skrank.export.load_model": "the example of save_model loads, too",
    "skrank.losses.PreparedLoss": "made by BaseLoss.prepare",
    "skrank.metrics.QueryLeakageWarning": "a warning",
    "skrank.metrics.RankingScorer": "made by make_ranking_scorer",
    "skrank.metrics.check_query_leakage": "called by scorers",
}
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


def _n_arguments(member):
    return len(inspect.signature(member).parameters) - 1 if callable(member) else 0


def _method_checks(cls, name):
    """A sentence is enough for a short method, and for one documented above."""
    member = getattr(cls, name)
    lists_arguments = "Parameters\n-----" in (inspect.getdoc(member) or "")
    is_short = _n_arguments(member) <= 2
    if not lists_arguments and (is_short or _is_documented_above(cls, name)):
        return {check for check in CHECKS if check[:2] in ("GL", "SS")}
    return CHECKS


def _is_record(member):
    """Whether an object is returned to users rather than made by them."""
    if inspect.isclass(member) and issubclass(member, Parameters):
        return False
    return dataclasses.is_dataclass(member) or hasattr(member, "_fields")


def _class_checks(member):
    """The fields of a record are documented as its attributes."""
    return CHECKS - {"PR01"} if _is_record(member) else CHECKS


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_is_complete(name):
    assert not _errors(name, _class_checks(OBJECTS[name]))


@pytest.mark.parametrize("name", OBJECTS)
def test_examples_are_shown(name):
    if name in NO_EXAMPLE or ".Base" in name or _is_record(OBJECTS[name]):
        pytest.skip(NO_EXAMPLE.get(name, "not made by users"))
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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_examples_of_the_guide_run_as_written(path, clean_slate, capsys):
    failed, _ = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert failed == 0, capsys.readouterr().out


def test_the_example_of_the_readme_runs(clean_slate, data_dir, monkeypatch):
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n", 1)[1].split("```", 1)[0]
    monkeypatch.chdir(data_dir)
    names = {}
    exec(code, names)
    assert set(names["search"].best_params_) == {"ranksvm__alpha"}
