"""The first stage of a search: candidates of queries, and features of pairs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skrank._core._inner import accepts
from skrank._core._messages import shown
from skrank.text import BM25, RM3, InvertedIndex, LetorFeatures
from skrank.text._base import BaseTextModel

#: Name of the feature that holds the score of the first search.
SCORE = "retrieval"
# Pairs whose features are in memory at a time, where that is possible.
_BLOCK = 200_000


class Candidates(NamedTuple):
    """Documents found for queries, query by query and best first.

    Attributes
    ----------
    query_of, document_of : ndarray of shape (n_candidates,), dtype intp
        Number of the query and of the document.
    """

    query_of: np.ndarray
    document_of: np.ndarray


class FirstStage(NamedTuple):
    """A fitted model that finds documents, and what describes them.

    Attributes
    ----------
    retriever : model
        Model of the first search.
    expander : RM3 or None
        Expands the queries of the first search.
    extractors : list of extractor
        Objects with ``extract``, such as `LetorFeatures`.
    names : list of str
        Names of the features; the last is the score of the first search.
    """

    retriever: Any
    expander: RM3 | None
    extractors: list[Any]
    names: list[str]

    def find(self, queries: list[Any], depth: int) -> Candidates:
        """Return the best documents of each query."""
        if not queries:
            none = np.zeros(0, dtype=np.intp)
            return Candidates(none, none)
        found, _ = self.retriever.retrieve(self.expanded(queries), depth)
        query_of, place = np.nonzero(found >= 0)
        return Candidates(query_of, found[query_of, place])

    def expanded(self, queries: list[Any]) -> list[Any]:
        """Return the queries of the first search."""
        return queries if self.expander is None else self.expander.expand(queries)

    def describe(self, queries: list[Any], pairs: Candidates) -> np.ndarray:
        """Return the features of pairs."""
        query_of, document_of = pairs
        columns = [
            extractor.extract(queries, query_of, document_of)
            for extractor in self.extractors
        ]
        scores = self.retriever.score_pairs(
            self.expanded(queries), query_of, document_of
        )
        return np.hstack([*columns, scores[:, None]])

    def blocks(self, queries: list[Any], depth: int) -> Iterator[slice]:
        """Yield parts of the queries whose candidates fit into memory together."""
        step = max(1, _BLOCK // depth)
        for start in range(0, len(queries), step):
            yield slice(start, min(start + step, len(queries)))


def first_stage(
    retriever: BaseTextModel | None,
    expander: RM3 | None,
    extractors: list[Any],
    index: InvertedIndex,
) -> FirstStage:
    """Put a first stage together, with copies of models that are fitted to an index.

    Parameters
    ----------
    retriever : model or None
        Model of the first search; None takes `BM25`.
    expander : RM3 or None
        Expands the queries of the first search.
    extractors : list of extractor
        Fitted extractors.
    index : InvertedIndex
        Fitted index.

    Returns
    -------
    FirstStage

    Raises
    ------
    ValueError
        If two features have the same name.
    """
    names = [
        str(name)
        for extractor in extractors
        for name in extractor.get_feature_names_out()
    ]
    names.append(SCORE)
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"features must differ in their names, two are {shown(again)}")
    model: Any = clone(BM25() if retriever is None else retriever)
    expands: Any = None if expander is None else clone(expander)
    return FirstStage(
        model.fit(index),
        None if expands is None else expands.fit(index),
        extractors,
        names,
    )


def fitted_extractors(
    features: Any, index: InvertedIndex, given: dict[str, Any]
) -> list[Any]:
    """Return copies of extractors, fitted to an index and to what else is known.

    Parameters
    ----------
    features : extractor, list of extractor or None
        Extractors; None takes `LetorFeatures`.
    index : InvertedIndex
        Fitted index.
    given : dict
        Other arguments of ``fit``, such as ``links``; extractors that do not take one,
        or have no feature that needs it, are not given it.

    Returns
    -------
    list of extractor

    Raises
    ------
    ValueError
        If no extractor takes one of the arguments, or none of its features needs it.
    """
    extractors = [clone(extractor) for extractor in extractors_of(features)]
    for name in given:
        if not any(accepts(extractor, "fit", name) for extractor in extractors):
            raise ValueError(f"no extractor of features takes {name}; leave it out")
        if not any(_uses(extractor, name) for extractor in extractors):
            raise ValueError(
                f"{name} must be None, because none of the features needs {name}; the "
                "extractors of features choose others"
            )
    for extractor in extractors:
        extractor.fit(index, **{k: v for k, v in given.items() if _uses(extractor, k)})
    return extractors


def _uses(extractor: Any, name: str) -> bool:
    """Return whether `fit` of an extractor is to be given an argument."""
    if not accepts(extractor, "fit", name):
        return False
    return not isinstance(extractor, LetorFeatures) or name in extractor._needs()


def saved_of_extractor(extractor: Any) -> dict[str, Any]:
    """Return what a file must hold of a fitted extractor besides its index."""
    saved = getattr(extractor, "_saved_state", dict)()
    return {name: value for name, value in saved.items() if name != "index_"}


def restored_extractors(
    features: Any, index: InvertedIndex, saved: list[dict[str, Any]]
) -> list[Any]:
    """Return copies of extractors as a file has them, see `saved_of_extractor`.

    Raises
    ------
    ValueError
        If what the file holds is not that of these extractors.
    """
    extractors = [clone(extractor) for extractor in extractors_of(features)]
    if not isinstance(saved, list) or len(saved) != len(extractors):
        raise ValueError(
            f"the file must hold the state of {len(extractors)} extractors"
        )
    for extractor, state in zip(extractors, saved):
        if not isinstance(state, dict) or any(
            not isinstance(name, str) or hasattr(extractor, name) for name in state
        ):
            raise ValueError(f"{type(extractor).__name__} has no such state")
        if not state:
            extractor.fit(index)
            continue
        vars(extractor).update(state, index_=index)
        extractor._restore_state()
    return extractors


def extractors_of(features: Any) -> list[Any]:
    """Return the extractors that a parameter names; None stands for `LetorFeatures`."""
    if features is None:
        return [LetorFeatures()]
    return list(features) if isinstance(features, list | tuple) else [features]
