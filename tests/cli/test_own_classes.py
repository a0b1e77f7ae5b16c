"""Classes of the user's own that are no estimators: one clear line for each."""

import sys

import pytest

_MODULE = """
import abc

from sklearn.base import BaseEstimator


class Good(BaseEstimator):
    def __init__(self, a=1):
        self.a = a

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.a * X[:, 0]


class Bare:
    fit, predict = Good.fit, Good.predict


class OnlyGets(Bare):
    def get_params(self, deep=True):
        return {}


class Needs(Good):
    def __init__(self, a):
        self.a = a


class Several(Good):
    def __init__(self, *a):
        self.a = a


class Changes(Good):
    def __init__(self, a=1):
        self.a = a + 1


class Forgets(Good):
    def __init__(self, a=1):
        pass


class GetsNothing(Good):
    def get_params(self, deep=True):
        return None


class Picky(Good):
    def __init__(self, a=1):
        raise ValueError("not today")


class Abstract(Good, abc.ABC):
    @abc.abstractmethod
    def more(self):
        ...


class _Strange(type):
    def __call__(cls):
        return 3


class Strange(Good, metaclass=_Strange):
    pass


class CannotFit(BaseEstimator):
    predict = Good.predict


def make():
    return Good()


made = Good()
"""
_CLASS = "must be a class with get_params and set_params, such as those derived from"
_CLONE = "cannot be cloned; its constructor must store each argument under its own name"
_MISTAKES = {
    "Bare": _CLASS,
    "OnlyGets": _CLASS,
    "make": _CLASS,
    "made": _CLASS,
    "Needs": "cannot be made without arguments: give a a default",
    "Several": _CLONE,
    "Changes": _CLONE,
    "Forgets": _CLONE,
    "GetsNothing": _CLONE,
    "Picky": "cannot be made: not today",
    "Abstract": "cannot be made: Can't instantiate abstract class Abstract",
    "Strange": "must make objects of its own class, made 3",
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Name of a module in the working directory."""
    name = "own_classes_of_a_user"
    (tmp_path / f"{name}.py").write_text(_MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield name
    for module in [name, *(m for m in sys.modules if m.startswith("faulty_own_"))]:
        sys.modules.pop(module, None)


def test_an_estimator_is_enough(ok, own, letor):
    assert "Good(a=2)" in ok(
        "fit", letor / "train.txt", "--ranker", f"{own}:Good", "--set", "a=2"
    )


@pytest.mark.parametrize(("name", "message"), _MISTAKES.items())
def test_a_ranker_that_is_no_estimator(fails, own, letor, tmp_path, name, message):
    train, ranker = letor / "train.txt", f"{own}:{name}"
    error = fails("fit", train, "--ranker", ranker, "--seed", "1", "--save", "model")
    assert error.startswith(f"ranker '{ranker}' {message}")
    error = fails("experiment", train, "--folds", "3", "--ranker", ranker, "-o", "out")
    assert error.startswith(f"row '{ranker}': ranker '{ranker}' {message}")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("ranker", "part"),
    [
        ("NestedRanker", "estimator"),
        ("EnergyRanker", "loss"),
        ("EnergyRanker", "energy"),
        ("EnergyRanker", "solver"),
    ],
)
@pytest.mark.parametrize("name", ["Bare", "OnlyGets", "Needs", "Changes", "make"])
def test_a_part_that_is_no_estimator(fails, own, letor, ranker, part, name):
    setting = f"{part}={own}:{name}"
    error = fails("fit", letor / "train.txt", "--ranker", ranker, "--set", setting)
    assert error.startswith(f"{part} '{own}:{name}' {_MISTAKES[name]}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Bare", _CLASS),
        ("Needs", _MISTAKES["Needs"]),
        ("Good", "must be a class derived from skrank.aggregation.BaseAggregator, got"),
    ],
)
def test_a_method_that_is_no_aggregator(fails, own, tmp_path, name, message):
    for run in "ab":
        (tmp_path / run).write_text(f"q Q0 d 1 2.0 {run}\n")
    error = fails("fuse", "a", "b", "--method", f"{own}:{name}")
    assert error.startswith(f"method '{own}:{name}' {message}")


def test_a_ranker_that_cannot_fit(fails, own, letor):
    error = fails("fit", letor / "train.txt", "--ranker", f"{own}:CannotFit")
    assert error == f"ranker '{own}:CannotFit' must have fit and predict"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 / 0", "importing {0} failed: ZeroDivisionError: division by zero"),
        ("def f(:", "importing {0} failed: SyntaxError: invalid syntax"),
        ("raise SystemExit", "importing {0} failed: SystemExit"),
        ("import not_there.x", "importing {0} failed: there is no module 'not_there'"),
        ("import not_there_either", "importing {0} failed: there is no module 'not_"),
    ],
)
def test_a_module_that_cannot_be_imported(fails, own, letor, tmp_path, code, message):
    name = f"faulty_own_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(f"{code}\n")
    error = fails("fit", letor / "train.txt", "--ranker", f"{name}:A")
    assert error.startswith(f"ranker '{name}:A': {message.format(name)}")
    missing = fails("fit", letor / "train.txt", "--ranker", "no_such.module:A")
    assert missing.startswith("ranker 'no_such.module:A': there is no module 'no_such'")
