"""The stochastic gradient descent of Fang & Liu (2016)."""

from skrank.solvers import SGD


class PaperSGDMixin:
    """Energy rankers whose ``solver="sgd"`` is that of the paper (table 4).

    A subclass gives its learning rate and number of epochs for MQ2008.
    """

    _sgd_rate: float
    _sgd_epochs: int

    def _named_solver(self, name):
        if name != "sgd":
            return super()._named_solver(name)
        return SGD(
            learning_rate=self._sgd_rate,
            momentum=0.0,
            per_unit=True,
            batch_queries=1,
            max_iter=self._sgd_epochs,
        )
