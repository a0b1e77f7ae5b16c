"""Selection of documents to label, of documents to train on, and of features."""

from skrank.selection._active_base import BaseActiveSelector, RandomSelection
from skrank.selection._active_change import ExpectedHypothesisChange
from skrank.selection._active_learning import (
    ActiveLearningRun,
    SelectorComparison,
    active_learning,
    compare_selectors,
)
from skrank.selection._active_svm import SVMSelectiveSampling
from skrank.selection._elimination import QueryRFE, QueryRFECV
from skrank.selection._exploration import ActiveExploration
from skrank.selection._feature_importance import SelectByMeasure
from skrank.selection._feature_l1_path import L1PathSelector
from skrank.selection._gas import GAS
from skrank.selection._hedge import HedgePooling
from skrank.selection._inf_ap import InfAPSampling
from skrank.selection._mtc import MTCSelection
from skrank.selection._pooling import DepthPooling, LetorSelection
from skrank.selection._ppc import PPCSelection
from skrank.selection._stat_ap import StatAPSampling, stat_ap
from skrank.selection._training_base import BaseTrainingSelector, TrainingSelection

__all__ = [
    "GAS",
    "ActiveExploration",
    "ActiveLearningRun",
    "BaseActiveSelector",
    "BaseTrainingSelector",
    "DepthPooling",
    "ExpectedHypothesisChange",
    "HedgePooling",
    "InfAPSampling",
    "L1PathSelector",
    "LetorSelection",
    "MTCSelection",
    "PPCSelection",
    "QueryRFE",
    "QueryRFECV",
    "RandomSelection",
    "SVMSelectiveSampling",
    "SelectByMeasure",
    "SelectorComparison",
    "StatAPSampling",
    "TrainingSelection",
    "active_learning",
    "compare_selectors",
    "stat_ap",
]
