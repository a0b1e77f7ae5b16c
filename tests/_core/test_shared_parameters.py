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


class CutOff:
    """Cut-off.

    Parameters
    ----------
    k : int, default=None
        Cut-off.
    """

    def __init__(self, k=None, **shared):
        super().__init__(**shared)
        self.k = k


@shares_parameters
class Heir(CutOff, Base):
    """Nothing but what it inherits."""


@shares_parameters
class Renamed(Heir):
    """Documents an inherited parameter anew.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of an heir.
    """


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


@pytest.mark.parametrize("cls", [Heir, Renamed])
def test_class_without_init_has_the_parameters_of_its_bases(cls):
    assert list(inspect.signature(cls).parameters) == ["k", "alpha", "seed"]
    assert clone(cls(5, alpha=2.0)).get_params() == {"k": 5, "alpha": 2.0, "seed": 0}
    assert list(inspect.signature(CutOff).parameters) == ["k", "shared"]
    assert list(inspect.signature(Base).parameters) == ["alpha", "seed"]


def test_docstring_of_one_line_gains_its_sections():
    summary, heading = inspect.cleandoc(Heir.__doc__).split("\n\n")[:2]
    assert summary == "Nothing but what it inherits."
    assert heading.startswith("Parameters\n----------\nk : int")


def test_own_entry_of_an_inherited_parameter_stays():
    doc = Renamed.__doc__
    assert doc.index("k :") < doc.index("Strength of an heir.") < doc.index("seed :")
    assert "Strength.\n" not in doc


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="wide"):
        Child(wide=1)
    with pytest.raises(TypeError, match="wide"):
        Heir(wide=1)
    with pytest.raises(TypeError, match="positional"):
        Heir(1, 2)
