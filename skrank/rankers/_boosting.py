"""Rankers that add trees one after another."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._segments import segment_ranks
from skrank._core._shared_parameters import shares_parameters
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_groups, resolve_groups
from skrank.base import first_rows
from skrank.rankers._iterations import EarlyStoppingMixin
from skrank.rankers._tree_ranker import BaseTreeRanker, draw_seed
from skrank.trees import TreeEnsemble
from skrank.trees._early_exit import scores_of_contenders


@shares_parameters
class BaseBoostedRanker(EarlyStoppingMixin, BaseTreeRanker):
    """Rankers that fit each tree to the gradient of a loss.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    learning_rate : float, default=0.1
        What each tree is multiplied by.
    subsample : float, default=1.0
        Fraction of the queries, drawn anew for each tree.
    init : BaseRanker, default=None
        A ranker that is fitted first; the trees then improve on its scores, and
        predictions contain them. See ``init_score`` of `fit` for scores alone.
    warm_start : bool, default=False
        Whether to add trees to those of the last `fit`, with the same bins.

    Attributes
    ----------
    n_iter_ : int
        Trees grown, per output.
    best_iteration_ : int
        Trees kept.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean loss before each tree.
    validation_curve_ : ndarray
        Validation measure after each tree, if there were validation queries.
    """

    __metadata_request__fit = {"init_score": True, "init_score_val": True}

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        subsample: float = 1.0,
        init=None,
        warm_start: bool = False,
        **shared,
    ):
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.init = init
        self.warm_start = warm_start

    def fit(
        self,
        X,
        y,
        groups=None,
        *,
        sample_weight=None,
        init_score=None,
        X_val=None,
        y_val=None,
        groups_val=None,
        init_score_val=None,
    ):
        """Learn to rank the documents of each query.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document; NaN is a missing value.
        y : array-like of shape (n_documents,)
            Relevance grades >= 0; higher is better.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, as any hashable id and in any order. If None, the
            ids are read from a level named "qid" of the pandas index of ``y`` or ``X``.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document. In pairwise losses the weight of the preferred
            document multiplies the pair; in listwise losses the mean weight of a
            query's documents multiplies the query.
        init_score : array-like of shape (n_documents,), default=None
            Scores to start from. Predictions are what the trees add to them.
        X_val : array-like of shape (n_val_documents, n_features), default=None
            Rows of validation queries, for early stopping and model selection.
        y_val : array-like of shape (n_val_documents,), default=None
            Their grades.
        groups_val : array-like of shape (n_val_documents,), default=None
            Their queries.
        init_score_val : array-like of shape (n_val_documents,), default=None
            Their scores to start from, needed with ``init_score``.

        Returns
        -------
        BaseRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, grades are not finite or features
            infinite.
        """
        if X_val is not None and (init_score is None) != (init_score_val is None):
            raise ValueError(
                "init_score and init_score_val must be given together, so that "
                "validation queries are ranked by the same kind of scores"
            )
        validation = (X_val, y_val, groups_val, init_score_val)
        return self._checked_fit(X, y, groups, sample_weight, validation, init_score)

    def _loss(self):
        """Return the loss of this ranker; never a prepared one."""
        raise NotImplementedError

    def _check_params(self):
        self._check_tree_params()
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        for name, most, closed in (
            ("subsample", 1, "right"),
            ("learning_rate", None, "neither"),
        ):
            check_scalar(
                getattr(self, name),
                name,
                Real,
                min_val=0,
                max_val=most,
                include_boundaries=closed,
            )
        check_scalar(self.warm_start, "warm_start", (bool, np.bool_))
        self._check_early_stopping()

    def _fit(self, data, validation):
        self._check_params()
        rng = check_random_state(self.random_state)
        _Boosting(self, *self._hold_out(data, validation, rng), rng).run()

    def _raw(self, X):
        return self._add_trees(self._start_scores(X), X)

    def _start_scores(self, X):
        raw = np.tile(self.baseline_, (X.shape[0], 1))
        if self.init_ is not None:
            raw += np.reshape(self.init_.predict(X), (len(raw), -1))
        return raw

    def _to_scores(self, raw):
        return self.loss_.to_scores(raw[:, 0] if raw.shape[1] == 1 else raw)

    def _predict(self, X):
        return self._to_scores(self._raw(X))

    def top_documents(self, X, groups=None, *, k: int = 10, early_exit: bool = False):
        """Rows of the best documents of each query.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        k : int, default=10
            Documents per query; a query with fewer gives all it has.
        early_exit : bool, default=False
            Whether documents are given up as soon as the remaining trees cannot lift
            them into the first k of their query any more. The result is the same; it
            pays where queries are long and k is small (Liu 2011, section 20.6).

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, query after query and best first.

        Raises
        ------
        ValueError
            If ``k`` is below 1, or a model of several outputs is to exit early.
        """
        if not early_exit:
            return super().top_documents(X, groups, k=k)
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        if self.ensemble_.n_outputs > 1:
            raise ValueError("early_exit needs a model of one output")
        rows = self._check_rows(X, reset=False)
        ids = resolve_groups(
            groups,
            X,
            n_samples=len(rows),
            caller=f"{type(self).__name__}.top_documents",
        )
        index = QueryIndex.from_groups(check_groups(ids, len(rows)))
        rows = index.take(rows)
        scores, _ = scores_of_contenders(
            self.ensemble_,
            self.bin_mapper_.encode(rows),
            self._start_scores(rows)[:, 0],
            index.ptr,
            k,
            n_threads=effective_n_threads(self.n_jobs),
        )
        return first_rows(segment_ranks(scores, index.ptr), index, k)

    def staged_predict(self, X):
        """Scores after each tree.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.

        Yields
        ------
        ndarray of shape (n_documents,)
            Scores after one more tree per output.
        """
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        encoded, raw = self.bin_mapper_.encode(X), self._start_scores(X)
        step = self.ensemble_.n_outputs
        for first in range(0, self.ensemble_.n_trees, step):
            self.ensemble_.add_to(
                raw,
                encoded,
                first,
                first + step,
                n_threads=effective_n_threads(self.n_jobs),
            )
            yield self._to_scores(raw.copy())


class _Boosting:
    """One run of gradient boosting: scores of all documents, and the trees so far."""

    def __init__(self, ranker, data, validation, rng):
        self.ranker, self.data, self.validation = ranker, data, validation
        # What is drawn for a tree depends on this and its number only, so that a warm
        # start goes on as if it had never stopped.
        self.seed = draw_seed(rng)
        self.n_threads = effective_n_threads(ranker.n_jobs)
        self.loss = clone(ranker._loss())
        self.n_outputs = self.loss.n_outputs
        self.prepared = self.loss.prepare(
            data.y, data.ptr, data.sample_weight, n_threads=self.n_threads
        )
        self._continue() if self._warm() else self._begin(rng)
        self.grower = ranker._grower(data.X)
        self.options = ranker._tree_options(
            data.X.shape[1], learning_rate=float(ranker.learning_rate)
        )
        self.trees, self.outputs, self.curve = [], [], []

    def _warm(self):
        return self.ranker.warm_start and hasattr(self.ranker, "ensemble_")

    def _begin(self, rng):
        ranker, data = self.ranker, self.data
        ranker._fit_bins(data.X, rng)
        ranker.ensemble_ = TreeEnsemble.empty(self.n_outputs)
        ranker.loss_ = self.loss
        ranker.init_ = None
        if ranker.init is not None:
            groups = np.repeat(np.arange(data.n_queries), np.diff(data.ptr))
            weight = {"sample_weight": data.sample_weight}
            weight = {} if data.sample_weight is None else weight
            ranker.init_ = clone(ranker.init).fit(
                data.X, data.y, groups=groups, **weight
            )
        ranker.baseline_ = np.zeros(self.n_outputs)
        self._start()
        if ranker.init is None and data.init_score is None:
            self._shift()

    def _shift(self):
        """Begin at the constant of a Newton step, such as the mean grade."""
        if self.loss.shift_invariant or not self.loss.has_hessian:
            return
        _, gradient, hessian = self._derivatives()
        weight = hessian.sum(axis=0)
        step = -gradient.sum(axis=0) / np.where(weight > 0, weight, 1.0)
        self.ranker.baseline_ = step
        self.scores += step
        if self.validation is not None:
            self.held_scores += step

    def _continue(self):
        ranker, d = self.ranker, self.data.X.shape[1]
        known = len(ranker.bin_mapper_.n_bins_)
        if d != known:
            raise ValueError(
                f"X has {d} features, but warm_start=True adds to trees on {known}"
            )
        if self.n_outputs != ranker.ensemble_.n_outputs:
            raise ValueError(
                f"loss has {self.n_outputs} scores per document, but warm_start=True "
                f"adds to trees for {ranker.ensemble_.n_outputs}"
            )
        ranker.loss_ = self.loss
        self._start()

    def _start(self):
        """Scores before the first new tree."""
        self.scores = self._scores_of(self.data)
        if self.validation is not None:
            self.encoded = self.ranker.bin_mapper_.encode(self.validation.X)
            self.held_scores = self._scores_of(self.validation)

    def _scores_of(self, data):
        scores = self.ranker._raw(data.X)
        if data.init_score is not None:
            scores += data.init_score[:, None]
        return scores

    def run(self):
        """Grow trees until there are enough or validation stops improving."""
        ranker = self.ranker
        done = ranker.ensemble_.n_trees // self.n_outputs
        if ranker.n_estimators < done:
            raise ValueError(
                f"n_estimators={ranker.n_estimators} is below the {done} trees there "
                "are; with warm_start=True it must grow"
            )

        def scores_of(_):
            return ranker._to_scores(self.held_scores)

        monitor = ranker._monitor(self.data, self.validation, scores_of)
        for iteration in range(done, ranker.n_estimators):
            self._grow(iteration)
            if monitor.needed and monitor(
                np.array(iteration + 1), iteration + 1 - done, self.curve[-1]
            ):
                break
        self._store(monitor, done)

    def _grow(self, iteration):
        values, gradient, hessian = self._derivatives()
        total = self.prepared.total_weight
        self.curve.append(float(np.sum(values)) / total if total else 0.0)
        seeds = np.random.SeedSequence([self.seed, iteration])
        rows_seed, *tree_seeds = seeds.generate_state(1 + self.n_outputs).tolist()
        rows = self._rows(rows_seed)
        for k in range(self.n_outputs):
            tree = self.grower.grow(
                np.ascontiguousarray(gradient[:, k]),
                None if hessian is None else np.ascontiguousarray(hessian[:, k]),
                rows,
                seed=tree_seeds[k],
                **self.options,
            )
            self.trees.append(tree)
            self.outputs.append(k)
            self.grower.add_to(self.scores, k, everywhere=rows is not None)
            if self.validation is not None:
                self._add_to_held(tree, k)

    def _derivatives(self):
        raw = self.scores[:, 0] if self.n_outputs == 1 else self.scores
        shape = self.scores.shape
        if not self.loss.has_hessian:
            values, gradient = self.prepared.value_gradient(raw)
            return values, gradient.reshape(shape), None
        values, gradient, hessian = self.prepared.gradient_hessian(raw)
        return values, gradient.reshape(shape), hessian.reshape(shape)

    def _rows(self, seed):
        """Rows of the queries drawn for one tree, or None for all."""
        share, n = self.ranker.subsample, self.data.n_queries
        if share == 1.0:
            return None
        drawn = np.random.RandomState(seed).permutation(n)[: max(1, round(share * n))]
        rows, _ = rows_of_queries(self.data.ptr, np.sort(drawn))
        return rows.astype(np.int32)

    def _add_to_held(self, tree, k):
        """Add one tree to the scores of validation rows."""
        thresholds = self.ranker.bin_mapper_.thresholds_
        single = TreeEnsemble.empty(self.n_outputs).append([tree], [k], thresholds)
        single.add_to(self.held_scores, self.encoded, n_threads=self.n_threads)

    def _store(self, monitor, done):
        ranker = self.ranker
        ensemble = ranker.ensemble_.append(
            self.trees, self.outputs, ranker.bin_mapper_.thresholds_
        )
        n_grown = len(self.trees) // self.n_outputs
        ranker.n_iter_ = done + n_grown
        ranker.best_iteration_ = ranker.n_iter_
        if monitor.best_params is not None:
            ranker.best_iteration_ = int(monitor.best_params)
            ensemble = ensemble.truncated(ranker.best_iteration_ * self.n_outputs)
        ranker.ensemble_ = ensemble
        ranker.loss_curve_ = self._joined("loss_curve_", self.curve, done)
        ranker.validation_curve_ = self._joined(
            "validation_curve_", monitor.curve, done
        )

    def _joined(self, name, curve, done):
        """Curve of all trees, those of earlier fits included."""
        before = getattr(self.ranker, name)[:done] if done else ()
        if len(before) < done:  # there were no validation queries then
            before = ()
        return np.concatenate([before, np.asarray(curve, dtype=np.float64)])
