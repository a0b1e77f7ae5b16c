"""Models of clicks: probabilities by enumeration, counts by loops, and contracts."""

from array import array
from collections import defaultdict, deque
from itertools import product

import numpy as np
import pytest
from _click_models import (
    all_clicks,
    browsing_probability,
    chain_probability,
    random_sessions,
    rows,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)

import skrank.click
from skrank.click import (
    BaseClickModel,
    BayesianBrowsingModel,
    CascadeModel,
    ClickChainModel,
    DependentClickModel,
    DocumentClickModel,
    DynamicBayesianNetwork,
    PositionBasedModel,
    RandomClickModel,
    RankClickModel,
    Sessions,
    SimplifiedDynamicBayesianNetwork,
    UserBrowsingModel,
)
from skrank.click._browsing import log_prior
from skrank.click._models import browsing_step

MODELS = [
    member
    for name in skrank.click.__all__
    if isinstance(member := getattr(skrank.click, name), type)
    and issubclass(member, BaseClickModel)
    and member is not BaseClickModel
]
CASES = [
    pytest.param(cls, variant, id=f"{cls.__name__}-{variant}")
    for cls in MODELS
    for variant in cls._variants()
]
COUNTING = [cls for cls in MODELS if hasattr(cls, "merge")]
CHAINS = (
    CascadeModel,
    ClickChainModel,
    DependentClickModel,
    DynamicBayesianNetwork,
    SimplifiedDynamicBayesianNetwork,
)
NO_PRIOR = {"prior_clicks": 0, "prior_skips": 0}


def make(cls, variant=None, **more):
    """Return a model that is content with a few steps of EM."""
    params = cls().get_params()
    quick = {"max_iter": 200, "tol": 1e-4} if "max_iter" in params else {}
    return cls(**{**quick, **(variant or {}), **more})


@pytest.fixture
def sessions(rng):
    return random_sessions(rng)


def parameters_of(model, documents, query="q0"):
    """Attraction of documents, and the chances to go on after skips and clicks."""
    table = model.relevance_table()
    place = {
        (q, d): i for i, (q, d) in enumerate(zip(table["query"], table["document"]))
    }
    pairs = [place[query, d] for d in documents]
    name = "attraction" if "attraction" in table else "relevance"
    attraction = table[name][pairs]
    m = len(documents)
    if isinstance(model, CascadeModel):
        return attraction, np.ones(m), np.zeros(m)
    if isinstance(model, DependentClickModel):
        last = len(model.continuation_)
        on = [model.continuation_[min(i, last - 1)] for i in range(m)]
        return attraction, np.ones(m), np.array(on)
    if isinstance(model, ClickChainModel):
        skip, poor, rich = model.alpha_
        square = table["relevance_variance"][pairs] + attraction**2
        good = square / attraction
        return attraction, np.full(m, skip), poor * (1 - good) + rich * good
    gamma = model.gamma_
    return attraction, np.full(m, gamma), gamma * (1 - table["satisfaction"][pairs])


def probability_of(model, documents, clicks):
    if isinstance(model, CHAINS):
        return chain_probability(clicks, *parameters_of(model, documents))
    attraction = np.atleast_1d(model.relevance(["q0"] * len(documents), documents))
    table = getattr(model, "examination_", np.ones(1))
    if isinstance(model, (UserBrowsingModel, BayesianBrowsingModel)):

        def examination(rank, last):
            row = min(rank, len(table))
            return table[row - 1, min(rank - last, row, table.shape[1]) - 1]
    else:

        def examination(rank, last):
            return table[min(rank, len(table)) - 1]

    return browsing_probability(clicks, attraction, examination)


