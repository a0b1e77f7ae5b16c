"""Classes and functions of the user's own, named as ``module:Name``."""

import importlib
import os
import sys
import traceback
from typing import Any

from skrank._core._messages import on_one_line, shortened, shown, words_of
from skrank.cli._errors import CommandError

# What was loaded, by the text that names it.
_loaded: dict[str, Any] = {}


def names_own(text: str) -> bool:
    """Return whether a text has the form ``module:Name``."""
    module, colon, name = text.partition(":")
    parts = [*module.split("."), *name.split(".")]
    return bool(colon) and all(part.isidentifier() for part in parts)


def load_object(text: str, what: str) -> Any:
    """Import what a text such as ``module:Name`` names.

    Modules are looked for in the working directory as well.

    Parameters
    ----------
    text : str
        Name of a module and, after a colon, of what it defines.
    what : str
        What it is to be, for error messages.

    Returns
    -------
    object

    Raises
    ------
    CommandError
        If there is no such module, it cannot be imported, or it does not define the
        name.
    """
    if not names_own(text):
        raise CommandError(
            f"{what} {shown(text)} is not of the form module:Name, as in mine:MyRanker"
        )
    module_name, _, name = text.partition(":")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as python -m does
    try:
        found = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # of the user's code
        raise CommandError(
            f"{what} {shown(text)}: {_why_not_imported(module_name, error)}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(n for n in dir(found) if not n.startswith("_"))
            raise CommandError(
                f"{what} {shown(text)}: {on_one_line(module_name)} does not define "
                f"{shown(part)}; it has {shortened(known, 300) or 'nothing'}"
            )
        found = getattr(found, part)
    _loaded[text] = found
    return found


def _why_not_imported(module_name: str, error: BaseException) -> str:
    """Say why a module cannot be imported."""
    if not isinstance(error, ModuleNotFoundError):
        return f"importing {module_name} failed: {_kind_and_words(error)}"
    words = (
        f"there is no module {shown(error.name)}, neither installed nor in the working "
        "directory"
    )
    if error.name and f"{module_name}.".startswith(f"{error.name}."):
        return words
    return f"importing {module_name} failed: {words}"


def _kind_and_words(error: BaseException) -> str:
    words = shortened(words_of(error), 500)
    return type(error).__name__ + (words and f": {words}")


def failure_of_own(error: BaseException) -> str | None:
    """Say what has failed if an error arose in what `load_object` has loaded.

    Parameters
    ----------
    error : BaseException
        An error with its traceback.

    Returns
    -------
    str or None
        Such as ``"mine:revenue failed: KeyError: 'price'"``; None if no code of the
        user's was running.
    """
    by_module: dict[str, str] = {}
    by_code: dict[tuple[str, str], str] = {}
    for text, found in _loaded.items():
        stated, _, name = text.partition(":")
        module = getattr(found, "__module__", None) or stated
        if module.partition(".")[0] == "skrank":  # an object of one of our classes
            module = stated
        by_module[module] = by_module[stated] = text
        by_code[module, getattr(found, "__qualname__", name)] = text
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module in by_module:
            outer = frame.f_code.co_qualname.split(".")
            names = (".".join(outer[:n]) for n in range(len(outer), 0, -1))
            known = [by_code[module, n] for n in names if (module, n) in by_code]
            own = known[0] if known else by_module[module]
            return f"{own} failed: {_kind_and_words(error)}"
    return None


def load_class(text: str, what: str) -> type:
    """Import a class whose objects have parameters, as estimators have.

    Parameters
    ----------
    text : str
        Such as ``"module:Name"``.
    what : str
        What it is to be, for error messages.

    Returns
    -------
    type

    Raises
    ------
    CommandError
        If it cannot be imported, or is no such class.
    """
    found = load_object(text, what)
    methods = ("get_params", "set_params")
    if not isinstance(found, type) or not all(hasattr(found, m) for m in methods):
        raise CommandError(
            f"{what} {shown(text)} must be a class with get_params and set_params, "
            "such as those derived from sklearn.base.BaseEstimator, got "
            f"{shown(found)}"
        )
    if what == "ranker" and not (hasattr(found, "fit") and hasattr(found, "predict")):
        raise CommandError(f"ranker {shown(text)} must have fit and predict")
    return found
