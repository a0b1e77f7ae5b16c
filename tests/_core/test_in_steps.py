"""Linear algebra in steps against one call of LAPACK."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np
import pytest

from skrank._core import _in_steps
from skrank._core._in_steps import (
    answering_signals,
    coordinates_of,
    first_eigenvector,
    gram_of,
    leading_eigenvectors,
)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(_in_steps, "_ONE_CALL", 1)
    monkeypatch.setattr(_in_steps, "_STEP", 100.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 90])
def test_products_of_columns(n, weighted):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    weight = rng.uniform(size=n) if weighted else None
    scale = np.diag(np.ones(n) if weight is None else weight)
    np.testing.assert_allclose(gram_of(X, weight), X.T @ scale @ X, rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 7, 30])
@pytest.mark.parametrize("m", [30, 31, 80])
def test_coordinates_have_the_inner_products(m, rank):
    rng = np.random.default_rng(m)
    X = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, m))
    found = coordinates_of(X)
    np.testing.assert_allclose(found @ found.T, X @ X.T, atol=1e-11)
    assert found.shape == (30, 30)
    assert not np.triu(found, 1).any()
    zeros = coordinates_of(np.zeros((30, m)))
    assert not zeros.any()


@pytest.mark.parametrize("n", [3, 40, 200])
def test_the_first_eigenvector(n):
    R = np.random.default_rng(n).normal(size=(60, n))
    matrix = R @ R.T
    expected = np.linalg.eigh(matrix)[1][:, -1]
    found = first_eigenvector(matrix)
    sign = np.sign(found @ expected)
    np.testing.assert_allclose(found, sign * expected, atol=1e-13)


def test_an_eigenvalue_of_many_vectors_has_one_of_them():
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(50, 50)))[0]
    values = np.repeat([3.0, 1.0, 0.0], [4, 26, 20])
    matrix = (directions * values) @ directions.T
    found = first_eigenvector(matrix)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    np.testing.assert_allclose(matrix @ found, 3.0 * found, atol=1e-13)
    # Eigenvalues that differ by less than what rounding leaves of them.
    close = np.diag(1.0 + np.arange(50) * 1e-15)
    assert np.linalg.norm(first_eigenvector(close)) == pytest.approx(1.0)


def test_matrices_without_a_direction():
    for matrix in (np.zeros((20, 20)), np.eye(20), 1e-300 * np.eye(20)):
        found = first_eigenvector(matrix)
        assert np.linalg.norm(found) == pytest.approx(1.0)
    outer = np.outer(np.arange(20.0), np.arange(20.0))
    found = first_eigenvector(outer)
    expected = np.arange(20.0) / np.linalg.norm(np.arange(20.0))
    np.testing.assert_allclose(np.abs(found), expected, atol=1e-15)


def test_an_eigenvector_that_takes_all_steps():
    found = first_eigenvector(np.diag([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(np.abs(found), [0.0, 0.0, 1.0], atol=1e-14)


def test_another_thread_computes_for_the_main_one():
    threads = []

    def add(a, b):
        threads.append(threading.current_thread())
        return a + b

    def fail(error):
        raise error

    assert answering_signals(add, 1, 2) == 3
    assert threads[0] is not threading.current_thread()
    error = KeyError("own")
    with pytest.raises(KeyError) as caught:
        answering_signals(fail, error)
    assert caught.value is error
    variable = ContextVar("variable")
    variable.set("of the caller")
    assert answering_signals(variable.get) == "of the caller"
    with np.errstate(over="ignore", divide="raise", call=threads.append):
        assert answering_signals(np.geterr) == np.geterr()
        assert answering_signals(np.geterrcall) == threads.append
    # Others need not wait for a thread, for signals are no business of theirs.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(answering_signals, add, 1, 2).result() == 3
        assert threads[1] in pool._threads


def test_a_call_that_was_left_alone_ends_before_the_next_one():
    order, may_end = [], threading.Event()

    def slow():
        may_end.wait(30)
        order.append("slow")

    def interrupt(*_):
        signal.signal(signal.SIGALRM, before)
        raise KeyboardInterrupt

    def interrupted():
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        answering_signals(slow)

    before = signal.signal(signal.SIGALRM, interrupt)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert order == []
    threading.Timer(0.1, may_end.set).start()
    answering_signals(order.append, "next")
    assert order == ["slow", "next"]


INTERRUPTED = """
import signal, sys, threading, time
from skrank._core._in_steps import answering_signals