@pytest.mark.parametrize(("cls", "variant"), CASES)
def test_likelihoods_are_sums_over_hidden_states(cls, variant, sessions):
    model = make(cls, variant).fit(sessions)
    documents = ["d0", "d3", "d1", "d5"]
    cases = all_clicks(documents, "q0")
    found = np.exp(model.log_likelihood(cases, per_session=True))
    expected = [probability_of(model, documents, c) for _, _, c in rows(cases)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    assert sum(expected) == pytest.approx(1.0)
    # Marginals are sums over all clicks of the session.
    clicks = cases.click.reshape(len(cases), -1)
    marginal = model.predict_proba(cases, kind="marginal").reshape(clicks.shape)
    np.testing.assert_allclose(marginal[0], clicks.T @ expected, rtol=1e-9)
    assert (marginal == marginal[0]).all()
    assert model.log_likelihood(cases[4:5]) == pytest.approx(np.log(expected[4]))


@pytest.mark.parametrize(("cls", "variant"), CASES)
def test_scores_and_perplexity_by_loops(cls, variant, sessions):
    model = make(cls, variant).fit(sessions)
    for kind in ("conditional", "marginal"):
        p = model.predict_proba(sessions, kind=kind)
        assert ((p >= 0) & (p <= 1)).all()
        bits = defaultdict(list)
        for rank, click, q in zip(sessions.position, sessions.click, p):
            with np.errstate(divide="ignore"):
                bits[rank].append(np.log2(q if click else 1 - q))
        expected = [2 ** -np.mean(bits[r]) for r in sorted(bits)]
        np.testing.assert_allclose(model.perplexity(sessions, kind=kind), expected)
        mean = model.perplexity(sessions, per_rank=False, kind=kind)
        assert mean == pytest.approx(np.mean(expected))
    each = model.log_likelihood(sessions, per_session=True)
    assert model.score(sessions) == pytest.approx(np.mean(each))
    assert model.log_likelihood(sessions) == pytest.approx(each.sum())


@pytest.mark.parametrize(("cls", "variant"), CASES)
def test_samples_have_the_marginal_rates(cls, variant, sessions):
    model = make(cls, variant).fit(sessions)
    shown = Sessions.from_lists(
        ["q0"] * 20000, [["d0", "d3", "d1"]] * 20000, [[0, 0, 0]] * 20000
    )
    drawn = model.sample(shown, random_state=0)
    rates = drawn.click.reshape(-1, 3).mean(axis=0)
    expected = model.predict_proba(shown[:1], kind="marginal")
    assert np.abs(rates - expected).max() < 0.015
    # The combinations of clicks have their joint probabilities, too.
    joint = np.bincount(drawn.click.reshape(-1, 3) @ [4, 2, 1], minlength=8) / 20000
    cases = all_clicks(["d0", "d3", "d1"], "q0")
    with np.errstate(divide="ignore"):
        expected = np.exp(model.log_likelihood(cases, per_session=True))
    assert np.abs(joint - expected).max() < 0.015
    again = model.sample(["q0"], [["d0", "d3", "d1"]], random_state=3)
    assert (
        again.click.tolist() == model.sample(shown[:1], random_state=3).click.tolist()
    )


@pytest.mark.parametrize(("cls", "variant"), CASES)
def test_neither_threads_nor_the_order_of_sessions_change_a_bit(
    cls, variant, rng, monkeypatch
):
    for module in ("_log", "_browsing", "_posterior"):
        name = f"skrank.click.{module}.n_threads_for"
        monkeypatch.setattr(name, lambda work, n_jobs: n_jobs or 2)
    sessions = random_sessions(rng, n=3000)
    shuffled = sessions[rng.permutation(len(sessions))]
    # Numbers of ids that are not in order.
    moved = Sessions(
        len(shuffled.query_ids) - 1 - shuffled.query,
        shuffled.document,
        shuffled.click,
        shuffled.ptr,
        shuffled.query_ids[::-1],
        shuffled.document_ids,
    )
    model = make(cls, variant, n_jobs=1).fit(sessions)
    learned = state(model)
    for other in (
        make(cls, variant, n_jobs=3).fit(sessions),
        make(cls, variant).fit(shuffled),
        make(cls, variant).fit(moved),
    ):
        assert_same_state(state(other), learned)
    for kind in ("conditional", "marginal"):
        one = model.predict_proba(sessions, kind=kind)
        more = clone(model).set_params(n_jobs=3).fit(sessions)
        assert np.array_equal(more.predict_proba(sessions, kind=kind), one)


def state(model):
    return {k: v for k, v in vars(model).items() if k.endswith("_")}


def assert_same_state(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.array_equal(found[name], value), name


@pytest.mark.parametrize("cls", COUNTING)
def test_parts_of_a_log_make_the_model_of_the_whole(cls, rng):
    sessions = random_sessions(rng, n=200)
    whole = state(make(cls).fit(sessions))
    # Each part has ids of its own, in numbers of its own.
    parts = [part.compact() for part in (sessions[:3], sessions[3:90], sessions[90:])]
    one = make(cls).fit(parts[2]).partial_fit(parts[0]).partial_fit(parts[1])
    assert_same_state(state(one), whole)
    first, second = make(cls).fit(parts[1]), make(cls).partial_fit(parts[2])
    merged = make(cls).fit(parts[0]).merge(second).merge(first)
    assert_same_state(state(merged), whole)
    assert one.n_sessions_ == 200
    # A part of a log may hold sessions in which nothing was shown.
    empty = Sessions.from_lists(["q0"] * 2, [[], []], [[], []])
    expected = make(cls).fit(Sessions.concat([sessions, empty]))
    assert_same_state(state(one.partial_fit(empty)), state(expected))
    with pytest.raises(ValueError, match="must hold at least one impression"):
        make(cls).partial_fit(empty)


@pytest.mark.parametrize("cls", [DocumentClickModel, BayesianBrowsingModel])
def test_ids_of_several_kinds_are_united(cls):
    first = Sessions.from_lists([1, 2], [[1, "a"], ["a", (3, 4)]], [[1, 0], [0, 1]])
    second = Sessions.from_lists(["1", 2], [["a", 1], [1.5, "a"]], [[1, 1], [1, 0]])
    whole = Sessions.concat([second, first])
    merged = cls().fit(second).merge(cls().fit(first))
    expected = cls().fit(whole)
    assert merged.relevance_table().keys() == expected.relevance_table().keys()
    for name in ("query_ids_", "document_ids_"):
        ids = getattr(merged, name).tolist()
        assert ids == getattr(expected, name).tolist()
        assert len(set(map(repr, ids))) == len(ids)
    assert np.array_equal(merged.relevance_, expected.relevance_)
    assert merged.relevance(1, (3, 4)) == merged.relevance("never", "shown")
    assert merged.relevance(2, (3, 4)) > merged.relevance(2, "a")


def test_baselines_by_loops(sessions):
    prior = {"prior_clicks": 0.5, "prior_skips": 2}
    clicks, shown = defaultdict(float), defaultdict(float)
    for query, documents, clicked in rows(sessions):
        for rank, (d, c) in enumerate(zip(documents, clicked)):
            for key in ((query, d), rank, "all"):
                clicks[key] += c
                shown[key] += 1
    rate = {key: (clicks[key] + 0.5) / (shown[key] + 2.5) for key in shown}
    assert RandomClickModel(**prior).fit(sessions).click_rate_ == rate["all"]
    by_rank = RankClickModel(**prior).fit(sessions).examination_
    assert by_rank.tolist() == [rate[r] for r in range(len(by_rank))]
    model = DocumentClickModel(**prior).fit(sessions)
    table = model.relevance_table()
    for q, d, relevance in zip(table["query"], table["document"], table["relevance"]):
        assert relevance == rate[q, d] == model.relevance(q, d)
    assert model.relevance("q0", "new") == 0.2
    weak = DocumentClickModel(prior_clicks=0.1, prior_skips=0.3).fit(sessions)
    assert weak.relevance("q0", "new") == pytest.approx(0.25)
    assert DocumentClickModel(**NO_PRIOR).fit(sessions).relevance("q0", "new") == 0.5


def test_counts_of_cascades_by_loops(sessions):
    clicks, shown, last, at, last_at = (defaultdict(float) for _ in range(5))
    first_clicks, first_shown = defaultdict(float), defaultdict(float)
    for query, documents, clicked in rows(sessions):
        first = clicked.index(1) if any(clicked) else len(clicked)
        final = max((i for i, c in enumerate(clicked) if c), default=len(clicked))
        for i, (d, c) in enumerate(zip(documents, clicked)):
            first_clicks[query, d] += c * (i <= first)
            first_shown[query, d] += i <= first
            clicks[query, d] += c
            shown[query, d] += i <= final
            last[query, d] += c and i == final
            at[i] += c
            last_at[i] += c and i == final
    cascade = CascadeModel().fit(sessions)
    dcm = DependentClickModel().fit(sessions)
    sdbn = SimplifiedDynamicBayesianNetwork().fit(sessions)
    for model, c, n in (
        (cascade, first_clicks, first_shown),
        (dcm, clicks, shown),
        (sdbn, clicks, shown),
    ):
        table = model.relevance_table()
        found = table.get("attraction", table["relevance"])
        pairs = list(zip(table["query"], table["document"]))
        assert found.tolist() == [(c[p] + 1) / (n[p] + 2) for p in pairs]
    expected = [(last[p] + 1) / (clicks[p] + 2) for p in pairs]
    assert sdbn.satisfaction_.tolist() == expected
    ranks = range(len(dcm.continuation_))
    expected = [(at[i] - last_at[i] + 1) / (at[i] + 2) for i in ranks]
    assert dcm.continuation_.tolist() == expected


def test_estimates_of_eq_13_4_and_13_5_maximise_the_bound(sessions):
    model = DependentClickModel(**NO_PRIOR, behaviour_prior=0).fit(sessions)
    pair = model._pairs().locate(sessions)

    def bound(relevance, continuation):
        total = 0.0
        for start, (_, _, clicked) in zip(sessions.ptr, rows(sessions)):
            last = max((i for i, c in enumerate(clicked) if c), default=None)
            for i, c in enumerate(clicked[: None if last is None else last + 1]):
                r = relevance[pair[start + i]]
                total += np.log(r if c else 1 - r)
                if c:
                    on = continuation[i]
                    total += np.log(1 - on if i == last else on)
        return total

    inner = np.clip(model.relevance_, 1e-9, 1 - 1e-9)
    on = np.clip(model.continuation_, 1e-9, 1 - 1e-9)
    best = bound(inner, on)
    rng = np.random.default_rng(0)
    for _ in range(20):
        r = np.clip(inner + rng.normal(0, 0.02, len(inner)), 1e-9, 1 - 1e-9)
        o = np.clip(on + rng.normal(0, 0.02, len(on)), 1e-9, 1 - 1e-9)
        assert bound(r, o) < best


EM = [PositionBasedModel, UserBrowsingModel, DynamicBayesianNetwork]


@pytest.mark.parametrize("cls", EM)
@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_the_objective_never_falls(cls, prior, rng):
    sessions = random_sessions(rng, n=200)
    params = {"prior_clicks": prior, "prior_skips": prior, "behaviour_prior": prior}
    model = cls(**params, tol=1e-7, max_iter=3000).fit(sessions)
    assert (np.diff(model.loss_curve_) <= 1e-12).all()
    assert model.n_iter_ == len(model.loss_curve_) < 3000
    if prior == 0:
        assert model.loss_curve_[-1] == pytest.approx(-model.score(sessions), rel=1e-12)
    # No neighbour of the result is better.
    first = cls(**params, tol=0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
        first.fit(sessions)
    assert first.n_iter_ == 1
    assert first.loss_curve_[0] == model.loss_curve_[0]


PRIORS = ("prior_clicks", "prior_skips", "behaviour_prior")


@pytest.fixture
def one_list():
    """Sessions of one list, the first document of which is always clicked."""
    clicks = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]]
    return Sessions.from_lists(["q"] * 6, [["a", "b", "c"]] * 6, clicks)


@pytest.mark.parametrize("cls", EM)
@pytest.mark.parametrize("tiny", [*((name,) for name in PRIORS), PRIORS], ids=str)
def test_tiny_priors_change_nothing_that_clicks_tell(cls, tiny, one_list):
    without = dict.fromkeys(PRIORS, 0.0)
    expected = cls(**without).fit(one_list)
    found = cls(**without | dict.fromkeys(tiny, 1e-17)).fit(one_list)
    assert found.n_iter_ == expected.n_iter_
    assert found.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], abs=1e-9)
    ours, others = found.relevance_, expected.relevance_
    if cls is DynamicBayesianNetwork and tiny != PRIORS:
        # Nothing tells whether the last document of a list satisfies; see below.
        ours = np.append(ours[:2], found.attraction_)
        others = np.append(others[:2], expected.attraction_)
    np.testing.assert_allclose(ours, others, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("clicks", "skips", "mode"),
    [(0.0, 0.0, 0.5), (1e-17, 0.0, 1.0), (0.0, 1e-17, 0.0), (1e-17, 3e-17, 0.25)],
)
def test_what_no_click_tells_is_the_mode_of_the_prior(clicks, skips, mode, one_list):
    """The satisfaction by the last document of lists; without a prior it stays 1/2."""
    model = DynamicBayesianNetwork(prior_clicks=clicks, prior_skips=skips)
    assert model.fit(one_list).satisfaction_[2] == pytest.approx(mode, rel=1e-12)


