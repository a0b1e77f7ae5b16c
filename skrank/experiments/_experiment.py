"""An experiment: what is trained, chosen and compared."""

import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy
import sklearn

from skrank._core._inner import check_scores_documents
from skrank._core._messages import has_control, shown
from skrank._core._parameters import (
    Fraction,
    NThreads,
    Parameters,
    invalid_parameter,
)
from skrank._core._paths import checked_path
from skrank._core._threads import effective_n_threads
from skrank._core._validation import called, check_arguments
from skrank._version import __version__
from skrank.experiments._choice import choose
from skrank.experiments._folds import PARTS
from skrank.experiments._grid import RankerGrid, Seeds, plain
from skrank.experiments._plan import Plan, Row
from skrank.experiments._result import ExperimentResult, make_result, pooled
from skrank.experiments._time_left import TimeLeft
from skrank.experiments._training import Outcome, TrainingProgress, run_trainings
from skrank.experiments._writing import write_result
from skrank.metrics import BaseMeasure
from skrank.metrics._compare import Design, resolve_measures


class Experiment(Parameters):
    r"""Rankers tuned on validation queries and compared on pooled test queries.

    On each fold every ranker is trained with every choice of its parameters on the
    training queries. Let :math:`v_{ik}` be, for each seed by itself, the mean of the
    measure ``selection`` of choice i on the validation queries of fold k. On fold k the
    choice :math:`\arg\max_i v_{ik}` is kept, the first one of equal ones, and it scores
    the test queries. The test queries of all folds are pooled and tested as in
    `skrank.metrics.compare`; with several seeds, the values of a query are means over
    the seeds. It is the protocol of LETOR [Qin2010]_.

    Parameters
    ----------
    rankers : mapping of str to estimator or RankerGrid
        The rankers by the names that they have in the table.
    measures : str, measure, function, or sequence, default=("ndcg@10", "map")
        Measures of the table, or what `skrank.metrics.get_measure` makes them of.
    selection : str, measure or function, default=None
        Measure that parameters are chosen by; None takes the first one of the table.
    preset : str, default=None
        Conventions of measures that are named, such as ``"letor4"``.
    scaler : transformer, default=None
        Scaling of the features, fitted to the training documents of each fold.
    features : str or sequence of str and int, default=None
        Features to use: names, and ranges of names that are numbers, as in
        ``"1-15,40"``. None uses all of them.
    seeds : int, default=1
        Number of seeds of rankers that draw numbers: 0, 1, …, at most 10,000.
    early_stopping : bool, default=False
        Whether all rankers whose ``fit`` can take validation queries are given them.
    reference : str, default=None
        Name of the ranker with which the others are compared; None for all pairs.
    test : {"fisher", "t", "wilcoxon", "tukey"}, default="fisher"
        Test of the differences, as in `skrank.metrics.compare`.
    correction : {"holm", "bonferroni"} or None, default="holm"
        Correction for several tests.
    level : float, default=0.05
        P-values below it count as significant.
    n_jobs : int, default=1
        Number of trainings at a time, each in a process with one thread; −1 stands for
        the number of CPUs. A single one at a time uses all CPUs for itself. The results
        are the same.

    References
    ----------
    [Qin2010]_, section 3.3.

    Examples
    --------
    >>> import tempfile
    >>> from skrank.datasets import make_ranking
    >>> from skrank.experiments import Experiment, RankerGrid, make_folds
    >>> from skrank.rankers import RankSVM, SubsetRegression
    >>> folds = make_folds(*make_ranking(n_queries=30, random_state=0), n_splits=3)
    >>> rankers = {
    ...     "regression": SubsetRegression(),
    ...     "RankSVM": RankerGrid(RankSVM(), {"alpha": [1e-3, 1e-1]}),
    ... }
    >>> experiment = Experiment(rankers, measures="ndcg@5")
    >>> result = experiment.run(folds, tempfile.mkdtemp())
    >>> result.table.systems, result.table.n_queries, result.n_trained
    (('regression', 'RankSVM'), 30, 9)
    """

    rankers: Mapping[str, Any] = field(kw_only=False)
    measures: str | BaseMeasure | Callable | Sequence[str | BaseMeasure | Callable] = (
        "ndcg@10",
        "map",
    )
    selection: str | BaseMeasure | Callable | None = None
    preset: str | None = None
    scaler: Any = None
    features: str | Sequence[str | int] | None = None
    seeds: Seeds = 1
    early_stopping: bool = False
    reference: str | None = None
    test: Literal["fisher", "t", "wilcoxon", "tukey"] = "fisher"
    correction: Literal["holm", "bonferroni"] | None = "holm"
    level: Fraction = 0.05
    n_jobs: NThreads = 1

    def run(
        self,
        folds: Sequence[Any],
        folder: str | os.PathLike,
        *,
        callback: Callable[[TrainingProgress], Any] | None = None,
        command: str = "",
    ) -> ExperimentResult:
        """Train what is not yet trained, choose, compare, and write the results.

        Each training is written to a file whose name is a digest of all that decides
        its result: the documents, the ranker with all its parameters, the seed, the
        scaling, the version of skrank, and the code of classes that do not belong to an
        installed package. A second run in the same folder repeats none of them, and a
        changed experiment repeats what has changed. A training that fails is reported
        in the result and tried again by the next run.

        Parameters
        ----------
        folds : sequence of folds
            Folds with ``name``, ``train``, ``vali`` and ``test``, as `load_letor_folds`
            and `make_folds` return them. A query may be a test query of one fold only.
        folder : str or path
            Folder of the results; made if it does not exist.
        callback : callable, default=None
            Called with a `TrainingProgress` after each training.
        command : str, default=""
            What has started the experiment, for its record.

        Returns
        -------
        ExperimentResult
            The table, the choices and the problems.

        Raises
        ------
        ValueError
            If a parameter or a fold is not accepted, or no ranker can be compared,
            because a training of each has failed on a whole fold.
        OSError
            If the results cannot be written.

        Warns
        -----
        UserWarning
            If code or an object has nothing by which a later run could recognise it,
            such as a class without a file. Its trainings are repeated then.
        """
        check_arguments(Experiment.run, callback=callback, command=command)
        plan = self._plan(folds, folder)
        measures, selection = self._measures()
        for name, doubt in plan.doubts().items():
            warnings.warn(
                f"{doubt}, so that no later run can recognise the trainings of "
                f"rankers[{shown(name)}], and each repeats them",
                stacklevel=2,
            )
        plan.make_folder()
        missing = plan.missing
        failures = self._train(plan, missing, callback)
        choices = choose(plan.slots, plan.seen, selection, plan.results)
        result = make_result(
            choices,
            list(plan.slots),
            plan.seen,
            measures,
            self._design(),
            notes=self._notes(plan, selection),
            failures=failures,
            counts={
                "n_trained": len(missing) - len(failures),
                "n_stored": len(plan.stored),
                "n_unused": plan.n_unused(),
            },
        )
        write_result(result, plan.folder, self._record(plan, selection, command))
        return result

    def _plan(self, folds, folder):
        """Read the folds and list the trainings; nothing is written yet."""
        self._check_parameters()
        self._measures()
        plan = Plan(self._rows(), _checked_folds(folds), self.scaler, _path(folder))
        pooled([fold.test for fold in plan.seen])
        return plan

    def _measures(self):
        """Return the measures of the table and that of the selection."""
        measures = resolve_measures(self.measures, self.preset)
        selection = measures[0]
        if self.selection is not None:
            (selection,) = resolve_measures(self.selection, self.preset, "selection")
        return measures, selection

    def _check_parameters(self):
        super()._check_parameters()
        effective_n_threads(self.n_jobs)
        if not self.rankers:
            raise invalid_parameter(
                self, "rankers", "a mapping with at least one ranker", self.rankers
            )
        for name in self.rankers:
            if not isinstance(name, str) or not name.strip() or has_control(name):
                words = "a mapping whose keys are names on one line"
                raise invalid_parameter(self, "rankers", words, list(self.rankers))
        if self.reference is not None and self.reference not in self.rankers:
            words = f"the name of a ranker, one of {', '.join(self.rankers)}"
            raise invalid_parameter(self, "reference", words, self.reference)
        if self.scaler is not None and not hasattr(self.scaler, "transform"):
            raise invalid_parameter(
                self, "scaler", "a transformer or None", self.scaler
            )

    def _rows(self):
        options = {
            "seeds": self.seeds,
            "early_stopping": self.early_stopping,
            "features": self.features,
            "selection": self._selection_name(),
        }
        rows = []
        for name, ranker in self.rankers.items():
            if not isinstance(ranker, RankerGrid):
                check_scores_documents(ranker, f"rankers[{shown(name)}]")
                ranker = RankerGrid(ranker)
            rows.append(Row(name, ranker, options))
        return rows

    def _selection_name(self):
        """Return the measure of the selection as it was given, for early stopping."""
        if self.selection is not None:
            return self.selection
        if isinstance(self.measures, str) or not isinstance(self.measures, Sequence):
            return self.measures
        return self.measures[0]

    def _train(self, plan, missing, callback):
        """Run the missing trainings and return those that failed."""
        failures, n_jobs = [], self._n_workers(len(missing))
        left = TimeLeft(missing.values(), plan.stored_seconds() if missing else None)
        outcomes = run_trainings(missing, plan.folds, plan.results, n_jobs)
        for done, outcome in enumerate(outcomes, 1):
            training = missing[outcome.key]
            left.ended(training, outcome.seconds)
            fold = plan.seen[training.fold].name
            if outcome.error:
                failures.append(
                    {
                        "ranker": training.ranker,
                        "fold": fold,
                        "seed": training.seed,
                        "params": {k: plain(v) for k, v in training.params.items()},
                        "error": outcome.error,
                    }
                )
            if callback is not None:
                rest = left.estimate()
                told = _progress(done, len(missing), rest, training, fold, outcome)
                called("callback", callback, told)
        return failures

    def _n_workers(self, n_trainings):
        return max(1, min(effective_n_threads(self.n_jobs), n_trainings))

    def _design(self):
        return Design(
            test=self.test,
            correction=self.correction,
            reference=self.reference,
            level=self.level,
            preset=self.preset,
        )

    def _notes(self, plan, selection):
        """Sentences of the caption about the protocol."""
        notes = []
        if len(plan.slots) < sum(map(len, plan.slots.values())):
            notes.append(f"parameters chosen by {selection.name} on validation queries")
        folds = len(plan.seen)
        return [*notes, f"test queries of {folds} folds pooled"] if folds > 1 else notes

    def _record(self, plan, selection, command):
        """Return what the experiment was, as plain values."""
        return {
            "experiment": {
                "command": command,
                "selection": selection.name,
                "preset": self.preset,
                "scaler": plain(self.scaler),
                "features": plain(self.features),
                "seeds": int(self.seeds),
                "early_stopping": bool(self.early_stopping),
                "rankers": {row.name: row.record() for row in plan.rows},
            },
            "folds": [
                {
                    "name": seen.name,
                    "digest": seen.digest,
                    "files": {
                        part: str(path)
                        for part, path in getattr(fold, "paths", {}).items()
                    },
                }
                for seen, fold in zip(plan.seen, plan.folds)
            ],
            "versions": {
                "skrank": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "scikit-learn": sklearn.__version__,
            },
        }


def _progress(done, total, left, training, fold, outcome: Outcome):
    return TrainingProgress(
        done,
        total,
        left,
        training.ranker,
        fold,
        training.seed,
        training.params,
        outcome.seconds,
        outcome.error,
    )


def _path(folder):
    path = Path(checked_path(folder, "folder", "write"))
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"folder: {shown(str(path))} is not a folder")
    return path


def _checked_folds(folds):
    """Return the folds as a sequence of which each entry has all parts."""
    if isinstance(folds, (str, bytes)) or not isinstance(folds, Sequence) or not folds:
        raise TypeError(
            "folds must be a sequence of folds, as load_letor_folds and make_folds "
            f"return it, got {shown(folds)}"
        )
    names = []
    for fold in folds:
        # Of a class, not of the object: the parts of some are read on request.
        known = {*dir(type(fold)), *getattr(fold, "__dict__", {})}
        if not {"name", *PARTS} <= known:
            raise TypeError(
                f"folds must hold folds with name, {', '.join(PARTS)}, got "
                f"{shown(fold)}"
            )
        names.append(fold.name)
    if len(set(names)) < len(names):
        raise ValueError(f"folds must have different names, got {shown(names)}")
    return folds
