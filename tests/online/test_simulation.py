"""Simulated interaction: what is measured is what was shown and learned."""

import numpy as np
import pytest

from skrank.click import SimulatedUser
from skrank.datasets import make_ranking
from skrank.exceptions import InvalidParameterError
from skrank.metrics import FunctionMeasure, get_measure, ndcg_score
from skrank.online import PDGD, DuelingBanditRanker, MultileaveRanker, simulate_online
from skrank.rankers import RankSVM

X, Y, GROUPS = make_ranking(n_queries=30, n_features=6, n_informative=4, random_state=0)
TRAIN = GROUPS < 20
ROWS = X[TRAIN], Y[TRAIN], GROUPS[TRAIN]
HELD_OUT = {"X_val": X[~TRAIN], "y_val": Y[~TRAIN], "groups_val": GROUPS[~TRAIN]}
RANKERS = [PDGD(), DuelingBanditRanker(), MultileaveRanker(n_candidates=3)]
over_rankers = pytest.mark.parametrize("ranker", RANKERS, ids=repr)


class Recording(PDGD):
    """A ranker that keeps what it shows."""

    def _show(self, X, ptr, rng):
        lists = super()._show(X, ptr, rng)
        self.shown_ = [*vars(self).get("shown_", []), (np.asarray(X), lists)]
        return lists


