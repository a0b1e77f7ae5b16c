"""What every aggregator shares: runs in, one fused score per document out.

An aggregator states its short name and implements ``_combine(joined)``, which maps a
`JoinedRuns` to one score per document, higher is better. Runs of every kind, partial
lists and the form of the result are dealt with here.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank._core._finite import largest_safe, quiet
from skrank._core._id_arrays import id_list
from skrank._core._inner import as_floats
from skrank._core._messages import shown
from skrank._core._parameters import (
    NThreads,
    Numbers,
    Parameters,
    PositiveInt,
    invalid_parameter,
)
from skrank._core._validation import check_arguments, n_rows, resolve_groups
from skrank.aggregation._joined import (
    JoinedRuns,
    RunsLike,
    best_first,
    join_for_now,
    join_new,
    join_runs,
)
from skrank.aggregation._judgements import (
    Judgements,
    judgements_of,
    least_relevant_first,
    warn_of_judgements,
)
from skrank.aggregation._normalization import (
    Normalization,
    normalized,
    normalized_parts,
)
from skrank.aggregation._sums import sum_of_parts
from skrank.datasets import Qrels, Run
from skrank.metrics import ndcg_score
from skrank.metrics._evaluate import check_judgements

QrelsLike = Qrels | Mapping[Any, Mapping[Any, float]] | npt.ArrayLike


class BaseAggregator(Parameters, BaseEstimator):
    """Base class of aggregators, which fuse the rankings of several runs into one.

    Subclasses implement ``_combine(joined)``, which returns one score per document of a
    `JoinedRuns`, and those that learn from judgements ``_learn(joined, judgements)``.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of threads; None asks for all CPUs. Results do not depend on it.

    Attributes
    ----------
    short_name : str
        Name by which `get_aggregator` finds the class.
    aliases : tuple of str
        Further names, among them those of the ranx package.
    learns : bool
        Whether `fit` must see judged queries before `aggregate`.
    """

    short_name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    learns: ClassVar[bool] = False

    # The scores of a document depend on the other documents of its query.
    _needs_groups = True
    __metadata_request__fit = {"groups": True}
    __metadata_request__predict = {"groups": True}
    __metadata_request__score = {"groups": True}

    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        """Constructor arguments that the common tests try."""
        return [{}]

    @abstractmethod
    def _combine(self, joined: JoinedRuns) -> np.ndarray:
        """Return the fused score of each document."""

    def _learn(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        """Learn from runs; aggregators that learn nothing leave this as it is."""

    def _check_runs(self, joined: JoinedRuns) -> None:
        """Raise an error if parameters, or what was learned, belong to other runs."""
        weights = getattr(self, "weights", None)
        if weights is not None:
            _check_weights(self, weights, joined.n_runs)
        known = getattr(self, "n_runs_", joined.n_runs)
        if known != joined.n_runs:
            raise ValueError(
                f"{type(self).__name__} was fitted to {known} runs, got {joined.n_runs}"
            )

    def fit(
        self,
        runs: RunsLike | JoinedRuns,
        y: QrelsLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn what the method learns; others only check their parameters and runs.

        Parameters
        ----------
        runs : runs, joined runs, or array-like of shape (n_documents, n_runs)
            Runs, as `join_runs` takes them.
        y : Qrels, mapping or array-like of shape (n_documents,), default=None
            Judgements of the runs' documents: those of `skrank.datasets.load_qrels`, a
            dictionary ``{query: {document: grade}}``, or the grade of each row if the
            runs come as an array. Of documents of an array with equal scores, the least
            relevant one counts as ranked first, whatever the order of the rows.
        groups : array-like of shape (n_documents,), default=None
            Query id of each row of an array.

        Returns
        -------
        BaseAggregator
            The fitted aggregator.

        Raises
        ------
        ValueError
            If a parameter is out of range, judgements are needed and missing, or runs
            are not valid.
        """
        self._check_parameters()
        joined = join_runs(runs, groups)
        vars(self).pop("n_runs_", None)
        self._check_runs(joined)
        self._learn_from(joined, None if y is None else judgements_of(joined, y))
        return self

    def _learn_from(self, joined: JoinedRuns, judgements: Judgements | None) -> None:
        """Learn from checked runs, with judgements if there are any."""
        if judgements is None and self._needs_fit():
            raise ValueError(
                f"{type(self).__name__}.fit learns from judged queries: pass y, as "
                "Qrels, a dictionary {query: {document: grade}}, or one grade per row"
            )
        if judgements is not None and self.learns and joined._kind == "array":
            joined, judgements = least_relevant_first(joined, judgements)
        self._learn(joined, judgements)
        if judgements is not None and self.learns:
            warn_of_judgements(self, judgements)
        self.n_runs_ = joined.n_runs

    def _needs_fit(self) -> bool:
        """Whether `aggregate` needs what only `fit` can learn."""
        return self.learns

    def aggregate(
        self,
        runs: RunsLike | JoinedRuns,
        groups: npt.ArrayLike | None = None,
        *,
        depth: PositiveInt | None = None,
        top_k: PositiveInt | None = None,
    ) -> Any:
        """Fuse runs into one.

        Parameters
        ----------
        runs : runs, joined runs, or array-like of shape (n_documents, n_runs)
            Runs, as `join_runs` takes them.
        groups : array-like of shape (n_documents,), default=None
            Query id of each row of an array.
        depth : int, default=None
            Number of best documents of each query that are taken from a run; None takes
            all.
        top_k : int, default=None
            Number of best documents of each query in the result; None keeps all.

        Returns
        -------
        Run, dict or ndarray of shape (n_documents,)
            The fused run, in the form of the runs. In a `skrank.datasets.Run` and in a
            dictionary, the best document of a query comes first, and of equal scores
            the larger document id, as in trec_eval. In an array, each row has its fused
            score, and −inf if no run retrieved it, or if it is below rank ``top_k``.

        Raises
        ------
        ValueError
            If a parameter is out of range or runs are not valid.
        sklearn.exceptions.NotFittedError
            If the method learns and was not fitted.
        """
        self._check_ready()
        check_arguments(BaseAggregator.aggregate, top_k=top_k)
        return self._aggregate(join_for_now(runs, groups, depth), top_k)

    def _check_ready(self) -> None:
        """Raise an error if parameters are wrong, or what is learned is missing."""
        self._check_parameters()
        if self._needs_fit():
            check_is_fitted(self, "n_runs_")

    def _aggregate(self, joined: JoinedRuns, top_k: int | None = None) -> Any:
        """Fuse joined runs into one, in the form in which they came."""
        self._check_runs(joined)
        scores = self._fused(joined)
        return _as_given(joined, scores, self.short_name, top_k, self.n_jobs)

    def _fused(self, joined: JoinedRuns) -> np.ndarray:
        """Return finite scores of what was retrieved, and −inf for the rest."""
        retrieved = joined.retrieved_only()
        with quiet():
            scores = self._combine(retrieved) if retrieved.n_documents else np.empty(0)
        name = f"{type(self).__name__}._combine"
        fused = scores = as_floats(scores, name, retrieved.n_documents)
        if joined.n_documents > len(scores):
            fused = np.full(joined.n_documents, -np.inf)
            fused[joined.found] = scores
        if not np.isfinite(scores).all():
            numbers = [
                f"{name}={value!r}"
                for name, value in self.get_params(deep=False).items()
                if name != "n_jobs" and isinstance(value, Real)
            ]
            given = f" with {', '.join(numbers)}" if numbers else ""
            raise ValueError(
                f"{type(self).__name__}: the fused scores are not finite; the scores "
                f"of the runs are too large to be combined{given}, so choose a "
                "normalization"
            )
        return fused

    def predict(
        self, X: npt.ArrayLike, groups: npt.ArrayLike | None = None
    ) -> np.ndarray:
        """Fuse the scores of runs in an array, as `aggregate` does.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_runs)
            Scores, one column per run; NaN where a run lacks a document.
        groups : array-like of shape (n_documents,), default=None
            Query id of each row. None reads a pandas index level "qid".

        Returns
        -------
        ndarray of shape (n_documents,)
            Fused scores; −inf where no run retrieved the document.
        """
        self._check_ready()
        if isinstance(X, JoinedRuns):
            return self.aggregate(X, groups)
        return self._aggregate(join_new(X, groups, "X"))

    def score(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG@10 of the fused ranking.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_runs)
            Scores, one column per run; NaN, or masked, where a run lacks a document.
        y : array-like of shape (n_documents,)
            Relevance grades; masked where nobody judged the document.
        groups : array-like of shape (n_documents,), default=None
            Query id of each row. None reads a level "qid" of the index of y or X.
        sample_weight : array-like of shape (n_documents,), default=None
            Row weights; a query has the mean weight of its rows.

        Returns
        -------
        float
            Mean over queries.

        Raises
        ------
        ValueError
            As of `predict`, or if grades are not valid or their number differs.
        """
        caller, n = f"{type(self).__name__}.score", n_rows(X)
        ids = resolve_groups(groups, y, X, n_samples=n, caller=caller)
        scores = self.predict(X, ids)
        grades = check_judgements(y, n_samples=n)
        return ndcg_score(grades, scores, groups=ids, sample_weight=sample_weight, k=10)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_fit()
        tags.input_tags.allow_nan = True
        tags.requires_fit = self._needs_fit()
        return tags


def _check_weights(owner, weights, n_runs: int) -> None:
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_runs,):
        raise ValueError(
            f"{type(owner).__name__}: weights must hold one number per run, {n_runs} "
            f"in all, got {shown(weights)}"
        )
    # Weighted counts and sums of points must not overflow.
    largest = largest_safe(np.float64)
    if not (array.min() >= 0 and array.max() <= largest and array.any()):
        accepted = f"numbers from 0 to {largest:.2g} that are not all zero"
        raise invalid_parameter(owner, "weights", accepted, weights)


def _as_given(joined: JoinedRuns, scores, name, k, n_jobs) -> Any:
    """Return fused scores in the form in which the runs came."""
    if joined._kind == "array":
        if k is not None:
            order = best_first(scores, joined.ptr, n_jobs=n_jobs)
            scores[order[_places(joined.ptr) >= k]] = -np.inf
        assert joined._index is not None
        return joined._index.restore(scores)
    ids = joined.ids
    assert ids is not None
    order = best_first(scores, joined.ptr, ids, n_jobs=n_jobs)
    ptr = joined.ptr
    if k is not None:
        places = _places(ptr)
        order = order[places < k]
        ptr = np.append(0, np.cumsum(np.minimum(joined.sizes, k)))
    docids, scores = ids.take(order), scores[order]
    if joined._kind == "run":
        return Run(np.repeat(joined.queries, np.diff(ptr)), docids, scores, name)
    names, values, bounds = docids.tolist(), scores.tolist(), ptr.tolist()
    return {
        query: dict(zip(names[a:b], values[a:b]))
        for query, a, b in zip(id_list(joined.queries), bounds, bounds[1:])
    }


def _places(ptr: np.ndarray) -> np.ndarray:
    """Return 0-based places within queries."""
    return np.arange(ptr[-1]) - np.repeat(ptr[:-1], np.diff(ptr))


class WeightedRunsMixin(Parameters):
    """Mixin of aggregators in which each run has a weight.

    Parameters
    ----------
    weights : sequence of float, default=None
        Weight of each run, >= 0. None gives all runs the same weight, 1. Majorities
        compare sums of weights as computers round them: 0.1 + 0.2 outweighs 0.3, where
        1 + 2 ties with 3.
    """

    weights: Numbers | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.weights is not None:  # of one run at least; of how many, runs say
            _check_weights(self, self.weights, max(len(self.weights), 1))

    def _weights(self, joined: JoinedRuns) -> np.ndarray:
        """Return the weight of each run, shape (n_runs,)."""
        if self.weights is None:
            return np.ones(joined.n_runs)
        return np.asarray(self.weights, dtype=np.float64)

    def _weighted_sum(
        self,
        joined: JoinedRuns,
        parts: Iterable[np.ndarray],
        fill: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the weighted sum of what the runs give to their documents."""
        weights = self._weights(joined)
        parts = [weight * part for weight, part in zip(weights, parts)]
        if fill is not None:
            fill = weights * fill
        return sum_of_parts(joined, parts, fill, self.n_jobs)


