"""The trainings of an experiment: one fit each, stored in a file of its own."""

import json
import math
import os
import secrets
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skrank._core._inner import fit_inner, scores_of
from skrank._core._messages import words_of
from skrank._core._reading import DAMAGED
from skrank._core._threads import blas_threads
from skrank._core._writing import atomic_write
from skrank.datasets import LetorFold
from skrank.experiments._described import UntoldError
from skrank.experiments._folds import AnyFold, digest_of, with_columns
from skrank.experiments._grid import key_of, plain

_SCORED = ("vali", "test")
# What NumPy raises over headers of arrays that are no Python, or of absurd sizes.
_UNREADABLE = ArithmeticError, MemoryError, OSError, SyntaxError, TokenError, TypeError


@dataclass(frozen=True, eq=False)
class Training:
    """One fit of an experiment: a configuration, on one fold, with one seed.

    Attributes
    ----------
    ranker : str
        Name of the ranker in the experiment.
    fold : int
        Number of the fold, from 0.
    seed : int or None
        Seed, if the ranker draws numbers.
    params : dict
        Parameters that were chosen from the grid.
    estimator : estimator
        The ranker, with its seed.
    scaler : transformer or None
        Scaling of the features.
    early_stopping : bool
        Whether `fit` is given the validation queries.
    columns : ndarray or None
        Features to use; None for all.
    data : str
        Digest of the fold.
    """

    ranker: str
    fold: int
    seed: int | None
    params: dict[str, Any]
    estimator: Any
    scaler: Any
    early_stopping: bool
    columns: np.ndarray | None
    data: str

    @cached_property
    def _key_and_doubt(self) -> tuple[str, str]:
        parts = {
            "data": self.data,
            "estimator": self.estimator,
            "scaler": self.scaler,
            "early_stopping": self.early_stopping,
            "columns": self.columns,
        }
        try:
            return key_of(parts), ""
        except UntoldError as error:
            return secrets.token_hex(16), words_of(error)

    @property
    def key(self) -> str:
        """Key of all that decides the result; another one each time if in doubt."""
        return self._key_and_doubt[0]

    @property
    def doubt(self) -> str:
        """Why no later run can recognise the training; empty if it can."""
        return self._key_and_doubt[1]


