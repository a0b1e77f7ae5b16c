"""BoltzRank."""

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Annotated, Literal, Self

from skrank._core._parameters import Interval, Positive, UnitPairs
from skrank._core._validation import check_arguments
from skrank.energies import BaseEnergy, MLPEnergy, PairwisePotentialEnergy
from skrank.energies._mlp import LayerSizes, NetworkTooLargeError
from skrank.losses import BaseLoss, BoltzmannLoss
from skrank.metrics._registry import MeasureLike
from skrank.rankers._energy_ranker import BaseEnergyRanker, GroupedEnergiesMixin
from skrank.solvers import SGD, Adam, BaseSolver


class BoltzRank(GroupedEnergiesMixin, BaseEnergyRanker):
    r"""BoltzRank: expected ranking gain under a Boltzmann distribution over rankings.

    .. math:: \max \sum_q \lambda \sum_R P(R \mid S)\, G(R)
              + (1 - \lambda) \sum_R P(R \mid Y) \log P(R \mid S), \quad
              s_j = \phi(x_j) + \frac{1}{c} \sum_{k \ne j} \varphi(x_j, x_k)

    with :math:`P(R \mid S) \propto e^{-E(R \mid S)}` over a sample of rankings of each
    query; see `BoltzmannLoss` for the distribution, and `PairwisePotentialEnergy` for
    the potentials. The sum over pairs of documents is divided by :math:`c = m - 1` for
    a query of m documents, or with ``average=False`` by 1, as in the paper.

    The defaults differ from the paper where other values ranked the validation queries
    of LETOR better. The models of the paper are ``BoltzRank.paper()`` (BoltzRank1) and
    ``BoltzRank.paper(pairwise_potential=True)`` (BoltzRank2):

    ==========================================  ============  ============
    Volkovs and Zemel, sections 3.3 and 4.2     BoltzRank1    BoltzRank2
    ==========================================  ============  ============
    individual units ``hidden_layer_sizes``     5             3
    pairwise units ``n_pair_hidden``                          5
    sum over pairs ``average``                                False
    rankings of each query ``n_samples``        100           100
    :math:`\lambda` ``mix``                     0.9           0.9
    :math:`g(x) = 2 x / (m - 1)` ``g, scale``   linear, 1     linear, 1
    L2 regulariser ``alpha``                    0             0
    random restarts ``n_restarts``              10            10
    gradient ascent by query ``solver``         "sgd"         "sgd"
    ==========================================  ============  ============

    They keep the restart and the epoch that are best on validation queries, which must
    therefore be passed to `fit`. The paper states neither the learning rate nor the
    cut-off of the NDCG that it trains on. ``solver="sgd"`` is ``SGD(learning_rate=0.1,
    momentum=0.0, batch_queries=1, max_iter=100)``: one step after each query.

    Complexity: O(n (p + S)) per iteration for p parameters of the network and S
    rankings of each query; with pairwise potentials of h hidden units, O(m² h) more for
    a query of m documents.

    Parameters
    ----------
    pairwise_potential : bool, default=False
        Whether scores of a document depend on the others of its query (BoltzRank2);
        `predict` then needs groups, and costs O(m²) for a query of m documents.
    hidden_layer_sizes : int or sequence of int, default=(5,)
        Number of units in each hidden layer of the individual potential; the paper has
        one layer of 5 units, or of 3 beside a pairwise potential.
    n_pair_hidden : int, default=5
        Number of hidden units of the pairwise potential.
    average : bool, default=True
        Whether the pairwise potentials of a document are averaged over the other
        documents of its query, and not summed, so that they weigh the same in short and
        in long queries.
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure that is the gain G.
    n_samples : int, default=100
        Number of rankings in the sample of each query.
    mix : float, default=0.5
        Share :math:`\lambda` of the expected gain; the paper has 0.9.
    g : {"linear", "sign", "logistic"} or callable, default="linear"
        Function of a difference of ranks that weighs it in the energy.
    scale : float, default=5.0
        Factor of ``g``. Scores of the potentials are at most 1.7, so that with the 1 of
        the paper all rankings of a sample stay about equally probable.
    alpha : float, default=0.1
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `Adam` with 40 epochs; "sgd" is the
        solver of the paper.

    References
    ----------
    [Volkovs2009]_, eq. 9, 11, 14 and 15, algorithm 1 and section 4.2; [Liu2011]_,
    section 4.3.4, eq. 4.28–4.30.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import BoltzRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BoltzRank(pairwise_potential=True, max_iter=5, random_state=0)
    >>> ranker = ranker.fit(X, y, groups)
    >>> ranker.predict(X, groups=groups).shape == y.shape
    True
    """

    approach = "listwise"

    _solvers = BaseEnergyRanker._solvers | {
        "sgd": partial(
            SGD, learning_rate=0.1, momentum=0.0, batch_queries=1, max_iter=100
        )
    }

    pairwise_potential: bool = field(default=False, kw_only=False)
    hidden_layer_sizes: LayerSizes = (5,)
    n_pair_hidden: UnitPairs = 5
    average: bool = True
    measure: MeasureLike = "ndcg@10"
    n_samples: Annotated[int, Interval(2)] = 100
    mix: Annotated[float, Interval(0, 1)] = 0.5
    g: Literal["linear", "sign", "logistic"] | Callable = "linear"
    scale: Positive = 5.0
    alpha = 0.1

    @classmethod
    def _variants(cls):
        quick = {"max_iter": 3, "n_samples": 20}
        return [
            quick,
            quick | {"pairwise_potential": True},
            quick | {"pairwise_potential": True, "average": False},
            quick | {"g": "sign", "mix": 1.0, "measure": "ap"},
            quick | {"g": "logistic", "mix": 0.0, "solver": "sgd"},
        ]

    @classmethod
    def paper(cls, pairwise_potential: bool = False, **params) -> Self:
        """Return a ranker with the settings of the paper.

        Parameters
        ----------
        pairwise_potential : bool, default=False
            Whether to return BoltzRank2 and not BoltzRank1.
        **params : dict
            Further parameters, which override those of the paper.

        Returns
        -------
        BoltzRank
            Ranker that is not fitted, and that chooses among restarts and epochs by the
            validation queries of `fit`.

        References
        ----------
        [Volkovs2009]_, section 4.2.

        Examples
        --------
        >>> from skrank.rankers import BoltzRank
        >>> ranker = BoltzRank.paper(pairwise_potential=True, random_state=0)
        >>> ranker.mix, ranker.average, ranker.n_restarts
        (0.9, False, 10)
        """
        check_arguments(cls.paper, pairwise_potential=pairwise_potential)
        settings = {
            "hidden_layer_sizes": (3,) if pairwise_potential else (5,),
            "average": False,
            "mix": 0.9,
            "scale": 1.0,
            "alpha": 0.0,
            "n_restarts": 10,
            "solver": "sgd",
        }
        return cls(pairwise_potential, **(settings | params))

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return Adam(max_iter=40)

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        energy = MLPEnergy(
            hidden_layer_sizes=self.hidden_layer_sizes,
            activation="scaled_tanh",
            output_activation="scaled_tanh",
            n_jobs=self.n_jobs,
        )
        if self.pairwise_potential:
            energy = PairwisePotentialEnergy(
                energy, self.n_pair_hidden, average=self.average, n_jobs=self.n_jobs
            )
        loss = BoltzmannLoss(
            measure=self.measure,
            n_samples=self.n_samples,
            mix=self.mix,
            g=self.g,
            scale=self.scale,
            random_state=self.random_state,
        )
        return energy, loss

    def _minimise(self, energy, loss, data, validation, rng):
        try:
            return super()._minimise(energy, loss, data, validation, rng)
        except NetworkTooLargeError as error:
            if "n_hidden" not in error.sizes:
                raise
            # What the energy calls so is this parameter of the ranker.
            raise error.renamed(n_pair_hidden=self.n_pair_hidden) from None