@pytest.mark.parametrize("cls", [PositionBasedModel, UserBrowsingModel])
def test_a_step_of_browsing_models_by_a_loop(cls, sessions):
    model = cls(max_iter=3, tol=0, prior_clicks=0.5, prior_skips=2, behaviour_prior=1.5)
    with pytest.warns(ConvergenceWarning):
        model.fit(sessions)
    alpha, gamma = defaultdict(lambda: 0.5), defaultdict(lambda: 0.5)
    for _ in range(3):
        a_sum, g_sum = defaultdict(lambda: [0.5, 2.5]), defaultdict(lambda: [1.5, 3.0])
        for query, documents, clicked in rows(sessions):
            last = 0
            for rank, (d, c) in enumerate(zip(documents, clicked), 1):
                slot = (rank, rank - last if cls is UserBrowsingModel else 0)
                a, g = alpha[query, d], gamma[slot]
                none = 1 - a * g
                a_sum[query, d][0] += 1 if c else a * (1 - g) / none
                g_sum[slot][0] += 1 if c else g * (1 - a) / none
                a_sum[query, d][1] += 1
                g_sum[slot][1] += 1
                last = rank if c else last
        alpha.update({k: x / n for k, (x, n) in a_sum.items()})
        gamma.update({k: x / n for k, (x, n) in g_sum.items()})
    for (query, d), value in alpha.items():
        assert model.relevance(query, d) == pytest.approx(value, rel=1e-12)
    for (rank, distance), value in gamma.items():
        place = rank - 1 if cls is PositionBasedModel else (rank - 1, distance - 1)
        assert model.examination_[place] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("cls", [PositionBasedModel, UserBrowsingModel])
