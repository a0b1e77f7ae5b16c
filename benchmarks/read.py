"""Reading LETOR text: skrank beside scikit-learn and XGBoost, on one file.

A file with the shape of MSLR-WEB (136 features, about 1.5 kB a line) is written to a
temporary folder and read by each reader in turn, several rounds over, so that all of
them meet the same noise. Printed are the fastest and the median round, and the
processor time of the cheapest one, which other programs on the machine disturb least.

Run ``python -m benchmarks.read``; ``--help`` lists the options.
"""

import argparse
import statistics
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.data import make_mslr_like
from benchmarks.outputs import Panel, add_outputs, bar_figure, write_outputs
from skrank.datasets import dump_letor, load_letor


@dataclass(frozen=True)
class Row:
    """Times of one reader."""

    reader: str
    seconds: float
    median: float
    cpu_seconds: float
    gb_per_second: float
    times_scikit_learn: float


def write_text(path, n_queries):
    """Write an MSLR-like file with seven significant digits, as LETOR files have."""
    data = make_mslr_like(n_queries)
    form = " ".join(f"{j}:%.7g" for j in range(1, data.X.shape[1] + 1))
    with path.open("w") as file:
        for grade, query, row in zip(data.y.tolist(), data.groups, data.X):
            file.write(f"{grade:g} qid:{query} {form % tuple(row.tolist())}\n")


def _xgboost(path):
    """XGBoost's reader of the same text, or None if it is not installed."""
    try:
        import xgboost
    except ImportError:
        return None

    def read():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it advises against text input
            return xgboost.DMatrix(f"{path}?format=libsvm")

    return read


def readers(path):
    """All readers by name."""
    found = {
        "load_letor, float32, 1 thread": lambda: load_letor(path, n_jobs=1),
        "load_letor, float32, 2 threads": lambda: load_letor(path, n_jobs=2),
        "load_letor, float64, 1 thread": lambda: load_letor(
            path, dtype=np.float64, n_jobs=1
        ),
        "load_letor, CSR float32, 1 thread": lambda: load_letor(
            path, sparse=True, n_jobs=1
        ),
        "load_letor, CSR float32, 2 threads": lambda: load_letor(
            path, sparse=True, n_jobs=2
        ),
        "load_svmlight_file (scikit-learn)": lambda: load_svmlight_file(
            str(path), query_id=True
        ),
        "DMatrix text (XGBoost, all threads)": _xgboost(path),
    }
    return {name: read for name, read in found.items() if read is not None}


def _seconds(read):
    """Elapsed and processor time of one call."""
    start, cpu_start = time.perf_counter(), time.process_time()
    read()
    return time.perf_counter() - start, time.process_time() - cpu_start


def measure(path, rounds):
    """Times of every reader, interleaved; peers run in at most two rounds."""
    path.read_bytes()  # all meet a file that is in memory
    functions = readers(path)
    times = {name: [] for name in functions}
    for i in range(rounds):
        for name, read in functions.items():
            if i < 2 or name.startswith("load_letor"):
                times[name].append(_seconds(read))
    size = path.stat().st_size
    reference = min(times["load_svmlight_file (scikit-learn)"])[0]
    rows = []
    for name, pairs in times.items():
        elapsed, cpu = zip(*pairs)
        fastest = min(elapsed)
        rows.append(
            Row(
                name,
                fastest,
                statistics.median(elapsed),
                min(cpu),
                size / fastest / 1e9,
                reference / fastest,
            )
        )
    return rows


def check_parity(path):
    """Fail if skrank and scikit-learn read different numbers."""
    X, y, groups = load_svmlight_file(str(path), query_id=True)
    ours = load_letor(path, dtype=np.float64)
    same = np.array_equal(ours.X, X.toarray()) and np.array_equal(ours.y, y)
    if not same or not np.array_equal(ours.groups, groups):
        raise AssertionError("skrank and scikit-learn read different data")


def print_table(rows):
    """Print an aligned table."""
    width = max(len(row.reader) for row in rows)
    print(f"{'reader':{width}}  min s  median s  cpu s   GB/s  x scikit-learn")
    for row in rows:
        print(
            f"{row.reader:{width}}  {row.seconds:5.3f}  {row.median:8.3f}  "
            f"{row.cpu_seconds:5.3f}  {row.gb_per_second:5.2f}  "
            f"{row.times_scikit_learn:14.1f}"
        )


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=800, help="about 120 lines each")
    parser.add_argument("--rounds", type=int, default=7)
    add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mslr-like.txt"
        write_text(path, options.queries)
        size = path.stat().st_size
        print(f"{size / 1e6:.0f} MB of LETOR text, {options.rounds} rounds")
        check_parity(path)
        rows = measure(path, options.rounds)
        data = load_letor(path)
        writing, _ = _seconds(lambda: dump_letor(*data, Path(folder) / "copy.txt"))
    print_table(rows)
    print(f"dump_letor, float32: {writing:.2f} s, {size / writing / 1e9:.2f} GB/s")
    record = {
        "megabytes": size / 1e6,
        "readers": [asdict(row) for row in rows],
        "dump_letor_seconds": writing,
    }
    speeds = {row.reader: row.gb_per_second for row in rows}
    write_outputs(options, record, lambda: bar_figure([Panel("GB/s", speeds)]))


if __name__ == "__main__":
    main()
