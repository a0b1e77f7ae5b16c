"""The multi-layer perceptron energy.

Two pieces: `_Network` is the arithmetic of forward and backward passes over one block
of rows; `MLPEnergy` cuts data into blocks, folds the standardisation of features into
the first layer and keeps all parameters in one vector.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import expit

from skrank._core._messages import shown
from skrank._core._one_pass import rectified_outer, rectify
from skrank._core._parameters import Interval, NThreads, PositiveInt
from skrank._core._threads import n_threads_for
from skrank.energies._base import BaseEnergy
from skrank.energies._blocks import in_full_tiles, map_blocks, row_blocks
from skrank.energies._feature_scale import feature_scale

# Values in the widest layer of a block: a block and its gradient stay within the cache.
_BLOCK_VALUES = 1 << 18
# Bytes of hidden layers kept between scores and their vjp; a full batch over more rows
# computes the layers of the remaining blocks a second time.
_TAPE_BYTES = 1 << 28
# Folding the mean into the bias cancels digits where |mean| >> scale; beyond this ratio
# single precision would keep fewer than five of them.
_MAX_OFFSET = 100.0
# [LeCun1998], section 4.4: the scaled tanh is 1 at 1 and -1 at -1.
_TANH_HEIGHT = 1.7159

Activation = Literal["relu", "tanh", "scaled_tanh", "sigmoid", "identity"]
LayerSizes = PositiveInt | Sequence[PositiveInt]
#: Probability with which a hidden unit is left out.
Dropout = Annotated[float, Interval(0, 1, "left")]


class _Activation(NamedTuple):
    apply: Callable  # in place
    slope: Callable  # derivative as a function of the output
    variance: Callable  # of initial weights, given (fan_in, fan_out)
    # What some do in one pass: `apply` after a bias is added, and the outer product of
    # two vectors times the slope.
    apply_shifted: Callable | None = None
    outer_slope: Callable | None = None


def _glorot(fan_in, fan_out):
    return 2.0 / (fan_in + fan_out)


def _scaled_tanh(z):
    z *= 2.0 / 3.0
    np.tanh(z, out=z)
    z *= _TANH_HEIGHT


_ACTIVATIONS = {
    "relu": _Activation(
        lambda z: np.maximum(z, 0, out=z),
        lambda a: a > 0,
        lambda fan_in, fan_out: 2.0 / fan_in,
        rectify,
        rectified_outer,
    ),
    "tanh": _Activation(lambda z: np.tanh(z, out=z), lambda a: 1 - a * a, _glorot),
    # The sigmoid has a quarter of the slope of tanh at 0: weights are 4 times larger.
    "sigmoid": _Activation(
        lambda z: expit(z, out=z),
        lambda a: a * (1 - a),
        lambda fan_in, fan_out: 16.0 * _glorot(fan_in, fan_out),
    ),
    "scaled_tanh": _Activation(
        _scaled_tanh,
        lambda a: (2.0 / 3.0) * (_TANH_HEIGHT - a * a / _TANH_HEIGHT),
        _glorot,
    ),
    "identity": _Activation(lambda z: z, lambda a: 1, _glorot),
}


class NetworkTooLargeError(ValueError):
    """A network does not fit into memory.

    Parameters
    ----------
    sizes : mapping of str to object
        The parameters that make it large, by the names that the user knows.
    n_params : int
        Number of parameters of the network.
    n_features : int
        Number of features.
    """

    def __init__(self, sizes: Mapping[str, Any], n_params: int, n_features: int):
        super().__init__(sizes, n_params, n_features)
        self.sizes, self.n_params, self.n_features = sizes, n_params, n_features

    def __str__(self):
        named = " and ".join(
            f"{name}={shown(size)}" for name, size in self.sizes.items()
        )
        return (
            f"{named} make{'s' if len(self.sizes) == 1 else ''} a network of "
            f"{self.n_params:.3g} parameters for {self.n_features} features, which do "
            "not fit into memory; use fewer units"
        )

    def renamed(self, **sizes: Any) -> "NetworkTooLargeError":
        """Return the error of an object that calls the sizes otherwise."""
        return NetworkTooLargeError(sizes, self.n_params, self.n_features)


def filled_params(n_params: int, value: float, n_features: int, **sizes: Any):
    """Return that many equal numbers, or say which sizes make them too many.

    Parameters
    ----------
    n_params : int
        Number of parameters.
    value : float
        Value of each.
    n_features : int
        Number of features.
    **sizes : object
        The parameters of the energy that make it large.

    Returns
    -------
    ndarray of shape (n_params,)
        The numbers.

    Raises
    ------
    NetworkTooLargeError
        If they do not fit into memory.
    """
    try:
        return np.full(n_params, value)
    except (MemoryError, ValueError):  # the latter beyond what an array can have
        raise NetworkTooLargeError(sizes, n_params, n_features) from None


class MLPEnergy(BaseEnergy):
    r"""Scores of a multi-layer perceptron: the negative energy is a neural network.

    .. math:: -E(q, d) = f(x) = o(w_{L}^T h_{L} + b_{L}), \quad
              h_{l+1} = a(W_l^T h_l + b_l), \quad h_0 = (x - \mu) / \sigma

    Weights start as in [He2015]_, eq. 10, for ``"relu"`` and as in [Glorot2010]_,
    eq. 16, otherwise, biases at 0. The standardisation is folded into the
    first layer, so rows are never copied and CSR rows stay sparse. Single precision
    rows are multiplied in single precision, unless some feature lies further from 0
    than 100 times its spread; parameters, scores and gradients are double precision.

    Complexity: O(n p) per evaluation for p parameters, in blocks of rows. Between
    scores and gradient up to 256 MiB of hidden layers are kept; where a full batch
    needs more, the hidden layers of the remaining blocks are computed again.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64,)
        Units of each hidden layer; an empty sequence makes a linear energy.
    activation : {"relu", "tanh", "scaled_tanh", "sigmoid", "identity"}, default="relu"
        Function of the hidden units; "scaled_tanh" is 1.7159 tanh(2 z / 3).
    output_activation : str, default="identity"
        Function of the output, one of the same.
    n_outputs : int, default=1
        Number of scores of a document; several make a matrix of scores.
    dropout : float, default=0.0
        Probability with which a hidden unit is left out while training; the others are
        divided by ``1 - dropout``, so prediction needs no correction.
    standardize : bool, default=True
        Whether to bring training features to mean 0 and variance 1. Constant features
        are only centred.
    n_jobs : int, default=None
        Number of threads over blocks of rows; None means all CPUs. Results do not
        depend on it.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,) or None
        Means of the training features; None without ``standardize``.
    scale_ : ndarray of shape (n_features,) or None
        Standard deviations of the training features, 1 for constant features.

    References
    ----------
    [Burges2005]_, section 4; [LeCun1998]_, section 4.4, for the scaled tanh;
    [Srivastava2014]_, section 4, and section 10 for the inverted form of dropout.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.energies import MLPEnergy
    >>> energy = MLPEnergy(hidden_layer_sizes=(1,), standardize=False)
    >>> X = np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> energy = energy.setup(X)
    >>> energy.n_params(2)
    5
    >>> energy.scores(np.array([1.0, -1.0, 0.5, 2.0, 0.0]), X)
    array([5., 0.])
    """

    short_name = "mlp"
    accepts_sparse = True

    hidden_layer_sizes: LayerSizes = field(default=(64,), kw_only=False)
    activation: Activation = "relu"
    output_activation: Activation = "identity"
    n_outputs: PositiveInt = 1
    dropout: Dropout = 0.0
    standardize: bool = True
    n_jobs: NThreads = None

    @classmethod
    def _variants(cls) -> list[dict[str, Any]]:
        small = {"hidden_layer_sizes": (5, 3)}
        smooth = ["tanh", "scaled_tanh", "sigmoid", "identity"]
        return [
            {},
            {"hidden_layer_sizes": (), "standardize": False},
            {"hidden_layer_sizes": 4, "n_outputs": 3, "dropout": 0.3},
            *(small | {"activation": a, "output_activation": a} for a in smooth),
        ]

    def setup(self, X, rng=None, y=None, ptr=None) -> Self:
        """Check the parameters and learn the standardisation.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Training rows.
        rng : RandomState, default=None
            Not used.
        y : ndarray of shape (n_documents,), default=None
            Not used.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Not used.

        Returns
        -------
        Self
            The energy itself, with ``mean_`` and ``scale_``.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        TypeError
            If a parameter has a wrong type.
        """
        super().setup(X, rng, y, ptr)
        self.mean_, self.scale_ = feature_scale(X) if self.standardize else (None, None)
        return self

    def _layer_sizes(self, n_features):
        """Units of every layer, from the features to the score."""
        hidden = self.hidden_layer_sizes
        # Without NumPy, which would take longer than some layers of a small batch.
        hidden = (hidden,) if isinstance(hidden, int | np.integer) else hidden
        return (n_features, *map(int, hidden), int(self.n_outputs))

    def n_params(self, n_features: int) -> int:
        """Return the number of parameters: of each layer the weights and the biases."""
        sizes = self._layer_sizes(n_features)
        return sum((a + 1) * b for a, b in pairwise(sizes))

    def init_params(self, n_features: int, rng):
        """Return random weights and zero biases, shape (n_params,)."""
        sizes = self._layer_sizes(n_features)
        params = self._filled_params(n_features, 0.0)
        layers = _views(params, sizes)
        for weight, _ in layers[:-1]:
            variance = _ACTIVATIONS[self.activation].variance(*weight.shape)
            weight[...] = rng.normal(scale=np.sqrt(variance), size=weight.shape)
        weight = layers[-1][0]
        weight[...] = rng.normal(
            scale=np.sqrt(_glorot(*weight.shape)), size=weight.shape
        )
        return params

    def _filled_params(self, n_features, value):
        sizes = {"hidden_layer_sizes": self.hidden_layer_sizes}
        if self.n_outputs > 1:
            sizes["n_outputs"] = self.n_outputs
        return filled_params(self.n_params(n_features), value, n_features, **sizes)

    def penalty_mask(self, n_features: int):
        """Return one for every weight, zero for every bias."""
        mask = self._filled_params(n_features, 1.0)
        for _, bias in _views(mask, self._layer_sizes(n_features)):
            bias[...] = 0.0
        return mask

    def scores(self, params, X, ptr=None):
        """Return scores without dropout, (n_documents,) or (n_documents, n_outputs)."""
        network, X, blocks, run = self._bind(params, X)

        def forward(block):
            rows = in_full_tiles(_rows(X, block, network.dtype))
            return network.forward(rows)[0][: block.stop - block.start]

        return self._concatenate(run(forward, blocks), blocks)

    def _concatenate(self, parts, blocks):
        if len(blocks) == 1:
            (part,) = parts
            return part.astype(np.float64, copy=False)
        n = blocks[-1].stop if blocks else 0
        raw = np.empty(n if self.n_outputs == 1 else (n, self.n_outputs))
        for block, part in zip(blocks, parts, strict=True):
            raw[block] = part
        return raw

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        """Return scores, and the back-propagation of a gradient with respect to them.

        Parameters
        ----------
        params : ndarray of shape (n_params,)
            Parameters.
        X : ndarray or CSR matrix of shape (n_documents, n_features)
            Rows.
        rng : RandomState or Generator, default=None
            Given while training: draws the units that dropout leaves out.
        ptr : ndarray of shape (n_queries + 1,), default=None
            Not used.

        Returns
        -------
        scores : ndarray of shape (n_documents,) or (n_documents, n_outputs)
            Scores.
        vjp : callable
            ``vjp(gradient)`` is the gradient with respect to the parameters.
        """
        network, X, blocks, run = self._bind(params, X)
        noisy = rng is not None and self.dropout > 0
        # A seed per block lets a block that was not kept draw the same units again.
        seeds = [_seed(rng) if noisy else None for _ in blocks]
        n_kept = _TAPE_BYTES // network.tape_bytes(noisy)
        tapes = [None] * len(blocks)

        def forward(i):
            rows = _rows(X, blocks[i], network.dtype)
            out, tape = network.forward(rows, seeds[i])
            tapes[i] = tape if blocks[i].stop <= n_kept else None
            return out

        def backward(i, gradient):
            rows = _rows(X, blocks[i], network.dtype)
            tape = network.forward(rows, seeds[i])[1] if tapes[i] is None else tapes[i]
            return network.backward(rows, tape, raw[blocks[i]], gradient)

        def vjp(gradient):
            pulled = np.zeros(len(params))
            layers = _views(pulled, self._layer_sizes(X.shape[1]))
            parts = [gradient[block] for block in blocks]
            for sums in run(backward, range(len(blocks)), parts):
                for (weight, bias), (weight_part, bias_part) in zip(layers, sums):
                    weight += weight_part
                    bias += bias_part
            self._unfold(*layers[0])
            return pulled

        raw = self._concatenate(run(forward, range(len(blocks))), blocks)
        return raw, vjp

    def _bind(self, params, X):
        """Network of these parameters, rows, their blocks and a map over blocks."""
        X = X.tocsr() if sparse.issparse(X) else X
        sizes = self._layer_sizes(X.shape[1])
        layers = _views(params, sizes)
        layers[0] = self._fold(*layers[0])
        network = _Network(
            layers,
            _ACTIVATIONS[self.activation],
            _ACTIVATIONS[self.output_activation],
            1.0 - self.dropout,
            np.float32 if self._single_precision(X) else np.float64,
        )
        n_block_rows = max(1, _BLOCK_VALUES // max(sizes))
        # About .075 ns for each row and parameter.
        work = 0.075 * X.shape[0] * len(params)
        n_threads = n_threads_for(work, self.n_jobs, python_threads=True)
        run = partial(map_blocks, n_threads=n_threads)
        return network, X, row_blocks(X.shape[0], n_block_rows), run

    def _single_precision(self, X):
        if X.dtype != np.float32:
            return False
        return (
            self.mean_ is None
            or self.scale_ is None
            or not np.any(np.abs(self.mean_) > _MAX_OFFSET * self.scale_)
        )

    def _fold(self, weight, bias):
        """First layer for raw features: W' = W / scale, b' = b - mean W'."""
        if self.mean_ is None or self.scale_ is None:
            return weight, bias
        weight = weight / self.scale_[:, None]
        # Not by BLAS, whose rounding depends on its threads.
        return weight, bias - np.einsum("i,ij->j", self.mean_, weight)

    def _unfold(self, weight_gradient, bias_gradient):
        """Chain rule through `_fold`, in place."""
        if self.mean_ is not None and self.scale_ is not None:
            weight_gradient -= np.multiply.outer(self.mean_, bias_gradient)
            weight_gradient /= self.scale_[:, None]


