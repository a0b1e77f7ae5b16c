"""PageRank and its relatives: published values, linear systems and limits."""

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skrank import text
from skrank.export import load_model, save_model
from skrank.text import (
    HITS,
    HostRank,
    LinkGraph,
    PageRank,
    TopicalHITS,
    TopicalPageRank,
    TopicPageRank,
    TrustRank,
    _link_graph,
)
from skrank.text._page_rank import BaseLinkModel

# Figure 1.3 of [Liu2011]: seven pages, numbered from 1, and the pages they link to.
FIGURE = {
    1: [2, 3, 4, 5, 7],
    2: [1],
    3: [1, 2],
    4: [2, 3, 5],
    5: [1, 3, 4, 6],
    6: [1, 5],
    7: [5],
}
MODELS = [PageRank, TopicPageRank, TrustRank, HITS]


def figure():
    sources = [u - 1 for u, targets in FIGURE.items() for _ in targets]
    return LinkGraph.from_edges(sources, [v - 1 for t in FIGURE.values() for v in t])


def random_links(seed=0, n=60):
    """Weighted links of which some nodes have none and one links to itself."""
    rng = np.random.RandomState(seed)
    links = rng.uniform(0.1, 3, (n, n)) * (rng.uniform(size=(n, n)) < 0.05)
    links[::7] = 0
    links[3, 3] = 2.0
    return links


def solved(links, jump, damping):
    """Solve the equations of the surfer, with rows of dead ends replaced by jumps."""
    chances = links.copy()
    for row in chances:
        row[:] = row / row.sum() if row.sum() else jump
    system = np.eye(len(links)) - damping * chances.T
    return np.linalg.solve(system, (1 - damping) * jump)


def fitted(cls, links, **options):
    n = len(links) if isinstance(links, LinkGraph) else np.shape(links)[0]
    weights = np.ones(n)
    model = cls(**options)
    return model.fit(links, *([weights] if cls in (TopicPageRank, TrustRank) else []))


def test_the_published_figure():
    scores = PageRank(damping=1.0).fit(figure()).scores_
    published = [0.304, 0.166, 0.141, 0.105, 0.179, 0.045, 0.060]
    assert np.allclose(scores, published, atol=1e-3)
    # Published numbers are rounded, but the stationary equations are exact.
    links = figure().matrix.toarray()
    assert np.allclose((links / links.sum(1)[:, None]).T @ scores, scores, atol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85, 0.99])
def test_page_rank_solves_its_linear_system(damping):
    links = random_links()
    model = PageRank(damping=damping, tol=1e-13, max_iter=5000).fit(links)
    expected = solved(links, np.full(60, 1 / 60), damping)
    assert np.allclose(model.scores_, expected, rtol=0, atol=1e-11)
    assert model.scores_.sum() == pytest.approx(1)


def test_topics_solve_their_systems_and_mix_linearly():
    links, rng = random_links(1), np.random.RandomState(1)
    topics = rng.uniform(size=(60, 3)) * (rng.uniform(size=(60, 3)) < 0.3)
    model = TopicPageRank(tol=1e-13).fit(links, topics)
    for topic in range(3):
        jump = topics[:, topic] / topics[:, topic].sum()
        expected = solved(links, jump, 0.85)
        assert np.allclose(model.scores_[:, topic], expected, rtol=0, atol=1e-11)
    mixed = model.combine([[1, 1, 2]])
    assert np.allclose(mixed[0], model.scores_ @ [0.25, 0.25, 0.5])
    assert model.combine(np.empty((0, 3))).shape == (0, 60)


def test_topics_of_all_documents_are_page_rank():
    links = random_links(2)
    topics = TopicPageRank().fit(links, np.ones(60)).scores_
    assert np.allclose(topics[:, 0], PageRank().fit(links).scores_, atol=1e-12)


