"""Scores in the feature space of a kernel."""

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils import check_random_state

from skrank._core._finite import NotFiniteError, quiet, unsafe_range
from skrank._core._in_steps import answering_signals
from skrank._core._inner import parameters_of
from skrank._core._messages import shown, words_of
from skrank._core._parameters import PositiveInt, invalid_parameter
from skrank._core._threads import blas_threads, n_threads_for, others_after_fork
from skrank.energies._blocks import in_full_tiles, map_blocks, row_blocks
from skrank.energies._linear import LinearEnergy


def _unknown(kernel, names) -> tuple[list[str], list[str]]:
    """Return the names that a kernel does not take, and those that it takes."""
    if isinstance(kernel, str):
        taken = list(KERNEL_PARAMS[kernel])
    else:
        parameters = parameters_of(kernel).values()
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
        if open_ended or not parameters:  # compiled functions may hide their signature
            return [], []
        taken = [p.name for p in parameters][2:]  # after the two rows
    return [name for name in names if name not in taken], sorted(taken)


# Kernel values of a block of rows, which takes some hundredths of a second.
_BLOCK_VALUES = 1 << 20


# Directions in which the kernel is less are rounding errors; that of scikit-learn.
_LEAST = 1e-12

# Kernels of scikit-learn for features that are not negative.
_OF_HISTOGRAMS = ("chi2", "additive_chi2")


@quiet()  # rows may be huge; what comes of them is checked
def _kernel_values(nystroem: Any, X, landmarks=None, function=None) -> np.ndarray:
    """Return the kernel of a map between rows and landmarks, or among the rows."""
    parameters = nystroem._get_kernel_params()
    kernel = nystroem.kernel if function is None else function
    return pairwise_kernels(
        X, landmarks, metric=kernel, filter_params=True, **parameters
    )


