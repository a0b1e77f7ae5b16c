"""Shared parts of the rankers of [Fang2016]_."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np

from skrank._core._parameters import Interval, NonNegative
from skrank.energies import BaseEnergy
from skrank.rankers._energy_ranker import BaseEnergyRanker, BaseNetworkRanker
from skrank.solvers import SGD, BaseSolver, RelaxedStart, SmoothingHomotopy


def paper_solvers(
    *, learning_rate: float, max_iter: int
) -> dict[str, Callable[[], BaseSolver]]:
    """Return the solvers that have names, of which "sgd" is that of the paper.

    Parameters
    ----------
    learning_rate : float
        Learning rate of the ranker for MQ2008.
    max_iter : int
        Number of epochs of the ranker.

    Returns
    -------
    dict of str to callable
        Makers of the solvers that a ranker's ``solver`` can name by a string.

    References
    ----------
    [Fang2016]_, table 4.
    """
    sgd = partial(
        SGD,
        learning_rate=learning_rate,
        momentum=0.0,
        per_unit=True,
        batch_queries=1,
        max_iter=max_iter,
    )
    return BaseEnergyRanker._solvers | {"sgd": sgd}


class BaseLVQ2Ranker(BaseNetworkRanker):
    """Base class of rankers whose loss is cut off at a cap, as that of LVQ2 is.

    Parameters
    ----------
    cap : float, default=2.0
        Largest loss M; ``numpy.inf`` for none.
    margin : float, default=1.0
        Difference of energies from which on nothing is lost.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `SmoothingHomotopy` for linear scores and
        otherwise `RelaxedStart` with `Adam`; "sgd" is the solver of the paper.
    """

    cap: Annotated[float, Interval(0, np.inf, "right")] = 2.0
    margin: NonNegative = 1.0

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        # Training begins at scores that are all zero. Without a margin these cost
        # nothing, and a full-batch solver would stop before its first step.
        if self.margin == 0:
            raise ValueError(
                "margin=0 makes scores that are all zero a minimum, where the default "
                "solver ends; set margin > 0, or solver='sgd' as in the paper"
            )
        return SmoothingHomotopy(final_width=0.01) if energy.linear else RelaxedStart()
