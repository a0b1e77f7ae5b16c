"""Ranking measures, scorers and significance tests."""

from skrank.metrics._base import BaseMeasure, query_weights
from skrank.metrics._binary_measures import AP, RR
from skrank.metrics._compare import compare
from skrank.metrics._compare_runs import compare_runs
from skrank.metrics._correlation_measures import (
    KendallTau,
    MeanSquaredError,
    PairwiseAccuracy,
    RankBiasedOverlap,
    SpearmanRho,
)
from skrank.metrics._evaluate import evaluate_measure
from skrank.metrics._evaluate_runs import evaluate
from skrank.metrics._evaluation_result import EvaluationResult
from skrank.metrics._function_measure import FunctionMeasure
from skrank.metrics._functions import (
    average_precision,
    bpref_score,
    dcg_score,
    err_score,
    f_at_k,
    kendall_tau,
    mean_ndcg_score,
    ndcg_score,
    pairwise_accuracy,
    precision_at_k,
    query_mean_squared_error,
    r_precision,
    rank_biased_overlap,
    rbp_score,
    recall_at_k,
    reciprocal_rank,
    spearman_rho,
    success_at_k,
)
from skrank.metrics._gain_measures import DCG, ERR, NDCG, MeanNDCG
from skrank.metrics._leakage import QueryLeakageWarning, check_query_leakage
from skrank.metrics._presets import PRESETS, Preset
from skrank.metrics._registry import get_measure, known_measures
from skrank.metrics._scorer import RankingScorer, make_ranking_scorer
from skrank.metrics._set_measures import (
    RBP,
    Bpref,
    FMeasure,
    Precision,
    Recall,
    RPrecision,
    Success,
)
from skrank.metrics._significance import (
    SignificanceResult,
    bootstrap_interval,
    fisher_randomization_test,
    holm_correction,
    paired_t_test,
    tukey_hsd,
    wilcoxon_test,
)
from skrank.metrics._swap_deltas import DeltaTerms, signed_deltas
from skrank.metrics._table import ComparisonTable, count_wins
from skrank.metrics._trec import TrecResult, trec_measures
from skrank.metrics._winning import winning_number

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "NDCG",
    "PRESETS",
    "RBP",
    "RR",
    "BaseMeasure",
    "Bpref",
    "ComparisonTable",
    "DeltaTerms",
    "EvaluationResult",
    "FMeasure",
    "FunctionMeasure",
    "KendallTau",
    "MeanNDCG",
    "MeanSquaredError",
    "PairwiseAccuracy",
    "Precision",
    "Preset",
    "QueryLeakageWarning",
    "RPrecision",
    "RankBiasedOverlap",
    "RankingScorer",
    "Recall",
    "SignificanceResult",
    "SpearmanRho",
    "Success",
    "TrecResult",
    "average_precision",
    "bootstrap_interval",
    "bpref_score",
    "check_query_leakage",
    "compare",
    "compare_runs",
    "count_wins",
    "dcg_score",
    "err_score",
    "evaluate",
    "evaluate_measure",
    "f_at_k",
    "fisher_randomization_test",
    "get_measure",
    "holm_correction",
    "kendall_tau",
    "known_measures",
    "make_ranking_scorer",
    "mean_ndcg_score",
    "ndcg_score",
    "paired_t_test",
    "pairwise_accuracy",
    "precision_at_k",
    "query_mean_squared_error",
    "query_weights",
    "r_precision",
    "rank_biased_overlap",
    "rbp_score",
    "recall_at_k",
    "reciprocal_rank",
    "signed_deltas",
    "spearman_rho",
    "success_at_k",
    "trec_measures",
    "tukey_hsd",
    "wilcoxon_test",
    "winning_number",
]
