"""What an experiment has to do: its folds, its trainings, and which are stored."""

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skrank._core._messages import shown
from skrank._core._sparse import check_sparse
from skrank._core._validation import check_grades
from skrank.datasets._container import document_names
from skrank.datasets._trec import check_fields
from skrank.experiments._choice import Judged, SeenFold, Slot
from skrank.experiments._folds import PARTS, AnyFold, digest_of, feature_columns
from skrank.experiments._grid import (
    Configuration,
    RankerGrid,
    draws_numbers,
    plain,
    seeded,
    takes_validation,
)
from skrank.experiments._training import Training, load_stored

_TRAININGS = "trainings"


class Row:
    """A row of the table: a ranker with the options of the experiment filled in.

    Parameters
    ----------
    name : str
        Name of the ranker.
    grid : RankerGrid
        The ranker and its parameters.
    options : mapping of str to object
        ``seeds``, ``early_stopping``, ``features`` and ``selection`` of the experiment.
    """

    def __init__(self, name: str, grid: RankerGrid, options: Mapping[str, Any]):
        self.name = name
        self.configurations = grid.configurations()  # checks the parameters
        self.grid = grid
        self.selection = options["selection"]
        self.features = grid.features
        if self.features is None:
            self.features = options["features"]
        self.n_seeds = options["seeds"] if grid.seeds is None else grid.seeds
        self.asks_validation = grid.early_stopping
        self.may_validate = grid.early_stopping or options["early_stopping"]

    def record(self) -> dict[str, Any]:
        """Return what the row is, as plain values."""
        return {
            "configurations": [
                {name: plain(value) for name, value in c.params.items()}
                for c in self.configurations
            ],
            "estimator": plain(self.grid.estimator),
            "features": plain(self.features),
            "seeds": len(self.seeds()),
            "early_stopping": self.may_validate,
        }

    def seeds(self) -> list[int | None]:
        """Return the seeds; one that stands for none if no numbers are drawn."""
        if not any(draws_numbers(c.estimator) for c in self.configurations):
            return [None]
        return list(range(self.n_seeds))

    def validates(self, estimator: Any) -> bool:
        """Return whether a fit is given the validation queries."""
        known = takes_validation(estimator)
        if self.asks_validation and not known:
            raise ValueError(
                f"rankers[{shown(self.name)}]: early_stopping needs a ranker whose fit "
                f"takes X_val, unlike {type(estimator).__name__}"
            )
        return self.may_validate and known

    def estimator(self, configuration: Configuration, seed: int | None) -> Any:
        """Return the ranker of a training, with its seed and what it stops by."""
        model = seeded(configuration.estimator, 0 if seed is None else seed)
        rule = inspect.signature(type(model)).parameters.get("validation_measure")
        if (
            rule is not None
            and rule.name not in configuration.params
            and self.validates(model)
            and getattr(model, rule.name) == rule.default
        ):
            model.set_params(**{rule.name: self.selection})
        return model


class Plan:
    """The trainings of an experiment on the folds of a data set.

    Parameters
    ----------
    rows : sequence of Row
        The rankers.
    folds : sequence of AnyFold
        The folds.
    scaler : transformer or None
        Scaling of the features.
    folder : str or path
        Folder of the results.

    Attributes
    ----------
    seen : list of SeenFold
        What is known of the folds.
    slots : dict of Slot to list of (str, dict)
        Keys and parameters of the configurations of each ranker, seed and fold.
    trainings : dict of str to Training
        All trainings by their keys, each once.
    stored : set of str
        Keys of those that an earlier run has stored.
    """

    def __init__(
        self, rows: Sequence[Row], folds: Sequence[AnyFold], scaler: Any, folder: Path
    ):
        self.rows = rows
        self.folds = folds
        self.folder = folder
        self.seen = [see(fold) for fold in folds]
        self.slots: dict[Slot, list[tuple[str, dict[str, Any]]]] = {}
        self.trainings: dict[str, Training] = {}
        for number, fold in enumerate(self.seen):
            for row in rows:
                self._add(row, number, fold, scaler)
        self.stored = {key for key in self.trainings if self._load(key) is not None}

    def _add(self, row, number, fold, scaler):
        columns = feature_columns(row.features, fold.feature_names)
        for seed in row.seeds():
            found = self.slots[Slot(row.name, seed, number)] = []
            for configuration in row.configurations:
                estimator = row.estimator(configuration, seed)
                training = Training(
                    ranker=row.name,
                    fold=number,
                    seed=seed,
                    params=configuration.params,
                    estimator=estimator,
                    scaler=scaler,
                    early_stopping=row.validates(estimator),
                    columns=columns,
                    data=fold.digest,
                )
                key = training.key
                self.trainings.setdefault(key, training)
                found.append((key, configuration.params))

    @property
    def results(self) -> Path:
        """Folder of the stored trainings."""
        return self.folder / _TRAININGS

    def _load(self, key):
        sizes = self.seen[self.trainings[key].fold].sizes
        return load_stored(self.results, key, sizes)

    @property
    def missing(self) -> dict[str, Training]:
        """Trainings that no earlier run has stored."""
        return {k: t for k, t in self.trainings.items() if k not in self.stored}

    def doubts(self) -> dict[str, str]:
        """Return why trainings cannot be recognised, by the names of their rankers."""
        found: dict[str, str] = {}
        for training in self.trainings.values():
            if training.doubt:
                found.setdefault(training.ranker, training.doubt)
        return found

    def stored_seconds(self) -> dict[Training, float]:
        """Return how long each of the stored trainings took."""
        found = {key: self._load(key) for key in self.stored}
        return {self.trainings[k]: s.seconds for k, s in found.items() if s is not None}

    def n_unused(self) -> int:
        """Return the number of stored trainings that belong to something else."""
        if not self.results.is_dir():
            return 0
        found = {path.stem for path in self.results.glob("*.npz")}
        return len(found - set(self.trainings))

    def make_folder(self) -> None:
        """Make the folders of the results."""
        os.makedirs(self.results, exist_ok=True)


def see(fold: Any) -> SeenFold:
    """Read a fold, check it, and keep all but its features."""
    judged = {}
    for name in PARTS:
        part = getattr(fold, name)
        try:
            check_grades(part.y)
            check_sparse(part.X)
        except ValueError as error:
            raise ValueError(f"folds: {fold.name}, {name}: {error}") from error
        judged[name] = Judged(
            np.asarray(part.y), np.asarray(part.groups), document_names(part)
        )
    names = list(map(str, fold.train.feature_names))
    for name in PARTS[1:]:
        if list(map(str, getattr(fold, name).feature_names)) != names:
            raise ValueError(
                f"folds: {fold.name} must have the same features in all its parts; "
                f"{name} and train differ"
            )
    test = judged["test"]
    check_fields(test.groups, test.docids, len(test.y))
    return SeenFold(fold.name, digest_of(fold), names, judged["vali"], test)
