"""Errors of the tests are the warnings that skrank causes, not those between others."""

import importlib
import sys
import warnings

import pytest

LIBRARY = """
import warnings

def old():
    warnings.warn("old is deprecated", {category}, stacklevel={stacklevel})

def inner():
    old()
"""
CALLER = """
import old_library

def call():
    old_library.inner()
"""
# A warning of compiled code seems to come from the line that calls it.
COMPILED = """
from warnings import warn as compiled

def call():
    compiled("old is deprecated", {category})
"""
CATEGORIES = pytest.mark.parametrize(
    "category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning]
)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A function that writes a module of some other package, and imports it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return write


@CATEGORIES
@pytest.mark.parametrize("stacklevel", [1, 2, 3])
def test_what_this_file_causes_is_an_error(library, category, stacklevel):
    text = LIBRARY.format(category=category.__name__, stacklevel=stacklevel)
    module = library("old_library", text)
    with pytest.raises(category, match="old is deprecated"):
        module.inner()


@CATEGORIES
@pytest.mark.parametrize("stacklevel", [1, 2, 3])
def test_what_others_cause_is_not(library, category, stacklevel):
    text = LIBRARY.format(category=category.__name__, stacklevel=stacklevel)
    library("old_library", text)
    library("calling_library", CALLER).call()


@CATEGORIES
def test_what_others_cause_in_compiled_code_is_not(library, category):
    library("calling_library", COMPILED.format(category=category.__name__)).call()


@CATEGORIES
def test_what_this_file_causes_in_compiled_code_is_an_error(category):
    compiled = warnings.warn
    with pytest.raises(category, match="old is deprecated"):
        compiled("old is deprecated", category)


def test_other_categories_are_errors_wherever_they_come_from(library):
    text = COMPILED.format(category="RuntimeWarning")
    with pytest.raises(RuntimeWarning, match="old is deprecated"):
        library("calling_library", text).call()
