"""Posterior distributions of relevance, by integrals and by sums over hidden states."""

from itertools import product

import numpy as np
import pytest
from _click_models import all_clicks, random_sessions, rows
from scipy import integrate, stats
from sklearn.exceptions import NotFittedError

from skrank.click import (
    BayesianBrowsingModel,
    ClickChainModel,
    Sessions,
    UserBrowsingModel,
    to_preferences,
)
from skrank.click._click_chain_model import (
    BELOW,
    CLICK,
    HORIZON,
    LAST,
    NONE,
    SKIP,
    _factors,
)
from skrank.click._models import posterior_moments
from skrank.click._posterior import _nodes

ALPHAS = [(0.8, 0.7, 0.3), (0.5, 0.2, 0.2), (1.0, 0.4, 0.0), (0.9, 0.3, 0.6), (1, 0, 0)]
PRIORS = [(1.0, 1.0), (2.0, 5.0)]


def prepared(model, cells):
    return model._densities(cells, np.arange(len(cells.table)))


@pytest.mark.parametrize("cls", [BayesianBrowsingModel, ClickChainModel])
@pytest.mark.parametrize("prior", PRIORS)
def test_moments_are_integrals(cls, prior, rng):
    sessions = random_sessions(rng, n=80)
    model = cls(prior_clicks=prior[0], prior_skips=prior[1]).fit(sessions)
    clicks, ptr, factor, count = prepared(model, model._cells())

    def moment(pair, power):
        own = slice(ptr[pair], ptr[pair + 1])

        def density(r):
            return (
                r ** (clicks[pair] + power)
                * np.prod((1 - factor[own] * r) ** count[own])
                * 1e6
            )

        return integrate.quad(density, 0, 1, epsrel=1e-12, epsabs=0, limit=200)[0]

    for pair in range(len(model.relevance_)):
        total, first, second = (moment(pair, power) for power in range(3))
        mean = first / total
        assert model.relevance_[pair] == pytest.approx(mean, rel=1e-9)
        variance = second / total - mean**2
        assert model.relevance_variance_[pair] == pytest.approx(variance, rel=1e-7)
    a, b = prior
    assert model._unknown()["relevance_variance_"] == pytest.approx(
        stats.beta(a, b).var()
    )


@pytest.mark.parametrize(
    ("clicks", "skips"),
    [(0, 0), (0, 10**9), (10**9, 0), (3, 10**6), (10**7, 3), (5 * 10**8, 10**9)],
)
def test_peaks_of_long_logs(clicks, skips):
    mean, variance = posterior_moments(
        np.array([float(clicks)]),
        np.array([0, 1]),
        np.ones(1),
        np.array([float(skips)]),
        *_nodes(0.0, 0.0),
        0.0,
        0.0,
    )
    a, b = clicks + 1, skips + 1
    assert mean[0] == pytest.approx(a / (a + b), rel=1e-9)
    expected = a * b / ((a + b) ** 2 * (a + b + 1))
    assert variance[0] == pytest.approx(expected, rel=1e-6)


def test_bayesian_browsing_by_loops(rng):
    sessions = random_sessions(rng, n=80)
    model = BayesianBrowsingModel(behaviour_prior=0).fit(sessions)
    clicks, shown, skipped = {}, {}, {}
    for query, documents, clicked in rows(sessions):
        last = 0
        for rank, (d, c) in enumerate(zip(documents, clicked), 1):
            place = last, rank - last
            clicks[place] = clicks.get(place, 0) + c
            shown[place] = shown.get(place, 0) + 1
            cell = query, d, place
            skipped[cell] = skipped.get(cell, 0) + (not c)
            last = rank if c else last
    beta = {p: min(1.0, 2 * clicks[p] / shown[p]) for p in shown}
    for (t, s), value in beta.items():
        assert model.examination_[t + s - 1, s - 1] == value
    _, ptr, factor, count = prepared(model, model._cells())
    table = model.relevance_table()
    for pair, (q, d) in enumerate(zip(table["query"], table["document"])):
        expected = sorted(
            (beta[place], n) for (x, y, place), n in skipped.items() if (x, y) == (q, d)
        )
        own = slice(ptr[pair] + 1, ptr[pair + 1])  # behind that of the prior
        assert sorted(zip(factor[own], count[own])) == expected


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("prior", PRIORS)
def test_factors_of_the_click_chain_by_enumeration(alpha, prior):
    """Each impression multiplies the density by R^C (1 - factor R)."""
    documents = ["a", "b", "c", "d"]
    sessions = all_clicks(documents)
    model = ClickChainModel(alpha=alpha, prior_clicks=prior[0], prior_skips=prior[1])
    beta = stats.beta(*prior)
    means = [beta.moment(1), beta.moment(2)]
    for s, (_, _, clicked) in enumerate(rows(sessions)):
        cells = model.fit(sessions[s : s + 1])._cells()
        factors = model._factors(cells)[0]
        for j in range(len(documents)):
            found = []
            for r in (0.2, 0.5, 0.9):
                moments = [means] * j + [[r, r * r]] + [means] * (3 - j)
                p = averaged_probability(clicked, moments, alpha)
                found.append(p / (r ** clicked[j] * (1 - factors[j] * r)))
            assert found == pytest.approx([found[0]] * 3, rel=1e-12, abs=1e-15)


