"""Each check finds the broken part that breaks its contract, and no other."""

import inspect

import numpy as np
import pytest

from skrank.base import BaseRanker
from skrank.discovery import all_objects
from skrank.energies import LinearEnergy
from skrank.losses import BaseLoss, HingeLoss, PreparedLoss, SquaredHingeLoss
from skrank.metrics import NDCG, BaseMeasure, FunctionMeasure, get_measure
from skrank.metrics._base import RankedMeasure
from skrank.rankers import RankSVM, SubsetRegression
from skrank.solvers import LBFGS, SGD, Adam
from skrank.testing import (
    _energies,
    _losses,
    _measures,
    _rankers,
    _solvers,
    check_energy,
    check_loss,
    check_measure,
    check_ranker,
    check_solver,
    contract_checks,
)


def fails(check, part, message):
    with pytest.raises(AssertionError, match=message):
        check(part)


# Measures -----------------------------------------------------------------------------


class Gained(RankedMeasure):
    """Share of the grades that the first document has; broken ones derive from it."""

    undefined_without = "relevant documents"

    def _values(self, documents):
        ranked, _ = documents.rank(documents.y)
        total = documents.sum_by_query(documents.y)
        first = ranked[documents.ptr[:-1]]
        with np.errstate(invalid="ignore"):
            return np.where(total > 0, first / total, np.nan)


class AboveBounds(Gained):
    def _values(self, documents):
        return 3.0 * super()._values(documents)


class OneForAll(Gained):
    def per_query(self, *args, **kwargs):
        return super().per_query(*args, **kwargs)[:1]


class SeesOthers(Gained):
    def _values(self, documents):
        return super()._values(documents) * documents.y.mean() / 4.0


class SeesRows(Gained):
    def _values(self, documents):
        return super()._values(documents) * (1.0 + documents.y[documents.ptr[:-1]]) / 5


class WrongDirection(Gained):
    greater_is_better = False


class NotUndefined(Gained):
    undefined_without = None


class KeepsNaN(Gained):
    def _fill_empty(self, values):
        return values


class ScoresNotRanks(Gained):
    def _values(self, documents):
        top = np.maximum.reduceat(documents.y_score, documents.ptr[:-1])
        return super()._values(documents) / (1.0 + np.exp(-top))


class WrongDeltas(Gained):
    def swap_deltas(self, y, ranks):
        return 2.0 * super().swap_deltas(y, ranks)


class HasDeltas(Gained):
    has_swap_deltas = False

    def swap_deltas(self, y, ranks):
        return np.zeros((len(y), len(y)))


class Counting(Gained):
    calls = 0

    def _values(self, documents):
        type(self).calls += 1
        return super()._values(documents) / type(self).calls


class Spoiling(Gained):
    def per_query(self, y, y_score, ptr, **options):
        y_score += 0.0
        return super().per_query(y, y_score, ptr, **options)


class SeesThreads(Gained):
    def _values(self, documents):
        return super()._values(documents) / documents.n_threads


class Unpicklable(Gained):
    def __reduce__(self):
        raise TypeError("no")


class ForgetsParameters(BaseMeasure):
    undefined_without = None

    def __init__(self, power=1.0):
        self.power = 2.0 * power
        self.empty_query = "skip"

    def _values(self, documents):
        return np.ones(len(documents.ptr) - 1)


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        (_measures.check_values, AboveBounds(), "outside of its bounds"),
        (_measures.check_values, OneForAll(), "returns an array of shape"),
        (
            _measures.check_queries_are_independent,
            SeesOthers(),
            "another value among others than alone",
        ),
        (_measures.check_order_of_rows, SeesRows(), "changes with the order of the ro"),
        (_measures.check_direction, WrongDirection(), "says greater_is_better=False"),
        (_measures.check_undefined_queries, NotUndefined(), "says undefined_without=N"),
        (_measures.check_undefined_queries, KeepsNaN(), "does not replace NaN by"),
        (_measures.check_swap_deltas, ScoresNotRanks(), "depends on the scores and no"),
        (_measures.check_swap_deltas, WrongDeltas(), "that are not the changes of its"),
        (_measures.check_swap_deltas, HasDeltas(), "although has_swap_deltas is Fa"),
        (_measures.check_purity, Counting(), "has other values the second time"),
        (_measures.check_purity, Spoiling(), "cannot evaluate arrays that are read-on"),
        (_measures.check_threads, SeesThreads(), "changes with the number of threads"),
        (_measures.check_copies, Unpicklable(), "cannot be pickled: no"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseMeasure) else "",
)
def test_broken_measures(check, broken, message):
    fails(check, broken, message)
    fails(check_measure, broken, ".")


