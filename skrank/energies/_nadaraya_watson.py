"""The Nadaraya-Watson energy."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._numbers import as_numbers
from skrank._core._parameters import NThreads, Positive, PositiveInt
from skrank._core._threads import n_threads_for
from skrank.energies._base import BaseEnergy
from skrank.energies._blocks import in_full_tiles, map_blocks, row_blocks
from skrank.energies._constraint import NonNegativeL1Ball
from skrank.energies._feature_scale import feature_scale
from skrank.energies._preference_weights import shrink_into

# Kernel values of a block: 2 MiB, within the cache.
_BLOCK_VALUES = 1 << 18
# Kernel values kept between scores and their vjp; beyond, they are computed again.
_TAPE_VALUES = 1 << 23


class NadarayaWatsonEnergy(BaseEnergy):
    r"""Scores as local averages of training grades, with a learned metric.

    .. math:: -E(q, d) = f(x) = \frac{\sum_i K(x_i, x)\, y_i}{\sum_i K(x_i, x)}, \qquad
              K(x', x) = \exp\Bigl(-\frac12 \sum_l a_l^2 (x_l - x'_l)^2\Bigr)

    over the training rows :math:`x_i` with grades :math:`y_i`, whichever query they
    belong to. The parameters are the scales :math:`a_l \ge 0`, one for each feature,
    whose sum may be bounded.

    Complexity: O(n N d) per evaluation of n rows with N training rows, by matrix
    products in blocks; the n × N kernel is never stored as a whole. Dense rows only.

    Parameters
    ----------
    leave_one_out : bool, default=True
        Whether a training row is left out of its own average while training. The paper
        sums over all rows, its own included; then narrow kernels explain every grade
        by itself.
    max_landmarks : int, default=None
        Number of training rows, drawn at random, that stand for all; None takes all.
    standardize : bool, default=False
        Whether to scale features so that the exponents are about −1 at the start. The
        paper takes features that lie in [0, 1] within every query as they are.
    l1_bound : float, default=None
        Largest sum of all :math:`a_l`; None for no bound.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.

    Attributes
    ----------
    X_ : ndarray of shape (n_landmarks, n_features)
        Scaled features of the landmarks.
    y_ : ndarray of shape (n_landmarks,)
        Grades of the landmarks.
    mean_, scale_ : ndarrays of shape (n_features,)
        What is subtracted from features, and what they are then divided by.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers of the landmarks among the training rows.

    References
    ----------
    [Huang2008]_, eq. 7; [Nadaraya1964]_; [Watson1964]_.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import NadarayaWatsonEnergy
    >>> X = np.array([[0.0], [1.0]])
    >>> energy = NadarayaWatsonEnergy().setup(X, y=np.array([0.0, 2.0]))
    >>> energy.scores(np.array([50.0]), energy.transform(np.array([[0.9], [0.5]])))
    array([2., 1.])
    """

    short_name = "nadaraya-watson"
    constrained = True

    leave_one_out: bool = True
    max_landmarks: PositiveInt | None = None
    standardize: bool = False
    l1_bound: Positive | None = None
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        return [
            {},
            {"leave_one_out": False, "standardize": True},
            {"max_landmarks": 7, "l1_bound": 2.0},
        ]

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Keep the training rows, or some of them, and their grades.

        Parameters
        ----------
        X : ndarray of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Draws the landmarks.
        y : ndarray of shape (n_documents,)
            Training grades.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Not used.

        Returns
        -------
        Self
            The energy itself, with its attributes.

        Raises
        ------
        ValueError
            If a parameter is out of range, or ``y`` does not hold one grade for each
            row.
        TypeError
            If a parameter has a wrong type.
        """
        super().setup(X, rng, y, ptr)
        if y is None:
            raise ValueError("NadarayaWatsonEnergy averages grades: setup needs y")
        n, d = X.shape
        y = as_numbers(y, "y", "grades")
        if y.shape != (n,):
            raise ValueError(f"y must hold {n} grades, got shape {y.shape}")
        self.mean_, scale = feature_scale(X)
        # With a uniform in [0, 1] and two rows at random, the mean of
        # a^2 (x - x')^2 / 2 is scale^2 / 3 for each feature.
        self.scale_ = scale * np.sqrt(d / 3.0) if self.standardize else np.ones(d)
        rows = np.arange(n)
        if self.max_landmarks is not None and self.max_landmarks < n:
            rows = np.sort(check_random_state(rng).permutation(n)[: self.max_landmarks])
        self.n_training_rows_ = n
        self.landmarks_ = rows
        self.X_ = self._scaled(X[rows])
        self.y_ = y[rows]
        return self

    def _scaled(self, X):
        scaled = np.asarray(X, dtype=np.float64) - self.mean_
        scaled /= self.scale_
        return scaled

    def transform(self, X):
        """Return scaled rows, and with ``leave_one_out`` the landmark that each row is.

        Only the training rows, all of them in the order of `setup`, are known as
        landmarks; any other rows have the number −1 in the last column.
        """
        Z = self._scaled(X)
        if not self.leave_one_out:
            return Z
        place = np.full(len(Z), -1.0)
        if len(Z) == self.n_training_rows_ and np.array_equal(
            Z[self.landmarks_], self.X_
        ):
            place[self.landmarks_] = np.arange(len(self.landmarks_))
        return np.column_stack([Z, place])

    def n_params(self, n_features: int) -> int:
        """Return the number of scales, one for each feature."""
        return n_features - bool(self.leave_one_out)

    def init_params(self, n_features: int, rng):
        """Return scales drawn from [0, 1]; their sum is brought within the bound."""
        params = rng.uniform(size=self.n_params(n_features))
        return shrink_into(self.constraint(n_features), params)

    def constraint(self, n_features: int):
        """No scale is negative, and their sum is bounded."""
        mask = np.ones(self.n_params(n_features), dtype=bool)
        return NonNegativeL1Ball(mask, self.l1_bound)

    def scores(self, params, X, ptr=None):
        """Return local averages of the grades of landmarks, shape (n_documents,)."""
        return self._evaluate(params, X, leave_out=False)[0]

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores as in training, and the pull-back to the scales."""
        raw, tapes, blocks, run = self._evaluate(params, X, self.leave_one_out, True)

        def vjp(gradient):
            parts = [gradient[block] for block in blocks]
            square = np.zeros(len(self.X_))
            cross = np.zeros(len(params))
            local = self._local(params, X, self.leave_one_out)

            def pull(i, part):
                kept = tapes[i]
                share = local(blocks[i])[1] if kept is None else kept
                # d f / d K_i is (y_i - f) / sum K; its rows sum to 0.
                share = share * (self.y_ - raw[blocks[i]][:, None])
                share *= part[:, None]
                rows = X[blocks[i], : len(params)]
                return share.sum(axis=0), np.einsum("ij,ij->j", rows, share @ self.X_)

            for column, product in run(pull, range(len(blocks)), parts):
                square += column
                cross += product
            squares = np.einsum("i,ij->j", square, self.X_**2)
            return np.asarray(params) * (2.0 * cross - squares)

        return raw, vjp

    def _evaluate(self, params, X, leave_out, keep=False):
        n = X.shape[0]
        n_rows = max(1, _BLOCK_VALUES // max(1, len(self.X_)))
        blocks = row_blocks(n, n_rows)
        n_kept = _TAPE_VALUES // max(1, len(self.X_)) if keep else 0
        local = self._local(params, X, leave_out)
        # About 5 ns for each kernel value.
        work = 5 * n * len(self.X_)
        n_threads = n_threads_for(work, self.n_jobs, python_threads=True)
        run = partial(map_blocks, n_threads=n_threads)
        tapes = [None] * len(blocks)

        def forward(i):
            average, share = local(blocks[i])
            tapes[i] = share if blocks[i].stop <= n_kept else None
            return average

        raw = np.empty(n)
        averages = run(forward, range(len(blocks)))
        for block, average in zip(blocks, averages, strict=True):
            raw[block] = average
        return raw, tapes, blocks, run

    def _local(self, params, X, leave_out):
        """Function of a block: averages, and the shares of the landmarks in them."""
        params = np.asarray(params, dtype=np.float64)
        n_landmarks = len(self.X_)
        landmarks = in_full_tiles(self.X_ * params)
        half = 0.5 * np.einsum("ij,ij->i", landmarks, landmarks)[:n_landmarks]

        def local(block):
            rows = X[block]
            # The square of the row itself is the same for all landmarks.
            scaled = in_full_tiles(rows[:, : len(params)] * params)
            share = (scaled @ landmarks.T)[: len(rows), :n_landmarks]
            share -= half
            if leave_out and len(half) > 1:
                own = rows[:, -1].astype(np.intp)
                known = np.flatnonzero(own >= 0)
                share[known, own[known]] = -np.inf
            share -= share.max(axis=1, keepdims=True)
            np.exp(share, out=share)
            share /= share.sum(axis=1, keepdims=True)
            return np.einsum("ij,j->i", share, self.y_), share

        return local
