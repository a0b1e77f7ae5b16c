"""From texts to rankings: retrieval, features and a ranker in one estimator.

Examples
--------
>>> from skrank.datasets import Qrels
>>> from skrank.rankers import RankSVM
>>> from skrank.retrieval import TextRanker, judged_pairs
>>> from skrank.text import TextCollection
>>> documents = TextCollection(["a", "b", "c"], {
...     "text": ["sort an array", "sort the rows of a matrix", "invert a matrix"]})
>>> queries = TextCollection(["1", "2"], {"text": ["sort rows", "matrix"]})
>>> judged = Qrels.from_dict({"1": {"b": 2, "a": 1}, "2": {"c": 2}})
>>> X, y, groups = judged_pairs(queries, judged)
>>> ranker = TextRanker(RankSVM()).fit(X, y, groups, documents=documents)
>>> ranker.rank(["inverse of a matrix"]).docids.tolist()
['c', 'b']
"""

from skrank.retrieval._judged_pairs import judged_pairs
from skrank.retrieval._text_ranker import TextRanker

__all__ = ["TextRanker", "judged_pairs"]
