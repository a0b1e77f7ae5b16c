"""Readers of ranking data, and data sets that need no download."""

from skrank.datasets._container import RankingData
from skrank.datasets._folds import LetorFold, load_letor_folds
from skrank.datasets._letor import dump_letor, load_letor
from skrank.datasets._see_also import load_see_also
from skrank.datasets._synthetic import make_ranking
from skrank.datasets._tables import load_table
from skrank.datasets._trec import (
    JudgedRun,
    Qrels,
    Run,
    dump_qrels,
    dump_run,
    judge_run,
    load_qrels,
    load_run,
)

__all__ = [
    "JudgedRun",
    "LetorFold",
    "Qrels",
    "RankingData",
    "Run",
    "dump_letor",
    "dump_qrels",
    "dump_run",
    "judge_run",
    "load_letor",
    "load_letor_folds",
    "load_qrels",
    "load_run",
    "load_see_also",
    "load_table",
    "make_ranking",
]
