"""Features of rows that hold a query and a document each, by the names of columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank._core._sparse import is_mapping
from skrank.text._base import BaseTextModel
from skrank.text._features import LetorFeatures
from skrank.text._index import Frame, InvertedIndex
from skrank.text._letor_tables import PAGE_FEATURES, TABLES, WHOLE
from skrank.text._saving import FittedToIndex
from skrank.text._texts import as_texts, columns_of, is_frame
from skrank.text._tokenizer import Analyzer

Columns = Frame | Mapping[str, Sequence[str]]


class PairFeatures(Parameters, TransformerMixin, FittedToIndex):
    """Turn rows of a query and a document into the features of `LetorFeatures`.

    A row of the data frame is a pair: one column holds the text of the query, and each
    of the others a field of the document. So the texts of a ranking task can stay in
    one table with its other columns, and a pipeline or a `ColumnTransformer` makes
    features of them.

    `fit` indexes the different documents of its rows; their frequencies and lengths are
    what `transform` measures the documents of any rows by, whether they were seen in
    `fit` or not. A term that `fit` has not seen counts in the length of a document and
    nowhere else.

    Parameters
    ----------
    query : str, default="query"
        Name of the column that holds the text of the query.
    fields : sequence of str, default=None
        Names of the columns that hold the fields of the document, ``"whole"`` for all
        of them together. None takes all columns but the query and, if there are
        several, whole documents.
    models : mapping of str to model, default=None
        Relevance models by the name of their feature, see `LetorFeatures`.
    tokenizer : callable, default=None
        Maps a text to its list of terms; None takes ``Tokenizer()``.
    feature_set : {"gov", "ohsumed", "letor4"} or sequence of str, default=None
        Features of a table or names of features, see `LetorFeatures`. Features of pages
        are none of rows of texts.

    Attributes
    ----------
    extractor_ : LetorFeatures
        Fitted extractor.
    index_ : InvertedIndex
        Index of the different documents of `fit`.

    See Also
    --------
    LetorFeatures : Features of pairs of numbers, for a collection of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from skrank.text import BM25, PairFeatures
    >>> rows = pd.DataFrame({
    ...     "query": ["sort rows", "sort rows", "inverse"],
    ...     "title": ["sort", "inv", "inv"],
    ...     "body": ["Sort the rows.", "Invert a matrix.", "Invert a matrix."],
    ...     "year": [2001, 1999, 1999]})
    >>> features = PairFeatures(models={"bm25": BM25()})
    >>> columns = make_column_transformer(
    ...     (features, ["query", "title", "body"]), ("passthrough", ["year"]),
    ...     verbose_feature_names_out=False)
    >>> columns.fit_transform(rows).shape
    (3, 61)
    >>> columns.get_feature_names_out()[[0, 19, 60]].tolist()
    ['title.covered', 'title.bm25', 'year']
    """

    query: str = "query"
    fields: Sequence[str] | None = None
    models: Mapping[str, BaseTextModel] | None = None
    tokenizer: Analyzer | None = None
    feature_set: str | Sequence[str] | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"fields": ("whole",)},
            {"models": {}, "query": "q"},
            {"feature_set": ("body.log_bm25", "whole.tf.sum")},
        ]

    def fit(self, X: Columns | InvertedIndex, y: npt.ArrayLike | None = None) -> Self:
        """Index the different documents of the rows.

        Parameters
        ----------
        X : data frame, mapping of str to sequence of str, or InvertedIndex
            One row per pair, with a text in each of the columns; or an index of the
            collection that the documents come from.
        y : None
            Ignored.

        Returns
        -------
        PairFeatures
            The transformer itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, a column is missing, or there are no rows.
        TypeError
            If X has no named columns, or a text is missing or no string.
        """
        self._check_parameters()
        extractor = LetorFeatures(
            fields=self.fields,
            models=self.models,
            tokenizer=self.tokenizer,
            feature_set=self.feature_set,
        )
        extractor._check_parameters()
        chosen = self.feature_set
        names = TABLES[chosen] if isinstance(chosen, str) else chosen or ()
        page = next((name for name in names if name in PAGE_FEATURES), None)
        if page is not None:
            raise ValueError(
                "feature_set must name features of fields, as rows of texts have no "
                f"links and sites; got {page!r} among them"
            )
        documents: Any = X
        if not isinstance(X, InvertedIndex):
            columns = self._columns(X)
            documents, _ = _distinct(columns, self._chosen(columns))
        self.extractor_ = extractor.fit(documents)
        self._keep_index(self.extractor_.index_)
        return self

    def transform(self, X: Columns) -> np.ndarray:
        """Compute the features of rows.

        Parameters
        ----------
        X : data frame or mapping of str to sequence of str
            One row per pair, with the columns of `fit`; others are not looked at.

        Returns
        -------
        ndarray of shape (n_rows, n_features), dtype float64
            One row per pair. Every different query and document is analysed once.

        Raises
        ------
        ValueError
            If a column is missing.
        TypeError
            If X has no named columns, or a text is missing or no string.
        """
        self._check_fitted("extractor_")
        columns = self._columns(X)
        documents, document_of = _distinct(columns, self.index_.fields_)
        queries, query_of = _distinct(columns, [self.query])
        if not len(query_of):
            return np.empty((0, len(self.extractor_.feature_names_)))
        return self.extractor_.extract(
            queries[self.query], query_of, document_of, documents=documents
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns.

        Parameters
        ----------
        input_features : object
            Ignored.

        Returns
        -------
        ndarray of shape (n_features,), dtype object
            Name of every column, ``"field.feature"``.
        """
        check_is_fitted(self, "extractor_")
        return self.extractor_.get_feature_names_out()

    def _columns(self, X: Any) -> dict[str, Any]:
        """Return the columns of X by name."""
        if is_frame(X):
            return columns_of(X, "X")
        if is_mapping(X):
            return dict(X)
        raise TypeError(
            "X must be a data frame or a mapping of names to columns of text, got "
            f"{shown(X)}"
        )

    def _chosen(self, columns: dict[str, Any]) -> list[str]:
        """Return the names of the columns that are fields of the document."""
        if self.fields is None or WHOLE in self.fields:
            # What equals no text, such as a missing name, need not compare at all.
            others = (
                n for n in columns if not (isinstance(n, str) and n == self.query)
            )
            return list(others)
        return list(self.fields)


def _distinct(
    columns: dict[str, Any], names: Sequence[str]
) -> tuple[dict[str, list[str]], np.ndarray]:
    """Return the different rows of some columns, and which of them each row has."""
    missing = [name for name in names if name not in columns]
    if missing or not names:
        wanted = f"the column {missing[0]!r}" if missing else "columns of documents"
        raise ValueError(
            f"X must have {wanted}, got the columns {shown(list(columns))}"
        )
    texts = [as_texts(columns[name], f"X[{shown(name)}]") for name in names]
    sizes = {name: len(column) for name, column in zip(names, texts)}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"X must have columns of equal length, got {sizes}")
    number_of: dict[tuple[str, ...], int] = {}
    rows = [number_of.setdefault(row, len(number_of)) for row in zip(*texts)]
    return (
        {name: [row[i] for row in number_of] for i, name in enumerate(names)},
        np.array(rows, dtype=np.intp),
    )
