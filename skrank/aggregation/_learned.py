"""Fusion by a ranker whose features are the scores of the runs."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from skrank._core._inner import fit_inner, scores_of
from skrank._core._parameters import invalid_parameter
from skrank._core._queries import rows_of_queries
from skrank.aggregation._base import BaseScoreAggregator
from skrank.aggregation._joined import JoinedRuns
from skrank.aggregation._judgements import Judgements

_Feature = Literal["score", "reciprocal_rank", "retrieved"]


class LearnedFusion(BaseScoreAggregator):
    r"""Ranker whose features are what the runs say of a document.

    .. math::

       s(d) = f\bigl(s_1(d), \dots, s_R(d)\bigr)

    with a ranker f that is trained on judged queries.

    Parameters
    ----------
    ranker : ranker or estimator, default=None
        Ranker, pipeline or scikit-learn estimator, such as
        ``skrank.rankers.RankSVM()``; it has to be given.
    features : sequence of str, default=("score",)
        Features that are made of each run: "score" is the normalised score,
        "reciprocal_rank" the reciprocal of the rank, and "retrieved" whether the run
        has the document. A document that a run lacks has the score that ``missing``
        says, or 0, and the reciprocal rank 0.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker.
    n_runs_ : int
        Number of runs.

    Notes
    -----
    Complexity: that of the ranker, with up to three features per run.

    References
    ----------
    [Liu2011]_, section 20.4, describes supervised aggregation as an open topic.

    Examples
    --------
    >>> from skrank.aggregation import LearnedFusion
    >>> from skrank.rankers import RankSVM
    >>> good = {"q1": {"a": 3.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> bad = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 5.0, "b": 2.0}}
    >>> fusion = LearnedFusion(ranker=RankSVM())
    >>> fusion = fusion.fit([good, bad], {"q1": {"a": 1}, "q2": {"b": 1}})
    >>> list(fusion.aggregate([good, bad])["q1"])
    ['a', 'b']
    """

    short_name: ClassVar[str] = "learned"
    learns: ClassVar[bool] = True

    ranker: Any = None
    features: Sequence[_Feature] = ("score",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ranker is None:
            raise invalid_parameter(
                self, "ranker", "a ranker, such as skrank.rankers.RankSVM()", None
            )
        if not len(self.features):
            raise invalid_parameter(
                self, "features", "a sequence of at least one feature", self.features
            )

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        assert judgements is not None
        rows, _ = rows_of_queries(joined.ptr, np.flatnonzero(judgements.judged))
        if not len(rows):
            raise ValueError(
                f"{type(self).__name__}: no run retrieved a document of a query with "
                "judgements, so that there is nothing to learn from"
            )
        self.ranker_ = fit_inner(
            self.ranker,
            self._features(joined)[rows],
            judgements.grades[rows],
            groups=joined.groups[rows],
            owner="ranker",
        )

    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        return scores_of(self.ranker_, self._features(joined), joined.groups)

    def _features(self, joined: JoinedRuns) -> np.ndarray:
        """Return the features of all documents."""
        made = []
        for name in self.features:
            if name == "score":
                made.append(np.nan_to_num(self._normalized(joined).T, nan=0.0))
            elif name == "retrieved":
                made.append(joined.retrieved.astype(np.float64))
            else:
                made.append(np.nan_to_num(1.0 / joined.ranks, nan=0.0))
        return np.hstack(made)
