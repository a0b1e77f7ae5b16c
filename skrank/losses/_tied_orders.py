r"""Orders of tied documents under the Plackett-Luce model.

Documents of equal grade take some positions t = 1 ... b of their query, with position
weights :math:`w_t`; what lies below them has the strength :math:`R = \sum e^{f}`. An
order :math:`\pi` of the ties costs

.. math:: \sum_{t=1}^{b} w_t \Bigl( \log\bigl(R + \sum_{u=t}^{b} e^{f_{\pi(u)}}\bigr)
          - f_{\pi(t)} \Bigr).

The logarithm depends on the *set* of the documents that are left only, and there are
:math:`2^b` sets where there are b! orders. Both the best order and the mean over all
orders follow from these sets.
"""

from functools import cache
from math import comb

import numpy as np

#: Tied documents whose sets are enumerated.
MAX_TIED = 10


@cache
def _sets(b):
    """All sets of b documents: membership (2^b, b), sizes, and numbers by size."""
    member = (np.arange(1 << b)[:, None] >> np.arange(b)) & 1 == 1
    sizes = member.sum(axis=1)
    by_size = [np.flatnonzero(sizes == size) for size in range(b + 1)]
    return member, sizes, by_size


def _strengths(scores, rest):
    """Strength of each set and the rest, a score and a factor of shape (2^b,) each.

    Their logarithm in one number would lose the digits of scores beside a large one.
    """
    tops, factors = (np.array([number]) for number in rest)
    for score in scores:
        with_it = np.maximum(tops, score)
        more = factors * np.exp(tops - with_it) + np.exp(score - with_it)
        tops, factors = np.append(tops, with_it), np.append(factors, more)
    return tops, factors


def best_order(
    scores: np.ndarray, weights: np.ndarray, rest: tuple[float, float]
) -> np.ndarray:
    """Order of tied documents that costs least, by dynamic programming over sets.

    Where the weights do not increase, this is the order of descending scores:
    exchanging two neighbours of scores u > v changes the cost by (u - v) (w_t -
    (1 - θ) w_{t+1}) with θ in [0, 1], the slope of the logarithm. Where they increase,
    it depends on the scores and on what lies below.

    Parameters
    ----------
    scores : ndarray of shape (b,)
        Scores of the tied documents.
    weights : ndarray of shape (b,)
        Weights of their positions.
    rest : tuple of (float, float)
        Strength of all documents below: their best score, -inf if there are none, and
        the sum of the exponentials of all scores less that one.

    Returns
    -------
    ndarray of shape (b,)
        The documents by position. Complexity: O(b 2^b).
    """
    b = len(scores)
    member, _, by_size = _sets(b)
    tops, factors = _strengths(scores, rest)
    log_strength = tops + np.log(factors, out=np.zeros(1 << b), where=factors > 0.0)
    cost = np.zeros(1 << b)
    first = np.zeros(1 << b, dtype=np.intp)
    for size in range(1, b + 1):
        numbers, weight = by_size[size], weights[b - size]
        after = numbers[:, None] - (1 << np.arange(b))  # with each document taken away
        costs = np.where(member[numbers], cost[after] - weight * scores, np.inf)
        first[numbers] = np.argmin(costs, axis=1)
        cost[numbers] = costs.min(axis=1) + weight * log_strength[numbers]
    order = np.empty(b, dtype=np.intp)
    left = (1 << b) - 1
    for position in range(b):
        order[position] = first[left]
        left -= 1 << order[position]
    return order


def mean_over_orders(
    scores: np.ndarray, weights: np.ndarray, rest: tuple[float, float]
) -> tuple[float, np.ndarray, float]:
    """Mean cost of all orders of tied documents.

    Each set of one size is equally often what is left at its position.

    Parameters
    ----------
    scores : ndarray of shape (b,)
        Scores of the tied documents.
    weights : ndarray of shape (b,)
        Weights of their positions.
    rest : tuple of (float, float)
        Strength of all documents below; see `best_order`.

    Returns
    -------
    value : float
        The mean.
    slopes : ndarray of shape (b,)
        Derivatives with respect to the scores.
    slope_rest : float
        Derivative with respect to the logarithm of ``rest``. Complexity: O(b 2^b).
    """
    b = len(scores)
    member, sizes, _ = _sets(b)
    share = weights[::-1] / [comb(b, size) for size in range(1, b + 1)]
    share = share[sizes[1:] - 1]
    # Not of the empty set.
    tops, factors = (array[1:] for array in _strengths(scores, rest))
    above = tops[:, None] - scores
    value = share @ (above.mean(axis=1) + np.log(factors))
    exponentials = np.exp(np.where(member[1:], -above, -np.inf))
    slopes = (share / factors) @ exponentials - weights.sum() / b
    slope_rest = (share / factors) @ (rest[1] * np.exp(rest[0] - tops))
    return float(value), slopes, float(slope_rest)
