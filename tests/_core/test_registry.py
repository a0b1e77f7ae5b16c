"""Classes are found by the short names that they state themselves."""

import types
from typing import ClassVar

import pytest

from skrank._core._registry import aliases, by_short_name, choose, public_classes


class Base:
    pass


class Abstract(Base):
    pass


class First(Abstract):
    short_name: ClassVar[str] = "first"
    aliases: ClassVar[tuple[str, ...]] = ("1st", "one")


class Second(First):
    short_name: ClassVar[str] = "second"


class Silent(First):
    pass


def test_every_class_with_a_name_of_its_own_is_found_once():
    classes = [Base, Abstract, First, Second, Silent, First, int, "no class"]
    assert by_short_name(classes, Base) == {"first": First, "second": Second}
    assert public_classes(classes, Base) == [Abstract, First, Second, Silent]


def test_a_module_shows_its_public_names():
    module = types.ModuleType("family")
    module.First, module.Second = First, Second
    module.__all__ = ["First"]
    assert by_short_name(module, Base) == {"first": First}


def test_aliases_are_not_inherited():
    assert aliases({"first": First, "second": Second}) == {
        "1st": "first",
        "one": "first",
    }


def test_a_name_belongs_to_one_class():
    class Twin(Base):
        short_name = "first"

    class Thief(Base):
        short_name = "thief"
        aliases = ("one",)

    class Hidden(Base):
        short_name = "hidden"
        aliases = ("first",)

    with pytest.raises(ValueError, match="Twin states the name 'first', which is tak"):
        by_short_name([First, Twin], Base)
    with pytest.raises(ValueError, match="Thief states the name 'one', which is taken"):
        aliases({"first": First, "thief": Thief})
    with pytest.raises(ValueError, match="alias 'first' of Hidden is the short name"):
        aliases({"first": First, "hidden": Hidden})


class Owner:
    pass


def test_choose():
    classes = by_short_name([First, Second], Base)
    assert choose("second", classes, Owner(), "kind") is Second
    for error in (ValueError, TypeError):
        message = "^Owner: kind must be one of 'first' or 'second', got 'third'$"
        with pytest.raises(error, match=message):
            choose("third", classes, Owner(), "kind")
        with pytest.raises(error, match=message):
            choose("third", dict(reversed(classes.items())), Owner(), "kind")
    message = "Owner: kind must be one of 'first' or 'second', or an Abstract, got 3"
    with pytest.raises(TypeError, match=message):
        choose(3, classes, Owner(), "kind", or_a=Abstract)
    with pytest.raises(ValueError, match="kind must be 'first', got \\['first'\\]"):
        choose(["first"], {"first": First}, Owner(), "kind")
