"""Whole lists: probabilities by enumeration, and weights of lists."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import dok_matrix
from scipy.special import logsumexp

from skrank.click import Sessions
from skrank.unbiased import _counterfactual_lists as lists_module
from skrank.unbiased import (
    evaluate_lists,
    plackett_luce_exposure,
    plackett_luce_log_probability,
)

SCORES = np.array([0.3, -1.0, 2.0, 0.0])


def chance(shown, scores):
    """Return the probability of a list as a product of choices among what is left."""
    left, found = list(range(len(scores))), 1.0
    for document in shown:
        odds = np.exp(scores[left])
        found *= np.exp(scores[document]) / odds.sum()
        left.remove(document)
    return found


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_probabilities_of_all_lists_are_products_of_choices(length):
    shown = list(permutations(range(4), length))
    log = Sessions.from_lists(["q"] * len(shown), shown, np.zeros((len(shown), length)))
    found = plackett_luce_log_probability(log, SCORES, ["q"] * 4, range(4))
    assert_allclose(np.exp(found), [chance(one, SCORES) for one in shown])
    assert_allclose(np.exp(found).sum(), 1.0)


def test_queries_of_different_sizes_and_rows_in_any_order(monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.repeat(["b", "a", "c"], [5, 3, 1])
    docids = np.concatenate([np.arange(5), np.arange(3), [0]])
    scores = rng.normal(size=9)
    own = {g: scores[groups == g] for g in "abc"}
    queries = rng.choice(list("abc"), size=40)
    shown = [
        rng.permutation(len(own[q]))[: rng.integers(1, len(own[q]) + 1)].tolist()
        for q in queries
    ]
    log = Sessions.from_lists(queries, shown, [[0] * len(one) for one in shown])
    order = rng.permutation(9)
    table = scores[order], groups[order], docids[order]
    found = plackett_luce_log_probability(log, *table)
    expected = [chance(one, own[q]) for q, one in zip(queries, shown)]
    assert_allclose(np.exp(found), expected)
    monkeypatch.setattr(lists_module, "_AT_ONCE", 7)
    assert_allclose(plackett_luce_log_probability(log, *table), found, rtol=1e-12)


def test_scores_that_lie_far_apart_keep_their_precision():
    scores = np.array([2000.0, 0.0, -1.0, -3000.0])
    log = Sessions.from_lists(["q"] * 2, [[0, 1, 2, 3], [3, 2]], [[0] * 4, [0] * 2])
    found = plackett_luce_log_probability(log, scores, ["q"] * 4, range(4))
    last = scores[1] - logsumexp(scores[1:])
    assert_allclose(found, [last, -5000.0 - 2001.0])


def test_the_exposure_is_the_mean_over_all_lists():
    curve = [1.0, 0.4]
    expected = np.zeros(4)
    for shown in permutations(range(4), 2):
        expected[list(shown)] += chance(shown, SCORES) * np.array(curve)
    groups = np.array(["q", "p", "q", "q", "p", "q"])
    scores = np.zeros(6)
    scores[groups == "q"] = SCORES
    found = plackett_luce_exposure(
        scores, groups, curve, n_samples=20_000, random_state=0
    )
    assert_allclose(found[groups == "q"], expected, atol=0.012)  # 3 standard errors
    assert_allclose(found[groups == "p"], 0.7, atol=0.012)


def test_documents_of_no_probability_are_never_shown():
    given = ["q"] * 3, [1.0, 0.5, 0.3]
    options = {"n_samples": 200, "random_state": 0}
    cut = plackett_luce_exposure([0.0, 0.0, -np.inf], *given, **options)
    two = plackett_luce_exposure([0.0, 0.0], ["q"] * 2, [1.0, 0.5], **options)
    assert cut[2] == 0.0
    assert cut[:2].sum() == pytest.approx(two.sum())
    one = plackett_luce_exposure([-np.inf, 0.0, -np.inf], *given, **options)
    assert one.tolist() == [0.0, 1.0, 0.0]
    far = plackett_luce_exposure([1e308, -1e308, 0.0], *given, **options)
    assert far[0] == 1.0
    with pytest.raises(ValueError, match="scores must be finite, or -inf"):
        plackett_luce_exposure([0.0, np.inf, 1.0], *given)


def test_large_scores_have_the_probabilities_of_their_differences():
    given = ["q"] * 4, [1.0, 0.5, 0.25, 0.125]
    options = {"n_samples": 50, "random_state": 0}
    for large in (1e17, -1e300):
        found = plackett_luce_exposure([large] * 4, *given, **options)
        expected = plackett_luce_exposure([0.0] * 4, *given, **options)
        assert found.tolist() == expected.tolist()


def test_weights_beyond_floats_are_cut_off_or_refused():
    logged, new = [-800.0, -1.0], [0.0, -1.0]
    cut = evaluate_lists([2.0, 1.0], logged, new, max_weight=1.0)
    assert cut["policy"] == 1.5
    with pytest.raises(ValueError, match=r"runs must be at most 1e\+50 times as"):
        evaluate_lists([2.0, 1.0], logged, new)
    with pytest.raises(ValueError, match=r"rewards must be from -1e\+50 to 1e\+50"):
        evaluate_lists([1e300, 1.0], [-1.0, -1.0], new)


def test_lists_that_are_never_shown_have_no_mean():
    runs = {"never": [-np.inf] * 2, "same": [-1.0] * 2}
    with pytest.warns(UserWarning, match="the estimate of 'never' is NaN: it nev"):
        found = evaluate_lists([2.0, 1.0], [-1.0] * 2, runs, self_normalize=True)
    assert np.isnan(found["never"])
    assert found["same"] == 1.5
    alone = evaluate_lists([2.0, 1.0], [-1.0] * 2, {"same": [-1.0] * 2})
    assert found.standard_errors[1] == alone.standard_errors[0] == 0.5
    np.testing.assert_array_equal(found.intervals[1], alone.intervals[0])
    assert np.isnan(found.intervals[0]).all()


def words(found):
    """Text of a table without its line ends."""
    return " ".join(str(found).split())


def test_captions_say_what_there_was():
    rewards, logged = [1.0, 0.0, 2.0], np.log([0.5, 0.5, 0.5])
    alone = evaluate_lists(rewards, logged, {"new": logged})
    assert "from 3 sessions; t intervals over sessions" in words(alone)
    grouped = evaluate_lists(rewards, logged, {"new": logged}, groups=[0, 0, 1])
    assert "from 3 sessions of 2 queries; t intervals over queries" in words(grouped)


def test_the_mean_over_all_lists_is_what_the_policy_earns():
    shown = list(permutations(range(4), 2))
    new = np.array([1.0, 1.0, -1.0, 0.5])
    log = Sessions.from_lists(["q"] * len(shown), shown, np.zeros((len(shown), 2)))
    table = ["q"] * 4, range(4)
    logged = plackett_luce_log_probability(log, SCORES, *table)
    target = plackett_luce_log_probability(log, new, *table)
    rewards = np.random.default_rng(0).normal(size=len(shown))
    found = evaluate_lists(
        rewards, logged, {"new": target, "old": logged}, groups=np.arange(len(shown))
    )
    truth = np.exp(target) @ rewards
    assert_allclose(np.exp(logged) @ found.per_query["new"], truth)
    assert_allclose(found["old"], rewards.mean())
    # As many sessions of each list as are to be expected, whatever the estimator.
    times = np.repeat(np.arange(len(shown)), np.rint(1e5 * np.exp(logged)).astype(int))
    for option in (False, True):
        many = evaluate_lists(
            rewards[times], logged[times], target[times], self_normalize=option
        )
        assert_allclose(many["policy"], truth, atol=1e-3)
        assert not many.notes


def test_self_normalised_values_do_not_depend_on_a_factor_of_probabilities():
    rng = np.random.default_rng(0)
    rewards, logged = rng.random(50), np.log(rng.uniform(0.1, 0.5, size=50))
    target = np.log(rng.uniform(0.1, 0.5, size=50))
    found, other = (
        evaluate_lists(rewards, logged - shift, target, self_normalize=True)
        for shift in (0.0, 2.0)
    )
    assert_allclose(found.estimates, other.estimates)
    assert_allclose(found.standard_errors, other.standard_errors)
    shifted = evaluate_lists(rewards + 7, logged, target, self_normalize=True)
    assert_allclose(shifted.estimates, found.estimates + 7)
    assert "The mean weight of policy is" in words(other)


def test_weights_are_cut_and_their_shares_told():
    logged = np.log([0.5, 0.5, 0.1])
    found = evaluate_lists([1, 0, 1], logged, np.log([0.5, 0.25, 0.8]), max_weight=2.0)
    assert_allclose(found["policy"], (1 + 2) / 3)
    assert_allclose(found.clipped_share, 6 / 9.5)
    assert_allclose(found.effective_sample_sizes, 3.5**2 / (1 + 0.25 + 4))
    runs = {"less": np.log([0.5, 0.25, 0.1]), "more": np.log([0.5, 0.25, 0.8])}
    both = evaluate_lists([1, 0, 1], logged, runs, max_weight=2.0)
    assert_allclose(both.clipped_share, 6 / (2.5 + 9.5))
    far = evaluate_lists([1, 2], [-2000, -900], [-1, -1], max_weight=1e50)
    assert_allclose(far["policy"], 1.5e50)
    assert far.clipped_share == 1.0
    none = evaluate_lists([1, 2], [-1, -1], [-np.inf, -np.inf])
    assert (none["policy"], none.clipped_share) == (0.0, 0.0)
    # What is cut off says nothing against the probabilities.
    ratios = np.log([0.5, 1.5] * 50)
    cut = evaluate_lists(np.ones(100), np.full(100, -1), ratios - 1, max_weight=1.0)
    assert "The mean weight" not in words(cut)
    assert_allclose(cut["policy"], 0.75)


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 2]])
@pytest.mark.parametrize("interval", ["t", "bootstrap"])
def test_ratios_and_rewards_of_any_size(groups, interval):
    rewards = np.array([0.4, -0.5, 1.0, 0.2, 1.1, -0.3])
    logged, new = -np.array([1.0, 2, 3, 1, 1.5, 2]), -np.array([2.0, 1, 3, 4, 2, 1])
    options = {"groups": groups, "interval": interval, "n_resamples": 50}
    sizes = ("estimates", "standard_errors", "intervals")
    for self_normalize in (False, True):
        options["self_normalize"] = self_normalize
        expected = evaluate_lists(rewards, logged, new, **options)
        assert (expected.standard_errors > 0).all()
        for shift in (-150.0, -400.0, -690.0):
            found = evaluate_lists(rewards, logged, new + shift, **options)
            ratio = 1.0 if self_normalize else np.exp(shift)
            for name in sizes:
                own = getattr(found, name) / ratio
                assert_allclose(own, getattr(expected, name), rtol=1e-11, atol=1e-12)
            assert_allclose(
                found.effective_sample_sizes, expected.effective_sample_sizes
            )
            assert found.clipped_share == 0.0
        for power in (-1000, -600, 150):
            found = evaluate_lists(rewards * 2.0**power, logged, new, **options)
            for name in sizes:
                own = getattr(found, name) / 2.0**power
                assert_allclose(own, getattr(expected, name), rtol=1e-12, atol=1e-14)
    for shift in (-745.0, -5000.0):  # ratios that no float holds
        found = evaluate_lists(rewards, logged, new + shift, **options)
        for name in (*sizes, "effective_sample_sizes"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    both = evaluate_lists(rewards * 2.0**-1000, logged, new - 100.0, **options)
    for name in sizes:
        own = getattr(both, name) / 2.0**-1000
        assert_allclose(own, getattr(expected, name), rtol=1e-9)
    own = both.per_query["policy"] / 2.0**-1000
    assert_allclose(own, expected.per_query["policy"], rtol=1e-9)
    # Weights that are small, and cut off all the same.
    weights = np.minimum(np.exp(new - logged), 0.5)
    cut = evaluate_lists(
        rewards, logged, new - 185.0, max_weight=0.5 * np.exp(-185.0), **options
    )
    assert_allclose(cut["policy"], weights @ rewards / weights.sum(), rtol=1e-9)
    for size in (1e-20, 1e-40, 1e-59):
        small = evaluate_lists(
            rewards * size, logged, new, max_weight=1e-300, **options
        )
        assert_allclose(small["policy"], rewards.mean() * size, rtol=1e-9)
    least = evaluate_lists(rewards, logged, new, max_weight=1e-310, **options)
    assert np.isfinite(least.intervals).all()
    assert (least.standard_errors > 0).all()
    least = evaluate_lists(rewards, logged, new, max_weight=1e-300, **options)
    assert_allclose(least["policy"], rewards.mean())
    assert_allclose(least.effective_sample_sizes, 6)
    assert least.clipped_share == 1.0


def test_standard_errors_are_those_of_the_mean():
    rng = np.random.default_rng(0)
    rewards, logged = rng.random(60), np.log(rng.uniform(0.2, 0.5, size=60))
    target = np.log(rng.uniform(0.2, 0.5, size=60))
    weighted = np.exp(target - logged) * rewards
    found = evaluate_lists(rewards, logged, target)
    assert_allclose(found.standard_errors, weighted.std(ddof=1) / np.sqrt(60))
    groups = np.arange(60) // 3
    means = weighted.reshape(20, 3).mean(axis=1)
    by_query = evaluate_lists(rewards, logged, target, groups=groups)
    assert_allclose(by_query["policy"], found["policy"])
    assert_allclose(by_query.standard_errors, means.std(ddof=1) / np.sqrt(20))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rewards": [1, np.nan]}, "rewards must hold one finite number"),
        ({"rewards": []}, "rewards must hold one finite number for each session"),
        ({"logged": [0.0]}, "logged must hold one natural logarithm"),
        ({"logged": [0.5, 0.0]}, "at most 0, for each of 2 sessions"),
        ({"logged": [0.0, -np.inf]}, "logged must be finite.*entry 1"),
        ({"runs": {"a": [np.nan, 0.0]}}, r"runs\['a'\] must hold one natural"),
        ({"runs": {}}, "runs must be a dict"),
        ({"runs": dok_matrix((2, 1))}, r"runs\['policy'\] must hold log-probabilities"),
        ({"max_weight": 0.0}, "max_weight must be"),
        ({"max_weight": 2e50}, "max_weight must be a number in"),
        ({"groups": ["a"]}, "groups"),
    ],
)
def test_bad_arguments_are_refused(given, message):
    arguments = {"rewards": [1, 0], "logged": [-1.0, -2.0], "runs": [-2.0, -1.0]}
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate_lists(**arguments | given)


@pytest.mark.parametrize(
    ("lists", "scores", "message"),
    [
        ([["a", "a"]], [0.0, 1.0], "a document twice in a list, as session number 0"),
        ([["a"], ["b", "b"]], [0.0, 1.0], "session number 1"),
        ([["c"]], [0.0, 1.0], "docids: 1 of 1 pairs of the log have no row"),
        ([["a"]], [0.0, np.inf], "scores must be finite"),
        ([["a"]], [0.0], "scores has 1 scores for 2 documents"),
    ],
)
def test_lists_that_have_no_probability_are_refused(lists, scores, message):
    log = Sessions.from_lists(["q"] * len(lists), lists, [[0] * len(o) for o in lists])
    with pytest.raises(ValueError, match=message):
        plackett_luce_log_probability(log, scores, ["q"] * 2, ["a", "b"])


def test_weights_are_doubted_from_three_standard_errors_on():
    weights = np.random.default_rng(0).normal(size=(50, 1))
    weights = (weights - weights.mean()) / (weights.std(ddof=1) / np.sqrt(50))
    for errors, is_told in ((2.9, False), (3.1, True), (-2.9, False), (-3.1, True)):
        told = lists_module._doubts(["policy"], 1.0 + weights + errors)
        assert bool(told) == is_told


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
def test_each_policy_has_a_scale_of_its_own(interval):
    """A policy that shows other lists than those logged, beside one that shows them."""
    rewards, logged = [0.4, 0.1, 0.3, 0.9], [-3.0] * 4
    usual = np.array([-3.0, -2.0, -4.0, -2.5])
    options = {"interval": interval, "random_state": 0}
    for normalized, distance in ((True, 2000.0), (False, 600.0)):
        runs = {"usual": usual, "far": usual - distance}
        found = evaluate_lists(
            rewards, logged, runs, self_normalize=normalized, **options
        )
        factor = 1.0 if normalized else np.exp(-distance)
        assert found["far"] > 0
        assert_allclose(found["far"] / factor, found["usual"])
        assert_allclose(found.standard_errors[1] / factor, found.standard_errors[0])
        assert_allclose(found.intervals[1] / factor, found.intervals[0])
        assert_allclose(*found.effective_sample_sizes)


def test_the_least_rewards():
    found = evaluate_lists([5e-324, 0.0], [-3.0] * 2, {"p": [-3.0 + np.log(4), -3]})
    assert found["p"] == 2 * 5e-324


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
def test_policies_that_show_nothing_have_no_interval(interval):
    with pytest.warns(UserWarning, match="estimate of 'policy' is NaN"):
        found = evaluate_lists(
            [0.4, 0.1],
            [-3.0] * 2,
            [-np.inf] * 2,
            self_normalize=True,
            interval=interval,
        )
    assert np.isnan(found.intervals).all()
    assert np.isnan(found.standard_errors).all()


def test_the_largest_rewards_with_the_least_weights():
    options = {"self_normalize": True, "max_weight": 1e-300}
    found = evaluate_lists([0.5e50, 1e50], [-3.0] * 2, [-3.0, -2.0], **options)
    assert_allclose(found["policy"], 0.75e50)
    found = evaluate_lists([-1e50, 1e-300], [-3.0] * 2, [-3.0, -2.0], **options)
    assert_allclose(found["policy"], -0.5e50)
    assert_allclose(found.standard_errors, 0.5e50)
