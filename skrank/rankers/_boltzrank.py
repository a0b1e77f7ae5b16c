"""BoltzRank."""

from collections.abc import Sequence

from skrank._core._shared_parameters import shares_parameters
from skrank.energies import MLPEnergy, PairwisePotentialEnergy
from skrank.losses import BoltzmannLoss
from skrank.rankers._energy_ranker import BaseEnergyRanker, GroupedEnergiesMixin
from skrank.solvers import Adam


@shares_parameters
class BoltzRank(GroupedEnergiesMixin, BaseEnergyRanker):
    r"""BoltzRank: expected ranking gain under a Boltzmann distribution over rankings.

    .. math:: \max \sum_q \lambda \sum_R P(R \mid S)\, G(R)
              + (1 - \lambda) \sum_R P(R \mid Y) \log P(R \mid S), \quad
              s_j = \phi(x_j) + \frac{1}{m - 1} \sum_{k \ne j} \varphi(x_j, x_k)

    with :math:`P(R \mid S) \propto e^{-E(R \mid S)}` over a sample of rankings of each
    query; see `BoltzmannLoss` for the distribution, and `PairwisePotentialEnergy` for
    the potentials.

    Parameters
    ----------
    pairwise_potential : bool, default=False
        Whether scores of a document depend on the others of its query (BoltzRank2);
        `predict` then needs groups, and costs O(m²) for a query of m documents.
    hidden_layer_sizes : int or sequence of int, default=(5,)
        Hidden layers of the individual potential; the paper has 5 units, and 3 beside a
        pairwise potential.
    n_pair_hidden : int, default=5
        Hidden units of the pairwise potential.
    measure : str or BaseMeasure, default="ndcg@10"
        The gain G.
    n_samples : int, default=100
        Rankings per query.
    mix : float, default=0.5
        Share :math:`\lambda` of the expected gain; the paper has 0.9.
    g : {"linear", "sign", "logistic"} or callable, default="linear"
        What a difference of ranks counts in the energy.
    scale : float, default=5.0
        Factor of ``g``. Scores of the potentials are at most 1.7, and with the paper's
        1 all rankings of a sample stay about equally probable.
    alpha : float, default=0.1
        Strength of the L2 penalty, relative to the mean loss.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        None means `Adam` with 40 epochs.

    References
    ----------
    Volkovs and Zemel, "BoltzRank: learning to maximize expected ranking gain", 2009;
    Liu (2011), section 4.3.

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

    def __init__(
        self,
        pairwise_potential: bool = False,
        *,
        hidden_layer_sizes: int | Sequence[int] = (5,),
        n_pair_hidden: int = 5,
        measure="ndcg@10",
        n_samples: int = 100,
        mix: float = 0.5,
        g="linear",
        scale: float = 5.0,
        alpha: float = 0.1,
        **shared,
    ):
        super().__init__(alpha=alpha, **shared)
        self.pairwise_potential = pairwise_potential
        self.hidden_layer_sizes = hidden_layer_sizes
        self.n_pair_hidden = n_pair_hidden
        self.measure = measure
        self.n_samples = n_samples
        self.mix = mix
        self.g = g
        self.scale = scale

    def _default_solver(self, energy):
        return Adam(max_iter=40)

    def _parts(self):
        energy = MLPEnergy(
            hidden_layer_sizes=self.hidden_layer_sizes,
            activation="scaled_tanh",
            output_activation="scaled_tanh",
            n_jobs=self.n_jobs,
        )
        if self.pairwise_potential:
            energy = PairwisePotentialEnergy(
                energy, self.n_pair_hidden, n_jobs=self.n_jobs
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
