"""Symmetric trees beside CatBoost's: ``python -m benchmarks.symmetric``.

Both grow 100 symmetric trees of depth 6 with 255 bins on the same queries (6,000, or as
many as ``--queries`` says) and predict 2,000 others, in one process and in turn. Times
are minima of the CPU time of all threads over the rounds, because other programs change
these least; a ratio is skrank's time by CatBoost's. Training includes binning. CatBoost
trains on QueryRMSE, whose gradients cost next to nothing, and on YetiRank, its usual
loss; skrank on squares and on the lambdas of NDCG.
"""

import argparse
import time

import numpy as np

from benchmarks.data import make_mslr_like

N_TREES, DEPTH, RATE, N_BORDERS = 100, 6, 0.1, 254


def catboost_model(loss, n_threads):
    """A CatBoost model with as little besides trees as possible."""
    import catboost

    return catboost.CatBoost(
        {
            "loss_function": loss,
            "iterations": N_TREES,
            "depth": DEPTH,
            "learning_rate": RATE,
            "border_count": N_BORDERS,
            "thread_count": n_threads,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
    )


def fit_catboost(loss, train, n_threads):
    """Fit CatBoost; return how it predicts."""
    import catboost

    X, y, groups = train
    pool = catboost.Pool(X, y, group_id=groups, thread_count=n_threads)
    model = catboost_model(loss, n_threads).fit(pool)
    return lambda Z: model.predict(Z, thread_count=n_threads)


def fit_skrank(name, train, n_threads):
    """Fit a ranker of this package; return how it predicts."""
    from skrank import rankers

    ranker = getattr(rankers, name)(
        growth="symmetric",
        max_depth=DEPTH,
        n_estimators=N_TREES,
        learning_rate=RATE,
        min_samples_leaf=1,
        min_gain_to_noise=0.0,  # all trees as deep as CatBoost's
        random_state=0,
        n_jobs=n_threads,
    )
    return ranker.fit(*train).predict


CONTESTANTS = {
    "skrank MART": (fit_skrank, "MART"),
    "CatBoost QueryRMSE": (fit_catboost, "QueryRMSE"),
    "skrank LambdaMART": (fit_skrank, "LambdaMART"),
    "CatBoost YetiRank": (fit_catboost, "YetiRank"),
}


def timed(function, *arguments):
    """Result, seconds of all processors, and seconds on the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return result, time.process_time() - cpu, time.perf_counter() - wall


def measure(train, test, *, n_threads, n_rounds):
    """Least CPU and clock times of training and prediction, and NDCG@10."""
    from skrank.metrics import ndcg_score

    X_test, y_test, test_groups = test
    figures = {name: [] for name in CONTESTANTS}
    for _ in range(n_rounds):
        predictors = {}
        for name, (fit, what) in CONTESTANTS.items():
            predictors[name], *fit_times = timed(fit, what, train, n_threads)
            figures[name].append([*fit_times, np.inf, np.inf, 0.0])
        for _ in range(5):
            for name, predict in predictors.items():
                scores, *times = timed(predict, X_test)
                row = figures[name][-1]
                row[2:4] = np.minimum(row[2:4], times)
                row[4] = ndcg_score(y_test, scores, groups=test_groups, k=10)
    return {
        name: [*np.min(rows, axis=0)[:4], rows[0][4]] for name, rows in figures.items()
    }


def problem(n_queries, seed):
    """Rows, grades and query ids."""
    data = make_mslr_like(n_queries, seed)
    groups = np.repeat(np.arange(n_queries), np.diff(data.ptr))
    return np.asarray(data.X, dtype=np.float32), data.y, groups


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--test-queries", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    train, test = problem(options.queries, 2), problem(options.test_queries, 3)
    figures = measure(train, test, n_threads=options.threads, n_rounds=options.rounds)
    print(
        f"{len(train[1]):,} and {len(test[1]):,} documents, {options.threads} threads"
    )
    print(f"{'':20} train: CPU s  clock s  predict: CPU s  clock s  NDCG@10")
    for name, (fit_cpu, fit_wall, cpu, wall, ndcg) in figures.items():
        print(
            f"{name:20} {fit_cpu:12.2f} {fit_wall:8.2f} {cpu:15.4f} {wall:8.4f} "
            f"{ndcg:8.4f}"
        )
    for ours in ("skrank MART", "skrank LambdaMART"):
        for peer in ("CatBoost QueryRMSE", "CatBoost YetiRank"):
            train_ratio = figures[ours][0] / figures[peer][0]
            ratio = figures[ours][2] / figures[peer][2]
            print(f"{ours} / {peer}: train {train_ratio:.2f}, predict {ratio:.2f}")


if __name__ == "__main__":
    main()
