"""Training and applying a ranker together with the normalisation of its features."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skrank._core._inner import accepts, name_of, scores_of
from skrank._core._messages import on_one_line
from skrank._core._tables import FOR_NUMBERS
from skrank.base import BaseRanker
from skrank.cli._errors import CommandError
from skrank.cli._io import Documents, Progress
from skrank.preprocessing import QueryMinMaxScaler, QueryStandardScaler

_ABOUT_DOCUMENTS = re.compile(
    r"(?:Input )?(?:X|y|groups)(?:_val\['(?P<set>\w+)'\]|(?![\w\[]))"
)
# What scikit-learn goes on to say, which helps who writes a program.
_ADVICE = re.compile(r"(?<=contains NaN\.)\s.*", re.DOTALL)
#: What stands in the place of `FOR_NUMBERS`: commands make no pipelines of encoders.
FOR_NUMBERS_HERE = (
    "choose a ranker of trees, such as LambdaMART, which takes columns of names, or "
    "name columns of numbers by --features"
)
SCALERS = {
    "query-minmax": QueryMinMaxScaler,
    "query-standard": QueryStandardScaler,
    "standard": StandardScaler,
}


class Trained(NamedTuple):
    """A fitted model and the time that it took to fit.

    Attributes
    ----------
    model : BaseEstimator
        The ranker, or a pipeline that ends in it.
    seconds : float
        Duration of the training.
    """

    model: BaseEstimator
    seconds: float


def train_model(
    ranker: Any,
    normalize: str,
    train: Documents,
    validation: Mapping[str, Documents],
    progress: Progress,
) -> Trained:
    """Fit a ranker, on scaled features if that is asked for.

    Parameters
    ----------
    ranker : BaseRanker
        Fitted in place.
    normalize : str
        "none" or the name of a scaling.
    train : Documents
        Training documents.
    validation : mapping of str to Documents
        Sets of documents for early stopping, by name; empty for none.
    progress : Progress
        Display of the iterations.

    Returns
    -------
    Trained
        The ranker, or a pipeline that ends in it.
    """
    name = type(ranker).__name__
    progress(f"{name}: {train.X.shape[0]} documents, {train.X.shape[1]} features")
    start = time.perf_counter()
    # Scaled here and not by a pipeline, which could not scale the validation queries.
    scaler = SCALERS[normalize]() if normalize != "none" else None
    if scaler is not None:
        scaler.fit(train.X)
    # An estimator of the user's own may know no queries.
    takes_groups = accepts(ranker, "fit", "groups")
    extra: dict[str, Any] = {"groups": train.groups} if takes_groups else {}
    if validation:
        extra |= {
            "X_val": {name: _scaled(scaler, held) for name, held in validation.items()},
            "y_val": {name: held.y for name, held in validation.items()},
            "groups_val": {name: held.groups for name, held in validation.items()},
        }
    X = _scaled(scaler, train)
    with _reporting(ranker, progress.iteration(name)):
        ranker.fit(X, train.y, **extra)
    progress.clear()
    model = ranker
    if scaler is not None:
        model = Pipeline([("scaler", scaler), ("ranker", ranker)])
    return Trained(model, time.perf_counter() - start)


def check_scaling(normalize: str, *, sparse: bool) -> None:
    """Raise an error if features are to be scaled and to be kept sparse.

    Parameters
    ----------
    normalize : str
        "none" or the name of a scaling.
    sparse : bool
        Whether features are to be kept sparse.
    """
    if normalize != "none" and sparse:
        raise CommandError(
            f"--normalize {normalize} and --sparse exclude each other, because scaled "
            "features are not sparse; leave out one of them"
        )


def _scaled(scaler, data):
    if scaler is None:
        return data.X
    takes_groups = accepts(scaler, "transform", "groups")
    return scaler.transform(data.X, **({"groups": data.groups} if takes_groups else {}))


@contextmanager
def _reporting(ranker, callback: Callable | None) -> Iterator[None]:
    """Set ``callback`` for one fit only, because a model file holds no functions."""
    own = ranker.get_params(deep=False)
    # One that is given is not replaced, so that the ranker tells what is wrong with it.
    if callback is None or own.get("callback", callback) is not None:
        yield
        return
    ranker.set_params(callback=callback)
    try:
        yield
    finally:
        ranker.set_params(callback=None)


@contextmanager
def naming_files(
    train: str, validation: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Name the file in an error about the documents of one, without advice.

    Parameters
    ----------
    train : str
        File of the documents that a model learns from or scores.
    validation : mapping of str to str, default=None
        Files of the documents for early stopping, by the names of their sets.
    """
    try:
        yield
    except ValueError as error:
        about = _ABOUT_DOCUMENTS.match(str(error))
        if about is None:
            raise
        problem = _ADVICE.sub("", str(error)).replace(FOR_NUMBERS, FOR_NUMBERS_HERE)
        path = train
        if about["set"]:
            path = (validation or {})[about["set"]]
            problem = problem.replace(f"_val[{about['set']!r}]", "_val", 1)
        raise CommandError(f"{on_one_line(path)}: {problem}") from error


def predict_scores(model: BaseEstimator, data: Documents) -> np.ndarray:
    """Return the scores of documents; the model is given the queries if it asks.

    Parameters
    ----------
    model : BaseEstimator
        A fitted ranker or a pipeline that ends in one.
    data : Documents
        Documents to score.

    Returns
    -------
    ndarray of shape (n_documents,)

    Raises
    ------
    CommandError
        If the model is no ranker.
    """
    if not hasattr(model, "predict"):
        raise CommandError(f"{name_of(model)} has no predict, so it is not a ranker")
    return scores_of(model, data.X, data.groups, response_method="predict")


def n_features_of_model(model: BaseEstimator) -> int:
    """Return the number of features that a model was fitted on."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is not None:
        return n_features
    name = type(model).__name__
    if callable(getattr(model, "relevance", None)):
        raise CommandError(
            f"{name} in this file is a model of clicks and no ranker; 'skrank "
            "clicks labels' makes judgements of it, from which a ranker learns"
        )
    if _scores_rows(model):
        raise CommandError(f"{name} in this file is not fitted")
    raise CommandError(
        f"{name} in this file is not a ranker of feature vectors; the file must hold a "
        "fitted ranker, as 'skrank fit --save' writes it, or a pipeline with one"
    )


def _scores_rows(model) -> bool:
    """Return whether a model is one that scores rows of features once it is fitted."""
    if isinstance(model, Pipeline):
        return hasattr(model, "predict")
    return isinstance(model, BaseRanker) or is_regressor(model) or is_classifier(model)
