"""What a user may import: listed, sorted, typed, documented, and cheap to import."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from _public import public_methods, public_modules, public_names, public_objects

import skrank

MODULES = public_modules()
OBJECTS = dict(public_objects())
API_PAGES = Path(__file__).parents[1] / "doc" / "api"

# Arguments whose type scikit-learn leaves to "array-like" and checks at run time.
_UNTYPED = {
    *("self", "cls", "X", "y", "groups", "sample_weight", "X_val", "y_val"),
    *("groups_val", "ptr", "raw", "params", "rng", "random_state", "y_score", "y_true"),
}


@pytest.mark.parametrize("module", MODULES)
def test_all_is_sorted_and_importable(module):
    names = list(importlib.import_module(module).__all__)
    # The order of ruff's RUF022: constants, then classes, then functions.
    kinds = [(not name.isupper(), not name[0].isupper(), name) for name in names]
    assert kinds == sorted(kinds)
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("module", "name"), public_names())
def test_every_name_stands_in_the_reference(module, name):
    if name.startswith("__"):
        return
    page = API_PAGES / f"{module}.rst"
    assert page.is_file(), f"doc/api/{module}.rst is missing"
    assert name in page.read_text(encoding="utf-8").split()


def _annotated(function):
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in _UNTYPED or parameter.kind is parameter.VAR_KEYWORD:
            continue
        yield parameter.name, parameter.annotation is not parameter.empty


@pytest.mark.parametrize("name", OBJECTS)
def test_signatures_are_typed(name):
    untyped = [arg for arg, typed in _annotated(OBJECTS[name]) if not typed]
    assert not untyped


def test_the_package_is_marked_as_typed():
    assert (Path(skrank.__file__).parent / "py.typed").is_file()


def test_import_is_free_of_optional_packages_and_side_effects():
    code = (
        "import sys, sklearn\n"
        f"import {', '.join(MODULES)}\n"
        "heavy = {'pandas', 'matplotlib', 'pyarrow', 'lightgbm', 'xgboost'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert not sklearn.get_config()['enable_metadata_routing']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