def test_trust_comes_from_good_seeds_only():
    links = random_links(3)
    trusted = np.zeros(60)
    trusted[[4, 9, 11]] = 1
    model = TrustRank(tol=1e-13).fit(links, trusted)
    expected = solved(links, trusted / 3, 0.85)
    assert np.allclose(model.scores_, expected, rtol=0, atol=1e-11)
    inverse = PageRank(tol=1e-13).fit(links.T).scores_
    assert np.allclose(model.inverse_scores_, inverse, atol=1e-12)
    best = np.argsort(-inverse, kind="stable")
    assert (TrustRank().propose_seeds(links, 5) == best[:5]).all()
    # Of those judged, bad ones get nothing, and good ones beyond n_seeds do not count.
    trusted = np.zeros(60)
    trusted[best[[1, 40]]] = 1
    few = TrustRank(n_seeds=3, tol=1e-13).fit(links, trusted).scores_
    jump = np.zeros(60)
    jump[best[1]] = 1
    assert np.allclose(few, solved(links, jump, 0.85), rtol=0, atol=1e-11)


def test_trust_does_not_reach_what_no_seed_reaches():
    spam = LinkGraph.from_edges([0, 1, 2, 3, 4], [1, 0, 3, 4, 2])
    scores = TrustRank().fit(spam, [True, False, False, False, False]).scores_
    assert (scores[2:] == 0).all()
    assert (PageRank().fit(spam).scores_[2:] > 0.1).all()


def test_hits_are_the_leading_singular_vectors():
    links = np.random.RandomState(0).uniform(size=(20, 20))
    model = HITS(tol=1e-13).fit(links)
    left, _, right = np.linalg.svd(links)
    assert np.allclose(model.authorities_, right[0] / right[0].sum(), atol=1e-10)
    assert np.allclose(model.hubs_, left[:, 0] / left[:, 0].sum(), atol=1e-10)


def test_hits_do_not_stop_where_only_authorities_stand_still():
    # Every node has one link to it, so that the first authorities are equal.
    links = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    model = HITS(tol=1e-12).fit(links)
    assert np.allclose(model.hubs_, [1, 0, 0], atol=1e-6)
    assert np.allclose(model.authorities_, [0, 0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("cls", MODELS)
def test_scale_form_and_order_of_links_do_not_matter(cls):
    links = random_links(4)
    one = fitted(cls, links)
    names = list(one._learned)
    huge = links * (1.7e308 / links.max())
    for other in (huge, links * 1e-300, sparse.coo_array(links)):
        again = fitted(cls, other)
        for name in names:
            assert np.allclose(getattr(again, name), getattr(one, name), atol=1e-9)
    order = np.random.RandomState(0).permutation(60)
    moved = fitted(cls, links[np.ix_(order, order)])
    for name in names:
        assert np.allclose(getattr(moved, name), getattr(one, name)[order], atol=1e-8)


@pytest.mark.parametrize("cls", MODELS)
def test_graphs_without_links(cls):
    model = fitted(cls, np.zeros((3, 3)))
    expected = 0.0 if cls is HITS else 1 / 3
    for name in model._learned:
        assert np.allclose(getattr(model, name), expected)


@pytest.mark.parametrize("cls", MODELS)
def test_model_files(cls, tmp_path):
    model = fitted(cls, random_links())
    save_model(model, tmp_path / "links.skrank")
    loaded = load_model(tmp_path / "links.skrank")
    for name in model._learned:
        assert getattr(loaded, name).tobytes() == getattr(model, name).tobytes()
    assert loaded.n_iter_ == model.n_iter_


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"scores_": np.array([-1.0])}, "scores_ must hold finite numbers"),
        ({"scores_": np.array([np.nan])}, "scores_ must hold finite numbers"),
        ({"scores_": np.ones((2, 2))}, "scores_ must hold finite numbers"),
        ({"n_iter_": 0}, "n_iter_ must be"),
        ({"inverse_scores_": np.ones(2)}, "equally many nodes"),
    ],
)
def test_edited_model_files_are_refused(edit, message):
    model = fitted(TrustRank, random_links())
    vars(model).update(edit)
    with pytest.raises(ValueError, match=message):
        model._restore_state()
    del model.n_iter_
    with pytest.raises(ValueError, match="lacks a part"):
        model._restore_state()