def test_one_skip_among_many_clicks(cls):
    n, priors = 20_000, dict.fromkeys(("prior_clicks", "prior_skips"), 0.1)
    click = np.ones((n, 2), dtype=np.uint8)
    click[-1, 1] = 0
    sessions = Sessions.from_lists(["q"] * n, [["a", "b"]] * n, click)
    model = cls(max_iter=40, tol=0, behaviour_prior=0.1, **priors).fit(sessions)
    alpha = 0.5  # as likely as the look at the second place
    for _ in range(40):
        alpha = (n - 1 + alpha * (1 - alpha) / (1 - alpha**2) + 0.1) / (n + 0.2)
    assert 1 - alpha**2 < 1e-3
    assert 1 - model.relevance("q", "b") == pytest.approx(1 - alpha, rel=1e-9)


def test_the_density_of_a_prior_has_a_floor_where_numbers_end():
    limits = np.finfo(float)
    for low, shown in ((0.0, limits.tiny), (1e-300, 1e-300), (1e-20, 1e-20)):
        assert log_prior(np.array([low, 0.5]), 2.0, 0.0) == pytest.approx(
            2.0 * np.log(shown) + 2.0 * np.log(0.5)
        )
    for high in (1.0, 1.0 - limits.epsneg):
        found = log_prior(np.array([high, 0.5]), 0.0, 3.0)
        assert found == pytest.approx(3.0 * np.log(limits.epsneg) + 3.0 * np.log(0.5))


