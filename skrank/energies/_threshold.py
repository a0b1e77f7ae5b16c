"""Scores and ordered thresholds between grades."""

from dataclasses import field
from typing import Any, Self

import numpy as np

from skrank._core._grades import distinct_grades
from skrank._core._parameters import PositiveInt, invalid_parameter
from skrank.energies._base import BaseEnergy, unfitted
from skrank.energies._constraint import LowerBounds
from skrank.energies._linear import LinearEnergy

# As many rows for each feature tell well enough where the features are centred.
_ROWS_PER_FEATURE = 50
_MAX_CENTRED_FEATURES = 1000


class ThresholdEnergy(BaseEnergy):
    r"""Distances of a score from ordered thresholds between grades.

    .. math:: -E_k(q, d) = f(x) - b_k, \qquad b_1 \le b_2 \le \ldots \le b_{K-1}

    The last parameters are :math:`b_1` and the steps :math:`b_{k+1} - b_k \ge 0`. So
    the thresholds are in order wherever solvers keep these bounds, which all do that
    keep constraints, and `LBFGS` as well; scores stay linear in the parameters, so
    that convex losses stay convex, and two thresholds may coincide, which they could
    not if the parameters were logarithms of the steps. Documents are ranked by
    :math:`f(x)`. Thresholds are not shrunk by the penalty.

    Complexity: that of :math:`f`, and O(n K) for n documents.

    Parameters
    ----------
    energy : BaseEnergy, default=None
        Energy of the score f; None means `LinearEnergy`.
    n_thresholds : int, default=None
        Number of thresholds; None means one less than there are grades in the training
        rows.

    Attributes
    ----------
    energy_ : BaseEnergy
        Energy of the score after `setup`.
    n_thresholds_ : int
        Number of thresholds.

    References
    ----------
    [Liu2011]_, section 2.4; [Chu2005]_, eq. 4 for the order as a constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import ThresholdEnergy
    >>> X, y = np.array([[1.0], [2.0], [4.0]]), np.array([0.0, 1.0, 2.0])
    >>> energy = ThresholdEnergy().setup(X, None, y)
    >>> params = np.array([1.0, 1.5, 2.0])  # w, the first threshold and a step
    >>> energy.thresholds(params)
    array([1.5, 3.5])
    >>> energy.scores(params, X)
    array([[-0.5, -2.5],
           [ 0.5, -1.5],
           [ 2.5,  0.5]])
    """

    short_name = "threshold"
    ordered_outputs = True

    energy: BaseEnergy | None = field(default=None, kw_only=False)
    n_thresholds: PositiveInt | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        from skrank.energies._mlp import MLPEnergy

        return [{}, {"energy": MLPEnergy((3,)), "n_thresholds": 4}, {"n_thresholds": 1}]

    def _score(self) -> BaseEnergy:
        """Return the energy of the score, after `setup` the fitted one."""
        given = LinearEnergy() if self.energy is None else self.energy
        return getattr(self, "energy_", given)

    @property
    def accepts_sparse(self):
        """Whether ``X`` may be a CSR matrix."""
        return self._score().accepts_sparse

    @property
    def linear(self):
        """Whether scores are linear in the parameters."""
        return self._score().linear

    @property
    def needs_groups(self):
        """Whether scores of a document depend on the others of its query."""
        return self._score().needs_groups

    @property
    def n_outputs(self):
        """Number of scores of a document, one for each threshold."""
        return getattr(self, "n_thresholds_", 1)

    @property
    def constrained(self):
        """Whether there are several thresholds, and an order to keep."""
        return self.n_outputs > 1

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Set up the energy of the score and count the grades; see `BaseEnergy.setup`.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the energy of the score depends on the
            label or has a constraint of its own.
        TypeError
            If a parameter has a wrong type.
        """
        super().setup(X, rng, y, ptr)
        inner = LinearEnergy() if self.energy is None else unfitted(self.energy)
        self.energy_ = inner.setup(X, rng, y, ptr)
        if inner.labels_ is not None or inner.constrained or inner.n_outputs > 1:
            accepted = "an energy of one score without a label or a constraint"
            raise invalid_parameter(self, "energy", accepted, self.energy)
        count = self.n_thresholds
        if count is None:
            known = distinct_grades(y, "between which the energy has thresholds")
            count = max(1, len(known) - 1)
        self.n_thresholds_ = int(count)
        return self

    def transform(self, X):
        """Return rows as the energy of the score takes them."""
        return self._score().transform(X)

    def n_params(self, n_features: int) -> int:
        """Return the number of parameters: of the score, and one for each threshold."""
        return self._score().n_params(n_features) + self.n_outputs

    def init_params(self, n_features: int, rng):
        """Return the parameters of the score to start from, and zeros."""
        start = self._score().init_params(n_features, rng)
        return np.concatenate([start, np.zeros(self.n_outputs)])

    def penalty_mask(self, n_features: int):
        """Return the mask of the score, and zeros for the thresholds."""
        mask = self._score().penalty_mask(n_features)
        return np.concatenate([mask, np.zeros(self.n_outputs)])

    def constraint(self, n_features: int) -> LowerBounds | None:
        """Return the bounds of the steps between thresholds."""
        if not self.constrained:
            return None
        bounds = np.full(self.n_params(n_features), -np.inf)
        bounds[len(bounds) - self.n_outputs + 1 :] = 0.0
        return LowerBounds(bounds)

    def thresholds(self, params) -> np.ndarray:
        """Return the thresholds, ascending.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.

        Returns
        -------
        ndarray of shape (n_thresholds,)
        """
        return np.cumsum(params[len(params) - self.n_outputs :])

    def coefficients(self, params) -> tuple[np.ndarray, float]:
        """Return the coefficients of linear scores, and their constant.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.

        Returns
        -------
        coef : ndarray
            Coefficients.
        intercept : float
            Constant; 0 where the energy of the score has none.
        """
        return self._score().coefficients(params[: -self.n_outputs])

    def document_scores(self, params, X, ptr=None):
        """Return the scores f(x), shape (n_documents,)."""
        return self._score().document_scores(params[: -self.n_outputs], X, ptr)

    def scores(self, params, X, ptr=None):
        """Return the distances from the thresholds, one column for each of several."""
        return self._distances(params, self.document_scores(params, X, ptr))

    def _distances(self, params, score):
        distances = score[:, None] - self.thresholds(params)
        return distances if self.n_outputs > 1 else distances[:, 0]

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return the distances, and the function that pulls a gradient back."""
        inner = params[: -self.n_outputs]
        score, pull = self._score().scores_and_vjp(inner, X, rng, ptr)

        def vjp(gradient):
            gradient = gradient.reshape(len(score), -1)
            to_thresholds = -gradient.sum(axis=0)
            # A step moves all thresholds behind it.
            to_steps = np.cumsum(to_thresholds[::-1])[::-1]
            return np.concatenate([pull(gradient.sum(axis=1)), to_steps])

        return self._distances(params, score), vjp

    def coordinates(self, X, alpha: float = 0.0, ptr=None):
        """Return coordinates of linear scores, whitened around their mean.

        See `BaseEnergy.coordinates`.
        """
        score, d = self._score(), X.shape[1]
        if not score.linear:
            return None
        mean = None
        if score.n_params(d) == d <= _MAX_CENTRED_FEATURES:
            X = X[:: max(1, X.shape[0] // (_ROWS_PER_FEATURE * d))]
            ptr = np.array([0, X.shape[0]], dtype=np.intp)  # centred as one query is
            mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        frame = score.coordinates(X, alpha, ptr)
        return None if frame is None else _Centred(frame, mean, self.n_outputs)


class _Centred:
    """Coordinates of the score, and the first threshold's distance from its mean."""

    def __init__(self, frame, mean, n_outputs):
        self.frame, self.mean, self.n_outputs = frame, mean, n_outputs

    def _split(self, vector):
        return vector[: -self.n_outputs], vector[-self.n_outputs :].copy()

    def to_params(self, v):
        """Return the parameters of coordinates ``v``."""
        head, tail = self._split(v)
        head = self.frame.to_params(head)
        if self.mean is not None:
            tail[0] += (self.mean * head).sum()
        return np.concatenate([head, tail])

    def from_params(self, params):
        """Return the coordinates of parameters."""
        head, tail = self._split(params)
        if self.mean is not None:
            tail[0] -= (self.mean * head).sum()
        return np.concatenate([self.frame.from_params(head), tail])

    def pull(self, gradient):
        """Return the gradient in the coordinates, given that in the parameters."""
        head, tail = self._split(gradient)
        if self.mean is not None:
            head = head + tail[0] * self.mean
        return np.concatenate([self.frame.pull(head), tail])
