"""Losses: what a ranker minimises, as functions of grades and scores."""

from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._listmle import ListMLELoss
from skrank.losses._listnet import ListNetLoss
from skrank.losses._pointwise import LogisticLoss, SquaredLoss
from skrank.losses._ranknet import RankNetLoss

__all__ = [
    "BaseLoss",
    "ListMLELoss",
    "ListNetLoss",
    "LogisticLoss",
    "PreparedLoss",
    "RankNetLoss",
    "SquaredLoss",
]
