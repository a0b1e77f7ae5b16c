"""Training seen from the side: energies before, during and after it.

A ranker reports its parameters after every iteration, but not those it starts from, and
it keeps only the last. So a clone of the ranker is trained here, and the two steps that
know the rest are listened to: the one that gets the grouped rows and the one that draws
the parameters to start from. Nothing of the training is repeated or imitated; the clone
is the ranker that `fit` would have made.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone


@dataclass
class _Run:
    """One minimisation; a ranker with restarts makes several."""

    start: np.ndarray
    objectives: list[float] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)


class TrainingWatch:
    """Train a clone of an energy ranker and look at the energies of its training rows.

    Complexity: beside the training itself, the energies of all rows once per iteration
    if there is anything to ``record``, and twice otherwise.

    Parameters
    ----------
    estimator : ranker or Pipeline
        An energy ranker, or a pipeline that ends in one; left unchanged.
    caller : str
        Who asks, for error messages.
    by_label : bool, default=None
        Whether energies are those of documents and labels, E(q, d, r), and not those
        that documents are ranked by, E(q, d). None means the former if there are any.
    record : callable, default=None
        ``record(energies, data, labels)`` makes what is kept of every iteration.

    Attributes
    ----------
    estimator : ranker or Pipeline
        The clone, fitted.
    ranker : BaseEnergyRanker
        The clone itself, or the last step of the pipeline.
    data : RankingData
        Training rows as the ranker sees them, grouped by query.
    labels : ndarray of shape (n_labels,) or None
        Labels of the columns of the energies.
    """

    def __init__(self, estimator, caller, *, by_label=None, record=None):
        self.estimator = clone(estimator)
        is_pipeline = hasattr(self.estimator, "steps")
        self.ranker = self.estimator[-1] if is_pipeline else self.estimator
        if not hasattr(self.ranker, "energies"):
            raise TypeError(
                f"{caller} needs an energy-based ranker such as EnergyRanker, or a "
                f"pipeline that ends in one, got {type(self.ranker).__name__}"
            )
        self.by_label = by_label
        self.record = record
        self.labels = None
        self._runs: list[_Run] = []
        self._rows = None

    @property
    def name(self) -> str:
        """Name of the ranker."""
        return type(self.ranker).__name__

    def fit(self, X, y, groups=None, fit_params=None):
        """Train the clone.

        Parameters
        ----------
        X, y, groups : array-likes
            As in `BaseRanker.fit`.
        fit_params : dict, default=None
            Further arguments of `fit`.

        Returns
        -------
        TrainingWatch
            The watch itself.
        """
        arguments = dict(fit_params or {})
        if groups is not None:
            arguments["groups"] = groups
        ranker, callback = self.ranker, self.ranker.callback
        listeners = {
            "_fit": self._listen_to_rows(ranker._fit),
            "_start": self._listen_to_start(ranker._start),
        }
        vars(ranker).update(listeners, callback=self._after_iteration(callback))
        try:
            # Only for pipelines, which pass groups on by nothing else.
            with sklearn.config_context(enable_metadata_routing=True):
                self.estimator.fit(X, y, **arguments)
        finally:
            for name in listeners:
                del vars(ranker)[name]
            ranker.callback = callback
        self._keep_best_run()
        return self

    def _listen_to_rows(self, fit):
        def listening(data, validation):
            self.data = data
            return fit(data, validation)

        return listening

    def _listen_to_start(self, start):
        def listening(energy, n_features, rng):
            params = start(energy, n_features, rng)
            if self._rows is None:
                self._rows = energy.transform(self.data.X)
            self._energy = energy
            self._runs.append(_Run(np.array(params)))
            self._observe(params)
            return params

        return listening

    def _after_iteration(self, callback):
        def listening(info):
            if callback is not None:
                callback(info)
            self._runs[-1].objectives.append(info["objective"])
            self._observe(info["params"])

        return listening

    def _observe(self, params):
        if self.record is not None:
            energies = self._energies(params)
            record = self.record(energies, self.data, self.labels)
            self._runs[-1].records.append(record)

    def _energies(self, params):
        energy, ptr = self._energy, self.data.ptr
        by_label = energy.labels_ is not None and self.by_label in (None, True)
        self.labels = energy.labels_ if by_label else None
        scores = energy.scores if by_label else energy.document_scores
        return -np.asarray(scores(params, self._rows, ptr), dtype=np.float64)

    def _keep_best_run(self):
        ranker = self.ranker
        if len(self._runs) != ranker.n_restarts:
            raise TypeError(
                f"{self.name} trains several models one after the other; their "
                "energies cannot be shown as those of one"
            )
        curve = ranker.loss_curve_.tolist()
        kept = [run for run in self._runs if run.objectives == curve]
        if not kept:
            raise TypeError(
                f"{type(ranker.solver).__name__} reports other objectives than it "
                "returns, so it cannot be told which of the minimisations was kept"
            )
        self._run = kept[0]

    def before(self):
        """Energies at the parameters that the kept minimisation started from."""
        return self._energies(self._run.start)

    def after(self):
        """Energies at the parameters that the ranker kept."""
        return self._energies(self.ranker.params_)

    @property
    def records(self) -> list:
        """What was recorded: before training, then after every iteration."""
        return self._run.records
