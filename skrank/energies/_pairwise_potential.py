"""The energy of BoltzRank: individual potentials and potentials of pairs."""

from dataclasses import field
from typing import Any, Self

import numpy as np

from skrank._core import _energies
from skrank._core._parameters import NThreads, UnitPairs, invalid_parameter
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_ptr
from skrank.energies._base import BaseEnergy, unfitted
from skrank.energies._constraint import NonNegativeL1Ball
from skrank.energies._kernel import KernelEnergy
from skrank.energies._linear import LinearEnergy
from skrank.energies._mlp import MLPEnergy, filled_params


class PairwisePotentialEnergy(BaseEnergy):
    r"""Scores of a document by itself and in comparison with the others of its query.

    .. math:: -E(q, d_j) = \phi(d_j) + \frac{1}{c_q} \sum_{k \ne j} \varphi(d_j, d_k),
              \quad \varphi(d_j, d_k) = a\Bigl(b' + \sum_{h} w_h\,
              a(A_h^T x_j + b_h^A + B_h^T x_k + b_h^B)\Bigr)

    with :math:`a(z) = 1.7159 \tanh(2 z / 3)`: the pairwise potential :math:`\varphi` is
    a network of one hidden layer on the features of both documents, one after the
    other. Its hidden units have two biases, one for each place of a pair, of which only
    the sum matters; the paper has one. With ``average=True`` :math:`c_q` is the number
    of other documents, so that scores of short and of long queries are alike; with
    ``average=False`` it is 1, as in the paper.

    The first layer is computed once per document. Complexity: O(m² h) for a query of m
    documents and h hidden units, O(m h) memory; pairs are never stored.

    Parameters
    ----------
    individual : BaseEnergy, default=None
        The individual potential :math:`\phi`; None means an `MLPEnergy` of three hidden
        units with scaled tanh throughout.
    n_hidden : int, default=5
        Hidden units of the pairwise potential.
    average : bool, default=True
        Whether to take the mean over the other documents instead of the sum of the
        paper, which grows with the length of the query.
    standardize : bool, default=True
        Whether to bring training features to mean 0 and variance 1 for the pairwise
        potential.
    n_jobs : int, default=None
        Number of threads over queries; None means all CPUs. Results do not depend on
        it.

    Attributes
    ----------
    individual_ : BaseEnergy
        The individual potential, set up on training rows.
    units_ : MLPEnergy
        First layer of the pairwise potential: what each hidden unit gets from a
        document in the first and in the second place of a pair.

    References
    ----------
    [Volkovs2009]_, section 3.3, eq. 9, and section 4.2; [LeCun1998]_, section 4.4, for
    the scaled tanh.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import PairwisePotentialEnergy
    >>> X, ptr = np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 3])
    >>> energy = PairwisePotentialEnergy(n_hidden=2).setup(X)
    >>> params = np.linspace(-1.0, 1.0, energy.n_params(1))
    >>> alone = energy.individual_.scores(params[: energy.individual_.n_params(1)], X)
    >>> (energy.scores(params, X, ptr) == alone).tolist()  # the last has no others
    [False, False, True]
    """

    short_name = "pairwise_potential"
    needs_groups = True

    individual: BaseEnergy | None = field(default=None, kw_only=False)
    n_hidden: UnitPairs = field(default=5, kw_only=False)
    average: bool = True
    standardize: bool = True
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        kernel = KernelEnergy(n_components=9)
        return [
            {},
            {"average": False, "n_hidden": 2},
            {"individual": LinearEnergy(), "standardize": False},
            {"individual": kernel, "n_hidden": 1},
        ]

    @property
    def constrained(self):
        """Whether the individual potential has constrained parameters."""
        return self.individual is not None and self.individual.constrained

    @property
    def accepts_sparse(self):
        """Whether the individual potential accepts CSR matrices."""
        return self.individual is None or self.individual.accepts_sparse

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Set up both potentials on training rows; see `BaseEnergy.setup`."""
        super().setup(X, rng, y, ptr)
        individual = self._new_individual().setup(X, rng, y, ptr)
        one_by_one = individual.labels_ is None and not individual.needs_groups
        if not one_by_one or individual.n_outputs != 1:
            raise invalid_parameter(
                self,
                "individual",
                "an energy that scores documents one by one and without labels",
                self.individual,
            )
        self.individual_ = individual
        self.units_ = MLPEnergy(
            hidden_layer_sizes=(),
            n_outputs=2 * int(self.n_hidden),
            standardize=self.standardize,
            n_jobs=self.n_jobs,
        ).setup(individual.transform(X))
        return self

    def _new_individual(self):
        if self.individual is not None:
            return unfitted(self.individual)
        return MLPEnergy(
            hidden_layer_sizes=(3,),
            activation="scaled_tanh",
            output_activation="scaled_tanh",
            n_jobs=self.n_jobs,
        )

    def transform(self, X):
        """Return rows as the individual potential takes them."""
        return self.individual_.transform(X)

    def _bounds(self, n_features):
        """Where the parameters of the pairs and of their output begin."""
        first = self.individual_.n_params(n_features)
        return first, first + self.units_.n_params(n_features)

    def n_params(self, n_features: int) -> int:
        """Return the length of the parameter vector.

        Parameters of the individual potential, first layer of the pairwise potential,
        its output weights, its output bias: those of the individual potential and
        2 d h + 2 h + h + 1 more for d features, as `transform` returns them, and h
        hidden units.
        """
        return self._bounds(n_features)[1] + int(self.n_hidden) + 1

    def init_params(self, n_features: int, rng):
        """Return random weights of the hidden units; pairs start without any effect.

        The output weights of the pairwise potential are 0 at first, so what training
        starts from is the individual potential and not its sum with random pairs.
        """
        first, _ = self._bounds(n_features)
        n_hidden = int(self.n_hidden)
        # First, as it may be too large itself.
        of_individual = self.individual_.init_params(n_features, rng)
        params = self._filled_params(n_features, 0.0)
        params[:first] = of_individual
        n_weights = 2 * n_features * n_hidden
        params[first : first + n_weights] = rng.normal(
            scale=np.sqrt(2.0 / (2 * n_features + n_hidden)), size=n_weights
        )
        return params

    def penalty_mask(self, n_features: int):
        """Return one for every weight, zero for every bias."""
        # First, as it may be too large itself.
        of_individual = self.individual_.penalty_mask(n_features)
        mask = self._filled_params(n_features, 1.0)
        first, second = self._bounds(n_features)
        mask[:first] = of_individual
        # The biases of the units stand behind their weights.
        mask[second - 2 * int(self.n_hidden) : second] = mask[-1] = 0.0
        return mask

    def _filled_params(self, n_features, value):
        n = self.n_params(n_features)
        return filled_params(n, value, n_features, n_hidden=self.n_hidden)

    def constraint(self, n_features: int):
        """Return the constraint of the individual potential; pairs have none."""
        inner = self.individual_.constraint(n_features)
        if inner is None:
            return None
        first, _ = self._bounds(n_features)
        mask = np.zeros(self.n_params(n_features), dtype=bool)
        mask[:first] = inner.mask
        return NonNegativeL1Ball(mask, inner.radius)

    def scores(self, params, X, ptr=None):
        """Scores of documents within their queries, shape (n_documents,)."""
        first, second = self._bounds(X.shape[1])
        alone = self.individual_.scores(params[:first], X, ptr)
        units = self.units_.scores(params[first:second], X, ptr)
        return alone + _energies.potential_scores(
            *self._pairs(units, params[second:], ptr)
        )

    def _pairs(self, units, output, ptr):
        """Arguments of the kernels, of which the last is the number of threads."""
        # The kernels take the length of the rows of units from that of the weights.
        if units.shape[1] != 2 * (len(output) - 1):
            raise ValueError(
                f"the output of {self.n_hidden} hidden units has {self.n_hidden + 1} "
                f"parameters, got {len(output)}"
            )
        ptr = check_ptr(ptr, len(units))
        sizes = np.diff(ptr).astype(float)
        # A nanosecond for each pair and hidden unit.
        n_threads = n_threads_for(float(sizes @ sizes) * len(output), self.n_jobs)
        weight = np.ascontiguousarray(output[:-1])
        return units, ptr, weight, float(output[-1]), bool(self.average), n_threads

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores, and the back-propagation of a gradient with respect to them.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        rng : RandomState, default=None
            Given while training: for noise of the individual potential.
        ptr : ndarray of shape (n_queries + 1,)
            Where each query starts.

        Returns
        -------
        scores : ndarray of shape (n_documents,)
            Scores.
        vjp : callable
            ``vjp(gradient)`` is the gradient with respect to the parameters.
        """
        first, second = self._bounds(X.shape[1])
        alone, alone_vjp = self.individual_.scores_and_vjp(params[:first], X, rng, ptr)
        units, units_vjp = self.units_.scores_and_vjp(params[first:second], X, ptr=ptr)
        arguments = self._pairs(units, params[second:], ptr)
        fixed, n_threads = arguments[:-1], arguments[-1]

        def vjp(gradient):
            gradient = np.ascontiguousarray(gradient, dtype=np.float64)
            of_units, of_output = _energies.potential_gradient(
                *fixed, gradient, n_threads
            )
            parts = [alone_vjp(gradient), units_vjp(of_units), of_output.sum(axis=0)]
            return np.concatenate(parts)

        return alone + _energies.potential_scores(*arguments), vjp
