"""Rankers: one algorithm, one file."""

from skrank.rankers._boltzrank import BoltzRank
from skrank.rankers._boosted_ranker import BoostedRanker
from skrank.rankers._energy_listwise import EnergyListwise
from skrank.rankers._energy_pairwise import EnergyPairwise
from skrank.rankers._energy_pointwise import EnergyPointwise
from skrank.rankers._energy_ranker import EnergyRanker
from skrank.rankers._gerank import GERank
from skrank.rankers._ir_svm import IRSVM
from skrank.rankers._lambdamart import LambdaMART
from skrank.rankers._lambdarank import LambdaRank
from skrank.rankers._listmle import ListMLE
from skrank.rankers._listnet import ListNet
from skrank.rankers._logistic_ranker import LogisticRanker
from skrank.rankers._magnitude_preserving_ranker import MagnitudePreservingRanker
from skrank.rankers._mart import MART
from skrank.rankers._owpc import OWPC
from skrank.rankers._random_forest_ranker import RandomForestRanker
from skrank.rankers._rank_cosine import RankCosine
from skrank.rankers._rank_svm import RankSVM
from skrank.rankers._ranknet import RankNet
from skrank.rankers._robust_sparse_ranker import RobustSparseRanker
from skrank.rankers._sigmoid_ranker import SigmoidRanker
from skrank.rankers._structrank import StructRank
from skrank.rankers._subset_regression import SubsetRegression

__all__ = [
    "IRSVM",
    "MART",
    "OWPC",
    "BoltzRank",
    "BoostedRanker",
    "EnergyListwise",
    "EnergyPairwise",
    "EnergyPointwise",
    "EnergyRanker",
    "GERank",
    "LambdaMART",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "LogisticRanker",
    "MagnitudePreservingRanker",
    "RandomForestRanker",
    "RankCosine",
    "RankNet",
    "RankSVM",
    "RobustSparseRanker",
    "SigmoidRanker",
    "StructRank",
    "SubsetRegression",
]
