"""Access to matplotlib, which is optional and therefore imported late."""

from typing import Any

import numpy as np


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
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib; install it with: pip install skrank[plot]"
        ) from error
    return plt.subplots()[1] if ax is None else ax


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

    return mpl.colormaps[cmap](np.linspace(lightest, 0.0, n_grades))
