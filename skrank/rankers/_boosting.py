"""Gradient boosting of trees."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown
from skrank._core._parameters import (
    Interval,
    NonNegative,
    Positive,
    PositiveInt,
    is_true,
    own_names,
)
from skrank._core._queries import QueryIndex
from skrank._core._segments import segment_ranks
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_arguments
from skrank._objective import loss_of_judgements
from skrank.base import ArrayOrCSR, check_depth, first_rows
from skrank.losses import BaseLoss
from skrank.losses._base import with_seeds
from skrank.rankers._dropout import Dropout, staged_with_dropout
from skrank.rankers._leaf_steps import column_of, refine_leaves
from skrank.rankers._learning_rates import (
    grown_rate,
    rate_for,
    scheduled_rates,
    squares_to_hessian,
)
from skrank.rankers._linear_leaves import LinearLeaves, check_linear_leaves
from skrank.rankers._query_sampling import (
    QuerySample,
    draw_minimal_variance,
    draw_share,
    draw_weights,
)
from skrank.rankers._rounds import AdditiveRun, BaseAdditiveRanker
from skrank.rankers._row_order import ordered_by_content
from skrank.rankers._tree_ranker import CATEGORY_SMOOTHING, BaseTreeRanker
from skrank.trees import TreeEnsemble
from skrank.trees._early_exit import scores_of_contenders


class BaseBoostedRanker(BaseAdditiveRanker, BaseTreeRanker):
    r"""Base class of rankers that fit each tree to the gradient of a loss.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    learning_rate : float, "auto", callable or sequence of float, default="auto"
        Factor by which each tree is multiplied. "auto" takes
        :math:`\min(0.3, 10 (n / 10^4)^{1/3} / T)` for T trees and n documents to train
        on: the more documents, the more can be learned before trees fit noise. With
        ``min_gain_to_noise`` above 0, which keeps trees from fitting noise, and without
        ``dropout``, rates grow where there is little of it: with :math:`S`, the mean
        squared gradient over the mean Hessian, below half of what it was before the
        first tree, the factor is :math:`(S_0 / 2 S)^2` times as large, and 0.3 at most.
        A sequence holds the rate of each round, and a function returns that of round
        ``i``, counted from 0; it is called for all rounds before the first one. A warm
        start goes on with the rates of the rounds that it adds.
    growth : {"auto", "leaf", "depth", "symmetric"}, default="auto"
        Which leaf of a tree is split first: the one whose split gains most; or one of
        the lowest depth, of these the one that gains most; or all leaves of a depth at
        once and by the same split, the one that gains most in sum. A leaf that would
        become too small, break a constraint or gain nothing by it is left as it is.
        "auto" grows symmetric trees, or leaf-wise ones if ``max_leaf_nodes`` is given.
    subsample : float, default=1.0
        Fraction of the queries that is drawn anew for each tree.
    sampling : {"uniform", "bayesian", "minimal_variance"}, default="uniform"
        How queries are drawn: each as likely as any other; or all of them with random
        weights in the search for splits, the Bayesian bootstrap; or the more likely the
        larger their gradients are, with weights that make up for it, which needs a
        ``subsample`` below 1.
    bagging_temperature : float, default=1.0
        Exponent of the weights of ``sampling="bayesian"``: 0 makes all of them 1, and
        the larger it is, the more they differ.
    random_strength : float, default=1.0
        Standard deviation of the noise that is added to the score of every split, which
        is the root of what the leaves explain, in units of what one standard deviation
        of the gradients explains. It fades as the trees go on.
    min_gain_to_noise : float or "auto", default="auto"
        Least gain of a split after the first one of a tree, in units of what a split at
        random gains on average, the mean squared gradient over the mean Hessian; of a
        level of a symmetric tree, the least mean gain of its leaves that are large
        enough to be split. 0 lets trees reach their limits. "auto" is 3 for symmetric
        trees, which so become as deep as the data can tell from noise, and 0 for
        others, whose number of leaves is a limit.
    l2_regularization : float, default=0.0
        Number of documents whose Hessian is added to the sum of Hessians of a leaf, in
        units of the mean Hessian at the start of training, ``hessian_unit_``.
    n_iter_no_change : int, None or "auto", default="auto"
        Number of trees without improvement on the validation queries after which
        training stops; None never stops. "auto" is the number whose learning rates, on
        average over all rounds, sum to 4, and at least 10: the smaller the steps, the
        longer chance hides them.
    leaf_iterations : int, default=1
        Number of Newton steps that find the values of the leaves of a tree, once its
        splits are found. Each takes the gradients anew at the scores to which the last
        one has led, and is halved up to three times until the loss and its penalties
        fall. If they do not, the first step is taken as a whole, and a later one is not
        taken and ends them. The learning rate multiplies what they come to.
    dropout : float, default=0.0
        Chance of each earlier round to be left out while the trees of a round are
        fitted, as in DART; at least one round is. Those that were left out and the new
        one then shrink, so that together they do the work once. Trees stay small, so
        that a ``learning_rate`` of 0.3 to 1 suits it.
    linear_leaves : bool, default=False
        Whether leaves hold linear functions of the features of numbers on the path to
        them, in place of constants. Rows that miss one of these get the constant.
    linear_l2 : float, default=10.0
        Number of documents, as in ``l2_regularization``, whose Hessian is added to the
        sums of Hessians in these functions, for features of standard deviation 1: the
        larger it is, the flatter they are.
    warm_start : bool, default=False
        Whether to add trees to those of the last `fit`, with the same bins, the same
        ``gradient_unit_`` and ``hessian_unit_`` and, where it is "auto", the same rule
        for the learning rate.

    Attributes
    ----------
    loss_ : BaseLoss
        Loss that the trees were fitted to.
    learning_rate_ : float
        Factor by which each tree was multiplied; the mean over all ``n_estimators``
        rounds if rates were given one by one, and the lowest if "auto" made them grow.
    learning_rates_ : ndarray of shape (n_rounds,)
        Factor of the trees of each round that was kept.
    gradient_unit_ : float
        Mean squared gradient over the mean Hessian of the training documents before the
        first tree.
    hessian_unit_ : float
        Mean Hessian of the training documents before the first tree; 1 for a loss
        without a Hessian.
    n_iter_ : int
        Number of trees that were grown for each output.
    best_iteration_ : int
        Number of trees that were kept for each output.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean loss before each tree.
    validation_curve_ : ndarray of shape (n_iterations,)
        Validation measure that decides after each tree; empty without validation
        queries. After a warm start it is that of the last fit, and NaN for trees after
        which it was not measured.
    monotonic_cst_ : ndarray of shape (n_features,), dtype int8
        Constraints under which the trees were grown: 1, -1 or 0.
    dropped_rounds_ : ndarray of shape (n_drops, 2)
        Rounds and the earlier rounds that were left out of them; none without
        ``dropout``.
    leaf_unit_ : float
        Power of two of which the values of leaves are multiples under ``dropout``, so
        that sums of them are exact; 0 if they are any numbers.
    """

    n_estimators: PositiveInt = 300
    learning_rate: (
        Positive
        | Literal["auto"]
        | Callable[[int], float]
        | np.ndarray
        | Sequence[float]
    ) = "auto"
    growth: Literal["auto", "leaf", "depth", "symmetric"] = "auto"
    subsample: Annotated[float, Interval(0, 1, "right")] = 1.0
    sampling: Literal["uniform", "bayesian", "minimal_variance"] = "uniform"
    bagging_temperature: NonNegative = 1.0
    random_strength: NonNegative = 1.0
    min_gain_to_noise: NonNegative | Literal["auto"] = "auto"
    n_iter_no_change: PositiveInt | Literal["auto"] | None = "auto"
    leaf_iterations: PositiveInt = 1
    dropout: Annotated[float, Interval(0, 1, "both")] = 0.0
    linear_leaves: bool = False
    linear_l2: NonNegative = 10.0

    @property
    def _accepts_sparse(self) -> bool:
        return super()._accepts_sparse and not is_true(self.linear_leaves)

    def _check_rows(self, X, *, reset, name="X", **rest) -> Any:
        if self.linear_leaves and sparse.issparse(X):
            raise TypeError(
                f"linear_leaves=True: dense data is required, got a sparse {name}"
            )
        return super()._check_rows(X, reset=reset, name=name, **rest)

    @property
    def _sums_features(self) -> bool:
        return self.linear_leaves or self.init is not None

    def _loss(self) -> BaseLoss:
        """Return the loss of this ranker; never a prepared one."""
        raise NotImplementedError

    def _patience(self) -> int | None:
        if self.n_iter_no_change == "auto":
            return max(10, int(np.ceil(min(4.0 / self.learning_rate_, 2.0**31))))
        return self.n_iter_no_change

    def _gain_to_noise(self) -> float:
        """Return the least gain of splits; "auto" leaves it to how trees grow."""
        if self.min_gain_to_noise == "auto":
            return 3.0 if self._growth() == "symmetric" else 0.0
        return float(self.min_gain_to_noise)

    def _new_run(self, data, validation, rng) -> "Boosting":
        return Boosting(self, data, validation, rng)

    def _n_weak(self) -> int:
        return self.ensemble_.n_trees // self.ensemble_.n_outputs

    def _add_weak(self, raw, X) -> np.ndarray:
        return self._add_trees(raw, X)

    def _staged_raw(self, raw, X) -> Iterator[np.ndarray]:
        encoded = self.bin_mapper_.encode(X)
        step = self.ensemble_.n_outputs
        n_threads = effective_n_threads(self.n_jobs)
        pairs = getattr(self, "dropped_rounds_", None)  # files of older versions: none
        if pairs is not None and len(pairs):
            yield from staged_with_dropout(
                raw, encoded, self.ensemble_, pairs, n_threads
            )
            return
        for first in range(0, self.ensemble_.n_trees, step):
            self.ensemble_.add_to(
                raw, encoded, first, first + step, n_threads=n_threads
            )
            yield raw

    def _to_scores(self, raw) -> np.ndarray:
        return self.loss_.to_scores(raw[:, 0] if raw.shape[1] == 1 else raw)

    def top_documents(
        self,
        X: ArrayOrCSR,
        groups: npt.ArrayLike | None = None,
        *,
        k: int = 10,
        early_exit: bool = False,
    ) -> np.ndarray:
        """Return the rows of the best documents of each query.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            The query of each row, in any order.
        k : int, default=10
            Number of documents of each query; a query with fewer gives all it has.
        early_exit : bool, default=False
            Whether a document is given up as soon as the remaining trees cannot lift
            it into the first k of its query any more. The result is the same, and comes
            sooner where queries are long and k is small.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, query after query and best first.

        Raises
        ------
        ValueError
            If ``k`` is below 1, or a model of several outputs is to exit early.

        References
        ----------
        [Liu2011]_, section 20.6; [Cambazoglu2010]_.
        """
        check_arguments(BaseBoostedRanker.top_documents, early_exit=early_exit)
        if not early_exit:
            return super().top_documents(X, groups, k=k)
        check_is_fitted(self)
        check_depth(k)
        if self.ensemble_.n_outputs > 1:
            raise ValueError("early_exit needs a model of one output")
        return self._first_contenders(X, groups, k)

    def _first_contenders(self, X, groups, k) -> np.ndarray:
        """Return what `top_documents` does, giving up documents on the way."""
        rows = self._check_rows(X, reset=False)
        ids = self._query_ids("top_documents", groups, X, n_samples=rows.shape[0])
        index = QueryIndex.from_groups(ids)
        rows = index.take(rows)
        scores, _ = scores_of_contenders(
            self.ensemble_,
            self.bin_mapper_.encode(rows),
            self._start_scores(rows, index.ptr)[:, 0],
            index.ptr,
            k,
            n_threads=effective_n_threads(self.n_jobs),
        )
        return first_rows(segment_ranks(scores, index.ptr), index, k)


class Boosting(AdditiveRun):
    """One run of gradient boosting."""

    def arrange(self, data):
        return ordered_by_content(data, effective_n_threads(self.ranker.n_jobs))

    def start_of(self, data):
        scores = self.ranker._start_scores(data.X.given, data.ptr)[data.X.order]
        return self._started(data, scores)

    def add_earlier(self, scores, data):
        given = np.empty_like(scores)
        given[data.X.order] = scores
        return self.ranker._add_weak(given, data.X.given)[data.X.order]

    def bind(self):
        ranker, data = self.ranker, self.data
        if ranker.sampling == "bayesian" and ranker.subsample < 1.0:
            raise ValueError(
                f"subsample={ranker.subsample:g} draws queries, but "
                "sampling='bayesian' weighs all of them; set subsample=1 or another "
                "sampling"
            )
        if ranker.sampling == "minimal_variance" and ranker.subsample == 1.0:
            raise ValueError(
                "sampling='minimal_variance' draws part of the queries; set subsample "
                "below 1, got 1"
            )
        if ranker.linear_leaves:
            check_linear_leaves(ranker, data.X)
        self.n_threads = effective_n_threads(ranker.n_jobs)
        rng = check_random_state(ranker.random_state)
        self.loss = with_seeds(clone(ranker._loss()), rng)
        self.n_outputs = self.loss.n_outputs
        with own_names(ranker, self.loss):
            self.prepared = loss_of_judgements(self.loss, data).prepare(
                data.y, data.ptr, data.sample_weight, n_threads=self.n_threads
            )
        self.trees, self.outputs = [], []
        self.loss_name = type(self.loss).__name__
        self.descends = self.loss.descends
        self.schedule = scheduled_rates(ranker)
        self.rates: list[float] = []

    @property
    def remedy(self) -> str:
        """What the user can do where training diverges."""
        number = "" if self.schedule is not None else f"={self.ranker.learning_rate_:g}"
        rate = f"lower learning_rate{number}"
        if self.loss.has_hessian:
            return f"{rate}, raise min_hessian_leaf or l2_regularization"
        # A tree then steps by the mean gradient, which for a sum over the pairs of a
        # document grows with their number, however curved the loss is.
        if "normalization" in self.loss.get_params(deep=False):
            rate += ", set normalization='query' of the loss"
        return f"{rate}, or choose a loss with a Hessian such as LogLoss"

    def forget(self, rng):
        ranker = self.ranker
        ranker._fit_bins(self.data.X, rng)
        ranker.ensemble_ = TreeEnsemble.empty(self.n_outputs)
        ranker.dropped_rounds_ = np.zeros((0, 2), dtype=np.int64)
        ranker.leaf_unit_ = 0.0
        ranker.learning_rates_ = np.zeros(0)
        ranker.loss_ = self.loss
        ranker.monotonic_cst_ = ranker._monotonic(self.data.X.shape[1])
        self._set_rate()

    def _set_rate(self):
        rate: Any = self.ranker.learning_rate
        if self.schedule is not None:
            rate = self.schedule.mean()
        elif rate == "auto":
            rate = rate_for(self.data.n_documents, self.ranker.n_estimators)
        self.ranker.learning_rate_ = float(rate)

    def rate(self, iteration: int) -> float:
        """Return the learning rate of a round."""
        if self.schedule is None:
            return self.ranker.learning_rate_
        return float(self.schedule[iteration])

    def _way(self) -> float:
        """Return the sum of the rates of all rounds so far."""
        return float(np.append(self.ranker.learning_rates_, self.rates).sum())

    @property
    def adapts(self) -> bool:
        """Whether rates grow where there is little noise.

        Trees that are fitted while others are left out shrink by what these were, and
        trees that may fit noise lower the gradients, too.
        """
        ranker = self.ranker
        chosen = self.schedule is not None or ranker.learning_rate != "auto"
        return not chosen and not ranker.dropout and ranker._gain_to_noise() > 0.0

    def _next_rate(self, gradient, hessian, iteration) -> float:
        """Return the rate of a round; remember it, and the units of the first one."""
        ranker, rate = self.ranker, self.rate(iteration)
        if iteration == 0:
            ranker.hessian_unit_ = 1.0 if hessian is None else float(np.mean(hessian))
            unit = squares_to_hessian(gradient, hessian)
            ranker.gradient_unit_ = unit if np.isfinite(unit) else 0.0
        if self.adapts:
            now = squares_to_hessian(gradient, hessian)
            rate = grown_rate(rate, ranker.gradient_unit_, now)
        self.rates.append(rate)
        return rate

    def resume(self):
        super().resume()
        ranker = self.ranker
        if self.n_outputs != ranker.ensemble_.n_outputs:
            raise ValueError(
                f"loss has {self.n_outputs} scores per document, but warm_start=True "
                f"adds to trees for {ranker.ensemble_.n_outputs}"
            )
        self._check_constraints()
        ranker.loss_ = self.loss
        # Files of older versions have neither; penalties had no unit in them.
        chosen = self.schedule is not None or ranker.learning_rate != "auto"
        if chosen or "learning_rate_" not in vars(ranker):
            self._set_rate()
        rates = np.full(self.n_done, ranker.learning_rate_)
        vars(ranker).setdefault("learning_rates_", rates)
        vars(ranker).setdefault("hessian_unit_", 1.0)
        vars(ranker).setdefault("gradient_unit_", 0.0)

    def _check_constraints(self):
        """Refuse constraints on scores that the trees there are may not keep."""
        known = vars(self.ranker).get("monotonic_cst_")
        given = self.ranker._monotonic(self.data.X.shape[1])
        if known is not None and not np.array_equal(known, given):
            raise ValueError(
                "warm_start=True adds to trees with the constraints "
                f"{shown(known.tolist())}, but monotonic_cst={shown(given.tolist())}; "
                "keep them, or set warm_start=False"
            )

    def ready(self):
        ranker, data = self.ranker, self.data
        if self.validation is not None:
            held = self.validation.X.gathered()
            self.encoded = ranker.bin_mapper_.encode(held)
        starts_at_zero = ranker.init is None and "init_score" not in data.side
        # Scores that the user starts from are better than any constant.
        if not self.n_done and starts_at_zero:
            self._shift()
        self.grower = ranker._grower(data.X)
        self.options = ranker._tree_options(
            data.X.shape[1],
            learning_rate=ranker.learning_rate_,
            min_gain_to_noise=ranker._gain_to_noise(),
        )
        self.linear = None
        if ranker.linear_leaves:
            rows = data.X.gathered()
            self.linear = LinearLeaves(ranker.bin_mapper_, rows, self.n_threads)
        self.dropout = Dropout(self) if ranker.dropout > 0.0 else None

    def _shift(self):
        """Begin at the constant that a Newton step finds, such as the mean grade."""
        # One number for all scores of a document may be lost on the loss, several not.
        idle = self.loss.shift_invariant and self.n_outputs == 1
        if idle or not self.loss.has_hessian:
            return
        _, gradient, hessian = self._derivatives()
        weight = hessian.sum(axis=0)
        # Without any weight the gradient is zero as well, and so is the step.
        step = -gradient.sum(axis=0) / np.where(weight > 0, weight, 1.0)
        self.ranker.baseline_ = step
        self.scores += step
        if self.validation is not None:
            self.held_scores += step

    def before_trees(self, iteration: int) -> None:
        """Prepare the scores of a round, whose derivatives are known, for its trees."""

    def add_round(self, iteration):
        # A loss that draws random numbers has others for every tree.
        draw = getattr(self.prepared, "drawn_anew", None)
        if draw is not None:
            self.prepared = draw(iteration)
        objective = None
        if self.dropout is not None:
            # The curve is that of all trees, and the gradients are those without some.
            objective = self._mean_loss(self._derivatives()[0])
            self.dropout.take_out(iteration)
        values, gradient, hessian = self._derivatives()
        way = self._way()
        self.options["learning_rate"] = self._next_rate(gradient, hessian, iteration)
        unit = self.ranker.hessian_unit_
        self.options["l2"] = self.ranker.l2_regularization * unit
        self.options["smoothing"] = CATEGORY_SMOOTHING * unit
        if self.linear is not None:
            self.linear.l2 = self.ranker.linear_l2 * unit
        self.before_trees(iteration)
        seeds = np.random.SeedSequence([self.seed, iteration])
        rows_seed, *tree_seeds = seeds.generate_state(1 + self.n_outputs).tolist()
        sample = self._draw(rows_seed, gradient, hessian)
        noise = faded(
            self.ranker.random_strength,
            way,
            self.data.n_documents,
        )
        before = self.scores.copy() if self.ranker.leaf_iterations > 1 else None
        for k in range(self.n_outputs):
            first, second = column_of(gradient, hessian, k, sample)
            options = {"noise": noise, "seed": tree_seeds[k], **self.options}
            tree = self._grow(k, first, second, sample, options, before)
            self.trees.append(tree)
            self.outputs.append(k)
            if self.dropout is not None:
                continue
            if self.validation is not None:
                self._add_alone(tree, k, self.held_scores, self.encoded)
            if self.linear is not None:
                self._add_alone(tree, k, self.scores, self.linear.rows)
                continue
            # Rows that were not drawn have not been sorted into leaves yet.
            self.grower.add_to(self.scores, k, everywhere=sample.rows is not None)
        if self.dropout is not None:
            self.dropout.put_back(self.trees[-self.n_outputs :])
        return self._mean_loss(values) if objective is None else objective

    def _mean_loss(self, values) -> float:
        total = self.prepared.total_weight
        return float(np.sum(values)) / total if total else 0.0

    def _grow(self, k, gradient, hessian, sample, options, before):
        """Return the next tree, for output k, grown at the scores ``before`` it.

        These may be None where the values of its leaves are not refined.
        """
        rate = options["learning_rate"]
        if before is not None:
            options["learning_rate"] = 1.0
        tree = self.grower.grow(
            gradient, hessian, sample.rows, weight=sample.weight, **options
        )
        if before is not None:
            refine_leaves(
                self.grower,
                self.ranker.leaf_iterations,
                before,
                k,
                self._derivatives_at,
                sample,
                self.data.ptr,
            )
            if self.linear is not None:
                raw = before.copy()
                self.grower.add_to(raw, k)
                _, first, second = self._derivatives_at(raw)
                gradient, hessian = column_of(first, second, k, sample)
            tree = self.grower.scaled(rate)
        if self.linear is None:
            return tree
        return self.linear.fitted(tree, gradient, hessian, sample.rows, rate)

    def keep(self, n_rounds):
        ranker, n_trees = self.ranker, n_rounds * self.n_outputs
        ranker._warn_without_split(self.trees, self.given[0], self.prepared)
        ranker.learning_rates_ = np.append(
            ranker.learning_rates_, self.rates[:n_rounds]
        )
        if self.dropout is not None:
            self.dropout.keep(n_rounds)
            return
        # A copy: that of the ranker stays as it was where the fit fails later on.
        ranker.ensemble_ = copy(ranker.ensemble_).append(
            self.trees[:n_trees],
            self.outputs[:n_trees],
            ranker.bin_mapper_,
        )

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return the losses, the gradient and the Hessian, or None if there is none."""
        return self._derivatives_at(self.scores)

    def _derivatives_at(self, scores):
        """Return what `_derivatives` does, at other scores than those of the run."""
        raw = scores[:, 0] if self.n_outputs == 1 else scores
        shape = scores.shape
        if not self.loss.has_hessian:
            values, gradient = self.prepared.value_gradient(raw)
            return values, gradient.reshape(shape), None
        values, gradient, hessian = self.prepared.gradient_hessian(raw)
        return values, gradient.reshape(shape), hessian.reshape(shape)

    def _draw(self, seed, gradient, hessian) -> QuerySample:
        """Return the queries drawn for one round."""
        ranker, ptr = self.ranker, self.data.ptr
        if ranker.sampling == "bayesian":
            return draw_weights(seed, ptr, ranker.bagging_temperature)
        if ranker.sampling == "minimal_variance":
            return draw_minimal_variance(seed, ptr, ranker.subsample, gradient, hessian)
        return draw_share(seed, ptr, ranker.subsample)

    def _add_alone(self, tree, k, scores, encoded):
        """Add one tree to the scores of rows."""
        bins = self.ranker.bin_mapper_
        single = TreeEnsemble.empty(self.n_outputs).append([tree], [k], bins)
        single.add_to(scores, encoded, n_threads=self.n_threads)


def faded(strength, way, n_documents) -> float:
    """Return the strength of the noise after trees whose learning rates sum to ``way``.

    It does not depend on the number of trees, so that a warm start goes on as if
    training had never stopped: as in CatBoost, noise fades around the logarithm of the
    number of documents.
    """
    return float(strength * expit(np.log(n_documents) - way))
