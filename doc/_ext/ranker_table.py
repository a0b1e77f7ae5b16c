"""Directive ``ranker-table``: the rankers of one approach."""

import inspect

from sphinx.util.docutils import SphinxDirective

import skrank.rankers


def rankers_of(approach):
    """Pairs (name, first sentence) of the rankers of an approach.

    Parameters
    ----------
    approach : str
        "pointwise", "pairwise", "listwise" or "any".

    Returns
    -------
    list of tuple of str
        In alphabetical order.
    """
    found = []
    for name in skrank.rankers.__all__:
        cls = getattr(skrank.rankers, name)
        if getattr(cls, "approach", None) == approach:
            found.append((name, inspect.getdoc(cls).splitlines()[0]))
    return sorted(found)


class RankerTable(SphinxDirective):
    """List rankers with links to their reference."""

    required_arguments = 1

    def run(self):
        """Build the table from a list-table source."""
        lines = [".. list-table::", "   :widths: 30 70", ""]
        for name, summary in rankers_of(self.arguments[0]):
            lines += [f"   * - :class:`~skrank.rankers.{name}`", f"     - {summary}"]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app):
    """Register the directive."""
    app.add_directive("ranker-table", RankerTable)
    return {"parallel_read_safe": True}
