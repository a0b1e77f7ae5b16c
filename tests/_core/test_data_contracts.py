"""Contracts of every public class of text, preprocessing, model_selection and trees.

The classes are found by a walk, and tried with the arguments that they name as worth
testing, so that a new class or option cannot escape.
"""

import dataclasses
import inspect
import pickle
import types
import typing

import numpy as np
import numpy.typing as npt
import pytest
from _public import public_objects
from sklearn.base import TransformerMixin, clone
from sklearn.model_selection import GridSearchCV

from skrank import (
    model_selection,
    preprocessing,
    rankers,
    retrieval,
    selection,
    text,
    trees,
)
from skrank._core._parameters import Parameters
from skrank.model_selection import (
    QueryKFold,
    QueryShuffleSplit,
    RepeatedQueryKFold,
    StratifiedQueryKFold,
)

ROOMS = (
    "text",
    "retrieval",
    "preprocessing",
    "model_selection",
    "selection",
    "trees",
    "datasets",
)
# Records that functions return, and a fold that opens files.
NO_PARAMETERS = {
    "skrank.click.ClickPreferences",
    "skrank.click.ClickRows",
    "skrank.click.InteractionFeatures",
    "skrank.click.Sessions",
    "skrank.datasets.CranfieldData",
    "skrank.datasets.JudgedRun",
    "skrank.datasets.LetorFold",
    "skrank.datasets.Qrels",
    "skrank.datasets.RankingData",
    "skrank.datasets.Run",
    "skrank.datasets.TextRecord",
    "skrank.model_selection.QueryLearningCurve",
    "skrank.selection.ActiveLearningRun",
    "skrank.selection.SelectorComparison",
    "skrank.selection.TrainingSelection",
    "skrank.text.LinkGraph",
    "skrank.text.Postings",
    "skrank.text.SiteMap",
    "skrank.text.TextCollection",
}
PUBLIC = {
    name: member
    for name, member in public_objects()
    if name.split(".")[1] in ROOMS and inspect.isclass(member)
}


def is_abstract(cls):
    """Whether a method is left to subclasses, with or without the help of ABCMeta."""
    members = (getattr(cls, name, None) for name in dir(cls))
    return any(getattr(member, "__isabstractmethod__", False) for member in members)


CLASSES = [
    cls
    for name, cls in PUBLIC.items()
    if name not in NO_PARAMETERS and not is_abstract(cls)
]
VARIANTS = [(cls, variant) for cls in CLASSES for variant in cls._variants()]
DECLARED = [
    (cls, name)
    for cls in CLASSES
    for name in (field.name for field in dataclasses.fields(cls))
    if typing.get_type_hints(cls, include_extras=True)[name] is not typing.Any
]
DOCUMENTS = ["sort an array", "invert a matrix", "sort the rows of a matrix", ""]


def identify(value):
    if inspect.isclass(value):
        return value.__name__
    return repr(value).replace(" ", "")


over_variants = pytest.mark.parametrize(("cls", "variant"), VARIANTS, ids=identify)


def is_temporal(splitter):
    """Whether a splitter takes times, and parts of the rows of a query."""
    return isinstance(splitter, model_selection.TemporalQuerySplit)


