"""An ensemble of PRank, trained online."""

from typing import Annotated

from sklearn.utils import check_random_state

from skrank._core._parameters import Interval, PositiveInt
from skrank._core._threads import n_threads_for
from skrank.rankers._iterations import ThreadsMixin
from skrank.rankers._prank import BasePRank
from skrank.rankers._rounds import draw_seed


class OnlineAggregatePRank(ThreadsMixin, BasePRank):
    r"""Online aggregate PRank: the mean of many PRanks, each of which sees a part.

    .. math:: w = \frac{1}{N} \sum_{j=1}^{N} w_j, \qquad
              b = \frac{1}{N} \sum_{j=1}^{N} b_j

    Each of N instances of `PRank` learns from a document with probability
    :math:`\tau`, independently of all others. The mean approximates the Bayes point,
    the centre of all directions that suit the documents, and is meant to generalise
    better than any one of them. A mean of ordered thresholds is in order.

    Whether an instance learns from a document is drawn anew in each pass, and depends
    on ``random_state`` and on the number of documents before it, so that a stream gives
    the same model in however many parts it comes.

    Complexity: O(:math:`\tau` N n (d + K)) per pass over n documents with d features
    and K grades, for N instances.

    Parameters
    ----------
    n_estimators : int, default=100
        Number N of instances.
    subsample : float, default=0.3
        Probability :math:`\tau` that an instance learns from a document.

    Attributes
    ----------
    params_ : ndarray of shape (n_estimators, n_features + n_grades - 1)
        Direction and thresholds of every instance.
    coef_ : ndarray of shape (n_features,)
        Mean direction.
    thresholds_ : ndarray of shape (n_grades - 1,)
        Mean thresholds, ascending.
    seed_ : int
        Seed of the draws.

    References
    ----------
    [Liu2011]_, section 2.4.1; [Harrington2003]_, section 3, whose values the defaults
    are.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import OnlineAggregatePRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = OnlineAggregatePRank(max_iter=1, random_state=0).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    n_estimators: PositiveInt = 100
    subsample: Annotated[float, Interval(0, 1, "right")] = 0.3

    @classmethod
    def _variants(cls):
        return [{"n_estimators": 10}, {"n_estimators": 5, "subsample": 1.0}]

    def _n_perceptrons(self) -> int:
        return int(self.n_estimators)

    def _share(self) -> float:
        return float(self.subsample)

    def _begin(self, data):
        super()._begin(data)
        # From the seed alone, so that `fit` and `partial_fit` draw the same.
        self.seed_ = draw_seed(check_random_state(self.random_state))

    def _seed(self) -> int:
        return self.seed_

    def _n_threads(self, X) -> int:
        # About 1 ns for each entry that an instance learns from.
        return n_threads_for(self.subsample * self.n_estimators * X.size, self.n_jobs)
