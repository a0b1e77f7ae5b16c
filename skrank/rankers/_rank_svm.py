"""Ranking SVM."""

from typing import Literal

from skrank._core._parameters import NonNegative
from skrank.energies import BaseEnergy
from skrank.losses import BaseLoss, HingeLoss, SquaredHingeLoss
from skrank.rankers._kernel_ranker import BaseKernelRanker
from skrank.solvers import LBFGS, BaseSolver, SmoothingHomotopy


class RankSVM(BaseKernelRanker):
    r"""Ranking SVM: a large margin between the documents of every preference pair.

    .. math:: \min_w \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{P}
              \sum_{q} \sum_{u \succ v} \max(0, M - w^T (x_u - x_v))^p

    with :math:`p = 2` (squared hinge) or :math:`p = 1`, and P the number of pairs. No
    pair is ever built: a query of m documents costs O(m log m), so that an evaluation
    costs O(n d + n log m) for n documents with d features. The usual C is
    :math:`1 / (\alpha P)`. In place of grades `fit` also takes pairs of row numbers,
    the preferred document first: ``fit(X, preferences=pairs)``.

    With a kernel, coefficients are those of the features of the kernel at its
    landmarks. With all training rows as landmarks (``n_components=None``) the result is
    that of the dual problem, again without a single pair: the weight vector is a
    combination of the rows, and so of their features.

    Complexity: O(n d + n log m) per iteration for n documents, m in a query, with d
    features; a kernel with c landmarks has c features, which cost O(n c (d + c)) once.

    Parameters
    ----------
    hinge : {"squared", "linear"}, default="squared"
        Power of the hinge. "linear" is the loss of the original, which is minimised
        through a sequence of smooth losses; "squared" is smooth itself and faster.
    margin : float, default=1.0
        Margin M.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `LBFGS`, or `SmoothingHomotopy` for the
        linear hinge.

    References
    ----------
    [Liu2011]_, section 3.2.6, eq. 3.17; [Joachims2002]_; [Lee2014]_ for the cost;
    [Kuo2014]_ for kernels
    without pairs.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankSVM
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> RankSVM().fit(X, y, groups).coef_.shape == (X.shape[1],)
    True
    >>> RankSVM(kernel="rbf", n_components=20).fit(X, y, groups).coef_.shape
    (20,)
    """

    approach = "pairwise"

    hinge: Literal["squared", "linear"] = "squared"
    margin: NonNegative = 1.0

    _takes_preferences = True

    @classmethod
    def _variants(cls):
        return [
            {},
            {"hinge": "linear"},
            {"kernel": "rbf", "n_components": 20},
            {"kernel": "rbf", "n_components": None},
            {"margin": 0.5, "solver": "adam"},
        ]

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        hinge = SquaredHingeLoss if self.hinge == "squared" else HingeLoss
        return self._energy(), hinge(margin=self.margin)

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return LBFGS() if self.hinge == "squared" else SmoothingHomotopy()
