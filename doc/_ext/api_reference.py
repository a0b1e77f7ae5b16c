"""Pages of the reference, written from the ``__all__`` of every public module."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import skrank

# The order in which a newcomer meets the modules; others follow by name.
_ORDER = ("skrank", "skrank.rankers", "skrank.losses", "skrank.energies")
_KINDS = ("Classes", "Functions", "Warnings", "Data")


def public_modules():
    """Modules that define ``__all__`` and of which no part is private."""
    names = ["skrank"]
    for info in pkgutil.walk_packages(skrank.__path__, "skrank."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            names.append(info.name)
    rank = {name: position for position, name in enumerate(_ORDER)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def _kind(member):
    if inspect.isclass(member):
        return "Warnings" if issubclass(member, Warning) else "Classes"
    return "Functions" if callable(member) else "Data"


def _title(text, line):
    return [text, line * len(text), ""]


def page_of(module):
    """Text of the reference page of one module.

    Parameters
    ----------
    module : str
        Its name.

    Returns
    -------
    str
        reStructuredText with a table for each kind of object.
    """
    loaded = importlib.import_module(module)
    names = {kind: [] for kind in _KINDS}
    for name in loaded.__all__:
        if not name.startswith("__"):
            names[_kind(getattr(loaded, name))].append(name)
    lines = _title(module, "=")
    lines += [f".. automodule:: {module}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {module}", ""]
    for kind in filter(names.get, _KINDS):
        lines += _title(kind, "-")
        lines += [
            ".. autosummary::",
            "   :toctree: ../generated",
            "   :nosignatures:",
            "",
        ]
        lines += [f"   {name}" for name in names[kind]] + [""]
    return "\n".join(lines)


def index_page():
    """Text of the page that lists the modules."""
    modules = public_modules()
    lines = _title("API reference", "=")
    lines += ["Everything that can be imported, module by module.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", ""]
    return "\n".join(lines + [f"   {module}" for module in modules] + [""])


def _write(path, text):
    """Leave a file alone whose text has not changed, so that builds stay short."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app, config):
    """Write the reference before Sphinx looks for sources."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    _write(folder / "index.rst", index_page())
    modules = public_modules()
    for module in modules:
        _write(folder / f"{module}.rst", page_of(module))
    for path in folder.glob("skrank*.rst"):
        if path.stem not in modules:
            path.unlink()


def skip_foreign(app, what, name, member, skip, options):
    """Leave out what classes inherit from other packages, such as scikit-learn."""
    function = member.fget if isinstance(member, property) else member
    module = getattr(function, "__module__", None)
    foreign = callable(function) and module and not module.startswith("skrank")
    return True if foreign else None


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