def use(instance):
    """Call what checks the parameters of an instance first."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 5)
    X, y = rng.integers(0, 9, size=(60, 3)) * 1.0, rng.integers(0, 3, 60)
    if hasattr(instance, "split"):
        times = {"times": rng.random(60)} if is_temporal(instance) else {}
        return list(instance.split(X, y, groups, **times))
    if isinstance(instance, selection.BaseActiveSelector):
        judged = np.ma.masked_array(y, mask=np.arange(60) % 2)
        ranker = rankers.RankSVM().fit(X, y, groups=groups)
        return instance.select(ranker, X, groups, 1, y=judged)
    if isinstance(instance, selection.BaseTrainingSelector):
        return instance.select(X, groups, y=y)
    if isinstance(instance, text.Tokenizer):
        return instance("some text")
    if isinstance(instance, retrieval.TextRanker):
        ids = [f"d{i}" for i in range(80)]
        documents = text.TextCollection(ids, {"text": DOCUMENTS * 20})
        # "sort" is in documents of two kinds, of which the shorter are better.
        grades = [float(i % 4 == 0) for i in range(80)]
        return instance.fit([("sort", d) for d in ids], grades, documents=documents)
    if isinstance(instance, trees.TreeEnsemble):
        return instance.empty(instance.n_outputs)
    if isinstance(instance, text.PairFeatures):
        names = (instance.query, "title", "body")
        return instance.fit(dict.fromkeys(names, DOCUMENTS))
    if isinstance(instance, text.BaseLinkModel):
        return instance.fit(np.eye(3), [1, 0, 1])
    if type(instance).__module__.startswith("skrank.text"):
        return instance.fit(DOCUMENTS)
    if isinstance(instance, (trees.BinMapper, trees.CategoryEncoder)):
        return instance.fit(X)
    return instance.fit(X, y, groups=groups)


def test_every_class_declares_its_parameters():
    for name, cls in PUBLIC.items():
        assert issubclass(cls, Parameters) != (name in NO_PARAMETERS), name
        if issubclass(cls, Parameters):
            # dataclass leaves its mark: a constructor written by hand has no signature
            assert hasattr(cls.__init__, "__signature__"), name


@over_variants
def test_variants_can_be_used(cls, variant):
    instance = cls(**variant)
    before = repr(instance.get_params())
    use(instance)
    assert repr(instance.get_params()) == before


@over_variants
def test_clone_pickle_and_set_params(cls, variant):
    instance = cls(**variant)
    expected = repr(instance.get_params())
    first = cls(**cls._variants()[0])
    for copy in (
        clone(instance),
        pickle.loads(pickle.dumps(instance)),
        first.set_params(**instance.get_params(deep=False)),
    ):
        assert type(copy) is cls
        assert repr(copy.get_params()) == expected


@over_variants
def test_repr_is_code(cls, variant):
    if any(inspect.isroutine(value) for value in variant.values()):
        pytest.skip("functions have no such representation")
    names: dict = {"array": np.array, "inf": np.inf}
    rooms = (text, retrieval, preprocessing, model_selection, selection, trees, rankers)
    for room in rooms:
        names |= {name: getattr(room, name) for name in room.__all__}
    instance = cls(**variant)
    assert repr(eval(repr(instance), names).get_params()) == repr(instance.get_params())


@pytest.mark.parametrize(("cls", "name"), DECLARED, ids=identify)
def test_wrong_parameters_are_named_in_one_wording(cls, name):
    instance = cls(**cls._variants()[0])
    setattr(instance, name, object())
    for error in (ValueError, TypeError):
        with pytest.raises(
            error, match=f"^{cls.__name__}: {name} must be .*, got <obj"
        ):
            use(instance)


@pytest.mark.parametrize("cls", CLASSES)
def test_variants_name_every_choice(cls):
    hints = typing.get_type_hints(cls)
    instances = [cls(), *(cls(**v) for v in cls._variants())] if _free(cls) else []
    instances = instances or [cls(**v) for v in cls._variants()]
    for name in cls.__dataclass_fields__:
        tried = [getattr(instance, name) for instance in instances]
        for choice in choices(hints[name]):
            assert choice in tried, (name, choice)


def _free(cls):
    parameters = inspect.signature(cls).parameters.values()
    return all(p.default is not p.empty for p in parameters)


_ARRAYS = typing.get_args(npt.ArrayLike)


def choices(hint):
    """Values of literals and flags that an annotation lists."""
    if hint is bool:
        return (False, True)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments
    if origin in (typing.Union, types.UnionType):
        if set(_ARRAYS) <= set(arguments):  # numpy 1 lists `bool` among its array-likes
            arguments = set(arguments).difference(_ARRAYS)
        return tuple(value for part in arguments for value in choices(part))
    return ()


def test_what_may_be_given_by_place():
    by_place = {
        cls.__name__: [p.name for p in _by_place(cls)]
        for cls in CLASSES
        if _by_place(cls)
    }
    assert by_place == {
        "ActiveExploration": ["unit"],
        "DepthPooling": ["depth"],
        "ExpectedHypothesisChange": ["unit"],
        "GAS": ["n_features_to_select"],
        "HedgePooling": ["share"],
        "InfAPSampling": ["share"],
        "InvertedIndex": ["tokenizer"],
        "L1PathSelector": ["n_features_to_select"],
        "LetorFolds": ["n_splits"],
        "LetorSelection": ["depth"],
        "MTCSelection": ["share"],
        "PPCSelection": ["share"],
        "QueryKFold": ["n_splits"],
        "QueryMinMaxScaler": ["feature_range"],
        "QueryRFE": ["estimator"],
        "QueryRFECV": ["estimator"],
        "QueryShuffleSplit": ["n_splits"],
        "QuerySubsample": ["estimator"],
        "QueryTargetEncoder": ["categorical_features"],
        "RandomSelection": ["unit"],
        "RepeatedQueryKFold": ["n_splits"],
        "SVMSelectiveSampling": ["unit"],
        "SelectByMeasure": ["n_features_to_select"],
        "StatAPSampling": ["share"],
        "StratifiedQueryKFold": ["n_splits"],
        "TemporalQuerySplit": ["n_splits"],
        "TextRanker": ["estimator"],
        "TreeEnsemble": ["n_outputs"],
    }
    assert QueryKFold(7).n_splits == 7


def _by_place(cls):
    parameters = inspect.signature(cls).parameters.values()
    return [p for p in parameters if p.kind is not p.KEYWORD_ONLY]


# Those of texts have no queries of rows; a split by time has tests of its own.
TRANSFORMERS = [
    pair
    for pair in VARIANTS
    if issubclass(pair[0], TransformerMixin) and pair[0] is not text.PairFeatures
]
SPLITTERS = [
    pair
    for pair in VARIANTS
    if hasattr(pair[0], "split") and not is_temporal(pair[0]())
]


@pytest.mark.parametrize(("cls", "variant"), TRANSFORMERS, ids=identify)
def test_transformers_do_not_depend_on_the_order_or_names_of_queries(cls, variant, rng):
    groups = rng.permutation(np.repeat(np.arange(7), [1, 2, 3, 4, 5, 6, 7]))
    X, y = rng.normal(size=(len(groups), 3)), rng.integers(0, 3, len(groups))

    def fit_transform(rows, ids):
        return cls(**variant).fit_transform(X[rows], y[rows], groups=ids[rows])

    whole, order = np.arange(len(groups)), np.argsort(groups, kind="stable")
    expected = fit_transform(whole, groups)
    np.testing.assert_array_equal(fit_transform(order, groups), expected[order])
    if "random_state" in cls.__dataclass_fields__:
        return  # queries of other names come in another order to be drawn for
    names = np.array([f"q{9 - g}" for g in groups])
    np.testing.assert_array_equal(fit_transform(whole, names), expected)


@pytest.mark.parametrize(("cls", "variant"), SPLITTERS, ids=identify)
def test_splitters_keep_queries_whole_and_test_on_all(cls, variant, rng):
    groups = rng.permutation(np.repeat(np.arange(11), np.arange(1, 12)))
    X, y = np.zeros((len(groups), 1)), rng.integers(0, 3, len(groups))
    splits = list(cls(**variant).split(X, y, groups))
    assert len(splits) == cls(**variant).get_n_splits(X, y, groups)
    times_tested = np.zeros(len(groups), dtype=int)
    for train, test in splits:
        assert not np.isin(groups[train], groups[test]).any()
        for rows in (train, test):
            assert np.isin(groups, groups[rows]).sum() == len(set(rows)) == len(rows)
        times_tested[test] += 1
    if cls is not QueryShuffleSplit:
        repeats = variant.get("n_repeats", 10) if cls is RepeatedQueryKFold else 1
        assert (times_tested == repeats).all()
    again = list(cls(**variant).split(X, y, groups))
    for one, other in zip(splits, again, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def test_parameters_of_a_splitter_are_parameters_of_a_search():
    search = GridSearchCV(rankers.SubsetRegression(), {}, cv=StratifiedQueryKFold(3))
    search.set_params(cv__by="size")
    assert repr(clone(search).cv) == "StratifiedQueryKFold(by='size', n_splits=3)"
