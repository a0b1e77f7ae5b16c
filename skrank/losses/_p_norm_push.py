"""The loss of the p-norm push."""

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from skrank._core import _segments
from skrank._core._parameters import Interval
from skrank.losses._base import BaseLoss
from skrank.losses._exponential import PreparedPush


class PNormPushLoss(BaseLoss):
    r"""P-norm push: bad documents pay for their height by a power of it.

    .. math:: \ell_q = \sum_{v \in q} \Big( \sum_{u : y_u > y_v}
              e^{-(f(x_u) - f(x_v))} \Big)^p

    The inner sum estimates how many documents stand wrongly below v, and the power
    makes it dear to stand above many. For p = 1 it is `ExponentialLoss`; as p grows,
    the worst document of each query decides. Convex. In the source there are two
    grades and a single list. Here v is compared with all documents of better grades:
    a document of a middle grade is pushed down below the better ones and lifted above
    the worse ones.

    The weight of a document within its query multiplies its exponentials as the better
    one; the mean weight of a query multiplies the value of the query.

    Complexity: O(n_documents) after the documents have been sorted by grade once. In a
    query whose scores differ by more than 600 the pairs are enumerated.

    Parameters
    ----------
    p : float, default=4.0
        Power, at least 1.
    normalization : {"pair", "query"}, default="pair"
        Whether values are as above, so that long queries weigh by the p-th power of
        their length, or divided by what equal scores would give, so that all queries
        begin at the same loss.

    References
    ----------
    [Liu2011]_, section 3.3.5, eq. 3.26–3.27; [Rudin2009]_, section 2.

    Examples
    --------
    >>> from skrank.losses import PNormPushLoss
    >>> PNormPushLoss(p=2).value_gradient([1, 1, 0], [0, 0, 0], [0, 3])
    (array([4.]), array([-4., -4.,  8.]))
    """

    short_name: ClassVar[str] = "p_norm_push"
    shift_invariant = True
    has_hessian = True
    p: Annotated[float, Interval(1)] = field(default=4.0, kw_only=False)
    normalization: Literal["pair", "query"] = "pair"

    @property
    def unit(self):
        """What the mean of the loss is taken over."""
        return "query" if self.normalization == "query" else "pair"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [{}, {"p": 1.0}, {"p": 2.5, "normalization": "query"}]

    def _prepare(self, y, ptr, sample_weight, n_threads, labels=None):
        return _PreparedPush(
            y, ptr, sample_weight, n_threads, float(self.p), self.normalization
        )


class _PreparedPush(PreparedPush):
    """Sum of powers over the worse documents."""

    def __init__(self, y, ptr, sample_weight, n_threads, p, normalization):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.p = p
        mean = np.ones(self.n_queries)
        if self.weight is not None:
            sizes = np.diff(self.ptr)
            mean = _segments.segment_sum(self.weight, self.ptr) / np.maximum(sizes, 1)
            # A query without weight keeps weights of 0.
            scale = np.where(mean > 0, mean, 1.0)
            self.weight = self.weight / np.repeat(scale, sizes)
        if normalization == "query":
            at_start, _ = self.value_gradient(np.zeros(self.n_documents))
            self.total_weight = float(mean[at_start > 0].sum())
            mean = mean / np.where(at_start > 0, at_start, 1.0)
        self.factors = mean