def compute():
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    time.sleep(SECONDS)
    print("ended")

signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def end_of(script, seconds):
    command = [sys.executable, "-c", INTERRUPTED.replace("SECONDS", seconds) + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_end_of_the_process_waits_for_what_computes():
    done = end_of(
        "try:\n    answering_signals(compute)\nexcept KeyboardInterrupt:\n    print(1)",
        seconds="1.0",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\nended\n", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")
@pytest.mark.parametrize("again", [False, True])
def test_an_interrupt_that_nobody_catches_ends_the_process(again):
    script = "answering_signals(compute)"
    if again:  # the second one comes while the process waits at its exit
        script = (
            "again = threading.Timer(3.0, signal.raise_signal, [signal.SIGINT])\n"
            "again.daemon = True\nagain.start()\n"
            f"try:\n    {script}\nexcept KeyboardInterrupt:\n    pass"
        )
    done = end_of(script, seconds="300")
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "")


def test_an_interrupted_command_ends_at_once(tmp_path):
    script = f"""
from sklearn.svm import LinearSVC
from skrank.__main__ import run
LinearSVC.fit = lambda *arguments, **options: compute()
open({str(tmp_path / "train")!r}, "w").write("1 qid:1 1:1\\n0 qid:1 1:0\\n" * 3)
sys.argv = ["skrank", "fit", {str(tmp_path / "train")!r}, "--ranker",
            "SVMClassifierRanker", "--save", {str(tmp_path / "model")!r}]
sys.exit(run())
"""
    done = end_of(script, seconds="300")
    assert (done.returncode, done.stderr) == (130, "skrank: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


@pytest.mark.parametrize(
    ("m", "k"),
    [(m, k) for m in (2, 7, 21, 60, 300) for k in (1, 3, 19, 59) if k < m],
)
@pytest.mark.parametrize(
    "spectrum",
    [
        lambda m: np.arange(m),
        lambda m: np.exp(-np.arange(m)),
        lambda m: np.ones(m),
        lambda m: np.append(np.zeros(m - m // 2), np.ones(m // 2)),
        lambda m: np.zeros(m),
        lambda m: np.minimum(np.arange(m), m // 3),
    ],
)
def test_leading_eigenvectors(spectrum, m, k):
    rng = np.random.default_rng(m)
    directions = np.linalg.qr(rng.normal(size=(m, m)))[0]
    values = spectrum(m)
    matrix = (directions * values) @ directions.T
    calls = []
    for _ in range(2):
        draw = np.random.RandomState(5).standard_normal
        calls.append(leading_eigenvectors(matrix.__matmul__, m, k, draw))
    found = calls[0]
    np.testing.assert_array_equal(found, calls[1])
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-13)
    expected = np.sort(values)[-k:]
    scale = max(values.max(), 1.0)
    products = matrix @ found
    limit = 1e-12 * scale
    np.testing.assert_allclose(products, found * expected, rtol=0.0, atol=limit)


@pytest.mark.parametrize("seed", range(40))
def test_an_eigenvector_of_a_large_space_holds_nothing_that_leaves_it(seed):
    m = 60
    directions = np.linalg.qr(np.random.default_rng(seed).normal(size=(m, m)))[0]
    matrix = (directions * np.minimum(np.arange(m), 20.0)) @ directions.T
    draw = np.random.RandomState(seed).standard_normal
    found = leading_eigenvectors(matrix.__matmul__, m, 1, draw)
    np.testing.assert_allclose(matrix @ found, 20.0 * found, rtol=0.0, atol=2e-11)