def test_a_step_of_the_dynamic_bayesian_network_by_enumeration(sessions):
    model = DynamicBayesianNetwork(max_iter=2, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(sessions)
    a, s, gamma = defaultdict(lambda: 0.5), defaultdict(lambda: 0.5), 0.5
    for _ in range(2):
        sums = [defaultdict(lambda: [1.0, 2.0]), defaultdict(lambda: [1.0, 2.0])]
        on_sum = np.array([1.0, 2.0])
        for query, documents, clicked in rows(sessions):
            _add_session(query, documents, clicked, (a, s, gamma), sums, on_sum)
        a.update({k: x / n for k, (x, n) in sums[0].items()})
        s.update({k: x / n for k, (x, n) in sums[1].items()})
        gamma = on_sum[0] / on_sum[1]
    assert model.gamma_ == pytest.approx(gamma, rel=1e-12)
    table = model.relevance_table()
    for q, d, x, y in zip(*(table[k] for k in table if k != "relevance")):
        assert x == pytest.approx(a[q, d], rel=1e-12)
        assert y == pytest.approx(s[q, d], rel=1e-12)


def _add_session(query, documents, clicked, now, sums, on_sum):
    """Add expected counts over all places to stop, satisfied or not."""
    a, s, gamma = now
    m, cases = len(documents), []
    last = max((i for i, c in enumerate(clicked) if c), default=-1)
    for stop in range(max(last, 0), m):
        for satisfied in (False, True) if clicked[stop] else (False,):
            p = 1.0
            for i in range(stop + 1):
                pair = query, documents[i]
                p *= a[pair] if clicked[i] else 1 - a[pair]
                if clicked[i] and (i < stop or not satisfied):
                    p *= 1 - s[pair]
                p *= gamma if i < stop else 1
            if satisfied:
                p *= s[query, documents[stop]]
            elif stop + 1 < m:
                p *= 1 - gamma
            cases.append((p, stop, satisfied))
    total = sum(p for p, _, _ in cases)
    for p, stop, satisfied in cases:
        p /= total
        for i in range(stop + 1):
            pair = query, documents[i]
            sums[0][pair] += p * np.array([clicked[i], 1])
            is_satisfied = i == stop and satisfied
            if i + 1 < m:
                if clicked[i]:
                    sums[1][pair] += p * np.array([is_satisfied, 1])
                if not is_satisfied:
                    on_sum += p * np.array([i < stop, 1])


def test_threads_share_the_cells_of_a_large_log(rng):
    n_pairs, n_slots, n = 4000, 40, 20000
    pair = np.sort(rng.integers(0, n_pairs, n))
    counts = rng.integers(0, 9, (2, n)).astype(float)
    slot = rng.integers(0, n_slots, n)
    arguments = (
        np.searchsorted(pair, np.arange(n_pairs + 1)),
        slot,
        *counts,
        np.bincount(slot, weights=counts[0]),
        np.bincount(slot, weights=counts.sum(axis=0)),
        rng.random(n_pairs),
        rng.random(n_slots),
        (1.0, 1.0, 1.0),
    )
    one, more = browsing_step(*arguments, 1), browsing_step(*arguments, 4)
    assert all(np.array_equal(a, b) for a, b in zip(one, more))
    both = arguments[6][pair] * arguments[7][slot]
    expected = counts[0] @ np.log(both) + counts[1] @ np.log1p(-both)
    assert one[2] == pytest.approx(expected, rel=1e-12)


def test_relations_between_models(rng):
    sessions = random_sessions(rng, n=300)
    cut = Sessions.from_lists(*zip(*(cut_at_first(row) for row in rows(sessions))))
    # No continuation after a click: the cascade model.
    cascade = CascadeModel().fit(cut)
    dcm = DependentClickModel(behaviour_prior=0).fit(cut)
    assert not dcm.continuation_.any()
    assert np.array_equal(dcm.relevance_, cascade.relevance_)
    ccm = ClickChainModel(alpha=(1, 0, 0)).fit(cut)
    np.testing.assert_allclose(ccm.relevance_, cascade.relevance_, rtol=1e-12)
    dbn = DynamicBayesianNetwork(gamma=1.0, **NO_PRIOR, tol=1e-10, max_iter=9999)
    dbn.fit(sessions)
    sdbn = SimplifiedDynamicBayesianNetwork(**NO_PRIOR).fit(sessions)
    assert dbn.score(sessions) >= sdbn.score(sessions)
    for other in (dcm, ccm):
        found = other.log_likelihood(cut, per_session=True)
        expected = cascade.log_likelihood(cut, per_session=True)
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    # No regard for the last click: the position-based model.
    quick = {"max_iter": 50, "tol": 1e-3}
    pbm = PositionBasedModel(**quick).fit(sessions)
    ubm = UserBrowsingModel(max_distance=1, **quick).fit(sessions)
    assert np.array_equal(ubm.relevance_, pbm.relevance_)
    assert np.array_equal(ubm.examination_[:, 0], pbm.examination_)
    # What is examined for sure is clicked at the rates of documents.
    flat = DocumentClickModel().fit(sessions)
    table = flat.predict_proba(sessions, kind="marginal")
    assert np.array_equal(table, flat.predict_proba(sessions))


def cut_at_first(row):
    query, documents, clicked = row
    stop = clicked.index(1) + 1 if any(clicked) else len(clicked)
    return query, documents[:stop], clicked[:stop]


STOPPING = [
    CascadeModel,
    DependentClickModel,
    SimplifiedDynamicBayesianNetwork,
    DynamicBayesianNetwork,
]


@pytest.mark.parametrize("cls", STOPPING)
def test_documents_that_attract_nobody_are_examined_like_others(cls):
    clicks = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    documents = ["a", "b", "c"]
    sessions = Sessions.from_lists(["q"] * 4, [documents] * 4, clicks)
    model = cls(prior_clicks=0.0, prior_skips=0.0).fit(sessions)
    attraction, skipped, clicked = parameters_of(model, documents, "q")
    assert attraction[2] == 0.0
    on = attraction * clicked + (1.0 - attraction) * skipped
    expected = np.append(1.0, np.cumprod(on[:-1]))
    examined = model.predict_examination(sessions)
    np.testing.assert_allclose(examined, np.tile(expected, 4))
    np.testing.assert_allclose(model.examination_by_rank(sessions), expected)


@pytest.mark.parametrize("cls", [PositionBasedModel, UserBrowsingModel])
def test_places_are_examined_whatever_attracts(cls, sessions):
    model = cls().fit(sessions)
    model.relevance_ = np.zeros_like(model.relevance_)
    examined = model.predict_examination(sessions)
    rank = sessions.position
    table = model.examination_
    at_rank = (
        table if table.ndim == 1 else table[np.arange(len(table)), range(len(table))]
    )
    np.testing.assert_allclose(examined, at_rank[rank - 1])


@pytest.mark.parametrize("gamma", [0, 0.0])
def test_users_who_never_go_on(gamma):
    model = DynamicBayesianNetwork(gamma=gamma, max_iter=3)
    below = Sessions.from_lists(["q"], [["a", "b"]], [[0, 1]])
    with pytest.raises(ValueError, match=r"gamma=0.* makes sessions impossible"):
        model.fit(below)
    first = Sessions.from_lists(["q"] * 2, [["a", "b"]] * 2, [[1, 0], [0, 0]])
    assert model.fit(first).predict_examination(first).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("cls", "given"),
    [
        (DynamicBayesianNetwork, {"gamma": 1}),
        (BayesianBrowsingModel, {"prior_skips": 2}),
        (ClickChainModel, {"prior_skips": 2, "prior_clicks": 3}),
    ],
)
def test_whole_numbers_are_numbers(cls, given, sessions):
    floats = {name: float(value) for name, value in given.items()}
    one, other = cls(**given).fit(sessions), cls(**floats).fit(sessions)
    assert_same_state(state(one), state(other))


