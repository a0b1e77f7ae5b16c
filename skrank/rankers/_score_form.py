"""Forms of scores that can be taken apart: linear functions, and sums of trees.

A ranker may have coefficients or trees and still score by something else, such as a
link, a kernel or the probabilities of grades. So a form is read off a fitted ranker and
then compared with the scores of a few rows, whatever the class of the ranker is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank.trees import TreeEnsemble

_CLOSE = 1e-9  # difference of two ways to add, relative to the size of what is added


class FormError(ValueError):
    """A score has another form.

    Parameters
    ----------
    reason : str
        Why, as a clause.
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class TreeForm:
    """The score ``start`` plus a weighted sum of trees, and that of an initial ranker.

    Attributes
    ----------
    ensemble : TreeEnsemble
        The trees.
    scale : ndarray of shape (n_trees,)
        Factor of each tree.
    start : float
        Constant that the trees add to.
    init : estimator or None
        Fitted estimator whose scores the trees add to, too.
    """

    ensemble: TreeEnsemble
    scale: np.ndarray
    start: float
    init: Any


def probe_rows(n_features: int) -> np.ndarray:
    """Return a few rows by which functions of the features are told apart."""
    # Zeros and ones tell a constant and a sum apart, normal values all the rest.
    rng = np.random.default_rng(0)
    ends = np.repeat([[0.0], [1.0]], n_features, axis=1)
    return np.concatenate([ends, rng.normal(size=(6, n_features))])


def linear_form(ranker: Any) -> tuple[np.ndarray, float]:
    """Return the coefficients and the constant of a ranker whose scores are linear.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker.

    Returns
    -------
    coef : ndarray of shape (n_features,)
        Coefficients.
    intercept : float
        Constant.

    Raises
    ------
    FormError
        If the scores are not linear.
    ValueError
        If a coefficient is not finite.
    """
    coef = getattr(ranker, "coef_", None)
    if coef is None:
        raise FormError("it has no coefficients of the features")
    coef, intercept = np.asarray(coef, dtype=np.float64), ranker.intercept_
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        raise ValueError("a coefficient of the model is not finite")
    if coef.ndim != 1:
        raise FormError(f"its score combines {len(coef)} linear functions")
    # Coefficients may be those of a link or a kernel, so scores of a few rows tell.
    rows = probe_rows(len(coef))
    expected = rows @ coef + intercept
    size = np.abs(rows) @ np.abs(coef) + abs(intercept)
    found = ranker._predict(rows) if ranker.n_features_in_ == len(coef) else np.nan
    if not np.all(np.abs(found - expected) <= _CLOSE * size):
        raise FormError("its scores are not those of its coefficients")
    return coef, float(intercept)


def tree_form(ranker: Any, output: int | None = None) -> TreeForm:
    """Return the trees of a ranker whose scores are a weighted sum of them.

    Parameters
    ----------
    ranker : BaseRanker
        A fitted ranker with ``ensemble_``.
    output : int, default=None
        Sum of trees to return in place of the score, where there are several.

    Returns
    -------
    TreeForm

    Raises
    ------
    FormError
        If the score is no linear function of the sums of trees.
    ValueError
        If there is no such output.
    """
    ensemble, n_outputs = ranker.ensemble_, ranker.ensemble_.n_outputs
    if ensemble.is_linear:
        raise FormError("the leaves of its trees hold linear functions")
    baseline = np.asarray(getattr(ranker, "baseline_", np.zeros(n_outputs)))
    init = getattr(ranker, "init_", None)
    if output is not None:
        if not 0 <= output < n_outputs:
            raise ValueError(
                f"output must be the number of a sum of trees from 0 to "
                f"{n_outputs - 1}, got {output}"
            )
        weights, constant = np.eye(n_outputs)[output], 0.0
    else:
        weights, constant = _weights_of_outputs(ranker, n_outputs)
    form = TreeForm(
        ensemble=ensemble,
        scale=np.ascontiguousarray(weights[ensemble.output_]),
        start=float(baseline @ weights + constant),
        init=init,
    )
    if output is None and init is None:
        _check_trees(ranker, form)
    return form


def _weights_of_outputs(ranker, n_outputs) -> tuple[np.ndarray, float]:
    """Return the weights of the sums of trees in the score, and its constant."""
    to_scores = getattr(ranker, "_to_scores", None)
    if to_scores is None:
        return np.ones(n_outputs), 0.0
    zero, units = np.zeros((1, n_outputs)), np.eye(n_outputs)
    constant = float(to_scores(zero)[0])
    weights = np.asarray(to_scores(units)) - constant
    raw = probe_rows(n_outputs)
    size = np.abs(raw) @ np.abs(weights) + abs(constant)
    found = np.asarray(to_scores(raw))
    if not np.all(np.abs(found - raw @ weights - constant) <= _CLOSE * size):
        raise FormError(
            "its score is no linear function of "
            + (f"its {n_outputs} sums of trees" if n_outputs > 1 else "its trees")
        )
    return weights, constant


def _check_trees(ranker, form) -> None:
    """Raise an error where a class does more than add its trees."""
    rows = probe_rows(ranker.n_features_in_)
    raw = np.zeros((len(rows), form.ensemble.n_outputs))
    encoded = ranker.bin_mapper_.encode(rows)
    expected, size = form.start, abs(form.start)
    for tree, scale in enumerate(form.scale):
        raw[:] = 0.0
        form.ensemble.add_to(raw, encoded, tree, tree + 1)
        expected = expected + scale * raw.sum(axis=1)
        size = size + np.abs(scale * raw).sum(axis=1)
    if not np.all(np.abs(ranker._predict(rows) - expected) <= _CLOSE * size):
        raise FormError("its scores are not the sum of its trees")
