"""Code that has seen different things trains different rankers, and is told apart."""

import functools
import inspect
import operator
import sys
import warnings
from abc import ABC
from collections import OrderedDict, UserDict, defaultdict
from threading import Lock
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, special
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.cluster import FeatureAgglomeration
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.experiments import Experiment, make_folds
from skrank.experiments._described import _TOLD, described
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


class Locked(BaseEstimator):
    lock = Lock()


class Viewing(BaseEstimator):
    names = {"a": 1}.keys()
    numbers = (i for i in range(3))


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


def by_member(make):
    def by_class(sign):
        class Own(BaseEstimator):
            gain = make(sign)

        return Own()

    return by_class


def by_kind(sign):
    return type("Own", (BaseEstimator,), {"sign": sign})()


def by_fitted(sign):
    return LinearRegression().fit([[0.0], [1.0]], [0.0, sign])


def by_masked(sign):
    return np.ma.array([1.0, 2.0], mask=[sign > 0, sign < 0])


def without_a_file(text):
    """Return what a text makes, as a notebook would."""
    names = {"__name__": "nowhere"}
    exec(text, names)
    return names["made"]


def by_global(sign):
    return without_a_file(f"""
lock = __import__("threading").Lock()
sign = {sign}
def gain(y):
    with lock:
        return later(y) if y else 0
def made(y):
    return (lambda: gain(y))()
def later(y):
    return made(y - 1) + sign
""")


def by_class_without_a_file(sign):
    return without_a_file(f"""
class made:
    def gain(self, y):
        return {sign} * y
""")


def by_nameless_function(sign):
    gain = eval(f"lambda y: y * {sign}", {})
    assert gain.__module__ is None or gain.__module__ == "builtins"
    return gain


def by_property(place):
    def make(sign):
        class Own(BaseEstimator):
            gain = property(*[by_closure(sign if i == place else 0) for i in range(3)])

        return Own()

    return make


def by_call(sign):
    class Own(BaseEstimator):
        __call__ = functools.partial(np.multiply, sign)

    return Own()


def by_abstract_class(sign):
    class Own(ABC, BaseEstimator):
        gain = sign

    return Own()


def by_handlers(sign):
    def gain(y):
        try:
            return 1 / y
        except ZeroDivisionError:
            return 0

    if sign < 0:
        gain.__code__ = gain.__code__.replace(co_exceptiontable=b"")
    return gain


def by_subclass(kind):
    class Own(kind):
        pass

    def make(sign):
        own = Own()
        own.sign = sign
        return own

    return make


class Randomized(BaseEstimator):
    def __init__(self, rng=None):
        self.rng = rng


def by_request(sign):
    with config_context(enable_metadata_routing=True):
        return LinearRegression().set_fit_request(sample_weight=sign > 0)


def by_another_name(sign):
    text = f"""
import functools, numpy
sign = {sign}
@functools.wraps(numpy.mean)
def made(y):
    return sign * numpy.mean(y)
"""
    return without_a_file(text)


def by_flags(sign):
    def gain(y):
        return y

    if sign < 0:
        flags = gain.__code__.co_flags | inspect.CO_ITERABLE_COROUTINE
        gain.__code__ = gain.__code__.replace(co_flags=flags)
    return gain


def by_depth(sign):
    outer, inner = [], []
    outer.append([inner])
    inner.append(outer if sign > 0 else inner)
    return outer


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
    "structure": lambda sign: np.zeros(1, [("ab"[sign > 0], "f8")]),
    "objects in a structure": lambda sign: np.array([(sign,)], [("a", object)]),
    "masked": by_masked,
    "object without axes": lambda sign: np.array(sign, dtype=object),
    "shape of objects": lambda sign: np.full((2, 3)[::sign], None),
    "fill value": lambda sign: np.ma.array([1.0, 2.0], fill_value=sign),
    "flags": by_flags,
    "default of a mapping": lambda sign: defaultdict((int, float)[sign > 0]),
    "series": lambda sign: pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]))[
        ::sign
    ],
    "imaginary": lambda sign: complex(1.0, sign),
    "signature": lambda sign: (lambda y, *k: y, lambda y, k=(): y)[sign > 0],
    "names": lambda sign: (lambda y: y.min, lambda y: y.max)[sign > 0],
    "keywords": lambda sign: functools.partial(by_closure, sign=sign),
    "member: ufunc": by_member(lambda sign: np.positive if sign > 0 else np.negative),
    "member: partial": by_member(lambda sign: functools.partial(np.multiply, sign)),
    "member: class": by_member(lambda sign: Up if sign > 0 else Down),
    "member: class in it": by_member(lambda sign: type(by_class(sign))),
    "member: estimator": by_member(lambda sign: SubsetRegression(gain=sign)),
    "member: cache": by_member(lambda sign: functools.lru_cache(by_closure(sign))),
    "member: partial method": by_member(
        lambda sign: functools.partialmethod(by_closure(1), sign)
    ),
    "getter of a property": by_property(0),
    "setter of a property": by_property(1),
    "deleter of a property": by_property(2),
    "kind": by_kind,
    "frozen": lambda sign: FrozenEstimator(by_fitted(sign)),
    "frozen in a list": lambda sign: [FrozenEstimator(by_fitted(sign))],
    "fitted, in a closure": lambda sign: by_closure(by_fitted(sign)),
    "global": by_global,
    "class without a file": by_class_without_a_file,
    "nameless": by_nameless_function,
    "fitted, in an array": lambda sign: np.array([by_fitted(sign)], dtype=object),
    "fitted, in a partial": lambda sign: functools.partial(by_closure, by_fitted(sign)),
    "call": by_call,
    "abstract": by_abstract_class,
    "keyword only": lambda sign: (lambda y, *, k: y, lambda y, k: y)[sign > 0],
    "positional only": lambda sign: (lambda y, k, /: y, lambda y, k: y)[sign > 0],
    "name of an argument": lambda sign: (lambda y, a: y, lambda y, b: y)[sign > 0],
    "handlers": by_handlers,
    "mapping of a user": lambda sign: UserDict(a=sign),
    "state of a dictionary": by_subclass(dict),
    "state of a set": by_subclass(set),
    "state of a list": by_subclass(list),
    "state of a text": by_subclass(str),
    "state of a float": by_subclass(float),
    "random state of a fitted one": lambda sign: FrozenEstimator(
        Randomized(np.random.RandomState(sign + 1))
    ),
    "generator of a fitted one": lambda sign: FrozenEstimator(
        Randomized(np.random.default_rng(sign + 1))
    ),
    "output of a transformer": lambda sign: StandardScaler().set_output(
        transform="pandas" if sign > 0 else "default"
    ),
    "request": by_request,
    "stands for another": by_another_name,
    "depth": by_depth,
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
        Gain(np.random.default_rng(0)),
        np.frompyfunc(abs, 1, 1),
        (i for i in range(3)),
        functools.reduce(lambda inner, _: [inner], range(3000), None),
    ],
    ids=["random", "within", "ufunc", "generator", "deep"],
)
def test_content_that_is_hidden_is_refused(value):
    with pytest.raises(TypeError, match=r"^the content of .* cannot be told"):
        described({"gain": value})