@pytest.mark.parametrize("cls", MODELS)
def test_pseudo_counts_up_to_a_bound(cls, sessions):
    names = ("prior_clicks", "prior_skips", "behaviour_prior")
    names = [name for name in names if hasattr(cls, name)]
    for counts in product([1.0, 1e9], repeat=len(names)):
        given = dict(zip(names, counts))
        model = cls(**given).fit(sessions)
        for table in (*vars(model).values(), model.log_likelihood(sessions)):
            if isinstance(table, np.ndarray) and table.dtype.kind == "f":
                assert np.isfinite(table).all()
        a, b = given["prior_clicks"], given["prior_skips"]
        if max(a, b) > 1 and cls is not RankClickModel:
            # The log is nothing against the prior.
            table = model.relevance_table()
            found = table.get("attraction", table["relevance"])
            np.testing.assert_allclose(found, a / (a + b), rtol=0, atol=1e-6)
    for name, count in product(names, [1.001e9, 1e308, 2**63 - 1]):
        with pytest.raises(ValueError, match=f"{name} must be .* <= 1e9, got"):
            cls(**{name: count}).fit(sessions)


def test_impossible_clicks_have_no_likelihood():
    sessions = Sessions.from_lists(["q"], [["a", "b"]], [[1, 1]])
    model = CascadeModel().fit(sessions)
    assert model.score(sessions) == -np.inf
    assert model.perplexity(sessions, kind="conditional").tolist()[1] == np.inf
    assert np.isfinite(model.perplexity(sessions)).all()


@pytest.mark.parametrize(
    "cls", [PositionBasedModel, UserBrowsingModel, DynamicBayesianNetwork]
)
def test_parameters_are_recovered_from_a_simulated_log(cls, rng):
    truth = make(cls).fit(random_sessions(rng, n=30))
    n_pairs = len(truth.relevance_)
    attraction = rng.uniform(0.15, 0.85, n_pairs)
    if cls is DynamicBayesianNetwork:
        truth.attraction_, truth.satisfaction_ = (
            attraction,
            rng.uniform(0.2, 0.8, n_pairs),
        )
        truth.gamma_ = 0.8
    else:
        truth.relevance_ = attraction
        truth.examination_ = rng.uniform(0.4, 0.95, truth.examination_.shape)
        if cls is UserBrowsingModel:
            truth.examination_ = np.tril(truth.examination_)
    names = truth.document_ids_.tolist()
    n = 40000
    lists = [[names[d] for d in rng.permutation(len(names))[:6]] for _ in range(n)]
    log = truth.sample(rng.choice(truth.query_ids_, n), lists, random_state=1)
    model = cls(tol=1e-7, max_iter=2000).fit(log)
    table, true = model.relevance_table(), truth
    if cls is DynamicBayesianNetwork:
        assert model.gamma_ == pytest.approx(0.8, abs=0.03)
    known = true._pairs().find_ids(table["query"], table["document"])
    seen = known >= 0
    name = "attraction_" if cls is DynamicBayesianNetwork else "relevance_"
    found, expected = getattr(model, name)[seen], getattr(true, name)[known[seen]]
    if cls is not DynamicBayesianNetwork:  # known up to a factor
        found = found * (expected.sum() / found.sum())
    assert np.abs(found - expected).mean() < 0.02
    assert np.corrcoef(found, expected)[0, 1] > 0.98
    # Held-out sessions are as likely as under the truth.
    fresh = truth.sample(log.query_ids[log.query[:4000]], lists[:4000], random_state=2)
    assert model.score(fresh) == pytest.approx(truth.score(fresh), abs=0.02)