def test_a_measure_without_values():
    message = r"NotImplementedError: BaseMeasure must define the method _values\(docu"
    fails(check_measure, BaseMeasure(), message)


def test_broken_constructors():
    fails(check_measure, ForgetsParameters(), "constructor|clone")


def test_the_sound_measure_passes():
    check_measure(Gained())


def test_functions_are_measures():
    def top(y_true, y_score, price):
        return price[np.argmax(y_score)] * (y_true[np.argmax(y_score)] > 0)

    check_measure(top)
    check_measure(FunctionMeasure(top, greater_is_better=True, bounds=(0.0, 2.0)))
    fails(check_measure, lambda y, s: -y[np.argmax(s)], "says greater_is_better=True")
    fails(check_measure, FunctionMeasure(top, bounds=(0.0, 1.0)), "outside of its bou")
    fails(check_measure, lambda y, s: y[0], "order of the rows of a query")
    fails(check_measure, lambda y, s: s.max(), "scores and not on their order alone")
    fails(check_measure, lambda y, s: "much", "fails in .*: TypeError: the function")


# Losses -------------------------------------------------------------------------------


class Square(BaseLoss):
    """Squared errors of documents; the broken ones derive from it."""

    def _prepare(self, y, ptr, sample_weight, n_threads):
        prepared = self.kind(y, ptr, sample_weight, n_threads)
        prepared.total_weight = (
            float(len(y)) if sample_weight is None else float(sample_weight.sum())
        )
        return prepared

    @property
    def kind(self):
        return PreparedSquare


class PreparedSquare(PreparedLoss):
    def value_gradient(self, raw):
        raw = self._scores(raw)
        weight = 1.0 if self.weight is None else self.weight
        error = raw - self.y
        return self._sums(0.5 * weight * error**2), weight * error

    def _sums(self, terms):
        query = np.repeat(np.arange(self.n_queries), np.diff(self.ptr))
        return np.bincount(query, terms, self.n_queries)


def loss_with(value_gradient=None, *, base=PreparedSquare, **attributes):
    """A loss whose prepared form evaluates otherwise, or that says something else."""
    body = {} if value_gradient is None else {"value_gradient": value_gradient}
    kind = type("Prepared", (base,), body)
    return type("Broken", (Square,), {"kind": kind, **attributes})()


def sound(prepared, raw):
    return PreparedSquare.value_gradient(prepared, raw)


def scaled_by(function):
    """The sound loss times something that it must not depend on."""

    def value_gradient(self, raw):
        factor = function(self, np.asarray(raw))
        values, gradient = sound(self, raw)
        return factor * values, factor * gradient

    return value_gradient


def wrong_gradient(self, raw):
    values, gradient = sound(self, raw)
    return values, 2.0 * gradient


def other_shape(self, raw):
    values, gradient = sound(self, raw)
    return values[:-1], gradient


def remembers(self, raw):
    self.calls = getattr(self, "calls", 0) + 1
    values, gradient = sound(self, raw)
    return values / self.calls, gradient / self.calls


def ignores_weights(self, raw):
    self.weight = None
    return sound(self, raw)


class Infinite:
    """A prepared loss that looks at nothing."""

    total_weight = 1.0

    def __init__(self, y, ptr, sample_weight, n_threads):
        self.ptr = ptr
        self.y = y

    def value_gradient(self, raw):
        return np.zeros(len(self.ptr) - 1), np.zeros_like(raw)


class WithSubset(PreparedSquare):
    def subset(self, queries):
        part, _ = self._part(queries)
        part.total_weight = self.total_weight
        return part


class WithHessian(PreparedSquare):
    def gradient_hessian(self, raw):
        values, gradient = sound(self, raw)
        return values, gradient, 3.0 * np.ones_like(gradient)


