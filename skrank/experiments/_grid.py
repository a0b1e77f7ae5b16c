"""Rankers with the parameters to choose among, and what defines a training."""

import hashlib
import json
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from skrank._core._inner import accepts, check_scores_documents
from skrank._core._messages import shown
from skrank._core._parameters import Interval, Parameters, invalid_parameter
from skrank._version import __version__
from skrank.experiments._described import described


class Configuration(NamedTuple):
    """A ranker with one choice of its parameters.

    Attributes
    ----------
    params : dict
        The parameters that were chosen, for reports.
    estimator : estimator
        The ranker, not fitted.
    """

    params: dict[str, Any]
    estimator: Any


Seeds = Annotated[int, Interval(1, 10_000)]


class RankerGrid(Parameters):
    """A ranker of an experiment, with the parameters to choose among.

    Parameters
    ----------
    estimator : estimator
        A ranker, a pipeline that ends in one, or any estimator whose predictions are
        scores.
    grid : mapping of str to sequence, or sequence of such mappings, default=None
        Values to try by the name of the parameter, as in
        `sklearn.model_selection.ParameterGrid`. None tries the estimator as it is.
    seeds : int, default=None
        Number of seeds, at most 10,000; None takes that of the experiment.
    early_stopping : bool, default=False
        Whether `fit` is given the validation queries as well. A ranker whose
        ``validation_measure`` is nowhere set takes the measure of the selection.
    features : str or sequence of str and int, default=None
        Features to use, such as ``"1-15,40"``; None takes those of the experiment.

    Examples
    --------
    >>> from skrank.experiments import RankerGrid
    >>> from skrank.rankers import RankSVM
    >>> grid = RankerGrid(RankSVM(), {"alpha": [1e-3, 1e-2]})
    >>> [params for params, _ in grid.configurations()]
    [{'alpha': 0.001}, {'alpha': 0.01}]
    """

    estimator: Any = field(kw_only=False)
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = field(
        default=None, kw_only=False
    )
    seeds: Seeds | None = None
    early_stopping: bool = False
    features: str | Sequence[str | int] | None = None

    def configurations(self) -> list[Configuration]:
        """Return the estimator with every choice of the parameters.

        Returns
        -------
        list of Configuration
            Pairs of the chosen ``params`` and the ``estimator`` that has them.

        Raises
        ------
        TypeError
            If the estimator cannot be fitted, or cannot score documents.
        ValueError
            If it lacks a parameter, or there is nothing to choose from.
        """
        self._check_parameters()
        check_scores_documents(self.estimator, "estimator")
        grid: Any = [dict(each) for each in self._grids()]
        for name, values in ((k, v) for each in grid for k, v in each.items()):
            if not isinstance(name, str):
                accepted = f"a mapping of names of parameters, unlike {shown(name)}"
                raise invalid_parameter(self, "grid", accepted, self.grid)
            is_array = isinstance(values, np.ndarray) and values.ndim == 1
            is_list = isinstance(values, Sequence) and not isinstance(values, str)
            if not (is_array or is_list) or not len(values):
                accepted = (
                    "a mapping of parameters to sequences of at least one value, "
                    f"unlike that of {shown(name)}"
                )
                raise invalid_parameter(self, "grid", accepted, self.grid)
        try:
            choices = list(ParameterGrid(grid))
        except (TypeError, ValueError) as error:
            raise invalid_parameter(
                self, "grid", f"a grid of parameters ({error})", self.grid
            ) from error
        return [Configuration(choice, self._with(choice)) for choice in choices]

    def _grids(self):
        if isinstance(self.grid, Mapping):
            return [self.grid]
        return self.grid or [{}]

    def _with(self, choice):
        known = self.estimator.get_params(deep=True)
        top = [name for name in choice if "__" not in name]
        for name in top:
            if name not in known:
                raise invalid_parameter(
                    self,
                    "grid",
                    f"of parameters that {type(self.estimator).__name__} has, "
                    f"unlike {shown(name)}",
                    self.grid,
                )
        with_choice = clone(self.estimator)
        values = {name: clone(value, safe=False) for name, value in choice.items()}
        try:
            with_choice.set_params(**values)  # a frozen one returns nothing
            return with_choice
        except (ValueError, AttributeError) as error:
            raise ValueError(f"RankerGrid: grid: {error}") from error


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which this seed stands for every one that is not set."""
    model = clone(estimator)
    params = model.get_params(deep=True)
    names = [n for n in params if n.rpartition("__")[2] == "random_state"]
    model.set_params(**{name: seed for name in names if params[name] is None})
    return model


def draws_numbers(estimator: Any) -> bool:
    """Return whether an estimator has a seed that is not set."""
    params = estimator.get_params(deep=True)
    return any(
        name.rpartition("__")[2] == "random_state" and value is None
        for name, value in params.items()
    )


def takes_validation(estimator: Any) -> bool:
    """Return whether an estimator can be fitted with validation queries."""
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    return accepts(last, "fit", "X_val")


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the key of a training: a digest of all that decides its result.

    Parameters
    ----------
    parts : mapping of str to object
        The data by their digest, the estimators, the seed …; see `described`.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    content = {"skrank": __version__, **{k: described(v) for k, v in parts.items()}}
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """Return a parameter as reports show it, ready for JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and np.isfinite(float(value)):
        return float(value)
    return " ".join(repr(value).split())


def one_line(params: Mapping[str, Any]) -> str:
    """Return parameters as a text such as ``alpha=0.001 hinge=linear``."""
    return " ".join(f"{name}={plain(value)}" for name, value in params.items())
