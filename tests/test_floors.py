"""The floors of the package: imports run downwards, files and functions stay small.

The source is read, not imported, so that imports inside functions count as well.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

import skrank

PACKAGE = Path(skrank.__file__).parent

FLOORS = {
    0: ("", "_core", "_version", "exceptions"),
    1: ("metrics", "aggregation", "text", "preprocessing", "datasets"),
    2: ("losses",),
    3: ("energies", "solvers", "trees"),
    4: (
        "base",
        "_equal_scores",
        "_objective",
        "_monitor",
        "_rows",
        "_meta",
        "_training_data",
        "_validation_sets",
    ),
    5: ("rankers",),
    6: (
        "meta",
        "relational",
        "query_dependent",
        "semi_supervised",
        "transfer",
        "click",
        "selection",
        "retrieval",
    ),
    6.5: ("unbiased", "online"),
    7: (
        "model_selection",
        "inspection",
        "export",
        "compat",
        "discovery",
        "experiments",
        "testing",
        "cli",
        "__main__",
    ),
}
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names}

# Neighbours on one floor do not know each other, with these exceptions.
SIDEWAYS = {
    ("datasets", "text"),
    ("datasets", "preprocessing"),
    ("aggregation", "datasets"),
    ("aggregation", "metrics"),
    ("metrics", "datasets"),
    ("base", "_equal_scores"),
    ("base", "_rows"),
    ("_equal_scores", "_rows"),
    ("base", "_training_data"),
    ("base", "_validation_sets"),
    ("_monitor", "_validation_sets"),
    ("_training_data", "_validation_sets"),
    ("_training_data", "_rows"),
    ("_objective", "_rows"),
    ("_meta", "_rows"),
    ("_meta", "base"),
    ("cli", "model_selection"),
    ("cli", "inspection"),
    ("cli", "export"),
    ("cli", "compat"),
    ("cli", "discovery"),
    ("cli", "experiments"),
    ("experiments", "model_selection"),
    ("experiments", "discovery"),
    ("testing", "discovery"),
    ("__main__", "cli"),
}

RUN_TIME = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "skrank"}
MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60

SOURCES = sorted(PACKAGE.rglob("*.py"))
CYTHON = sorted(PACKAGE.rglob("*.pyx")) + sorted(PACKAGE.rglob("*.pxd"))
HEADERS = sorted(PACKAGE.rglob("*.hpp"))
PER_FILE = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)


def _room(module):
    """Name of the top-level part that a module of the package belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _module_of(path):
    parts = ["skrank", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _absolute(node, path):
    """Module that a ``from … import`` names, relative ones resolved."""
    if not node.level:
        return node.module
    package = _module_of(path).split(".")
    climbed = node.level - (path.name == "__init__.py")
    base = package[: len(package) - climbed]
    return ".".join(base + ([node.module] if node.module else []))


def _imported(node, path):
    """Every module, or name of a module, that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = _absolute(node, path)
        return [f"{module}.{alias.name}" for alias in node.names]
    return []


def _imports(path):
    """Pairs (line, dotted name) of all imports of a file, lazy ones included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for name in _imported(node, path):
            yield node.lineno, name


def _rooms_imported(path):
    for line, name in _imports(path):
        if name.split(".")[0] != "skrank":
            continue
        room = _room(name)
        # `from skrank import get_config` names an object, not a part of the package.
        is_part = (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file()
        yield line, room if is_part else ""


def _crossing(here, there):
    """Why a part may not import another, or None."""
    if here == there:
        return None
    if FLOOR_OF[there] > FLOOR_OF[here]:
        return f"floor {FLOOR_OF[here]} imports floor {FLOOR_OF[there]} above it"
    if FLOOR_OF[there] == FLOOR_OF[here] > 0 and (here, there) not in SIDEWAYS:
        return f"neighbours on floor {FLOOR_OF[here]} may not import each other"
    return None


def test_every_part_of_the_package_has_a_floor():
    parts = {_room(_module_of(path)) for path in SOURCES}
    assert parts <= set(FLOOR_OF), "give the new part a floor in this test"


@PER_FILE
def test_imports_run_downwards(path):
    here = _room(_module_of(path))
    wrong = [
        f"line {line}: {here or 'skrank'} imports {there or 'skrank'}: {reason}"
        for line, there in _rooms_imported(path)
        if (reason := _crossing(here, there))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", CYTHON, ids=lambda path: path.name)
def test_compiled_code_imports_only_its_own_floor(path):
    here = _room(_module_of(path))
    pattern = re.compile(r"^\s*(?:from|c?import)\s+(skrank[.\w]*)", re.MULTILINE)
    for name in pattern.findall(path.read_text(encoding="utf-8")):
        assert _crossing(here, _room(name)) is None, f"{path.name} imports {name}"


def test_the_rules_themselves_catch_what_they_forbid():
    assert "above" in _crossing("losses", "rankers")
    assert "neighbours" in _crossing("energies", "solvers")
    assert "neighbours" in _crossing("datasets", "metrics")
    assert _crossing("rankers", "losses") is None
    assert _crossing("datasets", "text") is None


def test_relative_and_lazy_imports_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "losses").mkdir()
    (tmp_path / "rankers").mkdir()
    lazy = tmp_path / "losses" / "_lazy.py"
    lazy.write_text("def f():\n    from ..rankers import RankSVM\n")
    init = tmp_path / "losses" / "__init__.py"
    init.write_text("from . import _lazy\n")
    assert list(_rooms_imported(lazy)) == [(2, "rankers")]
    assert list(_rooms_imported(init)) == [(1, "losses")]


def _is_private(name):
    parts = name.split(".")[1:]
    return any(part.startswith("_") and not part.endswith("__") for part in parts)


@PER_FILE
def test_private_names_of_scikit_learn_stay_in_one_file(path):
    if path == PACKAGE / "_core" / "_compat.py":
        return
    private = [
        f"line {line}: {name}"
        for line, name in _imports(path)
        if name.split(".")[0] == "sklearn" and _is_private(name)
    ]
    assert not private, f"import through skrank._core._compat: {private}"


def _at_import(body):
    """Nodes of a block that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _at_import(ast.iter_child_nodes(node))


@PER_FILE
def test_importing_needs_run_time_dependencies_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        name.split(".")[0]
        for node in _at_import(tree.body)
        for name in _imported(node, path)
    }
    foreign = names - RUN_TIME - set(sys.stdlib_module_names)
    assert not foreign, f"import inside the function that needs it: {sorted(foreign)}"


@pytest.mark.parametrize(
    "path", SOURCES + CYTHON + HEADERS, ids=lambda p: p.relative_to(PACKAGE).as_posix()
)
def test_files_stay_small(path):
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= MAX_FILE_LINES


def _length(function):
    """Lines of a function without its decorators and its docstring."""
    n_lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        n_lines -= first.end_lineno - first.lineno + 1
    return n_lines


@PER_FILE
def test_functions_stay_small(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = [
        f"{node.name}: {_length(node)} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _length(node) > MAX_FUNCTION_LINES
    ]
    assert not long, long


_CYTHON_FUNCTION = re.compile(r"( *)(?:def|cp?def)\b(?! (?:extern|class|struct)\b).*\(")
_DOCSTRING = re.compile(r'^ *[rf]?""".*?"""[ \t]*\n', re.DOTALL | re.MULTILINE)


def _cython_lengths(source):
    """Pairs (first line, number of lines) of functions, docstrings not counted.

    A function ends where a line stands as far left as its head; lines of the head that
    are continued, and the bracket that closes it, stand further right or close it.
    """
    lines = _DOCSTRING.sub("", source).splitlines()
    for first, line in enumerate(lines):
        head = _CYTHON_FUNCTION.match(line)
        if not head:
            continue
        last = first
        for number in range(first + 1, len(lines)):
            text = lines[number]
            indent = len(text) - len(text.lstrip())
            if text.strip() and indent <= len(head[1]) and text.lstrip()[0] != ")":
                break
            if text.strip():
                last = number
        yield line.strip(), last - first + 1


@pytest.mark.parametrize(
    "path", CYTHON, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_functions_in_cython_stay_small(path):
    source = path.read_text(encoding="utf-8")
    found = list(_cython_lengths(source))
    assert found, "no function was recognised"
    long = [f"{name}: {n} lines" for name, n in found if n > MAX_FUNCTION_LINES]
    assert not long, long


_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
# What may stand between the parameters of a function and its body.
_FUNCTION_HEAD = re.compile(
    r"(\w+|operator\S+)\s*\([^{};]*\)\s*(?:const|noexcept|override|mutable|\s)*"
    r"(?::[^;]*)?$"
)
_STATEMENTS = {"if", "for", "while", "switch", "catch"}


def _cpp_lengths(source):
    """Pairs (name, number of lines) of functions, from head to closing brace.

    A lambda has the name of the function that it is given to.
    """
    # Line breaks stay, so that lengths can be counted.
    code = _NO_CODE.sub(lambda match: "\n" * match[0].count("\n"), source)
    starts, begin = [], 0  # where open blocks and the current statement begin
    for place, character in enumerate(code):
        if character == "{":
            starts.append((begin, place))
        elif character == "}" and starts:
            first, brace = starts.pop()
            head = _FUNCTION_HEAD.search(code[first:brace].strip())
            if head and head[1] not in _STATEMENTS:
                text = code[first : place + 1].strip()
                yield head[1], text.count("\n") + 1
        if character in "{};":
            begin = place + 1


@pytest.mark.parametrize(
    "path", HEADERS, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_functions_in_headers_stay_small(path):
    long = [
        f"{name}: {n_lines} lines"
        for name, n_lines in _cpp_lengths(path.read_text(encoding="utf-8"))
        if n_lines > MAX_FUNCTION_LINES
    ]
    assert not long, long


def test_lengths_of_compiled_functions():
    cython = (
        "cdef class A:\n"
        "    def f(self,\n"
        "          a):\n"
        '        """One.\n\n'
        '        Two."""\n'
        "        return a\n\n\n"
        "def g(\n"
        "    a,\n"
        "):\n"
        "    # not\n\n"
        "    return a\n"
        "b = 1\n"
    )
    assert [n for _, n in _cython_lengths(cython)] == [3, 6]
    cpp = (
        "#define M(x) { \\\n    x }\n"
        "namespace a {\n"
        "struct B : C {\n"
        "    explicit B(int b) : b(b) {}\n"
        "    int size() const {\n"
        "        for (int i = 0; i < b; i++) {\n"
        "            if (i == '{') return i;  // {\n"
        "        }\n"
        '        return b + "}"[0];\n'
        "    }\n"
        "};\n"
        "template <class T>\n"
        "static void f(T x,\n"
        "              T y) {\n"
        "    g(x, [=](T z) {\n"
        "        return z;\n"
        "    });\n"
        "}\n"
        "}\n"
    )
    assert sorted(_cpp_lengths(cpp)) == [("B", 1), ("f", 7), ("g", 3), ("size", 6)]


def test_the_length_of_a_function_leaves_out_its_docstring():
    source = 'def f(a):\n    """One.\n\n    Two.\n    """\n    return a\n'
    assert _length(ast.parse(source).body[0]) == 2


def test_one_module_alone_calls_the_checks_of_scikit_learn():
    # As they are, they let NumPy warn of infinities before they refuse them.
    checks = {"check_array", "check_X_y", "validate_data"}
    callers = {
        path.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("sklearn")
        if checks & {alias.name for alias in node.names}
    }
    assert callers == {"_finite.py"}
