"""Code that has seen different things trains different rankers, and is told apart."""

import functools
import operator
from collections import OrderedDict

import numpy as np
import pytest
from scipy import special
from sklearn.base import BaseEstimator

from skrank.datasets import make_ranking
from skrank.experiments import Experiment, make_folds
from skrank.experiments._described import described
from skrank.rankers import SubsetRegression


def by_closure(sign):
    def gain(y):
        return sign * y

    return gain


def by_default(sign):
    def gain(y, sign=sign):
        return sign * y

    return gain


def by_keyword(sign):
    def gain(y, *, sign=sign):
        return sign * y

    return gain


def by_attribute(sign):
    def gain(y):
        return gain.sign * y

    gain.sign = sign
    return gain


class Gain:
    def __init__(self, sign):
        self.sign = sign

    def __call__(self, y):
        return self.sign * y

    def gain(self, y):
        return self.sign * y


class Slots:
    __slots__ = ("sign",)

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, y):
        return self.sign * y


class SlotsAndMore(Slots):
    pass


class Up:
    sign = 1

    @classmethod
    def gain(cls, y):
        return cls.sign * y


class Down(Up):
    sign = -1


def by_class(sign):
    class Own(BaseEstimator):
        @property
        def sign(self):
            return sign

    return Own()


def by_method_of_class(kind):
    def make(sign):
        class Own(BaseEstimator):
            gain = kind(by_closure(sign))

        return Own()

    return make


def by_data_of_class(sign):
    class Own(BaseEstimator):
        signs = [sign]

    return Own()


def by_base(sign):
    base = by_class(sign)

    class Own(type(base)):
        pass

    return Own()


MAKERS = {
    "closure": by_closure,
    "default": by_default,
    "keyword": by_keyword,
    "attribute": by_attribute,
    "object": Gain,
    "slots": Slots,
    "slots and more": SlotsAndMore,
    "method": lambda sign: Gain(sign).gain,
    "class method": lambda sign: (Up if sign > 0 else Down).gain,
    "compiled method": lambda sign: [sign].count,
    "partial": lambda sign: functools.partial(by_closure, sign),
    "one line": lambda sign: (lambda y: y, lambda y: y * y)[sign > 0],
    "constant": lambda sign: (lambda y: y * 2, lambda y: y * 3)[sign > 0],
    "set": lambda sign: (lambda y: y in {2}, lambda y: y in {3})[sign > 0],
    "vectorized": lambda sign: np.vectorize(by_closure(sign)),
    "cache": lambda sign: functools.cache(by_closure(sign)),
    "wrapped": lambda sign: functools.wraps(len)(by_closure(sign)),
    "updated": lambda sign: functools.update_wrapper(Gain(sign), by_closure(1)),
    "getter": lambda sign: operator.itemgetter(sign),
    "ufunc": lambda sign: np.exp2 if sign > 0 else special.expit,
    "class": by_class,
    "function of a class": by_method_of_class(lambda f: f),
    "static": by_method_of_class(staticmethod),
    "class method of a class": by_method_of_class(classmethod),
    "cached": by_method_of_class(functools.cached_property),
    "data of a class": by_data_of_class,
    "base": by_base,
    "complex": lambda sign: sign * 1j,
    "date": lambda sign: np.datetime64(sign, "D"),
    "duration": lambda sign: np.timedelta64(sign, "D"),
    "dates": lambda sign: np.array([sign], dtype="M8[ns]"),
    "bytes": lambda sign: bytes([sign + 1]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_what_code_has_seen_describes_it(make):
    assert described(make(1)) == described(make(1))
    assert described(make(1)) != described(make(-1))


def test_what_holds_itself_is_described():
    def cycle(sign):
        own, inner = Gain(sign), [sign]
        own.inner = inner
        inner.append(own)
        return own

    assert described(cycle(1)) == described(cycle(1))
    assert described(cycle(1)) != described(cycle(-1))
    one, two = [1], [1]
    assert described([one, one]) == described([one, two])


def test_a_cell_without_content_is_described():
    def outer():
        def gain(y):
            return later * y

        before = described(gain)
        later = 2.0
        return before, described(gain)

    before, after = outer()
    assert before != after


@pytest.mark.parametrize(
    "value",
    [
        np.random.RandomState(0),
        np.frompyfunc(abs, 1, 1),
        (i for i in range(3)),
        functools.reduce(lambda inner, _: [inner], range(3000), None),
    ],
    ids=["random", "ufunc", "generator", "deep"],
)
def test_content_that_is_hidden_is_refused(value):
    with pytest.raises(TypeError, match=r"^the content of .* cannot be told"):
        described({"gain": value})


def test_modules_are_described_by_name():
    assert described(np) == {"name": "numpy:"}
    assert described(OrderedDict) == {"name": "collections:OrderedDict"}


@pytest.mark.parametrize("make", [by_default, lambda sign: Gain(sign).gain])
def test_stored_trainings_of_other_functions_are_not_taken(make, tmp_path):
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    folds = make_folds(X, y, groups, n_splits=3)
    rankers = {str(s): SubsetRegression(gain=make(s)) for s in (1.0, 2.0)}
    both = Experiment(rankers).run(folds, tmp_path)
    assert both.n_trained == 6
    other = Experiment({"1.0": SubsetRegression(gain=make(3.0))})
    assert other.run(folds, tmp_path).n_trained == 3
    assert Experiment(rankers).run(folds, tmp_path).n_stored == 6
