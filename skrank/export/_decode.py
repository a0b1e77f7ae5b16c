"""From JSON values and named arrays to objects; `_encode` lists the forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

from skrank._core._messages import shown
from skrank._core._sparse import check_sparse
from skrank.export._allowed import class_of_name
from skrank.export._check_loaded import check_loaded
from skrank.export._level_state import add_encoder
from skrank.export._renamed import current_name
from skrank.export._state_names import check_state_name
from skrank.rankers._tree_ranker import BaseTreeRanker

_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SPARSE = {
    ("csr", False): sparse.csr_matrix,
    ("csr", True): sparse.csr_array,
    ("csc", False): sparse.csc_matrix,
    ("csc", True): sparse.csc_array,
}
# Memory that an array takes per element, where its axes have gaps.
_MOST_ROOM = 3
_FLOATS = ("nan", "inf", "-inf")


class Decoder:
    """Builds an estimator from a JSON value; only allowed classes are constructed.

    Parameters
    ----------
    read_array : callable
        Returns the array that is stored under a member name.
    complete : bool, default=True
        Whether every parameter of a class must be in the file. Files of other versions
        may lack parameters that were added later; these get their defaults.
    max_objects : int, default=None
        Largest number of estimators; each is checked, which takes time.
    """

    def __init__(
        self,
        read_array: Callable[[str], np.ndarray],
        *,
        complete: bool = True,
        max_objects: int | None = None,
    ):
        self._read_array = read_array
        self._complete = complete
        self._max_objects = max_objects
        self._n_objects = 0

    def decode(self, value: Any) -> Any:
        """Return the object that a JSON value describes.

        Parameters
        ----------
        value : object
            Value as returned by `Encoder.encode`.

        Returns
        -------
        object
            Object equal to the one that was encoded.

        Raises
        ------
        ValueError
            If a form is unknown, a part is missing or a class is not allowed.
        """
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        decode = _DECODERS.get(value.get("type"))
        if decode is None:
            raise ValueError(f"unknown kind of value {value.get('type')!r}")
        return decode(self, value)

    def estimator(self, value: dict[str, Any]) -> BaseEstimator:
        """Return the estimator that a JSON value describes.

        Parameters
        ----------
        value : dict
            Value as returned by `Encoder.estimator`.

        Returns
        -------
        BaseEstimator
            Estimator with the parameters and the fitted attributes that were encoded.

        Raises
        ------
        ValueError
            If the class is not allowed, or parameters or attributes are not its own,
            or do not make a model that works, or if there are too many estimators.
        """
        self._n_objects += 1
        if self._max_objects is not None and self._n_objects > self._max_objects:
            raise ValueError(
                f"it holds more than {self._max_objects} estimators, which are more "
                "than a file of its size has room for"
            )
        name, cls = _class_of(value["class"])
        params = self._attributes(value["params"])
        known = set(cls._get_param_names())
        odd = set(params) - known
        if self._complete:
            odd |= known - set(params)
        if odd:
            raise ValueError(
                f"parameters of {name} do not match this version: "
                f"{', '.join(sorted(odd))}"
            )
        estimator = cls(**params)
        for attribute, content in self._attributes(value["state"]).items():
            check_state_name(cls, attribute)
            estimator.__dict__[attribute] = content
        restore: Any = getattr(estimator, "_restore_state", None)
        if restore is not None:  # what has been saved is less than what was learned
            restore()
        _set_requests(estimator, value.get("requests", {}))
        if not self._complete and isinstance(estimator, BaseTreeRanker):
            add_encoder(estimator)
        check_loaded(estimator, complete=self._complete)
        return estimator

    def _attributes(self, values):
        if not isinstance(values, dict):
            raise ValueError(f"attributes must be an object, got {shown(values)}")
        return {name: self.decode(content) for name, content in values.items()}

    def _float(self, value):
        if value["value"] not in _FLOATS:
            raise ValueError(f"unknown float {value['value']!r}")
        return float(value["value"])

    def _bytes(self, value):
        return bytes.fromhex(value["hex"])

    def _tuple(self, value):
        return tuple(self.decode(value["items"]))

    def _set(self, value):
        return set(self.decode(value["items"]))

    def _frozenset(self, value):
        return frozenset(self.decode(value["items"]))

    def _dict(self, value):
        return {self.decode(k): self.decode(v) for k, v in value["items"]}

    def _slice(self, value):
        return slice(*self.decode(value["items"]))

    def _array(self, value):
        array = self._read_array(value["member"])
        # No class learns complex numbers, and scikit-learn's would compute with them.
        if array.dtype.kind == "c":
            raise ValueError(f"{value['member']} must hold real numbers, got complex")
        strides = value.get("strides")  # which few arrays have, in newer files
        return array if strides is None else _with_strides(array, strides)

    def _scalar(self, value):
        return self._array(value)[()]

    def _object_array(self, value):
        items = self.decode(value["items"])
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # assigning a slice would take tuples apart
            array[i] = item
        return array.reshape(value["shape"])

    def _dtype(self, value):
        return np.dtype(str(value["value"]))

    def _numpy_type(self, value):
        found = getattr(np, str(value["value"]), None)
        if not (isinstance(found, type) and issubclass(found, np.generic)):
            raise ValueError(f"unknown NumPy type {value['value']!r}")
        return found

    def _sparse(self, value):
        cls = _SPARSE[value["format"], value["array"]]
        parts = [
            self._array({"member": value[n]}) for n in ("data", "indices", "indptr")
        ]
        if any(part.dtype.kind not in "iu" for part in parts[1:]):
            raise ValueError("the indices of a sparse matrix must be whole numbers")
        matrix = cls(tuple(parts), shape=tuple(value["shape"]))
        # SciPy's compiled loops trust the indices: wrong ones read foreign memory.
        # Its own check passes over pointers that end below 0.
        matrix.check_format(full_check=True)
        check_sparse(matrix, "a value of the file")
        return matrix

    def _random_state(self, value):
        state = self.decode(value["state"])
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(f"unknown bit generator {state['bit_generator']!r}")
        _check_place(state)
        # The name was compared with a list: getattr must not reach anything else.
        source = getattr(np.random, state["bit_generator"])()
        if value["legacy"]:
            random_state = np.random.RandomState(source)
            random_state.set_state(state)
            return random_state
        source.state = state
        return np.random.Generator(source)


def _with_strides(array, strides) -> np.ndarray:
    """Return an array that lies in memory as its strides, in elements, say."""
    fits = (
        isinstance(strides, list)
        and len(strides) == array.ndim
        and all(type(stride) is int for stride in strides)
        and array.size > 0
    )
    if not fits:
        accepted = "one whole number for each axis of an array that is not empty"
        raise ValueError(f"strides must be {accepted}, got {shown(strides)}")
    ends = [(n - 1) * stride for n, stride in zip(array.shape, strides)]
    first = -sum(end for end in ends if end < 0)
    length = first + sum(end for end in ends if end > 0) + 1
    if length > _MOST_ROOM * array.size:
        raise ValueError(
            f"strides must make an array of {array.size} numbers no longer than "
            f"{_MOST_ROOM * array.size}, got {shown(strides)}"
        )
    dtype, size = array.dtype, array.itemsize
    memory = np.zeros(length, dtype)
    steps = [stride * size for stride in strides]
    # NumPy checks that all elements are within the memory.
    laid: np.ndarray = np.ndarray(array.shape, dtype, memory, first * size, steps)
    laid[...] = array
    return laid


def _check_place(state) -> None:
    """Check where a generator goes on in its own numbers, which NumPy trusts."""
    place, end = 0, 0
    if state["bit_generator"] == "MT19937":
        place, end = state["state"]["pos"], 624
    elif state["bit_generator"] == "Philox":
        place, end = state["buffer_pos"], 4
    if type(place) is not int or not 0 <= place <= end:
        raise ValueError(
            f"the place in the numbers of {state['bit_generator']} must be a whole "
            f"number from 0 to {end}, got {shown(place)}"
        )


_DECODERS: dict[str | None, Callable] = {
    "array": Decoder._array,
    "bytes": Decoder._bytes,
    "dict": Decoder._dict,
    "dtype": Decoder._dtype,
    "estimator": Decoder.estimator,
    "float": Decoder._float,
    "frozenset": Decoder._frozenset,
    "numpy_type": Decoder._numpy_type,
    "object_array": Decoder._object_array,
    "random_state": Decoder._random_state,
    "scalar": Decoder._scalar,
    "set": Decoder._set,
    "slice": Decoder._slice,
    "sparse": Decoder._sparse,
    "tuple": Decoder._tuple,
}


def _class_of(name) -> tuple[str, type]:
    """Present name and class of the name that a file gives."""
    if isinstance(name, str):
        # The name itself comes first: a class that goes by an old name again would
        # otherwise be out of reach.
        for known in (name, current_name(name)):
            cls = class_of_name(known)
            if cls is not None:
                return known, cls
    raise ValueError(f"class {name!r} is not allowed in a model file")


def _set_requests(estimator, requests):
    with sklearn.config_context(enable_metadata_routing=True):
        for method, params in requests.items():
            set_request = getattr(estimator, f"set_{method}_request", None)
            if set_request is None:
                raise ValueError(f"unknown metadata request {method!r}")
            set_request(**params)
