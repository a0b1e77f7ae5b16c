"""Directive ``object-table``: the rankers, losses … of the registry, by kind.

``.. object-table:: loss`` lists all losses, ``.. object-table:: ranker pairwise`` the
rankers of an approach. Classes that can be chosen by a string are listed with it.
"""

import inspect

from sphinx.util.docutils import SphinxDirective

from skrank.discovery import all_objects


def rows_of(kind, approach=None):
    """Name, short names and first sentence of the classes of a kind.

    Parameters
    ----------
    kind : str
        A kind of `skrank.discovery.all_objects`.
    approach : str, default=None
        Only classes of this approach: "pointwise", "pairwise", "listwise" or "any".

    Returns
    -------
    list of tuple
        Triples (class, tuple of short names, sentence), in alphabetical order.
    """
    return [
        (cls, _short_names(cls), inspect.getdoc(cls).splitlines()[0])
        for cls in all_objects(kind).values()
        if approach is None or cls.approach == approach
    ]


def _short_names(cls):
    """The strings by which a class can be chosen, the usual one first."""
    own = vars(cls)  # inherited names belong to the base class
    return (own["short_name"], *own.get("aliases", ())) if "short_name" in own else ()


def link_to(cls):
    """Link to the reference of a public class, in reStructuredText.

    Parameters
    ----------
    cls : type
        A class of the package.

    Returns
    -------
    str
        A role that shows the name of the class.
    """
    # The public module, where the reference has the class.
    return f":class:`~{cls.__module__.partition('._')[0]}.{cls.__name__}`"


def table_of(kind, approach=None):
    """Table of the classes of a kind, in reStructuredText.

    Parameters
    ----------
    kind : str
        A kind of `skrank.discovery.all_objects`.
    approach : str, default=None
        Only classes of this approach.

    Returns
    -------
    str
        A list-table; the column of short names is left out where there are none.
    """
    rows = rows_of(kind, approach)
    has_names = any(names for _, names, _ in rows)
    lines = [
        ".. list-table::",
        f"   :widths: {'30 20 50' if has_names else '30 70'}",
        "",
    ]
    for cls, names, summary in rows:
        cells = [", ".join(f'``"{name}"``' for name in names)] if has_names else []
        lines.append(f"   * - {link_to(cls)}")
        lines += [f"     - {cell}".rstrip() for cell in (*cells, summary)]
    return "\n".join(lines)


class ObjectTable(SphinxDirective):
    """List classes with links to their reference."""

    required_arguments = 1
    optional_arguments = 1

    def run(self):
        """Build the table from a list-table source."""
        return self.parse_text_to_nodes(table_of(*self.arguments))


def setup(app):
    """Register the directive."""
    app.add_directive("object-table", ObjectTable)
    return {"parallel_read_safe": True}
