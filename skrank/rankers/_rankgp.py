"""RankGP."""

from dataclasses import field
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from skrank._core._parameters import Interval, PositiveInt, invalid_parameter
from skrank._core._threads import effective_n_threads, n_threads_for
from skrank._rows import GroupedRows
from skrank.metrics._registry import MeasureLike
from skrank.rankers._exact_measure import ExactMeasure, measure_to_maximise
from skrank.rankers._formulas import (
    OPERATORS,
    Tokens,
    columns_for,
    depth_of,
    parse,
    start_of,
    substituted,
    text_of,
    values_of,
)
from skrank.rankers._iterations import (
    BaseIterativeRanker,
    EarlyStoppingMixin,
    ThreadsMixin,
)
from skrank.rankers._scaled_columns import power_of

# Share of constants among the leaves of random formulas.
_CONSTANTS = 0.1
# Depths of the formulas of a first generation, and of those that mutation puts in.
_FIRST_DEPTHS, _MUTANT_DEPTH = (1, 2, 3, 4), 2


class RankGP(EarlyStoppingMixin, ThreadsMixin, BaseIterativeRanker):
    r"""RankGP: a formula of the features, bred for the measure itself.

    .. math:: f(x) = \text{a tree of } +, -, \times, \div
              \text{ over features and constants}

    A population of formulas evolves: the parents of a formula win tournaments, the
    larger measure first and the shorter formula next; a child takes a part of one
    parent into the other (crossover), or a random part (mutation), or is the parent
    itself (reproduction), and the best formula always lives on. Several populations
    evolve side by side, and the best formula of each is one more feature for the
    populations of the next layer. The model is one formula of the features as they
    are, ``formula_``, which can be read and parsed.

    A division by less than 1e-100 in size is 1, and values beyond 1e100 in size become
    1e100. Sparse rows are made dense.

    Complexity: O(n s) per formula for n documents and s nodes, and O(n log m) to rank
    them in queries of m documents.

    Parameters
    ----------
    measure : str, BaseMeasure or callable, default="ndcg@10"
        Measure to maximise, or to minimise if smaller values are better. It must
        depend on the ranking only.
    population_size : int, default=100
        Number of formulas of a population.
    n_populations : int, default=3
        Number of populations of a layer.
    n_layers : int, default=2
        Number of layers.
    max_iter : int, default=20
        Number of generations of each layer.
    tournament_size : int, default=5
        Number of formulas of which the best becomes a parent.
    crossover : float, default=0.7
        Share of the children that are made by crossover.
    mutation : float, default=0.2
        Share of the children that are made by mutation; what both leave is made by
        reproduction.
    max_depth : int, default=6
        Largest depth of a formula within its layer.
    n_jobs : int, default=None
        Number of threads; None means all CPUs. Results do not depend on it.
    callback : callable or sequence of callables, default=None
        Function that is called before the first generation and after each one with a
        dict of ``iteration`` (0 before the first), ``objective``, ``descends`` (True:
        it is meant to fall), ``params`` (the number of the best formula) and, where
        there are validation queries, ``evals`` (the value of each measure, by the names
        of the set and of the measure) and ``validation`` (the value that decides). If
        it returns True, training stops. Of several functions all are called.

    Attributes
    ----------
    formula_ : str
        The formula, such as ``"((x0 + 0.5) / x3)"``.
    n_iter_ : int
        Number of generations of all layers.
    best_iteration_ : int
        Generation whose best formula was kept.
    loss_curve_ : ndarray of shape (n_iterations,)
        What the best formula so far missed to the best value of the measure; for a
        measure without a best value, such as DCG, its negative.
    validation_curve_ : ndarray
        Validation measure of the best formula so far after each generation.

    References
    ----------
    [Yeh2007]_; [Liu2011]_, section 4.2.3.2.

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.rankers import RankGP
    >>> X, y, groups = make_ranking(n_queries=30, random_state=0)
    >>> ranker = RankGP("map", max_iter=10, random_state=0).fit(X, y, groups)
    >>> ranker.score(X, y, groups) > 0.7
    True
    """

    approach = "listwise"

    measure: MeasureLike = field(default="ndcg@10", kw_only=False)
    population_size: PositiveInt = 100
    n_populations: PositiveInt = 3
    n_layers: PositiveInt = 2
    max_iter: PositiveInt = 20
    tournament_size: PositiveInt = 5
    crossover: Annotated[float, Interval(0, 1)] = 0.7
    mutation: Annotated[float, Interval(0, 1)] = 0.2
    max_depth: PositiveInt = 6

    @classmethod
    def _variants(cls):
        small = {"population_size": 30, "max_iter": 5}
        return [
            {},
            small | {"measure": "map", "n_layers": 1, "n_populations": 1},
            small | {"crossover": 0.2, "mutation": 0.7, "max_depth": 4},
        ]

    def _check_parameters(self):
        super()._check_parameters()
        if self.crossover + self.mutation > 1.0:
            accepted = f"at most 1 - crossover, which is {1.0 - self.crossover:g}"
            raise invalid_parameter(self, "mutation", accepted, self.mutation)

    def _fit(self, data: GroupedRows, validation: GroupedRows | None) -> None:
        measure = measure_to_maximise(self, self.measure)
        rng = check_random_state(self.random_state)
        data, validation = self._hold_out(data, validation, rng)
        work = 100.0 * data.n_documents  # a formula takes about as many nanoseconds
        n_threads = n_threads_for(work, effective_n_threads(self.n_jobs))
        breeder = _Breeder(self, data, ExactMeasure(measure, data, n_threads), rng)
        held: Any = None if validation is None else columns_for(validation.X)

        def scores_of(state, rows):
            columns = breeder.columns if rows is data else held
            return values_of(breeder.bests[int(state[0])], columns, n_threads)

        monitor = self._monitor(data, validation, scores_of)
        curve = self._breed(breeder, monitor)
        self._store_progress(monitor, len(curve), curve)
        best = monitor.best_state
        kept = breeder.bests[-1] if best is None else breeder.bests[int(best[0])]
        self.formula_ = text_of(kept)

    def _breed(self, breeder, monitor) -> list[float]:
        """Make all generations; return the loss after each of them."""
        curve: list[float] = []
        for layer in range(self.n_layers):
            breeder.begin_layer()
            if layer == 0:
                monitor.start(np.zeros(1), breeder.loss)
            for _ in range(self.max_iter):
                breeder.next_generation()
                curve.append(breeder.loss)
                state = np.array([len(breeder.bests) - 1.0])
                if monitor.needed and monitor(state, len(curve), breeder.loss):
                    return curve
            breeder.end_layer()
        return curve

    def _predict(self, X) -> np.ndarray:
        n_threads = n_threads_for(10.0 * X.shape[0], self.n_jobs)
        return values_of(parse(self.formula_), columns_for(X), n_threads)