class Concave(PreparedSquare):
    def value_gradient(self, raw):
        values, gradient = super().value_gradient(raw)
        return -values, -gradient


class LiesAboutLabels(Square):
    reads_labels = True


class TakesLabels(Square):
    def _bind(self, y, ptr, sample_weight=None, labels=None, n_threads=1):
        return super()._bind(y, ptr, sample_weight, None, n_threads)


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        (
            _losses.check_shapes,
            loss_with(other_shape),
            "must return arrays of the shapes",
        ),
        (_losses.check_gradient, loss_with(wrong_gradient), "that is not the derivati"),
        (
            _losses.check_hessian,
            loss_with(base=WithHessian, has_hessian=True),
            "whose diagonal is not the derivative",
        ),
        (_losses.check_hessian, loss_with(has_hessian=True), "lacks gradient_hessian"),
        (_losses.check_hessian, loss_with(base=WithHessian), "has gradient_hessian"),
        (
            _losses.check_uninformative_queries,
            loss_with(unit="query"),
            "queries whose grades are all equal add to its value",
        ),
        (_losses.check_query_weights, loss_with(ignores_weights), "query of weight 2"),
        (
            _losses.check_order_of_rows,
            loss_with(scaled_by(lambda self, raw: 1.0 + self.y[0])),
            "changes with the order of the rows of a query",
        ),
        (
            _losses.check_queries_are_independent,
            loss_with(scaled_by(lambda self, raw: self.y.mean())),
            "among others than alone",
        ),
        (_losses.check_subsets, loss_with(base=WithSubset), "does not sum to that of"),
        (
            _losses.check_threads,
            loss_with(scaled_by(lambda self, raw: 1.0 / self.n_threads)),
            "changes with the number of threads",
        ),
        (
            _losses.check_shift_invariance,
            loss_with(shift_invariant=True),
            "says shift_invariant=True, but changes",
        ),
        (
            _losses.check_convexity,
            loss_with(base=Concave),
            "says convex=True, but",
        ),
        (_losses.check_labels, LiesAboutLabels(), "TypeError"),
        (_losses.check_labels, TakesLabels(), "says reads_labels=False, but takes"),
        (_losses.check_purity, loss_with(remembers), "at the same scores the second"),
        (_losses.check_finite, loss_with(base=Infinite), "takes nan for a score"),
    ],
)
def test_broken_losses(check, broken, message):
    if message != "TypeError":
        fails(check, broken, message)
    fails(check_loss, broken, ".")


def test_the_sound_loss_passes():
    check_loss(Square())


# Energies -----------------------------------------------------------------------------


class WrongScores(LinearEnergy):
    def scores(self, params, X, ptr=None):
        return super().scores(params, X, ptr).astype(np.float32)


class WrongMask(LinearEnergy):
    def penalty_mask(self, n_features):
        return np.full(n_features, 0.5)


class WrongCount(LinearEnergy):
    def init_params(self, n_features, rng):
        return np.zeros(n_features + 1)


class WrongPull(LinearEnergy):
    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        raw, vjp = super().scores_and_vjp(params, X, rng, ptr)
        return raw, lambda gradient: 2.0 * vjp(gradient)


class HiddenGroups(LinearEnergy):
    def scores(self, params, X, ptr=None):
        return super().scores(params, X, ptr) * (1 if ptr is None else len(ptr))


class NeedlessGroups(LinearEnergy):
    needs_groups = True


class NoSparse(LinearEnergy):
    accepts_sparse = True

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        raw, vjp = super().scores_and_vjp(params, X, rng, ptr)
        return raw * (1.0 if isinstance(X, np.ndarray) else 2.0), vjp


class NotLinear(LinearEnergy):
    def scores(self, params, X, ptr=None):
        return super().scores(params, X, ptr) ** 3


class Unconstrained(LinearEnergy):
    constrained = True


class Negative(LinearEnergy):
    non_negative = True


class NoSetup(LinearEnergy):
    def setup(self, X, rng=None, y=None, ptr=None):
        return self


class OtherSetup(LinearEnergy):
    def setup(self, X, rng=None, y=None, ptr=None):
        super().setup(X, rng, y, ptr)
        return None


