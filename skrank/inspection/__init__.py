"""Pictures of rankings, of training and of what the features contribute."""

from skrank.inspection._click_curves import (
    ExaminationCurveDisplay,
    PerplexityCurveDisplay,
)
from skrank.inspection._contribution_bars import PreferenceDisplay, WaterfallDisplay
from skrank.inspection._contribution_points import BeeswarmDisplay, DependenceDisplay
from skrank.inspection._energy_surface import EnergySurfaceDisplay
from skrank.inspection._energy_training import EnergyTrainingDisplay
from skrank.inspection._explanation import Explanation, PreferenceExplanation
from skrank.inspection._gaussian_embedding import GaussianEmbeddingDisplay
from skrank.inspection._importance import FeatureImportanceDisplay
from skrank.inspection._learning_curve import LearningCurveDisplay
from skrank.inspection._partial_dependence import (
    interaction_strength,
    query_partial_dependence,
)
from skrank.inspection._permutation_importance import query_permutation_importance
from skrank.inspection._ranking_curve import RankingCurveDisplay
from skrank.inspection._regret_curve import RegretCurveDisplay
from skrank.inspection._shap_values import explain_preference, shap_values
from skrank.inspection._training_curve import TrainingCurveDisplay
from skrank.inspection._variation import FeatureVariation, feature_variation

__all__ = [
    "BeeswarmDisplay",
    "DependenceDisplay",
    "EnergySurfaceDisplay",
    "EnergyTrainingDisplay",
    "ExaminationCurveDisplay",
    "Explanation",
    "FeatureImportanceDisplay",
    "FeatureVariation",
    "GaussianEmbeddingDisplay",
    "LearningCurveDisplay",
    "PerplexityCurveDisplay",
    "PreferenceDisplay",
    "PreferenceExplanation",
    "RankingCurveDisplay",
    "RegretCurveDisplay",
    "TrainingCurveDisplay",
    "WaterfallDisplay",
    "explain_preference",
    "feature_variation",
    "interaction_strength",
    "query_partial_dependence",
    "query_permutation_importance",
    "shap_values",
]
