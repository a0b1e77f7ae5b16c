"""Queries and documents as Gaussians in one space; the energy is their divergence."""

import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Literal, Self

import numpy as np

from skrank._core import _energies
from skrank._core._parameters import (
    NonNegativeInt,
    NThreads,
    UnitPairs,
    invalid_parameter,
)
from skrank._core._threads import n_threads_for
from skrank._core._validation import check_ptr
from skrank.energies._base import BaseEnergy
from skrank.energies._blocks import row_blocks
from skrank.energies._mlp import (
    Activation,
    Dropout,
    LayerSizes,
    MLPEnergy,
    NetworkTooLargeError,
)

_BLOCK_ROWS = 4096
# Where E^2 + exp(-E) of two documents of equal energy is smallest, 2 E = exp(-E).
_START_ENERGY = 0.35
# Mean square of a feature in [0, 1], about right for skewed ones as for round ones.
_MEAN_SQUARE = 0.2
# Energy per dimension, to second order around v = 1, where the differences of means and
# of numbers s have variance 1.
_START_SLOPES = {
    "kl": 0.5 + 0.25,
    "reverse_kl": 0.5 + 0.25,
    "jensen_shannon": 0.125 + 0.0625,
    # Why it starts elsewhere is told by `GaussianEnergy.init_params`.
    "expected_likelihood": 0.5 + 0.25,
}

Divergence = Literal["kl", "reverse_kl", "jensen_shannon", "expected_likelihood"]

_NONE_FOUND = (
    "query_features='auto' found no feature that is constant within every training "
    "query but differs between queries, so all queries are embedded as one and the "
    "same Gaussian. Query-level normalisation erases such features: fit on features "
    "that are not normalised per query, or add features of the query (its length, the "
    "IDF of its terms). Pass query_features=() to have one constant query on purpose"
)


