"""A small fitted instance of every class that model files may hold, and its use."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel, SelectorMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, OneHotEncoder, StandardScaler

from skrank.aggregation import BaseAggregator, LearnedFusion
from skrank.base import BaseRanker
from skrank.click import BaseClickModel, ClickGraph, InteractionModel, Sessions
from skrank.compat import PyTerrierLearner, RankingRegressor
from skrank.datasets import make_ranking
from skrank.energies import BaseEnergy
from skrank.export import save_model
from skrank.export._allowed import SKLEARN_CLASSES, class_of_name, skrank_classes
from skrank.metrics import BaseMeasure
from skrank.model_selection import QuerySubsample
from skrank.preprocessing import QueryTargetEncoder
from skrank.rankers import RankSVM
from skrank.retrieval import TextRanker
from skrank.text import BaseLinkModel, PairFeatures, TextCollection
from skrank.trees import BinMapper, CategoryEncoder, TreeEnsemble

X, Y, GROUPS = make_ranking(n_queries=8, n_features=4, n_informative=2, random_state=0)
# Energies of queries want features of queries.
ENERGY_X = np.column_stack([GROUPS % 3, X[:, 1:]]).astype(float)
PTR = np.append(np.flatnonzero(np.diff(GROUPS, prepend=-1)), len(GROUPS))
# The features as runs, of which each lacks some documents and the last one none.
RUNS = np.where((np.arange(len(X)) + 1)[:, None] % [2, 3, 5, 10**6] == 0, np.nan, X)
SMALL = {"max_iter": 2, "n_estimators": 3, "random_state": 0, "n_jobs": 1}
LOG = Sessions.from_lists(
    ["p", "q", "q"], [["a", "b"], ["b", "c", "a"], ["c"]], [[1, 0], [0, 1, 1], [0]]
)
# What takes other libraries, or folders on disk.
ELSEWHERE = ("skrank.compat.PeerRanker", "skrank.model_selection.LetorFolds")


class Saved(NamedTuple):
    """A model and what is done with it after it was loaded."""

    model: Any
    use: Callable[[Any], Any]

    def __str__(self):
        return repr(self.model)


def predict(ranker) -> np.ndarray:
    """Return finite scores, or raise an error."""
    takes_groups = "groups" in inspect.signature(ranker.predict).parameters
    scores = ranker.predict(X, GROUPS) if takes_groups else ranker.predict(X)
    if scores.shape != (len(X),):
        raise AssertionError(f"scores of shape {scores.shape}")
    if not np.isfinite(scores).all() and not is_huge(ranker):
        raise AssertionError(f"scores that are not finite: {scores!r:.200}")
    return scores


def is_huge(value) -> bool:
    """Return whether some numbers are so large that finite sums may overflow."""
    if isinstance(value, (list, tuple)):
        return any(map(is_huge, value))
    if isinstance(value, dict):
        return any(map(is_huge, value.values()))
    if isinstance(value, BaseEstimator):
        return is_huge(vars(value))
    if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
        return bool(np.any(np.abs(value) > 1e100))
    return False


def transform(transformer):
    """Return transformed rows, or predictions of a regressor."""
    rows = CATEGORIES if "categories_" in vars(transformer) else X
    method = getattr(transformer, "transform", None) or transformer.predict
    return method(rows)


def score(energy):
    """Return scores of an energy with random parameters."""
    rows = energy.transform(ENERGY_X)
    if energy.n_params(rows.shape[1]) > 10_000_000:
        return None  # layers of an absurd size
    params = energy.init_params(rows.shape[1], np.random.RandomState(0))
    return energy.document_scores(params, rows, PTR)


def split(splitter):
    """Return the first folds of a splitter, of which there may be any number."""
    return list(islice(splitter.split(X, Y, GROUPS), 20))


def measure(value):
    """Return the values of a measure."""
    try:
        return value.per_query(Y, X[:, 0].copy(), PTR)
    except OverflowError:  # by the gain of an absurd grade
        return None


def grow(trees):
    """Return finite scores of a forest."""
    if trees.n_outputs > 1000:  # which take memory that nobody claimed in a file
        return None
    scores = np.zeros((len(X), trees.n_outputs))
    trees.add_to(scores, X)
    if not np.isfinite(scores).all() and not is_huge(trees):
        raise AssertionError("scores that are not finite")
    return scores


def aggregate(aggregator):
    """Return finite scores of fused runs."""
    scores = aggregator.aggregate(RUNS, GROUPS)
    if not np.isfinite(scores).all():
        raise AssertionError("scores that are not finite")
    return scores


def search(model):
    """Return what an index or a model of text says about a query."""
    if hasattr(model, "extract"):
        return model.extract(["a matrix"], [0], [1])
    if hasattr(model, "retrieve"):
        return model.retrieve(["a matrix"], 2)
    if hasattr(model, "expand"):
        return model.expand(["a matrix"])
    if hasattr(model, "score_pairs"):
        return model.score(["matrix OR NOT sort"])
    return model.count_queries(["a matrix"])


def browse(model):
    """Return probabilities of clicks, which must be from 0 to 1."""
    found = model.predict_proba(LOG, kind="marginal")
    if not ((found >= 0) & (found <= 1)).all():
        raise AssertionError(f"probabilities {found!r:.200}")
    return found


def look_up(model):
    """Return the relevance of the pairs of a log, which must be finite."""
    found = model.relevance(["p", "q", "q"], ["a", "b", "c"])
    if hasattr(model, "predict"):
        found = np.append(found, model.predict(LOG))
    if not np.isfinite(found).all() and not is_huge(model):
        raise AssertionError(f"relevance {found!r:.200}")
    return found


LINKS = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
CATEGORIES = np.array([["a"], ["b"], ["a"]], dtype=object)
DOCUMENTS = ["sort an array", "invert a matrix", "sort the rows of a matrix", ""]
_SKLEARN_ARGUMENTS: dict[str, dict[str, Any]] = {
    "ColumnTransformer": {
        "transformers": [("a", StandardScaler(), [0, 1]), ("b", "passthrough", [2])]
    },
    "FeatureUnion": {"transformer_list": [("a", StandardScaler()), ("b", Binarizer())]},
    "KBinsDiscretizer": {"n_bins": 3, "quantile_method": "averaged_inverted_cdf"},
    "Nystroem": {"n_components": 3, "random_state": 0},
    "PCA": {"n_components": 2},
    "Pipeline": {"steps": [("a", StandardScaler()), ("b", LinearRegression())]},
    "QuantileTransformer": {"n_quantiles": 5},
    "RBFSampler": {"n_components": 3, "random_state": 0},
    "SelectFromModel": {"estimator": LinearRegression()},
}
KINDS = ((ColumnTransformer, FeatureUnion, Pipeline, SelectFromModel), OneHotEncoder)


def _of_sklearn(cls) -> Saved:
    model = cls(**_SKLEARN_ARGUMENTS.get(cls.__name__, {}))
    encodes = cls.__name__ in ("OneHotEncoder", "OrdinalEncoder")
    return Saved(model.fit(CATEGORIES) if encodes else model.fit(X, Y), transform)


def _trees() -> Saved:
    from skrank.rankers import MART

    return Saved(MART(n_estimators=3).fit(X, Y, GROUPS).ensemble_, grow)


def _set_up(energy):
    known = getattr(energy, "labels", None)
    labels = np.sort([0.0, 1.0, 2.0, 5.0] if known is None else known)
    y = labels[Y.astype(int) % len(labels)]
    return energy.setup(ENERGY_X, np.random.RandomState(0), y, PTR)


def _of_skrank(cls, variant) -> Saved:
    small = {k: v for k, v in SMALL.items() if k in cls._get_param_names()}
    if cls is QuerySubsample:
        small["estimator"] = RankSVM(max_iter=2)
    model = clone(cls(**small | variant))
    if isinstance(model, SelectorMixin):
        return Saved(model.fit(X, Y, GROUPS), transform)
    if cls.__module__.startswith("skrank.unbiased"):
        return _of_clicks(model)
    if isinstance(model, BaseRanker):
        return Saved(model.fit(X, Y, GROUPS), predict)
    if isinstance(model, BaseAggregator):
        if cls is LearnedFusion:
            model.set_params(ranker=RankSVM(max_iter=2))
        return Saved(model.fit(RUNS, Y, GROUPS), aggregate)
    if isinstance(model, BaseClickModel):
        return Saved(model.fit(LOG), browse)
    if isinstance(model, ClickGraph):
        return Saved(model.fit(LOG), look_up)
    if isinstance(model, InteractionModel):
        model.set_params(ranker=RankSVM(max_iter=2))
        return Saved(model.fit(LOG, {"q": {"a": 0, "b": 1, "c": 2}}), look_up)
    if isinstance(model, BaseEnergy):
        return Saved(_set_up(model), score)
    if isinstance(model, BaseMeasure):
        return Saved(model, measure)
    if hasattr(model, "split"):
        return Saved(model, split)
    if isinstance(model, (BinMapper, CategoryEncoder)):
        return Saved(model.fit(X), transform)
    if cls is QueryTargetEncoder:
        return Saved(model.fit(X, Y, GROUPS), transform)
    if cls.__module__.startswith("skrank.preprocessing"):
        return Saved(model.fit(X, groups=GROUPS), lambda m: m.transform(X, GROUPS))
    if cls is PairFeatures:
        pairs = dict.fromkeys((model.query, "title", "body"), DOCUMENTS)
        return Saved(model.fit(pairs), lambda m: m.transform(pairs))
    if cls is TextRanker:
        return _of_texts(model)
    if issubclass(cls, BaseLinkModel):
        return Saved(model.fit(LINKS, [1, 1, 0]), lambda m: m.get_params())
    if cls.__module__.startswith("skrank.text") and hasattr(model, "fit"):
        return Saved(model.fit(DOCUMENTS), search)
    return Saved(model, lambda m: m.get_params())


def _of_texts(model) -> Saved:
    model.set_params(estimator=RankSVM(max_iter=2))
    pairs = [("sort rows", "a"), ("sort rows", "c"), ("matrix", "b"), ("matrix", "c")]
    documents = TextCollection(list("abcd"), {"text": DOCUMENTS})
    model.fit(pairs, [1, 2, 2, 0], documents=documents)
    return Saved(model, lambda m: m.rank(["a matrix", "sort"]).scores)


def _of_clicks(model) -> Saved:
    places = np.minimum(np.arange(len(X)) % 3 + 1, 3)
    if isinstance(model, BaseRanker):
        return Saved(model.fit(X, Y > 1, GROUPS, positions=places), predict)
    if hasattr(model, "fit"):
        shown = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
        model.fit(Sessions.from_lists([0, 0, 0], shown, np.ones((3, 3), dtype=int)))
    return Saved(model, lambda m: m.get_params())


def saved_of(name: str) -> Iterator[Saved]:
    """Yield an instance of a class for each of its variants."""
    cls = class_of_name(name)
    assert cls is not None, name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in SKLEARN_CLASSES:
            yield _of_sklearn(cls)
        elif cls is TreeEnsemble:
            yield _trees()
        elif cls is RankingRegressor:
            yield Saved(cls(RankSVM(max_iter=2)).fit(X, Y, groups=GROUPS), predict)
        elif cls is PyTerrierLearner:
            yield Saved(cls(RankSVM(max_iter=2)).fit(X, Y, np.diff(PTR)), predict)
        else:
            for variant in cls._variants():
                yield _of_skrank(cls, variant)


def class_names() -> list[str]:
    """Return the names of all classes that model files may hold, as instances."""
    concrete = [
        name
        for name, cls in skrank_classes().items()
        if not inspect.isabstract(cls) and not cls.__name__.startswith("Base")
    ]
    return sorted({*concrete, *SKLEARN_CLASSES} - {*ELSEWHERE})


def can_be_saved(saved: Saved, path) -> bool:
    """Return whether a model file can hold a model; callables, for one, cannot be."""
    try:
        save_model(saved.model, path)
    except TypeError:
        return False
    return True


def models_of_names() -> Iterator[Saved]:
    """Yield models that take data frames with a column of names."""
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "s": np.where(Y > 1, "u", "v")})
    parts = [("n", StandardScaler(), ["a", "b"]), ("c", OneHotEncoder(), ["s"])]
    columns = ColumnTransformer(parts, transformer_weights={"n": 2.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (columns, clone(columns).set_params(remainder="passthrough")):
            yield Saved(model.fit(frame), lambda m: m.transform(frame))
        model = make_pipeline(clone(columns), RankSVM(max_iter=2))
        model.fit(frame, Y, ranksvm__groups=GROUPS)
        yield Saved(model, lambda m: m.predict(frame))
        union = FeatureUnion([("a", OneHotEncoder()), ("b", OneHotEncoder())])
        yield Saved(union.fit(frame[["s"]]), lambda m: m.transform(frame[["s"]]))


def pipelines() -> Iterator[Saved]:
    """Yield rankers behind other steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), RankSVM(max_iter=2))
        yield Saved(model.fit(X, Y, ranksvm__groups=GROUPS), predict)
