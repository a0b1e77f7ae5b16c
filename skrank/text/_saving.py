"""What a model file holds of fitted text objects: the index, and nothing that follows.

The weights of a relevance model follow from the counts of its index, which are far
smaller: fifteen models over one index would need fifteen numbers for each posting. So
only the index is saved, and `fit` is called again on loading. That is also what makes
edited files harmless, since an index can be checked completely and weights cannot.

`skrank.export` calls ``_saved_state`` instead of taking all attributes, and
``_restore_state`` once it has set those that the file holds. Names of these that do not
end in an underscore stand in ``_saved_names``.
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skrank._core._messages import shown


class FittedToIndex(BaseEstimator):
    """Base class of estimators whose fitted attributes follow from ``index_``.

    What else `fit` is given stands in the attributes that ``_given`` names.
    """

    _given: ClassVar[tuple[str, ...]] = ()

    def _keep_index(self, index: Any) -> None:
        """Store an index, and what tells whether it is fitted again."""
        self.index_ = index
        self._indexed = index.postings(index.fields_[0])

    def _check_fitted(self, attribute: str) -> None:
        """Raise an error before `fit`, and after the index was fitted without it."""
        check_is_fitted(self, attribute)
        indexed = vars(self).get("_indexed")  # pickles of older versions lack it
        if indexed is not None and not self.index_._holds(indexed):
            raise ValueError(
                f"index_ was fitted again after this {type(self).__name__}, which has "
                "learned from the former documents; fit it again"
            )

    def _saved_state(self) -> dict[str, Any]:
        """Return the attributes that a file holds."""
        params = self.get_params(deep=False)
        state = {k: v for k, v in vars(self).items() if k not in params}
        if "index_" not in state:
            return state
        copy: Any = clone(self)
        given = self._given_to_fit(state)
        again = vars(copy.fit(state["index_"], **given))
        kept = {*params, "index_", *self._given}
        learned = {k: v for k, v in again.items() if k not in kept}
        self._check_learned(learned)
        return {k: v for k, v in state.items() if k not in learned}

    def _check_learned(self, expected: dict[str, Any]) -> None:
        """Refuse to save attributes that would not be learned again as they are."""
        for name, value in expected.items():
            if name not in vars(self) or not same(vars(self)[name], value):
                named = "index_" if name == "_indexed" else name
                raise TypeError(
                    f"{type(self).__name__} cannot be saved: {named} is not what fit "
                    "learns with the present parameters; fit it again"
                )

    def _restore_state(self) -> None:
        """Learn again what follows from the index, if there is one."""
        index: Any = vars(self).get("index_")
        if index is not None:
            check_is_index(self, index)
            fit: Any = self
            fit.fit(index, **self._given_to_fit(vars(self)))
            return
        check_not_fitted(self)

    def _given_to_fit(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return what `fit` was given besides the index, of a fitted state."""
        return {}


def check_is_index(owner: BaseEstimator, index: Any) -> None:
    """Refuse anything but an index, of which `fit` would make one: texts, say."""
    if not hasattr(index, "postings"):
        raise ValueError(
            f"{type(owner).__name__}: index_ must be an InvertedIndex, got "
            f"{shown(index)}"
        )


def check_not_fitted(estimator: BaseEstimator) -> None:
    """Refuse fitted attributes where a file lacks those that they follow from."""
    fitted = [k for k in vars(estimator) if k.endswith("_") and not k.startswith("_")]
    if fitted:
        raise ValueError(
            f"{type(estimator).__name__} has the fitted attribute {fitted[0]}, but "
            "lacks those from which it follows"
        )


def same(one: Any, other: Any) -> bool:
    """Return whether two fitted attributes are equal to the bit."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    if sparse.issparse(one):
        return one.shape == other.shape and all(
            np.array_equal(getattr(one, part), getattr(other, part))
            for part in ("data", "indices", "indptr")
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, BaseEstimator):
        return same(vars(one), vars(other))
    counts = getattr(one, "counts", None)  # of postings
    if counts is not None:
        return same(counts, other.counts)
    return one == other


def join_terms(terms: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return all terms as UTF-8 in one array, and the number of characters of each."""
    # With "surrogatepass" every string of Python has a form.
    joined = "".join(terms).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, terms), dtype=np.uint32, count=len(terms))
    return np.frombuffer(joined, dtype=np.uint8), lengths


def split_terms(joined: Any, lengths: Any) -> list[str]:
    """Return the terms that `join_terms` put together.

    Raises
    ------
    ValueError
        If the arrays are not of that form.
    """
    for array, dtype in ((joined, np.uint8), (lengths, np.uint32)):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"terms must be stored in an array of {dtype.__name__}")
    text = joined.tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(lengths, dtype=np.int64)
    if (ends[-1] if len(ends) else 0) != len(text):
        raise ValueError("the lengths of the terms do not sum to that of their text")
    starts = ends - lengths
    return [text[i:j] for i, j in zip(starts.tolist(), ends.tolist())]


def check_ascending(terms: list[str]) -> None:
    """Refuse a vocabulary whose terms are not in their order, or occur twice."""
    if any(one >= other for one, other in pairwise(terms)):
        raise ValueError("the terms of the vocabulary must ascend")


def smallest(counts: sparse.csc_array) -> sparse.csc_array:
    """Return counts in the smallest type that holds them exactly."""
    data = counts.data
    if not np.array_equal(data, np.floor(data)):
        return counts
    dtype = np.min_scalar_type(int(data.max(initial=0)))
    parts = (data.astype(dtype), counts.indices, counts.indptr)
    return sparse.csc_array(parts, shape=counts.shape)
