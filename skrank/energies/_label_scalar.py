"""Energies of a label that compare it with one score of the document."""

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np

from skrank._core._grades import MAX_GRADES, distinct_grades
from skrank._core._learned import not_learned
from skrank._core._parameters import Numbers, invalid_parameter
from skrank.energies._base import BaseEnergy, unfitted
from skrank.energies._kernel import KernelEnergy
from skrank.energies._linear import LinearEnergy
from skrank.energies._mlp import MLPEnergy

# One energy per document and label: labels are few, or memory grows without need.
_DEFAULT_BASE = LinearEnergy(fit_intercept=True)


class ScalarLabelEnergy(BaseEnergy):
    """Base class of energies E(f(x), r) of a score f and a label r.

    Everything about f is left to the base energy. Subclasses implement `_scores_of`.

    Parameters
    ----------
    base : BaseEnergy, default=None
        Energy with one score f per document, such as a network; None means
        ``LinearEnergy(fit_intercept=True)``.
    labels : array-like of shape (n_labels,), default=None
        The set R of labels; None takes the distinct training grades.

    Attributes
    ----------
    labels_ : ndarray of shape (n_labels,)
        Labels in ascending order.
    base_ : BaseEnergy
        The base energy after `setup`.
    """

    base: BaseEnergy | None = field(default=None, kw_only=False)
    labels: Numbers | None = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        bases = [MLPEnergy((3,), activation="tanh"), KernelEnergy(n_components=9)]
        return [{}, {"labels": [0, 1, 2, 5]}, *({"base": base} for base in bases)]

    @property
    def _base(self) -> Any:
        """The base energy: the fitted one after `setup`."""
        fitted = getattr(self, "base_", self.base)
        return _DEFAULT_BASE if fitted is None else fitted

    @property
    def accepts_sparse(self):
        """Whether ``X`` may be a CSR matrix."""
        return self._base.accepts_sparse

    @property
    def linear(self):
        """Whether f is linear in the parameters."""
        return self._base.linear

    @property
    def needs_groups(self):
        """Whether f depends on the other documents of the query."""
        return self._base.needs_groups

    @property
    def constrained(self):
        """Whether the parameters of f must stay in a set."""
        return self._base.constrained

    @property
    def fit_intercept(self):
        """Whether a linear f has a constant."""
        return self._base.fit_intercept

    def coefficients(self, params) -> tuple[np.ndarray, float]:
        """Return the coefficients of a linear f, and its constant."""
        return self._base.coefficients(params)

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Learn the set of labels, and what the base energy learns.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Passed on to the base energy.
        y : ndarray of shape (n_documents,), default=None
            Training grades.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts.

        Returns
        -------
        Self
            The energy itself, with ``labels_`` and ``base_``.

        Raises
        ------
        ValueError
            If a parameter is out of range, if grades are not among ``labels``, or if
            labels are missing or too many.
        TypeError
            If a parameter has a wrong type, or if the base energy depends on labels or
            has several scores per document.
        """
        super().setup(X, rng, y, ptr)
        base = unfitted(_DEFAULT_BASE if self.base is None else self.base)
        if hasattr(base, "labels") or base.n_outputs != 1:
            raise invalid_parameter(
                self, "base", "an energy with one score per document", base
            )
        self.labels_ = resolve_labels(self, y)
        self.base_ = base.setup(X, rng, y, ptr)
        return self

    def transform(self, X):
        """Return rows as the base energy takes them."""
        return self._base.transform(X)

    def n_params(self, n_features: int) -> int:
        """Return the length of the parameter vector: that of the base energy."""
        return self._base.n_params(n_features)

    def init_params(self, n_features: int, rng):
        """Return parameters of the base energy to start from."""
        return self._base.init_params(n_features, rng)

    def penalty_mask(self, n_features: int):
        """Return ones for what the L2 penalty shrinks, else zeros."""
        return self._base.penalty_mask(n_features)

    def constraint(self, n_features: int):
        """Return the set that parameters of the base energy must stay in, or None."""
        return self._base.constraint(n_features)

    def coordinates(self, X, alpha: float = 0.0, ptr=None):
        """Return the coordinates of the base energy; see `BaseEnergy.coordinates`.

        A constant added to the scores of a query changes the energies of labels, so
        ``ptr`` is not passed on.
        """
        return self._base.coordinates(X, alpha)

    def _scores_of(self, f):
        """Scores −E(f, r) and their slopes in f, both (n_documents, n_labels)."""
        raise NotImplementedError

    def _gaps(self, f):
        """Differences r - f(x), shape (n_documents, n_labels)."""
        if self.labels_ is None:
            raise not_learned(self, "labels_")
        return self.labels_ - f[:, None]

    def scores(self, params, X, ptr=None):
        """Return the scores -E(x, r), shape (n_documents, n_labels)."""
        return self._scores_of(self._base.scores(params, X, ptr))[0]

    def document_scores(self, params, X, ptr=None):
        """Return scores f(x), by which documents are ranked, shape (n_documents,)."""
        return self._base.document_scores(params, X, ptr)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores of all labels, and the chain rule back through f."""
        f, vjp = self._base.scores_and_vjp(params, X, rng, ptr)
        raw, slopes = self._scores_of(f)

        def through_f(gradient):
            return vjp(np.einsum("ij,ij->i", gradient, slopes))

        return raw, through_f


