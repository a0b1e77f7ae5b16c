"""Multiple nested ranker."""

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from skrank._core._parameters import invalid_parameter
from skrank._core._queries import take_rows
from skrank._core._segments import segment_ranks
from skrank._meta import BaseQueryMetaRanker, fit_on
from skrank._rows import GroupedRows
from skrank.rankers._ranknet import RankNet


class NestedRanker(BaseQueryMetaRanker):
    r"""Multiple nested ranker: the best documents are ranked again, and again.

    .. math:: D_0 = D_q, \qquad D_{s} = \{d \in D_{s-1} :
              d \text{ is among the first } k_s \text{ of } f_{s-1}\}, \qquad
              f_s \text{ is trained on } D_s

    The first ranker is trained on all documents; each further one on those documents
    that the rankers before it have put on the first :math:`k_s` places of their
    queries, and it orders these places anew. So each task is smaller, and closer to the
    top, than the last one. Documents that are cut off keep the places that they have,
    and so do those with equal scores among each other.

    A stage where no query is longer than its depth leaves the documents as they are,
    and shares the ranker of the stage before it. Complexity: that of one ranker on
    all documents and one on the first :math:`k_s` of each query for every depth.

    Parameters
    ----------
    estimator : estimator, default=None
        A ranker, a pipeline or a scikit-learn estimator, of which each stage fits a
        clone; None means `RankNet`, as in the paper.
    depths : sequence of int, default=(100, 10)
        Numbers :math:`k_1 > k_2 > \dots` of documents that each stage after the first
        one ranks again.

    Attributes
    ----------
    estimators_ : list of estimator
        Fitted ranker of each stage.
    is_trained_ : ndarray of shape (n_stages,), dtype bool
        Whether each stage has a ranker of its own, or shares that of the stage before.

    References
    ----------
    [Matveeva2006]_; [Liu2011]_, section 3.2.3.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import NestedRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = NestedRanker(depths=(10, 5)).fit(X, y, groups)
    >>> len(ranker.estimators_), ranker.score(X, y, groups) > 0.7
    (3, True)
    """

    approach = "pairwise"
    _giver = "its estimators give"

    estimator: Any = field(default=None, kw_only=False)
    depths: Sequence[int] = (100, 10)

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        from skrank.rankers._rank_svm import RankSVM

        return [{}, {"estimator": RankSVM(), "depths": (6, 3)}, {"depths": ()}]

    def _default_estimator(self):
        return RankNet()

    def _check_parameters(self):
        super()._check_parameters()
        depths = list(self.depths)
        whole = all(
            isinstance(depth, Integral) and not isinstance(depth, bool) and depth >= 1
            for depth in depths
        )
        if not whole or any(a <= b for a, b in pairwise(depths)):
            raise invalid_parameter(
                self, "depths", "whole numbers >= 1 that fall", self.depths
            )

    @property
    def _needs_groups(self) -> bool:
        return True

    def _inner_models(self):
        return self.estimators_

    def _scores_of_rows(self, data: GroupedRows) -> np.ndarray:
        """Return sums of all scores, for places always differ."""
        scores = [
            self._scores_by_query(model, data.X, data.ptr) for model in self.estimators_
        ]
        return np.sum(scores, axis=0)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        model = fit_on(self._chosen_estimator(), data, validation)
        models, trained = [model], [True]
        for depth in self.depths:
            trained.append(bool(data.sizes.max() > depth))
            if trained[-1]:
                data = self._first(model, data, depth)
                if validation is not None:
                    validation = self._first(model, validation, depth)
                model = fit_on(self._chosen_estimator(), data, validation)
            models.append(model)
        self.estimators_, self.is_trained_ = models, np.array(trained)

    def _first(self, model, data, depth) -> GroupedRows:
        """Return the rows that a model puts on the first places of their queries."""
        scores = self._scores_by_query(model, data.X, data.ptr)
        return data.where(segment_ranks(scores, data.ptr) <= depth)

    def _is_trained(self):
        if "is_trained_" in vars(self):
            return self.is_trained_
        # Pickles of older versions; their model files have copies of what was shared.
        pairs = pairwise(self.estimators_)
        return [True, *(model is not before for before, model in pairs)]

    def _predict(self, X, ptr: Any = None) -> np.ndarray:
        # Other depths may be set after `fit`, but each of them needs an estimator.
        self._check_parameters()
        if len(self.depths) != len(self.estimators_) - 1:
            accepted = f"{len(self.estimators_) - 1} depths, as at the last fit"
            raise invalid_parameter(self, "depths", accepted, self.depths)
        sizes = np.diff(ptr)
        scores = self._scores_by_query(self.estimators_[0], X, ptr)
        ranks = np.asarray(segment_ranks(scores, ptr), dtype=np.intp)
        for depth, model, is_trained in zip(
            self.depths, self.estimators_[1:], self._is_trained()[1:], strict=True
        ):
            if not is_trained or not len(ranks):
                continue
            rows = np.flatnonzero(ranks <= depth)
            part = np.append(0, np.cumsum(np.minimum(sizes, depth))).astype(np.intp)
            scores = self._scores_by_query(model, take_rows(X, rows), part)
            codes = np.repeat(np.arange(len(part) - 1), np.diff(part))
            # Documents with equal scores keep the order that they have.
            order = np.lexsort((ranks[rows], -scores, codes))
            ranks[rows[order]] = np.arange(len(rows)) - part[codes] + 1
        # The number of documents of the query that rank below each one.
        return (np.repeat(sizes, sizes) - ranks).astype(np.float64)
