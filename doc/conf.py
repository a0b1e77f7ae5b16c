"""Configuration of the documentation; builds without a network."""

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from skrank import __version__
from skrank.discovery import all_objects

project = "skrank"
copyright = "the skrank developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "api_reference",
    "object_table",
    "ranker_table",
    "preset_table",
    "command_help",
    "local_mathjax",
    "plain_measures",
    "rank_chart",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "_ext", "examples"]
# Some sources are cited in comments only; tests/test_bibliography.py looks for all.
suppress_warnings = ["config.cache", "ref.citation"]

# |n_rankers| and its like are the numbers of public classes.
_PLURALS = {
    "ranker": "rankers",
    "loss": "losses",
    "energy": "energies",
    "solver": "solvers",
    "measure": "measures",
    "aggregator": "aggregators",
}
rst_epilog = "\n".join(
    f".. |n_{plural}| replace:: {len(all_objects(kind))}"
    for kind, plural in _PLURALS.items()
)

# `name` in a docstring is a link where there is something to link to.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skrank\.).*")]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_use_plots = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("skrank",),
    "backreferences_dir": "generated/backreferences",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
}

html_theme = "furo"
html_title = f"skrank {release}"
html_static_path = ["_static"]
html_css_files = ["skrank.css"]
html_copy_source = False
html_show_sphinx = False
