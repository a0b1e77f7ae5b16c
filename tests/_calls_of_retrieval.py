"""Valid calls of rankers of texts, for `_calls`."""

from collections.abc import Callable
from functools import cache
from typing import Any

from skrank import retrieval
from skrank.rankers import RankSVM
from skrank.text import TextCollection

DOCUMENTS = TextCollection(
    ["a", "b", "c", "d"],
    {"text": ["red fish", "blue fish", "one red fish two", "two"]},
)
PAIRS = [("red fish", "a"), ("red fish", "b"), ("two", "c"), ("two", "d")]
GRADES = [2.0, 0.0, 1.0, 2.0]
ROWS = {"X": PAIRS, "y": GRADES, "groups": ["p", "p", "q", "q"]}


@cache
def _ranker():
    ranker = retrieval.TextRanker(RankSVM(max_iter=5))
    return ranker.fit(**ROWS, documents=DOCUMENTS)


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    return {
        "retrieval.judged_pairs": call(
            retrieval.judged_pairs, queries={"p": "red"}, qrels={"p": {"a": 1}}
        )
    }


def methods(method: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    return {
        "TextRanker.fit": method(
            lambda: retrieval.TextRanker(RankSVM(max_iter=5)),
            "fit",
            **ROWS,
            documents=DOCUMENTS,
        ),
        "TextRanker.predict": method(_ranker, "predict", X=PAIRS),
        "TextRanker.rank": method(_ranker, "rank", queries=["red"]),
        "TextRanker.score": method(_ranker, "score", **ROWS),
    }


USES = {
    retrieval.TextRanker: lambda ranker: ranker.fit(**ROWS, documents=DOCUMENTS),
}
