"""Energies of a label that compare a vector of its own with that of the document."""

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax

from skrank._core._parameters import Numbers, invalid_parameter
from skrank.energies._base import BaseEnergy, unfitted
from skrank.energies._label_scalar import resolve_labels
from skrank.energies._mlp import MLPEnergy

# How far apart label vectors start, next to outputs of a network of size 1.
_START = 0.5


class _Features(BaseEnergy):
    """The encoder "identity": the features themselves, without parameters."""

    def n_params(self, n_features):
        return 0

    def init_params(self, n_features, rng):
        return np.zeros(0)

    def scores(self, params, X, ptr=None):
        return np.asarray(X, dtype=np.float64)

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        return self.scores(params, X), lambda gradient: np.zeros(0)


class _LabelVectorEnergy(BaseEnergy):
    """Energies c ||f(x) - u_r||^2 with one learned vector per label.

    The parameters are those of the encoder, then the vectors of the labels, as offsets
    from ``origin_``: a penalty pulls them there.

    Parameters
    ----------
    encoder : BaseEnergy or "identity"
        What makes a vector of a document.
    labels : array-like of shape (n_labels,), default=None
        The set R of labels; None takes the distinct training grades.

    Attributes
    ----------
    labels_ : ndarray of shape (n_labels,)
        Labels in ascending order.
    encoder_ : BaseEnergy or "identity"
        The encoder after `setup`.
    """

    non_negative = True
    _factor = 1.0

    encoder: Literal["identity"] | BaseEnergy | None = field(
        default=None, kw_only=False
    )
    labels: Numbers | None = None

    _instead_of_sparse = "X.toarray() or an encoder such as MLPEnergy(n_outputs=8)"

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        network = MLPEnergy((4,), activation="tanh", n_outputs=2)
        single = MLPEnergy((), n_outputs=1)
        return [
            {},
            {"encoder": "identity", "labels": [0, 1, 2, 5]},
            {"encoder": network},
            {"encoder": single},
        ]

    @staticmethod
    def _default_encoder():
        raise NotImplementedError

    def _new_encoder(self) -> Any:
        encoder = self._default_encoder() if self.encoder is None else self.encoder
        if isinstance(encoder, str):
            return _Features()
        if "n_outputs" not in encoder.get_params(deep=False):
            accepted = "'identity' or an energy with a parameter n_outputs"
            raise invalid_parameter(self, "encoder", accepted, encoder)
        return unfitted(encoder)

    @property
    def _encoder(self) -> Any:
        """The encoder: the fitted one after `setup`."""
        fitted = getattr(self, "encoder_", None)
        if fitted is None:
            return self._new_encoder()
        return _Features() if isinstance(fitted, str) else fitted

    @property
    def accepts_sparse(self):
        """Whether ``X`` may be a CSR matrix."""
        return self._encoder.accepts_sparse

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Learn the set of labels, and what the encoder learns.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Passed on to the encoder.
        y : ndarray of shape (n_documents,), default=None
            Training grades.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Where each query starts.

        Returns
        -------
        Self
            The energy itself, with ``labels_``, ``encoder_`` and ``origin_``.

        Raises
        ------
        ValueError
            If a parameter is out of range, if grades are not among ``labels``, or if
            labels are missing or too many.
        TypeError
            If a parameter has a wrong type, or if the encoder has no vector as output.
        """
        super().setup(X, rng, y, ptr)
        encoder = self._new_encoder()
        self.labels_ = resolve_labels(self, y)
        encoder.setup(X, rng, y, ptr)
        if isinstance(encoder, _Features):
            self.encoder_ = "identity"
            self.origin_ = _class_means(X, y, self.labels_)
        else:
            self.encoder_ = encoder
            self.origin_ = np.zeros((len(self.labels_), encoder.n_outputs))
        return self

    def transform(self, X):
        """Return rows as the encoder takes them."""
        return self._encoder.transform(X)

    def n_params(self, n_features: int) -> int:
        """Return the number of parameters: the encoder's and those of label vectors."""
        return self._encoder.n_params(n_features) + self.origin_.size

    def init_params(self, n_features: int, rng):
        """Return random parameters; for "identity" zeros, the means of the classes."""
        offsets = np.zeros(self.origin_.size)
        head = self._encoder.init_params(n_features, rng)
        if len(head):
            offsets = rng.normal(scale=_START, size=self.origin_.size)
        return np.concatenate([head, offsets])

    def penalty_mask(self, n_features: int):
        """Return the encoder's mask, then one for every offset of a label vector."""
        head = self._encoder.penalty_mask(n_features)
        return np.concatenate([head, np.ones(self.origin_.size)])

    def label_vectors(self, params):
        """Return the vectors of the labels.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.

        Returns
        -------
        ndarray of shape (n_labels, n_outputs)
            In ascending order of the labels.
        """
        tail = np.asarray(params)[len(params) - self.origin_.size :]
        return self.origin_ + tail.reshape(self.origin_.shape)

    def embed(self, params, X):
        """Return the vectors of documents.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows, after `transform`.

        Returns
        -------
        ndarray of shape (n_documents, n_outputs)
        """
        head = params[: len(params) - self.origin_.size]
        return self._matrix(self._encoder.scores(head, X))

    def _matrix(self, vectors):
        return vectors.reshape(len(vectors), self.origin_.shape[1])

    def _scores_of(self, Z, U):
        # Differences, not inner products: no digits cancel near a label vector.
        raw = np.empty((len(Z), len(U)))
        for k, u in enumerate(U):
            gap = Z - u
            np.einsum("ij,ij->i", gap, gap, out=raw[:, k])
        raw *= -self._factor
        return raw

    def scores(self, params, X, ptr=None):
        """Return the scores -E(x, r), shape (n_documents, n_labels)."""
        return self._scores_of(self.embed(params, X), self.label_vectors(params))

    def document_scores(self, params, X, ptr=None):
        """Return the expected label under P(r) proportional to exp(-E(x, r))."""
        return softmax(self.scores(params, X), axis=1) @ self.labels_

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores of all labels, and the chain rule through both vectors."""
        n_tail = self.origin_.size
        head = params[: len(params) - n_tail]
        outputs, encoder_vjp = self._encoder.scores_and_vjp(head, X, rng, ptr)
        Z, U = self._matrix(outputs), self.label_vectors(params)

        def vjp(gradient):
            pull = 2.0 * self._factor * gradient
            to_labels = pull.T @ Z - pull.sum(axis=0)[:, None] * U
            to_documents = pull @ U - pull.sum(axis=1)[:, None] * Z
            back = encoder_vjp(to_documents.reshape(outputs.shape))
            return np.concatenate([back, to_labels.ravel()])

        return self._scores_of(Z, U), vjp


class EmbeddingEnergy(_LabelVectorEnergy):
    r"""Distance between the embeddings of a document and of a label.

    .. math:: E(q, d, r) = \tfrac12 \lVert f(x) - g(r) \rVert^2

    with f a network and g(r) one learned vector per label. Documents are ranked by
    their expected label under the Gibbs distribution,
    :math:`\sum_r r \, e^{-E(x, r)} / \sum_r e^{-E(x, r)}`; the minimum over labels is
    low for every document that is close to any label. Train it with a contrastive
    functional such as `NLLLoss` read pointwise: under `EnergyLoss` all vectors collapse
    into one. With ``encoder="identity"`` the label vectors start at the means of the
    training documents of each label; the parameters hold offsets from these, and
    ``alpha`` pulls the vectors back there. With any other encoder it pulls them to 0.

    Complexity: that of the encoder and O(n_documents n_labels n_outputs).

    Parameters
    ----------
    encoder : BaseEnergy or "identity", default=None
        An energy with ``n_outputs`` that makes a vector of a document; "identity" takes
        the features themselves, None means ``MLPEnergy((64,), n_outputs=8)``.

    Attributes
    ----------
    origin_ : ndarray of shape (n_labels, n_outputs)
        What the parameters of the label vectors are offsets from: the means of the
        training documents of each label for ``encoder="identity"``, else zeros.

    References
    ----------
    [Fang2016]_, table 1, row 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import EmbeddingEnergy, MLPEnergy
    >>> X, y = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([0.0, 1.0])
    >>> energy = EmbeddingEnergy(MLPEnergy((), n_outputs=3)).setup(X, y=y)
    >>> params = energy.init_params(2, np.random.RandomState(0))
    >>> energy.scores(params, X).shape, energy.label_vectors(params).shape
    ((2, 2), (2, 3))
    """

    short_name = "embedding"
    _factor = 0.5

    @staticmethod
    def _default_encoder():
        return MLPEnergy((64,), n_outputs=8)


class PrototypeEnergy(_LabelVectorEnergy):
    r"""Squared distance between a document and the prototype of a label.

    .. math:: E(q, d, r) = \sum_k \delta(r - k) \lVert U^k - f(x) \rVert^2
              = \lVert U^r - f(x) \rVert^2

    with one learned prototype :math:`U^r` per label. With the features themselves as
    f, the default, the prototypes start at the means of the training documents of each
    label and ``alpha`` pulls them back there; with `LVQ2Loss` this is learning vector
    quantisation. Features should have comparable scales. Documents are ranked by their
    expected label under the Gibbs distribution, as in `EmbeddingEnergy`; where
    energies differ by hundreds, it rounds to the nearest label and documents tie.

    Complexity: that of the encoder and O(n_documents n_labels n_outputs).

    Parameters
    ----------
    encoder : BaseEnergy or "identity", default=None
        An energy with ``n_outputs`` that makes a vector of a document, such as
        ``MLPEnergy(n_outputs=8)``; "identity" and None take the features themselves.

    Attributes
    ----------
    origin_ : ndarray of shape (n_labels, n_outputs)
        What the parameters of the prototypes are offsets from: the means of the
        training documents of each label for ``encoder="identity"``, else zeros.

    References
    ----------
    [Fang2016]_, table 1, row 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import PrototypeEnergy
    >>> X, y = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([0.0, 1.0])
    >>> energy = PrototypeEnergy().setup(X, y=y)
    >>> (0.0 - energy.scores(np.zeros(4), X)).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """

    short_name = "prototype"

    @staticmethod
    def _default_encoder():
        return "identity"


def _class_means(X, y, labels):
    """Mean row of each label; the mean of all rows for a label without any."""
    X = np.asarray(X, dtype=np.float64)
    means = np.tile(X.mean(axis=0), (len(labels), 1))
    if y is not None:
        for k, label in enumerate(labels):
            rows = np.flatnonzero(y == label)
            if len(rows):
                means[k] = X[rows].mean(axis=0)
    return means