class SpoiledRows(LinearEnergy):
    def scores(self, params, X, ptr=None):
        X *= 1.0
        return super().scores(params, X, ptr)


class Drifting(LinearEnergy):
    calls = 0

    def scores(self, params, X, ptr=None):
        type(self).calls += 1
        return super().scores(params, X, ptr) * type(self).calls


class Threaded(LinearEnergy):
    n_jobs: int = 1

    def scores_and_vjp(self, params, X, rng=None, ptr=None):
        raw, vjp = super().scores_and_vjp(params, X, rng, ptr)
        return raw * self.n_jobs, vjp


class UnpicklableEnergy(LinearEnergy):
    def __reduce__(self):
        raise TypeError("no")


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        (_energies.check_shapes, WrongScores(), "and dtype float64, has shape"),
        (_energies.check_shapes, WrongMask(), "penalty_mask of zeros and ones"),
        (_energies.check_vjp, WrongPull(), "a vjp that is not the gradient"),
        (_energies.check_queries_are_independent, HiddenGroups(), "other scores among"),
        (_energies.check_groups, HiddenGroups(), "says needs_groups=False, but its"),
        (_energies.check_groups, NeedlessGroups(), "says needs_groups=True, but has"),
        (_energies.check_sparse, NoSparse(), "for sparse rows than for dense ones"),
        (_energies.check_linearity, NotLinear(), "says linear=True, but its scores"),
        (_energies.check_constraint, Unconstrained(), "says constrained=True, but co"),
        (_energies.check_constraint, Negative(), "but has energies below 0"),
        (_energies.check_setup, NoSetup(), "must begin setup by super"),
        (_energies.check_setup, OtherSetup(), "must return itself from setup"),
        (_energies.check_purity, SpoiledRows(), "arrays that are read-only"),
        (_energies.check_purity, Drifting(), "has other scores the second time"),
        (_energies.check_threads, Threaded(), "changes with the number of threads"),
        (_energies.check_copies, UnpicklableEnergy(), "cannot be pickled"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, LinearEnergy) else "",
)
def test_broken_energies(check, broken, message):
    fails(check, broken, message)
    fails(check_energy, broken, ".")


def test_errors_of_a_part_become_sentences():
    fails(check_energy, WrongCount(), r"WrongCount\(\) fails in check_copies: ValueErr")


# Solvers ------------------------------------------------------------------------------


class Changing(LBFGS):
    """L-BFGS whose result is changed."""

    def solve(self, objective, params, rng, monitor=None):
        result = super().solve(objective, params, rng, monitor)
        self.change(result, params)
        return result

    def change(self, result, params):
        raise NotImplementedError


class Elsewhere(Changing):
    def change(self, result, params):
        result.params = result.params + 0.1


class OtherValue(Changing):
    def change(self, result, params):
        result.value += 1e-3


class ShortHistory(Changing):
    def change(self, result, params):
        result.history = result.history[:-1]


class MovesTheStart(Changing):
    def change(self, result, params):
        params += 1.0


class Silent(LBFGS):
    def solve(self, objective, params, rng, monitor=None):
        return super().solve(objective, params, rng)


class Disobedient(LBFGS):
    def solve(self, objective, params, rng, monitor=None):
        class Deaf:
            def start(self, params, value):
                monitor.start(params, value)

            def __call__(self, params, n_iter, value):
                monitor(params, n_iter, value)
                return False

        return super().solve(
            objective, params, rng, None if monitor is None else Deaf()
        )


class Unseeded(SGD):
    def solve(self, objective, params, rng, monitor=None):
        return super().solve(objective, params, np.random.RandomState(), monitor)


class AsksForMore(LBFGS):
    def solve(self, objective, params, rng, monitor=None):
        objective.batch(np.arange(2), rng)
        return super().solve(objective, params, rng, monitor)


class Unbound(LBFGS):
    def check(self, objective):
        self._check_parameters()

    def solve(self, objective, params, rng, monitor=None):
        vars(objective).pop("constraint", None)
        return super().solve(objective, params, rng, monitor)


class Refuses(Adam):
    keeps_constraints = True

    def keeps(self, constraint):
        return False


