"""Which queries a boosted tree sees, and with what weights."""

from dataclasses import dataclass

import numpy as np

from skrank._core._queries import rows_of_queries


@dataclass(frozen=True)
class QuerySample:
    """Rows of the queries that were drawn for one tree.

    Parameters
    ----------
    rows : ndarray of int32, default=None
        Rows to grow the tree on, ascending; None stands for all.
    factor : ndarray of shape (n_documents,), default=None
        Numbers that multiply gradients and Hessians.
    weight : ndarray of shape (n_documents,), default=None
        Numbers that multiply gradients and Hessians in the search for splits only.
    """

    rows: np.ndarray | None = None
    factor: np.ndarray | None = None
    weight: np.ndarray | None = None

    def scaled(self, gradient, hessian):
        """Multiply the gradient and the Hessian, which may be None, by the factor."""
        if self.factor is None:
            return gradient, hessian
        scaled = self.factor if hessian is None else self.factor * hessian
        return self.factor * gradient, scaled

    def of_queries(self, ptr) -> np.ndarray:
        """Return the weight of each query in sums over the drawn ones, 0 for others."""
        if self.rows is None:
            return np.ones(len(ptr) - 1)
        drawn = np.zeros(ptr[-1])
        drawn[self.rows] = 1.0 if self.factor is None else self.factor[self.rows]
        return drawn[ptr[:-1]]


def draw_share(seed, ptr, share) -> QuerySample:
    """Draw a share of the queries without replacement, each as likely as any other."""
    if share == 1.0:
        return QuerySample()
    n = len(ptr) - 1
    drawn = np.random.RandomState(seed).permutation(n)[: max(1, round(share * n))]
    rows, _ = rows_of_queries(ptr, np.sort(drawn))
    return QuerySample(rows.astype(np.int32))


def draw_weights(seed, ptr, temperature) -> QuerySample:
    r"""Draw a weight for each query, :math:`(-\log u)^T` with uniform u.

    At temperature 1, these are the weights of the Bayesian bootstrap [Rubin1981]_,
    before they are scaled to a sum.
    """
    u = 1.0 - np.random.RandomState(seed).random_sample(len(ptr) - 1)  # never 0
    weight = (-np.log(u)) ** temperature
    return QuerySample(weight=np.repeat(weight, np.diff(ptr)))


def draw_minimal_variance(seed, ptr, share, gradient, hessian) -> QuerySample:
    r"""Draw queries by the size of their gradients, weighted by inverse probability.

    .. math:: p_q = \min(1, s_q / \mu), \qquad
              s_q^2 = \sum_{d \in q} g_d^2 + \lambda h_d^2

    with :math:`\mu` such that the expected number of queries is the share, and
    :math:`\lambda = \sum g^2 / \sum h^2`. Of all independent draws of that many, these
    give the scores of splits the least variance [Ibragimov2019]_, eq. 4 and 5, where
    rows of one query are taken to fall into different leaves.
    """
    if share == 1.0:
        return QuerySample()
    n = len(ptr) - 1
    squares = (gradient**2).sum(axis=1)
    second = np.ones(len(gradient))
    if hessian is not None:
        second = (hessian**2).sum(axis=1)
    total = second.sum()
    damping = squares.sum() / total if total > 0 else 0.0
    sizes = np.sqrt(np.add.reduceat(squares + damping * second, ptr[:-1]))
    probability = inclusion_probabilities(sizes, max(1.0, share * n))
    drawn = np.random.RandomState(seed).random_sample(n) < probability
    if not drawn.any():
        drawn[np.argmax(probability)] = True
    rows, _ = rows_of_queries(ptr, np.flatnonzero(drawn))
    factor = np.where(drawn, 1.0 / np.where(drawn, probability, 1.0), 0.0)
    return QuerySample(rows.astype(np.int32), factor=np.repeat(factor, np.diff(ptr)))


def inclusion_probabilities(sizes, n_expected) -> np.ndarray:
    """Return probabilities in proportion to sizes, at most 1, with the given sum."""
    if not (sizes > 0).any():
        return np.full(len(sizes), n_expected / len(sizes))
    n_positive = np.count_nonzero(sizes)
    if n_expected >= n_positive:
        return (sizes > 0).astype(float)
    descending = np.sort(sizes)[::-1]
    # With the first k certain, the others share what is left in proportion.
    rest = np.cumsum(descending[::-1])[::-1]
    k = np.arange(int(np.ceil(n_expected)))
    divisor = rest[k] / (n_expected - k)
    return np.minimum(1.0, sizes / divisor[np.argmax(descending[k] <= divisor)])
