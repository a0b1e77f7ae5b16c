"""Learning to rank as scikit-learn estimators."""

from importlib import import_module
from typing import Any

from skrank._core._config import config_context, get_config
from skrank._version import __version__

__all__ = ["__version__", "config_context", "get_config"]

_MODULES = (
    "aggregation",
    "base",
    "cli",
    "click",
    "compat",
    "datasets",
    "discovery",
    "energies",
    "exceptions",
    "experiments",
    "export",
    "inspection",
    "losses",
    "metrics",
    "model_selection",
    "online",
    "preprocessing",
    "rankers",
    "retrieval",
    "selection",
    "solvers",
    "testing",
    "text",
    "trees",
    "unbiased",
)


def __getattr__(name: str) -> Any:
    """Import a module when it is first used, as ``skrank.rankers``."""
    if name in _MODULES:
        return import_module(f"skrank.{name}")
    raise AttributeError(f"module 'skrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
