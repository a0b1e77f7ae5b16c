"""Laplace's approximation of the posterior of linear scores."""

from typing import Any

import numpy as np
from scipy import linalg

from skrank._core._segments import segment_sum

#: More features than this would take a matrix of more than a million numbers.
MAX_FEATURES = 1000
# In coordinates where a step of 1 changes scores by about 1: central differences of the
# gradient are then right to about eight digits.
_STEP = 1e-4


def laplace_covariance(objective: Any, params: np.ndarray) -> np.ndarray:
    r"""Return the inverse of the Hessian of a negative log posterior at its minimum.

    The objective J is a mean over units of the total weight W, so that the posterior is
    :math:`e^{-W J}`, and its normal approximation at the minimum has the covariance
    :math:`(W \nabla^2 J)^{-1}`.

    Parameters
    ----------
    objective : Objective
        Objective with a linear energy.
    params : ndarray of shape (n_params,)
        Its minimum.

    Returns
    -------
    ndarray of shape (n_params, n_params)
        Covariance of the parameters. Complexity: as many evaluations of the gradient as
        twice the parameters.

    Raises
    ------
    ValueError
        If the objective is not strictly convex at the minimum.
    """
    frame = objective.coordinates()
    v = frame.from_params(params)
    hessian = np.empty((len(v), len(v)))
    for j, step in enumerate(_STEP * np.eye(len(v))):
        ahead, behind = (
            frame.pull(objective.value_gradient(frame.to_params(v + e))[1])
            for e in (step, -step)
        )
        hessian[j] = (ahead - behind) / (2.0 * _STEP)
    try:
        factor = linalg.cholesky(0.5 * (hessian + hessian.T))
    except linalg.LinAlgError:
        raise ValueError(
            "posterior=True: the objective is flat in some direction at its minimum, "
            "so that the posterior has no width there; set alpha above 0, or leave out "
            "features that are constant in every query or repeat others"
        ) from None
    inverse = linalg.solve_triangular(factor, np.eye(len(v)))
    half = np.column_stack([frame.to_params(column) for column in inverse.T])
    return half @ half.T / objective.total_weight


def linear_std(X: Any, covariance: np.ndarray, ptr: np.ndarray | None) -> np.ndarray:
    """Return the standard deviations of linear scores.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_documents, n_features)
        Rows, grouped by query if there is a pointer array.
    covariance : ndarray of shape (n_features, n_features)
        Covariance of the coefficients.
    ptr : ndarray of shape (n_queries + 1,) or None
        If given, the deviations are those of the differences from the mean score of the
        query.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    values, vectors = linalg.eigh(covariance)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    parts = np.asarray(X @ half, dtype=np.float64)
    if ptr is not None:
        sizes = np.diff(ptr)
        for column in parts.T:
            means = segment_sum(np.ascontiguousarray(column), ptr)
            column -= np.repeat(means / np.maximum(sizes, 1), sizes)
    return np.sqrt(np.square(parts).sum(axis=1))
