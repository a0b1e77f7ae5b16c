"""Retrieval, text features and a ranker as one estimator."""

from collections.abc import Sequence
from dataclasses import field as dataclass_field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._id_arrays import id_array, id_list
from skrank._core._inner import check_scores_documents, fit_inner, scores_of
from skrank._core._messages import has_control, shown
from skrank._core._parameters import Parameters, PositiveInt, invalid_parameter
from skrank._core._validation import check_arguments, check_grades
from skrank.datasets import Run
from skrank.metrics import evaluate_measure, get_measure
from skrank.metrics._leakage import check_query_leakage
from skrank.metrics._registry import MeasureLike
from skrank.rankers import LambdaMART
from skrank.retrieval._first_stage import (
    Candidates,
    FirstStage,
    extractors_of,
    first_stage,
    fitted_extractors,
    restored_extractors,
    saved_of_extractor,
)
from skrank.retrieval._judgements import (
    Judgements,
    groups_of,
    judgements_of,
    names_of,
    numbers_of,
)
from skrank.retrieval._queries import QueryTexts, named_queries, pairs_of
from skrank.text import RM3, BaseTextModel, InvertedIndex, TextCollection
from skrank.text._index import as_index
from skrank.text._saving import check_not_fitted, same
from skrank.text._tokenizer import Analyzer

# What a file holds of extractors that learned from more than the index.
_GIVEN = "extractor_states"


