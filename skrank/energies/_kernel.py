"""Scores in the feature space of a kernel."""

import numpy as np
from sklearn.kernel_approximation import Nystroem

from skrank.energies._linear import LinearEnergy

_NYSTROEM_NAMES = ("gamma", "coef0", "degree")


class KernelEnergy(LinearEnergy):
    r"""Scores that are linear in the features of a kernel.

    .. math:: -E(q, d) = f(x) = w^T \Phi(x), \qquad
              \Phi(x) = K_{LL}^{-1/2} \bigl(k(x, l_1), \ldots, k(x, l_c)\bigr)^T

    with ``c`` landmarks ``l`` drawn from the training rows (Nyström's method), so that
    :math:`\Phi(x)^T \Phi(x') \approx k(x, x')`. Computing the features costs
    O(n c (d + c)) once per training set, and O(n c) memory.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Any kernel of `sklearn.kernel_approximation.Nystroem`.
    kernel_params : dict, default=None
        Parameters of the kernel, such as ``{"gamma": 0.1}``.
    n_components : int, default=200
        Number of landmarks; at most the number of training rows is used.
    fit_intercept : bool, default=False
        Whether to learn a constant.
    n_jobs : int, default=None
        Number of threads; None means all CPUs.

    References
    ----------
    Williams & Seeger (2001); Kuo, Lee & Lin (2014) for kernel ranking SVM.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import KernelEnergy
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> energy = KernelEnergy(n_components=20).setup(X, np.random.RandomState(0))
    >>> energy.scores(np.ones(20), energy.transform(X)).shape
    (50,)
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params: dict | None = None,
        n_components: int = 200,
        fit_intercept: bool = False,
        n_jobs: int | None = None,
    ):
        super().__init__(fit_intercept=fit_intercept, n_jobs=n_jobs)
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_components = n_components

    def setup(self, X, rng=None, y=None, ptr=None):
        """Draw the landmarks and whiten their kernel matrix."""
        other = dict(self.kernel_params or {})
        known = {name: other.pop(name) for name in _NYSTROEM_NAMES if name in other}
        self.map_ = Nystroem(
            kernel=self.kernel,
            kernel_params=other or None,
            n_components=min(self.n_components, X.shape[0]),
            random_state=rng,
            **known,
        ).fit(X)
        return self

    def transform(self, X):
        """Features of the kernel, shape (n_documents, n_components)."""
        return np.ascontiguousarray(self.map_.transform(X))
