"""What lies around a point beside kinks, where a gradient alone is no guide."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

# How near "beside" is: steps that would lower the objective by this share of it, or of
# 1 as SciPy has it, if the slope stayed as it is. Sums of millions of terms are exact
# to far less.
_NEAR = 1e-10
# Within a part so much narrower, the slope changes as much at a kink, or nearly.
_NEARER, _JUMP = 64.0, 0.1
# Share of the decrease by the slope that a step must reach to count as one downhill.
_ENOUGH = 0.1
# Gradients that are looked at before giving up: this many pieces meet where kinks leave
# one parameter fewer free.
_MOST_GRADIENTS = 40
# Where the gradient behind a kink shortens the mean less than to this share, the
# function is not convex, or its digits are used up.
_SHORTER = 0.999
# Evaluations along a way that leads down: steps that become longer by this factor, and
# then the search of the lowest point between the last two.
_LONGER, _MOST_STEPS = 4.0, 20
_MOST_CUTS = 30
# The lowest point is found when it could be lower by this share of the objective.
_EXACT = 1e-13


class Surroundings(NamedTuple):
    """What was found around a point.

    Attributes
    ----------
    is_minimum : bool
        Whether a mean of gradients beside the point is as good as 0.
    has_kinks : bool
        Whether gradients beside the point differ as those of smooth functions do not.
    lower : tuple of (ndarray, float) or None
        A point with a lower value and this value, where there are kinks and a way past
        them was found.
    """

    is_minimum: bool
    has_kinks: bool
    lower: tuple[np.ndarray, float] | None


def look_around(
    evaluate: Callable,
    point: np.ndarray,
    bounds: np.ndarray,
    flat: float,
) -> Surroundings:
    r"""Look for a way down from a point beside kinks, or for proof that there is none.

    A function with kinks is lowest where 0 is a mean of the gradients of the pieces
    that meet, not where one of them is 0. The way down is against the shortest such
    mean: where a short step along it lowers nothing, it has crossed a kink, and the
    gradient behind it joins the mean.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(point)`` returns value and gradient.
    point : ndarray of shape (n_params,)
        Where to look around.
    bounds : ndarray of shape (n_params,)
        Lower bounds, or -inf.
    flat : float
        Largest component of a mean of gradients that is as good as 0.

    Returns
    -------
    Surroundings
        Complexity: one evaluation per gradient, and up to 50 where there is a way down.

    References
    ----------
    [Wolfe1975]_.
    """
    value, gradient = evaluate(point)
    gradients = [gradient]
    pinned = point <= bounds
    mean = _shortest_mean(gradients, pinned)
    while np.abs(mean).max() > flat:
        length = float(np.linalg.norm(mean))
        way = -mean / length
        reach = _NEAR * max(1.0, abs(value)) / length
        ahead = _Way(evaluate, point, bounds, way)
        near = ahead.after(reach)
        if np.any((near <= bounds) & ~pinned):  # as near to its bound as to a kink
            pinned |= near <= bounds
            mean = _shortest_mean(gradients, pinned)
            continue
        before = behind = ahead.at(reach)
        is_lower = before.value < value - _ENOUGH * reach * length
        if is_lower:
            before, behind = ahead.turn(before)
        # A smooth function, too, has a way down along its gradient, or turns round
        # within this reach, but without a kink.
        here = _Place(0.0, value, -length, mean)
        if len(gradients) == 1 and not ahead.has_kink(here, behind):
            return Surroundings(False, False, None)
        if is_lower:
            return Surroundings(False, True, ahead.lowest(before, behind))
        gradients.append(behind.gradient)
        mean = _shortest_mean(gradients, pinned)
        stuck = np.linalg.norm(mean) > _SHORTER * length
        if stuck or len(gradients) > _MOST_GRADIENTS:
            return Surroundings(False, True, None)
    return Surroundings(True, len(gradients) > 1, None)


class _Place(NamedTuple):
    """A place along a way."""

    step: float
    value: float
    slope: float
    gradient: np.ndarray


class _Way:
    """A way down from a point, along which the objective has kinks.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(point)`` returns value and gradient.
    point : ndarray of shape (n_params,)
        Where it begins.
    bounds : ndarray of shape (n_params,)
        Lower bounds, along which it goes on.
    direction : ndarray of shape (n_params,)
        Where it leads.
    """

    def __init__(self, evaluate, point, bounds, direction):
        self.evaluate, self.bounds = evaluate, bounds
        self.point, self.direction = point, direction

    def after(self, step) -> np.ndarray:
        """Return the point after a step."""
        return np.maximum(self.point + step * self.direction, self.bounds)

    def at(self, step) -> _Place:
        """Evaluate the objective after a step."""
        at = self.after(step)
        value, gradient = self.evaluate(at)
        moving = (at > self.bounds) | (self.direction > 0.0)
        slope = float(gradient @ (self.direction * moving))
        return _Place(step, value, slope, gradient)

    def turn(self, before) -> tuple[_Place, _Place]:
        """Return two places, from one on that is lower: before and behind a turn.

        Where the way leads down as far as it is followed, or up from this place on,
        they are the same place.
        """
        for _ in range(_MOST_STEPS):
            if before.slope >= 0.0:
                break
            behind = self.at(_LONGER * before.step)
            if behind.slope > 0.0 or not behind.value < before.value:
                return before, behind
            before = behind
        return before, before

    def has_kink(self, before, behind) -> bool:
        """Whether the slope jumps between two places instead of turning gradually."""
        turned, width = behind.slope - before.slope, behind.step - before.step
        half = before.slope + 0.5 * turned
        while behind.step - before.step > width / _NEARER:
            middle = self.at(0.5 * (before.step + behind.step))
            if middle.slope < half:
                before = middle
            else:
                behind = middle
        return turned > 0.0 and behind.slope - before.slope >= _JUMP * turned

    def lowest(self, before, behind):
        """Return the lowest point between two places, and its value."""
        if before.slope < 0.0 < behind.slope:
            before = self._between(before, behind)
        return self.after(before.step), before.value

    def _between(self, before, behind):
        """Return the lowest place between two, of which one leads down and one up."""
        for turn in range(_MOST_CUTS):
            best = min(before, behind, key=lambda place: place.value)
            # Beside a single kink, this is where the two tangents meet.
            rise = behind.slope - before.slope
            step = behind.slope * behind.step - before.slope * before.step
            step = (step - (behind.value - before.value)) / rise
            least = before.value + before.slope * (step - before.step)
            if best.value - least <= _EXACT * abs(best.value):
                break
            if turn % 3 == 2:  # lest only one of the two come closer
                step = 0.5 * (before.step + behind.step)
            place = self.at(step)
            if place.slope < 0.0:
                before = place
            else:
                behind = place
        return min(before, behind, key=lambda place: place.value)


def projected(gradient: np.ndarray, pinned: np.ndarray) -> np.ndarray:
    """Return a gradient without what would lead out of lower bounds.

    Parameters
    ----------
    gradient : ndarray of shape (n_params,)
        Gradient.
    pinned : ndarray of shape (n_params,), dtype bool
        Whether a parameter is at its lower bound.

    Returns
    -------
    ndarray of shape (n_params,)
    """
    return np.where(pinned, np.minimum(gradient, 0.0), gradient)


def _shortest_mean(gradients, pinned):
    r"""Return the shortest projection of a weighted mean of gradients.

    The minimum of :math:`\lVert P(G^T w) \rVert^2 + (1 - \sum_i w_i)^2` over weights
    that are not negative is a multiple of it, and needs no constraint on the sum.
    """
    if len(gradients) == 1:
        return projected(gradients[0], pinned)
    rows = np.array(gradients)
    scale = np.abs(rows).max()
    rows /= scale

    def evaluate(weights):
        mean = projected(weights @ rows, pinned)
        rest = 1.0 - weights.sum()
        return 0.5 * (mean @ mean + rest * rest), rows @ mean - rest

    start = np.full(len(rows), 1.0 / len(rows))
    found = minimize(
        evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(rows),
        options={"ftol": 0.0, "gtol": 1e-12, "maxcor": 2 * len(rows)},
    )
    weights = found.x / found.x.sum()
    return scale * projected(weights @ rows, pinned)
