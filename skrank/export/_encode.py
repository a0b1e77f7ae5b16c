"""From objects to JSON values and named arrays.

JSON has fewer types than Python. A value without a counterpart in JSON becomes an
object with the key ``"type"``. The forms are:

====================  =====================================================
type                  other keys
====================  =====================================================
``float``             ``value``: "nan", "inf" or "-inf"
``bytes``             ``hex``
``tuple``, ``set``    ``items``
``frozenset``         ``items``
``dict``              ``items``: list of [key, value]
``slice``             ``items``: start, stop, step
``array``             ``member``: name of a .npy member of the file; ``strides``,
                      counted in elements, of floats that lie in memory in
                      another way than they are read from the member
``object_array``      ``shape``, ``items``
``scalar``            ``member``: a .npy member of shape ()
``dtype``             ``value``, as in the .npy format
``numpy_type``        ``value``, such as "float64"
``sparse``            ``format``, ``array``, ``shape``, data, indices, indptr
``random_state``      ``legacy``, ``state``
``requests``          ``items``: method -> parameter -> request
``estimator``         ``class``, ``params``, ``state``
====================  =====================================================
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skrank._core._messages import shown
from skrank._core._parameters import Parameters
from skrank.export._allowed import name_of_class
from skrank.export._state_names import check_state_name
from skrank.losses import BaseLoss

REQUESTS = "_metadata_request"
_ARRAY_KINDS = "biufSUmM"
_SPARSE = {
    sparse.csr_matrix: ("csr", False),
    sparse.csr_array: ("csr", True),
    sparse.csc_matrix: ("csc", False),
    sparse.csc_array: ("csc", True),
}


class UnsavableError(TypeError):
    """Error about a value without a safe form, which no advice goes with yet."""


class Encoder:
    """Turns an estimator into a JSON value; arrays are collected beside it.

    Attributes
    ----------
    arrays : dict of str to ndarray
        Arrays by the name of their member.
    """

    def __init__(self):
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON value of an object.

        Parameters
        ----------
        value : object
            Object to encode.
        where : str
            Path from the model to the object, for error messages.

        Returns
        -------
        object
            Value made of dict, list, str, int, float, bool and None.

        Raises
        ------
        TypeError
            If a part of the object has no safe form.
        """
        encode = _ENCODERS.get(type(value))
        if encode is not None:
            return encode(self, value, where)
        if isinstance(value, np.generic):
            return {"type": "scalar", "member": self._put(np.asarray(value), where)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"type": "numpy_type", "value": value.__name__}
        if isinstance(value, np.dtype):
            return {"type": "dtype", "value": _dtype_name(value, where)}
        if isinstance(value, BaseEstimator):
            return self.estimator(value, where)
        raise UnsavableError(f"{where} cannot be saved: {_why(value)}")

    def estimator(self, estimator: BaseEstimator, where: str) -> dict[str, Any]:
        """Return the JSON value of an estimator.

        Parameters
        ----------
        estimator : BaseEstimator
            Object of an allowed class.
        where : str
            Path from the model to the estimator, for error messages.

        Returns
        -------
        dict
            Class, parameters and other attributes.

        Raises
        ------
        TypeError
            If the class is not allowed, or an attribute has no safe form.
        ValueError
            If a parameter is not accepted, as after `set_params`, or two features have
            one name.
        """
        # The exact class counts: a subclass of the user has code that no file can hold.
        name = name_of_class(type(estimator))
        if name is None:
            raise UnsavableError(f"{where} cannot be saved: {_why(estimator)}")
        params = estimator.get_params(deep=False)
        state = _state(estimator, params)
        requests = state.pop(REQUESTS, None)
        _check_state_names(type(estimator), state, where)
        encoded = {
            "type": "estimator",
            "class": name,
            "params": self._params(estimator, params, where),
            "state": self._attributes(_with_savable_loss(estimator, state), where),
        }
        if requests is not None:
            encoded["requests"] = _requests(requests, where)
        # As loading will, when it is too late.
        if isinstance(estimator, Parameters):
            estimator._check_parameters()
        _refuse_equal_names(state, where)
        return encoded

    def _params(self, estimator, params, where):
        """Encode parameters; say what to set one to that has no safe form."""
        encoded = {}
        for name, value in params.items():
            try:
                encoded[name] = self.encode(value, f"{where}.{name}")
            except UnsavableError as error:
                advice = _advice(estimator, name)
                if advice is None:  # the estimator around this one may have some
                    raise
                raise TypeError(f"{error}; {advice}") from None
        return encoded

    def _attributes(self, values, where):
        return {k: self.encode(v, f"{where}.{k}") for k, v in values.items()}

    def _put(self, array, where):
        if array.dtype.kind not in _ARRAY_KINDS:
            raise TypeError(f"{where} cannot be saved: it has dtype {array.dtype}")
        name = f"arrays/{len(self.arrays)}.npy"
        self.arrays[name] = array
        return name

    def _same(self, value, where):
        return value

    def _float(self, value, where):
        # Python writes JSON numbers with as many digits as identify the float, so only
        # those that JSON does not know need a form of their own.
        return value if math.isfinite(value) else {"type": "float", "value": str(value)}

    def _bytes(self, value, where):
        return {"type": "bytes", "hex": value.hex()}

    def _list(self, value, where):
        return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]

    def _items(self, value, where):
        kind = type(value).__name__
        if isinstance(value, (set, frozenset)):
            # The order of a set of strings differs from process to process.
            value = sorted(value, key=repr)
        return {"type": kind, "items": self._list(value, where)}

    def _dict(self, value, where):
        items = [
            [self.encode(k, f"{where} key"), self.encode(v, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return {"type": "dict", "items": items}

    def _slice(self, value, where):
        items = [value.start, value.stop, value.step]
        return {"type": "slice", "items": self._list(items, where)}

    def _array(self, value, where):
        if value.dtype != object:
            array = np.asarray(value)
            encoded = {"type": "array", "member": self._put(array, where)}
            strides = _own_strides(array)
            return encoded if strides is None else {**encoded, "strides": strides}
        items = self._list(value.ravel().tolist(), where)
        return {"type": "object_array", "shape": list(value.shape), "items": items}

    def _sparse(self, value, where):
        kind, is_array = _SPARSE[type(value)]
        parts = {
            name: self._put(getattr(value, name), where)
            for name in ("data", "indices", "indptr")
        }
        shape = [int(n) for n in value.shape]
        return {
            "type": "sparse",
            "format": kind,
            "array": is_array,
            "shape": shape,
            **parts,
        }

    def _random_state(self, value, where):
        state = value.get_state(legacy=False)
        return self._generator_state(state, True, where)

    def _generator(self, value, where):
        return self._generator_state(value.bit_generator.state, False, where)

    def _generator_state(self, state, legacy, where):
        state = self.encode(state, where)
        return {"type": "random_state", "legacy": legacy, "state": state}


_ENCODERS: dict[type, Callable] = {
    type(None): Encoder._same,
    bool: Encoder._same,
    int: Encoder._same,
    str: Encoder._same,
    float: Encoder._float,
    bytes: Encoder._bytes,
    list: Encoder._list,
    tuple: Encoder._items,
    set: Encoder._items,
    frozenset: Encoder._items,
    dict: Encoder._dict,
    slice: Encoder._slice,
    np.ndarray: Encoder._array,
    np.memmap: Encoder._array,
    np.random.RandomState: Encoder._random_state,
    np.random.Generator: Encoder._generator,
    **dict.fromkeys(_SPARSE, Encoder._sparse),
}


def _own_strides(array: np.ndarray) -> list[int] | None:
    """Return strides in elements, or None if those are what the .npy format keeps.

    Products of matrices are summed in an order that depends on the strides: on their
    own order, their signs, and whether there are gaps. The width of gaps has no effect,
    and they are made as narrow as can be.
    """
    flags, size = array.flags, array.itemsize
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    if (
        array.dtype.kind != "f"
        or not array.size
        or any(stride % size for stride in array.strides)
        or array.strides == np.empty(array.shape, array.dtype, order).strides
    ):
        return None
    strides = [0] * array.ndim
    room = 1  # that the axes take which have been looked at
    for axis in np.argsort(np.abs(array.strides), kind="stable").tolist():
        n, stride = array.shape[axis], array.strides[axis] // size
        step = min(abs(stride), room + 1)
        strides[axis] = step if stride >= 0 else -step
        room = max(room, n * step) if n > 1 else room
    return strides


def _refuse_equal_names(state: dict[str, Any], where: str) -> None:
    """Refuse names of features that no file may hold; scikit-learn 1.8 takes them."""
    seen = set()
    for name in state.get("feature_names_in_", ()):
        if name in seen:
            raise ValueError(
                f"{where} cannot be saved: two of its features are named "
                f"{shown(name)}; rename the columns and fit it again"
            )
        seen.add(name)


def _check_state_names(cls: type, state: dict[str, Any], where: str) -> None:
    """Refuse what loading would: attributes that no fit of the class makes."""
    for name in state:
        try:
            check_state_name(cls, name)
        except ValueError as error:
            raise TypeError(f"{where}.{name} cannot be saved: {error}") from None


def _state(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Attributes to save: all, unless the class says from which it can learn again."""
    saved_state = getattr(estimator, "_saved_state", None)
    if saved_state is not None:
        return saved_state()
    return {k: v for k, v in vars(estimator).items() if k not in params}


def _with_savable_loss(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Put the loss of the parameters in place of a fitted one without a safe form.

    What was learned needs the loss only to turn raw scores into scores, which most
    losses leave as they are. `set_params` has replaced the function or the class of the
    user, but not the loss that was made from it.
    """
    fitted = state.get("loss_")
    if not isinstance(fitted, BaseLoss):
        return state
    try:
        Encoder().encode(fitted, "loss_")
    except TypeError:
        loss = _loss_of_parameters(estimator)
        of_energies = "energy_" in state
        if loss is not None and (
            _form_of_scores(loss, of_energies) == _form_of_scores(fitted, of_energies)
        ):
            return {**state, "loss_": loss}
    return state


def _loss_of_parameters(estimator) -> BaseLoss | None:
    if hasattr(estimator, "_loss"):
        return estimator._loss()
    return estimator._parts()[1] if hasattr(estimator, "_parts") else None


def _form_of_scores(loss: BaseLoss, of_energies: bool) -> tuple[Any, ...]:
    """Return what predictions know of a loss; losses with an own form equal none."""
    # Each class has a copy of the method, with a docstring of its own.
    own: Any = type(loss).to_scores
    plain = getattr(own, "__code__", None) is BaseLoss.to_scores.__code__
    if not plain:
        return (object(),)
    return loss.n_outputs, of_energies and loss.compares_minima


def _advice(estimator: Any, name: str) -> str | None:
    """Return the call that gives a parameter a value that a file can hold."""
    if name == "learning_rate" and hasattr(estimator, "learning_rates_"):
        return "call set_params(learning_rate=ranker.learning_rates_) before saving"
    parameter = inspect.signature(type(estimator)).parameters.get(name)
    if parameter is None or parameter.default is parameter.empty:
        return None
    try:
        Encoder().encode(parameter.default, name)
    except TypeError:
        return None
    learned = (
        ", which changes nothing of what has been learned"
        if any(key.endswith("_") and not key.startswith("_") for key in vars(estimator))
        else ""
    )
    return (
        f"call set_params({name}={shown(parameter.default)}) of "
        f"{type(estimator).__name__}, or choose another value that is no code of your "
        f"own, before saving{learned}"
    )


def _dtype_name(dtype, where):
    if dtype.kind not in _ARRAY_KINDS + "O":
        raise TypeError(f"{where} cannot be saved: it is the dtype {dtype}")
    return dtype.str


def _requests(requests, where):
    """Metadata requests that were set by ``set_*_request``, by method."""
    methods = vars(requests).items()
    asked = {k: v.requests for k, v in methods if k != "owner" and v.requests}
    for method, params in asked.items():
        for name, request in params.items():
            if not (request is None or isinstance(request, (bool, str))):
                raise TypeError(
                    f"{where}.set_{method}_request({name}={request!r}) cannot be saved"
                )
    return {method: dict(params) for method, params in asked.items()}


def _why(value):
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "best_estimator_"):
        return f"{name} is a search; save its best_estimator_ instead"
    if isinstance(value, BaseEstimator):
        return (
            f"{name} is not one of the classes that model files may hold (public "
            "classes of skrank and some of scikit-learn)"
        )
    if callable(value):
        label = getattr(value, "__qualname__", name)
        return f"{label} is a function or class, and model files never hold code"
    return f"objects of {name} have no safe form; model files hold plain values"
