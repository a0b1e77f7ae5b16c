"""GBRank."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Literal

import numpy as np

from skrank._core._parameters import Positive
from skrank._objective import loss_of_judgements
from skrank.losses import BaseLoss, HingeLoss, SquaredHingeLoss
from skrank.rankers._boosting import BaseBoostedRanker, Boosting


class GBRank(BaseBoostedRanker):
    r"""GBRank: trees on targets that would put the pairs in wrong order right.

    Each round takes the pairs of which the preferred document is not ahead by
    :math:`\tau`,

    .. math:: S^- = \{(u, v) : u \succ v,\ f_{t-1}(x_u) < f_{t-1}(x_v) + \tau\},

    fits a tree :math:`g_t` to the targets :math:`(x_u, f_{t-1}(x_v) + \tau)` and
    :math:`(x_v, f_{t-1}(x_u) - \tau)` of all of them, and takes the mean

    .. math:: f_t = \frac{f_{t-1} + \eta\, g_t}{1 + \eta} \quad\text{or}\quad
              f_t = \frac{t f_{t-1} + \eta\, g_t}{t + 1}.

    Either target makes the pair lose nothing of :math:`\max(0, f(x_v) - f(x_u) +
    \tau)^2` where the other document stays as it is. The sum of these is
    `SquaredHingeLoss`, twice the risk of the paper.

    Complexity: O(n d) per level of a tree for n documents with d features, and O(m log
    m) per round for a query of m documents, whose targets are summed by sorting.

    In place of grades `fit` also takes pairs of row numbers, the preferred document
    first: ``fit(X, preferences=pairs)``.

    Parameters
    ----------
    tau : float, default=1.0
        Margin :math:`\tau`. It sets the scale of the scores, and nothing else.
    targets : {"other", "own"}, default="other"
        Score that a target starts from: that of the other document of the pair, as
        above and in the paper; or the document's own, :math:`f_{t-1}(x_u) + \tau` and
        :math:`f_{t-1}(x_v) - \tau`, as Algorithm 2 of the book prints it.
    averaging : {"rounds", "constant"}, default="rounds"
        Which mean is taken: the latter, that of the paper, in which all trees have the
        same share in the end; or the former, that of the book, in which the share of a
        tree falls with every later round, and for which about 0.05 is a good
        ``learning_rate``.
    learning_rate : float, callable or sequence of float, default=1.0
        Weight :math:`\eta` of a new tree; a function of the round, counted from 0, or
        a sequence gives each round its own.

    Attributes
    ----------
    start_weight_ : float
        Share that the scores of ``init`` have in those of the model.
    stage_weights_ : ndarray of shape (n_rounds,)
        Share that the scores after each round have in those of the model.
    shares_ : ndarray of shape (n_rounds,)
        Share that the scores before each round have in those after it.
    grown_values_ : ndarray of shape (n_nodes,)
        Values of the nodes of the trees when they were grown, before later means made
        of them the ``value_`` of ``ensemble_``; a warm start goes on from these.

    References
    ----------
    [Zheng2007]_; [Liu2011]_, section 3.2.7, eq. 3.18–3.19 and Algorithm 2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import GBRank
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = GBRank(n_estimators=50, min_samples_leaf=5, random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.7
    True
    """

    approach = "pairwise"

    tau: Positive = 1.0
    targets: Literal["other", "own"] = "other"
    averaging: Literal["rounds", "constant"] = "rounds"
    learning_rate: Positive | Callable[[int], float] | np.ndarray | Sequence[float] = (
        1.0
    )

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [
            {},
            {"targets": "own", "averaging": "constant", "learning_rate": 0.1},
            {"subsample": 0.5, "random_state": 0},
        ]

    def _loss(self) -> BaseLoss:
        return SquaredHingeLoss(margin=self.tau)

    def _new_run(self, data, validation, rng) -> "_AveragedBoosting":
        return _AveragedBoosting(self, data, validation, rng)

    def _start_scores(self, X, ptr=None) -> np.ndarray:
        return self.start_weight_ * super()._start_scores(X, ptr)

    def _staged_raw(self, raw, X) -> Iterator[np.ndarray]:
        # Trees are kept with what later means have left of them. Where that is nothing,
        # after a thousand rounds of means of equal shares, the scores are 0.
        stages = super()._staged_raw(raw, X)
        for weight, stage in zip(self.stage_weights_, stages, strict=True):
            yield stage / (weight or 1.0)


class _AveragedBoosting(Boosting):
    """Boosting in which each round takes a mean of the model and a new tree."""

    def bind(self):
        super().bind()
        if self.ranker.leaf_iterations > 1:
            raise ValueError(
                f"leaf_iterations={self.ranker.leaf_iterations}: GBRank fits its trees "
                "to targets by squares, whose best values one step finds; leave it at 1"
            )
        if self.ranker.dropout > 0.0:
            raise ValueError(
                f"dropout={self.ranker.dropout:g}: GBRank takes means of all its trees "
                "and leaves none out; leave it at 0"
            )
        if self.ranker.linear_leaves:
            raise ValueError(
                "linear_leaves=True: GBRank shrinks the values of earlier leaves, and "
                "these must be constants; leave it out"
            )
        self.shares: list[float] = []
        ranker, data = self.ranker, self.data
        self.given_steps: Any = None
        if ranker.targets == "own" and data.preferences is not None:
            # Below the margin, because a pair that just meets it is in order, while
            # the hinge of a given pair has the slope of the costly side there.
            hinge = HingeLoss(margin=float(np.nextafter(ranker.tau, 0.0)))
            self.given_steps = loss_of_judgements(hinge, data).prepare(None, data.ptr)

    def forget(self, rng):
        super().forget(rng)
        ranker = self.ranker
        ranker.start_weight_ = 1.0
        ranker.stage_weights_, ranker.shares_ = np.zeros(0), np.zeros(0)
        ranker.grown_values_ = np.zeros(0)

    def resume(self):
        super().resume()
        ranker = self.ranker
        if "shares_" in vars(ranker):
            return
        # Files of older versions: what the means have made of the trees says the same,
        # but for the last bits and for trees of which nothing is left.
        weights = np.append(ranker.start_weight_, ranker.stage_weights_)
        later = np.where(weights[1:] > 0.0, weights[1:], 1.0)
        ranker.shares_ = weights[:-1] / later
        sizes = _sizes(ranker.ensemble_)
        ranker.grown_values_ = ranker.ensemble_.value_ / np.repeat(later, sizes)

    def start_of(self, data):
        X = data.X
        # Those of the ranker are what later means have left of them.
        start = BaseBoostedRanker._start_scores(self.ranker, X.given, data.ptr)
        return self._started(data, start[X.order])

    def add_earlier(self, scores, data):
        ranker = self.ranker
        if not self.n_done:
            return scores
        grown = copy(ranker.ensemble_)
        grown.value_ = ranker.grown_values_
        rows, given = ranker.bin_mapper_.encode(data.X.given), np.empty_like(scores)
        given[data.X.order] = scores
        for tree, share in enumerate(ranker.shares_):
            given *= share
            grown.add_to(given, rows, tree, tree + 1, n_threads=self.n_threads)
        return given[data.X.order]

    def _derivatives(self):
        # A tree that starts from 0 and takes a Newton step on half the squares of its
        # distances to the targets has the mean of the targets in each leaf.
        raw = self.scores[:, 0]
        values, gradient, hessian = self.prepared.gradient_hessian(raw)
        # Twice the number of pairs in which a document misses the margin, and
        # twice the sum of what it misses.
        count = 0.5 * hessian
        if self.ranker.targets == "other":
            targets = count * raw - 0.5 * gradient
        else:
            tau = float(self.ranker.tau)
            if self.given_steps is not None:
                _, downwards = self.given_steps.value_gradient(raw)
            else:
                _, downwards = self.prepared.at_margin(raw, tau, False)
            targets = count * raw - tau * downwards
        return values, -targets[:, None], count[:, None]

    def before_trees(self, iteration):
        eta = self.rate(iteration)
        before = 1.0 if self.ranker.averaging == "constant" else 1.0 + iteration
        total = before + (eta if self.ranker.averaging == "constant" else 1.0)
        self.shares.append(before / total)
        self.options["learning_rate"] = eta / total
        self.scores *= before / total
        if self.validation is not None:
            self.held_scores *= before / total

    def keep(self, n_rounds):
        """Store the first rounds, each with what the later means leave of it."""
        ranker, before = self.ranker, len(self.ranker.grown_values_)
        super().keep(n_rounds)
        trees = ranker.ensemble_
        ranker.grown_values_ = np.append(ranker.grown_values_, trees.value_[before:])
        ranker.shares_ = np.append(ranker.shares_, self.shares[:n_rounds])
        later = np.cumprod([1.0, *ranker.shares_[::-1]])[::-1]
        ranker.start_weight_, ranker.stage_weights_ = float(later[0]), later[1:].copy()
        trees.value_ = ranker.grown_values_ * np.repeat(later[1:], _sizes(trees))


def _sizes(trees) -> np.ndarray:
    """Return the number of nodes of each tree."""
    return np.diff(np.append(trees.roots_, len(trees.value_)))