class _Breeder:
    """Populations of formulas, and what their measures are.

    Attributes
    ----------
    bests : list of tuple
        The formulas of features, each better than those before it.
    loss : float
        What the last one misses to the best value of the measure.
    """

    def __init__(self, ranker, data, exact, rng):
        self.ranker, self.exact, self.rng = ranker, exact, rng
        self.columns = columns_for(data.X)
        self.n_features = data.X.shape[1]
        varying = [
            j
            for j in range(self.n_features)
            if power_of(np.ascontiguousarray(self.columns[:, j]), data.ptr) is not None
        ]
        self.leaves = varying or list(range(self.n_features))
        self.parts: list[Tokens] = []
        self.bests: list[Tokens] = []
        self.fitness, self.loss = -np.inf, np.inf

    def begin_layer(self) -> None:
        """Make the first generation of each population, without its ancestors."""
        ranker = self.ranker
        self.known: dict[Tokens, float] = {}
        self.populations = [
            [self._random(_FIRST_DEPTHS[k % 4]) for k in range(ranker.population_size)]
            for _ in range(ranker.n_populations)
        ]
        self._look_for_best()

    def next_generation(self) -> None:
        """Replace every population by its children."""
        self.populations = [self._children(p) for p in self.populations]
        self._look_for_best()

    def end_layer(self) -> None:
        """Let the best formula of each population be one more feature."""
        winners = [max(p, key=self._rank) for p in self.populations]
        scores = [self._scores(winner) for winner in winners]
        self.columns = np.asfortranarray(np.column_stack([self.columns, *scores]))
        for winner in winners:
            self.leaves.append(self.n_features + len(self.parts))
            self.parts.append(self._expanded(winner))

    def _expanded(self, tokens) -> Tokens:
        return substituted(tokens, self.n_features, self.parts)

    def _look_for_best(self):
        best = max((t for p in self.populations for t in p), key=self._rank)
        fitness = self._fitness(best)
        if fitness > self.fitness or not self.bests:
            self.bests.append(self._expanded(best))
            self.fitness = fitness
            self.loss = self.exact.loss(self.exact.sign * fitness)

    def _scores(self, tokens) -> np.ndarray:
        return values_of(tokens, self.columns, self.exact.n_threads)

    def _fitness(self, tokens) -> float:
        if tokens not in self.known:
            mean = self.exact.mean(self._scores(tokens))
            self.known[tokens] = self.exact.sign * mean
        return self.known[tokens]

    def _rank(self, tokens) -> tuple[float, int]:
        return self._fitness(tokens), -len(tokens)

    def _children(self, population) -> list[Tokens]:
        ranker, rng = self.ranker, self.rng
        children = [max(population, key=self._rank)]
        while len(children) < len(population):
            parent, how = self._winner(population), rng.uniform()
            if how < ranker.crossover:
                other = self._winner(population)
                part = self._some_part(other)
                child = self._with_part(parent, other[part[0] : part[1] + 1])
            elif how < ranker.crossover + ranker.mutation:
                child = self._with_part(parent, self._random(_MUTANT_DEPTH))
            else:
                child = parent
            children.append(child)
        return children

    def _winner(self, population) -> Tokens:
        drawn = self.rng.randint(len(population), size=self.ranker.tournament_size)
        return max((population[k] for k in drawn), key=self._rank)

    def _some_part(self, tokens) -> tuple[int, int]:
        end = self.rng.randint(len(tokens))
        return start_of(tokens, end), end

    def _with_part(self, tokens, part) -> Tokens:
        first, last = self._some_part(tokens)
        child = tokens[:first] + part + tokens[last + 1 :]
        return child if depth_of(child) <= self.ranker.max_depth else tokens

    def _random(self, depth) -> Tokens:
        """Return a random formula of at most some depth."""
        rng = self.rng
        depth = min(depth, self.ranker.max_depth)
        if depth == 0 or rng.uniform() < 0.1:
            if rng.uniform() < _CONSTANTS:
                return (float(np.round(rng.uniform(-1.0, 1.0), 2)),)
            return (int(self.leaves[rng.randint(len(self.leaves))]),)
        left, right = self._random(depth - 1), self._random(depth - 1)
        return (*left, *right, OPERATORS[rng.randint(len(OPERATORS))])
