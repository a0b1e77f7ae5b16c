"""Directive ``preset-table``: the options that each preset sets."""

from sphinx.util.docutils import SphinxDirective

from skrank.metrics import PRESETS

_COLUMNS = ("gain", "discount", "ties", "empty_query")


def _cells(preset):
    return [f"``{preset.common[column]!r}``" for column in _COLUMNS]


def _exceptions(preset):
    """Options of single measures, as code."""
    shown = [
        f"``{measure}({', '.join(f'{key}={value!r}' for key, value in own.items())})``"
        for measure, own in preset.measures.items()
    ]
    return ", ".join(shown) or "–"


def _list_table(header, rows, widths):
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        lines += [f"   {'-' if i else '* -'} {cell}" for i, cell in enumerate(row)]
    return "\n".join(
        line.replace("   - ", "     - ") if line.startswith("   - ") else line
        for line in lines
    )


class PresetTable(SphinxDirective):
    """One row for each preset."""

    def run(self):
        """Build the table from a list-table source."""
        header = ["preset", *(f"``{column}``" for column in _COLUMNS), "and"]
        rows = [
            [f"``{name!r}``", *_cells(preset), _exceptions(preset)]
            for name, preset in PRESETS.items()
        ]
        return self.parse_text_to_nodes(_list_table(header, rows, "16 14 16 14 14 26"))


def setup(app):
    """Register the directive."""
    app.add_directive("preset-table", PresetTable)
    return {"parallel_read_safe": True}
