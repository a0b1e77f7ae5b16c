"""Losses of clicks have the mean of losses of relevance, over all possible clicks."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from skrank.exceptions import InvalidParameterError
from skrank.losses import (
    BPRLoss,
    ExponentialLoss,
    FidelityLoss,
    HingeLoss,
    ListMLELoss,
    LogisticLoss,
    LogLoss,
    SquaredHingeLoss,
    SquaredLoss,
)
from skrank.rankers import BoostedRanker, EnergyRanker
from skrank.unbiased import InversePropensityLoss

PTR = np.array([0, 3, 5])
RELEVANCE = np.array([0.9, 0.3, 0.0, 0.5, 1.0])
PROPENSITIES = np.array([0.8, 0.5, 0.25, 0.6, 0.3])
RAW = np.array([0.3, -0.4, 1.1, 0.2, -0.7])
OF_PAIRS = [
    LogLoss(),
    HingeLoss(),
    SquaredHingeLoss(),
    ExponentialLoss(),
    FidelityLoss(),
]
OF_DOCUMENTS = [LogisticLoss(), SquaredLoss()]


def _full_information(loss, weight):
    """Sum over documents, or over ordered pairs, by true relevance."""
    total = 0.0
    for a, b in ((0, 3), (3, 5)):
        for i in range(a, b):
            r, w = RELEVANCE[i], weight[i]
            if not hasattr(loss, "pair_loss"):
                yes, no = (
                    loss.value_gradient([g], RAW[[i]], [0, 1])[0] for g in (1, 0)
                )
                total += w * (r * yes.sum() + (1 - r) * no.sum())
                continue
            others = [j for j in range(a, b) if j != i]
            pairs = loss.pair_loss(RAW[[i] * len(others)], RAW[others])
            total += w * r * pairs[0].sum()
    return total


def _mean_over_clicks(evaluate):
    """Mean of a function of clicks, each weighed by its probability."""
    chance = RELEVANCE * PROPENSITIES
    mean = 0.0
    for clicks in product([0.0, 1.0], repeat=5):
        c = np.array(clicks)
        mean += np.prod(np.where(c, chance, 1 - chance)) * evaluate(c)
    return mean


@pytest.mark.parametrize("loss", OF_PAIRS + OF_DOCUMENTS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_over_all_clicks_is_the_loss_of_relevance(loss, weighted):
    weight = np.array([0.5, 2.0, 1.0, 0.1, 3.0]) if weighted else np.ones(5)
    own = InversePropensityLoss(loss)

    def evaluate(clicks):
        grades = clicks / PROPENSITIES
        return own.value_gradient(grades, RAW, PTR, weight)[0].sum()

    assert_allclose(_mean_over_clicks(evaluate), _full_information(loss, weight))


@pytest.mark.parametrize("loss", [LogLoss(), LogisticLoss()], ids=str)
def test_naive_clicks_have_another_mean(loss):
    own = InversePropensityLoss(loss)
    naive = _mean_over_clicks(lambda c: own.value_gradient(c, RAW, PTR)[0].sum())
    assert abs(naive - _full_information(loss, np.ones(5))) > 0.1


@pytest.mark.parametrize("loss", OF_PAIRS + OF_DOCUMENTS, ids=str)
def test_the_gradient_is_that_of_the_value(loss):
    y = np.array([2.0, 0.0, 4.0, 0.0, 1.5])
    prepared = InversePropensityLoss(loss).prepare(y, PTR)

    def value(raw):
        return prepared.value_gradient(raw)[0].sum()

    assert check_grad(value, lambda raw: prepared.value_gradient(raw)[1], RAW) < 1e-5


@pytest.mark.parametrize("loss", [LogLoss(), LogisticLoss(), SquaredLoss()], ids=str)
def test_the_hessian_is_that_of_the_gradient(loss):
    y = np.array([2.0, 0.0, 4.0, 0.0, 1.5])
    own = InversePropensityLoss(loss)
    assert own.has_hessian
    prepared = own.prepare(y, PTR)
    hessian, step = prepared.gradient_hessian(RAW)[2], 1e-6
    for row in range(5):
        up, down = RAW.copy(), RAW.copy()
        up[row] += step
        down[row] -= step
        slopes = [prepared.value_gradient(raw)[1][row] for raw in (up, down)]
        assert_allclose((slopes[0] - slopes[1]) / (2 * step), hessian[row], atol=1e-6)


def test_squares_are_those_of_the_estimates_up_to_a_constant():
    y = np.array([2.0, 0.0, 4.0, 0.0, 1.5])
    own = InversePropensityLoss(SquaredLoss()).value_gradient(y, RAW, PTR)
    plain = SquaredLoss().value_gradient(y, RAW, PTR)
    assert_allclose(own[1], plain[1])


def test_one_click_a_query_is_the_plain_loss_of_pairs():
    y = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    own = InversePropensityLoss(LogLoss()).value_gradient(y, RAW, PTR)
    plain = LogLoss().value_gradient(y, RAW, PTR)
    for one, other in zip(own, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_total_weights_are_those_of_the_units():
    y, weight = np.array([2.0, 0.0, 4.0, 0.0, 0.0]), np.array([1.0, 1, 3, 1, 1])
    pairs = InversePropensityLoss().prepare(y, PTR, weight)
    assert_allclose(pairs.total_weight, 2 * 2.0 + 2 * 4.0 * 3.0)
    documents = InversePropensityLoss(LogisticLoss()).prepare(y, PTR, weight)
    assert_allclose(documents.total_weight, weight.sum())


def test_queries_without_clicks_add_nothing():
    y = np.array([0.0, 0.0, 0.0, 3.0, 0.0])
    values, gradient = InversePropensityLoss().value_gradient(y, RAW, PTR)
    assert values[0] == 0.0
    assert not gradient[:3].any()
    alone = InversePropensityLoss().prepare(y[:3], PTR[:2])
    assert alone.total_weight == 0.0


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_energy_rankers_learn_from_it(solver):
    X = np.column_stack([RAW, RELEVANCE])
    ranker = EnergyRanker(
        loss=InversePropensityLoss(), solver=solver, random_state=0, max_iter=30
    )
    ranker.fit(X, [0, 3.0, 0, 2.0, 1.0], [0, 0, 0, 1, 1])
    assert np.isfinite(ranker.predict(X)).all()


def test_boosted_trees_learn_probabilities_from_shares():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    ranker = BoostedRanker(
        InversePropensityLoss(LogisticLoss()), n_estimators=200, random_strength=0.0
    )
    groups = np.tile(np.arange(10), 10)
    ranker.fit(X, np.repeat([0.2, 0.7], 50), groups)
    odds = ranker.predict([[0.0], [1.0]])
    assert_allclose(1 / (1 + np.exp(-odds)), [0.2, 0.7], atol=0.05)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (ListMLELoss(), "loss must be a loss of documents or of pairs"),
        (LogLoss(normalization="query"), "loss must be a plain sum over pairs"),
        (LogLoss(grade_weights={(1, 0): 2.0}), "loss must be a plain sum over pairs"),
        ("log", "loss must be"),
    ],
)
def test_other_losses_are_refused(loss, message):
    with pytest.raises(InvalidParameterError, match=message):
        InversePropensityLoss(loss).prepare([1, 0], [0, 2])


def test_negative_estimates_are_refused():
    with pytest.raises(ValueError, match=r"clicks over propensities.*-1 in row 1"):
        InversePropensityLoss().prepare([1, -1], [0, 2])


def test_what_it_says_of_itself_is_what_the_loss_says():
    pairs, documents = (
        InversePropensityLoss(BPRLoss()),
        InversePropensityLoss(LogisticLoss()),
    )
    assert (pairs.unit, documents.unit) == ("pair", "document")
    assert pairs.shift_invariant
    assert not documents.shift_invariant
    # Of documents, some terms are subtracted.
    assert InversePropensityLoss(LogLoss()).convex
    assert not documents.convex
    assert documents.descends
