"""Features of interaction against plain loops, and the model that learns from them."""

import numpy as np
import pytest

from skrank.click import (
    InteractionModel,
    Sessions,
    SimulatedUser,
    interaction_features,
    to_labels,
)
from skrank.datasets import Qrels
from skrank.metrics import kendall_tau
from skrank.rankers import RankSVM

TEXTS = {0: "red fish", 1: "a fish, a bird", 3: ""}


def log_of(seed=0, n=40):
    rng = np.random.RandomState(seed)
    sizes = rng.randint(0, 6, n)
    return Sessions.from_lists(
        rng.choice(["red fish", "bird", "blue"], n).tolist(),
        [rng.permutation(6)[:m].tolist() for m in sizes],
        [(rng.rand(m) < 0.4).astype(int).tolist() for m in sizes],
    )


def signals_of(click, i):
    """Return the behaviours of one impression by their definitions."""
    above, below = click[:i], click[i + 1 :]
    return {
        "click": click[i],
        "click_next": below[0] if below else 0,
        "click_previous": above[-1] if above else 0,
        "click_above": int(any(above)),
        "click_below": int(any(below)),
        "last_click": int(click[i] and not any(below)),
        "only_click": int(click[i] and sum(click) == 1),
    }


def impressions_of(log):
    """Return (query, document, place, behaviours, row) of each impression."""
    found = []
    for s in range(len(log)):
        start, stop = log.ptr[s : s + 2]
        click = log.click[start:stop].tolist()
        query = log.query_ids[log.query[s]]
        for i in range(stop - start):
            document = log.document_ids[log.document[start + i]]
            found.append((query, document, i, signals_of(click, i), start + i))
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_features_by_a_loop(seed):
    log = log_of(seed)
    times = np.random.RandomState(seed).exponential(30, log.n_impressions)
    times[log.click == 0] = np.nan  # never looked at
    found = interaction_features(log, dwell_times=times, texts=TEXTS)
    rows = impressions_of(log)
    for query, document, x in zip(found.query, found.document, found.X):
        values = dict(zip(found.names, x))
        own = [row for row in rows if row[:2] == (query, document)]
        clicks = sum(row[3]["click"] for row in own)
        total = sum(row[3]["click"] for row in rows if row[0] == query)
        expected = {
            "log_impressions": np.log(len(own)),
            "mean_position": np.mean([row[2] + 1 for row in own]),
            "click_share": clicks / total,
        }
        for name in signals_of([0], 0):
            at = {
                place: np.mean([r[3][name] for r in rows if r[2] == place])
                for place in range(6)
                if any(r[2] == place for r in rows)
            }
            expected[name] = np.mean([row[3][name] for row in own])
            expected[f"{name}_deviation"] = np.mean(
                [row[3][name] - at[row[2]] for row in own]
            )
        clicked = [row for row in own if row[3]["click"]]
        logs = {row[4]: np.log(1 + times[row[4]]) for row in rows if row[3]["click"]}
        at = {
            place: np.mean([logs[r[4]] for r in rows if r[4] in logs and r[2] == place])
            for place in {row[2] for row in clicked}
        }
        expected["dwell_time"] = np.mean([logs[r[4]] for r in clicked] or [0])
        expected["dwell_time_deviation"] = np.mean(
            [logs[r[4]] - at[r[2]] for r in clicked] or [0]
        )
        own_words = set(query.split())
        text = set(TEXTS.get(document, "").replace(",", "").split())
        expected["query_words"] = len(own_words)
        expected["query_in_text"] = len(own_words & text) / len(own_words)
        if text:
            # The tokenizer may leave out words such as "a".
            expected["text_in_query"] = values["text_in_query"]
            assert values["text_in_query"] >= len(own_words & text) / len(text)
        else:
            expected["text_in_query"] = 0
        assert values == pytest.approx(expected, abs=1e-12)


def test_deviations_of_a_place_have_mean_zero():
    log = log_of()
    found = interaction_features(log)
    pair, _, _ = log.pairs()
    counts = np.bincount(pair)
    for name in ("click", "last_click", "click_above"):
        column = found.X[:, found.names.index(f"{name}_deviation")]
        assert abs(counts @ column) < 1e-10


def test_a_background_can_be_given():
    log = log_of()
    whole = interaction_features(log)
    again = interaction_features(log, background=whole.background)
    np.testing.assert_array_equal(again.X, whole.X)
    short = {name: values[:1] for name, values in whole.background.items()}
    cut = interaction_features(log, background=short)
    j = cut.names.index("click_deviation")
    pair, _, _ = log.pairs()
    rates = np.bincount(pair, weights=log.click) / np.bincount(pair)
    np.testing.assert_allclose(cut.X[:, j], rates - short["click"][0])


