"""Pictures of rankings, of training and of what the features contribute."""

from skrank.inspection._energy_surface import EnergySurfaceDisplay
from skrank.inspection._energy_training import EnergyTrainingDisplay
from skrank.inspection._gaussian_embedding import GaussianEmbeddingDisplay
from skrank.inspection._importance import FeatureImportanceDisplay
from skrank.inspection._permutation_importance import query_permutation_importance
from skrank.inspection._ranking_curve import RankingCurveDisplay
from skrank.inspection._training_curve import TrainingCurveDisplay

__all__ = [
    "EnergySurfaceDisplay",
    "EnergyTrainingDisplay",
    "FeatureImportanceDisplay",
    "GaussianEmbeddingDisplay",
    "RankingCurveDisplay",
    "TrainingCurveDisplay",
    "query_permutation_importance",
]
