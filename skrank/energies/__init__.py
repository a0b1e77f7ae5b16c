"""Energies: families of scoring functions; the lower the energy, the better."""

from skrank.energies._base import BaseEnergy
from skrank.energies._kernel import KernelEnergy
from skrank.energies._linear import LinearEnergy
from skrank.energies._mlp import MLPEnergy

__all__ = ["BaseEnergy", "KernelEnergy", "LinearEnergy", "MLPEnergy"]
