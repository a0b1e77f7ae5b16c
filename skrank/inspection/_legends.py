"""Legends that hide no curve."""

from collections.abc import Sequence
from typing import Any

from skrank.inspection._texts import fit_legend, fit_title, room_of

_PLACES = (  # in the order in which matplotlib tries them for "best"
    "upper right",
    "upper left",
    "lower left",
    "lower right",
    "right",
    "center left",
    "center right",
    "lower center",
    "upper center",
    "center",
)
_GAP = 4.0  # points between a legend and anything else
_MAX_COLUMNS = 4
_INSIDE_SHARE = 0.5  # of the width, for names in a legend among the curves
_BELOW_SHARE = 0.5  # of the height, for a legend below the axes
_SMALL = "x-small"  # letters of a legend that is too large otherwise


def place_legend(ax: Any, *, shared: Sequence[Any] = (), **legend_kw: Any) -> Any:
    """Draw a legend inside the axes where no line is, or else below them.

    "best" of matplotlib knows the lines of one axes only, and takes the least bad place
    if none is free.

    Parameters
    ----------
    ax : matplotlib axes
        Axes that carry the legend.
    shared : sequence of matplotlib axes, default=()
        Other axes in the same place, whose lines must not be hidden either.
    **legend_kw : dict
        Passed on to ``ax.legend``.

    Returns
    -------
    matplotlib legend
    """
    stack, engine = [ax, *shared], ax.figure.get_layout_engine()
    if engine is not None:
        engine.execute(ax.figure.figure)  # until then, the axes have another size
    depth = max(each.bbox.y0 - each.get_tightbbox().y0 for each in stack)
    legend = _inside(ax, legend_kw, _PLACES[0])
    for place in _PLACES:
        legend.set_loc(place)
        if not _hides_a_line(legend, stack):
            return legend
    if engine is None:  # which would make room below
        return _inside(ax, legend_kw, "best")
    for smaller in ({}, {"fontsize": _SMALL}):
        legend = _below(ax, depth, legend_kw | smaller)
        height, taken = room_of(ax)[1], legend.get_window_extent().height
        if taken <= _BELOW_SHARE * height:
            for each in stack:
                fit_title(each, each.yaxis.label, height - depth - taken)
            return legend
    legend = _inside(ax, legend_kw, "best")
    legend.set_in_layout(False)  # it may be larger than the figure
    return legend


def _inside(ax, legend_kw, place) -> Any:
    legend = ax.legend(**legend_kw, loc=place)
    fit_legend(ax, legend, _INSIDE_SHARE * room_of(ax)[0])
    return legend


def _hides_a_line(legend, stack) -> bool:
    """Return whether a legend leaves the axes, or lies over a line of one of them."""
    gap = _GAP * legend.figure.dpi / 72
    box = legend.get_window_extent()
    inside = stack[0].bbox
    if box.width > inside.width or box.height > inside.height:
        return True
    box = box.padded(gap)
    for ax in stack:
        ax.get_xlim()  # which takes the limits from the data, of both axes
        for line in ax.get_lines():
            path = line.get_path().transformed(line.get_transform())
            if path.intersects_bbox(box, filled=False):
                return True
            if box.count_contains(path.vertices):
                return True
    return False


def _below(ax, depth, legend_kw) -> Any:
    """Draw a legend below the title of the horizontal axis, in columns that fit."""
    from matplotlib.transforms import ScaledTranslation

    figure, width = ax.figure, room_of(ax)[0]
    down = ScaledTranslation(
        0.0, -depth / figure.dpi - _GAP / 72, figure.dpi_scale_trans
    )
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 0.0}
    place["bbox_transform"] = ax.transAxes + down
    for columns in range(_MAX_COLUMNS, 0, -1):
        legend = ax.legend(**legend_kw, **place, ncols=columns)
        fit_legend(ax, legend, _INSIDE_SHARE * width)
        if legend.get_window_extent().width <= width:
            break
    return legend
