"""Warnings and errors that users may want to catch or to silence by name.

Where scikit-learn has a name for a matter, its own is used: `ConvergenceWarning` of
`sklearn.exceptions` for a solver that has not converged, for example.
"""

from skrank._core._finite import NotFiniteError
from skrank._core._informative import TrainingDataWarning
from skrank._core._levels import UnknownLevelsWarning
from skrank._core._parameters import InvalidParameterError

__all__ = [
    "InvalidParameterError",
    "NotFiniteError",
    "TrainingDataWarning",
    "UnknownLevelsWarning",
]
