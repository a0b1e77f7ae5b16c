"""Measures with a cut-off in running text, such as NDCG@10, are no e-mail addresses."""

import re

from docutils import nodes

_MEASURE = re.compile(r"mailto:[^@]+@(\d+|k)", re.I)


def unlink_measures(app, doctree):
    """Put the text in place of links that docutils has made of measures."""
    for link in list(doctree.findall(nodes.reference)):
        if _MEASURE.fullmatch(link.get("refuri", "")):
            link.replace_self(nodes.Text(link.astext()))


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-read", unlink_measures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
