"""Pairwise differentiable gradient descent."""

from typing import Any, ClassVar

import numpy as np

from skrank.energies import BaseEnergy, LinearEnergy, MLPEnergy
from skrank.energies._mlp import Activation, LayerSizes
from skrank.online._base import Lists
from skrank.online._base_ranker import BaseClickRanker
from skrank.online._interleaving import draw, preference_gradient
from skrank.online._rankings import bounds_of_lists
from skrank.rankers._rounds import draw_seed


class PDGD(BaseClickRanker):
    r"""Pairwise differentiable gradient descent: unbiased steps from clicks on pairs.

    A list R is drawn without replacement with probabilities as :math:`e^{f(d)}` over
    the documents that are left. A clicked document :math:`d_k` is preferred to every
    document :math:`d_l` without a click that stands above the last click, or next below
    it, and the scores take a step

    .. math:: f \leftarrow f + \alpha \sum_{d_k > d_l} \rho(d_k, d_l)
              \frac{e^{f(d_k)} e^{f(d_l)}}{(e^{f(d_k)} + e^{f(d_l)})^2}
              \nabla \bigl( f(d_k) - f(d_l) \bigr).

    What stands higher is clicked more. This is made up for by the weight

    .. math:: \rho(d_k, d_l) = \frac{P(R^*)}{P(R) + P(R^*)},

    where :math:`R^*` is the list with the two documents exchanged: a preference counts
    the less, the more it was to be expected from the list alone. In expectation over
    lists and clicks, a pair of which users examine both and prefer neither does not
    move, and another one moves to where the users prefer it.

    The ranker explores by itself, the less the surer it is. Its scores are linear in
    the features, or those of a network; scale the features. A step of ``partial_fit``
    takes the list to be drawn by the parameters as they are.

    Complexity: O(n d + n log n) per list of n documents with d features, and O(p l) for
    p pairs and l documents that are shown.

    Parameters
    ----------
    learning_rate : float, default=0.1
        Length :math:`\alpha` of the steps.
    hidden_layer_sizes : int or sequence of int, default=()
        Units of each hidden layer of a network; () makes a linear ranker.
    activation : {"relu", "tanh", "scaled_tanh", "sigmoid", "identity"}, default="relu"
        Function of the hidden units.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of a linear ranker.
    energy_ : MLPEnergy
        Network, if there are hidden layers.

    References
    ----------
    [Oosterhuis2018]_, algorithm 1.

    Examples
    --------
    >>> from skrank.click import SimulatedUser
    >>> from skrank.datasets import make_ranking
    >>> from skrank.online import PDGD
    >>> X, y, groups = make_ranking(n_queries=60, random_state=0)
    >>> test = X[groups >= 30], y[groups >= 30], groups[groups >= 30]
    >>> X, y, groups = X[groups < 30], y[groups < 30], groups[groups < 30]
    >>> ranker, user = PDGD(), SimulatedUser("informational")
    >>> for day in range(20):
    ...     shown = ranker.propose(X, groups, random_state=day)
    ...     clicks = user.click(y[shown.rows], shown.ptr, random_state=day)
    ...     ranker = ranker.partial_fit(X, clicks, groups, shown=shown)
    >>> ranker.score(*test) > 0.7
    True
    """

    approach: ClassVar[str] = "pairwise"

    learning_rate = 0.1
    hidden_layer_sizes: LayerSizes = ()
    activation: Activation = "relu"

    @classmethod
    def _variants(cls):
        return [{}, {"hidden_layer_sizes": (4,), "length": None}]

    def _energy(self) -> BaseEnergy:
        sizes = self.hidden_layer_sizes
        if not isinstance(sizes, int) and not len(sizes):
            return LinearEnergy(n_jobs=self.n_jobs)
        # What a stream begins with says little of the scale of its features.
        return MLPEnergy(
            sizes, activation=self.activation, standardize=False, n_jobs=self.n_jobs
        )

    def _show(self, X: Any, ptr: np.ndarray, rng) -> Lists:
        bounds = bounds_of_lists(ptr, self.length)
        scores = self._scores_at(self.params_, X)
        n_threads = self._kernel_threads(len(scores))
        drawn = draw(scores, ptr, bounds, draw_seed(rng), n_threads)
        return Lists(drawn, bounds)

    def _needs_proposal(self) -> bool:
        return False

    def _step(
        self, X: Any, ptr: np.ndarray, lists: Lists, clicked: np.ndarray, weight: Any
    ) -> np.ndarray:
        if not clicked.any():
            return np.zeros(len(self.params_))
        energy = vars(self).get("energy_") or LinearEnergy(n_jobs=self.n_jobs)
        scores, vjp = energy.scores_and_vjp(self.params_, X)
        n_threads = self._kernel_threads(len(scores))
        gradient = preference_gradient(
            scores, ptr, lists.shown, lists.ptr, clicked, n_threads
        )
        if weight is not None:
            gradient = gradient * np.repeat(weight, np.diff(ptr))
        return vjp(gradient)
