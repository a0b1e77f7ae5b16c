"""Counterfactual evaluation: exact means and variances, and plain loops beside it."""

from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank.click import (
    PositionBasedModel,
    Sessions,
    SimulatedUser,
    UserBrowsingModel,
)
from skrank.datasets import load_see_also, make_ranking
from skrank.metrics import DCG, NDCG, RBP, Precision, bootstrap_interval
from skrank.rankers import RankSVM
from skrank.unbiased import (
    CounterfactualEvaluator,
    InterventionPropensities,
    RegressionEM,
)

ALPHA = np.array([0.9, 0.6, 0.3])
GAMMA = np.array([0.2, 0.9, 0.5])
GUESS = np.array([0.7, 0.4, 0.6])  # a prediction that is wrong
DISCOUNT = 1 / np.log2(1 + np.arange(1, 4))
NEW = np.array([1.0, 3.0, 2.0])  # scores of the new ranker
WEIGHTS = DISCOUNT[[2, 0, 1]]  # by its ranks
TRUTH = float(WEIGHTS @ GAMMA)
FIXED = {(0, 1, 2): 1.0}
SHUFFLED = dict.fromkeys(permutations(range(3)), 1 / 6)
# Lists of two places, so that one document is not shown.
CUT = {(0, 1): 0.5, (1, 2): 0.3, (2, 0): 0.2}


class Outcomes:
    """All that may happen in a session, each as a query of its own."""

    def __init__(self, policy, gamma=GAMMA, alpha=ALPHA):
        lists, clicks, chances = [], [], []
        for shown, chance in policy.items():
            rates = alpha[: len(shown)] * gamma[list(shown)]
            for marks in product([0, 1], repeat=len(shown)):
                lists.append(list(shown))
                clicks.append(list(marks))
                own = np.where(marks, rates, 1 - rates)
                chances.append(chance * own.prod())
        self.n = len(lists)
        self.chance = np.array(chances)
        self.log = Sessions.from_lists(np.arange(self.n), lists, clicks)
        self.groups = np.repeat(np.arange(self.n), 3)
        self.docids = np.tile(np.arange(3), self.n)
        places = np.zeros(3)
        for shown, chance in policy.items():
            places[list(shown)] += chance * alpha[: len(shown)]
        self.exposure = np.tile(places, self.n)

    def values(self, estimator, relevance=GUESS, exposure=False, **options):
        """Return what the estimator says of each outcome."""
        found = CounterfactualEvaluator(
            "dcg", ALPHA, estimator=estimator, **options
        ).evaluate(
            self.log,
            np.tile(NEW, self.n),
            self.groups,
            self.docids,
            relevance=np.tile(relevance, self.n),
            exposure=self.exposure if exposure else None,
        )
        return found.per_query["ranker"]

    def mean(self, *args, **options):
        return float(self.chance @ self.values(*args, **options))

    def variance(self, *args, **options):
        values = self.values(*args, **options)
        return float(self.chance @ values**2 - (self.chance @ values) ** 2)


@pytest.mark.parametrize("estimator", ["ips", "dr"])
@pytest.mark.parametrize(
    ("policy", "exposure"),
    [(FIXED, False), (SHUFFLED, False), (SHUFFLED, True), (CUT, True)],
)
def test_the_mean_over_all_clicks_is_the_measure(estimator, policy, exposure):
    outcomes = Outcomes(policy)
    assert_allclose(outcomes.chance.sum(), 1.0)
    assert_allclose(outcomes.mean(estimator, exposure=exposure), TRUTH)


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_lists_that_are_cut_off_need_the_exposure_of_the_policy():
    outcomes = Outcomes(CUT)
    shown = np.array([0.7, 0.8, 0.5])  # how often each document is in the list
    assert_allclose(outcomes.mean("ips"), float(WEIGHTS @ (GAMMA * shown)))
    missed = WEIGHTS @ ((1 - shown) * (GUESS - GAMMA))
    assert_allclose(outcomes.mean("dr"), TRUTH + missed)
    assert_allclose(outcomes.mean("dr", relevance=GAMMA), TRUTH)


