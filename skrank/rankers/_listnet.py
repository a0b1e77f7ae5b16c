"""ListNet."""

from typing import Literal

from skrank._core._parameters import PositiveInt
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, ListNetLoss
from skrank.metrics._gain import Gain
from skrank.rankers._energy_ranker import BaseNetworkRanker


class ListNet(BaseNetworkRanker):
    r"""ListNet: cross entropy between two distributions over top-k lists.

    .. math:: \ell_q = -\sum_{g \in G_k} P_y(g) \log P_f(g), \qquad
              P_f(g) = \prod_{j=1}^{k} \frac{e^{f(x_{g_j})}}
              {\sum_{t=j}^{m} e^{f(x_{g_t})}}

    For ``top_k=1`` both are softmax distributions over the m documents of the query,
    and an evaluation costs O(m).

    Complexity: O(n p) per iteration for n documents and p parameters of the network,
    with ``top_k`` 1 or 2; see `ListNetLoss` for more.

    Parameters
    ----------
    top_k : int, default=1
        Length of the lists that are compared.
    gain : {"linear", "exp2"} or callable, default="linear"
        Function of a grade that gives the score of the document in the ideal list.
    n_samples : int, "auto" or "exact", default="auto"
        For lists of three documents and more, the number of lists that are drawn for
        each query to estimate the sum over all lists, or "exact" for the sum itself.
        "auto" takes the sum for queries of up to 5000 lists and draws 32 lists for
        others. See `ListNetLoss`.

    References
    ----------
    [Liu2011]_, section 4.3.1, eq. 4.22–4.23 (the sum in the denominator of eq. 4.22
    must run from j to m); [Cao2007]_.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import ListNet
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ListNet().fit(X, y, groups).predict(X).shape == y.shape
    True
    """

    approach = "listwise"

    top_k: PositiveInt = 1
    gain: Gain = "linear"
    n_samples: PositiveInt | Literal["auto", "exact"] = "auto"

    @classmethod
    def _variants(cls):
        return [
            {},
            {"top_k": 2, "gain": "exp2"},
            {"top_k": 3},
            {"top_k": 3, "n_samples": 8},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        loss = ListNetLoss(
            gain=self.gain,
            top_k=self.top_k,
            n_samples=self.n_samples,
            random_state=self.random_state,
        )
        return self._energy(), loss
