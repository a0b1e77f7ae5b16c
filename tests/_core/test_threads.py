"""How many threads are used."""

import joblib
import pytest
from threadpoolctl import threadpool_info

from skrank._core._threads import blas_threads, effective_n_threads, n_threads_for


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
