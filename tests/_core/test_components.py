"""Strongly connected components, against reachability and scipy."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from skrank._core._components import components_in_order


def test_components_of_a_circle_and_its_prey():
    beats = np.zeros((5, 5), dtype=bool)
    for u, v in [(1, 3), (3, 4), (4, 1), (0, 1), (1, 2)]:
        beats[u, v] = True
    found = [members.tolist() for members in components_in_order(beats)]
    assert found == [[0], [1, 3, 4], [2]]


@pytest.mark.parametrize("seed", range(5))
def test_components_come_in_an_order_of_the_graph(seed):
    rng = np.random.default_rng(seed)
    m = 12
    upper = np.triu(rng.random((m, m)) < 0.15 * (1 + seed), 1)
    beats = upper | (np.tril(rng.random((m, m)) < 0.05, -1) & ~upper.T)
    components = components_in_order(beats)
    assert sorted(np.concatenate(components)) == list(range(m))
    reach = np.linalg.matrix_power(beats + np.eye(m), m) > 0
    for i, earlier in enumerate(components):
        assert reach[np.ix_(earlier, earlier)].all()
        for later in components[i + 1 :]:
            assert not beats[np.ix_(later, earlier)].any()


@pytest.mark.parametrize("density", [0.002, 0.008, 0.03, 0.5])
@pytest.mark.parametrize("m", [0, 1, 150])
def test_components_agree_with_scipy(m, density):
    rng = np.random.default_rng(0)
    beats = rng.random((m, m)) < density
    count, label = connected_components(beats, connection="strong")
    members = [np.flatnonzero(label == c) for c in range(count)]
    expected = []
    while members:  # the smallest of those that nothing left beats comes next
        left = np.concatenate(members)
        free = [
            own
            for own in members
            if not beats[np.ix_(np.setdiff1d(left, own), own)].any()
        ]
        expected.append(min(free, key=min).tolist())
        members = [own for own in members if own.tolist() != expected[-1]]
    found = components_in_order(beats)
    assert [documents.tolist() for documents in found] == expected
