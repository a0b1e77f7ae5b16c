"""What is public: every name in the ``__all__`` of every public module."""

import importlib
import inspect

from api_reference import public_modules


def public_names():
    """Pairs (module, name) of everything that a user may import."""
    pairs = []
    for module in public_modules():
        names = getattr(importlib.import_module(module), "__all__", ())
        pairs += [(module, name) for name in names]
    return pairs


def public_objects():
    """Pairs (qualified name, object) of public classes and functions."""
    for module, name in public_names():
        member = getattr(importlib.import_module(module), name)
        if inspect.isclass(member) or inspect.isfunction(member):
            yield f"{module}.{name}", member


def public_methods(cls):
    """Names of the public methods and properties that this package wrote."""
    for name, member in inspect.getmembers(cls):
        if name.startswith("_"):
            continue
        function = member.fget if isinstance(member, property) else member
        function = inspect.unwrap(function) if callable(function) else None
        module = getattr(function, "__module__", None) or ""
        if inspect.isroutine(function) and module.startswith("skrank"):
            yield name
