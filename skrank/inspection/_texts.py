"""Texts of pictures: names and titles at a length that leaves room for what is drawn.

Widths are measured in the font that is drawn, because letters differ in width by five
times. The room is that of the axes before a layout has moved them.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

_Fits = Callable[[str], bool]

#: Share of the width of a picture that names at its side may take.
NAMES_SHARE = 0.4

_BESIDE_NAMES = 40.0  # points for ticks, the title of the axis and the margins
_LEVELS_SHARE = 0.35  # of the height, for names that stand upright
# A title stands in the middle of the axes, which is not that of the picture.
_TITLE_SHARE = 0.85
_N_LINES = 3  # of a title
_SHORTEST = 5  # letters, below which nothing could be told apart
_LONGEST = 400  # letters, which no picture has room for
_N_ROUNDS = 5
_GAP = 0.6  # between names beside each other, in heights of a line


def room_of(ax: Any) -> tuple[float, float]:
    """Return the width and the height of the part of the figure that is for axes.

    Parameters
    ----------
    ax : matplotlib axes
        Axes, whose margins count as theirs.

    Returns
    -------
    width, height : floats
        Pixels.
    """
    figure, spec = ax.figure, ax.get_subplotspec()
    # A layout moves axes, and the axes of a second plot have been moved already.
    place = ax.get_position(True) if spec is None else spec.get_position(figure)
    margins = figure.subplotpars
    width = min(place.width / (margins.right - margins.left), 1.0)
    height = min(place.height / (margins.top - margins.bottom), 1.0)
    return width * figure.bbox.width, height * figure.bbox.height


def name_ticks(
    ax: Any,
    places: Any,
    names: Sequence[str],
    values: Sequence[Sequence[str]] | None = None,
    share: float = NAMES_SHARE,
) -> float:
    """Write names beside the vertical axis, the middle of long ones left out.

    Parameters
    ----------
    ax : matplotlib axes
        Axes to write on.
    places : array-like of shape (n_names,)
        Where the names stand.
    names : sequence of str
        Names; those that differ still differ when they have been shortened.
    values : sequence of sequences of str, default=None
        What is written behind each name, as in "name = 1 | 2".
    share : float, default=NAMES_SHARE
        Share of the width of the picture that the names may take.

    Returns
    -------
    float
        Width that is left for the axes, in pixels.
    """
    names = [_drawable(name) for name in names]
    values = [()] * len(names) if values is None else values
    ax.set_yticks(places, names)
    width_of = _ruler(ax, ax.get_yticklabels()[0])
    picture, _ = room_of(ax)
    room = share * picture
    tails, fits = [], []
    for name, own in zip(names, values, strict=True):
        # The name leaves to the values what it does not need, and at least a half.
        left = max(room - width_of(f"{name[:_LONGEST]} = "), room / 2)
        tail = _joined(own, width_of, left)
        tails.append(tail)
        fits.append(_fits(width_of, room - width_of(tail)))
    labels = [n + tail for n, tail in zip(distinct(names, fits), tails, strict=True)]
    ax.set_yticks(places, labels)
    return picture - max(map(width_of, labels)) - _pixels(ax, _BESIDE_NAMES)


def level_ticks(ax: Any, places: Any, levels: Sequence[str]) -> None:
    """Write names of levels below the horizontal axis, as many as stand side by side.

    They stand upright if they do not all fit otherwise.

    Parameters
    ----------
    ax : matplotlib axes
        Axes that the data have been drawn on.
    places : array-like of shape (n_levels,)
        Where the levels stand, in any order.
    levels : sequence of str
        Their names.
    """
    order = np.argsort(places, kind="stable")
    places = np.asarray(places, dtype=float)[order]
    names = [_drawable(levels[int(j)]) for j in order]
    ax.set_xticks(places, names)
    ax.get_xlim()  # which takes the limits from the data
    at = ax.transData.transform(np.column_stack([places, np.zeros(len(places))]))[:, 0]
    label = ax.get_xticklabels()[0]
    width_of, line = _ruler(ax, label), _line_height(ax, label)
    widths = np.array([width_of(name[:_LONGEST]) for name in names])
    needed = (widths[1:] + widths[:-1]) / 2 + _GAP * line
    first, last = at[0] - widths[0] / 2, at[-1] + widths[-1] / 2
    inside = ax.bbox.x0 - 2 * line <= first and last <= ax.bbox.x1 + 2 * line
    if inside and (np.diff(at) >= needed).all():
        return
    kept = [0]
    for k in range(1, len(at)):
        if at[k] - at[kept[-1]] >= line:
            kept.append(k)
    fits = _fits(width_of, _LEVELS_SHARE * room_of(ax)[1])
    texts = distinct([names[k] for k in kept], [fits] * len(kept))
    ax.set_xticks(places[kept], texts)
    ax.tick_params(axis="x", rotation=90)


def fit_title(ax: Any, title: Any, room: float | None = None) -> None:
    """Break the title of a picture or of an axis into lines, and shorten long words.

    Parameters
    ----------
    ax : matplotlib axes
        Axes of the title.
    title : matplotlib text
        What ``ax.set_title``, ``ax.set_xlabel`` or ``ax.set_ylabel`` returned; nothing
        is changed if it fits.
    room : float, default=None
        Length that it may have, in pixels; None takes the length of that side.
    """
    upright = title.get_rotation() == 90
    room = _TITLE_SHARE * room_of(ax)[upright] if room is None else room
    fits = _fits(_ruler(ax, title), room)
    lines = _drawable(title.get_text()).split("\n")
    title.set_text("\n".join(_wrapped(line, fits) for line in lines))


def fit_parts(ax: Any, parts: Sequence[str], gap: str, room: float) -> None:
    """Write parts of the title of the horizontal axis on one line, or on one line each.

    Parameters
    ----------
    ax : matplotlib axes
        Axes to write on.
    parts : sequence of str
        Parts from the left to the right.
    gap : str
        What stands between them on one line.
    room : float
        Length that a line may have, in pixels.
    """
    parts = [_drawable(part) for part in parts]
    title = ax.set_xlabel(gap.join(parts))
    fits = _fits(_ruler(ax, title), room)
    if not fits(title.get_text()):
        title.set_text("\n".join(distinct(parts, [fits] * len(parts))))


def fit_legend(ax: Any, legend: Any, room: float) -> None:
    """Shorten the texts of a legend to a width in pixels."""
    texts = legend.get_texts()
    if texts:
        fits = _fits(_ruler(ax, texts[0]), room)
        given = [_drawable(text.get_text()) for text in texts]
        names = distinct(given, [fits] * len(texts))
        for text, name in zip(texts, names, strict=True):
            text.set_text(name)


def in_legend(name: Any) -> str:
    """Return a name as a label that matplotlib does not leave out of legends."""
    name = str(name)
    return f" {name}" if not name or name.startswith("_") else name


def distinct(texts: Sequence[str], fits: Sequence[_Fits]) -> list[str]:
    """Return texts that fit and that differ where the given ones differ.

    Parameters
    ----------
    texts : sequence of str
        Texts; one that fits is returned as it is.
    fits : sequence of callables
        Which texts fit in the place of each of them.

    Returns
    -------
    list of str
        The beginning and the end of a text, with "…" for what is left out. Where these
        are those of another one, the text begins where the two differ; where even this
        does not help, it is numbered.
    """
    found = [_cut(text, fit) for text, fit in zip(texts, fits, strict=True)]
    for _ in range(_N_ROUNDS):
        for places in _alike(texts, found):
            start = _first_difference([texts[j] for j in places])
            for j in places:
                found[j] = _cut(texts[j], fits[j], start)
    left = [j for places in _alike(texts, found) for j in places]
    numbers = {
        text: n for n, text in enumerate(dict.fromkeys(texts[j] for j in left), 1)
    }
    for j in left:
        found[j] = _cut(f"{numbers[texts[j]]}: {texts[j]}", fits[j])
    return found


def _alike(texts, found) -> list[list[int]]:
    """Return the places of different texts that look the same, group by group."""
    groups: dict[str, list[int]] = {}
    for j, label in enumerate(found):
        groups.setdefault(label, []).append(j)
    return [g for g in groups.values() if len({texts[j] for j in g}) > 1]


def _first_difference(texts: list[str]) -> int:
    """Return how many letters all of several texts begin with."""
    shortest = min(map(len, texts))
    columns = enumerate(zip(*texts, strict=False))
    return next((k for k, letters in columns if len(set(letters)) > 1), shortest)


def _cut(text: str, fits: _Fits, start: int = 0) -> str:
    """Return as much of a text as fits, from a place on, without its middle."""
    if fits(text):
        return text
    low, high = _SHORTEST, min(max(len(text), _SHORTEST), _LONGEST)
    while low < high:
        length = (low + high + 1) // 2
        if fits(_without_middle(text, start, length)):
            low = length
        else:
            high = length - 1
    return _without_middle(text, start, low)


def _without_middle(text: str, start: int, length: int) -> str:
    """Return some letters from a place on and some from the end.

    Names behind a pipeline begin alike, so as many letters are from the end.
    """
    start = min(start, max(len(text) - length + 1, 0))
    text = "…" * (start > 0) + text[start:]
    if len(text) > length:
        end = (length - 1) // 2
        text = f"{text[: length - 1 - end]}…{text[len(text) - end :]}"
    # Half a formula is none.
    return text.replace("$", r"\$")


def _wrapped(text: str, fits: _Fits) -> str:
    """Return a text in lines that fit, broken at its spaces."""
    if fits(text):
        return text
    lines: list[str] = []
    for word in text.split(" "):
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
        else:
            lines.append(_cut(word, fits))
    if len(lines) > _N_LINES:
        lines = [*lines[: _N_LINES - 2], "…", lines[-1]]
    return "\n".join(lines)


def _joined(values, width_of, room) -> str:
    """Return values as they stand behind a name, shortened to their parts of a room."""
    if not len(values):
        return ""
    values = [_drawable(value) for value in values]
    text = f" = {' | '.join(values)}"
    if len(text) <= _LONGEST and width_of(text) <= room:
        return text
    each = (room - width_of(f" = {' | '.join([''] * len(values))}")) / len(values)
    return f" = {' | '.join(distinct(values, [_fits(width_of, each)] * len(values)))}"


def _drawable(text: str) -> str:
    """Return a text that can be drawn: what no font has, or is no formula, as signs.

    Control characters, and those that the fonts of the picture lack, are escaped as in
    Python, so that names which differ still differ.
    """
    from matplotlib.mathtext import MathTextParser

    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not (text.isascii() and text.isprintable()):
        known = _glyphs()
        text = "".join(
            sign
            if sign == "\n" or (sign.isprintable() and ord(sign) in known)
            else sign.encode("unicode_escape").decode()
            for sign in text
        )
    try:
        if text.count("$") > 1:
            for line in text.split("\n"):
                MathTextParser("path").parse(line)
    except ValueError:  # two prices, perhaps
        text = text.replace("$", r"\$")
    return text


def _glyphs() -> frozenset[int]:
    """Return the characters that matplotlib finds in the fonts of its settings."""
    from matplotlib.font_manager import FontProperties

    font = FontProperties()
    return _glyphs_of(tuple(font.get_family()), font.get_weight(), font.get_style())


@cache
def _glyphs_of(families: tuple[str, ...], weight: Any, style: Any) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found: set[int] = set()
    for family in families:
        font = FontProperties(family=family, weight=weight, style=style)
        # A family that is not installed is passed over where others are, by a message.
        with suppress(ValueError):
            path = findfont(font, fallback_to_default=False)
            found.update(get_font(path).get_charmap())
    if not found:
        found.update(get_font(findfont(FontProperties())).get_charmap())
    return frozenset(found)


def _ruler(ax: Any, like: Any) -> Callable[[str], float]:
    """Return what tells the width in pixels of a text in the font of another one."""
    from matplotlib.text import Text

    drawn = Text(fontproperties=like.get_fontproperties())
    drawn.set_figure(ax.figure)

    def width_of(text: str) -> float:
        drawn.set_text(text)
        return drawn.get_window_extent().width if text else 0.0

    return width_of


def _line_height(ax: Any, like: Any) -> float:
    return 1.2 * _pixels(ax, like.get_fontsize())


def _pixels(ax: Any, points: float) -> float:
    return points * ax.figure.dpi / 72


def _fits(width_of: Callable[[str], float], room: float) -> _Fits:
    return lambda text: len(text) <= _LONGEST and width_of(text) <= room
