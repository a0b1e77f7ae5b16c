"""Features that tell how close the terms of a query stand in a document."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Parameters, Positive, invalid_parameter
from skrank._core._threads import n_threads_for
from skrank._core._validation import n_rows
from skrank.text._index import Documents, InvertedIndex, Postings, as_index
from skrank.text._matching import check_pairs, match_pairs
from skrank.text._postings import proximities
from skrank.text._saving import FittedToIndex
from skrank.text._texts import Queries
from skrank.text._tokenizer import Analyzer

# Name of the features of whole documents, as in `LetorFeatures`.
_WHOLE = "whole"
_NAMES = (
    "span",
    "span_norm",
    "cover",
    "cover_norm",
    "distance.min",
    "distance.mean",
    "distance.max",
    "proximity",
)
_PER_LOOKUP = 50  # nanoseconds


class ProximityFeatures(Parameters, FittedToIndex):
    r"""Extract features of the proximity of query terms from (query, document) pairs.

    Of the different terms of the query, those count that the document contains; its
    terms are numbered after the tokenizer has left out some. For every field, and for
    whole documents when there are several fields:

    - ``span``: the number of terms from the first occurrence of a query term to the
      last one; ``span_norm``: divided by the number of occurrences;
    - ``cover``: the number of terms of the shortest segment that contains each of the
      matched query terms; ``cover_norm``: divided by their number;
    - ``distance.min``, ``distance.mean``, ``distance.max``: over all pairs of matched
      terms, the distance of their closest occurrences; LEN(d) where fewer than two
      terms match;
    - ``proximity``: :math:`\log(\alpha + \exp(-\delta))` with the minimum distance
      :math:`\delta`, which can be added to the score of a relevance model.

    Spans and covers are 0 where no term matches.

    Parameters
    ----------
    fields : sequence of str, default=None
        Names of the fields to describe, ``"whole"`` for whole documents. None takes all
        fields and, if there are several, whole documents.
    alpha : float, default=0.3
        What distances count, α > 0: the larger, the less.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents, with positions.
    feature_names_ : list of str
        Name of every column, ``"field.feature"``.

    See Also
    --------
    LetorFeatures : Features from term counts.

    References
    ----------
    [Tao2007]_, section 3.

    Examples
    --------
    >>> from skrank.text import ProximityFeatures
    >>> documents = ["sort rows of a matrix", "sort a list of a dict by rows"]
    >>> extractor = ProximityFeatures().fit(documents)
    >>> X = extractor.extract(["sort rows"], [0, 0], [0, 1])
    >>> extractor.feature_names_[0], X[:, 0]
    ('text.span', array([2., 4.]))
    >>> extractor.feature_names_[4], X[:, 4]
    ('text.distance.min', array([1., 3.]))
    """

    fields: Sequence[str] | None = None
    alpha: Positive = 0.3
    tokenizer: Analyzer | None = None
    #: Whether an index must keep positions, for those who make it.
    _needs_positions: ClassVar[bool] = True

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"fields": ("whole",), "alpha": 1.0}]

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents with positions.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, or for each field one text per document, a
            `TextCollection`, or a fitted index with positions.
        y : None
            Ignored.

        Returns
        -------
        ProximityFeatures
            The extractor itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, the documents lack one of the fields, or an
            index has no positions.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        self._keep_index(as_index(documents, self.tokenizer, with_positions=True))
        self.feature_names_ = [
            f"{field}.{name}" for field in self._resolved() for name in _NAMES
        ]
        return self

    def extract(
        self,
        queries: Queries,
        query_of: npt.ArrayLike,
        document_of: npt.ArrayLike,
    ) -> np.ndarray:
        """Compute the features of pairs.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, which are not looked
            at.
        query_of, document_of : array-like of shape (n_pairs,), dtype int
            The number of the query and of the document of each pair.

        Returns
        -------
        ndarray of shape (n_pairs, n_features), dtype float64
            One row per pair, with the columns of ``feature_names_``. Complexity:
            O(m n) for a pair with m terms that occur n times.

        Raises
        ------
        ValueError
            If a number names no query or no document.
        TypeError
            If a query is missing or neither a string nor such a mapping.
        """
        self._check_fitted("feature_names_")
        counts = self.index_.count_queries(queries)
        query_of, document_of = check_pairs(
            query_of, document_of, n_rows(counts), self.index_.n_documents_
        )
        X = np.empty((len(query_of), len(self.feature_names_)))
        for i, field in enumerate(self._resolved()):
            postings = self.index_.postings(None if field == _WHOLE else field)
            block = slice(i * len(_NAMES), (i + 1) * len(_NAMES))
            X[:, block] = self._measured(postings, counts, query_of, document_of)
        return X

    def get_feature_names_out(self, input_features: None = None) -> np.ndarray:
        """Name the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_features,), dtype object
            Name of every column, ``"field.feature"``.
        """
        check_is_fitted(self, "feature_names_")
        return np.asarray(self.feature_names_, dtype=object)

    def _measured(
        self,
        postings: Postings,
        counts: sparse.csr_array,
        query_of: np.ndarray,
        document_of: np.ndarray,
    ) -> np.ndarray:
        """Return the features of one field."""
        matches = match_pairs(counts, postings, query_of, document_of)
        assert postings.positions is not None
        n_threads = n_threads_for(_PER_LOOKUP * len(matches.posting))
        places = postings.position_starts, postings.positions
        measured = proximities(matches.ptr, matches.posting, *places, n_threads)
        span, occurrences, cover, matched, *distances = measured.T
        lengths = postings.lengths[document_of]
        distances = [np.where(np.isinf(d), lengths, d) for d in distances]
        return np.column_stack(
            [
                span,
                span / np.maximum(occurrences, 1),
                cover,
                cover / np.maximum(matched, 1),
                *distances,
                np.log(self.alpha + np.exp(-distances[0])),
            ]
        )

    def _resolved(self) -> tuple[str, ...]:
        """Return the names of the fields, which the index has."""
        known = self.index_.fields_
        if _WHOLE in known:
            raise ValueError(
                f"documents must have no field {_WHOLE!r}, which is the name of the "
                "features of whole documents; rename it"
            )
        if self.fields is None:
            return known if len(known) == 1 else (*known, _WHOLE)
        for field in self.fields:
            self.index_.postings(None if field == _WHOLE else field)
        return tuple(self.fields)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fields is not None and (
            len(self.fields) == 0 or len(set(self.fields)) < len(self.fields)
        ):
            raise invalid_parameter(
                self, "fields", "different names, at least one", self.fields
            )
