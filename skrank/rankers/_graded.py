"""What rankers share that put documents into grades, or between their thresholds."""

from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags

from skrank._core._grades import distinct_grades
from skrank._rows import GroupedRows
from skrank.base import ArrayOrCSR


class ProbabilitiesMixin:
    """Mixin of rankers with a method ``predict_proba``."""

    def __sklearn_tags__(self):
        parent: Any = super()
        tags = parent.__sklearn_tags__()
        # By these scikit-learn knows how many probabilities to expect.
        tags.classifier_tags = ClassifierTags()
        return tags


class GradesMixin:
    """Mixin of rankers whose model is made for a set of grades.

    Attributes
    ----------
    grades_ : ndarray of shape (n_grades,)
        Grades of the training rows, ascending; they need not be consecutive.
    """

    grades_: np.ndarray

    def _learn_grades(self, data: GroupedRows) -> None:
        """Note the grades of a fit; those of a model that goes on stay."""
        ranker: Any = self
        if not (ranker.warm_start and "grades_" in vars(ranker)):
            self.grades_ = distinct_grades(
                data.y, "because all rows have a number for each of them"
            )

    def _grades_of_loss(self) -> np.ndarray:
        """Return the grades as losses take them, at least two."""
        if len(self.grades_) > 1:
            return self.grades_
        # There is nothing to learn, and a fit to such data warns of them.
        return np.append(self.grades_, np.nextafter(self.grades_[0] + 1.0, np.inf))


class ThresholdsMixin:
    """Mixin of rankers with thresholds between their grades.

    A ranker has ``grades_``, the ascending grades, and ``thresholds_``, one number
    between each grade and the next.
    """

    grades_: np.ndarray
    thresholds_: np.ndarray
    predict: Any

    def predict_grades(self, X: ArrayOrCSR) -> np.ndarray:
        r"""Return the grade between whose thresholds the score of a document lies.

        .. math:: \hat y = \min \{ r : f(x) < b_r \}, \qquad b_K = \infty

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.

        Returns
        -------
        ndarray of shape (n_documents,)
            Grades, each one of ``grades_``.
        """
        scores = self.predict(X)
        return self.grades_[np.searchsorted(self.thresholds_, scores, side="right")]


def probabilities(cumulative: np.ndarray) -> np.ndarray:
    """Return the probabilities of grades, given those of being above each threshold.

    Parameters
    ----------
    cumulative : ndarray of shape (n_documents, n_grades - 1)
        :math:`P(y > k)`, which must not increase with k.

    Returns
    -------
    ndarray of shape (n_documents, n_grades)
        :math:`P(y = k)`, rows of which sum to 1.
    """
    edges = np.ones((len(cumulative), cumulative.shape[1] + 2))
    edges[:, 1:-1] = cumulative
    edges[:, -1] = 0.0
    return edges[:, :-1] - edges[:, 1:]


def places_of(y: np.ndarray, grades: np.ndarray, accepted: str) -> np.ndarray:
    """Return the place of each grade among the grades that are known.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Grades of documents.
    grades : ndarray of shape (n_grades,)
        Known grades, ascending.
    accepted : str
        What may be done about others, for the error message.

    Returns
    -------
    ndarray of shape (n_documents,), dtype int32
        Places, from 0.

    Raises
    ------
    ValueError
        If a grade is not known.
    """
    places = np.minimum(np.searchsorted(grades, y), len(grades) - 1)
    unknown = np.flatnonzero(grades[places] != y)
    if len(unknown):
        raise ValueError(
            f"y holds grade {y[unknown[0]]:g}, which is not among the grades "
            f"{grades.tolist()!s:.100}; {accepted}"
        )
    return places.astype(np.int32)
