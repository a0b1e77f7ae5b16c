"""ListMLE."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import quiet
from skrank._core._parameters import (
    Numbers,
    Positive,
    PositiveInt,
    invalid_parameter,
    is_true,
)
from skrank._core._queries import QueryIndex, take_rows
from skrank._core._threads import effective_n_threads
from skrank.base import ArrayOrCSR
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, ListMLELoss
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.rankers._laplace import MAX_FEATURES, laplace_covariance, linear_std


class ListMLE(BaseNetworkRanker):
    r"""ListMLE: likelihood of the ideal ranking under the Plackett-Luce model.

    .. math:: \ell_q = -\sum_{j=1}^{k} \log \frac{e^{f(x_{\pi_j})}}
              {\sum_{t=j}^{m} e^{f(x_{\pi_t})}}

    where :math:`\pi` sorts the documents of the query by grade.

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    after one sort by grade.

    Parameters
    ----------
    top_k : int, default=None
        Number of leading positions in the likelihood; None takes the whole ranking.
    ties : {"best", "average", "partition", "stable", "random"}, default="best"
        Order of documents of equal grade: the ideal ranking that the current scores
        make most likely, the mean over all ideal rankings, the probability of any ideal
        ranking, the order of the rows, or one drawn at random. See `ListMLELoss` for
        how the mean and the probability are taken.
    position_weights : {"p", "log2"}, array-like or callable, default=None
        Weights of the positions; "p" is the p-ListMLE choice :math:`2^{m-j} - 1`,
        relative to the first.
    prior : tuple of float, default=None
        Shape and rate of a Gamma prior on the strengths :math:`e^{f(x)}` (Bayesian
        Plackett-Luce).
    posterior : bool, default=False
        Whether `fit` also finds how certain linear scores are, for `predict_std`: the
        objective times W, the total weight of the queries with different grades, is the
        negative logarithm of a posterior density, of a normal prior with the precision
        W ``alpha``, the prior of the strengths and the likelihood, and near its minimum
        it is about that of a normal distribution (Laplace's approximation). For up to
        1000 features.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance of the coefficients under the posterior, set only where ``posterior``
        is True and some query has documents of different grades.

    References
    ----------
    [Liu2011]_, section 4.3.2, eq. 4.24–4.25; [Xia2008]_; [Fang2016]_, section 4.3,
    eq. 22; [Lan2014]_ for the weights of positions; [Guiver2009]_ for the prior.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ListMLE
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ListMLE(top_k=5).fit(X, y, groups).predict(X).shape == y.shape
    True

    How certain the scores of a small query are, beside their mean:

    >>> ranker = ListMLE(posterior=True, alpha=0.01).fit(X, y, groups)
    >>> std = ranker.predict_std(X[:5], groups=groups[:5])
    >>> std.shape, bool((std > 0).all())
    ((5,), True)
    """

    approach = "listwise"

    top_k: PositiveInt | None = None
    ties: Literal["best", "average", "partition", "stable", "random"] = "best"
    position_weights: Literal["p", "log2"] | Callable | Numbers | None = None
    prior: tuple[Positive, Positive] | None = None
    posterior: bool = False

    def _check_parameters(self):
        super()._check_parameters()
        if self.posterior and np.size(self.hidden_layer_sizes):
            accepted = "False where there are hidden layers, which make no linear score"
            raise invalid_parameter(self, "posterior", accepted, self.posterior)

    @classmethod
    def _variants(cls):
        return [
            {},
            {"ties": "stable", "top_k": 3},
            {"ties": "random"},
            {"ties": "average", "top_k": 5},
            {"ties": "partition"},
            {"position_weights": "p"},
            {"prior": (2.0, 1.0)},
            {"posterior": True, "alpha": 1e-2},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = ListMLELoss(
            top_k=self.top_k,
            ties=self.ties,
            position_weights=self.position_weights,
            prior=self.prior,
            random_state=self.random_state,
        )
        return self._energy(), loss

    def _minimise(self, energy, loss, data, validation, rng):
        if self.posterior and data.X.shape[1] > MAX_FEATURES:
            raise ValueError(
                f"posterior=True takes up to {MAX_FEATURES} features, X has "
                f"{data.X.shape[1]}; set posterior=False, or select features"
            )
        energy, loss, result, monitor = super()._minimise(
            energy, loss, data, validation, rng
        )
        vars(self).pop("covariance_", None)  # of an earlier fit
        if self.posterior:
            n_threads = effective_n_threads(self.n_jobs)
            objective = self._objective(energy, loss, data, n_threads)
            kept = monitor.best_state
            params = result.params if kept is None else kept
            if objective.total_weight:  # or the posterior has no width
                self.covariance_ = laplace_covariance(objective, params)
        return energy, loss, result, monitor

    @available_if(lambda self: is_true(self.posterior))
    def predict_std(
        self, X: ArrayOrCSR, groups: npt.ArrayLike | None = None
    ) -> np.ndarray:
        r"""Return the standard deviations of scores under the posterior.

        About 95 % of the posterior lie within 1.96 of them on either side of the score,
        and the strength :math:`e^{f}` lies between the exponentials of both ends.

        A likelihood of orders says nothing about what all documents of a query have in
        common: there is no certainty about it but that of the priors. With groups, it
        is therefore left out. Available where ``posterior`` is True.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row. If given, the deviations are those of the differences
            between the scores and their mean over the query.

        Returns
        -------
        ndarray of shape (n_documents,)
            Standard deviations; the features of a document are taken as certain.
        """
        check_is_fitted(self)
        if not hasattr(self, "covariance_"):
            raise ValueError(
                "ListMLE.predict_std: scores have no deviations, because ListMLE was "
                "not fitted with posterior=True, or no query had documents of "
                "different grades"
            )
        rows = self._check_rows(X, reset=False)
        with quiet():
            if groups is None:
                return linear_std(rows, self.covariance_, None)
            ids = self._query_ids("predict_std", groups, X, n_samples=rows.shape[0])
            index = QueryIndex.from_groups(ids)
            grouped = rows if index.order is None else take_rows(rows, index.order)
            return index.restore(linear_std(grouped, self.covariance_, index.ptr))