def test_clipping_takes_what_the_formula_says():
    outcomes, clip = Outcomes(SHUFFLED), 0.65
    kept = np.mean(ALPHA / np.maximum(ALPHA, clip))  # any place is as likely
    assert_allclose(outcomes.mean("ips", clip=clip), TRUTH * kept)
    bias = (1 - kept) * WEIGHTS @ (GUESS - GAMMA)
    assert_allclose(outcomes.mean("dr", clip=clip), TRUTH + bias)
    assert_allclose(outcomes.mean("dr", relevance=GAMMA, clip=clip), TRUTH)


@pytest.mark.parametrize("clip", [None, 0.65])
@pytest.mark.parametrize("policy", [SHUFFLED, CUT])
def test_a_perfect_prediction_lowers_the_variance(policy, clip):
    outcomes = Outcomes(policy)
    options = {"exposure": True, "clip": clip}
    robust = outcomes.variance("dr", relevance=GAMMA, **options)
    plain = outcomes.variance("ips", **options)
    assert robust < plain
    # Given the list, both vary alike, but the mean of "dr" does not depend on the list.
    rho = np.maximum(outcomes.exposure[:3], clip or 0.0)
    ratio = WEIGHTS * GAMMA / rho
    given = [ALPHA[: len(shown)] @ ratio[list(shown)] for shown in policy]
    chances = np.array(list(policy.values()))
    spread = chances @ np.square(given) - (chances @ given) ** 2
    assert_allclose(plain - robust, spread)
    assert_allclose(outcomes.mean("dr", relevance=GAMMA, **options), TRUTH)
    assert outcomes.variance("dm", relevance=GAMMA) < 1e-12


def test_predictions_cancel_where_all_documents_keep_their_places():
    outcomes = Outcomes(FIXED)
    assert_allclose(outcomes.values("dr"), outcomes.values("ips"))
    assert np.ptp(
        outcomes.values("dr", clip=0.5) - outcomes.values("ips", clip=0.5)
    ) < (1e-12)


@pytest.mark.parametrize("exposure", [False, True])
def test_without_a_prediction_doubly_robust_is_inverse_propensity(exposure):
    outcomes = Outcomes(SHUFFLED)
    robust = outcomes.values("dr", relevance=np.zeros(3), exposure=exposure)
    assert_allclose(robust, outcomes.values("ips", exposure=exposure))


def test_where_clicks_are_as_predicted_doubly_robust_is_the_direct_method():
    clicks = np.array([0.0, 1.0, 1.0])
    log = Sessions.from_lists(["q"], [[0, 1, 2]], [clicks])
    values = [
        CounterfactualEvaluator("dcg", np.ones(3), estimator=name).evaluate(
            log, NEW, ["q"] * 3, [0, 1, 2], relevance=clicks
        )["ranker"]
        for name in ("dr", "dm", "ips")
    ]
    assert_allclose(values, WEIGHTS @ clicks)


