"""Linear pairwise rankers to convergence, beside plain L-BFGS and sampled pairs.

``python -m benchmarks.linear`` fits 1,000 queries, about 116,000 documents with 136
features and 5 million preference pairs, once with features of about unit covariance and
once mixed to a condition number of 1e3. Every round runs all contestants in turn.

Printed are seconds (minimum and median over rounds), iterations, the mean pairwise loss
plus penalty that was reached, and NDCG@10 on other queries. ``LinearSVC`` gets 100,000
of the pairs, which is what one can afford without a ranking solver; the time to build
their differences is not counted. It is left out of the badly conditioned problem, where
one fit takes minutes.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.data import make_mslr_like
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.losses import SquaredHingeLoss
from skrank.metrics import ndcg_score
from skrank.rankers import RankNet, RankSVM
from skrank.solvers import LBFGS

ALPHA = 1e-6
SAMPLED_PAIRS = 100_000


def log_scaled(X):
    """Features with short tails."""
    return np.sign(X) * np.log1p(np.abs(X))


def problems():
    """Name, training rows and test rows of both problems; features have unit scale."""
    train, test = make_mslr_like(1000, seed=1), make_mslr_like(300, seed=3)
    X, X_test = log_scaled(train.X), log_scaled(test.X)
    rng = np.random.default_rng(5)
    d = X.shape[1]
    left = np.linalg.qr(rng.standard_normal((d, d)))[0]
    right = np.linalg.qr(rng.standard_normal((d, d)))[0]
    mix = (left * np.logspace(0, -3, d)) @ right
    for name, transform in (("unit covariance", None), ("condition 1e3", mix)):
        A, B = X, X_test
        if transform is not None:
            centre, spread = X.mean(axis=0), X.std(axis=0)
            A, B = (((part - centre) / spread) @ transform for part in (A, B))
        centre, spread = A.mean(axis=0), A.std(axis=0)
        A, B = (((part - centre) / spread).astype(np.float32) for part in (A, B))
        yield name, A, B, train, test


def sampled_differences(X, data, n_pairs, seed=0):
    """Differences of random preference pairs, with random signs."""
    rng = np.random.default_rng(seed)
    sizes = np.diff(data.ptr)
    query = rng.choice(len(sizes), size=20 * n_pairs, p=sizes**2 / np.sum(sizes**2))
    first = data.ptr[query] + rng.integers(0, sizes[query])
    second = data.ptr[query] + rng.integers(0, sizes[query])
    better = data.y[first] > data.y[second]
    first, second = first[better][:n_pairs], second[better][:n_pairs]
    sign = rng.choice([-1.0, 1.0], size=len(first))
    return (X[first] - X[second]) * sign[:, None], sign


def contestants(X, data, with_svc):
    """Name and a function that fits and returns (coefficients, iterations)."""

    def ranker(make, **params):
        def fit():
            fitted = make(alpha=ALPHA, **params).fit(X, data.y, data.groups)
            return fitted.coef_, fitted.n_iter_

        return fit

    D, sign = sampled_differences(X, data, SAMPLED_PAIRS)

    def svc():
        model = LinearSVC(
            C=1 / (ALPHA * len(D)), dual=False, fit_intercept=False, tol=1e-4
        ).fit(D, sign)
        return model.coef_.ravel(), int(model.n_iter_)

    plain = LBFGS(whiten=False, max_iter=500)
    fits = {
        "RankNet": ranker(RankNet),
        "RankSVM": ranker(RankSVM),
        "RankSVM, plain L-BFGS": ranker(RankSVM, solver=plain),
    }
    if with_svc:
        fits[f"LinearSVC, {SAMPLED_PAIRS:,} pairs"] = svc
    return fits


def measure(X, X_test, data, test, rounds, with_svc):
    """One row per contestant: times of all rounds and what was reached."""
    rows = {}
    loss = SquaredHingeLoss().prepare(data.y, data.ptr)
    fits = contestants(X, data, with_svc)
    for _ in range(rounds):
        for name, fit in fits.items():
            begin = time.perf_counter()
            coef, n_iter = fit()
            seconds = time.perf_counter() - begin
            row = rows.setdefault(name, {"seconds": []})
            row["seconds"].append(seconds)
            if "n_iter" not in row:
                values, _ = loss.value_gradient(X @ coef)
                row["n_iter"] = n_iter
                row["squared hinge"] = float(
                    values.sum() / loss.total_weight + 0.5 * ALPHA * coef @ coef
                )
                row["ndcg@10"] = ndcg_score(
                    test.y, X_test @ coef, groups=test.groups, k=10
                )
    return rows


def table(name, rows):
    """Aligned text, with times relative to RankSVM."""
    unit = min(rows["RankSVM"]["seconds"])
    head = (
        f"{name:<28}{'min s':>9}{'median s':>10}{'ratio':>8}{'iter.':>7}"
        f"{'sq. hinge':>12}{'NDCG@10':>9}"
    )
    lines = [head, "-" * len(head)]
    for who, row in rows.items():
        low, mid = min(row["seconds"]), float(np.median(row["seconds"]))
        lines.append(
            f"{who:<28}{low:9.3f}{mid:10.3f}{low / unit:8.2f}{row['n_iter']:7d}"
            f"{row['squared hinge']:12.6f}{row['ndcg@10']:9.4f}"
        )
    return "\n".join(lines)


def main(argv=None):
    """Measure both problems and print their tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.linear",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    add_outputs(parser)
    options = parser.parse_args(argv)
    record = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, X, X_test, train, test in problems():
            with_svc = name == "unit covariance"
            record[name] = measure(X, X_test, train, test, options.rounds, with_svc)
            print(table(name, record[name]), end="\n\n", flush=True)
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """Seconds of every contestant on every problem."""
    return bar_figure(
        [
            Panel(
                f"{name}, s",
                {who: min(row["seconds"]) for who, row in rows.items()},
                "log",
            )
            for name, rows in record.items()
        ]
    )


if __name__ == "__main__":
    main()
