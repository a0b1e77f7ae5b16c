"""Features of pages: their importance, their URLs, and relevance that reaches them.

Scores that do not depend on the query are computed once, in `fit`. Relevance spreads
anew for each query, over all documents, because a document may be reached from others
that are in no pair.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from skrank._core._validation import as_numbers
from skrank.text._base import BaseTextModel
from skrank.text._hits import HITS
from skrank.text._host_rank import HostRank
from skrank.text._index import InvertedIndex, Postings
from skrank.text._link_graph import LinkGraph, as_graph
from skrank.text._matching import match_pairs
from skrank.text._others import ChangedPostings
from skrank.text._page_rank import PageRank
from skrank.text._propagation import propagate_links, propagate_site
from skrank.text._site_map import SiteMap
from skrank.text._topical_hits import TopicalHITS
from skrank.text._topical_page_rank import TopicalPageRank, shares_of_topics

# Names under which the naive Bayes classifier of queries stands among the scores.
_TERMS, _PRIOR = "topics.terms", "topics.prior"


def aligned_links(links: Any, index: InvertedIndex) -> LinkGraph:
    """Return a graph whose nodes are the documents of an index, in their order."""
    graph = as_graph(links)
    if graph.ids is not None and index.ids_ is not None:
        number_of = {name: i for i, name in enumerate(graph.ids.tolist())}
        ids = index.ids_.tolist()
        missing = next((name for name in ids if name not in number_of), None)
        if missing is not None or len(ids) != len(graph):
            found = f"lack {missing!r}" if missing is not None else "have others too"
            raise ValueError(
                "links must have the documents as nodes, but their ids " + found
            )
        order = np.array([number_of[name] for name in ids], dtype=np.intp)
        graph = LinkGraph(graph.matrix[order][:, order])
    if len(graph) != index.n_documents_:
        raise ValueError(
            f"links must have a node for each of {index.n_documents_} documents, got "
            f"{len(graph)}"
        )
    return LinkGraph(graph.matrix)


def aligned_site(urls: Any, index: InvertedIndex) -> SiteMap:
    """Return the site map of URLs, one for each document of an index."""
    site = SiteMap(urls)
    if len(site) != index.n_documents_:
        raise ValueError(
            f"urls must hold one URL for each of {index.n_documents_} documents, got "
            f"{len(site)}"
        )
    return site


def aligned_topics(topics: Any, index: InvertedIndex) -> np.ndarray:
    """Return topics with a row for each document of an index."""
    shares_of_topics(topics, index.n_documents_)  # which checks them
    # A copy, which does not follow later changes of what was given.
    return np.array(as_numbers(topics, "topics")).reshape(index.n_documents_, -1)


def page_scores(
    names: Iterable[str],
    index: InvertedIndex,
    links: Any,
    site: Any,
    topics: Any,
) -> dict[str, np.ndarray]:
    """Compute what features of pages need that does not depend on the query.

    Parameters
    ----------
    names : iterable of str
        Names of `PAGE_FEATURES`.
    index : InvertedIndex
        Index of the documents.
    links, site, topics : LinkGraph, SiteMap, ndarray or None
        What the features need; None where it is not there.

    Returns
    -------
    dict of str to ndarray
        Scores by the names of features, with a column for each topic where they depend
        on topics; and what classifies queries.
    """
    wanted, scores = set(names), {}
    if wanted & {"page.hits.authority", "page.hits.hub"}:
        hits = HITS().fit(links)
        scores |= {
            "page.hits.authority": hits.authorities_,
            "page.hits.hub": hits.hubs_,
        }
    if "page.pagerank" in wanted:
        scores["page.pagerank"] = PageRank().fit(links).scores_
    if "page.hostrank" in wanted:
        model = HostRank().fit(links, site.hosts, depths=site.depths)
        scores["page.hostrank"] = model.scores_
    if wanted & {"page.inlinks", "page.outlinks"}:
        scores |= {"page.inlinks": links.in_degree, "page.outlinks": links.out_degree}
    if site is not None:
        scores |= {
            "page.url_slashes": site.n_slashes,
            "page.url_length": site.lengths,
            "page.children": site.n_children,
        }
    if "page.topical_pagerank" in wanted:
        topical = TopicalPageRank().fit(links, topics)
        scores["page.topical_pagerank"] = topical.scores_
    if wanted & {"page.topical_hits.authority", "page.topical_hits.hub"}:
        parts = TopicalHITS().fit(links, topics)
        scores |= {
            "page.topical_hits.authority": parts.authorities_,
            "page.topical_hits.hub": parts.hubs_,
        }
    scores = {k: v.astype(np.float64) for k, v in scores.items() if k in wanted}
    if any(values.ndim == 2 for values in scores.values()):
        scores |= _classifier(index.postings(), topics)
    return scores


def _classifier(postings: Postings, topics: np.ndarray) -> dict[str, np.ndarray]:
    """Return log P(t | topic), smoothed by one more of each term, and log P(topic)."""
    shares = shares_of_topics(topics, postings.n_documents)
    counts = np.asarray(postings.counts.T @ shares) + 1.0
    terms = np.log(counts) - np.log(counts.sum(axis=0))
    return {_TERMS: terms, _PRIOR: np.log(shares.mean(axis=0))}


class PageColumns:
    """Features of pages for some pairs.

    Parameters
    ----------
    scores : dict of str to ndarray
        What `page_scores` returned.
    links, site : LinkGraph, SiteMap or None
        Along which relevance spreads.
    model : model of skrank.text
        Fitted model of whole documents, whose scores are the relevance.
    alpha : float
        Parameter of the propagation.
    counts : csr_array of shape (n_queries, n_terms)
        Term counts of the queries.
    query_of, document_of : ndarray of shape (n_pairs,), dtype intp
        Query and document of each pair.
    """

    def __init__(
        self,
        scores: dict[str, np.ndarray],
        links: Any,
        site: Any,
        model: BaseTextModel | None,
        alpha: float,
        counts: sparse.csr_array,
        query_of: np.ndarray,
        document_of: np.ndarray,
    ):
        self._scores, self._links, self._site = scores, links, site
        self._model: Any = model
        self._alpha, self._counts = alpha, counts
        self._query_of, self._document_of = query_of, document_of

    def columns(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return columns of shape (n_pairs,) by the names of their features."""
        columns = {name: self._of_page(name) for name in names if name in self._scores}
        spread = [name for name in names if name not in columns]
        if spread:
            columns |= self._propagated(spread)
        return columns

    def _of_page(self, name: str) -> np.ndarray:
        scores = self._scores[name][self._document_of]
        if scores.ndim == 1:
            return scores
        evidence = self._counts @ self._scores[_TERMS] + self._scores[_PRIOR]
        chances = np.exp(log_softmax(evidence, axis=1))
        return np.einsum("pj,pj->p", chances[self._query_of], scores)

    def _propagated(self, names: list[str]) -> dict[str, np.ndarray]:
        """Return scores after relevance, or counts of terms, have spread."""
        columns = {name: np.empty(len(self._query_of)) for name in names}
        weighted = [name for name in names if ".weighted_" in name]
        order = np.argsort(self._query_of, kind="stable")
        queries, starts = np.unique(self._query_of[order], return_index=True)
        for query, pairs in zip(queries.tolist(), np.split(order, starts[1:])):
            counts = self._counts[[query]]
            relevance = self._model._score_counts(counts)[0]
            documents = self._document_of[pairs]
            if weighted and relevance.min(initial=0.0) < 0:
                raise ValueError(
                    f"{weighted[0]} weighs links by scores of the model "
                    f"{type(self._model).__name__}, which must not be negative, got "
                    f"{relevance.min():g}; idf of BM25 must not be 'robertson'"
                )
            for name in names:
                group, kind, *rest = name.split(".")
                if kind == "score_propagation":
                    spread = self._spread(group, rest, relevance, relevance)
                    columns[name][pairs] = spread[documents]
                else:
                    changed = self._changed(group, rest, counts, relevance)
                    columns[name][pairs] = self._score(counts, changed, documents)
        return columns

    def _spread(self, group: str, rest: list[str], values: Any, relevance: Any) -> Any:
        if group == "sitemap":
            return propagate_site(values, self._site, alpha=self._alpha)
        kind: Any = rest[0]
        return propagate_links(
            values, self._links, kind, relevance=relevance, alpha=self._alpha
        )

    def _changed(
        self, group: str, rest: list[str], counts: sparse.csr_array, relevance: Any
    ) -> ChangedPostings:
        """Return postings of the terms of a query whose counts have spread."""
        postings = self._model.postings_
        terms = np.sort(counts.indices)
        values: Any = postings.counts[:, terms]
        spread = sparse.csc_array(
            self._spread(group, rest, values.toarray(), relevance)
        )
        # The columns of all other terms are empty.
        n_terms = len(postings.counts.indptr) - 1
        ends = np.zeros(n_terms + 1, dtype=spread.indptr.dtype)
        ends[terms + 1] = np.diff(spread.indptr)
        parts = (spread.data, spread.indices, np.cumsum(ends, dtype=ends.dtype))
        shape = (postings.n_documents, n_terms)
        return ChangedPostings(sparse.csc_array(parts, shape=shape), postings)

    def _score(
        self, counts: sparse.csr_array, changed: Postings, documents: np.ndarray
    ) -> np.ndarray:
        """Return the scores of documents for one query by changed counts."""
        zeros = np.zeros(len(documents), dtype=np.intp)
        matches = match_pairs(counts, changed, zeros, documents)
        weighed = self._model._weighed(changed)
        return self._model._score_matches(weighed, counts, matches, zeros, documents)
