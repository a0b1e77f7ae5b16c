"""Cutting planes: convex objectives with kinks, minimised up to a known gap."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dormqr, dpotrf, dtrtrs
from sklearn.exceptions import ConvergenceWarning

from skrank._core._finite import quiet
from skrank._core._parameters import NonNegative, PositiveInt
from skrank.solvers._base import (
    BaseSolver,
    SolverResult,
    announce_start,
    finite_value_gradient,
)

# Where a step is too long, it is halved this often; the next plane touches the loss at
# this share of the way from the best parameters to the minimum of the model.
_HALVINGS, _SHARE = 2, 0.1
# Planes that have not held the model up for this many iterations are dropped.
_IDLE = 100
# Relative accuracy of the minimum of the model.
_ROUNDING = 1e-12
_EPS = float(np.finfo(np.float64).eps)
# Normal equations are used where this share of each square is left.
_DIGITS = 1e-6
# Columns that LAPACK handles at once.
_BLOCK = 32
# Planes whose height at 0 is less exact than this share of the objective are not used;
# the search goes this share of the way instead, again and again.
_INEXACT, _BACK = 1e-5, 0.1
# Gaps of this many rounding errors of the model do not fall further, and must not be
# above this share of the objective where all parameters are 0.
_NOISE, _LIMIT = 2.0, 0.1
# Iterations without any change after which there will be none.
_STILL = 10


class CuttingPlane(BaseSolver):
    r"""Cutting planes, for convex objectives that may have kinks.

    .. math:: J(w) = \tfrac{\alpha}{2} \lVert w \rVert^2 + R(w), \qquad
              w_{t+1} = \arg\min_w \tfrac{\alpha}{2} \lVert w \rVert^2
              + \max_{i \le t} \bigl(R(w_i) + R'(w_i)^T (w - w_i)\bigr)

    Every subgradient is a plane below the loss. The highest of the planes, plus the
    penalty, is a model below the objective; its minimum bounds that of the objective
    from below, so that the solver knows how far it is from the end, kinks or not. New
    planes are put near the best parameters so far, which makes far fewer of them do
    (the exact line search of the source is cut short to two halvings).

    Needs a penalty of every parameter. Where rounding hides what is left of the gap, it
    stops with a warning, or with an error if that is much. Rounding errors are about
    1e-16 times the length of a subgradient, divided by the root of alpha, times the
    root of the objective: large features and a small alpha make them large. Its minimum
    is one only where the objective is convex, as with linear scores and the losses that
    say so. Complexity: up to four evaluations of the objective and O(d t²) for every
    plane that joins or leaves the t planes that hold the model up; of these there are
    at most one more than the d parameters.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-4
        Stop when the objective is above its lower bound by at most this share of
        itself.

    References
    ----------
    [Joachims2006]_; [Teo2010]_; [Franc2008]_ for the planes near the best parameters.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> from skrank.solvers import CuttingPlane
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankSVM(hinge="linear", solver=CuttingPlane(tol=1e-3))
    >>> ranker.fit(X, y, groups).converged_
    True
    """

    short_name = "cutting_plane"
    requires = ("value_gradient", "penalty")

    max_iter: PositiveInt = 1000
    tol: NonNegative = 1e-4

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{"tol": 1e-10}]

    def check(self, objective) -> None:
        """Check the parameters and the objective; see `BaseSolver.check`."""
        super().check(objective)
        loss = getattr(objective, "loss", None)
        if not getattr(loss, "convex", True):
            raise TypeError(
                f"CuttingPlane needs a convex loss, and {type(loss).__name__} is not "
                "one; use LBFGS"
            )

    def solve(self, objective, params, rng, monitor=None) -> SolverResult:
        """Minimise an objective; see `BaseSolver.solve`."""
        self.check(objective)
        run = _Run(objective, params)
        announce_start(monitor, np.array(params), run.value)
        # No other place is lower as soon as the penalty outweighs the loss.
        run.at_zero, _ = run.evaluate(np.zeros_like(run.best), touch=True)
        history: list[float] = []
        converged, why = False, f"after max_iter={self.max_iter} iterations with"
        while len(history) < self.max_iter:
            lowest = run.minimised()
            if run.gap <= run.share(self.tol):
                converged = True
                break
            if run.is_stuck():
                why = f"after {len(history)} iterations, because rounding leaves"
                break
            run.search(lowest)
            history.append(run.value)
            if monitor is not None and monitor(run.best, len(history), run.value):
                converged = True
                break
        if not converged:
            remedy = (
                "raise max_iter or alpha"
                if len(history) == self.max_iter
                else "raise alpha"
            )
            warnings.warn(
                f"CuttingPlane stopped {why} "
                f"the objective {run.value:.6g} up to {run.gap:.2g} above its minimum, "
                f"more than tol={self.tol:g} of it; {remedy}, or scale the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return SolverResult(
            run.best, len(history), run.value, converged, history, max(run.gap, 0.0)
        )


class _Run:
    """A minimisation: the best parameters so far, and the model of the objective."""

    def __init__(self, objective, params):
        self.objective = objective
        self.penalty = np.asarray(objective.penalty, dtype=np.float64)
        if not (self.penalty > 0).all():
            raise ValueError(
                "solver: CuttingPlane needs a penalty of every parameter; set alpha "
                "above 0, and leave intercepts out"
            )
        self.model = _Model(np.sqrt(self.penalty))
        self.inexact = False  # whether the latest plane was
        self.at_zero = np.inf  # objective where all parameters are 0
        self.state, self.still = None, 0  # for so many iterations
        self.value = np.inf
        self.best = np.array(params, dtype=np.float64)
        self.evaluate(self.best, touch=True)

    def evaluate(self, params, touch=False):
        """Return the objective and its gradient.

        ``touch`` adds the plane that touches the loss there.
        """
        value, gradient = finite_value_gradient(self.objective, params)
        if value < self.value:
            self.value, self.best = value, params
        if touch:
            shrunk = self.penalty * params
            slope = gradient - shrunk
            rise = slope @ params
            error = _EPS * max(abs(value), abs(rise))
            self.inexact = error > _INEXACT * abs(self.value)
            if not self.inexact:
                self.model.add(value - 0.5 * shrunk @ params - rise, slope, error)
        return value, gradient

    def share(self, part):
        """Return a part of the objective, or the rounding of the model where it is 0.

        No gap is a part of 0: losses without a margin are 0 where all scores are equal,
        with slopes that are not.
        """
        return part * abs(self.value) if self.value else _NOISE * self.model.rounding

    @property
    def gap(self):
        """How far the objective is above its minimum at most."""
        return float(self.value - self.model.bound)

    def minimised(self):
        """Return where the model is lowest."""
        # Without any plane, none was exact enough; lengths of others may overflow.
        if not (len(self.model.slopes) and np.isfinite(self.model.size())):
            raise self._too_small()
        lowest = self.model.minimise()
        self._check_convex()
        return lowest

    def is_stuck(self):
        """Whether rounding hides what is left; raise an error where that is much."""
        # Without rounding, every plane that is added raises the bound.
        state = (self.value, self.model.bound)
        self.still = self.still + 1 if state == self.state else 0
        self.state = state
        seen = self.gap > _NOISE * self.model.rounding
        if seen and not self.inexact and self.still < _STILL:
            return False
        if self.gap > _LIMIT * abs(self.at_zero):
            raise self._too_small()
        return True

    def _check_convex(self):
        """Raise an error where the objective is below what bounds a convex one."""
        if self.gap >= -self.share(1e-3):
            return
        if self.model.rounding > self.share(1e-4):
            raise self._too_small()
        name = getattr(self.objective, "loss_name", "the objective")
        raise ValueError(
            f"solver: CuttingPlane found {name} below its own lower bound. Either the "
            "objective is not convex, and needs another solver, or features differ too "
            "much in size for double precision, and X must be scaled"
        )

    def _too_small(self):
        alpha = getattr(self.objective, "alpha", self.penalty.min())
        name = getattr(self.objective, "loss_name", "the objective")
        rounding = f"about {self.model.rounding:.2g}"
        return ValueError(
            f"solver: CuttingPlane cannot minimise {name} with alpha={alpha:g}, "
            f"because rounding errors of its model, {rounding}, are "
            f"too large for the objective, {self.value:.2g}; alpha must be raised, "
            "or X must be scaled, unless another solver is used"
        )

    def search(self, lowest):
        """Go towards the minimum of the model, and add planes on the way."""
        start = self.best
        way = lowest - start
        _, gradient = self.evaluate(lowest, touch=True)
        while self.inexact and (lowest != start).any():
            way = _BACK * way
            lowest = start + way
            _, gradient = self.evaluate(lowest, touch=True)
        if gradient @ way <= 0:
            return
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if self.evaluate(start + middle * way)[1] @ way > 0:
                high = middle
            else:
                low = middle
        self.evaluate((1.0 - _SHARE) * self.best + _SHARE * lowest, touch=True)


class _Model:
    r"""The highest of some planes plus the penalty, minimised by its dual.

    .. math:: \min_w \; \max_i (c_i + s_i^T w) + \tfrac{1}{2} \lVert w \rVert^2
              = \max_{a \ge 0,\ \sum a = 1} \; c^T a
              - \tfrac{1}{2} \lVert S^T a \rVert^2

    with the constants c of the planes, and their slopes, divided by the roots of the
    penalty, in the rows of S; w is multiplied by these roots.
    """

    def __init__(self, root):
        self.root = root
        self.slopes = np.empty((0, len(root)))
        self.constants = np.empty(0)
        self.errors = np.empty(0)  # of the constants
        self.weights = np.empty(0)
        self.idle = np.empty(0, dtype=np.intp)
        self.bound = -np.inf  # below the minimum of the objective
        self.rounding = np.inf  # of the bound

    def add(self, constant, slope, error):
        """Add a plane whose constant is known up to an error."""
        with quiet():
            self.slopes = np.vstack([self.slopes, slope / self.root])
        self.constants = np.append(self.constants, constant)
        self.errors = np.append(self.errors, error)
        self.weights = np.append(self.weights, 0.0 if len(self.weights) else 1.0)
        self.idle = np.append(self.idle, 0)

    def size(self):
        """Return the root of the sum of squares of all slopes."""
        with quiet():
            return np.linalg.norm(self.slopes)

    def minimise(self):
        """Return where the model is lowest, and raise the bound to its minimum."""
        found = simplex_maximum(self.slopes, self.constants, self.weights)
        self.weights = found.weights
        error = _EPS * (found.weights @ np.linalg.norm(self.slopes, axis=1))
        self.rounding = float(
            found.weights @ self.errors + error * (np.linalg.norm(found.place) + error)
        )
        self.bound = max(self.bound, found.value - self.rounding)
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        if (self.idle > _IDLE).any():
            self._keep(self.idle <= _IDLE)
        return found.place / self.root

    def _keep(self, kept):
        self.slopes, self.constants = self.slopes[kept], self.constants[kept]
        self.errors, self.idle = self.errors[kept], self.idle[kept]
        self.weights = self.weights[kept]


class _Lowest(NamedTuple):
    """The weights of planes, the place where these are balanced, and the dual."""

    weights: np.ndarray
    place: np.ndarray
    value: float


def simplex_maximum(
    slopes: np.ndarray, constants: np.ndarray, start: np.ndarray
) -> _Lowest:
    r"""Maximise the dual of the highest of some planes by active sets.

    .. math:: \max_{a \ge 0,\ \sum a = 1} \; c^T a
              - \tfrac{1}{2} \lVert S^T a \rVert^2

    Numbers that are not 0 are solved for as if only their sum were fixed. Where one of
    them would fall below 0, it stays there; where another one would raise the function,
    it joins them, until rounding hides what that brings.

    Parameters
    ----------
    slopes : ndarray of shape (n, d)
        Matrix S.
    constants : ndarray of shape (n,)
        Vector c.
    start : ndarray of shape (n,)
        Numbers of at least 0 whose sum is 1.

    Returns
    -------
    _Lowest
        The numbers a, the place :math:`w = -S^T a`, and the maximum. Complexity:
        O(d p²) per change for p numbers above 0.
    """
    weights, held = start, start > 0
    lengths = np.linalg.norm(slopes, axis=1)
    best = None
    for _ in range(100 + 10 * len(start)):
        chosen = np.flatnonzero(held)
        found, place = _balanced(slopes[chosen], constants[chosen], lengths[chosen])
        now = weights[chosen]
        weights = np.zeros_like(weights)
        if place is None:
            falling = found < 0
            steps = np.full(len(chosen), np.inf)
            steps[falling] = now[falling] / (now[falling] - found[falling])
            first = int(np.argmin(steps))
            now = np.maximum(now + steps[first] * (found - now), 0.0)
            now[first] = 0.0
            weights[chosen] = now / now.sum()
            held[chosen[first]] = False
            continue
        weights[chosen] = found / found.sum()
        heights = constants + slopes @ place
        value = _dual(slopes, weights, place, heights)
        if best is not None and value <= best.value:
            break
        best = _Lowest(weights, place, value)
        highest = int(np.argmax(heights))
        if held[highest] or heights[highest] - weights @ heights <= _ROUNDING * abs(
            value
        ):
            break
        held[highest] = True
    assert best is not None  # a single plane is balanced
    return best


def _dual(slopes, weights, place, heights):
    r"""Return the dual at weights that balance the planes at about this place.

    Their mean plus the penalty is at any place above its minimum by half the squared
    distance from there. So the heights and the distance, which is near 0, are enough;
    the squared length of the mean slope has no digits where slopes are large.
    """
    away = place + weights @ slopes
    return float(weights @ heights + 0.5 * (place @ place) - 0.5 * (away @ away))


def _balanced(slopes, constants, lengths):
    """Return the best numbers of any sign with the sum 1, and the place that they give.

    All planes are equally high there, which a second step sees to as far as digits go.
    The place is None where a number is below 0.
    """
    if len(slopes) == 1:
        return np.ones(1), -slopes[0]
    shortest = int(np.argmin(lengths))
    others = np.arange(len(lengths)) != shortest
    anchor, apart = slopes[shortest], slopes[others] - slopes[shortest]
    rise = constants[others] - constants[shortest]
    factors = _Products.of(apart)
    if factors is None:
        # Planes may depend on others, which only the ridge tells apart.
        sizes = lengths[others] + lengths[shortest]
        ridge = np.diag(_EPS * np.where(sizes > 0, sizes, 1.0))
        factors = _Reflections(np.vstack([apart.T, ridge]))
    along = factors.along(anchor) - factors.solve_transposed(rise)
    found = np.empty(len(lengths))
    found[others] = factors.solve(-along)
    found[shortest] = 1.0 - found[others].sum()
    if (found < 0).any():
        return found, None
    place = factors.combined(along)[: len(anchor)] - anchor
    step = factors.solve_transposed(rise + apart @ place)
    return found, place - factors.combined(step)[: len(anchor)]


class _Factors:
    """The factors Q R of a tall matrix, R being triangular; Q is not formed."""

    triangle: np.ndarray

    def solve(self, right):
        """Return the product of the inverse of R and a vector."""
        return dtrtrs(self.triangle, right)[0]

    def solve_transposed(self, right):
        """Return the product of the inverse of the transpose of R and a vector."""
        return dtrtrs(self.triangle, right, trans=1)[0]


class _Products(_Factors):
    """Factors by the products of the columns, which squares the condition number."""

    def __init__(self, rows, triangle):
        self.rows, self.triangle = rows, triangle

    @classmethod
    def of(cls, rows):
        """Return the factors, or None where too few digits would be left."""
        if len(rows) > rows.shape[1]:
            return None
        gram = rows @ rows.T
        triangle, failed = dpotrf(gram)
        left = triangle.diagonal() ** 2 >= _DIGITS * gram.diagonal()
        return None if failed or not left.all() else cls(rows, triangle)

    def along(self, vector):
        """Return the product of the transpose of Q and a vector."""
        return self.solve_transposed(self.rows @ vector)

    def combined(self, vector):
        """Return the product of Q and a vector."""
        return self.solve(vector) @ self.rows


class _Reflections(_Factors):
    """Factors by reflections, which are exact up to the size of each column."""

    def __init__(self, matrix):
        self.shape = matrix.shape
        n = matrix.shape[1]
        self.packed, self.scales, _, _ = dgeqrf(matrix, lwork=_BLOCK * n)
        self.triangle = self.packed[:n]

    def along(self, vector):
        """Return the product of the transpose of Q and a vector, filled up by 0."""
        return self._times(vector, "T")[: self.shape[1]]

    def combined(self, vector):
        """Return the product of Q and a vector."""
        return self._times(vector, "N")

    def _times(self, vector, trans):
        column = np.zeros((self.shape[0], 1))
        column[: len(vector), 0] = vector
        return dormqr("L", trans, self.packed, self.scales, column, _BLOCK)[0][:, 0]
