"""Losses: what a ranker minimises, as functions of grades and scores."""

from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._explicit_pairs import ExplicitPairsLoss
from skrank.losses._hinge import (
    PairwiseHingeLoss,
    PairwiseSquaredHingeLoss,
    SmoothedHingeLoss,
)
from skrank.losses._lambda import LambdaLoss
from skrank.losses._listmle import ListMLELoss
from skrank.losses._listnet import ListNetLoss
from skrank.losses._pointwise import LogisticLoss, SquaredLoss
from skrank.losses._ranknet import RankNetLoss

__all__ = [
    "BaseLoss",
    "ExplicitPairsLoss",
    "LambdaLoss",
    "ListMLELoss",
    "ListNetLoss",
    "LogisticLoss",
    "PairwiseHingeLoss",
    "PairwiseSquaredHingeLoss",
    "PreparedLoss",
    "RankNetLoss",
    "SmoothedHingeLoss",
    "SquaredLoss",
]
