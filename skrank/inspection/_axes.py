"""Access to matplotlib, which is optional and therefore imported late."""

import inspect
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._validation import as_numbers, check_options

_LARGEST = 1e300  # matplotlib multiplies lengths by numbers such as 1.05

#: Lengths of the axes of an array, some of them as names that stand for any number.
Shape = tuple[int | str, ...]


def axes_or_new(ax: Any, caller: str) -> Any:
    """Return the axes to draw on.

    Parameters
    ----------
    ax : matplotlib axes or None
        The axes that the user passed; None makes a new figure.
    caller : str
        Name of the calling method, for the error message.

    Returns
    -------
    matplotlib axes
        ``ax``, or the only axes of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If ``ax`` is something else than axes.
    """
    if not (ax is None or (hasattr(ax, "plot") and hasattr(ax, "figure"))):
        raise TypeError(
            f"{caller}: ax must be matplotlib axes or None, got {shown(ax)}"
        )
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib; install it with: pip install skrank[plot]"
        ) from error
    # Labels of any length then stay within the figure.
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def grade_colors(cmap: str, n_grades: int, lightest: float) -> np.ndarray:
    """Return a colour for each grade, the highest grade being the darkest.

    Parameters
    ----------
    cmap : str
        Name of a colour map that runs from dark to light.
    n_grades : int
        Number of grades.
    lightest : float
        Place of the lowest grade on the map, from 0 to 1; below 1 because the lightest
        end of a colour map is hard to see on white.

    Returns
    -------
    ndarray of shape (n_grades, 4)
        Red, green, blue and opacity of each grade, ascending.
    """
    import matplotlib as mpl

    try:
        colors = mpl.colormaps.get_cmap(cmap)
    except (TypeError, ValueError):
        raise ValueError(
            f"cmap must be the name of a colour map of matplotlib, got {shown(cmap)}"
        ) from None
    return colors(np.linspace(lightest, 0.0, n_grades))


def check_display(display: Any, **shapes: Shape) -> dict[str, np.ndarray]:
    """Check the data and the options that a display holds, before they are drawn.

    Parameters
    ----------
    display : object
        A display, whose attributes have the names of the parameters of its constructor.
    **shapes : tuples
        Shape of each array. A name stands for one length wherever it occurs, which must
        not be 0 except for "n_iterations".

    Returns
    -------
    dict of str to ndarray
        The arrays by name; those that are None are left out.

    Raises
    ------
    ValueError or TypeError
        If an option is not accepted, or an array holds no numbers, numbers that cannot
        be drawn, or has another shape.
    """
    check_options(type(display).__init__, vars(display))
    lengths: dict[str, int] = {}
    given = {name: getattr(display, name) for name in shapes}
    parameters = inspect.signature(type(display)).parameters
    optional = {name for name, p in parameters.items() if p.default is None}
    return {
        name: as_shaped(values, name, shapes[name], lengths)
        for name, values in given.items()
        if values is not None or name not in optional
    }


def as_shaped(
    values: Any, name: str, shape: Shape, lengths: dict[str, int]
) -> np.ndarray:
    """Return an array of numbers whose shape is as told; see `check_display`.

    Lengths that are found are added to ``lengths``.
    """
    array = as_numbers(values, name)
    fits = array.ndim == len(shape)
    for length, wanted in zip(array.shape, shape):
        if isinstance(wanted, str):
            fits = fits and (length > 0 or wanted == "n_iterations")
            wanted = lengths.setdefault(wanted, length) if fits else wanted
        fits = fits and length == wanted
    if not fits:
        known = ", ".join(str(lengths.get(str(n), n)) for n in shape)
        raise ValueError(
            f"{name} must be an array of shape ({known}{',' * (len(shape) == 1)}), got "
            f"shape {array.shape}"
        )
    if (np.abs(array) > _LARGEST).any():
        raise ValueError(
            f"{name} must hold numbers of at most {_LARGEST:g} in size, which can be "
            f"drawn, got {np.nanmax(np.abs(array)):g}"
        )
    return array
