"""Weights of preferences as parameters beside those of the scores."""

from dataclasses import field
from typing import Any, Self

import numpy as np

from skrank._core._parameters import Positive, PositiveInt, invalid_parameter
from skrank.energies._base import BaseEnergy, unfitted
from skrank.energies._constraint import NonNegativeL1Ball
from skrank.energies._linear import LinearEnergy
from skrank.energies._mlp import MLPEnergy


class PreferenceWeightsEnergy(BaseEnergy):
    r"""Scores times weights that are learned with them.

    .. math:: -E_k(q, d) = w_k f(x), \qquad w_k \ge 0, \quad k = 1, \ldots, K

    The raw scores of a document are K columns, one for each weight, as `CDNLoss` takes
    them; documents are ranked by f(x). The weights are the last K parameters. Their
    sum, together with the constrained parameters of f if it has any, may be bounded.

    Parameters
    ----------
    energy : BaseEnergy, default=None
        Energy of the scores f(x), without a bound of its own; None means
        `LinearEnergy`.
    n_weights : int, default=2
        Number K of weights; a single one makes scores of shape (n_documents,).
    l1_bound : float, default=None
        Largest sum t of all constrained parameters; None for no bound.

    Attributes
    ----------
    energy_ : BaseEnergy
        The energy of the scores after `setup`.

    References
    ----------
    [Huang2008]_, eq. 9–10.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import PreferenceWeightsEnergy
    >>> energy = PreferenceWeightsEnergy().setup(np.array([[1.0], [3.0]]))
    >>> energy.scores(np.array([2.0, 1.0, 0.5]), np.array([[1.0], [3.0]]))
    array([[2., 1.],
           [6., 3.]])
    """

    short_name = "preference_weights"
    constrained = True

    energy: BaseEnergy | None = field(default=None, kw_only=False)
    n_weights: PositiveInt = 2
    l1_bound: Positive | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"n_weights": 1, "l1_bound": 0.5}, {"energy": MLPEnergy((3,))}]

    @property
    def n_outputs(self):
        """Number of scores of a document: one for each weight."""
        return self.n_weights

    @property
    def _scores_energy(self) -> BaseEnergy:
        if hasattr(self, "energy_"):
            return self.energy_
        return LinearEnergy() if self.energy is None else self.energy

    @property
    def accepts_sparse(self):
        """Whether the energy of the scores accepts CSR matrices."""
        return self._scores_energy.accepts_sparse

    @property
    def needs_groups(self):
        """Whether the energy of the scores needs the queries."""
        return self._scores_energy.needs_groups

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Set up the energy of the scores; see `BaseEnergy.setup`."""
        super().setup(X, rng, y, ptr)
        if getattr(self.energy, "l1_bound", None) is not None:
            raise invalid_parameter(
                self,
                "energy",
                "an energy without l1_bound (pass l1_bound beside energy, where it "
                "bounds the parameters of the energy and the weights together)",
                self.energy,
            )
        self.energy_ = unfitted(LinearEnergy() if self.energy is None else self.energy)
        self.energy_.setup(X, rng, y, ptr)
        return self

    def transform(self, X):
        """Return rows as the energy of the scores takes them."""
        return self._scores_energy.transform(X)

    def n_params(self, n_features: int) -> int:
        """Return the number of parameters of the scores and the weights."""
        return self._scores_energy.n_params(n_features) + self.n_weights

    def init_params(self, n_features: int, rng):
        """Return initial parameters of the scores; weights drawn from [0, 1].

        Where the bound is exceeded, all constrained parameters shrink by one factor.
        """
        params = self._scores_energy.init_params(n_features, rng)
        params = np.append(params, rng.uniform(size=self.n_weights))
        return shrink_into(self.constraint(n_features), params)

    def scores(self, params, X, ptr=None):
        """Return weighted scores, (n_documents,) or (n_documents, n_weights)."""
        params, weights = self._split(params)
        return self._weighted(self._scores_energy.scores(params, X, ptr), weights)

    def document_scores(self, params, X, ptr=None):
        """Return the scores f(x), to which positive weights make no difference."""
        return self._scores_energy.document_scores(self._split(params)[0], X, ptr)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return weighted scores, and the pull-back to all parameters."""
        params, weights = self._split(params)
        raw, pull = self._scores_energy.scores_and_vjp(params, X, rng, ptr)

        def vjp(gradient):
            # Not by BLAS, whose rounding depends on its threads.
            columns = np.asarray(gradient).reshape(len(raw), -1)
            to_scores = (columns * weights).sum(axis=1)
            to_weights = (columns * raw[:, None]).sum(axis=0)
            return np.append(pull(to_scores), to_weights)

        return self._weighted(raw, weights), vjp

    def _split(self, params):
        return params[: -self.n_weights], params[-self.n_weights :]

    def _weighted(self, raw, weights):
        return raw * weights[0] if self.n_weights == 1 else raw[:, None] * weights

    def penalty_mask(self, n_features: int):
        """The weights are penalised: only their product with the scores matters."""
        mask = self._scores_energy.penalty_mask(n_features)
        return np.append(mask, np.ones(self.n_weights))

    def constraint(self, n_features: int):
        """Weights, and what the energy of the scores constrains, are not negative."""
        inner = self._scores_energy.constraint(n_features)
        n_inner = self._scores_energy.n_params(n_features)
        mask = np.ones(n_inner + self.n_weights, dtype=bool)
        mask[:n_inner] = False if inner is None else inner.mask
        return NonNegativeL1Ball(mask, self.l1_bound)


def shrink_into(constraint, params):
    """Scale the constrained parameters so that their sum meets the bound."""
    total = params[constraint.mask].sum()
    if constraint.radius is not None and total > constraint.radius:
        params[constraint.mask] *= constraint.radius / total
    return params
