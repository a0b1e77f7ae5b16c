"""Learning from interaction: interleaved comparisons, and rankers that learn online.

An interleaving mixes the rankings of several rankers into one list, and tells from the
clicks on it which of them users prefer. An online ranker shows lists, of which some are
experiments, and learns from the clicks on them; no document is ever judged.

Examples
--------
>>> from skrank.datasets import make_ranking
>>> from skrank.online import PDGD, DuelingBanditRanker, simulate_online
>>> X, y, groups = make_ranking(n_queries=50, random_state=0)
>>> for ranker in (PDGD(), DuelingBanditRanker()):
...     run = simulate_online(ranker, X, y, groups, n_impressions=2000, random_state=0)
...     print(type(ranker).__name__, bool(run.offline[-1] > 0.9))
PDGD True
DuelingBanditRanker False
"""

from skrank.online._balanced import BalancedInterleaving
from skrank.online._base import BaseInterleaving, InterleavedList
from skrank.online._compare import InterleavingComparison, compare_interleaved
from skrank.online._dueling_bandit import DuelingBanditRanker
from skrank.online._multileave import MultileaveRanker
from skrank.online._pdgd import PDGD
from skrank.online._probabilistic import (
    ProbabilisticInterleaving,
    ProbabilisticMultileaving,
)
from skrank.online._proposal import Proposal
from skrank.online._simulation import OnlineRun, simulate_online
from skrank.online._team_draft import TeamDraftInterleaving, TeamDraftMultileaving

__all__ = [
    "PDGD",
    "BalancedInterleaving",
    "BaseInterleaving",
    "DuelingBanditRanker",
    "InterleavedList",
    "InterleavingComparison",
    "MultileaveRanker",
    "OnlineRun",
    "ProbabilisticInterleaving",
    "ProbabilisticMultileaving",
    "Proposal",
    "TeamDraftInterleaving",
    "TeamDraftMultileaving",
    "compare_interleaved",
    "simulate_online",
]
