"""Constructor parameters that a family of classes shares, written once.

scikit-learn reads parameters from the signature of ``__init__``, so every ranker would
have to repeat the dozen parameters of its family, and their documentation. A class
marked with `shares_parameters` states only its own parameters and takes the others as
``**shared``; its signature and its docstring are completed from its base classes. A
class without parameters of its own needs no ``__init__``.
"""

import inspect
import re

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def shares_parameters(cls):
    """Complete signature and docstring of a class from its base classes.

    Parameters
    ----------
    cls : type
        Its ``__init__``, if it has one, ends in ``**shared`` and passes them on to
        ``super()``.

    Returns
    -------
    type
        The class itself.
    """
    parameters, docs = {}, []
    for ancestor in cls.__mro__:
        if "__init__" not in vars(ancestor):
            continue
        given = inspect.signature(ancestor.__init__).parameters
        for name, parameter in given.items():
            if parameter.kind is not parameter.VAR_KEYWORD:
                parameters.setdefault(name, parameter)
        if ancestor is not cls and "Parameters\n" in (ancestor.__doc__ or ""):
            docs.append(ancestor.__doc__)
        if not any(p.kind is p.VAR_KEYWORD for p in given.values()):
            break
    for doc in docs:
        cls.__doc__ = _merged_doc(cls.__doc__, doc, parameters)
    if "__init__" not in vars(cls):
        cls.__init__ = _passing_on(cls)
    cls.__init__.__signature__ = inspect.Signature(list(parameters.values()))
    return cls


def _passing_on(cls):
    """Return an ``__init__`` of its own for a class that inherits its parameters."""

    def init(self, *args, **shared):
        super(cls, self).__init__(*args, **shared)

    return init


def _sections(doc):
    """Split a numpydoc docstring into its heading-to-text mapping, in order."""
    parts = _HEADING.split(inspect.cleandoc(doc) + "\n")
    sections = {"": parts[0]}
    sections.update(zip(parts[1::2], parts[2::2]))
    return sections


def _entries(text):
    """Parameter entries of a section, by name."""
    blocks = [block.rstrip() for block in _ENTRY.split(text) if block.strip()]
    return {block.split(" :", 1)[0]: block for block in blocks}


def _merged_doc(doc, base_doc, parameters):
    sections, inherited = _sections(doc), _sections(base_doc)
    for heading in ("Parameters", "Attributes"):
        if heading not in inherited:
            continue
        entries = _entries(sections.get(heading, ""))
        for name, block in _entries(inherited[heading]).items():
            entries.setdefault(name, block)
        if heading == "Parameters":
            places = {name: place for place, name in enumerate(parameters)}
            entries = dict(sorted(entries.items(), key=lambda e: places[e[0]]))
        sections[heading] = "\n".join(entries.values())
    order = ["", "Parameters", "Attributes"]
    order += [heading for heading in sections if heading not in order]
    texts = []
    for heading in order:
        if heading in sections:
            title = f"{heading}\n{'-' * len(heading)}\n" if heading else ""
            texts.append((title + sections[heading]).rstrip())
    return "\n\n".join(texts) + "\n"
