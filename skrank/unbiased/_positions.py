"""Places where documents were shown, and propensities of being looked at there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skrank._core._messages import shown
from skrank._core._validation import as_numbers
from skrank._rows import GroupedRows, SideData


def check_positions(
    positions: npt.ArrayLike, n_rows: int, name: str = "positions"
) -> np.ndarray:
    """Check that there is one place, counted from 1, for each row.

    Parameters
    ----------
    positions : array-like of shape (n_rows,)
        Place where the document of each row was shown.
    n_rows : int
        Number of rows.
    name : str, default="positions"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_rows,), dtype intp
        Places.

    Raises
    ------
    ValueError
        If the length differs, or a place is no whole number from 1 to a million.
    """
    places = _column(positions, n_rows, name)
    wrong = ~((places >= 1) & (places <= _LAST) & (places == np.floor(places)))
    accepted = f"whole numbers from 1 to {_LAST}, the place of each row"
    _refuse(wrong, places, name, accepted)
    return places.astype(np.intp)


# Curves hold a number for every place up to the last, so that a number that stands for
# no place, such as 999999999, would take gigabytes.
_LAST = 1_000_000


def check_propensities(
    propensities: npt.ArrayLike, n_rows: int, name: str = "propensities"
) -> np.ndarray:
    """Check that there is one positive propensity for each row.

    Parameters
    ----------
    propensities : array-like of shape (n_rows,)
        Probability that a user looked at the row, up to a factor common to all rows.
    n_rows : int
        Number of rows.
    name : str, default="propensities"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
        Propensities.

    Raises
    ------
    ValueError
        If the length differs, or a propensity is not finite or not positive.
    """
    values = _column(propensities, n_rows, name)
    _refuse(~_usable(values), values, name, f"numbers from {_LEAST:g} to {MOST:g}")
    return values


# The inverse of every accepted propensity, and the square of that, are finite.
_LEAST, MOST = 1e-100, 1e100

POSITIONS = SideData(
    "positions",
    check_positions,
    "array-like of shape (n_documents,), default=None\n"
    "            Place, counted from 1, where the document was shown; at most 1000000.",
)
PROPENSITIES = SideData(
    "propensities",
    check_propensities,
    "array-like of shape (n_documents,), default=None\n"
    "            Probability that a user looked at the row, in place of ``positions``.",
)


def check_curve(curve: Any, name: str = "propensities") -> np.ndarray:
    """Check that a curve holds a positive propensity for each place, from 1 on.

    Parameters
    ----------
    curve : array-like of shape (n_positions,)
        Propensity of each place.
    name : str, default="propensities"
        Name of the argument in error messages.

    Returns
    -------
    ndarray of shape (n_positions,), dtype float64
        Propensities.

    Raises
    ------
    ValueError
        If there is none, or one is not finite or not positive.
    """
    values = as_numbers(curve, name)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"{name} must hold one number for each place, from the first on, got "
            f"{shown(curve)}"
        )
    wrong = ~_usable(values)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold numbers from {_LEAST:g} to {MOST:g}, got "
            f"{values[place]:g} for place {place + 1}"
        )
    return values


def at_positions(curve: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the propensity of each row by its place.

    Parameters
    ----------
    curve : ndarray of shape (n_positions,)
        Propensity of each place.
    positions : ndarray of shape (n_rows,), dtype intp
        Places, from 1 on.

    Returns
    -------
    ndarray of shape (n_rows,)
        Propensities.

    Raises
    ------
    ValueError
        If a place is beyond the end of the curve.
    """
    last = int(positions.max(initial=1))
    if last > len(curve):
        raise ValueError(
            f"positions must not exceed the {len(curve)} places that propensities "
            f"holds, got {last}"
        )
    return curve[positions - 1]


def positions_of(data: GroupedRows, ranker: Any) -> np.ndarray:
    """Return the places of the rows, which a ranker cannot do without.

    Parameters
    ----------
    data : GroupedRows
        Training rows.
    ranker : BaseRanker
        Ranker that learns from them, for the error message.

    Returns
    -------
    ndarray of shape (n_documents,), dtype intp
        Places, from 1 on.

    Raises
    ------
    ValueError
        If the rows came without places.
    """
    places = data.side.get("positions")
    if places is None:
        raise ValueError(
            f"{type(ranker).__name__}.fit needs positions, the place from 1 on where "
            "the document of each row was shown: fit(X, clicks, groups, "
            "positions=positions)"
        )
    return places


def _column(values, n_rows, name):
    numbers = as_numbers(values, name)
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one number for each of the {n_rows} rows, got shape "
            f"{numbers.shape}"
        )
    return np.ascontiguousarray(numbers)


def _usable(values):
    return np.isfinite(values) & (values >= _LEAST) & (values <= MOST)


def _refuse(wrong, values, name, accepted):
    if wrong.any():
        row = int(np.argmax(wrong))
        found = f"row {row} has {values[row]:.12g}"
        raise ValueError(f"{name} must hold {accepted}; {found}")


@dataclass(frozen=True, eq=False)
class Places:
    """The first place and all others that rows have, numbered in their order.

    Attributes
    ----------
    place : ndarray of shape (n,), dtype intp
        The places, from 1 on.
    number : ndarray of shape (n_rows,), dtype intp
        Number of the place of each row, from 0 on.
    seen : ndarray of shape (n,), dtype bool
        Whether rows tell something about each of them.
    """

    place: np.ndarray
    number: np.ndarray
    seen: np.ndarray

    @classmethod
    def of(cls, positions: np.ndarray, weight: np.ndarray | None = None) -> "Places":
        """Return the places of rows; those without weight tell nothing."""
        # Work and memory grow with the places that occur, whatever the last one is.
        place = np.unique(np.append(1, positions))
        number = np.searchsorted(place, positions)
        return cls(place, number, np.bincount(number, weight, len(place)) > 0)

    def __len__(self) -> int:
        return len(self.place)

    def filled(self, numbers: np.ndarray) -> np.ndarray:
        """Return positive numbers of these places, with those that were not seen.

        Their logarithm is straight between places that were seen, and level beyond.
        """
        if self.seen.all():
            return numbers
        return self._between(numbers, self.place, self.seen)

    def curve(self, numbers: np.ndarray) -> np.ndarray:
        """Return the same for every place up to the last, of shape (n_positions,)."""
        n_positions = int(self.place[-1])
        if n_positions == len(self):
            return self.filled(numbers)
        places = np.arange(1, n_positions + 1)
        return self._between(numbers, places, self.place[self.seen] - 1)

    def _between(self, numbers, places, known):
        """Return numbers of some places; those that were seen stand at `known`."""
        seen = numbers[self.seen]
        found = np.exp(np.interp(places, self.place[self.seen], np.log(seen)))
        found[known] = seen
        return found

    def read(self, curve: np.ndarray, others: float) -> np.ndarray:
        """Return what a curve says of these places, and a number beyond its end."""
        found = np.full(len(self), others)
        within = self.place <= len(curve)
        found[within] = curve[self.place[within] - 1]
        return found
