"""Peers beside skrank, in turn in one run: ``python -m benchmarks.peers trees``.

Every contestant trains in a process of its own, so that its peak memory is its own, on
6,000 queries (722,700 documents, 136 features, grades 0 to 4) and predicts 2,000 other
queries: 100 trees of 31 leaves, rate 0.1, 255 bins. A round runs all contestants once;
a figure is the minimum over rounds, and ratios compare these minima. Memory is the peak
during construction and training beyond what the process held with the data loaded.

``--growth`` trains on one to eight times 1,000 queries, ``--small`` on the training
part of MQ2008 fold 1 (read from the folder named by SKRANK_DATA), where the fixed costs
show. ``--copies 2`` lets every contestant share the machine with a second one.

``python -m benchmarks.peers classical`` is `benchmarks.classical`, and ``listwise`` is
`benchmarks.listwise`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import classical, listwise
from benchmarks.outputs import (
    Panel,
    add_outputs,
    bar_figure,
    line_figure,
    write_outputs,
)

N_TREES, N_LEAVES, RATE, MAX_BINS = 100, 31, 0.1, 255


def skrank_lambdamart(X, y, sizes, n_threads):
    """LambdaMART of this package; binning is part of training."""
    from skrank.rankers import LambdaMART

    groups = np.repeat(np.arange(len(sizes)), sizes)
    ranker = LambdaMART(
        n_estimators=N_TREES,
        max_leaf_nodes=N_LEAVES,
        learning_rate=RATE,
        random_strength=0.0,
        max_bins=MAX_BINS,
        n_jobs=n_threads,
        random_state=0,
    )
    start = time.perf_counter()
    ranker.fit(X, y, groups)
    return 0.0, time.perf_counter() - start, ranker.predict


def lightgbm_lambdarank(X, y, sizes, n_threads):
    """LightGBM's lambdarank."""
    import lightgbm

    params = {
        "objective": "lambdarank",
        "num_leaves": N_LEAVES,
        "learning_rate": RATE,
        "max_bin": MAX_BINS,
        "num_threads": n_threads,
        "min_data_in_leaf": 20,
        "min_sum_hessian_in_leaf": 1e-3,
        "verbose": -1,
        "seed": 0,
    }
    start = time.perf_counter()
    data = lightgbm.Dataset(X, y, group=sizes, params=params, free_raw_data=False)
    data.construct()
    built = time.perf_counter()
    model = lightgbm.train(params, data, N_TREES)
    end = time.perf_counter()
    return built - start, end - built, lambda Z: model.predict(Z, num_threads=n_threads)


def _xgboost(X, y, sizes, n_threads, method):
    import xgboost

    params = {
        "objective": "rank:ndcg",
        "lambdarank_pair_method": method,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": N_LEAVES,
        "max_depth": 0,
        "learning_rate": RATE,
        "max_bin": MAX_BINS + 1,
        "nthread": n_threads,
        "min_child_weight": 1e-3,
        "reg_lambda": 1.0,
        "seed": 0,
    }
    groups = np.repeat(np.arange(len(sizes)), sizes)
    start = time.perf_counter()
    data = xgboost.QuantileDMatrix(
        X, y, qid=groups, max_bin=MAX_BINS + 1, nthread=n_threads
    )
    built = time.perf_counter()
    model = xgboost.train(params, data, N_TREES)
    return built - start, time.perf_counter() - built, model.inplace_predict


def xgboost_mean(X, y, sizes, n_threads):
    """XGBoost's rank:ndcg with mean pairs."""
    return _xgboost(X, y, sizes, n_threads, "mean")


def xgboost_topk(X, y, sizes, n_threads):
    """XGBoost's rank:ndcg with pairs at the top."""
    return _xgboost(X, y, sizes, n_threads, "topk")


def catboost_yetirank(X, y, sizes, n_threads):
    """CatBoost's YetiRank on symmetric trees of 32 leaves."""
    import catboost

    params = {
        "loss_function": "YetiRank",
        "iterations": N_TREES,
        "depth": 5,
        "learning_rate": RATE,
        "border_count": MAX_BINS - 1,
        "thread_count": n_threads,
        "random_seed": 0,
        "verbose": False,
        "allow_writing_files": False,
    }
    groups = np.repeat(np.arange(len(sizes)), sizes)
    start = time.perf_counter()
    pool = catboost.Pool(X, y, group_id=groups, thread_count=n_threads)
    built = time.perf_counter()
    model = catboost.CatBoost(params).fit(pool)
    end = time.perf_counter()
    return (
        built - start,
        end - built,
        lambda Z: model.predict(Z, thread_count=n_threads),
    )


CONTESTANTS = {
    "skrank LambdaMART": skrank_lambdamart,
    "LightGBM lambdarank": lightgbm_lambdarank,
    "XGBoost rank:ndcg, mean": xgboost_mean,
    "XGBoost rank:ndcg, top-k": xgboost_topk,
    "CatBoost YetiRank": catboost_yetirank,
}


def save_problem(folder, train, test):
    """Write arrays that the contestants' processes load."""
    for part, (X, y, sizes) in {"train": train, "test": test}.items():
        np.save(folder / f"{part}_X.npy", np.ascontiguousarray(X, dtype=np.float32))
        np.save(folder / f"{part}_y.npy", y)
        np.save(folder / f"{part}_sizes.npy", sizes)


def load_part(folder, part):
    """Rows, grades and query sizes of one part."""
    return tuple(np.load(folder / f"{part}_{name}.npy") for name in ("X", "y", "sizes"))