def test_circles_are_told():
    circle = LinkGraph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.warns(ConvergenceWarning, match="TopicPageRank has not converged"):
        TopicPageRank(damping=1, max_iter=10).fit(circle, [1, 0, 0])
    with pytest.warns(ConvergenceWarning, match="HITS has not converged after 2"):
        HITS(max_iter=2).fit(random_links())


def test_edges_ids_and_degrees():
    graph = LinkGraph.from_edges(["b", "a", "b"], ["a", "c", "a"], ids=["a", "b", "c"])
    assert (graph.matrix.toarray() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]).all()
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert (graph.in_degree == [1, 0, 1]).all()
    assert (graph.out_degree == [1, 1, 0]).all()
    assert len(LinkGraph.from_edges([0], [1], n_nodes=5)) == 5
    assert repr(graph) == "LinkGraph(3 nodes, 2 links)"


def test_large_numbers_of_nodes_are_for_graphs_of_many_links(monkeypatch):
    monkeypatch.setattr(_link_graph, "_MOST_NODES", 150)
    assert len(LinkGraph.from_edges([0], [149])) == 150
    assert len(LinkGraph.from_edges([0], [150], n_nodes=151)) == 151
    assert len(LinkGraph.from_edges([0, 1], [199, 1])) == 200  # a hundred for each link
    for ends in (([0], [150]), ([0, 1], [200, 1])):
        with pytest.raises(ValueError, match="set n_nodes, or pass ids"):
            LinkGraph.from_edges(*ends)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": [0], "targets": [0, 1]}, "same length, got 1 and 2"),
        ({"sources": [-1], "targets": [0]}, "sources must hold numbers from 0"),
        ({"sources": [0], "targets": [2], "n_nodes": 2}, "targets must hold numbers"),
        (
            {"sources": ["x"], "targets": ["a"], "ids": ["a"]},
            "sources must hold ids.*'x'",
        ),
        (
            {"sources": ["a"], "targets": ["a"], "ids": ["a", "a"]},
            "ids must be different",
        ),
        (
            {"sources": [], "targets": [], "ids": ["a"], "n_nodes": 1},
            "n_nodes must be None",
        ),
        ({"sources": [0], "targets": [0], "ids": ()}, "ids is empty"),
        ({"sources": [], "targets": []}, "at least one node"),
        (
            {"sources": [0], "targets": [2**31 - 2]},
            "numbers below 10000000 where n_nodes is None, found 2147483646; set n_nod",
        ),
        ({"sources": [10**7, 1], "targets": [0, 2]}, "below 10000000 .* 10000000;"),
    ],
)
def test_edges_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        # Strings stand for lists of their letters.
        LinkGraph.from_edges(**{name: _listed(v) for name, v in arguments.items()})


def _listed(value) -> Any:
    return list(value) if isinstance(value, str) else value


MASKED = np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 0], [1, 0]])


def test_no_model_reads_links_beneath_a_mask():
    models = {
        name: cls()
        for name in text.__all__
        if inspect.isclass(cls := getattr(text, name))
        and issubclass(cls, BaseLinkModel)
        and not inspect.isabstract(cls)
    }
    assert len(models) >= 7
    besides: dict[str, Any] = {"PageRank": (), "HITS": (), "HostRank": ([0, 1],)}
    for name, model in models.items():
        with pytest.raises(ValueError, match=r"links must be .* found nan"):
            model.fit(MASKED, *besides.get(name, (np.eye(2),)))
    with pytest.raises(ValueError, match=r"sources must hold one number .* row 1 is"):
        LinkGraph.from_edges(np.ma.masked_array([0, 1], mask=[0, 1]), [1, 0])
    with pytest.raises(ValueError, match="hosts must hold one whole number per row"):
        HostRank().fit(np.eye(2), np.ma.masked_array([0, 1], mask=[0, 1]))


