"""Feature vectors of (query, document) pairs, as in the LETOR data sets."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, invalid_parameter
from skrank._core._validation import n_rows
from skrank.text._base import BaseTextModel
from skrank.text._bm25 import BM25
from skrank.text._index import Documents, InvertedIndex, as_index, documents_of
from skrank.text._letor_tables import PAGE_FEATURES, TABLES, WHOLE
from skrank.text._link_graph import LinkGraph
from skrank.text._lm_absolute import LMAbsoluteDiscount
from skrank.text._lm_dirichlet import LMDirichlet
from skrank.text._lm_jelinek_mercer import LMJelinekMercer
from skrank.text._matching import check_pairs, match_pairs
from skrank.text._others import OtherDocuments
from skrank.text._page_features import (
    PageColumns,
    aligned_links,
    aligned_site,
    aligned_topics,
    page_scores,
)
from skrank.text._page_rank import Links
from skrank.text._saving import FittedToIndex, join_terms, split_terms
from skrank.text._site_map import SiteMap
from skrank.text._term_features import (
    TERM_FEATURES,
    TermFeatures,
    default_term_features,
)
from skrank.text._texts import Queries
from skrank.text._tokenizer import Analyzer
from skrank.text._vsm import VectorSpace

_LOG_BM25 = "log_bm25"
# Attributes of an extractor in a model file besides its index.
_SAVED = ("link_matrix", "url_text", "url_lengths", "topics")


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

    With ``feature_set``, the features are those of a table of the LETOR data sets, or
    any others that have a name (:doc:`/letor_features`), among them features of pages
    from links, URLs and topics.

    Parameters
    ----------
    fields : sequence of str, default=None
        Names of the fields to describe, ``"whole"`` for whole documents. None takes all
        fields and, if there are several, whole documents.
    models : mapping of str to model, default=None
        Relevance models by the name of their feature; each is cloned for every field.
        None takes the five models above. With ``feature_set``, models that it lacks are
        those above.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.
    feature_set : {"gov", "ohsumed", "letor4"} or sequence of str, default=None
        Features of a table, see `letor_table`, or names of features, in the order of
        the columns. None takes those above.
    alpha : float, default=0.5
        Parameter α of `propagate_links` and `propagate_site`, above 0 and at most 1,
        for features to which relevance spreads.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    feature_names_ : list of str
        Name of every column, ``"field.feature"``.
    models_ : dict of str to dict of str to model
        Fitted models of each field.
    links_ : LinkGraph or None
        Links between the documents, if `fit` was given some.
    site_ : SiteMap or None
        Site map of the documents, if `fit` was given URLs or took them from a field.
    topics_ : ndarray of shape (n_documents, n_topics), or None
        Topics of the documents, if `fit` was given some.
    page_scores_ : dict of str to ndarray
        Scores of the documents that do not depend on the query.

    See Also
    --------
    letor_table : Names of the features of the LETOR data sets.
    PairFeatures : The same features for the rows of a table of texts.

    References
    ----------
    [Liu2011]_, tables 10.2–10.4. The statistics over query terms are those of the
    feature list of MSLR-WEB10K.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.text import LetorFeatures, LinkGraph
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

    Links and URLs make features of pages:

    >>> names = ["title.bm25", "page.inlinks", "links.score_propagation.weighted_in"]
    >>> extractor = LetorFeatures(feature_set=names).fit(
    ...     {"title": ["sort", "invert"], "body": ["sorts an array", "of a matrix"]},
    ...     links=LinkGraph.from_edges([0], [1]))
    >>> extractor.extract(["array matrix"], [0, 0], [0, 1]).round(2).tolist()
    [[0.0, 0.0, 0.32], [0.0, 1.0, 0.54]]
    """

    fields: Sequence[str] | None = None
    models: Mapping[str, BaseTextModel] | None = None
    tokenizer: Analyzer | None = None
    feature_set: str | Sequence[str] | None = None
    alpha: Annotated[float, Interval(0, 1, "right")] = 0.5
    _given: ClassVar[tuple[str, ...]] = ("links_", "site_", "topics_")
    _saved_names: ClassVar[tuple[str, ...]] = _SAVED

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"fields": ("whole",)},
            {"models": {"bm25": BM25(k1=0.9)}, "tokenizer": str.split},
            {"feature_set": ("whole.log_bm25", "whole.log_icf.max")},
        ]

    def fit(
        self,
        documents: Documents | InvertedIndex,
        y: None = None,
        *,
        links: Links | None = None,
        urls: Sequence[str] | None = None,
        topics: npt.ArrayLike | None = None,
    ) -> Self:
        """Index documents and fit the models of every field.

        Parameters
        ----------
        documents : sequence of str, mapping, data frame or InvertedIndex
            One text per document, or for each field one text per document; the fields
            of a data frame are its columns, and its documents are its rows. Also a
            `TextCollection` or a fitted index.
        y : None
            Ignored.
        links : LinkGraph, sparse matrix or array-like, default=None
            Links between documents, of shape (n_documents, n_documents). If both the
            graph and the documents have ids, nodes are found by them.
        urls : sequence of str, default=None
            URL of each document. Where features need them, None takes the texts of the
            field ``url``.
        topics : array-like of shape (n_documents, n_topics), default=None
            How much each document belongs to each topic, see `TopicalPageRank`. The
            topics of queries follow from the terms of the documents by naive Bayes.

        Returns
        -------
        LetorFeatures
            The extractor itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, the documents lack one of the fields, a
            feature needs links, URLs or topics that are not given, or these are not of
            the documents, or no feature needs them.
        TypeError
            If a document or a URL is missing or no string.
        """
        needs = self._needs()
        given: dict[str, Any] = {"links": links, "urls": urls, "topics": topics}
        for name, value in given.items():
            if value is not None and name not in needs:
                raise ValueError(
                    f"{name} must be None, because none of the features needs {name}; "
                    "feature_set chooses others"
                )
        self._keep_index(as_index(documents, self.tokenizer))
        names = self._resolve_names()
        if (
            urls is None
            and "urls" in needs
            and not isinstance(documents, InvertedIndex)
        ):
            given["urls"] = urls = documents_of(documents)[0].get("url")
        missing = sorted(name for name in needs if given[name] is None)
        if missing:
            raise ValueError(
                f"feature_set has features that need {' and '.join(missing)}, which "
                "fit was not given; pass them, or take the names of letor_table("
                f"..., {', '.join(f'{name}=False' for name in missing)})"
            )
        index = self.index_
        self.links_ = None if links is None else aligned_links(links, index)
        self.site_ = None if urls is None else aligned_site(urls, index)
        self.topics_ = None if topics is None else aligned_topics(topics, index)
        self.models_ = self._fitted_models(names)
        self.page_scores_ = page_scores(
            (name for field, name in names if field is None),
            index,
            self.links_,
            self.site_,
            self.topics_,
        )
        self.feature_names_ = [
            name if field is None else f"{field}.{name}" for field, name in names
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
        self._check_fitted("models_")
        _check_dtype(dtype)
        counts = self.index_.count_queries(queries)
        others = None if documents is None else OtherDocuments(self.index_, documents)
        n_documents = (others or self.index_).n_documents_
        query_of, document_of = check_pairs(
            query_of, document_of, n_rows(counts), n_documents
        )
        X = np.empty((len(query_of), len(self.feature_names_)), dtype=dtype)
        column_of = {name: i for i, name in enumerate(self.feature_names_)}
        names = self._resolve_names()
        for field in dict.fromkeys(field for field, _ in names if field is not None):
            postings = (others or self.index_).postings(_of_index(field))
            matches = match_pairs(counts, postings, query_of, document_of)
            terms = TermFeatures(counts, postings, matches, document_of)
            for name in (name for of, name in names if of == field):
                if name in TERM_FEATURES:
                    values = terms.column(name)
                else:
                    model = self.models_[field][_model_of(name)]
                    weighed = (
                        (model.weights_, model.offsets_)
                        if others is None
                        else model._weighed(postings)
                    )
                    values = model._score_matches(
                        weighed, counts, matches, query_of, document_of
                    )
                    if name == _LOG_BM25:
                        values = _log_of_scores(model, values)
                X[:, column_of[f"{field}.{name}"]] = values
        pages = [name for field, name in names if field is None]
        for name, values in self._page_columns(
            pages, counts, query_of, document_of, others is not None
        ).items():
            X[:, column_of[name]] = values
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
            if not isinstance(name, str) or name in TERM_FEATURES:
                accepted = "a mapping whose keys are strings and name no other feature"
                raise invalid_parameter(self, "models", accepted, self.models)
        if self.fields is not None and (
            len(self.fields) == 0 or len(set(self.fields)) < len(self.fields)
        ):
            raise invalid_parameter(
                self, "fields", "different names, at least one", self.fields
            )
        if self.feature_set is None:
            return
        if self.fields is not None:
            raise invalid_parameter(
                self, "fields", "None where feature_set names the features", self.fields
            )
        chosen = self.feature_set
        if isinstance(chosen, str):
            wrong = chosen not in TABLES
        else:
            wrong = len(set(chosen)) < max(len(chosen), 1)
        if wrong:
            accepted = (
                f"one of {', '.join(map(repr, TABLES))}, different names, or None"
            )
            raise invalid_parameter(self, "feature_set", accepted, chosen)

    def _needs(self) -> set[str]:
        """Return which of links, URLs and topics the features are made of."""
        self._check_parameters()
        chosen: Any = self.feature_set or ()
        names = TABLES[chosen] if isinstance(chosen, str) else chosen
        return {need for name in names for need in PAGE_FEATURES.get(name, ())}

    def _resolve_names(self) -> list[tuple[str | None, str]]:
        """Return field and name of every feature; those of pages have no field."""
        if self.feature_set is None:
            models = _default_models() if self.models is None else self.models
            features = (*default_term_features(), *models)
            return [(field, f) for field in self._resolve_fields() for f in features]
        known = self._resolve_known_fields()
        features = {*TERM_FEATURES, *_default_models(), *(self.models or {}), _LOG_BM25}
        chosen = self.feature_set
        names = TABLES[chosen] if isinstance(chosen, str) else chosen
        found: list[tuple[str | None, str]] = []
        for name in names:
            # Names of fields may hold dots, too.
            places: list[tuple[str | None, str]] = [
                (field, name.removeprefix(f"{field}."))
                for field in known
                if name.startswith(f"{field}.")
                and name.removeprefix(f"{field}.") in features
            ]
            if name in PAGE_FEATURES:
                places.append((None, name))
            if len(places) != 1:
                raise ValueError(
                    f"feature_set must name features of the fields {known} or of "
                    f"pages, each in one way, got {shown(name)}"
                )
            found += places
        return found

    def _fitted_models(
        self, names: list[tuple[str | None, str]]
    ) -> dict[str, dict[str, BaseTextModel]]:
        """Return the models of every field that features need."""
        models = _default_models()
        if self.feature_set is None and self.models is not None:
            models = {}
        models |= self.models or {}
        fitted: dict[str, dict[str, BaseTextModel]] = {}
        for field, name in names:
            if field is None and "propagation" in name:
                field, name = WHOLE, "bm25"
            if field is None:
                continue
            own, model = fitted.setdefault(field, {}), _model_of(name)
            if name not in TERM_FEATURES and model not in own:
                own[model] = _fitted(models[model], field, self.index_)
        return fitted

    def _resolve_known_fields(self) -> tuple[str, ...]:
        known = self.index_.fields_
        if WHOLE in known:
            raise ValueError(
                f"documents must have no field {WHOLE!r}, which is the name of the "
                "features of whole documents; rename it"
            )
        return (*known, WHOLE)

    def _resolve_fields(self) -> tuple[str, ...]:
        known = self._resolve_known_fields()
        if self.fields is None:
            return known[:-1] if len(known) == 2 else known
        if not set(self.fields) <= set(known):
            names = ", ".join(map(repr, known))
            raise invalid_parameter(self, "fields", f"names among {names}", self.fields)
        return tuple(self.fields)

    def _page_columns(
        self,
        names: list[str],
        counts: sparse.csr_array,
        query_of: np.ndarray,
        document_of: np.ndarray,
        with_others: bool,
    ) -> dict[str, np.ndarray]:
        """Return the columns of features of pages."""
        if names and with_others:
            raise ValueError(
                f"documents must be None for features of pages such as {names[0]!r}, "
                "which depend on the links and URLs of the documents of fit"
            )
        if not names or not len(query_of):
            return {}
        model = self.models_.get(WHOLE, {}).get("bm25")
        parts = self.page_scores_, self.links_, self.site_, model, float(self.alpha)
        return PageColumns(*parts, counts, query_of, document_of).columns(names)

    def _given_to_fit(self, state: dict[str, Any]) -> dict[str, Any]:
        return {name: state.get(f"{name}_") for name in ("links", "topics")} | {
            "urls": None if state.get("site_") is None else state["site_"].urls
        }

    def _saved_state(self) -> dict[str, Any]:
        """Return the attributes that a model file holds; see `_saving`."""
        state = super()._saved_state()
        links, site = state.pop("links_", None), state.pop("site_", None)
        topics = state.pop("topics_", None)
        if links is not None:
            state["link_matrix"] = links.matrix
        if site is not None:
            state["url_text"], state["url_lengths"] = join_terms(site.urls)
        if topics is not None:
            state["topics"] = topics
        return state

    def _restore_state(self) -> None:
        """Check the attributes that a model file held, and learn again the others."""
        matrix, *urls, topics = (vars(self).pop(name, None) for name in _SAVED)
        if matrix is not None:
            if not isinstance(matrix, sparse.csr_array):
                raise ValueError("the links of an extractor must be a csr_array")
            self.links_ = LinkGraph(matrix)
        if any(part is not None for part in urls):
            self.site_ = SiteMap(split_terms(*urls))
        if topics is not None:
            if not isinstance(topics, np.ndarray) or topics.dtype != np.float64:
                raise ValueError(
                    "the topics of an extractor must be an array of numbers"
                )
            self.topics_ = topics
        super()._restore_state()


def _model_of(name: str) -> str:
    """Return the name of the model whose score a feature is made of."""
    return "bm25" if name == _LOG_BM25 else name


def _log_of_scores(model: BaseTextModel, scores: np.ndarray) -> np.ndarray:
    """Return logarithms, those of the least weight of a posting where they are less.

    So documents without a term of the query, whose score is 0, come after all others.
    """
    least = model.weights_[model.weights_ > 0].min(initial=np.inf)
    return np.log(np.maximum(scores, least if np.isfinite(least) else 1.0))


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
