"""Rankers that learn a score and ordered thresholds between the grades."""

from collections.abc import Iterator

import numpy as np

from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy, ThresholdEnergy
from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.rankers._graded import GradesMixin, ThresholdsMixin


class BaseOrdinalRanker(ThresholdsMixin, GradesMixin, BaseEnergyRanker):
    """Base class of rankers with ordered thresholds among their parameters.

    Parameters
    ----------
    warm_start : bool, default=False
        Whether to start from the parameters of the last `fit`, with its grades.

    Attributes
    ----------
    params_ : ndarray of shape (n_params,)
        Parameters of the score, the first threshold, and the steps between thresholds.
    coef_ : ndarray of shape (n_features,) or (n_components,)
        Coefficients w of linear scores.
    thresholds_ : ndarray of shape (n_grades - 1,)
        Scores that separate each grade from the next, ascending.
    grades_ : ndarray of shape (n_grades,)
        Grades of the training rows, ascending; they need not be consecutive.
    """

    #: Number of thresholds between one grade and the next.
    _n_between = 1

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        self._learn_grades(data)
        super()._fit(data, validation)

    def _with_thresholds(self, score: BaseEnergy) -> ThresholdEnergy:
        """Return the energy of a score and of the thresholds between the grades."""
        n_thresholds = self._n_between * (len(self._grades_of_loss()) - 1)
        return ThresholdEnergy(score, n_thresholds=n_thresholds)

    def _model_scores(self, energy, loss, params, X, ptr) -> np.ndarray:
        return energy.document_scores(params, X, ptr)

    def _energies(self, X, ptr=None) -> np.ndarray:
        return -self._predict(X, ptr)

    @property
    def thresholds_(self) -> np.ndarray:
        """Scores that separate each grade from the next, ascending."""
        found = self.energy_.thresholds(self.params_)
        between = found.reshape(-1, self._n_between).mean(axis=1)
        return between[: len(self.grades_) - 1]

    def _learned(self) -> Iterator[tuple[str, np.ndarray]]:
        yield from super()._learned()
        yield "thresholds_", self.thresholds_
