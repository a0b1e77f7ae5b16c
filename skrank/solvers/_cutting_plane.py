"""Cutting planes: convex objectives with kinks, minimised up to a known gap."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

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
# Relative accuracy of the model's minimum.
_ROUNDING = 1e-12
_EPS = float(np.finfo(np.float64).eps)
# Planes whose height at 0 is less exact than this share of the objective are not used;
# the search goes this share of the way instead, again and again.
_INEXACT, _BACK = 1e-5, 0.1
# The model may be inexact by this share of the objective.
_LIMIT = 0.1


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

    Needs a penalty of every parameter, and raises an error where alpha is so small that
    rounding errors, about 1e-16 / alpha times the squared length of a subgradient, come
    near the objective. Its minimum is one only where the objective is
    convex, as with linear scores and the losses that say so. Complexity: up to four
    evaluations of the objective and O(t³) per iteration for the t planes that hold the
    model up, of which there are about as many as parameters at most.

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
        run.evaluate(np.zeros_like(run.best), touch=True)
        history: list[float] = []
        gap, converged = np.inf, False
        while not converged and len(history) < self.max_iter:
            run.check_rounding()
            lowest = run.model.minimise()
            gap = run.value - run.model.bound
            run.check_convex(gap)
            if gap <= run.share(self.tol):
                converged = True
                break
            run.search(lowest)
            history.append(run.value)
            if monitor is not None and monitor(run.best, len(history), run.value):
                converged = True
        if not converged:
            warnings.warn(
                f"CuttingPlane stopped after max_iter={self.max_iter} iterations with "
                f"the objective {run.value:.6g} up to {gap:.2g} above its minimum, "
                f"more than tol={self.tol:g} of it; raise max_iter or alpha, or scale "
                "the features",
                ConvergenceWarning,
                stacklevel=2,
            )
        gap = max(float(run.value - run.model.bound), 0.0)
        return SolverResult(run.best, len(history), run.value, converged, history, gap)


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
        self.value = np.inf
        self.best = np.array(params, dtype=np.float64)
        self.evaluate(self.best, touch=True)

    def evaluate(self, params, touch=False):
        """Return the gradient; ``touch`` adds the plane that touches the loss there."""
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
                self.model.add(value - 0.5 * shrunk @ params - rise, slope)
        return gradient

    def share(self, part):
        """Return a part of the objective, or the rounding of the model where it is 0.

        No gap is a part of 0: losses without a margin are 0 where all scores are equal,
        with slopes that are not.
        """
        return part * abs(self.value) if self.value else self._rounding()

    def check_rounding(self):
        """Raise an error where the model is less exact than the objective is large.

        Its minimum balances squared lengths of slopes, divided by alpha.
        """
        # Without any plane, none was exact enough.
        rounding = self._rounding() if len(self.model.weights) else np.inf
        if rounding == np.inf or rounding > self.share(_LIMIT):
            raise self._too_small()

    def check_convex(self, gap):
        """Raise an error where the objective is below what bounds a convex one."""
        if gap >= -self.share(1e-3):
            return
        if self._rounding() > self.share(1e-4):
            raise self._too_small()
        name = getattr(self.objective, "loss_name", "the objective")
        raise ValueError(
            f"solver: CuttingPlane found {name} below its own lower bound. Either the "
            "objective is not convex, and needs another solver, or features differ too "
            "much in size for double precision, and X must be scaled"
        )

    def _rounding(self):
        lengths = np.sqrt(self.model.gram.diagonal())
        if not np.isfinite(lengths).all():
            return np.inf
        return _EPS * float(self.model.weights @ lengths) ** 2

    def _too_small(self):
        alpha = getattr(self.objective, "alpha", self.penalty.min())
        name = getattr(self.objective, "loss_name", "the objective")
        return ValueError(
            f"solver: CuttingPlane cannot minimise {name} with alpha={alpha:g}, "
            f"because rounding errors of its model, about {self._rounding():.2g}, are "
            f"too large for the objective, {self.value:.2g}; alpha must be raised, "
            "or X must be scaled, unless another solver is used"
        )

    def search(self, lowest):
        """Go towards the minimum of the model, and add planes on the way."""
        start = self.best
        way = lowest - start
        gradient = self.evaluate(lowest, touch=True)
        while self.inexact and way.any():
            way = _BACK * way
            lowest = start + way
            gradient = self.evaluate(lowest, touch=True)
        if gradient @ way <= 0:
            return
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if self.evaluate(start + middle * way) @ way > 0:
                high = middle
            else:
                low = middle
        self.evaluate((1.0 - _SHARE) * self.best + _SHARE * lowest, touch=True)


class _Model:
    r"""The highest of some planes plus the penalty, minimised by its dual.

    .. math:: \max_{a \ge 0,\ \sum a = 1} \; c^T a
              - \tfrac{1}{2} \lVert S^T a \rVert^2

    with the constants c of the planes, and their slopes, divided by the roots of the
    penalty, in the rows of S.
    """

    def __init__(self, root):
        self.root = root
        self.slopes = np.empty((0, len(root)))
        self.constants = np.empty(0)
        self.gram = np.empty((0, 0))
        self.weights = np.empty(0)
        self.idle = np.empty(0, dtype=np.intp)
        self.bound = -np.inf  # below the minimum of the objective

    def add(self, constant, slope):
        """Add a plane."""
        slope = slope / self.root
        products = self.slopes @ slope
        self.slopes = np.vstack([self.slopes, slope])
        self.constants = np.append(self.constants, constant)
        corner = np.array([[slope @ slope]])
        self.gram = np.block(
            [[self.gram, products[:, None]], [products[None, :], corner]]
        )
        self.weights = np.append(self.weights, 0.0 if len(self.weights) else 1.0)
        self.idle = np.append(self.idle, 0)

    def minimise(self):
        """Return where the model is lowest, and raise the bound to its minimum."""
        self.weights = simplex_maximum(self.gram, self.constants, self.weights)
        direction = self.weights @ self.slopes
        height = self.constants @ self.weights - 0.5 * direction @ direction
        self.bound = max(self.bound, height)
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        if (self.idle > _IDLE).any():
            self._keep(self.idle <= _IDLE)
        return -direction / self.root

    def _keep(self, kept):
        self.slopes, self.constants = self.slopes[kept], self.constants[kept]
        self.gram = self.gram[np.ix_(kept, kept)]
        self.weights, self.idle = self.weights[kept], self.idle[kept]


def simplex_maximum(
    gram: np.ndarray, linear: np.ndarray, start: np.ndarray
) -> np.ndarray:
    r"""Maximise a concave quadratic function over the simplex by active sets.

    .. math:: \max_{a \ge 0,\ \sum a = 1} \; c^T a - \tfrac{1}{2} a^T G a

    Numbers that are not 0 are solved for as if only their sum were fixed. Where one of
    them would fall below 0, it stays there; where another one would raise the function,
    it joins them.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Positive semidefinite matrix G.
    linear : ndarray of shape (n,)
        Vector c.
    start : ndarray of shape (n,)
        Numbers of at least 0 whose sum is 1.

    Returns
    -------
    ndarray of shape (n,)
        The numbers a. Complexity: O(p³) per change for p numbers above 0.
    """
    weights, held = start, start > 0
    # In units in which no entry of the matrix is above 1, whose rounding errors are
    # known, and which the row of ones for the sum can stand beside.
    unit = max(1.0, gram.diagonal().max())
    lengths = np.sqrt(gram.diagonal() / unit)
    gram, linear = gram / unit, linear / unit
    for _ in range(100 + 10 * len(start)):
        chosen = np.flatnonzero(held)
        # Planes may repeat, which makes the matrix singular but for the ridge.
        square = gram[np.ix_(chosen, chosen)] + _ROUNDING * np.eye(len(chosen))
        found, level = _with_fixed_sum(square, linear[chosen])
        now = weights[chosen]
        falling = found < 0
        if falling.any():
            steps = np.full(len(chosen), np.inf)
            steps[falling] = now[falling] / (now[falling] - found[falling])
            first = int(np.argmin(steps))
            now = np.maximum(now + steps[first] * (found - now), 0.0)
            now[first] = 0.0
            weights = np.zeros_like(weights)
            weights[chosen] = now / now.sum()
            held[chosen[first]] = False
            continue
        weights = np.zeros_like(weights)
        weights[chosen] = found / found.sum()
        gain = linear - gram @ weights - level
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        rounding = 8.0 * _EPS * lengths[best] * (weights @ lengths)
        if gain[best] <= _ROUNDING * max(1.0 / unit, abs(level)) + rounding:
            break
        held[best] = True
    return weights


def _with_fixed_sum(gram, linear):
    """Return the best numbers of any sign with the sum 1, and the multiplier."""
    n = len(linear)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = gram
    system[n, n] = 0.0
    found = np.linalg.solve(system, np.append(linear, 1.0))
    return found[:n], found[n]
