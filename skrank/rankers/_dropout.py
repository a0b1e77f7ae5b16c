"""Dropout of trees: DART."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from skrank.trees import TreeEnsemble

#: Digits of values of leaves, in bits: 40 after the largest value that the first tree
#: is expected to have leave 13 of those of a double for sums.
_N_BITS = 40


def draw_dropped(seed: int, iteration: int, rate: float) -> np.ndarray:
    """Draw the rounds that are left out of a round: each by chance, but at least one.

    Parameters
    ----------
    seed : int
        Seed of the run.
    iteration : int
        Number of the round, and of the rounds before it.
    rate : float
        Chance of each of them.

    Returns
    -------
    ndarray of int
        Numbers of rounds, ascending; empty for the first round.
    """
    if iteration == 0:
        return np.zeros(0, dtype=np.int64)
    state = np.random.SeedSequence([seed, iteration, 1]).generate_state(1)
    rng = np.random.RandomState(state)
    drawn = np.flatnonzero(rng.random_sample(iteration) < rate)
    return drawn if len(drawn) else rng.randint(iteration, size=1)


class Dropout:
    r"""Rounds of a run of boosting that are left out of some later rounds.

    A round fits its trees to the gradient at the scores without k earlier rounds. These
    and the new one would then do the same work twice, so that all of them shrink:

    .. math:: F \leftarrow F - \frac{1}{k + 1} \sum_{s \in D} T_s + \frac{1}{k + 1} T,
              \qquad |D| = k

    Values of leaves are rounded to multiples of a unit, a power of two. Sums of them
    are exact: a round that is left out and put back leaves no trace, and scores do not
    tell in what order they were added, so that a warm start goes on with the same bits.

    Parameters
    ----------
    run : Boosting
        The run, at the scores before its first round.

    References
    ----------
    [Vinayak2015]_, algorithm 1.
    """

    def __init__(self, run: Any):
        self.run, ranker = run, run.ranker
        if ranker.ensemble_.is_linear:
            raise ValueError(
                f"dropout={ranker.dropout:g} shrinks constants, but warm_start=True "
                "goes on from trees with linear leaves; set dropout=0 or "
                "warm_start=False"
            )
        self.rate, self.n_outputs = float(ranker.dropout), run.n_outputs
        # Models from files of older versions have no unit, and no rounds were left out.
        self.unit = getattr(ranker, "leaf_unit_", 0.0) or self._expected_unit()
        self.forest = copy(ranker.ensemble_)
        self.forest.value_ = self._rounded(self.forest.value_)
        self.initial = [self.forest.value_[at] for at in self._nodes()]
        self.values = list(self.initial)
        self.drops: list[np.ndarray] = []
        self.added: list[np.ndarray] = []
        self.parts = [_Rows(self, run.data, run.scores)]
        if run.validation is not None:
            self.parts.append(_Rows(self, run.validation, run.held_scores))

    def take_out(self, iteration: int) -> None:
        """Set the scores of the run to those without the rounds that are drawn."""
        drawn = draw_dropped(self.run.seed, iteration, self.rate)
        self.drops.append(drawn)
        for rows in self.parts:
            rows.removed = rows.sum_of(self.forest, drawn)
            rows.show(rows.total - rows.removed)

    def put_back(self, trees: Sequence[dict[str, np.ndarray]]) -> None:
        """Add the trees of the round, and what is left of those that were left out."""
        run, drawn = self.run, self.drops[-1]
        self.added.append(np.concatenate([tree["value"] for tree in trees]))
        self._shrink(self.values, drawn, self.added[-1])
        self.forest.append(trees, range(self.n_outputs), run.ranker.bin_mapper_)
        nodes = self._nodes()
        changed = [*drawn.tolist(), len(self.values) - 1]
        for number in changed:
            self.forest.value_[nodes[number]] = self.values[number]
        for rows in self.parts:
            rows.total += rows.sum_of(self.forest, changed) - rows.removed
            rows.show(rows.total)

    def keep(self, n_rounds: int) -> None:
        """Store the model as it was after some rounds of the run in the ranker."""
        if n_rounds == 0:
            return
        ranker, values = self.run.ranker, list(self.initial)
        for drawn, added in zip(self.drops[:n_rounds], self.added):
            self._shrink(values, drawn, added)
        ranker.ensemble_ = self.forest.truncated(len(values) * self.n_outputs)
        ranker.ensemble_.value_ = np.concatenate(values)
        pairs = [
            np.stack([np.full(len(drawn), len(self.initial) + t), drawn], axis=1)
            for t, drawn in enumerate(self.drops[:n_rounds])
        ]
        earlier = getattr(ranker, "dropped_rounds_", np.zeros((0, 2), np.int64))
        ranker.dropped_rounds_ = np.concatenate([earlier, *pairs])
        ranker.leaf_unit_ = float(self.unit)

    def _shrink(self, values, drawn, added) -> None:
        """Apply one round to the values of all rounds before it, and add its own."""
        k = len(drawn)
        for number in drawn:
            values[number] = self._rounded(values[number] * (k / (k + 1.0)))
        values.append(self._rounded(added / (k + 1.0)))

    def _nodes(self) -> list[slice]:
        """Return the nodes of each round."""
        firsts = self.forest.roots_[:: self.n_outputs].tolist()
        return list(map(slice, firsts, [*firsts[1:], len(self.forest.value_)]))

    def _rounded(self, values) -> np.ndarray:
        return np.rint(values / self.unit) * self.unit if self.unit else values

    def _expected_unit(self) -> float:
        """Return the unit for values as large as those of the first tree may be."""
        _, gradient, hessian = self.run._derivatives()
        weight = 1.0 if hessian is None else float(np.mean(hessian))
        largest = self.run.rate(0) * float(np.abs(gradient).max())
        if not (largest > 0.0 and weight > 0.0 and np.isfinite(largest / weight)):
            return 0.0
        return float(np.ldexp(1.0, int(np.ceil(np.log2(largest / weight))) - _N_BITS))


class _Rows:
    """Scores of the training or of the validation rows, taken apart."""

    def __init__(self, dropout: Dropout, data: Any, scores: np.ndarray):
        run = dropout.run
        self.scores, self.n_threads = scores, run.n_threads
        self.encoded = run.ranker.bin_mapper_.encode(data.X.gathered())
        self.start = run.start_of(data)
        self.n_outputs = dropout.n_outputs
        self.total = self.sum_of(dropout.forest, np.arange(len(dropout.initial)))
        # The run has added the trees one by one, on a warm start.
        self.show(self.total)

    def sum_of(self, forest: TreeEnsemble, rounds) -> np.ndarray:
        """Return the sum of some rounds."""
        found = np.zeros_like(self.start)
        outputs = np.arange(self.n_outputs)
        trees = np.add.outer(np.asarray(rounds, dtype=np.int64) * len(outputs), outputs)
        if trees.size:
            # All of them at once, because each call reads all rows.
            chosen = forest._selected(trees.ravel())
            chosen.add_to(found, self.encoded, n_threads=self.n_threads)
        return found

    def show(self, total: np.ndarray) -> None:
        """Set the scores of the run to these trees and what they start from."""
        np.add(self.start, total, out=self.scores)


def staged_with_dropout(
    raw: np.ndarray,
    encoded: np.ndarray,
    ensemble: TreeEnsemble,
    pairs: np.ndarray,
    n_threads: int,
) -> Iterator[np.ndarray]:
    """Yield the scores after each round, with the trees as large as they then were.

    Parameters
    ----------
    raw : ndarray of shape (n_rows, n_outputs)
        Scores before the first round; the later ones are yielded in the same array.
    encoded : ndarray of shape (n_rows, n_features)
        Rows as `TreeEnsemble.add_to` takes them.
    ensemble : TreeEnsemble
        Trees as they are after the last round.
    pairs : ndarray of shape (n_pairs, 2)
        Numbers of rounds and of the earlier rounds that were left out of them.
    n_threads : int
        Number of threads.
    """
    step = ensemble.n_outputs
    n_rounds = ensemble.n_trees // step
    dropped = [pairs[pairs[:, 0] == t, 1] for t in range(n_rounds)]
    # How much larger a round was than it is in the end.
    size = np.ones(n_rounds)
    for drawn in reversed(dropped):
        size[drawn] *= (len(drawn) + 1.0) / max(len(drawn), 1)
    for number, drawn in enumerate(dropped):
        changes = {int(s): -size[s] / (len(drawn) + 1.0) for s in drawn}
        size[drawn] *= len(drawn) / (len(drawn) + 1.0)
        for own, change in [*changes.items(), (number, size[number])]:
            part = np.zeros_like(raw)
            first = own * step
            ensemble.add_to(part, encoded, first, first + step, n_threads=n_threads)
            raw += change * part
        yield raw
