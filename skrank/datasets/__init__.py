"""Readers of ranking data, and data sets that need no download."""

from skrank.datasets._container import RankingData
from skrank.datasets._corpora import (
    TextRecord,
    iter_jsonl_documents,
    load_jsonl_documents,
    load_jsonl_queries,
    load_tsv_queries,
)
from skrank.datasets._corpora_cranfield import CranfieldData, load_cranfield
from skrank.datasets._corpora_trec import (
    iter_trec_documents,
    load_trec_documents,
    load_trec_topics,
)
from skrank.datasets._folds import LetorFold, load_letor_folds
from skrank.datasets._judged_run import JudgedRun, judge_run
from skrank.datasets._letor import dump_letor, load_letor
from skrank.datasets._runs import Qrels, Run
from skrank.datasets._see_also import load_see_also
from skrank.datasets._synthetic import make_ranking
from skrank.datasets._tables import load_table
from skrank.datasets._trec import dump_qrels, dump_run, load_qrels, load_run

__all__ = [
    "CranfieldData",
    "JudgedRun",
    "LetorFold",
    "Qrels",
    "RankingData",
    "Run",
    "TextRecord",
    "dump_letor",
    "dump_qrels",
    "dump_run",
    "iter_jsonl_documents",
    "iter_trec_documents",
    "judge_run",
    "load_cranfield",
    "load_jsonl_documents",
    "load_jsonl_queries",
    "load_letor",
    "load_letor_folds",
    "load_qrels",
    "load_run",
    "load_see_also",
    "load_table",
    "load_trec_documents",
    "load_trec_topics",
    "load_tsv_queries",
    "make_ranking",
]