def peak_mib():
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_contestant(name, folder, n_threads):
    """Train and predict in this process; print one line of JSON."""
    from skrank.metrics import ndcg_score

    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    X, y, sizes = load_part(folder, "train")
    X_test, y_test, test_sizes = load_part(folder, "test")
    before = peak_mib()
    construct, train, predict = CONTESTANTS[name](X, y, sizes, n_threads)
    memory = peak_mib() - before
    times = []
    for _ in range(3):
        start = time.perf_counter()
        scores = np.asarray(predict(X_test))
        times.append(time.perf_counter() - start)
    groups = np.repeat(np.arange(len(test_sizes)), test_sizes)
    figures = {
        "construct": construct,
        "train": train,
        "total": construct + train,
        "memory": memory,
        "predict": min(times),
        "ndcg@10": ndcg_score(y_test, scores, groups=groups, k=10),
    }
    print(json.dumps(figures))


def in_process(name, folder, n_threads, copies):
    """Figures of a contestant that runs in a process of its own, or in several."""
    command = [sys.executable, "-m", "benchmarks.peers", "trees", "--child", name]
    command += ["--folder", str(folder), "--threads", str(n_threads)]
    environment = os.environ | {"OMP_NUM_THREADS": str(n_threads)}
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(copies)
    ]
    output = [run.communicate()[0] for run in runs]
    if any(run.returncode for run in runs):
        sys.exit(f"{name} failed")
    return json.loads(output[0].splitlines()[-1])


def compare(title, train, test, options):
    """Run all contestants in turn and return the minima over rounds."""
    rounds = {name: [] for name in options.contestants}
    with tempfile.TemporaryDirectory() as folder:
        save_problem(Path(folder), train, test)
        for _ in range(options.rounds):
            for name in rounds:
                rounds[name].append(
                    in_process(name, folder, options.threads, options.copies)
                )
                print(f"  {title}: {name} {rounds[name][-1]}", file=sys.stderr)
    return {
        name: {key: min(run[key] for run in runs) for key in runs[0]}
        for name, runs in rounds.items()
    }


def table(title, figures):
    """Aligned text, with the ratio of skrank's total to each peer's."""
    width = max(map(len, [title, *figures])) + 2
    names = ("construct", "train", "total", "memory", "predict", "ndcg@10")
    lines = [f"{title:<{width}}" + "".join(f"{n:>10}" for n in names) + f"{'ratio':>8}"]
    lines.append("-" * len(lines[0]))
    own = figures.get("skrank LambdaMART", {}).get("total", np.nan)
    digits = {"memory": 0, "ndcg@10": 4, "predict": 3}
    for name, values in figures.items():
        cells = "".join(f"{values[n]:>10.{digits.get(n, 2)}f}" for n in names)
        lines.append(f"{name:<{width}}{cells}{own / values['total']:>8.2f}")
    return "\n".join(lines)


def part_of(data):
    """Rows, grades and query sizes of synthetic data."""
    return data.X, data.y, np.diff(data.ptr)


def problems(options):
    """Title, training part and test part of each problem."""
    from benchmarks.data import make_mslr_like, make_shape

    if options.small:
        yield "MQ2008 fold 1", *mq2008()
        return
    test = part_of(make_shape("T"))
    if options.growth:
        for times in (1, 2, 4, 8):
            train = part_of(make_mslr_like(1000 * times, seed=2))
            yield f"{len(train[1]):,} documents", train, test
        return
    train = part_of(make_shape(options.shape))
    yield f"{len(train[1]):,} documents", train, test


def mq2008():
    """Training and test part of the first fold of MQ2008."""
    from skrank.datasets import load_letor

    folder = Path(os.environ.get("SKRANK_DATA", "../shared/data")) / "MQ2008" / "Fold1"
    if not folder.is_dir():
        sys.exit(f"no data in {folder}; set SKRANK_DATA")
    for name in ("train", "test"):
        part = load_letor(folder / f"{name}.txt")
        _, first, sizes = np.unique(part.groups, return_index=True, return_counts=True)
        yield part.X, part.y, sizes[np.argsort(first)]


def main(argv=None):
    """Compare and print tables."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["classical"]:
        classical.main(arguments[1:])
        return
    if arguments[:1] == ["listwise"]:
        listwise.main(arguments[1:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__
    )
    parser.add_argument("what", choices=["trees", "classical", "listwise"])
    parser.add_argument("--shape", default="M", choices=["S", "M"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument(
        "--copies",
        type=int,
        default=1,
        help="of each contestant that run at the same time, as on a shared machine",
    )
    parser.add_argument("--contestants", nargs="+", default=list(CONTESTANTS))
    add_outputs(parser)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        run_contestant(options.child, options.folder, options.threads)
        return
    record = {}
    for title, train, test in problems(options):
        record[title] = compare(title, train, test, options)
        print(table(title, record[title]), end="\n\n", flush=True)
    write_outputs(options, record, lambda: draw(record))


def draw(record):
    """All quantities of one problem, or how training time grows over several."""
    if len(record) > 1:
        lines = {}
        for title, figures in record.items():
            n = int(title.split()[0].replace(",", ""))
            for name, values in figures.items():
                lines.setdefault(name, {})[n] = values["total"]
        return line_figure(lines, "documents", "seconds to train")
    (figures,) = record.values()
    panels = {
        "seconds to train": "total",
        "MiB beyond the data": "memory",
        "seconds to predict": "predict",
        "NDCG@10": "ndcg@10",
    }
    return bar_figure(
        [
            Panel(
                label,
                {name: values[key] for name, values in figures.items()},
                "points" if key == "ndcg@10" else "bars",
            )
            for label, key in panels.items()
        ]
    )


if __name__ == "__main__":
    main()