class SquaredLabelEnergy(ScalarLabelEnergy):
    r"""Squared distance between score and label.

    .. math:: E(q, d, r) = \tfrac12 (f(x) - r)^2

    With `EnergyLoss` read pointwise this is ridge regression. The minimum over labels
    is near 0 for every document, relevant or not, and says nothing about the order:
    documents are ranked by their most compatible label and then by f, which is the same
    as by f, since the nearest label never falls as f grows.

    Complexity: that of the base energy and O(n_documents n_labels).

    References
    ----------
    [Fang2016]_, table 1, row 1; eq. 8, there without the factor 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import LinearEnergy, SquaredLabelEnergy
    >>> X = np.array([[0.0], [1.5]])
    >>> energy = SquaredLabelEnergy(LinearEnergy()).setup(X, y=np.array([0.0, 1.0]))
    >>> (0.0 - energy.scores(np.array([2.0]), X)).tolist()
    [[0.0, 0.5], [4.5, 2.0]]
    """

    short_name = "squared_label"
    non_negative = True

    def _scores_of(self, f):
        gap = self._gaps(f)
        return -0.5 * gap * gap, gap


class AbsoluteLabelEnergy(ScalarLabelEnergy):
    r"""Absolute distance between score and label.

    .. math:: E(q, d, r) = |f(x) - r|

    The minimum over labels is near 0 for every document, relevant or not, and says
    nothing about the order: documents are ranked by their most compatible label and
    then by f, which is the same as by f, since the nearest label never falls as f
    grows.

    Complexity: that of the base energy and O(n_documents n_labels).

    References
    ----------
    [Fang2016]_, table 1, row 2; section 5.1, eq. 27.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import AbsoluteLabelEnergy, LinearEnergy
    >>> X = np.array([[0.0], [1.5]])
    >>> energy = AbsoluteLabelEnergy(LinearEnergy()).setup(X, y=np.array([0.0, 1.0]))
    >>> (0.0 - energy.scores(np.array([2.0]), X)).tolist()
    [[0.0, 1.0], [3.0, 2.0]]
    """

    short_name = "absolute_label"
    non_negative = True

    def _scores_of(self, f):
        gap = self._gaps(f)
        return -np.abs(gap), np.sign(gap)