def averaged_probability(clicked, moments, alpha):
    """Probability of clicks with given moments of the relevance of each document."""
    skip, poor, rich = alpha
    m, total = len(clicked), 0.0
    for stop in range(m):
        p = 1.0
        for i, (first, second) in enumerate(moments):
            if i > stop:
                p *= not clicked[i]
                continue
            at = first if clicked[i] else 1 - first
            on = poor * (first - second) + rich * second if clicked[i] else skip * at
            if i < stop:
                p *= on
            else:
                p *= at - on if i + 1 < m else at
        total += p
    return total


@pytest.mark.parametrize("alpha", ALPHAS[:4])
def test_factors_of_long_lists_are_those_of_the_paper(alpha):
    skip, poor, rich = alpha
    w = (poor + 2 * rich) / 3
    factors = _factors(np.array(alpha), w, 0.5)
    side = HORIZON + 1
    assert factors[SKIP] == 1
    assert factors[CLICK] == pytest.approx(1 - rich / poor)
    if skip == 1:  # a list without end is never left without a click
        return
    last = factors[LAST + HORIZON]
    assert last == pytest.approx(-(poor - rich) / (2 - skip - poor), abs=1e-12)
    for gap in range(8):
        ratio = (2 / skip) ** gap
        none = factors[NONE + gap * side + HORIZON]
        assert none == pytest.approx(2 / (1 + ratio), rel=1e-10)
        scale = (6 - 3 * skip - poor - 2 * rich) / ((1 - skip) * (poor + 2 * rich))
        below = factors[BELOW + gap * side + HORIZON]
        assert below == pytest.approx(2 / (1 + scale * ratio), rel=1e-10)


@pytest.mark.parametrize("prior", PRIORS)
def test_continuation_of_the_click_chain_maximises_its_likelihood(prior, rng):
    sessions = random_sessions(rng, n=400, rate=0.25)
    options = {"prior_clicks": prior[0], "prior_skips": prior[1], "behaviour_prior": 0}
    model = ClickChainModel(**options).fit(sessions)
    beta = stats.beta(*prior)
    means = [beta.moment(1), beta.moment(2)]
    good = means[1] / means[0]
    patterns, counts = {}, {}
    for _, _, clicked in rows(sessions):
        key = tuple(clicked)
        patterns[key] = key
        counts[key] = counts.get(key, 0) + 1

    def value(skip, w):
        # Only the mean to go on after a click matters: alike for all documents.
        total = 0.0
        for key, n in counts.items():
            p = averaged_probability(key, [means] * len(key), (skip, w, w))
            total += n * np.log(p)
        return total

    skip, poor, rich = model.alpha_
    assert rich == pytest.approx(model.ratio * poor) or poor == 1.0
    w = poor * (1 - good) + rich * good
    best = value(skip, w)
    for a, b in product((-0.005, 0, 0.005), repeat=2):
        if 0 < skip + a < 1 and 0 < w + b < 1:
            assert value(skip + a, w + b) <= best + 1e-9


