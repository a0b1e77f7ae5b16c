"""Solvers: ways to minimise an objective, whatever its energy and loss."""

from skrank.solvers._adam import Adam
from skrank.solvers._base import BaseSolver, SolverResult
from skrank.solvers._constrained_sgd import ConstrainedSGD
from skrank.solvers._cutting_plane import CuttingPlane
from skrank.solvers._homotopy import SmoothingHomotopy
from skrank.solvers._iterated_weights import IteratedWeights
from skrank.solvers._lbfgs import LBFGS
from skrank.solvers._projected_gradient import ProjectedGradient
from skrank.solvers._relaxed_start import RelaxedStart
from skrank.solvers._sgd import SGD
from skrank.solvers._sparse_lbfgs import SparseLBFGS
from skrank.solvers._working_set import WorkingSet

__all__ = [
    "LBFGS",
    "SGD",
    "Adam",
    "BaseSolver",
    "ConstrainedSGD",
    "CuttingPlane",
    "IteratedWeights",
    "ProjectedGradient",
    "RelaxedStart",
    "SmoothingHomotopy",
    "SolverResult",
    "SparseLBFGS",
    "WorkingSet",
]