class TextRanker(Parameters, MetaEstimatorMixin, BaseEstimator):
    """Rank the documents of a collection for queries, from texts to an ordered list.

    For each query, a relevance model finds candidates, features describe each pair of
    the query and a candidate, and a ranker, which learned from judged queries, orders
    the candidates by them. Text models, features and ranker may be any of this package;
    the ranker may be a pipeline, too.

    A row of X is a judgement: the text of a query and the id of a document, with the
    grade in y. Cross-validation cuts such rows by query, and `score` measures the whole
    search by them, so that ``GridSearchCV`` tunes the first search along with the
    ranker. `judged_pairs` makes the rows of queries and judgements.

    Parameters
    ----------
    estimator : ranker or estimator, default=None
        Ranker, pipeline or scikit-learn estimator that orders the candidates; None
        takes ``LambdaMART()``.
    retriever : model of skrank.text, default=None
        Model that finds the candidates; None takes ``BM25()``.
    expander : RM3, default=None
        Expands the queries of the first search; None searches for them as they are.
    features : extractor or list of extractors, default=None
        What describes a pair, such as `LetorFeatures` or `ProximityFeatures`; None
        takes ``LetorFeatures()``. The score of the first search, called "retrieval", is
        a feature in any case.
    depth : int, default=100
        Number of candidates of each query, also of a fitted ranker.
    train_on : {"candidates", "judged", "all"}, default="candidates"
        Documents that the ranker learns from: the candidates, those that were judged,
        or both. Candidates that nobody judged have grade 0.
    tokenizer : callable, default=None
        Maps a text to its list of terms, where `fit` is given texts; None takes
        ``Tokenizer()``.

    Attributes
    ----------
    index_ : InvertedIndex
        Index of the documents.
    estimator_ : estimator
        Fitted ranker.
    retriever_ : model of skrank.text
        Fitted model of the first search.
    expander_ : RM3 or None
        Fitted expansion.
    extractors_ : list of extractor
        Fitted extractors.
    feature_names_ : list of str
        Names of the features.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the judged queries.
    query_sizes_ : ndarray of shape (n_queries,)
        Number of judged documents of each of them.

    See Also
    --------
    judged_pairs : Rows of queries and judgements.
    skrank.text.PairFeatures : Features of a table with the texts of documents.

    Notes
    -----
    Metadata routing hands ``documents`` and ``groups`` on without any request. Without
    routing, ``GridSearchCV.fit(X, y, groups=groups, documents=index)`` works as well:
    the queries of rows are then told apart by their texts. Pass an `InvertedIndex`
    there, which all trainings share.

    References
    ----------
    [Liu2011]_, section 1.3 and chapter 10, for the way from retrieved candidates to
    features and a learned ranking.

    Examples
    --------
    >>> from skrank.rankers import RankSVM
    >>> from skrank.retrieval import TextRanker, judged_pairs
    >>> from skrank.text import TextCollection
    >>> documents = TextCollection(["a", "b", "c", "d"], {
    ...     "title": ["sort", "argsort", "inv", "svd"],
    ...     "body": ["Sort an array.", "Indices that would sort an array.",
    ...              "Invert a matrix.", "Decompose a matrix."]})
    >>> X, y, groups = judged_pairs(
    ...     {"q1": "sort array", "q2": "invert matrix"},
    ...     {"q1": {"b": 2, "a": 1}, "q2": {"c": 2, "d": 1}})
    >>> ranker = TextRanker(RankSVM()).fit(X, y, groups, documents=documents)
    >>> run = ranker.rank({"q3": "decompose a matrix"})
    >>> run.groups.tolist(), run.docids.tolist()
    (['q3', 'q3'], ['d', 'c'])
    """

    __metadata_request__fit = dict.fromkeys(
        ("groups", "documents", "links", "urls", "topics"), True
    )
    __metadata_request__score = {"groups": True, "measure": True}

    estimator: Any = dataclass_field(default=None, kw_only=False)
    retriever: BaseTextModel | None = None
    expander: RM3 | None = None
    features: Any = None
    depth: PositiveInt = 100
    train_on: Literal["candidates", "judged", "all"] = "candidates"
    _saved_names: ClassVar[tuple[str, ...]] = (_GIVEN,)
    tokenizer: Analyzer | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [
            {},
            {"expander": RM3(n_documents=2, n_terms=3), "train_on": "all"},
            {"train_on": "judged", "depth": 2},
        ]

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        documents: TextCollection | InvertedIndex | None = None,
        links: Any = None,
        urls: Sequence[str] | None = None,
        topics: npt.ArrayLike | None = None,
    ) -> Self:
        """Index the documents and learn to order the candidates of judged queries.

        Parameters
        ----------
        X : array-like of shape (n_judgements, 2) or data frame
            Text of the query and id of the document of each judgement. A data frame has
            them in the columns "query" and "document". Documents of an index without
            ids are named by their numbers.
        y : array-like of shape (n_judgements,)
            Relevance grades >= 0.
        groups : array-like of shape (n_judgements,), default=None
            Query id of each row; None reads a level "qid" of the pandas index of ``y``
            or ``X``, and otherwise tells queries apart by their texts.
        documents : TextCollection or InvertedIndex
            The collection, with the ids of its documents, or an index of it, which
            several rankers can share. It has to be given.
        links, urls, topics : objects, default=None
            Links between the documents, and their URLs and topics, for features that
            are made of them; see `LetorFeatures.fit`.

        Returns
        -------
        TextRanker
            The ranker itself.

        Raises
        ------
        ValueError
            If a parameter is not accepted, there are no documents, a row names none of
            them, a document is judged twice for a query, a query has two texts, or no
            feature is made of the links, URLs or topics that are given.
        TypeError
            If the documents are of another kind, or a query is no string.
        """
        self._check_parameters()
        estimator = LambdaMART() if self.estimator is None else self.estimator
        check_scores_documents(estimator, "estimator")
        index = self._index_of(documents)
        ids = groups_of(X, y, groups)
        grades = check_grades(y, n_samples=len(ids), warn=True)
        judged = judgements_of(X, grades, ids, index)
        given = {"links": links, "urls": urls, "topics": topics}
        given = {name: value for name, value in given.items() if value is not None}
        extractors = fitted_extractors(self.features, index, given)
        stage = first_stage(self.retriever, self.expander, extractors, index)
        pairs, grades = self._training_pairs(stage, judged)
        fitted = fit_inner(
            estimator,
            stage.describe(judged.texts, pairs),
            grades,
            groups=judged.index.ids[pairs.query_of],
        )
        self._keep(index, stage)
        self.estimator_ = fitted
        self.query_ids_ = judged.index.ids
        self.query_sizes_ = judged.index.sizes
        return self

    def rank(
        self,
        queries: QueryTexts,
        *,
        field: str | None = None,
        k: PositiveInt | None = None,
        tag: str = "skrank",
    ) -> Run:
        """Search for queries.

        Parameters
        ----------
        queries : TextCollection, mapping of id to query, or sequence of queries
            Queries: texts, or mappings of terms to weights. Those of a sequence have
            the numbers of their places as ids.
        field : str, default=None
            Field of a `TextCollection` that holds the queries; None takes its only one.
        k : int, default=None
            Number of documents wanted for each query; None takes all candidates.
        tag : str, default="skrank"
            Name of the run.

        Returns
        -------
        Run
            Candidates with their scores, query by query and best first. A query that
            finds no document is not in it.

        Raises
        ------
        ValueError
            If ``k`` is below 1, there is no such field, the tag is no single word, or
            the index was fitted again since the ranker was.
        TypeError
            If a query is missing or neither a string nor such a mapping.
        """
        self._check_fitted()
        check_arguments(TextRanker.rank, field=field, k=k, tag=tag)
        if not tag or any(map(str.isspace, tag)) or has_control(tag):
            raise ValueError(
                "tag must be a word without blanks or control characters, got "
                f"{shown(tag)}"
            )
        ids, texts = named_queries(queries, field)
        pairs, scores = self._ranked(ids, texts)
        if k is not None:
            sizes = np.bincount(pairs.query_of, minlength=len(texts))
            starts = np.cumsum(sizes) - sizes
            kept = np.arange(len(scores)) - starts[pairs.query_of] < k
            pairs = Candidates(pairs.query_of[kept], pairs.document_of[kept])
            scores = scores[kept]
        sizes = np.bincount(pairs.query_of, minlength=len(texts))
        return Run(
            id_array(id_list(ids), sizes) if len(ids) else ids,
            names_of(pairs.document_of, self.index_),
            scores,
            tag,
        )

    def predict(self, X: npt.ArrayLike) -> np.ndarray:
        """Score rows of a query and a document as the search ranks them.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2) or data frame
            Text of the query and id of the document.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Scores; higher is better, within a query. Documents that are not among the
            candidates of their query share a score below all of these.

        Raises
        ------
        ValueError
            If a row names none of the documents of the collection, or the index was
            fitted again since the ranker was.
        TypeError
            If a query is no string.
        """
        self._check_fitted()
        rows = pairs_of(X)
        documents = numbers_of(rows.docids, self.index_)
        number_of: dict[str, int] = {}
        for text in rows.texts:
            number_of.setdefault(text, len(number_of))
        query_of = np.array([number_of[text] for text in rows.texts], dtype=np.intp)
        texts = list(number_of)
        pairs, scores = self._ranked(np.arange(len(texts)), texts)
        lowest = np.ones(len(texts))
        np.minimum.at(lowest, pairs.query_of, scores)
        found = lowest[query_of] - 1 - np.abs(lowest[query_of])
        if len(scores):
            n = self.index_.n_documents_
            keys = pairs.query_of * np.int64(n) + pairs.document_of
            order = np.argsort(keys)
            wanted = query_of * np.int64(n) + documents
            place = np.searchsorted(keys, wanted, sorter=order)
            place = order[np.minimum(place, len(keys) - 1)]
            known = keys[place] == wanted
            found[known] = scores[place[known]]
        return found

    def score(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        *,
        measure: MeasureLike = "ndcg@10",
    ) -> float:
        """Return the mean of a measure over judged queries, by default of NDCG@10.

        The whole search is measured: candidates that nobody judged count as not
        relevant, and judged documents that were not found as missed.

        Parameters
        ----------
        X : array-like of shape (n_judgements, 2) or data frame
            Text of the query and id of the document of each judgement.
        y : array-like of shape (n_judgements,)
            Relevance grades >= 0.
        groups : array-like of shape (n_judgements,), default=None
            Query id of each row; None tells queries apart as `fit` does.
        measure : str, BaseMeasure or callable, default="ndcg@10"
            Measure, its name or a function, as in `skrank.metrics.get_measure`.

        Returns
        -------
        float
            Mean of the measure; of an error, of which less is better, its negative.

        Raises
        ------
        ValueError
            If rows are not those of judgements, see `fit`, there is no such measure, or
            the index was fitted again since the ranker was.
        """
        self._check_fitted()
        resolved = get_measure(measure)
        ids = groups_of(X, y, groups)
        check_query_leakage(self, ids, stacklevel=2)
        grades = check_grades(y, n_samples=len(ids))
        judged = judgements_of(X, grades, ids, self.index_)
        pairs, scores = self._ranked(judged.index.ids, judged.texts)
        place = judged.find(*pairs)
        missed = np.ones(len(judged.grades), dtype=bool)
        missed[place[place >= 0]] = False
        value = evaluate_measure(
            resolved,
            np.ma.MaskedArray(
                np.append(_grades(judged, place), judged.grades[missed]),
                mask=np.append(place < 0, np.zeros(missed.sum(), dtype=bool)),
            ),
            np.append(scores, np.full(missed.sum(), -np.inf)),
            groups=np.append(pairs.query_of, judged.query_of[missed]),
        )
        return float(value if resolved.greater_is_better else -value)

    def _check_fitted(self) -> None:
        """Refuse to search with parts that do not belong together."""
        check_is_fitted(self, "estimator_")
        if not self._is_of_index():
            raise ValueError(
                "index_ was fitted again after the ranker, which has learned from the "
                "former documents; fit the ranker again"
            )

    def _is_of_index(self) -> bool:
        """Return whether the first search still has the postings of the index."""
        return self.index_._holds(self.retriever_.postings_)

    def _ranked(self, ids, texts: list[Any]) -> tuple[Candidates, np.ndarray]:
        """Return the candidates of queries, best first, with their scores."""
        stage, found = self._stage(), [(_NO_PAIRS, np.zeros(0))]
        for part in stage.blocks(texts, self.depth):
            queries = texts[part]
            pairs = stage.find(queries, self.depth)
            if not len(pairs.query_of):
                continue
            X = stage.describe(queries, pairs)
            scores = scores_of(self.estimator_, X, ids[part][pairs.query_of])
            scores = np.asarray(scores, dtype=np.float64)
            order = np.lexsort((-scores, pairs.query_of))
            query_of = pairs.query_of[order] + part.start
            documents = pairs.document_of[order]
            found.append((Candidates(query_of, documents), scores[order]))
        pairs = Candidates(*map(np.concatenate, zip(*(p for p, _ in found))))
        return pairs, np.concatenate([scores for _, scores in found])

    def _training_pairs(
        self, stage: FirstStage, judged: Judgements
    ) -> tuple[Candidates, np.ndarray]:
        """Return the pairs to learn from, query by query, and their grades."""
        own = Candidates(judged.query_of, judged.document_of)
        if self.train_on == "judged":
            return own, judged.grades
        pairs = stage.find(judged.texts, self.depth)
        place = judged.find(*pairs)
        grades = _grades(judged, place)
        if self.train_on == "all":
            missed = np.ones(len(judged.grades), dtype=bool)
            missed[place[place >= 0]] = False
            both = [np.append(a, b[missed]) for a, b in zip(pairs, own)]
            order = np.argsort(both[0], kind="stable")
            pairs = Candidates(both[0][order], both[1][order])
            grades = np.append(grades, judged.grades[missed])[order]
        if not len(grades):
            raise ValueError(
                "the retriever finds no document for any of the judged queries, so "
                "there is nothing to learn from; check the queries and the collection"
            )
        return pairs, grades

    def _index_of(self, documents: Any) -> InvertedIndex:
        """Return the index of what `fit` was given as documents."""
        if not isinstance(documents, TextCollection | InvertedIndex):
            raise (ValueError if documents is None else TypeError)(
                "TextRanker.fit needs the collection: pass documents=, a "
                f"TextCollection or an InvertedIndex, got {shown(documents)}"
            )
        needs_positions = any(
            getattr(extractor, "_needs_positions", False)
            for extractor in extractors_of(self.features)
        )
        return as_index(documents, self.tokenizer, with_positions=needs_positions)

    def _keep(self, index: InvertedIndex, stage: FirstStage) -> None:
        """Store the parts that follow from the index."""
        self.index_ = index
        for name, part in zip(_FOLLOWING, stage):
            setattr(self, name, part)

    def _stage(self) -> FirstStage:
        """Return the fitted parts of the first stage."""
        return FirstStage(*(getattr(self, name) for name in _FOLLOWING))

    def _queries_in(self, X: Any) -> np.ndarray:
        """Return the queries of rows, for scorers that are given no groups."""
        return groups_of(X, None, None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        extractors = extractors_of(self.features)
        for extractor in extractors:
            needed = ("fit", "extract", "get_feature_names_out")
            if isinstance(extractor, type) or not all(
                hasattr(extractor, name) for name in needed
            ):
                accepted = f"extractors with {', '.join(needed)}, or None"
                raise invalid_parameter(self, "features", accepted, self.features)

    def _saved_state(self) -> dict[str, Any]:
        """Return the attributes that a model file holds: the index and the ranker."""
        params = self.get_params(deep=False)
        state = {k: v for k, v in vars(self).items() if k not in params}
        if "index_" not in state:
            return state
        again = first_stage(self.retriever, self.expander, [], state["index_"])
        given = [saved_of_extractor(extractor) for extractor in self.extractors_]
        own = [clone(extractor) for extractor in extractors_of(self.features)]
        unchanged = {
            "retriever_": same(self.retriever_, again.retriever),
            "expander_": same(self.expander_, again.expander),
            "extractors_": same(
                [_description(extractor) for extractor in self.extractors_],
                [_description(extractor) for extractor in own],
            ),
            "index_": self._is_of_index(),
        }
        for name, is_unchanged in unchanged.items():
            if not is_unchanged:
                raise TypeError(
                    f"TextRanker cannot be saved: {name} is not what fit learns with "
                    "the present parameters; fit it again"
                )
        kept = {k: v for k, v in state.items() if k not in _FOLLOWING}
        return {**kept, _GIVEN: given} if any(given) else kept

    def _restore_state(self) -> None:
        """Learn again what follows from the index, if there is one."""
        index = vars(self).get("index_")
        if index is None:
            check_not_fitted(self)
            return
        odd = [name for name in _FOLLOWING if name in vars(self)]
        if not isinstance(index, InvertedIndex) or odd:
            raise ValueError("TextRanker must have an index_, and no parts of its own")
        self._check_parameters()
        nothing = [{} for _ in extractors_of(self.features)]
        saved: Any = vars(self).pop(_GIVEN, nothing)
        extractors = restored_extractors(self.features, index, saved)
        stage = first_stage(self.retriever, self.expander, extractors, index)
        self._keep(index, stage)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.string = True
        return tags


_NO_PAIRS = Candidates(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
# Attributes that follow from the index and the parameters: the parts of `FirstStage`.
_FOLLOWING = ("retriever_", "expander_", "extractors_", "feature_names_")


def _description(extractor: Any) -> tuple[type, dict[str, Any]]:
    """Return the class and the parameters of an extractor."""
    return type(extractor), extractor.get_params(deep=False)


def _grades(judged: Judgements, place: np.ndarray) -> np.ndarray:
    """Return the grades of pairs by their judgement, 0 where there is none."""
    if not len(judged.grades):
        return np.zeros(len(place))
    return np.where(place >= 0, judged.grades[place], 0.0)
