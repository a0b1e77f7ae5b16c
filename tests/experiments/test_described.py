"""Code that has seen different things trains different rankers, and is told apart."""

import functools
import importlib.util
import inspect
import json
import operator
import os
import py_compile
import subprocess
import sys
import warnings
from collections import UserDict, defaultdict
from datetime import date
from pathlib import Path
from random import Random
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pytest
from _modules import write_module
from scipy import linalg, sparse, special, stats
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skrank.datasets import make_ranking
from skrank.experiments import Experiment, _described, make_folds
from skrank.experiments._described import UntoldError, described
from skrank.rankers import RankNet, SubsetRegression


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
        return y

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


def by_fitted(sign):
    return LinearRegression().fit([[0.0], [1.0]], [0.0, sign])


def with_three_axes(sign):
    try:
        return sparse.coo_array(np.full((2, 1, 2), sign))
    except TypeError:
        pytest.skip("this version of SciPy has no such arrays")


def drawn(rng, n):
    rng.random_sample(n)
    return rng


def with_its_closure(own):
    return [own, by_closure(own)]


def by_masked(sign):
    return np.ma.array([1.0, 2.0], mask=[sign > 0, sign < 0])


def by_handlers(sign):
    def gain(y):
        try:
            return 1 / y
        except ZeroDivisionError:
            return 0

    if sign < 0:
        gain.__code__ = gain.__code__.replace(co_exceptiontable=b"")
    return gain


class OwnDict(dict):
    pass


class OwnList(list):
    pass


class OwnText(str):
    pass


class OwnFloat(float):
    pass


class OwnSet(set):
    pass


class SlotSet(set):
    __slots__ = ("sign",)


class OwnRows(sparse.csr_array):
    pass


class OwnPartial(functools.partial):
    pass


def with_state(kind, sign):
    return with_attribute(kind(), sign)


def with_attribute(own, sign):
    own.sign = sign
    return own


class Randomized(BaseEstimator):
    def __init__(self, rng=None):
        self.rng = rng


def by_request(sign):
    with config_context(enable_metadata_routing=True):
        return LinearRegression().set_fit_request(sample_weight=sign > 0)


def by_another_name(sign):
    @functools.wraps(np.mean)
    def gain(y):
        return sign * np.mean(y)

    return gain