class _Network:
    """Forward and backward passes over one block of rows.

    Parameters
    ----------
    layers : list of (weight, bias)
        Arrays of shape (n_inputs, n_outputs) and (n_outputs,).
    activation : _Activation
        Function of hidden units.
    output : _Activation
        Function of the output.
    keep : float
        Probability with which a hidden unit stays when a seed is given.
    dtype : type
        float32 or float64, of all matrix products.
    """

    def __init__(self, layers, activation, output, keep, dtype):
        self.layers = [
            (weight.astype(dtype, copy=False), bias.astype(dtype, copy=False))
            for weight, bias in layers
        ]
        self.activation = activation
        self.output = output
        self.keep = keep
        self.dtype = dtype

    def forward(self, rows, seed=None):
        """Return scores, and the output and the units kept of each hidden layer."""
        noise = None if seed is None else np.random.default_rng(seed)
        tape = []
        for weight, bias in self.layers[:-1]:
            rows = rows @ weight
            self._apply(rows, bias)
            kept = None
            if noise is not None:
                kept = noise.random(rows.shape, dtype=np.float32) < self.keep
                rows *= kept
                rows /= self.keep
            tape.append((rows, kept))
        weight, bias = self.layers[-1]
        if len(bias) == 1:
            weight, bias = weight[:, 0], bias[0]
        raw = rows @ weight
        raw += bias
        self.output.apply(raw)
        return raw, tape

    def _apply(self, rows, bias):
        """Outputs of hidden units, in place."""
        if self.activation.apply_shifted is not None:
            self.activation.apply_shifted(rows, bias)
            return
        rows += bias
        self.activation.apply(rows)

    def tape_bytes(self, noisy):
        """Bytes of one row of a tape (at least 1)."""
        n_units = sum(len(bias) for _, bias in self.layers[:-1])
        return max(1, n_units * (np.dtype(self.dtype).itemsize + bool(noisy)))

    def backward(self, rows, tape, raw, gradient):
        """Gradients of weights and biases for a gradient of the block's scores."""
        inputs = [rows, *(hidden for hidden, _ in tape)]
        ones = np.ones(len(gradient), dtype=self.dtype)
        delta = gradient * self.output.slope(raw)
        delta = delta.astype(self.dtype, copy=False).reshape(len(gradient), -1)
        sums = [(inputs[-1].T @ delta, ones @ delta)]
        for i in range(len(tape), 0, -1):
            delta = self._through_layer(delta, self.layers[i][0], *tape[i - 1])
            sums.append((inputs[i - 1].T @ delta, ones @ delta))
        return sums[::-1]

    def _through_layer(self, delta, weight, hidden, kept):
        """Gradient of the inputs of hidden units, from that of the next layer's."""
        outer = self.activation.outer_slope
        if weight.shape[1] > 1:
            delta = delta @ weight.T
        elif outer is not None and kept is None:
            return outer(delta[:, 0], weight[:, 0], hidden)
        else:  # element by element, which takes BLAS longer, and a broadcast, too
            delta = np.einsum("i,j->ij", delta[:, 0], weight[:, 0])
        if kept is None:
            delta *= self.activation.slope(hidden)
            return delta
        # Units left out have no gradient, the others had the output hidden * keep.
        delta *= self.activation.slope(hidden * self.dtype(self.keep))
        delta *= kept
        delta /= self.keep
        return delta


def _views(vector, sizes):
    """(weight, bias) of each layer as views of a flat vector."""
    layers = []
    end = 0
    for n_in, n_out in pairwise(sizes):
        start, middle = end, end + n_in * n_out
        end = middle + n_out
        layers.append((vector[start:middle].reshape(n_in, n_out), vector[middle:end]))
    return layers


def _rows(X, block, dtype):
    whole = block.stop - block.start == X.shape[0]
    return (X if whole else X[block]).astype(dtype, copy=False)


def _seed(rng):
    # `bytes` is what RandomState and Generator have in common.
    return np.frombuffer(rng.bytes(16), dtype="<u4")
