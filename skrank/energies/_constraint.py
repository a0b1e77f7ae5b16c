"""Sets that parameters must stay in."""

import numpy as np


class NonNegativeL1Ball:
    r"""Parameters with non-negative components whose sum is bounded.

    .. math:: \{\theta : \theta_l \ge 0 \text{ and } \textstyle\sum_l \theta_l \le t
              \text{ over the components } l \text{ of the mask}\}

    Parameters
    ----------
    mask : ndarray of shape (n_params,), dtype bool
        Which parameters are constrained; the others are free.
    radius : float or None
        The bound t; None leaves only the signs.
    """

    def __init__(self, mask, radius=None):
        self.mask = np.asarray(mask, dtype=bool)
        self.radius = radius

    def feasible(self, params) -> bool:
        """Whether parameters lie in the set."""
        inside = params[self.mask]
        if not np.all(inside >= 0.0):
            return False
        # The projection meets the bound up to rounding.
        return self.radius is None or inside.sum() <= self.radius * (1.0 + 1e-12)

    def project(self, params):
        """Return the nearest parameters of the set, O(p log p) for p constrained ones.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Any parameters; left unchanged.

        Returns
        -------
        ndarray of shape (n_params,)
        """
        projected = np.array(params, dtype=np.float64)
        inside = np.maximum(projected[self.mask], 0.0)
        if self.radius is not None and inside.sum() > self.radius:
            inside = _onto_simplex(inside, self.radius)
        projected[self.mask] = inside
        return projected


class LowerBounds:
    r"""Parameters none of which is below its bound.

    .. math:: \{\theta : \theta_l \ge c_l\}

    Solvers that keep bounds find them in ``lower_bounds``.

    Parameters
    ----------
    lower_bounds : ndarray of shape (n_params,)
        Bounds c; minus infinity for free parameters.
    """

    def __init__(self, lower_bounds):
        self.lower_bounds = np.asarray(lower_bounds, dtype=np.float64)

    def feasible(self, params) -> bool:
        """Whether parameters lie in the set."""
        return bool(np.all(params >= self.lower_bounds))

    def project(self, params):
        """Return the nearest parameters of the set.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Any parameters; left unchanged.

        Returns
        -------
        ndarray of shape (n_params,)
        """
        return np.maximum(params, self.lower_bounds)


def _onto_simplex(x, radius):
    """Nearest point with non-negative components that sum to ``radius``.

    It is ``max(x - shift, 0)`` with the shift that gives this sum; the components that
    stay positive are the largest ones ([Duchi2008]_, figure 1).
    """
    descending = np.sort(x)[::-1]
    excess = np.cumsum(descending) - radius
    count = np.arange(1, len(x) + 1)
    n_positive = int(np.flatnonzero(descending * count > excess)[-1]) + 1
    return np.maximum(x - excess[n_positive - 1] / n_positive, 0.0)
