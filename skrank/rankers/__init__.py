"""Rankers: one algorithm, one file."""

from skrank.rankers._boltzrank import BoltzRank
from skrank.rankers._boosted_ranker import BoostedRanker
from skrank.rankers._energy_listwise import EnergyListwise
from skrank.rankers._energy_pairwise import EnergyPairwise
from skrank.rankers._energy_pointwise import EnergyPointwise
from skrank.rankers._energy_ranker import EnergyRanker
from skrank.rankers._gerank import GERank
from skrank.rankers._lambdamart import LambdaMART
from skrank.rankers._lambdarank import LambdaRank
from skrank.rankers._large_margin_ordinal import LargeMarginOrdinal
from skrank.rankers._listmle import ListMLE
from skrank.rankers._listnet import ListNet
from skrank.rankers._logistic_ranker import LogisticRanker
from skrank.rankers._mart import MART
from skrank.rankers._mcrank import McRank
from skrank.rankers._online_aggregate_prank import OnlineAggregatePRank
from skrank.rankers._prank import PRank
from skrank.rankers._random_forest_ranker import RandomForestRanker
from skrank.rankers._rank_svm import RankSVM
from skrank.rankers._ranknet import RankNet
from skrank.rankers._structrank import StructRank
from skrank.rankers._subset_regression import SubsetRegression
from skrank.rankers._svm_classifier_ranker import SVMClassifierRanker
from skrank.rankers._threshold_ordinal import ThresholdOrdinal

__all__ = [
    "MART",
    "BoltzRank",
    "BoostedRanker",
    "EnergyListwise",
    "EnergyPairwise",
    "EnergyPointwise",
    "EnergyRanker",
    "GERank",
    "LambdaMART",
    "LambdaRank",
    "LargeMarginOrdinal",
    "ListMLE",
    "ListNet",
    "LogisticRanker",
    "McRank",
    "OnlineAggregatePRank",
    "PRank",
    "RandomForestRanker",
    "RankNet",
    "RankSVM",
    "SVMClassifierRanker",
    "StructRank",
    "SubsetRegression",
    "ThresholdOrdinal",
]