class Log:
    """A random log of a few queries, and the sums of plain loops over it."""

    n_queries, size = 7, 5
    alpha = np.array([1.0, 0.7, 0.5])

    def __init__(self, n=400, seed=0):
        rng = np.random.default_rng(seed)
        self.query = rng.integers(0, self.n_queries - 1, size=n)  # the last: no session
        lists = [rng.permutation(self.size)[:3].tolist() for _ in range(n)]
        clicks = (rng.random((n, 3)) < 0.4).astype(int)
        names = np.array([f"q{i}" for i in range(self.n_queries)])
        self.lists, self.clicks = lists, clicks
        self.sessions = Sessions.from_lists(names[self.query], lists, clicks.tolist())
        order = rng.permutation(self.n_queries * self.size)  # rows in any order
        self.q, self.d = order // self.size, order % self.size
        self.groups, self.docids = names[self.q], self.d
        self.row = {(q, d): i for i, (q, d) in enumerate(zip(self.q, self.d))}
        self.runs = {"a": rng.random(len(order)), "b": rng.random(len(order))}
        self.relevance = rng.random(len(order))
        self.exposure = rng.uniform(0.1, 0.9, size=len(order))

    def weights(self, scores):
        """Return discounts of the ranks, cut off at 4."""
        found = np.zeros(len(scores))
        for i, (q, own) in enumerate(zip(self.q, scores)):
            rank = 1 + sum(scores[self.row[q, d]] > own for d in range(self.size))
            found[i] = 1 / np.log2(1 + rank) if rank <= 4 else 0.0
        return found

    def logged(self):
        """Return the mean examination of each document over its sessions."""
        found = np.zeros(len(self.q))
        for query, shown in zip(self.query, self.lists):
            for place, d in enumerate(shown):
                found[self.row[query, d]] += self.alpha[place]
        return found / np.maximum(np.bincount(self.query, minlength=7), 1)[self.q]

    def loops(self, estimator, clip, exposure):
        """Return numerators and denominators of each session for both runs."""
        sums = np.zeros((len(self.query), 2))
        norms = np.zeros(len(self.query))
        weights = [self.weights(scores) for scores in self.runs.values()]
        for s, query in enumerate(self.query):
            if estimator != "snips":
                norms[s] = 1.0
            if estimator in ("dm", "dr"):
                for d in range(self.size):
                    row = self.row[query, d]
                    for r in range(2):
                        sums[s, r] += weights[r][row] * self.relevance[row]
            if estimator == "dm":
                continue
            for place, d in enumerate(self.lists[s]):
                row, click = self.row[query, d], self.clicks[s, place]
                alpha = self.alpha[place]
                rho = max(alpha if exposure is None else exposure[row], clip or 0.0)
                told = click
                if estimator == "dr":
                    told = click - alpha * self.relevance[row]
                if estimator == "snips":
                    norms[s] += click / rho
                for r in range(2):
                    sums[s, r] += weights[r][row] * told / rho
        return sums, norms


