"""The different grades of training rows, for models that keep something for each."""

from typing import Any

import numpy as np

#: Most different grades, or labels, of which a model keeps something for each.
MAX_GRADES = 256


def distinct_grades(y: Any, purpose: str) -> np.ndarray:
    """Return the different grades of rows, of which there must not be too many.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Grades.
    purpose : str
        What there is one of for each grade, as a clause for the error message.

    Returns
    -------
    ndarray of shape (n_grades,), dtype float64
        Grades, ascending.

    Raises
    ------
    ValueError
        If there are more than `MAX_GRADES` of them.
    """
    grades = np.unique(np.asarray(y, dtype=np.float64))
    if len(grades) > MAX_GRADES:
        raise ValueError(
            f"y must have at most {MAX_GRADES} different grades, {purpose}; got "
            f"{len(grades)}. Bin the grades, or choose a ranker that takes real-valued "
            "ones, such as RankSVM or LambdaMART"
        )
    return grades