def simulated(seed=0, n_queries=30, n_sessions=40):
    """Return a log of users who look at the top, and the grades behind it."""
    rng = np.random.RandomState(seed)
    grades = rng.choice(3, size=(n_queries, 8), p=[0.6, 0.25, 0.15])
    lists, queries = [], []
    for q in range(n_queries):
        order = rng.permutation(8)  # of the engine, which shows the same again
        for _ in range(n_sessions):
            swapped = order.copy()
            i = rng.randint(7)
            swapped[[i, i + 1]] = swapped[[i + 1, i]]
            lists.append(swapped)
            queries.append(q)
    shown = np.array([grades[q][row] for q, row in zip(queries, lists)])
    ptr = np.arange(0, shown.size + 1, 8)
    user = SimulatedUser("informational", examination="position", max_grade=2)
    click = user.click(shown.ravel(), ptr, random_state=seed).reshape(shown.shape)
    log = Sessions.from_lists(queries, [r.tolist() for r in lists], click.tolist())
    return log, grades


@pytest.mark.parametrize("ranker", [None, RankSVM()])
def test_judgements_of_some_queries_order_the_others_better_than_clicks(ranker):
    log, grades = simulated()
    judged = {q: dict(enumerate(grades[q].tolist())) for q in range(15)}
    model = InteractionModel(ranker).fit(log, judged)
    assert model.n_judged_ == 15 * 8
    others = [q for q in range(15, 30) if len(set(grades[q])) > 1]
    taus, one = {"model": [], "clicks": []}, np.zeros(8, int)
    pair, pair_query, pair_document = log.pairs()
    rates = np.bincount(pair, weights=log.click) / np.bincount(pair)
    for q in others:
        rows = np.flatnonzero(pair_query == q)
        y = grades[q][pair_document[rows]]
        scores = model.relevance(pair_query[rows], pair_document[rows])
        taus["model"].append(kendall_tau(y, scores, groups=one))
        taus["clicks"].append(kendall_tau(y, rates[rows], groups=one))
    assert np.mean(taus["model"]) > np.mean(taus["clicks"]) + 0.05


def test_another_log_is_scored_by_the_same_model():
    log, grades = simulated()
    model = InteractionModel(RankSVM()).fit(
        log, {q: dict(enumerate(grades[q].tolist())) for q in range(30)}
    )
    np.testing.assert_allclose(model.predict(log), model.relevance_)
    assert len(model.predict(log[:50])) == len(log[:50].pairs()[1])


def test_deviations_only():
    log, grades = simulated(n_queries=3)
    model = InteractionModel(RankSVM(), deviations_only=True)
    model.fit(log, {0: dict(enumerate(grades[0].tolist()))})
    assert "click" not in model.names_
    assert "click_deviation" in model.names_
    assert len(model.mean_) == len(model.names_)


def test_judgements_that_were_not_made_are_not_used():
    log = log_of()
    ids = log.document_ids[:3]
    grades = [0.0, 1.0, -1.0]
    qrels = Qrels(np.array(["bird"] * 3), ids.astype(object), np.array(grades))
    assert InteractionModel(RankSVM()).fit(log, qrels).n_judged_ == 2


def test_labels_by_the_model():
    log, grades = simulated(n_queries=4)
    judged = {q: dict(enumerate(grades[q].tolist())) for q in range(2)}
    model = InteractionModel(RankSVM()).fit(log, judged)
    labels = to_labels(model, log, n_grades=3)
    assert set(labels.y.tolist()) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dwell_times": [1.0]}, ValueError, "dwell_times must hold one time for each"),
        ({"dwell_times": -np.ones(99)}, ValueError, "dwell_times must be finite|one t"),
        ({"texts": ["a"]}, TypeError, "texts must be a mapping"),
        ({"texts": {0: 1}}, TypeError, "texts must hold texts, got 1"),
        ({"background": {}}, ValueError, "background must be a mapping that holds 'cl"),
        ({"background": {"click": []}}, ValueError, "background must hold a finite"),
        ({"sessions": 1}, TypeError, "sessions must be Sessions"),
    ],
)
def test_wrong_arguments(options, error, words):
    with pytest.raises(error, match=words):
        interaction_features(**({"sessions": log_of()} | options))


def test_negative_times():
    log = log_of()
    with pytest.raises(ValueError, match="dwell_times must be finite and not negative"):
        interaction_features(log, dwell_times=np.full(log.n_impressions, -1.0))


def test_wrong_judgements():
    log = log_of()
    with pytest.raises(ValueError, match="of its 1 judgements none is of one"):
        InteractionModel().fit(log, {"green": {0: 1}})
    with pytest.raises(TypeError, match="qrels must be a Qrels"):
        InteractionModel().fit(log, 5)
    model = InteractionModel(RankSVM()).fit(log, {"bird": {0: 1, 1: 0}}, texts=TEXTS)
    with pytest.raises(ValueError, match="predict needs dwell_times and texts as fit"):
        model.predict(log)
    with pytest.raises(
        ValueError, match="document 77 was never shown for query 'bird'"
    ):
        model.relevance("bird", 77)
