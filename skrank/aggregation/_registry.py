"""Aggregators by name, and the function that needs nothing but a name."""

from functools import cache
from typing import Any, NamedTuple

import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError, PositiveInt
from skrank._core._registry import aliases, by_short_name
from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._joined import JoinedRuns, RunsLike


class Names(NamedTuple):
    """Names of aggregators: the classes by short name, and further spellings."""

    aggregators: dict[str, type[BaseAggregator]]
    aliases: dict[str, str]


@cache
def aggregator_names() -> Names:
    """Return the names that the public aggregators state."""
    # The package lists its classes only after it has imported this module.
    found = by_short_name("skrank.aggregation", BaseAggregator)
    return Names(found, aliases(found))


def known_aggregators() -> list[str]:
    """List the short names that `get_aggregator` takes.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> from skrank.aggregation import known_aggregators
    >>> "rrf" in known_aggregators()
    True
    """
    return sorted(aggregator_names().aggregators)


def get_aggregator(method: str | BaseAggregator, **params: Any) -> BaseAggregator:
    """Return an aggregator from its name.

    Parameters
    ----------
    method : str or BaseAggregator
        Short name, such as "rrf" or "combsum", an alias, such as the names of the ranx
        package, or an aggregator, which is returned as it is. Case and hyphens do not
        matter.
    **params : objects
        Parameters of the aggregator.

    Returns
    -------
    BaseAggregator
        A new aggregator, or the given one.

    Raises
    ------
    InvalidParameterError
        If the name is unknown; the message lists the known ones.
    TypeError
        If the method has no such parameter.

    Examples
    --------
    >>> from skrank.aggregation import get_aggregator
    >>> get_aggregator("rrf", k=10)
    RRF(k=10)
    """
    if isinstance(method, BaseAggregator):
        if params:
            raise ValueError(
                f"{', '.join(params)} applies to names of methods only; set the "
                f"parameters of {method!r} directly"
            )
        return method
    names = aggregator_names()
    name = method.lower().replace("-", "_") if isinstance(method, str) else method
    if isinstance(name, str):
        name = names.aliases.get(name, name)
    if not isinstance(name, str) or name not in names.aggregators:
        raise InvalidParameterError(
            f"method must be an aggregator or the name of one, "
            f"{', '.join(known_aggregators())}, got {shown(method)}"
        )
    return names.aggregators[name](**params)


def aggregate(
    runs: RunsLike | JoinedRuns,
    method: str | BaseAggregator = "rrf",
    groups: npt.ArrayLike | None = None,
    *,
    depth: PositiveInt | None = None,
    top_k: PositiveInt | None = None,
    **params: Any,
) -> Any:
    """Fuse the rankings of several runs into one.

    Parameters
    ----------
    runs : runs, joined runs, or array-like of shape (n_documents, n_runs)
        Runs of `skrank.datasets.load_run`; or dictionaries ``{query: {document:
        score}}``; or scores in an array, NaN or −inf where a run did not retrieve a
        document; or the result of `join_runs`.
    method : str or BaseAggregator, default="rrf"
        Method, as `get_aggregator` takes it. Methods that learn have to be fitted
        first.
    groups : array-like of shape (n_documents,), default=None
        Query id of each row of an array.
    depth : int, default=None
        Number of best documents of each query that are taken from a run; None takes
        all.
    top_k : int, default=None
        Number of best documents of each query in the result; None keeps all.
    **params : objects
        Parameters of the method, such as ``normalization`` or ``weights``.

    Returns
    -------
    Run, dict or ndarray of shape (n_documents,)
        The fused run, in the form of the runs. In a `skrank.datasets.Run` and in a
        dictionary, the best document of a query comes first, and of equal scores the
        larger document id, as in trec_eval. In an array, each row has its fused score,
        and −inf if no run retrieved it, or if it is below rank ``top_k``.

    Raises
    ------
    ValueError
        If the method is unknown, a parameter is out of range, or runs are not valid.
    TypeError
        If the method has no such parameter, or runs are of several kinds.

    Examples
    --------
    >>> from skrank.aggregation import aggregate
    >>> bm25 = {"q1": {"a": 3.0, "b": 2.0}}
    >>> dense = {"q1": {"b": 0.9, "c": 0.8}}
    >>> aggregate([bm25, dense], "combsum", normalization="max")
    {'q1': {'b': 1.6666666666666665, 'a': 1.0, 'c': 0.888888888888889}}
    """
    aggregator = get_aggregator(method, **params)
    return aggregator.aggregate(runs, groups, depth=depth, top_k=top_k)
