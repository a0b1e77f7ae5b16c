"""Rankers: one algorithm, one file."""

from skrank.rankers._energy_ranker import EnergyRanker
from skrank.rankers._lambdarank import LambdaRank
from skrank.rankers._listmle import ListMLE
from skrank.rankers._listnet import ListNet
from skrank.rankers._logistic_ranker import LogisticRanker
from skrank.rankers._rank_svm import RankSVM
from skrank.rankers._ranknet import RankNet
from skrank.rankers._subset_regression import SubsetRegression

__all__ = [
    "EnergyRanker",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "LogisticRanker",
    "RankNet",
    "RankSVM",
    "SubsetRegression",
]
