"""The stochastic gradient descent of Fang & Liu (2016)."""

from functools import partial

from skrank.rankers._energy_ranker import BaseEnergyRanker
from skrank.solvers import SGD


def paper_solvers(*, learning_rate: float, max_iter: int):
    """Return named solvers of which "sgd" is that of the paper (table 4).

    Parameters
    ----------
    learning_rate : float
        Learning rate of a ranker for MQ2008.
    max_iter : int
        Its number of epochs.

    Returns
    -------
    dict of str to callable
        What a ranker's ``solver`` means where it is a string.
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
