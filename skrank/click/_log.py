"""Sessions as the models of clicks see them: pairs, ranks and last clicks."""

from functools import cached_property
from typing import Any

import numpy as np

from skrank._core._threads import n_threads_for
from skrank.click._models import click_context
from skrank.click._sessions import Sessions

# A share of the nanoseconds of a light loop for each impression: loops of about a
# millisecond do not pay for waking a team of threads on a busy machine.
WORK = 0.4


class Log:
    """Sessions, with the number that a model has for the pair of each impression.

    Parameters
    ----------
    sessions : Sessions
        Sessions.
    pair : ndarray of shape (n_impressions,), dtype intp
        Number of the pair of each impression; −1 if the model does not know it.
    n_jobs : int or None
        Parameter ``n_jobs`` of the model.
    """

    def __init__(self, sessions: Sessions, pair: np.ndarray, n_jobs: int | None):
        self.sessions = sessions
        self.pair = pair
        self.click = sessions.click
        self.ptr = sessions.ptr
        self.n_threads = n_threads_for(WORK * len(pair), n_jobs)

    @cached_property
    def rank(self) -> np.ndarray:
        """Rank of each impression in its session, from 1."""
        return self.sessions.position

    @cached_property
    def size(self) -> np.ndarray:
        """Number of impressions of the session of each impression."""
        return self.of_session(self.sessions.sizes)

    @cached_property
    def _context(self) -> tuple[np.ndarray, np.ndarray]:
        return click_context(self.click, self.ptr, self.n_threads)

    @property
    def before(self) -> np.ndarray:
        """Rank of the last click before each impression; 0 if there is none."""
        return self._context[0]

    @property
    def last(self) -> np.ndarray:
        """Rank of the last click of each session; 0 if there is none."""
        return self._context[1]

    @cached_property
    def last_of(self) -> np.ndarray:
        """Rank of the last click of the session of each impression."""
        return self.of_session(self.last)

    def of_session(self, values: np.ndarray) -> np.ndarray:
        """Return a number of each session for each of its impressions."""
        return np.repeat(values, self.sessions.sizes)

    def probabilities_of_events(self, probability: np.ndarray) -> np.ndarray:
        """Return the probability of what each user did from that of a click."""
        return np.where(self.click != 0, probability, 1.0 - probability)


def check_not_empty(sessions: Sessions, owner: Any) -> None:
    """Raise an error if there is nothing to learn from."""
    if not sessions.n_impressions:
        raise ValueError(
            f"{type(owner).__name__}: sessions must hold at least one impression, got "
            f"{sessions!r}"
        )