class Tuples(LBFGS):
    def solve(self, objective, params, rng, monitor=None):
        return params, 1


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        (_solvers.check_minimum, Elsewhere(), "away from the minimum"),
        (_solvers.check_minimum, Tuples(), "must return a SolverResult, returned tup"),
        (_solvers.check_start, MovesTheStart(), "changes the parameters that it sta"),
        (_solvers.check_result, OtherValue(), "with parameters whose value is"),
        (_solvers.check_result, ShortHistory(), "returns a history of"),
        (_solvers.check_monitor, Silent(), "must tell the monitor of the start"),
        (_solvers.check_monitor, Disobedient(), "does not stop, as converged"),
        (_solvers.check_seeds, Unseeded(max_iter=3), "elsewhere with the same seed"),
        (_solvers.check_requires, AsksForMore(), "asks for batch, which its attribut"),
        (_solvers.check_constraints, Unbound(), "neither keeps the constraint"),
        (_solvers.check_constraints, Refuses(), "says keeps_constraints=True, but"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, (LBFGS, SGD)) else "",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_broken_solvers(check, broken, message):
    fails(check, broken, message)
    fails(check_solver, broken, ".")


class NeedsTooMuch(LBFGS):
    requires = ("value_gradient", "batch")

    def check(self, objective):
        self._check_parameters()


class Takes(LBFGS):
    """Names what it does not need, and looks for nothing before it begins."""

    requires = ("batch", "value_gradient")

    def check(self, objective):
        self._check_parameters()


def test_solvers_that_do_not_look_at_what_they_name():
    fails(_solvers.check_requires, NeedsTooMuch(), "must refuse an objective without")
    fails(_solvers.check_requires, Takes(), "does not miss batch")


# Rankers ------------------------------------------------------------------------------


