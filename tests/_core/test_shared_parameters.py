"""Signatures and docstrings completed from a base class."""

import inspect

import pytest
from sklearn.base import BaseEstimator, clone

from skrank._core._shared_parameters import shares_parameters


class Base(BaseEstimator):
    """Base.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength.
    seed : int, default=0
        Seed.

    Attributes
    ----------
    coef_ : ndarray
        Coefficients.
    """

    def __init__(self, *, alpha=1.0, seed=0):
        self.alpha = alpha
        self.seed = seed


@shares_parameters
class Child(Base):
    """Child of a kind.

    Parameters
    ----------
    width : float, default=2.0
        Width
        of two lines.
    seed : int, default=7
        Seed of its own.

    References
    ----------
    Nobody.
    """

    def __init__(self, width=2.0, *, seed=7, **shared):
        super().__init__(seed=seed, **shared)
        self.width = width


def test_signature_lists_own_parameters_first():
    assert list(inspect.signature(Child).parameters) == ["width", "seed", "alpha"]
    assert Child().get_params() == {"alpha": 1.0, "seed": 7, "width": 2.0}
    assert clone(Child(3.0, alpha=5.0)).get_params()["alpha"] == 5.0


def test_docstring_merges_entries():
    doc = Child.__doc__
    assert doc.index("width :") < doc.index("seed :") < doc.index("alpha :")
    assert "Seed of its own." in doc
    assert "Seed.\n" not in doc
    assert "    of two lines." in doc
    assert doc.index("coef_ :") < doc.index("References")


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="wide"):
        Child(wide=1)