@pytest.mark.parametrize(
    ("links", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"square matrix.*\(2, 3\)"),
        ([[0, -1], [0, 0]], ValueError, "finite weights >= 0"),
        ([[0, np.nan], [0, 0]], ValueError, "finite weights >= 0"),
        (MASKED, ValueError, "finite weights >= 0, found nan"),
        ("links", TypeError, "links must be .* got 'links'"),
        (None, TypeError, "links must be .* got None"),
        (5, TypeError, "links must be .* got 5"),
    ],
)
def test_links_that_are_none(links, error, message):
    with pytest.raises(error, match=message):
        PageRank().fit(links)


@pytest.mark.parametrize("dtype", ["?", "u1", ">i8", ">f4", "f2", ">f2", "g"])
def test_matrices_of_any_type_of_numbers(dtype):
    links = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    expected = PageRank().fit(links).scores_
    given = links.astype(dtype)
    np.testing.assert_array_equal(PageRank().fit(given).scores_, expected)
    if "f2" in dtype:
        return  # SciPy has no sparse matrices of it
    for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        given = make(links)
        given.data = given.data.astype(dtype)
        np.testing.assert_array_equal(PageRank().fit(given).scores_, expected)


def test_matrices_are_read_in_double_precision_and_left_alone():
    twice = sparse.csr_array(
        (np.array([100, 100], dtype=np.int8), np.array([1, 1]), np.array([0, 2, 2])),
        shape=(2, 2),
    )
    assert LinkGraph(twice).matrix.toarray().tolist() == [[0, 200], [0, 0]]
    own = sparse.csr_array(
        (np.full(2, 100.0), twice.indices.copy(), twice.indptr.copy()), shape=(2, 2)
    )
    PageRank().fit(own)
    assert own.nnz == 2
    assert own.data.tolist() == [100, 100]


def test_bad_topics_and_weights():
    graph = figure()
    with pytest.raises(ValueError, match=r"row for each of 7 nodes, got shape \(2,\)"):
        TopicPageRank().fit(graph, [1, 1])
    with pytest.raises(ValueError, match="all 0, as in column 1"):
        TopicPageRank().fit(graph, np.eye(7)[:, :2] * [1, 0])
    with pytest.raises(ValueError, match="topics must be finite and >= 0"):
        TopicPageRank().fit(graph, -np.ones(7))
    with pytest.raises(ValueError, match="trusted must hold numbers"):
        TrustRank().fit(graph, ["yes"] * 7)
    with pytest.raises(ValueError, match="one dimension"):
        TrustRank().fit(graph, np.ones((7, 2)))
    worst = TrustRank().propose_seeds(graph, 7)[-1]
    with pytest.raises(ValueError, match="among the 1 seeds"):
        TrustRank(n_seeds=1).fit(graph, np.arange(7) == worst)
    with pytest.raises(NotFittedError):
        TopicPageRank().combine([[1]])
    with pytest.raises(ValueError, match=r"shape \(n_queries, 1\), got \(2,\)"):
        TopicPageRank().fit(graph, np.ones(7)).combine([1, 1])
    with pytest.raises(ValueError, match="damping must be"):
        PageRank(damping=1.1).fit(graph)


@pytest.mark.parametrize(
    "odd",
    [
        np.array(["2020-01-01"] * 7, dtype="datetime64[D]"),
        np.full(7, 1 + 1j),
        np.ma.MaskedArray(np.ones(7), mask=np.arange(7) == 2),
    ],
    ids=["dates", "complex", "masked"],
)
def test_topics_of_odd_types_are_not_converted(odd):
    for model in (TopicPageRank(), TrustRank(), TopicalPageRank(), TopicalHITS()):
        with pytest.raises(ValueError, match=r"(topics|trusted) must"):
            model.fit(figure(), odd)
    fitted = TopicPageRank().fit(figure(), np.eye(7))
    with pytest.raises(ValueError, match="weights must"):
        fitted.combine(odd[None, :])


def test_topics_are_left_as_they_were_given():
    topics = np.arange(1.0, 8.0)
    TopicPageRank().fit(figure(), topics)
    assert topics.tolist() == list(range(1, 8))
