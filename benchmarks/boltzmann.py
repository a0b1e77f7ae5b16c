r"""How well do three approximations describe the rankings that noisy scores give?

The scores of m documents are drawn from [0, 2]. Every document then gets its score plus
normal noise of standard deviation ``sigma``, and sorting gives a ranking. This true
distribution over the m! rankings is compared with

- the Boltzmann distribution of BoltzRank, :math:`P(R|S) \propto e^{-E(R|S)}`;
- the rank-binomial distribution of SoftRank: the rank of a document is the number of
  contests that it loses, each contest on its own, by the recursion over contests;
- SoftRank's normal approximation, with the mean and the variance of these contests;
  rank r gets what the normal distribution has within 1/2 of r ("densities": in
  proportion to its density at r).

The latter two give each document a distribution of its rank; a ranking gets their
product, divided by the sum over all rankings. Figures are the Kullback-Leibler
divergences from the true distribution, which is computed by quadrature, as means over
score vectors ([Volkovs2009]_, section 3.2, figures 1 and 2). "undivided" leaves
the products as they are, although ranks that are no permutation then keep part of the
probability.

The energy has a free factor, k of :math:`g(x) = k\,\mathrm{sign}(x)`. Exchanging two
neighbours i, j of a ranking changes its energy by
:math:`4 k (s_i - s_j) / (m (m - 1))`, so they are in order with the probability of a
logistic function. "Boltzmann" has the k for which this function is closest to the
normal distribution of the true contest, whose standard deviation is
:math:`\sqrt 2 \sigma`: the logistic function of 1.702 x is nowhere further than 0.01
from the normal distribution function. "Boltzmann, fitted" has the one k that is best on
other score vectors. A linear g would give the same figures, since up to the factor both
energies are the same linear function of the ranks.

Run ``python -m benchmarks.boltzmann``; ``--help`` lists the options.
"""

import argparse
from itertools import permutations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr

from benchmarks.outputs import add_outputs, write_outputs
from skrank.losses._boltzmann import energy_table

TOP_SCORE = 2.0
# Logistic function closest to the normal distribution function.
LOGISTIC_SLOPE = 1.702
# Step and reach of the quadrature in standard deviations.
STEP, REACH = 0.04, 9.0


def all_orders(m):
    """Every order of m documents from the best to the worst, (m!, m)."""
    return np.array(list(permutations(range(m))))


def all_ranks(m):
    """The 0-based rank of each document in every order, (m!, m)."""
    return np.argsort(all_orders(m), axis=1)


def true_probabilities(scores, sigma):
    """Probability of every order of the scores with normal noise, (m!,).

    The best of an order has all others below it, the second best all but the best, and
    so on: an integral within an integral, each of them one pass over the same grid.
    """
    scores = np.asarray(scores, dtype=np.float64)
    low, high = scores.min() - REACH * sigma, scores.max() + REACH * sigma
    x = np.linspace(low, high, int(np.ceil((high - low) / (STEP * sigma))) + 1)
    step = x[1] - x[0]
    density = np.exp(-0.5 * ((x - scores[:, None]) / sigma) ** 2)
    density /= sigma * np.sqrt(2.0 * np.pi)
    orders = all_orders(len(scores))
    below = np.ones((len(orders), len(x)))
    for place in range(len(scores) - 1, -1, -1):
        inner = density[orders[:, place]] * below
        below = np.zeros_like(inner)
        below[:, 1:] = np.cumsum(0.5 * step * (inner[:, 1:] + inner[:, :-1]), axis=1)
        # Euler and Maclaurin's next term makes the trapezoidal rule of fourth order.
        slope = np.gradient(inner, step, axis=1)
        below -= step**2 / 12.0 * (slope - slope[:, :1])
    return np.clip(below[:, -1], 0.0, None) / below[:, -1].sum()


def sampled_probabilities(scores, sigma, n_draws, rng):
    """The same by sorting noisy scores, with an error of order n_draws^-1/2."""
    m = len(scores)
    noisy = scores + sigma * rng.standard_normal((n_draws, m))
    drawn = np.argsort(-noisy, axis=1) @ m ** np.arange(m)
    return np.array([np.mean(drawn == o @ m ** np.arange(m)) for o in all_orders(m)])


