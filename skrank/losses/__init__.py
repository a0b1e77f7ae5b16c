"""Losses: what a ranker minimises, as functions of grades and scores."""

from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._boltzmann import BoltzmannLoss
from skrank.losses._cdn import CDNLoss
from skrank.losses._energy_listwise import ListwiseEnergyLoss
from skrank.losses._explicit_pairs import ExplicitPairsLoss
from skrank.losses._hinge import (
    PairwiseHingeLoss,
    PairwiseSquaredHingeLoss,
    SmoothedHingeLoss,
)
from skrank.losses._lambda import LambdaLoss
from skrank.losses._likelihood_functionals import MEELoss, NLLLoss
from skrank.losses._listmle import ListMLELoss
from skrank.losses._listnet import ListNetLoss
from skrank.losses._margin_functionals import (
    HingeLoss,
    LogLoss,
    LVQ2Loss,
    MCELoss,
    PerceptronLoss,
)
from skrank.losses._pointwise import LogisticLoss, SquaredLoss
from skrank.losses._ranknet import RankNetLoss
from skrank.losses._sampled_pairs import SampledPairsLoss
from skrank.losses._square_functionals import (
    EnergyLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)

__all__ = [
    "BaseLoss",
    "BoltzmannLoss",
    "CDNLoss",
    "EnergyLoss",
    "ExplicitPairsLoss",
    "HingeLoss",
    "LVQ2Loss",
    "LambdaLoss",
    "ListMLELoss",
    "ListNetLoss",
    "ListwiseEnergyLoss",
    "LogLoss",
    "LogisticLoss",
    "MCELoss",
    "MEELoss",
    "NLLLoss",
    "PairwiseHingeLoss",
    "PairwiseSquaredHingeLoss",
    "PerceptronLoss",
    "PreparedLoss",
    "RankNetLoss",
    "SampledPairsLoss",
    "SmoothedHingeLoss",
    "SquareExponentialLoss",
    "SquareSquareLoss",
    "SquaredLoss",
]
