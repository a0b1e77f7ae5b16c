"""Experiments: rankers tuned and compared on the folds of a data set.

On each fold a ranker is trained with every choice of its parameters on the training
queries, the choice that is best on the validation queries is kept, and the test queries
of all folds are pooled, as in the protocol of LETOR [Qin2010]_. Each training is
stored, so that an experiment that was interrupted goes on where it was.
"""

from skrank.experiments._experiment import Experiment
from skrank.experiments._folds import Fold, make_folds
from skrank.experiments._grid import RankerGrid
from skrank.experiments._result import ExperimentResult
from skrank.experiments._training import TrainingProgress

__all__ = [
    "Experiment",
    "ExperimentResult",
    "Fold",
    "RankerGrid",
    "TrainingProgress",
    "make_folds",
]