def matched_factor(m, sigma):
    """k of g(x) = k sign(x) for contests with noise sigma."""
    return LOGISTIC_SLOPE / (np.sqrt(2.0) * sigma) * m * (m - 1) / 4.0


def boltzmann(scores, k):
    """Logarithm of P(R|S) of every order, g(x) = k sign(x)."""
    table = energy_table(len(scores), "sign", k)
    energy = table[all_ranks(len(scores))] @ scores
    return -energy - logsumexp(-energy)


def contests(scores, sigma):
    """Probability that document i outranks document j, (m, m); 0 on the diagonal."""
    scores = np.asarray(scores)
    wins = ndtr((scores[:, None] - scores[None, :]) / (np.sqrt(2.0) * sigma))
    np.fill_diagonal(wins, 0.0)
    return wins


def log_rank_binomial(scores, sigma):
    """Logarithm of the probability of each rank of each document, (m, m)."""
    wins = contests(scores, sigma)
    m = len(scores)
    ranks = np.zeros((m, m))
    for j in range(m):
        ranks[j, 0] = 1.0
        for i in range(m):
            if i != j:
                lost = np.concatenate(([0.0], ranks[j, :-1]))
                ranks[j] = wins[i, j] * lost + wins[j, i] * ranks[j]
    return np.log(np.maximum(ranks, 1e-300))


def log_normal_ranks(scores, sigma):
    """The same by a normal distribution: rank r gets what lies within 1/2 of it.

    The first and the last rank get all that lies beyond them.
    """
    wins = contests(scores, sigma)
    mean, variance = wins.sum(axis=0), (wins * wins.T).sum(axis=0)
    edges = np.arange(len(scores) + 1) - 0.5 - mean[:, None]
    edges /= np.sqrt(np.maximum(variance, 1e-30))[:, None]
    edges[:, 0], edges[:, -1] = -np.inf, np.inf
    low, high = edges[:, :-1], edges[:, 1:]
    # Differences of the smaller tail keep their digits.
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    upper, lower = log_ndtr(high), log_ndtr(low)
    return upper + np.log1p(-np.exp(lower - upper))


def log_normal_densities(scores, sigma):
    """The same by the normal densities at the ranks, which are made to sum to 1."""
    wins = contests(scores, sigma)
    mean, variance = wins.sum(axis=0), (wins * wins.T).sum(axis=0)
    gap = np.arange(len(scores)) - mean[:, None]
    log_density = -0.5 * gap**2 / np.maximum(variance, 1e-30)[:, None]
    return log_density - logsumexp(log_density, axis=1, keepdims=True)


def product(log_ranks, divide=True):
    """Logarithm of the product over documents for every order."""
    m = len(log_ranks)
    total = log_ranks[np.arange(m), all_ranks(m)].sum(axis=1)
    return total - logsumexp(total) if divide else total


def divergence(p, log_q):
    """Kullback-Leibler divergence from p to q."""
    seen = p > 0
    return float(np.sum(p[seen] * (np.log(p[seen]) - log_q[seen])))


def fitted_factor(m, sigma, n_vectors, rng):
    """The k of the least mean divergence over score vectors of its own."""
    vectors = rng.uniform(0.0, TOP_SCORE, (n_vectors, m))
    truths = [true_probabilities(s, sigma) for s in vectors]

    def mean_divergence(log_k):
        k = np.exp(log_k)
        return np.mean(
            [divergence(p, boltzmann(s, k)) for p, s in zip(truths, vectors)]
        )

    start = np.log(matched_factor(m, sigma))
    return float(np.exp(minimize_scalar(mean_divergence, (start, start + 0.3)).x))


def approximations(scores, sigma, k):
    """Log-probabilities of every order by the name of the approximation."""
    binomial = log_rank_binomial(scores, sigma)
    normal = log_normal_ranks(scores, sigma)
    return {
        "Boltzmann": boltzmann(scores, matched_factor(len(scores), sigma)),
        "Boltzmann, fitted": boltzmann(scores, k),
        "Normal": product(normal),
        "Normal, densities": product(log_normal_densities(scores, sigma)),
        "Rank-Binomial": product(binomial),
        "Normal, undivided": product(normal, divide=False),
        "Rank-Binomial, undivided": product(binomial, divide=False),
    }


