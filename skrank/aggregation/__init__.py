"""Rank aggregation: the rankings of several systems fused into one."""

from skrank.aggregation._base import BaseAggregator
from skrank.aggregation._borda import Borda
from skrank.aggregation._comb import (
    WMNZ,
    CombANZ,
    CombGMNZ,
    CombMAX,
    CombMED,
    CombMIN,
    CombMNZ,
    CombSUM,
    MixedFusion,
)
from skrank.aggregation._condorcet import Condorcet
from skrank.aggregation._copeland import Copeland
from skrank.aggregation._joined import JoinedRuns, join_runs
from skrank.aggregation._kemeny import Kemeny
from skrank.aggregation._learned import LearnedFusion
from skrank.aggregation._local_kemeny import LocalKemeny
from skrank.aggregation._mallows import Mallows
from skrank.aggregation._map_fuse import MAPFuse
from skrank.aggregation._markov_chain import MC1, MC2, MC3, MC4
from skrank.aggregation._median_rank import MedianRank
from skrank.aggregation._plackett_luce import PlackettLuce
from skrank.aggregation._positions import BayesFuse, PosFuse, ProbFuse, SlideFuse
from skrank.aggregation._rank_biased import RBC
from skrank.aggregation._reciprocal import ISR, RRF, LogISR, LogNISR
from skrank.aggregation._registry import (
    aggregate,
    get_aggregator,
    known_aggregators,
)
from skrank.aggregation._segment_fuse import SegFuse
from skrank.aggregation._weighted import WeightedFusion

__all__ = [
    "ISR",
    "MC1",
    "MC2",
    "MC3",
    "MC4",
    "RBC",
    "RRF",
    "WMNZ",
    "BaseAggregator",
    "BayesFuse",
    "Borda",
    "CombANZ",
    "CombGMNZ",
    "CombMAX",
    "CombMED",
    "CombMIN",
    "CombMNZ",
    "CombSUM",
    "Condorcet",
    "Copeland",
    "JoinedRuns",
    "Kemeny",
    "LearnedFusion",
    "LocalKemeny",
    "LogISR",
    "LogNISR",
    "MAPFuse",
    "Mallows",
    "MedianRank",
    "MixedFusion",
    "PlackettLuce",
    "PosFuse",
    "ProbFuse",
    "SegFuse",
    "SlideFuse",
    "WeightedFusion",
    "aggregate",
    "get_aggregator",
    "join_runs",
    "known_aggregators",
]
