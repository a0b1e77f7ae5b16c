"""Gradient boosting of trees."""

from collections.abc import Iterator
from copy import copy
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._parameters import Interval, Positive
from skrank._core._queries import QueryIndex, rows_of_queries
from skrank._core._segments import segment_ranks
from skrank._core._threads import effective_n_threads
from skrank._core._validation import check_arguments
from skrank._objective import loss_of_judgements
from skrank.base import ArrayOrCSR, check_depth, first_rows
from skrank.losses import BaseLoss
from skrank.rankers._rounds import AdditiveRun, BaseAdditiveRanker
from skrank.rankers._tree_ranker import BaseTreeRanker
from skrank.trees import TreeEnsemble
from skrank.trees._early_exit import scores_of_contenders


class BaseBoostedRanker(BaseAdditiveRanker, BaseTreeRanker):
    """Base class of rankers that fit each tree to the gradient of a loss.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    learning_rate : float, default=0.1
        Factor by which each tree is multiplied.
    subsample : float, default=1.0
        Fraction of the queries that is drawn anew for each tree.
    warm_start : bool, default=False
        Whether to add trees to those of the last `fit`, with the same bins.

    Attributes
    ----------
    loss_ : BaseLoss
        Loss that the trees were fitted to.
    n_iter_ : int
        Number of trees that were grown for each output.
    best_iteration_ : int
        Number of trees that were kept for each output.
    loss_curve_ : ndarray of shape (n_iterations,)
        Mean loss before each tree.
    validation_curve_ : ndarray of shape (n_iterations,)
        Validation measure after each tree; empty without validation queries.
    """

    learning_rate: Positive = 0.1
    subsample: Annotated[float, Interval(0, 1, "right")] = 1.0

    def _loss(self) -> BaseLoss:
        """Return the loss of this ranker; never a prepared one."""
        raise NotImplementedError

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
        ids = self._query_ids("top_documents", groups, X, n_samples=len(rows))
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

    def bind(self):
        ranker, data = self.ranker, self.data
        self.n_threads = effective_n_threads(ranker.n_jobs)
        self.loss = clone(ranker._loss())
        self.n_outputs = self.loss.n_outputs
        self.prepared = loss_of_judgements(self.loss, data).prepare(
            data.y, data.ptr, data.sample_weight, n_threads=self.n_threads
        )
        self.trees, self.outputs = [], []
        self.loss_name = type(self.loss).__name__

    @property
    def remedy(self) -> str:
        """What the user can do where training diverges."""
        rate = f"lower learning_rate={self.ranker.learning_rate:g}"
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
        ranker.loss_ = self.loss

    def resume(self):
        super().resume()
        ranker = self.ranker
        if self.n_outputs != ranker.ensemble_.n_outputs:
            raise ValueError(
                f"loss has {self.n_outputs} scores per document, but warm_start=True "
                f"adds to trees for {ranker.ensemble_.n_outputs}"
            )
        ranker.loss_ = self.loss

    def ready(self):
        ranker, data = self.ranker, self.data
        if self.validation is not None:
            self.encoded = ranker.bin_mapper_.encode(self.validation.X)
        starts_at_zero = ranker.init is None and "init_score" not in data.side
        # Scores that the user starts from are better than any constant.
        if not self.n_done and starts_at_zero:
            self._shift()
        self.grower = ranker._grower(data.X)
        self.options = ranker._tree_options(
            data.X.shape[1], learning_rate=float(ranker.learning_rate)
        )

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
        values, gradient, hessian = self._derivatives()
        self.before_trees(iteration)
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
            # Rows that were not drawn have not been sorted into leaves yet.
            self.grower.add_to(self.scores, k, everywhere=rows is not None)
            if self.validation is not None:
                self._add_to_held(tree, k)
        total = self.prepared.total_weight
        return float(np.sum(values)) / total if total else 0.0

    def keep(self, n_rounds):
        ranker, n_trees = self.ranker, n_rounds * self.n_outputs
        ranker._warn_without_split(self.trees, self.data, self.prepared)
        # A copy: that of the ranker stays as it was where the fit fails later on.
        ranker.ensemble_ = copy(ranker.ensemble_).append(
            self.trees[:n_trees],
            self.outputs[:n_trees],
            ranker.bin_mapper_.thresholds_,
        )

    def _derivatives(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return the losses, the gradient and the Hessian, or None if there is none."""
        raw = self.scores[:, 0] if self.n_outputs == 1 else self.scores
        shape = self.scores.shape
        if not self.loss.has_hessian:
            values, gradient = self.prepared.value_gradient(raw)
            return values, gradient.reshape(shape), None
        values, gradient, hessian = self.prepared.gradient_hessian(raw)
        return values, gradient.reshape(shape), hessian.reshape(shape)

    def _rows(self, seed):
        """Return the rows of the queries drawn for one tree; None stands for all."""
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