class SeesOrder(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        super().fit(X, y, groups, **options)
        self.first_ = 1.0 + abs(np.asarray(X)[0, 0])
        return self

    def predict(self, X, groups=None):
        return self.first_ * super().predict(X)


class SeesIds(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        super().fit(X, y, groups, **options)
        self.kind_ = 1.0 + (np.asarray(groups).dtype.kind == "i")
        return self

    def predict(self, X, groups=None):
        return self.kind_ * super().predict(X)


class LearnsNothing(SubsetRegression):
    def predict(self, X, groups=None):
        return -super().predict(X)


class OneScore(SubsetRegression):
    def predict(self, X, groups=None):
        return super().predict(X).astype(np.float32)


class WithoutGroups(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        groups = np.zeros(len(X)) if groups is None else groups
        return super().fit(X, y, groups, **options)


class Unrouted(SubsetRegression):
    __metadata_request__score = {"groups": False}


class ReturnsNothing(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        super().fit(X, y, groups, **options)


class SetsParameters(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        super().fit(X, y, groups, **options)
        self.alpha = 7.0
        return self


class SpoilsRows(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        X *= 1.0
        return super().fit(X, y, groups, **options)


class OwnRanks(SubsetRegression):
    def rank(self, X, groups=None):
        return super().rank(X, groups)[::-1]


class ClaimsSparse(SubsetRegression):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not tags.input_tags.sparse
        return tags


class Premature(SubsetRegression):
    def predict(self, X, groups=None):
        return np.zeros(len(X)) if not hasattr(self, "coef_") else super().predict(X)


class Stumbles(SubsetRegression):
    def fit(self, X, y, groups=None, **options):
        if len(y) < 10:
            raise ZeroDivisionError("a query without preference")
        return super().fit(X, y, groups, **options)


class UnpicklableRanker(SubsetRegression):
    def __reduce__(self):
        raise TypeError("no")


class SeesRowsBeside(SubsetRegression):
    def _predict(self, X, ptr=None):
        scores = super()._predict(X)
        return scores - scores.mean()


class DenseOnly(BaseRanker):
    """Takes sparse rows by its tags, and stumbles over them."""

    def _fit(self, data, validation):
        X = np.hstack([data.X, np.ones((data.X.shape[0], 1))])
        self.coef_ = np.linalg.lstsq(X, data.y, rcond=None)[0]

    def _predict(self, X):
        return X @ self.coef_[:-1]


class SaysDenseOnly(DenseOnly):
    _accepts_sparse = False


def test_a_ranker_says_that_it_takes_no_sparse_rows():
    fails(_rankers.check_sparse, DenseOnly(), "says so by _accepts_sparse = False")
    check_ranker(SaysDenseOnly())


def test_a_class_within_a_function_is_explained():
    class Local(SubsetRegression):
        pass

    fails(check_ranker, Local(), "Local is defined within a function; define the class")


class SeesJobs(RankSVM):
    def predict(self, X, groups=None):
        return super().predict(X) * (self.n_jobs or 3)


class SeesThreeJobs(RankSVM):
    def predict(self, X, groups=None):
        return super().predict(X) * (2.0 if self.n_jobs == 3 else 1.0)


class StumblesOverOne(SubsetRegression):
    """Cannot learn where a query has a single document."""

    def fit(self, X, y, groups=None, **options):
        if groups is not None and np.unique(groups, return_counts=True)[1].min() < 2:
            raise ZeroDivisionError("no pair")
        return super().fit(X, y, groups, **options)


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        (_rankers.check_order_of_queries, SeesOrder(), "queries come in another order"),
        (_rankers.check_mixed_rows, SeesOrder(), None),
        (_rankers.check_ids, SeesIds(), "when query ids are texts"),
        (_rankers.check_learning, LearnsNothing(), "on its training data, and random"),
        (_rankers.check_learning, OneScore(), "one finite score of dtype float64"),
        (_rankers.check_missing_groups, WithoutGroups(), "takes rows without groups"),
        (_rankers.check_routing, Unrouted(), "must ask for groups in score"),
        (_rankers.check_fit, ReturnsNothing(), "must return itself from fit"),
        (_rankers.check_fit, SetsParameters(), "changes its parameters in fit"),
        (_rankers.check_fit, SpoilsRows(), "arrays that are read-only"),
        (_rankers.check_ranks, OwnRanks(), "that do not follow its scores"),
        (
            _rankers.check_rows_by_themselves,
            SeesRowsBeside(),
            "other scores when some of the rows beside them are left out",
        ),
        (_rankers.check_sparse, ClaimsSparse(), "sparse rows, which its tags do not"),
        (_rankers.check_unfitted, Premature(), "predicts before it was fitted"),
        (_rankers.check_uninformative_queries, Stumbles(), None),
        (_rankers.check_copies, UnpicklableRanker(), "cannot be pickled: no"),
        (_rankers.check_threads, SeesJobs(), "changes with the number of threads"),
        (_rankers.check_threads, SeesThreeJobs(), "changes with the number of th"),
        (_rankers.check_learning, StumblesOverOne(), None),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "predict") else "",
)
def test_broken_rankers(check, broken, message):
    if message is not None:
        fails(check, broken, message)
    fails(check_ranker, broken, ".")


# All of them --------------------------------------------------------------------------


def test_parts_of_other_kinds_are_refused():
    for check in (check_loss, check_energy, check_solver, check_ranker):
        for wrong in (NDCG(), HingeLoss, None):
            with pytest.raises(TypeError, match="must be an object of a class derived"):
                check(wrong)
    for wrong in (HingeLoss, None, 3):
        with pytest.raises(TypeError, match="part must be an object of a class"):
            contract_checks(wrong)


def test_checks_come_one_by_one_with_names():
    named = {check.__name__ for _, check in contract_checks(SquaredHingeLoss())}
    written = {
        name
        for name, _ in inspect.getmembers(_losses, inspect.isfunction)
        if name.startswith("check_")
    }
    assert named == written
    for measure, check in contract_checks(get_measure("map")):
        assert measure.name == "map"
        assert inspect.getdoc(check).startswith("Check ")


QUICK = {"max_iter": 5, "n_estimators": 5, "min_samples_leaf": 1, "n_samples": 20}


@pytest.mark.parametrize("name", ["RankSVM", "LambdaMART", "AdaRank", "SortNet"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rankers_of_each_family_pass(name):
    ranker = all_objects("ranker")[name]()
    known = ranker.get_params()
    check_ranker(ranker.set_params(**{k: v for k, v in QUICK.items() if k in known}))
