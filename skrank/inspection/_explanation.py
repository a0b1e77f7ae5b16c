"""What each feature contributes to scores, as data."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from skrank._core._messages import on_one_line, shortened, shown
from skrank._core._missing import is_missing
from skrank._core._parameters import is_integer

_NAME_LENGTH = 40
_MISSING = "missing"


@dataclass(frozen=True)
class Explanation:
    r"""Contributions of the features to the scores of documents.

    .. math:: f(x_i) = b_i + \sum_j \phi_{ij}

    The names are those of ``shap.Explanation``, so that the plots of the package shap
    draw ``shap.Explanation(**vars(explanation))``.

    Parameters
    ----------
    values : ndarray of shape (n_documents, n_features)
        Contribution :math:`\phi_{ij}` of each feature to the score of each document.
    base_values : ndarray of shape (n_documents,)
        Score :math:`b_i` that the contributions are added to.
    data : ndarray of shape (n_documents, n_features)
        Values of the features, as they reach the ranker.
    feature_names : list of str
        Names of the features, as the ranker sees them.
    display_data : ndarray of shape (n_documents, n_features) or None, default=None
        Values of the features for people: those of categorical columns, which the
        ranker sees as numbers, as they were passed. None if there is no such column.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.inspection import Explanation
    >>> explanation = Explanation(
    ...     values=np.array([[0.5, -0.2]]),
    ...     base_values=np.array([1.0]),
    ...     data=np.array([[3.0, 4.0]]),
    ...     feature_names=["bm25", "length"],
    ... )
    >>> explanation.scores.tolist()
    [1.3]
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    display_data: np.ndarray | None = None

    @property
    def scores(self) -> np.ndarray:
        """Scores of the documents, as the sums of the contributions."""
        return self.base_values + self.values.sum(axis=1)


@dataclass(frozen=True)
class PreferenceExplanation:
    r"""Contributions of the features to the difference of the scores of two documents.

    .. math:: f(x_a) - f(x_b) = \sum_j \phi_j

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        Contribution :math:`\phi_j` of each feature.
    scores : ndarray of shape (2,)
        Scores of the two documents.
    data : ndarray of shape (2, n_features)
        Values of the features of the two documents, as they reach the ranker.
    feature_names : list of str
        Names of the features, as the ranker sees them.
    documents : tuple of two ints, default=(0, 1)
        Rows of the two documents.
    display_data : ndarray of shape (2, n_features) or None, default=None
        Values of the features for people, as in `Explanation`.
    """

    values: np.ndarray
    scores: np.ndarray
    data: np.ndarray
    feature_names: list[str]
    documents: tuple[int, int] = (0, 1)
    display_data: np.ndarray | None = None

    @property
    def difference(self) -> float:
        """Difference of the two scores, as the sum of the contributions."""
        return float(self.values.sum())


def text_of_value(value: Any, digits: int) -> str:
    """Return a value of a feature for people: a name, or a number of some digits.

    What is missing is "missing"; a name that reads the same is quoted.
    """
    if isinstance(value, str):
        text = shortened(on_one_line(value), _NAME_LENGTH)
        return repr(text) if text == _MISSING else text
    if is_missing(value):
        return _MISSING
    if isinstance(value, Integral):
        return str(value)
    return f"{value:.{digits}g}" if isinstance(value, Real) else shown(value)


def check_place(place: Any, name: str, count: int) -> int:
    """Return the number of a row or column, counted from the end if it is negative."""
    if not is_integer(place):
        raise TypeError(f"{name} must be an integer, got {shown(place)}")
    if not -count <= place < count:
        raise ValueError(f"{name} must be one of {count}, counted from 0, got {place}")
    return int(place) % count


def check_kind(explanation: Any, kind: type) -> Any:
    """Return an argument; raise a TypeError unless it is an explanation of a kind."""
    if not isinstance(explanation, kind):
        maker = "shap_values" if kind is Explanation else "explain_preference"
        raise TypeError(
            f"explanation must be what {maker} returns, got {shown(explanation)}"
        )
    return explanation
