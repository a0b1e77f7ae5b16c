"""The energy of SortNet: a network that compares two documents."""

from dataclasses import field
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit

from skrank._core import _energies
from skrank._core._parameters import NThreads, UnitPairs
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_ptr
from skrank.energies._base import BaseEnergy
from skrank.energies._mlp import MLPEnergy, filled_params

# The kernel has units a(z) = 1.7159 tanh(2 z / 3), of which a logistic function is one
# half plus a(3 z / 4) / _TWICE.
_TWICE = 2.0 * 1.7159
_INSIDE = 0.75


class ComparatorEnergy(BaseEnergy):
    r"""A symmetric network that says which of two documents is the better one.

    .. math:: P(u \succ v) = \sigma\Bigl(\sum_i w_i h_i(u, v) + w'_i h_i(v, u)
              + b\Bigr), \qquad
              h_i(u, v) = \sigma(\theta_i^T x_u + \theta'^T_i x_v + b_i)

    with the logistic function :math:`\sigma`. Hidden units come in pairs, of which the
    second does to (u, v) what the first does to (v, u); and the output
    :math:`P(u \prec v)` is the same function of (v, u) that :math:`P(u \succ v)` is of
    (u, v). So both orders of a pair give the same answer, whatever the parameters. The
    score of a document is the mean of :math:`P(u \succ v) - \tfrac{1}{2}` over the
    others of its query, and 0 where there is none.

    The first layer is computed once per document. Complexity: O(m² h) for a query of m
    documents and h pairs of hidden units, O(m h) memory; pairs are never stored.

    Parameters
    ----------
    n_hidden : int, default=10
        Pairs of hidden units.
    standardize : bool, default=True
        Whether to bring training features to mean 0 and variance 1.
    n_jobs : int, default=None
        Number of threads over queries; None means all CPUs. Results do not depend on
        it.

    Attributes
    ----------
    units_ : MLPEnergy
        First layer: what each hidden unit gets from a document in the first and in the
        second place of a pair.

    References
    ----------
    [Rigutini2008]_; [Liu2011]_, section 3.2.2, eq. 3.4–3.6.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import ComparatorEnergy
    >>> X, ptr = np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 3])
    >>> energy = ComparatorEnergy(n_hidden=2).setup(X)
    >>> params = np.linspace(-1.0, 1.0, energy.n_params(1))
    >>> energy.compare(params, X, [0, 1], [1, 0]).shape  # one row for each pair
    (2, 2)
    """

    short_name = "comparator"
    accepts_sparse = True
    needs_groups = True

    n_hidden: UnitPairs = field(default=10, kw_only=False)
    standardize: bool = True
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"n_hidden": 1, "standardize": False}]

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Set up the first layer on training rows; see `BaseEnergy.setup`."""
        super().setup(X, rng, y, ptr)
        self.units_ = MLPEnergy(
            hidden_layer_sizes=(),
            n_outputs=2 * int(self.n_hidden),
            standardize=self.standardize,
            n_jobs=self.n_jobs,
        ).setup(X)
        return self

    def n_params(self, n_features: int) -> int:
        """Return the length of the parameter vector.

        First layer, weights :math:`w`, weights :math:`w'`, bias: 2 d h + 4 h + 1 for d
        features and h pairs of hidden units.
        """
        return self.units_.n_params(n_features) + 2 * int(self.n_hidden) + 1

    def init_params(self, n_features: int, rng):
        """Return random weights; biases are 0."""
        n_hidden = int(self.n_hidden)
        params = self._filled_params(n_features, 0.0)
        n_weights = 2 * n_features * n_hidden
        params[:n_weights] = rng.normal(
            scale=np.sqrt(1.0 / (2 * n_features)), size=n_weights
        )
        output = rng.normal(scale=np.sqrt(1.0 / n_hidden), size=2 * n_hidden)
        params[-1 - 2 * n_hidden : -1] = output
        return params

    def penalty_mask(self, n_features: int):
        """Return one for every weight, zero for every bias."""
        mask = self._filled_params(n_features, 1.0)
        n_units = 2 * int(self.n_hidden)
        n_weights = n_features * n_units
        mask[n_weights : n_weights + n_units] = mask[-1] = 0.0
        return mask

    def _filled_params(self, n_features, value):
        n = self.n_params(n_features)
        return filled_params(n, value, n_features, n_hidden=self.n_hidden)

    def parts(self, params) -> tuple[np.ndarray, "Output"]:
        """Return the parameters of the first layer, and those of the output."""
        h = int(self.n_hidden)
        first = len(params) - 2 * h - 1
        output = params[first:]
        return params[:first], Output(output[:h], output[h:-1], float(output[-1]))

    def compare(self, params, X, first, second):
        """Return the probabilities that documents precede others.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        first, second : array-likes of shape (n_pairs,)
            Rows of the two documents of each pair.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Probability that the first document precedes the second one, and that the
            second precedes the first; they need not add up to 1.
        """
        of_units, output = self.parts(params)
        units = self.units_.scores(of_units, X)
        pairs = Pairs(units, np.asarray(first), np.asarray(second), output)
        return np.stack([pairs.forwards, pairs.backwards], axis=1)

    def scores(self, params, X, ptr=None):
        """Scores of documents within their queries, shape (n_documents,)."""
        of_units, output = self.parts(params)
        units = self.units_.scores(of_units, X)
        return _energies.potential_scores(*self._arguments(units, output, ptr)) / _TWICE

    def _arguments(self, units, output, ptr):
        """Arguments of the kernels, of which the last is the number of threads."""
        mine, theirs = np.split(_INSIDE * units, 2, axis=1)
        columns = np.ascontiguousarray(np.hstack([mine, theirs, theirs, mine]))
        both = np.concatenate([output.same, output.swapped])
        bias = _INSIDE * (output.bias + 0.5 * float(both.sum()))
        ptr = check_ptr(ptr, len(units))
        sizes = np.diff(ptr).astype(float)
        # A nanosecond for each pair and hidden unit.
        n_threads = n_threads_for(float(sizes @ sizes) * len(both), self.n_jobs)
        return columns, ptr, _INSIDE / _TWICE * both, bias, True, n_threads

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores, and the back-propagation of a gradient with respect to them.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        rng : RandomState, default=None
            Not used.
        ptr : ndarray of shape (n_queries + 1,)
            Where each query starts.

        Returns
        -------
        scores : ndarray of shape (n_documents,)
            Scores.
        vjp : callable
            ``vjp(gradient)`` is the gradient with respect to the parameters.
        """
        of_units, output = self.parts(params)
        units, units_vjp = self.units_.scores_and_vjp(of_units, X)
        arguments = self._arguments(units, output, ptr)
        fixed, n_threads = arguments[:-1], arguments[-1]

        def vjp(gradient):
            pull = np.ascontiguousarray(gradient, dtype=np.float64) / _TWICE
            slopes, of_output = _energies.potential_gradient(*fixed, pull, n_threads)
            a, b, c, d = np.split(slopes, 4, axis=1)
            of_both = of_output.sum(axis=0)
            weights = _INSIDE / _TWICE * of_both[:-1] + 0.5 * _INSIDE * of_both[-1]
            first = units_vjp(_INSIDE * np.hstack([a + d, b + c]))
            return np.concatenate([first, weights, [_INSIDE * of_both[-1]]])

        return _energies.potential_scores(*arguments) / _TWICE, vjp


