"""GERank."""

import warnings
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import (
    NonNegativeInt,
    PositiveInt,
    UnitPairs,
    invalid_parameter,
)
from skrank._core._registry import by_short_name
from skrank._core._validation import check_arguments
from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy, GaussianEnergy
from skrank.energies._gaussian import Divergence
from skrank.energies._mlp import Activation, Dropout, LayerSizes
from skrank.losses import (
    BaseLoss,
    GainOfBetter,
    HingeLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    SampledPairsLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)
from skrank.metrics._gain import Gain
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.solvers import Adam, BaseSolver

LossName = Literal["square_exponential", "square_square", "hinge", "log", "mce", "lvq2"]
# Losses of preference pairs that take a weight of each pair.
_LOSSES = by_short_name(
    (SquareExponentialLoss, SquareSquareLoss, HingeLoss, LogLoss, MCELoss, LVQ2Loss),
    BaseLoss,
)


class GERank(BaseEnergyRanker):
    r"""GERank: queries and documents as Gaussians in one space.

    .. math:: \ell_q = \frac{1}{P_q} \sum_{u \succ v} L\bigl(E(q, d_u), E(q, d_v)\bigr),
              \qquad E(q, d) = D\bigl(N(\mu_d, \Sigma_d), N(\mu_q, \Sigma_q)\bigr)

    One network maps the rows of documents and of queries to means and diagonal
    covariances. The row of a query is that of one of its documents, in which all
    features but those of the query are set to 0. See `GaussianEnergy` for the
    divergences D and for how features are scaled.

    The model of the paper is ``GERank(divergence="kl", loss="square_exponential")``,
    with :math:`D = KL(N_d \Vert N_q)` and :math:`L = E_u^2 + e^{-E_v}`. Validation
    queries of OHSUMED prefer expected likelihood under a hinge, the default. The other
    divergences are distances, which a loss may pull to 0; expected likelihood can be
    negative, so a loss that squares the energy of the better document is warned about.

    The loss is summed over all :math:`P_q` preference pairs of a query, not over drawn
    ones: a sort takes the place of the pairs, or for square-exponential a sum over
    documents.

    Features must not be normalised within each query: that would erase the features
    that depend on the query alone. The energy is not linear, so ``coef_`` and
    ``intercept_`` are never set.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, groups=groups, preferences=pairs)``, without ``gain`` and
    ``n_triples`` then. Without groups all rows are one query.

    Complexity: O(n p) per epoch for n documents and p parameters, of which there are
    about h (d + 2 L) for h hidden units, d features and L dimensions.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(512,)
        Number of units in each hidden layer of the network.
    n_components : int, default=45
        Number of dimensions L of the Gaussians.
    divergence : str, default="expected_likelihood"
        Divergence that is the energy: "kl", "reverse_kl", "jensen_shannon" or
        "expected_likelihood".
    loss : str or BaseLoss, default="hinge"
        Loss that is summed over preference pairs: "square_exponential",
        "square_square", "hinge", "log", "mce" or "lvq2". An object sets margins as
        well.
    pair_weights : {"query", "pair"}, default="query"
        Whether every query has the same weight, as when a query is drawn before its
        pair, or every pair has, so that long queries decide.
    gain : {"linear", "exp2"}, callable, mapping or array, default=None
        If given, a pair is also weighed by the gain of its preferred document, so that
        the best documents matter more; None weighs the pairs of a query alike.
    n_triples : int, default=None
        If given, the number of pairs drawn from each query over which the loss is
        taken, instead of all pairs. The worse document of a drawn pair has grade 0, so
        grades must begin at 0.
    query_features : "auto" or sequence of int or str, default="auto"
        Features, by index or name, that depend on the query alone. "auto" finds those
        that are constant within every training query and differ between queries; where
        there are none, it warns, and all queries become one Gaussian, the same as for
        an empty sequence.
    clip : bool, default=True
        Whether features beyond the range of the training rows are moved to its ends.
    activation : {"relu", "tanh", "scaled_tanh", "sigmoid", "identity"}, default="relu"
        Function of the hidden units.
    dropout : float, default=0.0
        Fraction of hidden units left out in training.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `Adam` with learning rate 3e-4, whose
        steps are averaged with a decay of 0.99.

    Attributes
    ----------
    query_features_ : ndarray of shape (n_query_features,)
        Indices of the features that make up the row of a query.

    References
    ----------
    [Wu2022]_, sections 4 and 5, eq. 2 and 5, algorithm 1; appendix C for other
    divergences and losses.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import GERank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> X = np.column_stack([X, np.sin(groups)])  # a feature of the query
    >>> ranker = GERank((32,), n_components=4, max_iter=20, random_state=0)
    >>> ranker.fit(X, y, groups).query_features_.tolist() == [X.shape[1] - 1]
    True
    >>> means, variances = ranker.embed(X, kind="query")
    >>> means.shape == variances.shape == (len(X), 4)
    True
    """

    approach = "pairwise"
    _accepts_sparse = False
    _takes_preferences = True

    hidden_layer_sizes: LayerSizes = field(default=(512,), kw_only=False)
    n_components: UnitPairs = 45
    divergence: Divergence = "expected_likelihood"
    loss: BaseLoss | LossName = "hinge"
    pair_weights: Literal["query", "pair"] = "query"
    gain: Gain | None = None
    n_triples: PositiveInt | None = None
    query_features: Literal["auto"] | Sequence[NonNegativeInt | str] = "auto"
    clip: bool = True
    activation: Activation = "relu"
    dropout: Dropout = 0.0

    @classmethod
    def _variants(cls):
        small = {"hidden_layer_sizes": (8,), "n_components": 3, "max_iter": 3}
        small |= {"query_features": ()}
        divergences = ["kl", "reverse_kl", "jensen_shannon"]
        return [
            small,
            *(small | {"divergence": divergence} for divergence in divergences),
            *(small | {"loss": loss, "divergence": "kl"} for loss in _LOSSES),
            small | {"pair_weights": "pair", "gain": "exp2"},
            small | {"n_triples": 4, "dropout": 0.2, "clip": False},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        energy = GaussianEnergy(
            self.hidden_layer_sizes,
            n_components=self.n_components,
            divergence=self.divergence,
            query_features=self._query_indices(),
            clip=self.clip,
            activation=self.activation,
            dropout=self.dropout,
            n_jobs=self.n_jobs,
        )
        loss = _LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss
        if not {"normalization", "grade_weights"} <= loss.get_params(deep=False).keys():
            accepted = "a loss of preference pairs such as HingeLoss()"
            raise invalid_parameter(self, "loss", accepted, self.loss)
        weigh = None if self.gain is None else GainOfBetter(self.gain)
        loss = cast(BaseLoss, clone(loss)).set_params(
            normalization=self.pair_weights, grade_weights=weigh
        )
        if not energy.non_negative and not loss.shift_invariant:
            warnings.warn(
                f"{type(loss).__name__} pulls the energy of the better document to 0, "
                f"but divergence={self.divergence!r} can be negative, so that 0 is not "
                "the best: use a loss of differences such as 'hinge', or another "
                "divergence",
                UserWarning,
                stacklevel=2,
            )
        if self.n_triples is not None:
            # A generator, unlike a seed, goes on drawing from batch to batch.
            rng = check_random_state(self.random_state)
            loss = SampledPairsLoss(loss, self.n_triples, rng, against="zero")
        return energy, loss

    def _query_indices(self) -> Any:
        """Return the query features with names replaced by indices."""
        given = self.query_features
        if isinstance(given, str) or not any(
            isinstance(feature, str) for feature in given
        ):
            return given
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"query_features={shown(given)} names features, but X has no column "
                "names; give indices, or X as a data frame"
            )
        places = {name: place for place, name in enumerate(names)}
        unknown = [f for f in given if isinstance(f, str) and f not in places]
        if unknown:
            raise ValueError(
                f"query_features names {unknown}, which are not columns of X: "
                f"{list(names)}"
            )
        return [places.get(feature, feature) for feature in given]

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        # Few queries make single steps noisy; their average ranks better.
        return Adam(learning_rate=3e-4, average=0.99)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if data.preferences is not None:
            self._require_no_grades()
        elif self.n_triples is not None:
            self._require_grade_zero(data)
        super()._fit(data, validation)
        self.query_features_ = self.energy_.query_features_

    def _require_no_grades(self) -> None:
        for name in ("gain", "n_triples"):
            if getattr(self, name) is not None:
                accepted = "None with preferences, because pairs have no grades"
                raise invalid_parameter(self, name, accepted, getattr(self, name))

    def _require_grade_zero(self, data) -> None:
        # reduceat would give an empty query the grade of the next one.
        lowest = np.minimum.reduceat(data.y, data.ptr[:-1][data.sizes > 0])
        if lowest.min() > 0 and data.has_preference().any():
            raise invalid_parameter(
                self,
                "n_triples",
                "None where no document has grade 0, from which the worse document of "
                "a triple is drawn (or let the grades begin at 0)",
                self.n_triples,
            )

    def embed(
        self, X: npt.ArrayLike, kind: Literal["document", "query"] = "document"
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the Gaussians of documents or of their queries.

        .. math:: N(\mu, \operatorname{diag}(v)), \qquad v = \operatorname{elu}(s) + 1

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.
        kind : {"document", "query"}, default="document"
            Whether to embed the documents, or the query that each row belongs to.

        Returns
        -------
        means : ndarray of shape (n_documents, n_components)
            Means.
        variances : ndarray of shape (n_documents, n_components)
            Diagonals of the covariances.

        Raises
        ------
        ValueError
            If ``kind`` is neither "document" nor "query".
        """
        check_is_fitted(self)
        check_arguments(GERank.embed, kind=kind)
        energy = self.energy_
        rows = energy.transform(self._check_rows(X, reset=False))
        if kind == "document":
            return energy.embed(self.params_, rows)
        rows, runs = energy.queries(rows)
        code = np.repeat(np.arange(len(rows)), np.diff(runs))
        return tuple(part[code] for part in energy.embed(self.params_, rows))
