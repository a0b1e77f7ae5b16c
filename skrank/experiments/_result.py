"""The result of an experiment: pooled test queries, the table, and the problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank._core._id_arrays import id_list
from skrank._core._messages import shown
from skrank._core._queries import QueryIndex
from skrank.experiments._choice import Choice, Judged, Slot
from skrank.experiments._grid import plain
from skrank.metrics import BaseMeasure, ComparisonTable
from skrank.metrics._compare import Design
from skrank.metrics._evaluate import values_of_queries


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment has found.

    Attributes
    ----------
    table : ComparisonTable
        The rankers on the pooled test queries; those of which a fold has failed are
        missing.
    chosen : list of dict
        For each ranker, seed and fold the chosen ``params``, the ``validation`` measure
        of the choice, the ``seconds`` of its fit, and all ``candidates``.
    fold_means : dict of str to dict of str to list of float
        ``fold_means[ranker][measure]`` holds the mean over the test queries of each
        fold; the mean of these is what papers about LETOR report.
    spread : dict of str to dict of str to float
        ``spread[ranker][measure]`` is the standard deviation over seeds of the mean
        over all queries; 0 for one seed.
    failures : list of dict
        Trainings that failed: ``ranker``, ``fold``, ``seed``, ``params``, ``error``.
    warnings : list of dict
        What fits warned of: ``ranker``, ``warning`` and the ``count`` of fits.
    n_trained : int
        Number of trainings that this run has made.
    n_stored : int
        Number of trainings that earlier runs had stored.
    n_unused : int
        Number of stored trainings that belong to other data, parameters or code.
    """

    table: ComparisonTable
    chosen: list[dict[str, Any]]
    fold_means: dict[str, dict[str, list[float]]]
    spread: dict[str, dict[str, float]]
    failures: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    n_trained: int
    n_stored: int
    n_unused: int
    _test: Judged = field(repr=False)
    _fold_of_row: np.ndarray = field(repr=False)
    _fold_names: list[str] = field(repr=False)
    _scores: dict[tuple[str, int | None], np.ndarray] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            The attributes by their names, and ``table`` as of
            `skrank.metrics.ComparisonTable.to_dict`.
        """
        return {
            "table": self.table.to_dict(),
            "chosen": self.chosen,
            "fold_means": {
                ranker: {m: list(map(_number, v)) for m, v in means.items()}
                for ranker, means in self.fold_means.items()
            },
            "spread": {
                ranker: {m: _number(v) for m, v in spread.items()}
                for ranker, spread in self.spread.items()
            },
            "failures": self.failures,
            "warnings": self.warnings,
            "n_trained": self.n_trained,
            "n_stored": self.n_stored,
            "n_unused": self.n_unused,
        }

    def __str__(self):
        return str(self.table)


def _number(value):
    return float(value) if np.isfinite(value) else None


def pooled(tests: Sequence[Judged]) -> Judged:
    """Return the test documents of all folds as one set.

    Parameters
    ----------
    tests : sequence of Judged
        Test documents of each fold.

    Returns
    -------
    Judged

    Raises
    ------
    ValueError
        If a query is a test query of two folds.
    """
    kinds = {test.groups.dtype.kind for test in tests}
    groups = [t.groups if len(kinds) == 1 else t.groups.astype(str) for t in tests]
    seen: set = set()
    for ids in groups:
        own = set(id_list(ids))
        if seen & own:
            raise ValueError(
                "folds must test each query once, but query "
                f"{shown(min(seen & own, key=str))} is in the test sets of two folds"
            )
        seen |= own
    return Judged(
        np.concatenate([test.y for test in tests]),
        np.concatenate(groups),
        np.concatenate([test.docids for test in tests]),
    )


def make_result(
    choices: Mapping[Slot, Choice],
    slots: Sequence[Slot],
    folds: Sequence[Any],
    measures: Sequence[BaseMeasure],
    design: Design,
    *,
    notes: Sequence[str],
    failures: list[dict[str, Any]],
    counts: Mapping[str, int],
) -> ExperimentResult:
    """Compare the chosen configurations on the pooled test queries.

    Parameters
    ----------
    choices : mapping of Slot to Choice
        What was chosen.
    slots : sequence of Slot
        All rankers, seeds and folds.
    folds : sequence of SeenFold
        The folds, with their names and test documents.
    measures : sequence of BaseMeasure
        Measures of the table.
    design : Design
        Tests of the table.
    notes : sequence of str
        What the caption of the table says besides.
    failures : list of dict
        Trainings that have failed.
    counts : mapping of str to int
        ``n_trained``, ``n_stored`` and ``n_unused``.

    Returns
    -------
    ExperimentResult

    Raises
    ------
    ValueError
        If no ranker, or not the reference, was trained on all folds.
    """
    names, tests = [fold.name for fold in folds], [fold.test for fold in folds]
    complete = _complete(choices, slots, failures, design)
    test = pooled(tests)
    scores = {
        (ranker, seed): np.concatenate(
            [choices[Slot(ranker, seed, fold)].scores for fold in range(len(tests))]
        )
        for ranker, seeds in complete.items()
        for seed in seeds
    }
    index = QueryIndex.from_groups(test.groups, canonical=True)
    fold_of_row = np.repeat(np.arange(len(tests)), [len(t.y) for t in tests])
    fold_of_query = index.take(fold_of_row)[index.ptr[:-1]]
    values = {key: _values(measures, index, test, run) for key, run in scores.items()}
    means = {r: _over_seeds(values, r, seeds) for r, seeds in complete.items()}
    spread = {r: _spread(measures, values, r, seeds) for r, seeds in complete.items()}
    table = design.table(
        measures,
        list(complete),
        [
            np.column_stack([means[r][m] for r in complete])
            for m in range(len(measures))
        ],
        index.ids,
        [*notes, *_notes_of_spread(complete, spread), *_left_out(slots, complete)],
    )
    return ExperimentResult(
        table=table,
        chosen=[_chosen(choices[slot], names) for slot in slots if slot in choices],
        fold_means={
            r: _fold_means(measures, means[r], fold_of_query) for r in complete
        },
        spread=spread,
        failures=failures,
        warnings=_warnings(choices),
        **counts,
        _test=test,
        _fold_of_row=fold_of_row,
        _fold_names=names,
        _scores=scores,
    )


def _complete(choices, slots, failures, design):
    """Seeds of each ranker that was trained on all folds."""
    seeds: dict[str, dict] = {}
    for slot in slots:
        seeds.setdefault(slot.ranker, {})[slot.seed] = None
    lacking = {slot.ranker for slot in slots if slot not in choices}
    complete = {name: list(own) for name, own in seeds.items() if name not in lacking}
    problem = f"; the first problem: {failures[0]['error']}" if failures else ""
    if not complete:
        raise ValueError(
            f"each of the rankers has failed on a fold, so none is compared{problem}"
        )
    if design.reference is not None and design.reference in lacking:
        raise ValueError(
            f"reference {shown(design.reference)} has failed on a fold, so nothing can "
            f"be compared with it{problem}"
        )
    return complete


def _values(measures, index, test, scores):
    """Values of each measure on each query."""
    y, run, docids = (index.take(a) for a in (test.y, scores, test.docids))
    return [values_of_queries(m, y, run, index.ptr, docids=docids) for m in measures]


def _over_seeds(values, ranker, seeds):
    """Values of each measure on each query, means over the seeds."""
    return [np.mean(each, axis=0) for each in zip(*(values[ranker, s] for s in seeds))]


def _spread(measures, values, ranker, seeds):
    return {
        measure.name: float(np.std([measure.mean(values[ranker, s][m]) for s in seeds]))
        for m, measure in enumerate(measures)
    }


def _fold_means(measures, values, fold_of_query):
    folds = np.unique(fold_of_query)
    return {
        measure.name: [
            float(measure.mean(values[m][fold_of_query == fold])) for fold in folds
        ]
        for m, measure in enumerate(measures)
    }


def _notes_of_spread(complete, spread):
    """Sentences about the rankers that were trained with several seeds."""
    notes = []
    for ranker, seeds in complete.items():
        if len(seeds) > 1:
            deviations = ", ".join(f"{v:.4f} {m}" for m, v in spread[ranker].items())
            notes.append(
                f"{ranker}: means over {len(seeds)} seeds, whose standard deviation is "
                f"{deviations}"
            )
    return notes


def _left_out(slots, complete):
    """Sentences about the rankers that have failed."""
    names = dict.fromkeys(slot.ranker for slot in slots)
    missing = [name for name in names if name not in complete]
    return [f"{', '.join(missing)} failed and left out"] if missing else []


def _chosen(choice, names):
    slot = choice.slot
    return {
        "ranker": slot.ranker,
        "seed": slot.seed,
        "fold": names[slot.fold],
        **_reported(choice.best),
        "candidates": [_reported(candidate) for candidate in choice.candidates],
    }


def _reported(candidate):
    return {
        "params": {name: plain(value) for name, value in candidate.params.items()},
        "validation": _number(candidate.value),
        "seconds": _number(candidate.seconds),
        "training": candidate.key,
    }


def _warnings(choices):
    counts: dict[tuple[str, str], int] = {}
    for choice in choices.values():
        for candidate in choice.candidates:
            for text in candidate.warnings:
                key = choice.slot.ranker, text
                counts[key] = counts.get(key, 0) + 1
    return [
        {"ranker": ranker, "warning": text, "count": count}
        for (ranker, text), count in counts.items()
    ]
