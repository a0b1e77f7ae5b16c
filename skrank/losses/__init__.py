"""Losses: what a ranker minimises, as functions of grades and scores."""

from skrank.losses._base import BaseLoss, PreparedLoss
from skrank.losses._boltzmann import BoltzmannLoss
from skrank.losses._bpr import BPRLoss
from skrank.losses._categorical import CategoricalLoss
from skrank.losses._cdn import CDNLoss
from skrank.losses._energy_listwise import ListwiseEnergyLoss
from skrank.losses._explicit_pairs import ExplicitPairsLoss
from skrank.losses._exponential import ExponentialLoss
from skrank.losses._fidelity import FidelityLoss
from skrank.losses._functional import BaseMarginLoss
from skrank.losses._gain_of_better import GainOfBetter
from skrank.losses._hinge import HingeLoss, LVQ2Loss, PerceptronLoss, SquaredHingeLoss
from skrank.losses._lambda import LambdaLoss
from skrank.losses._lambda_bound import LambdaBoundLoss
from skrank.losses._likelihood_functionals import MEELoss, NLLLoss
from skrank.losses._listmle import ListMLELoss
from skrank.losses._listnet import ListNetLoss
from skrank.losses._magnitude import MagnitudePreservingLoss
from skrank.losses._ordinal import SumOfMarginsLoss, ThresholdLoss
from skrank.losses._owpc import OWPCLoss
from skrank.losses._p_norm_push import PNormPushLoss
from skrank.losses._permutation_hinge import PermutationHingeLoss
from skrank.losses._pointwise import LogisticLoss, SquaredLoss
from skrank.losses._rank_cosine import RankCosineLoss
from skrank.losses._sampled_pairs import SampledPairsLoss
from skrank.losses._sigmoid import LogLoss, MCELoss
from skrank.losses._smooth_measure import SmoothMeasureLoss, smooth
from skrank.losses._square_functionals import (
    EnergyLoss,
    SquareExponentialLoss,
    SquareSquareLoss,
)
from skrank.losses._structured_hinge import StructuredHingeLoss
from skrank.losses._ties import BradleyTerryLoss, ThurstoneMostellerLoss
from skrank.losses._yetirank import YetiRankLoss

__all__ = [
    "BPRLoss",
    "BaseLoss",
    "BaseMarginLoss",
    "BoltzmannLoss",
    "BradleyTerryLoss",
    "CDNLoss",
    "CategoricalLoss",
    "EnergyLoss",
    "ExplicitPairsLoss",
    "ExponentialLoss",
    "FidelityLoss",
    "GainOfBetter",
    "HingeLoss",
    "LVQ2Loss",
    "LambdaBoundLoss",
    "LambdaLoss",
    "ListMLELoss",
    "ListNetLoss",
    "ListwiseEnergyLoss",
    "LogLoss",
    "LogisticLoss",
    "MCELoss",
    "MEELoss",
    "MagnitudePreservingLoss",
    "NLLLoss",
    "OWPCLoss",
    "PNormPushLoss",
    "PerceptronLoss",
    "PermutationHingeLoss",
    "PreparedLoss",
    "RankCosineLoss",
    "SampledPairsLoss",
    "SmoothMeasureLoss",
    "SquareExponentialLoss",
    "SquareSquareLoss",
    "SquaredHingeLoss",
    "SquaredLoss",
    "StructuredHingeLoss",
    "SumOfMarginsLoss",
    "ThresholdLoss",
    "ThurstoneMostellerLoss",
    "YetiRankLoss",
    "smooth",
]


def __getattr__(name):
    """Find losses under their old names, for one release."""
    import warnings

    from skrank.losses._deprecated import OLD_NAMES

    if name not in OLD_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loss, spelling = OLD_NAMES[name]
    warnings.warn(
        f"{name} is now {spelling}; the old name will be removed in the next release",
        DeprecationWarning,
        stacklevel=2,
    )
    return loss
