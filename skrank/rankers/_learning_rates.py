"""Learning rates: given round by round, or chosen by the data."""

import sys
from numbers import Real
from typing import Any

import numpy as np

from skrank._core._finite import quiet
from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError
from skrank._core._validation import called

#: The largest learning rate that "auto" takes.
LARGEST_RATE = 0.3


def rate_for(n_documents, n_trees) -> float:
    """Return the learning rate that suits so many documents and trees.

    The sum of the rates is what a study on validation queries of collections of 2,000
    to 120,000 documents found best, and grows with the documents.
    """
    return min(LARGEST_RATE, 10 * (n_documents / 1e4) ** (1 / 3) / n_trees)


def squares_to_hessian(gradient, hessian) -> float:
    """Return the mean squared gradient over the mean Hessian; 0 without a Hessian."""
    weight = 1.0 if hessian is None else float(np.mean(hessian))
    if not weight > 0.0:
        return 0.0
    with quiet():
        return float(np.divide(np.mean(np.square(gradient)), weight))


def grown_rate(rate, first, now) -> float:
    """Return the rate of a round for the mean squared gradient per Hessian.

    The square of half the ratio is one of the forms that a study on validation queries
    compared; it leaves collections with more noise as they are.
    """
    # Without a first value there is nothing to compare; without gradients, no noise.
    if not first > 0.0:
        return rate
    growth = max(1.0, first / (2.0 * now)) if now > 0.0 else np.inf
    # A product of large numbers is infinite, where a power would be an error.
    return float(max(rate, min(LARGEST_RATE, rate * growth * growth)))


def scheduled_rates(ranker: Any) -> np.ndarray | None:
    """Return the learning rates of all rounds, where they are given one by one.

    Parameters
    ----------
    ranker : BaseBoostedRanker
        Ranker whose ``learning_rate`` is a number, "auto", a function of the round,
        counted from 0, or a sequence.

    Returns
    -------
    ndarray of shape (n_estimators,) or None
        Rates; None for a number and for "auto".

    Raises
    ------
    InvalidParameterError
        If a rate is not a number > 0, or there are fewer rates than rounds.
    """
    given, n_rounds = ranker.learning_rate, ranker.n_estimators
    if isinstance(given, str | Real):
        return None
    if callable(given):
        rates = [called("learning_rate", given, i) for i in range(n_rounds)]
    elif len(given) < n_rounds:
        raise InvalidParameterError(
            f"{type(ranker).__name__}: learning_rate must hold a rate for each of the "
            f"n_estimators={n_rounds} rounds, got {len(given)}"
        )
    else:
        rates = list(given)[:n_rounds]
    for i, rate in enumerate(rates):
        is_number = isinstance(rate, Real) and not isinstance(rate, bool)
        # Whole numbers of any length are compared before they are turned into floats.
        size: Any = abs(rate) if is_number else np.inf
        in_range = bool(size <= sys.float_info.max)
        if not (in_range and float(rate) > 0.0):
            raise InvalidParameterError(
                f"{type(ranker).__name__}: learning_rate must be a number > 0 in every "
                f"round, got {shown(rate)} in round {i} (the first one is 0)"
            )
    return np.array(rates, dtype=np.float64)
