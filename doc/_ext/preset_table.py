"""Directives ``preset-table`` and ``measure-table``, from the tables of the code."""

import inspect

from sphinx.util.docutils import SphinxDirective

from skrank.metrics import PRESETS, get_measure, known_measures

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


class MeasureTable(SphinxDirective):
    """One row for each name that `get_measure` takes."""

    def run(self):
        """Build the table from a list-table source."""
        rows = []
        for name in known_measures():
            cls = type(get_measure(name))
            summary = inspect.getdoc(cls).splitlines()[0]
            rows.append(
                [f"``{name}``", f":class:`~skrank.metrics.{cls.__name__}`", summary]
            )
        return self.parse_text_to_nodes(
            _list_table(["name", "class", "what it is"], rows, "20 25 55")
        )


def setup(app):
    """Register the directives."""
    app.add_directive("preset-table", PresetTable)
    app.add_directive("measure-table", MeasureTable)
    return {"parallel_read_safe": True}
