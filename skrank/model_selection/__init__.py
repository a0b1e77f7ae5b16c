"""Splitters that keep queries whole, and learning curves over numbers of queries."""

from skrank.model_selection._kfold import (
    QueryKFold,
    RepeatedQueryKFold,
    StratifiedQueryKFold,
)
from skrank.model_selection._learning_curve import (
    QueryLearningCurve,
    query_learning_curve,
)
from skrank.model_selection._letor import LetorFolds
from skrank.model_selection._shuffle import (
    QueryShuffleSplit,
    train_test_query_split,
)
from skrank.model_selection._subsample import QuerySubsample
from skrank.model_selection._temporal import TemporalQuerySplit

__all__ = [
    "LetorFolds",
    "QueryKFold",
    "QueryLearningCurve",
    "QueryShuffleSplit",
    "QuerySubsample",
    "RepeatedQueryKFold",
    "StratifiedQueryKFold",
    "TemporalQuerySplit",
    "query_learning_curve",
    "train_test_query_split",
]