@quiet()
def _whitening_of(values: np.ndarray) -> np.ndarray:
    """Return the matrix that makes features of the values of a kernel."""
    left, singular, right = np.linalg.svd(values)
    return (left / np.sqrt(np.maximum(singular, _LEAST))) @ right


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
    n_components : int or None, default=200
        Number of landmarks; at most the number of training rows is used. None takes
        all of them, which makes a kernel exact that is positive semidefinite, and costs
        O(n³) once.

    Attributes
    ----------
    map_ : sklearn.kernel_approximation.Nystroem
        The map to the features of the kernel, after `setup`.

    References
    ----------
    [Williams2001]_, section 3; [Kuo2014]_ for ranking with kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import KernelEnergy
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> energy = KernelEnergy(n_components=20).setup(X, np.random.RandomState(0))
    >>> energy.scores(np.ones(20), energy.transform(X)).shape
    (50,)
    """

    short_name = "kernel"

    kernel: str | Callable = "rbf"
    kernel_params: Mapping[str, Any] | None = None
    n_components: PositiveInt | None = 200

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        few = {"n_components": 12}
        return [
            few,
            few | {"kernel": "poly", "kernel_params": {"degree": 2, "coef0": 1.0}},
            few | {"kernel": "laplacian", "fit_intercept": True},
            {"n_components": None},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if isinstance(self.kernel, str) and self.kernel not in KERNEL_PARAMS:
            known = ", ".join(map(repr, sorted(KERNEL_PARAMS)))
            raise invalid_parameter(
                self, "kernel", f"one of {known} or a function", self.kernel
            )
        unknown, taken = _unknown(self.kernel, self.kernel_params or ())
        if unknown:
            names = ", ".join(taken) or "nothing"
            words = f"a mapping of what kernel={shown(self.kernel)} takes, {names}"
            raise invalid_parameter(self, "kernel_params", words, self.kernel_params)

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Draw the landmarks and whiten their kernel matrix; see `BaseEnergy.setup`.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if values of the kernel are not finite.
        TypeError
            If a parameter has a wrong type.
        """
        super().setup(X, rng, y, ptr)
        if not isinstance(rng, np.random.RandomState | int | np.integer | None):
            raise TypeError(f"rng must be a RandomState, got {shown(rng)}")
        other = dict(self.kernel_params or {})
        known = {}
        if isinstance(self.kernel, str):
            known = {name: other.pop(name) for name in tuple(other)}
        nystroem = Nystroem(
            kernel=self.kernel,  # pyright: ignore[reportArgumentType] # also callables
            kernel_params=other or None,
            n_components=min(self.n_components or X.shape[0], X.shape[0]),
            random_state=rng,
            **known,
        )
        self._check_histograms(X)
        rows = self._writeable(X)
        # The factorisation of BLAS rounds as the number of its threads has it.
        with others_after_fork(), blas_threads(1):
            finite = self._fit_map(nystroem, rows)
        if not finite:
            raise self._not_finite(X)
        return self

    def _fit_map(self, nystroem: Nystroem, X) -> bool:
        """Fit the map as scikit-learn does, and return whether all of it is finite.

        LAPACK, which factorises the matrix of the kernel among landmarks, would write
        to the terminal of numbers that are not finite. It takes half a minute for 3,000
        landmarks, in which signals are answered.
        """
        nystroem._validate_params()
        order = check_random_state(nystroem.random_state).permutation(X.shape[0])
        own = order[: nystroem.n_components]
        landmarks = X[own]
        if callable(self.kernel):
            values = self._values(nystroem, landmarks)
        else:
            values = answering_signals(_kernel_values, nystroem, landmarks)
        if not np.isfinite(values).all():
            return False
        nystroem.components_, nystroem.component_indices_ = landmarks, own
        try:
            nystroem.normalization_ = answering_signals(_whitening_of, values)
        except np.linalg.LinAlgError:
            return False
        nystroem.n_features_in_, nystroem._n_features_out = X.shape[1], len(own)
        self.map_ = nystroem
        return bool(np.isfinite(nystroem.normalization_).all())

    def _values(self, nystroem: Nystroem, X, landmarks=None) -> np.ndarray:
        """Return values of the kernel; name a function of the user's that fails."""
        if not callable(self.kernel):
            return _kernel_values(nystroem, X, landmarks)
        try:
            return _kernel_values(nystroem, X, landmarks, self._checked_kernel(X))
        except NotFiniteError:
            raise
        except (TypeError, ValueError, OverflowError, StopIteration) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"{type(self).__name__}: the function kernel, which is called with two "
                f"rows and must return a number, failed: {words_of(error)}"
            ) from error

    def _checked_kernel(self, X) -> Callable:
        """Return the function of the user, each value of which is checked."""
        kernel: Any = self.kernel

        @wraps(kernel)
        def checked(*rows, **parameters):
            value = kernel(*rows, **parameters)
            # There is a call for each pair of rows: floats are checked in little time.
            if isinstance(value, float):
                finite = math.isfinite(value)
            elif np.asarray(value).dtype.kind in "biuf":
                finite = np.isfinite(value).all()
            else:  # numbers with a part that NumPy would leave out, durations and such
                raise TypeError(f"it returned {shown(value)}")
            if not finite:
                raise self._not_finite(X)
            return value

        return checked

    def _not_finite(self, X) -> NotFiniteError:
        why = unsafe_range("X", X) or "scale the features, or change kernel_params"
        return NotFiniteError(
            f"kernel={shown(self.kernel)} is not finite between some rows: {why}"
        )

    def _check_histograms(self, X) -> None:
        """Refuse negative numbers, and sparse rows, of kernels between histograms."""
        if not self._compares_histograms:
            return
        if sparse.issparse(X):
            raise TypeError(
                f"X: kernel={self.kernel!r} takes no sparse rows, got {shown(X)}; pass "
                "X.toarray(), or choose another kernel"
            )
        negative = np.flatnonzero((X < 0).any(axis=1))
        if len(negative):
            row = int(negative[0])
            raise ValueError(
                f"X: kernel={self.kernel!r} compares histograms, which hold numbers "
                f">= 0, got {X[row].min():.3g} in row {row}; scale the features to "
                "such a range, or choose another kernel"
            )

    @property
    def _compares_histograms(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel in _OF_HISTOGRAMS

    def _writeable(self, X):
        """Return rows as compiled kernels of scikit-learn ask for them."""
        if not self._compares_histograms or X.flags.writeable:
            return X
        return X.copy()

    def transform(self, X):
        """Return features of the kernel, shape (n_documents, n_components)."""
        self._check_histograms(X)
        n, n_landmarks = X.shape[0], self.map_.components_.shape[0]
        blocks = row_blocks(n, max(1, _BLOCK_VALUES // n_landmarks))
        # About .1 ns for each product, and 5 ns for each kernel value.
        work = n * n_landmarks * (0.1 * (X.shape[1] + n_landmarks) + 5.0)
        n_threads = n_threads_for(work, self.n_jobs, python_threads=True)

        # The map magnifies rounding up to a million times. Functions of the user are
        # called for no other rows than those there are.
        filled = (lambda part: part) if callable(self.kernel) else in_full_tiles
        landmarks = filled(self.map_.components_)
        whitening = in_full_tiles(self.map_.normalization_).T

        def features(block):
            rows = self._writeable(X[block])
            with quiet():
                values = self._values(self.map_, filled(rows), landmarks)
                mapped = in_full_tiles(values[:, :n_landmarks]) @ whitening
            return mapped[: rows.shape[0], :n_landmarks]

        if callable(self.kernel):  # nobody said that it may run on several threads
            parts = (features(block) for block in blocks)
        else:
            parts = map_blocks(features, blocks, n_threads=n_threads)
        out = np.empty((0, n_landmarks))
        with others_after_fork():
            for block, part in zip(blocks, parts, strict=True):
                if len(out) < n:
                    out = np.empty((n, n_landmarks), dtype=part.dtype)
                out[block] = part
        return out