def first_place(y, scores):
    """Return the place of the first relevant document."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    relevant = np.flatnonzero(np.asarray(y)[order] > 0)
    return float(relevant[0]) if len(relevant) else np.nan


@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("measure", ["ndcg@3", "mrr", "ndcg@10", "p", "f", "first"])
def test_regret_is_that_of_the_lists_that_were_shown(batch_size, measure):
    if measure == "first":
        measure = FunctionMeasure(first_place, greater_is_better=False)
    run = simulate_online(
        Recording(length=5),
        *ROWS,
        n_impressions=40,
        batch_size=batch_size,
        measure=measure,
        random_state=0,
    )
    score = get_measure(measure)
    values, best = [], []
    for rows, lists in run.ranker.shown_:
        offset = 0
        for i in range(len(lists.ptr) - 1):
            shown = lists.shown[lists.ptr[i] : lists.ptr[i + 1]]
            query = next(
                q
                for q in range(20)
                if np.array_equal(ROWS[0][ROWS[2] == q][0], rows[offset])
            )
            y = ROWS[1][ROWS[2] == query]
            scores = np.full(len(y), -np.inf)
            scores[shown] = -np.arange(len(shown))
            bounds = np.array([0, len(y)])
            values.append(score.per_query(y, scores, bounds)[0])
            ideal = np.full(len(y), -np.inf)
            ideal[np.argsort(-y, kind="stable")[:5]] = -np.arange(min(5, len(y)))
            best.append(score.per_query(y, ideal, bounds)[0])
            offset += len(y)
    np.testing.assert_array_equal(run.shown, values)
    sign = 1.0 if score.greater_is_better else -1.0
    np.testing.assert_allclose(run.regret, sign * (np.array(best) - values))
    assert (run.regret >= -1e-12).all()
    np.testing.assert_allclose(run.cumulative_regret, np.cumsum(run.regret))
    weights = 0.9995 ** np.arange(40)
    np.testing.assert_allclose(run.online, np.cumsum(weights * run.shown))


def test_offline_is_the_score_of_held_out_queries():
    run = simulate_online(
        PDGD(), *ROWS, **HELD_OUT, n_impressions=60, checkpoints=[7, 30], random_state=0
    )
    assert run.impressions.tolist() == [0, 7, 30, 60]
    assert run.offline[-1] == run.ranker.score(*HELD_OUT.values())
    half = simulate_online(
        PDGD(), *ROWS, **HELD_OUT, n_impressions=60, checkpoints=[], random_state=0
    )
    np.testing.assert_array_equal(half.offline, run.offline[[0, -1]])
    np.testing.assert_array_equal(half.shown, run.shown)


def test_without_held_out_queries_those_that_are_shown_are_measured():
    run = simulate_online(PDGD(), *ROWS, n_impressions=20, random_state=0)
    expected = ndcg_score(ROWS[1], run.ranker.predict(ROWS[0]), groups=ROWS[2], k=10)
    assert run.offline[-1] == pytest.approx(expected)


@over_rankers
def test_the_ranker_itself_is_not_changed_and_a_copy_goes_on(ranker):
    first = simulate_online(ranker, *ROWS, n_impressions=30, random_state=0)
    assert not hasattr(ranker, "params_")
    params = first.ranker.params_.copy()
    second = simulate_online(first.ranker, *ROWS, n_impressions=12, random_state=1)
    np.testing.assert_array_equal(first.ranker.params_, params)
    assert second.ranker.n_impressions_ == 42
    assert second.offline[0] == first.offline[-1]


@over_rankers
def test_the_same_seed_gives_the_same_run(ranker):
    options = {"n_impressions": 40, "user": "informational", "random_state": 3}
    one = simulate_online(ranker, *ROWS, **options)
    order = np.argsort(-ROWS[2], kind="stable")
    for other in (
        simulate_online(ranker, *ROWS, **options),
        simulate_online(ranker, *(part[order] for part in ROWS), **options),
        simulate_online(
            type(ranker)(**ranker.get_params() | {"n_jobs": 2}), *ROWS, **options
        ),
    ):
        np.testing.assert_array_equal(other.shown, one.shown)
        np.testing.assert_array_equal(other.ranker.params_, one.ranker.params_)
        assert other.n_clicks == one.n_clicks


def test_the_loop_is_that_of_propose_and_partial_fit():
    """Without relevant documents a perfect user never clicks."""
    run = simulate_online(
        PDGD(), X, np.zeros(len(X)), GROUPS, **HELD_OUT, n_impressions=30
    )
    assert run.n_clicks == 0
    assert not run.ranker.params_.any()
    # One impression of one query, by hand.
    rows = [part[ROWS[2] == 4] for part in ROWS]
    run = simulate_online(PDGD(), *rows, n_impressions=1, random_state=5)
    rng = np.random.RandomState(5)
    rng.randint(1, size=1)
    ranker = PDGD()
    shown = ranker.propose(rows[0], rows[2], random_state=rng)
    user = SimulatedUser()
    clicks = user.click(rows[1][shown.rows], shown.ptr, random_state=rng)
    ranker.partial_fit(rows[0], clicks, rows[2], shown=shown)
    np.testing.assert_allclose(run.ranker.params_, ranker.params_, rtol=1e-12)
    assert run.n_clicks == clicks.sum() > 0


def test_a_callback_is_told_and_can_stop():
    told = []

    def callback(now):
        told.append(now)
        return now["impressions"] >= 10

    run = simulate_online(
        PDGD(), *ROWS, n_impressions=50, checkpoints=[5, 10, 20], callback=callback
    )
    assert [now["impressions"] for now in told] == [0, 5, 10]
    assert [now["offline"] for now in told] == run.offline.tolist()
    assert len(run.shown) == 10
    assert told[-1]["n_clicks"] == run.n_clicks
    run = simulate_online(PDGD(), *ROWS, n_impressions=5, callback=lambda now: True)
    assert len(run.shown) == len(run.cumulative_regret) == 0


def test_queries_without_a_value_count_in_no_sum():
    y = Y.copy()
    y[GROUPS % 2 == 0] = 0.0
    run = simulate_online(PDGD(), X, y, GROUPS, n_impressions=50, random_state=0)
    assert 10 < np.isnan(run.regret).sum() < 40
    assert run.cumulative_regret[-1] == pytest.approx(np.nansum(run.regret))
    assert np.isfinite(run.online).all()
    assert np.isfinite(run.offline).all()


def test_an_error_has_a_regret_as_well():
    measure = FunctionMeasure(first_place, greater_is_better=False)
    run = simulate_online(PDGD(length=None), *ROWS, measure=measure, n_impressions=20)
    assert run.regret.min() >= 0
    assert run.cumulative_regret[-1] > 0
    assert repr(run).startswith("OnlineRun(n_impressions=20, offline=")


@pytest.mark.parametrize("user", ["perfect", "navigational", "informational"])
def test_pdgd_beats_dueling_bandits(user):
    """As published: better rankings, and less regret on the way."""
    data = make_ranking(n_queries=80, random_state=1)
    train = data[2] < 60
    rows = [part[train] for part in data]
    held = dict(zip(HELD_OUT, (part[~train] for part in data)))
    runs = [
        simulate_online(
            ranker, *rows, **held, user=user, n_impressions=1500, random_state=0
        )
        for ranker in (PDGD(), DuelingBanditRanker())
    ]
    assert runs[0].offline[-1] > runs[1].offline[-1]
    assert runs[0].cumulative_regret[-1] < runs[1].cumulative_regret[-1]
    assert runs[0].online[-1] > runs[1].online[-1]


def test_wrong_input_is_refused():
    with pytest.raises(TypeError, match="ranker must learn from clicks, as PDGD does"):
        simulate_online(RankSVM(), *ROWS)
    with pytest.raises(ValueError, match="X_val and y_val must be given together"):
        simulate_online(PDGD(), *ROWS, X_val=X)
    with pytest.raises(ValueError, match="needs to know the query"):
        simulate_online(PDGD(), *ROWS[:2])
    with pytest.raises(ValueError, match="checkpoints must be ascending whole numbers"):
        simulate_online(PDGD(), *ROWS, n_impressions=10, checkpoints=[5, 11])
    with pytest.raises(ValueError, match="checkpoints must be ascending whole numbers"):
        simulate_online(PDGD(), *ROWS, n_impressions=10, checkpoints=[5, 4])
    with pytest.raises(ValueError, match="checkpoints must be ascending whole numbers"):
        simulate_online(PDGD(), *ROWS, n_impressions=10, checkpoints=[0.5])
    with pytest.raises(
        ValueError, match=r"checkpoints must .* got \[\[1, 2\], \[4, 5\]\]"
    ):
        simulate_online(PDGD(), *ROWS, n_impressions=10, checkpoints=[[1, 2], [4, 5]])
    with pytest.raises(InvalidParameterError, match="discount must be a number in"):
        simulate_online(PDGD(), *ROWS, discount=0.0)
    with pytest.raises(ValueError, match="up to max_grade=1, got"):
        simulate_online(PDGD(), *ROWS, user=SimulatedUser(max_grade=1))
    with pytest.raises(ValueError, match="features"):
        simulate_online(PDGD(), *ROWS, **HELD_OUT | {"X_val": X[~TRAIN, 1:]})


def test_steps_that_are_too_long_are_reported():
    with pytest.raises(ValueError, match="not finite"):
        simulate_online(PDGD(learning_rate=1e308), *ROWS, n_impressions=200)


def test_numbers_of_small_types_do_not_wrap_around():
    given = {"n_impressions": np.int8(100), "batch_size": np.int8(3)}
    options = {"random_state": 0, "measure": "ndcg"}
    found = simulate_online(PDGD(), *ROWS, **options, **given)
    expected = simulate_online(
        PDGD(), *ROWS, **options, **{name: int(n) for name, n in given.items()}
    )
    np.testing.assert_array_equal(found.shown, expected.shown)
    np.testing.assert_array_equal(found.offline, expected.offline)


def test_the_first_impressions_are_looked_at():
    run = simulate_online(PDGD(), *ROWS, n_impressions=100, random_state=0)
    assert run.impressions[:2].tolist() == [0, 1]
    assert run.impressions[-1] == 100
