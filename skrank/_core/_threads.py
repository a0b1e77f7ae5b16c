"""Number of threads that a computation may use, and that are worth using.

The compiled loops have the last word (``_team.hpp``): a process that was forked after
skrank was imported computes on one thread, whatever it is told, because the threads of
GNU OpenMP do not live on in it and would be waited for without end.
"""

import numbers
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import joblib
from threadpoolctl import ThreadpoolController, threadpool_limits

from skrank._core._messages import shown

# Nanoseconds of work from which several threads finish it sooner than one. Waking the
# threads of compiled code takes about ten microseconds. Handing blocks to Python's own
# threads takes fractions of a millisecond per block, and they share one interpreter.
_WORTH_A_TEAM = 100_000
_WORTH_A_POOL = 5_000_000
_MOST_THREADS = 2**15


_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def is_forked() -> bool:
    """Return whether this process was forked after skrank was imported."""
    return _forked


@cache
def _cpu_count() -> int:
    """Return the CPUs of this process; joblib takes a tenth of a millisecond."""
    return joblib.cpu_count()


@cache
def _blas_libraries():
    """Return controllers of the loaded BLAS; finding them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def effective_n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that ``n_jobs`` stands for.

    None asks for every CPU that this process may use, within ``OMP_NUM_THREADS``
    (joblib sets it in its worker processes, so nested parallelism does not
    oversubscribe). A positive number is taken as it is, and −1 counts back from all
    CPUs as in scikit-learn. A process that was forked after skrank was imported has one
    thread.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Parameter ``n_jobs`` of an estimator.

    Returns
    -------
    int
        Number of threads, at least 1.

    Raises
    ------
    ValueError
        If ``n_jobs`` is not an integer, is 0, or is larger than any machine.
    """
    if n_jobs is not None and (
        isinstance(n_jobs, bool)
        or not isinstance(n_jobs, numbers.Integral)
        or n_jobs == 0
        or abs(n_jobs) > _MOST_THREADS
    ):
        raise ValueError(
            "n_jobs must be None for all CPUs or an integer from "
            f"-{_MOST_THREADS} to {_MOST_THREADS} other than 0, got {shown(n_jobs)}"
        )
    if _forked:
        return 1
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    cpus = _cpu_count()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return max(1, min(cpus, int(limit))) if limit.isdigit() and int(limit) else cpus
    return max(1, cpus + 1 + n_jobs)


def jobs_for(n_tasks: int, n_jobs: int | None) -> int | None:
    """Return ``n_jobs`` for joblib, which starts as many workers as it says.

    Parameters
    ----------
    n_tasks : int
        Number of tasks, which more workers would not help.
    n_jobs : int or None
        Parameter ``n_jobs`` of an estimator or a function.

    Returns
    -------
    int or None
        The same, or the number of tasks.

    Raises
    ------
    ValueError
        As `effective_n_threads`.
    """
    effective_n_threads(n_jobs)
    return None if n_jobs is None else min(n_jobs, max(1, n_tasks))


def n_threads_for(
    work: float, n_jobs: int | None = None, *, python_threads: bool = False
) -> int:
    """Return the number of threads that some work is worth.

    Results do not depend on this number, so that ``work`` may be a rough estimate: the
    number of items times the time that one item takes, to a factor of about two.

    Parameters
    ----------
    work : float
        Time that one thread needs, in nanoseconds.
    n_jobs : int or None, default=None
        Parameter ``n_jobs`` of an estimator, or a number of threads; see
        `effective_n_threads`.
    python_threads : bool, default=False
        Whether the threads run Python code instead of one compiled function.

    Returns
    -------
    int
        1 if the work is too small to share, else ``effective_n_threads(n_jobs)``.

    Raises
    ------
    ValueError
        If ``n_jobs`` is 0.

    Examples
    --------
    >>> from skrank._core._threads import n_threads_for
    >>> n_threads_for(5 * 1000, 8)
    1
    >>> n_threads_for(5 * 1_000_000, 8)
    8
    """
    worth = _WORTH_A_POOL if python_threads else _WORTH_A_TEAM
    return 1 if work < worth and n_jobs != 0 else effective_n_threads(n_jobs)


@contextmanager
def others_after_fork() -> Iterator[None]:
    """Let the OpenMP of other libraries use one thread in a process that was forked.

    Those of scikit-learn would hang there for the same reason as ours.
    """
    if not _forked:
        yield
        return
    with threadpool_limits(1, user_api="openmp"):
        yield


@contextmanager
def blas_threads(limit: int) -> Iterator[None]:
    """Limit the threads of BLAS while the threads of the kernels run beside it."""
    changed = []
    for library in _blas_libraries():
        before = library.get_num_threads()
        if before is not None and before > limit:
            library.set_num_threads(limit)
            changed.append((library, before))
    try:
        yield
    finally:
        for library, before in changed:
            library.set_num_threads(before)
