"""Ordering with a preference function."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._choices import greedy_ranks
from skrank._core._components import components_in_order
from skrank._core._inner import allows_missing
from skrank._core._parameters import Fraction, NThreads, Seed, invalid_parameter
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_arguments
from skrank._meta import BaseQueryMetaRanker, fit_on, in_parallel
from skrank._rows import GroupedRows, named_rows
from skrank.base import BaseRanker
from skrank.losses._base import informative_query_weights
from skrank.metrics import PairwiseAccuracy

# Pairs of rows whose votes are held at a time: they stay in the cache, and signals are
# answered in between.
_BLOCK = 1 << 18


class PreferenceOrdering(BaseQueryMetaRanker):
    r"""Ordering with a preference function: a weighted vote on every pair of documents.

    .. math:: h(x_u, x_v) = \sum_t w_t h_t(x_u, x_v), \qquad
              h_t(x_u, x_v) = \operatorname{sign}(f_t(x_u) - f_t(x_v))

    Each base preference function :math:`h_t` is that of a feature, or of a ranker that
    is fitted first. Hedge learns the weights: a query multiplies each by

    .. math:: \beta^{L_t}, \qquad L_t = \frac{1}{|P|} \sum_{(u, v) \in P}
              \frac{1 - h_t(x_u, x_v)}{2},

    the share of its preference pairs P that the function has in wrong order. The
    total order that agrees best with h is NP-hard to find. The greedy order puts that
    document next whose preference over all that are left is largest. Its agreement, the
    sum of :math:`(1 + h(x_u, x_v)) / 2` over all pairs of which u comes first, is at
    least half of that of the best order.

    Hedge counts queries, not documents: one with the mean weight 2 counts as two equal
    queries do. Weights of documents within a query only matter to the estimators. As
    each query multiplies the weights of the functions, larger weights of all queries
    part these further, as more queries would.

    Complexity: O(T n log m) to learn from n documents in queries of m by T functions,
    and O(T m²) to order a query.

    Parameters
    ----------
    estimators : sequence of (str, estimator), default=()
        Rankers, pipelines or scikit-learn estimators, with names by which their
        parameters can be set, that are fitted and vote beside the features.
    features : {"both", "ascending", "none"}, default="both"
        Whether each feature votes for its high values and for its low ones, of which
        Hedge finds the better; for its high values only; or not at all.
    beta : float or "auto", default="auto"
        Factor :math:`\beta` in (0, 1). Small ones soon leave the best function alone;
        "auto" takes :math:`1 / (1 + \sqrt{2 \ln T / Q})` for Q queries, with which
        Hedge loses little more than the best function does.
    strong_components : bool, default=False
        Whether documents that prefer each other in a circle are ordered by themselves,
        and these sets of documents by the preferences between them, with which all
        then agree. Needs about 1.25 m² bytes for a query of m documents.
    random_state : int, RandomState or None, default=None
        Source of the seeds of the estimators; None leaves their own.
    n_jobs : int, default=None
        Number of estimators that are fitted at a time, where None means 1, and of the
        threads of the greedy order, where None means all CPUs. Results do not depend
        on it.

    Attributes
    ----------
    estimators_ : list of estimator
        Fitted estimators.
    weights_ : ndarray of shape (n_functions,)
        Weights :math:`w_t` of the features and then of the estimators; their sizes add
        up to at most 1. That of a feature whose low values are better is negative.
    losses_ : ndarray of shape (n_functions,)
        Mean loss :math:`L_t` of the training queries, of the high values of features.

    References
    ----------
    [Cohen1999]_, sections 3 and 4; [Liu2011]_, section 3.2.1, eq. 3.1–3.3;
    [Freund1997]_, lemma 4, for ``beta="auto"``.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import PreferenceOrdering, RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = PreferenceOrdering([("svm", RankSVM())], beta=0.5)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    >>> int(ranker.weights_.argmax()) == X.shape[1]  # the ranker
    True
    """

    approach = "pairwise"

    estimators: Sequence[Any] = field(default=(), kw_only=False)
    features: Literal["both", "ascending", "none"] = "both"
    beta: Fraction | Literal["auto"] = "auto"
    strong_components: bool = False
    random_state: Seed = None
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        from skrank.rankers._rank_svm import RankSVM
        from skrank.rankers._subset_regression import SubsetRegression

        two = [("svm", RankSVM()), ("regression", SubsetRegression())]
        return [
            {"beta": 0.3},
            {"estimators": two, "beta": 0.1},
            {"estimators": two[:1], "features": "none"},
            {"features": "ascending", "beta": 0.3, "strong_components": True},
        ]

    @property
    def _accepts_sparse(self) -> bool:
        return False

    @property
    def _accepts_missing(self) -> bool:
        if not isinstance(self.features, str) or self.features != "none":
            return False
        return all(allows_missing(model) for _, model in self._named())

    def _named(self) -> list[tuple[str, Any]]:
        """Return the names and the estimators, as far as they are any."""
        if not isinstance(self.estimators, (list, tuple)):
            return []
        return [
            (entry[0], entry[1])
            for entry in self.estimators
            if isinstance(entry, (tuple, list)) and len(entry) == 2
        ]

    def get_params(self, deep: bool = True):
        """Return the parameters, and those of the estimators by their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the estimators and their parameters, too.

        Returns
        -------
        dict
            Parameter names and values.
        """
        check_arguments(PreferenceOrdering.get_params, deep=deep)
        params = super().get_params(deep=False)
        if deep:
            for name, model in self._named():
                params[name] = model
                if hasattr(model, "get_params") and not isinstance(model, type):
                    inner = model.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in inner.items()}
        return params

    def set_params(self, **params):
        """Set parameters, estimators by their names, and their parameters.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        PreferenceOrdering
            The ranker itself.
        """
        if "estimators" in params:
            super().set_params(estimators=params.pop("estimators"))
        names = [name for name, _ in self._named()]
        replaced = {name: params.pop(name) for name in names if name in params}
        if replaced:
            self.estimators = [(n, replaced.get(n, e)) for n, e in self._named()]
        return super().set_params(**params)

    def _check_parameters(self):
        super()._check_parameters()
        names = [name for name, _ in self._named()]
        known = super().get_params(deep=False)
        if (
            len(names) < len(self.estimators)
            or len(set(names)) < len(names)
            or not all(isinstance(name, str) and "__" not in name for name in names)
            or not known.keys().isdisjoint(names)
        ):
            raise invalid_parameter(
                self,
                "estimators",
                "pairs of a name and an estimator, with names that differ from each "
                "other and from those of parameters",
                self.estimators,
            )
        if self.features == "none" and not names:
            raise ValueError(
                "PreferenceOrdering: features='none' needs estimators to vote"
            )

    def _check_rows(self, X, *, reset, needs_y=False, name="X", training=False):
        # Features are compared as numbers, which those of meta rankers need not be.
        rest = {"needs_y": needs_y, "name": name, "training": training}
        return BaseRanker._check_rows(self, X, reset=reset, **rest)

    @property
    def _needs_groups(self) -> bool:
        return True

    def _inner_models(self):
        return self.estimators_

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        rng = None
        if self.random_state is not None:
            rng = check_random_state(self.random_state)
        tasks = []
        for name, model in self._named():
            seed = None if rng is None else np.random.RandomState(rng.randint(2**31))
            tasks.append((model, data, validation, name, seed))
        self.estimators_ = in_parallel(fit_on, tasks, self.n_jobs)
        scores = self._votes(data.X, data.ptr, self.features != "none")
        y, weight = np.asarray(data.y), data.sample_weight
        of_query = informative_query_weights(y, data.ptr, weight)
        accuracy = PairwiseAccuracy(empty_query=1.0)
        n_threads = effective_n_threads(self.n_jobs)
        losses = np.empty((scores.shape[1], data.n_queries))
        for t in range(scores.shape[1]):
            column = np.ascontiguousarray(scores[:, t], dtype=np.float64)
            losses[t] = 1.0 - accuracy.per_query(
                y, column, data.ptr, n_threads=n_threads
            )
        total = float(of_query.sum())
        sums = losses @ of_query
        self.losses_ = sums / total if total else np.full(len(sums), 0.5)
        self.weights_ = self._hedged(sums, total)

    def _hedged(self, sums, total) -> np.ndarray:
        """Return the weights after all queries, whose order does not matter to Hedge.

        The low values of a feature are wrong wherever its high ones are right, so that
        both together vote like one function with the difference of the weights.
        """
        n_features = 0 if self.features == "none" else self.n_features_in_
        opposite = total - sums[:n_features] if self.features == "both" else sums[:0]
        every = np.concatenate([sums, opposite])
        if self.beta == "auto":
            n_rounds = max(total, 1.0)
            log_beta = -np.log1p(np.sqrt(2.0 * np.log(max(len(every), 2)) / n_rounds))
        else:
            log_beta = np.log(self.beta)
        weights = np.exp(log_beta * (every - every.min()))
        weights /= weights.sum()
        of_votes = weights[: len(sums)].copy()
        of_votes[: len(opposite)] -= weights[len(sums) :]
        return of_votes

    def _votes(self, X, ptr, with_features: bool) -> np.ndarray:
        """Return the scores of all base functions, (n_documents, n_functions)."""
        rows = named_rows(X, getattr(self, "feature_names_in_", None))
        columns = [self._scores_by_query(m, rows, ptr) for m in self.estimators_]
        features = X if with_features else X[:, :0]
        return np.ascontiguousarray(
            np.column_stack([features, *columns]), dtype=np.float64
        )

    def _predict(self, X, ptr: Any = None) -> np.ndarray:
        votes = self._votes(X, ptr, len(self.weights_) > len(self.estimators_))
        chosen = np.flatnonzero(self.weights_)
        votes = np.ascontiguousarray(votes[:, chosen])
        weights = np.ascontiguousarray(self.weights_[chosen])
        sizes = np.diff(ptr)
        n_threads = effective_n_threads(self.n_jobs)
        if self.strong_components:
            ranks = np.empty(len(votes))
            order, parts = _by_components(votes, weights, ptr)
            within = greedy_ranks(votes[order], parts, weights, n_threads)
            lengths = np.diff(parts)
            places = within + np.repeat(parts[:-1], lengths)
            ranks[order] = places - np.repeat(ptr[:-1], sizes)
        else:
            ranks = greedy_ranks(votes, ptr, weights, n_threads)
        # The number of documents of the query that rank below each one.
        return np.repeat(sizes, sizes) - ranks


def _by_components(votes, weights, ptr) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of each query by strongly connected components, best ones first.

    Parameters
    ----------
    votes : ndarray of shape (n_documents, n_voters)
        Scores.
    weights : ndarray of shape (n_voters,)
        Weights of the voters.
    ptr : ndarray of shape (n_queries + 1,)
        Pointer array of the queries.

    Returns
    -------
    order : ndarray of shape (n_documents,)
        Rows, component after component.
    parts : ndarray of shape (n_components + 1,)
        Pointer array of the components.
    """
    order, sizes = [], []
    for first, last in zip(ptr[:-1].tolist(), ptr[1:].tolist()):
        for members in components_in_order(_preferred(votes[first:last], weights)):
            order.append(first + members)
            sizes.append(len(members))
    rows = np.concatenate(order) if order else np.empty(0, dtype=np.intp)
    return rows, np.append(0, np.cumsum(sizes)).astype(np.intp)


def _preferred(votes, weights) -> np.ndarray:
    """Return whether the weighted votes prefer each row of a query to each other."""
    m = len(votes)
    beats = np.empty((m, m), dtype=bool)
    columns = np.ascontiguousarray(votes.T)
    step = max(1, _BLOCK // max(m, 1))
    for start in range(0, m, step):
        own = slice(start, start + step)
        preference = np.zeros((min(step, m - start), m))
        for column, weight in zip(columns, weights):
            preference += weight * np.sign(column[own, None] - column)
        np.greater(preference, 0.0, out=beats[own])
    return beats