class ProductLabelEnergy(ScalarLabelEnergy):
    r"""Product of score and label.

    .. math:: E(q, d, r) = -c(r) \, f(x)

    where c(r) is the number that stands for the label. The paper has labels −1 and 1,
    grades are 0 or more, so by default labels are centred, :math:`c(r) = (2 r -
    r_{min} - r_{max}) / (r_{max} - r_{min})`: grades 0 and 1 become −1 and 1, and
    grades 0, 1, 2 become −1, 0, 1. Differences between the energies of two labels, all
    that functionals of a margin see, depend on the spacing of c(r) alone.

    The minimum over labels is :math:`-|f|` for centred labels, low for documents that
    are clearly relevant and clearly irrelevant alike, and :math:`\min(0, -r_{max} f)`
    for raw grades, where all irrelevant documents tie at 0. So documents are ranked
    by f.

    Complexity: that of the base energy and O(n_documents n_labels).

    Parameters
    ----------
    codes : {"centred", "grades"} or array-like of shape (n_labels,), default="centred"
        The numbers c(r): centred on [−1, 1], the labels themselves, or one number for
        each label in ascending order of the labels.

    Attributes
    ----------
    codes_ : ndarray of shape (n_labels,)
        The number c(r) of each label.

    References
    ----------
    [Fang2016]_, table 1, row 3; section 4.1, eq. 5–7.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import LinearEnergy, ProductLabelEnergy
    >>> X = np.array([[1.0], [1.5]])
    >>> energy = ProductLabelEnergy(LinearEnergy()).setup(X, y=np.array([0.0, 1.0]))
    >>> energy.codes_.tolist()
    [-1.0, 1.0]
    >>> (0.0 - energy.scores(np.array([2.0]), X)).tolist()
    [[2.0, -2.0], [3.0, -3.0]]
    """

    short_name = "product_label"

    codes: Literal["centred", "grades"] | Numbers = "centred"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        given = {"codes": [-1.0, 0.5, 2.0], "labels": [0, 1, 2]}
        return [*super()._variants(), {"codes": "grades"}, given]

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Learn labels and codes; see `ScalarLabelEnergy.setup`."""
        super().setup(X, rng, y, ptr)
        self.codes_ = self._resolve_codes()
        return self

    def _resolve_codes(self):
        labels = self.labels_
        if isinstance(self.codes, str):
            if self.codes == "grades":
                return labels.copy()
            low, high = labels[0], labels[-1]
            if high == low:  # a single label, whose score is f
                return np.ones(1)
            return (2 * labels - low - high) / (high - low)
        given = np.array(self.codes, dtype=np.float64)
        if given.shape != labels.shape or not np.all(np.isfinite(given)):
            accepted = f"one finite number for each of the labels {labels.tolist()}"
            raise invalid_parameter(self, "codes", accepted, self.codes)
        return given

    def _scores_of(self, f):
        slopes = np.broadcast_to(self.codes_, (len(f), len(self.codes_)))
        return f[:, None] * self.codes_, slopes


def resolve_labels(energy, y):
    """Return labels in ascending order, given or those of the training grades.

    Parameters
    ----------
    energy : BaseEnergy
        The energy that has the parameter ``labels``.
    y : ndarray of shape (n_documents,) or None
        Training grades.

    Returns
    -------
    ndarray of shape (n_labels,)

    Raises
    ------
    ValueError
        If labels are not distinct finite numbers, leave out a grade, or are too many.
    """
    labels = energy.labels
    if labels is None:
        if y is None:
            name = type(energy).__name__
            raise ValueError(f"{name}: setup needs the grades y where labels is None")
        return distinct_grades(y, "because the energy is computed for each of them")
    resolved = np.sort(np.asarray(labels, dtype=np.float64))
    distinct = resolved.ndim == 1 and np.all(np.diff(resolved) > 0)
    if not len(resolved) or not distinct or not np.all(np.isfinite(resolved)):
        raise invalid_parameter(energy, "labels", "distinct finite numbers", labels)
    if len(resolved) > MAX_GRADES:
        raise ValueError(
            f"there are {len(resolved)} distinct labels, but an energy that depends on "
            f"the label takes at most {MAX_GRADES}; bin the grades, or use an energy "
            "without labels"
        )
    unknown = np.setdiff1d([] if y is None else y, resolved)
    if len(unknown):
        raise ValueError(
            f"labels must contain every training grade; {resolved.tolist()} lacks "
            f"{unknown[0]:g}"
        )
    return resolved
