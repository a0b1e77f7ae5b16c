"""Clicks of simulated users on the rankings of a weak ranker."""

from typing import NamedTuple

import numpy as np

from skrank.click import SimulatedUser
from skrank.datasets import make_ranking


class ClickData(NamedTuple):
    """Rows in the order in which they were shown, query after query."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    clicks: np.ndarray
    positions: np.ndarray
    propensities: np.ndarray


def click_data(n_queries=1000, size=6, *, spread=0.5, noise=0.05, seed=0) -> ClickData:
    """Return clicks on rankings by one feature with noise of some spread."""
    X, y, groups = make_ranking(
        n_queries=n_queries,
        docs_per_query=size,
        n_features=5,
        n_informative=5,
        noise=0.2,
        query_effect=0.0,
        random_state=seed,
    )
    shown = X[:, 0] + spread * np.random.RandomState(seed).standard_normal(len(X))
    order = np.lexsort((-shown, groups))
    X, y, groups = X[order], y[order], groups[order]
    user = SimulatedUser("perfect", examination="position", noise=noise, max_grade=4)
    ptr = np.arange(n_queries + 1) * size
    clicks = user.click(y, ptr, random_state=seed + 1).astype(float)
    positions = np.tile(np.arange(1, size + 1), n_queries)
    return ClickData(X, y, groups, clicks, positions, user.propensities(size))
