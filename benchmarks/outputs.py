"""What every benchmark can write: its figures as JSON, and a picture of them."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Panel(NamedTuple):
    """One quantity of all contestants.

    ``values`` maps a name to a number, or to a number and its spread. Times are "bars"
    from zero, or "log" where they differ by orders of magnitude; scores are "points",
    because what counts are small differences.
    """

    label: str
    values: dict
    kind: str = "bars"


def add_outputs(parser):
    """Options of every benchmark."""
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--plot", type=Path, help="also draw them to this image file")


def write_outputs(options, record, draw):
    """Write what the options ask for; ``draw()`` returns a figure."""
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=1, default=str) + "\n")
    if options.plot:
        options.plot.parent.mkdir(parents=True, exist_ok=True)
        draw().savefig(options.plot, dpi=150, bbox_inches="tight")


def bar_figure(panels):
    """Panels side by side, with one row for each contestant."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for panel in panels for name in panel.values))
    size = (3 + 2.8 * len(panels), 1 + 0.28 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        found = np.array([np.resize(value, 2) for value in panel.values.values()])
        spread = [np.ndim(value) > 0 for value in panel.values.values()]
        at = [names.index(name) for name in panel.values]
        errors = np.where(spread, found[:, 1], 0.0)
        if panel.kind == "points":
            ax.errorbar(found[:, 0], at, xerr=errors, fmt="o", capsize=3)
            ax.grid(axis="x", alpha=0.4)
        else:
            own = ["C0" if names[i].startswith("skrank") else "C7" for i in at]
            ax.barh(at, found[:, 0], color=own)
        if panel.kind == "log":
            ax.set_xscale("log")
        ax.set_xlabel(panel.label)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    return figure


def line_figure(series, xlabel, ylabel):
    """One line for each contestant through its (x, y), both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    ax = figure.subplots()
    for i, (name, points) in enumerate(series.items()):
        style = ("-", "--", ":")[i // 10 % 3]
        ax.plot(list(points), list(points.values()), style, marker="o", label=name)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    sizes = sorted({x for points in series.values() for x in points})
    ax.set_xticks(sizes, [f"{x:,}" for x in sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.4)
    figure.legend(loc="outside right upper", fontsize="small")
    return figure