class BaseScoreAggregator(BaseAggregator):
    """Base class of aggregators that combine the scores of the runs.

    Scores of different systems have different ranges, so that they are normalised
    within each query and run before they are combined.

    Parameters
    ----------
    normalization : str or None, default="min-max"
        Normalisation of the scores of each query and run: "min-max" maps them to [0,
        1], "max" divides by the largest, "sum" shifts the smallest to 0 and the sum to
        1, "zmuv" makes their mean 0 and their variance 1, "rank" maps rank p of m
        documents of the run to 1 − (p − 1) / m, "borda" does so with the m documents of
        all runs, and "min-max-inverted" is for distances, of which the smallest is
        best. None takes the scores as they are. "min_max" and "min_max_inverted" are
        accepted, too.
    missing : {"skip", "minimum"} or float, default="skip"
        Normalised score of a document that a run did not retrieve: "skip" leaves the
        run out for this document, except that "borda" shares the points that are left
        among the documents that the run lacks; "minimum" takes the least score of the
        run for the query, and a number stands for itself. A run that has nothing for a
        query is left out.
    """

    normalization: Normalization | None = "min-max"
    missing: Literal["skip", "minimum"] | float = "skip"

    def _normalized(self, joined: JoinedRuns) -> np.ndarray:
        """Return normalised scores by run, shape (n_runs, n_documents), NaN: none."""
        return normalized(joined, self.normalization, self.missing)

    def _parts(self, joined: JoinedRuns) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Return normalised scores in the order of each run, and those it lacks."""
        return normalized_parts(joined, self.normalization, self.missing)
