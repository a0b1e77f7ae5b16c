"""Losses against formulas, other libraries and each other."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import log_loss, mean_squared_error

from skrank.losses import (
    HingeLoss,
    LambdaLoss,
    ListMLELoss,
    ListNetLoss,
    LogisticLoss,
    LogLoss,
    SquaredHingeLoss,
    SquaredLoss,
)
from skrank.metrics import NDCG, get_measure


def test_squared_loss_is_the_mean_squared_error(rng):
    y, scores, weight = rng.integers(0, 3, 20), rng.normal(size=20), rng.random(20)
    prepared = SquaredLoss().prepare(y, [0, 8, 20], weight)
    mean = prepared.value_gradient(scores)[0].sum() / prepared.total_weight
    assert mean == pytest.approx(mean_squared_error(y, scores, sample_weight=weight))


@pytest.mark.parametrize("threshold", [1, 2])
def test_logistic_loss_is_the_log_loss(rng, threshold):
    y, scores, weight = rng.integers(0, 3, 20), rng.normal(size=20), rng.random(20)
    prepared = LogisticLoss(threshold).prepare(y, [0, 8, 20], weight)
    mean = prepared.value_gradient(scores)[0].sum() / prepared.total_weight
    expected = log_loss(y >= threshold, expit(scores), sample_weight=weight)
    assert mean == pytest.approx(expected)


def test_weight_of_a_pair_is_that_of_its_preferred_document():
    y, scores, weight = [2, 0, 1], np.array([0.1, 0.5, -0.3]), [3.0, 100.0, 5.0]
    prepared = LogLoss().prepare(y, [0, 3], weight)
    expected = (
        3.0 * np.log1p(np.exp(0.5 - 0.1))
        + 3.0 * np.log1p(np.exp(-0.3 - 0.1))
        + 5.0 * np.log1p(np.exp(0.5 + 0.3))
    )
    assert prepared.total_weight == 3.0 + 3.0 + 5.0
    assert prepared.value_gradient(scores)[0][0] == pytest.approx(expected)


@pytest.mark.parametrize("loss", [LogLoss(2.0), HingeLoss(0.7), SquaredHingeLoss()])
def test_repeating_a_best_document_doubles_its_weight(loss, rng):
    # Copies tie with each other; nothing is preferred to them, so no pair is lost.
    y, scores = np.array([3.0, 1.0, 0.0, 1.0]), rng.normal(size=4)
    weighted = loss.prepare(y, [0, 4], [2.0, 1.0, 1.0, 1.0])
    repeated = loss.prepare(np.append(y, 3.0), [0, 5])
    values, gradient = weighted.value_gradient(scores)
    again, slopes = repeated.value_gradient(np.append(scores, scores[0]))
    assert weighted.total_weight == repeated.total_weight
    np.testing.assert_allclose(values, again)
    np.testing.assert_allclose(
        gradient, np.append(slopes[0] + slopes[4], slopes[1:4]), atol=1e-14
    )


@pytest.mark.parametrize(
    "loss",
    [
        LogLoss(2.0),
        HingeLoss(),
        SquaredHingeLoss(0.5),
        HingeLoss(width=0.3),
    ],
    ids=repr,
)
def test_margin_loss_is_the_loss_of_two_documents(loss, rng):
    for margin in rng.normal(size=10):
        values, slopes = loss.margin_loss(np.array([margin]))
        found = loss.value_gradient([1, 0], [margin, 0.0], [0, 2])
        np.testing.assert_allclose(values, found[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(slopes, found[1][:1], rtol=1e-12, atol=1e-15)


def test_smoothed_hinge_stays_within_half_a_width(rng):
    y, scores = rng.integers(0, 3, 50), rng.normal(size=50)
    hinge = HingeLoss()
    for width in (1.0, 0.1, 1e-3):
        smooth = hinge.smoothed(width).prepare(y, [0, 50])
        gap = hinge.value_gradient(y, scores, [0, 50])[0]
        gap = gap - smooth.value_gradient(scores)[0]
        assert 0 <= gap[0] <= 0.5 * width * smooth.total_weight


def test_hinge_is_zero_beyond_the_margin():
    y, scores = [2, 1, 0], [4.0, 2.0, 0.5]
    for loss in (HingeLoss(1.5), SquaredHingeLoss(1.5)):
        values, gradient = loss.value_gradient(y, scores, [0, 3])
        assert values.tolist() == [0.0]
        assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_listnet_is_least_where_scores_are_gains(rng):
    y = rng.integers(0, 4, 10).astype(float)
    for gain, best in (("linear", y), ("exp2", 2.0**y - 1.0)):
        loss = ListNetLoss(gain=gain)
        values, gradient = loss.value_gradient(y, best + 3.0, [0, 10])
        p = softmax(best)
        assert values[0] == pytest.approx(-np.sum(p * np.log(p)))  # its entropy
        np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


@pytest.mark.parametrize("top_k", [1, 2])
def test_listnet_is_the_sum_over_lists(top_k, rng):
    y, scores = np.array([2.0, 0.0, 1.0, 1.0]), rng.normal(size=4)

    def probability(utility, chosen):
        left, p = list(range(4)), 1.0
        for document in chosen:
            p *= np.exp(utility[document]) / np.exp(utility[left]).sum()
            left.remove(document)
        return p

    expected = -sum(
        probability(y, chosen) * np.log(probability(scores, chosen))
        for chosen in itertools.permutations(range(4), top_k)
    )
    found = ListNetLoss(top_k=top_k).value_gradient(y, scores, [0, 4])[0]
    assert found[0] == pytest.approx(expected)


def likelihood(scores, order, k=None, weights=None):
    """-log of the Plackett-Luce probability of an order (Fang and Liu, eq. 21)."""
    stages = range(len(order) if k is None else k)
    weights = np.ones(len(order)) if weights is None else weights
    return -sum(
        weights[j] * np.log(np.exp(scores[order[j]]) / np.exp(scores[order[j:]]).sum())
        for j in stages
    )


def test_listmle_best_is_the_most_likely_of_all_orders(rng):
    y, scores = np.array([1, 0, 1, 0, 2, 1]), rng.normal(size=6)
    orders = [
        np.array(order)
        for order in itertools.permutations(range(6))
        if np.all(np.diff(y[list(order)]) <= 0)
    ]
    likelihoods = [likelihood(scores, order) for order in orders]
    found = ListMLELoss(ties="best").value_gradient(y, scores, [0, 6])[0]
    assert len(orders) == 12
    assert found[0] == pytest.approx(min(likelihoods))
    for seed in range(5):
        loss = ListMLELoss(ties="random", random_state=seed)
        drawn = loss.value_gradient(y, scores, [0, 6])[0][0]
        assert np.min(np.abs(drawn - np.array(likelihoods))) < 1e-12


def test_listmle_stable_keeps_the_order_of_rows(rng):
    y, scores = np.array([1, 0, 1, 0, 2, 1]), rng.normal(size=6)
    order = np.argsort(-y, kind="stable")
    for k in (1, 3, 6):
        loss = ListMLELoss(top_k=k, ties="stable")
        found = loss.value_gradient(y, scores, [0, 6])[0]
        assert found[0] == pytest.approx(likelihood(scores, order, k))


def test_listmle_position_weights(rng):
    y, scores = np.array([0, 3, 1, 2]), rng.normal(size=4)
    order = np.array([1, 3, 2, 0])
    published = (2.0 ** (4 - np.arange(1, 5)) - 1.0) / (2.0**3 - 1.0)
    table = {
        "p": published,
        "log2": 1.0 / np.log2(np.arange(2, 6)),
        (2.0, 1.0): np.array([2.0, 1.0, 0.0, 0.0]),
        lambda position, size: position / size: np.arange(1, 5) / 4,
    }
    for weights, expected in table.items():
        loss = ListMLELoss(position_weights=weights)
        found = loss.value_gradient(y, scores, [0, 4])[0]
        assert found[0] == pytest.approx(likelihood(scores, order, weights=expected))


def test_listmle_p_weights_of_long_lists_do_not_overflow():
    y = np.arange(2000.0)
    values, gradient = ListMLELoss(position_weights="p").value_gradient(
        y, np.zeros(2000), [0, 2000]
    )
    assert np.isfinite(values[0])
    assert np.all(np.isfinite(gradient))


def test_ranknet_and_listmle_agree_on_two_documents(rng):
    for scores in rng.normal(size=(5, 2)):
        pair = LogLoss().value_gradient([1, 0], scores, [0, 2])
        order = ListMLELoss().value_gradient([1, 0], scores, [0, 2])
        np.testing.assert_allclose(pair[0], order[0])
        np.testing.assert_allclose(pair[1], order[1])


class Recomputed(NDCG):
    """NDCG without compiled terms, so that its swaps are evaluated one by one."""

    def delta_terms(self, y, ptr):
        return None

    def swap_deltas(self, y, ranks):
        return NDCG(k=self.k).swap_deltas(y, ranks)


@pytest.mark.parametrize("truncation", [None, 2])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("damping", [None, 0.01])
@pytest.mark.parametrize("weighted", [False, True])
def test_lambda_of_a_measure_without_compiled_terms(
    truncation, normalize, weighted, damping, rng
):
    ptr, y = [0, 1, 9, 12], rng.integers(0, 3, 12)
    scores, weight = rng.normal(size=12), rng.random(12) if weighted else None
    options = {"truncation": truncation, "normalize": normalize, "sigma": 1.3}
    options["damping"] = damping
    compiled = LambdaLoss("ndcg@5", **options).prepare(y, ptr, weight)
    plain = LambdaLoss(Recomputed(k=5), **options).prepare(y, ptr, weight)
    assert type(compiled) is not type(plain)
    assert compiled.total_weight == plain.total_weight
    for found, expected in zip(
        compiled.gradient_hessian(scores), plain.gradient_hessian(scores)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "map", "rr", "err@4", "p@3"])
def test_lambda_uses_the_swap_deltas_of_the_measure(name, rng):
    y, scores = rng.integers(0, 3, 10).astype(float), rng.normal(size=10)
    ranks = np.empty(10, dtype=np.intp)
    ranks[np.argsort(-scores)] = np.arange(1, 11)
    delta = np.abs(get_measure(name).swap_deltas(y, ranks))
    pairs = np.where(y[:, None] > y, delta, 0.0)
    gap = scores[:, None] - scores
    slope = pairs * expit(-gap)
    values, gradient = LambdaLoss(name).value_gradient(y, scores, [0, 10])
    assert values[0] == pytest.approx(np.sum(pairs * np.logaddexp(0.0, -gap)))
    np.testing.assert_allclose(
        gradient, slope.sum(axis=0) - slope.sum(axis=1), rtol=1e-9, atol=1e-13
    )


def test_lambda_of_a_perfect_order_still_separates():
    y, scores = [2, 1, 0], [2.0, 1.0, 0.0]
    gradient = LambdaLoss("ndcg").value_gradient(y, scores, [0, 3])[1]
    assert gradient[0] < 0 < gradient[2]


def test_normalised_lambdas_sum_to_the_logarithm(rng):
    y, scores = np.array([2, 0, 0, 0]), rng.normal(size=4)
    plain = LambdaLoss("dcg").value_gradient(y, scores, [0, 4])[1]
    normal = LambdaLoss("dcg", normalize=True).value_gradient(y, scores, [0, 4])[1]
    total = np.abs(plain).sum()  # one preferred document: no lambda cancels another
    np.testing.assert_allclose(normal, plain * np.log2(1.0 + total) / total)


def test_normalised_lambdas_are_proportional_to_the_weight_of_the_query(rng):
    y, scores = np.array([2, 0, 1, 0]), rng.normal(size=4)
    loss = LambdaLoss("dcg", normalize=True)
    _, once = loss.value_gradient(y, scores, [0, 4])
    _, thrice = loss.value_gradient(y, scores, [0, 4], np.full(4, 3.0))
    np.testing.assert_allclose(thrice, 3.0 * once)