def test_continuation_of_the_click_chain_is_a_stationary_point(rng):
    sessions = random_sessions(rng, n=400, rate=0.25)
    model = ClickChainModel(behaviour_prior=0).fit(sessions)
    beta = stats.beta(1, 1)
    means = [beta.moment(1), beta.moment(2)]
    patterns = [tuple(clicked) for _, _, clicked in rows(sessions)]

    def value(skip, w):
        chances = {
            key: averaged_probability(key, [means] * len(key), (skip, w, w))
            for key in set(patterns)
        }
        return sum(np.log(chances[key]) for key in patterns)

    skip, poor, rich = model.alpha_
    at = np.array([skip, (poor + 2 * rich) / 3])
    for step in 1e-4 * np.eye(2):
        rise = value(*(at + step)) - value(*(at - step))
        bend = value(*(at + step)) + value(*(at - step)) - 2 * value(*at)
        # Newton's method finds next to nothing to mend.
        assert abs(1e-4 * rise / (2 * bend)) < 1e-6


@pytest.mark.parametrize("last", [1, 0.9, 0.5, 0])
@pytest.mark.parametrize("prior", [(1, 1), (1e9, 1), (1, 1e9), (1e9, 1e9)])
def test_users_who_never_stop_above_a_click_at_the_top(last, prior):
    """The chances that nobody clicks on long lists are tiny, and still not 0."""
    n = 60
    documents = [f"d{i}" for i in range(n)]
    clicks = [[1] + [0] * (n - 1), [0] * n]
    sessions = Sessions.from_lists(["q"] * 2, [documents] * 2, clicks)
    a, b = prior
    model = ClickChainModel(alpha=(1, 1, last), prior_clicks=a, prior_skips=b)
    model.fit(sessions)
    # Where all others are hardly ever clicked, no click says nothing of who went on; or
    # else users have left after the first document, and so must have liked it.
    left = last < 1 and a >= b
    first, *others = model.relevance("q", documents)
    assert first == pytest.approx((a + 1 + left) / (a + b + 2 + left), rel=1e-6)
    # All have one skip that was examined, and one that was or was not.
    assert np.min(others) >= a / (a + b + 2) * (1 - 1e-9)
    assert np.max(others) <= a / (a + b + 1 + (last == 1)) * (1 + 1e-9)
    assert np.isfinite(model.relevance_variance_).all()


def test_factors_never_exceed_1(rng):
    choices = np.append(rng.random(3), [0, 1, 1 - 2**-53, 1e-9])
    for skip, poor, rich in product(choices, repeat=3):
        if poor == 0 < rich:
            continue
        for q in (1e-9, 0.3, 0.5, 1 - 1e-9):
            for good in (1e-9, 2 / 3, 1 - 1e-9):
                w = poor * (1 - good) + rich * good
                factors = _factors(np.array([skip, poor, rich]), w, q)
                assert np.isfinite(factors).all()
                assert factors.max() <= 1


@pytest.mark.parametrize("prior_skips", [1, 1e9])
def test_the_click_chain_without_a_skip_that_ends(prior_skips):
    lists = [["c", "b", "b", "d"], ["c", "a"]]
    clicks = [[1, 1, 1, 1], [0, 1]]
    sessions = Sessions.from_lists(["q", "p"], lists, clicks)
    options = {"behaviour_prior": 0, "prior_skips": prior_skips}
    model = ClickChainModel(**options).fit(sessions)
    np.testing.assert_allclose(model.alpha_[0], 1)
    assert np.isfinite(model.relevance_).all()
    clicked_only = ClickChainModel(behaviour_prior=0, prior_clicks=prior_skips).fit(
        sessions
    )
    assert np.isfinite(clicked_only.relevance_).all()


def test_counts_beyond_all_logs_end():
    posterior_moments(
        np.array([1e308]),
        np.array([0, 1]),
        np.ones(1),
        np.array([1e308]),
        *_nodes(0.0, 0.0),
        0.0,
        0.0,
    )


