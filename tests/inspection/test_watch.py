"""Watching a training: the clone is the ranker that `fit` makes."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.energies import AbsoluteLabelEnergy, LinearEnergy, MLPEnergy
from skrank.inspection._watch import TrainingWatch
from skrank.losses import HingeLoss
from skrank.preprocessing import QueryStandardScaler
from skrank.rankers import (
    BoltzRank,
    EnergyRanker,
    LogisticRanker,
    RankNet,
    StructRank,
    SubsetRegression,
)
from skrank.solvers import SGD, BaseSolver, SolverResult

# Some solvers below stand still.
learns_nothing = pytest.mark.filterwarnings("ignore:.*has learned no order")


class StandStill(BaseSolver):
    """Ends where it starts, so that energies before and after are the same."""

    says_where_it_starts = True

    def __init__(self, max_iter=1, tol=None):
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, objective, params, rng, monitor=None):
        value, _ = objective.value_gradient(params)
        if monitor is not None:
            if self.says_where_it_starts:
                monitor.start(params, value)
            monitor(params, 1, value)
        return SolverResult(np.array(params), 1, value, True, [value])


class Reticent(StandStill):
    """Reports something other than it returns."""

    def solve(self, objective, params, rng, monitor=None):
        result = super().solve(objective, params, rng, monitor)
        result.history = [result.value + 1.0]
        return result


class Silent(StandStill):
    """Does not report where it starts."""

    says_where_it_starts = False


class Twice(EnergyRanker):
    """Trains two models and keeps the second."""

    def _minimise(self, *arguments):
        super()._minimise(*arguments)
        return super()._minimise(*arguments)


def _in_order_of_rows(energies, groups):
    """Undo the grouping: rows of a query keep their order."""
    restored = np.empty_like(energies)
    restored[np.argsort(groups, kind="stable")] = energies
    return restored


RANKERS = [
    RankNet((4,), max_iter=6, random_state=0),
    RankNet((4,), max_iter=6, random_state=1, n_restarts=3),
    RankNet((4,), max_iter=6, random_state=2, early_stopping=True, n_restarts=2),
    RankNet(),
    EnergyRanker(MLPEnergy((3,)), solver="sgd", max_iter=4, random_state=0),
    EnergyRanker(solver=SGD(average=0.9), max_iter=4, random_state=0),
    LogisticRanker(threshold="all"),
    EnergyRanker(
        AbsoluteLabelEnergy(),
        HingeLoss(reading="pointwise"),
        solver="sgd",
        max_iter=3,
    ),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_the_clone_is_the_ranker_that_fit_makes(ranker, ragged):
    X, y, groups = ragged
    ranker = sklearn.base.clone(ranker).set_params(random_state=3)
    watch = TrainingWatch(ranker, "a test", record=lambda *_: None).fit(X, y, groups)
    assert not hasattr(ranker, "params_")
    ranker.fit(X, y, groups)
    np.testing.assert_array_equal(watch.ranker.params_, ranker.params_)
    after = _in_order_of_rows(watch.after(), groups)
    if watch.labels is not None:
        after = after.min(axis=1)
    # Not to the last bit: products of matrices may be blocked by the order of rows.
    np.testing.assert_allclose(after, ranker.energies(X), rtol=1e-12, atol=1e-12)
    assert len(watch.records) == len(ranker.loss_curve_) + 1
    assert not {"_fit", "_start"} & set(vars(watch.ranker))
    assert watch.ranker.callback is None


@pytest.mark.parametrize(
    "ranker",
    [
        BoltzRank(pairwise_potential=True, n_samples=10, max_iter=2, random_state=0),
        StructRank(learn_weights=True, solver="sgd", max_iter=3, random_state=0),
    ],
    ids=["needs groups", "several scores of a document"],
)
def test_energies_of_documents_are_those_they_are_ranked_by(ranker, ragged):
    X, y, groups = ragged
    watch = TrainingWatch(ranker, "a test").fit(X, y, groups)
    needs = {"groups": groups} if hasattr(ranker, "pairwise_potential") else {}
    scores = watch.ranker.predict(X, **needs)
    after = _in_order_of_rows(watch.after(), groups)
    np.testing.assert_allclose(after, -scores, rtol=1e-12, atol=1e-12)


@learns_nothing
def test_documents_that_are_ranked_by_their_best_label_have_its_energy(ragged):
    X, y, groups = ragged
    ranker = EnergyRanker(
        AbsoluteLabelEnergy(), HingeLoss(reading="pairwise"), max_iter=3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        watch = TrainingWatch(ranker, "a test", by_label=False).fit(X, y, groups)
    after = _in_order_of_rows(watch.after(), groups)
    np.testing.assert_allclose(after, -watch.ranker.predict(X), rtol=1e-12, atol=1e-12)


@learns_nothing
@pytest.mark.parametrize("n_restarts", [1, 3])
@pytest.mark.parametrize("energy", [LinearEnergy(), MLPEnergy((4,))])
def test_before_is_where_the_training_starts(energy, n_restarts, ragged):
    ranker = EnergyRanker(
        energy, solver=StandStill(), n_restarts=n_restarts, random_state=0
    )
    watch = TrainingWatch(ranker, "a test").fit(*ragged)
    np.testing.assert_array_equal(watch.before(), watch.after())


def test_nothing_of_the_ranker_is_replaced_but_its_callback(ragged):
    """Methods that the watch replaced would be attributes of the instance."""
    seen = []
    watch = TrainingWatch(RankNet((4,), max_iter=2), "a test")
    known = set(vars(watch.ranker))
    watch.ranker.callback = lambda info: seen.append(set(vars(watch.ranker)))
    watch.fit(*ragged)
    methods = {name for name in dir(RankNet) if callable(getattr(RankNet, name))}
    assert seen
    assert all(not (attributes - known) & methods for attributes in seen)


def test_the_start_is_what_iteration_0_reports(ragged):
    starts = []

    def keep_starts(info):
        if info["iteration"] == 0:
            starts.append(np.array(info["params"]))

    ranker = RankNet(
        (4,), max_iter=3, n_restarts=2, random_state=0, callback=keep_starts
    )
    watch = TrainingWatch(ranker, "a test").fit(*ragged)
    assert len(starts) == 2
    found = [np.array_equal(watch.before(), watch._energies(w)) for w in starts]
    assert sum(found) == 1


def test_a_callback_may_stop_the_training(ragged):
    """What the callbacks of the user return reaches the ranker."""
    told = []
    callbacks = [lambda info: info["iteration"] == 2, told.append]
    ranker = RankNet((4,), max_iter=5, random_state=0, callback=callbacks)
    watch = TrainingWatch(ranker, "a test").fit(*ragged)
    assert watch.ranker.n_iter_ == 2
    assert [info["iteration"] for info in told] == [0, 1, 2]


def test_a_callback_of_the_user_is_told_as_well(ragged):
    told = []
    ranker = RankNet(
        (4,), max_iter=3, callback=lambda info: told.append(info["iteration"])
    )
    watch = TrainingWatch(ranker, "a test").fit(*ragged)
    assert told == [0, 1, 2, 3]
    assert watch.ranker.callback is ranker.callback


@pytest.mark.parametrize("scaler", [StandardScaler(), QueryStandardScaler()])
def test_a_pipeline_is_watched_at_its_last_step(scaler, ragged):
    X, y, groups = ragged
    pipeline = make_pipeline(scaler, RankNet((4,), max_iter=3, random_state=0))
    watch = TrainingWatch(pipeline, "a test").fit(X, y, groups)
    assert not sklearn.get_config()["enable_metadata_routing"]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(X, y, groups=groups)
    np.testing.assert_array_equal(watch.ranker.params_, pipeline[-1].params_)
    assert hasattr(watch.estimator[0], "n_features_in_")


def test_queries_come_from_the_index_of_y(ragged):
    pd = pytest.importorskip("pandas")
    X, y, groups = ragged
    with_index = pd.Series(y, index=pd.Index(groups, name="qid"))
    watch = TrainingWatch(make_pipeline(RankNet()), "a test").fit(X, with_index)
    expected = RankNet().fit(X, y, groups)
    np.testing.assert_array_equal(watch.ranker.params_, expected.params_)


def test_arguments_of_fit_are_passed_on(ragged, rng):
    X, y, groups = ragged
    weight = rng.uniform(0.5, 2.0, size=len(y))
    watch = TrainingWatch(RankNet(), "a test")
    watch.fit(X, y, groups, {"sample_weight": weight})
    expected = RankNet().fit(X, y, groups, sample_weight=weight)
    np.testing.assert_array_equal(watch.ranker.params_, expected.params_)


@learns_nothing
def test_what_cannot_be_watched_is_refused(ragged):
    with pytest.raises(TypeError, match="a test needs an energy-based ranker"):
        TrainingWatch(SubsetRegression(), "a test")
    with pytest.raises(TypeError, match="Twice trains several models"):
        TrainingWatch(Twice(), "a test").fit(*ragged)
    with pytest.raises(TypeError, match="Silent does not report where it starts"):
        TrainingWatch(EnergyRanker(solver=Silent()), "a test").fit(*ragged)
    with pytest.raises(TypeError, match="Reticent reports other objectives"):
        TrainingWatch(EnergyRanker(solver=Reticent()), "a test").fit(*ragged)


def test_a_failed_training_leaves_nothing_behind(ragged):
    X, y, groups = ragged
    watch = TrainingWatch(RankNet(), "a test")
    with pytest.raises(ValueError, match="groups"):
        watch.fit(X, y, groups[1:])
    assert not {"_fit", "_start"} & set(vars(watch.ranker))
