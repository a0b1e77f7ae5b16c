"""Parameters are declared once, typed, and checked in one wording."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import skrank
from skrank._core._parameters import (
    Fraction,
    Interval,
    NonNegative,
    NThreads,
    Numbers,
    Parameters,
    Positive,
    PositiveInt,
    Seed,
    own_names,
)
from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.rankers import RankSVM
from skrank.solvers import LBFGS


class Family(Parameters, BaseEstimator):
    """A family.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the penalty.
    random_state : int, RandomState or None, default=None
        Seed.
    """

    alpha: NonNegative = 1e-4
    random_state: Seed = None


class CutOff(Parameters):
    """Something with a cut-off.

    Parameters
    ----------
    k : int, default=None
        Cut-off.
    """

    k: PositiveInt | None = field(default=None, kw_only=False)


class Member(CutOff, Family):
    """A member of the family.

    Parameters
    ----------
    hinge : {"squared", "linear"}, default="squared"
        Power of the hinge.
    """

    hinge: Literal["squared", "linear"] = "squared"
    alpha = 0.5


class Everything(Parameters, BaseEstimator):
    number: float = 1.0
    whole: int = 1
    flag: bool = False
    text: str = "a"
    positive: Positive = 1.0
    fraction: Fraction = 0.5
    capped: Annotated[float, Interval(0, np.inf, "right")] = 1.0
    half_open: Annotated[float, Interval(0, 1, "left")] = 0.0
    threads: NThreads = None
    choice: Literal["a", 2] = "a"
    power: Literal[1, 2] = 1
    at_least_two: Annotated[int, Interval(2)] = 2
    least: None | PositiveInt = None  # noqa: RUF036 - the order is what is tested
    sizes: PositiveInt | Sequence[PositiveInt] = ()
    prior: tuple[Positive, Positive] | None = None
    gain: Literal["exp2"] | Callable[[float], float] | Mapping[float, float] = "exp2"
    array: Numbers = ()
    inner: Family | None = None
    anything: Any = None


def test_classes_of_users_inherit_what_users_wrote():
    class Mine(LBFGS):
        def solve(self, *args, **kwargs):
            return "mine"

    class Derived(Mine):
        pass

    assert Derived().solve() == "mine"
    assert "solve" not in vars(Derived)


def test_a_subclass_that_states_nothing_keeps_all_parameters():
    class Silent(Member):
        pass

    silent = clone(Silent(3, alpha=0.25))
    assert silent.get_params() == Member(3, alpha=0.25).get_params()


def test_own_parameters_come_first_and_inherited_ones_are_documented():
    names = list(inspect.signature(Member).parameters)
    assert names == ["k", "hinge", "alpha", "random_state"]
    places = [Member.__doc__.index(f"\n{name} :") for name in names]
    assert places == sorted(places)
    assert "Strength of the penalty." in Member.__doc__


def test_the_nearest_class_says_what_a_parameter_is():
    """Also where another base has inherited what a farther one says of it."""

    class Root(Parameters):
        """A root.

        Parameters
        ----------
        size : int, default=1
            Any size.
        """

        size: PositiveInt = 1

    class Beside(Root):
        """Says nothing of the size."""

        other: PositiveInt = 1

    class Near(Root):
        """A class near by.

        Parameters
        ----------
        size : int, default=1
            A size below ten.
        """

        near: PositiveInt = 1

    class Both(Beside, Near):
        """Has both bases."""

        more: PositiveInt = 1

    assert "Any size." in Beside.__doc__
    assert "A size below ten." in Both.__doc__
    assert "Any size." not in Both.__doc__


def test_a_parameter_with_a_new_default_is_an_own_one():
    class Seeded(Family):
        random_state = 0
        size: PositiveInt = 1

    assert list(inspect.signature(Seeded).parameters) == [
        "size",
        "random_state",
        "alpha",
    ]


def test_a_new_default_keeps_type_range_and_place():
    class Fifth(Member):
        k = 5

    assert Fifth(7).k == 7
    assert repr(Fifth()) == "Fifth()"
    assert Fifth().k == 5
    assert Member().alpha == 0.5
    with pytest.raises(ValueError, match="alpha must be a number >= 0, got -1"):
        Member(alpha=-1)._check_parameters()


def test_a_new_default_has_the_range_of_the_nearest_base():
    class Narrow(Family):
        alpha: Positive = 1.0

    class Narrowed(Narrow):
        alpha = 0.5

    with pytest.raises(ValueError, match="alpha must be a number > 0, got 0"):
        Narrowed(alpha=0)._check_parameters()


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="alhpa"):
        Member(alhpa=1)


def test_clone_and_pickle():
    member = Member(2, hinge="linear", random_state=0)
    for copy in (clone(member), pickle.loads(pickle.dumps(member))):
        assert copy.get_params() == member.get_params()


def test_a_constructor_written_by_hand_is_kept_and_inherited():
    class Foreign(Family):
        def __init__(self, extra=None, *, alpha=1.0):
            super().__init__(alpha=alpha)
            self.extra = extra

    class Child(Foreign):
        pass

    assert clone(Child("x")).get_params() == {"extra": "x", "alpha": 1.0}


WRONG = [
    ("number", "a", "a number"),
    ("number", float("nan"), "a number"),
    ("number", True, "a number"),
    ("whole", 1.5, "a whole number"),
    ("flag", 1, "True or False"),
    ("text", 3, "a string"),
    ("positive", 0, "a number > 0"),
    ("positive", np.inf, "a number > 0"),
    ("fraction", 1, r"a number in \(0, 1\)"),
    ("capped", 0.0, "a number > 0, or infinity"),
    ("half_open", 1.0, r"a number in \[0, 1\)"),
    ("threads", 0, "a whole number other than 0 or None"),
    ("choice", "b", "'a' or 2"),
    ("choice", [], "'a' or 2"),
    ("choice", np.array(["a"]), "'a' or 2"),
    ("choice", np.array(["a", "b"]), "'a' or 2"),
    ("power", 1.0, "1 or 2"),
    ("power", True, "1 or 2"),
    ("least", 0, "a whole number >= 1 or None"),
    ("sizes", 0, "a whole number >= 1 or a sequence, each a whole number >= 1"),
    ("sizes", (1, 0), "a whole number >= 1 or a sequence, each a whole number >= 1"),
    ("sizes", "12", "a whole number >= 1 or a sequence, each a whole number >= 1"),
    ("sizes", b"12", "a whole number >= 1 or a sequence, each a whole number >= 1"),
    ("threads", 2**31, r"a whole number .* between -2\*\*31 and 2\*\*31 or None"),
    ("least", 2**31, r"a whole number >= 1 and below 2\*\*31 or None"),
    ("sizes", (1, 2**40), r".*, each a whole number >= 1 and below 2\*\*31"),
    ("sizes", np.array([2**40]), r".*, each a whole number >= 1 and below 2\*\*31"),
    ("at_least_two", 2**63, r"a whole number >= 2 and below 2\*\*63"),
    ("at_least_two", 1, "a whole number >= 2"),
    ("prior", (1.0,), "a sequence of 2 values, each a number > 0 or None"),
    ("prior", (1.0, 2.0, 3.0), "a sequence of 2 values, each a number > 0 or None"),
    ("gain", 3, "'exp2', a function or a mapping"),
    ("array", 3, "a sequence, each a number or an array of numbers"),
    ("inner", 3, "a Family or None"),
]


@pytest.mark.parametrize(("name", "value", "accepted"), WRONG)
def test_errors_have_one_wording(name, value, accepted):
    parameters = Everything(**{name: value})
    for error in (ValueError, TypeError):
        with pytest.raises(error, match=f"^Everything: {name} must be {accepted}, got"):
            parameters._check_parameters()


RIGHT = [
    ("number", np.float32(2)),
    ("number", 3),
    ("whole", np.int64(2)),
    ("flag", np.True_),
    ("capped", np.inf),
    ("half_open", 0),
    ("threads", -1),
    ("choice", 2),
    ("sizes", 3),
    ("sizes", np.array([1, 2])),
    ("prior", [1, 2.0]),
    ("gain", abs),
    ("gain", {0: 1.0}),
    ("array", np.zeros(3)),
    ("inner", Member()),
    ("anything", object()),
]


@pytest.mark.parametrize(("name", "value"), RIGHT)
def test_what_is_accepted(name, value):
    Everything(**{name: value})._check_parameters()


def test_parameters_of_parameters_are_checked():
    with pytest.raises(ValueError, match="Member: k must be a whole number >= 1"):
        Everything(inner=Member(0))._check_parameters()


def test_long_values_are_cut():
    with pytest.raises(ValueError, match=r"got \[0, 1, .*….*999\]$"):
        Everything(number=list(range(1000)))._check_parameters()


def test_the_package_works_without_docstrings():
    rooms = ("metrics", "rankers", "model_selection", "text")
    code = "import " + ", ".join(f"skrank.{room}" for room in rooms) + "\n"
    code += "f = skrank.metrics.ndcg_score\n"
    code += "if f.__doc__ is not None: raise SystemExit(1)\n"  # assertions are left out
    code += "if f([1, 0], [1, 2], groups=[1, 1]) == 1: raise SystemExit(2)"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True, timeout=600)


def every_class():
    """Every class of the package that declares parameters."""
    for info in pkgutil.walk_packages(skrank.__path__, "skrank."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    found, waiting = [], [Parameters]
    while waiting:
        waiting += (cls := waiting.pop()).__subclasses__()
        if cls.__module__.startswith("skrank.") and cls is not Parameters:
            found.append(cls)
    return list(dict.fromkeys(found))


CLASSES = every_class()
DECLARED = [
    (cls, f.name)
    for cls in CLASSES
    for f in fields(cls)
    if f.name in inspect.get_annotations(cls)
]


# Read where the whole object is handed to a function of another module.
HANDED_ON = {
    ("EnergyFunctional", "grade_weights"),
    ("IteratedWeights", "max_iter"),
    ("IteratedWeights", "tol"),
    ("FunctionMeasure", "random_state"),
    ("RankedMeasure", "random_state"),
    *(("RankerGrid", name) for name in ("early_stopping", "features", "seeds")),
    ("RelaxedStart", "max_iter"),
    ("RelaxedStart", "tol"),
    ("WorkingSet", "max_iter"),
    ("WorkingSet", "tol"),
    ("_LabelVectorEnergy", "labels"),
}


@cache
def attributes_read_in(module):
    """Names of attributes that the code of a module reads."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


