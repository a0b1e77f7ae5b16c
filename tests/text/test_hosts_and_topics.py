"""HostRank and the topical models: limits, loops and linear systems."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skrank.text import HITS, HostRank, PageRank, TopicalHITS, TopicalPageRank


def random_links(seed=0, n=40):
    rng = np.random.default_rng(seed)
    links = rng.uniform(0.1, 3, (n, n)) * (rng.uniform(size=(n, n)) < 0.1)
    links[::9] = 0
    return links


def random_topics(seed=0, n=40):
    rng = np.random.default_rng(seed)
    topics = rng.uniform(size=(n, 3)) * (rng.uniform(size=(n, 3)) < 0.5)
    topics[5] = 0  # which stands for equal shares
    return topics


def shares_of(topics):
    filled = np.where(topics.sum(axis=1, keepdims=True) > 0, topics, 1.0)
    return filled / filled.sum(axis=1, keepdims=True)


def test_hosts_by_plain_loops():
    links, rng = random_links(), np.random.default_rng(1)
    hosts, depths = rng.integers(0, 6, 40) * 10, rng.integers(2, 6, 40)
    model = HostRank(decay=0.3).fit(links, hosts, depths=depths)
    between = np.zeros((60, 60))
    for u in range(40):
        for v in range(40):
            if hosts[u] != hosts[v]:
                between[hosts[u], hosts[v]] += links[u, v]
    known = np.unique(hosts)
    ranks = dict(zip(known, PageRank().fit(between[np.ix_(known, known)]).scores_))
    weights = 0.3**depths * (1 + links.sum(axis=0))
    for u in range(40):
        share = weights[u] / weights[hosts == hosts[u]].sum()
        assert model.scores_[u] == pytest.approx(ranks[hosts[u]] * share, rel=1e-9)
    assert model.scores_.sum() == pytest.approx(1)


def test_a_host_of_each_document_is_page_rank():
    links = random_links(1)
    np.fill_diagonal(links, 0)
    expected = PageRank().fit(links).scores_
    found = HostRank().fit(links, np.arange(40)).scores_
    assert np.allclose(found, expected, atol=1e-9)


def test_hosts_take_large_depths_and_weights():
    model = HostRank().fit(np.full((3, 3), 1e308), [0, 0, 1], depths=[5000, 5001, 9])
    assert np.allclose(model.scores_, [1 / 3, 1 / 6, 1 / 2])


def test_the_largest_weights_of_one_host():
    for weight in (1e308, np.finfo(np.float64).max):
        model = HostRank().fit(np.full((3, 3), weight), [0, 0, 0])
        assert np.allclose(model.scores_, 1 / 3, rtol=1e-12)
    # The first page of three gets all links, the others nothing next to it; the other
    # host, to whose pages nothing leads, shares by depth alone.
    links = np.zeros((5, 5))
    links[:3, 0] = np.finfo(np.float64).max
    found = HostRank().fit(links, [0, 0, 0, 1, 1], depths=[0, 0, 0, 0, 1]).scores_
    assert np.allclose(found, [1 / 2, 0, 0, 1 / 3, 1 / 6], rtol=1e-12, atol=1e-300)


def test_small_weights_beside_the_largest_ones():
    links = np.zeros((3, 3))
    links[0, 1:] = 1e308
    links[1, 0] = 1e-320
    found = HostRank().fit(links, [0, 1, 1])
    assert found.n_iter_ < 1000
    expected = HostRank().fit(np.sign(links), [0, 1, 1]).scores_
    assert np.allclose(found.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("stay", [0.0, 0.4, 1.0])
def test_topical_page_rank_solves_its_linear_system(stay):
    links, shares = random_links(2), shares_of(random_topics(2))
    model = TopicalPageRank(stay=stay, tol=1e-14).fit(links, random_topics(2))
    n, k = shares.shape
    system, constant = np.eye(n * k), np.zeros(n * k)
    sums = links.sum(axis=1)
    for u in range(n):
        for i in range(k):
            constant[u * k + i] = 0.15 / n * shares[u, i]
            for v in range(n):
                for j in range(k):
                    if not sums[v]:  # jumps from dead ends
                        move = shares[u, i] / n
                    else:
                        kept = stay * (i == j) + (1 - stay) * shares[v, i]
                        move = links[v, u] / sums[v] * kept
                    system[u * k + i, v * k + j] -= 0.85 * move
    expected = np.linalg.solve(system, constant).reshape(n, k)
    assert np.allclose(model.scores_, expected, rtol=0, atol=1e-11)


def test_sums_over_topics_are_the_models_without_topics():
    links, topics = random_links(3), random_topics(3)
    found = TopicalPageRank(stay=0.3).fit(links, topics).scores_
    assert np.allclose(found.sum(axis=1), PageRank().fit(links).scores_, atol=1e-9)
    hits, topical = HITS().fit(links), TopicalHITS(stay=0.3).fit(links, topics)
    assert np.allclose(topical.authorities_.sum(axis=1), hits.authorities_, atol=1e-8)
    assert np.allclose(topical.hubs_.sum(axis=1), hits.hubs_, atol=1e-8)


def test_topical_hits_satisfy_their_equations():
    links, topics = random_links(4), random_topics(4)
    model = TopicalHITS(stay=0.6, tol=1e-14, max_iter=20000).fit(links, topics)
    shares = shares_of(topics)
    for found, given, steps in (
        (model.authorities_, model.hubs_, links),
        (model.hubs_, model.authorities_, links.T),
    ):
        expected = np.zeros_like(found)
        for v in range(40):
            passed = 0.6 * given[v] + 0.4 * shares[v] * given[v].sum()
            for u in range(40):
                expected[u] += steps[v, u] * passed
        assert np.allclose(found, expected / expected.sum(), atol=1e-8)


def test_topics_are_mixed_by_queries():
    links, topics = random_links(5), random_topics(5)
    ranks, hits = TopicalPageRank().fit(links, topics), TopicalHITS().fit(links, topics)
    weights = [[1, 1, 2], [0, 0, 1]]
    shares = np.array([[0.25, 0.25, 0.5], [0, 0, 1]])
    assert np.allclose(ranks.combine(weights), shares @ ranks.scores_.T)
    authorities, hubs = hits.combine(weights)
    assert np.allclose(authorities, shares @ hits.authorities_.T)
    assert np.allclose(hubs, shares @ hits.hubs_.T)


def test_bad_input_is_named():
    links = np.ones((2, 2))
    with pytest.raises(ValueError, match="hosts must hold a whole number >= 0"):
        HostRank().fit(links, [0])
    with pytest.raises(ValueError, match="depths must hold a whole number >= 0"):
        HostRank().fit(links, [0, 1], depths=[-1, 0])
    with pytest.raises(ValueError, match=r"decay must be a number in \(0, 1\]"):
        HostRank(decay=0).fit(links, [0, 1])
    with pytest.raises(ValueError, match="all 0, as in column 1"):
        TopicalPageRank().fit(links, [[1, 0], [1, 0]])
    with pytest.raises(ValueError, match="topics must be finite and >= 0"):
        TopicalHITS().fit(links, [-1, 1])
    with pytest.raises(ValueError, match="weights must not be all 0, as in row 1"):
        TopicalHITS().fit(np.eye(3), np.eye(3)).combine([[1, 0, 0], [0, 0, 0]])
    with pytest.raises(NotFittedError):
        TopicalHITS().combine([[1]])
    with pytest.raises(ValueError, match=r"stay must be a number in \[0, 1\]"):
        TopicalPageRank(stay=2).fit(links, [1, 1])
