"""Learning rates that change from round to round."""

from numbers import Real
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._parameters import InvalidParameterError
from skrank._core._validation import called


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
        if not (is_number and 0.0 < float(rate) < np.inf):
            raise InvalidParameterError(
                f"{type(ranker).__name__}: learning_rate must be a number > 0 in every "
                f"round, got {shown(rate)} in round {i} (the first one is 0)"
            )
    return np.array(rates, dtype=np.float64)
