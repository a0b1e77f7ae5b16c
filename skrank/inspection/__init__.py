"""Displays: pictures of rankings and of training."""

from skrank.inspection._ranking_curve import RankingCurveDisplay
from skrank.inspection._training_curve import TrainingCurveDisplay

__all__ = ["RankingCurveDisplay", "TrainingCurveDisplay"]
