"""Other libraries behind skrank's interface, and skrank's rankers behind theirs."""

from skrank.compat._adapters import RankingRegressor
from skrank.compat._ir_measures import ir_measures_provider
from skrank.compat._peers import PeerRanker
from skrank.compat._pyterrier import PyTerrierLearner, pyterrier_ranker

__all__ = [
    "PeerRanker",
    "PyTerrierLearner",
    "RankingRegressor",
    "ir_measures_provider",
    "pyterrier_ranker",
]
