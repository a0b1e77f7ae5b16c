"""Exact sums over orders and lists, against enumeration."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from skrank.losses import CDNLoss, ListMLELoss, ListNetLoss
from skrank.losses._listnet import leading_sets

# Grades with a run of ties at the top, in the middle and at the end.
GRADES = [
    [2.0, 0.0, 2.0, 1.0, 0.0, 2.0, 0.0],
    [1.0, 3.0, 1.0, 1.0, 1.0],
    [0.0, 1.0, 1.0, 1.0, 0.0],
]
WEIGHTS = {
    "ones": None,
    "rising": np.arange(1.0, 8.0),
    "log2": "log2",
    "humped": [0.2, 1.0, 3.0, 0.0, 2.0, 2.0, 0.5],
    "late": [0.0, 0.0, 1.0, 5.0],
}


def table(weights, size, top_k):
    """Position weights, with zeros beyond the cut-off."""
    if weights is None:
        values = np.ones(size)
    elif isinstance(weights, str):
        values = 1.0 / np.log2(1.0 + np.arange(1, size + 1))
    else:
        values = np.append(np.asarray(weights, dtype=float), np.zeros(size))[:size]
    return np.where(np.arange(size) < (top_k or size), values, 0.0)


def costs(y, raw, weights):
    """Weighted negative log-likelihood of every order that agrees with the grades."""
    for order in permutations(range(len(y))):
        order = np.array(order)
        if np.any(np.diff(y[order]) > 0):
            continue
        ranked = raw[order]
        stages = [logsumexp(ranked[j:]) - ranked[j] for j in range(len(y))]
        yield weights @ stages


def slopes(prepared, raw, step=1e-5):
    rows = np.arange(len(raw))
    return np.array(
        [
            (
                prepared.value_gradient(raw + step * (rows == i))[0].sum()
                - prepared.value_gradient(raw - step * (rows == i))[0].sum()
            )
            / (2 * step)
            for i in rows
        ]
    )


@pytest.mark.parametrize("ties", ["best", "average"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("top_k", [None, 2, 4])
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_ties_equal_the_enumeration_of_orders(ties, weights, top_k, scale, rng):
    y = np.concatenate([np.array(grades) for grades in GRADES])
    ptr = np.cumsum([0] + [len(grades) for grades in GRADES])
    raw, query_weight = scale * rng.normal(size=len(y)), np.array([1.0, 2.0, 0.5])
    weight = np.repeat(query_weight, np.diff(ptr))
    loss = ListMLELoss(top_k, ties, position_weights=WEIGHTS[weights])
    prepared = loss.prepare(y, ptr, weight)
    values, gradient = prepared.value_gradient(raw)
    over = np.min if ties == "best" else np.mean
    expected = [
        w * over(list(costs(y[a:b], raw[a:b], table(WEIGHTS[weights], b - a, top_k))))
        for (a, b), w in zip(pairwise(ptr), query_weight)
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12)
    numeric = slopes(prepared, raw)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6 * scale)


def test_descending_scores_are_not_always_best():
    # Without a weight on its first position, the best document should be second.
    y, raw = np.array([1.0, 1.0, 0.0]), np.array([0.0, 2.0, 0.0])
    loss = ListMLELoss(position_weights=[0.0, 1.0])
    found = loss.value_gradient(y, raw, [0, 3])[0][0]
    first, second = logsumexp([0.0, 0.0]) - 0.0, logsumexp([2.0, 0.0]) - 2.0
    assert found == pytest.approx(min(first, second))
    assert second < first


def test_the_best_order_knows_how_many_documents_are_below():
    """Under rising weights it depends on the strength of all of them together."""
    rng = np.random.default_rng(0)
    weights = (0.0, 0.2, 1.0, 3.0)
    y = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(50):
        raw = rng.normal(size=7)
        loss = ListMLELoss(position_weights=[*weights, 3.0, 3.0, 3.0])
        values, _ = loss.value_gradient(y, raw, [0, 7])
        expected = min(costs(y, raw, np.array([*weights, 3.0, 3.0, 3.0])))
        assert values[0] == pytest.approx(expected, rel=1e-12)
        shifted, _ = loss.value_gradient(y, raw + 2.0**20, [0, 7])
        assert shifted[0] == pytest.approx(expected, rel=1e-8)


def test_many_ties_under_rising_weights_are_refused():
    y = np.append(np.ones(11), 0.0)
    with pytest.raises(ValueError, match="at most 10 documents of equal grade"):
        ListMLELoss(position_weights=np.arange(12.0)).prepare(y, [0, 12])
    falling = ListMLELoss(position_weights=np.arange(12.0)[::-1]).prepare(y, [0, 12])
    assert np.all(np.isfinite(falling.value_gradient(np.arange(12.0))[1]))


def test_many_ties_under_level_weights_are_sorted(rng):
    # Only the weights of the first two documents, which are not tied, rise.
    y = np.concatenate([[3.0, 2.0], np.ones(25), np.zeros(3)])
    raw, weights = rng.normal(size=30), [1.0, 2.0] + 28 * [1.0]
    for tied in (slice(2, 27), slice(27, 30)):
        raw[tied] = -np.sort(-raw[tied])
    best, stable = (
        ListMLELoss(ties=ties, position_weights=weights).value_gradient(y, raw, [0, 30])
        for ties in ("best", "stable")
    )
    np.testing.assert_array_equal(best[0], stable[0])
    np.testing.assert_array_equal(best[1], stable[1])


def test_the_mean_over_many_ties_is_drawn(rng):
    y, raw = np.append(np.ones(12), np.zeros(3)), rng.normal(size=15)
    drawn = ListMLELoss(ties="average", random_state=0, n_samples=3000)
    values, gradient = drawn.value_gradient(y, raw, [0, 15])
    likelihoods, slope = [], np.zeros(15)
    for seed in range(3000):
        loss = ListMLELoss(ties="random", random_state=seed)
        value, part = loss.value_gradient(y, raw, [0, 15])
        likelihoods.append(value[0])
        slope += part / 3000
    error = 5 * np.std(likelihoods) / np.sqrt(1500)
    assert abs(values[0] - np.mean(likelihoods)) < error
    np.testing.assert_allclose(gradient, slope, atol=0.05)
    again = drawn.value_gradient(y, raw, [0, 15])
    np.testing.assert_array_equal(again[1], gradient)


@pytest.mark.parametrize("ties", ["best", "average"])
@pytest.mark.parametrize("scale", [1e-30, 1e3, 1e30])
def test_extreme_scores_of_ties_stay_finite(ties, scale, rng):
    loss = ListMLELoss(ties=ties, position_weights=[1.0, 2.0, 0.5, 3.0])
    raw = scale * rng.normal(size=7)
    for found in loss.value_gradient(GRADES[0], raw, [0, 7]):
        assert np.all(np.isfinite(found))


def probability(utility, chosen):
    left, p = list(range(len(utility))), 0.0
    for document in chosen:
        p += utility[document] - logsumexp(utility[left])
        left.remove(document)
    return p


@pytest.mark.parametrize("gain", ["linear", "exp2"])
@pytest.mark.parametrize("top_k", [3, 4, 9])
@pytest.mark.parametrize("n_samples", ["auto", "exact"])
def test_listnet_is_the_sum_over_lists(gain, top_k, n_samples, rng):
    y = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0, 4.0])
    ptr, weight = np.array([0, 5, 6, 10]), rng.uniform(0.5, 2.0, 10)
    raw = rng.normal(size=10)
    loss = ListNetLoss(gain, top_k, n_samples)
    prepared = loss.prepare(y, ptr, weight)
    values, gradient = prepared.value_gradient(raw)
    gains = np.exp2(y) - 1 if gain == "exp2" else y
    for q, (a, b) in enumerate(pairwise(ptr)):
        expected = -sum(
            np.exp(probability(gains[a:b], chosen)) * probability(raw[a:b], chosen)
            for chosen in permutations(range(b - a), int(min(top_k, b - a)))
        )
        expected *= weight[a:b].mean() * (b - a > 1)
        np.testing.assert_allclose(values[q], expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gradient, slopes(prepared, raw), atol=1e-8)


def test_exact_lists_agree_with_the_closed_form_of_two(rng):
    # The general sum at k = 2 through its own parts.
    gains = rng.normal(size=6)
    (_, first, p), (_, sets, second) = leading_sets(gains, 2)
    target = np.exp(gains - logsumexp(gains))
    np.testing.assert_allclose(p, target)
    np.testing.assert_allclose(sets, target)
    assert first.tolist() == [1.0]
    odds = target / (1 - target)
    np.testing.assert_allclose(second, target * (odds.sum() - odds))


def test_listnet_draws_for_long_queries_only(rng):
    sizes = [6, 40, 5]
    ptr, n = np.cumsum([0, *sizes]), sum(sizes)
    y, raw = rng.integers(0, 3, n).astype(float), rng.normal(size=n)
    found = ListNetLoss(top_k=3).value_gradient(y, raw, ptr)
    exact = ListNetLoss(top_k=3, n_samples="exact").value_gradient(y, raw, ptr)
    drawn = ListNetLoss(top_k=3, n_samples=32).value_gradient(y, raw, ptr)
    np.testing.assert_allclose(found[0], [exact[0][0], drawn[0][1], exact[0][2]])
    np.testing.assert_allclose(found[1][6:46], drawn[1][6:46])
    np.testing.assert_allclose(exact[0][1], drawn[0][1], rtol=0.1)
    again = ListNetLoss(top_k=3).value_gradient(y, raw, ptr)
    np.testing.assert_array_equal(found[1], again[1])


def test_too_many_lists_are_refused_with_their_number():
    y = np.arange(60.0)
    message = "query 0 of 60 documents has 205,320 lists of top_k=3"
    with pytest.raises(ValueError, match=message):
        ListNetLoss(top_k=3, n_samples="exact").prepare(y, [0, 60])


def test_lists_longer_than_a_query_are_its_rankings():
    loss = ListNetLoss(top_k=20, n_samples="exact")
    with pytest.raises(ValueError, match="10 documents has 3,628,800 lists of top_k=2"):
        loss.prepare(np.arange(10.0), [0, 10])
    assert len(leading_sets(np.arange(4.0), 20)) == 4
    # 8! rankings are few enough; a list of 7 documents leaves no choice for the last.
    y, raw = np.arange(8.0), np.linspace(1.0, -1.0, 8)
    found, expected = (
        ListNetLoss(top_k=k, n_samples="exact").value_gradient(y, raw, [0, 8])
        for k in (20, 7)
    )
    for part, whole in zip(found, expected):
        np.testing.assert_allclose(part, whole, rtol=1e-12, atol=1e-14)


def test_the_limits_of_exact_sums(rng, monkeypatch):
    exact = ListNetLoss(top_k=3, n_samples="exact")
    exact.prepare(np.arange(47.0), [0, 47])  # 97,290 lists
    with pytest.raises(ValueError, match="103,776 lists"):
        exact.prepare(np.arange(48.0), [0, 48])
    y, raw = np.arange(10.0), rng.normal(size=10)
    value = exact.value_gradient(y, raw, [0, 10])[0]
    for limit in ("_MOST_LISTS", "_FEW_LISTS"):  # as many lists as there are
        monkeypatch.setattr(f"skrank.losses._listnet.{limit}", 720)
    assert exact.value_gradient(y, raw, [0, 10])[0] == value
    assert ListNetLoss(top_k=3).value_gradient(y, raw, [0, 10])[0] == value
    for limit in ("_MOST_LISTS", "_FEW_LISTS"):
        monkeypatch.setattr(f"skrank.losses._listnet.{limit}", 719)
    with pytest.raises(ValueError, match="720 lists"):
        exact.prepare(y, [0, 10])
    assert ListNetLoss(top_k=3).value_gradient(y, raw, [0, 10])[0] != value


def test_steep_gains_do_not_cancel():
    loss = ListNetLoss("exp2", top_k=3)
    for found in loss.value_gradient([12.0, 3.0, 0.0, 0.0], np.zeros(4), [0, 4]):
        assert np.all(np.isfinite(found))


@pytest.mark.parametrize("size", [1e3, 1e10, 1e17])
@pytest.mark.parametrize(
    "loss", [ListMLELoss(ties="average"), CDNLoss(topology="star")], ids=str
)
def test_equal_scores_far_above_others_share_a_place(loss, size):
    scores = [size, size, 0.0, 1.0, 2.0]
    _, gradient = loss.value_gradient([0, 0, 1, 1, 2], scores, [0, 5])
    # Each of the three others loses against the two, which are alike.
    assert_allclose(gradient, [1.5, 1.5, -1, -1, -1], rtol=1e-12)


def test_a_score_far_from_others_takes_no_digits_of_the_mean_over_orders():
    loss, y = ListMLELoss(ties="average"), [0, 0, 1, 0, 0]
    scores = np.array([1e3, 1.2, 0.9, -0.5, -0.9])
    _, expected = loss.value_gradient(y, scores, [0, 5])
    for far in (1e8, 1e12, 1e17, 1e200):
        _, gradient = loss.value_gradient(y, [far, *scores[1:]], [0, 5])
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        ListMLELoss(ties="average"),
        ListMLELoss(position_weights=[1.0, 1.0, 1.0, 2.0, 3.0, 1.0]),
    ],
    ids=str,
)
def test_scores_far_above_take_no_digits_of_the_others(loss):
    y = [2, 1, 3, 1, 1, 0]
    found = [
        loss.value_gradient(y, [far, 0.0, far, 0.125, 0.25, 0.125], [0, 6])
        for far in (1e3, 1e15)  # which still has eighths
    ]
    for near, far in zip(*found):
        assert_allclose(far, near, rtol=1e-13)


@pytest.mark.parametrize("spread", [1e-3, 10.0, 250.0, 900.0])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("weights", [None, "log2"])
def test_the_likelihood_of_long_orders(spread, descending, weights, rng):
    m = 3000
    scores = rng.uniform(0.0, spread, size=m)
    if descending:
        scores = np.sort(scores)[::-1]
    y = np.arange(m)[::-1]
    loss = ListMLELoss(position_weights=weights)
    value, gradient = loss.value_gradient(y, scores, [0, m])
    w = table(weights, m, None)
    log_tails = np.logaddexp.accumulate(scores[::-1])[::-1]
    assert_allclose(value, w @ (log_tails - scores), rtol=1e-12)
    # Document i is left at the stages up to its own, each time with its share.
    log_shares = np.logaddexp.accumulate(np.log(w) - log_tails)
    expected = np.exp(scores + log_shares) - w
    assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [[], np.ones((2, 3)), [1.0, -1.0], [np.inf]])
def test_weights_of_positions_are_a_list_of_numbers(weights):
    with pytest.raises(ValueError, match="position_weights must"):
        ListMLELoss(position_weights=weights).prepare([1.0, 0.0, 2.0], [0, 3])
