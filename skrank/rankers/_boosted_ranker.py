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
from skrank._core._validation import check_groups, check_scores, resolve_groups
from skrank._monitor import Monitor, PrintProgress, ReportToScikitLearn
from skrank.base import BaseRanker, first_rows
from skrank.losses import RankNetLoss
from skrank.metrics import get_measure
from skrank.trees import BinMapper, TreeEnsemble
from skrank.trees._early_exit import scores_of_contenders
from skrank.trees._grower import Grower


class BaseTreeRanker(BaseRanker):
    """Rankers made of histogram trees.

    Parameters
    ----------
    max_leaf_nodes : int, default=31
        Leaves of a tree; the leaf whose split gains most is split first.
    max_depth : int, default=None
        Depth of a tree; None sets no limit.
    min_samples_leaf : int, default=20
        Documents of a leaf at least.
    min_hessian_leaf : float, default=1e-3
        Sum of hessians of a leaf at least.
    l2_regularization : float, default=0.0
        Added to the sum of hessians of a leaf.
    min_gain_to_split : float, default=0.0
        Gain below which a leaf is not split.
    max_bins : int, default=255
        Bins of a feature, without that of missing values.
    max_features : float or int, default=1.0
        Features tried at each split, as a fraction or a number.
    categorical_features : sequence of int or bool, default=None
        Features whose values are names, as indices or as a mask. Unknown values are
        missing values.
    monotonic_cst : sequence of int, default=None
        Per feature 1 if scores must not fall with it, -1 if they must not rise, 0
        otherwise.
    stochastic_rounding : bool, default=True
        Whether gradients are rounded at random to their integers, which keeps sums
        unbiased, or to the nearest.
    random_state : int, RandomState or None, default=None
        Source of all randomness.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.
    verbose : int, default=0
        1 prints some iterations, 2 all.
    callback : callable, default=None
        Called after each iteration with a dict of what happened.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees.
    bin_mapper_ : BinMapper
        Bins of the features.
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits on each feature, scaled to sum to 1.
    """

    _accepts_sparse = False
    _accepts_missing = True

    def __init__(
        self,
        *,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_hessian_leaf: float = 1e-3,
        l2_regularization: float = 0.0,
        min_gain_to_split: float = 0.0,
        max_bins: int = 255,
        max_features: float | int = 1.0,
        categorical_features=None,
        monotonic_cst=None,
        stochastic_rounding: bool = True,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback=None,
    ):
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian_leaf = min_hessian_leaf
        self.l2_regularization = l2_regularization
        self.min_gain_to_split = min_gain_to_split
        self.max_bins = max_bins
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.stochastic_rounding = stochastic_rounding
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_tree_params(self):
        check_scalar(self.max_leaf_nodes, "max_leaf_nodes", Integral, min_val=2)
        check_scalar(self.min_samples_leaf, "min_samples_leaf", Integral, min_val=1)
        if self.max_depth is not None:
            check_scalar(self.max_depth, "max_depth", Integral, min_val=1)
        for name in ("l2_regularization", "min_gain_to_split", "min_hessian_leaf"):
            check_scalar(getattr(self, name), name, Real, min_val=0)
        check_scalar(self.stochastic_rounding, "stochastic_rounding", (bool, np.bool_))

    def _n_tried_features(self, d):
        given = self.max_features
        if isinstance(given, Integral) and not isinstance(given, bool):
            check_scalar(given, "max_features", Integral, min_val=1)
            return min(int(given), d)
        check_scalar(
            given,
            "max_features",
            Real,
            min_val=0,
            max_val=1,
            include_boundaries="right",
        )
        return max(1, int(np.ceil(given * d)))

    def _monotonic(self, d):
        if self.monotonic_cst is None:
            return np.zeros(d, dtype=np.int8)
        constraints = np.asarray(self.monotonic_cst)
        if constraints.shape != (d,) or not np.isin(constraints, (-1, 0, 1)).all():
            raise ValueError(
                f"monotonic_cst must hold -1, 0 or 1 for each of the {d} features, got "
                f"{self.monotonic_cst!r}"
            )
        return constraints.astype(np.int8)

    def _fit_bins(self, X, rng):
        self.bin_mapper_ = BinMapper(
            max_bins=self.max_bins,
            categorical_features=self.categorical_features,
            random_state=rng,
        ).fit(X, n_threads=effective_n_threads(self.n_jobs))
        self.bin_mapper_.random_state = None

    def _grower(self, X):
        """Return what grows trees on the bins of the rows."""
        n_threads = effective_n_threads(self.n_jobs)
        monotonic = self._monotonic(X.shape[1])
        categorical = self.bin_mapper_.is_categorical_
        both = np.flatnonzero(categorical & (monotonic != 0))
        if len(both):
            raise ValueError(
                f"monotonic_cst: feature {both[0]} is categorical and has no order"
            )
        return Grower(
            self.bin_mapper_.transform(X, n_threads=n_threads),
            X.shape[0],
            self.bin_mapper_.n_bins_,
            categorical.view(np.uint8),
            monotonic,
        )

    def _tree_options(self, d, **more):
        return {
            "max_leaf_nodes": int(self.max_leaf_nodes),
            "max_depth": int(self.max_depth or 0),
            "min_samples_leaf": int(self.min_samples_leaf),
            "min_weight": float(self.min_hessian_leaf),
            "l2": float(self.l2_regularization),
            "min_gain": float(self.min_gain_to_split),
            "max_features": self._n_tried_features(d),
            "stochastic": bool(self.stochastic_rounding),
            "n_threads": effective_n_threads(self.n_jobs),
        } | more

    def _reports(self, data):
        report = []
        if self.verbose:
            report.append(PrintProgress(type(self).__name__, self.verbose))
        if self.callback is not None:
            report.append(self.callback)
        if self._callback_context is not None and hasattr(self, "_skl_callbacks"):
            report.append(ReportToScikitLearn(self._callback_context, self, data))
        return report

    @property
    def feature_importances_(self):
        """Total gain of the splits on each feature, scaled to sum to 1."""
        check_is_fitted(self)
        return self.ensemble_.feature_importances(self.n_features_in_)


