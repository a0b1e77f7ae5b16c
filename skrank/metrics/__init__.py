"""Ranking measures, scorers and significance tests."""

from skrank.metrics._base import BaseMeasure, DeltaTerms, query_weights
from skrank.metrics._binary_measures import AP, RR
from skrank.metrics._gain_measures import DCG, NDCG
from skrank.metrics._leakage import QueryLeakageWarning, check_query_leakage
from skrank.metrics._registry import get_measure, known_measures
from skrank.metrics._scorer import RankingScorer, make_ranking_scorer
from skrank.metrics._significance import (
    SignificanceResult,
    bootstrap_interval,
    fisher_randomization_test,
    holm_correction,
    paired_t_test,
    tukey_hsd,
    wilcoxon_test,
)

__all__ = [
    "AP",
    "DCG",
    "NDCG",
    "RR",
    "BaseMeasure",
    "DeltaTerms",
    "QueryLeakageWarning",
    "RankingScorer",
    "SignificanceResult",
    "bootstrap_interval",
    "check_query_leakage",
    "fisher_randomization_test",
    "get_measure",
    "holm_correction",
    "known_measures",
    "make_ranking_scorer",
    "paired_t_test",
    "query_weights",
    "tukey_hsd",
    "wilcoxon_test",
]
