"""Features in the order in which they enter a ranker as its L1 penalty falls."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skrank._core._messages import shown
from skrank._core._parameters import Fraction, Positive, PositiveInt
from skrank._core._sparse import read_only
from skrank._meta import fit_on
from skrank._rows import GroupedRows
from skrank.energies import LinearEnergy
from skrank.losses import LogLoss
from skrank.rankers import EnergyRanker
from skrank.selection._feature_base import BaseCountedSelector, spreads
from skrank.solvers import SparseLBFGS

_MOST_DOUBLINGS = 40


class L1PathSelector(BaseCountedSelector):
    r"""Keep the features that enter a linear ranker first as its L1 penalty falls.

    .. math:: w(\lambda) = \arg\min_w \frac1Q \sum_q L_q(w) + \lambda \lVert w \rVert_1,
              \qquad \lambda_j = \sup \{ \lambda : w_j(\lambda) \ne 0 \}

    The penalty falls from the value at which all coefficients are 0. On the way,
    features that explain what is left of the preferences get coefficients, and of
    several alike at first only one. Those with the largest :math:`\lambda_j` are kept;
    among features that enter at the same step, those with the larger coefficients. The
    path ends as soon as enough features have entered. Fewer are kept if fewer enter.

    Features are divided by their standard deviation within queries, because the penalty
    compares coefficients. Complexity: one fit per step.

    Parameters
    ----------
    estimator : ranker or None, default=None
        Linear ranker, or pipeline that ends in one, with one parameter called ``l1``,
        its own or that of a part, such as `RobustSparseRanker`. None means the log
        loss of pairs (RankNet's) with `SparseLBFGS`.
    n_steps : int, default=30
        Largest number of steps of the path.
    ratio : float, default=1e-3
        The penalty of the last step, as a share of that of the first one; they form a
        geometric sequence.
    l1_max : float or None, default=None
        Penalty of the first step. None finds the one at which coefficients begin.

    Attributes
    ----------
    l1s_ : ndarray of shape (n_fits,)
        Penalty of each step.
    coefs_ : ndarray of shape (n_fits, `n_features_in_`)
        Coefficients of the scaled features at each step.
    entry_l1_ : ndarray of shape (`n_features_in_`,)
        Largest penalty at which each feature had a coefficient; 0 if it had none.

    See Also
    --------
    RobustSparseRanker : The ranker whose penalty leaves features out.

    References
    ----------
    [Sun2009]_, for ranking under an L1 penalty; [Liu2011]_, section 3.3.8.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.selection import L1PathSelector
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> selector = L1PathSelector(3).fit(X, y, groups)
    >>> selector.n_features_, bool((selector.coefs_[0] == 0.0).all())
    (3, True)
    """

    estimator: Any = None
    n_steps: PositiveInt = 30
    ratio: Fraction = 1e-3
    l1_max: Positive | None = None

    @classmethod
    def _variants(cls):
        return [
            {},
            {"n_features_to_select": 1, "n_steps": 5, "ratio": 0.1},
            {"n_features_to_select": 0.9, "l1_max": 0.2, "n_steps": 4},
        ]

    @property
    def _takes_missing(self):
        return False

    def _selected(self, rows):
        n = self._n_wanted()
        scale = spreads(rows)
        factor = np.divide(1.0, scale, out=np.zeros(len(scale)), where=scale > 0)
        scaled = _scaled(rows, factor)
        path = _Path(self._chosen_estimator(), scaled)
        first = path.highest(self.l1_max)
        steps = first * np.geomspace(1.0, self.ratio, self.n_steps)
        entry, size = np.zeros(len(scale)), np.zeros(len(scale))
        coefs: list[np.ndarray] = []
        for l1 in steps.tolist():
            coefs.append(path.coef(l1))
            new = (coefs[-1] != 0.0) & (entry == 0.0)
            entry[new], size[new] = l1, np.abs(coefs[-1][new])
            if (entry > 0.0).sum() >= n:
                break
        self.l1s_, self.coefs_ = steps[: len(coefs)], np.stack(coefs)
        self.entry_l1_ = entry
        best = np.lexsort((-size, -entry))[:n]
        best = best[entry[best] > 0.0]
        if not len(best):
            raise ValueError(
                "L1PathSelector: no feature has a coefficient at the last penalty of "
                f"the path, {steps[-1]:g}; lower ratio, or look whether grades differ "
                f"within queries (n_samples={rows.n_documents})"
            )
        return best

    def _chosen_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return EnergyRanker(
            LinearEnergy(),
            LogLoss(normalization="query"),
            solver=SparseLBFGS(),
            alpha=0.0,
        )


def _scaled(rows: GroupedRows, factor: np.ndarray) -> GroupedRows:
    """Return rows whose features are multiplied by factors."""
    X = rows.X
    if sparse.issparse(X):
        X = sparse.csr_matrix(X @ sparse.diags(factor))
    else:
        X = X * factor
    return replace(rows, X=read_only(X), feature_names=None)


class _Path:
    """A ranker fitted under several penalties.

    Parameters
    ----------
    estimator : estimator
        Linear ranker with one parameter ``l1``.
    rows : GroupedRows
        Training rows.
    """

    def __init__(self, estimator, rows: GroupedRows):
        names = [
            name
            for name in getattr(estimator, "get_params", dict)()
            if name.rpartition("__")[2] == "l1"
        ]
        if len(names) != 1:
            found = "none" if not names else " and ".join(sorted(names))
            raise ValueError(
                "L1PathSelector: estimator must be a ranker with one parameter called "
                f"l1, its own or that of a part, such as RobustSparseRanker(); "
                f"{shown(estimator)} has {found}"
            )
        self.estimator, self.name, self.rows = estimator, names[0], rows

    def coef(self, l1: float) -> np.ndarray:
        """Return the coefficients under a penalty."""
        estimator = clone(self.estimator).set_params(**{self.name: l1})
        model = fit_on(estimator, self.rows)
        steps = getattr(model, "steps", None)
        coef = getattr(steps[-1][1] if steps else model, "coef_", ())
        n_features = self.rows.X.shape[1]
        if np.shape(coef) != (n_features,):
            raise ValueError(
                "L1PathSelector: estimator must learn coef_ of one number per feature, "
                f"which {shown(self.estimator)} does not"
            )
        return np.asarray(coef, dtype=np.float64)

    def highest(self, given: float | None) -> float:
        """Return the penalty to begin with, at which coefficients are 0."""
        if given is not None:
            return float(given)
        y = np.asarray(self.rows.y)
        prepared = LogLoss(normalization="query").prepare(y, self.rows.ptr)
        gradient = prepared.value_gradient(np.zeros(self.rows.n_documents))[1]
        total = max(prepared.total_weight, 1e-300)
        slope = float(np.abs(gradient @ self.rows.X).max() / total)
        l1 = slope if slope > 0.0 else 1.0
        # The losses of other rankers may be steeper than this one.
        for _ in range(_MOST_DOUBLINGS):
            if not self.coef(l1).any():
                return l1
            l1 *= 2.0
        raise ValueError(
            f"L1PathSelector: coefficients are not 0 at a penalty of {l1:g}; set l1_max"
        )