@pytest.mark.parametrize("cls", [BayesianBrowsingModel, ClickChainModel])
def test_preferences_are_double_integrals(cls, rng):
    sessions = random_sessions(rng, n=80, n_documents=5)
    model = cls().fit(sessions)
    documents = ["d0", "d1", "d2", "new"]
    low, high, density = model.relevance_density("q0", documents, 2001)
    x = np.linspace(0, 1, 4001)
    tables = [
        np.interp(x, np.linspace(a, b, 2001), d, left=0, right=0)
        for a, b, d in zip(low, high, density)
    ]
    for i, j in product(range(4), repeat=2):
        below = integrate.cumulative_trapezoid(tables[j], x, initial=0)
        expected = integrate.trapezoid(tables[i] * below, x)
        found = model.preference("q0", documents[i], documents[j])
        assert found == pytest.approx(expected, abs=2e-5)
        other = model.preference("q0", documents[j], documents[i])
        assert found + other == pytest.approx(1, abs=1e-6)
    same = model.preference(["q0"] * 2, ["d0", "new"], ["d0", "new"])
    assert same.tolist() == pytest.approx([0.5, 0.5], abs=1e-6)
    assert to_preferences(model, sessions).weight.max() <= 1


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.1, 20.0), (1.1, 5000.0), (1.5, 1.0), (1.0, 1.01), (50.0, 1.01), (1e3, 1.01)],
)
def test_posteriors_of_priors_that_are_no_whole_numbers(a, b):
    """Their densities are steep at the ends. All look at the first and skip it."""
    sessions = Sessions.from_lists(["q"], [["a", "b"]], [[0, 0]])
    model = ClickChainModel(alpha=(1, 0, 0), prior_clicks=a, prior_skips=b)
    model.fit(sessions)
    skipped, new = stats.beta(a, b + 1.0), stats.beta(a, b)
    assert model.relevance("q", "a") == pytest.approx(skipped.mean(), rel=1e-12)
    assert model.relevance_variance_[0] == pytest.approx(skipped.var(), rel=1e-12)
    (low,), (high,), (density,) = model.relevance_density("q", "a", 129)
    np.testing.assert_allclose(
        density, skipped.pdf(np.linspace(low, high, 129)), rtol=1e-9, atol=1e-15
    )
    # By the quantiles of the one of the other, where no end is steep.
    expected = integrate.quad(
        lambda share: new.cdf(skipped.ppf(share)), 0, 1, epsabs=1e-9, limit=500
    )[0]
    assert model.preference("q", "a", "new") == pytest.approx(expected, abs=2e-7)
    pairs = (np.array(["q", "q"]), np.array(["a", "new"]))
    weight = to_preferences(model, pairs).weight
    assert weight.tolist() == pytest.approx([1.0 - expected], abs=2e-7)


@pytest.mark.parametrize(
    ("prior", "first", "second"),
    [
        ((1, 1), (5000, 3000), (1000, 620)),
        ((1, 1), (100_000, 50_000), (100_000, 50_100)),
        ((1, 1), (10_000, 1000), (10_000, 2000)),
        ((1, 9), (1550, 162), (10, 1)),
        ((1, 50), (4763, 136), (776, 14)),
        ((1, 50), (92, 3), (1295, 35)),
        ((1.3, 1e6), (10, 1), (10, 2)),
        ((34, 614_918), (1, 1), (1, 0)),
        ((1e6, 1e9), (1, 1), (1, 0)),
    ],
)
def test_preferences_between_narrow_and_wide_posteriors(prior, first, second):
    """Lists of one document, which all users look at: beta distributions."""
    shown = [("x", *first), ("y", *second)]
    lists = [[name] for name, n, _ in shown for _ in range(n)]
    clicks = [[int(i < k)] for _, n, k in shown for i in range(n)]
    sessions = Sessions.from_lists(["q"] * len(lists), lists, clicks)
    model = BayesianBrowsingModel(prior_clicks=prior[0], prior_skips=prior[1])
    model.fit(sessions)
    x, y = (stats.beta(prior[0] + k, prior[1] + n - k) for _, n, k in shown)
    expected = integrate.quad(
        lambda share: y.cdf(x.ppf(share)), 0, 1, epsabs=1e-9, limit=500
    )[0]
    assert model.preference("q", "x", "y") == pytest.approx(expected, abs=5e-7)
    assert model.preference("q", "y", "x") == pytest.approx(1 - expected, abs=5e-7)
    assert model.preference("q", "new", "other") == pytest.approx(0.5, abs=1e-9)
    (preferred,) = to_preferences(model, sessions).preferred
    assert preferred == ("x" if expected > 0.5 else "y")