@pytest.mark.filterwarnings("ignore:the log does not tell")
@pytest.mark.parametrize("unit", ["query", "session"])
@pytest.mark.parametrize("exposure", [None, "logged", "known"])
@pytest.mark.parametrize("clip", [None, 0.6])
@pytest.mark.parametrize("estimator", ["ips", "snips", "dm", "dr"])
def test_estimates_and_errors_are_those_of_plain_loops(estimator, clip, exposure, unit):
    log = Log()
    known = {None: None, "logged": log.logged(), "known": log.exposure}[exposure]
    given = "logged" if exposure == "logged" else known
    evaluator = CounterfactualEvaluator(
        "dcg@4", log.alpha, estimator=estimator, clip=clip, unit=unit
    )
    arguments = (log.runs, log.groups, log.docids)
    options = {"exposure": given, "relevance": log.relevance}
    found = evaluator.evaluate(log.sessions, *arguments, **options)
    sums, norms = log.loops(estimator, clip, known)
    if unit == "query":
        by_query = np.eye(7)[log.query].T[:6]
        sums, norms = by_query @ sums, by_query @ norms
        ratios = np.array(list(found.per_query.values())).T
        assert_allclose(ratios, sums / norms[:, None], rtol=1e-10)
    expected = sums.sum(axis=0) / norms.sum()
    assert_allclose(found.estimates, expected, rtol=1e-10)
    n = len(norms)
    rest = sums - norms[:, None] * expected
    errors = np.sqrt(n / (n - 1) * (rest**2).sum(axis=0)) / norms.sum()
    assert_allclose(found.standard_errors, errors, rtol=1e-9)
    gap = rest[:, 0] - rest[:, 1]
    difference = found.difference("a", "b")
    assert_allclose(difference.estimate, expected[0] - expected[1], rtol=1e-9)
    error = np.sqrt(n / (n - 1) * (gap**2).sum()) / norms.sum()
    assert_allclose(difference.standard_error, error, rtol=1e-8)
    # The log may come in parts.
    parts = [log.sessions[:100], log.sessions[100:101], log.sessions[101:]]
    again = evaluator.evaluate(parts, *arguments, **options)
    assert_allclose(again.estimates, found.estimates, rtol=1e-12)
    assert_allclose(again.standard_errors, found.standard_errors, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_many_sessions_are_taken_in_groups_that_say_as_much():
    log = Log(n=9000)
    evaluator = CounterfactualEvaluator("dcg@4", log.alpha, unit="session")
    found = evaluator.evaluate(log.sessions, log.runs, log.groups, log.docids)
    assert found.values.shape == (4096, 2)
    sums, norms = log.loops("ips", None, None)
    assert_allclose(found.estimates, sums.sum(axis=0) / norms.sum())
    errors = sums.std(axis=0, ddof=1) / np.sqrt(len(sums))
    assert_allclose(found.standard_errors, errors, rtol=0.05)


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_self_normalised_estimates_do_not_depend_on_a_factor():
    log = Log()
    found = [
        CounterfactualEvaluator(
            "dcg@4", factor * log.alpha, estimator="snips"
        ).evaluate(log.sessions, log.runs, log.groups, log.docids)
        for factor in (1.0, 0.25, 3.0)
    ]
    assert_allclose(found[1].estimates, found[0].estimates)
    assert_allclose(found[2].estimates, found[0].estimates)
    assert_allclose(found[2].standard_errors, found[0].standard_errors)


def test_the_average_rank_of_relevant_documents():
    log = Sessions.from_lists(["q", "p"], [list("abc")] * 2, [[0, 1, 1], [1, 0, 0]])
    evaluator = CounterfactualEvaluator("arp", [1.0] * 3, estimator="snips")
    scores = [3, 1, 2, 1, 2, 3]  # ranks 1, 3, 2 for p and 3, 2, 1 for q
    found = evaluator.evaluate(log, scores, list("pppqqq"), list("abcabc"))
    assert found["ranker"] == pytest.approx((2 + 1 + 1) / 3)
    assert not found.greater_is_better
    with pytest.raises(ValueError, match="must rank every document for measure='arp'"):
        evaluator.evaluate(
            log, [3, 1, -np.inf, 1, 2, 3], list("pppqqq"), list("abcabc")
        )


@pytest.mark.parametrize(
    "measure",
    [
        DCG(),
        DCG(k=2),
        Precision(k=3),
        RBP(p=0.7),
        DCG(k=4, discount="letor"),
        NDCG(k=3),
        NDCG(k=1),
        NDCG(),
    ],
    ids=str,
)
def test_clicks_of_users_who_see_all_tell_the_measure_itself(measure):
    rng = np.random.default_rng(0)
    sizes = np.array([4, 1, 6, 3])
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    groups, docids = np.repeat(np.arange(4), sizes), np.arange(ptr[-1])
    relevance = (rng.random(ptr[-1]) < 0.5).astype(float)
    relevance[ptr[:-1]] = 1.0
    scores = rng.integers(0, 3, size=len(groups)).astype(float)  # with ties
    scores[5] = -np.inf
    log = Sessions.from_lists(
        np.arange(4), np.split(docids, ptr[1:-1]), np.split(relevance, ptr[1:-1])
    )
    found = CounterfactualEvaluator(measure, np.ones(6)).evaluate(
        log, scores, groups, docids, relevance=relevance
    )
    expected = measure.per_query(relevance, scores, ptr, retrieved=scores > -np.inf)
    assert_allclose(found.per_query["ranker"], expected)
    assert found.measure_name == measure.name


def test_a_function_of_ranks_is_a_measure():
    def first_two(ranks):
        return (ranks <= 2).astype(float)

    log = Sessions.from_lists(["q"], [[0, 1, 2]], [[1, 0, 1]])
    found = CounterfactualEvaluator(first_two, [1.0, 0.5, 0.25]).evaluate(
        log, NEW, ["q"] * 3, [0, 1, 2]
    )
    assert (found["ranker"], found.measure_name) == (4.0, "first_two")


def test_ndcg_leaves_out_queries_without_relevance():
    log = Sessions.from_lists(["q", "p"], [[0, 1], [0, 1]], [[1, 0], [0, 1]])
    found = CounterfactualEvaluator("ndcg", [1.0, 0.5]).evaluate(
        log, [2, 1, 2, 1], list("qqpp"), [0, 1, 0, 1], relevance=[0.5, 0.0, 0.0, 0.0]
    )
    assert found["ranker"] == 2.0  # a click in the first place over the best value 1/2
    assert found.query_ids.tolist() == ["q"]
    assert "1 sessions of queries without a value are left out" in str(found)


def test_what_is_left_out_is_not_counted():
    log = Sessions.from_lists([0, 1], [["a", "b"], ["c"]], [[1, 1], [1]])
    found = CounterfactualEvaluator("ndcg@2", [1.0, 0.1], clip=0.5).evaluate(
        log[[0, 0]], [2, 1, 1], [0, 0, 1], list("abc"), relevance=[1, 0, 0]
    )
    both = CounterfactualEvaluator("ndcg@2", [1.0, 0.1], clip=0.5).evaluate(
        Sessions.concat([log, log[:1]]),
        [2, 1, 1],
        [0, 0, 1],
        list("abc"),
        relevance=[1, 0, 0],
    )
    assert both.n_clicks == found.n_clicks == 4
    assert both.clipped_share == found.clipped_share > 0
    assert_allclose(both.effective_sample_sizes, found.effective_sample_sizes)
    assert both.notes == ("1 sessions of queries without a value are left out",)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (NDCG(k=2, short_query="zero"), "must have short_query='keep', got 'zero'"),
        (NDCG(k=2, empty_query=0.0), "must have empty_query='skip', got 0.0"),
        (DCG(k=2, gain=[1, 2]), "must give nothing for grade 0, got the gain 1"),
        (NDCG(k=2, gain=[1, 2]), "must give nothing for grade 0, got the gain 1"),
    ],
)
def test_measures_that_clicks_do_not_tell(measure, message):
    log = Sessions.from_lists([0], [["a", "b"]], [[1, 0]])
    evaluator = CounterfactualEvaluator(measure, [1.0, 0.5])
    with pytest.raises(ValueError, match=message):
        evaluator.evaluate(log, [2, 1], [0, 0], ["a", "b"], relevance=[1, 0])


