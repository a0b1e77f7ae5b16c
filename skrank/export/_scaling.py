"""Scalings that a linear model can absorb.

An affine step :math:`x' = (x - m) / s` or :math:`x' = s x + m` followed by
:math:`w^T x' + b` is a linear model of the raw features.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted


def _centred(coef, intercept, centre, scale):
    """Absorb ``(x - centre) / scale``; None means that a part is switched off."""
    if scale is not None:
        coef = coef / scale
    if centre is not None:
        # The products may be large and cancel, so they are summed without rounding.
        intercept = math.fsum([intercept, *(-coef * centre)])
    return coef, intercept


# Parts may be switched off after the fit as well; `transform` then leaves them out.
def _standard(scaler, coef, intercept):
    centre = scaler.mean_ if scaler.with_mean else None
    return _centred(coef, intercept, centre, scaler.scale_ if scaler.with_std else None)


def _robust(scaler, coef, intercept):
    centre = scaler.center_ if scaler.with_centering else None
    scale = scaler.scale_ if scaler.with_scaling else None
    return _centred(coef, intercept, centre, scale)


def _max_abs(scaler, coef, intercept):
    return _centred(coef, intercept, None, scaler.scale_)


def _min_max(scaler, coef, intercept):
    intercept = math.fsum([intercept, *(coef * scaler.min_)])
    return coef * scaler.scale_, intercept


_FOLDS = {
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    RobustScaler: _robust,
    StandardScaler: _standard,
}


def fold_scaling(
    steps: Sequence[tuple[str, Any]], coef: np.ndarray, intercept: float
) -> tuple[np.ndarray, float]:
    """Absorb the steps of a pipeline into a linear model.

    Parameters
    ----------
    steps : sequence of (str, estimator)
        Names and fitted steps before the ranker, in their order.
    coef : ndarray of shape (n_features,)
        Coefficients of the scaled features.
    intercept : float
        Constant term.

    Returns
    -------
    coef : ndarray of shape (n_features,)
        Coefficients of the raw features.
    intercept : float
        Constant term.

    Raises
    ------
    ValueError
        If a step is not a scaling that is the same for every row.
    """
    coef = np.asarray(coef, dtype=np.float64)
    for name, step in reversed(steps):
        fold = _FOLDS.get(type(step))
        if fold is None:
            accepted = ", ".join(sorted(cls.__name__ for cls in _FOLDS))
            raise ValueError(
                f"step {name!r} of the pipeline is a {type(step).__name__}, which "
                "cannot be folded into the coefficients of a linear model; accepted "
                f"are {accepted}. Let the system that computes the features do it, "
                "and export the ranker alone"
            )
        if getattr(step, "clip", False):
            raise ValueError(
                f"step {name!r} of the pipeline clips its values, which a linear "
                "model cannot express; set clip=False"
            )
        check_is_fitted(step)
        coef, intercept = fold(step, coef, intercept)
    return coef, float(intercept)