def test_densities_have_the_moments(rng):
    model = BayesianBrowsingModel().fit(random_sessions(rng, n=80))
    table = model.relevance_table()
    low, high, density = model.relevance_density(
        table["query"], table["document"], 1001
    )
    places = np.linspace(low, high, 1001, axis=1)
    total = integrate.simpson(density, x=places, axis=1)
    mean = integrate.simpson(density * places, x=places, axis=1)
    np.testing.assert_allclose(total, 1, rtol=1e-8)
    np.testing.assert_allclose(mean, table["relevance"], rtol=1e-8)


def test_bayesian_browsing_finds_the_relevance_of_simulated_logs(rng):
    truth = UserBrowsingModel(tol=1e-3).fit(random_sessions(rng, n=100))
    n_pairs = len(truth.relevance_)
    truth.relevance_ = rng.uniform(0.05, 0.95, n_pairs)
    ranks, distances = np.indices(truth.examination_.shape)
    truth.examination_ = np.where(distances > ranks, 0, 0.95 - 0.1 * distances)
    lists = [[f"d{d}" for d in rng.permutation(8)[:6]] for _ in range(30000)]
    log = truth.sample(rng.choice(truth.query_ids_, 30000), lists, random_state=0)
    model = BayesianBrowsingModel().fit(log)
    found = model.relevance(*pairs_of(truth))
    assert np.corrcoef(found, truth.relevance_)[0, 1] > 0.99
    # The posterior narrows with the number of impressions.
    few = BayesianBrowsingModel().fit(log[:300])
    assert few.relevance_variance_.mean() > 10 * model.relevance_variance_.mean()


def pairs_of(model):
    table = model.relevance_table()
    return table["query"], table["document"]


def test_wrong_parameters_are_told(rng):
    sessions = random_sessions(rng, n=5)
    for alpha in ((1, 2, 3), (0.5, 0.5), (0.5, 0.0, 0.1), (np.nan, 0.1, 0.1)):
        with pytest.raises(ValueError, match="alpha must be 3 numbers from 0 to 1"):
            ClickChainModel(alpha=alpha).fit(sessions)
    with pytest.raises(ValueError, match="prior_clicks must be a number >= 1"):
        BayesianBrowsingModel(prior_clicks=0.5).fit(sessions)
    model = BayesianBrowsingModel().fit(sessions)
    for n_points in (0, 2, 3, 4, 5.5):
        with pytest.raises(ValueError, match="n_points must be"):
            model.relevance_density("q0", "d0", n_points)
    assert model.relevance_density("q0", "d0", 5)[2].shape == (1, 5)
    assert type(model.preference("q0", "d0", "d1")) is float
    with pytest.raises(ValueError, match="document and other must hold one id each"):
        model.preference("q0", ["d0", "d1"], ["d0"])


@pytest.mark.parametrize("cls", [BayesianBrowsingModel, ClickChainModel])
def test_posteriors_need_a_fitted_model(cls):
    for call in (
        lambda model: model.preference("q", "a", "b"),
        lambda model: model.relevance_density("q", "a"),
        lambda model: model._tables_of_ids(["q"], ["a"]),
    ):
        with pytest.raises(NotFittedError):
            call(cls())


def test_densities_are_those_of_their_tails():
    lists = ["q"] * 400, [["a"]] * 400, [[i % 2] for i in range(400)]
    model = BayesianBrowsingModel().fit(Sessions.from_lists(*lists))
    density = model.relevance_density("q", "a")[2][0]
    # The points reach beyond where e^-40 of the peak is left.
    assert (np.log(density[[0, -1]] / density.max()) <= -39.0).all()


def test_a_session_of_one_document():
    sessions = Sessions.from_lists(["q"], [["a"]], [[1]])
    model = ClickChainModel().fit(sessions)
    assert model.relevance("q", "a") == pytest.approx(2 / 3)
    assert np.isfinite(model.alpha_).all()


def test_relevances_that_are_nearly_0():
    """As a file may say them: what is divided by them stays finite."""
    sessions = Sessions.from_lists(["q"] * 4, [["a", "b"]] * 4, [[1, 0]] * 4)
    model = ClickChainModel().fit(sessions)
    model.relevance_[:] = 1e-320
    assert np.isfinite(model.predict_proba(sessions)).all()
