"""All rankers, losses, measures … of the package, found rather than listed.

The command line, the tables of the guide and the common tests read the classes here. A
new class that is public in its package is therefore known to all of them.
"""

import inspect
from typing import Literal

from skrank._core._registry import public_classes
from skrank._core._validation import check_arguments
from skrank.aggregation import BaseAggregator
from skrank.base import BaseRanker
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss
from skrank.metrics import BaseMeasure
from skrank.solvers import BaseSolver

__all__ = ["all_objects"]

Kind = Literal["aggregator", "energy", "loss", "measure", "ranker", "solver"]

# Base class of each kind, and the packages in which its classes are public.
_ROOMS: dict[str, tuple[type, tuple[str, ...]]] = {
    "aggregator": (BaseAggregator, ("skrank.aggregation",)),
    "energy": (BaseEnergy, ("skrank.energies",)),
    "loss": (BaseLoss, ("skrank.losses",)),
    "measure": (BaseMeasure, ("skrank.metrics",)),
    "ranker": (BaseRanker, ("skrank.rankers",)),
    "solver": (BaseSolver, ("skrank.solvers",)),
}


def all_objects(kind: Kind) -> dict[str, type]:
    """Return the public classes of a kind by name.

    Parameters
    ----------
    kind : {"aggregator", "energy", "loss", "measure", "ranker", "solver"}
        Kind of the classes.

    Returns
    -------
    dict of str to type
        Concrete classes, in alphabetical order.

    Raises
    ------
    ValueError
        If there is no such kind.

    Examples
    --------
    >>> from skrank.discovery import all_objects
    >>> "LambdaMART" in all_objects("ranker")
    True
    """
    check_arguments(all_objects, kind=kind)
    base, rooms = _ROOMS[kind]
    found = {cls.__name__: cls for room in rooms for cls in public_classes(room, base)}
    return {name: found[name] for name in sorted(found) if is_concrete(found[name])}


def is_concrete(cls: type) -> bool:
    """Return whether a class is meant for use, and not only for deriving from it."""
    return not (cls.__name__.startswith("Base") or inspect.isabstract(cls))
