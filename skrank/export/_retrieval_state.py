"""What a ranker of texts must have learned, besides the index and its parts."""

import warnings
from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import problem_in
from skrank.export._attributes import attribute, error_of
from skrank.export._ranker_state import check_query_ids
from skrank.retrieval import TextRanker
from skrank.text import InvertedIndex


def check_text_ranker(ranker: TextRanker) -> None:
    """Check the ranker that orders candidates, and the record of judged queries.

    Parameters
    ----------
    ranker : TextRanker
        A ranker that was read from a file, with an index that has been checked.

    Raises
    ------
    ValueError
        If a part is missing, of the wrong kind, or was fitted to other features.
    """
    index = attribute(ranker, "index_", InvertedIndex, "an InvertedIndex")
    check_query_ids(ranker)
    known = {"index_", "estimator_", "query_ids_", "query_sizes_"}
    known |= {"retriever_", "expander_", "extractors_", "feature_names_"}
    for name in vars(ranker).keys() - ranker.get_params(deep=False).keys() - known:
        raise ValueError(f"TextRanker has the attribute {name}, which it never learns")
    fitted: Any = attribute(ranker, "estimator_", object, "")
    if not hasattr(fitted, "predict"):
        raise error_of(ranker, "estimator_", "an estimator with predict", fitted)
    n_features = len(ranker.feature_names_)
    found = getattr(fitted, "n_features_in_", n_features)
    if found != n_features:
        accepted = f"an estimator that was fitted to {n_features} features"
        raise error_of(ranker, "estimator_", accepted, fitted)
    _search(ranker, index)


def _search(ranker: TextRanker, index: InvertedIndex) -> None:
    """Search for a term of the collection, and look at the scores."""
    term = next(iter(index.vocabulary_), "")
    try:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")
            scores = ranker.rank([{term: 1.0}], k=3).scores
    except Exception as error:  # whatever damage leads to
        raise ValueError(
            "TextRanker cannot search with what it has learned: " + problem_in(error)
        ) from None
    if not np.isfinite(scores).all():
        raise ValueError("TextRanker finds scores that are not finite")
