"""Program of `test_fork`: all that computes on threads, here and in a forked process.

Prints the names of what hangs, fails or gives other bits in the child.
"""

import os
import signal
import sys
import threading
import time
import traceback
import warnings

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor

import skrank
from skrank._core import _in_steps
from skrank._core._in_steps import answering_signals
from skrank.datasets import load_letor
from skrank.discovery import all_objects
from skrank.inspection import query_permutation_importance
from skrank.rankers import MART, BoltzRank, RankNet, RankSVM
from skrank.solvers import Adam

N_QUERIES, N_DOCUMENTS = 110, 40
PATIENCE = 60.0  # seconds, for what takes some tenths of one

rng = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
PTR = np.arange(0, len(GROUPS) + 1, N_DOCUMENTS)
X = rng.normal(size=(len(GROUPS), 8))
X[:, -1] = np.repeat(rng.normal(size=N_QUERIES), N_DOCUMENTS)  # of the query
Y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 3)
TEXT = "".join(
    f"{y:.0f} qid:{q} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(x)) + "\n"
    for x, y, q in zip(X.tolist(), Y, GROUPS)
).encode()
RANKERS = all_objects("ranker")
BRIEF = {"max_iter": 2, "n_estimators": 2, "n_jobs": 2, "random_state": 0}


def brief(cls, options):
    """A ranker that is fitted quickly, on two threads where it has threads."""
    ranker = cls(**options)
    known = ranker.get_params(deep=False)
    return ranker.set_params(**{k: v for k, v in BRIEF.items() if k in known})


def fit(ranker, rows=X):
    with skrank.config_context(assume_single_query=True):
        return ranker.fit(rows, Y, GROUPS).predict(rows)


def nested_boosting():
    inner = HistGradientBoostingRegressor(max_iter=2, early_stopping=False)
    return fit(MART(init=inner, n_estimators=2, n_jobs=2, random_state=0))


def sparse_kernel():
    ranker = RankSVM(kernel="laplacian", n_components=8, max_iter=2, random_state=0)
    return fit(ranker, sparse.csr_matrix(X))


def weak_learners():
    weak = HistGradientBoostingRegressor(max_iter=2, early_stopping=False)
    return fit(RANKERS["SubsetRegression"](estimator=weak))


MODEL = MART(n_estimators=2, n_jobs=2, random_state=0).fit(X, Y, GROUPS)
CASES = {name: lambda cls=cls: fit(brief(cls, {})) for name, cls in RANKERS.items()}
CASES |= {
    f"measure {name}": lambda cls=cls: cls().per_query(Y, X[:, 0], PTR, n_threads=2)
    for name, cls in all_objects("measure").items()
    if name != "FunctionMeasure"  # which runs what the user gives
}
CASES |= {
    "load_letor": lambda: load_letor(TEXT, n_jobs=2).X,
    "load_letor sparse": lambda: load_letor(TEXT, n_jobs=2, sparse=True).X.data,
    "predict": lambda: MODEL.predict(X),
    "Adam": lambda: fit(RankNet(solver=Adam(), max_iter=2, n_jobs=2, random_state=0)),
    "importance": lambda: (
        query_permutation_importance(
            MODEL, X, Y, GROUPS, n_repeats=2, random_state=0
        ).importances
    ),
    "pair potentials": lambda: fit(
        brief(BoltzRank, {"pairwise_potential": True, "n_samples": 20})
    ),
    "HistGradientBoosting inside": nested_boosting,
    "HistGradientBoosting as a weak ranker": weak_learners,
    "sparse kernel": sparse_kernel,
}


def bits(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(CASES[case]()).tobytes()


def in_child(function):
    """Whether a function returns True in a forked process before it is too late."""
    child = os.fork()
    if child == 0:
        succeeded = False
        try:
            succeeded = function()
        except BaseException:
            traceback.print_exc()
        os._exit(not succeeded)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                print(f"a child ended with status {status}", file=sys.stderr)
            return status == 0
        time.sleep(0.005)
    print(f"a child did not end within {PATIENCE} seconds", file=sys.stderr)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def same(case, expected):
    return lambda: bits(case) == expected


def after_fork(name):
    expected = bits(name)
    return in_child(same(name, expected))


def fork_of_fork():
    expected = bits("predict")
    return in_child(lambda: in_child(same("predict", expected)))


def in_thread(function):
    """What a function returns in a thread of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join(2 * PATIENCE)
    return bool(results and results[0])


def thread_of_child():
    expected = bits("predict")
    return in_child(lambda: in_thread(same("predict", expected)))


def fork_in_thread():
    return in_thread(lambda: after_fork("predict"))


def fork_beside_kernels():
    """Fork while another thread is inside of the kernels, with locks and memory."""
    expected = bits("load_letor")
    done = threading.Event()

    def work():
        while not done.is_set():
            bits("load_letor")
            bits("predict")

    worker = threading.Thread(target=work)
    worker.start()
    succeeded = all(in_child(same("load_letor", expected)) for _ in range(10))
    done.set()
    worker.join()
    return succeeded


def fork_beside_a_factorisation():
    """Fork while a thread that nobody waits for has the lock of such threads."""
    with _in_steps._alone:
        return in_child(lambda: answering_signals(int, "7") == 7)


SITUATIONS = [
    fork_of_fork,
    thread_of_child,
    fork_in_thread,
    fork_beside_kernels,
    fork_beside_a_factorisation,
]

if __name__ == "__main__":
    failed = [s.__name__ for s in SITUATIONS if not s()]
    failed += [name for name in CASES if not after_fork(name)]
    print(*failed, sep="\n")
    sys.exit(bool(failed))
