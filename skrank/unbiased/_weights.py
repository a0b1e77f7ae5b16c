"""Weights that make up for places where documents are seldom looked at."""

from typing import Annotated

import numpy as np
import numpy.typing as npt

from skrank._core._finite import at_most_one
from skrank._core._parameters import Interval
from skrank._core._validation import check_grades, check_options
from skrank.unbiased._positions import check_propensities

#: Least propensity that weights are made of; None for any.
Clip = Annotated[float, Interval(0, 1, "right")] | None


def inverse_propensity_weights(
    clicks: npt.ArrayLike,
    propensities: npt.ArrayLike,
    *,
    clip: Clip = None,
    self_normalize: bool = False,
) -> np.ndarray:
    r"""Return the weights of rows that make clicks stand for relevance.

    .. math:: w_i = \frac{1}{\max(p_i, \tau)} \quad (c_i > 0), \qquad
              w_i = 1 \quad (c_i = 0)

    A relevant document in a place that is looked at with probability p is clicked that
    many times less often than it should be, so that its clicks count 1 / p. Clipping at
    :math:`\tau` trades a bias for less variance. Self-normalised weights of clicks are
    divided by their mean over all clicks,

    .. math:: \tilde w_i = w_i \Bigl/ \frac{\sum_j c_j w_j}{\sum_j c_j},

    which makes up for propensities that are known up to a factor, and for clicks that
    happened to fall on rare places.

    Parameters
    ----------
    clicks : array-like of shape (n_documents,)
        1 for clicked documents, 0 for others; or numbers of clicks.
    propensities : array-like of shape (n_documents,)
        Probability that a user looked at each row.
    clip : float, default=None
        Least propensity :math:`\tau`; None takes them as they are.
    self_normalize : bool, default=False
        Whether the weights of clicks have the mean 1.

    Returns
    -------
    ndarray of shape (n_documents,)
        Weights.

    Raises
    ------
    ValueError
        If a click is negative or missing, a propensity is not positive, lengths differ,
        or ``clip`` is not in (0, 1].

    References
    ----------
    [Joachims2017]_, section 4, for the weights and their clipping;
    [Swaminathan2015]_, section 4, for self-normalisation.

    Examples
    --------
    >>> from skrank.unbiased import inverse_propensity_weights
    >>> inverse_propensity_weights([1, 0, 1], [1.0, 0.5, 0.25]).tolist()
    [1.0, 1.0, 4.0]
    >>> inverse_propensity_weights(
    ...     [1, 0, 1], [1.0, 0.5, 0.25], self_normalize=True
    ... ).tolist()
    [0.4, 1.0, 1.6]
    """
    check_options(inverse_propensity_weights, locals())
    counts = check_grades(clicks, name="clicks")
    propensities = check_propensities(propensities, len(counts))
    return weights_of_clicks(counts, propensities, clip, self_normalize)


def weights_of_clicks(
    clicks: np.ndarray,
    propensities: np.ndarray,
    clip: float | None,
    self_normalize: bool,
) -> np.ndarray:
    """Do what `inverse_propensity_weights` does, for arrays that are checked.

    Parameters
    ----------
    clicks : ndarray of shape (n_documents,)
        Numbers of clicks.
    propensities : ndarray of shape (n_documents,)
        Propensities.
    clip : float or None
        Least propensity.
    self_normalize : bool
        Whether the weights of clicks have the mean 1.

    Returns
    -------
    ndarray of shape (n_documents,)
        Weights.
    """
    floor = 0.0 if clip is None else float(clip)
    clicked = clicks > 0
    inverse = 1.0 / np.maximum(propensities, floor)
    if self_normalize and clicked.any():
        counts = at_most_one(clicks[clicked])  # whose sum is finite
        inverse /= np.average(inverse[clicked], weights=counts)
    return np.where(clicked, inverse, 1.0)
