"""Active exploration: pairs of documents that users should be shown first."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from skrank._core._finite import NotFiniteError, at_most_one, largest_safe
from skrank._core._inner import accepts, as_floats, scores_of
from skrank._core._messages import shown
from skrank._core._parameters import Positive, PositiveInt
from skrank._meta import fit_on
from skrank._rows import GroupedRows
from skrank.selection._active_base import BaseActiveSelector, Offers, Pool

_NORMAL = 1.0 / np.sqrt(2.0 * np.pi)


class ActiveExploration(BaseActiveSelector):
    r"""Pairs of documents of which the ranking of a query is least certain.

    What is known of the relevance :math:`\theta_u` of a document is taken as a normal
    distribution of mean :math:`\mu_u` and variance :math:`\sigma_u^2`. A query is
    ranked by the means, and a pair of which u is ranked above v at rank r is expected
    to lose

    .. math:: L_{uv} = e^{1 - r} \, E\bigl[ (\theta_v - \theta_u)_+^2 \bigr]
              = e^{1 - r} \bigl( (\delta^2 + s^2) \Phi(\delta / s)
              + \delta s \, \phi(\delta / s) \bigr),
              \qquad \delta = \mu_v - \mu_u,\; s^2 = \sigma_u^2 + \sigma_v^2

    with the distribution function and density of the standard normal distribution. Four
    strategies choose a pair of each query. Shown first and second, with all others
    after them (`rank`), it draws the user's feedback there; given to a judge (`select`)
    it needs no user.

    - "random": any pair;
    - "largest_loss_pair": the largest :math:`L_{uv}`;
    - "one_step_lookahead": the pair whose :math:`L_{uv}` falls most, in expectation
      over which document is preferred, where means and variances after a preference are
      the moments of the distribution given it, which is no normal one;
    - "largest_loss_documents": the two documents of the largest sum of :math:`L_{uv}`
      over all their pairs.

    Means and variances are those of ``predict(X, return_std=True)`` if the ranker has
    it, as the Bayesian regressors of scikit-learn do, and else those of a committee of
    clones that are trained on samples of the judged queries with replacement. The
    scores of each member are put on a common scale: mean 0 in each query, and mean
    square 1 over all documents.

    Complexity: the fits of the committee, and O(p²) for a query of p documents or, if
    that is less, the first ``depth``. Memory O(n + p²) for n documents.

    Parameters
    ----------
    strategy : str, default="largest_loss_pair"
        Which pair is chosen: "random", "largest_loss_pair", "one_step_lookahead" or
        "largest_loss_documents".
    n_members : int, default=10
        Number of rankers of the committee.
    depth : int, default=40
        Number of documents at the top of a query of which pairs are formed.
    noise : float, default=1.0
        Standard deviation of what users perceive of the difference of two documents
        around the true one, for "one_step_lookahead".

    See Also
    --------
    ExpectedHypothesisChange : Documents by their effect on the ranker.

    References
    ----------
    [Radlinski2007]_; [Liu2011]_, section 13.3.1.2, for the strategies; [Herbrich2007]_
    for the moments after a preference.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from skrank.datasets import make_ranking
    >>> from skrank.selection import ActiveExploration
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BayesianRidge().fit(X[::5], y[::5])
    >>> explore = ActiveExploration(strategy="one_step_lookahead")
    >>> pair = explore.select(ranker, X, groups, n=2)
    >>> int(np.ptp(groups[pair]))  # both of one query
    0
    >>> explore.rank(ranker, X, groups)[pair].tolist()  # shown first and second
    [1, 2]
    """

    strategy: Literal[
        "random", "largest_loss_pair", "one_step_lookahead", "largest_loss_documents"
    ] = "largest_loss_pair"
    n_members: PositiveInt = 10
    depth: PositiveInt = 40
    noise: Positive = 1.0

    @classmethod
    def _variants(cls):
        return [
            *super()._variants(),
            {"strategy": "random", "random_state": 0},
            {"strategy": "one_step_lookahead", "n_members": 3, "depth": 10},
            {"strategy": "largest_loss_documents", "n_members": 3, "noise": 0.5},
        ]

    def rank(
        self,
        ranker: Any,
        X: Any,
        groups: npt.ArrayLike | None = None,
        *,
        y: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Return a ranking that shows the chosen pair of each query first.

        Parameters
        ----------
        ranker : estimator
            Fitted ranker.
        X : array-like or CSR matrix of shape (n_documents, n_features)
            One row per document.
        groups : array-like of shape (n_documents,), default=None
            One query id per row; None reads a pandas index.
        y : masked array of shape (n_documents,), default=None
            Grades, masked where nobody judged the document, for the committee; judged
            documents are not explored. None: no document is judged.

        Returns
        -------
        ndarray of shape (n_documents,), dtype int64
            Ranks from 1 within each query: the better one of the pair first, the other
            one second, and all others in the order of their means.

        Raises
        ------
        ValueError
            As `select`.
        """
        self._check_parameters()
        pool = self._pool(ranker, X, groups, y)
        means, variances = self._beliefs(pool)
        codes = pool.codes
        shown_first = np.ones(pool.index.n_documents, dtype=bool)
        for q in range(pool.index.n_queries):
            places, values = self._pairs(pool, means, variances, q, 1)
            if len(values):
                shown_first[places[0]] = False
        order = np.lexsort((-means, shown_first, codes))
        ranks = np.empty(len(order), dtype=np.int64)
        starts = np.repeat(pool.index.ptr[:-1], pool.index.sizes)
        ranks[order] = np.arange(len(order)) - starts + 1
        return pool.index.restore(ranks)

    def _offers(self, pool):
        means, variances = self._beliefs(pool)
        limit = self.max_per_query or pool.index.n_documents
        found = [
            self._pairs(pool, means, variances, q, max(1, limit // 2))
            for q in range(pool.index.n_queries)
        ]
        return Offers(
            np.concatenate([places for places, _ in found]).astype(np.intp),
            np.concatenate([values for _, values in found]),
        )

    def _pairs(self, pool, means, variances, q, n_pairs):
        """Return the best pairs of a query that share no document, and their values."""
        ptr = pool.index.ptr
        places = np.arange(ptr[q], ptr[q + 1])
        places = places[np.argsort(-means[places], kind="stable")]
        rank = np.arange(len(places))
        kept = np.flatnonzero(~pool.judged[places])[: self.depth]
        places, rank = places[kept], rank[kept]
        m = len(places)
        if m < 2:
            return np.empty((0, 2), dtype=np.intp), np.empty(0)
        above, below = np.triu_indices(m, 1)
        values = self._values(
            pool, means[places], variances[places], np.exp(-rank), above, below
        )
        worth = np.full((m, m), -np.inf)
        worth[above, below] = values
        chosen, gained = [], []
        for _ in range(min(n_pairs, m // 2)):
            u, v = divmod(int(np.argmax(worth)), m)
            chosen.append((places[u], places[v]))
            gained.append(worth[u, v])
            worth[[u, v], :] = worth[:, [u, v]] = -np.inf
        return np.array(chosen), np.array(gained)

    def _values(self, pool, means, variances, discount, above, below):
        """Return what the strategy gives for each pair of a query."""
        if self.strategy == "random":
            return pool.rng.random_sample(len(above))
        mu = means[above], means[below]
        var = variances[above], variances[below]
        losses = discount[above] * expected_loss(*mu, *var)
        if self.strategy == "largest_loss_pair":
            return losses
        if self.strategy == "one_step_lookahead":
            after = expected_loss_after(*mu, *var, float(self.noise))
            return losses - discount[above] * after
        m = len(means)
        totals = np.bincount(above, losses, m) + np.bincount(below, losses, m)
        # Disjoint pairs of the largest sums are those of neighbours by the totals.
        return totals[above] + totals[below]

    def _beliefs(self, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the variance of the relevance of each document."""
        if accepts(pool.ranker, "predict", "return_std"):
            return self._stated_beliefs(pool)
        if not pool.judged.any():
            raise ValueError(
                "ActiveExploration needs y with the grades of the judged documents, to "
                "train a committee, or a ranker with predict(X, return_std=True)"
            )
        rows = judged_rows(pool)
        members = np.stack([self._member(pool, rows) for _ in range(self.n_members)])
        return members.mean(axis=0), members.var(axis=0)

    def _stated_beliefs(self, pool) -> tuple[np.ndarray, np.ndarray]:
        """Return what a ranker says of the means and standard deviations."""
        name = f"{type(pool.ranker).__name__}.predict"
        n, found = pool.index.n_documents, []
        stated = pool.ranker.predict(pool.X, return_std=True)
        if not isinstance(stated, tuple | list) or len(stated) != 2:
            raise TypeError(
                f"{name} must return means and standard deviations for return_std=True,"
                f" got {shown(stated)}"
            )
        for part in stated:
            found.append(pool.index.take(as_floats(part, name, n)))
            largest = np.abs(found[-1]).max(initial=0.0)
            limit = largest_safe(np.float64)
            if not largest <= limit:
                raise NotFiniteError(
                    f"what {name} returns must hold numbers of at most {limit:.2g} in "
                    f"size, because sums of squares of larger ones may overflow; found "
                    f"{largest:.2g}"
                )
        mean, std = found
        return mean, std**2

    def _member(self, pool, rows) -> np.ndarray:
        """Return the scores of a ranker that saw a sample of the judged queries."""
        draws = pool.rng.randint(rows.n_queries, size=rows.n_queries)
        model = fit_on(pool.ranker, rows.subset(draws))
        ids = pool.index.restore(pool.index.ids[pool.codes])
        scores = at_most_one(pool.index.take(scores_of(model, pool.X, ids)))
        ptr, sizes = pool.index.ptr, pool.index.sizes
        scores = scores - np.repeat(np.add.reduceat(scores, ptr[:-1]) / sizes, sizes)
        length = np.sqrt(np.mean(scores**2))
        return scores / length if length > 0 else scores


def judged_rows(pool: Pool) -> GroupedRows:
    """Return the judged rows of a pool."""
    rows = GroupedRows(pool.rows(), pool.y, pool.index.ptr, pool.index.ids)
    return rows.where(pool.judged)


def expected_loss(above, below, var_above, var_below) -> np.ndarray:
    r"""Return :math:`E[(\theta_v - \theta_u)_+^2]` for independent normal variables.

    Parameters
    ----------
    above, below : ndarray of shape (n_pairs,)
        Means of the documents u and v.
    var_above, var_below : ndarray of shape (n_pairs,)
        Their variances.

    Returns
    -------
    ndarray of shape (n_pairs,)
    """
    delta, variance = below - above, var_above + var_below
    s = np.sqrt(variance)
    t = np.divide(delta, s, out=np.zeros_like(delta), where=s > 0)
    sure = np.maximum(delta, 0.0) ** 2
    density = _NORMAL * np.exp(-0.5 * t * t)
    value = (delta * delta + variance) * ndtr(t) + delta * s * density
    return np.where(s > 0, np.maximum(value, 0.0), sure)


def after_preference(mu, other, var, other_var, noise):
    """Return moments of two normal variables after the first one was preferred.

    Parameters
    ----------
    mu, other : ndarray of shape (n_pairs,)
        Means of the preferred and of the other document.
    var, other_var : ndarray of shape (n_pairs,)
        Their variances.
    noise : float
        Standard deviation of the perceived difference.

    Returns
    -------
    tuple of ndarray
        Probability of the preference, both means and both variances given it.
    """
    c = np.sqrt(var + other_var + noise * noise)
    t = (mu - other) / c
    probability = ndtr(t)
    # Far out, the ratio approaches -t, and both of its parts vanish.
    density = _NORMAL * np.exp(-0.5 * t * t)
    v = np.where(t > -30.0, density / np.maximum(probability, 1e-300), -t)
    w = np.clip(v * (v + t), 0.0, 1.0)
    return (
        probability,
        mu + var / c * v,
        other - other_var / c * v,
        var * (1.0 - var / c**2 * w),
        other_var * (1.0 - other_var / c**2 * w),
    )


def expected_loss_after(above, below, var_above, var_below, noise) -> np.ndarray:
    """Return the expected loss of pairs that are ranked anew after a preference."""
    total = np.zeros_like(above)
    for first in (True, False):
        mu = (above, below) if first else (below, above)
        var = (var_above, var_below) if first else (var_below, var_above)
        p, won, lost, var_won, var_lost = after_preference(*mu, *var, noise)
        swapped = lost > won
        high, low = np.where(swapped, lost, won), np.where(swapped, won, lost)
        total += p * expected_loss(high, low, var_won, var_lost)
    return total
