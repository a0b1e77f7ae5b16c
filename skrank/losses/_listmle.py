"""ListMLE: likelihood of the order of the grades under the Plackett–Luce model."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skrank._core import _list_losses, _segments
from skrank.losses._base import BaseLoss, PreparedLoss, query_weights

_TIES = ("best", "stable", "random")


class ListMLELoss(BaseLoss):
    r"""Negative log-likelihood of the order of the grades (Plackett–Luce).

    With :math:`\pi^{-1}(j)` the document that the grades put in position j,

    .. math::

        L(f; \mathbf{x}, \pi_y) = \sum_{j=1}^{k} w_j \Bigl(
        \log \sum_{t=j}^{m} e^{f(x_{\pi^{-1}(t)})} - f(x_{\pi^{-1}(j)}) \Bigr),

    where k = ``top_k`` positions count and :math:`w_j` are the position weights, ones
    by default. The unit is the query, with the mean weight of its rows; a query whose
    grades are all equal adds nothing. Complexity: O(n_documents), plus sorting the
    tied documents of each query when ``ties="best"``.

    Parameters
    ----------
    top_k : int, default=None
        Number of positions that count; None for all of them.
    ties : {"best", "stable", "random"}, default="best"
        The order of documents of equal grade. "best" takes the most likely of all
        orders that agree with the grades, which sorts tied documents by their current
        score; the loss then stays continuous but is no longer convex. "stable" keeps
        the order of the rows, "random" draws one order when the loss is bound to the
        data. The average over all orders has no tractable form.
    position_weights : {None, "p", "log2"}, array-like or callable, default=None
        Weights of the positions. "p" decreases by about a half from one position to
        the next, :math:`(2^{m-j} - 1) / (2^{m-1} - 1)` (p-ListMLE, scaled to start at
        1); "log2" is :math:`1 / \log_2(1 + j)`; an array holds the weights of the first
        positions, further ones are 0; a callable gets ``(positions, sizes)``, 1-based
        positions and the sizes of their queries, and returns an array of weights.
    prior : tuple of float, default=None
        Shape a >= 1 and rate b > 0 of a Gamma prior on the strengths :math:`e^{f}`,
        which adds :math:`\sum_j b e^{f(x_j)} - (a - 1) f(x_j)` to the loss of a query
        (Bayesian Plackett–Luce); scores are then no longer free to shift.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``.

    References
    ----------
    Liu, *Learning to Rank for Information Retrieval*, 2011, eq. 4.22 (its denominator
    runs from j to m), 4.24 and 4.25, exercises 4.7 and 4.9; Fang and Liu, 2016,
    eq. 21–25; Lan et al., "Position-aware ListMLE", 2014; Guiver and Snelson, "Bayesian
    inference for Plackett–Luce ranking models", 2009, for the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ListMLELoss
    >>> values, gradient = ListMLELoss().value_gradient([2, 1, 0], [0, 0, 0], [0, 3])
    >>> bool(abs(values[0] - np.log(3 * 2 * 1)) < 1e-12)
    True
    >>> gradient.round(4).tolist()
    [-0.6667, -0.1667, 0.8333]
    """

    unit = "query"

    def __init__(
        self,
        top_k: int | None = None,
        ties: str = "best",
        position_weights=None,
        prior: tuple[float, float] | None = None,
        random_state=None,
    ):
        self.top_k = top_k
        self.ties = ties
        self.position_weights = position_weights
        self.prior = prior
        self.random_state = random_state

    @property
    def shift_invariant(self):
        """Whether scores of a query may shift: not under a prior."""
        return self.prior is None

    @property
    def convex(self):
        """Whether the loss is convex: not when tied documents follow the scores."""
        return self.ties != "best"

    def prepare(self, y, ptr, sample_weight=None, *, n_threads: int = 1):
        """Bind the loss to the grades of a data set; see `BaseLoss.prepare`."""
        if self.ties not in _TIES:
            raise ValueError(f"ties must be one of {_TIES}, got {self.ties!r}")
        if self.top_k is not None and (
            not isinstance(self.top_k, Integral) or self.top_k < 1
        ):
            raise ValueError(f"top_k must be None or at least 1, got {self.top_k!r}")
        prepared = _PreparedListMLE(y, ptr, sample_weight, n_threads, self.top_k)
        prepared.stage_weight = _stage_weights(self.position_weights, prepared.ptr)
        prepared.fix_ties(self.ties, self.random_state)
        prepared.prior = _check_prior(self.prior)
        return prepared


def _check_prior(prior):
    if prior is None:
        return None
    shape, rate = prior
    if not (1 <= shape < np.inf and 0 < rate < np.inf):
        raise ValueError(f"prior must be None or (shape >= 1, rate > 0), got {prior!r}")
    return float(shape), float(rate)


def _stage_weights(position_weights, ptr):
    """Weight of each position of each query, or None for ones."""
    if position_weights is None:
        return None
    sizes = np.diff(ptr)
    size = np.repeat(sizes, sizes)
    position = np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes) + 1
    if callable(position_weights):
        weights = np.asarray(position_weights(position, size), dtype=np.float64)
    elif isinstance(position_weights, str):
        weights = _named_weights(position_weights, position, size)
    else:
        table = np.append(np.asarray(position_weights, dtype=np.float64).ravel(), 0.0)
        weights = table[np.minimum(position - 1, len(table) - 1)]
    if weights.shape != position.shape or not np.all(
        np.isfinite(weights) & (weights >= 0)
    ):
        raise ValueError(
            "position_weights must give one finite weight >= 0 per position"
        )
    return np.ascontiguousarray(weights)


def _named_weights(name, position, size):
    if name == "log2":
        return 1.0 / np.log2(1.0 + position)
    if name == "p":  # in powers of 1/2, since 2^m overflows for long lists
        scale = 1.0 - np.exp2(1.0 - np.maximum(size, 2))
        return np.exp2(1.0 - position) * (1.0 - np.exp2(position - size)) / scale
    raise ValueError(
        "position_weights must be None, 'p', 'log2', an array or a callable, "
        f"got {name!r}"
    )


class _PreparedListMLE(PreparedLoss):
    def __init__(self, y, ptr, sample_weight, n_threads, top_k):
        super().__init__(y, ptr, sample_weight, n_threads)
        self.top_k = 0 if top_k is None else int(top_k)
        self.order, self.lower = _segments.label_order(self.y, self.ptr, self.n_threads)
        self.follows_scores = False
        self.query_weight = query_weights(self.y, self.ptr, self.weight)
        self.total_weight = float(self.query_weight.sum())

    def fix_ties(self, ties, random_state):
        """Decide how documents of equal grade are ordered."""
        self.follows_scores = ties == "best"
        if ties == "random":
            key = check_random_state(random_state).uniform(size=self.n_documents)
            self.order = self._order_by(key)

    def _order_by(self, key):
        return _segments.sort_ties(
            key, self.order, self.lower, self.ptr, self.n_threads
        )

    def value_gradient(self, raw):
        raw = self._scores(raw)
        order = self._order_by(raw) if self.follows_scores else self.order
        values, gradient = _list_losses.plackett_luce(
            raw,
            self.ptr,
            order,
            self.stage_weight,
            self.query_weight,
            self.top_k,
            self.n_threads,
        )
        if self.prior is None:
            return values, gradient
        penalty, slope = _gamma_penalty(raw, *self.prior)
        weight = np.repeat(self.query_weight, np.diff(self.ptr))
        values = values + _segments.segment_sum(weight * penalty, self.ptr)
        return values, gradient + weight * slope


def _gamma_penalty(raw, shape, rate):
    """Negative log density of a Gamma prior on ``exp(raw)``, and its derivative.

    Beyond a strength of e^50 the exponential goes on as its tangent, so that no trial
    step of a line search overflows.
    """
    capped = np.minimum(raw, 50.0)
    strength = np.exp(capped)
    penalty = rate * strength * (1.0 + raw - capped) - (shape - 1.0) * raw
    return penalty, rate * strength - (shape - 1.0)
