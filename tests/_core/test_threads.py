"""How many threads are used."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_info

from skrank._core import _pair_losses, _segments
from skrank._core._threads import (
    blas_threads,
    effective_n_threads,
    jobs_for,
    n_threads_for,
)
from skrank.model_selection import query_learning_curve


def test_environment_limits_the_default(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads(None) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert effective_n_threads(None) == joblib.cpu_count()


def test_numbers_count_as_in_scikit_learn():
    assert effective_n_threads(3) == 3
    assert effective_n_threads(-1) == joblib.cpu_count()
    assert effective_n_threads(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, "a", 1.5, True, 10**12, -(10**12), 10**400])
def test_other_numbers_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None for all CPUs or an int"):
        effective_n_threads(n_jobs)


def test_little_work_is_done_by_one_thread():
    assert n_threads_for(1e3, 4) == 1
    assert n_threads_for(1e9, 4) == 4
    assert n_threads_for(1e9, None) == effective_n_threads(None)
    # Python's threads cost more than those of compiled code.
    assert n_threads_for(1e6, 4) == 4
    assert n_threads_for(1e6, 4, python_threads=True) == 1
    for work in (0, 1e9):
        with pytest.raises(ValueError, match="n_jobs must be None for all CPUs or an"):
            n_threads_for(work, 0)


def test_blas_is_capped_inside_only():
    def counts():
        return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]

    before = counts()
    with blas_threads(1):
        assert set(counts()) <= {1}
    assert counts() == before


COUNT = """
import os
import numpy as np
from skrank._core import _segments

x, ptr = np.ones(4000), np.arange(4001)
numbers = []
for n_threads in (1, 2, 4):
    _segments.segment_softmax(x, ptr, n_threads)
    numbers.append(len(os.listdir("/proc/self/task")))
print(*(number - numbers[0] for number in numbers))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_loops_get_the_threads_that_they_ask_for():
    # The threads of a loop wait for the next one.
    others = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    done = subprocess.run(
        [sys.executable, "-c", COUNT], env=others, stdout=subprocess.PIPE, check=True
    )
    assert done.stdout.split() == [b"0", b"1", b"3"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_long_loops_may_be_called_by_any_thread(n_threads):
    # Long enough that the caller looks for signals, which only the first thread gets.
    n = 40_000
    rng, ptr = np.random.default_rng(0), np.array([0, n])
    order, lower = _segments.label_order(rng.integers(0, 5, n).astype(float), ptr)
    arguments = rng.normal(size=n), ptr, order, lower, None, 1.0, True, n_threads
    expected = _pair_losses.logistic(*arguments)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(_pair_losses.logistic, *arguments).result()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_no_more_jobs_than_tasks():
    found = [jobs_for(5, n_jobs) for n_jobs in (None, -1, 3, 30_000)]
    assert found == [None, -1, 3, 5]
    assert jobs_for(0, 2) == 1
    for n_jobs in (0, 10**6, True):
        with pytest.raises(ValueError, match=f"n_jobs must be .* got {n_jobs}"):
            jobs_for(5, n_jobs)


def test_learning_curves_refuse_more_jobs_than_any_machine_has():
    y = pd.Series([0.0, 1.0] * 6, pd.Index(np.repeat(range(6), 2), name="qid"))
    with pytest.raises(ValueError, match=r"n_jobs must be .* got 1000000"):
        query_learning_curve(Ridge(), np.eye(12), y, train_sizes=[2], n_jobs=10**6)