def draw_seed(rng) -> int:
    """Return the seed of one tree."""
    return int(rng.randint(np.iinfo(np.int32).max))


@shares_parameters
class BaseBoostedRanker(BaseTreeRanker):
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
    early_stopping : bool, default=False
        Whether to hold out queries for validation when `fit` is given none.
    validation_fraction : float, default=0.1
        Fraction of the queries to hold out.
    n_iter_no_change : int, default=10
        With validation queries, stop after so many trees without improvement.
    validation_measure : str or BaseMeasure, default="ndcg@10"
        What is measured on validation queries.
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
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 10,
        validation_measure="ndcg@10",
        warm_start: bool = False,
        **shared,
    ):
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.init = init
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.validation_measure = validation_measure
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
        self._given_scores = {
            "init_score": init_score,
            "init_score_val": init_score_val,
        }
        try:
            return super().fit(
                X,
                y,
                groups,
                sample_weight=sample_weight,
                X_val=X_val,
                y_val=y_val,
                groups_val=groups_val,
            )
        finally:
            del self._given_scores

    def _init_scores(self, name, n_samples):
        if self._given_scores[name] is None:
            return None
        scores = check_scores(self._given_scores[name], n_samples, name=name)
        if not np.isfinite(scores).all():
            raise ValueError(f"{name} must be finite")
        return scores

    def _loss(self):
        """Return the loss of this ranker; never a prepared one."""
        raise NotImplementedError

    def _check_params(self):
        self._check_tree_params()
        check_scalar(self.n_estimators, "n_estimators", Integral, min_val=1)
        for name, closed in (
            ("subsample", "right"),
            ("validation_fraction", "neither"),
        ):
            check_scalar(
                getattr(self, name),
                name,
                Real,
                min_val=0,
                max_val=1,
                include_boundaries=closed,
            )
        check_scalar(
            self.learning_rate,
            "learning_rate",
            Real,
            min_val=0,
            include_boundaries="neither",
        )
        for name in ("early_stopping", "warm_start"):
            check_scalar(getattr(self, name), name, (bool, np.bool_))
        if self.n_iter_no_change is not None:
            check_scalar(self.n_iter_no_change, "n_iter_no_change", Integral, min_val=1)

    def _fit(self, data, validation):
        self._check_params()
        rng = check_random_state(self.random_state)
        if validation is None and self.early_stopping:
            data, validation = data.hold_out(self.validation_fraction, rng)
        _Boosting(self, data, validation, rng).run()

    def _raw(self, X, n_trees=None):
        raw = self._start_scores(X)
        if self.ensemble_.n_trees:
            self.ensemble_.add_to(
                raw,
                self.bin_mapper_.encode(X),
                last=n_trees,
                n_threads=effective_n_threads(self.n_jobs),
            )
        return raw

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
        ranker.ensemble_ = TreeEnsemble(self.n_outputs)
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
        evaluate = None if self.validation is None else self._evaluate
        monitor = Monitor(evaluate, ranker.n_iter_no_change, ranker._reports(self.data))
        for iteration in range(done, ranker.n_estimators):
            self._grow(iteration)
            if monitor.needed and monitor(
                np.array(iteration + 1), iteration + 1 - done, self.curve[-1]
            ):
                break
        self._store(monitor, done)

    def _evaluate(self, _):
        ranker, held = self.ranker, self.validation
        measure = get_measure(ranker.validation_measure)
        scores = ranker._to_scores(self.held_scores)
        return measure.mean(measure.per_query(held.y, scores, held.ptr))

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
        single = TreeEnsemble(self.n_outputs).append([tree], [k], thresholds)
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


@shares_parameters
class BoostedRanker(BaseBoostedRanker):
    r"""Gradient boosting of any loss.

    .. math:: F_t = F_{t-1} + \eta\, T_t, \qquad T_t \approx
              \arg\min_T \sum_i g_i T(x_i) + \tfrac{1}{2} h_i T(x_i)^2

    with the gradient :math:`g` and the diagonal Hessian :math:`h` of the loss at
    :math:`F_{t-1}`; a loss without Hessian counts as if all :math:`h_i` were 1.
    Complexity: O(n d) per tree level, from histograms of integers.

    Parameters
    ----------
    loss : BaseLoss, default=None
        Any loss of `skrank.losses`; None means `RankNetLoss`.

    References
    ----------
    Liu (2011), section 4.2; Friedman (2001); Burges (2010).

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.losses import ListNetLoss
    >>> from skrank.rankers import BoostedRanker
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BoostedRanker(ListNetLoss(), n_estimators=20, min_samples_leaf=5)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "any"

    def __init__(self, loss=None, **shared):
        super().__init__(**shared)
        self.loss = loss

    def _loss(self):
        return RankNetLoss() if self.loss is None else self.loss