@pytest.mark.parametrize(
    ("cls", "name"),
    DECLARED,
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
def test_every_parameter_is_read(cls, name):
    """What is declared is used: by the class, by a base, or by a class below it."""
    if (cls.__name__, name) in HANDED_ON:
        pytest.skip("handed on with the object")
    related = [c for c in CLASSES if issubclass(c, cls) or issubclass(cls, c)]
    assert any(name in attributes_read_in(c.__module__) for c in related)


@pytest.mark.parametrize(
    "value",
    [10**400, np.timedelta64(1, "D"), Decimal(1), "1", None, 1j, np.bool_(True)],
)
def test_what_is_no_number(value):
    size = r", if whole below 2\*\*63" if isinstance(value, int) else ""
    with pytest.raises(ValueError, match=f"positive must be a number > 0{size}, got"):
        Everything(positive=value)._check_parameters()


def test_numbers_that_kernels_cannot_hold():
    bound = r"k must be a whole number >= 1 and below 2\*\*31 or None, got 2147483648"
    with pytest.raises(ValueError, match=bound):
        Member(2**31)._check_parameters()
    with pytest.raises(ValueError, match=r"random_state must be .* \[0, 4294967295\]"):
        Member(random_state=2**32)._check_parameters()


def test_annotations_that_users_write():
    class Fancy(Parameters, BaseEstimator):
        a: set[int] | None = None
        b: type[int] = int
        c: Iterable[int] = ()
        d: Annotated[int, "words"] = 1
        e: tuple[int, str] = (1, "a")

    Fancy()._check_parameters()
    with pytest.raises(ValueError, match="a must be a set or None, got 3"):
        Fancy(a=3)._check_parameters()
    with pytest.raises(ValueError, match=r"e must be a sequence of \(a whole"):
        Fancy(e=(1, 2))._check_parameters()


def test_names_that_only_type_checkers_know():
    class Typed(Parameters, BaseEstimator):
        missing: "Missing | None" = None  # noqa: F821
        k: PositiveInt = 1

    with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
        Typed(missing=3, k=0)._check_parameters()


def test_new_parameters_need_a_constructor_that_knows_them():
    class Foreign(Family):
        def __init__(self, extra=None):
            super().__init__()
            self.extra = extra

    for body in ({"alpha": 0.5}, {"__annotations__": {"bar": int}, "bar": 4}):
        with pytest.raises(TypeError, match="write its own constructor, too"):
            type("Child", (Foreign,), body)


def test_a_class_without_docstring_has_none():
    class Silent(Member):
        alpha = 0.25

    assert Silent.__doc__ is None
    assert "Interval" not in str(inspect.signature(Member))


def test_inherited_entries_show_the_default_of_the_class():
    class Changed(Member):
        """A member with another default."""

        hinge = "linear"
        random_state = 3

    assert 'hinge : {"squared", "linear"}, default="linear"' in Changed.__doc__
    assert "random_state : int, RandomState or None, default=3" in Changed.__doc__
    assert "alpha : float, default=0.5" in Changed.__doc__


@pytest.mark.parametrize("number", [2**62, 2**63 - 1, -(2**63) + 1])
def test_integers_without_a_bound_fit_into_arrays(number):
    assert number in Interval(None)
    np.array(number, dtype=np.int64)


@pytest.mark.parametrize("number", [2**63, -(2**63), 2**64, 10**30])
def test_larger_integers_are_refused(number):
    assert number not in Interval(None)


def test_classes_of_users_inherit_methods():
    """Only classes of this package get methods under their own names."""
    from skrank.rankers import RankSVM

    class Mine(RankSVM):
        pass

    assert Mine.fit is RankSVM.fit
    assert RankSVM.fit.__qualname__ == "RankSVM.fit"
    assert Mine.fit.__module__.startswith("skrank.")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.int8(100), 100), (np.uint64(7), 7), (np.float32(0.5), 0.5)],
)
def test_numbers_of_numpy_become_those_of_python(value, expected):
    """A product such as ``20 * max_iter`` would wrap around in a small type."""
    family = Family(alpha=value)
    family._check_parameters()
    assert family.alpha == expected
    assert type(family.alpha) in (int, float)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_bounds_beyond_small_types_are_compared(dtype):
    assert dtype(0.5) in Interval(0, 1e308)
    assert dtype(0.5) in Interval(-1e308)
    assert dtype(np.inf) not in Interval(0, 1e308)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_small_types_change_no_fit(dtype):
    X, y, groups = make_ranking(n_queries=8, random_state=1)
    expected = RankSVM(max_iter=100, solver=LBFGS(memory=60)).fit(X, y, groups)
    small = RankSVM(max_iter=dtype(100), solver=LBFGS(memory=dtype(60)))
    np.testing.assert_array_equal(small.fit(X, y, groups).coef_, expected.coef_)


