"""Displays: pictures of rankings and of training."""

from skrank.inspection._energy_surface import EnergySurfaceDisplay
from skrank.inspection._energy_training import EnergyTrainingDisplay
from skrank.inspection._gaussian_embedding import GaussianEmbeddingDisplay
from skrank.inspection._ranking_curve import RankingCurveDisplay
from skrank.inspection._training_curve import TrainingCurveDisplay

__all__ = [
    "EnergySurfaceDisplay",
    "EnergyTrainingDisplay",
    "GaussianEmbeddingDisplay",
    "RankingCurveDisplay",
    "TrainingCurveDisplay",
]