def compare(m, sigma=0.2, n_vectors=500, seed=0, n_fit=100):
    """Divergences of every approximation.

    Parameters
    ----------
    m : int
        Number of documents.
    sigma : float, default=0.2
        Standard deviation of the noise.
    n_vectors : int, default=500
        Number of score vectors.
    seed : int, default=0
        Seed of the score vectors.
    n_fit : int, default=100
        Number of further score vectors that fit k.

    Returns
    -------
    dict
        From the name of the approximation to an array of shape (n_vectors,).
    """
    rng = np.random.default_rng(seed)
    vectors = rng.uniform(0.0, TOP_SCORE, (n_vectors, m))
    k = fitted_factor(m, sigma, n_fit, rng)
    found = {}
    for scores in vectors:
        p = true_probabilities(scores, sigma)
        for name, log_q in approximations(scores, sigma, k).items():
            found.setdefault(name, []).append(divergence(p, log_q))
    return {name: np.array(values) for name, values in found.items()}


def table(results):
    """Aligned text: mean divergence and its standard error, by number of documents."""
    names = list(next(iter(results.values())))
    width = max(map(len, names)) + 2
    title = "KL(true || .)"
    head = f"{title:<{width}}" + "".join(f"{f'm = {m}':>18}" for m in results)
    lines = [head, "-" * len(head)]
    for name in names:
        cells = []
        for found in results.values():
            error = found[name].std() / np.sqrt(len(found[name]))
            cells.append(f"{f'{found[name].mean():.4f} ± {error:.4f}':>18}")
        lines.append(f"{name:<{width}}" + "".join(cells))
    return "\n".join(lines)


def draw(results, sigma, seed):
    """Figures 1 and 2: one score vector in full, and the mean divergences."""
    from matplotlib.figure import Figure

    m = min(results)
    names = ["Boltzmann", "Normal", "Rank-Binomial"]
    scores = _close_scores(m, sigma, np.random.default_rng(seed))
    logs = approximations(scores, sigma, 1.0)
    columns = {"true": true_probabilities(scores, sigma)}
    columns |= {name: np.exp(logs[name]) for name in names}
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    at = np.arange(len(columns["true"]))
    for i, (name, p) in enumerate(columns.items()):
        left.bar(at + 0.2 * (i - 1.5), p, 0.2, label=name)
    labels = [" ".join(map(str, order + 1)) for order in all_orders(m)]
    left.set_xticks(at, labels, rotation=90 if m > 3 else 0)
    left.set(xlabel="order of the documents", ylabel="probability")
    left.set_title("scores " + ", ".join(f"{s:.2f}" for s in scores))
    left.legend()
    at = np.arange(len(results))
    for i, name in enumerate(names):
        means = [found[name].mean() for found in results.values()]
        right.bar(at + 0.25 * (i - 1), means, 0.25, label=name, color=f"C{i + 1}")
    right.set_xticks(at, [str(m) for m in results])
    right.set(
        xlabel="documents", ylabel="mean KL divergence from the true distribution"
    )
    right.legend()
    return figure


def _close_scores(m, sigma, rng):
    """A score vector whose best ranking is far from certain, for the picture."""
    while True:
        scores = rng.uniform(0.0, TOP_SCORE, m)
        if 0.3 < true_probabilities(scores, sigma).max() < 0.5:
            return scores


def main(argv=None):
    """Compare the approximations, print the table and write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boltzmann")
    parser.add_argument("--documents", type=int, nargs="+", default=[3, 4, 5])
    parser.add_argument("--vectors", type=int, default=500)
    parser.add_argument("--sigma", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    add_outputs(parser)
    options = parser.parse_args(argv)
    results = {
        m: compare(m, options.sigma, options.vectors, options.seed)
        for m in options.documents
    }
    print(table(results))
    means = {
        m: {name: float(values.mean()) for name, values in found.items()}
        for m, found in results.items()
    }
    write_outputs(options, means, lambda: draw(results, options.sigma, options.seed))


if __name__ == "__main__":
    main()
