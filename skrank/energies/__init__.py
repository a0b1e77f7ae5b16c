"""Energies: families of scoring functions; the lower the energy, the better."""

from skrank.energies._base import BaseEnergy
from skrank.energies._comparator import ComparatorEnergy
from skrank.energies._gaussian import GaussianEnergy
from skrank.energies._kernel import KernelEnergy
from skrank.energies._label_embedding import EmbeddingEnergy, PrototypeEnergy
from skrank.energies._label_scalar import (
    AbsoluteLabelEnergy,
    ProductLabelEnergy,
    SquaredLabelEnergy,
)
from skrank.energies._linear import LinearEnergy
from skrank.energies._mlp import MLPEnergy
from skrank.energies._nadaraya_watson import NadarayaWatsonEnergy
from skrank.energies._pairwise_potential import PairwisePotentialEnergy
from skrank.energies._preference_weights import PreferenceWeightsEnergy
from skrank.energies._threshold import ThresholdEnergy

__all__ = [
    "AbsoluteLabelEnergy",
    "BaseEnergy",
    "ComparatorEnergy",
    "EmbeddingEnergy",
    "GaussianEnergy",
    "KernelEnergy",
    "LinearEnergy",
    "MLPEnergy",
    "NadarayaWatsonEnergy",
    "PairwisePotentialEnergy",
    "PreferenceWeightsEnergy",
    "ProductLabelEnergy",
    "PrototypeEnergy",
    "SquaredLabelEnergy",
    "ThresholdEnergy",
]
