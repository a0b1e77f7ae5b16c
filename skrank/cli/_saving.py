"""Saving a model that learned by code of the user's own, which no file holds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator, clone

from skrank._core._paths import named_errors
from skrank.cli._names import MEASURES
from skrank.cli._options import STANDARD
from skrank.cli._stdout import standard_output
from skrank.export import save_model
from skrank.export._encode import Encoder, _form_of_scores, _loss_of_parameters
from skrank.losses import BaseLoss
from skrank.metrics import BaseMeasure

# Parameters that training asks and predictions do not.
_OF_TRAINING = (*MEASURES, "callback", "learning_rate", "loss")


def check_savable(ranker: BaseEstimator) -> None:
    """Raise an error unless a ranker can be saved once it is fitted.

    Training may take long, so this is checked before.

    Parameters
    ----------
    ranker : estimator
        The ranker, not fitted; left unchanged.

    Raises
    ------
    TypeError
        If the ranker or a parameter that predictions need has no safe form.
    """
    copied: Any = clone(ranker)
    leave_out_own_code(copied)
    Encoder().encode(copied, "model")


def leave_out_own_code(model: BaseEstimator) -> list[str]:
    """Set parameters to their defaults that are code which predictions do not need.

    Parameters
    ----------
    model : estimator
        A ranker or a pipeline, fitted or not; changed in place.

    Returns
    -------
    list of str
        Names of the parameters, each once.
    """
    names = [name for each in _estimators(model) for name in _reset(each)]
    return list(dict.fromkeys(names))


def save(model: BaseEstimator, path: str) -> list[str]:
    """Save a model without the code of the user's that predictions do not need.

    Parameters
    ----------
    model : estimator
        A fitted model, which is changed as by `leave_out_own_code`.
    path : str
        Path; "-" is the standard output.

    Returns
    -------
    list of str
        Names of the parameters that have their defaults in the file instead.
    """
    left_out = leave_out_own_code(model)
    if path == STANDARD:
        with standard_output() as stream:
            save_model(model, stream.buffer)
    else:
        with named_errors(path):
            save_model(model, path)
    return left_out


def _estimators(value: Any) -> Iterator[BaseEstimator]:
    """Yield an estimator and those inside of it, among parameters or learned."""
    if isinstance(value, (BaseLoss, BaseMeasure)):
        return  # goes with the ranker that was made with it
    if isinstance(value, BaseEstimator):
        yield value
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for each in value:
            yield from _estimators(each)


def _reset(estimator: Any) -> list[str]:
    """Reset parameters of one estimator and return their names."""
    own = estimator.get_params(deep=False)
    names = [
        name
        for name in _OF_TRAINING
        if name in own and not _has_form(own[name]) and _is_dispensable(estimator, name)
    ]
    estimator.set_params(**{name: _instead(estimator, name) for name in names})
    return names


def _has_form(value) -> bool:
    try:
        Encoder().encode(value, "value")
    except TypeError:
        return False
    return True


def _instead(estimator: Any, name: str) -> Any:
    """Return what stands for a parameter in the file."""
    learned = getattr(estimator, f"{name}s_", None) if name == "learning_rate" else None
    return getattr(type(estimator)(), name) if learned is None else learned


def _is_dispensable(estimator: Any, name: str) -> bool:
    """Whether an estimator predicts without a parameter, and has one instead."""
    try:
        instead = _instead(estimator, name)
    except TypeError:  # its class cannot be made without arguments
        return False
    if not _has_form(instead):
        return False
    given = getattr(estimator, name)
    if not isinstance(given, BaseLoss):
        return True
    # Some losses turn what the model computes into scores in a way of their own.
    loss = _loss_of_parameters(clone(estimator).set_params(**{name: instead}))
    of_energies = "energy" in estimator.get_params(deep=False)
    return loss is not None and (
        _form_of_scores(loss, of_energies) == _form_of_scores(given, of_energies)
    )
