"""How long the trainings of an experiment will still take."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping

from skrank.experiments._grid import one_line
from skrank.experiments._training import Training

_Kind = tuple[str, str]


def _kind(training: Training) -> _Kind:
    """Trainings of a ranker with the same parameters take about equally long."""
    return training.ranker, one_line(training.params)


class _Mean:
    """Mean of the seconds that were seen."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, seconds: float) -> None:
        """Count one more training."""
        self.total += seconds
        self.count += 1

    @property
    def value(self) -> float:
        """The mean."""
        return self.total / self.count


class TimeLeft:
    """Estimate of the time that the trainings which are not finished take.

    A training is expected to take as long as those with the same parameters on other
    folds, or as those of the ranker. Rankers differ by orders of magnitude, so that
    there is no estimate before one training of each ranker has been seen.

    Parameters
    ----------
    trainings : iterable of Training
        The trainings to do.
    seen : mapping of Training to float, default=None
        Seconds of trainings of earlier runs.
    """

    def __init__(
        self,
        trainings: Iterable[Training],
        seen: Mapping[Training, float] | None = None,
    ):
        self._left = Counter(map(_kind, trainings))
        self._of_kind: dict[_Kind, _Mean] = {}
        self._of_ranker: dict[str, _Mean] = {}
        self._fitted = 0.0
        self._start = time.perf_counter()
        for training, seconds in (seen or {}).items():
            self._see(training, seconds)

    def _see(self, training, seconds):
        self._of_kind.setdefault(_kind(training), _Mean()).add(seconds)
        self._of_ranker.setdefault(training.ranker, _Mean()).add(seconds)

    def ended(self, training: Training, seconds: float) -> None:
        """Count a training that has just ended, after some seconds of fitting."""
        self._left[_kind(training)] -= 1
        self._fitted += seconds
        self._see(training, seconds)

    def estimate(self) -> float | None:
        """Return the seconds that are left.

        Returns
        -------
        float or None
            None if nothing is known of a ranker that is left.
        """
        expected = 0.0
        for kind, count in self._left.items():
            if count:
                mean = self._of_kind.get(kind) or self._of_ranker.get(kind[0])
                if mean is None:
                    return None
                expected += count * mean.value
        if not self._fitted:
            return expected
        # Several trainings run at a time, and reading and scoring take time as well.
        return expected * (time.perf_counter() - self._start) / self._fitted
