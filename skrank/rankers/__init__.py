"""Rankers: one algorithm, one file."""

from skrank.rankers._adarank import AdaRank
from skrank.rankers._approx_ap import ApproxAP
from skrank.rankers._approx_ndcg import ApproxNDCG
from skrank.rankers._association_rules import AssociationRuleRanker
from skrank.rankers._boltzrank import BoltzRank
from skrank.rankers._boosted_ranker import BoostedRanker
from skrank.rankers._coordinate_ascent import CoordinateAscent
from skrank.rankers._decision_theoretic import DecisionTheoreticRanker
from skrank.rankers._energy_listwise import EnergyListwise
from skrank.rankers._energy_pairwise import EnergyPairwise
from skrank.rankers._energy_pointwise import EnergyPointwise
from skrank.rankers._energy_ranker import EnergyRanker
from skrank.rankers._frank import FRank
from skrank.rankers._gbrank import GBRank
from skrank.rankers._gerank import GERank
from skrank.rankers._ir_svm import IRSVM
from skrank.rankers._lambdamart import LambdaMART
from skrank.rankers._lambdarank import LambdaRank
from skrank.rankers._large_margin_ordinal import LargeMarginOrdinal
from skrank.rankers._listmle import ListMLE
from skrank.rankers._listnet import ListNet
from skrank.rankers._logistic_ranker import LogisticRanker
from skrank.rankers._magnitude_preserving_ranker import MagnitudePreservingRanker
from skrank.rankers._mart import MART
from skrank.rankers._mcrank import McRank
from skrank.rankers._multiple_hyperplane import MultipleHyperplaneRanker
from skrank.rankers._nested_ranker import NestedRanker
from skrank.rankers._online_aggregate_prank import OnlineAggregatePRank
from skrank.rankers._owpc import OWPC
from skrank.rankers._p_norm_push import PNormPush
from skrank.rankers._permu_rank import PermuRank
from skrank.rankers._prank import PRank
from skrank.rankers._preference_ordering import PreferenceOrdering
from skrank.rankers._qbrank import QBRank
from skrank.rankers._random_forest_ranker import RandomForestRanker
from skrank.rankers._rank_boost import RankBoost
from skrank.rankers._rank_cosine import RankCosine
from skrank.rankers._rank_svm import RankSVM
from skrank.rankers._rankgp import RankGP
from skrank.rankers._ranknet import RankNet
from skrank.rankers._robust_sparse_ranker import RobustSparseRanker
from skrank.rankers._rocchio import Rocchio
from skrank.rankers._sigmoid_ranker import SigmoidRanker
from skrank.rankers._smooth_rank import SmoothRank
from skrank.rankers._soft_rank import SoftRank
from skrank.rankers._sortnet import SortNet
from skrank.rankers._structrank import StructRank
from skrank.rankers._structured_svm import StructuredSVMRanker
from skrank.rankers._subset_regression import SubsetRegression
from skrank.rankers._svm_classifier_ranker import SVMClassifierRanker
from skrank.rankers._svm_map import SVMMAP
from skrank.rankers._svm_mrr import SVMMRR
from skrank.rankers._svm_ndcg import SVMNDCG
from skrank.rankers._threshold_ordinal import ThresholdOrdinal
from skrank.rankers._yeti_rank import YetiRank

__all__ = [
    "IRSVM",
    "MART",
    "OWPC",
    "SVMMAP",
    "SVMMRR",
    "SVMNDCG",
    "AdaRank",
    "ApproxAP",
    "ApproxNDCG",
    "AssociationRuleRanker",
    "BoltzRank",
    "BoostedRanker",
    "CoordinateAscent",
    "DecisionTheoreticRanker",
    "EnergyListwise",
    "EnergyPairwise",
    "EnergyPointwise",
    "EnergyRanker",
    "FRank",
    "GBRank",
    "GERank",
    "LambdaMART",
    "LambdaRank",
    "LargeMarginOrdinal",
    "ListMLE",
    "ListNet",
    "LogisticRanker",
    "MagnitudePreservingRanker",
    "McRank",
    "MultipleHyperplaneRanker",
    "NestedRanker",
    "OnlineAggregatePRank",
    "PNormPush",
    "PRank",
    "PermuRank",
    "PreferenceOrdering",
    "QBRank",
    "RandomForestRanker",
    "RankBoost",
    "RankCosine",
    "RankGP",
    "RankNet",
    "RankSVM",
    "RobustSparseRanker",
    "Rocchio",
    "SVMClassifierRanker",
    "SigmoidRanker",
    "SmoothRank",
    "SoftRank",
    "SortNet",
    "StructRank",
    "StructuredSVMRanker",
    "SubsetRegression",
    "ThresholdOrdinal",
    "YetiRank",
]
