"""Weights of desired and undesired answers, against loops over the definitions."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from skrank.inspection._readings import (
    label_weights,
    list_weights,
    pair_weights,
    query_means,
)

PTR = np.array([0, 4, 4, 7, 8, 10])
Y = np.array([0.0, 2.0, 1.0, 1.0, 3.0, 3.0, 3.0, 1.0, 0.5, 2.0])


def _queries():
    for start, stop in pairwise(PTR):
        yield np.arange(start, stop)


def test_pair_weights_are_shares_of_the_pairs():
    desired, others = np.zeros(len(Y)), np.zeros(len(Y))
    for rows in _queries():
        for i, j in permutations(rows, 2):
            if Y[i] > Y[j]:
                desired[i] += 1
                others[j] += 1
    assert desired.sum() == 6  # five in the first query, one in the last
    for found, expected in zip(pair_weights(Y, PTR), (desired, others)):
        np.testing.assert_allclose(found, expected / 6, rtol=1e-15)


def _list_terms(energies, top_k, normalization):
    """Means of eq. 29 and 30 over all ideal orders, one ideal order at a time."""
    n = len(energies)
    k = n if top_k is None else min(top_k, n)
    discount = np.array([1.0, *(1 / np.log2(np.arange(2, n + 1)))])
    desired = energies[:k].sum()
    others = 0.0
    for j in range(k):
        mass = discount if normalization == "list" else discount[j:]
        others += (discount[j:] / mass.sum() * energies[j:]).sum()
    return desired, others


@pytest.mark.parametrize("normalization", ["list", "sublist"])
@pytest.mark.parametrize("top_k", [1, 2, 5, None])
def test_list_weights_are_the_two_terms_of_the_energy_of_a_list(
    top_k, normalization, rng
):
    energies = rng.normal(size=len(Y))
    terms = []
    for rows in _queries():
        if len(set(Y[rows])) < 2:
            continue
        ideal = [
            np.array(order)
            for order in permutations(rows)
            if (np.diff(Y[list(order)]) <= 0).all()
        ]
        of_orders = [_list_terms(energies[o], top_k, normalization) for o in ideal]
        terms.append(np.mean(of_orders, axis=0))
    weights = list_weights(Y, PTR, top_k, normalization)
    found = [weight @ energies for weight in weights]
    np.testing.assert_allclose(found, np.mean(terms, axis=0), rtol=1e-12)


def test_label_weights_are_means_over_own_and_other_labels():
    energies = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    desired, others = label_weights([2, 0], [0, 1, 2])
    assert (desired * energies).sum() == (3 + 4) / 2
    assert (others * energies).sum() == pytest.approx((1 + 2 + 5 + 6) / 4)


def test_query_means_repeat_the_mean_and_pass_over_empty_queries():
    means = query_means(Y, PTR)
    np.testing.assert_allclose(means, [1.0] * 4 + [3.0] * 3 + [1.0] + [1.25] * 2)


def test_nothing_preferred_is_an_error():
    with pytest.raises(ValueError, match="no query with documents of different"):
        pair_weights(np.ones(3), np.array([0, 3]))
    with pytest.raises(ValueError, match="no query with documents of different"):
        list_weights(np.ones(3), np.array([0, 3]), 5, "list")
    with pytest.raises(ValueError, match="only one label, 1"):
        label_weights([1, 1], np.array([1.0]))
