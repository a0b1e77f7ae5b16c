"""Options of the whole package, local to the thread and the context that set them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from skrank._core._messages import shown

_DEFAULTS: dict[str, Any] = {"assume_single_query": False}
# None by default: a dict would be one object, shared by all contexts.
_config: ContextVar[dict[str, Any] | None] = ContextVar("skrank_config", default=None)


def get_config() -> dict[str, Any]:
    """Return a copy of the current options.

    Returns
    -------
    dict
        Values of the options by name. The only option is ``assume_single_query``:
        whether data without groups are read as the documents of one single query.

    Examples
    --------
    >>> import skrank
    >>> skrank.get_config()
    {'assume_single_query': False}
    """
    return dict(_config.get() or _DEFAULTS)


@contextmanager
def config_context(*, assume_single_query: bool | None = None) -> Iterator[None]:
    """Set options for the duration of a ``with`` block.

    Parameters
    ----------
    assume_single_query : bool, default=None
        If True, data without groups are read as the documents of one query instead
        of raising an error. None keeps the current value.

    Raises
    ------
    TypeError
        If ``assume_single_query`` is neither True, False nor None.

    Examples
    --------
    >>> import skrank
    >>> with skrank.config_context(assume_single_query=True):
    ...     skrank.get_config()["assume_single_query"]
    True
    """
    options = get_config()
    if assume_single_query is not None:
        # By name, because NumPy is not imported along with the package.
        if type(assume_single_query).__name__ not in ("bool", "bool_"):
            raise TypeError(
                "config_context: assume_single_query must be True, False or None, got "
                f"{shown(assume_single_query)}"
            )
        options["assume_single_query"] = bool(assume_single_query)
    token = _config.set(options)
    try:
        yield
    finally:
        _config.reset(token)
