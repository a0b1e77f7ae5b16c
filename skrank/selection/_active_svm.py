"""SVM selective sampling: the documents that a ranker can hardly tell apart."""

from typing import Annotated

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from skrank._core._parameters import Interval
from skrank.selection._active_base import BaseActiveSelector, Offers


class SVMSelectiveSampling(BaseActiveSelector):
    r"""Sets of documents of a query whose scores are closest to each other.

    .. math:: \min_{S \subset q,\, |S| = s} \;
              \frac{2}{s (s - 1)} \sum_{\{u, v\} \subset S} |f(x_u) - f(x_v)|

    The pairs of such a set are those closest to the hyperplane of a ranking SVM, of
    which support vectors are made. A set that minimises the sum is a run of consecutive
    documents in the ranking of those that are not judged, so that only these are looked
    at. Of all queries, the best sets are taken that share no document, until there are
    enough.

    Scores of different queries are compared as they are: the margin of a linear ranker
    is the same for all.

    Complexity: O(n log m + n s) for n documents, m in a query, after they are scored;
    memory O(n).

    Parameters
    ----------
    size : int, default=2
        Number s of documents of a set.

    See Also
    --------
    ExpectedHypothesisChange : Documents that would change the ranker most.

    References
    ----------
    [Yu2005]_; [Liu2011]_, section 13.3.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from skrank.selection import SVMSelectiveSampling
    >>> X = np.array([[0.0], [1.0], [1.1], [5.0]])
    >>> ranker = Ridge(alpha=0.0).fit(X, X[:, 0])  # scores are X
    >>> SVMSelectiveSampling().select(ranker, X, [0, 0, 0, 0], n=2)
    array([1, 2])
    """

    size: Annotated[int, Interval(2, 1000)] = 2

    @classmethod
    def _variants(cls):
        return [*super()._variants(), {"size": 3}]

    def _offers(self, pool):
        scores, places = pool.scores(), pool.open
        order = places[np.lexsort((scores[places], pool.codes[places]))]
        last = self.size - 1
        n_sets = len(order) - last
        if n_sets <= 0:
            return Offers(np.empty((0, self.size), dtype=np.intp), np.empty(0))
        scores, codes = scores[order], pool.codes[order]
        sums = np.zeros(n_sets)
        # Of s sorted numbers, number t is above t others and below s - 1 - t. All sets
        # at once, for a table of their members would take s times the memory.
        for t in range(self.size // 2):
            gaps = scores[last - t : last - t + n_sets] - scores[t : t + n_sets]
            sums += (last - 2 * t) * gaps
        of_one_query = codes[:n_sets] == codes[last:]
        members = sliding_window_view(order, self.size)
        return Offers(members, np.where(of_one_query, -sums, np.nan))