@pytest.mark.parametrize("cls", MODELS)
def test_scikit_learn_slices_sessions(cls, sessions):
    model = make(cls)
    scores = cross_val_score(
        make(cls),
        sessions,
        cv=KFold(3),
        scoring=lambda m, X, y=None: -m.perplexity(X, per_rank=False),
    )
    folds = list(KFold(3).split(sessions))
    expected = [
        -clone(model).fit(sessions[a]).perplexity(sessions[b], per_rank=False)
        for a, b in folds
    ]
    assert scores.tolist() == expected
    train, test = train_test_split(sessions, random_state=0)
    assert len(train) + len(test) == len(sessions)


def test_grid_search_chooses_by_likelihood(rng):
    sessions = random_sessions(rng, n=100, rate=0.1)
    grid = {"prior_clicks": [1.0, 50.0], "prior_skips": [9.0]}
    search = GridSearchCV(DependentClickModel(), grid, cv=3).fit(sessions)
    assert search.best_params_ == {"prior_clicks": 1.0, "prior_skips": 9.0}
    assert search.best_score_ == pytest.approx(
        np.mean(cross_val_score(search.best_estimator_, sessions, cv=3))
    )


@pytest.mark.parametrize(("cls", "variant"), CASES)
def test_sessions_of_any_length(cls, variant):
    rng = np.random.default_rng(1)
    long = Sessions.from_lists(
        ["q", "q", "p"],
        [list(range(300)), [5], []],
        [(rng.random(300) < 0.02).astype(int).tolist(), [1], []],
    )
    model = make(cls, variant).fit(long[1:])
    assert len(model.relevance_) == 1
    for kind in ("conditional", "marginal"):  # lists longer than any before
        assert np.isfinite(model.predict_proba(long, kind=kind)).all()
    model = make(cls, variant).fit(long)
    p = model.predict_proba(long, kind="marginal")
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.isfinite(vars(model)["relevance_"])).all()
    assert len(model.sample(long, random_state=0).click) == 301
    examined = model.examination_by_rank(long)
    assert examined.shape == (300,)
    assert ((examined >= 0) & (examined <= 1)).all()
    empty = long[2:]
    assert model.log_likelihood(empty) == 0.0
    assert model.predict_proba(empty).shape == (0,)


@pytest.mark.parametrize("cls", MODELS)
def test_tables_and_look_ups(cls, sessions):
    model = make(cls).fit(sessions)
    table = model.relevance_table()
    n = len(model.relevance_)
    assert {len(column) for column in table.values()} == {n}
    found = model.relevance(table["query"], table["document"])
    assert np.array_equal(found, model.relevance_)
    one = model.relevance("q0", table["document"][:2])
    assert one.shape == (2,)
    frame = model.relevance_table(as_frame=True)
    assert frame.columns.tolist() == list(table)
    assert frame["relevance"].tolist() == model.relevance_.tolist()


@pytest.mark.parametrize("cls", MODELS)
def test_bad_input_is_told(cls, sessions):
    model = make(cls)
    with pytest.raises(NotFittedError):
        model.predict_proba(sessions)
    with pytest.raises(TypeError, match=r"sessions must be Sessions.*got \[1, 2\]"):
        model.fit([1, 2])
    with pytest.raises(ValueError, match="sessions must hold at least one impression"):
        model.fit(sessions[:0])
    model.fit(sessions)
    with pytest.raises(TypeError, match="sessions must be Sessions"):
        model.score(None)
    with pytest.raises(ValueError, match="at least one impression"):
        model.score(sessions[:0])
    with pytest.raises(ValueError, match="kind must be"):
        model.predict_proba(sessions, kind="joint")
    with pytest.raises(ValueError, match="query and document must hold one id each"):
        model.relevance(["q0"], ["d0", "d1"])
    with pytest.raises(ValueError, match="documents must hold the documents"):
        model.sample(["q0"])
    with pytest.raises(ValueError, match="documents must be None"):
        model.sample(sessions, [["d0"]])
    with pytest.raises(ValueError, match="prior_clicks must be"):
        make(cls, prior_clicks=-1).fit(sessions)


def test_models_that_cannot_be_merged(sessions):
    model = UserBrowsingModel(max_iter=5, tol=1.0).fit(sessions)
    with pytest.raises(TypeError, match="other must be a fitted UserBrowsingModel"):
        model.merge(PositionBasedModel())
    with pytest.raises(NotFittedError):
        model.merge(UserBrowsingModel())
    other = UserBrowsingModel(max_rank=3, max_iter=5, tol=1.0).fit(sessions)
    before = state(model)
    with pytest.raises(ValueError, match="max_rank or max_distance differ"):
        model.merge(other)
    with pytest.raises(ValueError, match="max_rank or max_distance differ"):
        model.set_params(max_distance=2).partial_fit(sessions)
    assert_same_state(state(model), before)


