"""What learns does so wholly, or it is as it was before."""

import sys
import warnings
from copy import deepcopy
from functools import wraps
from pathlib import Path

import joblib
import numpy as np
import pytest
from _saved import ELSEWHERE, LOG, saved_of
from sklearn.exceptions import NotFittedError

import skrank
from skrank._core._unchanged import is_whole
from skrank.aggregation import MAPFuse
from skrank.click import CascadeModel
from skrank.datasets import make_ranking
from skrank.energies import NadarayaWatsonEnergy
from skrank.export._allowed import class_of_name, skrank_classes
from skrank.online import PDGD, DuelingBanditRanker, MultileaveRanker
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import MART, OnlineAggregatePRank, PRank, RankSVM
from skrank.text import BM25F, LetorFeatures
from skrank.trees import BinMapper, TreeEnsemble
from skrank.trees._ensemble import _NODE_FIELDS

PACKAGE = str(Path(skrank.__file__).parent)
# Each class is interrupted at so many lines of its code.
N_INTERRUPTS = 8


def _class_names():
    return sorted(
        name
        for name, cls in skrank_classes().items()
        if name not in ELSEWHERE
        and is_whole(getattr(cls, "fit", None))
        and not getattr(cls, "__abstractmethods__", None)
        and not cls.__name__.startswith("Base")
        and cls is not TreeEnsemble
    )


def interrupted_at(number, method, *args, **kwargs):
    """Call a method, which is interrupted at one of its lines in this package.

    Returns the number of lines that were run, and whether it was interrupted.
    """
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.endswith("_unchanged.py"):
            return None
        if event == "line":
            count += 1
            if count == number:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        method(*args, **kwargs)
    except KeyboardInterrupt:
        return count, True
    finally:
        sys.settrace(before)
    return count, False


