"""Attributes that are learned, and what is said before."""

import copy
import pickle

import pytest
from sklearn.exceptions import NotFittedError

from skrank._core._learned import Learned


class Scale(Learned):
    _learned_by = "fit(X)"
    kept_ = None

    @property
    def told_(self):
        raise AttributeError("told by the property")

    @property
    def other(self):
        return self.scale_


def test_what_is_missing_names_the_method():
    for name in ("scale_", "other"):
        with pytest.raises(NotFittedError, match=r"^Scale has no scale_ yet: call fit"):
            getattr(Scale(), name)
    assert not hasattr(Scale(), "scale_")
    assert Scale().kept_ is None


@pytest.mark.parametrize("name", ["unknown", "_hidden_", "__array__"])
def test_other_attributes_are_unknown(name):
    with pytest.raises(AttributeError, match=rf"^'Scale' object .* '{name}'") as caught:
        getattr(Scale(), name)
    assert not isinstance(caught.value, NotFittedError)


def test_properties_tell_their_own_errors():
    with pytest.raises(AttributeError, match=r"^told by the property"):
        getattr(Scale(), "told_")  # noqa: B009


def test_objects_are_copied_as_before():
    scale = Scale()
    scale.scale_ = 2.0
    for same in (copy.deepcopy(scale), pickle.loads(pickle.dumps(scale))):
        assert same.scale_ == same.other == 2.0
