"""Query terms looked up in chosen documents.

All features and scores of (query, document) pairs are segmented reductions over the
same look-ups, which are therefore made once and shared.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skrank._core._queries import rows_of_queries
from skrank.text._index import Postings
from skrank.text._segments import segment_reduce
from skrank.text._texts import check_numbers


@dataclass(frozen=True, eq=False)
class TermMatches:
    """The query terms of every pair, looked up in the document of the pair.

    Attributes
    ----------
    ptr : ndarray of shape (n_pairs + 1,), dtype intp
        Look-ups of pair ``p`` are ``ptr[p]:ptr[p + 1]``, one for each query term.
    entry : ndarray of shape (n_lookups,), dtype intp
        Position of the query term among the non-zeros of the query counts.
    posting : ndarray of shape (n_lookups,), dtype intp
        Position of the term and the document among the postings; -1 if the document
        does not contain the term.
    """

    ptr: np.ndarray
    entry: np.ndarray
    posting: np.ndarray

    def of_postings(self, values: np.ndarray) -> np.ndarray:
        """Return the value of the posting of each look-up, 0 where there is none."""
        if len(values) == 0:
            return np.zeros(len(self.posting))
        found = values[self.posting]
        found[self.posting < 0] = 0.0
        return found

    def reduce(self, ufunc: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduce one value per look-up to one per pair; 0 without query terms."""
        return segment_reduce(ufunc, values, self.ptr)


def match_pairs(
    counts: sparse.csr_array,
    postings: Postings,
    query_of: np.ndarray,
    document_of: np.ndarray,
) -> TermMatches:
    """Look up the terms of queries in documents.

    Parameters
    ----------
    counts : csr_array of shape (n_queries, n_terms)
        Term counts of the queries, from `InvertedIndex.count_queries`.
    postings : Postings
        Postings of the field to look into.
    query_of, document_of : ndarray of shape (n_pairs,), dtype intp
        Query and document of each pair.

    Returns
    -------
    TermMatches
        Complexity: O(L log P), where L is the number of query terms summed over the
        pairs and P the number of postings.
    """
    entry, ptr = rows_of_queries(counts.indptr.astype(np.intp), query_of)
    documents = np.repeat(document_of, np.diff(ptr))
    posting = postings.find(counts.indices[entry].astype(np.int64), documents)
    return TermMatches(ptr, entry, posting)


def check_pairs(
    query_of: npt.ArrayLike,
    document_of: npt.ArrayLike,
    n_queries: int,
    n_documents: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Check the two arrays that name (query, document) pairs."""
    queries = check_numbers(query_of, n_queries, "query_of", "queries")
    documents = check_numbers(document_of, n_documents, "document_of", "documents")
    if len(queries) != len(documents):
        raise ValueError(
            "query_of and document_of must name one query and one document per pair, "
            f"got {len(queries)} queries and {len(documents)} documents"
        )
    return queries, documents
