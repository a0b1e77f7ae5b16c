"""Options of the whole package, local to the thread and the context that set them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from skrank._core._messages import shown

_DEFAULTS: dict[str, Any] = {"assume_single_query": False, "check_leakage": True}
# None by default: a dict would be one object, shared by all contexts.
_config: ContextVar[dict[str, Any] | None] = ContextVar("skrank_config", default=None)


def get_config() -> dict[str, Any]:
    """Return a copy of the current options.

    Returns
    -------
    dict
        Values of the options by name: ``assume_single_query``, whether data without
        groups are read as the documents of one single query, and ``check_leakage``,
        whether scoring warns of queries that were in the training data.

    Examples
    --------
    >>> import skrank
    >>> skrank.get_config()
    {'assume_single_query': False, 'check_leakage': True}
    """
    return dict(_config.get() or _DEFAULTS)


@contextmanager
def config_context(
    *, assume_single_query: bool | None = None, check_leakage: bool | None = None
) -> Iterator[None]:
    """Set options for the duration of a ``with`` block.

    Options hold in the thread that sets them. They do not reach the workers of
    scikit-learn's ``n_jobs``.

    Parameters
    ----------
    assume_single_query : bool, default=None
        If True, data without groups are read as the documents of one query instead
        of raising an error. None keeps the current value.
    check_leakage : bool, default=None
        If False, `skrank.metrics.check_query_leakage` does not warn, by which scorers
        and ``score`` tell of queries that are both trained on and tested on. For
        searches with ``n_jobs`` there is ``make_ranking_scorer(...,
        check_leakage=False)``. None keeps the current value.

    Raises
    ------
    TypeError
        If an option is neither True, False nor None.

    Examples
    --------
    >>> import skrank
    >>> with skrank.config_context(assume_single_query=True):
    ...     skrank.get_config()["assume_single_query"]
    True
    """
    given = {"assume_single_query": assume_single_query, "check_leakage": check_leakage}
    options = get_config()
    for name, value in given.items():
        if value is None:
            continue
        # By name, because NumPy is not imported along with the package.
        if type(value).__name__ not in ("bool", "bool_"):
            raise TypeError(
                f"config_context: {name} must be True, False or None, got "
                f"{shown(value)}"
            )
        options[name] = bool(value)
    token = _config.set(options)
    try:
        yield
    finally:
        _config.reset(token)
