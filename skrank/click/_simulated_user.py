"""Users who click by rule, for experiments whose answers are known."""

from dataclasses import field
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skrank._core._parameters import (
    Interval,
    NonNegative,
    Parameters,
    Positive,
    PositiveInt,
    Seed,
)
from skrank._core._validation import check_arguments, check_grades, check_ptr

__all__ = ["SimulatedUser"]

# Chances of a click and of a stop after it, from the worst grade to the best.
_CLICK = {
    "perfect": {5: (0.0, 0.2, 0.4, 0.8, 1.0), 3: (0.0, 0.5, 1.0)},
    "navigational": {5: (0.05, 0.3, 0.5, 0.7, 0.95)},
    "informational": {5: (0.4, 0.6, 0.7, 0.8, 0.9)},
}
_STOP = {
    "perfect": {5: (0.0, 0.0, 0.0, 0.0, 0.0)},
    "navigational": {5: (0.2, 0.3, 0.5, 0.7, 0.9)},
    "informational": {5: (0.1, 0.2, 0.3, 0.4, 0.5)},
}
_Noise = Annotated[float, Interval(0, 1)]


class SimulatedUser(Parameters, BaseEstimator):
    r"""A user who looks at ranked documents and clicks by their grades.

    A document of grade y that the user looks at is clicked with probability

    .. math:: P(C = 1 \mid E = 1, y) = \epsilon + (1 - \epsilon)\, a(y)

    where :math:`a` is that of the literature for the behaviour, and :math:`\epsilon`
    the noise: trust in whatever is shown. Under ``examination="cascade"``, the user
    looks at one document after the other, from the top, and after a click stops with a
    probability that depends on the grade, too. Under ``examination="position"``, the
    user looks at the document in place k with probability :math:`k^{-\eta}`, whatever
    the others are, and never stops: clicks then follow the position-based model, whose
    propensities are known.

    =============  =======================  =======================
    behaviour      click, grades 0 to 4     stop, grades 0 to 4
    =============  =======================  =======================
    perfect        0, .2, .4, .8, 1         0, 0, 0, 0, 0
    navigational   .05, .3, .5, .7, .95     .2, .3, .5, .7, .9
    informational  .4, .6, .7, .8, .9       .1, .2, .3, .4, .5
    =============  =======================  =======================

    Other grades lie between these by their share of ``max_grade``, in straight lines,
    but a perfect user clicks the middle one of three grades with probability 1/2.

    Parameters
    ----------
    behaviour : {"perfect", "navigational", "informational"}, default="perfect"
        What the user looks for: all relevant documents; one good document; or much
        about a topic.
    examination : {"cascade", "position"}, default="cascade"
        How the user gets to a document.
    eta : float, default=1.0
        How fast examination falls with the place, for ``examination="position"``.
    noise : float, default=0.0
        Share :math:`\epsilon`, from 0 to 1, of clicks whatever the grade.
    max_grade : float, default=None
        Best grade. None takes 2 if no grade is larger, else 4, or the largest one; set
        it where grades come in parts.

    References
    ----------
    [Hofmann2013]_ and [Schuth2016]_ for the probabilities;
    [Joachims2017]_, section 7, and [Ai2018]_, section 5, for examination by position
    and for noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.click import SimulatedUser
    >>> shown = np.array([0, 2, 2, 1, 0])  # grades in the order of the ranking
    >>> user = SimulatedUser("navigational")
    >>> user.click(shown, [0, 5], random_state=0).tolist()
    [0, 1, 0, 0, 0]
    >>> SimulatedUser(examination="position").propensities(4).round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """

    behaviour: Literal["perfect", "navigational", "informational"] = field(
        default="perfect", kw_only=False
    )
    examination: Literal["cascade", "position"] = "cascade"
    eta: NonNegative = 1.0
    noise: _Noise = 0.0
    max_grade: Positive | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Return the constructor arguments that the common tests run over."""
        return [
            {},
            {"behaviour": "navigational"},
            {"behaviour": "informational", "examination": "position", "noise": 0.1},
        ]

    def click(
        self, y: npt.ArrayLike, ptr: npt.ArrayLike, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the clicks of one user for each of some rankings.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Grades of the documents in the order in which they are shown, ranking after
            ranking.
        ptr : array-like of shape (n_rankings + 1,)
            Documents of ranking ``q`` are ``ptr[q]:ptr[q + 1]``.
        random_state : int, RandomState or None, default=None
            Seed of the clicks.

        Returns
        -------
        ndarray of shape (n_documents,), dtype uint8
            1 for documents that are clicked, 0 for others. Complexity: O(n_documents).

        Raises
        ------
        ValueError
            If a parameter is out of range, a grade is missing, negative or above
            ``max_grade``, or ``ptr`` does not ascend to the number of grades.
        """
        self._check_parameters()
        check_arguments(SimulatedUser.click, random_state=random_state)
        grades = check_grades(y)
        ptr = check_ptr(ptr, len(grades))
        rng = check_random_state(random_state)
        attraction = self.click_probability(grades)
        return self._clicks(attraction, self.stop_probability(grades), ptr, rng)

    def _clicks(self, attraction, stop, ptr, rng) -> np.ndarray:
        """Draw clicks on documents of known probabilities, in the order shown."""
        sizes = np.diff(ptr)
        draws = rng.random_sample((len(attraction), 2))
        attracted = draws[:, 0] < attraction
        if self.examination == "position":
            places = np.arange(len(attraction)) - np.repeat(ptr[:-1], sizes)
            seen = draws[:, 1] < self._examined(places)
            return (attracted & seen).astype(np.uint8)
        stops = attracted & (draws[:, 1] < stop)
        # A document is reached if no document above it has made the user stop.
        before = np.cumsum(stops) - stops
        if len(sizes) > 1:
            held = sizes > 0
            before -= np.repeat(before[ptr[:-1][held]], sizes[held])
        return (attracted & (before == 0)).astype(np.uint8)

    def click_probability(self, y: npt.ArrayLike) -> np.ndarray:
        """Return the probability that a document is clicked if it is looked at.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Grades.

        Returns
        -------
        ndarray of shape (n_documents,)
            Probabilities, noise included.

        Raises
        ------
        ValueError
            If a grade is missing, negative or above ``max_grade``.
        """
        attraction = self._by_grade(_CLICK, y)
        return self.noise + (1.0 - self.noise) * attraction

    def stop_probability(self, y: npt.ArrayLike) -> np.ndarray:
        """Return the probability that the user of a cascade stops after a click.

        Parameters
        ----------
        y : array-like of shape (n_documents,)
            Grades.

        Returns
        -------
        ndarray of shape (n_documents,)
            Probabilities.

        Raises
        ------
        ValueError
            If a grade is missing, negative or above ``max_grade``.
        """
        return self._by_grade(_STOP, y)

    def propensities(self, n_positions: PositiveInt) -> np.ndarray:
        r"""Return the probability of looking at each place, :math:`k^{-\eta}`.

        Parameters
        ----------
        n_positions : int
            Number of places.

        Returns
        -------
        ndarray of shape (n_positions,)
            Probabilities, beginning with 1 for the first place.

        Raises
        ------
        ValueError
            If ``n_positions`` is below 1, or ``examination="cascade"``, where the
            probability depends on the documents.
        """
        self._check_parameters()
        check_arguments(SimulatedUser.propensities, n_positions=n_positions)
        if self.examination != "position":
            raise ValueError(
                "SimulatedUser.propensities needs examination='position'; in a "
                "cascade, whether a place is looked at depends on the documents above"
            )
        return self._examined(np.arange(n_positions))

    def _examined(self, places):
        return (1.0 + places) ** -float(self.eta)

    def _by_grade(self, tables, y):
        """Return what a table has for grades, between its entries where need be."""
        self._check_parameters()
        grades = check_grades(y)
        best = self._best(grades)
        if grades.max() > best:
            row = int(np.argmax(grades))
            raise ValueError(
                f"y must hold grades up to max_grade={self.max_grade:g}, got "
                f"{grades[row]:g} in row {row}"
            )
        known = tables[self.behaviour]
        table = known.get(3, known[5]) if best == 2 else known[5]
        return np.interp(grades / best, np.linspace(0.0, 1.0, len(table)), table)

    def _best(self, grades) -> float:
        if self.max_grade is not None:
            return float(self.max_grade)
        largest = float(grades.max())
        return next((best for best in (2.0, 4.0) if largest <= best), largest)
