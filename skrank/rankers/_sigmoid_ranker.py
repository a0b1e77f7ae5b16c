"""Robust pairwise ranking with sigmoids, on top of another ranker."""

from dataclasses import field, replace
from typing import Annotated, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from skrank._core._inner import allows_sparse, needs_groups, scores_of
from skrank._core._parameters import Interval, NonNegative, Positive
from skrank._meta import fit_on
from skrank._rows import named_rows
from skrank.base import GroupsAtPredictMixin
from skrank.energies import BaseEnergy, LinearEnergy
from skrank.losses import BaseLoss, LVQ2Loss, MCELoss
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.rankers._rank_svm import RankSVM
from skrank.solvers import LBFGS, BaseSolver, SmoothingHomotopy


class SigmoidRanker(GroupsAtPredictMixin, MetaEstimatorMixin, BaseEnergyRanker):
    r"""Robust second stage: refine a ranker under a loss that gives up outliers.

    .. math:: \ell_q = \sum_{u \succ v} \frac{1}{1 + e^{\sigma (f(x_u) - f(x_v))}}
              \qquad \text{or} \qquad
              \sum_{u \succ v} \min\bigl(C, \max(0, M - (f(x_u) - f(x_v)))\bigr)

    A convex loss of pairs follows what it cannot get right: a pair far out of order,
    often a wrong judgement, pulls hardest. The sigmoid and the ramp are bounded, which
    makes them robust, and not convex, so that training has to start near a good place:
    at the solution of another ranker.

    Where the scores of that ranker are linear in the features, its coefficients are the
    start, and those of the second stage take their place. Other scores, of trees or
    kernels, become one more feature, beside the features themselves: the second stage
    starts with a coefficient of 1 for it, and 0 for all others. In both cases the model
    starts with the scores of the first stage.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first, if the first stage does: ``fit(X, preferences=pairs)``.

    Complexity: that of the first stage, then O(n d) per iteration for n documents with
    d features and one division per pair; with the ramp, O(m log m) for a query of m
    documents.

    Parameters
    ----------
    estimator : estimator, default=None
        First stage: a ranker, a pipeline or any estimator of scikit-learn; None means
        `RankSVM`.
    loss : {"sigmoid", "ramp"}, default="sigmoid"
        Loss of the second stage.
    sigma : float, default=1.0
        Steepness of the sigmoid, in units of the scores of the first stage; the larger,
        the closer to the number of wrongly ordered pairs.
    cap : float, default=2.0
        Largest loss C of a pair under "ramp"; ``numpy.inf`` for the loss of `RankSVM`.
    margin : float, default=1.0
        Margin M under "ramp".
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the second stage. None means `LBFGS`, or `SmoothingHomotopy` for the
        ramp.

    Attributes
    ----------
    estimator_ : estimator
        The fitted first stage.
    refines_coef_ : bool
        Whether the second stage takes the place of the coefficients of the first, and
        not its scores as a feature.
    coef_ : ndarray of shape (n_features,) or (n_features + 1,)
        Coefficients of the features, or of the scores of the first stage and of the
        features.

    References
    ----------
    [Carvalho2008]_; [Liu2011]_, section 3.3.4, eq. 3.25, whose exponent must have the
    opposite sign; [Collobert2006]_ for the ramp.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM, SigmoidRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = SigmoidRanker(RankSVM(alpha=1e-3)).fit(X, y, groups)
    >>> ranker.refines_coef_, ranker.coef_.shape == (X.shape[1],)
    (True, True)
    """

    approach = "pairwise"

    estimator: BaseEstimator | None = field(default=None, kw_only=False)
    loss: Literal["sigmoid", "ramp"] = "sigmoid"
    sigma: Positive = 1.0
    cap: Annotated[float, Interval(0, np.inf, "right")] = 2.0
    margin: NonNegative = 1.0

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        from sklearn.tree import DecisionTreeRegressor

        return [
            {},
            {"loss": "ramp"},
            {"estimator": DecisionTreeRegressor(max_depth=3, random_state=0)},
        ]

    @property
    def _accepts_sparse(self):
        return self.estimator is None or allows_sparse(self.estimator)

    def _learned_accepts(self):
        return allows_sparse(self.estimator_), self._accepts_missing

    @property
    def _needs_groups(self):
        return needs_groups(self.estimator_)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        if self.loss == "ramp":
            loss: BaseLoss = LVQ2Loss(cap=self.cap, margin=self.margin)
        else:
            loss = MCELoss(beta=self.sigma)
        return LinearEnergy(n_jobs=self.n_jobs), loss

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return LBFGS() if self.loss == "sigmoid" else SmoothingHomotopy()

    def _minimise(self, energy, loss, data, validation, rng):
        base = RankSVM(n_jobs=self.n_jobs) if self.estimator is None else self.estimator
        self.estimator_ = fit_on(base, data, validation, rng=rng)
        scores = self._base_scores(data.X, data.ptr)
        self.refines_coef_ = _is_linear(self.estimator_, data.X, scores)
        data = replace(data, X=self._second_stage(data.X, data.ptr))
        if validation is not None:
            rows = self._second_stage(validation.X, validation.ptr)
            validation = replace(validation, X=rows)
        return super()._minimise(energy, loss, data, validation, rng)

    def _init_params(self, energy, n_features, rng) -> np.ndarray:
        if self.refines_coef_:
            return np.ravel(self.estimator_.coef_).astype(np.float64)
        return np.append(1.0, np.zeros(n_features - 1))

    def _base_scores(self, X, ptr) -> np.ndarray:
        """Return the scores of the first stage."""
        groups = None
        if ptr is not None:
            groups = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        rows = named_rows(X, getattr(self, "feature_names_in_", None))
        return np.asarray(scores_of(self.estimator_, rows, groups), dtype=np.float64)

    def _second_stage(self, X, ptr):
        """Return rows of the second stage."""
        if self.refines_coef_:
            return X
        scores = self._base_scores(X, ptr)[:, None]
        if sparse.issparse(X):
            return sparse.hstack([sparse.csr_matrix(scores), X], format="csr")
        return np.hstack([scores, X])

    def _predict(self, X, ptr=None):
        return super()._predict(self._second_stage(X, ptr), ptr)

    def _energies(self, X, ptr=None):
        return super()._energies(self._second_stage(X, ptr), ptr)


def _is_linear(estimator, X, scores) -> bool:
    """Return whether scores are, up to a constant, those of the estimator's ``coef_``.

    The coefficients of kernels, and of a ranker behind a scaler, are not those of the
    features.
    """
    coef = np.ravel(getattr(estimator, "coef_", []))
    if coef.shape != (X.shape[1],) or coef.dtype.kind != "f":
        return False
    rest = scores - np.asarray(X @ coef, dtype=np.float64)
    return bool(np.ptp(rest) <= 1e-5 * max(np.ptp(scores), np.finfo(float).tiny))
