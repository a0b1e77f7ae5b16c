"""Latent semantic indexing."""

from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._core._in_steps import leading_eigenvectors
from skrank._core._parameters import PositiveInt, Seed
from skrank._core._threads import blas_threads, n_threads_for
from skrank._core._validation import n_rows
from skrank.text._base import BaseTextModel
from skrank.text._idf import IdfVariant
from skrank.text._index import Documents, InvertedIndex, as_index
from skrank.text._postings import best_of_scores
from skrank.text._saving import check_is_index
from skrank.text._vsm import VectorSpace

# Scores that are held at a time, and pairs whose vectors are: 32 MB for 64 components.
_BLOCK_SCORES = 4_000_000
_BLOCK_PAIRS = 65_536
# Singular values below this share of the largest are those of no component: the
# eigenvalues that they are the roots of have as many digits as numbers.
_RANK = 1e-7


class LSI(BaseTextModel):
    r"""Latent semantic indexing: the cosine in a space of a few components.

    With the TF-IDF vectors of `VectorSpace`, of length 1, as rows of X, and with the
    first k singular vectors of :math:`X = V \Sigma U^T`,

    .. math::
        s(q, d) = \frac{\langle U_k^T x(q), U_k^T x(d) \rangle}
            {\|U_k^T x(q)\|\, \|U_k^T x(d)\|}

    Terms that occur in the same documents share components, so that a document can be
    found by terms that it does not contain. `retrieve` finds documents of all kinds. A
    query or a document without a component scores 0; such a query finds nothing, and
    such a document is not found.

    Parameters
    ----------
    n_components : int, default=100
        Number of components k. The rank of X is taken where it is lower.
    sublinear_tf : bool, default=False
        Whether a repeated term counts by the logarithm of its frequency.
    idf : {"log", "smooth", "robertson"}, default="log"
        Formula of the inverse document frequency, see `inverse_document_frequency`.
    random_state : int, RandomState or None, default=0
        Seed of the vector that the iteration for singular vectors begins with. It
        changes the last digits of the scores.

    Attributes
    ----------
    weights_ : ndarray of shape (n_documents, k)
        Vector of each document, of length 1 or 0.
    offsets_ : None
        The model has no offset per document.
    components_ : ndarray of shape (n_terms, k)
        Singular vectors U, largest singular value first; the largest entry of each is
        positive.
    space_ : VectorSpace
        Fitted model that makes TF-IDF vectors.

    References
    ----------
    [Deerwester1990]_; [Liu2011]_, section 1.2.1.1.

    Examples
    --------
    >>> from skrank.text import LSI
    >>> documents = ["car engine", "automobile engine", "flower garden", "rose garden"]
    >>> LSI(n_components=2).fit(documents).score(["car"]) > 0.99
    array([[ True,  True, False, False]])
    """

    n_components: PositiveInt = 100
    sublinear_tf: bool = False
    idf: IdfVariant = "log"
    random_state: Seed = 0

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_components": 2, "sublinear_tf": True, "idf": "smooth"},
            {"idf": "robertson"},
        ]

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents and find the components.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, one such sequence for each field, a `TextCollection`,
            or a fitted index, which several models can share.
        y : None
            Ignored.

        Returns
        -------
        LSI
            The model itself. Complexity: O(P k) for P postings in each iteration.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or the documents have no such field.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        index = as_index(documents, self.tokenizer)
        self._fit_space(index)
        X = self._vectors(self.space_.weights_, self.postings_)
        self.components_ = _components(X, self.n_components, self.random_state)
        self.weights_, self.offsets_ = self._weighed(self.postings_)
        return self

    def _fit_space(self, index: InvertedIndex) -> None:
        space = VectorSpace(
            sublinear_tf=self.sublinear_tf, idf=self.idf, field=self.field
        )
        self._keep_index(index)
        self.space_ = space.fit(index)
        self.postings_ = space.postings_

    def _vectors(self, weights, postings) -> sparse.csc_array:
        counts = postings.counts
        return sparse.csc_array(
            (weights, counts.indices, counts.indptr), shape=counts.shape
        )

    def _weigh_documents(self, postings):
        weights, _ = self.space_._weigh_documents(postings)
        return _normalised(self._vectors(weights, postings) @ self.components_), None

    def _weigh_queries(self, counts):
        weights, _ = self.space_._weigh_queries(counts)
        parts = (weights, counts.indices, counts.indptr)
        queries = sparse.csr_array(parts, shape=counts.shape)
        return _normalised(queries @ self.components_), None

    def _score_counts(self, counts):
        return self._cosines(self._weigh_queries(counts)[0])

    def _cosines(self, queries):
        # Not by BLAS, whose last digits depend on the number of rows.
        return np.einsum("qk,dk->qd", queries, self.weights_)

    def _search(self, counts, k):
        n_queries, n = n_rows(counts), self.postings_.n_documents
        documents = np.empty((n_queries, k), dtype=np.intp)
        scores = np.empty((n_queries, k))
        step = max(1, _BLOCK_SCORES // n)
        has_none = ~self.weights_.any(axis=1)
        for start in range(0, n_queries, step):
            block = slice(start, start + step)
            queries, _ = self._weigh_queries(counts[block])
            dense = self._cosines(queries)
            dense[~queries.any(axis=1)] = dense[:, has_none] = -np.inf
            n_threads = n_threads_for(dense.size)
            documents[block], scores[block] = best_of_scores(dense, k, n_threads)
        documents[scores == -np.inf] = -1
        return documents, scores

    def _score_matches(self, weighed, counts, matches, query_of, document_of):
        queries, _ = self._weigh_queries(counts)
        scores = np.empty(len(query_of))
        for start in range(0, len(query_of), _BLOCK_PAIRS):
            block = slice(start, start + _BLOCK_PAIRS)
            pairs = queries[query_of[block]], weighed[0][document_of[block]]
            scores[block] = np.einsum("pk,pk->p", *pairs)
        return scores

    def _saved_state(self) -> dict[str, Any]:
        """Return the attributes that a file holds: the index and the components."""
        state = {k: v for k, v in vars(self).items() if k not in self.get_params(False)}
        if "index_" not in state:
            return state
        again = clone(self)
        again._fit_space(self.index_)
        self._check_learned({k: v for k, v in vars(again).items() if k in state})
        again.components_ = self.components_
        weights, offsets = again._weighed(again.postings_)
        self._check_learned({"weights_": weights, "offsets_": offsets})
        return {name: state[name] for name in ("index_", "components_")}

    def _restore_state(self) -> None:
        """Learn again what follows from the index and the components."""
        components: Any = vars(self).pop("components_", None)
        index: Any = vars(self).get("index_")
        if index is None or components is None:
            if index is not None or components is not None:
                raise ValueError("LSI must have both index_ and components_")
            super()._restore_state()
            return
        check_is_index(self, index)
        self._fit_space(index)
        if (
            not isinstance(components, np.ndarray)
            or components.dtype != np.float64
            or components.ndim != 2
            or len(components) != len(index.vocabulary_)
            or not np.all(np.abs(components) <= 1 + _RANK)
        ):
            raise ValueError(
                "components_ must hold a row of numbers from -1 to 1 for each of "
                f"{len(index.vocabulary_)} terms"
            )
        self.components_ = components
        self.weights_, self.offsets_ = self._weighed(self.postings_)


def _normalised(rows: np.ndarray) -> np.ndarray:
    """Return rows of length 1, and of zeros where there is nothing but rounding."""
    norms = np.sqrt(np.einsum("rk,rk->r", rows, rows))
    inverse = np.zeros_like(norms)
    # The rows are projections of vectors of length 1.
    filled = norms > _RANK
    inverse[filled] = 1 / norms[filled]
    return rows * inverse[:, None]


def _leading(X: sparse.csc_array, k: int, draw) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest singular values, and the right singular vectors as rows."""
    shape: Any = X.shape
    is_high = shape[0] >= shape[1]
    A: Any = X if is_high else X.T
    space = leading_eigenvectors(lambda v: A.T @ (A @ v), min(shape), k, draw)
    left, values, right = linalg.svd(A @ space, full_matrices=False)
    return values, right @ space.T if is_high else left.T


def _components(X: sparse.csc_array, k: int, random_state) -> np.ndarray:
    """Return the first right singular vectors as columns."""
    shape: Any = X.shape
    if not X.count_nonzero():  # the weight of a term in all documents is stored as 0
        return np.zeros((shape[1], 0))
    least = min(shape)
    with blas_threads(1):  # whose results depend on their number
        if k < least:
            draw = check_random_state(random_state).standard_normal
            values, vectors = _leading(X, k, draw)
        else:
            _, values, vectors = linalg.svd(X.toarray(), full_matrices=False)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > _RANK * values.max()][:k]
    U = vectors[order].T
    largest = np.abs(U).argmax(axis=0)
    return np.ascontiguousarray(U * np.sign(U[largest, np.arange(U.shape[1])]))