def test_a_fitted_estimator_is_trained_again():
    rankers = by_fitted(1), by_fitted(-1), LinearRegression()
    for around in (
        lambda one: one,
        lambda one: [(one,)],
        lambda one: {"a": {one}},
        lambda one: make_pipeline(StandardScaler(), one),
        lambda one: BaggingRegressor(make_pipeline(one)),
    ):
        first, *others = (described(around(one)) for one in rankers)
        assert all(other == first for other in others)


class Counting(BaseEstimator):
    n_calls, seen = 0, []


def test_what_a_class_of_a_file_counts_does_not_change_it():
    before = described(Counting())
    Counting.n_calls += 1
    Counting.seen.append(1)
    assert described(Counting()) == before


class Registered(BaseEstimator):
    registry = []

    def __init_subclass__(cls):
        Registered.registry.append(cls)


class First(Registered):
    pass


class Second(Registered):
    pass


def test_classes_are_described_alike_wherever_they_stand():
    tables = []
    for others in ([First, Second, Registered], [Second, Registered, First]):
        _TOLD.clear()
        tables.append({each: described(each()) for each in others})
        assert tables[-1] == {each: described([each()])[0] for each in others}
    assert tables[0] == tables[1]


def test_numbers_longer_than_those_of_python():
    long = np.longdouble("0.1")
    for kind in (lambda real: real, lambda real: real * np.clongdouble(1j)):
        assert described(kind(long)) == described(kind(np.longdouble("0.1")))
        assert described(kind(long)) != described(kind(np.longdouble(0.1)))


def test_functions_behind_others_are_described_by_name():
    assert "bandwidth" in described(linalg.bandwidth)["name"]


@pytest.mark.parametrize("name", ["mean", "nan_to_num", "concatenate", "linalg.norm"])
def test_functions_of_numpy_are_described_by_name(name):
    function = operator.attrgetter(name)(np)
    assert described(function)["name"].endswith(name.rpartition(".")[2])
    made = f"import numpy\ndef made(y):\n    return numpy.{name}(y)\nf = numpy.{name}\n"
    assert described(without_a_file(made)) == described(without_a_file(made))
    described(without_a_file(f"import numpy as np\nf = np.{name}\ndef made(y): f(y)\n"))
    described(FeatureAgglomeration(pooling_func=function))


def test_functions_by_the_name_of_another_are_described_by_their_file():
    @functools.wraps(np.mean)
    def gain(y):
        return y

    told = described(gain)
    assert told["name"] == f"{__name__}:mean"


def test_views_and_generators_of_a_class_are_left_to_its_file():
    assert described(Viewing()) == described(Viewing())


@pytest.mark.parametrize("fitted", [GradientBoostingRegressor, MLPRegressor])
def test_frozen_estimators_with_random_states(fitted):
    options = {"random_state": 0, "max_iter": 2} if fitted is MLPRegressor else {}
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = (fitted(**{"random_state": 0, **options}) for _ in range(2))
        first.fit(X, y)
        second.fit(X, -y)
    assert described(FrozenEstimator(first)) != described(FrozenEstimator(second))
    assert described(FrozenEstimator(first)) == described(FrozenEstimator(first))


def test_what_hides_its_content_is_left_to_its_file(monkeypatch):
    assert described(Locked()) == described(Locked())

    class Own(Locked):
        lock = Lock()

    module = ModuleType("nowhere")
    monkeypatch.setitem(sys.modules, "nowhere", module)
    exec("import threading\nclass Own:\n    lock = threading.Lock()\n", vars(module))
    for without in (Own(), module.Own()):
        with pytest.raises(TypeError, match=r"^the content of .* cannot be told"):
            described(without)


def test_calls_do_not_change_what_is_told_of_a_generic_function():
    gain = functools.singledispatch(by_closure(1))
    before = described(gain)
    gain(2.0)
    assert described(gain) == before


def test_functions_that_use_each_other_are_described_once():
    text = "def f0(y): return y\n"
    for k in range(1, 40):
        text += f"def f{k}(y): return f{k - 1}(f{max(k - 2, 0)}(y))\n"
    made = [without_a_file(text + "made = f39") for _ in range(2)]
    assert described(made[0]) == described(made[1])


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