class Output(NamedTuple):
    """Weights of the hidden units of a pair, of the swapped pair, and the bias."""

    same: np.ndarray
    swapped: np.ndarray
    bias: float


class Pairs:
    """The network on given pairs, with its derivatives.

    Parameters
    ----------
    units : ndarray of shape (n_documents, 2 * n_hidden)
        What the hidden units get from each document in either place.
    first, second : ndarrays of shape (n_pairs,)
        Rows of the documents of each pair.
    output : Output
        Parameters of the output.

    Attributes
    ----------
    forwards, backwards : ndarrays of shape (n_pairs,)
        Probability that the first precedes the second document, and the other way.
    """

    def __init__(self, units, first, second, output: Output):
        mine, theirs = np.split(units, 2, axis=1)
        self.output = output
        self.hidden = expit(mine[first] + theirs[second])
        self.mirror = expit(mine[second] + theirs[first])
        same, swapped, bias = output
        self.forwards = expit(self.hidden @ same + self.mirror @ swapped + bias)
        self.backwards = expit(self.mirror @ same + self.hidden @ swapped + bias)

    def pull(self, of_forwards, of_backwards):
        """Pull a gradient with respect to the probabilities back.

        Returns
        -------
        of_hidden, of_mirror : ndarrays of shape (n_pairs, n_hidden)
            Gradient with respect to what enters the hidden units.
        of_output : ndarray of shape (2 * n_hidden + 1,)
            Gradient with respect to the parameters of the output.
        """
        there = of_forwards * self.forwards * (1.0 - self.forwards)
        back = of_backwards * self.backwards * (1.0 - self.backwards)
        same, swapped, _ = self.output
        hidden, mirror = self.hidden, self.mirror
        of_hidden = np.outer(there, same) + np.outer(back, swapped)
        of_mirror = np.outer(there, swapped) + np.outer(back, same)
        of_output = np.concatenate(
            [
                hidden.T @ there + mirror.T @ back,
                mirror.T @ there + hidden.T @ back,
                [there.sum() + back.sum()],
            ]
        )
        of_hidden *= hidden * (1.0 - hidden)
        of_mirror *= mirror * (1.0 - mirror)
        return of_hidden, of_mirror, of_output
