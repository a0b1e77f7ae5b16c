"""Weights of preference pairs by the gain of their preferred document."""

from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skrank._core._parameters import Parameters
from skrank.metrics._gain import Gain, gain_of_grades


class GainOfBetter(Parameters, BaseEstimator):
    r"""Weight of a preference pair: the gain of its preferred document.

    .. math:: w(y_u, y_v) = G(y_u), \qquad y_u > y_v

    An object of this class is a function of grades that can be given as the
    ``grade_weights`` of a loss, and, unlike other functions, can be saved.

    Parameters
    ----------
    gain : {"exp2", "linear"}, callable, mapping or array, default="exp2"
        Gain of a grade: :math:`2^y - 1`; y; a function of an array of grades; a mapping
        from grade to gain; or a table that is indexed by integer grades.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import GainOfBetter
    >>> GainOfBetter("exp2")(np.array([2.0, 1.0]), np.array([0.0, 0.0])).tolist()
    [3.0, 1.0]
    """

    gain: Gain = field(default="exp2", kw_only=False)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments worth testing."""
        return [{}, {"gain": "linear"}, {"gain": {0: 0.0, 1: 1.0, 2: 3.0}}]

    def __call__(self, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
        """Return the weight of each pair.

        Parameters
        ----------
        better : ndarray of shape (n_pairs,)
            Grades of the preferred documents.
        worse : ndarray of shape (n_pairs,)
            Grades of the other documents, which do not matter.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Gains of the preferred documents.

        Raises
        ------
        ValueError
            If a gain is unknown, negative or not finite.
        """
        return gain_of_grades(self.gain, better)
