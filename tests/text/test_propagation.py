"""Propagation against linear systems of plain loops, and by hand."""

from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skrank.text import LinkGraph, SiteMap, propagate_links, propagate_site

KINDS = ["weighted_in", "weighted_out", "uniform_in", "uniform_out"]


def random_case(seed, n=30):
    rng = np.random.default_rng(seed)
    links = rng.uniform(0.1, 3, (n, n)) * (rng.uniform(size=(n, n)) < 0.1)
    links[::7] = 0
    relevance = rng.uniform(0, 5, n) * (rng.uniform(size=n) < 0.6)
    return links, relevance


def solved(values, links, kind, relevance, alpha):
    """Solve h = alpha f + (1 - alpha) W h, with W written down link by link."""
    n = len(links)
    steps = links if kind.endswith("in") else links.T
    chances = np.zeros((n, n))
    for here in range(n):
        weights = [
            steps[here, there] * (relevance[there] if "weighted" in kind else 1.0)
            for there in range(n)
        ]
        for there in range(n):
            if sum(weights):
                chances[there, here] = weights[there] / sum(weights)
    return np.linalg.solve(np.eye(n) - (1 - alpha) * chances, alpha * values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [0.2, 0.7, 1.0])
def test_scores_solve_their_linear_system(kind, alpha):
    links, relevance = random_case(0)
    found = propagate_links(relevance, links, kind, alpha=alpha, tol=1e-14)
    expected = solved(relevance, links, kind, relevance, alpha)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_several_terms_spread_as_each_alone(kind):
    links, relevance = random_case(1)
    counts = np.random.default_rng(2).poisson(1.0, (30, 3)).astype(float)
    found = propagate_links(counts, links, kind, relevance=relevance, tol=1e-14)
    for term in range(3):
        expected = solved(counts[:, term], links, kind, relevance, 0.5)
        assert np.allclose(found[:, term], expected, rtol=0, atol=1e-12)


def test_three_pages_by_hand():
    # Page 0 links to 1 and 2, which are relevant to 1 and 3, and page 1 to 2.
    graph = LinkGraph.from_edges([0, 0, 1], [1, 2, 2])
    scores = [2.0, 1.0, 3.0]
    weighted = propagate_links(scores, graph, "weighted_in")
    # h0 = 2/2; h1 = 1/2 + 1/2 * 1/4 * h0; h2 = 3/2 + 1/2 (3/4 h0 + h1)
    assert np.allclose(weighted, [1.0, 0.625, 2.1875], atol=1e-12)
    back = propagate_links(scores, graph, "weighted_out")
    # Who leaves 2 backwards goes to 0 and 1 with the chances 2/3 and 1/3.
    h2, h1 = 1.5, 0.5 + 0.5 * 1.5 / 3
    assert np.allclose(back, [1 + 0.5 * (h1 + 1.5 * 2 / 3), h1, h2], atol=1e-12)
    uniform = propagate_links(scores, graph, "uniform_out")
    h1 = 0.5 + 0.5 * 1.5 / 2
    assert np.allclose(uniform, [1 + 0.5 * (h1 + 1.5 / 2), h1, 1.5], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_scale_and_order_do_not_matter(kind):
    links, relevance = random_case(3)
    one = propagate_links(relevance, links, kind)
    for factor in (1e-300, 1e300):
        scaled = propagate_links(relevance, links * factor, kind)
        assert np.allclose(scaled, one, atol=1e-9)
        huge = propagate_links(relevance * factor, links, kind)
        assert np.allclose(huge / factor, one, atol=1e-9)
    order = np.random.default_rng(0).permutation(30)
    moved = propagate_links(relevance[order], links[np.ix_(order, order)], kind)
    assert np.allclose(moved, one[order], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_spreads_without_links_or_relevance(kind):
    assert propagate_links([1.0, 2.0], np.zeros((2, 2)), kind).tolist() == [0.5, 1.0]
    graph = LinkGraph.from_edges([0], [1])
    assert propagate_links([0.0, 0.0], graph, kind).tolist() == [0.0, 0.0]
    assert propagate_links(np.empty((2, 0)), graph, kind, relevance=[1, 1]).size == 0
    assert graph.matrix.nnz == 1


def test_children_by_a_loop():
    urls = ["a.org/", "a.org/x", "a.org/y", "a.org/d/", "a.org/d/z", "b.org/"]
    site = SiteMap(urls)
    children = {0: [1, 2, 3], 3: [4]}
    values = np.random.default_rng(0).uniform(size=(6, 2))
    expected = 1.3 * values
    for parent, pages in children.items():
        expected[parent] += 0.7 * values[pages].mean(axis=0)
    found = propagate_site(values, site, alpha=0.3)
    assert np.allclose(found, expected, rtol=1e-14)
    assert np.allclose(propagate_site(values[:, 0], site, alpha=0.3), expected[:, 0])
    packed = propagate_site(sparse.csr_array(values), site, alpha=0.3)
    assert np.allclose(packed.toarray(), expected)
    assert np.array_equal(propagate_site(values, site, alpha=1.0), 2 * values)


def test_iterations_that_end_early_are_told():
    circle = LinkGraph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.warns(ConvergenceWarning, match="propagate_links has not converged"):
        propagate_links([1.0, 0.0, 0.0], circle, "uniform_in", alpha=0.01, max_iter=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0]}, r"row for each of 2 nodes, got shape \(1,\)"),
        ({"values": [1.0, np.nan]}, "values must be finite"),
        ({"values": [1.0, -1.0]}, "values must hold numbers >= 0"),
        ({"values": np.ones((2, 2))}, "relevance must have one dimension"),
        ({"kind": "sideways"}, "kind must be"),
        ({"alpha": 0}, r"alpha must be a number in \(0, 1\]"),
        ({"values": ["a", "b"]}, "values must hold numbers"),
    ],
)
def test_bad_input_is_named(arguments, message):
    graph = LinkGraph.from_edges([0], [1])
    with pytest.raises((ValueError, TypeError), match=message):
        propagate_links(**{"values": [1.0, 2.0], "links": graph} | arguments)


