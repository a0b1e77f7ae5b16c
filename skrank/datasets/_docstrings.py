"""The public docstrings of installed packages as a collection of texts.

Packages are imported rather than read as files, because ufuncs and compiled functions
have their documentation only at run time. Warnings are silenced meanwhile, modules that
cannot be imported are passed over, and private, test and deprecated modules are not
looked at. No function of the packages is called.
"""

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

from skrank._core._messages import shortened, shown, words_of

# Modules that are tests, build tools or deprecated, that change global state when they
# are imported, or that hold hundreds of generated wrappers.
_SKIPPED_MODULES = frozenset(
    [
        *("blas", "cython_blas", "cython_lapack", "cython_special", "lapack"),
        *("conftest", "distutils", "estimator_checks", "f2py", "setup", "testing"),
        *("compat", "core", "experimental", "externals", "matlib", "tests"),
    ]
)
# These are public only after an import of sklearn.experimental. They are left out, so
# that the collection does not depend on what a user has imported before.
_EXPERIMENTAL = frozenset(
    ["HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"]
)
_UNDERLINE = re.compile(r"^\s*([-=~])\1{2,}\s*$")
_SIGNATURE = re.compile(r"^[\w.\[\], ]*(= *)?[\w.]+\(.*\)( *-> *.*)?$")
_ROLE = re.compile(r":[\w:]+:`~?([^`<>]+)`")
_SENTENCE_END = re.compile(r"(?<=[\w)\]`'\"]\.)\s+(?=[A-Z])")
_REFERENCE = re.compile(r"^[A-Za-z_][\w.]*$")


@dataclass(frozen=True)
class Documented:
    """A public function or class and its docstring, taken apart.

    Attributes
    ----------
    name : str
        Public path, such as ``"numpy.linalg.norm"``: that in the module which the
        object names as its own, if there is one, and otherwise the shortest path.
    aliases : tuple of str
        All public paths, including ``name``.
    summary : str
        First sentence of the docstring, on one line.
    sections : dict of str to str
        Text of each section by its title; ``""`` is the extended summary.
    see_also : tuple of str
        Names in the section "See Also", as they are written.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    sections: dict[str, str]
    see_also: tuple[str, ...]


def collect_docstrings(packages: Iterable[str]) -> list[Documented]:
    """Collect the documented public functions and classes of packages.

    Parameters
    ----------
    packages : sequence of str
        Names of installed packages.

    Returns
    -------
    list of Documented
        Functions and classes in the order of their names.

    Raises
    ------
    ImportError
        If a package cannot be imported.
    """
    paths: dict[int, list[str]] = {}
    objects: dict[int, object] = {}  # keeps the objects alive: their ids stay unique
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in packages:
            for module_name, module in _walk(package, imported(package)):
                for name, value in _public_members(module, package):
                    objects[id(value)] = value
                    paths.setdefault(id(value), []).append(f"{module_name}.{name}")
        found = [_take_apart(objects[key], paths[key]) for key in paths]
    return sorted((entry for entry in found if entry), key=lambda entry: entry.name)


def imported(package: str) -> ModuleType:
    """Import a package, or say which one cannot be imported."""
    try:
        return importlib.import_module(package)
    except (ImportError, TypeError, ValueError) as error:  # names that are none, too
        reason = words_of(error) or type(error).__name__
        raise ImportError(
            f"packages: {shown(package)} cannot be imported: {shortened(reason)}"
        ) from None


def _walk(name: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield the name and the module of a package and of each of its public modules."""
    yield name, module
    for info in sorted(
        pkgutil.iter_modules(getattr(module, "__path__", ())), key=lambda i: i.name
    ):
        if info.name.startswith("_") or info.name in _SKIPPED_MODULES:
            continue
        try:
            child = importlib.import_module(f"{name}.{info.name}")
        except KeyboardInterrupt:
            raise
        except BaseException:  # an optional dependency is missing, or a script exits
            continue
        yield from _walk(f"{name}.{info.name}", child)


def _public_members(module: ModuleType, package: str) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each public function and class of a module."""
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        if name.startswith("_") or name in _EXPERIMENTAL:
            continue
        try:
            value = getattr(module, name)
            documented = callable(value) and isinstance(value.__doc__, str)
            home = getattr(value, "__module__", None) or package
        except Exception:  # lazy attributes may raise any error
            continue
        if documented and not inspect.ismodule(value) and _belongs(home, package):
            yield name, value


def _belongs(home: object, package: str) -> bool:
    return isinstance(home, str) and home.split(".")[0] == package


def _take_apart(value: object, paths: list[str]) -> Documented | None:
    """Parse the docstring of an object; None if it has no summary or no sections."""
    summary, sections = parse_docstring(value.__doc__ or "")
    if not summary or len(sections) < 2:
        return None
    home = _public_home(value)

    def preference(path):
        return path.rpartition(".")[0] != home, path.count("."), len(path), path

    aliases = tuple(sorted(set(paths), key=preference))
    see_also = tuple(parse_see_also(sections.pop("See Also", "")))
    return Documented(aliases[0], aliases, summary, sections, see_also)


def _public_home(value: object) -> str:
    """Return the module that an object names as its own, without private parts."""
    home = getattr(value, "__module__", None) or ""
    return ".".join(part for part in home.split(".") if not part.startswith("_"))


def parse_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Split a numpydoc docstring into its summary and its sections.

    Parameters
    ----------
    doc : str
        Docstring to split; a signature before the summary is skipped.

    Returns
    -------
    summary : str
        First sentence, on one line.
    sections : dict of str to str
        Text of each section by its title; ``""`` holds the text between the summary and
        the first title.
    """
    lines = inspect.cleandoc(doc).splitlines()
    titles = [
        i
        for i in range(len(lines) - 1)
        if lines[i].strip()
        and _UNDERLINE.match(lines[i + 1])
        and len(lines[i + 1].strip()) >= len(lines[i].strip()) - 2
    ]
    bounds = [*titles, len(lines)]
    summary, extended = _split_head(lines[: bounds[0]])
    sections = {"": extended}
    for start, end in pairwise(bounds):
        sections[lines[start].strip()] = "\n".join(lines[start + 2 : end])
    return summary, sections


def _split_head(lines: list[str]) -> tuple[str, str]:
    """Return the first sentence that is no signature, and the rest of the text."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip())
    while len(paragraphs) > 1 and _SIGNATURE.match(" ".join(paragraphs[0].split())):
        paragraphs.pop(0)
    first, *more = _SENTENCE_END.split(" ".join(paragraphs[0].split()), maxsplit=1)
    return first, "\n\n".join([*more, *paragraphs[1:]])


def parse_see_also(text: str) -> list[str]:
    """List the names in the text of a section "See Also".

    Parameters
    ----------
    text : str
        Lines ``name : description``, ``name, name`` or roles such as ``:func:`name```.

    Returns
    -------
    list of str
        Names in their order, as they are written.
    """
    names = []
    for line in text.splitlines():
        if not line.strip() or line[0].isspace():  # blank, or a line of description
            continue
        line = _ROLE.sub(r"\1", line).replace("`", "")
        names += [name.strip() for name in re.split(r"\s:|:\s|:$", line)[0].split(",")]
    return [name for name in names if _REFERENCE.match(name)]