def test_gains_of_any_size():
    log = Sessions.from_lists([0], [["a", "b"]], [[1, 0]])
    values = [
        CounterfactualEvaluator(measure, [1.0, 0.5])
        .evaluate(log, [2, 1], [0, 0], ["a", "b"], relevance=[0.7, 0.2])
        .estimates[0]
        for measure in (
            DCG(k=2, gain=[0, 3]),
            DCG(k=2),
            NDCG(k=2, gain=[0, 3]),
            NDCG(k=2),
        )
    ]
    assert values[0] == pytest.approx(3 * values[1])
    assert values[2] == pytest.approx(values[3])


def coverage(unit, interval, n_logs=300):
    """Return in how many of some logs the interval holds the truth."""
    rng = np.random.default_rng(1)
    n_queries, n = 40, 120
    gamma = rng.beta(1, 2, size=(n_queries, 3))
    groups, docids = (
        np.repeat(np.arange(n_queries), 3),
        np.tile(np.arange(3), n_queries),
    )
    truth = float(np.mean(gamma @ WEIGHTS))
    evaluator = CounterfactualEvaluator(
        "dcg", ALPHA, unit=unit, interval=interval, n_resamples=300
    )
    hits = 0
    for _ in range(n_logs):
        query = rng.integers(0, n_queries, size=n)
        lists = np.array([rng.permutation(3) for _ in range(n)])
        clicks = rng.random((n, 3)) < ALPHA * gamma[query[:, None], lists]
        log = Sessions.from_lists(query, lists.tolist(), clicks.astype(int).tolist())
        found = evaluator.evaluate(log, np.tile(NEW, n_queries), groups, docids)
        low, high = found.intervals[0]
        hits += low <= truth <= high
    return hits / n_logs


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
@pytest.mark.parametrize("unit", ["query", "session"])
def test_intervals_hold_the_truth_as_often_as_they_say(unit, interval):
    # Of 300 logs, 95 % ± 3.8 % are three standard errors.
    assert 0.9 < coverage(unit, interval) <= 0.99


