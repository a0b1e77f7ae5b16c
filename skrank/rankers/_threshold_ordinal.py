"""Ordinal regression by threshold-based losses."""

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skrank.base import ArrayOrCSR
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, ThresholdLoss
from skrank.losses._ordinal import Construction, Penalty
from skrank.rankers._energy_ranker import BaseNetworkRanker
from skrank.rankers._graded import ProbabilitiesMixin, probabilities
from skrank.rankers._ordinal import BaseOrdinalRanker
from skrank.solvers import LBFGS, BaseSolver, SmoothingHomotopy


def _has_probabilities(ranker) -> bool:
    given = ranker.construction, ranker.penalty  # of any kind before `fit`
    are_names = all(isinstance(each, str) for each in given)
    return are_names and given == ("all", "logistic")


class ThresholdOrdinal(ProbabilitiesMixin, BaseOrdinalRanker, BaseNetworkRanker):
    r"""Ordinal regression: a score, and thresholds that separate its grades.

    .. math::
       \min_{w, b} \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{n} \sum_{j=1}^{n}
       \sum_{k} \phi\bigl(s(k, y_j) (b_k - f_w(x_j))\bigr)
       \qquad \text{with } b_1 \le \ldots \le b_{K-1}

    with :math:`s(k, y) = -1` for :math:`k < y` and 1 otherwise. The all-threshold
    construction adds up k from 1 to K − 1, so that it counts how many thresholds lie
    between a score and its grade; the immediate-threshold construction has only the
    two terms next to the grade, :math:`k = y - 1` and :math:`k = y`. Two grades are
    binary classification: logistic regression, or a support vector machine.

    The order of the thresholds is a constraint, which the solver keeps at every step.
    For the all-threshold construction it never binds at the minimum, because every
    penalty makes the best place of a threshold move up with its number.

    Complexity: O(n (p + K)) per iteration for n documents, K grades and p parameters of
    the energy.

    Parameters
    ----------
    construction : {"all", "immediate"}, default="all"
        Which thresholds a document is compared with.
    penalty : str, default="logistic"
        Penalty :math:`\phi`: "hinge", "smooth_hinge", "squared_hinge", "exponential",
        "logistic" or "squared", as in `skrank.losses.ThresholdLoss`. The default is,
        like that of ``construction``, what [Rennie2005]_ found best.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `LBFGS` for linear scores, or
        `SmoothingHomotopy` if their penalty is "hinge", and `Adam` for networks.

    References
    ----------
    [Liu2011]_, section 2.4.3, eq. 2.14–2.16; [Rennie2005]_; [Chu2005]_ for the order.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ThresholdOrdinal
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = ThresholdOrdinal().fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    >>> ranker.predict_proba(X).shape == (len(X), len(ranker.grades_))
    True
    """

    approach = "pointwise"

    construction: Construction = "all"
    penalty: Penalty = "logistic"

    @classmethod
    def _variants(cls):
        others = ("hinge", "smooth_hinge", "squared_hinge", "exponential", "squared")
        return [
            {},
            *({"penalty": penalty} for penalty in others),
            {"construction": "immediate"},
            {"construction": "immediate", "penalty": "hinge"},
            {"hidden_layer_sizes": (8,)},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = ThresholdLoss(
            construction=self.construction,
            penalty=self.penalty,
            grades=self._grades_of_loss(),
        )
        return self._with_thresholds(self._energy()), loss

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        if not energy.linear or self.penalty != "hinge":
            return super()._default_solver(energy)
        return SmoothingHomotopy(LBFGS())

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayOrCSR) -> np.ndarray:
        r"""Return the probability of each grade.

        .. math:: P(y > k) = \frac{1}{1 + e^{b_k - f(x)}}

        The all-threshold logistic loss is the sum of the log-losses of these.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents, n_grades)
            Probabilities of ``grades_``, rows of which sum to 1.
        """
        check_is_fitted(self)
        return probabilities(expit(self.predict(X)[:, None] - self.thresholds_))
