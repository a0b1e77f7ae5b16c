"""Ordinal regression with large margins."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from skrank._core._parameters import PositiveInt
from skrank._rows import GroupedRows
from skrank.energies import BaseEnergy, KernelEnergy, LinearEnergy
from skrank.losses import BaseLoss, SumOfMarginsLoss, ThresholdLoss
from skrank.losses._ordinal import Construction
from skrank.rankers._ordinal import BaseOrdinalRanker
from skrank.solvers import BaseSolver, SmoothingHomotopy


class LargeMarginOrdinal(BaseOrdinalRanker):
    r"""Support vector ordinal regression: large margins between neighbouring grades.

    With the fixed-margin strategy, documents keep a distance of 1 from the thresholds,
    and the margin between all neighbouring grades is :math:`2 / \lVert w \rVert`:

    .. math::
       \min_{w, b} \frac{\alpha}{2} \lVert w \rVert^2 + \frac{1}{n} \sum_{j=1}^{n}
       \max(0, 1 - b_{y_j} + w^T x_j) + \max(0, 1 + b_{y_j - 1} - w^T x_j).

    With the sum-of-margins strategy each pair of neighbouring grades has a margin
    :math:`b_k - a_k` of its own:

    .. math::
       \min_{w, a, b} \alpha \sum_{k=1}^{K-1} (a_k - b_k) + \frac{1}{n} \sum_{j=1}^{n}
       \max(0, w^T x_j - a_{y_j}) + \max(0, b_{y_j - 1} - w^T x_j),
       \qquad \lVert w \rVert \le 1, \quad a_k \le b_k \le a_{k+1}.

    In both, :math:`\alpha = 1 / (\lambda n)` for the :math:`\lambda` of the book. All
    of the latter but its bound on w is homogeneous, so that it is solved with an L2
    penalty in place of the bound, and w is then scaled to length 1.

    Thresholds are in order, whatever ``constraints`` says: "explicit" compares a
    document with the thresholds next to its grade, and the solver keeps them in order;
    "implicit" compares it with all of them, as documents of all lower and all higher
    grades, after which they are in order by themselves.

    Complexity: O(n (d + K)) per iteration for n documents with d features and K grades.

    Parameters
    ----------
    strategy : {"fixed_margin", "sum_of_margins"}, default="fixed_margin"
        Whether all margins are equal or their sum is maximised.
    constraints : {"explicit", "implicit"}, default="implicit"
        What keeps the thresholds in order. Chu and Keerthi find both alike in error
        and the implicit one the better in mean absolute error.
    kernel : str or callable, default="linear"
        "linear", or any kernel of `sklearn.kernel_approximation.Nystroem`, which is
        approximated with ``n_components`` landmarks.
    kernel_params : dict, default=None
        Parameters of the kernel, such as ``{"gamma": 0.1}``.
    n_components : int, default=200
        Number of landmarks; at most the number of training rows is used.
    alpha : float, default=1e-4
        Strength of the L2 penalty, or of the margins with "sum_of_margins", where it
        must not exceed the share of the lowest, nor of the highest grade: the margins
        would have no limit. Choose it close to that where grades overlap: a small one
        makes margins of width 0 the best, for any w, and what is found is then the
        direction along which they came to that.
    solver : BaseSolver or {"lbfgs", "sgd", "adam"}, default=None
        Solver of the minimisation. None means `SmoothingHomotopy`.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_grades - 1,)
        Scores that separate each grade from the next, ascending; with "sum_of_margins"
        the middle of :math:`a_k` and :math:`b_k`.
    margins_ : ndarray of shape (n_grades - 1,)
        Width of the margin between each grade and the next, in units of a direction of
        length 1.

    References
    ----------
    [Liu2011]_, section 2.4.2, eq. 2.12–2.13; [Shashua2003]_; [Chu2005]_, sections 2
    and 3, for the constraints.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import LargeMarginOrdinal
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = LargeMarginOrdinal(strategy="sum_of_margins").fit(X, y, groups)
    >>> bool((ranker.margins_ >= 0).all())
    True
    """

    approach = "pointwise"

    strategy: Literal["fixed_margin", "sum_of_margins"] = "fixed_margin"
    constraints: Literal["explicit", "implicit"] = "implicit"
    kernel: str | Callable = "linear"
    kernel_params: Mapping[str, Any] | None = None
    n_components: PositiveInt = 200

    @classmethod
    def _variants(cls):
        return [
            {},
            {"constraints": "explicit"},
            {"strategy": "sum_of_margins"},
            {"strategy": "sum_of_margins", "constraints": "explicit"},
            {"kernel": "rbf", "n_components": 20},
        ]

    @property
    def _sums(self) -> bool:
        return self.strategy == "sum_of_margins"

    @property
    def _n_between(self) -> int:
        return 2 if self._sums else 1

    def _construction(self) -> Construction:
        return "all" if self.constraints == "implicit" else "immediate"

    def _parts(self) -> tuple[BaseEnergy, BaseLoss]:
        if self.kernel == "linear":
            score: BaseEnergy = LinearEnergy(n_jobs=self.n_jobs)
        else:
            score = KernelEnergy(
                kernel=self.kernel,
                kernel_params=self.kernel_params,
                n_components=self.n_components,
                n_jobs=self.n_jobs,
            )
        loss: BaseLoss = ThresholdLoss(
            construction=self._construction(),
            penalty="hinge",
            grades=self._grades_of_loss(),
        )
        if self._sums:
            loss = SumOfMarginsLoss(
                nu=self.alpha,
                construction=self._construction(),
                grades=self._grades_of_loss(),
            )
        return self._with_thresholds(score), loss

    def _default_solver(self, energy: BaseEnergy) -> BaseSolver:
        return SmoothingHomotopy()

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        if self._sums:
            self._require_bound(data)
        super()._fit(data, validation)

    def _require_bound(self, data) -> None:
        """Raise an error where ever wider margins would lower the objective."""
        y, weight = np.asarray(data.y), data.sample_weight
        ends = [np.average(y == end, weights=weight) for end in (y.min(), y.max())]
        if len(np.unique(y)) > 1 and self.alpha > min(ends):
            raise ValueError(
                f"alpha={self.alpha:g} makes margins without limit better and better: "
                "with strategy='sum_of_margins' it must be at most the share of the "
                f"lowest and of the highest grade in y, {min(ends):.3g}"
            )

    def _store(self, energy, loss, result, monitor) -> None:
        super()._store(energy, loss, result, monitor)
        if self._sums:
            # The constraint on w holds for the solution on its own scale.
            length = np.linalg.norm(self.coef_)
            self.params_ = self.params_ / (length if length > 0 else 1.0)
            self._store_coef(energy)

    @property
    def margins_(self) -> np.ndarray:
        """Width of the margin between each grade and the next."""
        n_margins = len(self.grades_) - 1
        if self._sums:
            return np.diff(self.energy_.thresholds(self.params_))[::2][:n_margins]
        length = np.linalg.norm(self.coef_)
        return np.full(n_margins, 2.0 / length if length > 0 else np.inf)
