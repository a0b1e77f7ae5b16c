"""How many threads a kernel may use."""

import os
from contextlib import contextmanager

import joblib
from threadpoolctl import ThreadpoolController

_controller = None


def effective_n_threads(n_jobs: int | None = None) -> int:
    """Number of threads for ``n_jobs``.

    None asks for every CPU that this process may use, within ``OMP_NUM_THREADS``
    (joblib sets it in its worker processes, so nested parallelism does not
    oversubscribe). A positive number is taken as it is, and −1 counts back from all
    CPUs as in scikit-learn.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The parameter of an estimator.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ValueError
        If ``n_jobs`` is 0.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use None for all CPUs or a count")
    cpus = joblib.cpu_count()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return max(1, min(cpus, int(limit))) if limit.isdigit() and int(limit) else cpus
    return n_jobs if n_jobs > 0 else max(1, cpus + 1 + n_jobs)


@contextmanager
def blas_threads(limit: int):
    """Cap the threads of BLAS while the kernels' own threads run beside it."""
    global _controller
    if _controller is None:  # finding the loaded libraries takes milliseconds
        _controller = ThreadpoolController()
    with _controller.limit(limits=limit, user_api="blas"):
        yield
