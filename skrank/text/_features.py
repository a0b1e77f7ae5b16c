"""Feature vectors of (query, document) pairs, as in the LETOR data sets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import Parameters, invalid_parameter
from skrank._core._validation import n_rows
from skrank.text._base import BaseTextModel
from skrank.text._bm25 import BM25
from skrank.text._idf import inverse_document_frequency
from skrank.text._index import Documents, InvertedIndex, Postings, as_index
from skrank.text._lm_absolute import LMAbsoluteDiscount
from skrank.text._lm_dirichlet import LMDirichlet
from skrank.text._lm_jelinek_mercer import LMJelinekMercer
from skrank.text._matching import TermMatches, check_pairs, match_pairs
from skrank.text._others import OtherDocuments
from skrank.text._saving import FittedToIndex
from skrank.text._texts import Queries
from skrank.text._tokenizer import Analyzer
from skrank.text._vsm import VectorSpace

# Name under which the features of whole documents are listed among the fields.
WHOLE = "whole"
_STATISTICS = ("sum", "min", "max", "mean", "var")


def _default_models() -> dict[str, BaseTextModel]:
    return {
        "vsm": VectorSpace(),
        "bm25": BM25(),
        "lmir.abs": LMAbsoluteDiscount(),
        "lmir.dir": LMDirichlet(),
        "lmir.jm": LMJelinekMercer(),
    }


class LetorFeatures(Parameters, FittedToIndex):
    """Extract the text features of LETOR and MSLR from (query, document) pairs.

    For every field, and for whole documents when there are several fields:

    - ``covered``, ``covered_ratio``: the number of different query terms that occur in
      the document, also divided by the number of those that the collection contains;
    - ``length``: the number of terms of the document, LEN(d);
    - ``idf.sum``: the sum of IDF(t) over the query terms;
    - ``tf``, ``tf_norm``, ``tfidf``: sum, minimum, maximum, mean and variance over the
      query terms of TF(t, d), TF(t, d) / LEN(d) and TF(t, d) IDF(t), where terms that
      the document lacks count as 0;
    - the score of each model, by default ``vsm``, ``bm25``, ``lmir.abs``, ``lmir.dir``
      and ``lmir.jm``.

    Parameters
    ----------
    fields : sequence of str, default=None
        Names of the fields to describe, ``"whole"`` for whole documents. None takes all
        fields and, if there are several, whole documents.
    models : mapping of str to model, default=None
        Relevance models by the name of their feature; each is cloned for every field.
        None takes the five models above.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    feature_names_ : list of str
        Name of every column, ``"field.feature"``.
    models_ : dict of str to dict of str to model
        Fitted models of each field.

    References
    ----------
    [Liu2011]_, tables 10.2–10.4. The statistics over query terms are those of the
    feature list of MSLR-WEB10K.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.text import LetorFeatures
    >>> extractor = LetorFeatures().fit(
    ...     {"title": ["sort", "invert"], "body": ["sorts an array", "of a matrix"]})
    >>> X = extractor.extract(["sort array"], [0, 0], [0, 1])
    >>> X.shape
    (2, 72)
    >>> extractor.feature_names_[:3]
    ['title.covered', 'title.covered_ratio', 'title.length']
    >>> X[:, :3]
    array([[1. , 0.5, 1. ],
           [0. , 0. , 1. ]])
    """

    fields: Sequence[str] | None = None
    models: Mapping[str, BaseTextModel] | None = None
    tokenizer: Analyzer | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"fields": ("whole",)},
            {"models": {"bm25": BM25(k1=0.9)}, "tokenizer": str.split},
        ]

    def fit(self, documents: Documents | InvertedIndex, y: None = None) -> Self:
        """Index documents and fit the models of every field.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, or for each field one text per document; the fields
            of a data frame are its columns, and its documents are its rows. Also a
            `TextCollection` or a fitted index.
        y : None
            Ignored.

        Returns
        -------
        LetorFeatures
            The extractor itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, or the documents lack one of the fields.
        TypeError
            If a document is missing or no string.
        """
        self._check_parameters()
        self.index_ = as_index(documents, self.tokenizer)
        models = _default_models() if self.models is None else self.models
        self.models_ = {
            field: {
                name: _fitted(model, field, self.index_)
                for name, model in models.items()
            }
            for field in self._resolve_fields()
        }
        self.feature_names_ = [
            f"{field}.{feature}"
            for field in self.models_
            for feature in (*_term_feature_names(), *models)
        ]
        return self

    def extract(
        self,
        queries: Queries,
        query_of: npt.ArrayLike,
        document_of: npt.ArrayLike,
        *,
        documents: Documents | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> np.ndarray:
        """Compute the feature vectors of pairs.

        Parameters
        ----------
        queries : sequence of str or mapping of str to float
            A text for each query, or its terms with their weights, as `RM3.expand`
            returns them.
        query_of, document_of : array-like of shape (n_pairs,), dtype int
            The number of the query and of the document of each pair.
        documents : sequence of str, mapping, data frame or TextCollection, default=None
            Documents that ``document_of`` numbers instead of those of `fit`, with the
            same fields. Frequencies and mean lengths remain those that `fit` has seen;
            terms that it has not seen count in the length of a document only.
        dtype : {float64, float32}, default=float64
            Type of the features.

        Returns
        -------
        ndarray of shape (n_pairs, n_features)
            One row per pair, with the columns of ``feature_names_``. Complexity:
            O(L log P) for each field, where L is the number of query terms summed over
            the pairs and P the number of postings.

        Raises
        ------
        ValueError
            If a number names no query or no document, the documents lack a field, or
            the dtype is another one.
        TypeError
            If a query is missing or neither a string nor such a mapping, or a document
            is missing or no string.
        """
        check_is_fitted(self, "models_")
        _check_dtype(dtype)
        counts = self.index_.count_queries(queries)
        others = None if documents is None else OtherDocuments(self.index_, documents)
        n_documents = (others or self.index_).n_documents_
        query_of, document_of = check_pairs(
            query_of, document_of, n_rows(counts), n_documents
        )
        X = np.empty((len(query_of), len(self.feature_names_)), dtype=dtype)
        column = 0
        for field, models in self.models_.items():
            postings = (others or self.index_).postings(_of_index(field))
            matches = match_pairs(counts, postings, query_of, document_of)
            for feature in _term_features(counts, postings, matches, document_of):
                X[:, column] = feature
                column += 1
            for model in models.values():
                weighed = (
                    (model.weights_, model.offsets_)
                    if others is None
                    else model._weighed(postings)
                )
                X[:, column] = model._score_matches(
                    weighed, counts, matches, query_of, document_of
                )
                column += 1
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, model in (self.models or {}).items():
            if not isinstance(model, BaseTextModel):
                raise invalid_parameter(
                    self, f"models[{shown(name)}]", "a model of skrank.text", model
                )
            if not isinstance(name, str) or name in _term_feature_names():
                accepted = "a mapping whose keys are strings and name no other feature"
                raise invalid_parameter(self, "models", accepted, self.models)
        if self.fields is not None and (
            len(self.fields) == 0 or len(set(self.fields)) < len(self.fields)
        ):
            raise invalid_parameter(
                self, "fields", "different names, at least one", self.fields
            )

    def _resolve_fields(self) -> tuple[str, ...]:
        known = self.index_.fields_
        if WHOLE in known:
            raise ValueError(
                f"documents must have no field {WHOLE!r}, which is the name of the "
                "features of whole documents; rename it"
            )
        if self.fields is None:
            return known if len(known) == 1 else (*known, WHOLE)
        for field in self.fields:
            self.index_.postings(_of_index(field))  # raises if there is no such field
        return tuple(self.fields)


def _check_dtype(dtype: Any) -> None:
    try:
        accepted = np.dtype(dtype) in (np.float64, np.float32) and dtype is not None
    except (TypeError, ValueError):  # no type of NumPy
        accepted = False
    if not accepted:
        raise ValueError(f"dtype must be float64 or float32, got {shown(dtype)}")


def _fitted(model: BaseTextModel, field: str, index: InvertedIndex) -> BaseTextModel:
    """Return a copy of a model, fitted to one field."""
    copy: Any = clone(model)
    return copy.set_params(field=_of_index(field)).fit(index)


def _of_index(field: str) -> str | None:
    """Return the name by which the index knows a field."""
    return None if field == WHOLE else field


def _term_feature_names() -> Iterator[str]:
    yield from ("covered", "covered_ratio", "length", "idf.sum")
    for quantity in ("tf", "tf_norm", "tfidf"):
        for statistic in _STATISTICS:
            yield f"{quantity}.{statistic}"


def _term_features(
    counts, postings: Postings, matches: TermMatches, document_of: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the features from term counts, in the order of `_term_feature_names`."""
    n_terms = np.diff(matches.ptr).astype(float)
    idf = inverse_document_frequency(
        postings.document_frequency, postings.collection_size, "log"
    )[counts.indices[matches.entry]]
    tf = matches.of_postings(postings.counts.data)
    covered = matches.reduce(np.add, (tf > 0).astype(float))
    lengths = postings.lengths[document_of]
    yield covered
    yield covered / np.maximum(n_terms, 1)
    yield lengths
    yield matches.reduce(np.add, idf)
    per_length = tf / np.repeat(np.maximum(lengths, 1), np.diff(matches.ptr))
    for values in (tf, per_length, tf * idf):
        yield from _statistics(matches, values, np.maximum(n_terms, 1))


def _statistics(
    matches: TermMatches, values: np.ndarray, n_terms: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the sum, minimum, maximum, mean and variance over the query terms."""
    total = matches.reduce(np.add, values)
    mean = total / n_terms
    # Two passes: the mean of squares minus the squared mean would lose digits.
    deviations = values - np.repeat(mean, np.diff(matches.ptr))
    yield total
    yield matches.reduce(np.minimum, values)
    yield matches.reduce(np.maximum, values)
    yield mean
    yield matches.reduce(np.add, deviations**2) / n_terms