@pytest.mark.parametrize(
    "documents",
    [
        deque([3, 5, 4]),
        array("i", [3, 5, 4]),
        memoryview(array("q", [3, 5, 4])),
        range(3, 6),
        np.array([(3, 1), (5, 1), (4, 1)], dtype="i4,i4"),
        np.array([b"abc", b"abe", b"abd"], dtype="V3"),
    ],
    ids=lambda documents: type(documents).__name__,
)
def test_columns_of_ids_of_any_kind(documents):
    columns = {"query": ["q"] * 3, "position": None, "click": [1, 0, 1]}
    sessions = Sessions.from_arrays(session=[0, 1, 2], document=documents, **columns)
    model = CascadeModel().fit(sessions)
    assert model.relevance(["q"] * 3, documents).shape == (3,)
    same = model.relevance(["q"] * 3, np.array(documents).tolist())
    np.testing.assert_array_equal(model.relevance(["q"] * 3, documents), same)
    assert same[0] == same[2] > same[1]


def test_columns_of_polars():
    pl = pytest.importorskip("polars")
    if not hasattr(pl, "Int128"):
        pytest.skip("polars has no whole numbers of 128 bits")
    documents = pl.Series([2**70, 3, 2**70], dtype=pl.Int128)
    columns = {"query": ["q"] * 3, "position": None, "click": [1, 0, 1]}
    sessions = Sessions.from_arrays(session=[0, 1, 2], document=documents, **columns)
    found = CascadeModel().fit(sessions).relevance(["q"] * 3, documents)
    assert found[0] == found[2] > found[1]


def test_dates_and_numbers_are_ids_of_different_logs():
    logs = [
        Sessions.from_lists(queries, [["a"]], [[1]])
        for queries in ([1], np.array([1], "m8[D]"))
    ]
    with pytest.raises(ValueError, match="durations of NumPy must not stand beside"):
        Sessions.concat(logs)
    with pytest.raises(ValueError, match="durations of NumPy must not stand beside"):
        CascadeModel().fit(logs[0]).partial_fit(logs[1])
    assert CascadeModel().fit(logs[0]).relevance(logs[1].query_ids, ["a"]) == [0.5]


def test_prior_counts_of_half_precision():
    sessions = Sessions.from_lists(["q"], [["a", "b"]], [[1, 0]])
    model = CascadeModel(prior_clicks=np.float16(2.0)).fit(sessions)
    expected = CascadeModel(prior_clicks=2.0).fit(sessions).predict_proba(sessions)
    np.testing.assert_array_equal(model.predict_proba(sessions), expected)


def test_what_the_log_does_not_tell_without_prior_counts_is_a_half():
    sessions = Sessions.from_lists(["q", "q"], [["a", "b"]] * 2, [[0, 0]] * 2)
    model = ClickChainModel(behaviour_prior=0).fit(sessions)
    # Of the prior, a clicked document is good by 2 / 3, and poor / rich is 2.
    np.testing.assert_allclose(model.alpha_[1:], [0.75, 0.375])
    assert (model.alpha_[1] / 3 + 2 * model.alpha_[2] / 3) == pytest.approx(0.5)


def test_every_rank_of_the_log_has_its_own_continuation():
    def log(*clicks):
        return Sessions.from_lists(
            [f"q{i}" for i in range(len(clicks))],
            [list("abcd")[: len(one)] for one in clicks],
            list(clicks),
        )

    deep = DependentClickModel().fit(log([1, 0, 0]))
    assert deep.continuation_.tolist() == [1 / 3, 0.5, 0.5]
    # Cells are in order, which files ask of them, and empty only where they must be.
    np.testing.assert_array_equal(deep.cell_pair_, [0, 0])
    np.testing.assert_array_equal(deep.cell_slot_, [1, 4])
    counted = DependentClickModel().fit(log([0, 0, 0]))
    assert (counted.cell_clicks_ + counted.cell_skips_).tolist() == [1, 1, 1]
    parts = [1, 0], [0, 1, 0], [1, 0, 0, 0], [1, 1]
    whole = DependentClickModel().fit(log(*parts))
    assert whole.continuation_.tolist() == [0.4, 0.25, 0.5, 0.5]
    empty = DependentClickModel().fit(log(*parts)).partial_fit(log(*parts)[:0])
    assert empty.continuation_.tolist() == whole.continuation_.tolist()
    # The same to the bit, whatever the order of the parts; see `partial_fit`.
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        sessions = [log(*parts)[[i]] for i in order]
        in_parts = DependentClickModel()
        for one in sessions:
            in_parts.partial_fit(one)
        merged = DependentClickModel().fit(sessions[0])
        for one in sessions[1:]:
            merged.merge(DependentClickModel().fit(one))
        for model in (in_parts, merged):
            for name in ("continuation_", "cell_pair_", "cell_slot_", "cell_skips_"):
                found, expected = getattr(model, name), getattr(whole, name)
                np.testing.assert_array_equal(found, expected)