def test_bad_input_of_sites_is_named():
    site = SiteMap(["a.org", "b.org"])
    with pytest.raises(TypeError, match="site must be a SiteMap, got"):
        propagate_site([1.0], cast(Any, ["a.org"]))
    with pytest.raises(ValueError, match="row for each of 2 nodes"):
        propagate_site([1.0], site)
    with pytest.raises(ValueError, match="numbers for each of 2 pages"):
        propagate_site(sparse.csr_array(np.ones((3, 1))), site)
    with pytest.raises(ValueError, match="values are so large that their sums over"):
        propagate_site([1.7e308, 1.0], site)
    for wrong in (np.nan, np.inf):
        for make in (sparse.csr_array, sparse.csc_array, sparse.lil_array):
            with pytest.raises(ValueError, match="values must be finite"):
                propagate_site(make([[1.0], [wrong]]), site)


@pytest.mark.parametrize(
    "odd",
    [
        np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
        np.array([1 + 1j, 2.0]),
        np.ma.MaskedArray([1.0, 2.0], mask=[True, False]),
    ],
    ids=["dates", "complex", "masked"],
)
def test_odd_types_are_not_converted(odd):
    graph = LinkGraph.from_edges([0], [1])
    with pytest.raises(ValueError, match="values must"):
        propagate_links(odd, graph)
    with pytest.raises(ValueError, match="relevance must"):
        propagate_links([1.0, 2.0], graph, relevance=odd)
    with pytest.raises(ValueError, match="values must"):
        propagate_site(odd, SiteMap(["a.org", "b.org"]))


def test_negative_values_are_named_as_they_were_given():
    links = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"^values must hold numbers >= 0, found -1"):
        propagate_links([-1.0, 1.0], links, "weighted_in")
    with pytest.raises(ValueError, match="relevance must hold numbers >= 0, found -1"):
        propagate_links([1.0, 1.0], links, "weighted_in", relevance=[-1.0, 1.0])
