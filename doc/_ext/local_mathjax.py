"""MathJax from a package of the index, so that formulas need no network.

The package ``sphinx-mathjax-offline`` holds all of MathJax 3. Only what formulas in TeX
load is copied into the site: the program, its fonts, and the extensions that rarer
commands ask for.
"""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sphinx.util import logging
from sphinx.util.fileutil import copy_asset

PACKAGE = "sphinx-mathjax-offline"
PROGRAM = "tex-chtml.js"
_PARTS = (PROGRAM, "output/chtml/fonts", "input/tex/extensions")

_logger = logging.getLogger(__name__)


def mathjax_folder():
    """Folder of MathJax in the installed package, or None if it is not installed."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        return None
    folder = Path(str(package.locate_file(f"{PACKAGE}/static/mathjax")))
    if not (folder / PROGRAM).is_file():
        raise FileNotFoundError(f"{PACKAGE} {package.version} has no {PROGRAM}")
    return folder


def use_local_copy(app, config):
    """Load MathJax from the static files of the site."""
    if mathjax_folder() is None:
        _logger.warning(
            "%s is not installed, so formulas need a network; the extra doc brings it",
            PACKAGE,
        )
        return
    config.mathjax_path = f"mathjax/{PROGRAM}"
    # Entries of the menu load parts of MathJax that are not copied.
    config.mathjax3_config = {"options": {"enableMenu": False}}


def copy_files(app, exception):
    """Copy what the pages load."""
    folder = mathjax_folder()
    if exception is None and app.builder.format == "html" and folder is not None:
        for part in _PARTS:
            target = (app.outdir / "_static" / "mathjax" / part).parent
            if (folder / part).is_dir():
                target /= Path(part).name
            copy_asset(folder / part, target)


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", use_local_copy)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
