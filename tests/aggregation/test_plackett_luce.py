"""Plackett–Luce worths: likelihood, stationarity, and the limit of no prior."""

from math import log

import numpy as np
import pytest
from _runs import make_runs, queries_of, ranks_of
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from skrank.aggregation import PlackettLuce, join_runs
from skrank.aggregation._plackett_luce import _Stages

WEIGHTS = [1.0, 0.5, 2.0, 3.0]


def log_likelihood(worths, lists, missing):
    """Weighted log-probability of lists that are drawn one document at a time."""
    total = 0.0
    for weight, entry in zip(WEIGHTS, lists):
        ranks = ranks_of(entry)
        left = dict(worths) if missing == "last" and entry else dict.fromkeys(entry)
        left = {d: worths[d] for d in left}
        for d in sorted(entry, key=ranks.__getitem__):
            total += weight * log(left[d] / sum(left.values()))
            del left[d]
    return total


def penalised(worths, lists, missing, alpha):
    prior = sum(log(worth) - worth for worth in worths.values())
    return log_likelihood(worths, lists, missing) + alpha * prior


def worths_of(model, joined):
    worths = {}
    for q, d, worth in zip(joined.groups, joined.docids, model.worths_):
        worths.setdefault(q, {})[d] = worth
    return worths


@pytest.mark.parametrize("missing", ["last", "skip"])
def test_likelihood_and_maximum(runs, missing):
    alpha = 0.3
    model = PlackettLuce(alpha=alpha, missing=missing, weights=WEIGHTS)
    model.set_params(tol=1e-10, max_iter=20_000).fit(runs)
    joined = join_runs(runs)
    worths = worths_of(model, joined)
    for number, (q, docs, lists) in enumerate(queries_of(runs)):
        found = worths[q]
        expected = log_likelihood(found, lists, missing)
        assert model.log_likelihood_[number] == pytest.approx(expected)
        assert np.mean(list(found.values())) == pytest.approx(1, abs=1e-6)
        if number < 2:
            result = minimize(
                lambda x, docs=docs, lists=lists: (
                    -penalised(dict(zip(docs, np.exp(x))), lists, missing, alpha)
                ),
                np.zeros(len(docs)),
            )
            best = penalised(found, lists, missing, alpha)
            assert best >= -result.fun - 1e-6
    scores = model.aggregate(runs)
    for q, entry in scores.items():
        logs = {d: log(worth) for d, worth in worths[q].items()}
        assert entry == pytest.approx(logs)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("last", [True, False])
def test_no_iteration_lowers_the_likelihood(last, alpha):
    joined = join_runs(make_runs(2))
    stages = _Stages(joined, np.array(WEIGHTS), last)
    model = PlackettLuce(alpha=alpha)

    def objective(worths):
        prior = np.log(np.maximum(worths, 1e-300)) - worths
        sums = np.add.reduceat(prior, joined.ptr[:-1])
        return stages.log_likelihood(worths) + alpha * sums

    worths = np.ones(joined.n_documents)
    before = objective(worths)
    for _ in range(60):
        worths = model._improved(stages, worths)
        after = objective(worths)
        assert (after >= before - 1e-9).all()
        before = after


def test_two_documents_have_the_odds_of_their_votes():
    runs = [{"q": {"a": 2.0, "b": 1.0}}] * 3 + [{"q": {"a": 1.0, "b": 2.0}}]
    model = PlackettLuce(alpha=0.0, tol=1e-12).fit(runs)
    np.testing.assert_allclose(model.worths_, [1.5, 0.5])
    expected = 3 * np.log(0.75) + np.log(0.25)
    np.testing.assert_allclose(model.log_likelihood_, [expected])


def test_the_tolerance_is_relative_to_a_worth():
    """A document that loses 99 of 100 times has the worth 2 / 100."""
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1.0, "b": 2.0}}]
    model = PlackettLuce(alpha=0.0, tol=1e-4, weights=[99.0, 1.0]).fit(runs)
    np.testing.assert_allclose(model.worths_, [1.98, 0.02], rtol=0.015)


def test_too_few_iterations_warn():
    runs = [{"q": {"a": 2.0, "b": 1.0}, "final at once": {"c": 1.0}}]
    message = "worths of 1 queries are not final after 1 iter.*raise max_iter, tol or"
    with pytest.warns(ConvergenceWarning, match=message):
        PlackettLuce(max_iter=1).fit(runs)


def test_worths_of_an_array_stand_in_the_order_of_its_rows():
    scores = np.array([[3.0, 2.0], [5.0, 1.0], [2.0, np.nan], [np.nan, np.nan]])
    groups = ["b", "a", "b", "b"]
    model = PlackettLuce().fit(scores, groups=groups)
    found = model.predict(scores, groups)
    assert len(set(found.round(6))) == 4  # each row can be told from the others
    np.testing.assert_allclose(np.log(model.worths_[:3]), found[:3])
    assert model.worths_[3] == 0
    assert found[3] == -np.inf


def test_rows_that_no_run_retrieved_have_no_worth():
    nothing = [np.nan] * 3
    scores = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0], nothing, nothing])
    groups = ["a", "a", "a", "b"]
    model = PlackettLuce(alpha=0.0).fit(scores, groups=groups)
    np.testing.assert_allclose(model.worths_, [4 / 3, 2 / 3, 0.0, 0.0], rtol=1e-4)
    assert model.predict(scores, groups)[2:].tolist() == [-np.inf] * 2


def test_documents_of_a_run_without_weight_have_no_worth():
    orders = [{"a": 2.0, "b": 1.0}] * 2 + [{"a": 1.0, "b": 2.0}, {"c": 1.0}]
    model = PlackettLuce(alpha=0.0, missing="skip", weights=[1.0, 1.0, 1.0, 0.0])
    model.fit([{"q": order} for order in orders])
    np.testing.assert_allclose(model.worths_, [2.0, 1.0, 0.0], rtol=1e-4)
    expected = 2 * np.log(2 / 3) + np.log(1 / 3)
    np.testing.assert_allclose(model.log_likelihood_, [expected], rtol=1e-4)
