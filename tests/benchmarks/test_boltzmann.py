"""The comparison of rank distributions: its parts, and what it finds."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr


@pytest.fixture(scope="module")
def bench():
    missing = "the folder of benchmarks is not here"
    return pytest.importorskip("benchmarks.boltzmann", reason=missing)


SIGMA = 0.2
SCORES = np.array([0.9, 1.3, 0.7])


def test_true_probabilities_of_two_documents(bench):
    p = bench.true_probabilities([1.0, 0.8], SIGMA)
    win = ndtr(0.2 / (np.sqrt(2) * SIGMA))
    assert_allclose(p, [win, 1 - win], atol=1e-7)


def test_true_probabilities_agree_with_samples(bench):
    p = bench.true_probabilities(SCORES, SIGMA)
    n = 200_000
    drawn = bench.sampled_probabilities(SCORES, SIGMA, n, np.random.default_rng(0))
    assert_allclose(drawn, p, atol=4.5 * np.sqrt(0.25 / n))
    assert_allclose(p.sum(), 1.0, rtol=1e-12)


def test_equal_scores_make_all_orders_equal(bench):
    p = bench.true_probabilities(np.ones(4), SIGMA)
    assert_allclose(p, 1 / 24, atol=1e-7)


def test_matched_factor_makes_neighbours_logistic(bench):
    # Orders that differ in two neighbours: their odds are those of the contest.
    for m, scores in ((3, SCORES), (4, np.append(SCORES, 1.1))):
        p = np.exp(bench.boltzmann(scores, bench.matched_factor(m, SIGMA)))
        assert_allclose(p.sum(), 1.0)
        orders = [tuple(o) for o in bench.all_orders(m)]
        for a, order in enumerate(orders):
            for place in range(m - 1):
                other = list(order)
                other[place], other[place + 1] = other[place + 1], other[place]
                b = orders.index(tuple(other))
                gap = scores[order[place]] - scores[order[place + 1]]
                expected = expit(1.702 * gap / (np.sqrt(2) * SIGMA))
                assert_allclose(p[a] / (p[a] + p[b]), expected, rtol=1e-10)


def test_logistic_function_is_close_to_the_normal(bench):
    x = np.linspace(-8, 8, 4001)
    assert np.abs(expit(bench.LOGISTIC_SLOPE * x) - ndtr(x)).max() < 0.01


def test_rank_binomial_is_the_sum_over_contests(bench):
    wins = bench.contests(SCORES, SIGMA)
    ranks = np.exp(bench.log_rank_binomial(SCORES, SIGMA))
    expected = np.zeros((3, 3))
    for j in range(3):
        others = [i for i in range(3) if i != j]
        for lost in itertools.product([0, 1], repeat=2):
            p = np.prod([wins[i, j] if x else wins[j, i] for i, x in zip(others, lost)])
            expected[j, sum(lost)] += p
    assert_allclose(ranks, expected, rtol=1e-12)


@pytest.mark.parametrize("scores", [SCORES, [0.0, 1.0, 2.0]])
def test_normal_ranks_are_distributions(bench, scores):
    for of in (bench.log_normal_ranks, bench.log_normal_densities):
        assert_allclose(np.exp(of(scores, SIGMA)).sum(axis=1), 1.0)
        assert_allclose(np.exp(of(np.ones(3), SIGMA))[:, 0].std(), 0.0, atol=1e-15)


def test_divergence(bench):
    p = np.array([0.5, 0.5, 0.0])
    assert bench.divergence(p, np.log([0.5, 0.5, 1.0])) == 0.0
    assert_allclose(bench.divergence(p, np.log([0.25, 0.75, 1.0])), 0.5 * np.log(4 / 3))


@pytest.mark.parametrize("m", [3, 4])
def test_boltzmann_is_closest(bench, m):
    # Figure 2 of the paper.
    found = bench.compare(m, SIGMA, n_vectors=40, seed=1, n_fit=10)
    means = {name: values.mean() for name, values in found.items()}
    error = {name: values.std() / np.sqrt(40) for name, values in found.items()}
    assert min(min(values) for values in found.values()) > -1e-6
    for name in set(means) - {"Boltzmann", "Boltzmann, fitted"}:
        gap = means[name] - means["Boltzmann"]
        assert gap > 5 * np.hypot(error[name], error["Boltzmann"])


def test_table_and_figure(bench, capsys, tmp_path):
    arguments = ["--documents", "3", "--vectors", "5"]
    pytest.importorskip("matplotlib")
    bench.main([*arguments, "--plot", str(tmp_path / "b.png")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["KL(true", "||", ".)", "m", "=", "3"]
    assert len({len(line) for line in lines}) == 1
    assert (tmp_path / "b.png").stat().st_size > 10_000