@pytest.mark.filterwarnings("ignore:the log does not tell")
def test_bootstrap_intervals_are_those_of_the_mean_of_sessions():
    log = Log(n=200)
    evaluator = CounterfactualEvaluator(
        "dcg@4", log.alpha, unit="session", interval="bootstrap", n_resamples=500
    )
    found = evaluator.evaluate(log.sessions, log.runs, log.groups, log.docids)
    sums, _ = log.loops("ips", None, None)
    expected = bootstrap_interval(sums, n_resamples=500, random_state=0)
    assert_allclose(found.intervals, expected)


def shown_log(y, groups, order, user, times, seed):
    """Return a log in which rows are shown in an order, some times each."""
    ptr = np.concatenate(([0], np.cumsum(np.bincount(groups))))
    parts = []
    for time in range(times):
        clicks = user.click(y[order], ptr, random_state=seed + time)
        lists = np.split(order, ptr[1:-1])
        parts.append(
            Sessions.from_lists(
                np.arange(len(ptr) - 1), lists, np.split(clicks, ptr[1:-1])
            )
        )
    return Sessions.concat(parts)


def test_estimates_rank_rankers_as_the_truth_does():
    _, y, groups = load_see_also()
    queries, groups = np.unique(groups, return_inverse=True)
    rng = np.random.default_rng(0)
    kept = np.isin(groups, rng.permutation(len(queries))[:150])
    y, groups = y[kept], np.unique(groups[kept], return_inverse=True)[1]
    user = SimulatedUser("navigational", examination="position", eta=0.5, max_grade=3)
    gamma = user.click_probability(y)
    runs = {
        f"{spread:g}": gamma + spread * rng.standard_normal(len(y))
        for spread in (0.0, 0.3, 1.0, 30.0)
    }
    order = np.lexsort((rng.standard_normal(len(y)), groups))
    log = shown_log(y, groups, order, user, 20, 0)
    ids = groups, np.arange(len(y))
    exact = CounterfactualEvaluator("dcg", estimator="dm", unit="session").evaluate(
        log, runs, *ids, relevance=gamma
    )
    found = CounterfactualEvaluator("dcg", user, unit="session").evaluate(
        log, runs, *ids
    )
    assert (np.diff(exact.estimates) < 0).all()
    assert (np.diff(found.estimates) < 0).all()
    gaps = np.abs(found.estimates - exact.estimates)
    assert (gaps < 3 * found.standard_errors).all()
    assert (gaps < 0.1 * exact.estimates).all()
    # Clicks as they are favour what was shown first.
    old = np.empty(len(y))
    old[order] = -np.arange(len(y))
    naive = CounterfactualEvaluator("dcg", np.ones(30)).evaluate(
        log, runs | {"old": old}, *ids
    )
    true = CounterfactualEvaluator("dcg", estimator="dm").evaluate(
        log, {"old": old, "1": runs["1"]}, *ids, relevance=gamma
    )
    assert naive["old"] > naive["1"]
    assert true["old"] < true["1"]


@pytest.mark.parametrize("cls", [PositionBasedModel, UserBrowsingModel])
@pytest.mark.parametrize("estimator", ["ips", "dm", "dr"])
def test_the_factor_of_examination_does_not_matter(cls, estimator):
    """A model of places that is scaled has the same likelihood, and estimates."""
    log = Sessions.from_lists(
        [0] * 4, [[0, 1], [1, 0]] * 2, [[1, 0], [1, 1], [0, 0], [0, 1]]
    )
    model, other = cls().fit(log), cls().fit(log)
    other.relevance_ = 2.0 * model.relevance_
    other.examination_ = 0.5 * model.examination_
    assert other.score(log) == pytest.approx(model.score(log))
    found = [
        CounterfactualEvaluator("dcg", one, estimator=estimator, clip=0.05).evaluate(
            log, [2.0, 1.0], [0, 0], [0, 1], relevance=one, exposure="logged"
        )["ranker"]
        for one in (model, other)
    ]
    assert found[0] == pytest.approx(found[1])