def _refitted(name, monkeypatch):
    """Return a fitted object and the arguments of its fit."""
    cls, given = class_of_name(name), []
    original = vars(cls)["fit"]

    @wraps(original)
    def fit(self, *args, **kwargs):
        given.append((self, args, kwargs))
        return original(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(cls, "fit", fit)
        model = next(saved_of(name)).model
    _, args, kwargs = next(each for each in given if each[0] is model)
    return model, args, kwargs


@pytest.mark.parametrize("name", _class_names())
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_fit_changes_nothing(name, monkeypatch):
    model, args, kwargs = _refitted(name, monkeypatch)
    before = joblib.hash(vars(model))
    n_lines, _ = interrupted_at(0, model.fit, *args, **kwargs)
    assert n_lines > 3
    before = joblib.hash(vars(model))
    rng = np.random.default_rng(0)
    # Attributes are mostly stored at the end.
    lines = {n_lines, n_lines - 1, n_lines - 2, *rng.integers(1, n_lines, N_INTERRUPTS)}
    n_interrupts = 0
    for line in sorted(lines):
        n_interrupts += interrupted_at(line, model.fit, *args, **kwargs)[1]
        assert joblib.hash(vars(model)) == before, line
    assert n_interrupts


@pytest.mark.parametrize("method", ["partial_fit", "merge"])
def test_sessions_of_an_interrupted_call_are_not_counted(method):
    model, other = CascadeModel().fit(LOG), CascadeModel().fit(LOG)
    added = LOG if method == "partial_fit" else other
    before = joblib.hash(vars(model))
    n_lines, _ = interrupted_at(0, getattr(CascadeModel().fit(LOG), method), added)
    for line in range(1, n_lines + 1):
        assert interrupted_at(line, getattr(model, method), added)[1]
        assert joblib.hash(vars(model)) == before, line
    assert getattr(model, method)(added).n_sessions_ == 2 * len(LOG)


@pytest.mark.parametrize("cls", [OnlineAggregatePRank, PRank])
def test_parameters_that_are_learned_in_place_come_back(cls):
    X, y, groups = make_ranking(n_queries=8, random_state=0)
    ranker = cls(grades=[0, 1, 2, 3, 4], random_state=0).partial_fit(X, y, groups)
    params, before = ranker.params_, joblib.hash(vars(ranker))
    n_lines, _ = interrupted_at(0, deepcopy(ranker).partial_fit, -X, y, groups)
    for line in range(n_lines - 40, n_lines + 1):
        assert interrupted_at(line, ranker.partial_fit, -X, y, groups)[1]
        assert ranker.params_ is params
        assert joblib.hash(vars(ranker)) == before, line


def test_an_interrupted_fit_and_transform_changes_nothing():
    X, y, groups = make_ranking(
        n_queries=8, n_features=2, n_informative=2, random_state=0
    )
    encoder = QueryTargetEncoder([0]).fit(np.rint(X), y, groups)
    before = joblib.hash(vars(encoder))
    with pytest.raises(ValueError, match="y"):
        encoder.fit_transform(np.column_stack([X, X]), None, groups)
    assert joblib.hash(vars(encoder)) == before


@pytest.mark.parametrize("cls", [DuelingBanditRanker, MultileaveRanker, PDGD])
def test_a_proposal_that_fails_or_is_interrupted_leaves_nothing(cls):
    X, _, groups = make_ranking(n_queries=3, random_state=0)
    ranker = cls(random_state=0)
    before = joblib.hash(vars(ranker))
    for wrong in (None, groups[1:]):
        with pytest.raises(ValueError, match="groups"):
            ranker.propose(X, wrong)
        assert joblib.hash(vars(ranker)) == before
    n_lines, _ = interrupted_at(0, deepcopy(ranker).propose, X, groups)
    for line in range(1, n_lines, 7):
        assert interrupted_at(line, ranker.propose, X, groups)[1]
        assert joblib.hash(vars(ranker)) == before, line
    with pytest.raises(NotFittedError):
        ranker.predict(X)


def test_an_energy_that_is_not_set_up_again_is_as_it_was():
    X, y, _ = make_ranking(n_queries=3, random_state=0)
    energy = NadarayaWatsonEnergy(leave_one_out=False).setup(X, None, y)
    before = joblib.hash(vars(energy))
    with pytest.raises(ValueError, match=r"y must hold \d+ grades, got shape \(5,\)"):
        energy.setup(2 * X, None, y[:5])
    assert joblib.hash(vars(energy)) == before


def test_trees_that_are_not_appended_leave_the_others_alone():
    X, y, groups = make_ranking(n_queries=8, random_state=0)
    trees = MART(n_estimators=3).fit(X, y, groups).ensemble_
    before, bins = joblib.hash(vars(trees)), BinMapper().fit(X)
    leaf = {name: getattr(trees, f"{name}_")[:1] for name in _NODE_FIELDS}
    leaf |= {"feature": np.array([-1], dtype=np.int32), "categories": trees.categories_}
    leaf["bin"] = np.zeros(1, dtype=np.uint8)
    tree = [leaf], [0], bins
    n_lines, _ = interrupted_at(0, deepcopy(trees).append, *tree)
    for line in range(1, n_lines + 1):
        assert interrupted_at(line, trees.append, *tree)[1]
        assert joblib.hash(vars(trees)) == before, line


def test_arrays_that_cannot_be_written_to_stay_as_they_are():
    X, y, groups = make_ranking(n_queries=8, random_state=0)
    ranker = RankSVM().fit(X, y, groups)
    ranker.params_.setflags(write=False)  # as those of a file that is mapped
    params = ranker.params_
    with pytest.raises(ValueError, match="123 grades for 124 rows"):
        ranker.fit(X, y[1:], groups)
    assert ranker.params_ is params


def test_a_first_fit_that_fails_leaves_nothing():
    encoder = QueryTargetEncoder([0])
    with pytest.raises(ValueError, match="y"):
        encoder.fit(np.ones((3, 2)), None, [0, 0, 1])
    assert set(vars(encoder)) == set(encoder.get_params())


@pytest.mark.parametrize(
    ("model", "fit", "change"),
    [
        (
            BM25F(weights={"title": 1.0}),
            ({"title": ["a b", "b"]},),
            ({"body": ["a b", "b", "c"]},),
        ),
        (LetorFeatures(), (["a b", "b"],), ([3],)),
        (
            MAPFuse(),
            (np.arange(6.0).reshape(3, 2), [1, 0, 1], [0, 0, 1]),
            (np.arange(9.0).reshape(3, 3), None, [0, 0, 1]),
        ),
    ],
    ids=["weights of other fields", "no texts", "no judgements"],
)
def test_a_refused_fit_changes_nothing(model, fit, change):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*fit)
    before = joblib.hash(vars(model))
    with pytest.raises((ValueError, TypeError)):
        model.fit(*change)
    assert joblib.hash(vars(model)) == before


PROMISED = (
    "fit",
    "partial_fit",
    "fit_transform",
    "merge",
    "append",
    "propose",
    "setup",
)


def test_everything_that_learns_does_so_wholly():
    for cls in skrank_classes().values():
        for name in PROMISED:
            method = getattr(cls, name, None)
            if method is not None and method.__module__.startswith("skrank."):
                written = getattr(method, "__wrapped__", method)  # by scikit-learn
                assert is_whole(method) or is_whole(written), (cls, name)
