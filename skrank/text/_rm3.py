"""Expansion of queries by terms of the documents that a first search finds."""

from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skrank._core._parameters import Interval, Parameters, Positive, PositiveInt
from skrank._core._validation import n_rows
from skrank.text._base import BaseTextModel
from skrank.text._index import Documents, InvertedIndex, as_index
from skrank.text._lm_dirichlet import LMDirichlet
from skrank.text._saving import FittedToIndex
from skrank.text._segments import segment_reduce
from skrank.text._texts import Queries, as_queries
from skrank.text._tokenizer import Analyzer


class RM3(Parameters, FittedToIndex):
    r"""Expand queries by the relevance model of the documents that they find (RM3).

    The best documents D of a first search stand for the relevant ones, so that the
    terms of a relevant document are distributed as

    .. math::
        p(t | R) \propto \sum_{d \in D} \frac{TF(t, d)}{LEN(d)}\, p(q | d), \qquad
        p(q | d) = \prod_{t \in q} \left(
            \frac{TF(t, d) + \mu\, p(t | C)}{LEN(d) + \mu} \right)^{TF(t, q)}

    The ``n_terms`` most probable terms, with probabilities that sum to 1, are mixed
    with those of the query, :math:`p(t | q) = TF(t, q) / |q|`, where the length
    :math:`|q|` counts only terms that the index knows:

    .. math:: p(t | q') = \lambda\, p(t | q) + (1 - \lambda)\, p(t | R)

    All methods of the models and of `LetorFeatures` that take queries take these
    weighted terms.

    Parameters
    ----------
    model : model of skrank.text, default=None
        Model of the first search, which is cloned; None takes ``LMDirichlet(mu=mu)``.
    n_documents : int, default=10
        Number of documents that stand for the relevant ones.
    n_terms : int, default=10
        Number of terms to take from them; they may be terms of the query.
    original_weight : float, default=0.5
        Weight of the original query, λ, from 0 (relevance model only, RM1) to 1.
    mu : float, default=2000
        Number of pseudo-counts of the prior of p(q|d), μ > 0: the larger, the more
        alike are the weights of the documents.
    field : str, default=None
        Name of the field to search and to take terms from; None takes whole documents.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    model_ : model of skrank.text
        Fitted model of the first search.
    likelihood_ : LMDirichlet
        Fitted model of p(q|d).

    References
    ----------
    [Lavrenko2001]_, section 3, method 1, for the relevance model, there with smoothed
    p(t|d); [AbdulJaleel2004]_ for the mixture with the query.

    Examples
    --------
    >>> from skrank.text import BM25, RM3
    >>> documents = ["sort an array", "sort an array by quicksort", "invert a matrix"]
    >>> expander = RM3(n_documents=2, n_terms=3).fit(documents)
    >>> query, = expander.expand(["sort"])
    >>> {term: round(weight, 3) for term, weight in query.items()}
    {'sort': 0.708, 'array': 0.208, 'quicksort': 0.083}
    >>> BM25().fit(expander.index_).score([query]).round(3)
    array([[0.458, 0.459, 0.   ]])
    """

    model: BaseTextModel | None = None
    n_documents: PositiveInt = 10
    n_terms: PositiveInt = 10
    original_weight: Annotated[float, Interval(0, 1)] = 0.5
    mu: Positive = 2000.0
    field: str | None = None
    tokenizer: Analyzer | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"n_documents": 2, "n_terms": 3, "original_weight": 0.0},
            {"model": LMDirichlet(mu=5.0), "mu": 50.0, "original_weight": 1.0},
        ]

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents and fit the model of the first search.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, one such sequence for each field, a `TextCollection`,
            or a fitted index, which models can share.
        y : None
            Ignored.

        Returns
        -------
        RM3
            The object itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or the documents have no such field.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        self._keep_index(as_index(documents, self.tokenizer))
        self.likelihood_ = LMDirichlet(mu=self.mu, field=self.field).fit(self.index_)
        self.model_: BaseTextModel = self.likelihood_
        if self.model is not None:
            model: Any = clone(self.model)
            self.model_ = model.set_params(field=self.field).fit(self.index_)
        return self

    def expand(self, queries: Queries) -> list[dict[str, float]]:
        """Expand queries.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights.

        Returns
        -------
        list of dict of str to float
            The terms of each expanded query with their weights, which sum to 1, the
            largest first and equal ones in alphabetical order. The terms are those of
            the index, as its tokenizer made them. A query without any known term
            becomes an empty one, and a query without found documents is not expanded.
            Complexity: that of `retrieve` and O(P) for P postings.

        Raises
        ------
        TypeError
            If a query is missing or neither a string nor such a mapping.
        """
        self._check_fitted("model_")
        listed = as_queries(queries, "queries")
        counts = self.index_.count_queries(listed)
        found, _ = self.model_.retrieve(listed, self.n_documents)
        query_of, place = np.nonzero(found >= 0)
        feedback = self._relevance(listed, query_of, found[query_of, place])
        terms = list(self.index_.vocabulary_)
        return [
            self._mixture(_row(counts, i), _row(feedback, i), terms)
            for i in range(n_rows(counts))
        ]

    def _relevance(self, queries, query_of, document_of) -> sparse.csr_array:
        """Return p(t|R), up to a factor, of the terms of the found documents."""
        log_p = self.likelihood_.score_pairs(queries, query_of, document_of)
        ptr = np.searchsorted(query_of, np.arange(len(queries) + 1))
        # The likelihoods of long queries are too small for numbers, their ratios not.
        best = segment_reduce(np.maximum, log_p, ptr)
        weights = np.exp(log_p - best[query_of])
        postings = self.likelihood_.postings_
        weights /= postings.lengths[document_of]
        shape = (len(queries), postings.n_documents)
        chosen = sparse.csr_array((weights, (query_of, document_of)), shape=shape)
        return sparse.csr_array(chosen @ postings.counts.tocsr())

    def _mixture(self, query, feedback, terms) -> dict[str, float]:
        """Return the weights of one expanded query."""
        mixed: dict[int, float] = {}
        numbers, weights = feedback
        best = np.lexsort((numbers, -weights))[: self.n_terms]
        parts = [(query, 1.0)]
        if len(best):
            feedback = numbers[best], weights[best]
            parts = [
                (query, self.original_weight),
                (feedback, 1 - self.original_weight),
            ]
        for (numbers, weights), share in parts:
            # Divided first by the largest weight, which may be beyond a sum.
            weights = weights / weights.max(initial=1e-300)
            for number, weight in zip(numbers, share * weights / weights.sum()):
                if weight > 0:
                    mixed[int(number)] = mixed.get(int(number), 0.0) + float(weight)
        ordered = sorted(mixed.items(), key=lambda item: (-item[1], item[0]))
        return {terms[number]: weight for number, weight in ordered}


def _row(matrix: sparse.csr_array, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the values of one row."""
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return matrix.indices[part], matrix.data[part]
