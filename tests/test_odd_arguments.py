"""No public callable answers an odd argument by an error of its insides."""

import inspect

import pytest
from _calls import (
    BETWEEN_PARTS,
    DISPLAYS,
    OF_OTHER_LIBRARIES,
    READ_AND_WRITE,
    RETURNED,
    WITHOUT_ARGUMENTS,
    construction,
    functions,
    methods,
)
from _odd import ODD, Call, odd_answers, problem_of, problem_of_message
from _public import public_methods, public_objects

from skrank.metrics import compare
from skrank.metrics._base import RankedMeasure

# Fits are short, and odd data cause warnings; answers to arguments are looked at.
pytestmark = pytest.mark.filterwarnings("ignore")

# What users do on the command line, and with files, has tests of its own.
_ELSEWHERE = ("cli.main",)
_OBJECTS = {name.removeprefix("skrank."): member for name, member in public_objects()}
FUNCTIONS = [name for name, member in _OBJECTS.items() if inspect.isfunction(member)]
CLASSES = {
    member.__name__: member
    for member in _OBJECTS.values()
    if inspect.isclass(member)
    and not issubclass(member, BaseException)
    and not member.__name__.startswith("Base")
    and member.__name__ not in RETURNED
}


def _methods_by_place():
    """Names of public methods where they are defined, those with arguments."""
    found = set()
    for cls in filter(inspect.isclass, _OBJECTS.values()):
        for name in public_methods(cls):
            member = inspect.getattr_static(cls, name)
            if isinstance(member, property) or name in BETWEEN_PARTS:
                continue
            function = inspect.unwrap(getattr(cls, name))
            function = getattr(function, "__func__", function)
            if len(inspect.signature(getattr(cls, name)).parameters) > (
                inspect.isfunction(getattr(cls, name))
            ):
                found.add(function.__code__.co_qualname)
    return sorted(found.difference(BETWEEN_PARTS))


METHODS = _methods_by_place()


def _checked_elsewhere(function):
    """Names of the parameters of a measure function that all of them have."""
    if not hasattr(function, "measure_class") or function.__name__ == "ndcg_score":
        return None
    shared = {*inspect.signature(RankedMeasure).parameters, "k", "relevance_level"}
    return [
        name
        for name in inspect.signature(function.measure_class).parameters
        if name not in shared
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    elsewhere = {*_ELSEWHERE, *READ_AND_WRITE, *OF_OTHER_LIBRARIES}
    if name in WITHOUT_ARGUMENTS or name in elsewhere:
        pytest.skip("takes no arguments, or is tested with its files")
    call = functions()[name]
    call.run()
    assert not list(odd_answers(call, _checked_elsewhere(call.function)))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    call = methods()[name]
    if call is None:
        pytest.skip("ignores or refuses all arguments")
    call.run()
    assert not list(odd_answers(call))


def _own_parameters():
    """Pairs (class, parameters) in which every declaration occurs once."""
    seen = set()
    for name, cls in sorted(CLASSES.items()):
        own = []
        for parameter in inspect.signature(cls).parameters:
            owner = next(
                base
                for base in (*reversed(cls.__mro__), cls)
                if parameter in vars(base).get("__annotations__", {}) or base is cls
            )
            if (owner, parameter) not in seen:
                seen.add((owner, parameter))
                own.append(parameter)
        yield name, own


@pytest.mark.parametrize(("name", "parameters"), _own_parameters())
def test_constructors(name, parameters):
    call = construction(CLASSES[name])
    call.run()
    assert not list(odd_answers(call, parameters))


def test_the_check_finds_bad_answers():
    def function(*, a):
        return a.b

    assert "AttributeError" in problem_of(Call(function, dict), "a", 1)
    assert "does not name" in problem_of_message("the other must be one", "level")
    assert "one line" in problem_of_message("a must be\na number", "a")
    assert "insides" in problem_of_message("a: unhashable type: 'list'", "a")
    assert not problem_of_message("a must be a number, got 'b'", "a")
    assert set(DISPLAYS) <= set(CLASSES)
    assert len(ODD) > 20
    with pytest.raises(ValueError, match=r"^compare: level must be a number in \(0, 1"):
        compare({"a": [1, 0]}, [1, 0], [1, 1], level="all")