def by_flags(sign):
    def gain(y):
        return y

    if sign < 0:
        flags = gain.__code__.co_flags | inspect.CO_ITERABLE_COROUTINE
        gain.__code__ = gain.__code__.replace(co_flags=flags)
    return gain


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
    "state of a dictionary": lambda sign: with_state(OwnDict, sign),
    "state of a list": lambda sign: with_state(OwnList, sign),
    "state of a text": lambda sign: with_state(OwnText, sign),
    "state of a float": lambda sign: with_state(OwnFloat, sign),
    "stands for another": by_another_name,
    "frozen": lambda sign: FrozenEstimator(by_fitted(sign)),
    "frozen in a list": lambda sign: [FrozenEstimator(by_fitted(sign))],
    "fitted, in a closure": lambda sign: by_closure(by_fitted(sign)),
    "fitted, in an array": lambda sign: np.array([by_fitted(sign)], dtype=object),
    "fitted, in a partial": lambda sign: functools.partial(by_closure, by_fitted(sign)),
    "keyword only": lambda sign: (lambda y, *, k: y, lambda y, k: y)[sign > 0],
    "positional only": lambda sign: (lambda y, k, /: y, lambda y, k: y)[sign > 0],
    "name of an argument": lambda sign: (lambda y, a: y, lambda y, b: y)[sign > 0],
    "handlers": by_handlers,
    "mapping of a user": lambda sign: UserDict(a=sign),
    "random state of a fitted one": lambda sign: FrozenEstimator(
        Randomized(np.random.RandomState(sign + 1))
    ),
    "place of a random state": lambda sign: FrozenEstimator(
        Randomized(drawn(np.random.RandomState(0), 2 + sign))
    ),
    "generator of a fitted one": lambda sign: FrozenEstimator(
        Randomized(np.random.default_rng(sign + 1))
    ),
    "output of a transformer": lambda sign: StandardScaler().set_output(
        transform="pandas" if sign > 0 else "default"
    ),
    "request": by_request,
    "callback, which may stop": lambda sign: RankNet(callback=by_closure(sign)),
    "fitted, as it is and to be cloned": lambda sign: with_its_closure(by_fitted(sign)),
    "list or tuple": lambda sign: (list, tuple)[sign > 0]([1, 2]),
    "set or frozenset": lambda sign: (set, frozenset)[sign > 0]([1, 2]),
    "slot of a set": lambda sign: with_state(SlotSet, sign),
    "state of sparse rows": lambda sign: with_attribute(OwnRows(np.eye(2)), sign),
    "class of sparse rows": lambda sign: (sparse.csr_array, sparse.csr_matrix)[
        sign > 0
    ](np.eye(2)),
    "shape of long numbers": lambda sign: np.zeros((2, 3)[::sign], np.longdouble),
    "types of fields": lambda sign: np.zeros(1, [("a", ("i4", "f4")[sign > 0])]),
    "long": lambda sign: 10**9999 + sign,
    "three axes": with_three_axes,
    "dtype": lambda sign: np.zeros(2, (int, float)[sign > 0]),
    "shape": lambda sign: np.zeros((2, 3)[::sign]),
    "shape of sparse rows": lambda sign: sparse.csr_array((2, 3 + sign)),
    "indices of sparse rows": lambda sign: sparse.csr_array(np.eye(2)[::sign]),
    "state of a set": lambda sign: with_state(OwnSet, sign),
    "class of a set": lambda sign: (set, OwnSet)[sign > 0]([1]),
    "attributes of a partial": lambda sign: with_attribute(
        functools.partial(by_closure, 1), sign
    ),
    "class of a partial": lambda sign: (functools.partial, OwnPartial)[sign > 0](abs),
    "bytes": lambda sign: bytes([sign + 1]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_what_code_has_seen_describes_it(make):
    assert described(make(1)) == described(make(1))
    assert described(make(1)) != described(make(-1))


def test_what_is_shared_is_described_as_if_it_were_not():
    one, two = [1], [1]
    assert described([one, one]) == described([one, two])
    assert described([one, [one, 2]]) == described([two, [one, 2]])
    for _ in range(60):
        one, two = [one, one], [two, two]
    assert described(one) == described(two)
    gain = by_closure(1)
    for _ in range(40):
        gain = composed(gain, gain)
    assert len(json.dumps(described(gain))) < 1000
    ranker = FrozenEstimator(SubsetRegression())
    assert described([ranker, (ranker,)]) == described(
        [FrozenEstimator(SubsetRegression()), (ranker,)]
    )


def composed(first, second):
    def gain(y):
        return first(second(y))

    return gain


def recursive(sign):
    def gain(y):
        return sign * gain(y - 1) if y else sign

    return gain


def in_itself():
    own = Gain(1)
    own.sign = [own]
    return own


def of_a_notebook(text="def own(y):\n    return y", **names):
    names |= {"__name__": "__main__", "Base": BaseEstimator}
    exec(text, names)
    return names["own"]


class Hiding:
    def __reduce__(self):
        raise ValueError("not for copying")


class Failing(BaseEstimator):
    def get_params(self, deep=True):
        raise ValueError("not now")


class Named:
    __wrapped__ = abs

    def __reduce__(self):
        return "nothing"


def local_class():
    class Own(BaseEstimator):
        pass

    return Own


def damaged_rows():
    rows = sparse.csr_array(np.eye(2))
    rows.indices[0] = 10**6
    return rows


UNTOLD = {
    "recursive function": lambda: recursive(1),
    "object that holds itself": in_itself,
    "local class": local_class,
    "object of a local class": lambda: local_class()(),
    "kind": lambda: type("Own", (Gain,), {})(1),
    "function without a file": of_a_notebook,
    "lambda without a file": lambda: eval("lambda y: y", {"__name__": __name__}),
    "function of no module": lambda: eval("lambda y: y", {}),
    "class without a file": lambda: of_a_notebook("class own(Base): pass")(),
    "closure over a lock": lambda: by_closure(Lock()),
    "lock": Lock,
    "generator": lambda: (i for i in range(3)),
    "view": lambda: {"a": 1}.keys(),
    "module": lambda: np,
    "ufunc": lambda: np.frompyfunc(abs, 1, 1),
    "hiding": Hiding,
    "named": Named,
    "failing": Failing,
    "weak": WeakKeyDictionary,
    "damaged": damaged_rows,
    "deep": lambda: functools.reduce(lambda inner, _: [inner], range(3000), None),
    "parameter of a measure": lambda: SubsetRegression(gain=of_a_notebook()),
    "in a pipeline": lambda: make_pipeline(FunctionTransformer(of_a_notebook())),
}


@pytest.mark.parametrize("make", UNTOLD.values(), ids=list(UNTOLD))
def test_content_that_cannot_be_told(make):
    with pytest.raises(UntoldError):
        described({"gain": make()})


@pytest.mark.parametrize(
    "kind", [np.random.RandomState, np.random.default_rng, Random, np.random.PCG64]
)
def test_sources_of_random_numbers_are_refused(kind):
    def beside_a_fitted_one(rng):
        return by_closure([FrozenEstimator(Randomized(rng)), rng])

    for make in (lambda rng: rng, Gain, by_closure, Randomized, beside_a_fitted_one):
        with pytest.raises(UntoldError, match="has another state after each use"):
            described(make(kind(0)))


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Write the text of a module, and import it, anew if it has been."""
    monkeypatch.syspath_prepend(tmp_path)
    given = set(sys.modules)

    def write(text, name):
        return write_module(tmp_path / f"{name}.py", text)

    def imported(text, name="own_module"):
        write(text, name)
        monkeypatch.delitem(sys.modules, name, raising=False)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    imported.write = write
    yield imported
    for name in set(sys.modules) - given:
        del sys.modules[name]


OWN = """
from sklearn.base import BaseEstimator, clone
class Own(BaseEstimator):
    column = {0}
def own(y):
    return {0} * y
def made(y):
    return lambda: y
"""


def parts_of(module):
    return module.Own(), module.Own, module.own, module.made(1), [lambda: module.own][0]


@pytest.mark.parametrize("name", ["own_module", "profile", "statistics", "code"])
@pytest.mark.parametrize("place", range(4))
def test_a_change_of_the_file_is_a_change(name, place, module_of):
    """Be it called like a module of Python."""
    tables = []
    for text in (OWN.format(1), OWN.format(2), OWN.format(1), OWN.format(1) + "# more"):
        tables.append(described(parts_of(module_of(text, name))[place]))
    assert tables[0] == tables[2]
    assert tables[0] not in (tables[1], tables[3])


@pytest.mark.parametrize(
    "of_own", ["Own(own_other.Base)", "Own(metaclass=own_other.Base)"]
)
def test_the_file_of_a_base_and_of_a_class_of_classes(of_own, module_of):
    tables = []
    for number in (1, 1, 2):
        module_of(f"class Base(type): n = {number}", "own_other")
        module = module_of(f"import own_other\nclass {of_own}: pass")
        tables.append(described(module.Own))
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize("place", range(4))
def test_a_file_that_has_changed_since_its_import(place, module_of):
    module = module_of(OWN.format(1))
    before = described(parts_of(module)[place])
    module_of.write(OWN.format(2), "own_module")
    for _ in range(2):
        with pytest.raises(UntoldError, match="may have changed since its import"):
            described(parts_of(module)[place])
    module = importlib.reload(module)
    assert described(parts_of(module)[place]) != before
    module_of.write(OWN.format(1), "own_module")
    assert described(parts_of(importlib.reload(module))[place]) == before


@pytest.mark.parametrize("edited", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_young_file_is_the_one_that_python_has_compiled(compiled, edited, module_of):
    """Before the first description nothing else tells what was imported."""
    path = module_of.write(OWN.format(1), "own_module")
    os.utime(path, (2e9, 2e9))
    if compiled:
        py_compile.compile(path)
    module = importlib.import_module("own_module")
    if edited:
        path.write_text(OWN.format(2))
        os.utime(path, (2e9 + 1, 2e9 + 1))
    for each in parts_of(module)[:4]:
        if compiled and not edited:
            described(each)
            continue
        with pytest.raises(UntoldError, match="may have changed since its import"):
            described(each)


def test_what_is_typed_is_not_in_the_file_that_came_before(tmp_path):
    path = tmp_path / "script.py"
    text = "class Own: pass\ndef own(y): return y\n"
    described_own = "from skrank.experiments._described import described\n"
    described_own += "print(described(Own)['name'], described(own)['name'])\n"
    for options, word in (((), "__main__:Own __main__:own"), (("-i",), "has no file")):
        write_module(path, text + ("" if options else described_own))
        found = subprocess.run(
            [sys.executable, *options, path],
            input=described_own if options else "",
            capture_output=True,
            text=True,
        )
        assert word in found.stdout + found.stderr


def test_an_installed_program_may_hold_code_of_its_user(module_of, monkeypatch):
    """Such as `python -m cProfile`, which runs scripts in its own place."""
    module = module_of(OWN.format(1), "__main__")
    monkeypatch.setattr(_described, "_INSTALLED", {Path(module.__file__).parent.name})
    before = described(module.Own)
    assert described(module_of(OWN.format(2), "__main__").Own) != before


def test_an_older_file_in_the_place_of_the_one_that_was_imported(module_of, tmp_path):
    path = module_of.write(OWN.format(1), "own_module")
    older = module_of.write(OWN.format(2), "older")
    os.utime(path, (1.1e9, 1.1e9))
    py_compile.compile(path)
    module = importlib.import_module("own_module")
    os.replace(older, path)
    with pytest.raises(UntoldError, match="may have changed since its import"):
        described(module.Own)


EXECUTED = """
class Ran(Own):
    def fit(self): pass
def ran(y):
    return y
"""


@pytest.mark.parametrize("name", ["Ran", "ran"])
def test_code_that_a_module_has_executed_is_not_from_its_file(name, module_of):
    module = module_of(OWN.format(1) + f"exec({EXECUTED!r})")
    assert getattr(module, name).__module__ == "own_module"
    with pytest.raises(UntoldError, match="is not from the file of its module"):
        described(getattr(module, name))


@pytest.mark.parametrize("name", ["one", "__call__"])
@pytest.mark.parametrize(
    "member", ["", "@property", "@staticmethod", "@classmethod", "@cached_property"]
)
def test_classes_that_give_another_module_as_theirs(member, name, module_of):
    """As packages do whose public names come from private modules."""
    tables = []
    for number in (1, 1, 2):
        text = f"from functools import cached_property\nclass Own:\n  n = {number}\n"
        text += f"  {member}\n  def {name}(self): pass\nOwn.__module__ = 'own_public'\n"
        module_of(text, "own_private")
        module = module_of("from own_private import Own", "own_public")
        tables.append(described(module.Own))
    assert tables[0] == tables[1] != tables[2]


DECORATED = """
import collections
import functools
from dataclasses import dataclass
from typing import NamedTuple
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils.metaestimators import available_if
@dataclass
class Data:
    n: int = {0}
    def both(self): return self.n
class Pair(NamedTuple):
    n: int = {0}
Old = collections.namedtuple("Old", "a b")
class Slots(frozenset):
    __slots__ = ()
class Own(BaseEstimator):
    _parameter_constraints = {{}}
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        super().__init__()
        return self
    @available_if(lambda self: True)
    def predict(self, X): return X[:, {0}]
    @functools.wraps(abs)
    def gain(self): return super().gain()
"""


@pytest.mark.parametrize("name", ["Data", "Own", "Pair", "Old", "Slots"])
def test_classes_with_decorated_methods(name, module_of):
    tables = [
        described(getattr(module_of(DECORATED.format(n)), name)) for n in (1, 1, 2)
    ]
    assert tables[0] == tables[1] != tables[2]


def test_distributions_of_searches_are_told_apart():
    """Their own sources of random numbers decide nothing: searches have seeds."""
    search = RandomizedSearchCV(LinearRegression(), {"a": stats.loguniform(1, 10)})
    assert described(search) == described(clone(search))
    steps = [stats.rv_discrete(values=([1, 6], p))() for p in ([1, 0], [0, 1])]
    for distribution in (stats.loguniform(1, 11), stats.uniform(1, 10), *steps):
        other = RandomizedSearchCV(LinearRegression(), {"a": distribution})
        assert described(other) != described(search)
    assert described(steps[0]) != described(steps[1])


NOISY = """
from scipy import stats
from sklearn.base import BaseEstimator
class Const(stats.distributions.rv_frozen): pass
class Tent(stats.rv_continuous):
    def __init__(self, k): self.k = k; super().__init__()
    def _updated_ctor_param(self): return {"k": self.k}
class Noisy(BaseEstimator):
    def __init__(self, noise): self.noise = noise
class Own(BaseEstimator):
    def __init__(self, param_distributions):
        self.param_distributions = param_distributions
"""


def test_distributions_with_a_source_of_numbers_are_not_told(module_of):
    """Whoever draws from them, other than a search, gets other numbers each time."""
    module = module_of(NOISY)
    usual, seeded = stats.norm(0, 1), stats.norm(0, 1)
    seeded.random_state = 0
    assert described(module.Noisy(usual)) == described(module.Noisy(stats.norm(0, 1)))
    searches = [RandomizedSearchCV(Ridge(), {"alpha": d}) for d in (usual, seeded)]
    assert described(searches[0]) == described(searches[1])
    lists = [RandomizedSearchCV(Ridge(), [{"alpha": d}]) for d in (usual, seeded)]
    assert described(lists[0]) == described(lists[1]) != described(searches[0])
    other = RandomizedSearchCV(Ridge(), {"tol": usual})
    assert described(other) != described(searches[0])
    step = FunctionTransformer(np.add, kw_args={"x": seeded})
    for value in (
        module.Noisy(seeded),
        [Ridge(), module.Noisy(seeded)],
        [searches[1], module.Noisy(seeded)],
        GridSearchCV(module.Noisy(1), {"noise": [seeded]}),
        RandomizedSearchCV(module.Noisy(1), {"noise": [seeded]}),
        make_pipeline(step, searches[1]),
        FunctionTransformer(seeded.rvs),
        module.Own({"alpha": seeded}),
    ):
        with pytest.raises(UntoldError, match="RandomState"):
            described(value)
    for own in (module.Const(stats.norm, 0, 1), module.Tent(k=1)(0)):
        with pytest.raises(UntoldError, match="RandomState"):
            described(RandomizedSearchCV(Ridge(), {"alpha": own}))


def test_fitted_estimators_in_a_set_of_an_own_class_count(module_of):
    """Nothing but plain sets is cloned part by part; others are copied as they are."""
    module = module_of("class Bag(set): pass")
    fitted = [Ridge().fit([[0.0], [1]], y) for y in ([0, 1], [1, 0])]
    bags = [described(module.Bag([each])) for each in fitted]
    assert bags[0] != bags[1]
    searches = [RandomizedSearchCV(Ridge(), {"a": [each]}) for each in fitted]
    assert described(searches[0]) == described(searches[1])
    for kind in (set, frozenset, list):  # whose clones are not fitted
        assert described(kind([fitted[0]])) == described(kind([fitted[1]]))
    other = module_of("class Bag(set): pass\nclass Sack(set): pass")
    assert described(other.Bag({1})) != described(other.Sack({1}))
    assert described({"a": 1, "b": 2}) != described({"b": 2, "a": 1})


COPIED = """
import decimal, enum
import numpy as np
class Handle:
    def __deepcopy__(self, memo): return self
    def __getstate__(self): return {}
class Kind(enum.Enum):
    A = 1
    B = 2
class Exact(decimal.Decimal): pass
class Rows(np.ndarray): pass
"""


def test_objects_that_copy_themselves_are_not_told(module_of):
    module = module_of(COPIED)
    with pytest.raises(UntoldError, match="says itself what a copy of it holds"):
        described(module.Handle())
    assert described(module.Kind.A) != described(module.Kind.B)
    assert described(module.Exact("0.1")) == described(module.Exact("0.1"))
    rows = [np.full(2, n).view(module.Rows) for n in (1, 1, 2)]
    assert described(rows[0]) == described(rows[1]) != described(rows[2])


@pytest.mark.parametrize(
    "kind", [sparse.csr_matrix, sparse.coo_array, sparse.dok_array]
)
def test_attributes_of_sparse_rows_count(kind):
    rows = [kind(np.eye(2)) for _ in range(3)]
    for row, sign in zip(rows, (1, 1, -1)):
        row.sign = sign
    plain = kind(np.eye(2))
    before = described(plain)
    _ = getattr(plain, "has_canonical_format", None), plain @ np.ones(2)
    assert described(rows[0]) == described(rows[1]) != described(rows[2])
    assert described(plain) == before != described(rows[0])


def test_scalars_of_numpy_that_do_other_things_than_those_of_python():
    pair = np.array([(1.0, -1.0)], [("a", float), ("b", float)])[0]
    same = np.array([(1.0, -1.0)], [("b", float), ("a", float)])[0]
    assert described(pair) != described(same)
    narrow = np.array([(1.0, -1.0)], [("a", float), ("b", "f4")])[0]
    assert described(pair) != described(narrow)
    turned = np.array([(-1.0, 1.0)], [("b", float), ("a", float)])[0]
    assert described(pair) != described(turned)
    for kind in (np.uint8, np.int64):  # others overflow beside small numbers
        assert described(kind(200)) != described(200)
    assert described(np.float64(0.5)) != described(0.5)
    assert described(np.float64(0.5)) == described(np.float64(0.5))
    assert described(np.float64(0.5)) != described(np.array(0.5))
    assert described(np.str_("a")) == described("a")
    days = [np.datetime64("2020"), np.datetime64("2020-01-01"), date(2020, 1, 1)]
    assert len({str(described(day)) for day in days}) == 3
    assert described(np.datetime64("NaT", "D")) != described(None)


def test_sets_are_described_without_an_order(module_of, tmp_path):
    module_of.write("class Own(set): pass", "own_module")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import own_module; from "
    code += "skrank.experiments._described import described; "
    code += "print(described([{*'abcdef'}, own_module.Own('abcdef')]))"
    tables = {
        subprocess.run(
            [sys.executable, "-c", code, tmp_path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(tables) == 1


def test_what_is_typed_is_not_in_a_file_that_was_run_before(module_of, monkeypatch):
    """As in shells that leave the name of the last script."""
    own = module_of(OWN.format(1), "__main__").Own
    described(own)
    monkeypatch.setattr(sys, "ps1", "> ", raising=False)
    with pytest.raises(UntoldError, match="has no file"):
        described(own)


def test_a_file_that_is_gone(module_of, tmp_path):
    module = module_of(OWN.format(1))
    os.remove(tmp_path / "own_module.py")
    with pytest.raises(UntoldError, match="has no file"):
        described(module.Own())


def test_other_code_under_the_name_of_a_module(module_of):
    """A class that replaced another one, and code that a file did not hold."""
    module = module_of(OWN.format(1))
    old = module.Own
    module.Own = type("Own", (BaseEstimator,), {"__module__": "own_module"})
    with pytest.raises(UntoldError, match="not what its module has by its name"):
        described(old())
    exec("made = lambda y: y", vars(module))
    module.made.__qualname__ = "elsewhere"
    with pytest.raises(UntoldError, match="is not from the file of its module"):
        described(module.made)


def test_a_cell_without_content_is_described():
    def outer():
        def gain(y):
            return later * y

        before = described(gain)
        later = 2.0
        return before, described(gain)

    before, after = outer()
    assert before != after


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


def test_scalars_of_own_classes(module_of):
    code = "import numpy as np\nclass One(np.float64): pass\n"
    module = module_of(code + "class Two(np.float64): pass\n")
    assert described(module.One(1)) == described(module.One(1))
    kinds = module.One, module.Two, np.float64, float
    assert len({str(described(kind(1))) for kind in kinds}) == 4
    marked = module.One(1)
    marked.sign = -1
    assert described(marked) != described(module.One(1))
    assert described(module.One(1)) != described(module.One(2))


def test_attributes_of_distributions_count():
    choices = [stats.norm(0, 1) for _ in range(2)]
    assert described(choices[0]) == described(choices[1])
    choices[1].label = 5
    assert described(choices[0]) != described(choices[1])


@pytest.mark.parametrize("legacy", [False, "1.13"])
def test_numbers_longer_than_those_of_python_in_any_print(legacy):
    numbers = ["0.1", "-0.1", "1e4000", "-0", "0", "nan", "inf", "-inf", "1e-4900"]
    with np.printoptions(legacy=legacy, precision=3):
        told = {str(described(np.longdouble(number))) for number in numbers}
        near = np.nextafter(np.longdouble("0.1"), np.longdouble(1))
        told |= {str(described(near)), str(described(np.longdouble(0.1)))}
    if np.dtype(np.longdouble).itemsize > 8:
        assert len(told) == len(numbers) + 2
    for order in "<>":
        rows = [np.array([n, 1], f"{order}f{near.itemsize}") for n in (2, 3)]
        assert described(rows[0]) != described(rows[1])
        assert described(rows[0]) == described(rows[0].copy())
    both = [np.clongdouble(complex(a, b)) for a, b in ((1, 2), (2, 1), (1, -2))]
    assert len({str(described(number)) for number in both}) == 3


def test_numbers_longer_than_those_of_python():
    long = np.longdouble("0.1")
    for kind in (lambda real: real, lambda real: real * np.clongdouble(1j)):
        assert described(kind(long)) == described(kind(np.longdouble("0.1")))
        assert described(kind(long)) != described(kind(np.longdouble(0.1)))


def test_bytes_between_numbers_are_no_content():
    layout = np.dtype([("a", "i1"), ("b", "f8"), ("c", object)], align=True)
    one, two = (np.frombuffer(bytes([k]) * 48, "u1").copy() for k in (1, 2))
    for rows in (one, two):
        plain = rows.view(np.dtype([("a", "i1"), ("b", "f8")], align=True))
        plain["a"], plain["b"] = 1, 2.0
    assert described(one.view(plain.dtype)) == described(two.view(plain.dtype))
    rows = np.zeros(2, layout)
    before = described(rows)
    rows["c"][1] = 1
    assert described(rows) != before
    if np.dtype(np.clongdouble).itemsize == 32:  # of which 12 say nothing
        one, two = (np.full(32, k, np.uint8) for k in (1, 2))
        for k, raw in enumerate((one, two)):
            number = raw.view(np.clongdouble)
            number[0] = 1
            raw[10:16] = raw[26:32] = k
        assert described(one.view(number.dtype)) == described(two.view(number.dtype))
    long = np.array(["0.1"], np.longdouble)
    assert described(long) == described(np.array(["0.1"], np.longdouble))
    assert described(long) != described(np.array([0.1], np.longdouble))


def test_parts_made_for_the_description_stay_apart(module_of):
    """Another object may come to the place of one that nobody holds any longer."""
    code = "class Own:\n    def __init__(self, n): self.n = n\n"
    code += "    def __reduce__(self): return Own, ([self.n],)\n"
    own = module_of(code).Own
    assert described([own(1), own(2)]) != described([own(1), own(1)])


def test_functions_behind_others_are_described_by_name():
    assert "bandwidth" in described(linalg.bandwidth)["name"]


@pytest.mark.parametrize("name", ["mean", "nan_to_num", "concatenate", "linalg.norm"])
def test_functions_of_numpy_are_described_by_name(name):
    function = operator.attrgetter(name)(np)
    assert described(function)["name"].endswith(name.rpartition(".")[2])
    described(FeatureAgglomeration(pooling_func=function))


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


def test_trainings_that_cannot_be_recognised_are_repeated(tmp_path):
    X, y, groups = make_ranking(n_queries=6, random_state=0)
    folds = make_folds(X, y, groups, n_splits=3)
    known = {"known": SubsetRegression()}
    first = Experiment(known).run(folds, tmp_path)
    own = {"own": SubsetRegression(gain=of_a_notebook())}
    for n_unused in (0, 3):
        with pytest.warns(
            UserWarning,
            match=r"<function own .*> .* file.*, so that no later run can recognise "
            r"the trainings of rankers\['own'\], and each",
        ):
            result = Experiment(known | own).run(folds, tmp_path)
        assert (result.n_trained, result.n_stored) == (3, 3)
        assert result.n_unused == n_unused
        assert result.fold_means["known"] == first.fold_means["known"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_program_that_is_edited_before_it_imports_skrank(is_edited, tmp_path):
    """What it has run is not what its file says by then."""
    program = tmp_path / "program.py"
    program.write_text(
        "import time\n"
        f"if {is_edited}:\n"
        "    time.sleep(0.3)\n"
        "    open(__file__, 'a').write('# edited')\n"
        "class Own: pass\n"
        "from skrank.experiments._described import UntoldError, described\n"
        "try: described(Own())\n"
        "except UntoldError as error: print(error)\n"
        "else: print('told')\n"
    )
    found = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True
    ).stdout
    expected = "may have changed since its import" if is_edited else "told"
    assert expected in found
