"""What is public: every name in the ``__all__`` of every public module."""

import importlib
import inspect
import pkgutil

import skrank


def public_modules():
    """Names of the modules of which no part starts with an underscore."""
    found = ["skrank"]
    for info in pkgutil.walk_packages(skrank.__path__, "skrank."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            found.append(info.name)
    return sorted(found)


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
        if inspect.isroutine(function):
            if (getattr(function, "__module__", None) or "").startswith("skrank"):
                yield name