class GaussianEnergy(BaseEnergy):
    r"""Divergence of a document's Gaussian from that of its query.

    .. math:: E(q, d) = D(N_d, N_q), \qquad
              N_x = N(\mu(x), \operatorname{diag}(v(x))), \qquad
              v = \operatorname{elu}(s) + 1

    One network maps documents and queries to L means :math:`\mu` and L numbers s. A
    query is the row of one of its documents in which all features but those of the
    query are 0. Features are brought to [0, 1] by the range of the training rows;
    constant features become 0. A document whose own features are all at their minimum
    is therefore the same row as its query, at divergence 0. Features that are
    normalised within each query, which have their minimum there, make the worst
    documents such; take raw values.

    ``divergence`` is one of

    - ``"kl"``: :math:`KL(N_d \Vert N_q) = \frac{1}{2} \sum_l \bigl(\frac{v_d}{v_q}
      + \frac{(\mu_d - \mu_q)^2}{v_q} - 1 - \log \frac{v_d}{v_q}\bigr)`;
    - ``"reverse_kl"``: :math:`KL(N_q \Vert N_d)`;
    - ``"jensen_shannon"``: :math:`\frac{1}{2} KL(N_d \Vert N_m) + \frac{1}{2}
      KL(N_q \Vert N_m)`, where the Gaussian :math:`N_m` has the mean and the variances
      of the mixture of both. The Jensen-Shannon divergence itself, with the mixture in
      place of :math:`N_m`, has no closed form and is at most this;
    - ``"expected_likelihood"``: :math:`-\log \int N_d N_q`, the only one that can be
      negative and is not 0 for equal Gaussians.

    All are evaluated in terms of log v, so that no variance underflows. Complexity:
    O(n p) per evaluation for p parameters, as in `MLPEnergy`, plus O(n L). The
    network runs once per document and once per run of rows with equal query features,
    so that neither scores nor speed depend on telling it the queries.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(512,)
        Units of each hidden layer of the network.
    n_components : int, default=45
        Dimensions L of the Gaussians.
    divergence : str, default="kl"
        Divergence that is the energy: "kl", "reverse_kl", "jensen_shannon" or
        "expected_likelihood".
    query_features : "auto" or sequence of int, default="auto"
        Features that depend on the query alone. "auto" finds those that are constant
        within every training query and differ between queries; where there are none,
        it warns, and all queries become one Gaussian, the same as for an empty
        sequence: rows are then scored by their distance from a learned point.
    clip : bool, default=True
        Whether features beyond the range of the training rows are moved to its ends.
        Divergences grow with the square of the distance, so a query far outside would
        otherwise be far from every document.
    activation : {"relu", "tanh", "scaled_tanh", "sigmoid", "identity"}, default="relu"
        Function of the hidden units.
    dropout : float, default=0.0
        Probability with which a hidden unit is left out while training.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.

    Attributes
    ----------
    query_features_ : ndarray of shape (n_query_features,)
        Indices of the features that make the query.
    min_ : ndarray of shape (n_features,)
        Smallest values of the training features.
    range_ : ndarray of shape (n_features,)
        Largest minus smallest values; infinite for constant features.
    network_ : MLPEnergy
        The network, with 2 L outputs.

    References
    ----------
    [Wu2022]_, sections 4.1, 5.2 and 5.5, eq. 2, and appendix C for the other
    divergences.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import GaussianEnergy
    >>> rng = np.random.RandomState(0)
    >>> X = rng.random_sample((6, 3))
    >>> X[:3, 0], X[3:, 0] = 1.0, 2.0
    >>> energy = GaussianEnergy((4,), n_components=2)
    >>> energy = energy.setup(X, ptr=np.array([0, 3, 6]))
    >>> energy.query_features_
    array([0])
    >>> params = energy.init_params(3, rng)
    >>> bool(np.all(energy.scores(params, energy.transform(X)) <= 0))
    True
    """

    short_name = "gaussian"

    hidden_layer_sizes: LayerSizes = field(default=(512,), kw_only=False)
    n_components: UnitPairs = 45
    divergence: Divergence = "kl"
    query_features: Literal["auto"] | Sequence[NonNegativeInt] = "auto"
    clip: bool = True
    activation: Activation = "relu"
    dropout: Dropout = 0.0
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (5,), "n_components": 3, "activation": "tanh"}
        others = ["reverse_kl", "jensen_shannon", "expected_likelihood"]
        return [
            small,
            *(small | {"divergence": divergence} for divergence in others),
            small | {"query_features": (), "clip": False, "activation": "relu"},
            small | {"query_features": (0,), "dropout": 0.2},
        ]

    @property
    def non_negative(self):
        """Whether energies are never negative: not with the expected likelihood."""
        return self.divergence != "expected_likelihood"

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Check the parameters; learn the range of features and those of the query.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Not used.
        y : ndarray of shape (n_documents,), default=None
            Not used.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts; None means that all rows belong to one query.

        Returns
        -------
        Self
            The energy itself, with its attributes.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if a feature of the query takes several
            values within one query.
        TypeError
            If a parameter has a wrong type.
        """
        super().setup(X, rng, y, ptr)
        ptr = np.array([0, len(X)]) if ptr is None else check_ptr(ptr, len(X))
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        self.min_ = low
        self.range_ = np.where(high > low, high - low, np.inf)
        self.query_features_ = self._find_query_features(X, ptr, high > low)
        self.network_ = MLPEnergy(
            self.hidden_layer_sizes,
            activation=self.activation,
            n_outputs=2 * self.n_components,
            dropout=self.dropout,
            standardize=False,
            n_jobs=self.n_jobs,
        ).setup(X)
        return self

    def _find_query_features(self, X, ptr, varies):
        constant = _constant_within(X, ptr)
        if isinstance(self.query_features, str):
            found = np.flatnonzero(constant & varies)
            # One row per query says nothing about what is constant within a query.
            if not len(found) or np.all(np.diff(ptr) <= 1):
                warnings.warn(_NONE_FOUND, UserWarning, stacklevel=2)
                return np.empty(0, dtype=np.intp)
            return found
        chosen = np.unique(np.asarray(self.query_features, dtype=np.intp))
        if len(chosen) and chosen[-1] >= X.shape[1]:
            accepted = f"'auto' or indices from 0 to {X.shape[1] - 1}"
            raise invalid_parameter(
                self, "query_features", accepted, self.query_features
            )
        varying = chosen[~constant[chosen]]
        if len(varying):
            raise ValueError(
                "query_features must be constant within each query; features "
                f"{varying.tolist()} take several values within a training query"
            )
        return chosen

    def transform(self, X):
        """Return features in the range of the training rows; see ``clip``.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_documents, n_features)
            In the precision of ``X``.
        """
        out = np.empty_like(X)
        for block in row_blocks(len(X), _BLOCK_ROWS):
            scaled = (X[block] - self.min_) / self.range_
            out[block] = np.clip(scaled, 0.0, 1.0) if self.clip else scaled
        return out

    def n_params(self, n_features: int) -> int:
        """Return the length of the parameter vector, that of the network."""
        return self.network_.n_params(n_features)

    def init_params(self, n_features: int, rng):
        r"""Return random weights and zero biases, shape (n_params,).

        The last layer is scaled for energies that start around 0.35, where losses such
        as E² + exp(−E) pull and push equally hard. That assumes that the features
        which are not those of the query, brought to [0, 1], have a mean square of 0.2,
        and that documents are close to their query, where divergences are quadratic.
        The start is about proportional to the true mean square: "kl" starts around 0.6
        for features that are uniform, and below 0.1 for exponential ones, of which most
        values are far below the largest. The scale allows for the numbers of
        components, hidden units and features; networks of few units scatter around it.

        "expected_likelihood", which equal Gaussians do not bring to 0, starts around
        :math:`L \log(4 \pi) / 2`, with the weights of "kl". It could start at 0.35
        only with variances of about :math:`1 / (4 \pi)`. Scaled down to these, it
        trained faster but ranked the validation queries of OHSUMED worse, and losses of
        differences, the only ones to use with it, do not see the constant.
        """
        with self._naming_sizes():
            params = self.network_.init_params(n_features, rng)
        sizes = (n_features, *np.atleast_1d(self.hidden_layer_sizes).astype(int))
        L, n_last = self.n_components, 2 * self.n_components * (sizes[-1] + 1)
        # Hidden layers keep the squared length of a difference per unit, so outputs of
        # document and query differ with this variance, in L means and L log variances.
        n_own = n_features - len(self.query_features_)
        fan = sizes[-1] / n_features if len(sizes) > 1 else 1.0
        variance = 2.0 / (sizes[-1] + 2 * L) * fan * _MEAN_SQUARE * n_own
        expected = L * _START_SLOPES[self.divergence] * variance
        if expected > 0:
            params[-n_last:] *= np.sqrt(_START_ENERGY / expected)
        return params

    def penalty_mask(self, n_features: int):
        """Return one for every weight, zero for every bias."""
        with self._naming_sizes():
            return self.network_.penalty_mask(n_features)

    @contextmanager
    def _naming_sizes(self):
        """Name the parameters of this energy where its network is too large."""
        names = ("hidden_layer_sizes", "n_components")
        try:
            yield
        except NetworkTooLargeError as error:
            raise error.renamed(
                **{name: getattr(self, name) for name in names}
            ) from None

    def queries(self, X):
        """Return the queries of rows.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features)
            Rows, as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n_queries, n_features)
            For every run of rows with equal query features one row that holds these
            features, all others being 0.
        ptr : ndarray of shape (n_queries + 1,), dtype intp
            Where each run starts.
        """
        features = self.query_features_
        own = X[:, features]
        starts = np.flatnonzero(np.any(own[1:] != own[:-1], axis=1)) + 1
        ptr = np.concatenate([[0][: len(X)], starts, [len(X)]]).astype(np.intp)
        rows = np.zeros((len(ptr) - 1, X.shape[1]), dtype=X.dtype)
        rows[:, features] = own[ptr[:-1]]
        return rows, ptr

    def embed(self, params, X):
        """Return the Gaussians of rows.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray of shape (n_rows, n_features)
            Documents, or queries, as `transform` and `queries` return them.

        Returns
        -------
        means, variances : ndarrays of shape (n_rows, n_components)
            What the network makes of each row.
        """
        out, L = self.network_.scores(params, X), self.n_components
        s = out[:, L:]
        return out[:, :L], np.where(s < 0, np.exp(np.minimum(s, 0.0)), s + 1.0)

    def _threads(self, X):
        # About 6 ns for each document and dimension.
        return n_threads_for(6 * len(X) * self.n_components, self.n_jobs)

    def scores(self, params, X, ptr=None):
        """Return negative divergences, shape (n_documents,); ``ptr`` is not needed."""
        network = self.network_
        query_rows, runs = self.queries(X)
        documents, queries = (
            network.scores(params, X),
            network.scores(params, query_rows),
        )
        return -_energies.divergences(
            self.divergence, documents, queries, runs, self._threads(X)
        )

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores, and the back-propagation of a gradient with respect to them.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray of shape (n_documents, n_features)
            Rows.
        rng : RandomState, default=None
            Given while training: draws the units that dropout leaves out.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Not used.

        Returns
        -------
        scores : ndarray of shape (n_documents,)
            Negative divergences.
        vjp : callable
            ``vjp(gradient)`` is the gradient with respect to the parameters.
        """
        network, n_threads = self.network_, self._threads(X)
        query_rows, runs = self.queries(X)
        documents, pull_documents = network.scores_and_vjp(params, X, rng)
        queries, pull_queries = network.scores_and_vjp(params, query_rows, rng)
        gaussians = self.divergence, documents, queries, runs

        def vjp(gradient):
            weight = np.negative(gradient, dtype=np.float64)
            of_documents, of_queries = _energies.divergence_gradients(
                *gaussians, weight, n_threads
            )
            return pull_documents(of_documents) + pull_queries(of_queries)

        return -_energies.divergences(*gaussians, n_threads), vjp


def _constant_within(X, ptr):
    """Whether each feature has one value in every query, shape (n_features,)."""
    inside = np.ones(max(len(X) - 1, 0), dtype=bool)  # a row and the next one
    inside[ptr[(ptr > 0) & (ptr < len(X))] - 1] = False
    constant = np.ones(X.shape[1], dtype=bool)
    for start in range(0, len(inside), _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, len(inside))
        differs = X[start + 1 : stop + 1] != X[start:stop]
        constant &= ~differs[inside[start:stop]].any(axis=0)
    return constant
