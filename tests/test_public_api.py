"""What a user may import: listed, sorted, typed, documented, and cheap to import."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from _public import public_objects
from api_reference import index_page, page_of, public_modules
from object_table import rows_of, table_of
from ranker_table import cost_of, grades_of, parts_of

import skrank
from skrank.discovery import all_objects

MODULES = public_modules()
OBJECTS = dict(public_objects())


@pytest.mark.parametrize("module", MODULES)
def test_all_is_sorted_and_importable(module):
    names = list(importlib.import_module(module).__all__)
    # The order of ruff's RUF022: constants, then classes, then functions.
    kinds = [(not name.isupper(), not name[0].isupper(), name) for name in names]
    assert kinds == sorted(kinds)
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(importlib.import_module(module), name)


def test_modules_are_imported_when_they_are_used():
    names = {name.split(".")[1] for name in MODULES if name != "skrank"}
    assert names <= set(dir(skrank))
    code = "import skrank; skrank.rankers.RankSVM, skrank.exceptions; skrank.nothing"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.endswith("module 'skrank' has no attribute 'nothing'\n")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_page_of_the_reference(module):
    assert module in index_page().split()
    listed = page_of(module).split()
    for name in importlib.import_module(module).__all__:
        assert name in listed or name.startswith("__")


def _untyped_numbers(member):
    """Arguments with a number or a flag as default that have no type hint."""
    for parameter in inspect.signature(member).parameters.values():
        if parameter.name == "random_state":  # a seed or a generator, as everywhere
            continue
        is_number = isinstance(parameter.default, bool | int | float)
        if is_number and parameter.annotation is parameter.empty:
            yield parameter.name


@pytest.mark.parametrize("name", OBJECTS)
def test_numbers_and_flags_are_typed(name):
    # Array-likes, estimators and choices are described by the docstring, as
    # scikit-learn does, and checked at run time.
    member = OBJECTS[name]
    if inspect.isclass(member) and issubclass(member, Exception):
        pytest.skip("takes a message")
    assert not list(_untyped_numbers(member))


def _stated_defaults(member):
    """Names of arguments, and their defaults by the docstring, as they stand there."""
    parameters = inspect.getdoc(member).split("\nAttributes\n", 1)[0]
    return re.findall(r"^(\w+) : .*?default=(.+)$", parameters, re.MULTILINE)


@pytest.mark.parametrize("name", OBJECTS)
def test_defaults_are_those_of_the_docstring(name):
    member = OBJECTS[name]
    for argument, stated in _stated_defaults(member):
        default = inspect.signature(member).parameters[argument].default
        if default is np.float32:
            assert stated == "np.float32"
        elif stated != repr(default):
            assert ast.literal_eval(stated) == default, argument


def test_the_package_is_marked_as_typed():
    assert (Path(skrank.__file__).parent / "py.typed").is_file()


def test_imports_work_without_optional_packages_and_leave_no_trace():
    code = (
        "import sys\n"
        "for name in ('pandas', 'pyarrow', 'matplotlib', 'lightgbm', 'xgboost'):\n"
        "    sys.modules[name] = None  # importing it fails\n"
        f"import sklearn, {', '.join(MODULES)}\n"
        "assert not sklearn.get_config()['enable_metadata_routing']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_every_compiled_module_is_built():
    root = Path(skrank.__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    listed = {
        source
        for module in project["tool"]["setuptools"]["ext-modules"]
        for source in module["sources"]
    }
    found = {path.relative_to(root).as_posix() for path in root.glob("skrank/**/*.pyx")}
    assert listed == found


_ROOT = Path(__file__).parents[1]
_RANKERS = all_objects("ranker")
_KINDS = ("aggregator", "energy", "loss", "measure", "solver")


@pytest.mark.parametrize("name", _RANKERS)
def test_the_readme_lists_every_ranker(name):
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    if name == "EnergyRanker":  # not one algorithm: the text describes it
        assert "`EnergyRanker` combines" in readme
    else:
        assert f"| `{name}` | {_RANKERS[name].approach} |" in readme


def test_the_readme_lists_no_other_rankers():
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("| Ranker | Approach |", 1)[1].split("\n\n", 1)[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(listed) == sorted(_RANKERS.keys() - {"EnergyRanker"})


@pytest.mark.parametrize(
    "approach", sorted({cls.approach for cls in _RANKERS.values()})
)
def test_the_guide_has_a_table_of_each_approach(approach):
    page = (_ROOT / "doc" / "rankers.rst").read_text(encoding="utf-8")
    assert f".. object-table:: ranker {approach}\n" in page
    assert {cls.approach for cls, _, _ in rows_of("ranker", approach)} == {approach}


@pytest.mark.parametrize("name", _RANKERS)
def test_every_ranker_says_what_it_costs(name):
    assert 3 < len(cost_of(_RANKERS[name])) < 85


@pytest.mark.parametrize(
    ("name", "grades", "energy", "loss", "solver"),
    [
        ("ListNet", "value", "LinearEnergy", "ListNetLoss", "LBFGS"),
        ("RankSVM", "order", "LinearEnergy", "SquaredHingeLoss", "LBFGS"),
        ("LogisticRanker", "relevant or not", "LinearEnergy", "LogisticLoss", "LBFGS"),
        ("LambdaMART", "value", "trees", "LambdaLoss", "boosting"),
        ("FRank", "order", "thresholded features", "FidelityLoss", "boosting"),
        ("PRank", "order", "–", "–", "–"),
    ],
)
def test_the_overview_knows_rankers(name, grades, energy, loss, solver):
    ranker = _RANKERS[name]()
    assert grades_of(ranker) == grades
    for cell, part in zip(parts_of(ranker), (energy, loss, solver), strict=True):
        assert cell.rstrip("`").endswith(part)


@pytest.mark.parametrize("kind", _KINDS)
def test_the_guide_has_a_table_of_each_kind(kind):
    guide = "".join(p.read_text(encoding="utf-8") for p in _ROOT.glob("doc/*.rst"))
    assert guide.count(f".. object-table:: {kind}\n") == 1
    for name, cls in all_objects(kind).items():
        assert f".{name}`\n" in table_of(kind)
        short_name = vars(cls).get("short_name")
        assert short_name is None or f'``"{short_name}"``' in table_of(kind)