class Stored(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    scores : dict of str to ndarray
        Scores of the documents of ``"vali"`` and ``"test"``.
    seconds : float
        Duration of the fit.
    warnings : list of str
        What the fit warned of.
    """

    scores: dict[str, np.ndarray]
    seconds: float
    warnings: list[str]


class Outcome(NamedTuple):
    """How a training ended.

    Attributes
    ----------
    key : str
        Key of the training.
    seconds : float
        Duration of the fit.
    error : str
        What went wrong; empty if nothing did.
    """

    key: str
    seconds: float
    error: str


class TrainingProgress(NamedTuple):
    """How far the trainings of an experiment are, for the callback of its ``run``.

    Attributes
    ----------
    done : int
        Number of trainings that have ended in this run.
    total : int
        Number of trainings of this run; those stored before are not among them.
    seconds_left : float or None
        Estimate of the time that the others take, from those with the same parameters
        or of the same ranker; None while none of a ranker has ended.
    ranker : str
        Name of the ranker whose training has ended.
    fold : str
        Name of its fold.
    seed : int or None
        Its seed, if the ranker draws numbers.
    params : dict
        Its parameters from the grid.
    seconds : float
        Duration of the fit.
    error : str
        What went wrong; empty if nothing did.
    """

    done: int
    total: int
    seconds_left: float | None
    ranker: str
    fold: str
    seed: int | None
    params: dict[str, Any]
    seconds: float
    error: str


def path_of(folder: str | os.PathLike, key: str) -> Path:
    """Return the file in which a training is stored."""
    return Path(folder) / f"{key}.npz"


def load_stored(
    folder: str | os.PathLike, key: str, sizes: Mapping[str, int]
) -> Stored | None:
    """Return the result of a training, or None if there is none that can be used.

    Parameters
    ----------
    folder : path
        Folder of the stored trainings.
    key : str
        Key of the training.
    sizes : mapping of str to int
        Number of the documents of each part, of which every one must have a score.

    Raises
    ------
    ValueError
        If a folder, or a pipe, is in the place of the file.
    """
    path = path_of(folder, key)
    # A pipe would wait for somebody who writes, and later for somebody who reads.
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{path} must be a file of an earlier run, found another thing"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            # What is packed may unpack to any size; `train_and_store` packs nothing.
            members = archive.infolist()
            names = {member.filename for member in members}
            if len(names) < len(members) or any(m.compress_type for m in members):
                return None
        # NumPy leaves files open that it cannot read.
        with open(path, "rb") as raw:
            file = np.load(raw, allow_pickle=False)
            about = json.loads(str(file["about"]))
            if about.get("key", key) != key:  # older versions have not noted it
                return None
            scores = {part: file[part] for part in _SCORED}
        stored = Stored(scores, about["seconds"], about["warnings"])
        return stored if _is_usable(stored, sizes) else None
    except (AttributeError, *_UNREADABLE, *DAMAGED):
        return None


def _is_usable(stored: Stored, sizes: Mapping[str, int]) -> bool:
    """Return whether what a file holds is what a training gives."""
    seconds = stored.seconds
    return (
        isinstance(seconds, float)
        and 0.0 <= seconds < math.inf
        and isinstance(stored.warnings, list)
        and all(isinstance(told, str) for told in stored.warnings)
        and all(
            values.dtype.kind == "f"
            and values.shape == (sizes[part],)
            and np.isfinite(values).all()
            for part, values in stored.scores.items()
        )
    )


def run_trainings(
    trainings: dict[str, Training],
    folds: list[AnyFold],
    folder: str | os.PathLike,
    n_jobs: int,
) -> Iterator[Outcome]:
    """Run trainings, store their results, and yield how each has ended.

    Parameters
    ----------
    trainings : dict of str to Training
        Trainings by their keys.
    folds : list of AnyFold
        All folds of the experiment.
    folder : path
        Folder of the results.
    n_jobs : int
        Number of trainings at a time. One is run in this process, and its kernels have
        all CPUs; several are run in processes with one thread each.

    Yields
    ------
    Outcome
        In the order in which they end.
    """
    _loaded.clear()
    try:
        if n_jobs == 1:
            for key, training in trainings.items():
                yield train_and_store(key, training, folds[training.fold], folder)
            return
        with parallel_config(backend="loky", inner_max_num_threads=1):
            # Each training is a batch, so that it is counted when it ends.
            pool: Any = Parallel(
                n_jobs,
                return_as="generator",
                batch_size=1,  # pyright: ignore[reportArgumentType] stated as text
            )
            yield from pool(
                delayed(train_and_store)(key, training, _fresh(folds, training), folder)
                for key, training in trainings.items()
            )
    except TerminatedWorkerError as error:
        raise MemoryError(
            "A process that trained a ranker was killed, most likely because memory "
            "was short. Fewer jobs need less; what is finished is kept"
        ) from error
    finally:
        _loaded.clear()


def _fresh(folds, training):
    """Return a fold to send to another process, which reads the files itself."""
    fold = folds[training.fold]
    return fold.unread() if isinstance(fold, LetorFold) else fold


# The fold that this process has looked at last: trainings come fold by fold.
_loaded: dict[str, AnyFold] = {}


def _checked(fold: AnyFold, digest: str) -> AnyFold:
    """Return a fold whose documents are those of the digest."""
    if digest not in _loaded:
        _loaded.clear()
        if digest_of(fold) != digest:
            raise ValueError(f"the data of {fold.name} have changed during the run")
        _loaded[digest] = fold
    return _loaded[digest]


def train_and_store(
    key: str, training: Training, fold: AnyFold, folder: str | os.PathLike
) -> Outcome:
    """Fit a ranker and store its scores; an error is returned, not raised.

    Parameters
    ----------
    key : str
        Key of the training.
    training : Training
        What to fit.
    fold : AnyFold
        The fold that it belongs to.
    folder : path
        Folder of the results.

    Returns
    -------
    Outcome
    """
    try:
        stored = _train(training, _checked(fold, training.data))
    except (Exception, SystemExit) as error:  # a fit of the user's may end programs
        problem = f"{type(error).__name__}: {words_of(error)}"
        return Outcome(key, 0.0, problem)
    about = {
        "key": key,
        "ranker": training.ranker,
        "fold": fold.name,
        "seed": training.seed,
        "params": {name: plain(value) for name, value in training.params.items()},
        "seconds": stored.seconds,
        "warnings": stored.warnings,
    }
    with atomic_write(path_of(folder, key), "wb") as file:
        text = np.array(json.dumps(about))
        np.savez(
            file, about=text, vali=stored.scores["vali"], test=stored.scores["test"]
        )
    return Outcome(key, stored.seconds, "")


def _train(training: Training, fold: AnyFold) -> Stored:
    estimator = training.estimator
    if training.scaler is not None:
        steps = [("scaler", clone(training.scaler)), ("ranker", estimator)]
        estimator = Pipeline(steps)
    train, vali, test = (
        with_columns(part, training.columns)
        for part in (fold.train, fold.vali, fold.test)
    )
    validation = {}
    if training.early_stopping:
        validation = {"X_val": vali.X, "y_val": vali.y, "groups_val": vali.groups}
    # The sums of BLAS depend on its number of threads, those of the kernels do not.
    with blas_threads(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        start = time.perf_counter()
        model = fit_inner(
            estimator, train.X, train.y, groups=train.groups, validation=validation
        )
        seconds = time.perf_counter() - start
        scores = {
            name: scores_of(model, part.X, part.groups)
            for name, part in zip(_SCORED, (vali, test))
        }
    for name, values in scores.items():
        if not np.isfinite(values).all():
            raise ValueError(f"scores of documents of {name} are infinite")
    told = dict.fromkeys(
        f"{w.category.__name__}: {words_of(w.message)}"  # pyright: ignore[reportArgumentType] of warnings, too
        for w in caught
    )
    return Stored(scores, seconds, list(told))
