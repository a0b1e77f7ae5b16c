"""The choice of parameters on validation queries."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skrank.experiments._training import Stored, load_stored
from skrank.metrics import BaseMeasure, evaluate_measure


class Judged(NamedTuple):
    """The documents of a part of a fold without their features.

    Attributes
    ----------
    y : ndarray of shape (n_documents,)
        Grades.
    groups : ndarray of shape (n_documents,)
        Query of each document.
    docids : ndarray of shape (n_documents,)
        Names of the documents.
    """

    y: np.ndarray
    groups: np.ndarray
    docids: np.ndarray


@dataclass(frozen=True, eq=False)
class SeenFold:
    """What is kept of a fold: all but its features."""

    name: str
    digest: str
    feature_names: list[str]
    vali: Judged
    test: Judged

    @property
    def sizes(self) -> dict[str, int]:
        """Number of documents of the parts that are scored."""
        return {"vali": len(self.vali.y), "test": len(self.test.y)}


class Slot(NamedTuple):
    """A ranker with one seed on one fold, for which one configuration is chosen."""

    ranker: str
    seed: int | None
    fold: int


class Candidate(NamedTuple):
    """A configuration among which one is chosen.

    Attributes
    ----------
    params : dict
        Parameters from the grid.
    key : str
        Key of its training.
    value : float
        Measure on the validation queries; NaN if the training has failed.
    seconds : float
        Duration of its fit; NaN if the training has failed.
    warnings : list of str
        What its fit warned of.
    """

    params: dict[str, Any]
    key: str
    value: float
    seconds: float
    warnings: list[str]


class Choice(NamedTuple):
    """The configuration that was chosen for a slot.

    Attributes
    ----------
    slot : Slot
        Ranker, seed and fold.
    best : Candidate
        The configuration.
    scores : ndarray of shape (n_documents,)
        Its scores of the test documents.
    candidates : list of Candidate
        All configurations.
    """

    slot: Slot
    best: Candidate
    scores: np.ndarray
    candidates: list[Candidate]


def choose(
    slots: Mapping[Slot, Sequence[tuple[str, dict[str, Any]]]],
    folds: Sequence[SeenFold],
    selection: BaseMeasure,
    folder: str | os.PathLike,
) -> dict[Slot, Choice]:
    """Choose the best configuration of each slot.

    Parameters
    ----------
    slots : mapping of Slot to list of (str, dict)
        Key and parameters of each configuration.
    folds : sequence of SeenFold
        All folds.
    selection : BaseMeasure
        Measure to choose by.
    folder : path
        Folder of the stored trainings.

    Returns
    -------
    dict of Slot to Choice
        Slots of which all trainings have failed are left out.
    """
    choices = {}
    for slot, configurations in slots.items():
        candidates, best, scores = [], None, None
        for key, params in configurations:
            fold = folds[slot.fold]
            stored = load_stored(folder, key, fold.sizes)
            candidate = _candidate(key, params, stored, fold.vali, selection)
            candidates.append(candidate)
            if stored is None:
                continue
            if best is None or _is_better(candidate.value, best.value, selection):
                best, scores = candidate, stored.scores["test"]
        if best is not None and scores is not None:
            choices[slot] = Choice(slot, best, scores, candidates)
    return choices


def _candidate(key, params, stored: Stored | None, part, selection):
    if stored is None:
        return Candidate(params, key, np.nan, np.nan, [])
    value = evaluate_measure(
        selection,
        part.y,
        stored.scores["vali"],
        groups=part.groups,
        docids=part.docids,
    )
    return Candidate(params, key, float(value), stored.seconds, stored.warnings)


def _is_better(value, other, selection):
    """Whether a value is strictly better; any value is better than NaN."""
    if np.isnan(other):
        return not np.isnan(value)
    return value > other if selection.greater_is_better else value < other