def test_models_and_rankers_may_stand_for_numbers():
    X, y, groups = make_ranking(n_queries=30, docs_per_query=5, random_state=0)
    user = SimulatedUser(examination="position", max_grade=4)
    rng = np.random.default_rng(0)
    docids = np.tile(np.arange(5), 30)
    order = np.array([rng.permutation(5) for _ in range(600)])
    query = np.tile(np.arange(30), 20)
    clicks = user.click(y[query[:, None] * 5 + order].ravel(), np.arange(601) * 5, 0)
    log = Sessions.from_lists(query, order.tolist(), clicks.reshape(-1, 5).tolist())
    model = PositionBasedModel().fit(log)
    places = InterventionPropensities().fit(log)
    ranker = RankSVM().fit(X, y, groups)
    em = RegressionEM(max_iter=30, tol=0.1).fit(
        X[query[:, None] * 5 + order].reshape(-1, X.shape[1]),
        clicks,
        np.repeat(np.arange(600), 5),
        positions=log.position,
    )
    ids = groups, docids
    for propensities in (model, places, user, places.propensities_):
        for relevance in (model, em, model.relevance(groups, docids)):
            evaluator = CounterfactualEvaluator("dcg", propensities, estimator="dr")
            found = evaluator.evaluate(
                log, {"r": ranker}, *ids, X=X, relevance=relevance
            )
            same = evaluator.evaluate(
                log, {"r": ranker.predict(X)}, *ids, X=X, relevance=relevance
            )
            assert found["r"] == same["r"]
    assert_allclose(
        CounterfactualEvaluator("dcg", estimator="dm").evaluate(
            log, X[:, 0], *ids, relevance=model
        )["ranker"],
        CounterfactualEvaluator("dcg", estimator="dm").evaluate(
            log,
            X[:, 0],
            *ids,
            # A log tells both but for a factor; the first place is looked at always.
            relevance=model.relevance(groups, docids) * model.examination_[0],
        )["ranker"],
    )
    given = CounterfactualEvaluator("dcg").evaluate(
        log, X[:, 0], *ids, propensities=user.propensities(5)[log.position - 1]
    )
    assert (
        given["ranker"]
        == CounterfactualEvaluator("dcg", user).evaluate(log, X[:, 0], *ids)["ranker"]
    )


@pytest.mark.parametrize("unit", ["query", "session"])
@pytest.mark.parametrize("estimator", ["ips", "snips", "dm", "dr"])
@pytest.mark.parametrize("exposure", [None, "logged", "given"])
def test_the_order_of_the_documents_changes_no_bit(estimator, unit, exposure):
    rng = np.random.default_rng(0)
    n_queries, n_shown = 20, 8
    lists = [rng.permutation(n_shown) + 100 * q for q in range(n_queries)] * 5
    clicks = (rng.random((len(lists), n_shown)) < 0.4).astype(int)
    log = Sessions.from_lists(np.tile(np.arange(n_queries), 5), lists, clicks)
    groups = np.repeat(np.arange(n_queries), n_shown)
    docids = (np.arange(n_shown) + 100 * np.arange(n_queries)[:, None]).ravel()
    scores, guess = rng.normal(size=(2, len(groups)))
    curve = 1.0 / np.arange(1, n_shown + 1) ** 0.7
    evaluator = CounterfactualEvaluator("dcg@5", curve, estimator=estimator, unit=unit)

    def found(rows):
        given = 0.1 + guess[rows] ** 2 if exposure == "given" else exposure
        ids = groups[rows], docids[rows]
        runs = {"new": scores[rows], "tied": np.rint(scores[rows])}
        options = {"exposure": given, "relevance": guess[rows]}
        return evaluator.evaluate(log, runs, *ids, **options)

    one, other = found(np.arange(len(groups))), found(rng.permutation(len(groups)))
    for name in ("estimates", "standard_errors", "intervals", "values"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    np.testing.assert_array_equal(
        other.effective_sample_sizes, one.effective_sample_sizes
    )
    for name in one.per_query:
        np.testing.assert_array_equal(other.per_query[name], one.per_query[name])