class Part(Parameters):
    """What an owner makes of its parameters.

    Parameters
    ----------
    k : int, default=1
        Cut-off.
    depth : int, default=1
        Depth.
    """

    k: PositiveInt = 1
    depth: PositiveInt = 1


class Owner(Parameters):
    """What the user has made.

    Parameters
    ----------
    k : int, default=1
        Cut-off.
    """

    k: PositiveInt = 1


@pytest.mark.parametrize(
    ("wrong", "names", "told"),
    [
        # The number is what the user wrote, whatever the part has made of it.
        (Part(k=0), None, "Owner: k must be a whole number >= 1, got -7"),
        (Part(depth=0), {"depth": "k"}, "Owner: k must be .*, got -7"),
        # Of what the owner does not have, or of something else within it.
        (Part(depth=0), None, "Part: depth must be .*, got 0"),
        (Part(k=0), {"k": "cut"}, "Part: k must be .*, got 0"),
        (CutOff(k=0), None, "CutOff: k must be .*, got 0"),
    ],
)
def test_errors_of_a_part_name_what_the_user_wrote(wrong, names, told):
    renamed = own_names(Owner(k=-7), Part(), names)
    with pytest.raises(InvalidParameterError, match=f"^{told}$"), renamed:
        wrong._check_parameters()


def test_other_errors_of_a_part_stay_as_they_are():
    with pytest.raises(ZeroDivisionError), own_names(Owner(), Part()):
        raise ZeroDivisionError
    with own_names(Owner(), Part()):
        Part()._check_parameters()
