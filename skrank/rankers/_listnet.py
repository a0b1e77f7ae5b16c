"""ListNet."""

from skrank._core._parameters import PositiveInt
from skrank.losses import ListNetLoss
from skrank.metrics._gain import Gain
from skrank.rankers._energy_ranker import BaseNetworkRanker


class ListNet(BaseNetworkRanker):
    r"""ListNet: cross entropy between two distributions over top-k lists.

    .. math:: \ell_q = -\sum_{g \in G_k} P_y(g) \log P_f(g), \qquad
              P_f(g) = \prod_{j=1}^{k} \frac{e^{f(x_{g_j})}}
              {\sum_{t=j}^{m} e^{f(x_{g_t})}}

    For ``top_k=1`` both are softmax distributions over the documents of the query and
    the cost is O(m).

    Parameters
    ----------
    top_k : int, default=1
        Length of the lists that are compared.
    gain : {"linear", "exp2"} or callable, default="linear"
        What turns a grade into the score of the ideal list.

    References
    ----------
    Liu (2011), section 4.3.1, eq. 4.22-4.23 (the denominator of 4.22 runs from j to
    m); Cao et al. (2007).

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

    @classmethod
    def _variants(cls):
        return [{}, {"top_k": 2, "gain": "exp2"}, {"top_k": 3}]

    def _parts(self):
        loss = ListNetLoss(
            gain=self.gain, top_k=self.top_k, random_state=self.random_state
        )
        return self._energy(), loss
