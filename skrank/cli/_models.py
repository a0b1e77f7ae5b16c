"""Training and applying a ranker together with the normalisation of its features."""

import inspect
import time
from typing import NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skrank.cli._errors import CommandError
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler

_SCALERS = {
    "query-minmax": QueryMinMaxScaler,
    "query-standard": QueryStandardScaler,
    "standard": StandardScaler,
}


class Trained(NamedTuple):
    """A fitted model and how long fitting took."""

    model: BaseEstimator
    seconds: float


def train_model(ranker, normalize, train, validation, progress) -> Trained:
    """Fit a ranker, after the scaling of features if there is any.

    Parameters
    ----------
    ranker : BaseRanker
        Fitted in place.
    normalize : str
        "none", or a key of the table of scalers.
    train : RankingData
        What to learn from.
    validation : RankingData or None
        For early stopping.
    progress : Progress
        Shows the iterations.

    Returns
    -------
    Trained
        The ranker, or a pipeline that ends in it.
    """
    name = type(ranker).__name__
    progress(f"{name}: {train.X.shape[0]} documents, {train.X.shape[1]} features")
    start = time.perf_counter()
    scaler = _SCALERS[normalize]() if normalize != "none" else None
    if scaler is not None:
        scaler.fit(train.X)
    extra = {}
    if validation is not None:
        extra = {
            "X_val": _scaled(scaler, validation),
            "y_val": validation.y,
            "groups_val": validation.groups,
        }
    X = _scaled(scaler, train)
    with _shown_iterations(ranker, progress.iteration(name)):
        ranker.fit(X, train.y, train.groups, **extra)
    progress.clear()
    model = ranker
    if scaler is not None:
        model = Pipeline([("scaler", scaler), ("ranker", ranker)])
    return Trained(model, time.perf_counter() - start)


def _scaled(scaler, data):
    return data.X if scaler is None else _call(scaler.transform, data.X, data.groups)


class _shown_iterations:  # noqa: N801, a context manager
    """Set ``callback`` for one fit: a model file holds no functions."""

    def __init__(self, ranker, callback):
        has_callback = "callback" in ranker.get_params(deep=False)
        self.ranker = ranker if has_callback and callback is not None else None
        self.callback = callback

    def __enter__(self):
        if self.ranker is not None:
            self.ranker.set_params(callback=self.callback)

    def __exit__(self, *exc_info):
        if self.ranker is not None:
            self.ranker.set_params(callback=None)


def predict_scores(model, data):
    """Scores of a model, whose parts are given the queries if they ask for them."""
    X = data.X
    steps = model.steps if isinstance(model, Pipeline) else [("ranker", model)]
    for _, step in steps[:-1]:
        if step is not None and step != "passthrough":
            X = _call(step.transform, X, data.groups)
    ranker = steps[-1][1]
    if not hasattr(ranker, "predict"):
        raise CommandError(f"{type(ranker).__name__} has no predict: not a ranker")
    return _call(ranker.predict, X, data.groups)


def _call(method, X, groups):
    if "groups" in inspect.signature(method).parameters:
        return method(X, groups=groups)
    return method(X)


def n_features_of_model(model):
    """Number of features that a model was fitted with."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        raise CommandError(f"{type(model).__name__} in this file is not fitted")
    return n_features
