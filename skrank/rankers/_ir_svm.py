"""IR-SVM."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from skrank._core._grades import distinct_grades
from skrank._core._parameters import invalid_parameter
from skrank.losses import BaseLoss
from skrank.metrics import BaseMeasure, get_measure
from skrank.metrics._registry import NamedMeasure
from skrank.rankers._rank_svm import RankSVM


class IRSVM(RankSVM):
    r"""IR-SVM: a Ranking SVM in which every query counts alike.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{T} \sum_q
              \frac{1}{P_q} \sum_{u \succ v} \tau_{y_u, y_v}
              \max(0, M - w^T (x_u - x_v))^p

    A query with many documents has a lot more pairs than one with few; dividing by the
    number :math:`P_q` of its pairs keeps it from deciding alone. The weights
    :math:`\tau` of pairs of grades say how much an error of each kind matters. T is the
    total weight of all pairs, so that ``alpha`` means the same whatever the weights
    are. Where all queries have equally many pairs and there are no other weights, this
    is `RankSVM`.

    No pair is ever built without weights by grades, as for `RankSVM`; weights that
    depend on both grades visit every pair, in blocks. In place of grades `fit` also
    takes pairs of row numbers, the preferred document first:
    ``fit(X, preferences=pairs)``, but no weights by grades then.

    Complexity: O(n d + n log m) per iteration for n documents, m in a query, with d
    features; weights that depend on both grades take one operation per pair.

    Parameters
    ----------
    rank_pair_weights : str, BaseMeasure, mapping or callable, default=None
        Weights :math:`\tau` by the grades of the two documents: None for 1; a mapping
        from (preferred, other) to the weight; a function of two arrays of grades; or a
        measure of `skrank.metrics`, such as "ndcg@1", to estimate them as the paper
        does: the mean, over the training queries that have both grades, of what the
        measure loses when a document of one grade and one of the other swap places in a
        perfect ranking. The paper draws such swaps; here all of them are averaged.

    Attributes
    ----------
    rank_pair_weights_ : dict
        Estimated weights by pairs of grades, the preferred one first, set only where
        they were estimated.

    References
    ----------
    [Cao2006]_, sections 4 and 5; [Liu2011]_, section 3.3.3, eq. 3.24.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import IRSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = IRSVM(rank_pair_weights="ndcg@5").fit(X, y, groups)
    >>> ranker.rank_pair_weights_[4, 0] > ranker.rank_pair_weights_[2, 1]
    True
    """

    rank_pair_weights: NamedMeasure | Mapping | Callable | None = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"hinge": "linear", "rank_pair_weights": "ndcg@1"},
            {"rank_pair_weights": "ndcg@10"},
            {"rank_pair_weights": np.subtract},
            {"kernel": "rbf", "n_components": 20},
        ]

    def _parts(self):
        energy, loss = super()._parts()
        weights = self.rank_pair_weights
        if isinstance(weights, (str, BaseMeasure)):
            weights = None  # not known before there are grades
        return energy, loss.set_params(normalization="n_pairs", grade_weights=weights)

    def _minimise(self, energy, loss: BaseLoss, data, validation, rng):
        if self.rank_pair_weights is not None and data.preferences is not None:
            accepted = "None with preferences, because pairs have no grades"
            raise invalid_parameter(
                self, "rank_pair_weights", accepted, self.rank_pair_weights
            )
        vars(self).pop("rank_pair_weights_", None)
        named = self.rank_pair_weights
        if isinstance(named, (str, BaseMeasure)):
            measure = get_measure(named)
            if not measure.has_swap_deltas:
                accepted = "a measure of rankings, such as 'ndcg@10'"
                raise invalid_parameter(self, "rank_pair_weights", accepted, named)
            weights = _swap_losses(
                measure, np.asarray(data.y), data.ptr, data.sample_weight
            )
            if weights and not any(weights.values()):
                accepted = "a measure that some swap in a perfect ranking changes"
                raise invalid_parameter(
                    self, "rank_pair_weights", accepted, self.rank_pair_weights
                )
            self.rank_pair_weights_ = weights
            # Data with a single grade have no pairs, and need no weights.
            loss = loss.set_params(grade_weights=weights or None)
        try:
            return super()._minimise(energy, loss, data, validation, rng)
        except (TypeError, ValueError) as error:
            if "grade_weights" not in str(error):
                raise
            # What the loss calls so is this parameter of the ranker.
            message = str(error).replace("grade_weights", "rank_pair_weights")
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(message) from error


def _swap_losses(
    measure, y, ptr, sample_weight=None
) -> dict[tuple[float, float], float]:
    """Return the mean loss of a swap in a perfect ranking, by the two grades.

    Parameters
    ----------
    measure : BaseMeasure
        Any measure with swap deltas.
    y : ndarray of shape (n_documents,)
        Grades, grouped by query.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of the queries.
    sample_weight : ndarray of shape (n_documents,), default=None
        Row weights; a query has the mean weight of its rows.

    Returns
    -------
    dict of (float, float) to float
        Mean over the queries that have both grades, for each pair of grades that some
        query has.
    """
    grades = distinct_grades(
        y, "because rank_pair_weights holds a weight for each pair of them"
    )
    sums = np.zeros((len(grades), len(grades)))
    counts = np.zeros_like(sums)
    terms = measure.delta_terms(y, ptr)
    for q, (start, stop) in enumerate(pairwise(ptr)):
        own = np.sort(y[start:stop])[::-1]
        here, first = np.unique(-own, return_index=True)
        if len(here) < 2:
            continue
        places = np.searchsorted(grades, -here)
        if terms is not None and terms.kind == "gain_discount":
            by_score = np.argsort(-y[start:stop], kind="stable")
            gain = terms.gain[start:stop][by_score][first]
            sizes = np.diff(np.append(first, len(own)))
            discount = np.add.reduceat(terms.discount[: len(own)], first) / sizes
            steps = np.subtract.outer(gain, gain) * np.subtract.outer(
                discount, discount
            )
            losses = np.abs(steps) * terms.scale[q]
        else:
            losses = _block_means(measure, own, first)
        weight = 1.0 if sample_weight is None else sample_weight[start:stop].mean()
        sums[np.ix_(places, places)] += weight * losses
        counts[np.ix_(places, places)] += weight
    means = sums / np.where(counts > 0, counts, 1.0)
    return {
        (float(grades[a]), float(grades[b])): float(means[a, b])
        for a in range(len(grades))
        for b in range(a)
        if counts[a, b] > 0
    }


def _block_means(measure, y, first):
    """Mean loss of the swaps between grades; those of a query, from the best."""
    swaps = np.abs(measure.swap_deltas(y, np.arange(1, len(y) + 1)))
    sums = np.add.reduceat(np.add.reduceat(swaps, first, axis=0), first, axis=1)
    sizes = np.diff(np.append(first, len(y)))
    return sums / np.multiply.outer(sizes, sizes)
