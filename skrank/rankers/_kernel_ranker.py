"""Rankers whose scores are linear in the features or in those of a kernel."""

from collections.abc import Callable
from typing import Any

from skrank._core._parameters import PositiveInt
from skrank.energies import BaseEnergy, KernelEnergy, LinearEnergy
from skrank.rankers._energy_ranker import BaseEnergyRanker


class BaseKernelRanker(BaseEnergyRanker):
    """Base class of rankers with linear or kernel scores.

    Parameters
    ----------
    kernel : str or callable, default="linear"
        "linear", or any kernel of `sklearn.kernel_approximation.Nystroem`.
    kernel_params : dict, default=None
        Parameters of the kernel, such as ``{"gamma": 0.1}``.
    n_components : int or None, default=200
        Number of training rows that are drawn as landmarks of the kernel, by which it
        is approximated. None takes all n rows, which makes a kernel exact that is
        positive semidefinite, and costs O(n³) once and O(n²) memory and time per
        evaluation: some thousands of rows are the limit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_components,)
        Coefficients of the features of X for ``kernel="linear"``, and of the features
        of the kernel otherwise.
    """

    kernel: str | Callable = "linear"
    kernel_params: dict[str, Any] | None = None
    n_components: PositiveInt | None = 200

    def _energy(self) -> BaseEnergy:
        """Return linear scores, or those of a kernel."""
        if self.kernel == "linear":
            return LinearEnergy(n_jobs=self.n_jobs)
        return KernelEnergy(
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            n_jobs=self.n_jobs,
        )
