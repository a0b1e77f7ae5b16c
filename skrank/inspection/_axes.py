"""Access to matplotlib, which is optional."""


def axes_or_new(ax, caller: str):
    """Return the axes to draw on.

    Parameters
    ----------
    ax : matplotlib axes or None
        What the user passed; None makes a new figure.
    caller : str
        Who asks, for the error message.

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
